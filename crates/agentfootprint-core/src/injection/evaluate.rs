//! One pass over the declared injections (CTX §2.2): pure, order-keeping, and unable to fail.

use agentfootprint_record::events::words::SkipReason;
use agentfootprint_record::text::utf16_cmp;
use footprint::value::{Array, Object, Str, Value};

use super::context::{InjectionContext, Parked};
use super::shape::{Injection, Trigger};
use super::template::TemplateFacts;

/// An injection that was passed over. A trigger that is simply false leaves no such row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The injection.
    pub id: Str,
    /// Why.
    pub reason: SkipReason,
    /// What the rule said, or what the idle test checked.
    pub error: Option<String>,
}

/// The result of one pass.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// The active injections in declaration order.
    pub active: Vec<Injection>,
    /// Those passed over; `unknown-fact` rows come last.
    pub skipped: Vec<Skipped>,
    /// How many are active per trigger kind, in order of first appearance.
    pub trigger_kinds: Vec<(&'static str, u32)>,
    /// The projections of the active injections: the value of `activeInjections`.
    pub projections: Array,
}

/// Judges every injection on one context. Declaration order is kept, nothing is admitted twice.
///
/// ```
/// use agentfootprint_core::injection::{Fact, InjectionContext, Instruction, IntoInjection, evaluate};
///
/// let injections = [
///     Fact::new("hours", "Open 9 to 5.").into_injection()?,
///     Instruction::new("refunds", "Quote the policy.")
///         .active_when(|cx| cx.user_message().contains("refund"))
///         .into_injection()?,
/// ];
/// let pass = evaluate(&injections, &InjectionContext::first_pass("Are you open?", Some(10)));
/// assert_eq!(pass.active.len(), 1);
/// assert!(pass.skipped.is_empty());
/// # Ok::<(), agentfootprint_core::injection::InjectionError>(())
/// ```
pub fn evaluate(injections: &[Injection], cx: &InjectionContext) -> Evaluation {
    let facts = TemplateFacts { iteration: cx.iteration(), max_iterations: cx.max_iterations() };
    let mut pass = Evaluation::default();
    let mut unknown_facts = Vec::new();
    for injection in injections {
        match admit(injection, cx) {
            Admission::No => {}
            Admission::Skip(skipped) => pass.skipped.push(skipped),
            Admission::Yes => match rendered(injection, facts) {
                Rendered::Plain => accept(&mut pass, injection, None),
                Rendered::Text(text) => accept(&mut pass, injection, Some(&text)),
                Rendered::Missing => unknown_facts.push(Skipped {
                    id: injection.id().clone(),
                    reason: SkipReason::UnknownFact,
                    error: None,
                }),
            },
        }
    }
    pass.skipped.append(&mut unknown_facts);
    pass
}

fn accept(pass: &mut Evaluation, injection: &Injection, text: Option<&str>) {
    let kind = injection.trigger().kind();
    match pass.trigger_kinds.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, count)) => *count += 1,
        None => pass.trigger_kinds.push((kind, 1)),
    }
    pass.projections.push(injection.projection(text));
    pass.active.push(injection.clone());
}

enum Rendered {
    Plain,
    Text(String),
    Missing,
}

fn rendered(injection: &Injection, facts: TemplateFacts) -> Rendered {
    match injection.template() {
        None => Rendered::Plain,
        Some(template) => template.render(facts).map_or(Rendered::Missing, Rendered::Text),
    }
}

enum Admission {
    Yes,
    No,
    Skip(Skipped),
}

fn admit(injection: &Injection, cx: &InjectionContext) -> Admission {
    if let Some(Parked { reason, .. }) = cx.parked.iter().find(|parked| parked.id == *injection.id()) {
        return Admission::Skip(Skipped {
            id: injection.id().clone(),
            reason: SkipReason::Parked,
            error: Some(reason.to_string()),
        });
    }
    if cx.lease_active_ids.contains(injection.id()) {
        return Admission::Yes;
    }
    let yes = match injection.trigger() {
        Trigger::Always => true,
        Trigger::Rule(rule) | Trigger::Graph(rule) => match rule.judge(cx) {
            Ok(verdict) => verdict,
            Err(error) => {
                return Admission::Skip(Skipped {
                    id: injection.id().clone(),
                    reason: SkipReason::PredicateThrew,
                    error: Some(error),
                });
            }
        },
        Trigger::OnToolReturn(name) => cx.tool_results().any(|result| name.matches(result.tool_name())),
        Trigger::LlmActivated => cx.activated_injection_ids().any(|id| id == &**injection.id()),
    };
    if yes { Admission::Yes } else { Admission::No }
}

