//! Injection records: one per piece of a request, in state and on events (AGT-62…66, CTX-38…42).
//!
//! Pieces that never change — the base prompt, registry tools, injections without a template — have their record built
//! once per agent. The records of the conversation grow with it: only the former last message and the new ones are
//! built again, so an iteration costs what it adds, not what it carries.

use std::sync::Arc;

use agentfootprint_record::events::field::Field as _;
use agentfootprint_record::events::payload::{ContextInjected, ContextSlotComposed, SlotBudget, SourceShare};
use agentfootprint_record::events::words::{
    ContextRecency, ContextRole, ContextSlot, ContextSource, Word as _,
};
use agentfootprint_record::text::{ContentHasher, SUMMARY_CHARS, content_hash, summary, utf16_len};
use footprint::value::{Array, Str, Value};
use indexmap::IndexMap;

use super::slot::SlotVisit;
use crate::run::DeliveryError;

/// A record in both of its forms: the typed payload of `context.injected` and the value in state.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) payload: Arc<ContextInjected>,
    pub(crate) value: Value,
    pub(crate) chars: u64,
}

impl Piece {
    pub(crate) fn new(payload: ContextInjected) -> Self {
        let chars = payload.raw_content.as_deref().map_or(0, chars_of);
        let value = payload.to_value();
        Self { payload: Arc::new(payload), value, chars }
    }
}

fn chars_of(text: &str) -> u64 {
    u64::try_from(utf16_len(text)).unwrap_or(u64::MAX)
}

/// The first line of every record: a short form of the content.
fn short(text: &str) -> Str {
    summary(text, SUMMARY_CHARS).into()
}

/// The record of the base prompt.
pub(crate) fn base_piece(text: &Str, reason: &'static str) -> Piece {
    let hash = ContentHasher::new().text("sp:").text(text).finish();
    Piece::new(
        ContextInjected::new(short(text), hash, ContextSlot::SystemPrompt, ContextSource::Base, reason)
            .raw_content(text),
    )
}

/// The record of an injection's system text.
pub(crate) fn system_piece(flavor: ContextSource, id: &str, text: &Str, reason: &Str) -> Piece {
    let hash =
        ContentHasher::new().text("sp:").text(flavor.word()).text(":").text(id).text(":").text(text).finish();
    Piece::new(
        ContextInjected::new(short(text), hash, ContextSlot::SystemPrompt, flavor, reason)
            .raw_content(text)
            .source_id(id),
    )
}

/// Who a tool schema came from, as its record says it.
pub(crate) enum ToolOrigin<'a> {
    /// The agent's own registry.
    Registry,
    /// A declared owner.
    Owner(ContextSource, &'a str),
    /// The tool provider.
    Provider,
    /// An active injection; the reason says what unlocked it.
    Injection {
        /// Its flavour.
        flavor: ContextSource,
        /// Its id.
        id: &'a str,
        /// Why the tool is there.
        reason: Str,
    },
}

/// The record of one offered tool.
pub(crate) fn tool_piece(name: &str, description: &str, position: u64, origin: &ToolOrigin<'_>) -> Piece {
    let raw = format!("{name}: {description}");
    let hash = match origin {
        ToolOrigin::Registry | ToolOrigin::Owner(..) => {
            ContentHasher::new().text("tool:").text(name).text(":").text(description).finish()
        }
        ToolOrigin::Provider => ContentHasher::new().text("tool:provider:").text(name).finish(),
        ToolOrigin::Injection { flavor, id, .. } => ContentHasher::new()
            .text("tool:")
            .text(flavor.word())
            .text(":")
            .text(id)
            .text(":")
            .text(name)
            .finish(),
    };
    let (source, source_id, reason): (ContextSource, &str, Str) = match origin {
        ToolOrigin::Registry => (ContextSource::Registry, name, "tool registry".into()),
        ToolOrigin::Owner(kind, id) => (kind.clone(), id, "tool registry".into()),
        ToolOrigin::Provider => (ContextSource::Registry, name, "tool provider".into()),
        ToolOrigin::Injection { flavor, id, reason } => (flavor.clone(), id, reason.clone()),
    };
    Piece::new(
        ContextInjected::new(short(&raw), hash, ContextSlot::Tools, source, reason)
            .raw_content(raw)
            .position(position)
            .source_id(source_id),
    )
}

/// The share of each source in a slot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Breakdown {
    pub(crate) used: u64,
    shares: IndexMap<ContextSource, SourceShare>,
}

