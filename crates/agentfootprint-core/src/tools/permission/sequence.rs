//! A policy over the order and number of calls.

use std::fmt;

use async_trait::async_trait;
use footprint::value::Str;

use super::port::{CheckError, PermissionChecker, PermissionDecision, PermissionRequest, PermissionVerdict};

/// Forbids sequences of calls and limits their number (TOOL-40). It keeps nothing: every decision is read from the
/// calls that really ran, so it survives pauses and restarts.
///
/// ```
/// use agentfootprint_core::tools::SequencePolicy;
/// let policy = SequencePolicy::new("outbound-guard")
///     .forbid_halt(["read_secret", "send_*"], "exfiltration")
///     .limit_deny("search", 5, "search budget");
/// ```
#[derive(Clone)]
pub struct SequencePolicy {
    name: Str,
    rules: Vec<Rule>,
}

#[derive(Clone)]
struct Rule {
    what: What,
    verdict: PermissionVerdict,
    reason: Str,
    tell: Option<Str>,
}

#[derive(Clone)]
enum What {
    /// The latest calls, ending with the proposed one, match these items.
    Suffix(Vec<Item>),
    /// The tool ran this often already.
    Limit { tool: Item, max: usize },
}

#[derive(Clone)]
enum Item {
    Exact(Str),
    Prefix(Str),
}

impl Item {
    fn parse(text: impl Into<Str>) -> Self {
        let text = text.into();
        match text.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.into()),
            None => Self::Exact(text),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => &**exact == name,
            Self::Prefix(prefix) => name.starts_with(&**prefix),
        }
    }
}

impl SequencePolicy {
    /// A policy without rules.
    pub fn new(name: impl Into<Str>) -> Self {
        Self { name: name.into(), rules: Vec::new() }
    }

    fn with(mut self, what: What, verdict: PermissionVerdict, reason: impl Into<Str>) -> Self {
        self.rules.push(Rule { what, verdict, reason: reason.into(), tell: None });
        self
    }

    /// Denies the last call of this sequence. An item is a tool's name, or a beginning with `*`.
    #[must_use]
    pub fn forbid_deny<S: Into<Str>>(
        self,
        pattern: impl IntoIterator<Item = S>,
        reason: impl Into<Str>,
    ) -> Self {
        let items = pattern.into_iter().map(Item::parse).collect();
        self.with(What::Suffix(items), PermissionVerdict::Deny, reason)
    }

    /// Halts the run at the last call of this sequence.
    #[must_use]
    pub fn forbid_halt<S: Into<Str>>(
        self,
        pattern: impl IntoIterator<Item = S>,
        reason: impl Into<Str>,
    ) -> Self {
        let items = pattern.into_iter().map(Item::parse).collect();
        self.with(What::Suffix(items), PermissionVerdict::Halt, reason)
    }

    /// Denies calls of a tool beyond this number.
    #[must_use]
    pub fn limit_deny(self, tool: impl Into<Str>, max: usize, reason: impl Into<Str>) -> Self {
        self.with(What::Limit { tool: Item::parse(tool), max }, PermissionVerdict::Deny, reason)
    }

    /// Halts the run at calls of a tool beyond this number.
    #[must_use]
    pub fn limit_halt(self, tool: impl Into<Str>, max: usize, reason: impl Into<Str>) -> Self {
        self.with(What::Limit { tool: Item::parse(tool), max }, PermissionVerdict::Halt, reason)
    }

    /// What the model reads when the rule added last refuses.
    #[must_use]
    pub fn tell(mut self, text: impl Into<Str>) -> Self {
        if let Some(rule) = self.rules.last_mut() {
            rule.tell = Some(text.into());
        }
        self
    }
}

impl fmt::Debug for SequencePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SequencePolicy({}, {} rules)", self.name, self.rules.len())
    }
}

impl What {
    fn applies(&self, request: &PermissionRequest) -> bool {
        match self {
            Self::Suffix(items) => {
                let Some((last, before)) = items.split_last() else { return false };
                last.matches(&request.target)
                    && before.len() <= request.sequence.len()
                    && before
                        .iter()
                        .rev()
                        .zip(request.sequence.iter().rev())
                        .all(|(item, call)| item.matches(call.name()))
            }
            Self::Limit { tool, max } => {
                tool.matches(&request.target)
                    && request.sequence.iter().filter(|call| tool.matches(call.name())).count() >= *max
            }
        }
    }
}

#[async_trait]
impl PermissionChecker for SequencePolicy {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        let Some(rule) = self.rules.iter().find(|rule| rule.what.applies(request)) else {
            return Ok(PermissionDecision::allow());
        };
        let decision = match rule.verdict {
            PermissionVerdict::Halt => PermissionDecision::halt(rule.reason.clone()),
            _ => PermissionDecision::deny(rule.reason.clone()),
        };
        Ok(match &rule.tell {
            Some(text) => decision.tell_llm(text.clone()),
            None => decision,
        })
    }
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::events::words::PermissionCapability;
    use agentfootprint_record::message::Messages;
    use footprint::value;
    use tokio_util::sync::CancellationToken;

    use super::super::port::CallSequence;
    use super::*;

    async fn verdict(policy: &SequencePolicy, ran: &[&str], proposed: &str) -> PermissionVerdict {
        let mut sequence = CallSequence::default();
        for name in ran {
            sequence.push((*name).into(), value!({}), 1, None);
        }
        let request = PermissionRequest {
            capability: PermissionCapability::ToolCall,
            actor: "agent",
            target: proposed.into(),
            context: value!({}),
            sequence,
            history: Messages::new(),
            iteration: 1,
            identity: None,
            cancel: CancellationToken::new(),
        };
        policy.check(&request).await.unwrap().verdict
    }

    /// Proves TOOL-40.
    #[tokio::test]
    async fn sequences_and_limits_are_read_from_what_ran() {
        use PermissionVerdict::{Allow, Deny, Halt};
        let policy = SequencePolicy::new("guard")
            .forbid_halt(["read_secret", "send_*"], "leak")
            .limit_deny("search", 2, "budget");
        assert_eq!(verdict(&policy, &["read_secret"], "send_mail").await, Halt);
        assert_eq!(verdict(&policy, &["read_secret", "search"], "send_mail").await, Allow);
        assert_eq!(verdict(&policy, &[], "send_mail").await, Allow);
        assert_eq!(verdict(&policy, &["search"], "search").await, Allow);
        assert_eq!(verdict(&policy, &["search", "read", "search"], "search").await, Deny);
    }
}
