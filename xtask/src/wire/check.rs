//! One case: run it through an adapter, compare what comes out.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use agentfootprint_core::llm::{ArgsError, CallCx, LlmChunk, LlmError, LlmProvider, LlmRequest, LlmResponse};
use footprint::value::Value;
use futures_util::StreamExt;
use serde_json::Value as Json;
use tokio::runtime::Runtime;

use super::case::{self, Exchange, Expected};
use super::replay::Replay;
use super::{Notes, anthropic, bedrock, gemini, ollama, openai};

/// The sizes a streamed body is cut into.
const CHUNKS: [usize; 4] = [usize::MAX, 1, 7, 64];

/// A provider under test, what to ask it, and what it must have sent.
pub(super) struct Prepared {
    pub(super) provider: Arc<dyn LlmProvider>,
    pub(super) request: LlmRequest,
}

/// How one wire takes part: from a recorded request to ours, and from our body to what differs from the recorded one.
struct Wire {
    prepare: fn(&case::Request, Arc<Replay>, &mut Notes) -> Result<Prepared, String>,
    compare: fn(path: &str, recorded: &Json, sent_path: &str, sent: &Json) -> Vec<String>,
}

fn wire(name: &str) -> Option<Wire> {
    match name {
        "anthropic" => Some(Wire { prepare: anthropic::prepare, compare: anthropic::compare }),
        "gemini" => Some(Wire { prepare: gemini::prepare, compare: gemini::compare }),
        "openai-chat" => Some(Wire { prepare: openai::prepare, compare: openai::compare }),
        "bedrock" => Some(Wire { prepare: bedrock::prepare, compare: bedrock::compare }),
        "ollama" => Some(Wire { prepare: ollama::prepare, compare: ollama::compare }),
        _ => None,
    }
}

/// The differences of one case; empty when it passes.
pub(super) fn case(folder: &Path, runtime: &Runtime, notes: &mut Notes) -> Vec<String> {
    let read = case::read::<Vec<Exchange>>(&folder.join("exchange.json"))
        .and_then(|exchanges| Ok((exchanges, case::read::<Vec<Expected>>(&folder.join("expect.json"))?)));
    let (exchanges, expected) = match read {
        Ok(read) => read,
        Err(error) => return vec![error],
    };
    if exchanges.len() != expected.len() {
        return vec![format!("{} exchanges and {} expectations", exchanges.len(), expected.len())];
    }
    let several = exchanges.len() > 1;
    let mut differences = Vec::new();
    for (at, (exchange, expected)) in exchanges.iter().zip(&expected).enumerate() {
        let found = catch_unwind(AssertUnwindSafe(|| check(exchange, expected, runtime, notes)));
        let found = found.unwrap_or_else(|_| vec!["it panicked".to_owned()]);
        let place = if several { format!("exchange {at}: ") } else { String::new() };
        differences.extend(found.into_iter().map(|difference| format!("{place}{difference}")));
    }
    differences
}

fn check(exchange: &Exchange, expected: &Expected, runtime: &Runtime, notes: &mut Notes) -> Vec<String> {
    let Some(wire) = wire(&expected.wire) else {
        return vec![format!("no adapter for the wire `{}` is built yet", expected.wire)];
    };
    let recorded = exchange.request.json();
    let asks_for_stream = recorded.get("stream") == Some(&Json::Bool(true))
        || exchange.request.path.contains(":streamGenerateContent")
        || bedrock::streams(&exchange.request.path);
    let streams = if expected.error { asks_for_stream } else { expected.stream };
    let sizes = if streams { CHUNKS.as_slice() } else { CHUNKS.get(..1).unwrap_or_default() };
    let mut differences = Vec::new();
    for (round, size) in sizes.iter().enumerate() {
        let mut ignored = Notes::default();
        let notes = if round == 0 { &mut *notes } else { &mut ignored };
        let replay = match Replay::new(&exchange.response, *size) {
            Ok(replay) => replay,
            Err(error) => return vec![error],
        };
        let prepared = match (wire.prepare)(&exchange.request, replay.clone(), notes) {
            Ok(prepared) => prepared,
            Err(error) => return vec![error],
        };
        let answer = runtime.block_on(ask(&prepared, streams));
        if let Err(error) = &answer
            && expected.error
            && error.refused_before_send()
        {
            notes
                .add(format!("{}: a request the vendor rejects is refused before it is sent", expected.wire));
            continue;
        }
        let mut found = match answer {
            Ok(response) if expected.error => {
                vec![format!("status {} gave an answer ({} chars)", expected.status, response.content.len())]
            }
            Ok(response) => compare_response(&*prepared.provider, &response, expected, notes),
            Err(error) => compare_error(&error, expected),
        };
        if round == 0 {
            match replay.sent() {
                None => found.push("no request was sent".to_owned()),
                Some(_) if recorded.is_null() => {
                    notes.add(format!("{}: the recorded body is not JSON", expected.wire))
                }
                Some(sent) => {
                    let body = serde_json::from_slice(&sent.body).unwrap_or(Json::Null);
                    found.extend((wire.compare)(&exchange.request.path, &recorded, sent.url.path(), &body));
                }
            }
        }
        let place = if round == 0 { String::new() } else { format!("in chunks of {size}: ") };
        differences.extend(found.into_iter().map(|difference| format!("{place}{difference}")));
    }
    differences
}

