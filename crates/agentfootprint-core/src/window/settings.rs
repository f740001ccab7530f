//! The window of an agent, and what its build refuses (LLM-147, LLM-169, LLM-177).

use std::sync::Arc;

use super::input::WindowStrategy;
use crate::agent::AgentBuildError;
use crate::llm::LlmProvider;

/// Through which method a strategy was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowDoor {
    Window,
    Compaction,
}

impl WindowDoor {
    const fn method(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Compaction => "compaction",
        }
    }
}

/// A declared strategy.
pub(crate) struct Window {
    pub(crate) strategy: Arc<dyn WindowStrategy>,
    pub(crate) door: WindowDoor,
}

/// Checks the declared windows; the first one counts.
pub(crate) fn check(
    declared: &[Window],
    provider: &Arc<dyn LlmProvider>,
    model: &str,
    problems: &mut Vec<AgentBuildError>,
) {
    let mut refuse = |window: &Window, why: String| {
        problems.push(AgentBuildError::Window { method: window.door.method(), why });
    };
    let Some((first, more)) = declared.split_first() else { return };
    for second in more {
        refuse(
            second,
            format!(
                "the agent already has the window `{}`, declared with `{}`; an agent has one",
                first.strategy.name(),
                first.door.method()
            ),
        );
    }
    for window in declared {
        let name = window.strategy.name();
        if name.trim().is_empty() {
            refuse(window, "the strategy has no name; give it one, it is recorded".to_owned());
        }
        if let Some(problem) = window.strategy.problem() {
            refuse(window, format!("`{name}`: {problem}"));
        }
        if let Some((summarizer, own)) = window.strategy.summarizer()
            && own == model
            && summarizer.instance() == provider.instance()
        {
            refuse(
                window,
                format!(
                    "`{name}` summarizes with the agent's own provider instance and model; it would be called undecorated, \
                     ungated and uncached there. Give it an instance or a model of its own"
                ),
            );
        }
    }
}
