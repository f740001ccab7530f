//! Coverage: saying what a result stands on (EVD §2).
//!
//! "I looked and there is nothing" must not share a shape with "I could not look": the second is an error, the first is an
//! [`Absence`]. A result that is there but does not cover everything is [`Covered`].
//!
//! | list | what it names |
//! |---|---|
//! | `checked` | ground the result stands on |
//! | `not_checked` | ground this call could have reached and did not; a wider call may |
//! | `cannot_cover` | ground no call to this tool reaches, and why |
//!
//! ```
//! use agentfootprint_core::tools::{absent, coverage};
//! let nothing = absent("open pick tickets on dock d4")
//!     .checked("WMS live table, site north")
//!     .not_checked(("archived tickets", "older than the 30-day window"))
//!     .cannot_cover("site south", "this connector is bound to one site")
//!     .try_instead("ask for another dock, or query site south by name")
//!     .build()?;
//! let counted = coverage(412).checked("cycle count, aisles 1-6").cannot_cover("cold store", "no scanner there").build()?;
//! assert_eq!(nothing.looked_for(), "open pick tickets on dock d4");
//! assert_eq!(counted.lists().cannot_cover.len(), 1);
//! # Ok::<(), agentfootprint_core::tools::CoverageError>(())
//! ```
//!
//! Name what the tool *resolved*, not what it was handed: an argument repeated under `checked` reads as ground that was looked
//! at, whatever the model had made up.
//!
//! | file | what it owns |
//! |---|---|
//! | `lists` | the three lists, and folding many declarations into one |
//! | `mint` | [`absent`], [`coverage`] and what they refuse |
//! | `read` | recognising the shapes in any JSON |
//! | `block` | the limits as text under an answer |
//! | `notes` | the constant texts a tool in another language mints too |

mod block;
mod lists;
mod mint;
mod notes;
mod read;

#[cfg(test)]
mod tests;

pub use agentfootprint_record::events::shared::CoverageItem;

pub(crate) use self::block::with_limits;
pub use self::block::{coverage_block, declared_coverage};
pub use self::lists::CoverageLists;
pub(crate) use self::lists::{items_value, read_item, said};
pub use self::mint::{Absence, AbsenceBuilder, CoverageBuilder, CoverageError, Covered, absent, coverage};
pub use self::notes::{
    ABSENCE_MARKER, ABSENCE_NOTE, COVERAGE_BLOCK_HEADING, COVERAGE_MARKER, COVERAGE_NOTE, SEMANTICS_MARKER,
    SEMANTICS_NOTE, canonical_notes,
};
pub use self::read::{
    CoverageFacts, CoverageKind, CoverageReading, LedgerReading, absence_evidence_projection, read_absence,
    read_coverage, read_ledger,
};

/// Keys of the two shapes.
mod key {
    pub(super) const OUTCOME: &str = "outcome";
    pub(super) const LOOKED_FOR: &str = "looked_for";
    pub(super) const RETRY: &str = "retry_returns_the_same";
    pub(super) const TRY_INSTEAD: &str = "try_instead";
    pub(super) const NOTE: &str = "note";
    pub(super) const RESULT: &str = "result";
}
