//! How diagnostic bags grow (ENG-86).

use crate::value::{Object, Value};

/// First write stores; later ones to the same name concatenate lists, shallow-merge objects, replace the
/// rest.
pub(crate) fn put(bag: &mut Object, key: &str, value: Value) {
    let value = match (bag.get(key), value) {
        (Some(Value::Array(before)), Value::Array(more)) => {
            let mut all = before.clone();
            all.extend(more.iter().cloned());
            Value::Array(all)
        }
        (Some(Value::Object(before)), Value::Object(over)) => {
            let mut all = before.clone();
            for (name, value) in &over {
                all.insert(name.clone(), value.clone());
            }
            Value::Object(all)
        }
        (_, value) => value,
    };
    bag.insert(key, value);
}