impl Evaluation {
    /// `triggerKindCounts`: kinds in key order, as recorded.
    pub fn trigger_kind_counts(&self) -> Object {
        let mut kinds = self.trigger_kinds.clone();
        kinds.sort_by(|a, b| utf16_cmp(a.0, b.0));
        kinds.into_iter().map(|(kind, count)| (Str::from(kind), Value::from(count))).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::injection::{Fact, Instruction, IntoInjection, Predicate, RawInjection, ToolNameMatch};

    fn context() -> InjectionContext {
        InjectionContext::first_pass("refund please", Some(10))
    }

    /// Proves CTX-6, CTX-26, CTX-27, CTX-28.
    #[test]
    fn a_failing_or_panicking_rule_is_skipped_with_its_text() {
        let injections = [
            Instruction::new("ok", "A").active_when(|cx| cx.iteration() == 1).into_injection().unwrap(),
            Instruction::new("no", "B").active_when(|_| false).into_injection().unwrap(),
            Instruction::new("broken", "C")
                .active_when_try(|_| Err("bad rule".into()))
                .into_injection()
                .unwrap(),
            Instruction::new("panics", "D").active_when(|_| panic!("boom")).into_injection().unwrap(),
            Fact::new("hours", "E").into_injection().unwrap(),
        ];
        let pass = evaluate(&injections, &context());
        let active: Vec<&str> = pass.active.iter().map(|i| &**i.id()).collect();
        assert_eq!(active, ["ok", "hours"]);
        assert_eq!(pass.trigger_kinds, [("rule", 1), ("always", 1)]);
        let skipped: Vec<(&str, SkipReason, Option<&str>)> =
            pass.skipped.iter().map(|s| (&*s.id, s.reason.clone(), s.error.as_deref())).collect();
        assert_eq!(
            skipped,
            [
                ("broken", SkipReason::PredicateThrew, Some("bad rule")),
                ("panics", SkipReason::PredicateThrew, Some("boom")),
            ]
        );
    }

    /// Proves CTX-26, CTX-31.
    #[test]
    fn parked_wins_over_leased_and_leased_over_the_trigger() {
        let injections = [
            Instruction::new("parked", "A").into_injection().unwrap(),
            Instruction::new("leased", "B")
                .active_when(|_| panic!("not consulted"))
                .into_injection()
                .unwrap(),
        ];
        let mut cx = context();
        cx.parked = vec![Parked { id: "parked".into(), reason: "idle".into() }];
        cx.lease_active_ids = vec!["leased".into(), "parked".into()];
        let pass = evaluate(&injections, &cx);
        assert_eq!(pass.active.len(), 1);
        assert_eq!(pass.skipped[0].reason, SkipReason::Parked);
        assert_eq!(pass.skipped[0].error.as_deref(), Some("idle"));
    }

    /// Proves CTX-26: any entry of the batch counts, not only the last one.
    #[test]
    fn on_tool_return_looks_at_the_whole_batch() {
        let raw = RawInjection::new("after", agentfootprint_record::events::words::ContextSource::Custom)
            .trigger(Trigger::OnToolReturn(ToolNameMatch::Exact("first".into())))
            .system_prompt("seen")
            .into_injection()
            .unwrap();
        let mut cx = context();
        assert!(evaluate(std::slice::from_ref(&raw), &cx).active.is_empty());
        let entry = |name: &str| footprint::value!({ "toolName": name, "result": "r", "toolCallId": "c" });
        cx.tool_results = [entry("first"), entry("second")].into_iter().collect();
        cx.last_tool_result = Some(entry("second"));
        assert_eq!(evaluate(std::slice::from_ref(&raw), &cx).active.len(), 1);
    }

    /// Proves CTX-22, CTX-27.
    #[test]
    fn a_template_without_its_facts_is_skipped_last() {
        let injections = [
            Instruction::template("budget", "{{actionsRemaining}} left").into_injection().unwrap(),
            Instruction::new("broken", "x").active_when_try(|_| Err("no".into())).into_injection().unwrap(),
        ];
        let mut cx = context();
        cx.max_iterations = None;
        let pass = evaluate(&injections, &cx);
        assert!(pass.active.is_empty());
        let reasons: Vec<SkipReason> = pass.skipped.iter().map(|s| s.reason.clone()).collect();
        assert_eq!(reasons, [SkipReason::PredicateThrew, SkipReason::UnknownFact]);
    }

    proptest! {
        /// Proves CTX-28.
        #[test]
        fn order_is_kept_and_active_and_skipped_are_disjoint(kinds in prop::collection::vec(0u8..4, 0..12)) {
            let injections: Vec<Injection> = kinds.iter().enumerate().map(|(at, kind)| {
                let id = format!("i{at}");
                match kind {
                    0 => Fact::new(id, "x").into_injection(),
                    1 => Instruction::new(id, "x").active_when(|_| true).into_injection(),
                    2 => Instruction::new(id, "x").when(Predicate::new(|_| false)).into_injection(),
                    _ => Instruction::new(id, "x").active_when_try(|_| Err("e".into())).into_injection(),
                }.unwrap()
            }).collect();
            let pass = evaluate(&injections, &context());
            let order: Vec<usize> = pass.active.iter()
                .map(|active| injections.iter().position(|i| i.same(active)).unwrap()).collect();
            prop_assert!(order.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(pass.skipped.iter().all(|s| pass.active.iter().all(|a| *a.id() != s.id)));
            prop_assert_eq!(pass.projections.len(), pass.active.len());
        }
    }
}
