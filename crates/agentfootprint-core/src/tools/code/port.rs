//! The port to a place that runs code (TOOL-93).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use footprint::value::Str;
use indexmap::IndexMap;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::tools::credentials::Credential;

/// What a session is started for.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionStart {
    /// Whose session it is. It names tenant and principal: it may select an account, it may not be logged or shown.
    pub key: Str,
    /// What may be shown of the key: twelve hex digits.
    pub key_hash: Str,
    /// The language its code will be in.
    pub language: Str,
    /// Cancelled when nobody wants the session any more.
    pub cancel: CancellationToken,
    /// The credential the tool's `needs` resolved for the call that starts the session.
    pub credential: Option<Arc<dyn Credential>>,
}

impl SessionStart {
    /// For code of `language`, owned by `key`.
    pub fn new(key: impl Into<Str>, language: impl Into<Str>) -> Self {
        let key = key.into();
        Self {
            key_hash: crate::tools::sessions::key_hash(&key).into(),
            key,
            language: language.into(),
            cancel: CancellationToken::new(),
            credential: None,
        }
    }
}

impl fmt::Debug for SessionStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionStart")
            .field("key_hash", &self.key_hash)
            .field("language", &self.language)
            .finish_non_exhaustive()
    }
}

/// One piece of code to execute.
#[derive(Clone)]
#[non_exhaustive]
pub struct CodeRequest {
    /// The code.
    pub code: Str,
    /// Its language.
    pub language: Str,
    /// How long it may take; the runner's own limit without one.
    pub timeout: Option<Duration>,
    /// Cancelled when the run is.
    pub cancel: CancellationToken,
}

impl CodeRequest {
    /// Code in a language, without a limit of its own.
    pub fn new(code: impl Into<Str>, language: impl Into<Str>) -> Self {
        Self { code: code.into(), language: language.into(), timeout: None, cancel: CancellationToken::new() }
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// What ends it early.
    #[must_use]
    pub fn cancel(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }
}

impl fmt::Debug for CodeRequest {
    /// Without the code: generated code reaches no log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodeRequest")
            .field("language", &self.language)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A file to put beside the code.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StagedInput {
    /// The argument it was passed as: its key in the manifest.
    pub name: Str,
    /// What the file should be called. A session may have to encode it, and answers the path.
    pub file_name: Str,
    /// Its stated media type.
    pub media_type: Str,
    /// What it holds.
    pub data: Bytes,
}

impl StagedInput {
    /// A file.
    pub fn new(
        name: impl Into<Str>,
        file_name: impl Into<Str>,
        media_type: impl Into<Str>,
        data: impl Into<Bytes>,
    ) -> Self {
        Self {
            name: name.into(),
            file_name: file_name.into(),
            media_type: media_type.into(),
            data: data.into(),
        }
    }
}

/// A file an execution produced.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProducedFile {
    /// Its name.
    pub name: Str,
    /// Its size.
    pub bytes: u64,
    /// Where it can be fetched, when the runner keeps it.
    pub uri: Option<Str>,
    /// Its media type, when it is known.
    pub media_type: Option<Str>,
    /// What it holds, when the runner hands it over.
    pub data: Option<Bytes>,
    /// The artifact it already is.
    pub reference: Option<Str>,
}

impl ProducedFile {
    /// A file handed over with its content.
    pub fn with_data(name: impl Into<Str>, data: impl Into<Bytes>) -> Self {
        let data = data.into();
        Self { name: name.into(), bytes: data.len() as u64, data: Some(data), ..Self::default() }
    }

    /// A file the runner keeps.
    pub fn at(name: impl Into<Str>, bytes: u64, uri: impl Into<Str>) -> Self {
        Self { name: name.into(), bytes, uri: Some(uri.into()), ..Self::default() }
    }

    /// States its media type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<Str>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

/// Which streams the runner itself cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCut {
    /// The output.
    pub stdout: bool,
    /// The error stream.
    pub stderr: bool,
    /// How many characters the cut streams had together, when the runner counted them.
    pub of_chars: Option<u64>,
}

/// What an execution came to.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CodeResult {
    /// Whether the code ran to its end without an error.
    pub ok: bool,
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
    /// Its exit code, where there is one.
    pub exit_code: Option<i32>,
    /// The files it produced; absent when the runner reports no files, empty when there were none.
    pub artifacts: Option<Vec<ProducedFile>>,
    /// What the runner cut.
    pub truncated: Option<OutputCut>,
}

