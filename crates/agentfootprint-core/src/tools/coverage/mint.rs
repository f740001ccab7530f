//! Minting the shapes: two builders, and what they refuse (EVD-101).

use agentfootprint_record::events::shared::CoverageItem;
use footprint::value::{Str, Value};
use serde::{Serialize, Serializer};
use thiserror::Error;

use super::key;
use super::lists::{CANNOT_COVER, CoverageLists, said};
use super::notes::{ABSENCE_MARKER, ABSENCE_NOTE, COVERAGE_MARKER, COVERAGE_NOTE};

/// Begins an absence: the call looked for `what` and there is none.
///
/// A tool that could not look has nothing to say here; it returns an error.
pub fn absent(what: impl Into<Str>) -> AbsenceBuilder {
    AbsenceBuilder { what: what.into(), lists: CoverageLists::default(), try_instead: None }
}

/// Begins a covered result: `result` is what the tool found, any JSON; the lists say what it stands on.
///
/// The result may itself be an [`Absence`].
pub fn coverage(result: impl Serialize) -> CoverageBuilder {
    let result = Value::from_serialize(&result).map_err(|error| error.to_string());
    CoverageBuilder { result, lists: CoverageLists::default() }
}

/// Builds an [`Absence`]; see [`absent`].
#[derive(Clone, Debug)]
#[must_use = "an absence is minted by `build`"]
pub struct AbsenceBuilder {
    what: Str,
    lists: CoverageLists,
    try_instead: Option<Str>,
}

/// Builds a [`Covered`] result; see [`coverage`].
#[derive(Clone, Debug)]
#[must_use = "a covered result is minted by `build`"]
pub struct CoverageBuilder {
    result: Result<Value, String>,
    lists: CoverageLists,
}

macro_rules! lists {
    ($builder:ident) => {
        impl $builder {
            /// Ground that was looked at. Say what the call resolved, not what it was asked.
            pub fn checked(mut self, item: impl Into<CoverageItem>) -> Self {
                self.lists.checked.push(item.into());
                self
            }

            /// Ground this call could have reached and did not; a wider call may.
            pub fn not_checked(mut self, item: impl Into<CoverageItem>) -> Self {
                self.lists.not_checked.push(item.into());
                self
            }

            /// Ground no call to this tool reaches, and why.
            pub fn cannot_cover(mut self, what: impl Into<Str>, why: impl Into<Str>) -> Self {
                self.lists.cannot_cover.push(CoverageItem::from((what, why)));
                self
            }

            /// Adds lists that are data already, such as those of another result.
            pub fn lists(mut self, lists: CoverageLists) -> Self {
                self.lists.checked.extend(lists.checked);
                self.lists.not_checked.extend(lists.not_checked);
                self.lists.cannot_cover.extend(lists.cannot_cover);
                self
            }
        }
    };
}
lists!(AbsenceBuilder);
lists!(CoverageBuilder);

impl AbsenceBuilder {
    /// What to ask instead. A blank text is dropped.
    pub fn try_instead(mut self, text: impl AsRef<str>) -> Self {
        self.try_instead = said(text.as_ref());
        self
    }

    /// The absence.
    ///
    /// # Errors
    /// [`CoverageError`] when it does not say what was looked for and where; inside a tool, `?` makes it the call's error.
    pub fn build(self) -> Result<Absence, CoverageError> {
        let looked_for = said(&self.what).ok_or(CoverageError::BlankSubject)?;
        if self.lists.checked.is_empty() {
            return Err(CoverageError::NothingChecked);
        }
        let lists = settled("absent", self.lists)?;
        Ok(Absence { looked_for, lists, try_instead: self.try_instead })
    }
}

impl CoverageBuilder {
    /// The covered result.
    ///
    /// # Errors
    /// [`CoverageError`] when no list says anything, or an entry is malformed; inside a tool, `?` makes it the call's error.
    pub fn build(self) -> Result<Covered, CoverageError> {
        let result = self.result.map_err(|message| CoverageError::NotJson { message })?;
        if self.lists.is_empty() {
            return Err(CoverageError::NothingDeclared);
        }
        Ok(Covered { lists: settled("coverage", self.lists)?, result })
    }
}

/// The lists with trimmed texts, or the first entry at fault.
fn settled(function: &'static str, lists: CoverageLists) -> Result<CoverageLists, CoverageError> {
    let mut out: [Vec<CoverageItem>; 3] = Default::default();
    for ((list, items), settled) in lists.named().into_iter().zip(&mut out) {
        for (index, item) in items.iter().enumerate() {
            let what = said(&item.what).ok_or(CoverageError::BlankEntry { function, list, index })?;
            let why = match &item.why {
                Some(why) => Some(said(why).ok_or(CoverageError::BlankWhy { function, list, index })?),
                None if list == CANNOT_COVER => return Err(CoverageError::MissingWhy { function, index }),
                None => None,
            };
            settled.push(CoverageItem { what, why });
        }
    }
    let [checked, not_checked, cannot_cover] = out;
    Ok(CoverageLists { checked, not_checked, cannot_cover })
}

