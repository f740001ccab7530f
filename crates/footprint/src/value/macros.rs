/// Builds a [`Value`](crate::value::Value) from JSON syntax with Rust expressions in it.
///
/// An expression must be `Into<Value>`; keys are text literals or expressions in parentheses.
///
/// ```
/// use footprint::value;
/// let name = "tea";
/// let items = vec![1, 2];
/// let order = value!({ "sku": name, "qty": items, (name): null, "nested": [true, { "x": 1.5 }], });
/// assert_eq!(order.to_string(), r#"{"sku":"tea","qty":[1,2],"tea":null,"nested":[true,{"x":1.5}]}"#);
/// ```
#[macro_export]
macro_rules! value {
    // Lists: collect finished elements, munch one element at a time.
    (@list [$($done:expr,)*]) => { [$($done),*] };
    (@list [$($done:expr),*]) => { [$($done),*] };
    (@list [$($done:expr,)*] null $($rest:tt)*) => { $crate::value!(@list [$($done,)* $crate::value!(null)] $($rest)*) };
    (@list [$($done:expr,)*] [$($inner:tt)*] $($rest:tt)*) => { $crate::value!(@list [$($done,)* $crate::value!([$($inner)*])] $($rest)*) };
    (@list [$($done:expr,)*] {$($inner:tt)*} $($rest:tt)*) => { $crate::value!(@list [$($done,)* $crate::value!({$($inner)*})] $($rest)*) };
    (@list [$($done:expr,)*] $next:expr, $($rest:tt)*) => { $crate::value!(@list [$($done,)* $crate::value!($next),] $($rest)*) };
    (@list [$($done:expr,)*] $last:expr) => { $crate::value!(@list [$($done,)* $crate::value!($last)]) };
    (@list [$($done:expr),*] , $($rest:tt)*) => { $crate::value!(@list [$($done,)*] $($rest)*) };

    // Maps: the key is known, munch its value; then the next entry.
    (@map $map:ident) => {};
    (@map $map:ident , $($rest:tt)*) => { $crate::value!(@map $map $($rest)*) };
    (@map $map:ident ($key:expr) : $($rest:tt)*) => { $crate::value!(@entry $map ($key) $($rest)*) };
    (@map $map:ident $key:literal : $($rest:tt)*) => { $crate::value!(@entry $map ($key) $($rest)*) };
    (@entry $map:ident ($key:expr) null $($rest:tt)*) => { $map.push(($crate::value::Str::from($key), $crate::value!(null))); $crate::value!(@map $map $($rest)*) };
    (@entry $map:ident ($key:expr) [$($inner:tt)*] $($rest:tt)*) => { $map.push(($crate::value::Str::from($key), $crate::value!([$($inner)*]))); $crate::value!(@map $map $($rest)*) };
    (@entry $map:ident ($key:expr) {$($inner:tt)*} $($rest:tt)*) => { $map.push(($crate::value::Str::from($key), $crate::value!({$($inner)*}))); $crate::value!(@map $map $($rest)*) };
    (@entry $map:ident ($key:expr) $value:expr, $($rest:tt)*) => { $map.push(($crate::value::Str::from($key), $crate::value!($value))); $crate::value!(@map $map $($rest)*) };
    (@entry $map:ident ($key:expr) $value:expr) => { $map.push(($crate::value::Str::from($key), $crate::value!($value))); };

    (null) => { $crate::value::Value::Null };
    ([]) => { $crate::value::Value::Array($crate::value::Array::new()) };
    ([$($inner:tt)+]) => {
        $crate::value::Value::Array(::core::iter::IntoIterator::into_iter($crate::value!(@list [] $($inner)+)).collect())
    };
    ({}) => { $crate::value::Value::Object($crate::value::Object::new()) };
    ({$($inner:tt)+}) => {{
        let mut entries = ::std::vec::Vec::<($crate::value::Str, $crate::value::Value)>::new();
        #[allow(clippy::vec_init_then_push)]
        {
            $crate::value!(@map entries $($inner)+);
        }
        $crate::value::Value::Object(::core::iter::IntoIterator::into_iter(entries).collect())
    }};
    ($other:expr) => { $crate::value::Value::from($other) };
}
