//! Reading a whole value.

use super::pool::{Made, PartError, Special};
use super::reader::{JsonReader, RECORDED_DEPTH, TokenKind};
use super::{JsonError, JsonErrorKind};
use crate::value::{Array, Object, Str, Value};

/// Something being read, and the key it stands under.
#[derive(Debug)]
pub(super) enum Built {
    Array {
        key: Option<Str>,
        items: Vec<Value>,
    },
    Object {
        key: Option<Str>,
        entries: Vec<(Str, Value)>,
    },
    /// A list that begins as part `index`; `array` once that is known.
    List {
        key: Option<Str>,
        index: usize,
        take: usize,
        array: Option<Array>,
    },
    /// A part of the pool; `before` is what was read before it, in bytes.
    Part {
        key: Option<Str>,
        index: usize,
        before: u64,
    },
}

impl<'a> JsonReader<'a> {
    /// Reads the next value whole. Its own nesting is limited to [`RECORDED_DEPTH`].
    pub fn read_value(&mut self) -> Result<Value, JsonError> {
        self.read_value_within(RECORDED_DEPTH)
    }

    /// Reads the next value whole, nested at most `limit` levels deep. After a refusal for depth the reader
    /// stands inside the value.
    pub fn read_value_within(&mut self, limit: usize) -> Result<Value, JsonError> {
        let mut open = std::mem::take(&mut self.building);
        open.clear();
        let read = self.read_into(limit, &mut open);
        self.building = open;
        read
    }

    fn read_into(&mut self, limit: usize, open: &mut Vec<Built>) -> Result<Value, JsonError> {
        let mut key: Option<Str> = None;
        // About how many bytes of JSON the value stands for; only counted where parts are shared.
        let mut read = 0_u64;
        loop {
            let done = if self.follow.is_some()
                && let Some(special) = self.special_value()?
            {
                self.begin_special(special, &mut key, open, &mut read)?
            } else {
                match self.peek()? {
                    TokenKind::Object | TokenKind::Array if open.len() >= limit => {
                        return self.scanner.error(JsonErrorKind::TooDeep { limit });
                    }
                    TokenKind::Object => {
                        self.begin_object()?;
                        open.push(Built::Object { key: key.take(), entries: Vec::new() });
                        None
                    }
                    TokenKind::Array => {
                        self.begin_array()?;
                        open.push(Built::Array { key: key.take(), items: Vec::new() });
                        None
                    }
                    TokenKind::String => Some(Value::String(self.read_string()?.into())),
                    TokenKind::Number => Some(Value::Number(self.read_number()?)),
                    TokenKind::Bool => Some(Value::Bool(self.read_bool()?)),
                    TokenKind::Null => {
                        self.read_null()?;
                        Some(Value::Null)
                    }
                }
            };
            if self.follow.is_some() {
                read = read.saturating_add(own_bytes(done.as_ref()));
            }
            let mut done = done.map(|value| (key.take(), value));
            // Hang the finished value into its container; close containers as long as they end here.
            loop {
                match (done.take(), open.last_mut()) {
                    (Some((_, value)), None) => return self.handed_out(value, read),
                    (Some((_, value)), Some(Built::Array { items, .. })) => items.push(value),
                    (Some((Some(key), value)), Some(Built::Object { entries, .. })) => {
                        entries.push((key, value));
                    }
                    (Some((_, value)), Some(Built::List { array: Some(array), .. })) => array.push(value),
                    (Some((_, value)), Some(Built::List { index, take, array, .. })) => {
                        *array = Some(self.beginning(&value, *index, *take)?);
                    }
                    (Some((_, value)), Some(Built::Part { index, before, .. })) => {
                        let made = Made { value: value.clone(), expanded: read.saturating_sub(*before) };
                        if let Some(follow) = &self.follow {
                            follow.pool.keep(*index, made);
                        }
                        if let Some(Built::Part { key, .. }) = open.pop() {
                            done = Some((key, value));
                        }
                        continue;
                    }
                    // A value inside a map always comes with its key.
                    (Some((None, _)), Some(Built::Object { .. })) | (None, _) => {}
                }
                match open.last() {
                    Some(Built::Array { .. } | Built::List { .. }) if self.next_item()? => break,
                    Some(Built::Object { .. }) => {
                        if let Some(text) = self.next_key()? {
                            read = read.saturating_add(text.len() as u64 + 3);
                            key = Some(self.share_key(&text));
                            break;
                        }
                    }
                    // It has nothing yet: the value comes next.
                    Some(Built::Part { .. }) => break,
                    _ => {}
                }
                done = open.pop().map(Built::finish);
                if let Some((_, value)) = &done
                    && self.follow.is_some()
                    && value.depth() > limit
                {
                    return self.scanner.error(JsonErrorKind::TooDeep { limit });
                }
            }
        }
    }

