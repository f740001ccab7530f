//! Against a real model behind a compatible server, for trying by hand: `LOCAL_MODEL_URL=http://127.0.0.1:8099/v1 cargo
//! nextest run --run-ignored all local::`. `LOCAL_EMBED_URL` is the same for embeddings.
#![allow(clippy::print_stderr, reason = "what a person wants to see")]

use std::time::Duration;

use agentfootprint_core::agent::{Agent, OutputOptions, OutputStrategy, Typed};
use agentfootprint_core::embed::{EmbedKind, Embedder, cosine_similarity};
use agentfootprint_core::llm::OutputSchema;
use agentfootprint_core::run::Runner as _;
use footprint::value;

use super::*;
use crate::http::Deadlines;

fn local(url: &str) -> OpenAi {
    let patient = Deadlines {
        headers: Duration::from_secs(300),
        idle: Duration::from_secs(120),
        ..Deadlines::default()
    };
    let builder = OpenAi::builder().base_url(url).without_key().deadlines(patient).max_tokens(200);
    builder.structured_output(true).reports_usage(true).build().unwrap()
}

#[tokio::test]
#[ignore = "needs a server at LOCAL_MODEL_URL"]
async fn a_local_model_chats_streams_and_fills_a_form() {
    let Ok(url) = std::env::var("LOCAL_MODEL_URL") else { return };
    let provider = local(&url);
    let cx = CallCx::detached();
    let mut asked = LlmRequest::new("local").system("You answer briefly.").user("Say hello to Ada.");
    asked.temperature = Some(0.0);
    let plain = provider.complete(&asked, &cx).await.unwrap();
    eprintln!("chat: {plain:?}");
    assert!(!plain.content.is_empty() && plain.usage.is_measured());
    let (chunks, error) = crate::testing::read_stream(&provider, &asked, &cx).await;
    assert!(error.is_none(), "{error:?}");
    let streamed = answer_of(&chunks);
    eprintln!("stream: {} chunks, {streamed:?}", chunks.len());
    assert!(chunks.len() > 2 && !streamed.content.is_empty());

    let schema = value!({
        "type": "object", "additionalProperties": false, "required": ["city", "degrees"],
        "properties": { "city": { "type": "string", "maxLength": 12 }, "degrees": { "type": "integer" } }
    });
    let mut formed = LlmRequest::new("local").user("Paris has 22 degrees.");
    formed.output_schema = Some(OutputSchema::new("report", schema));
    formed.temperature = Some(0.0);
    let answer = provider.complete(&formed, &cx).await.unwrap();
    eprintln!("form: {answer:?}");
    let read: serde_json::Value = serde_json::from_str(&answer.content).unwrap();
    assert!(read["city"].is_string() && read["degrees"].is_i64());
    let (chunks, error) = crate::testing::read_stream(&provider, &formed, &cx).await;
    eprintln!("form, streamed: {} chunks", chunks.len());
    assert_eq!((error.is_none(), &answer_of(&chunks).content), (true, &answer.content));

    let agent = Agent::builder(provider, "local")
        .temperature(0.0)
        .output_schema(Typed::<bool>::new(), OutputOptions::new().strategy(OutputStrategy::Native))
        .build()
        .unwrap();
    let report = agent.run("Is 2 + 2 = 4?").await;
    eprintln!("an agent with an output schema: {:?}", report.answer());
    assert!(matches!(report.answer().map(String::as_str), Ok("true" | "false")));
}

#[tokio::test]
#[ignore = "needs a server at LOCAL_EMBED_URL"]
async fn a_local_model_embeds() {
    let Ok(url) = std::env::var("LOCAL_EMBED_URL") else { return };
    let embedder =
        crate::embed::OpenAiEmbedder::builder().base_url(url).without_key().model("local").dimensions(640);
    let embedder = embedder.build().unwrap();
    let cx = CallCx::detached();
    let answer =
        embedder.embed_batch(&["a cat", "a kitten", "tax law"], EmbedKind::Document, &cx).await.unwrap();
    let near = cosine_similarity(&answer.vectors[0], &answer.vectors[1]).unwrap();
    let far = cosine_similarity(&answer.vectors[0], &answer.vectors[2]).unwrap();
    eprintln!(
        "embeddings: {} numbers, near {near}, far {far}, {:?} tokens",
        answer.vectors[0].len(),
        answer.tokens_spent
    );
    assert!(near > far);
}
