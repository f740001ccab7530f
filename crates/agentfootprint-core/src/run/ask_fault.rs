//! A question nobody could see.

/// What is wrong with the screen a question names (TOOL-68).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskComponentFault {
    /// Its form.
    #[error("it names {what}")]
    Shape {
        /// What it is instead.
        what: String,
    },
    /// Its data is in an artifact, and there is no store.
    #[error(
        "its `propsRef` needs an artifact store; attach one with `Agent::builder(..).artifacts(store)` or pass `props`"
    )]
    NoStore,
    /// Its data cannot be read now.
    #[error("the artifact of its `propsRef` cannot be read now in this run's scope; store it before asking")]
    UnresolvedRef,
}

impl AskComponentFault {
    /// The stable word: `shape`, `no-store` or `unresolved-ref`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Shape { .. } => "shape",
            Self::NoStore => "no-store",
            Self::UnresolvedRef => "unresolved-ref",
        }
    }
}
