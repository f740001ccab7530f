//! People in the loop: who is asked, with what screen, and what they answered (TOOL §10).

mod component;
mod decision;
mod demand;

pub use self::component::AskComponent;
pub use self::decision::{CheckInDecision, DecisionBuilder, DecisionValue, ResumeAnswer, check_in_approved, check_in_declined};
pub use self::demand::{CheckIn, CheckInSituation};