impl Breakdown {
    pub(crate) fn add(&mut self, piece: &Piece) {
        self.used += piece.chars;
        let share =
            self.shares.entry(piece.payload.source.clone()).or_insert_with(|| SourceShare::new(0_u64, 0_u64));
        share.chars += piece.chars;
        share.count += 1;
    }

    /// The composition record of a slot.
    pub(crate) fn composed(
        &self,
        slot: ContextSlot,
        iteration: u32,
        cap: u64,
        ordering: Option<&'static str>,
    ) -> ContextSlotComposed {
        let headroom = i64::try_from(cap).unwrap_or(i64::MAX).saturating_sub_unsigned(self.used);
        ContextSlotComposed::new(
            slot,
            iteration,
            SlotBudget::new(cap, self.used, headroom),
            self.shares.clone(),
            0_u64,
            Vec::<Str>::new(),
        )
        .ordering_strategy(ordering.map(Str::from))
    }
}

/// The records of the messages slot, kept between iterations.
#[derive(Default)]
pub(crate) struct MessageRecords {
    source: Array,
    pieces: Vec<Piece>,
    values: Array,
    breakdown: Breakdown,
    delivered: Vec<usize>,
}

/// What one visit of the messages slot composed.
pub(crate) struct ComposedMessages<'a> {
    pub(crate) values: &'a Array,
    pub(crate) visit: SlotVisit<'a>,
}

impl MessageRecords {
    /// Composes the records of `history`, building only what changed since the last visit.
    pub(crate) fn compose(&mut self, history: &Array) -> Result<ComposedMessages<'_>, DeliveryError> {
        if !continues(&self.source, history) {
            *self = Self::default();
        }
        let known = self.source.len();
        if history.len() > known && known > 0 {
            self.demote(known - 1);
        }
        for (index, message) in history.iter().enumerate().skip(known) {
            let piece = message_piece(message, index, index + 1 == history.len())?;
            if message.get("injectedBy").is_some() {
                self.delivered.push(index);
            }
            self.breakdown.add(&piece);
            self.values.push(piece.value.clone());
            self.pieces.push(piece);
        }
        self.source = history.clone();
        let visit = SlotVisit { pieces: &self.pieces, breakdown: &self.breakdown, unchanged: known };
        Ok(ComposedMessages { values: &self.values, visit })
    }

    /// Indices of the messages an injection delivered, as of the last visit.
    pub(crate) fn delivered(&self) -> &[usize] {
        &self.delivered
    }

    /// The former last message is an earlier one now.
    fn demote(&mut self, index: usize) {
        let Some(piece) = self.pieces.get_mut(index) else { return };
        let mut payload = (*piece.payload).clone();
        payload.as_recency = Some(ContextRecency::Earlier);
        *piece = Piece::new(payload);
        self.values.set(index, piece.value.clone());
    }
}

/// Whether `now` is `before` with messages appended: what a turn does to its conversation, except for the window
/// strategy, which makes a new list.
pub(crate) fn continues(before: &Array, now: &Array) -> bool {
    if before.is_empty() {
        return true;
    }
    let last = before.len() - 1;
    before.len() <= now.len()
        && match (before.first(), now.first(), before.get(last), now.get(last)) {
            (Some(first), Some(first_now), Some(end), Some(end_now)) => {
                first.ptr_eq(first_now) && end.ptr_eq(end_now)
            }
            _ => false,
        }
}

fn message_piece(message: &Value, index: usize, latest: bool) -> Result<Piece, DeliveryError> {
    let text = |key: &str| message.get(key).and_then(Value::as_shared_str);
    let role = text("role").cloned().unwrap_or_else(|| "user".into());
    let content = text("content").cloned().unwrap_or_default();
    let delivered = message.get("injectedBy");
    let source = match delivered.and_then(|by| by.get("flavor")).and_then(Value::as_shared_str) {
        Some(flavor) => ContextSource::read(flavor),
        None => match &*role {
            "user" => ContextSource::User,
            "tool" => ContextSource::ToolResult,
            "assistant" => ContextSource::Assistant,
            "system" => ContextSource::Base,
            _ => ContextSource::Custom,
        },
    };
    let injection = delivered.and_then(|by| by.get("injectionId")).and_then(Value::as_shared_str);
    if content.is_empty() && &*role != "assistant" {
        return Err(DeliveryError::EmptyMessage {
            position: index,
            role,
            origin: injection.cloned().unwrap_or_else(|| "the conversation".into()),
        });
    }
    let reason: Str = match (injection, delivered.and_then(|by| by.get("iteration")).and_then(Value::as_u64))
    {
        (Some(id), Some(iteration)) => format!("injection `{id}`, delivered at iteration {iteration}").into(),
        (Some(id), None) => format!("injection `{id}`").into(),
        (None, _) => format!("conversation history [{index}]").into(),
    };
    let hash = message_hash(&role, index, &content);
    let mut payload = ContextInjected::new(short(&content), hash, ContextSlot::Messages, source, reason)
        .raw_content(&content)
        .as_role(ContextRole::read(&role))
        .as_recency(if latest { ContextRecency::Latest } else { ContextRecency::Earlier })
        .position(index);
    payload.source_id = injection.or_else(|| text("toolCallId")).cloned();
    Ok(Piece::new(payload))
}

