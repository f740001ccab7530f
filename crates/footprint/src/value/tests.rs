use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::summary::{MarkerKind, marker, summarise};
use super::*;
use crate::value;

/// Any value, of bounded size. Keys and scalars come from small sets so that equal ones meet.
///
/// Values are spelled by bytes, which generate and shrink much faster than nested strategies.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    prop::collection::vec(any::<u8>(), 0..24).prop_map(|bytes| spelled(&mut bytes.into_iter(), 3))
}

pub(crate) fn any_key() -> impl Strategy<Value = Str> {
    any::<u8>().prop_map(key)
}

fn key(byte: u8) -> Str {
    ["a", "b", "c", "0", "1", "d d"][usize::from(byte) % 6].into()
}

fn spelled(bytes: &mut impl Iterator<Item = u8>, levels: u32) -> Value {
    let Some(byte) = bytes.next() else { return Value::Null };
    let detail = byte / 8;
    match byte % 8 {
        0 | 1 if levels > 0 => (0..detail % 4).map(|_| spelled(bytes, levels - 1)).collect(),
        2 | 3 if levels > 0 => {
            let entries: Vec<_> = (0..detail % 4)
                .map(|_| (key(bytes.next().unwrap_or(0)), spelled(bytes, levels - 1)))
                .collect();
            Value::Object(entries.into_iter().collect())
        }
        4 => Value::from(f64::from(detail) / 4.0),
        5 => Value::from(["", "x", "y\n\"\\\u{1f}", "é😀", "\u{2028}"][usize::from(detail) % 5]),
        6 => [Value::Null, true.into(), false.into(), i64::MIN.into(), u64::MAX.into(), 1e300.into()]
            [usize::from(detail) % 6]
            .clone(),
        _ => Value::from(i64::from(detail) - 8),
    }
}

/// Proves ENG-64.
#[test]
fn numbers_are_equal_by_value_whatever_they_were_made_from() {
    assert_eq!(Value::from(1), Value::from(1.0));
    assert_eq!(Value::from(0), Value::from(-0.0));
    assert_eq!(Value::from(u64::MAX), Value::from_serialize(&u64::MAX).unwrap());
    assert_ne!(Value::from(i64::MAX), Value::from(i64::MAX as f64));
    assert_eq!(Value::from(1.0).to_string(), "1");
    assert_eq!(Value::from(1.5).to_string(), "1.5");
    assert_eq!("1.0".parse::<Value>().unwrap().as_i64(), Some(1));
    assert!(Number::from((1i64 << 53) + 1).loses_precision_as_double());
    assert!(!Number::from(1i64 << 53).loses_precision_as_double());
    assert!(Number::from(2) > Number::from_f64(1.5).unwrap());
    assert!(Number::from(u64::MAX) > Number::from(i64::MIN));
}

/// Proves ENG-63.
#[test]
fn what_the_model_cannot_hold_is_refused() {
    assert_eq!(Value::from_serialize(&f64::NAN), Err(ValueError::NonFinite));
    assert_eq!(Value::from_serialize(&[f64::INFINITY]), Err(ValueError::NonFinite));
    assert_eq!(Value::from_serialize(&u128::MAX), Err(ValueError::IntegerRange));
    let by_number = BTreeMap::from([(1, "x")]);
    assert_eq!(Value::from_serialize(&by_number), Err(ValueError::NonTextKey { found: "number" }));
    let by_list = BTreeMap::from([(vec![1], "x")]);
    assert_eq!(Value::from_serialize(&by_list), Err(ValueError::NonTextKey { found: "array" }));
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, level| {
        if level % 2 == 0 { Value::from(vec![inner]) } else { value!({ "k": inner }) }
    })
}

