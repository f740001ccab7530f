//! From the items of a rig stream to our chunks.

use std::collections::{HashMap, VecDeque};

use agentfootprint_core::llm::{
    CallCx, LlmChunk, LlmError, LlmErrorKind, LlmResponse, LlmStream, TimeoutPhase,
};
use futures_util::{StreamExt, stream};
use rig_core::message::AssistantContent;
use rig_core::streaming::{CompletionStream, Item, StreamEvent};

use super::answer;
use super::refusal::{Door, error_of};
use crate::finish::Finish;
use crate::http::{Deadlines, or_cancelled, within};

/// The chunks of a stream that was opened. Dropping them drops rig's stream, which closes its connection.
pub(super) fn chunks(
    reading: CompletionStream,
    finish: Finish,
    deadlines: Deadlines,
    cx: CallCx,
) -> LlmStream {
    let reading = Reading {
        stream: reading,
        finish,
        deadlines,
        cx,
        begun: false,
        content: String::new(),
        texts: 0,
        thoughts: 0,
        shown: HashMap::new(),
        ready: VecDeque::new(),
    };
    let chunks = stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.next().await {
            Ok(Some(chunk)) => Some((Ok(chunk), Some(reading))),
            Ok(None) => Some((reading.done().await, None)),
            Err(error) => {
                let error = if reading.delivered() { error.after_delivery() } else { error };
                Some((Err(error), None))
            }
        }
    });
    Box::pin(chunks.fuse())
}

struct Reading {
    stream: CompletionStream,
    finish: Finish,
    deadlines: Deadlines,
    cx: CallCx,
    /// An item has arrived.
    begun: bool,
    /// The text handed on so far.
    content: String,
    texts: u64,
    thoughts: u64,
    /// How many bytes of each part were handed on.
    shown: HashMap<usize, usize>,
    ready: VecDeque<LlmChunk>,
}

impl Reading {
    fn delivered(&self) -> bool {
        self.texts + self.thoughts > 0
    }

    /// The next piece, or none at the end of the items.
    async fn next(&mut self) -> Result<Option<LlmChunk>, LlmError> {
        loop {
            if self.cx.is_cancelled() {
                return Err(self.finish.scene.aborted());
            }
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some(chunk));
            }
            let (limit, phase) = match self.begun {
                false => (self.deadlines.headers, TimeoutPhase::Headers),
                true => (self.deadlines.idle, TimeoutPhase::Idle),
            };
            let scene = &self.finish.scene;
            let item = within(limit, phase, scene, async { Ok(self.stream.next().await) });
            let item = or_cancelled(&self.cx, scene, item).await?;
            self.begun = true;
            match item {
                None => return Ok(None),
                Some(Err(error)) => {
                    return Err(error_of(error, &self.finish.scene, Door::Stream, self.cx.clock().now_ms()));
                }
                Some(Ok(Item::Unknown(_))) => {}
                Some(Ok(Item::Event(event))) => self.take(event),
            }
        }
    }

    fn take(&mut self, event: StreamEvent) {
        let part = event.part().index();
        match event {
            StreamEvent::Text { text, .. } => self.say(part, &text),
            StreamEvent::Reasoning { text, .. } => self.think(part, &text),
            // What a part ends with may be more than what it grew by.
            StreamEvent::End { content: AssistantContent::Text(whole), .. } => {
                let rest = self.rest_of(part, &whole.text);
                self.say(part, &rest);
            }
            StreamEvent::End { content: AssistantContent::Reasoning(whole), .. } => {
                let rest = self.rest_of(part, &whole.text);
                self.think(part, &rest);
            }
            StreamEvent::Start { .. } | StreamEvent::Arguments { .. } | StreamEvent::End { .. } => {}
        }
    }

    fn rest_of(&self, part: usize, whole: &str) -> String {
        let shown = self.shown.get(&part).copied().unwrap_or(0);
        whole.get(shown..).unwrap_or_default().to_owned()
    }

    fn say(&mut self, part: usize, text: &str) {
        if !text.is_empty() {
            *self.shown.entry(part).or_default() += text.len();
            self.content.push_str(text);
            self.ready.push_back(LlmChunk::Text { token_index: self.texts, content: text.to_owned() });
            self.texts += 1;
        }
    }

    fn think(&mut self, part: usize, text: &str) {
        if !text.is_empty() {
            *self.shown.entry(part).or_default() += text.len();
            self.ready.push_back(LlmChunk::Thinking { token_index: self.thoughts, delta: text.to_owned() });
            self.thoughts += 1;
        }
    }

    /// The answer, once the items ended without an error.
    async fn done(self) -> Result<LlmChunk, LlmError> {
        let delivered = self.delivered();
        let Reading { stream, finish, content, texts, cx, .. } = self;
        let ended: Result<LlmResponse, LlmError> = async {
            let answer = stream.finish().await;
            let answer =
                answer.map_err(|error| error_of(error, &finish.scene, Door::Stream, cx.clock().now_ms()))?;
            answer::response(answer, content, LlmErrorKind::StreamBroken { delivered: false }, &finish)
        }
        .await;
        match ended {
            Ok(response) => Ok(LlmChunk::done(texts, response)),
            Err(error) if delivered => Err(error.after_delivery()),
            Err(error) => Err(error),
        }
    }
}
