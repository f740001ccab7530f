use agentfootprint_core::llm::ThinkingError;
use agentfootprint_record::message::ThinkingBlock;
use footprint::value::Value;

use super::*;

struct Handler(&'static str);

impl ThinkingHandler for Handler {
    fn id(&self) -> &str {
        self.0
    }
    fn normalize(&self, raw: &Value) -> Result<Vec<ThinkingBlock>, ThinkingError> {
        Ok(raw
            .as_str()
            .map(|text| ThinkingBlock::thinking(format!("{}:{text}", self.0)))
            .into_iter()
            .collect())
    }
}

fn thinking_leaf(name: &'static str, script: impl IntoIterator<Item = Step>) -> Arc<Leaf> {
    leaf_with(name, script, Some(Arc::new(Handler(name))), true)
}

fn hop(report: &ResilienceReport) -> (&str, &str) {
    let ResilienceReport::FellBack { primary, fallback, reason } = report else { panic!("{report:?}") };
    assert!(reason.contains("busy"), "{reason}");
    (primary, fallback)
}

/// Proves LLM-112, LLM-113, LLM-117.
#[tokio::test]
async fn the_arm_is_asked_for_its_own_model() {
    for streamed in [false, true] {
        let (a, b) = (leaf("a", [Step::Fail(transient(503))]), leaf("b", [Step::Ok("from b")]));
        let provider = with_fallback(a.clone(), FallbackArm::new(b.clone(), "model-b")).unwrap();
        assert_eq!(provider.name(), "a|b");
        let (cx, reports) = watched();
        let content = if streamed {
            let (chunks, _) = read(&provider, &cx).await;
            let Some(LlmChunk::Done { response, .. }) = chunks.last() else { panic!() };
            response.content.clone()
        } else {
            provider.complete(&request(), &cx).await.unwrap().content
        };
        assert_eq!(content, "from b");
        assert_eq!(&*a.asked.lock().unwrap()[0].model, "model-a");
        assert_eq!(&*b.asked.lock().unwrap()[0].model, "model-b");
        let reports = reports.take();
        assert_eq!((reports.len(), hop(&reports[0])), (1, ("a", "b")));
    }
    let (a, b) = (leaf("a", [Step::Fail(transient(503))]), leaf("b", [Step::Ok("x")]));
    let provider = with_fallback(a, FallbackArm::same_models(b.clone())).unwrap();
    provider.complete(&request(), &CallCx::detached()).await.unwrap();
    assert_eq!(&*b.asked.lock().unwrap()[0].model, "model-a");
}

/// Proves LLM-112.
#[tokio::test]
async fn what_was_never_sent_and_what_was_cancelled_is_not_passed_on() {
    for error in [refusal(), LlmError::aborted("a")] {
        let b = leaf("b", []);
        let provider =
            with_fallback(leaf("a", [Step::Fail(error.clone())]), FallbackArm::new(b.clone(), "m")).unwrap();
        assert_eq!(provider.complete(&request(), &CallCx::detached()).await.unwrap_err().kind, error.kind);
        assert_eq!(b.calls(), 0);
    }
    let strict = with_fallback(leaf("a", [Step::Fail(transient(503))]), FallbackArm::new(leaf("b", []), "m"));
    let strict = strict.unwrap().should_fall_back(|error| error.status == Some(500)).named("mine");
    assert_eq!(strict.name(), "mine");
    assert_eq!(strict.complete(&request(), &CallCx::detached()).await.unwrap_err().status, Some(503));
}

/// Proves LLM-113.
#[tokio::test]
async fn a_chain_hops_pairwise() {
    let fail = || Step::Fail(transient(503));
    let arms = [
        FallbackArm::new(leaf("b", [fail()]), "mb"),
        FallbackArm::new(leaf("c", [Step::Ok("from c")]), "mc"),
    ];
    let provider = fallback_chain(leaf("a", [fail()]), arms).unwrap();
    assert_eq!(provider.name(), "a|b|c");
    let (cx, reports) = watched();
    assert_eq!(provider.complete(&request(), &cx).await.unwrap().content, "from c");
    let reports = reports.take();
    assert_eq!((hop(&reports[0]), hop(&reports[1])), (("a", "b|c"), ("b", "c")));

    let error = fallback_chain(leaf("a", []), []).unwrap_err();
    assert!(error.to_string().contains("at least one arm"));
    let error = with_fallback(leaf("a", []), FallbackArm::new(leaf("b", []), " ")).unwrap_err();
    assert!(error.to_string().contains("same_models"), "{error}");
}

/// Proves LLM-112.
#[tokio::test]
async fn members_that_do_not_stream() {
    // The primary does not: no fallback, no report; the caller asks for the whole answer.
    let quiet = leaf_with("a", [], None, false);
    let provider = with_fallback(quiet, FallbackArm::new(leaf("b", []), "m")).unwrap();
    let (cx, reports) = watched();
    assert!(provider.stream(&request(), &cx).await.is_none());
    assert!(reports.take().is_empty());
    assert!(provider.capabilities("m").streams, "one of the two does");
    // The arm does not: its whole answer becomes a stream.
    let arm = FallbackArm::new(leaf_with("b", [Step::Ok("whole")], None, false), "m");
    let provider = with_fallback(leaf("a", [Step::Fail(network())]), arm).unwrap();
    let (chunks, error) = read(&provider, &CallCx::detached()).await;
    assert!(error.is_none());
    assert_eq!(
        chunks,
        [LlmChunk::Text { token_index: 0, content: "whole".into() }, LlmChunk::done(1, response("whole"))]
    );
}

/// Whoever answers, the pair's handler knows whose thinking it reads.
///
/// Proves LLM-5, LLM-112.
#[tokio::test]
async fn thinking_is_read_by_the_handler_of_who_answered() {
    let fail = || Step::Fail(transient(503));
    for (fails, expected) in [(0, "a:hm"), (1, "b:hm"), (2, "c:hm")] {
        let script =
            |own: usize| if own < fails { vec![fail(), fail()] } else { vec![Step::Ok("x"), Step::Ok("x")] };
        let arms = [
            FallbackArm::new(thinking_leaf("b", script(1)), "mb"),
            FallbackArm::new(thinking_leaf("c", script(2)), "mc"),
        ];
        let provider = fallback_chain(thinking_leaf("a", script(0)), arms).unwrap();
        let handler = provider.capabilities("model-a").thinking_handler.unwrap();
        let whole = provider.complete(&request(), &CallCx::detached()).await.unwrap();
        let (chunks, _) = read(&provider, &CallCx::detached()).await;
        let Some(LlmChunk::Done { response, .. }) = chunks.last() else { panic!() };
        for raw in [whole.raw_thinking, response.raw_thinking.clone()] {
            let blocks = handler.normalize(&raw.unwrap()).unwrap();
            assert_eq!(&*blocks[0].content, expected);
        }
    }
    // The same handler on both sides reads what it always reads.
    let provider =
        with_fallback(thinking_leaf("a", [Step::Ok("x")]), FallbackArm::new(thinking_leaf("a", []), "m"));
    let answer = provider.unwrap().complete(&request(), &CallCx::detached()).await.unwrap();
    assert_eq!(answer.raw_thinking, Some("hm".into()));
}
