use std::time::Duration;

use agentfootprint_core::llm::LlmErrorKind;

use super::Wire;
use crate::http::testing::Answer;

const SECOND: Duration = Duration::from_secs(1);

impl Wire {
    /// 401, 403, 404, 429, 5xx, pages instead of JSON: each has its kind, and its sentence names the fix.
    pub(crate) async fn statuses(&self) {
        use LlmErrorKind as K;
        let html = b"<html><body>not here</body></html>".to_vec();
        let said = |status| (self.error)(status, "so it said");
        let unknown = self.unknown_model.map(|sentence| (404, (self.error)(404, sentence)));
        let mut cases = vec![
            (400, said(400), K::InvalidRequest, "so it said"),
            (401, said(401), K::Auth, self.key_advice),
            (401, html.clone(), K::Auth, self.key_advice),
            (403, said(403), K::Auth, self.key_advice),
            (404, html.clone(), K::ModelNotFound, self.address_advice),
            (413, html.clone(), K::InvalidRequest, "an HTML or XML page"),
            (422, Vec::new(), K::InvalidRequest, "an empty body"),
            (429, said(429), K::RateLimited, "so it said"),
            (500, Vec::new(), K::Transient, "500"),
            (502, html, K::Transient, "an HTML or XML page"),
            (503, said(503), K::Transient, "so it said"),
            (529, said(529), K::Transient, "529"),
            (308, Vec::new(), K::InvalidRequest, "base URL"),
            (400, b"{\"unfinished\": ".to_vec(), K::InvalidRequest, "damaged JSON"),
        ];
        cases.extend(unknown.map(|(status, body)| (status, body, K::ModelNotFound, "check the model id")));
        for (status, body, kind, word) in cases {
            let error = self.refused(Answer::new(status, &body)).await;
            assert_eq!(error.kind, kind, "{status} {}", String::from_utf8_lossy(&body));
            assert_eq!(error.status, Some(status));
            assert_eq!(error.model.as_deref(), Some(self.model));
            let text = error.to_string();
            assert!(text.starts_with(&format!("{}http", self.prefix)) && text.contains(word), "{text}");
            assert_eq!(text.matches(self.prefix.trim()).count(), 1);
            assert_eq!(error.retryable(), matches!(error.kind, K::RateLimited | K::Transient));
            assert_eq!(error.retry_after, None);
        }
        let waits = Answer::new(429, said(429)).with_header("retry-after", "4");
        let error = self.refused(waits).await;
        assert_eq!(error.retry_after, Some(4 * SECOND));
        assert!(error.to_string().contains("asks to wait 4s"), "{error}");
        let waits =
            Answer::new(429, said(429)).with_header("retry-after-ms", "250").with_header("retry-after", "9");
        assert_eq!(self.refused(waits).await.retry_after, Some(Duration::from_millis(250)));
    }

    /// The prompt is too long, said with an error status.
    pub(crate) async fn overflow(&self, sentence: &str, limit: Option<u64>, actual: Option<u64>) {
        let error = self.refused(Answer::new(400, (self.error)(400, sentence))).await;
        assert_eq!(error.kind, LlmErrorKind::ContextWindowExceeded { limit, actual });
        assert_eq!(error.record_code(), Some("ERR_CONTEXT_WINDOW_EXCEEDED"));
        assert!(!error.is_resumable());
        let busy = self.refused(Answer::new(429, (self.error)(429, sentence))).await;
        assert_eq!(busy.kind, LlmErrorKind::RateLimited, "a rate limit that talks about tokens is none");
    }

    /// Success with something else in it.
    pub(crate) async fn not_the_wire(&self) {
        for (body, word) in [
            ("<html>canary page</html>", "an HTML or XML page"),
            ("", "an empty body"),
            ("{\"status\":\"up\",\"canary text\":1}", "fields status"),
            ("{}", "an empty JSON object"),
            ("[1,2]", "a list of 2"),
            ("hello canary", "not JSON"),
        ] {
            let error = self.complete(Answer::ok(body)).await.unwrap_err();
            assert_eq!(error.kind, LlmErrorKind::UnreadableResponse, "{body}");
            assert!(!error.retryable(), "the model already ran");
            let text = error.to_string();
            assert!(text.contains(word) && text.contains(self.address_advice), "{text}");
            assert!(!text.contains("canary"), "{text}");
            let (chunks, error) = self.stream(Answer::ok(body)).await;
            let kind = error.expect(body).kind.clone();
            let is_told = matches!(
                kind,
                LlmErrorKind::UnreadableResponse
                    | LlmErrorKind::UnreadableFrame
                    | LlmErrorKind::StreamIncomplete { delivered: false }
            );
            assert!(chunks.is_empty() && is_told, "{body}: {kind:?}");
        }
        let (_, error) = self.stream(Answer::ok("<html>welcome</html>")).await;
        let error = error.unwrap();
        assert_eq!(error.kind, LlmErrorKind::UnreadableResponse);
        assert!(error.to_string().contains("HTML") && error.to_string().contains(self.address_advice));
        let (_, error) = self.stream(Answer::ok("")).await;
        assert_eq!(error.unwrap().kind, LlmErrorKind::StreamIncomplete { delivered: false });
        for bad in &self.damaged {
            let (_, error) = self.stream(Answer::ok(bad)).await;
            let error = error.unwrap();
            assert_eq!(error.kind, LlmErrorKind::UnreadableFrame, "{}", String::from_utf8_lossy(bad));
            assert!(!error.to_string().contains("canary"));
        }
    }

    /// An error frame after part of the answer, and before it.
    pub(crate) async fn error_in_stream(&self) {
        let body = [self.beginning(), &(self.framed_error)("backend died")].concat();
        let (chunks, error) = self.stream(Answer::ok(body)).await;
        let error = error.unwrap();
        assert_eq!((chunks.len(), &error.kind), (1, &self.framed_kind), "{error}");
        assert!(error.to_string().contains("backend died"), "{error}");
        let (chunks, error) = self.stream(Answer::ok((self.framed_error)("backend died"))).await;
        assert!(chunks.is_empty() && error.unwrap().to_string().contains("backend died"));
    }
}
