//! The linter of a catalogue in a file (TOOL-115): one function behind every command line.

use footprint::value::{Array, Object, Str, Value};

use super::similarity::{SimilarityThresholds, rounded};
use super::{CatalogOptions, CatalogReport, Severity, analyze_tool_catalog_with};
use crate::embed::Embedder;
use crate::tools::schema::ToolSchema;

/// How a catalogue is linted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LintOptions {
    /// From which likeness on a pair fails. Without it likeness is reported and fails nothing.
    pub threshold: Option<f32>,
    /// The band below the threshold that is worth watching.
    pub watch_band: Option<f32>,
    /// Whether warnings fail too.
    pub strict: bool,
    /// How many of the most alike pairs are shown.
    pub top: usize,
    /// Whether the answer is JSON.
    pub json: bool,
    /// What the embedder's threshold is when none is given.
    pub calibration: SimilarityThresholds,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self {
            threshold: None,
            watch_band: None,
            strict: false,
            top: 10,
            json: false,
            calibration: SimilarityThresholds::default(),
        }
    }
}

/// What linting came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LintOutcome {
    /// 0 nothing wrong, 1 something was found, 2 the input cannot be used.
    pub code: u8,
    /// What to print; with code 2 a sentence that says what to do.
    pub text: String,
}

impl LintOutcome {
    /// The input cannot be used; the sentence says what to do.
    pub fn unusable(sentence: impl Into<String>) -> Self {
        Self { code: 2, text: sentence.into() }
    }
}

/// Lints the text of a catalogue; without an embedder nothing is compared.
///
/// Accepted are a list of tools, or an object with one under `tools`; each tool is `{name, description, inputSchema}` as in an
/// MCP listing, with `input_schema` as Anthropic has it, or `{type: "function", function: {…}}` as OpenAI has it.
///
/// ```
/// use agentfootprint_core::tools::{LintOptions, lint_tools};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let outcome = lint_tools(r#"[{"name": "get", "description": ""}]"#, &LintOptions::default(), None).await;
/// assert_eq!(outcome.code, 1);
/// assert!(outcome.text.contains("it has no description"));
/// # });
/// ```
pub async fn lint_tools(text: &str, options: &LintOptions, embedder: Option<&dyn Embedder>) -> LintOutcome {
    let unusable = |text: String| LintOutcome::unusable(text);
    for (name, value) in [("threshold", options.threshold), ("watch-band", options.watch_band)] {
        if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return unusable(format!("`--{name}` must be between 0 and 1"));
        }
    }
    let tools = match read_catalog(text) {
        Ok(tools) => tools,
        Err(why) => return unusable(why),
    };
    let thresholds = SimilarityThresholds {
        confusable: options.threshold.unwrap_or(options.calibration.confusable),
        watch_band: options.watch_band.unwrap_or(options.calibration.watch_band),
    };
    let fail_on = if options.strict { Severity::Warn } else { Severity::Error };
    let declared = CatalogOptions { thresholds, fail_on, ..CatalogOptions::default() };
    let mut report = match analyze_tool_catalog_with(&tools, embedder, &declared).await {
        Ok(report) => report,
        Err(error) => {
            return unusable(format!("the tools could not be compared: {error}; try `--no-similarity`"));
        }
    };
    if options.threshold.is_none() {
        report.ok = report.structural.iter().all(|finding| finding.severity < fail_on);
    }
    let text = if options.json {
        report.to_value(options.top).to_string()
    } else {
        told(&report, options.top, options.threshold.is_none())
    };
    LintOutcome { code: u8::from(!report.ok), text }
}

/// Reads a catalogue; the sentence says which tool is unusable and why.
fn read_catalog(text: &str) -> Result<Vec<ToolSchema>, String> {
    let parsed: Value = text.parse().map_err(|error| format!("the catalogue is not JSON: {error}"))?;
    let list = parsed.get("tools").unwrap_or(&parsed);
    let Some(list) = list.as_array() else {
        return Err(format!(
            "the catalogue is a {}; give a list of tools, or an object with a list under `tools`",
            list.kind()
        ));
    };
    if list.is_empty() {
        return Err("the catalogue holds no tools".to_owned());
    }
    list.iter().enumerate().map(|(at, tool)| read_tool(at + 1, tool)).collect()
}

