//! The texts and keys of the shapes, the same in every language (EVD-104, TOOL-117).

use footprint::value::{Object, Value};

/// The key that makes an object an absence.
pub const ABSENCE_MARKER: &str = "af_absent";
/// The key that makes an object a covered result.
pub const COVERAGE_MARKER: &str = "af_coverage";
/// The key that makes an object a semantic result.
pub const SEMANTICS_MARKER: &str = "af_semantics";

/// What every absence tells the model about itself.
pub const ABSENCE_NOTE: &str = "The call succeeded and found nothing; nothing else stands in for what was asked. The same \
     arguments will find the same nothing again. This answer covers the ground named under `checked` and no other: what \
     `not_checked` and `cannot_cover` name is not covered, and reaching it takes a different question.";

/// What every coverage ledger tells the model about the result it stands beside.
pub const COVERAGE_NOTE: &str = "`result` covers the ground named under `checked` and no other. That it is clean is no evidence \
     about what `not_checked` and `cannot_cover` name, and no repetition of the call changes `cannot_cover`. An answer that \
     rests on this result has to carry these limits.";

/// What every semantic result tells the model about its values.
pub const SEMANTICS_NOTE: &str = "The values come with their limits. Before adding values of a series up, see whether \
     `is_counter` says that they are running totals; `measured_at` and `age_seconds` say how old the data is; what \
     `not_covered` names was not looked at, and nothing here speaks about it.";

/// How the block of limits under an answer begins.
pub const COVERAGE_BLOCK_HEADING: &str = "Coverage of this answer";

/// The text of `canonical-notes.json`: what a tool in another language has to reproduce to mint the shapes. Values only; a
/// recogniser goes by the markers, never by a note's text.
///
/// ```
/// let text = agentfootprint_core::tools::canonical_notes();
/// assert!(text.contains("\"ABSENCE_MARKER\": \"af_absent\""));
/// ```
pub fn canonical_notes() -> String {
    let table = |rows: &[(&str, &str)]| {
        let mut out = Object::new();
        for (name, text) in rows {
            out.insert(*name, Value::from(*text));
        }
        Value::Object(out)
    };
    let mut out = Object::new();
    out.insert(
        "$comment",
        Value::from("Made by `cargo xtask notes` from the constants of agentfootprint-core; edit those."),
    );
    out.insert(
        "notes",
        table(&[
            ("ABSENCE_NOTE", ABSENCE_NOTE),
            ("COVERAGE_NOTE", COVERAGE_NOTE),
            ("SEMANTICS_NOTE", SEMANTICS_NOTE),
        ]),
    );
    out.insert(
        "markers",
        table(&[
            ("ABSENCE_MARKER", ABSENCE_MARKER),
            ("COVERAGE_MARKER", COVERAGE_MARKER),
            ("SEMANTICS_MARKER", SEMANTICS_MARKER),
        ]),
    );
    out.insert("headings", table(&[("COVERAGE_BLOCK_HEADING", COVERAGE_BLOCK_HEADING)]));
    let mut text = serde_json::to_string_pretty(&Value::Object(out)).unwrap_or_default();
    text.push('\n');
    text
}

/// An empty constant would be a note that says nothing: it does not compile.
const _: () = {
    let all = [
        ABSENCE_MARKER,
        COVERAGE_MARKER,
        SEMANTICS_MARKER,
        ABSENCE_NOTE,
        COVERAGE_NOTE,
        SEMANTICS_NOTE,
        COVERAGE_BLOCK_HEADING,
    ];
    let mut at = 0;
    while at < all.len() {
        #[allow(
            clippy::indexing_slicing,
            reason = "evaluated by the compiler; out of bounds would not compile"
        )]
        let empty = all[at].is_empty();
        assert!(!empty);
        at += 1;
    }
};
