//! Writing answers and refusals.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use agentfootprint::debug::plain;
use agentfootprint::footprint::value::{Object, Value};
use agentfootprint::record::save_atomically;

use crate::input::{Format, Input};

/// Columns of a text answer.
const COLUMNS: usize = 100;

/// Why a command could not do its work: one sentence and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    sentence: String,
    code: u8,
}

impl Failure {
    /// The input cannot be used: exit code 2.
    pub(crate) fn unusable(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 2 }
    }

    /// The work was done and failed: exit code 1.
    pub(crate) fn failed(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), code: 1 }
    }

    #[cfg(test)]
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Says it on standard error.
    pub(crate) fn report(&self) -> ExitCode {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(io::stderr(), "agentfootprint: {}", plain(&self.sentence));
        ExitCode::from(self.code)
    }
}

/// Why standard output takes nothing more.
static ENDED: OnceLock<io::ErrorKind> = OnceLock::new();

/// Writes to standard output. When nobody reads any more the command goes on without a word, so that what it saves is saved.
pub(crate) fn say(text: impl AsRef<str>) {
    if ENDED.get().is_some() {
        return;
    }
    let mut out = io::stdout().lock();
    if let Err(error) = out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush()) {
        let _ = ENDED.set(error.kind());
    }
}

/// The exit code of a command that ended with `code`. A closed pipe is no failure, as readers such as `head` expect; output
/// that was lost otherwise is one.
pub(crate) fn ended(code: ExitCode) -> ExitCode {
    match ENDED.get() {
        None | Some(io::ErrorKind::BrokenPipe) => code,
        Some(kind) => Failure::failed(format!(
            "the output could not be written ({kind}); name a file with --out, or make room and run it again"
        ))
        .report(),
    }
}

/// An answer in both forms.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The command, for the schema id.
    pub(crate) command: &'static str,
    /// What the recording cannot say; comes first (REC-160).
    pub(crate) limits: Vec<String>,
    /// Lines of text.
    pub(crate) text: String,
    /// Members of the JSON object.
    pub(crate) json: Object,
}

impl Answer {
    pub(crate) fn new(command: &'static str, text: impl Into<String>) -> Self {
        Self { command, text: text.into(), ..Self::default() }
    }

    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.json.insert(key, value.into());
        self
    }

    pub(crate) fn limits(mut self, limits: impl IntoIterator<Item = String>) -> Self {
        self.limits.extend(limits);
        self
    }

    /// Writes it as the input asks, bounded.
    pub(crate) fn give(self, input: &Input) -> Result<(), Failure> {
        match input.format {
            Format::Text => {
                let mut text = String::new();
                if !self.limits.is_empty() {
                    text.push_str(&format!("⚠ limits of this record: {}\n", plain(&self.limits.join(", "))));
                }
                text.push_str(&self.text);
                write(input, &bounded(&text, input.limit.max(1), colours(input)))
            }
            Format::Json => {
                let mut out = Object::new();
                out.insert("schema", Value::from(format!("agentfootprint.cli.{}/1", self.command)));
                out.insert("limits", self.limits.iter().map(Value::from).collect::<Vec<_>>().into());
                self.json.iter().for_each(|(key, value)| {
                    out.insert(key.clone(), value.clone());
                });
                write(input, &format!("{}\n", Value::Object(out)))
            }
        }
    }
}

/// Writes text that is for another program: neither wrapped nor cut.
pub(crate) fn write(input: &Input, text: &str) -> Result<(), Failure> {
    let Some(path) = &input.out else {
        say(text);
        return Ok(());
    };
    save(path, text.as_bytes())
}

/// Writes a whole file or nothing.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    save_atomically(path, |file| file.write_all(bytes))
        .map_err(|error| Failure::unusable(format!("{} cannot be written: {error}", path.display())))
}

/// Colour is for people at a terminal who did not ask for none.
fn colours(input: &Input) -> bool {
    input.out.is_none() && io::stdout().is_terminal() && colours_wanted()
}

/// Whether nobody asked for no colours.
pub(crate) fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// At most `limit` lines of at most 100 columns; what is left out is counted.
fn bounded(text: &str, limit: usize, colours: bool) -> String {
    let mut lines = text.lines().flat_map(wrapped);
    let mut out = String::new();
    for line in lines.by_ref().take(limit) {
        let marked = match () {
            () if colours && line.trim_start().starts_with('⚠') => format!("\u{1b}[33m{line}\u{1b}[0m"),
            () if colours && line.ends_with(':') && !line.starts_with(' ') => {
                format!("\u{1b}[1m{line}\u{1b}[0m")
            }
            () => line,
        };
        out.push_str(&marked);
        out.push('\n');
    }
    let rest = lines.count();
    if rest > 0 {
        out.push_str(&format!("… {rest} more lines; raise --limit to see them\n"));
    }
    out
}

/// A line in pieces of at most 100 columns, made harmless for a terminal; later pieces are indented below the first.
fn wrapped(line: &str) -> Vec<String> {
    let line = plain(line);
    if line.chars().count() <= COLUMNS {
        return vec![line];
    }
    let indent = " ".repeat((line.chars().take_while(|c| *c == ' ').count() + 4).min(COLUMNS / 2));
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut width = 0;
    // Where the piece may be broken: after its last space.
    let mut space: Option<(usize, usize)> = None;
    for character in line.chars() {
        if width == COLUMNS {
            let (rest, rest_width) = match space.take() {
                Some((at, columns)) if columns > COLUMNS / 2 => (piece.split_off(at), width - columns),
                _ => (String::new(), 0),
            };
            pieces.push(piece.trim_end().to_owned());
            piece = format!("{indent}{rest}");
            width = indent.len() + rest_width;
        }
        piece.push(character);
        width += 1;
        if character == ' ' {
            space = Some((piece.len(), width));
        }
    }
    pieces.push(piece);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves REC-160.
    #[test]
    fn text_is_bounded_in_lines_and_columns() {
        let text = format!("{}\nlast\n", "word ".repeat(100));
        let shown = bounded(&text, 3, false);
        assert_eq!(shown.lines().count(), 4);
        assert!(shown.ends_with("more lines; raise --limit to see them\n"));
        for line in bounded(&format!("  {}\n", "ü".repeat(1000)), 50, false).lines() {
            assert!(line.chars().count() <= COLUMNS);
        }
        let whole: String = bounded(&text, 50, false).split_whitespace().collect();
        assert_eq!(whole, format!("{}last", "word".repeat(100)));
    }

    #[test]
    fn escapes_and_direction_marks_never_reach_the_terminal() {
        let shown = bounded("a\u{1b}[2J\u{202e}b\u{7}", 5, false);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}') && !shown.contains('\u{7}'));
    }
}
