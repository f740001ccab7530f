use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentfootprint_core::agent::Agent;
use agentfootprint_core::llm::LlmErrorKind;
use agentfootprint_record::events::Pattern;

use super::super::{KEY, answer_of};
use super::{Setup, Wire};
use crate::http::testing::{Answer, Beat, Scripted};

impl Wire {
    /// A whole run that fails: no event, no recording and no error of it holds the key.
    pub(crate) async fn run_without_the_key(&self) {
        let echo = |status| Answer::new(status, (self.error)(status, &format!("bad key {KEY}")));
        let answers = [
            echo(401),
            echo(500),
            Answer::new(502, format!("<html>{KEY}</html>")),
            Answer::ok((self.framed_error)(KEY)),
            Answer::ok(format!("not json {KEY}")),
        ];
        for answer in answers {
            let exchange = Scripted::new(vec![answer; 2]);
            let base_url = Some(format!("http://127.0.0.1:1/{KEY}?key={KEY}"));
            let provider = (self.build)(Setup { base_url, ..self.setup(exchange) });
            let agent = Agent::builder(provider, self.model).system("Be kind.").build().unwrap();
            let heard = Arc::new(Mutex::new(String::new()));
            let events = heard.clone();
            let run = agent
                .record("hi")
                .listen(Pattern::All, move |event| {
                    events.lock().unwrap().push_str(&format!("{} {event:?}\n", event.to_value()));
                })
                .unwrap()
                .await
                .unwrap();
            let error = run.answer().unwrap_err();
            let mut recording = Vec::new();
            run.recording().write_io(&mut recording).unwrap();
            let shown = [
                heard.lock().unwrap().clone(),
                String::from_utf8_lossy(&recording).into_owned(),
                format!("{error} {error:?} {error:#?}"),
                format!("{:?}", run.report()),
            ];
            assert!(shown[0].contains("error.fatal") && shown[1].len() > 100);
            for text in shown {
                let at = text.find(KEY);
                assert!(at.is_none(), "{}", &text[at.unwrap_or(0).saturating_sub(200)..]);
            }
        }
    }

    /// A BOM in front of a body, whole or streamed, also cut in its middle, is not part of the answer.
    pub(crate) async fn bom(&self) {
        let whole = self.complete(Answer::ok(&self.plain)).await.unwrap();
        let marked = |body: &[u8]| [&b"\xEF\xBB\xBF"[..], body].concat();
        assert_eq!(self.complete(Answer::ok(marked(&self.plain))).await.unwrap(), whole);
        let refused = self.refused(Answer::new(429, marked(&(self.error)(429, "so it said")))).await;
        assert!(refused.to_string().contains("so it said"), "{refused}");
        if std::str::from_utf8(&self.streamed).is_err() {
            return; // frames of bytes have no place for one
        }
        for piece in [1, 2, 64] {
            let (chunks, error) = self.stream(Answer::in_pieces(&marked(&self.streamed), piece)).await;
            assert!(error.is_none(), "{error:?}");
            assert_eq!(answer_of(&chunks), whole);
        }
    }

    /// A vendor that answers a head and then nothing, or a refusal byte by byte, does not hold a call.
    pub(crate) async fn stalls(&self) {
        let minute = Duration::from_secs(60);
        let (chunks, error) = self.stream(Answer::ok("").with_body([Beat::Stall])).await;
        let error = error.unwrap();
        assert!(chunks.is_empty());
        assert!(matches!(error.kind, LlmErrorKind::Timeout { limit, .. } if limit == minute), "{error:?}");
        assert!(error.retryable() && error.to_string().contains("Deadlines::idle"), "{error}");
        let body = (self.error)(503, "so it said");
        let beats =
            body.iter().flat_map(|byte| [Beat::Wait(Duration::from_secs(59)), Beat::Bytes(vec![*byte])]);
        let slow = Answer { status: 503, ..Answer::ok("") }.with_body(beats);
        let start = tokio::time::Instant::now();
        let error = self.complete(slow).await.unwrap_err();
        assert_eq!((error.kind.clone(), error.status), (LlmErrorKind::Transient, Some(503)));
        assert!(start.elapsed() <= 2 * minute, "{:?}", start.elapsed());
    }
}
