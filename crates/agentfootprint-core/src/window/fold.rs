//! What a fold leaves behind: the originals, or the statement that they were discarded (LLM-174, LLM-175).

use agentfootprint_record::message::{MessageView, Messages};
use agentfootprint_record::text::{content_hash, sha256_hex};
use footprint::value::{Array, Object, Str, Value};

/// What happens to the messages a summary stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldRetention {
    /// They travel with the conversation's checkpoint.
    #[default]
    Conversation,
    /// Only the run that folded them has them, in its record.
    Discard,
}

impl FoldRetention {
    /// The recorded word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Discard => "discard",
        }
    }
}

/// A fold before the stage says where and when it happened.
#[derive(Clone, Debug)]
pub(super) struct FoldDraft {
    pub(super) frame: Str,
    pub(super) model: Str,
    pub(super) retention: FoldRetention,
}

/// Facts of the stage that folded.
pub(super) struct FoldFacts<'a> {
    pub(super) run_id: &'a Str,
    pub(super) iteration: u32,
    pub(super) now_ms: u64,
    pub(super) removed_stage_ids: Value,
}

impl FoldDraft {
    pub(super) fn to_value(&self, originals: &Array, facts: FoldFacts<'_>) -> Value {
        let mut out = Object::new();
        out.insert("summaryFingerprint", Value::from(content_hash(&self.frame)));
        out.insert("summarySha256", Value::from(sha256_hex(&*self.frame)));
        out.insert("runId", Value::from(facts.run_id.clone()));
        out.insert("iteration", Value::from(facts.iteration));
        out.insert("foldedAtMs", Value::from(facts.now_ms));
        out.insert("model", Value::from(self.model.clone()));
        out.insert("messageCount", Value::from(originals.len()));
        out.insert("removedStageIds", facts.removed_stage_ids);
        out.insert("retained", Value::from(self.retention.as_str()));
        if self.retention == FoldRetention::Conversation {
            out.insert("messages", Value::from(originals.clone()));
        }
        Value::from(out)
    }
}

/// What is known about the messages behind a summary.
#[derive(Clone, Debug, PartialEq)]
pub enum FoldedSpanMatch {
    /// Nothing: the message is no summary of this conversation, or more than one span claims it.
    None,
    /// The span is on file, its messages were discarded.
    Discarded(Value),
    /// The span with its messages.
    Kept {
        /// The span as recorded.
        span: Value,
        /// The originals, oldest first.
        messages: Messages,
    },
}

/// The span a summary message stands for, among the spans of a conversation's checkpoint.
///
/// ```
/// use agentfootprint_core::window::{FoldedSpanMatch, folded_span_for};
/// use agentfootprint_record::message::{Message, Messages};
/// let history: Messages = [Message::user("[compacted history …")].into_iter().collect();
/// // A text that only looks like a summary joins nothing.
/// assert_eq!(folded_span_for(&Default::default(), history.get(0).unwrap()), FoldedSpanMatch::None);
/// ```
#[must_use]
pub fn folded_span_for(folded: &Array, message: MessageView<'_>) -> FoldedSpanMatch {
    let (short, long) = (content_hash(message.content()), sha256_hex(message.content()));
    let mut matching = folded.iter().filter(|span| {
        let field = |name: &str| span.get(name).and_then(Value::as_str);
        field("summaryFingerprint") == Some(&*short) && field("summarySha256").is_none_or(|sha| sha == &*long)
    });
    let (Some(span), None) = (matching.next(), matching.next()) else { return FoldedSpanMatch::None };
    match span.get("messages").and_then(Value::as_array) {
        Some(messages) => {
            FoldedSpanMatch::Kept { span: span.clone(), messages: Messages::from(messages.clone()) }
        }
        None => FoldedSpanMatch::Discarded(span.clone()),
    }
}

/// All messages that were folded and kept, oldest first.
#[must_use]
pub fn folded_messages(folded: &Array) -> Messages {
    let kept = folded.iter().filter_map(|span| span.get("messages").and_then(Value::as_array));
    Messages::from(kept.flat_map(|messages| messages.iter().cloned()).collect::<Array>())
}

#[cfg(test)]
mod tests {
    use agentfootprint_record::message::Message;

    use super::*;

    fn span(frame: &str, retention: FoldRetention) -> Value {
        let draft = FoldDraft { frame: frame.into(), model: "m".into(), retention };
        let originals: Messages = [Message::user("old")].into_iter().collect();
        let run_id = Str::from("run-1");
        draft.to_value(
            originals.as_array(),
            FoldFacts {
                run_id: &run_id,
                iteration: 3,
                now_ms: 9,
                removed_stage_ids: Value::from(Array::new()),
            },
        )
    }

    /// Proves LLM-174, LLM-175: no span, a span without messages and a span with messages are three answers.
    #[test]
    fn a_summary_is_joined_by_its_text() {
        let history: Messages = [Message::user("one"), Message::user("two")].into_iter().collect();
        let folded: Array = [span("one", FoldRetention::Conversation), span("two", FoldRetention::Discard)]
            .into_iter()
            .collect();
        let find = |at: usize, folded: &Array| folded_span_for(folded, history.get(at).unwrap());
        assert!(matches!(find(0, &folded), FoldedSpanMatch::Kept { messages, .. } if messages.len() == 1));
        assert!(matches!(find(1, &folded), FoldedSpanMatch::Discarded(_)));
        assert_eq!(folded_messages(&folded).len(), 1);
        let twice: Array =
            [span("one", FoldRetention::Discard), span("one", FoldRetention::Discard)].into_iter().collect();
        assert_eq!(find(0, &twice), FoldedSpanMatch::None);
        let mut forged = span("one", FoldRetention::Conversation).as_object().cloned().unwrap();
        forged.insert("summarySha256", Value::from("0".repeat(64)));
        assert_eq!(find(0, &[Value::from(forged)].into_iter().collect()), FoldedSpanMatch::None);
    }
}
