use footprint::json::JsonSink;

/// Deeper than this, JSON stays on one line: indenting a chain of a thousand steps would write a million
/// blanks.
const MAX_INDENT: usize = 12;

/// Indents compact JSON on its way to another sink, two spaces a level.
pub(super) struct Pretty<S> {
    sink: S,
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// A bracket was opened, and nothing followed yet.
    opened: bool,
}

impl<S: JsonSink> Pretty<S> {
    pub(super) fn new(sink: S) -> Self {
        Self { sink, depth: 0, in_string: false, escaped: false, opened: false }
    }

    pub(super) fn into_inner(self) -> S {
        self.sink
    }

    fn line(&mut self) {
        if self.depth <= MAX_INDENT {
            self.sink.put("\n");
            for _ in 0..self.depth {
                self.sink.put("  ");
            }
        }
    }

    /// What is written around one character of structure.
    fn structural(&mut self, c: char, text: &str) {
        match c {
            '}' | ']' => {
                let empty = std::mem::take(&mut self.opened);
                if !empty && self.depth <= MAX_INDENT {
                    self.depth -= 1;
                    self.line();
                } else {
                    self.depth = self.depth.saturating_sub(1);
                }
                self.sink.put(text);
            }
            _ => {
                if std::mem::take(&mut self.opened) {
                    self.line();
                }
                self.sink.put(text);
                match c {
                    '{' | '[' => {
                        self.depth += 1;
                        self.opened = true;
                    }
                    ',' => self.line(),
                    ':' if self.depth <= MAX_INDENT => self.sink.put(" "),
                    '"' => self.in_string = true,
                    _ => {}
                }
            }
        }
    }
}

impl<S: JsonSink> JsonSink for Pretty<S> {
    fn put(&mut self, text: &str) {
        let mut start = 0; // the beginning of what was not handed on yet
        for (at, c) in text.char_indices() {
            if self.in_string {
                match c {
                    _ if self.escaped => self.escaped = false,
                    '\\' => self.escaped = true,
                    '"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            if matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"') || self.opened {
                let end = at + c.len_utf8();
                self.sink.put(text.get(start..at).unwrap_or_default());
                self.structural(c, text.get(at..end).unwrap_or_default());
                start = end;
            }
        }
        self.sink.put(text.get(start..).unwrap_or_default());
    }
}
