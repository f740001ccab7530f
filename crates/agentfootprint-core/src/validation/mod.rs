//! Holding an answer against evidence before it is delivered (AGT-97, EVD §10).
//!
//! The application supplies the comparison; this module supplies what makes it mean something. The comparison sees exactly
//! the text that will be delivered, it reads artifacts of this run only and within limits, it ends in time, and its report is
//! on the record. There is no rule of a domain here, no judge and no repair.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what is declared, and within which limits |
//! | `check` | what a comparison answers, and when such an answer is no answer |
//! | `candidate` | the exact text that is checked and delivered |
//! | `evidence` | reading artifacts while a comparison runs |
//! | `judge` | the last of the judges: one run of a comparison, its report, what follows |

mod candidate;
mod check;
mod evidence;
mod judge;
mod options;

pub use self::check::{AnswerCheck, CheckDisposition};
pub use self::evidence::{AnswerEvidence, AnswerEvidenceRefusal};
pub(crate) use self::judge::{committed, judge};
pub use self::options::{
    AnswerValidation, AnswerValidationContext, AnswerValidationLimits, AnswerValidationMode,
};
