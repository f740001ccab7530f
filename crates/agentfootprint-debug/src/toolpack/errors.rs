//! Findings of integrity checks, and whether anything looked (REC-89, EVD-490, EVD-491).

use agentfootprint_record::events::words::ContextErrorKind;
use agentfootprint_record::recording::{OpenRecording, RecordedEvent};
use footprint::query::StateKey;
use footprint::value::Value;

use super::TraceTools;
use super::answer::Answer;
use super::args::Args;
use crate::calls::{is, text};
use crate::plain::excerpt;

const DEFAULT_LIMIT: usize = 10;
const SUBJECTS: usize = 6;
const WITNESSES: usize = 6;
const MESSAGE: usize = 300;
const ROWS: usize = 12;
const SILENT_NAMES: usize = 4;

/// Which check files findings of a kind. An exhaustive match: a new kind does not compile before it is decided here.
fn check_of(kind: &ContextErrorKind) -> Option<&'static str> {
    match kind {
        ContextErrorKind::InvariantViolation => Some("invariant-violation"),
        ContextErrorKind::UnsupportedArgument => Some("unsupported-argument"),
        ContextErrorKind::DanglingReference => Some("dangling-reference"),
        ContextErrorKind::UnsupportedClaim => Some("unsupported-claim"),
        ContextErrorKind::EmptyLookup => Some("empty-lookup"),
        ContextErrorKind::ColumnTypeMismatch => Some("column-type-mismatch"),
        ContextErrorKind::MissingColumn => Some("missing-column"),
        ContextErrorKind::PriorTurnEvidence => Some("prior-turn-evidence"),
        // A kind of a newer writer: no check here knows it.
        ContextErrorKind::DuplicateExecution | ContextErrorKind::Other(_) => None,
    }
}

const KINDS: [ContextErrorKind; 9] = [
    ContextErrorKind::InvariantViolation,
    ContextErrorKind::DanglingReference,
    ContextErrorKind::UnsupportedArgument,
    ContextErrorKind::UnsupportedClaim,
    ContextErrorKind::EmptyLookup,
    ContextErrorKind::ColumnTypeMismatch,
    ContextErrorKind::MissingColumn,
    ContextErrorKind::PriorTurnEvidence,
    ContextErrorKind::DuplicateExecution,
];

/// Kinds that some check can file.
pub(super) fn filable() -> impl Iterator<Item = &'static str> {
    KINDS.iter().filter_map(check_of)
}

/// What the record says about context errors: a headline that never takes silence for a clean bill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Evidence {
    /// The verdict in words.
    pub headline: String,
    /// Whether any check looked, so that silence means something.
    pub looked: bool,
    /// Findings that are defects.
    pub defects: usize,
    /// Findings that are places to look.
    pub advisories: usize,
    /// Findings planted by the checks' own canaries.
    pub synthetic: usize,
}

/// One row of the disposition ledger.
struct Row {
    check: String,
    seam: String,
    checked: u64,
    findings: u64,
    not_applicable: u64,
    unreachable: u64,
}

/// The evidence about context errors of a kind, or of all kinds.
#[must_use]
pub fn context_errors(opened: &OpenRecording, kind: Option<&str>) -> Evidence {
    let events = opened.recording().events();
    let all: Vec<&RecordedEvent> =
        events.iter().filter(|event| is(event, "integrity.context_error")).collect();
    let of_kind: Vec<Value> = all
        .iter()
        .map(|event| event.payload())
        .filter(|payload| kind.is_none_or(|kind| text(payload, "kind") == kind))
        .collect();
    let flagged = |payload: &&Value, flag: &str| payload.get(flag).and_then(Value::as_bool) == Some(true);
    let synthetic = of_kind.iter().filter(|payload| flagged(payload, "synthetic")).count();
    let advisories = of_kind
        .iter()
        .filter(|payload| flagged(payload, "advisory") && !flagged(payload, "synthetic"))
        .count();
    let mut evidence = Evidence {
        defects: of_kind.len() - synthetic - advisories,
        advisories,
        synthetic,
        ..Evidence::default()
    };
    let dispositions: Vec<&RecordedEvent> =
        events.iter().filter(|event| is(event, "integrity.disposition")).collect();
    let rows = rows(&dispositions, kind);
    evidence.looked = rows.iter().any(|row| row.checked > 0);
    evidence.headline = headline(opened, kind, &all, &of_kind, &dispositions, &rows, &evidence);
    evidence
}

