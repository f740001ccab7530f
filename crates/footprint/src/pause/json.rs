//! The checkpoint's text form. (being written)

/// A checkpoint that cannot be read, named to the field.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("checkpoint field `{path}`: {what}")]
pub struct InvalidCheckpoint {
    /// Dotted path of the field.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}
