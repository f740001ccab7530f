use agentfootprint_record::message::Messages;
use footprint::value;
use tokio_util::sync::CancellationToken;

use super::super::port::{CallSequence, PermissionVerdict, skill_target};
use super::*;

fn policy() -> PermissionPolicy {
    PermissionPolicy::from_roles(
        [("clerk", vec!["read", "send"]), ("admin", vec!["read", "wipe"]), ("guest", vec![])],
        "clerk",
    )
    .unwrap()
    .rules(
        PolicyRules::new()
            .capabilities("clerk", [PermissionCapability::ExternalNet])
            .skills("clerk", ["billing"]),
    )
}

async fn ask(
    policy: &PermissionPolicy,
    capability: PermissionCapability,
    target: &str,
) -> (PermissionVerdict, String) {
    let request = PermissionRequest {
        capability,
        actor: "agent",
        target: target.into(),
        context: value!({}),
        sequence: CallSequence::default(),
        history: Messages::new(),
        iteration: 1,
        identity: None,
        cancel: CancellationToken::new(),
    };
    let decision = policy.check(&request).await.unwrap();
    (decision.verdict, decision.policy_rule_id.unwrap().to_string())
}

/// Proves TOOL-39.
#[tokio::test]
async fn rules_decide_by_role_and_name_themselves() {
    use PermissionCapability::{ExternalNet, SkillRead, ToolCall, UserData};
    use PermissionVerdict::{Allow, Deny};
    let clerk = policy();
    let rule = |text: &str| text.to_owned();
    assert_eq!(ask(&clerk, ToolCall, "read").await, (Allow, rule("clerk.allowlist")));
    assert_eq!(ask(&clerk, ToolCall, "wipe").await, (Deny, rule("clerk.allowlist.miss")));
    assert_eq!(ask(&clerk, ExternalNet, "send").await, (Allow, rule("clerk.capabilities")));
    assert_eq!(ask(&clerk, UserData, "send").await, (Deny, rule("clerk.capabilities.miss")));
    assert_eq!(ask(&clerk, SkillRead, &skill_target("billing")).await, (Allow, rule("clerk.skills")));
    assert_eq!(ask(&clerk, SkillRead, "refunds").await, (Deny, rule("clerk.skills.miss")));
    // A role without a rule of a kind: capabilities fall through to the tool list, skills stay visible.
    let admin = clerk.with_active_role("admin").unwrap();
    assert_eq!(ask(&admin, UserData, "wipe").await, (Allow, rule("admin.allowlist")));
    assert_eq!(ask(&admin, UserData, "send").await, (Deny, rule("admin.allowlist.miss")));
    assert_eq!(ask(&admin, SkillRead, &skill_target("refunds")).await, (Allow, rule("admin.skills.unruled")));
    assert_eq!(admin.allowed_tool_ids().collect::<Vec<_>>(), ["read", "wipe"]);
    assert_eq!(admin.roles().collect::<Vec<_>>(), ["clerk", "admin", "guest"]);
}

/// Proves TOOL-39, TOOL-34.
#[test]
fn what_is_governed_follows_from_the_rules() {
    let plain = PermissionPolicy::from_roles([("a", vec!["x"])], "a").unwrap();
    assert!(plain.governs().is_empty());
    let capabilities = plain.clone().rules(PolicyRules::new().capabilities("b", []));
    assert_eq!(capabilities.governs().len(), 4);
    let skills = plain.rules(PolicyRules::new().skills("a", ["s"]));
    assert_eq!(skills.governs(), [PermissionCapability::SkillRead]);
}

/// Proves TOOL-39.
#[test]
fn an_unknown_role_is_refused_with_the_known_ones() {
    let error = policy().with_active_role("root").unwrap_err();
    assert_eq!(error.to_string(), "role `root` is not defined; the policy defines clerk, admin, guest");
    assert_eq!(skill_of_target("skill:billing"), "billing");
    assert_eq!(skill_of_target("billing"), "billing");
}