fn headline(
    opened: &OpenRecording,
    kind: Option<&str>,
    all: &[&RecordedEvent],
    of_kind: &[Value],
    dispositions: &[&RecordedEvent],
    rows: &[Row],
    evidence: &Evidence,
) -> String {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(of).sum::<u64>();
    let of = kind.map(|kind| format!(" of kind `{}`", excerpt(kind, 64))).unwrap_or_default();
    let unfilable = kind.filter(|kind| !filable().any(|known| known == *kind));
    if let Some(kind) = unfilable.filter(|_| of_kind.is_empty()) {
        return format!(
            "Unanswerable: no check files findings of kind `{}`, so nothing ever looked; silence is no evidence. Kinds that are filed: {}",
            excerpt(kind, 64),
            filable().collect::<Vec<_>>().join(", ")
        );
    }
    if opened.recording().events.is_none() {
        return "No evidence: the recording has no events, which is not the same as no errors.".to_owned();
    }
    if all.is_empty() && dispositions.is_empty() {
        return "No evidence: the events carry no integrity event at all. Either the run ended before its checks reported, the events were dropped, or it was made by a version without checks.".to_owned();
    }
    if !of_kind.is_empty() {
        let mut said = format!("{} defects{of}", evidence.defects);
        if evidence.advisories > 0 {
            said.push_str(&format!(
                ", apart from these {} advisories (places to look, not verdicts)",
                evidence.advisories
            ));
        }
        if evidence.synthetic > 0 {
            said.push_str(&format!(
                ", and {} synthetic ones, planted to prove that the check works",
                evidence.synthetic
            ));
        }
        return said;
    }
    if sum(|row| row.findings) > 0 {
        return format!(
            "Evidence is missing: the checks report {} findings{of} that the events do not hold (dropped events?). This is the opposite of clean.",
            sum(|row| row.findings)
        );
    }
    if kind.is_some() && !all.is_empty() {
        let mut kinds: Vec<String> = all.iter().map(|event| text(&event.payload(), "kind")).collect();
        kinds.sort();
        kinds.dedup();
        return format!(
            "None{of}, but there are findings of other kinds: {}",
            excerpt(&kinds.join(", "), 200)
        );
    }
    if dispositions.is_empty() {
        return "Unmeasured: nothing says which checks ran, so silence is no evidence.".to_owned();
    }
    if rows.is_empty() {
        return format!("Nothing was registered: no check{of} reported, so silence is no evidence.");
    }
    let (checked, unreachable, outside) =
        (sum(|row| row.checked), sum(|row| row.unreachable), sum(|row| row.not_applicable));
    if checked == 0 {
        let unmet = rows.iter().filter(|row| row.unreachable + row.not_applicable == 0).count();
        return format!(
            "Nothing was checked{of}: {unreachable} encounters could not be seen, {outside} were out of scope, {unmet} checks met nothing. Silence is no evidence."
        );
    }
    let silent: Vec<String> = rows
        .iter()
        .filter(|row| row.checked == 0)
        .map(|row| format!("{}@{}", excerpt(&row.check, 60), excerpt(&row.seam, 20)))
        .collect();
    if silent.is_empty() {
        return format!("None filed{of}: all {} checks looked, {checked} encounters passed.", rows.len());
    }
    let shown = silent.iter().take(SILENT_NAMES).cloned().collect::<Vec<_>>().join(", ");
    let more = silent.len().saturating_sub(SILENT_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "None filed{of}, coverage partial: {checked} encounters passed, but these checks never looked: {shown}{more}."
    )
}

fn rows(dispositions: &[&RecordedEvent], kind: Option<&str>) -> Vec<Row> {
    // The last leg's ledger covers the run.
    let Some(payload) = dispositions.last().map(|event| event.payload()) else { return Vec::new() };
    let Some(rows) = payload.get("rows").and_then(Value::as_array) else { return Vec::new() };
    let number = |row: &Value, key: &str| row.get(key).and_then(Value::as_u64).unwrap_or_default();
    rows.iter()
        .map(|row| Row {
            check: text(row, "check"),
            seam: text(row, "seam"),
            checked: number(row, "checked"),
            findings: number(row, "findings"),
            not_applicable: number(row, "notApplicable"),
            unreachable: number(row, "unreachable"),
        })
        .filter(|row| kind.is_none_or(|kind| row.check == kind))
        .collect()
}

