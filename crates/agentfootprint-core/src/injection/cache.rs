//! Cache policies: whether a piece of context may sit inside a cached prefix (CTX-19, LLM-99).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use footprint::value::Str;

/// What a policy predicate may look at.
#[derive(Clone, Debug)]
pub struct CachePolicyContext {
    /// The iteration about to call the model, from 1.
    pub iteration: u32,
    /// What is left of the budget.
    pub iterations_remaining: u32,
    /// The turn's user message.
    pub user_message: Str,
    /// The tool that answered last, if any.
    pub last_tool_name: Option<Str>,
    /// Input tokens of the run so far.
    pub cumulative_input_tokens: u64,
}

type UntilFn = dyn Fn(&CachePolicyContext) -> bool + Send + Sync;

/// Whether a piece may be part of a cached prefix.
#[derive(Clone, Default)]
pub enum CachePolicy {
    /// Always.
    Always,
    /// Never: the prefix ends before this piece.
    #[default]
    Never,
    /// As long as the piece is active.
    WhileActive,
    /// As long as the predicate says so. A predicate that panics says no.
    Until(Arc<UntilFn>),
}

impl CachePolicy {
    /// A policy decided per iteration.
    pub fn until(rule: impl Fn(&CachePolicyContext) -> bool + Send + Sync + 'static) -> Self {
        Self::Until(Arc::new(rule))
    }

    /// The recorded word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::WhileActive => "while-active",
            Self::Until(_) => "until",
        }
    }

    /// Whether a piece with this policy may be cached now. The piece is active, or it would not be asked about.
    pub fn cacheable(&self, cx: &CachePolicyContext) -> bool {
        match self {
            Self::Always | Self::WhileActive => true,
            Self::Never => false,
            Self::Until(rule) => catch_unwind(AssertUnwindSafe(|| rule(cx))).unwrap_or(false),
        }
    }
}

impl fmt::Debug for CachePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
