use serde::ser::{self, Serialize, Serializer};

use super::handoff::{self, Payload, TOKEN};
use super::number::NumberForm;
use super::{Array, MAX_DEPTH, Number, Object, Str, Value, ValueError};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TOKEN, &Payload(self))
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Array(self.clone()).serialize(serializer)
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::Object(self.clone()).serialize(serializer)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.form() {
            NumberForm::Signed(value) if value >= 0 => serializer.serialize_u64(value.unsigned_abs()),
            NumberForm::Signed(value) => serializer.serialize_i64(value),
            NumberForm::Unsigned(value) => serializer.serialize_u64(value),
            NumberForm::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl ser::Error for ValueError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Serde(message.to_string())
    }
}

/// Builds a [`Value`] from anything serializable; refuses what the model cannot represent.
#[derive(Clone, Copy)]
pub(super) struct ValueSerializer {
    /// Levels that may still be opened.
    left: usize,
}

impl ValueSerializer {
    pub(super) fn new() -> Self {
        Self { left: MAX_DEPTH }
    }

    fn inner(self) -> Result<Self, ValueError> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left }),
            None => Err(ValueError::TooDeep { limit: MAX_DEPTH }),
        }
    }

    fn check(self, value: Value) -> Result<Value, ValueError> {
        if value.depth() > self.left { Err(ValueError::TooDeep { limit: MAX_DEPTH }) } else { Ok(value) }
    }
}

type Ser = Result<Value, ValueError>;

impl Serializer for ValueSerializer {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Items;
    type SerializeMap = Entries;
    type SerializeStruct = Entries;
    type SerializeStructVariant = Entries;

    fn serialize_bool(self, v: bool) -> Ser {
        Ok(Value::Bool(v))
    }
    fn serialize_i8(self, v: i8) -> Ser {
        Ok(v.into())
    }
    fn serialize_i16(self, v: i16) -> Ser {
        Ok(v.into())
    }
    fn serialize_i32(self, v: i32) -> Ser {
        Ok(v.into())
    }
    fn serialize_i64(self, v: i64) -> Ser {
        Ok(v.into())
    }
    fn serialize_i128(self, v: i128) -> Ser {
        i64::try_from(v)
            .map(Value::from)
            .or_else(|_| u64::try_from(v).map(Value::from))
            .map_err(|_| ValueError::IntegerRange)
    }
    fn serialize_u8(self, v: u8) -> Ser {
        Ok(v.into())
    }
    fn serialize_u16(self, v: u16) -> Ser {
        Ok(v.into())
    }
    fn serialize_u32(self, v: u32) -> Ser {
        Ok(v.into())
    }
    fn serialize_u64(self, v: u64) -> Ser {
        Ok(v.into())
    }
    fn serialize_u128(self, v: u128) -> Ser {
        u64::try_from(v).map(Value::from).map_err(|_| ValueError::IntegerRange)
    }
    fn serialize_f32(self, v: f32) -> Ser {
        self.serialize_f64(v.into())
    }
    fn serialize_f64(self, v: f64) -> Ser {
        Number::from_f64(v).map(Value::Number).ok_or(ValueError::NonFinite)
    }
    fn serialize_char(self, v: char) -> Ser {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, v: &str) -> Ser {
        Ok(Value::from(v))
    }
    fn serialize_bytes(self, v: &[u8]) -> Ser {
        Ok(Value::Array(v.iter().map(|byte| Value::from(*byte)).collect()))
    }
    fn serialize_none(self) -> Ser {
        Ok(Value::Null)
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Ser {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Ser {
        Ok(Value::Null)
    }
    fn serialize_unit_struct(self, _name: &'static str) -> Ser {
        Ok(Value::Null)
    }
    fn serialize_unit_variant(self, _name: &'static str, _index: u32, variant: &'static str) -> Ser {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Ser {
        if name != TOKEN {
            return value.serialize(self);
        }
        handoff::want();
        let plain = value.serialize(self)?;
        self.check(handoff::take().unwrap_or(plain))
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Ser {
        let value = value.serialize(self.inner()?)?;
        Ok(tagged(variant, value))
    }
    fn serialize_seq(self, len: Option<usize>) -> Result<Items, ValueError> {
        // The announced length is only a hint of the caller: never reserve more than a little for it.
        let items = Vec::with_capacity(len.unwrap_or(0).min(1024));
        Ok(Items { variant: None, items, item: self.inner()? })
    }
    fn serialize_tuple(self, len: usize) -> Result<Items, ValueError> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Items, ValueError> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Items, ValueError> {
        Ok(Items { variant: Some(variant), ..self.inner()?.serialize_seq(Some(len))? })
    }
    fn serialize_map(self, _len: Option<usize>) -> Result<Entries, ValueError> {
        Ok(Entries { variant: None, entries: Vec::new(), key: None, value: self.inner()? })
    }
    fn serialize_struct(self, _name: &'static str, len: usize) -> Result<Entries, ValueError> {
        self.serialize_map(Some(len))
    }
    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Entries, ValueError> {
        Ok(Entries { variant: Some(variant), ..self.inner()?.serialize_map(Some(len))? })
    }
}

fn tagged(variant: &'static str, value: Value) -> Value {
    Value::Object([(variant, value)].into_iter().collect())
}

/// A list being built.
pub(super) struct Items {
    variant: Option<&'static str>,
    items: Vec<Value>,
    item: ValueSerializer,
}

impl Items {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        self.items.push(value.serialize(self.item)?);
        Ok(())
    }

    fn done(self) -> Value {
        let list = Value::Array(self.items.into());
        match self.variant {
            Some(variant) => tagged(variant, list),
            None => list,
        }
    }
}

/// A map being built.
pub(super) struct Entries {
    variant: Option<&'static str>,
    entries: Vec<(Str, Value)>,
    key: Option<Str>,
    value: ValueSerializer,
}

impl Entries {
    fn add<T: Serialize + ?Sized>(&mut self, key: Str, value: &T) -> Result<(), ValueError> {
        let value = value.serialize(self.value)?;
        self.entries.push((key, value));
        Ok(())
    }

    fn done(self) -> Value {
        let map = Value::Object(self.entries.into_iter().collect());
        match self.variant {
            Some(variant) => tagged(variant, map),
            None => map,
        }
    }
}

macro_rules! list_builder {
    ($($trait:ident :: $method:ident),*) => {$(
        impl ser::$trait for Items {
            type Ok = Value;
            type Error = ValueError;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
                self.add(value)
            }
            fn end(self) -> Ser {
                Ok(self.done())
            }
        }
    )*};
}
list_builder!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! struct_builder {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Entries {
            type Ok = Value;
            type Error = ValueError;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ValueError> {
                self.add(key.into(), value)
            }
            fn end(self) -> Ser {
                Ok(self.done())
            }
        }
    )*};
}
struct_builder!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Entries {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        match key.serialize(self.value)? {
            Value::String(key) => {
                self.key = Some(key);
                Ok(())
            }
            other => Err(ValueError::NonTextKey { found: other.kind().as_str() }),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ValueError> {
        let key =
            self.key.take().ok_or_else(|| <ValueError as ser::Error>::custom("a map value without a key"))?;
        self.add(key, value)
    }

    fn end(self) -> Ser {
        Ok(self.done())
    }
}