pub(super) fn answer(tools: &TraceTools, args: &Args) -> Answer {
    let kind = args.text("kind");
    let evidence = context_errors(&tools.opened, kind);
    let mut answer = Answer::new(&evidence.headline);
    answer.warn("a check sees only what its author declared; whatever nobody declared was not compared");
    if !evidence.looked && evidence.defects + evidence.advisories + evidence.synthetic == 0 {
        answer.warn("do not report this run as clean: nothing looked");
    }
    let events = tools.opened.recording().events();
    let filed: Vec<&RecordedEvent> = events
        .iter()
        .filter(|event| is(event, "integrity.context_error"))
        .filter(|event| kind.is_none_or(|kind| text(&event.payload(), "kind") == kind))
        .collect();
    let limit = args.count("limit", DEFAULT_LIMIT);
    for (at, event) in filed.iter().take(limit).enumerate() {
        finding(tools, at, event, &mut answer);
    }
    if filed.len() > limit {
        answer.section("more");
        answer.line(format!("  … and {} more findings; raise limit (at most 25)", filed.len() - limit));
    }
    let dispositions: Vec<&RecordedEvent> =
        events.iter().filter(|event| is(event, "integrity.disposition")).collect();
    let ledger = rows(&dispositions, kind);
    let counted: u64 = ledger.iter().map(|row| row.findings).sum();
    if counted as usize > filed.len() && !filed.is_empty() {
        answer.warn(format!(
            "the checks count {counted} findings over all encounters, {} are distinct events; the same defect met again is filed once",
            filed.len()
        ));
    }
    answer.list(
        "checks",
        ROWS,
        ledger.iter().map(|row| {
            let met = row.checked + row.not_applicable + row.unreachable;
            let verdict = match (row.checked, row.findings) {
                (0, _) => "never looked".to_owned(),
                (_, 0) => "found nothing".to_owned(),
                (_, found) => format!("found {found}"),
            };
            format!(
                "{}@{} ran {met}×: checked {}, out of scope {}, unseen {}: {verdict}",
                row.check, row.seam, row.checked, row.not_applicable, row.unreachable
            )
        }),
    );
    if !filed.is_empty() {
        answer.next("trace_node on the step of a finding; who_wrote on a key it names");
    }
    answer
}

fn finding(tools: &TraceTools, at: usize, event: &RecordedEvent, answer: &mut Answer) {
    let payload = event.payload();
    answer.section(format!("finding {}", at + 1));
    let mark = |flag: &str| payload.get(flag).and_then(Value::as_bool) == Some(true);
    let mut head = format!("  {} at seam {}", text(&payload, "kind"), text(&payload, "seam"));
    if mark("advisory") {
        head.push_str(" (advisory)");
    }
    if mark("synthetic") {
        head.push_str(" (synthetic)");
    }
    if let Some(predicate) = payload.get("predicate").and_then(Value::as_str) {
        head.push_str(&format!(", about `{predicate}`"));
    }
    answer.line(head);
    answer.line(format!("  {}", excerpt(&text(&payload, "message"), MESSAGE)));
    let step = event.runtime_stage_id().unwrap_or_default();
    answer.line(if tools.places().contains(&step) {
        format!("  filed at {step}")
    } else {
        "  filed at a step that is not in this record".to_owned()
    });
    let list = |key: &str| payload.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let subjects = list("subjects");
    for subject in subjects.iter().take(SUBJECTS) {
        let id = text(subject, "id");
        let writer = StateKey::dotted(&id).ok().and_then(|key| tools.query.root().last_writer(&key, None));
        let writer =
            writer.map(|writer| format!(", last written by {}", writer.runtime_stage_id)).unwrap_or_default();
        answer.line(format!("  subject {} {}{writer}", text(subject, "kind"), excerpt(&id, 120)));
    }
    if subjects.len() > SUBJECTS {
        answer.line(format!("  … and {} more subjects", subjects.len() - SUBJECTS));
    }
    let witnesses = list("witnesses");
    for witness in witnesses.iter().take(WITNESSES) {
        let step = text(witness, "runtimeStageId");
        let step = if tools.places().contains(&step) { format!(" at {step}") } else { String::new() };
        let value = witness.get("value").map(|value| excerpt(&value.to_string(), 80)).unwrap_or_default();
        answer.line(format!("  witness{step}: {value} ({})", excerpt(&text(witness, "provenance"), 120)));
    }
    if witnesses.len() > WITNESSES {
        answer.line(format!("  … and {} more witnesses", witnesses.len() - WITNESSES));
    }
}
