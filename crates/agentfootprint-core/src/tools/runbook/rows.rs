//! The rowset of a runbook: its rows, and the table a model can put out (TOOL-83).

use std::fmt::Write as _;

use footprint::value::{Array, Object, Str, Value};

use super::Presentation;

/// The verdict of a row the procedure would not judge.
pub(super) const DECLINED: &str = "declined";

/// What the model is told about the rows when it shows them itself.
pub(super) const PROSE_NOTE: &str = "Show the reader the rows by putting out `table` exactly as it stands. Copy identifiers \
     from it and never write one from memory.";
/// What the model is told about the rows when the host shows them.
pub(super) const PANEL_NOTE: &str = "The reader sees the rows on the screen already: do not list them again. When you rely on an \
     evidence sentence of a row, quote it word for word.";

/// The rows of one answer.
pub(super) struct RowSet {
    /// All rows, shown or not.
    rows: Vec<Object>,
    max: usize,
}

impl RowSet {
    /// The rows of the state key: objects with a text under `verdict`. Anything else is no row.
    pub(super) fn read(verdicts: Option<&Value>, max: usize) -> Self {
        let rows = verdicts.and_then(Value::as_array).into_iter().flat_map(|rows| rows.iter());
        let judged = |row: &Value| {
            let row = row.as_object()?;
            row.get("verdict")?.as_str()?;
            Some(row.clone())
        };
        Self { rows: rows.filter_map(judged).collect(), max }
    }

    pub(super) fn total(&self) -> usize {
        self.rows.len()
    }

    /// How many rows the procedure declined to judge.
    pub(super) fn declined(&self) -> usize {
        let declined = |row: &&Object| row.get("verdict").and_then(Value::as_str) == Some(DECLINED);
        self.rows.iter().filter(declined).count()
    }

    fn shown(&self) -> &[Object] {
        self.rows.get(..self.max).unwrap_or(&self.rows)
    }

    /// The fields of the answer, in their order. The table shows the same rows as the list, under the same cap.
    pub(super) fn fields(&self, presentation: Presentation) -> Vec<(&'static str, Value)> {
        let shown = self.shown();
        let list = shown.iter().cloned().map(Value::Object).collect::<Array>();
        let mut out = vec![
            ("verdicts", Value::Array(list)),
            ("rows_shown", Value::from(shown.len())),
            ("rows_total", Value::from(self.total())),
            ("rows_complete", Value::from(shown.len() == self.total())),
        ];
        out.extend(match presentation {
            Presentation::Prose => {
                vec![("table", Value::from(table(shown))), ("render_note", Value::from(PROSE_NOTE))]
            }
            Presentation::Panel => vec![("render_note", Value::from(PANEL_NOTE))],
        });
        out
    }
}

/// The rows as a Markdown table with the columns of the first one.
fn table(rows: &[Object]) -> String {
    let Some(first) = rows.first() else { return "(no rows)".to_owned() };
    let columns: Vec<Str> = first.keys().cloned().collect();
    let mut out = String::new();
    line(&mut out, columns.iter().map(|name| escaped(name)));
    line(&mut out, columns.iter().map(|_| "---".to_owned()));
    for row in rows {
        line(&mut out, columns.iter().map(|name| cell(row.get(name))));
    }
    out.truncate(out.trim_end().len());
    out
}

fn line(out: &mut String, cells: impl Iterator<Item = String>) {
    out.push('|');
    for cell in cells {
        let _ = write!(out, " {cell} |");
    }
    out.push('\n');
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "—".to_owned(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::String(text)) => escaped(text),
        Some(other) => escaped(&other.to_string()),
    }
}

/// A text inside one cell: a pipe would end it, a line break would end the row.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
