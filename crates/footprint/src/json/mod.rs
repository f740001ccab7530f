//! JSON text, read and written without recursion.
//!
//! A recording nests as deep as its run was long (each step hangs in its predecessor's `next`), so neither
//! the reader nor the writer may use the native stack for nesting. Both keep one bit per open container.
//!
//! The parser is our own and not a crate's, because a recording written by JavaScript may hold half a
//! surrogate pair (a preview cut in the middle), which the pull parsers on the registry refuse; here it reads as
//! U+FFFD and the rest of the recording stays readable.
//!
//! ```
//! use footprint::json::{JsonReader, JsonWriter};
//!
//! let mut reader = JsonReader::new(br#"{"name":"tea","qty":[1,2]}"#);
//! reader.begin_object()?;
//! while let Some(key) = reader.next_key()? {
//!     match &*key {
//!         "qty" => {
//!             reader.begin_array()?;
//!             while reader.next_item()? {
//!                 reader.read_value()?;
//!             }
//!         }
//!         _ => reader.skip_value()?,
//!     }
//! }
//! reader.finish()?;
//!
//! let mut text = String::new();
//! let mut writer = JsonWriter::new(&mut text);
//! writer.begin_object();
//! writer.key("qty");
//! writer.value(&footprint::value!([1, 2]));
//! writer.end_object();
//! assert_eq!(text, r#"{"qty":[1,2]}"#);
//! # Ok::<(), footprint::json::JsonError>(())
//! ```

mod build;
mod pool;
mod reader;
mod scan;
mod shared;
mod writer;

pub use pool::{Dialect, ESC_KEY, LIST_KEY, PartError, Pool, REF_KEY, Raw};
pub use reader::{JsonReader, Limits, RECORDED_DEPTH, Token, TokenKind};
pub use writer::{IoSink, JsonSink, JsonWriter};

/// Why a text could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    /// Byte offset in the text.
    pub offset: usize,
    /// What is wrong there.
    pub kind: JsonErrorKind,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text ended inside a value.
    #[error("unexpected end of text")]
    UnexpectedEnd,
    /// Something else was expected.
    #[error("expected {expected}")]
    Expected {
        /// What was expected.
        expected: &'static str,
    },
    /// A value of another kind was asked for.
    #[error("expected {expected}, found {found}")]
    WrongKind {
        /// What was asked for.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A number that is no JSON number, or whose magnitude is not a finite double.
    #[error("invalid number")]
    InvalidNumber,
    /// A string with an invalid escape or an unescaped control character.
    #[error("invalid string")]
    InvalidString,
    /// Bytes that are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// More after the value.
    #[error("unexpected text after the value")]
    TrailingText,
    /// Nested deeper than the reader's limit.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Longer than the reader's limit.
    #[error("longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// What the values stand for, written out, is longer than the limit.
    #[error("stands for more than {limit} bytes")]
    ExpandsTooMuch {
        /// The limit.
        limit: u64,
    },
    /// A pointer that cannot be followed.
    #[error(transparent)]
    Part(PartError),
}

#[cfg(test)]
mod tests;
