//! The three lists of ground.

use std::collections::HashSet;

use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::shared::CoverageItem;
use footprint::value::{Array, Object, Str, Value};

/// What a result covers and what it does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoverageLists {
    /// Ground the result stands on.
    pub checked: Vec<CoverageItem>,
    /// Ground this call could have reached and did not.
    pub not_checked: Vec<CoverageItem>,
    /// Ground no call to this tool reaches.
    pub cannot_cover: Vec<CoverageItem>,
}

pub(super) const CHECKED: &str = "checked";
pub(super) const NOT_CHECKED: &str = "not_checked";
pub(super) const CANNOT_COVER: &str = "cannot_cover";

impl CoverageLists {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.checked.is_empty() && self.not_checked.is_empty() && self.cannot_cover.is_empty()
    }

    /// Several declarations as one, in the order they came; an entry with the same `what` and `why` is kept once.
    ///
    /// ```
    /// use agentfootprint_core::tools::{CoverageItem, CoverageLists};
    /// let one = CoverageLists { checked: vec!["aisle 1".into(), "aisle 2".into()], ..Default::default() };
    /// let two = CoverageLists { checked: vec!["aisle 2".into(), ("aisle 2", "again").into()], ..Default::default() };
    /// let folded = CoverageLists::folded([one, two]);
    /// assert_eq!(folded.checked, ["aisle 1".into(), "aisle 2".into(), CoverageItem::from(("aisle 2", "again"))]);
    /// ```
    pub fn folded(declared: impl IntoIterator<Item = Self>) -> Self {
        let mut out = Self::default();
        let mut seen: [HashSet<(Str, Option<Str>)>; 3] = Default::default();
        for lists in declared {
            let [checked, not_checked, cannot_cover] = &mut seen;
            keep_new(&mut out.checked, lists.checked, checked);
            keep_new(&mut out.not_checked, lists.not_checked, not_checked);
            keep_new(&mut out.cannot_cover, lists.cannot_cover, cannot_cover);
        }
        out
    }

    /// The lists that are not empty, in the wire's order and spelling.
    pub(crate) fn to_object(&self) -> Object {
        let mut out = Object::new();
        self.write_into(&mut out);
        out
    }

    /// Adds the lists that are not empty.
    pub(super) fn write_into(&self, out: &mut Object) {
        for (name, list) in self.named() {
            if !list.is_empty() {
                out.insert(name, items_value(list));
            }
        }
    }

    /// The lists under their wire names.
    pub(super) fn named(&self) -> [(&'static str, &Vec<CoverageItem>); 3] {
        [(CHECKED, &self.checked), (NOT_CHECKED, &self.not_checked), (CANNOT_COVER, &self.cannot_cover)]
    }

    /// Reads the lists of an object; entries that are no items are skipped.
    pub(super) fn read(members: &Value) -> Self {
        Self::read_named(members, [CHECKED, NOT_CHECKED, CANNOT_COVER])
    }

    /// Reads the lists under these names.
    pub(super) fn read_named(members: &Value, names: [&str; 3]) -> Self {
        let [checked, not_checked, cannot_cover] =
            names.map(|name| members.get(name).map(read_items).unwrap_or_default());
        Self { checked, not_checked, cannot_cover }
    }
}

fn keep_new(into: &mut Vec<CoverageItem>, items: Vec<CoverageItem>, seen: &mut HashSet<(Str, Option<Str>)>) {
    into.extend(items.into_iter().filter(|item| seen.insert((item.what.clone(), item.why.clone()))));
}

/// A list as it is recorded.
pub(crate) fn items_value(items: &[CoverageItem]) -> Value {
    Value::Array(items.iter().map(|item| item.to_value()).collect::<Array>())
}

fn read_items(list: &Value) -> Vec<CoverageItem> {
    list.as_array().into_iter().flat_map(|list| list.iter().filter_map(read_item)).collect()
}

/// An item: `what` and, when given, `why`, both texts that say something. Anything else is no item. A `why` of `null` is an
/// absent one.
pub(crate) fn read_item(value: &Value) -> Option<CoverageItem> {
    value.as_object()?;
    let what = said(value.get("what")?.as_str()?)?;
    let why = match value.get("why") {
        None | Some(Value::Null) => None,
        Some(why) => Some(said(why.as_str()?)?),
    };
    Some(CoverageItem { what, why })
}

/// The text without space around it, unless nothing is left.
pub(crate) fn said(text: &str) -> Option<Str> {
    let text = text.trim();
    (!text.is_empty()).then(|| Str::from(text))
}
