//! Passing a shared [`Value`] through serde without copying it.
//!
//! serde only knows its own data model, so a `Value` inside a user's struct would be taken apart and
//! rebuilt on every typed read and write. Both directions therefore announce values as a newtype with a
//! name of our own. Our serializer and deserializer recognise the name and move the shared value through a
//! thread-local slot; every other format sees an ordinary newtype, which is transparent.

use std::cell::{Cell, RefCell};

use serde::{Serialize, Serializer};

use super::Value;

/// The newtype name both directions announce.
pub(super) const TOKEN: &str = "$footprint::Value";

thread_local! {
    /// Set by our serializer just before it asks a [`Payload`] for its value.
    static WANTED: Cell<bool> = const { Cell::new(false) };
    static SLOT: RefCell<Option<Value>> = const { RefCell::new(None) };
}

/// Puts a value into the slot for the visitor called next.
pub(super) fn offer(value: Value) {
    SLOT.with_borrow_mut(|slot| *slot = Some(value));
}

/// Takes what was offered.
pub(super) fn take() -> Option<Value> {
    SLOT.with_borrow_mut(Option::take)
}

/// Asks the payload serialized next to offer its value instead of serializing it.
pub(super) fn want() {
    WANTED.set(true);
}

/// What a value announces as the content of its newtype.
pub(super) struct Payload<'a>(pub(super) &'a Value);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if WANTED.replace(false) {
            offer(self.0.clone());
            return serializer.serialize_unit();
        }
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Number(value) => value.serialize(serializer),
            Value::String(value) => serializer.serialize_str(value),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(entries) => serializer.collect_map(entries.iter().map(|(k, v)| (&**k, v))),
        }
    }
}
