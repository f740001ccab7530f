//! Deciders, selectors, forks and their branches.

use std::fmt;
use std::future::Future;

use crate::chart::func::{DeciderFn, SelectorFn, decider_fn, selector_fn};
use crate::chart::stage::{Label, label_methods};
use crate::chart::{Mount, Retry, Stage};
use crate::decide::{Decision, Selection};
use crate::error::StageError;
use crate::scope::Scope;
use crate::value::Str;

/// What a failing child does to its parallel siblings (ENG-23).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FanOut {
    /// Every child runs to its end; failures are contained.
    #[default]
    AllSettled,
    /// The first failure cancels the siblings and fails the fan-out.
    FailFast,
}

/// One branch of a [`Decider`] or [`Selector`]: a stage or a mount, optionally looping back to the main chain.
///
/// ```
/// use footprint::chart::{Branch, Stage};
/// use footprint::scope::Scope;
///
/// let again = Branch::stage(Stage::new("again", |_: Scope| async { Ok(()) })).loop_to("score");
/// assert_eq!(again.id(), "again");
/// ```
#[derive(Clone, Debug)]
pub struct Branch {
    pub(crate) node: BranchNodeValue,
    pub(crate) loop_to: Vec<Str>,
}

#[derive(Clone, Debug)]
pub(crate) enum BranchNodeValue {
    Stage(Stage),
    Mount(Mount),
}

impl Branch {
    /// A branch that runs one stage; the branch id is the stage's.
    pub fn stage(stage: Stage) -> Branch {
        Branch { node: BranchNodeValue::Stage(stage), loop_to: Vec::new() }
    }

    /// A branch that runs another chart; the branch id is the mount's.
    pub fn mount(mount: Mount) -> Branch {
        Branch { node: BranchNodeValue::Mount(mount), loop_to: Vec::new() }
    }

    /// After this branch, walks on at an earlier node of the main chain (ENG-21).
    #[must_use]
    pub fn loop_to(mut self, target: impl Into<Str>) -> Branch {
        self.loop_to.push(target.into());
        self
    }

    /// The branch id.
    pub fn id(&self) -> &str {
        match &self.node {
            BranchNodeValue::Stage(stage) => stage.id(),
            BranchNodeValue::Mount(mount) => mount.id(),
        }
    }
}

impl From<Stage> for Branch {
    fn from(stage: Stage) -> Branch {
        Branch::stage(stage)
    }
}

impl From<Mount> for Branch {
    fn from(mount: Mount) -> Branch {
        Branch::mount(mount)
    }
}

/// One child of a fork: a stage or a mount. A child cannot loop, so it is not a [`Branch`].
#[derive(Clone, Debug)]
pub struct ForkChild(pub(crate) BranchNodeValue);

impl From<Stage> for ForkChild {
    fn from(stage: Stage) -> ForkChild {
        ForkChild(BranchNodeValue::Stage(stage))
    }
}

impl From<Mount> for ForkChild {
    fn from(mount: Mount) -> ForkChild {
        ForkChild(BranchNodeValue::Mount(mount))
    }
}

/// A node whose function picks exactly one branch.
///
/// ```
/// use footprint::chart::{Branch, Decider, Stage};
/// use footprint::scope::Scope;
///
/// let route = Decider::new("route", |_: Scope| async { Ok("done") })
///     .branch(Branch::stage(Stage::new("again", |_: Scope| async { Ok(()) })).loop_to("score"))
///     .branch(Stage::new("done", |_: Scope| async { Ok(()) }))
///     .default_branch("done");
/// assert_eq!(route.id(), "route");
/// ```
#[derive(Clone)]
pub struct Decider {
    pub(crate) label: Label,
    pub(crate) run: DeciderFn,
    pub(crate) branches: Vec<Branch>,
    pub(crate) default: Option<Str>,
    pub(crate) retry: Option<Retry>,
}

impl Decider {
    label_methods!();

    /// A decider whose function returns a branch id or a `decide()` result.
    pub fn new<F, Fut, D>(id: impl Into<Str>, run: F) -> Decider
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<D, StageError>> + Send + 'static,
        D: Into<Decision>,
    {
        Decider::with_fn(id, decider_fn(run))
    }

    pub(crate) fn with_fn(id: impl Into<Str>, run: DeciderFn) -> Decider {
        Decider { label: Label::new(id), run, branches: Vec::new(), default: None, retry: None }
    }

    /// Adds a branch; order is kept.
    #[must_use]
    pub fn branch(mut self, branch: impl Into<Branch>) -> Decider {
        self.branches.push(branch.into());
        self
    }

    /// The branch that runs when the function names none of them. Without it, a branch called `default` is the fallback.
    #[must_use]
    pub fn default_branch(mut self, id: impl Into<Str>) -> Decider {
        self.default = Some(id.into());
        self
    }

    /// Runs the function again when it fails.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Decider {
        self.retry = Some(retry);
        self
    }
}

impl fmt::Debug for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decider")
            .field("id", &self.label.id)
            .field("branches", &self.branches)
            .finish_non_exhaustive()
    }
}

/// A node whose function picks any number of branches; they run in parallel.
///
/// ```
/// use footprint::chart::{FanOut, Selector, Stage};
/// use footprint::scope::Scope;
///
/// let screen = Selector::new("screen", |_: Scope| async { Ok(vec!["blood"]) })
///     .branch(Stage::new("blood", |_: Scope| async { Ok(()) }))
///     .branch(Stage::new("heart", |_: Scope| async { Ok(()) }))
///     .fan_out(FanOut::FailFast);
/// assert_eq!(screen.id(), "screen");
/// ```
#[derive(Clone)]
pub struct Selector {
    pub(crate) label: Label,
    pub(crate) run: SelectorFn,
    pub(crate) branches: Vec<Branch>,
    pub(crate) mode: FanOut,
    pub(crate) retry: Option<Retry>,
}

impl Selector {
    label_methods!();

    /// A selector whose function returns branch ids or a `select()` result.
    pub fn new<F, Fut, S>(id: impl Into<Str>, run: F) -> Selector
    where
        F: Fn(Scope) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, StageError>> + Send + 'static,
        S: Into<Selection>,
    {
        Selector::with_fn(id, selector_fn(run))
    }

    pub(crate) fn with_fn(id: impl Into<Str>, run: SelectorFn) -> Selector {
        Selector { label: Label::new(id), run, branches: Vec::new(), mode: FanOut::default(), retry: None }
    }

    /// Adds a branch; order is kept.
    #[must_use]
    pub fn branch(mut self, branch: impl Into<Branch>) -> Selector {
        self.branches.push(branch.into());
        self
    }

    /// What a failing branch does to the others.
    #[must_use]
    pub fn fan_out(mut self, mode: FanOut) -> Selector {
        self.mode = mode;
        self
    }

    /// Runs the function again when it fails.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Selector {
        self.retry = Some(retry);
        self
    }
}

impl fmt::Debug for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector")
            .field("id", &self.label.id)
            .field("branches", &self.branches)
            .finish_non_exhaustive()
    }
}
