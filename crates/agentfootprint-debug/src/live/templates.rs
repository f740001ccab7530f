//! Texts with places for values.

use std::collections::BTreeMap;

/// Texts by key, with `{{name}}` where a value belongs. A locale is such a map, handed over as a value.
pub type Templates = BTreeMap<String, String>;

/// The English texts of a status line.
#[must_use]
pub fn default_templates() -> Templates {
    [
        ("idle", "Thinking…"),
        ("streaming", "{{partial}}"),
        ("tool", "Using {{toolName}}…"),
        ("paused", "{{question}}"),
        ("tool.progress", "{{progressMessage}}"),
        ("tool.progress.generic", "{{toolName}} is at work ({{progressCount}})…"),
    ]
    .into_iter()
    .map(|(key, text)| (key.to_owned(), text.to_owned()))
    .collect()
}

/// Puts values into a template, once: what a value says is never read as a template. A value that is missing is empty, and what is
/// no place stays as it stands.
///
/// ```
/// use agentfootprint_debug::live::render;
/// let text = render("{{a}} and {{b}} and {{c", |name| (name == "a").then_some("{{b}}"));
/// assert_eq!(text, "{{b}} and  and {{c");
/// ```
#[must_use]
pub fn render<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(value(name.trim()).unwrap_or_default());
        rest = behind;
    }
    out.push_str(rest);
    out
}
