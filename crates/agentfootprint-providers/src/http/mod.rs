//! The one transport every HTTP adapter shares.
//!
//! An adapter turns a request into bytes and bytes into an answer; everything between is here and the same for all:
//! deadlines, cancellation, bounds, stated waits, refusals with a sentence that names the fix, and redaction.
//! One call is one attempt.
//!
//! | file | holds |
//! |---|---|
//! | `exchange` | the seam to the network, and the network behind it |
//! | `limits` | deadlines and bounds |
//! | `transport` | sending, reading, cancelling |
//! | `scene` | who calls whom for what: makes every error, redacts every text |
//! | `refusal` | from an error status to a typed error |
//! | `answer` | from the bytes of a streamed answer to chunks, without any I/O |
//! | `retry_after` | the wait a response states |

mod answer;
mod exchange;
mod limits;
mod refusal;
mod retry_after;
mod scene;
#[cfg(test)]
pub(crate) mod testing;
mod transport;

pub use bytes::Bytes;
pub use exchange::{
    ByteStream, FaultPhase, HttpExchange, HttpFault, HttpRequest, HttpResponse, Method, ReqwestExchange, door,
};
pub use limits::{Bounds, Deadlines};
pub use reqwest::header::{HeaderMap, HeaderName};
pub use retry_after::stated_wait;

pub(crate) use answer::{AnswerMachine, Assembler, Piece, Sniffing};
pub(crate) use limits::check_limits;
pub(crate) use refusal::{Refusal, describe_body};
pub(crate) use scene::{Identity, Scene};
pub(crate) use transport::Transport;
#[cfg(feature = "rig")]
pub(crate) use transport::{or_cancelled, within};
