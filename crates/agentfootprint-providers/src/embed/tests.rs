//! Embedders over HTTP, without a network.

use std::time::Duration;

use agentfootprint_core::embed::{EmbedKind, Embedder};
use agentfootprint_core::llm::{CallCx, LlmErrorKind};
use serde_json::json;

use super::*;
use crate::EnvVars;
use crate::http::FaultPhase;
use crate::http::testing::{Answer, Beat, Scripted};
use crate::testing::{KEY, assert_clean};

fn nothing_set() -> EnvVars {
    EnvVars::from_pairs([("A", "b")])
}

fn small(answers: impl IntoIterator<Item = Answer>) -> (OpenAiEmbedder, std::sync::Arc<Scripted>) {
    let exchange = Scripted::new(answers);
    let builder = OpenAiEmbedder::builder().key(KEY).model("tiny").dimensions(2).batch(2);
    (builder.exchange(exchange.clone()).build().unwrap(), exchange)
}

fn data(vectors: &[(u64, [f32; 2])]) -> Answer {
    let items: Vec<_> = vectors.iter().map(|(index, v)| json!({"index": index, "embedding": v})).collect();
    Answer::ok(json!({"data": items, "usage": {"total_tokens": 3}}).to_string())
}

/// Proves LLM-142, LLM-144, MEM-79.
#[tokio::test]
async fn batches_go_in_order_and_vectors_pair_by_index() {
    let (embedder, exchange) = small([data(&[(1, [0.0, 2.0]), (0, [1.0, 0.0])]), data(&[(0, [3.0, 3.0])])]);
    let answer =
        embedder.embed_batch(&["a", "b", "c"], EmbedKind::Document, &CallCx::detached()).await.unwrap();
    assert_eq!(answer.vectors, [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]);
    assert_eq!(answer.tokens_spent, Some(6));
    assert_eq!(exchange.sent_json(0), json!({"model": "tiny", "input": ["a", "b"]}));
    assert_eq!(exchange.sent_json(1)["input"], json!(["c"]));
    let sent = &exchange.requests()[0];
    assert_eq!(sent.url.as_str(), "https://api.openai.com/v1/embeddings");
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"));
    assert!(!format!("{embedder:?} {sent:?}").contains(KEY));
    let none = embedder.embed_batch(&[], EmbedKind::Query, &CallCx::detached()).await.unwrap();
    assert!(none.vectors.is_empty());
    assert_eq!(exchange.requests().len(), 2, "an empty batch is no call");
}

/// Proves LLM-28, LLM-29, LLM-144.
#[tokio::test]
async fn wrong_answers_are_described_and_never_quoted() {
    let text = "the patient's name is Wilhelmina Okonkwo-Brandt";
    let json = |value: serde_json::Value| Answer::ok(value.to_string());
    for (answer, word) in [
        (json(json!({"data": []})), "0 vectors for 1 texts"),
        (data(&[(0, [1.0, 2.0]), (1, [1.0, 2.0])]), "2 vectors for 1 texts"),
        (json(json!({"data": [{"embedding": [1.0]}]})), "1 numbers instead of 2"),
        (data(&[(7, [1.0, 2.0])]), "instead of vectors"),
        (json(json!({"data": [{"embedding": "AAAA"}]})), "instead of vectors"),
        (Answer::ok("<html></html>"), "an HTML or XML page"),
        (Answer::ok(""), "an empty body"),
        (json(json!({"data": [{"embedding": [null, 1.0]}]})), "instead of vectors"),
    ] {
        let error = small([answer]).0.embed(text, EmbedKind::Query, &CallCx::detached()).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
    let echo = json!({"error": {"message": format!("{KEY} may not embed: {text}"), "code": "x"}}).to_string();
    for (status, kind) in [
        (400, LlmErrorKind::InvalidRequest),
        (401, LlmErrorKind::Auth),
        (404, LlmErrorKind::ModelNotFound),
        (429, LlmErrorKind::RateLimited),
        (500, LlmErrorKind::Transient),
    ] {
        let answer = Answer::new(status, &echo).with_header("retry-after", "2");
        let error = small([answer]).0.embed(text, EmbedKind::Query, &CallCx::detached()).await.unwrap_err();
        assert_eq!((&error.kind, error.status), (&kind, Some(status)));
        assert_eq!(error.retry_after, Some(Duration::from_secs(2)));
        assert_clean(&error);
        assert!(!error.to_string().contains("Okonkwo"), "{error}");
    }
    let unreachable = small([Answer::failing(FaultPhase::Connect, "refused")]).0;
    let error = unreachable.embed(text, EmbedKind::Query, &CallCx::detached()).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Network);
}