/// The hash of a message at its place; eviction and delivery use the same, so one piece keeps one name (CTX-39).
pub(crate) fn message_hash(role: &str, index: usize, content: &str) -> String {
    content_hash(&format!("{role}:{index}:{content}"))
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;

    fn history(texts: &[&str]) -> Array {
        texts.iter().map(|text| value!({ "role": "user", "content": (*text) })).collect()
    }

    /// Proves AGT-63, AGT-65: hashes as the recordings have them.
    #[test]
    fn message_records_have_the_recorded_hashes() {
        let mut records = MessageRecords::default();
        let history: Array = [
            value!({ "role": "user", "content": "Where is order A-1001?" }),
            value!({ "role": "assistant", "content": "Let me look." }),
            value!({ "role": "tool", "content": "{\"orderId\":\"A-1001\",\"status\":\"shipped\"}", "toolCallId": "t1" }),
        ]
        .into_iter()
        .collect();
        let composed = records.compose(&history).unwrap();
        let hashes: Vec<&str> = composed.visit.pieces.iter().map(|p| &*p.payload.content_hash).collect();
        assert_eq!(hashes, ["a91ab91a", "7e1554da", "9800a297"]);
        assert_eq!(composed.visit.breakdown.used, 73);
        assert_eq!(composed.visit.pieces[2].payload.source_id.as_deref(), Some("t1"));
        let base = base_piece(&"You answer order questions.".into(), "Agent.system()");
        assert_eq!(&*base.payload.content_hash, "70ca661c");
        let steering = system_piece(ContextSource::Steering, "tone", &"Be calm.".into(), &"why".into());
        assert_eq!(&*steering.payload.content_hash, "2944a125");
        let tool = tool_piece("get_order", "Looks up an order", 0, &ToolOrigin::Registry);
        assert_eq!(&*tool.payload.content_hash, "b4b90aec");
    }

    /// Proves AGT-65, AGT-68: only the former last record and the new ones are rebuilt.
    #[test]
    fn growing_rebuilds_the_tail_only() {
        let mut records = MessageRecords::default();
        let mut messages = history(&["a", "b"]);
        let first = records.compose(&messages).unwrap();
        let kept = Arc::clone(&first.visit.pieces[0].payload);
        messages.push(value!({ "role": "user", "content": "c" }));
        let second = records.compose(&messages).unwrap();
        assert!(Arc::ptr_eq(&kept, &second.visit.pieces[0].payload));
        let recency: Vec<_> =
            second.visit.pieces.iter().map(|p| p.payload.as_recency.clone().unwrap()).collect();
        assert_eq!(recency, [ContextRecency::Earlier, ContextRecency::Earlier, ContextRecency::Latest]);
        assert_eq!(second.visit.breakdown.used, 3);
        let fresh = MessageRecords::default().compose(&messages).unwrap().values.clone();
        assert_eq!(&fresh, second.values);
    }

    /// Proves CTX-48, AGT-109.
    #[test]
    fn a_message_without_text_is_refused_by_place() {
        let mut records = MessageRecords::default();
        let bad: Array = [value!({ "role": "user", "content": "" })].into_iter().collect();
        let Err(DeliveryError::EmptyMessage { position, role, .. }) = records.compose(&bad).map(|_| ())
        else {
            panic!("accepted");
        };
        assert_eq!((position, &*role), (0, "user"));
        let fine: Array = [value!({ "role": "assistant", "content": "" })].into_iter().collect();
        assert!(MessageRecords::default().compose(&fine).is_ok());
    }
}