/// Proves ENG-164.
#[test]
fn nesting_is_limited_where_values_are_made() {
    let deepest = nested(MAX_DEPTH);
    assert_eq!(deepest.depth(), MAX_DEPTH);
    assert!(deepest.check_depth().is_ok());
    assert_eq!(Value::from_serialize(&deepest).unwrap(), deepest);
    assert_eq!(deepest.to_string().parse::<Value>().unwrap(), deepest);

    let too_deep = nested(MAX_DEPTH + 1);
    let refused = ValueError::TooDeep { limit: MAX_DEPTH };
    assert_eq!(too_deep.check_depth(), Err(refused.clone()));
    assert_eq!(Value::from_serialize(&too_deep), Err(refused.clone()));
    assert_eq!(Value::from_serialize(&Some([&deepest])), Err(refused.clone()));
    assert!(matches!(too_deep.to_string().parse::<Value>(), Err(ValueError::Syntax(_))));

    #[derive(Serialize)]
    struct Chain(Option<Box<(Chain,)>>);
    let chain = (0..10_000).fold(Chain(None), |inner, _| Chain(Some(Box::new((inner,)))));
    assert_eq!(Value::from_serialize(&chain), Err(refused));
    // The test's own type recurses when dropped.
    let mut rest = Some(chain);
    while let Some(Chain(next)) = rest {
        rest = next.map(|boxed| boxed.0);
    }
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Shape {
    Unit,
    New(u8),
    Pair(i32, String),
    Named { x: f64, y: Option<bool> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    id: String,
    shapes: Vec<Shape>,
    map: BTreeMap<String, Option<char>>,
    any: Value,
    list: Array,
    object: Object,
    tuple: (u64, i8, f32),
    unit: (),
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

fn everything() -> Everything {
    Everything {
        id: "e".into(),
        shapes: vec![
            Shape::Unit,
            Shape::New(7),
            Shape::Pair(-1, "p".into()),
            Shape::Named { x: 1.0, y: None },
        ],
        map: BTreeMap::from([("a".into(), Some('é')), ("b".into(), None)]),
        any: value!({ "z": 1, "a": [null, 2.5] }),
        list: [Value::from(1)].into_iter().collect(),
        object: [("k", Value::from("v"))].into_iter().collect(),
        tuple: (u64::MAX, -1, 0.25),
        unit: (),
        rest: BTreeMap::from([("extra".into(), value!([true]))]),
    }
}

/// Proves ENG-61.
#[test]
fn typed_data_survives_the_trip_through_a_value_and_agrees_with_serde_json() {
    let source = everything();
    let value = Value::from_serialize(&source).unwrap();
    assert_eq!(value.decode::<Everything>().unwrap(), source);
    assert_eq!(Value::from(serde_json::to_value(&source).unwrap()), value);
    let text = serde_json::to_string(&source).unwrap();
    assert_eq!(text.parse::<Value>().unwrap(), value);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    assert_eq!(serde_json::from_str::<Everything>(&text).unwrap(), source);
    assert_eq!(serde_json::from_value::<Value>(serde_json::to_value(&value).unwrap()).unwrap(), value);
}

/// Proves ENG-61: a value inside typed data is shared in both directions, never rebuilt.
#[test]
fn values_inside_typed_data_are_shared() {
    let inner = value!({ "big": [1, 2, 3] });
    let wrapped = Value::from_serialize(&(1, &inner)).unwrap();
    assert!(wrapped[1].ptr_eq(&inner));
    let (_, out): (u8, Value) = wrapped.decode().unwrap();
    assert!(out.ptr_eq(&inner));
    let (_, out): (u8, Object) = wrapped.decode().unwrap();
    assert!(Value::Object(out).ptr_eq(&inner));
    assert!(Value::from_serialize(&inner).unwrap().ptr_eq(&inner));
}

#[test]
fn decoding_a_wrong_kind_says_what_was_found_but_not_its_text() {
    let error = value!("secret text").decode::<u32>().unwrap_err().to_string();
    assert!(error.contains("string") && !error.contains("secret"), "{error}");
    assert!(value!([1, 2, 3]).decode::<(u8, u8)>().is_err());
    assert!(value!({ "a": 1, "b": 2 }).decode::<Shape>().is_err());
    assert!(value!({ "unit": 1 }).decode::<Shape>().is_err());
    assert!(value!("new").decode::<Shape>().is_err());
    assert!(value!([1]).decode::<Object>().is_err());
}

#[test]
fn the_macro_takes_json_and_expressions() {
    let n = 2;
    let key = String::from("dyn");
    let list = vec![value!(1), value!("x")];
    let value = value!({
        "null": null, "t": true, "neg": -1, "expr": n * 2 + 1, "list": [null, [], {}, [n, n + 1], { "x": n }],
        (key): list.clone(), "call": list.len(), "last": "l",
    });
    assert_eq!(
        value.to_string(),
        r#"{"null":null,"t":true,"neg":-1,"expr":5,"list":[null,[],{},[2,3],{"x":2}],"dyn":[1,"x"],"call":2,"last":"l"}"#
    );
    assert_eq!(value!([]), Value::from(Vec::<Value>::new()));
}

#[test]
fn access_never_panics() {
    let value = value!({ "a": [10, { "b": null }] });
    assert_eq!(value["a"][0], 10);
    assert_eq!(value["a"][9], Value::Null);
    assert_eq!(value["x"]["y"], Value::Null);
    assert_eq!(value.walk(&["a", "1", "b"]), Some(&Value::Null));
    assert_eq!(value.walk(&["a", "01"]), None);
    assert_eq!(value.walk::<&str>(&[]), Some(&value));
    assert_eq!(value.kind().to_string(), "object");
    assert_eq!(Array::new().tail(5), Array::new());
}

/// Proves OBS-77.
#[test]
fn summaries_are_short_and_cut_in_utf16_units() {
    let show = |value: Value, max| summarise(Some(&value), max);
    assert_eq!(summarise(None, 80), "undefined");
    assert_eq!(show(Value::Null, 80), "null");
    assert_eq!(show(value!(true), 80), "true");
    assert_eq!(show(value!(2.5), 80), "2.5");
    assert_eq!(show(value!("tea"), 80), "\"tea\"");
    assert_eq!(show("x".repeat(80).into(), 80), format!("\"{}\"", "x".repeat(80)));
    assert_eq!(show("x".repeat(81).into(), 80), format!("\"{}...\"", "x".repeat(77)));
    // 76 + 2 units: the pair does not fit into 77.
    assert_eq!(
        show(format!("{}😀{}", "x".repeat(76), "y".repeat(9)).into(), 80),
        format!("\"{}...\"", "x".repeat(76))
    );
    assert_eq!(show(value!([]), 80), "[]");
    assert_eq!(show(value!([1]), 80), "(1 item)");
    assert_eq!(show(value!([1, 2]), 80), "(2 items)");
    assert_eq!(show(value!({}), 80), "{}");
    assert_eq!(show(value!({ "a": 1, "b": 2, "c": 3, "d": 4 }), 80), "{a, b, c, d}");
    assert_eq!(show(value!({ "a": 1, "b": 2, "c": 3, "d": 4, "e": 5 }), 80), "{a, b, c, d, ... (5 keys)}");
    assert_eq!(show(value!({ "a": 1, "b": 2, "c": 3, "d": 4, "e": 5 }), 10), "{5 keys}");
}

/// Proves ENG-88.
#[test]
fn markers_state_type_size_and_preview() {
    let read = |value| marker(MarkerKind::Read, Some(&value));
    let long = "é".repeat(200);
    assert_eq!(
        read(Value::from(long.as_str())),
        value!({ "__readSummary": true, "type": "string", "size": 200, "preview": "é".repeat(80) })
    );
    assert_eq!(read(value!(false)), value!({ "__readSummary": true, "type": "boolean", "preview": "false" }));
    assert_eq!(read(value!(1.5)), value!({ "__readSummary": true, "type": "number", "preview": "1.5" }));
    assert_eq!(read(value!([1, 2])), value!({ "__readSummary": true, "type": "array", "size": 2 }));
    assert_eq!(read(value!({ "a": 1 })), value!({ "__readSummary": true, "type": "object", "size": 1 }));
    assert_eq!(read(Value::Null), value!({ "__readSummary": true, "type": "null" }));
    assert_eq!(
        marker(MarkerKind::Write, None),
        value!({ "__writeSummary": true, "type": "undefined", "preview": "undefined" })
    );
}

/// Proves ENG-62, ENG-167.
#[test]
fn a_typed_view_belongs_to_the_node_and_the_type() {
    let mut views = TypedViews::default();
    let list = value!([1, 2]);
    let first = views.get::<Vec<u8>>(&list).unwrap();
    assert!(Arc::ptr_eq(&first, &views.get::<Vec<u8>>(&list).unwrap()));
    assert_eq!(*views.get::<Vec<f64>>(&list).unwrap(), [1.0, 2.0]);
    assert!(views.get::<Vec<String>>(&list).is_err());
    let mut longer = list.as_array().unwrap().clone();
    longer.push(value!(3));
    assert_eq!(*views.get::<Vec<u8>>(&Value::Array(longer)).unwrap(), [1, 2, 3]);
    assert_eq!(*views.get::<Vec<u8>>(&list).unwrap(), [1, 2]);
    for n in 0..1000u32 {
        assert_eq!(*views.get::<Vec<u32>>(&value!([n])).unwrap(), [n]);
    }
    assert_eq!(*views.get::<u8>(&value!(7)).unwrap(), 7);
}

#[derive(Debug, Clone)]
enum ListOp {
    Push(i64),
    Set(usize, i64),
    Tail(usize),
    Extend(usize),
    Keep,
    GoBack,
}

fn list_op() -> impl Strategy<Value = ListOp> {
    prop_oneof![
        4 => any::<i64>().prop_map(ListOp::Push),
        2 => (0usize..200, any::<i64>()).prop_map(|(at, n)| ListOp::Set(at, n)),
        1 => (0usize..100).prop_map(ListOp::Tail),
        2 => (0usize..80).prop_map(ListOp::Extend),
        1 => Just(ListOp::Keep),
        1 => Just(ListOp::GoBack),
    ]
}

#[derive(Debug, Clone)]
enum MapOp {
    Insert(u8, i64),
    Remove(u8),
    Keep,
    GoBack,
}

fn map_op() -> impl Strategy<Value = MapOp> {
    prop_oneof![
        9 => (0u8..60, any::<i64>()).prop_map(|(key, n)| MapOp::Insert(key, n)),
        3 => (0u8..60).prop_map(MapOp::Remove),
        1 => Just(MapOp::Keep),
        1 => Just(MapOp::GoBack),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Proves ENG-2, ENG-61.
    #[test]
    fn an_array_behaves_like_a_vector_and_versions_do_not_influence_each_other(
        ops in prop::collection::vec(list_op(), 0..16),
    ) {
        let mut list = (Array::new(), Vec::<Value>::new());
        let mut kept = vec![list.clone()];
        for op in ops {
            match op {
                ListOp::Push(n) => {
                    list.0.push(n.into());
                    list.1.push(n.into());
                }
                ListOp::Set(at, n) => {
                    let done = list.0.set(at, n.into());
                    prop_assert_eq!(done, at < list.1.len());
                    if let Some(slot) = list.1.get_mut(at) {
                        *slot = n.into();
                    }
                }
                ListOp::Tail(from) => {
                    list = (list.0.tail(from), list.1.iter().skip(from).cloned().collect());
                }
                ListOp::Extend(count) => {
                    list.0.extend((0..count).map(Value::from));
                    list.1.extend((0..count).map(Value::from));
                }
                ListOp::Keep => kept.push(list.clone()),
                ListOp::GoBack => list = kept.last().unwrap().clone(),
            }
        }
        kept.push(list);
        for (list, model) in &kept {
            prop_assert_eq!(list.len(), model.len());
            prop_assert!(list.iter().eq(model.iter()));
            prop_assert!(list.iter().rev().eq(model.iter().rev()));
            prop_assert_eq!(list.iter().len(), model.len());
            let mut both = list.iter();
            let (front, back) = (both.next(), both.next_back());
            prop_assert_eq!(front, model.first());
            prop_assert_eq!(back, if model.len() > 1 { model.last() } else { None });
            for at in 0..model.len() + 2 {
                prop_assert_eq!(list.get(at), model.get(at));
            }
            for at in [1, 31, 32, 33, 64, model.len(), model.len() + 1] {
                prop_assert!(list.iter_from(at).eq(model.iter().skip(at)));
                let mut beginning = list.prefix(at);
                prop_assert!(beginning.iter().eq(model.iter().take(at)));
                prop_assert_eq!(beginning.shared_prefix(list), at.min(model.len()));
                // Going on from a beginning leaves the list as it was.
                beginning.push(Value::Null);
                prop_assert_eq!(beginning.len(), at.min(model.len()) + 1);
                prop_assert!(list.iter().eq(model.iter()));
            }
            prop_assert_eq!(list, &Array::from(model.clone()));
            for (other, other_model) in &kept {
                prop_assert_eq!(list == other, model == other_model);
                prop_assert_eq!(list.is_prefix_of(other), other_model.starts_with(model));
                // Scalars are shared by value.
                let alike = model.iter().zip(other_model).take_while(|(a, b)| a == b).count();
                prop_assert_eq!(list.shared_prefix(other), alike);
            }
        }
    }

    /// Proves ENG-2, ENG-61.
    #[test]
    fn an_object_behaves_like_an_ordered_map_and_versions_do_not_influence_each_other(
        ops in prop::collection::vec(map_op(), 0..120),
    ) {
        let mut map = (Object::new(), indexmap::IndexMap::<String, Value>::new());
        let mut kept = vec![map.clone()];
        for op in ops {
            match op {
                MapOp::Insert(key, n) => {
                    let key = format!("k{key}");
                    prop_assert_eq!(map.0.insert(key.as_str(), n.into()), map.1.insert(key, n.into()));
                }
                MapOp::Remove(key) => {
                    let key = format!("k{key}");
                    prop_assert_eq!(map.0.remove(&key), map.1.shift_remove(&key));
                }
                MapOp::Keep => kept.push(map.clone()),
                MapOp::GoBack => map = kept.last().unwrap().clone(),
            }
        }
        kept.push(map);
        for (map, model) in &kept {
            prop_assert_eq!(map.len(), model.len());
            prop_assert!(map.iter().map(|(k, v)| (&**k, v)).eq(model.iter().map(|(k, v)| (k.as_str(), v))));
            prop_assert!(map.keys().rev().map(|k| &**k).eq(model.keys().rev().map(|k| k.as_str())));
            prop_assert_eq!(map.values().len(), model.len());
            for (key, value) in model {
                prop_assert_eq!(map.get(key), Some(value));
            }
            prop_assert_eq!(map, &model.iter().map(|(k, v)| (k.as_str(), v.clone())).collect::<Object>());
        }
        for pair in kept.windows(2) {
            prop_assert_eq!(pair[0].0 == pair[1].0, pair[0].1 == pair[1].1);
        }
    }

    /// Proves ENG-61.
    #[test]
    fn a_value_survives_its_text_and_serde_json(value in any_value()) {
        let text = value.to_string();
        prop_assert_eq!(&text.parse::<Value>().unwrap(), &value);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        prop_assert_eq!(&Value::from(value.to_json()), &value);
        let by_serde = serde_json::to_string(&value).unwrap();
        prop_assert_eq!(&by_serde.parse::<Value>().unwrap(), &value);
        // Order is kept: the text is stable.
        prop_assert_eq!(text.parse::<Value>().unwrap().to_string(), text);
    }

    /// Proves ENG-64.
    #[test]
    fn every_finite_number_survives_its_text(double in any::<f64>(), signed in any::<i64>(), unsigned in any::<u64>()) {
        for value in [Value::from(double), Value::from(signed), Value::from(unsigned)] {
            let text = value.to_string();
            prop_assert_eq!(&text.parse::<Value>().unwrap(), &value);
            prop_assert_eq!(&Value::from_serialize(&value.decode::<Value>().unwrap()).unwrap(), &value);
        }
        prop_assert_eq!(Value::from(double).as_f64(), Some(double).filter(|d| d.is_finite()));
    }

    /// Proves OBS-77.
    #[test]
    fn cuts_never_split_a_character_nor_exceed_the_limit(units in prop::collection::vec(any::<char>(), 0..30), max in 0usize..50) {
        let text: String = units.into_iter().collect();
        let cut = utf16::prefix(&text, max);
        prop_assert!(text.starts_with(cut));
        prop_assert!(utf16::len(cut) <= max);
        prop_assert_eq!(utf16::len(&text), text.encode_utf16().count());
        let next = text[cut.len()..].chars().next();
        prop_assert!(next.is_none_or(|c| utf16::len(cut) + c.len_utf16() > max));
    }

    #[test]
    fn utf16_order_is_the_order_of_the_units(a in any::<[char; 3]>(), b in any::<[char; 3]>()) {
        let (a, b): (String, String) = (a.iter().collect(), b.iter().collect());
        prop_assert_eq!(utf16::cmp(&a, &b), a.encode_utf16().collect::<Vec<_>>().cmp(&b.encode_utf16().collect()));
    }
}
