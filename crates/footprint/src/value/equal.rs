//! Deep equality with an explicit stack; nodes both sides share are not visited.

use smallvec::SmallVec;

use super::{Array, Object, Value};

/// Pairs of containers still to compare.
pub(super) type Pairs<'a> = SmallVec<[(&'a Value, &'a Value); 4]>;

/// Compares two values as far as that needs no descent; containers that may be equal are put off.
pub(super) fn same_so_far<'a>(a: &'a Value, b: &'a Value, later: &mut Pairs<'a>) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::String(a), Value::String(b)) => std::sync::Arc::ptr_eq(a, b) || a == b,
        (Value::Array(x), Value::Array(y)) => {
            if !x.ptr_eq(y) {
                later.push((a, b));
            }
            x.len() == y.len()
        }
        (Value::Object(x), Value::Object(y)) => {
            if !x.ptr_eq(y) {
                later.push((a, b));
            }
            x.len() == y.len()
        }
        _ => false,
    }
}

/// Works off what was put off.
pub(super) fn all_same(mut later: Pairs<'_>) -> bool {
    while let Some((a, b)) = later.pop() {
        let same = match (a, b) {
            (Value::Array(a), Value::Array(b)) => a.same_items(b, &mut later),
            (Value::Object(a), Value::Object(b)) => a.same_entries(b, &mut later),
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let mut later = Pairs::new();
        same_so_far(self, other, &mut later) && all_same(later)
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        let mut later = Pairs::new();
        self.same_items(other, &mut later) && all_same(later)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        let mut later = Pairs::new();
        self.same_entries(other, &mut later) && all_same(later)
    }
}
