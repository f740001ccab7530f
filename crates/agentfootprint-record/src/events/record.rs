//! The `record!` macro: one declaration of a payload (or of an object inside one) yields its struct, its
//! constructor, its JSON form both ways, and the facts about its fields.

/// Declares records.
///
/// ```text
/// record! {
///     /// What it says.
///     pub struct ToolStart {
///         req tool_name = "toolName": Str as name,   // always there; declared name → structure
///         req args: Value,                           // content, the default for text and JSON
///         opt protocol: ToolProtocol,                // absent when it does not apply
///         flag ended,                                // absent, or the literal true
///     }
/// }
/// ```
///
/// `as id` and `as name` make a field [`Class::Structure`](super::field::Class::Structure), `as content`
/// the opposite; without either the type decides. `new` takes the required fields in order; optional ones
/// have a setter of their name.
macro_rules! record {
    ($( $(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* } )+) => {
        $( $crate::events::record::record_one! { [$(#[$meta])*] $name { $($fields)* } } )+
    };
}

macro_rules! record_one {
    (
        [$(#[$meta:meta])*] $name:ident {
            $( $(#[$field_meta:meta])* $mode:ident $field:ident $(= $wire:literal)? $(: $ty:ty $(as $class:ident)?)? ),*
            $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                #[doc = concat!("Recorded as `", $crate::events::record::wire!($field $($wire)?), "`.")]
                $(#[$field_meta])*
                pub $field: $crate::events::record::field_type!($mode $($ty)?),
            )*
        }

        impl $name {
            $crate::events::record::constructor! { [] [] $( $mode $field [$($ty)?] )* }
            $( $crate::events::record::setter! {
                $mode $field [$($ty)?] $crate::events::record::wire!($field $($wire)?)
            } )*
        }

        impl $crate::events::field::Record for $name {
            const FIELDS: &'static [$crate::events::field::FieldInfo] = &[
                $( $crate::events::field::FieldInfo {
                    name: $crate::events::record::wire!($field $($wire)?),
                    need: $crate::events::record::need!($mode),
                    shape: $crate::events::record::shape!($mode $($ty)?),
                    class: $crate::events::record::class!($mode $($ty $(as $class)?)?),
                } ),*
            ];

            fn to_object(&self) -> ::footprint::value::Object {
                #[allow(unused_mut, reason = "a record may have no field")]
                let mut object = ::footprint::value::Object::new();
                $( $crate::events::record::put!(
                    $mode object self.$field, $crate::events::record::wire!($field $($wire)?)
                ); )*
                object
            }

            fn from_object(
                object: &::footprint::value::Object,
            ) -> Result<Self, $crate::events::field::Misfit> {
                let _ = object;
                Ok(Self {
                    $( $field: $crate::events::record::take!(
                        $mode object, $crate::events::record::wire!($field $($wire)?) $(, $ty)?
                    ), )*
                })
            }
        }

        impl $crate::events::field::Field for $name {
            const SHAPE: $crate::events::field::Shape =
                $crate::events::field::Shape::Record(<Self as $crate::events::field::Record>::FIELDS);

            fn to_value(&self) -> ::footprint::value::Value {
                ::footprint::value::Value::Object($crate::events::field::Record::to_object(self))
            }

            fn from_value(
                value: &::footprint::value::Value,
            ) -> Result<Self, $crate::events::field::Misfit> {
                $crate::events::field::object(value).and_then($crate::events::field::Record::from_object)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                ::serde::Serialize::serialize(&$crate::events::field::Field::to_value(self), serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <::footprint::value::Value as ::serde::Deserialize>::deserialize(deserializer)?;
                $crate::events::field::Field::from_value(&value).map_err(::serde::de::Error::custom)
            }
        }
    };
}

macro_rules! wire {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

macro_rules! field_type {
    (req $ty:ty) => { $ty };
    (opt $ty:ty) => { Option<$ty> };
    (flag) => { bool };
}

macro_rules! need {
    (req) => {
        $crate::events::field::Need::Required
    };
    (opt) => {
        $crate::events::field::Need::Optional
    };
    (flag) => {
        $crate::events::field::Need::True
    };
}

macro_rules! shape {
    (flag) => {
        $crate::events::field::Shape::Bool
    };
    ($mode:ident $ty:ty) => {
        <$ty as $crate::events::field::Field>::SHAPE
    };
}

macro_rules! class {
    (flag) => {
        $crate::events::field::Class::Structure
    };
    ($mode:ident $ty:ty) => {
        <$ty as $crate::events::field::Field>::CLASS
    };
    ($mode:ident $ty:ty as id) => {
        $crate::events::field::Class::Structure
    };
    ($mode:ident $ty:ty as name) => {
        $crate::events::field::Class::Structure
    };
    ($mode:ident $ty:ty as content) => {
        $crate::events::field::Class::Content
    };
}

macro_rules! put {
    (req $object:ident $self:ident.$field:ident, $wire:expr) => {
        $object.insert($wire, $crate::events::field::Field::to_value(&$self.$field));
    };
    (opt $object:ident $self:ident.$field:ident, $wire:expr) => {
        if let Some(value) = &$self.$field {
            $object.insert($wire, $crate::events::field::Field::to_value(value));
        }
    };
    (flag $object:ident $self:ident.$field:ident, $wire:expr) => {
        if $self.$field {
            $object.insert($wire, ::footprint::value::Value::Bool(true));
        }
    };
}

macro_rules! take {
    (req $object:ident, $wire:expr, $ty:ty) => {
        $crate::events::record::required::<$ty>($object, $wire)?
    };
    (opt $object:ident, $wire:expr, $ty:ty) => {
        $crate::events::record::optional::<$ty>($object, $wire)?
    };
    (flag $object:ident, $wire:expr) => {
        $crate::events::record::optional::<bool>($object, $wire)?.unwrap_or(false)
    };
}

/// Collects the required fields as parameters, then writes `new`.
macro_rules! constructor {
    ([$($params:tt)*] [$($inits:tt)*] req $field:ident [$ty:ty] $($rest:tt)*) => {
        $crate::events::record::constructor! {
            [$($params)* $field: impl $crate::events::Give<$ty>,] [$($inits)* $field: $field.give(),] $($rest)*
        }
    };
    ([$($params:tt)*] [$($inits:tt)*] opt $field:ident [$ty:ty] $($rest:tt)*) => {
        $crate::events::record::constructor! { [$($params)*] [$($inits)* $field: None,] $($rest)* }
    };
    ([$($params:tt)*] [$($inits:tt)*] flag $field:ident [] $($rest:tt)*) => {
        $crate::events::record::constructor! { [$($params)*] [$($inits)* $field: false,] $($rest)* }
    };
    ([$($params:tt)*] [$($inits:tt)*]) => {
        /// A record with its required fields, in recorded order; optional ones have setters.
        #[must_use]
        #[allow(clippy::too_many_arguments, clippy::new_without_default, reason = "one per required field")]
        pub fn new($($params)*) -> Self {
            #[allow(unused_imports, reason = "a record may have no required field")]
            use $crate::events::Give as _;
            Self { $($inits)* }
        }
    };
}

macro_rules! setter {
    (req $field:ident [$ty:ty] $wire:expr) => {};
    (opt $field:ident [$ty:ty] $wire:expr) => {
        #[doc = concat!("Sets `", $wire, "`, or leaves it absent.")]
        #[must_use]
        pub fn $field(mut self, $field: impl $crate::events::Give<Option<$ty>>) -> Self {
            self.$field = $crate::events::Give::give($field);
            self
        }
    };
    (flag $field:ident [] $wire:expr) => {
        #[doc = concat!("Sets `", $wire, "` to `true`, or leaves it absent.")]
        #[must_use]
        pub fn $field(mut self, $field: bool) -> Self {
            self.$field = $field;
            self
        }
    };
}

pub(crate) use {class, constructor, field_type, need, put, record, record_one, setter, shape, take, wire};

use footprint::value::{Object, Value};

use super::field::{Field, Misfit};

pub(crate) fn required<T: Field>(object: &Object, name: &'static str) -> Result<T, Misfit> {
    match object.get(name) {
        Some(value) => T::from_value(value).map_err(|misfit| misfit.under(name)),
        None => Err(Misfit::missing(name, "a value")),
    }
}

/// Absent and `null` are the same on the reading side: a writer that says `null` means absent.
pub(crate) fn optional<T: Field>(object: &Object, name: &'static str) -> Result<Option<T>, Misfit> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => T::from_value(value).map(Some).map_err(|misfit| misfit.under(name)),
    }
}
