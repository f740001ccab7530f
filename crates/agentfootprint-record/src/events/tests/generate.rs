//! Payloads made from the declared shapes.

use super::*;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Options {
    /// Every optional field set.
    All,
    /// None set.
    None,
    /// Every optional field set, and content fields hold a marker.
    Secret,
}

/// One payload of these fields.
pub(super) fn example(fields: &[FieldInfo], options: Options) -> Value {
    Value::Object(
        fields
            .iter()
            .filter(|field| field.need == Need::Required || options != Options::None)
            .map(|field| {
                let value = match field.need {
                    Need::True => Value::Bool(true),
                    _ => of_shape(field.shape, field.class, options),
                };
                (Str::from(field.name), value)
            })
            .collect(),
    )
}

fn of_shape(shape: Shape, class: Class, options: Options) -> Value {
    let secret = options == Options::Secret && class == Class::Content;
    match shape {
        Shape::Text | Shape::Json if secret => Value::from("SECRET"),
        Shape::Text => Value::from("text"),
        Shape::Count => Value::from(7),
        Shape::Int => Value::from(-7),
        Shape::Number => Value::from(0.25),
        Shape::Bool => Value::Bool(false),
        Shape::Json => value!({ "any": [1, "json"] }),
        Shape::Word(words) => Value::from(words[words.len() - 1]),
        Shape::List(item) => Value::from(vec![of_shape(*item, class, options)]),
        Shape::Map(item) => Value::Object(
            [(if secret { "SECRET" } else { "user" }, of_shape(*item, class, options))].into_iter().collect(),
        ),
        Shape::Nullable(inner) | Shape::Loose(inner) => of_shape(*inner, class, options),
        Shape::Record(fields) => example(fields, options),
    }
}

/// Any event with any payload of its shape.
pub(super) fn payloads() -> impl Strategy<Value = (EventName, Value)> {
    (0..EventName::ALL.len()).prop_flat_map(|at| {
        let name = EventName::ALL[at];
        (Just(name), record(name.fields()))
    })
}

fn record(fields: &'static [FieldInfo]) -> BoxedStrategy<Value> {
    fields
        .iter()
        .map(|field| {
            let value = match field.need {
                Need::True => Just(Value::Bool(true)).boxed(),
                _ => any_of(field.shape),
            };
            if field.need == Need::Required {
                value.prop_map(Some).boxed()
            } else {
                prop::option::of(value).boxed()
            }
        })
        .collect::<Vec<_>>()
        .prop_map(move |values| {
            let entries = fields.iter().zip(values);
            Value::Object(
                entries
                    .filter_map(|(field, value)| Some((Str::from(field.name), value?)))
                    .collect::<Object>(),
            )
        })
        .boxed()
}

fn any_of(shape: Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Text => any::<String>().prop_map(Value::from).boxed(),
        Shape::Count => any::<u64>().prop_map(Value::from).boxed(),
        Shape::Int => any::<i64>().prop_map(Value::from).boxed(),
        Shape::Number => any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from).boxed(),
        Shape::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Shape::Json => crate::tests::json().prop_filter("absent is not null", |v| !v.is_null()).boxed(),
        Shape::Word(words) => prop::sample::select(words).prop_map(Value::from).boxed(),
        Shape::List(item) => prop::collection::vec(any_of(*item), 0..3).prop_map(Value::from).boxed(),
        Shape::Map(item) => prop::collection::btree_map(any::<String>(), any_of(*item), 0..3)
            .prop_map(|entries| Value::Object(entries.into_iter().collect::<Object>()))
            .boxed(),
        Shape::Nullable(inner) => prop_oneof![Just(Value::Null), any_of(*inner)].boxed(),
        Shape::Loose(inner) => any_of(*inner),
        Shape::Record(fields) => record(fields),
    }
}
