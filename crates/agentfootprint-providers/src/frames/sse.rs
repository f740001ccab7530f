use super::{Frame, FrameError, Framer};

/// Frames of `text/event-stream`, as the HTML standard cuts them: lines end with CR, LF or CRLF, an empty line ends
/// an event, `data` lines are joined by LF, lines starting with a colon are comments, a BOM at the start is skipped.
///
/// One thing is deliberately more generous: [`Framer::finish`] gives out an event whose closing empty line is
/// missing, because several servers end their stream that way.
///
/// ```
/// use agentfootprint_providers::frames::{Framer, SseFramer};
///
/// let mut framer = SseFramer::new(1024);
/// let mut frames = Vec::new();
/// framer.push(b": keep-alive\r\nevent: delta\r\ndata: {\"a\"", &mut frames)?;
/// framer.push(b":1}\r\n\r\n", &mut frames)?;
/// assert_eq!(frames[0].event, "delta");
/// assert_eq!(frames[0].data, r#"{"a":1}"#);
/// # Ok::<(), agentfootprint_providers::frames::FrameError>(())
/// ```
#[derive(Debug)]
pub struct SseFramer {
    limit: usize,
    line: Vec<u8>,
    event: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte ended a line with CR; an LF right after belongs to it.
    after_cr: bool,
    /// No line has been completed yet, so a BOM may stand here.
    first_line: bool,
}

const BOM: &[u8] = &[0xEF, 0xBB, 0xBF];

impl SseFramer {
    /// A framer that refuses events larger than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        SseFramer {
            limit,
            line: Vec::new(),
            event: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
        }
    }

    /// Ends a line: what was kept of it from earlier bytes, and `rest`.
    fn end_line(&mut self, rest: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        if self.line.is_empty() {
            return self.take_line(rest, out); // the common line, whole in one piece: nothing is copied
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(rest);
        self.take_line(&line, out)?;
        line.clear();
        self.line = line; // keep the allocation
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let is_first = std::mem::take(&mut self.first_line);
        let line = line.strip_prefix(BOM).filter(|_| is_first).unwrap_or(line);
        if line.is_empty() {
            return self.dispatch(out);
        }
        self.field(line);
        Ok(())
    }

    fn field(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, rest) = line.split_at_checked(colon).unwrap_or((line, &[]));
        let value = rest.strip_prefix(b":").unwrap_or(rest);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => value.clone_into(&mut self.event),
            // Not of the standard: older llama.cpp servers report an error in a field of this name.
            b"error" if value.starts_with(b"{") => {
                b"error".as_slice().clone_into(&mut self.event);
                self.has_data = true;
                value.clone_into(&mut self.data);
            }
            _ => {} // comments (empty name), id, retry, unknown fields
        }
    }

    fn dispatch(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return Ok(());
        }
        let text = |bytes| String::from_utf8(bytes).map_err(|_| FrameError::NotUtf8);
        out.push(Frame { event: text(event)?, data: text(data)? });
        Ok(())
    }
}

impl Framer for SseFramer {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (line, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            if self.line.len() + self.data.len() + line.len() > self.limit {
                return Err(FrameError::TooLarge { limit: self.limit });
            }
            match tail.first() {
                None => self.line.extend_from_slice(line),
                Some(end) => {
                    self.after_cr = *end == b'\r';
                    self.end_line(line, out)?;
                }
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        if !self.line.is_empty() {
            self.end_line(&[], out)?;
        }
        self.dispatch(out)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, StreamExt, stream};
    use proptest::prelude::*;

    use super::*;

    fn frames_of(bytes: &[u8], piece: usize) -> Result<Vec<Frame>, FrameError> {
        let mut framer = SseFramer::new(1 << 20);
        let mut out = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            framer.push(piece, &mut out)?;
        }
        framer.finish(&mut out)?;
        Ok(out)
    }

    /// The same bytes through the `eventsource-stream` crate, with the closing empty line added.
    fn oracle(bytes: &[u8]) -> Option<Vec<Frame>> {
        use eventsource_stream::Eventsource;
        let whole = [bytes, b"\n\n"].concat();
        let events = stream::iter([Ok::<_, std::io::Error>(whole)])
            .eventsource()
            .collect::<Vec<_>>()
            .now_or_never()?;
        events
            .into_iter()
            .map(|event| {
                let event = event.ok()?;
                let name = if event.event == "message" { String::new() } else { event.event };
                Some(Frame { event: name, data: event.data })
            })
            .collect()
    }

    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let line = prop_oneof![
            Just("data: {\"x\":\"é😀\"}".to_owned()),
            Just("data:".to_owned()),
            Just("data".to_owned()),
            Just("data:  two".to_owned()),
            Just("event: delta".to_owned()),
            Just("event".to_owned()),
            Just(": comment".to_owned()),
            Just("id: 7".to_owned()),
            Just("retry: 10".to_owned()),
            Just("other: x".to_owned()),
            Just(String::new()),
            "[a-z: ]{0,12}",
        ];
        let ending = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
        prop::collection::vec((line, ending), 0..24).prop_map(|lines| {
            lines.into_iter().flat_map(|(line, end)| [line.into_bytes(), end.into()].concat()).collect()
        })
    }

    proptest! {
        /// Proves LLM-15.
        #[test]
        fn cutting_the_bytes_elsewhere_changes_nothing(bytes in lines(), piece in 1_usize..9) {
            prop_assert_eq!(frames_of(&bytes, piece), frames_of(&bytes, usize::MAX));
        }

        /// Our framer and the `eventsource-stream` crate agree on what an event is.
        #[test]
        fn events_are_those_of_the_standard(bytes in lines()) {
            prop_assert_eq!(frames_of(&bytes, usize::MAX).ok(), oracle(&bytes));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), piece in 1_usize..9) {
            prop_assert_eq!(frames_of(&bytes, piece), frames_of(&bytes, usize::MAX));
        }
    }

    #[test]
    fn boms_comments_and_open_ends() {
        let frames = frames_of("\u{feff}data: a\n\n:c\n\ndata: b\ndata: c".as_bytes(), 1).unwrap();
        assert_eq!(frames.iter().map(|frame| frame.data.as_str()).collect::<Vec<_>>(), ["a", "b\nc"]);
        assert_eq!(frames_of(b"data: \xff\n\n", 1), Err(FrameError::NotUtf8));
    }

    /// Proves LLM-19.
    #[test]
    fn an_endless_line_is_refused_before_it_is_buffered() {
        let mut framer = SseFramer::new(100);
        let mut out = Vec::new();
        framer.push(b"data: ", &mut out).unwrap();
        let mut fed = 0;
        let error = loop {
            fed += 10;
            if let Err(error) = framer.push(&[b'x'; 10], &mut out) {
                break error;
            }
            assert!(fed < 200);
        };
        assert_eq!(error, FrameError::TooLarge { limit: 100 });
        let mut framer = SseFramer::new(100);
        let many: Vec<u8> = b"data: 0123456789\n".repeat(20);
        assert!(framer.push(&many, &mut out).is_err(), "many data lines of one event are one frame");
        let mut framer = SseFramer::new(100);
        let many: Vec<u8> = b"data: 0123456789\n\n".repeat(20);
        assert!(framer.push(&many, &mut out).is_ok(), "many events are many frames");
    }
}
