use super::{Frame, FrameError, Framer};

/// Frames of newline-delimited JSON: one frame per non-blank line.
///
/// ```
/// use agentfootprint_providers::frames::{Framer, NdjsonFramer};
///
/// let mut framer = NdjsonFramer::new(1024);
/// let mut frames = Vec::new();
/// framer.push(b"{\"a\":1}\n\n{\"b\"", &mut frames)?;
/// framer.push(b":2}", &mut frames)?;
/// framer.finish(&mut frames)?;
/// assert_eq!(frames.len(), 2);
/// # Ok::<(), agentfootprint_providers::frames::FrameError>(())
/// ```
#[derive(Debug)]
pub struct NdjsonFramer {
    limit: usize,
    line: Vec<u8>,
}

impl NdjsonFramer {
    /// A framer that refuses lines longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        NdjsonFramer { limit, line: Vec::new() }
    }

    fn end_line(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8(line).map_err(|_| FrameError::NotUtf8)?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            out.push(Frame { event: String::new(), data: text.to_owned() });
        }
        Ok(())
    }
}

impl Framer for NdjsonFramer {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), FrameError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            if self.line.len() + line.len() > self.limit {
                return Err(FrameError::TooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(line);
            if end.is_some() {
                self.end_line(out)?;
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<Frame>) -> Result<(), FrameError> {
        self.end_line(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames_of(bytes: &[u8], piece: usize) -> Result<Vec<Frame>, FrameError> {
        let mut framer = NdjsonFramer::new(64);
        let mut out = Vec::new();
        for piece in bytes.chunks(piece) {
            framer.push(piece, &mut out)?;
        }
        framer.finish(&mut out)?;
        Ok(out)
    }

    proptest! {
        /// Proves LLM-15.
        #[test]
        fn cutting_the_bytes_elsewhere_changes_nothing(text in "([a-z{}é😀 ]{0,12}(\r?\n)?){0,8}", piece in 1_usize..9) {
            let whole = frames_of(text.as_bytes(), text.len().max(1));
            prop_assert_eq!(frames_of(text.as_bytes(), piece), whole);
        }
    }

    /// Proves LLM-19.
    #[test]
    fn long_lines_are_refused() {
        assert_eq!(frames_of(&[b'x'; 65], 5), Err(FrameError::TooLarge { limit: 64 }));
    }
}
