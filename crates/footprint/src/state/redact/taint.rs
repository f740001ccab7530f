use super::Redaction;
use super::scrub::Form;
use crate::state::Path;
use crate::value::{Object, Value};

/// A value a mapper read from the state on the other side.
#[derive(Debug, Clone, PartialEq)]
pub struct MapperRead {
    /// Where it stood.
    pub path: Path,
    /// What stood there.
    pub value: Value,
}

impl Redaction<'_> {
    /// Which paths a mapper produced must be redacted because of what it read (ENG-95): a renamed copy of a
    /// secret is the same secret.
    ///
    /// A mapper that read nothing selected taints nothing. A value handed through unchanged passes on exactly
    /// what is redacted in it. Any other produced value stays clear only when it is, unchanged, a clear value
    /// the mapper read: the rest may have been computed from the secret.
    ///
    /// ```
    /// use footprint::state::{MapperRead, Marks, Path, Redaction, RedactionPolicy, RedactionRule};
    /// use footprint::value;
    /// let rule = RedactionRule::new(RedactionPolicy::new().fields("user", ["ssn"]));
    /// let marks = Marks::default();
    /// let user = value!({ "name": "Ann", "ssn": "123" });
    /// let reads = [
    ///     MapperRead { path: Path::key("user"), value: user.clone() },
    ///     MapperRead { path: Path::key("lang"), value: value!("nl") },
    /// ];
    /// let produced = value!({ "l": "nl", "who": user, "last": "3" });
    /// let tainted = Redaction::new(Some(&rule), &marks).tainted(&reads, produced.as_object().unwrap());
    /// assert_eq!(tainted, [Path::dotted("who.ssn"), Path::key("last")]);
    /// ```
    pub fn tainted(&self, reads: &[MapperRead], produced: &Object) -> Vec<Path> {
        if self.is_idle() {
            return Vec::new();
        }
        let (selected, clear): (Vec<&MapperRead>, Vec<&MapperRead>) =
            reads.iter().partition(|read| self.touches(&read.path));
        if selected.is_empty() {
            return Vec::new();
        }
        let mut tainted = Vec::new();
        for (key, value) in produced {
            if clear.iter().any(|read| is_part_of(value, &read.value)) {
                continue;
            }
            match selected.iter().find(|read| read.value == *value) {
                Some(source) => {
                    let above = source.path.len();
                    self.in_form(&source.path, value, Form::Served, &mut |found| {
                        let below = found.segments().get(above..).unwrap_or_default();
                        tainted.push(Path::key(key.clone()).join(&Path::new(below.iter().cloned())));
                    });
                }
                None => tainted.push(Path::key(key.clone())),
            }
        }
        tainted
    }
}

/// Whether a produced value is a value that was read, or an item of it.
fn is_part_of(value: &Value, read: &Value) -> bool {
    read == value
        || match read {
            Value::Object(entries) => entries.values().any(|part| part == value),
            Value::Array(items) => items.iter().any(|part| part == value),
            _ => false,
        }
}
