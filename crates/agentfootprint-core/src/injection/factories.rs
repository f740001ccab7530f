//! The four plain factories: fact, instruction, steering and the raw form (CTX §1.2).
//!
//! A declaration is checked when it becomes an [`Injection`]; an agent builder collects what is wrong with all of
//! them and refuses once, naming every offender (CTX-5).

use agentfootprint_record::events::words::ContextSource;
use agentfootprint_record::message::Role;
use footprint::value::Str;

use super::cache::CachePolicy;
use super::context::InjectionContext;
use super::predicate::{BoxError, Predicate};
use super::shape::{
    InjectedMessage, Injection, InjectionContent, InjectionMeta, Parts, Retrieval, ToolNameMatch, Trigger,
};
use super::template::{PromptTemplate, UnknownTemplateFact};

/// A declaration that cannot become an injection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InjectionError {
    /// The id is empty or blank.
    #[error("an injection needs a non-empty id")]
    EmptyId,
    /// The text is empty or blank.
    #[error("injection `{id}`: {what} is empty; give it text or leave the injection out")]
    EmptyText {
        /// The injection.
        id: String,
        /// Which text.
        what: &'static str,
    },
    /// The role cannot be injected.
    #[error(
        "injection `{id}`: role `tool` answers a call and cannot be injected; use system, user or assistant"
    )]
    ToolRole {
        /// The injection.
        id: String,
    },
    /// The template names something it may not.
    #[error("injection `{id}`: {source}")]
    Template {
        /// The injection.
        id: String,
        /// What it names.
        source: UnknownTemplateFact,
    },
    /// A template outside the system prompt.
    #[error(
        "injection `{id}`: a template is rendered anew for every request and can only be in the system prompt"
    )]
    TemplateInMessages {
        /// The injection.
        id: String,
    },
    /// A template that wants to be cached.
    #[error(
        "injection `{id}`: a template changes with every request and cannot be cached; its cache policy is `never`"
    )]
    TemplateCached {
        /// The injection.
        id: String,
    },
}

/// Anything that can be declared as an injection.
pub trait IntoInjection {
    /// Checks the declaration.
    fn into_injection(self) -> Result<Injection, InjectionError>;
}

impl IntoInjection for Injection {
    fn into_injection(self) -> Result<Injection, InjectionError> {
        Ok(self)
    }
}

/// Where a fact or instruction is served: slot and role are one choice (CTX-17).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// In the system prompt.
    #[default]
    SystemPrompt,
    /// In the conversation, said by this role.
    Messages(Role),
}

/// Guidance that is always in the system prompt.
///
/// ```
/// use agentfootprint_core::injection::{IntoInjection, Steering};
/// let tone = Steering::new("tone", "Be calm.").into_injection()?;
/// assert_eq!(&**tone.id(), "tone");
/// # Ok::<(), agentfootprint_core::injection::InjectionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Steering {
    id: Str,
    prompt: Str,
    description: Option<Str>,
    cache: CachePolicy,
}

impl Steering {
    /// Declares steering text.
    pub fn new(id: impl Into<Str>, prompt: impl Into<Str>) -> Self {
        Self { id: id.into(), prompt: prompt.into(), description: None, cache: CachePolicy::Always }
    }

    /// What it is for; recorded as the reason.
    #[must_use]
    pub fn describe(mut self, description: impl Into<Str>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The cache policy; `always` by default.
    #[must_use]
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = policy;
        self
    }
}

impl IntoInjection for Steering {
    fn into_injection(self) -> Result<Injection, InjectionError> {
        check_id(&self.id)?;
        check_text(&self.id, "the prompt", &self.prompt)?;
        Ok(Injection::assemble(Parts {
            id: self.id,
            flavor: ContextSource::Steering,
            description: self.description,
            trigger: Trigger::Always,
            content: system(self.prompt),
            template: None,
            meta: InjectionMeta { cache: Some(self.cache), ..InjectionMeta::default() },
        }))
    }
}

/// Something the model should know.
///
/// ```
/// use agentfootprint_core::injection::{Fact, IntoInjection};
/// use agentfootprint_record::message::Role;
/// let policy = Fact::new("policy", "Refunds take 5 days.").in_messages(Role::System).into_injection()?;
/// assert_eq!(policy.content().messages.len(), 1);
/// # Ok::<(), agentfootprint_core::injection::InjectionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fact {
    id: Str,
    data: Str,
    description: Option<Str>,
    slot: Slot,
    cache: CachePolicy,
    when: Option<Predicate>,
}

impl Fact {
    /// Declares a fact.
    pub fn new(id: impl Into<Str>, data: impl Into<Str>) -> Self {
        Self {
            id: id.into(),
            data: data.into(),
            description: None,
            slot: Slot::SystemPrompt,
            cache: CachePolicy::Always,
            when: None,
        }
    }

