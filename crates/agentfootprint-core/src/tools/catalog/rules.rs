//! The built-in rules (TOOL-114). Their ids are fixed.

use footprint::value::Value;

use super::{CatalogFinding, CatalogRule, Severity, parameters};
use crate::tools::schema::ToolSchema;

/// The shortest description worth the name, in characters.
const SHORT: usize = 40;
/// Words that say when to call a tool.
const CUES: [&str; 6] = ["for", "when", "after", "first", "fallback", "only"];
/// What introduces a list of allowed values.
const LISTS: [&str; 7] =
    ["one of", "allowed value", "allowed values", "valid value", "valid values", "options", "values"];
/// Words that say what an optional parameter does when it is left out.
const OPTIONAL: [&str; 13] = [
    "optional", "default", "defaults", "omit", "omitted", "if not", "when not", "absent", "all", "entire",
    "every", "fallback", "unless",
];

/// The rules every catalogue is held to.
pub fn builtin_rules() -> Vec<CatalogRule> {
    vec![
        CatalogRule { id: "description-missing-or-short", check: description },
        CatalogRule { id: "says-what-not-when", check: when },
        CatalogRule { id: "enum-in-prose", check: enum_in_prose },
        CatalogRule { id: "optional-param-undocumented", check: optional },
    ]
}

fn description(tool: &ToolSchema) -> Vec<CatalogFinding> {
    let length = tool.description().trim().chars().count();
    let finding = |severity, message: String| {
        let found =
            CatalogFinding::new("description-missing-or-short", severity, tool.name().clone(), message);
        vec![found.suggest("say what the tool does, when to call it, and what it returns")]
    };
    match length {
        0 => finding(Severity::Error, "it has no description".to_owned()),
        short if short < SHORT => finding(Severity::Warn, format!("its description has {short} characters")),
        _ => Vec::new(),
    }
}

fn when(tool: &ToolSchema) -> Vec<CatalogFinding> {
    let text = tool.description();
    if text.trim().is_empty() || has_word(text, &CUES) {
        return Vec::new();
    }
    let message = "its description says what it does, but not when to call it";
    vec![
        CatalogFinding::new("says-what-not-when", Severity::Warn, tool.name().clone(), message)
            .suggest("add a clause such as “for …” or “when …”"),
    ]
}

fn enum_in_prose(tool: &ToolSchema) -> Vec<CatalogFinding> {
    let mut found = Vec::new();
    for (name, property, _) in parameters(tool.input_schema()) {
        let is_text = property.get("type").and_then(Value::as_str) == Some("string");
        let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
        if !is_text || property.get("enum").is_some() {
            continue;
        }
        let values = listed(text);
        if values.len() >= 2 {
            let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
            found.push(
                CatalogFinding::new(
                    "enum-in-prose",
                    Severity::Warn,
                    tool.name().clone(),
                    "its allowed values are listed in prose, where nothing enforces them",
                )
                .parameter(name.clone())
                .suggest(format!("\"enum\": [{}]", quoted.join(", "))),
            );
        }
    }
    found
}

fn optional(tool: &ToolSchema) -> Vec<CatalogFinding> {
    let mut found = Vec::new();
    for (name, property, required) in parameters(tool.input_schema()) {
        let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
        if !required && !has_word(text, &OPTIONAL) {
            found.push(
                CatalogFinding::new(
                    "optional-param-undocumented",
                    Severity::Warn,
                    tool.name().clone(),
                    "it is optional, and nothing says what happens without it",
                )
                .parameter(name.clone())
                .suggest("say what the tool does when it is left out"),
            );
        }
    }
    found
}

/// Whether a text holds one of these words or phrases as a whole.
fn has_word(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    words.iter().any(|word| positions(&text, word).next().is_some())
}

/// Where a phrase stands as a whole in a lower-case text; the byte behind it.
fn positions<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(phrase).filter_map(move |(at, _)| {
        let end = at + phrase.len();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        (!before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)).then_some(end)
    })
}

