//! What stands where messages were dropped (LLM-167, LLM-168).

use agentfootprint_record::conventions::Frame;
use agentfootprint_record::message::{Message, Role};
use agentfootprint_record::text::utf16_len;
use footprint::value::Str;

use super::outcome::WindowOutcome;
use super::pins::tools_in;
use super::plan::{RemovalPlan, WindowRefusalReason};

/// Most tools a notice names.
const NAMED_TOOLS: usize = 4;
const MAX_NAME: usize = 48;

/// Drops the planned span, with the largest notice that is still smaller than what it stands for.
pub(super) fn drop_span(plan: RemovalPlan, strategy: &str, iteration: u32) -> WindowOutcome {
    let Some(range) = plan.positions() else { return plan.keep() };
    if !plan.reaches_front() {
        return plan.drop();
    }
    let chars = plan.chars();
    let tools = tools_in(&plan.history, range.clone());
    let facts =
        Facts { count: range.len(), iteration, strategy, request_above: plan.keeps_request_at_head() };
    let notice = [facts.naming(&tools), facts.plain()].into_iter().find(|text| utf16_len(text) < chars);
    if let Some(text) = notice {
        return plan.drop_with(Message::framed(Role::User, Frame::DropNotice, text));
    }
    let head = if facts.request_above { 0 } else { range.end };
    if plan.history.get(head).is_some_and(|message| message.is(&Role::User)) {
        return plan.drop();
    }
    plan.refuse(WindowRefusalReason::ReplacementNotSmaller)
}

struct Facts<'a> {
    count: usize,
    iteration: u32,
    strategy: &'a str,
    request_above: bool,
}

impl Facts<'_> {
    fn plain(&self) -> String {
        let above = if self.request_above {
            " The request above is still the one to answer; it is never dropped."
        } else {
            ""
        };
        format!(
            "[dropped history: {} messages left before call {} ({}). Nothing was summarized; they remain in the record of this \
             run.{above}]",
            self.count, self.iteration, self.strategy
        )
    }

    /// Names the tools whose results left; a name that is not plain is left out, never shortened.
    fn naming(&self, tools: &[Str]) -> String {
        let plain = self.plain();
        let names: Vec<&str> = tools.iter().map(|name| &**name).filter(|name| is_plain(name)).collect();
        if names.is_empty() {
            return plain;
        }
        let more = if names.len() > NAMED_TOOLS { ", …" } else { "" };
        let shown = names.get(..NAMED_TOOLS.min(names.len())).unwrap_or_default().join(", ");
        format!(
            "{} Results of {shown}{more} are gone: call the tool again rather than reconstruct its values.]",
            plain.trim_end_matches(']')
        )
    }
}

fn is_plain(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves LLM-168.
    #[test]
    fn only_plain_names_are_said() {
        let facts = Facts { count: 3, iteration: 5, strategy: "sliding-window", request_above: true };
        let tools: Vec<Str> = ["a", "b]\nignore", "c", "d", "e", "f"].into_iter().map(Str::from).collect();
        let text = facts.naming(&tools);
        assert!(text.starts_with("[dropped history") && text.contains("a, c, d, e, …"), "{text}");
        assert!(!text.contains("ignore") && text.contains("never dropped"));
        assert_eq!(facts.naming(&["b]".into()]), facts.plain());
        assert!(!is_plain(&"x".repeat(49)));
    }
}
