use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::{Value, ValueError};

/// Number of views kept.
const SLOTS: usize = 64;

/// A bounded table of typed views: the decoded form of a container, kept while it is in use.
///
/// A view belongs to the value *node* and the type, never to a key: another version of the value, or
/// another type, gets a view of its own. The table pins the nodes it knows, so an address cannot be reused
/// under it, and keeps at most 64 of them, so old versions are not kept alive for the length of a run.
///
/// ```
/// use std::sync::Arc;
/// use footprint::value;
/// use footprint::value::TypedViews;
/// let mut views = TypedViews::default();
/// let list = value!(["a", "b"]);
/// let first = views.get::<Vec<String>>(&list)?;
/// let again = views.get::<Vec<String>>(&list)?;
/// assert!(Arc::ptr_eq(&first, &again));
/// # Ok::<(), footprint::value::ValueError>(())
/// ```
#[derive(Default)]
pub struct TypedViews {
    slots: Vec<Option<Slot>>,
}

struct Slot {
    node: Value,
    of: TypeId,
    view: Arc<dyn Any + Send + Sync>,
}

impl TypedViews {
    /// The value as a `T`: decoded on first use, shared afterwards. Scalars are decoded each time.
    pub fn get<T>(&mut self, value: &Value) -> Result<Arc<T>, ValueError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let Some(address) = node_address(value) else { return value.decode().map(Arc::new) };
        let of = TypeId::of::<T>();
        if self.slots.is_empty() {
            self.slots.resize_with(SLOTS, || None);
        }
        // Nodes are at least 16 bytes apart; the multiplication spreads neighbours over the table.
        let at = (address >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15_usize) >> (usize::BITS - SLOTS.ilog2());
        let known = self.slots.get(at).and_then(Option::as_ref);
        if let Some(slot) = known.filter(|slot| slot.of == of && slot.node.ptr_eq(value))
            && let Ok(view) = slot.view.clone().downcast::<T>()
        {
            return Ok(view);
        }
        let view = Arc::new(value.decode::<T>()?);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Some(Slot { node: value.clone(), of, view: view.clone() });
        }
        Ok(view)
    }

    /// Forgets every view.
    pub fn clear(&mut self) {
        self.slots.clear();
    }
}

/// The address of a container node; `None` for scalars, text and empty containers.
fn node_address(value: &Value) -> Option<usize> {
    let address = match value {
        Value::Array(array) => array.address(),
        Value::Object(object) => object.address(),
        _ => 0,
    };
    (address != 0).then_some(address)
}

impl fmt::Debug for TypedViews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedViews").field("kept", &self.slots.iter().flatten().count()).finish()
    }
}
