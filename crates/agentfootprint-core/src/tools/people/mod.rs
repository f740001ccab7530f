//! People in the loop: who is asked, with what screen, and what they answered (TOOL §10).

mod answer;
mod component;
mod decision;
mod demand;
mod evidence;

pub use self::answer::{Demand, pause_demands_decision};
pub(crate) use self::answer::{check_answer, component_id_of, public_pause_data, settle_abandoned};
pub use self::component::AskComponent;
pub use self::decision::{
    CheckInDecision, DecisionBuilder, DecisionValue, ResumeAnswer, check_in_approved, check_in_declined,
};
pub use self::demand::{CheckIn, CheckInSituation};
pub(crate) use self::evidence::conversation_of;
pub use self::evidence::{Assembler, CheckInOptions, Evidence, EvidenceInput, EvidenceUnit, Scorer};
