use std::fmt::{self, Write as _};
use std::io;

use smallvec::SmallVec;

use super::scan::plain_len;
use crate::value::{ArrayIter, ObjectIter, Value};

/// Where a [`JsonWriter`] puts its text.
pub trait JsonSink {
    /// Adds text at the end.
    fn put(&mut self, text: &str);

    /// Takes a whole list, map or text in place of its JSON; `false` when it wants the JSON.
    ///
    /// A sink that keeps repeated parts once asks for the value: what is shared in memory is known there without
    /// writing and comparing it.
    fn put_value(&mut self, value: &Value) -> bool {
        let _ = value;
        false
    }

    /// Takes JSON text of foreign origin, a whole value; `false` when it may be put as any other text.
    fn put_raw(&mut self, json: &str) -> bool {
        let _ = json;
        false
    }
}

impl JsonSink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl JsonSink for Vec<u8> {
    fn put(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

/// A sink over anything that takes bytes. The first failure ends writing; [`IoSink::finish`] reports it.
///
/// ```
/// use footprint::json::{IoSink, JsonWriter};
/// let mut writer = JsonWriter::new(IoSink::new(Vec::<u8>::new()));
/// writer.value(&footprint::value!([1]));
/// assert_eq!(writer.into_sink().finish()?, b"[1]");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct IoSink<W: io::Write> {
    out: io::BufWriter<W>,
    failure: Option<io::Error>,
}

impl<W: io::Write> IoSink<W> {
    /// A buffered sink over a writer.
    pub fn new(out: W) -> Self {
        Self { out: io::BufWriter::new(out), failure: None }
    }

    /// Flushes and gives the writer back, or the first failure.
    pub fn finish(self) -> io::Result<W> {
        match self.failure {
            Some(failure) => Err(failure),
            None => self.out.into_inner().map_err(io::IntoInnerError::into_error),
        }
    }
}

impl<W: io::Write> JsonSink for IoSink<W> {
    fn put(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = io::Write::write_all(&mut self.out, text.as_bytes()).err();
        }
    }
}

impl<S: JsonSink + ?Sized> JsonSink for &mut S {
    fn put(&mut self, text: &str) {
        (**self).put(text);
    }

    fn put_value(&mut self, value: &Value) -> bool {
        (**self).put_value(value)
    }

    fn put_raw(&mut self, json: &str) -> bool {
        (**self).put_raw(json)
    }
}

/// Writes compact JSON with an explicit stack; see the [module description](super).
///
/// Separators are put where they belong. Calls out of place (a second value under one key) give text that
/// is not JSON; the writer does not check its caller.
#[derive(Debug)]
pub struct JsonWriter<S> {
    sink: S,
    /// Whether a separator stands before the next entry.
    separate: bool,
}

impl<S: JsonSink> JsonWriter<S> {
    /// A writer at the start of a text.
    pub fn new(sink: S) -> Self {
        Self { sink, separate: false }
    }

    /// Gives the sink back.
    pub fn into_sink(self) -> S {
        self.sink
    }

    fn entry(&mut self) {
        if self.separate {
            self.sink.put(",");
        }
        self.separate = true;
    }

    /// As `entry`, and the quote a string or key begins with.
    fn quote(&mut self) {
        self.sink.put(if self.separate { ",\"" } else { "\"" });
        self.separate = true;
    }

    /// Opens a map.
    pub fn begin_object(&mut self) {
        self.begin("{");
    }

    /// Closes a map.
    pub fn end_object(&mut self) {
        self.end("}");
    }

    /// Opens a list.
    pub fn begin_array(&mut self) {
        self.begin("[");
    }

    /// Closes a list.
    pub fn end_array(&mut self) {
        self.end("]");
    }

    fn empty(&mut self, brackets: &str) {
        self.entry();
        self.sink.put(brackets);
    }

    fn begin(&mut self, bracket: &str) {
        self.entry();
        self.sink.put(bracket);
        self.separate = false;
    }

    fn end(&mut self, bracket: &str) {
        self.sink.put(bracket);
        self.separate = true;
    }

