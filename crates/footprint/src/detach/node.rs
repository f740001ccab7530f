//! The stage that starts a detached child.

use std::fmt;
use std::sync::Arc;

use crate::chart::{Chart, IntoChart, Stage};
use crate::detach::{DetachDriver, DetachHandle};
use crate::error::StageError;
use crate::scope::Scope;
use crate::value::{Str, Value};

type InputFn = Arc<dyn Fn(&Scope) -> Result<Value, StageError> + Send + Sync>;
type HandleFn = Arc<dyn Fn(&Scope, DetachHandle) + Send + Sync>;

/// A stage that starts another chart as a run of its own and goes on at once.
///
/// ```
/// use std::sync::Arc;
/// use footprint::chart::{Chart, Stage};
/// use footprint::detach::{BlockingDriver, Detach};
/// use footprint::scope::Scope;
///
/// let audit = Chart::builder(Stage::new("write", |_: Scope| async { Ok(()) })).build()?;
/// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }))
///     .detach_forget(Detach::new("audit", Arc::new(BlockingDriver), &audit))
///     .build()?;
/// assert_eq!(chart.node_count(), 2);
/// # Ok::<(), footprint::chart::BuildErrors>(())
/// ```
#[derive(Clone)]
pub struct Detach {
    id: Str,
    name: Option<Str>,
    description: Option<Str>,
    driver: Arc<dyn DetachDriver>,
    child: Chart,
    input: Option<InputFn>,
    on_handle: Option<HandleFn>,
}

impl Detach {
    /// Starts `child` through `driver`.
    pub fn new(
        id: impl Into<Str>,
        driver: Arc<dyn DetachDriver>,
        child: &(impl IntoChart + ?Sized),
    ) -> Detach {
        Detach {
            id: id.into(),
            name: None,
            description: None,
            driver,
            child: child.to_chart(),
            input: None,
            on_handle: None,
        }
    }

    /// A free display name; the default is the id.
    #[must_use]
    pub fn named(mut self, name: impl Into<Str>) -> Detach {
        self.name = Some(name.into());
        self
    }

    /// What the child is for.
    #[must_use]
    pub fn describe(mut self, description: impl Into<Str>) -> Detach {
        self.description = Some(description.into());
        self
    }

    /// The child's input, computed from tracked reads; without it the child gets none.
    #[must_use]
    pub fn input(
        mut self,
        map: impl Fn(&Scope) -> Result<Value, StageError> + Send + Sync + 'static,
    ) -> Detach {
        self.input = Some(Arc::new(map));
        self
    }

    /// Receives the handle of each child started by [`detach_join`](crate::chart::ChartBuilder::detach_join). A handle is not
    /// state: keep it in a run extension and wait for it in a later stage.
    #[must_use]
    pub fn on_handle(mut self, keep: impl Fn(&Scope, DetachHandle) + Send + Sync + 'static) -> Detach {
        self.on_handle = Some(Arc::new(keep));
        self
    }

    pub(crate) fn into_forget_stage(self) -> Stage {
        self.into_stage(false)
    }

    pub(crate) fn into_join_stage(self) -> Stage {
        self.into_stage(true)
    }

    fn into_stage(self, join: bool) -> Stage {
        let Detach { id, name, description, driver, child, input, on_handle } = self;
        let start = move |scope: &Scope| -> Result<(), StageError> {
            let input = input.as_ref().map(|map| map(scope)).transpose()?;
            if join {
                let handle = scope.detach_join(&driver, &child, input);
                if let Some(keep) = &on_handle {
                    keep(scope, handle);
                }
            } else {
                scope.detach_forget(&driver, &child, input);
            }
            Ok(())
        };
        let mut stage = Stage::new(id, move |scope: Scope| std::future::ready(start(&scope)));
        if let Some(name) = name {
            stage = stage.named(name);
        }
        if let Some(description) = description {
            stage = stage.describe(description);
        }
        stage
    }
}

impl fmt::Debug for Detach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detach").field("id", &self.id).field("child", &self.child).finish_non_exhaustive()
    }
}
