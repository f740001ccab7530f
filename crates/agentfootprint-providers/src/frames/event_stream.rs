use aws_smithy_eventstream::frame::read_message_from;
use aws_smithy_types::event_stream::{HeaderValue, Message};

use super::{Frame, FrameError, Framer};

/// Length, header length and their checksum.
const PRELUDE: usize = 12;

/// Frames of `application/vnd.amazon.eventstream`: binary, with lengths and checksums.
///
/// A frame's [`Frame::event`] is its event type; an exception is `exception:<type>` and a protocol error
/// `error:<code>`, whose data is the message.
///
/// The lengths are checked before anything is buffered for them, so a frame beyond the bound is refused at its start.
#[derive(Debug)]
pub struct EventStreamFramer {
    limit: usize,
    buffer: Vec<u8>,
}

impl EventStreamFramer {
    /// A framer that refuses frames larger than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        EventStreamFramer { limit, buffer: Vec::new() }
    }

    /// The size of the frame at `at`; `None` until its prelude is there.
    fn frame_size(&self, at: usize) -> Result<Option<usize>, FrameError> {
        let Some(prelude) = self.buffer.get(at..at + PRELUDE) else { return Ok(None) };
        let number = |from: usize| {
            let bytes = prelude.get(from..from + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
            u32::from_be_bytes(bytes.unwrap_or_default())
        };
        let checked = prelude.get(..8).map(crc32fast::hash);
        if checked != Some(number(8)) {
            return Err(FrameError::Damaged { what: "the checksum of its lengths" });
        }
        let size = number(0) as usize;
        if size > self.limit {
            return Err(FrameError::TooLarge { limit: self.limit });
        }
        if size < PRELUDE + 4 {
            return Err(FrameError::Damaged { what: "its length" });
        }
        Ok(Some(size))
    }
}

impl Framer for EventStreamFramer {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.buffer.extend_from_slice(bytes);
        let mut at = 0;
        let result = loop {
            let size = match self.frame_size(at) {
                Ok(Some(size)) => size,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let Some(whole) = self.buffer.get(at..at + size) else { break Ok(()) };
            match read_message_from(whole).map_err(|_| FrameError::Damaged { what: "its content" }) {
                Ok(message) => match frame_of(&message) {
                    Ok(frame) => out.push(frame),
                    Err(error) => break Err(error),
                },
                Err(error) => break Err(error),
            }
            at += size;
        };
        self.buffer.drain(..at);
        result
    }

    fn finish(&mut self, _out: &mut Vec<Frame>) -> Result<(), FrameError> {
        if self.buffer.is_empty() { Ok(()) } else { Err(FrameError::Damaged { what: "its end is missing" }) }
    }
}

fn frame_of(message: &Message) -> Result<Frame, FrameError> {
    let header = |name: &str| {
        let found = message.headers().iter().find(|header| header.name().as_str() == name)?;
        match found.value() {
            HeaderValue::String(text) => Some(text.as_str().to_owned()),
            _ => None,
        }
    };
    let data = String::from_utf8(message.payload().to_vec()).map_err(|_| FrameError::NotUtf8)?;
    let named = |name| header(name).unwrap_or_default();
    Ok(match header(":message-type").as_deref() {
        Some("exception") => Frame { event: format!("exception:{}", named(":exception-type")), data },
        Some("error") => {
            Frame { event: format!("error:{}", named(":error-code")), data: named(":error-message") }
        }
        _ => Frame { event: named(":event-type"), data },
    })
}

#[cfg(test)]
pub(crate) mod testing {
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};

    /// The bytes of one frame.
    pub(crate) fn frame(headers: &[(&str, &str)], payload: impl AsRef<[u8]>) -> Vec<u8> {
        let mut message = Message::new(payload.as_ref().to_vec());
        for (name, value) in headers {
            let value = HeaderValue::String((*value).to_owned().into());
            message = message.add_header(Header::new((*name).to_owned(), value));
        }
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).unwrap();
        bytes
    }

    /// An event.
    pub(crate) fn event(kind: &str, payload: &serde_json::Value) -> Vec<u8> {
        frame(&[(":message-type", "event"), (":event-type", kind)], payload.to_string())
    }

    /// An exception.
    pub(crate) fn exception(kind: &str, payload: &serde_json::Value) -> Vec<u8> {
        frame(&[(":message-type", "exception"), (":exception-type", kind)], payload.to_string())
    }

    /// The beginning of a frame of `size` bytes.
    pub(crate) fn prelude(size: u32) -> Vec<u8> {
        let lengths = [size.to_be_bytes(), 0_u32.to_be_bytes()].concat();
        let checksum = crc32fast::hash(&lengths).to_be_bytes();
        [lengths, checksum.to_vec()].concat()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::testing::{event, exception, frame, prelude};
    use super::*;

    fn frames_of(bytes: &[u8], piece: usize) -> (Vec<Frame>, Result<(), FrameError>) {
        let mut framer = EventStreamFramer::new(4096);
        let mut out = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            if let Err(error) = framer.push(piece, &mut out) {
                return (out, Err(error));
            }
        }
        let end = framer.finish(&mut out);
        (out, end)
    }

    #[test]
    fn events_exceptions_and_errors_are_told_apart() {
        let bytes = [
            event("messageStart", &json!({"role": "assistant"})),
            exception("throttlingException", &json!({"message": "slow"})),
            frame(&[(":message-type", "error"), (":error-code", "Oops"), (":error-message", "bad")], ""),
        ]
        .concat();
        let (frames, end) = frames_of(&bytes, 5);
        assert!(end.is_ok());
        let shown: Vec<_> = frames.iter().map(|frame| (frame.event.as_str(), frame.data.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("messageStart", r#"{"role":"assistant"}"#),
                ("exception:throttlingException", r#"{"message":"slow"}"#),
                ("error:Oops", "bad")
            ]
        );
    }

    /// Proves LLM-19.
    #[test]
    fn a_frame_beyond_its_bound_is_refused_at_its_start() {
        assert_eq!(frames_of(&prelude(5000), 12).1, Err(FrameError::TooLarge { limit: 4096 }));
        assert!(matches!(frames_of(&prelude(8), 12).1, Err(FrameError::Damaged { .. })));
        assert!(matches!(frames_of(b"<html>hello there", 3).1, Err(FrameError::Damaged { .. })));
    }

    /// Every checksum is checked, and what came before the damage is kept.
    #[test]
    fn one_flipped_bit_is_found() {
        let first = event("a", &json!({"x": 1}));
        let whole = [first.clone(), event("b", &json!({"y": 2}))].concat();
        for at in first.len()..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            let (frames, end) = frames_of(&damaged, usize::MAX);
            assert!(end.is_err(), "byte {at}");
            assert_eq!(frames.len(), 1);
        }
        assert_eq!(frames_of(&frame(&[], [0xff]), 3).1, Err(FrameError::NotUtf8));
    }

    proptest! {
        /// Proves LLM-15.
        #[test]
        fn cutting_the_bytes_elsewhere_changes_nothing(texts in prop::collection::vec("[a-zé😀]{0,20}", 0..6), piece in 1_usize..40) {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| event("e", &json!({"t": text}))).collect();
            let whole = frames_of(&bytes, usize::MAX);
            prop_assert_eq!(whole.0.len(), texts.len());
            prop_assert_eq!(frames_of(&bytes, piece), whole);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1_usize..9) {
            prop_assert_eq!(frames_of(&bytes, piece).0, frames_of(&bytes, usize::MAX).0);
        }
    }
}