    /// What the next value points at, if it is a pointer.
    fn special_value(&mut self) -> Result<Option<Special>, JsonError> {
        self.at_value()?;
        self.special()
    }

    /// Begins what a pointer points at; the value, when it is known.
    fn begin_special(
        &mut self,
        special: Special,
        key: &mut Option<Str>,
        open: &mut Vec<Built>,
        read: &mut u64,
    ) -> Result<Option<Value>, JsonError> {
        match special {
            Special::Escape { content } => {
                self.enter_escape(content);
                // The map in it comes next, and is no pointer.
                self.begin_object_or_other(key, open)
            }
            Special::Reference { index, end } => self.part(index, end, key, open, read),
            Special::List { index, take, tail } => {
                self.begin_list_tail(tail);
                open.push(Built::List { key: key.take(), index, take, array: None });
                self.value_follows();
                self.part(index, tail, &mut None, open, read)
            }
        }
    }

    /// The value in an escape.
    fn begin_object_or_other(
        &mut self,
        key: &mut Option<Str>,
        open: &mut Vec<Built>,
    ) -> Result<Option<Value>, JsonError> {
        Ok(match self.peek()? {
            TokenKind::Object => {
                self.begin_object()?;
                open.push(Built::Object { key: key.take(), entries: Vec::new() });
                None
            }
            TokenKind::Array => {
                self.begin_array()?;
                open.push(Built::Array { key: key.take(), items: Vec::new() });
                None
            }
            TokenKind::String => Some(Value::String(self.read_string()?.into())),
            TokenKind::Number => Some(Value::Number(self.read_number()?)),
            TokenKind::Bool => Some(Value::Bool(self.read_bool()?)),
            TokenKind::Null => {
                self.read_null()?;
                Some(Value::Null)
            }
        })
    }

    /// A part: the value when it was made before, else its reading is begun.
    fn part(
        &mut self,
        index: usize,
        end: usize,
        key: &mut Option<Str>,
        open: &mut Vec<Built>,
        read: &mut u64,
    ) -> Result<Option<Value>, JsonError> {
        let made = self.follow.as_ref().and_then(|follow| follow.pool.made(index));
        match made {
            Some(made) => {
                self.scanner.go(end);
                self.after_value()?;
                *read = read.saturating_add(made.expanded);
                Ok(Some(made.value))
            }
            None => {
                self.enter_part(index, end)?;
                open.push(Built::Part { key: key.take(), index, before: *read });
                Ok(None)
            }
        }
    }

    /// The first items of a list that another begins as.
    fn beginning(&self, value: &Value, index: usize, take: usize) -> Result<Array, JsonError> {
        let error = match value {
            Value::Array(array) if take <= array.len() => return Ok(array.prefix(take)),
            Value::Array(array) => PartError::TakesTooMany { index, take, len: array.len() },
            _ => PartError::NoList { index },
        };
        self.scanner.error(JsonErrorKind::Part(error))
    }

    fn handed_out(&self, value: Value, read: u64) -> Result<Value, JsonError> {
        match self.follow.as_ref().and_then(|follow| follow.pool.hand_out(read)) {
            Some(kind) => self.scanner.error(kind),
            None => Ok(value),
        }
    }
}

/// About the length of what was just read: a scalar, or the brackets of a container.
fn own_bytes(done: Option<&Value>) -> u64 {
    match done {
        Some(Value::String(text)) => text.len() as u64 + 3,
        Some(Value::Array(_) | Value::Object(_)) => 0, // a part, counted already
        Some(_) => 6,
        None => 2,
    }
}

impl Built {
    fn finish(self) -> (Option<Str>, Value) {
        match self {
            Self::Array { key, items } => (key, Value::Array(Array::from(items))),
            Self::Object { key, entries } => (key, Value::Object(entries.into_iter().collect::<Object>())),
            Self::List { key, array, .. } => (key, Value::Array(array.unwrap_or_default())),
            Self::Part { key, .. } => (key, Value::Null),
        }
    }
}