    /// Writes a key; its value must follow.
    pub fn key(&mut self, key: &str) {
        self.quote();
        put_escaped(&mut self.sink, key);
        self.sink.put("\":");
        self.separate = false;
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        self.quote();
        put_escaped(&mut self.sink, text);
        self.sink.put("\"");
    }

    /// Writes the display form of something as a string, without building it first.
    pub fn text(&mut self, shown: &dyn fmt::Display) {
        self.quote();
        // The adapter never fails, so the only error left is one of `shown` itself: its text ends there.
        let _ended_early = write!(Escaping(&mut self.sink), "{shown}");
        self.sink.put("\"");
    }

    /// Writes a boolean.
    pub fn bool(&mut self, value: bool) {
        self.entry();
        self.sink.put(if value { "true" } else { "false" });
    }

    /// Writes an unsigned integer.
    pub fn uint(&mut self, value: u64) {
        self.entry();
        let _infallible = write!(Plain(&mut self.sink), "{value}");
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.entry();
        self.sink.put("null");
    }

    /// Writes text that is JSON already.
    pub fn raw(&mut self, json: &str) {
        self.entry();
        if !self.sink.put_raw(json) {
            self.sink.put(json);
        }
    }

    /// Whether the sink took the value itself.
    fn handed_over(&mut self, value: &Value) -> bool {
        self.entry();
        let taken = self.sink.put_value(value);
        // Not taken: what is written next is this entry, whose separator stands there already.
        self.separate = taken;
        taken
    }

    /// Writes a whole value.
    pub fn value(&mut self, value: &Value) {
        enum Open<'a> {
            Array(ArrayIter<'a>),
            Object(ObjectIter<'a>),
        }
        let mut open: SmallVec<[Open<'_>; 2]> = SmallVec::new();
        let mut next = Some(value);
        loop {
            match next.take() {
                Some(value @ (Value::Array(_) | Value::Object(_) | Value::String(_)))
                    if self.handed_over(value) => {}
                Some(Value::Array(items)) if items.is_empty() => self.empty("[]"),
                Some(Value::Object(entries)) if entries.is_empty() => self.empty("{}"),
                Some(Value::Array(items)) => {
                    self.begin_array();
                    open.push(Open::Array(items.iter()));
                }
                Some(Value::Object(entries)) => {
                    self.begin_object();
                    open.push(Open::Object(entries.iter()));
                }
                Some(Value::Null) => self.null(),
                Some(Value::Bool(value)) => self.bool(*value),
                Some(Value::String(text)) => self.string(text),
                Some(Value::Number(number)) => {
                    self.entry();
                    let _infallible = write!(Plain(&mut self.sink), "{number}");
                }
                None => {}
            }
            match open.last_mut() {
                None => return,
                Some(Open::Array(items)) => match items.next() {
                    Some(item) => next = Some(item),
                    None => {
                        self.end_array();
                        open.pop();
                    }
                },
                Some(Open::Object(entries)) => match entries.next() {
                    Some((key, value)) => {
                        self.key(key);
                        next = Some(value);
                    }
                    None => {
                        self.end_object();
                        open.pop();
                    }
                },
            }
        }
    }
}

struct Plain<'a, S>(&'a mut S);

impl<S: JsonSink> fmt::Write for Plain<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.put(text);
        Ok(())
    }
}

struct Escaping<'a, S>(&'a mut S);

impl<S: JsonSink> fmt::Write for Escaping<'_, S> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        put_escaped(self.0, text);
        Ok(())
    }
}

fn put_escaped(sink: &mut impl JsonSink, text: &str) {
    let mut start = 0;
    let plain = plain_len(text.as_bytes());
    for (at, byte) in text.bytes().enumerate().skip(plain) {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => "",
            _ => continue,
        };
        sink.put(text.get(start..at).unwrap_or_default());
        if escape.is_empty() {
            let _infallible = write!(Plain(sink), "\\u{byte:04x}");
        } else {
            sink.put(escape);
        }
        start = at + 1;
    }
    sink.put(text.get(start..).unwrap_or_default());
}
