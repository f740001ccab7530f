//! The closed list of ways a model call fails.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What went wrong, as data. Everything a decision depends on is here or in the facts beside it; no code reads
/// the message text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LlmErrorKind {
    /// No usable key could be found.
    NoCredential,
    /// A setting, or a request under these settings, that can never work; nothing was sent.
    Refused,
    /// The vendor rejected the key or the role.
    Auth,
    /// The vendor throttles.
    RateLimited,
    /// The vendor had a passing problem (5xx, overloaded).
    Transient,
    /// No response head: name resolution, connect, TLS or reset.
    Network,
    /// A deadline passed.
    Timeout {
        /// What was being waited for.
        phase: TimeoutPhase,
        /// The deadline.
        limit: Duration,
    },
    /// The prompt does not fit into the model's context window.
    ContextWindowExceeded {
        /// The window, when the vendor stated it.
        limit: Option<u64>,
        /// The prompt's size, when the vendor stated it.
        actual: Option<u64>,
    },
    /// The vendor rejected the request.
    InvalidRequest,
    /// The vendor does not know the model, or nothing answers at the address.
    ModelNotFound,
    /// The stream ended without its terminal evidence.
    StreamIncomplete {
        /// Whether a chunk had already been handed on.
        delivered: bool,
    },
    /// The stream broke or reported an error of its own.
    StreamBroken {
        /// Whether a chunk had already been handed on.
        delivered: bool,
    },
    /// A success status with a body that is not the wire's shape.
    UnreadableResponse,
    /// One frame of a stream that is not the wire's shape.
    UnreadableFrame,
    /// A frame or body beyond its bound.
    ResponseTooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// The arguments of a tool call are not a JSON object and the adapter was told to refuse that.
    MalformedToolArgs {
        /// The tool asked for.
        tool_name: String,
        /// The id of the call.
        tool_use_id: String,
        /// Position of the call's block in the answer.
        block_index: u64,
        /// Length of the unparsed text, in UTF-16 units.
        raw_length: usize,
    },
    /// The model said that it calls tools, and no call arrived.
    ToolUseLost,
    /// The model cannot think, or not like this.
    UnsupportedThinking {
        /// Which part does not go.
        reason: ThinkingRefusal,
    },
    /// The model or endpoint cannot be forced to one tool.
    UnsupportedToolChoice,
    /// A circuit breaker rejected the call.
    CircuitOpen {
        /// When the next probe is admitted, in Unix milliseconds.
        retry_at: u64,
        /// The failure that opened it.
        last_error: Option<String>,
    },
    /// The local Ollama daemon does not answer, or does not have the model.
    OllamaUnavailable {
        /// Which of the two.
        reason: OllamaReason,
        /// The address tried.
        base_url: String,
        /// The model asked for.
        model: Option<String>,
        /// The models present, when the daemon listed them.
        available: Vec<String>,
    },
    /// The mock has no reply left.
    ScriptExhausted {
        /// How many replies were scripted.
        scripted: usize,
        /// Number of the request that found none, from 1.
        request: usize,
    },
    /// The run was cancelled.
    Aborted,
    /// An error of a provider that is not ours, known only by its name.
    Foreign {
        /// The error's own name.
        name: String,
    },
}

/// The phase a deadline belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeoutPhase {
    /// Opening the connection.
    Connect,
    /// Waiting for the response head.
    Headers,
    /// Reading a complete body.
    Body,
    /// The gap between two reads of a stream.
    Idle,
    /// The whole of a complete call.
    Total,
}

impl TimeoutPhase {
    /// The word used in messages and option names.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeoutPhase::Connect => "connect",
            TimeoutPhase::Headers => "headers",
            TimeoutPhase::Body => "body",
            TimeoutPhase::Idle => "idle",
            TimeoutPhase::Total => "total",
        }
    }
}

impl fmt::Display for TimeoutPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a request to think was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThinkingRefusal {
    /// The model cannot think.
    NoThinking,
    /// The budget is too small or not whole.
    Budget,
    /// Thinking does not go with this temperature.
    Temperature,
    /// Thinking does not go with a forced tool.
    ForcedToolChoice,
}

/// What is missing at a local Ollama.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OllamaReason {
    /// Nothing answers at the address.
    DaemonUnreachable,
    /// The daemon answers and does not have the model.
    ModelNotPulled,
}

/// How the reliability gate names a failure (or the absence of one). Recorded as `errorKind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ErrorKind {
    /// No failure.
    #[serde(rename = "ok")]
    Ok,
    /// A failure that may pass by itself.
    #[serde(rename = "5xx-transient")]
    Transient,
    /// The vendor throttles.
    #[serde(rename = "rate-limit")]
    RateLimit,
    /// A breaker rejected the call.
    #[serde(rename = "circuit-open")]
    CircuitOpen,
    /// The answer failed its schema.
    #[serde(rename = "schema-fail")]
    SchemaFail,
    /// Anything else.
    #[serde(rename = "unknown")]
    Unknown,
}

impl ErrorKind {
    /// The recorded word.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Ok => "ok",
            ErrorKind::Transient => "5xx-transient",
            ErrorKind::RateLimit => "rate-limit",
            ErrorKind::CircuitOpen => "circuit-open",
            ErrorKind::SchemaFail => "schema-fail",
            ErrorKind::Unknown => "unknown",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The families of adapters, for recorded error names and codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Vendor {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Chat Completions and everything that speaks it.
    OpenAi,
    /// OpenAI models served by Azure.
    AzureOpenAi,
    /// Google's Gemini.
    Gemini,
    /// AWS Bedrock.
    Bedrock,
    /// Ollama.
    Ollama,
    /// Anything else.
    #[default]
    Other,
}

impl Vendor {
    /// The recorded name of this vendor's errors.
    pub fn error_name(self) -> &'static str {
        match self {
            Vendor::Anthropic => "AnthropicProviderError",
            Vendor::OpenAi => "OpenAIProviderError",
            Vendor::AzureOpenAi => "AzureOpenAIProviderError",
            Vendor::Gemini => "GeminiProviderError",
            Vendor::Bedrock => "BedrockProviderError",
            Vendor::Ollama => "OllamaProviderError",
            Vendor::Other => "ProviderError",
        }
    }

    /// The recorded code of malformed tool arguments and of a lost tool call.
    pub(super) fn tool_codes(self) -> (&'static str, &'static str) {
        match self {
            Vendor::Anthropic => ("ANTHROPIC_MALFORMED_TOOL_ARGS", "ANTHROPIC_STREAM_TOOLUSE_LOST"),
            Vendor::OpenAi => ("OPENAI_MALFORMED_TOOL_ARGS", "OPENAI_STREAM_TOOLUSE_LOST"),
            Vendor::AzureOpenAi => ("AZURE_OPENAI_MALFORMED_TOOL_ARGS", "AZURE_OPENAI_STREAM_TOOLUSE_LOST"),
            Vendor::Gemini => ("GEMINI_MALFORMED_TOOL_ARGS", "GEMINI_STREAM_TOOLUSE_LOST"),
            Vendor::Bedrock => ("BEDROCK_MALFORMED_TOOL_ARGS", "BEDROCK_STREAM_TOOLUSE_LOST"),
            Vendor::Ollama => ("OLLAMA_MALFORMED_TOOL_ARGS", "OLLAMA_STREAM_TOOLUSE_LOST"),
            Vendor::Other => ("PROVIDER_MALFORMED_TOOL_ARGS", "PROVIDER_STREAM_TOOLUSE_LOST"),
        }
    }
}
