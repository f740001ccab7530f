use agentfootprint_core::llm::{CallCx, LlmErrorKind, LlmProvider};

use super::super::{KEY, assert_clean, read_stream};
use super::{Setup, Wire};
use crate::Key;
use crate::http::FaultPhase;
use crate::http::testing::{Answer, Beat, Scripted};

impl Wire {
    /// The key appears in no text of any failure, wherever a server puts it.
    pub(crate) async fn secrecy(&self) {
        let echo = |status| Answer::new(status, (self.error)(status, &format!("bad key {KEY}")));
        let mut answers: Vec<Answer> =
            [400, 401, 403, 404, 413, 422, 429, 500, 503, 529].into_iter().map(echo).collect();
        answers.extend([
            Answer::new(502, format!("<html>{KEY}</html>")),
            Answer::new(307, "").with_header("location", &format!("https://other/{KEY}?key={KEY}")),
            echo(500).with_header("request-id", KEY),
            Answer::ok(format!("not json {KEY}")),
            Answer::ok(format!("{{\"{KEY}\":1}}")),
            Answer::ok((self.error)(200, KEY)),
            Answer::ok((self.framed_error)(KEY)),
            Answer::ok(format!("data: {{\"{KEY}\"\n\n")),
            Answer::ok("").with_body([Beat::Break]),
            Answer::new(400, (self.error)(400, &format!("prompt is too long: 3 tokens > 2 {KEY}"))),
        ]);
        for phase in [FaultPhase::Dns, FaultPhase::Connect, FaultPhase::ConnectTimeout, FaultPhase::Head] {
            answers.push(Answer::failing(phase, &format!("cannot reach https://h/?key={KEY}")));
        }
        for answer in answers {
            // The key stands in the address too: in the path, where the door would show it, and in the query.
            let setup = self.setup(Scripted::new(vec![answer; 4]));
            let base_url = Some(format!("http://127.0.0.1:1/{KEY}?key={KEY}"));
            let provider = (self.build)(Setup { base_url, ..setup });
            let cx = CallCx::detached();
            let plain = provider.complete(&self.request(), &cx).await.unwrap_err();
            let streamed = read_stream(&*provider, &self.request(), &cx).await.1.unwrap();
            assert_clean(&plain);
            assert_clean(&streamed);
        }
        // Nor does what a request prints of itself.
        let exchange = Scripted::new([Answer::ok(&self.plain)]);
        let provider = (self.build)(self.setup(exchange.clone()));
        provider.complete(&self.request(), &CallCx::detached()).await.unwrap();
        let sent = &exchange.requests()[0];
        assert!(sent.headers.values().any(|value| value.to_str().is_ok_and(|value| value.contains(KEY))));
        assert!(!format!("{sent:?} {:?}", sent.headers).contains(KEY), "keys are marked sensitive");
        assert!(!String::from_utf8_lossy(&sent.body).contains(KEY) && !sent.url.as_str().contains(KEY));
    }

    /// Keys that cannot be had are refused before anything is sent.
    pub(crate) async fn no_key(&self) {
        let cases = [
            (Key::provider(|_| async { "  ".into() }), "callback gave nothing"),
            (Key::per_model([("other", KEY)]), self.model),
            (Key::from(" "), "blank"),
            (Key::from("canary-key-5d1f\nsecond line"), "line break"),
        ];
        for (key, word) in cases {
            let exchange = Scripted::new([]);
            let provider = (self.build)(Setup { key, ..self.setup(exchange.clone()) });
            let error = provider.complete(&self.request(), &CallCx::detached()).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::NoCredential);
            assert!(error.to_string().contains(word), "{error}");
            assert_clean(&error);
            assert!(exchange.requests().is_empty());
        }
    }
}
