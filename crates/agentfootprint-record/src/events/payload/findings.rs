use footprint::value::Str;

use crate::events::field::Loose;
use crate::events::record::record;
use crate::events::words::{DeclaredOn, Expectation, FindingBasis, JudgedAgainst, NarrowedSkipped, Standing};

record! {
    /// The model declared why it calls.
    pub struct FindingsDeclared {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req basis: FindingBasis,
        opt expect: Expectation,
        flag has_proposition = "hasProposition",
        /// How many entries of the declaration were dropped, when any.
        opt malformed: u64,
    }

    /// The model stated what a result is worth.
    pub struct FindingsStanding {
        /// As the model wrote it; see `unknownId`.
        req tool_call_id = "toolCallId": Str as content,
        opt tool_name = "toolName": Str as name,
        req iteration: u64,
        req standing: Standing,
        req declared_on = "declaredOn": DeclaredOn,
        req assertion_count = "assertionCount": u64,
        opt conflict_keys = "conflictKeys": Vec<Str>,
        flag unknown_id = "unknownId",
        opt agrees: Loose<bool>,
    }

    /// The classifier read a result.
    pub struct FindingsJudged {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        req against: JudgedAgainst,
        req standing: Standing,
        req confidence: f64,
        req latency_ms = "latencyMs": u64,
        opt input_tokens = "inputTokens": u64,
        opt output_tokens = "outputTokens": u64,
    }

    /// It could not.
    pub struct FindingsJudgeFailed {
        req tool_name = "toolName": Str as name,
        req tool_call_id = "toolCallId": Str as id,
        req iteration: u64,
        opt status: Loose<u64>,
        req latency_ms = "latencyMs": u64,
    }

    /// A value rests only on results declared `open`, `noise` or `ruled-out`; the value is not in the event.
    pub struct FindingsContingent {
        req iteration: u64,
        req declared_on = "declaredOn": DeclaredOn,
        opt tool_call_id = "toolCallId": Str as id,
        /// How many results carry the value.
        req carriers: Loose<u64>,
        req standings: Vec<Standing>,
        req value_chars = "valueChars": u64,
    }

    /// A classifier ranked the tools before the call.
    pub struct ToolChoicePicked {
        req iteration: u64,
        opt chosen: Str as name,
        req confidence: f64,
        req offered: u64,
        req served: u64,
        req narrowed: bool,
        opt narrowed_skipped = "narrowedSkipped": NarrowedSkipped,
        req latency_ms = "latencyMs": u64,
        opt input_tokens = "inputTokens": u64,
        opt output_tokens = "outputTokens": u64,
    }

    /// What the model then called.
    pub struct ToolChoiceOutcome {
        req iteration: u64,
        req called: Vec<Str> as name,
        opt first_agrees = "firstAgrees": bool,
        opt missed: Vec<Str> as name,
    }

    /// The classifier failed; the full list was served.
    pub struct ToolChoiceFailed {
        req iteration: u64,
        opt status: Loose<u64>,
        req latency_ms = "latencyMs": u64,
    }

    /// The declared ontology went into the request.
    pub struct OntologyServed {
        req iteration: u64,
        req id: Str as id,
        req version: Str as name,
        req hash: Str as id,
        req nodes: u64,
        req sources: u64,
        req edges: u64,
    }
}
