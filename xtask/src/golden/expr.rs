//! The expression language of golden scenarios: one-key objects whose key starts with `$` compute, all else is data.

use serde_json::{Map, Number, Value};

/// Where an expression finds what it names. Each scenario kind implements the sources it has.
pub(super) trait Sources {
    /// A tracked read of one root key of the state (in mappers: of the parent's state).
    fn state(&self, root: &str) -> Option<Value>;
    /// The run's read-only arguments.
    fn args(&self) -> Option<Value> {
        None
    }
    /// The run's environment.
    fn env(&self) -> Option<Value> {
        None
    }
    /// The answer given to a resumed stage.
    fn answer(&self) -> Option<Value> {
        None
    }
    /// What a mounted chart handed over.
    fn sub(&self) -> Option<Value> {
        None
    }
    /// The object handed to a predicate or a behaviour.
    fn input(&self) -> Option<Value> {
        None
    }
}

/// An expression that could not be computed, for instance a condition that says `throws`.
#[derive(Debug, Clone)]
pub(super) struct Thrown(pub String);

type Outcome<T> = Result<T, Thrown>;

/// Computes `expression`; `None` is an absent value.
pub(super) fn eval(expression: &Value, sources: &dyn Sources) -> Outcome<Option<Value>> {
    match expression {
        Value::Object(map) => match operator(map) {
            Some((name, operand)) => compute(name, operand, sources),
            None => {
                let mut out = Map::new();
                for (key, value) in map {
                    if let Some(value) = eval(value, sources)? {
                        out.insert(key.clone(), value);
                    }
                }
                Ok(Some(Value::Object(out)))
            }
        },
        Value::Array(items) => {
            let mut out = Vec::with_capacity(items.len());
            for item in items {
                out.push(eval(item, sources)?.unwrap_or(Value::Null));
            }
            Ok(Some(Value::Array(out)))
        }
        literal => Ok(Some(literal.clone())),
    }
}

fn operator(map: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, operand) = map.iter().next()?;
    (map.len() == 1 && name.starts_with('$')).then_some((name.as_str(), operand))
}

fn compute(name: &str, operand: &Value, sources: &dyn Sources) -> Outcome<Option<Value>> {
    let path = operand.as_str().unwrap_or_default();
    match name {
        "$state" => {
            let (root, rest) = path.split_once('.').unwrap_or((path, ""));
            Ok(sources.state(root).and_then(|value| walk(&value, rest)))
        }
        "$args" => Ok(sources.args().and_then(|value| walk(&value, path))),
        "$env" => Ok(sources.env().and_then(|value| walk(&value, path))),
        "$answer" => Ok(sources.answer().and_then(|value| walk(&value, path))),
        "$sub" => Ok(sources.sub().and_then(|value| walk(&value, path))),
        "$in" => Ok(sources.input().and_then(|value| walk(&value, path))),
        "$add" => fold_numbers(operand, sources, 0.0, |sum, x| sum + x),
        "$mul" => fold_numbers(operand, sources, 1.0, |product, x| product * x),
        "$minus" => {
            let operands = numbers(operand, sources)?;
            let mut rest = operands.iter();
            let first = rest.next().copied().unwrap_or_default();
            Ok(Some(number(rest.fold(first, |difference, x| difference - x))))
        }
        "$concat" => {
            let mut text = String::new();
            for part in list(operand) {
                text.push_str(&render(eval(part, sources)?.as_ref()));
            }
            Ok(Some(Value::String(text)))
        }
        "$len" => Ok(Some(number(length(eval(operand, sources)?.as_ref()) as f64))),
        "$slice" => slice(list(operand), sources),
        "$upper" => {
            Ok(eval(operand, sources)?.map(|value| Value::String(render(Some(&value)).to_uppercase())))
        }
        "$if" => match list(operand) {
            [condition, yes, no] => eval(if holds(condition, sources)? { yes } else { no }, sources),
            _ => Err(Thrown("$if takes [condition, then, else]".to_owned())),
        },
        other => Err(Thrown(format!("unknown operator {other}"))),
    }
}

