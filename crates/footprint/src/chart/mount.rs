//! Mounts: nodes that run another chart in isolation.

use std::fmt;
use std::sync::Arc;

use crate::chart::func::{InputMapperFn, OutputMapperFn};
use crate::chart::stage::{Label, label_methods};
use crate::chart::{BuildErrors, Chart, IntoChart, MountedChart};
use crate::error::StageError;
use crate::scope::StateView;
use crate::value::{Object, Str, Value};

/// What becomes of an array an output mapper returns for a key that already holds one (ENG-33).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayMergeMode {
    /// The returned items are appended.
    #[default]
    Concat,
    /// The returned array takes the place of the old one. Use it for mounts a loop crosses.
    Replace,
}

/// What an output mapper receives from the mounted chart: the last stage's return value and the final state.
#[derive(Clone)]
pub struct SubflowEnd {
    /// Value the last stage returned, if any.
    pub output: Option<Value>,
    /// Final state of the mounted chart.
    pub state: StateView,
}

/// How parent state becomes the keys a mounted chart starts with.
#[derive(Clone)]
pub(crate) enum InputMapper {
    /// Declared as data: (parent key, inner key). A missing parent key is left out. Exact for redaction (ENG-95).
    Keys(Arc<[(Str, Str)]>),
    /// Computed by author code.
    Computed(InputMapperFn),
}

/// How the end of a mounted chart becomes keys of its parent.
#[derive(Clone)]
pub(crate) enum OutputMapper {
    /// Declared as data: (inner key, parent key). A missing inner key is left out. Exact for redaction (ENG-95).
    Keys(Arc<[(Str, Str)]>),
    /// Computed by author code.
    Computed(OutputMapperFn),
}

impl InputMapper {
    /// Runs the mapper over the parent's state. Runs author code.
    pub(crate) fn apply(&self, parent: StateView) -> Result<Object, StageError> {
        match self {
            InputMapper::Keys(pairs) => Ok(copy_keys(pairs, &parent)),
            InputMapper::Computed(map) => map(parent),
        }
    }
}

impl OutputMapper {
    /// Runs the mapper over the end of the mounted chart. Runs author code.
    pub(crate) fn apply(&self, end: SubflowEnd, parent: StateView) -> Result<Object, StageError> {
        match self {
            OutputMapper::Keys(pairs) => Ok(copy_keys(pairs, &end.state)),
            OutputMapper::Computed(map) => map(end, parent),
        }
    }
}

fn copy_keys(pairs: &[(Str, Str)], from: &StateView) -> Object {
    let mut mapped = Object::new();
    for (source, target) in pairs {
        if let Some(value) = from.value(source) {
            mapped.insert(target.clone(), value);
        }
    }
    mapped
}

/// A node that runs another chart with its own state, log and frames (ENG-29).
///
/// ```
/// use footprint::chart::{ArrayMergeMode, Chart, Mount, Stage};
/// use footprint::scope::Scope;
///
/// let pay = Chart::builder(Stage::new("authorise", |_: Scope| async { Ok(()) })).build()?;
/// let order = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }))
///     .mount(
///         Mount::of("sf-pay", &pay)
///             .named("Pay")
///             .input_keys([("total", "amount")])
///             .output_keys([("receipt", "receipt")])
///             .array_merge(ArrayMergeMode::Replace),
///     )
///     .build()?;
/// assert_eq!(order.node_count(), 2);
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[derive(Clone)]
pub struct Mount {
    pub(crate) label: Label,
    pub(crate) chart: MountedChart,
    pub(crate) input: Option<InputMapper>,
    pub(crate) output: Option<OutputMapper>,
    pub(crate) array_merge: ArrayMergeMode,
    pub(crate) propagate_break: bool,
    pub(crate) converge_at: Option<Str>,
}

impl Mount {
    label_methods!();

    /// Mounts a chart, or a runner that exposes one, under an id of its own.
    pub fn of(id: impl Into<Str>, chart: &(impl IntoChart + ?Sized)) -> Mount {
        Mount::with_chart(id, MountedChart::Eager(chart.to_chart()))
    }

