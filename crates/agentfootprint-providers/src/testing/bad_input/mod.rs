//! What every adapter must make of a vendor that does not answer as it should. A [`Wire`] says how its vendor words
//! things; the checks are the same for all, and [`contract!`] makes a test of each.
//!
//! | file | checks |
//! |---|---|
//! | `answers` | statuses, overflows, successes that are none, errors inside a stream |
//! | `bytes` | cuts, splits, bytes that are no text, frames without end, bodies nobody would send |
//! | `transport` | hosts that are not there, deadlines, cancellation, a real connection |
//! | `secrecy` | keys: none in any text, none that cannot be had |
//! | `run` | a whole run over the wire: no key in its events and recordings; BOMs; vendors that fall silent |

mod answers;
mod bytes;
mod run;
mod secrecy;
mod transport;

use std::sync::Arc;

use agentfootprint_core::llm::{
    CallCx, LlmChunk, LlmError, LlmErrorKind, LlmProvider, LlmRequest, LlmResponse, OllamaReason,
};

use futures_util::{FutureExt, StreamExt};

use super::{KEY, assert_clean, now, read_stream};
use crate::Key;
use crate::http::HttpExchange;
use crate::http::testing::{Answer, Beat, Scripted};

/// What a test decides about a provider.
pub(crate) struct Setup {
    pub(crate) exchange: Option<Arc<dyn HttpExchange>>,
    pub(crate) base_url: Option<String>,
    pub(crate) key: Key,
}

/// Gives a builder what a [`Setup`] decides; `address` names the builder's option for the address.
macro_rules! set_up {
    ($builder:expr, $setup:expr, $address:ident) => {{
        let setup = $setup;
        let mut builder = $builder.key(setup.key);
        if let Some(exchange) = setup.exchange {
            builder = builder.exchange(exchange);
        }
        if let Some(url) = setup.base_url {
            builder = builder.$address(url);
        }
        builder
    }};
}
pub(crate) use set_up;

/// Frames of server-sent events that are none.
pub(crate) mod text_frames {
    pub(crate) const DAMAGED: [&[u8]; 3] = [b"data: {\"a\": [\n\n", b"data: 7\n\n", b"data: canary\n\n"];
    /// Also cut in the middle of what could have been a character.
    pub(crate) const NOT_UTF8: [&[u8]; 3] =
        [b"data: \xff\n\n", b"data: \xf0\x9f\x98 x\n\n", b"data: \xe4\xb8\n\n"];
    pub(crate) const OPEN: &[u8] = b"data: ";
}

/// One vendor.
pub(crate) struct Wire {
    /// In front of every message.
    pub(crate) prefix: &'static str,
    pub(crate) model: &'static str,
    /// The usual host and port.
    pub(crate) host: &'static str,
    /// Builds a provider with [`KEY`] unless the setup says otherwise.
    pub(crate) build: fn(Setup) -> Arc<dyn LlmProvider>,
    /// A plain answer.
    pub(crate) plain: Vec<u8>,
    /// The same answer streamed: at least two pieces of text, some of it not ASCII.
    pub(crate) streamed: Vec<u8>,
    /// An error body of this status with this sentence.
    pub(crate) error: fn(u16, &str) -> Vec<u8>,
    /// The sentence about an unknown model, as it comes with a 404.
    pub(crate) unknown_model: Option<&'static str>,
    /// An error inside a stream, as it stands on the wire, and what it is after part of the answer.
    pub(crate) framed_error: fn(&str) -> Vec<u8>,
    pub(crate) framed_kind: LlmErrorKind,
    /// Whole frames that are not this wire's shape; where there is text in them it is `canary`.
    pub(crate) damaged: Vec<Vec<u8>>,
    /// Whole frames that are not UTF-8 inside.
    pub(crate) not_utf8: Vec<Vec<u8>>,
    /// The beginning of a frame that never ends.
    pub(crate) open_frame: Vec<u8>,
    /// Words of the advice about keys and addresses.
    pub(crate) key_advice: &'static str,
    pub(crate) address_advice: &'static str,
    /// A local daemon: one that is not there, and a model it does not have, are errors of their own with waits of their
    /// own, and a missing model is asked about once more.
    pub(crate) is_daemon: bool,
}

