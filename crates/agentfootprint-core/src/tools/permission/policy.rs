//! A policy by roles.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentfootprint_record::events::words::{PermissionCapability, Word as _};
use async_trait::async_trait;
use footprint::value::Str;
use indexmap::IndexMap;
use thiserror::Error;

use super::port::{CheckError, PermissionChecker, PermissionDecision, PermissionRequest, skill_of_target};

/// Which role may call which tools, and optionally touch which capabilities and read which skills (TOOL-39).
///
/// ```
/// use agentfootprint_core::tools::PermissionPolicy;
/// let policy = PermissionPolicy::from_roles([("clerk", vec!["read_file"]), ("admin", vec!["read_file", "delete_file"])], "clerk")?;
/// assert!(policy.is_allowed("read_file") && !policy.is_allowed("delete_file"));
/// assert!(policy.with_active_role("admin")?.is_allowed("delete_file"));
/// # Ok::<(), agentfootprint_core::tools::PolicyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PermissionPolicy {
    roles: Arc<IndexMap<Str, BTreeSet<Str>>>,
    rules: Arc<PolicyRules>,
    active: Str,
    governs: Arc<[PermissionCapability]>,
}

/// Rules beyond the tool lists.
#[derive(Clone, Debug, Default)]
pub struct PolicyRules {
    capabilities: IndexMap<Str, Vec<PermissionCapability>>,
    skills: IndexMap<Str, BTreeSet<Str>>,
}

impl PolicyRules {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// The capabilities a role may touch.
    #[must_use]
    pub fn capabilities(
        mut self,
        role: impl Into<Str>,
        allowed: impl IntoIterator<Item = PermissionCapability>,
    ) -> Self {
        self.capabilities.insert(role.into(), allowed.into_iter().collect());
        self
    }

    /// The skills a role may read, by bare id.
    #[must_use]
    pub fn skills<S: Into<Str>>(
        mut self,
        role: impl Into<Str>,
        allowed: impl IntoIterator<Item = S>,
    ) -> Self {
        self.skills.insert(role.into(), allowed.into_iter().map(Into::into).collect());
        self
    }
}

/// A policy that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The role is not defined.
    #[error("role `{role}` is not defined; the policy defines {}", defined.join(", "))]
    UnknownRole {
        /// The role asked for.
        role: String,
        /// The roles there are.
        defined: Vec<String>,
    },
}

impl PermissionPolicy {
    /// A policy from the tools each role may call.
    pub fn from_roles<R, T>(
        roles: impl IntoIterator<Item = (R, Vec<T>)>,
        active_role: impl Into<Str>,
    ) -> Result<Self, PolicyError>
    where
        R: Into<Str>,
        T: Into<Str>,
    {
        let roles =
            roles.into_iter().map(|(role, tools)| (role.into(), tools.into_iter().map(Into::into).collect()));
        let policy = Self {
            roles: Arc::new(roles.collect()),
            rules: Arc::default(),
            active: Str::from(""),
            governs: Arc::from([]),
        };
        policy.with_active_role(active_role)
    }

    /// Adds rules on capabilities and skills. What the policy governs follows from them: any capability rule governs
    /// all four, any skill rule governs reading skills.
    #[must_use]
    pub fn rules(mut self, rules: PolicyRules) -> Self {
        let mut governs = Vec::new();
        if !rules.capabilities.is_empty() {
            governs.extend([
                PermissionCapability::MemoryRead,
                PermissionCapability::MemoryWrite,
                PermissionCapability::ExternalNet,
                PermissionCapability::UserData,
            ]);
        }
        if !rules.skills.is_empty() {
            governs.push(PermissionCapability::SkillRead);
        }
        self.governs = governs.into();
        self.rules = Arc::new(rules);
        self
    }

    /// The same policy for another role; rules travel along.
    pub fn with_active_role(&self, role: impl Into<Str>) -> Result<Self, PolicyError> {
        let role = role.into();
        if !self.roles.contains_key(&role) {
            return Err(PolicyError::UnknownRole {
                role: role.to_string(),
                defined: self.roles.keys().map(ToString::to_string).collect(),
            });
        }
        Ok(Self { active: role, ..self.clone() })
    }

    /// Whether the active role may call a tool.
    pub fn is_allowed(&self, tool: &str) -> bool {
        self.roles.get(&self.active).is_some_and(|tools| tools.contains(tool))
    }

    /// The defined roles, in order.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(|role| &**role)
    }

    /// The tools the active role may call.
    pub fn allowed_tool_ids(&self) -> impl Iterator<Item = &str> {
        self.roles.get(&self.active).into_iter().flatten().map(|tool| &**tool)
    }

    fn rule(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.active)
    }

    fn decide_tool(&self, tool: &str) -> PermissionDecision {
        if self.is_allowed(tool) {
            PermissionDecision::allow().rule(self.rule("allowlist"))
        } else {
            PermissionDecision::deny(format!("role `{}` may not call `{tool}`", self.active))
                .rule(self.rule("allowlist.miss"))
        }
    }

    fn decide_capability(&self, capability: &PermissionCapability, tool: &str) -> PermissionDecision {
        match self.rules.capabilities.get(&self.active) {
            // A role without a rule of this kind falls through to its tool list.
            None => self.decide_tool(tool),
            Some(allowed) if allowed.contains(capability) => {
                PermissionDecision::allow().rule(self.rule("capabilities"))
            }
            Some(_) => PermissionDecision::deny(format!(
                "role `{}` may not touch {}",
                self.active,
                capability.word()
            ))
            .rule(self.rule("capabilities.miss")),
        }
    }

    fn decide_skill(&self, skill: &str) -> PermissionDecision {
        match self.rules.skills.get(&self.active) {
            None => PermissionDecision::allow().rule(self.rule("skills.unruled")),
            Some(allowed) if allowed.contains(skill) => PermissionDecision::allow().rule(self.rule("skills")),
            Some(_) => PermissionDecision::deny(format!("role `{}` may not read this skill", self.active))
                .rule(self.rule("skills.miss")),
        }
    }
}

#[async_trait]
impl PermissionChecker for PermissionPolicy {
    fn name(&self) -> &str {
        "permission-policy"
    }

    fn governs(&self) -> &[PermissionCapability] {
        &self.governs
    }

    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        Ok(match &request.capability {
            PermissionCapability::ToolCall => self.decide_tool(&request.target),
            PermissionCapability::SkillRead => self.decide_skill(skill_of_target(&request.target)),
            other => self.decide_capability(other, &request.target),
        })
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