fn is_identifier(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The values a description lists: `a|b|c`, or a comma list behind “one of” and its like.
fn listed(text: &str) -> Vec<String> {
    let quotes = ['`', '"', '\'', '.', ':', '(', ')'];
    let piped = text.split_whitespace().map(|word| word.trim_matches(quotes)).find(|word| {
        word.contains('|') && word.split('|').all(|part| is_identifier(part.trim_matches(quotes)))
    });
    if let Some(word) = piped {
        return word.split('|').map(|part| part.trim_matches(quotes).to_owned()).collect();
    }
    let lower = text.to_lowercase();
    for phrase in LISTS {
        for end in positions(&lower, phrase) {
            let Some(rest) = text.get(end..) else { continue };
            let list = rest.trim_start_matches([':', ' ', '=']);
            let list = list.split(['.', ';', '\n', '(']).next().unwrap_or_default();
            let parts: Vec<String> = list
                .split([','])
                .flat_map(|part| part.split(" or "))
                .map(|part| part.trim().trim_start_matches("or ").trim_matches(quotes).to_owned())
                .filter(|part| !part.is_empty())
                .collect();
            if parts.len() >= 2 && parts.iter().all(|part| is_identifier(part)) {
                return parts;
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use footprint::value;

    use super::*;
    use crate::tools::catalog::{analyze_tool_catalog, analyze_with};

    fn tool(name: &str, description: &str, properties: Value) -> ToolSchema {
        ToolSchema::new(
            name,
            description,
            value!({ "type": "object", "properties": (properties), "required": ["must"] }),
        )
    }

    const GOOD: &str = "Looks an order up by its number, for questions about one order.";

    fn found(tools: &[ToolSchema]) -> Vec<String> {
        analyze_tool_catalog(tools, Severity::Error).structural.iter().map(ToString::to_string).collect()
    }

    /// Proves TOOL-114 for the structural rules.
    #[test]
    fn each_rule_finds_its_fault_and_nothing_else() {
        let good = tool("get_order", GOOD, value!({ "must": { "type": "string" } }));
        assert!(found(std::slice::from_ref(&good)).is_empty());
        assert_eq!(
            found(&[good.clone(), good.clone()]),
            ["get_order: another tool has this name [duplicate-name]"]
        );
        assert_eq!(
            found(&[tool("a", " ", value!({}))]),
            ["a: it has no description [description-missing-or-short]"]
        );
        assert_eq!(
            found(&[tool("a", "Forms orders.", value!({}))]),
            [
                "a: its description has 13 characters [description-missing-or-short]",
                "a: its description says what it does, but not when to call it [says-what-not-when]",
            ]
        );
        let prose = |text: &str| {
            let described = value!({ "must": { "type": "string", "description": (text) } });
            analyze_tool_catalog(&[tool("a", GOOD, described)], Severity::Error).structural
        };
        let suggested = |text: &str| prose(text).first().and_then(|finding| finding.suggestion.clone());
        assert_eq!(suggested("open|closed").as_deref(), Some(r#""enum": ["open", "closed"]"#));
        assert_eq!(
            suggested("The state, one of: `open`, `closed` or `late`.").as_deref(),
            Some(r#""enum": ["open", "closed", "late"]"#)
        );
        assert_eq!(suggested("Valid values: low, high").as_deref(), Some(r#""enum": ["low", "high"]"#));
        assert!(prose("The name of the person, or of the firm").is_empty());
        let optional = |text: &str| {
            found(&[tool("a", GOOD, value!({ "site": { "type": "string", "description": (text) } }))])
        };
        assert_eq!(
            optional("The site"),
            [
                "a.site: it is optional, and nothing says what happens without it [optional-param-undocumented]"
            ]
        );
        assert!(optional("The site; all sites when left out").is_empty());
        assert_eq!(optional("A small site").len(), 1, "`small` is not `all`");
    }

    /// Proves TOOL-114: what fails is decided by weight, and rules can be exchanged.
    #[test]
    fn a_report_fails_at_its_limit() {
        let warned = [tool("a", "Short, for one.", value!({}))];
        assert!(analyze_tool_catalog(&warned, Severity::Error).ok);
        assert!(!analyze_tool_catalog(&warned, Severity::Warn).ok);
        let report = analyze_with(&warned, Severity::Warn, &[]);
        assert!(report.ok && report.tool_count == 1);
    }
}