impl Wire {
    pub(crate) fn request(&self) -> LlmRequest {
        LlmRequest::new(self.model).user("hi")
    }

    fn setup(&self, exchange: Arc<dyn HttpExchange>) -> Setup {
        Setup { exchange: Some(exchange), base_url: None, key: Key::from(KEY) }
    }

    fn scripted(&self, answers: impl IntoIterator<Item = Answer>) -> Arc<dyn LlmProvider> {
        (self.build)(self.setup(Scripted::new(answers)))
    }

    fn networked(&self, base_url: &str) -> Arc<dyn LlmProvider> {
        let setup = self.setup(Scripted::new([]));
        (self.build)(Setup { exchange: None, base_url: Some(base_url.to_owned()), ..setup })
    }

    pub(crate) async fn complete(&self, answer: Answer) -> Result<LlmResponse, LlmError> {
        // An adapter that asks a second question (which models are there?) gets the same answer.
        let provider = self.scripted([answer.clone(), answer]);
        provider.complete(&self.request(), &CallCx::detached()).await.inspect_err(assert_clean)
    }

    pub(crate) async fn stream(&self, answer: Answer) -> (Vec<LlmChunk>, Option<LlmError>) {
        let provider = self.scripted([answer.clone(), answer]);
        let read = read_stream(&*provider, &self.request(), &CallCx::detached()).await;
        read.1.iter().for_each(assert_clean);
        read
    }

    /// Both doors refuse alike, with one request each.
    async fn refused(&self, answer: Answer) -> LlmError {
        let asks_again = self.is_daemon && answer.status == 404;
        let exchange = Scripted::new(vec![answer; 4]);
        let provider = (self.build)(self.setup(exchange.clone()));
        let cx = CallCx::detached();
        let plain = provider.complete(&self.request(), &cx).await.unwrap_err();
        let streamed = read_stream(&*provider, &self.request(), &cx).await.1.unwrap();
        // Addresses differ where the wire has one for each.
        let told = |error: &LlmError| {
            let text = error.to_string();
            let text = text.replace("streamGenerateContent", "generateContent");
            text.replace("converse-stream", "converse")
        };
        assert_eq!(told(&plain), told(&streamed));
        assert_eq!(plain.kind, streamed.kind);
        assert_eq!(exchange.requests().len(), if asks_again { 4 } else { 2 }, "one call is one attempt");
        assert_clean(&plain);
        plain
    }

    /// The smallest part of the stream that shows something.
    fn beginning(&self) -> &[u8] {
        let (request, cx) = (self.request(), CallCx::detached());
        let shows = |end: usize| {
            let open = [Beat::Bytes(self.streamed[..end].to_vec()), Beat::Stall];
            let provider = self.scripted([Answer::ok("").with_body(open)]);
            let mut stream = now(provider.stream(&request, &cx)).expect("it streams").unwrap();
            now(async { stream.next().now_or_never() }).is_some()
        };
        let (mut silent, mut showing) = (0, self.streamed.len());
        assert!(shows(showing));
        while showing - silent > 1 {
            let middle = silent + (showing - silent) / 2;
            if shows(middle) { showing = middle } else { silent = middle }
        }
        &self.streamed[..showing]
    }

    /// Whether an error says that nobody answered.
    fn is_unreachable(&self, error: &LlmError) -> bool {
        match &error.kind {
            LlmErrorKind::OllamaUnavailable { reason, .. } => {
                self.is_daemon && *reason == OllamaReason::DaemonUnreachable
            }
            kind => !self.is_daemon && *kind == LlmErrorKind::Network,
        }
    }
}