/// Proves LLM-37.
#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_stops_and_a_stalled_one_times_out() {
    let stalled = || Answer::ok("").with_body([Beat::Stall]);
    let error = small([stalled()]).0.embed("a", EmbedKind::Query, &CallCx::detached()).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::Timeout { .. }));
    let cx = CallCx::detached();
    let (embedder, _) = small([stalled()]);
    let cancel = async { cx.cancel_token().cancel() };
    let (result, ()) = tokio::join!(embedder.embed("a", EmbedKind::Query, &cx), cancel);
    assert_eq!(result.unwrap_err().kind, LlmErrorKind::Aborted);
}

/// Proves LLM-143, LLM-144.
#[tokio::test]
async fn sizes_are_known_asked_for_or_refused() {
    let build = |model: &str, size: Option<usize>| {
        let builder = OpenAiEmbedder::builder().key(KEY).model(model);
        size.map_or(builder.clone(), |size| builder.dimensions(size)).build()
    };
    for (model, size, expected, asked) in [
        ("text-embedding-3-small", None, 1536, None),
        ("text-embedding-3-small", Some(1536), 1536, None),
        ("text-embedding-3-large", Some(256), 256, Some(256)),
        ("text-embedding-ada-002", None, 1536, None),
        ("bge-m3", Some(1024), 1024, None),
    ] {
        let embedder = build(model, size).unwrap();
        assert_eq!((embedder.dimensions(), embedder.asked), (Some(expected), asked), "{model}");
        assert_eq!(embedder.id(), Some(format!("openai:{model}").as_str()));
    }
    for (model, size) in [
        ("text-embedding-3-small", Some(2000)),
        ("text-embedding-ada-002", Some(512)),
        ("bge-m3", None),
        ("bge-m3", Some(0)),
    ] {
        let error = build(model, size).unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Refused);
        assert!(error.to_string().contains("dimensions"), "{error}");
    }
    assert_eq!(build("text-embedding-3-small", None).unwrap().max_input_chars(), Some(32_000));
    let keyless = OpenAiEmbedder::builder().env(nothing_set()).build().unwrap_err();
    assert_eq!(keyless.kind, LlmErrorKind::NoCredential);
    let exchange = Scripted::new([Answer::ok(json!({"data": [{"embedding": vec![0.5; 8]}]}).to_string())]);
    let cut = OpenAiEmbedder::builder().key(KEY).model("text-embedding-3-small").dimensions(8);
    cut.exchange(exchange.clone())
        .build()
        .unwrap()
        .embed("a", EmbedKind::Query, &CallCx::detached())
        .await
        .unwrap();
    assert_eq!(exchange.sent_json(0)["dimensions"], 8);
}