fn read_tool(at: usize, tool: &Value) -> Result<ToolSchema, String> {
    // OpenAI's wrapping.
    let tool = tool.get("function").filter(|inner| matches!(inner, Value::Object(_))).unwrap_or(tool);
    let name = tool.get("name").and_then(Value::as_shared_str).filter(|name| !name.trim().is_empty());
    let Some(name) = name else { return Err(format!("tool {at} has no `name`")) };
    let description = match tool.get("description") {
        None | Some(Value::Null) => Str::default(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => return Err(format!("the description of tool {at} (`{name}`) is a {}", other.kind())),
    };
    let schema = ["inputSchema", "input_schema", "parameters"].into_iter().find_map(|key| tool.get(key));
    let schema = match schema {
        None | Some(Value::Null) => ToolSchema::no_input(),
        Some(schema @ Value::Object(_)) => schema.clone(),
        Some(other) => return Err(format!("the input schema of tool {at} (`{name}`) is a {}", other.kind())),
    };
    Ok(ToolSchema::new(name.clone(), description, schema))
}

/// For people.
fn told(report: &CatalogReport, top: usize, report_only: bool) -> String {
    let mut lines = vec![report.summary()];
    for finding in &report.structural {
        let weight = if finding.severity == Severity::Error { "error" } else { "warn" };
        lines.push(format!("{weight}  {finding}"));
        lines.extend(finding.suggestion.as_ref().map(|text| format!("       {text}")));
    }
    let Some(similarity) = &report.similarity else { return lines.join("\n") };
    let verdict = if report_only { "alike" } else { "confusable" };
    for (word, pairs) in [(verdict, &similarity.confusable), ("watch", &similarity.watch)] {
        for pair in pairs {
            lines.push(format!("{word}  {} ~ {} ({})", pair.first, pair.second, rounded(pair.score)));
            lines.push(format!("       {}", pair.hint));
        }
    }
    if !similarity.ranked.is_empty() && top > 0 {
        lines.push("most alike:".to_owned());
        let shown = similarity.ranked.iter().take(top);
        lines.extend(
            shown.map(|pair| format!("       {}  {} ~ {}", rounded(pair.score), pair.first, pair.second)),
        );
    }
    if report_only {
        lines.push("likeness is reported only; give `--threshold` to let it fail".to_owned());
    }
    lines.join("\n")
}

impl CatalogReport {
    /// One line for people.
    pub fn summary(&self) -> String {
        let count = |number: usize, one: &str, many: &str| {
            format!("{number} {}", if number == 1 { one } else { many })
        };
        let errors = self.structural.iter().filter(|finding| finding.severity == Severity::Error).count();
        let mut parts = Vec::new();
        if let Some(similarity) = &self.similarity {
            parts.push(count(similarity.confusable.len(), "confusable pair", "confusable pairs"));
            parts.push(count(similarity.watch.len(), "pair to watch", "pairs to watch"));
        }
        let findings = count(self.structural.len(), "finding", "findings");
        parts.push(format!("{findings} ({})", count(errors, "error", "errors")));
        format!("{}: {}", count(self.tool_count, "tool", "tools"), parts.join(", "))
    }

    /// As JSON: `{ok, toolCount, similarity, structural, summary}`, with at most `top` ranked pairs.
    pub fn to_value(&self, top: usize) -> Value {
        let mut out = Object::new();
        out.insert("ok", Value::from(self.ok));
        out.insert("toolCount", Value::from(self.tool_count));
        out.insert("similarity", self.similarity.as_ref().map_or(Value::Null, |found| found.to_value(top)));
        let structural = self.structural.iter().map(|finding| {
            let mut row = Object::new();
            row.insert("rule", Value::from(finding.rule));
            let weight = if finding.severity == Severity::Error { "error" } else { "warn" };
            row.insert("severity", Value::from(weight));
            row.insert("tool", Value::from(finding.tool.clone()));
            if let Some(parameter) = &finding.parameter {
                row.insert("parameter", Value::from(parameter.clone()));
            }
            row.insert("message", Value::from(finding.message.as_str()));
            if let Some(suggestion) = &finding.suggestion {
                row.insert("suggestion", Value::from(suggestion.as_str()));
            }
            Value::Object(row)
        });
        out.insert("structural", Value::Array(structural.collect::<Array>()));
        out.insert("summary", Value::from(self.summary()));
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "Looks an order up by its number, for questions about one order.";

    async fn lint(text: &str) -> (u8, String) {
        let outcome = lint_tools(text, &LintOptions::default(), None).await;
        (outcome.code, outcome.text)
    }

    /// Proves TOOL-115: all four shapes of a catalogue are read alike.
    #[tokio::test]
    async fn four_shapes_are_one_catalogue() {
        let schema = r#"{"type":"object","properties":{"site":{"type":"string","description":"The site"}}}"#;
        let shapes = [
            format!(r#"[{{"name":"a","description":"{GOOD}","inputSchema":{schema}}}]"#),
            format!(r#"{{"tools":[{{"name":"a","description":"{GOOD}","inputSchema":{schema}}}]}}"#),
            format!(
                r#"[{{"type":"function","function":{{"name":"a","description":"{GOOD}","parameters":{schema}}}}}]"#
            ),
            format!(r#"[{{"name":"a","description":"{GOOD}","input_schema":{schema}}}]"#),
        ];
        for shape in shapes {
            assert_eq!(
                lint(&shape).await,
                (
                    0,
                    "1 tool: 1 finding (0 errors)\nwarn  a.site: it is optional, and nothing says what happens without it \
                     [optional-param-undocumented]\n       say what the tool does when it is left out"
                        .to_owned()
                ),
                "{shape}"
            );
            let strict = LintOptions { strict: true, ..LintOptions::default() };
            assert_eq!(lint_tools(&shape, &strict, None).await.code, 1);
        }
        let json = LintOptions { json: true, ..LintOptions::default() };
        let report = lint_tools(r#"[{"name":"a","description":""}]"#, &json, None).await;
        assert_eq!(
            (report.code, report.text.as_str()),
            (
                1,
                r#"{"ok":false,"toolCount":1,"similarity":null,"structural":[{"rule":"description-missing-or-short","severity":"error","tool":"a","message":"it has no description","suggestion":"say what the tool does, when to call it, and what it returns"}],"summary":"1 tool: 1 finding (1 error)"}"#
            )
        );
    }

    /// Proves TOOL-115: what cannot be used is refused by name, with the code of its own.
    #[tokio::test]
    async fn an_unusable_catalogue_is_refused() {
        let refused = [
            ("{", "the catalogue is not JSON"),
            (
                "{\"tools\":3}",
                "the catalogue is a number; give a list of tools, or an object with a list under `tools`",
            ),
            ("[]", "the catalogue holds no tools"),
            ("[{\"name\":\"a\"},{}]", "tool 2 has no `name`"),
            ("[{\"name\":\"a\",\"description\":7}]", "the description of tool 1 (`a`) is a number"),
            ("[{\"name\":\"a\",\"inputSchema\":[]}]", "the input schema of tool 1 (`a`) is a array"),
        ];
        for (text, why) in refused {
            let (code, said) = lint(text).await;
            assert!(code == 2 && said.starts_with(why), "{said}");
        }
        let odd = LintOptions { threshold: Some(1.5), ..LintOptions::default() };
        assert_eq!(lint_tools("[]", &odd, None).await.text, "`--threshold` must be between 0 and 1");
    }
}