/// The tests of one adapter: `contract!(super::wire)` with the function that gives its [`Wire`].
macro_rules! contract {
    ($wire:path) => {
        mod contract {
            use proptest::prelude::*;
            use $wire as wire;

            /// Proves LLM-27, LLM-38.
            #[tokio::test]
            async fn each_status_has_its_kind_and_its_sentence() {
                wire().statuses().await;
            }

            /// Proves LLM-30, LLM-31.
            #[tokio::test]
            async fn an_overflow_is_recognised() {
                let sentence = "prompt is too long: 205000 tokens > 200000 maximum";
                wire().overflow(sentence, Some(200_000), Some(205_000)).await;
            }

            /// Proves LLM-18.
            #[tokio::test]
            async fn a_success_that_is_no_answer_says_what_it_is() {
                wire().not_the_wire().await;
            }

            #[tokio::test]
            async fn an_error_inside_a_stream_is_told() {
                wire().error_in_stream().await;
            }

            /// Proves LLM-11, LLM-14, LLM-15.
            #[test]
            fn a_body_cut_at_every_byte_is_an_answer_or_an_error() {
                wire().same_answer();
                wire().cut_everywhere();
            }

            /// Proves LLM-15, LLM-18.
            #[tokio::test]
            async fn bytes_that_are_not_utf8_are_refused() {
                wire().invalid_utf8().await;
            }

            /// Proves LLM-19.
            #[tokio::test]
            async fn a_frame_of_a_hundred_megabytes_is_refused_at_its_bound() {
                wire().huge_frame().await;
            }

            #[tokio::test]
            async fn an_unreachable_host_is_named_with_the_fix() {
                wire().unreachable().await;
            }

            /// Proves LLM-15.
            #[tokio::test]
            async fn a_stream_over_a_real_connection() {
                wire().over_the_network().await;
            }

            /// Proves LLM-36, LLM-180.
            #[tokio::test(start_paused = true)]
            async fn each_phase_has_its_deadline_and_names_its_option() {
                wire().deadlines().await;
            }

            /// Proves LLM-37.
            #[tokio::test(start_paused = true)]
            async fn cancelling_in_any_phase_is_an_abort_within_one_poll() {
                wire().cancelled().await;
            }

            /// Proves LLM-28.
            #[tokio::test]
            async fn the_key_appears_in_no_text_of_any_failure() {
                wire().secrecy().await;
            }

            /// Proves LLM-28.
            #[tokio::test]
            async fn the_key_appears_in_no_event_and_no_recording() {
                wire().run_without_the_key().await;
            }

            #[tokio::test]
            async fn a_bom_is_not_part_of_the_answer() {
                wire().bom().await;
            }

            /// Proves LLM-36.
            #[tokio::test(start_paused = true)]
            async fn a_vendor_that_falls_silent_does_not_hold_the_call() {
                wire().stalls().await;
            }

            /// Proves LLM-39, LLM-41.
            #[tokio::test]
            async fn keys_that_cannot_be_had_are_refused_before_sending() {
                wire().no_key().await;
            }

            proptest! {
                #![proptest_config(ProptestConfig::with_cases(64))]

                /// Proves LLM-15.
                #[test]
                fn any_split_of_the_bytes_gives_the_same_chunks(
                    sizes in prop::collection::vec(1_usize..40, 1..200), crlf: bool
                ) {
                    let wire = wire();
                    wire.split(&wire.streamed, &sizes, crlf);
                }

                #[test]
                fn arbitrary_bodies_never_panic(
                    bytes in prop::collection::vec(any::<u8>(), 0..300), json in "[\\[\\]{}\":,a-z0-9 ]{0,80}"
                ) {
                    wire().arbitrary(&bytes, &json);
                }
            }
        }
    };
}
pub(crate) use contract;