/// The answer, from a stream when `streams`; the stream's own contract is checked on the way.
async fn ask(prepared: &Prepared, streams: bool) -> Result<LlmResponse, LlmError> {
    let Prepared { provider, request } = prepared;
    let cx = CallCx::detached();
    if !streams {
        return provider.complete(request, &cx).await;
    }
    let broken = |what: &str| LlmError::foreign("BrokenContract", what);
    let mut stream =
        provider.stream(request, &cx).await.ok_or_else(|| broken("the adapter does not stream"))??;
    let mut text = String::new();
    let mut done = None;
    while let Some(chunk) = stream.next().await {
        if done.is_some() {
            return Err(broken("something follows Done"));
        }
        match chunk? {
            LlmChunk::Text { content, .. } => text.push_str(&content),
            LlmChunk::Thinking { .. } => {}
            LlmChunk::Done { response, .. } => done = Some(*response),
        }
    }
    let response = done.ok_or_else(|| broken("the stream ended without Done"))?;
    if response.content != text {
        return Err(broken("the content is not the concatenation of the text chunks"));
    }
    Ok(response)
}

fn compare_error(error: &LlmError, expected: &Expected) -> Vec<String> {
    if !expected.error {
        return vec![format!("failed: {error}")];
    }
    // An error inside a success has no status of its own, or states another than the head.
    if error.status == Some(expected.status) || (200..300).contains(&expected.status) {
        return Vec::new();
    }
    vec![format!("the error has status {:?}, expected {}: {error}", error.status, expected.status)]
}

fn compare_response(
    provider: &dyn LlmProvider,
    response: &LlmResponse,
    expected: &Expected,
    notes: &mut Notes,
) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            differences.push(format!("{what} {} instead of {}", shorten(&ours), shorten(&theirs)));
        }
    };
    if let Some(text) = &expected.text {
        differ("text", response.content.clone(), text.clone());
    }
    if let Some(reason) = &expected.stop_reason {
        differ("stopReason", response.stop_reason.to_string(), reason.clone());
    }
    if let Some(thinking) = expected.thinking.as_ref().filter(|text| !text.is_empty()) {
        differ("thinking", thinking_of(provider, response), thinking.clone());
    }
    for (name, count) in &expected.usage {
        let ours = match name.as_str() {
            "input" => Some(response.usage.input),
            "output" => Some(response.usage.output),
            "cacheRead" => response.usage.cache_read,
            "cacheWrite" => response.usage.cache_write,
            "thinking" => response.usage.thinking,
            _ => None,
        };
        if *count < 0 {
            notes.add(format!(
                "usage.{name} below zero: the vendor reports more reasoning than completion; ours is 0"
            ));
        }
        let ours = ours.map_or_else(|| "nothing".to_owned(), |ours| ours.to_string());
        differ(&format!("usage.{name}"), ours, (*count).max(0).to_string());
    }
    if let Some(calls) = &expected.tool_calls {
        differ("tool calls", response.tool_calls.len().to_string(), calls.len().to_string());
        for (ours, theirs) in response.tool_calls.iter().zip(calls) {
            differ("tool", ours.name.to_string(), theirs.name.clone());
            let error = ArgsError::of(ours).is_some();
            differ(
                &format!("argsError of {}", theirs.name),
                error.to_string(),
                theirs.has_args_error().to_string(),
            );
            let args = Value::Object(ours.args.clone());
            if args != Value::from(theirs.args.clone()) {
                differ(&format!("arguments of {}", theirs.name), args.to_string(), theirs.args.to_string());
            }
        }
    }
    differences
}

/// What the declared handler makes of the raw thinking.
fn thinking_of(provider: &dyn LlmProvider, response: &LlmResponse) -> String {
    let handler = provider.capabilities("").thinking_handler;
    let blocks =
        handler.zip(response.raw_thinking.as_ref()).and_then(|(handler, raw)| handler.normalize(raw).ok());
    blocks.into_iter().flatten().map(|block| block.content.to_string()).collect()
}

/// A value short enough for one line.
pub(super) fn shorten(text: &str) -> String {
    let shown: String = text.chars().take(120).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", shown.replace('\n', "\\n"))
}