    /// What it is for; recorded as the reason.
    #[must_use]
    pub fn describe(mut self, description: impl Into<Str>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says it in the conversation instead of the system prompt, once per run.
    #[must_use]
    pub fn in_messages(mut self, role: Role) -> Self {
        self.slot = Slot::Messages(role);
        self
    }

    /// Active only when the rule says so.
    #[must_use]
    pub fn active_when(self, rule: impl Fn(&InjectionContext) -> bool + Send + Sync + 'static) -> Self {
        self.when(Predicate::new(rule))
    }

    /// Active only when the fallible rule says so.
    #[must_use]
    pub fn active_when_try(
        self,
        rule: impl Fn(&InjectionContext) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.when(Predicate::fallible(rule))
    }

    /// Active only when the predicate says so.
    #[must_use]
    pub fn when(mut self, rule: Predicate) -> Self {
        self.when = Some(rule);
        self
    }

    /// The cache policy; `always` by default.
    #[must_use]
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = policy;
        self
    }
}

impl IntoInjection for Fact {
    fn into_injection(self) -> Result<Injection, InjectionError> {
        check_id(&self.id)?;
        check_text(&self.id, "the data", &self.data)?;
        let content = placed(&self.id, self.slot, self.data)?;
        Ok(Injection::assemble(Parts {
            id: self.id,
            flavor: ContextSource::Fact,
            description: self.description,
            trigger: self.when.map_or(Trigger::Always, Trigger::Rule),
            content,
            template: None,
            meta: InjectionMeta { cache: Some(self.cache), ..InjectionMeta::default() },
        }))
    }
}

/// Something the model should do.
///
/// ```
/// use agentfootprint_core::injection::{Instruction, IntoInjection};
/// let budget = Instruction::template("budget", "Action {{action}} of {{actionBudget}}.").into_injection()?;
/// assert!(budget.template().is_some());
/// # Ok::<(), agentfootprint_core::injection::InjectionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Instruction {
    id: Str,
    text: Str,
    templated: bool,
    description: Option<Str>,
    slot: Slot,
    cache: Option<CachePolicy>,
    when: Option<Predicate>,
}

impl Instruction {
    /// Declares an instruction.
    pub fn new(id: impl Into<Str>, prompt: impl Into<Str>) -> Self {
        Self::of(id.into(), prompt.into(), false)
    }

    /// Declares an instruction whose text names the action budget, see [`PromptTemplate`]. Place it last: it can never
    /// be cached, so the cached prefix ends before it (CTX-24).
    pub fn template(id: impl Into<Str>, template: impl Into<Str>) -> Self {
        Self::of(id.into(), template.into(), true)
    }

    fn of(id: Str, text: Str, templated: bool) -> Self {
        Self { id, text, templated, description: None, slot: Slot::SystemPrompt, cache: None, when: None }
    }

    /// What it is for; recorded as the reason.
    #[must_use]
    pub fn describe(mut self, description: impl Into<Str>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Says it in the conversation instead of the system prompt, once per run.
    #[must_use]
    pub fn in_messages(mut self, role: Role) -> Self {
        self.slot = Slot::Messages(role);
        self
    }

    /// Active only when the rule says so.
    #[must_use]
    pub fn active_when(self, rule: impl Fn(&InjectionContext) -> bool + Send + Sync + 'static) -> Self {
        self.when(Predicate::new(rule))
    }

    /// Active only when the fallible rule says so.
    #[must_use]
    pub fn active_when_try(
        self,
        rule: impl Fn(&InjectionContext) -> Result<bool, BoxError> + Send + Sync + 'static,
    ) -> Self {
        self.when(Predicate::fallible(rule))
    }

    /// Active only when the predicate says so.
    #[must_use]
    pub fn when(mut self, rule: Predicate) -> Self {
        self.when = Some(rule);
        self
    }

    /// The cache policy; `never` by default.
    #[must_use]
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.cache = Some(policy);
        self
    }
}

impl IntoInjection for Instruction {
    fn into_injection(self) -> Result<Injection, InjectionError> {
        check_id(&self.id)?;
        check_text(&self.id, if self.templated { "the template" } else { "the prompt" }, &self.text)?;
        let mut template = None;
        if self.templated {
            let parsed = PromptTemplate::parse(self.text.clone())
                .map_err(|source| InjectionError::Template { id: self.id.to_string(), source })?;
            if parsed.has_placeholders() {
                if self.slot != Slot::SystemPrompt {
                    return Err(InjectionError::TemplateInMessages { id: self.id.to_string() });
                }
                if !matches!(self.cache, None | Some(CachePolicy::Never)) {
                    return Err(InjectionError::TemplateCached { id: self.id.to_string() });
                }
                template = Some(parsed);
            }
        }
        let content = placed(&self.id, self.slot, self.text)?;
        Ok(Injection::assemble(Parts {
            id: self.id,
            flavor: ContextSource::Instructions,
            description: self.description,
            trigger: self.when.map_or(Trigger::Always, Trigger::Rule),
            content,
            template,
            meta: InjectionMeta { cache: Some(self.cache.unwrap_or_default()), ..InjectionMeta::default() },
        }))
    }
}

/// The raw form: any flavour, any trigger, any slot.
#[derive(Clone, Debug)]
pub struct RawInjection {
    id: Str,
    flavor: ContextSource,
    description: Option<Str>,
    trigger: Trigger,
    content: InjectionContent,
    meta: InjectionMeta,
}