/// Decides a condition: `eq ne gt gte lt lte contains present and or not always throws`.
pub(super) fn holds(condition: &Value, sources: &dyn Sources) -> Outcome<bool> {
    let Some((name, operand)) = condition.as_object().and_then(|map| map.iter().next()) else {
        return Err(Thrown(format!("not a condition: {condition}")));
    };
    match name.as_str() {
        "and" => {
            for part in list(operand) {
                if !holds(part, sources)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        "or" => {
            for part in list(operand) {
                if holds(part, sources)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        "not" => Ok(!holds(operand, sources)?),
        "always" => Ok(operand.as_bool().unwrap_or_default()),
        "throws" => Err(Thrown(operand.as_str().unwrap_or("thrown").to_owned())),
        "present" => Ok(eval(operand, sources)?.is_some_and(|value| !value.is_null())),
        _ => {
            let [left, right] = list(operand) else {
                return Err(Thrown(format!("{name} takes two operands")));
            };
            let (left, right) = (eval(left, sources)?, eval(right, sources)?);
            compare(name, left.as_ref(), right.as_ref())
        }
    }
}

fn compare(name: &str, left: Option<&Value>, right: Option<&Value>) -> Outcome<bool> {
    let same = match (left, right) {
        (Some(left), Some(right)) => equal(left, right),
        (None, None) => true,
        _ => false,
    };
    Ok(match name {
        "eq" => same,
        "ne" => !same,
        "contains" => match (left, right) {
            (Some(Value::String(text)), Some(part)) => text.contains(&render(Some(part))),
            (Some(Value::Array(items)), Some(item)) => items.iter().any(|each| equal(each, item)),
            _ => false,
        },
        "gt" | "gte" | "lt" | "lte" => {
            let order = match (left, right) {
                (Some(Value::String(left)), Some(Value::String(right))) => Some(left.cmp(right)),
                (Some(left), Some(right)) => {
                    left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
                }
                _ => None,
            };
            order.is_some_and(|order| match name {
                "gt" => order.is_gt(),
                "gte" => order.is_ge(),
                "lt" => order.is_lt(),
                _ => order.is_le(),
            })
        }
        other => return Err(Thrown(format!("unknown condition {other}"))),
    })
}

/// Equality of JSON values where numbers compare by value.
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| equal(left, right)))
        }
        _ => left == right,
    }
}

/// Follows a dotted path below a value; the empty path is the value itself.
pub(super) fn walk(value: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    let mut current = value;
    for segment in path.split('.') {
        current = match current {
            Value::Object(map) => map.get(segment)?,
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(current.clone())
}

/// Replaces `{name}` by the named field of `fields`; an unknown name stays as it stands.
pub(super) fn template(text: &str, fields: &Value) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}') {
            Some((name, tail))
                if !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.') =>
            {
                out.push_str(&render(walk(fields, name).as_ref()));
                rest = tail;
            }
            _ => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Text as it is, everything else as compact JSON, an absent value as nothing.
pub(super) fn render(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn length(value: Option<&Value>) -> usize {
    match value {
        Some(Value::Array(items)) => items.len(),
        Some(Value::String(text)) => text.encode_utf16().count(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}

fn slice(operands: &[Value], sources: &dyn Sources) -> Outcome<Option<Value>> {
    let [of, bounds @ ..] = operands else {
        return Err(Thrown("$slice takes [list or text, from, to?]".to_owned()));
    };
    let of = eval(of, sources)?;
    let length = length(of.as_ref()) as i64;
    let mut limits = [0, length];
    for (limit, bound) in limits.iter_mut().zip(bounds) {
        let at = eval(bound, sources)?.and_then(|value| value.as_i64()).unwrap_or(*limit);
        *limit = if at < 0 { (length + at).max(0) } else { at.min(length) };
    }
    let [from, to] = limits;
    let (from, to) = (from as usize, to.max(from) as usize);
    Ok(Some(match of {
        Some(Value::Array(items)) => Value::Array(items.into_iter().take(to).skip(from).collect()),
        Some(Value::String(text)) => {
            let units: Vec<u16> = text.encode_utf16().take(to).skip(from).collect();
            Value::String(String::from_utf16_lossy(&units))
        }
        _ => Value::Array(Vec::new()),
    }))
}

fn numbers(operand: &Value, sources: &dyn Sources) -> Outcome<Vec<f64>> {
    list(operand)
        .iter()
        .map(|part| Ok(eval(part, sources)?.and_then(|value| value.as_f64()).unwrap_or_default()))
        .collect()
}

fn fold_numbers(
    operand: &Value,
    sources: &dyn Sources,
    start: f64,
    f: fn(f64, f64) -> f64,
) -> Outcome<Option<Value>> {
    Ok(Some(number(numbers(operand, sources)?.into_iter().fold(start, f))))
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9.0e15 {
        return Value::Number(Number::from(value as i64));
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn list(operand: &Value) -> &[Value] {
    operand.as_array().map_or(&[], Vec::as_slice)
}
