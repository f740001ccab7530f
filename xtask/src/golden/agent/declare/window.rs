//! The window of a scenario's agent.

use agentfootprint_core::agent::AgentBuilder;
use agentfootprint_core::window::{FoldRetention, SlidingWindow, SummarizeOldest, TokenBudget};
use serde_json::{Value, json};

use crate::golden::agent::provider;
use crate::golden::log::Log;
use crate::golden::text;

pub(super) fn windowed(builder: AgentBuilder, declared: &Value, log: &Log) -> Result<AgentBuilder, String> {
    let number = |key: &str| declared.get(key).and_then(Value::as_u64);
    let keep = number("keepRecentTurns").map(|turns| turns as usize);
    let threshold = number("thresholdTokens").unwrap_or_default();
    Ok(match text(declared, "strategy").as_str() {
        "slidingWindow" => builder.window(SlidingWindow::keep(keep.unwrap_or_default())),
        "tokenBudget" => {
            let window = TokenBudget::tokens(threshold);
            builder.window(keep.map_or(window, |turns| window.keep_recent_turns(turns)))
        }
        "summarizeOldest" => {
            let summarizer = provider(&json!({ "provider": declared.get("summarizer") }))?;
            let window =
                SummarizeOldest::new(threshold, log.watch("summarizer", summarizer), text(declared, "model"));
            let window = keep.into_iter().fold(window, SummarizeOldest::keep_recent_turns);
            builder.compaction(match declared.get("retain").and_then(Value::as_str) {
                Some("discard") => window.retain(FoldRetention::Discard),
                _ => window,
            })
        }
        other => return Err(format!("window strategy `{other}` is not built yet")),
    })
}
