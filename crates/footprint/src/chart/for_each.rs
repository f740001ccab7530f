//! Parallel for-each: one generated branch per item of a list known only at run time.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::chart::func::{BranchChartFn, ItemsFn, from_value, to_value};
use crate::chart::stage::{Label, label_methods};
use crate::chart::{FanOut, ResolvesToChart};
use crate::error::StageError;
use crate::scope::{KeyName, Scope};
use crate::value::Str;

/// A node that runs one chart per item, in parallel, and writes all results as one list (ENG-38).
///
/// An item reaches its branch in the form it is recorded in, so a branch that is resumed in another process is built from the same
/// item.
///
/// ```
/// use footprint::chart::{Chart, ForEach, Stage};
/// use footprint::scope::Scope;
///
/// let review = ForEach::new(
///     "review",
///     |_: Scope| Ok(vec!["a".to_string(), "b".to_string()]),
///     |_item: &String, _index| Chart::builder(Stage::new("look", |_: Scope| async { Ok(()) })).build(),
/// )
/// .max_branches(8)
/// .into("reviews");
/// assert_eq!(review.id(), "review");
/// ```
#[derive(Clone)]
pub struct ForEach {
    pub(crate) label: Label,
    pub(crate) items: ItemsFn,
    pub(crate) branch: BranchChartFn,
    pub(crate) max_branches: Option<usize>,
    pub(crate) into: Option<Str>,
    pub(crate) mode: FanOut,
}

impl ForEach {
    label_methods!();

    /// `items` lists the work (its reads are tracked), `branch` makes the chart of one item.
    pub fn new<F, V, B, R>(id: impl Into<Str>, items: F, branch: B) -> ForEach
    where
        F: Fn(Scope) -> Result<Vec<V>, StageError> + Send + Sync + 'static,
        V: Serialize + DeserializeOwned + 'static,
        B: Fn(&V, usize) -> R + Send + Sync + 'static,
        R: ResolvesToChart,
    {
        let items: ItemsFn = Arc::new(move |scope| items(scope)?.iter().map(to_value).collect());
        let branch: BranchChartFn =
            Arc::new(move |value, index| branch(&from_value::<V>(value)?, index).resolved());
        ForEach {
            label: Label::new(id),
            items,
            branch,
            max_branches: None,
            into: None,
            mode: FanOut::default(),
        }
    }

    /// Required ceiling; items past it do not run, and the record says how many (ENG-39).
    #[must_use]
    pub fn max_branches(mut self, ceiling: usize) -> ForEach {
        self.max_branches = Some(ceiling);
        self
    }

    /// Required: the root state key that receives the list of results, a typed key or its name.
    #[must_use]
    pub fn into(mut self, key: impl KeyName) -> ForEach {
        self.into = Some(Str::from(key.key_name()));
        self
    }

    /// What a failing branch does to the others.
    #[must_use]
    pub fn fan_out(mut self, mode: FanOut) -> ForEach {
        self.mode = mode;
        self
    }
}

impl fmt::Debug for ForEach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForEach")
            .field("id", &self.label.id)
            .field("max_branches", &self.max_branches)
            .finish_non_exhaustive()
    }
}
