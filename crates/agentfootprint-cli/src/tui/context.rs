//! What the model call the cursor is in, or after, was sent: each piece with its source.

use agentfootprint::debug::loops::{Pass, ServedPiece};
use agentfootprint::footprint::ids::{CommitIdx, RuntimeStageId};
use agentfootprint::footprint::query::StateKey;
use agentfootprint::footprint::value::Value;

use super::run::Run;
use super::text::{Line, quoted};

/// Characters of one piece, and pieces of one slot.
const PIECE_CHARS: usize = 2000;
const PIECES: usize = 500;

/// One piece as it is shown.
struct Piece {
    source: String,
    reason: Option<String>,
    text: String,
}

pub(super) fn of(run: &Run, call: Option<usize>) -> Vec<Line> {
    let Some((row, pass)) = call.and_then(|call| run.calls().get(call)) else {
        let mut out = vec![Line::heading("no model call yet")];
        match run.calls().first() {
            Some((row, pass)) => {
                out.push(Line::plain(format!("the first one is {}", pass.step)).to(Some(*row)))
            }
            None => out.push(Line::dim("no model call is on record")),
        }
        return out;
    };
    let number = call.map_or(0, |call| call + 1);
    let mut out =
        vec![Line::heading(format!("what call {number} of {} read, at {}", run.calls().len(), pass.step))];
    if let Some(line) = out.first_mut() {
        line.row = Some(*row);
    }
    let iteration = pass.iteration.map_or_else(String::new, |iteration| format!(", iteration {iteration}"));
    out.push(Line::dim(format!("{}{iteration}; what it read, never what it used", pass.model.trim())));
    slot(run, *row, pass, ("system-prompt", "systemPromptInjections", "system prompt"), &mut out);
    let shown = slot(run, *row, pass, ("messages", "messagesInjections", "messages"), &mut out);
    if let (Some(sent), Some(shown)) = (pass.messages, shown)
        && sent != shown as u64
    {
        out.push(Line::warning(format!(
            "{sent} messages were sent and {shown} are on record here: some came from elsewhere, or were merged or left out"
        )));
    }
    tools(run, *row, pass, &mut out);
    out
}

/// One slot: as it was committed before the call, or else as events tell. Returns how many pieces it has, if that may be said.
fn slot(
    run: &Run,
    row: usize,
    pass: &Pass,
    (slot, key, title): (&str, &str, &str),
    out: &mut Vec<Line>,
) -> Option<usize> {
    if run.hides(key) {
        out.push(Line::heading(title));
        out.push(Line::warning("hidden by a redaction policy"));
        return None;
    }
    let committed = committed(run, row, key);
    let pieces: Vec<Piece> = match &committed {
        Some(list) => list.as_array().map(|list| list.iter().map(recorded).collect()).unwrap_or_default(),
        None => pass.served.iter().filter(|piece| piece.slot == slot).map(said).collect(),
    };
    out.push(Line::heading(format!("{title} ({})", pieces.len())));
    if committed.is_none() {
        out.push(Line::warning("the slot is not on record; this is what events say entered for this call"));
    }
    for piece in pieces.iter().take(PIECES) {
        let length = piece.text.chars().count();
        let reason = piece.reason.as_ref().map_or_else(String::new, |reason| format!(", {reason}"));
        out.push(Line::dim(format!("• {}{reason}, {length} characters", piece.source)));
        quoted(&piece.text, PIECE_CHARS, 4, out);
    }
    if pieces.len() > PIECES {
        out.push(Line::dim(format!("… {} more", pieces.len() - PIECES)));
    }
    Some(pieces.len())
}

/// The tools that were offered, with where each came from as far as the slot says.
fn tools(run: &Run, row: usize, pass: &Pass, out: &mut Vec<Line>) {
    let records = if run.hides("toolsInjections") { None } else { committed(run, row, "toolsInjections") };
    let records = records.as_ref().and_then(Value::as_array);
    let source_of = |name: &str| {
        let told = records.into_iter().flat_map(|records| records.iter());
        let mut told = told.filter(|record| field(record, "sourceId").as_deref() == Some(name));
        told.next().map(recorded)
    };
    out.push(Line::heading(format!("tools offered ({})", pass.offered.len())));
    for name in pass.offered.iter().take(PIECES) {
        match source_of(name) {
            Some(piece) => {
                out.push(Line::dim(format!("• {}", piece.source)));
                quoted(&piece.text, PIECE_CHARS, 4, out);
            }
            None => out.push(Line::plain(format!("• {name} (no source on record)"))),
        }
    }
    if pass.offered.len() > PIECES {
        out.push(Line::dim(format!("… {} more", pass.offered.len() - PIECES)));
    }
}

/// What stood under a key of the call's own log when the call began; a hidden value is a placeholder there already.
fn committed(run: &Run, row: usize, key: &str) -> Option<Value> {
    let row = run.rows().get(row)?;
    let view = run.view(row)?;
    let first = view.step(&RuntimeStageId::parse(&row.step)).ok()?.commits.first().copied();
    match first.unwrap_or(CommitIdx(view.len())).0.checked_sub(1) {
        Some(before) => {
            view.value_at(&StateKey::key(key).ok()?, CommitIdx(before)).ok()?.value.value().cloned()
        }
        None => view.initial_state()?.get(key).cloned(),
    }
}

fn field(record: &Value, key: &str) -> Option<String> {
    record.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn recorded(record: &Value) -> Piece {
    let id = field(record, "sourceId").map(|id| format!(" `{id}`")).unwrap_or_default();
    let role = field(record, "asRole").map(|role| format!(" as {role}")).unwrap_or_default();
    let source = field(record, "source").unwrap_or_else(|| "source not on record".to_owned());
    Piece {
        source: format!("{source}{id}{role}"),
        reason: field(record, "reason"),
        text: field(record, "rawContent").or_else(|| field(record, "contentSummary")).unwrap_or_default(),
    }
}

fn said(piece: &ServedPiece) -> Piece {
    let id = piece.source_id.as_ref().map(|id| format!(" `{id}`")).unwrap_or_default();
    Piece { source: format!("{}{id}", piece.source), reason: None, text: piece.text.clone() }
}