impl CodeResult {
    /// An execution that ended well and printed this.
    pub fn printed(stdout: impl Into<String>) -> Self {
        Self { ok: true, stdout: stdout.into(), exit_code: Some(0), ..Self::default() }
    }

    /// An execution that failed.
    pub fn failed(exit_code: Option<i32>, stderr: impl Into<String>) -> Self {
        Self { stderr: stderr.into(), exit_code, ..Self::default() }
    }

    /// The files it produced.
    #[must_use]
    pub fn files(mut self, files: impl IntoIterator<Item = ProducedFile>) -> Self {
        self.artifacts = Some(files.into_iter().collect());
        self
    }
}

/// Why a runner could not do what it was asked. No text holds code, a key or a credential.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CodeRunnerError {
    /// The runner has no such language.
    #[error("the code runner `{runner}` has no language `{language}`; it has {}", .has.join(", "))]
    UnknownLanguage {
        /// The runner.
        runner: Str,
        /// The language asked for.
        language: Str,
        /// Those it has.
        has: Vec<String>,
    },
    /// The runner cannot put files beside the code.
    #[error("the code runner `{runner}` cannot stage inputs")]
    NoStaging {
        /// The runner.
        runner: Str,
    },
    /// The session was stopped.
    #[error("the session of the code runner `{runner}` was stopped")]
    Stopped {
        /// The runner.
        runner: Str,
    },
    /// The run was cancelled meanwhile.
    #[error("the execution was cancelled")]
    Cancelled,
    /// The place itself failed: which operation, and how.
    #[error("the code runner `{runner}` failed at {operation}: {what}")]
    Failed {
        /// The runner.
        runner: Str,
        /// What it was doing.
        operation: &'static str,
        /// What went wrong, without what it was given.
        what: String,
    },
}

/// A place that runs code.
///
/// A service such as a sandbox vendor implements it once; the rest — one session per key, staging, what the model and the
/// record are told — is the same for all.
#[async_trait]
pub trait CodeRunner: Send + Sync + 'static {
    /// Its id, for the record and for refusals.
    fn id(&self) -> &str;

    /// Whether its sessions can put files beside the code.
    fn stages_inputs(&self) -> bool {
        false
    }

    /// Starts a session.
    ///
    /// # Errors
    /// [`CodeRunnerError`] when there is none now; the next call tries again.
    async fn start(&self, start: SessionStart) -> Result<Arc<dyn CodeSession>, CodeRunnerError>;
}

#[async_trait]
impl<R: CodeRunner + ?Sized> CodeRunner for Arc<R> {
    fn id(&self) -> &str {
        (**self).id()
    }

    fn stages_inputs(&self) -> bool {
        (**self).stages_inputs()
    }

    async fn start(&self, start: SessionStart) -> Result<Arc<dyn CodeSession>, CodeRunnerError> {
        (**self).start(start).await
    }
}

/// A session: what one execution leaves, the next one finds.
#[async_trait]
pub trait CodeSession: Send + Sync + 'static {
    /// Its id at the runner.
    fn id(&self) -> &str;

    /// Executes code. Code that fails is a result; an error says that it could not be tried.
    ///
    /// # Errors
    /// [`CodeRunnerError`] when it could not be executed.
    async fn execute(&self, request: CodeRequest) -> Result<CodeResult, CodeRunnerError>;

    /// Puts files beside the code: where each one is, by its name. Every later execution finds the same in its environment
    /// as `AF_STAGED_INPUTS`, a JSON object.
    ///
    /// # Errors
    /// [`CodeRunnerError::NoStaging`] unless the session can.
    async fn stage_inputs(&self, inputs: Vec<StagedInput>) -> Result<IndexMap<Str, Str>, CodeRunnerError> {
        let _ = inputs;
        Err(CodeRunnerError::NoStaging { runner: self.id().into() })
    }

    /// Ends it. Ending it again is agreement.
    ///
    /// # Errors
    /// [`CodeRunnerError`] when the place could not be told.
    async fn stop(&self) -> Result<(), CodeRunnerError>;
}