/// Proves LLM-144, MEM-78.
#[tokio::test]
async fn an_ollama_tells_its_size_once_and_keeps_it() {
    let answer =
        |vector: &[f32]| Answer::ok(json!({"embeddings": [vector], "prompt_eval_count": 2}).to_string());
    let exchange = Scripted::new([answer(&[1.0, 2.0, 3.0]), answer(&[1.0, 2.0])]);
    let builder = OllamaEmbedder::builder("nomic").env(nothing_set()).exchange(exchange.clone());
    let embedder = builder.build().unwrap();
    let cx = CallCx::detached();
    assert_eq!((embedder.id(), embedder.dimensions()), (Some("ollama:nomic"), None));
    assert_eq!(embedder.embed("a", EmbedKind::Query, &cx).await.unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(embedder.dimensions(), Some(3));
    let error = embedder.embed("a", EmbedKind::Query, &cx).await.unwrap_err();
    assert!(error.to_string().contains("2 numbers instead of 3"), "{error}");
    assert_eq!(exchange.requests()[0].url.as_str(), "http://localhost:11434/api/embed");
    assert_eq!(exchange.sent_json(0), json!({"model": "nomic", "input": ["a"]}));
    assert!(exchange.requests()[0].headers.get("authorization").is_none());
    for wrong in [OllamaEmbedder::builder(" "), OllamaEmbedder::builder("m").dimensions(0)] {
        assert_eq!(wrong.env(nothing_set()).build().unwrap_err().kind, LlmErrorKind::Refused);
    }
}

/// Proves LLM-142, LLM-143, LLM-144.
#[tokio::test]
async fn questions_and_passages_reach_gemini_and_cohere_differently() {
    let cx = CallCx::detached();
    let one = |size: usize| Answer::ok(json!({"embedding": {"values": vec![0.5; size]}}).to_string());
    let exchange = Scripted::new([one(4), one(4), one(4)]);
    let gemini = GeminiEmbedder::builder().key(KEY).dimensions(4).exchange(exchange.clone()).build().unwrap();
    gemini.embed("q", EmbedKind::Query, &cx).await.unwrap();
    gemini.embed_batch(&["d", "e"], EmbedKind::Document, &cx).await.unwrap();
    assert_eq!(
        exchange.sent_json(0),
        json!({"content": {"parts": [{"text": "q"}]}, "taskType": "RETRIEVAL_QUERY", "outputDimensionality": 4})
    );
    assert_eq!(exchange.sent_json(2)["taskType"], "RETRIEVAL_DOCUMENT");
    let sent = &exchange.requests()[0];
    assert!(sent.url.path().ends_with("/models/gemini-embedding-001:embedContent"));
    assert_eq!(sent.headers["x-goog-api-key"], KEY);
    assert!(!format!("{gemini:?} {:?}", sent.headers).contains(KEY));

    let vectors = json!({"float": [vec![0.5; 1024], vec![0.25; 1024]]});
    let exchange = Scripted::new([Answer::ok(json!({"embeddings": vectors}).to_string())]);
    let door = crate::Bedrock::builder().region("us-east-1").key(KEY).exchange(exchange.clone());
    let cohere = BedrockEmbedder::builder(door).model("cohere.embed-english-v3").build().unwrap();
    let answer = cohere.embed_batch(&["a", "b"], EmbedKind::Document, &cx).await.unwrap();
    assert_eq!((answer.vectors.len(), answer.vectors[1][0]), (2, 0.25));
    assert_eq!(exchange.sent_json(0), json!({"texts": ["a", "b"], "input_type": "search_document"}));
    assert_eq!(exchange.requests()[0].url.path(), "/model/cohere.embed-english-v3/invoke");
}

/// Proves LLM-143, LLM-144.
#[tokio::test]
async fn titan_is_asked_text_by_text_and_cut_texts_are_refused() {
    let cx = CallCx::detached();
    let titan =
        |size: usize| Answer::ok(json!({"embedding": vec![1.0; size], "inputTextTokenCount": 2}).to_string());
    let exchange = Scripted::new([titan(256), titan(256)]);
    let door = || crate::Bedrock::builder().region("us-east-1").key(KEY);
    let embedder =
        BedrockEmbedder::builder(door().exchange(exchange.clone())).dimensions(256).build().unwrap();
    assert_eq!(embedder.id(), Some("bedrock:amazon.titan-embed-text-v2:0:256"));
    let answer = embedder.embed_batch(&["a", "b"], EmbedKind::Query, &cx).await.unwrap();
    assert_eq!((answer.vectors.len(), answer.tokens_spent), (2, Some(4)));
    assert_eq!(exchange.sent_json(1), json!({"inputText": "b", "dimensions": 256}));
    for (model, size) in
        [("amazon.titan-embed-text-v2:0", 100), ("amazon.titan-embed-text-v1", 256), ("meta.x", 1)]
    {
        let error = BedrockEmbedder::builder(door()).model(model).dimensions(size).build().unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::Refused, "{model}");
    }
    let cut = json!({"embedding": {"values": [1.0], "statistics": {"truncated": true}}}).to_string();
    for (allowed, expected) in [(false, false), (true, true)] {
        let exchange = Scripted::new([Answer::ok(&cut)]);
        let builder = GeminiEmbedder::builder().key(KEY).dimensions(1).allow_truncated(allowed);
        let embedder = builder.exchange(exchange).build().unwrap();
        assert_eq!(embedder.embed("a", EmbedKind::Query, &cx).await.is_ok(), expected);
    }
    assert!(GeminiEmbedder::builder().key(KEY).dimensions(4000).build().is_err());
    assert!(GeminiEmbedder::builder().key(KEY).model("new").build().is_err());
}