    /// Mounts the chart `resolve` produces at the first visit of a run (ENG-37).
    ///
    /// ```
    /// use footprint::chart::{Chart, Mount, Stage};
    /// use footprint::scope::Scope;
    ///
    /// let deep = Mount::lazy("deep", || Chart::builder(Stage::new("in", |_: Scope| async { Ok(()) })).build());
    /// assert_eq!(deep.id(), "deep");
    /// ```
    pub fn lazy<F, R>(id: impl Into<Str>, resolve: F) -> Mount
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: ResolvesToChart,
    {
        Mount::with_chart(id, MountedChart::Lazy(Arc::new(move || resolve().resolved())))
    }

    pub(crate) fn with_chart(id: impl Into<Str>, chart: MountedChart) -> Mount {
        Mount {
            label: Label::new(id),
            chart,
            input: None,
            output: None,
            array_merge: ArrayMergeMode::default(),
            propagate_break: false,
            converge_at: None,
        }
    }

    /// Computes the keys the mounted chart starts with; they are also its read-only arguments (ENG-30).
    #[must_use]
    pub fn input(
        mut self,
        map: impl Fn(StateView) -> Result<Object, StageError> + Send + Sync + 'static,
    ) -> Mount {
        self.input = Some(InputMapper::Computed(Arc::new(map)));
        self
    }

    /// Hands parent keys in under inner names, pairs of (parent key, inner key). Absent keys are left out.
    #[must_use]
    pub fn input_keys<P, I>(mut self, pairs: impl IntoIterator<Item = (P, I)>) -> Mount
    where
        P: Into<Str>,
        I: Into<Str>,
    {
        self.input = Some(InputMapper::Keys(collect_pairs(pairs)));
        self
    }

    /// Computes what crosses back to the parent (ENG-32).
    #[must_use]
    pub fn output(
        mut self,
        map: impl Fn(SubflowEnd) -> Result<Object, StageError> + Send + Sync + 'static,
    ) -> Mount {
        self.output = Some(OutputMapper::Computed(Arc::new(move |end, _parent| map(end))));
        self
    }

    /// Like [`Mount::output`], with a view of the parent's state at the moment of the merge.
    #[must_use]
    pub fn output_with_parent(
        mut self,
        map: impl Fn(SubflowEnd, StateView) -> Result<Object, StageError> + Send + Sync + 'static,
    ) -> Mount {
        self.output = Some(OutputMapper::Computed(Arc::new(map)));
        self
    }

    /// Hands final inner keys back under parent names, pairs of (inner key, parent key). Absent keys are left out.
    #[must_use]
    pub fn output_keys<I, P>(mut self, pairs: impl IntoIterator<Item = (I, P)>) -> Mount
    where
        I: Into<Str>,
        P: Into<Str>,
    {
        self.output = Some(OutputMapper::Keys(collect_pairs(pairs)));
        self
    }

    /// What happens to arrays that cross back.
    #[must_use]
    pub fn array_merge(mut self, mode: ArrayMergeMode) -> Mount {
        self.array_merge = mode;
        self
    }

    /// Lets a `stop` inside also end the level the mount is on (ENG-35).
    #[must_use]
    pub fn propagate_break(mut self, propagate: bool) -> Mount {
        self.propagate_break = propagate;
        self
    }

    /// On a fork or branch mount: draws the convergence edge to this stage instead of the join (structure only, ENG-24).
    #[must_use]
    pub fn converge_at(mut self, stage_id: impl Into<Str>) -> Mount {
        self.converge_at = Some(stage_id.into());
        self
    }
}

fn collect_pairs<A: Into<Str>, B: Into<Str>>(pairs: impl IntoIterator<Item = (A, B)>) -> Arc<[(Str, Str)]> {
    pairs.into_iter().map(|(from, to)| (from.into(), to.into())).collect()
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount")
            .field("id", &self.label.id)
            .field("lazy", &matches!(self.chart, MountedChart::Lazy(_)))
            .finish_non_exhaustive()
    }
}

/// What a resolver or a branch factory may return: a chart, or a result of one.
pub trait ResolvesToChart {
    /// The chart, or why there is none.
    fn resolved(self) -> Result<Chart, StageError>;
}

impl ResolvesToChart for Chart {
    fn resolved(self) -> Result<Chart, StageError> {
        Ok(self)
    }
}

impl ResolvesToChart for Result<Chart, BuildErrors> {
    fn resolved(self) -> Result<Chart, StageError> {
        self.map_err(StageError::from)
    }
}

impl ResolvesToChart for Result<Chart, StageError> {
    fn resolved(self) -> Result<Chart, StageError> {
        self
    }
}
