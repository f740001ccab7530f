use super::{Frame, FrameError, Framer, SseFramer};
use crate::wire_json;

/// Frames of a stream that is either `text/event-stream` or plain JSON: a list of objects that grows while it is sent, or
/// one object. The first byte tells. Google streams the list form where `alt=sse` is not understood.
///
/// ```
/// use agentfootprint_providers::frames::{Framer, SseOrJsonFramer};
///
/// for body in ["data: {\"a\":1}\n\ndata: {\"b\":2}\n\n", "[{\"a\":1}\n,\r\n{\"b\":2}]"] {
///     let (mut framer, mut frames) = (SseOrJsonFramer::new(1024), Vec::new());
///     framer.push(body.as_bytes(), &mut frames)?;
///     framer.finish(&mut frames)?;
///     let data: Vec<_> = frames.iter().map(|frame| frame.data.as_str()).collect();
///     assert_eq!(data, [r#"{"a":1}"#, r#"{"b":2}"#]);
/// }
/// # Ok::<(), agentfootprint_providers::frames::FrameError>(())
/// ```
#[derive(Debug)]
pub struct SseOrJsonFramer {
    limit: usize,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    Undecided,
    Sse(SseFramer),
    Json(Objects),
}

/// Objects in a row, in a list or not.
#[derive(Debug, Default)]
struct Objects {
    object: Vec<u8>,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl SseOrJsonFramer {
    /// A framer that refuses events, or objects, larger than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        SseOrJsonFramer { limit, mode: Mode::Undecided }
    }
}

impl Objects {
    fn take(&mut self, byte: u8, limit: usize, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        if self.depth == 0 {
            return match byte {
                b'{' => {
                    self.depth = 1;
                    self.object.push(byte);
                    Ok(())
                }
                b'[' | b']' | b',' => Ok(()),
                byte if byte.is_ascii_whitespace() => Ok(()),
                _ => Err(FrameError::Damaged { what: "something stands between two JSON objects" }),
            };
        }
        if self.object.len() == limit {
            return Err(FrameError::TooLarge { limit });
        }
        self.object.push(byte);
        match byte {
            _ if std::mem::take(&mut self.escaped) => {}
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
        if self.depth == 0 {
            let object = std::mem::take(&mut self.object);
            let data = String::from_utf8(object).map_err(|_| FrameError::NotUtf8)?;
            out.push(Frame { event: String::new(), data });
        }
        Ok(())
    }
}

impl Framer for SseOrJsonFramer {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let mut bytes = bytes;
        if matches!(self.mode, Mode::Undecided) {
            // White space and a BOM before the first frame mean nothing in either form, also where a BOM is cut in two.
            bytes = wire_json::from_first_byte(bytes);
            self.mode = match bytes.first() {
                None => return Ok(()),
                Some(b'[' | b'{') => Mode::Json(Objects::default()),
                Some(_) => Mode::Sse(SseFramer::new(self.limit)),
            };
        }
        match &mut self.mode {
            Mode::Undecided => Ok(()),
            Mode::Sse(framer) => framer.push(bytes, out),
            Mode::Json(objects) => bytes.iter().try_for_each(|byte| objects.take(*byte, self.limit, out)),
        }
    }

    fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        match &mut self.mode {
            Mode::Undecided => Ok(()),
            Mode::Sse(framer) => framer.finish(out),
            Mode::Json(objects) if objects.depth == 0 => Ok(()),
            Mode::Json(_) => Err(FrameError::Damaged { what: "it ends inside a JSON object" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value as Json;

    use super::*;

    fn frames_of(bytes: &[u8], piece: usize, limit: usize) -> Result<Vec<Frame>, FrameError> {
        let mut framer = SseOrJsonFramer::new(limit);
        let mut out = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            framer.push(piece, &mut out)?;
        }
        framer.finish(&mut out)?;
        Ok(out)
    }

    proptest! {
        /// Proves LLM-15.
        #[test]
        fn lists_are_cut_into_the_objects_a_parser_finds(
            texts in prop::collection::vec("[a-z{}\\[\\]\"\\\\,é😀]{0,12}", 0..6), piece in 1_usize..9, pretty: bool
        ) {
            let list: Vec<Json> = texts.iter().map(|text| serde_json::json!({"t": text, "n": [{}, [text]]})).collect();
            let body = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) }.unwrap();
            let found = frames_of(body.as_bytes(), piece, 1 << 20).unwrap();
            let found: Vec<Json> = found.iter().map(|frame| serde_json::from_str(&frame.data).unwrap()).collect();
            prop_assert_eq!(found, list);
        }

        #[test]
        fn arbitrary_bytes_are_cut_alike(bytes in prop::collection::vec(any::<u8>(), 0..120), json in "[\\[\\]{}\":,a ]{0,60}", piece in 1_usize..9) {
            for bytes in [bytes.as_slice(), json.as_bytes()] {
                prop_assert_eq!(frames_of(bytes, piece, 64), frames_of(bytes, usize::MAX, 64));
            }
        }
    }

    /// Proves LLM-19.
    #[test]
    fn damage_and_size_are_refused() {
        assert!(matches!(frames_of(b"[{}, 7]", 1, 64), Err(FrameError::Damaged { .. })));
        assert!(matches!(frames_of(b"[{\"a\":", 1, 64), Err(FrameError::Damaged { .. })));
        assert_eq!(frames_of(b"[{\"\xff\":1}]", 1, 64), Err(FrameError::NotUtf8));
        let long = format!("[{{\"a\":\"{}\"}}]", "x".repeat(100));
        assert_eq!(frames_of(long.as_bytes(), 7, 64), Err(FrameError::TooLarge { limit: 64 }));
    }
}
