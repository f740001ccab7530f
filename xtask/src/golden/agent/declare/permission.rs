//! Permission checkers of a scenario: a list of rules, or roles.

use agentfootprint_core::agent::AgentBuilder;
use agentfootprint_core::tools::{
    CheckError, PermissionCapability, PermissionChecker, PermissionDecision, PermissionPolicy,
    PermissionRequest, PolicyRules,
};
use agentfootprint_record::events::words::Word as _;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Given, list};
use crate::golden::expr::holds;
use crate::golden::text;

pub(super) fn guarded(builder: AgentBuilder, declared: &Value) -> Result<AgentBuilder, String> {
    match declared.get("roles").and_then(Value::as_object) {
        Some(roles) => {
            let roles = roles.iter().map(|(role, tools)| (role.clone(), words(tools)));
            let policy = PermissionPolicy::from_roles(roles, text(declared, "activeRole"))
                .map_err(|error| error.to_string())?;
            Ok(builder.permission_checker(policy.rules(rules(declared.get("rules").unwrap_or(&Value::Null)))))
        }
        None => Ok(builder.permission_checker(Rules::of(declared))),
    }
}

fn rules(declared: &Value) -> PolicyRules {
    let mut rules = PolicyRules::new();
    for (role, names) in declared.get("capabilities").and_then(Value::as_object).into_iter().flatten() {
        rules = rules.capabilities(role.clone(), capabilities(names));
    }
    for (role, ids) in declared.get("skills").and_then(Value::as_object).into_iter().flatten() {
        rules = rules.skills(role.clone(), words(ids));
    }
    rules
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

fn capabilities(list: &Value) -> Vec<PermissionCapability> {
    words(list).iter().map(|word| PermissionCapability::read(&word.as_str().into())).collect()
}

/// A checker that answers by its first rule that fits.
struct Rules {
    name: String,
    governs: Vec<PermissionCapability>,
    declared: Value,
}

impl Rules {
    fn of(declared: &Value) -> Self {
        Self {
            name: text(declared, "name"),
            governs: declared.get("governs").map(capabilities).unwrap_or_default(),
            declared: declared.clone(),
        }
    }
}

#[async_trait]
impl PermissionChecker for Rules {
    fn name(&self) -> &str {
        &self.name
    }

    fn governs(&self) -> &[PermissionCapability] {
        &self.governs
    }

    async fn check(&self, request: &PermissionRequest) -> Result<PermissionDecision, CheckError> {
        let seen = Given(json!({
            "args": request.context.to_json(),
            "sequence": request.sequence.to_value().to_json(),
            "iteration": request.iteration,
        }));
        for rule in list(&self.declared, "rules") {
            let is = |key: &str, value: &str| {
                rule.get(key).and_then(Value::as_str).is_none_or(|wanted| wanted == value)
            };
            if !is("target", &request.target) || !is("capability", request.capability.word()) {
                continue;
            }
            let fits = rule.get("when").map_or(Ok(true), |condition| holds(condition, &seen));
            if !fits.map_err(|thrown| CheckError::new(thrown.0))? {
                continue;
            }
            if let Some(thrown) = rule.get("throws") {
                return Err(CheckError::new(thrown.as_str().unwrap_or("thrown")));
            }
            return Ok(decision(rule.get("decision").unwrap_or(&Value::Null)));
        }
        Ok(self.declared.get("default").map_or_else(PermissionDecision::allow, decision))
    }
}

fn decision(declared: &Value) -> PermissionDecision {
    let word = |key: &str| declared.get(key).and_then(Value::as_str);
    let mut decision = match text(declared, "result").as_str() {
        "deny" => PermissionDecision::deny(text(declared, "rationale")),
        "halt" => PermissionDecision::halt(text(declared, "reason")),
        "gate_open" => PermissionDecision::gate_open(text(declared, "gateId")),
        _ => PermissionDecision::allow(),
    };
    decision.rationale = word("rationale").map(Into::into);
    decision.reason = word("reason").map(Into::into);
    if let Some(rule) = word("policyRuleId") {
        decision = decision.rule(rule);
    }
    if let Some(text) = word("tellLLM") {
        decision = decision.tell_llm(text);
    }
    decision
}
