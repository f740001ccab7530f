//! The injection itself: slot × trigger × cache policy (CTX-1, §1.1).

use std::sync::Arc;

use agentfootprint_record::events::words::{ContextSource, Word as _};
use agentfootprint_record::message::Role;
use footprint::value::{Object, Str, Value};
use regex::Regex;

use super::cache::CachePolicy;
use super::predicate::Predicate;
use super::template::PromptTemplate;
use crate::tools::Tool;

/// When an injection is active.
#[derive(Clone, Debug)]
pub enum Trigger {
    /// On every pass.
    Always,
    /// When the rule says so.
    Rule(Predicate),
    /// When a matching tool answered in the previous iteration.
    OnToolReturn(ToolNameMatch),
    /// Once the model asked for it with `read_skill`.
    LlmActivated,
    /// Where the skill graph says so; judged with the pass's resolved cursor. It counts and reports as `rule`.
    #[doc(hidden)]
    Graph(Predicate),
}

impl Trigger {
    /// The recorded word (CTX-12).
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Rule(_) | Self::Graph(_) => "rule",
            Self::OnToolReturn(_) => "on-tool-return",
            Self::LlmActivated => "llm-activated",
        }
    }
}

/// Which tools an [`Trigger::OnToolReturn`] waits for.
#[derive(Clone, Debug)]
pub enum ToolNameMatch {
    /// One tool.
    Exact(Str),
    /// Every tool whose name the pattern finds.
    Pattern(Regex),
}

impl ToolNameMatch {
    /// Whether `name` is meant.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => &**exact == name,
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

/// A message an injection appends to the conversation (CTX-43).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedMessage {
    /// Who speaks; never `tool` (LLM-6).
    pub role: Role,
    /// What is said.
    pub content: Str,
}

/// What an injection puts into the request.
#[derive(Clone, Debug, Default)]
pub struct InjectionContent {
    /// Text for the system prompt.
    pub system_prompt: Option<Str>,
    /// Messages for the conversation, in order.
    pub messages: Vec<InjectedMessage>,
    /// Tools offered while the injection is active.
    pub tools: Vec<Tool>,
}

/// The typed metadata of an injection (CTX-15). Further members belong to skills and maps.
#[derive(Clone, Debug, Default)]
pub struct InjectionMeta {
    /// The cache policy; absent counts as `never`.
    pub cache: Option<CachePolicy>,
    /// Where a skill's body is served.
    pub surface_mode: Option<SurfaceMode>,
    /// A skill's tools leave the static offer while another skill is current.
    pub auto_activate: bool,
    /// How a retrieved piece was ranked.
    pub retrieval: Option<Retrieval>,
}

/// Where a skill's body is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceMode {
    /// In the system prompt.
    SystemPrompt,
    /// As the result of `read_skill` only.
    ToolOnly,
    /// In both.
    Both,
    /// Decided by the library.
    Auto,
}

impl SurfaceMode {
    /// The recorded word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system-prompt",
            Self::ToolOnly => "tool-only",
            Self::Both => "both",
            Self::Auto => "auto",
        }
    }
}

/// How a retrieved piece was ranked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    /// Its score.
    pub score: f64,
    /// Its rank, from 0.
    pub rank: u32,
    /// The threshold it passed, when one was set.
    pub threshold: Option<f64>,
}

/// A piece of engineered context: what to say, where, and when. Immutable and cheap to clone.
#[derive(Clone, Debug)]
pub struct Injection(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: Str,
    flavor: ContextSource,
    description: Option<Str>,
    trigger: Trigger,
    content: InjectionContent,
    template: Option<PromptTemplate>,
    meta: InjectionMeta,
    reason: Str,
    /// The projection of an injection without a template, built once (CTX-33).
    projection: Option<Value>,
    /// Its entry in `activeByslot`, built once.
    slot_entry: Value,
}

/// The parts an injection is made of; every factory ends here.
pub(crate) struct Parts {
    pub(crate) id: Str,
    pub(crate) flavor: ContextSource,
    pub(crate) description: Option<Str>,
    pub(crate) trigger: Trigger,
    pub(crate) content: InjectionContent,
    pub(crate) template: Option<PromptTemplate>,
    pub(crate) meta: InjectionMeta,
}

impl Injection {
    pub(crate) fn assemble(parts: Parts) -> Self {
        let reason: Str = match &parts.description {
            Some(description) => description.clone(),
            None => format!("{} `{}` ({})", parts.flavor, parts.id, parts.trigger.kind()).into(),
        };
        let slot_entry = Value::from(Object::from_iter([
            (Str::from("id"), Value::from(parts.id.clone())),
            (Str::from("source"), Value::from(parts.flavor.word())),
            (Str::from("reason"), Value::from(reason.clone())),
        ]));
        let mut inner = Inner {
            id: parts.id,
            flavor: parts.flavor,
            description: parts.description,
            trigger: parts.trigger,
            content: parts.content,
            template: parts.template,
            meta: parts.meta,
            reason,
            projection: None,
            slot_entry,
        };
        if inner.template.is_none() {
            inner.projection = Some(super::project::project(&inner.view(), None));
        }
        Self(Arc::new(inner))
    }

    /// The id, unique per agent.
    pub fn id(&self) -> &Str {
        &self.0.id
    }

    /// The flavour: the recorded `source`.
    pub fn flavor(&self) -> &ContextSource {
        &self.0.flavor
    }

    /// The description, when one was given.
    pub fn description(&self) -> Option<&Str> {
        self.0.description.as_ref()
    }

    /// When it is active.
    pub fn trigger(&self) -> &Trigger {
        &self.0.trigger
    }

    /// What it puts into the request. The system text of a template is its source.
    pub fn content(&self) -> &InjectionContent {
        &self.0.content
    }

    /// The template, when the system text is one.
    pub fn template(&self) -> Option<&PromptTemplate> {
        self.0.template.as_ref()
    }

    /// The metadata.
    pub fn meta(&self) -> &InjectionMeta {
        &self.0.meta
    }

    /// Why this piece is there, for records: the description, or a text that names flavour, id and trigger.
    pub fn reason(&self) -> &Str {
        &self.0.reason
    }

    /// Whether two handles are the same injection.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Its entry in `activeByslot`.
    pub(crate) fn slot_entry(&self) -> &Value {
        &self.0.slot_entry
    }

    /// The plain-data projection; a template must have been rendered before.
    pub(crate) fn projection(&self, rendered: Option<&str>) -> Value {
        match (&self.0.projection, rendered) {
            (Some(built), _) => built.clone(),
            (None, rendered) => super::project::project(&self.0.view(), rendered),
        }
    }
}

/// What the projection reads of an injection.
pub(crate) struct ProjectionView<'a> {
    pub(crate) id: &'a Str,
    pub(crate) flavor: &'a ContextSource,
    pub(crate) description: Option<&'a Str>,
    pub(crate) content: &'a InjectionContent,
    pub(crate) meta: &'a InjectionMeta,
}

impl Inner {
    fn view(&self) -> ProjectionView<'_> {
        ProjectionView {
            id: &self.id,
            flavor: &self.flavor,
            description: self.description.as_ref(),
            content: &self.content,
            meta: &self.meta,
        }
    }
}