impl RawInjection {
    /// Declares an injection without content; it is always active until a trigger is given.
    pub fn new(id: impl Into<Str>, flavor: ContextSource) -> Self {
        Self {
            id: id.into(),
            flavor,
            description: None,
            trigger: Trigger::Always,
            content: InjectionContent::default(),
            meta: InjectionMeta::default(),
        }
    }

    /// What it is for; recorded as the reason.
    #[must_use]
    pub fn describe(mut self, description: impl Into<Str>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// When it is active.
    #[must_use]
    pub fn trigger(mut self, trigger: Trigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// Active after this tool answered.
    #[must_use]
    pub fn after_tool(self, name: impl Into<Str>) -> Self {
        self.trigger(Trigger::OnToolReturn(ToolNameMatch::Exact(name.into())))
    }

    /// Text for the system prompt.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<Str>) -> Self {
        self.content.system_prompt = Some(text.into());
        self
    }

    /// One more message for the conversation.
    #[must_use]
    pub fn message(mut self, role: Role, content: impl Into<Str>) -> Self {
        self.content.messages.push(InjectedMessage { role, content: content.into() });
        self
    }

    /// One more tool offered while it is active.
    #[must_use]
    pub fn tool(mut self, tool: crate::tools::Tool) -> Self {
        self.content.tools.push(tool);
        self
    }

    /// The cache policy; without one the piece counts as `never`.
    #[must_use]
    pub fn cache(mut self, policy: CachePolicy) -> Self {
        self.meta.cache = Some(policy);
        self
    }

    /// How it was ranked, for a retrieved piece.
    #[must_use]
    pub fn retrieved(mut self, retrieval: Retrieval) -> Self {
        self.meta.retrieval = Some(retrieval);
        self
    }
}

impl IntoInjection for RawInjection {
    fn into_injection(self) -> Result<Injection, InjectionError> {
        check_id(&self.id)?;
        for message in &self.content.messages {
            check_role(&self.id, &message.role)?;
            check_text(&self.id, "a message", &message.content)?;
        }
        Ok(Injection::assemble(Parts {
            id: self.id,
            flavor: self.flavor,
            description: self.description,
            trigger: self.trigger,
            content: self.content,
            template: None,
            meta: self.meta,
        }))
    }
}

fn system(text: Str) -> InjectionContent {
    InjectionContent { system_prompt: Some(text), ..InjectionContent::default() }
}

fn placed(id: &Str, slot: Slot, text: Str) -> Result<InjectionContent, InjectionError> {
    match slot {
        Slot::SystemPrompt => Ok(system(text)),
        Slot::Messages(role) => {
            check_role(id, &role)?;
            Ok(InjectionContent {
                messages: vec![InjectedMessage { role, content: text }],
                ..InjectionContent::default()
            })
        }
    }
}

fn check_id(id: &Str) -> Result<(), InjectionError> {
    if id.trim().is_empty() { Err(InjectionError::EmptyId) } else { Ok(()) }
}

fn check_text(id: &Str, what: &'static str, text: &Str) -> Result<(), InjectionError> {
    if text.trim().is_empty() { Err(InjectionError::EmptyText { id: id.to_string(), what }) } else { Ok(()) }
}

fn check_role(id: &Str, role: &Role) -> Result<(), InjectionError> {
    if *role == Role::Tool { Err(InjectionError::ToolRole { id: id.to_string() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves CTX-5, CTX-17, CTX-21.
    #[test]
    fn bad_declarations_are_refused_by_name() {
        let refused = |result: Result<Injection, InjectionError>, expected: &str| {
            let text = result.unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        };
        refused(Steering::new(" ", "x").into_injection(), "id");
        refused(Steering::new("tone", "  ").into_injection(), "tone");
        refused(Fact::new("hours", "").into_injection(), "hours");
        refused(Fact::new("f", "x").in_messages(Role::Tool).into_injection(), "tool");
        refused(Instruction::template("t", "{{history}}").into_injection(), "actionBudget");
        refused(
            Instruction::template("t", "{{action}}").in_messages(Role::System).into_injection(),
            "system prompt",
        );
        refused(
            Instruction::template("t", "{{action}}").cache(CachePolicy::Always).into_injection(),
            "cache",
        );
        refused(
            RawInjection::new("raw", ContextSource::Custom).message(Role::User, " ").into_injection(),
            "message",
        );
    }

    /// Proves CTX-19, CTX-21.
    #[test]
    fn defaults_per_flavour() {
        let word = |injection: Injection| injection.meta().cache.as_ref().map(CachePolicy::word);
        assert_eq!(word(Steering::new("a", "x").into_injection().unwrap()), Some("always"));
        assert_eq!(word(Fact::new("b", "x").into_injection().unwrap()), Some("always"));
        assert_eq!(word(Instruction::new("c", "x").into_injection().unwrap()), Some("never"));
        assert_eq!(word(RawInjection::new("d", ContextSource::Custom).into_injection().unwrap()), None);
        let plain = Instruction::template("e", "no placeholder").into_injection().unwrap();
        assert!(plain.template().is_none());
    }
}
