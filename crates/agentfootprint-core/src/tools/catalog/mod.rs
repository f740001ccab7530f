//! Checks on a whole catalogue of tools: would a model know which to call, and with what? (TOOL §20)
//!
//! Functions over schemas: an agent's own tools, a served catalogue, a file. The rules are structural and pure; how alike tools
//! are is asked of an embedder, when one is given.

mod checkup;
mod lint;
mod rules;
mod similarity;

use std::fmt;

use footprint::value::{Str, Value};

pub use self::checkup::{CheckupFinding, CheckupKind, ContractCheckup, tool_contract_checkup};
pub use self::lint::{LintOptions, LintOutcome, lint_tools};
pub use self::rules::builtin_rules;
pub use self::similarity::{SimilarityReport, SimilarityThresholds, ToolPair, confusability_text};
use super::schema::ToolSchema;
use crate::embed::Embedder;
use crate::llm::LlmError;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A model may go wrong.
    Warn,
    /// A model will go wrong.
    Error,
}

/// One thing a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogFinding {
    /// The rule.
    pub rule: &'static str,
    /// How much it weighs.
    pub severity: Severity,
    /// The tool.
    pub tool: Str,
    /// The parameter, when it is about one.
    pub parameter: Option<Str>,
    /// What is wrong.
    pub message: String,
    /// What would be better.
    pub suggestion: Option<String>,
}

impl CatalogFinding {
    /// A finding about a tool.
    pub fn new(
        rule: &'static str,
        severity: Severity,
        tool: impl Into<Str>,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, severity, tool: tool.into(), parameter: None, message: message.into(), suggestion: None }
    }

    /// Names the parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<Str>) -> Self {
        self.parameter = Some(name.into());
        self
    }

    /// Says what would be better.
    #[must_use]
    pub fn suggest(mut self, text: impl Into<String>) -> Self {
        self.suggestion = Some(text.into());
        self
    }
}

impl fmt::Display for CatalogFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.parameter.as_ref().map(|name| format!(".{name}")).unwrap_or_default();
        write!(f, "{}{place}: {} [{}]", self.tool, self.message, self.rule)
    }
}

/// A rule over one tool of a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct CatalogRule {
    /// Its fixed id.
    pub id: &'static str,
    /// What it finds.
    pub check: fn(&ToolSchema) -> Vec<CatalogFinding>,
}

/// What an analysis came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CatalogReport {
    /// Whether nothing weighs as much as the limit.
    pub ok: bool,
    /// How many tools were looked at.
    pub tool_count: usize,
    /// How alike the tools are, when an embedder was given.
    pub similarity: Option<SimilarityReport>,
    /// What was found, by tool in catalogue order.
    pub structural: Vec<CatalogFinding>,
}

/// How a catalogue is analysed.
#[derive(Clone, Debug)]
pub struct CatalogOptions {
    /// From which likeness on tools are confusable.
    pub thresholds: SimilarityThresholds,
    /// The weight from which on a finding fails the catalogue.
    pub fail_on: Severity,
    /// The rules besides the check for duplicate names.
    pub rules: Vec<CatalogRule>,
}

impl Default for CatalogOptions {
    fn default() -> Self {
        Self { thresholds: SimilarityThresholds::default(), fail_on: Severity::Error, rules: builtin_rules() }
    }
}

/// Analyses a catalogue, and with an embedder also how alike its tools are. It is in order when no finding weighs as much as the
/// limit and no two tools are confusable.
///
/// # Errors
/// When the embedder fails.
pub async fn analyze_tool_catalog_with(
    tools: &[ToolSchema],
    embedder: Option<&dyn Embedder>,
    options: &CatalogOptions,
) -> Result<CatalogReport, LlmError> {
    let mut report = analyze_with(tools, options.fail_on, &options.rules);
    if let Some(embedder) = embedder {
        let similarity = similarity::compare(tools, embedder, options.thresholds).await?;
        report.ok = report.ok && similarity.confusable.is_empty();
        report.similarity = Some(similarity);
    }
    Ok(report)
}

/// Analyses a catalogue with the built-in rules: duplicate names, and what [`builtin_rules`] holds.
///
/// ```
/// use agentfootprint_core::tools::{Severity, ToolSchema, analyze_tool_catalog};
/// use footprint::value;
/// let vague = ToolSchema::new("get", "Gets.", value!({ "type": "object", "properties": {} }));
/// let report = analyze_tool_catalog(&[vague], Severity::Error);
/// assert!(report.ok && report.structural.len() == 2); // short, and it does not say when
/// ```
pub fn analyze_tool_catalog(tools: &[ToolSchema], fail_on: Severity) -> CatalogReport {
    analyze_with(tools, fail_on, &builtin_rules())
}

/// Analyses a catalogue with these rules besides the check for duplicate names.
pub fn analyze_with(tools: &[ToolSchema], fail_on: Severity, rules: &[CatalogRule]) -> CatalogReport {
    let mut structural = Vec::new();
    for (at, tool) in tools.iter().enumerate() {
        let earlier = tools.iter().take(at).any(|other| other.name() == tool.name());
        if earlier {
            structural.push(
                CatalogFinding::new(
                    "duplicate-name",
                    Severity::Error,
                    tool.name().clone(),
                    "another tool has this name",
                )
                .suggest("rename one of them: a model calls by name"),
            );
        }
        structural.extend(rules.iter().flat_map(|rule| (rule.check)(tool)));
    }
    let ok = structural.iter().all(|finding| finding.severity < fail_on);
    CatalogReport { ok, tool_count: tools.len(), similarity: None, structural }
}

/// The properties of an input schema, and whether each is required.
fn parameters(schema: &Value) -> Vec<(&Str, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|each| each.as_str() == Some(name)));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(footprint::value::Object::iter)
        .map(|(name, property)| (name, property, is_required(name)))
        .collect()
}
