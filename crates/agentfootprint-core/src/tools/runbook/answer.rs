//! The envelope of a runbook's answer, field by field (TOOL-80, TOOL-81, TOOL-85).

use footprint::value::{Object, Str, Value};

use super::rows::{DECLINED, RowSet};
use super::walk::Filed;
use super::{Presentation, Rules};
use crate::tools::coverage::{
    COVERAGE_MARKER, COVERAGE_NOTE, CoverageItem, CoverageLists, read_coverage, read_item, read_ledger, said,
};

/// Key of the provenance a result carries.
const PROVENANCE: &str = "af_provenance";

/// Everything an answer is made of.
pub(super) struct Answer<'a> {
    pub(super) tool: &'a str,
    pub(super) tool_call_id: &'a str,
    /// What the chart is called: the name of its first stage.
    pub(super) chart: &'a str,
    pub(super) rules: String,
    pub(super) rule_version: Str,
    pub(super) steps: usize,
    /// What the inner tools answered, in call order.
    pub(super) inner: &'a [Value],
    /// The final state, as far as it may be seen.
    pub(super) state: &'a Object,
    pub(super) rows: Option<RowSet>,
    pub(super) presentation: Presentation,
    pub(super) meanings: Object,
    pub(super) walk: Filed,
}

/// The rules as an answer speaks of them.
pub(super) fn rules_sentence(rules: Option<&Rules>) -> String {
    match rules {
        Some(rules) => format!("rules {} {}", rules.name, rules.version),
        None => "undeclared rules".to_owned(),
    }
}

impl Answer<'_> {
    /// The envelope: a coverage ledger around the procedure's own answer.
    pub(super) fn into_value(self) -> Value {
        let (rows, declined) = self.rows.as_ref().map_or((0, 0), |rows| (rows.total(), rows.declined()));
        let lists = self.coverage(declined);
        let open = lists.not_checked.len();
        let sentence = format!(
            "`{}` walked {} under {}: {}, {declined} of them declined; {} not checked.",
            self.chart,
            counted(self.steps, "step", "steps"),
            self.rules,
            counted(rows, "row", "rows"),
            counted(open, "entry", "entries"),
        );
        let mut ledger = lists.to_object();
        ledger.insert("note", Value::from(COVERAGE_NOTE));
        ledger.insert("sentence", Value::from(sentence));
        let mut out = Object::new();
        out.insert(COVERAGE_MARKER, Value::Object(ledger));
        out.insert("result", self.result());
        Value::Object(out)
    }

    /// Three sources, in this order: the inner results, the chart, the procedure itself.
    fn coverage(&self, declined: usize) -> CoverageLists {
        let inner = self.inner.iter().filter_map(read_coverage).flat_map(|reading| reading.declared);
        let chart = self.state.get("coverage").map(chart_lists).unwrap_or_default();
        let what = format!(
            "procedure `{}`: {} under {}",
            self.chart,
            counted(self.steps, "step", "steps"),
            self.rules
        );
        let mut own = CoverageLists { checked: vec![what.into()], ..Default::default() };
        if declined > 0 {
            let what = format!("{} the procedure declined to judge", counted(declined, "row", "rows"));
            own.not_checked.push((what, format!("their verdict is `{DECLINED}`")).into());
        }
        CoverageLists::folded(inner.map(|facts| facts.lists).chain([chart, own]))
    }

    /// The fields of the result. A field of the report stands beside the assembled ones, never over one.
    fn result(self) -> Value {
        let mut projection: Vec<(&'static str, Value)> =
            self.rows.as_ref().map(|rows| rows.fields(self.presentation)).unwrap_or_default();
        if !self.meanings.is_empty() {
            projection.push(("verdict_meanings", Value::Object(self.meanings)));
        }
        let spine = [PROVENANCE, "rule_version", "walk", COVERAGE_MARKER, "report_note", "table"];
        let owned = |name: &str| spine.contains(&name) || projection.iter().any(|(key, _)| *key == name);
        let mut out = Object::new();
        out.insert(PROVENANCE, provenance(self.inner, self.tool, self.tool_call_id));
        out.insert("rule_version", Value::from(self.rule_version));
        let mut refused: Vec<String> = Vec::new();
        let mut note = None;
        match self.state.get("report") {
            None | Some(Value::Null) => {}
            Some(Value::Object(report)) => {
                for (name, value) in report.iter() {
                    if owned(name) {
                        refused.push(format!("`{name}`"));
                    } else {
                        out.insert(name.clone(), value.clone());
                    }
                }
            }
            Some(other) => {
                note = Some(format!(
                    "The procedure's report is a {} and no object; it was left out.",
                    other.kind()
                ));
            }
        }
        if !refused.is_empty() {
            note = Some(format!(
                "Fields of the procedure's report that have names this answer owns were left out: {}.",
                refused.join(", ")
            ));
        }
        for (name, value) in projection {
            out.insert(name, value);
        }
        if let Some(note) = note {
            out.insert("report_note", Value::from(note));
        }
        out.insert("walk", self.walk.into_value());
        Value::Object(out)
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The first provenance an inner result carries, in its payload or beside it, under the name of this call.
fn provenance(inner: &[Value], tool: &str, call: &str) -> Value {
    let carried = |result: &Value| {
        let payload =
            read_ledger(result).and_then(|ledger| ledger.result.get(PROVENANCE)?.as_object().cloned());
        payload.or_else(|| result.get(PROVENANCE)?.as_object().cloned())
    };
    let mut out = inner.iter().find_map(carried).unwrap_or_default();
    out.insert("tool", Value::from(tool));
    out.insert("toolCallId", Value::from(call));
    Value::Object(out)
}

/// What the chart declares under `coverage`: keys of either spelling, entries that are items or texts; anything else is dropped.
fn chart_lists(declared: &Value) -> CoverageLists {
    let list = |snake: &str, camel: &str| -> Vec<CoverageItem> {
        let entries = declared.get(snake).or_else(|| declared.get(camel)).and_then(Value::as_array);
        let item = |entry: &Value| match entry {
            Value::String(text) => said(text).map(CoverageItem::from),
            other => read_item(other),
        };
        entries.into_iter().flat_map(|entries| entries.iter().filter_map(item)).collect()
    };
    CoverageLists {
        checked: list("checked", "checked"),
        not_checked: list("not_checked", "notChecked"),
        cannot_cover: list("cannot_cover", "cannotCover"),
    }
}