/// Why a shape could not be minted. Each names the function, the place, and what would satisfy it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CoverageError {
    /// An absence of nothing.
    #[error("absent(): what was looked for is blank; say what the call searched for")]
    BlankSubject,
    /// An absence that stands on nothing.
    #[error(
        "absent(): `checked` is empty; name the ground the call looked at. A tool that could not look has not found nothing: \
         it returns an error instead"
    )]
    NothingChecked,
    /// A coverage that says nothing.
    #[error(
        "coverage(): `checked`, `not_checked` and `cannot_cover` are all empty; add an entry to one of them, or return the \
         result without coverage"
    )]
    NothingDeclared,
    /// An entry without words.
    #[error("{function}(): `{list}[{index}]` is blank; name the ground in words")]
    BlankEntry {
        /// The function.
        function: &'static str,
        /// The list.
        list: &'static str,
        /// Position in the list, from 0.
        index: usize,
    },
    /// A reason without words.
    #[error(
        "{function}(): the `why` of `{list}[{index}]` is blank; give the reason in words{}",
        or_leave_out(list)
    )]
    BlankWhy {
        /// The function.
        function: &'static str,
        /// The list.
        list: &'static str,
        /// Position in the list, from 0.
        index: usize,
    },
    /// Ground that cannot be reached, without the reason.
    #[error("{function}(): `cannot_cover[{index}]` has no `why`; say why no call to this tool reaches it")]
    MissingWhy {
        /// The function.
        function: &'static str,
        /// Position in the list, from 0.
        index: usize,
    },
    /// A result that is not JSON.
    #[error("coverage(): the result is not JSON: {message}")]
    NotJson {
        /// What the serialiser said.
        message: String,
    },
}

fn or_leave_out(list: &str) -> &'static str {
    if list == CANNOT_COVER { "" } else { ", or leave it out" }
}

/// The answer "I looked, and there is nothing". A tool returns it like any other value.
#[derive(Clone, Debug, PartialEq)]
pub struct Absence {
    looked_for: Str,
    lists: CoverageLists,
    try_instead: Option<Str>,
}

impl Absence {
    /// What was looked for.
    pub fn looked_for(&self) -> &str {
        &self.looked_for
    }

    /// Where.
    pub fn lists(&self) -> &CoverageLists {
        &self.lists
    }

    /// What to ask instead.
    pub fn try_instead(&self) -> Option<&str> {
        self.try_instead.as_deref()
    }

    /// The shape the model reads and every recogniser knows.
    pub fn to_value(&self) -> Value {
        let mut out = footprint::value::Object::new();
        out.insert(ABSENCE_MARKER, Value::from(true));
        out.insert(key::OUTCOME, Value::from("nothing_found"));
        out.insert(key::LOOKED_FOR, Value::from(self.looked_for.clone()));
        self.lists.write_into(&mut out);
        out.insert(key::RETRY, Value::from(true));
        if let Some(text) = &self.try_instead {
            out.insert(key::TRY_INSTEAD, Value::from(text.clone()));
        }
        out.insert(key::NOTE, Value::from(ABSENCE_NOTE));
        Value::Object(out)
    }
}

/// A result with what it stands on. A tool returns it like any other value.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    lists: CoverageLists,
    result: Value,
}

impl Covered {
    /// What the tool found.
    pub fn result(&self) -> &Value {
        &self.result
    }

    /// What it stands on.
    pub fn lists(&self) -> &CoverageLists {
        &self.lists
    }

    /// The shape the model reads and every recogniser knows.
    pub fn to_value(&self) -> Value {
        let mut ledger = self.lists.to_object();
        ledger.insert(key::NOTE, Value::from(COVERAGE_NOTE));
        let mut out = footprint::value::Object::new();
        out.insert(COVERAGE_MARKER, Value::Object(ledger));
        out.insert(key::RESULT, self.result.clone());
        Value::Object(out)
    }
}

macro_rules! as_value {
    ($($shape:ident),+) => {$(
        impl Serialize for $shape {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().serialize(serializer)
            }
        }

        impl From<$shape> for Value {
            fn from(shape: $shape) -> Self {
                shape.to_value()
            }
        }
    )+};
}
as_value!(Absence, Covered);
