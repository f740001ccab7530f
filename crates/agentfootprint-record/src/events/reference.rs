//! The reference page, generated from the registry.

use std::fmt::Write as _;

use super::field::{Class, FieldInfo, Need, Shape};
use super::{Domain, EventName, META_FIELDS};

/// The reference page of all events as Markdown: `docs/events.md` is this text.
///
/// ```
/// let page = agentfootprint_record::events::reference_markdown();
/// assert!(page.contains("## `stream` (8)"));
/// ```
#[must_use]
pub fn reference_markdown() -> String {
    let mut page = format!(
        "# Events\n\n\
         Generated from the registry in `crates/agentfootprint-record/src/events/table.rs`; a test compares. Do not edit.\n\n\
         {} events in {} domains. Every name is prefixed `agentfootprint.`; a record holds `{{type, payload, meta}}`. \
         `?` marks a field that is absent when it does not apply, `*` a field that may carry words of a person, a \
         model or a tool (content); every other field is structure.\n\n## Meta\n\n",
        EventName::ALL.len(),
        Domain::ALL.len(),
    );
    push_fields(&mut page, META_FIELDS);
    for domain in Domain::ALL {
        let events = || EventName::ALL.into_iter().filter(move |name| name.domain() == domain);
        let _infallible = write!(page, "\n## `{domain}` ({})\n", events().count());
        for event in events() {
            let source =
                if event.declared_only() { "consumers only".to_owned() } else { event.stage().to_owned() };
            let _infallible = write!(
                page,
                "\n### `{domain}.{}`\n\nSaid when: {}. By: {source}.\n\n",
                event.event(),
                event.when()
            );
            push_fields(&mut page, event.fields());
        }
    }
    page
}

fn push_fields(page: &mut String, fields: &[FieldInfo]) {
    page.push_str("| field | type |\n|---|---|\n");
    for field in fields {
        let _infallible =
            writeln!(page, "| `{}{}`{} | {} |", field.name, need(field.need), class(field), type_text(field));
    }
}

fn need(need: Need) -> &'static str {
    if need == Need::Required { "" } else { "?" }
}

/// A record has no class of its own: its fields do.
fn class(field: &FieldInfo) -> &'static str {
    if field.class == Class::Content && !is_record(field.shape) { "*" } else { "" }
}

fn is_record(shape: Shape) -> bool {
    match shape {
        Shape::Record(_) => true,
        Shape::List(inner) | Shape::Map(inner) | Shape::Nullable(inner) => is_record(*inner),
        _ => false,
    }
}

fn type_text(field: &FieldInfo) -> String {
    if field.need == Need::True { "`true`".to_owned() } else { shape_text(field.shape) }
}

fn shape_text(shape: Shape) -> String {
    match shape {
        Shape::Text => "str".to_owned(),
        Shape::Count => "count".to_owned(),
        Shape::Int => "int".to_owned(),
        Shape::Number => "num".to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Json => "json".to_owned(),
        Shape::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" \\| "),
        Shape::List(item @ Shape::Word(_)) => format!("({})[]", shape_text(*item)),
        Shape::List(item) => format!("{}[]", shape_text(*item)),
        Shape::Map(value) => format!("map of {}", shape_text(*value)),
        Shape::Nullable(inner) => format!("{} \\| null", shape_text(*inner)),
        Shape::Loose(inner) => format!("{} (read in any type)", shape_text(*inner)),
        Shape::Record(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|field| {
                    format!("{}{}{}: {}", field.name, need(field.need), class(field), type_text(field))
                })
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}
