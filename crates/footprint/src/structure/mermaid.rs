//! A chart as a Mermaid flowchart (ENG-55).

use std::collections::HashSet;
use std::fmt::Write;

use crate::chart::Chart;
use crate::structure::StructureRef;

/// Words Mermaid reads as syntax where a node id may stand.
const SYNTAX_WORDS: &[&str] = &[
    "end",
    "graph",
    "subgraph",
    "flowchart",
    "direction",
    "style",
    "linkStyle",
    "class",
    "classDef",
    "click",
    "call",
    "href",
    "default",
    "interpolate",
];

impl Chart {
    /// A `flowchart TD` of this chart: every node, its branches, what follows it, and its loops. Mounted charts are one node each.
    ///
    /// ```
    /// use footprint::chart::{Chart, Stage};
    /// use footprint::scope::Scope;
    ///
    /// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }).named("Seed"))
    ///     .then(Stage::new("score", |_: Scope| async { Ok(()) }).named("Score"))
    ///     .build()?;
    /// assert_eq!(chart.to_mermaid(), "flowchart TD\nseed[\"Seed\"]\nseed --> score\nscore[\"Score\"]");
    /// # Ok::<(), footprint::chart::BuildErrors>(())
    /// ```
    pub fn to_mermaid(&self) -> String {
        mermaid(self.structure().root())
    }
}

fn mermaid(root: StructureRef<'_>) -> String {
    let mut text = String::from("flowchart TD");
    let mut drawn = HashSet::new();
    // (edge source, node): an edge is written just before the node it leads to.
    let mut waiting = vec![(None, root)];
    while let Some((from, node)) = waiting.pop() {
        let id = mermaid_id(&node.id);
        if let Some(from) = from {
            line(&mut text, format_args!("{from} --> {id}"));
        }
        if node.is_loop_reference || !drawn.insert(id.clone()) {
            continue;
        }
        line(&mut text, format_args!("{id}[\"{}\"]", mermaid_label(&node.name)));
        waiting.extend(node.next().map(|next| (Some(id.clone()), next)));
        waiting.extend(node.children().rev().map(|child| (Some(id.clone()), child)));
    }
    text
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    text.push('\n');
    // Writing to a string cannot fail.
    let _ = text.write_fmt(content);
}

/// An id Mermaid accepts, different for different ids: letters and digits stand for themselves, `_` is doubled, everything else is
/// `_` and its hexadecimal code point between `x` and `_`. A syntax word has its first letter written that way.
#[must_use]
pub fn mermaid_id(id: &str) -> String {
    let escape_first = SYNTAX_WORDS.iter().any(|word| word.eq_ignore_ascii_case(id));
    let mut safe = String::with_capacity(id.len());
    for (at, character) in id.chars().enumerate() {
        match character {
            '_' => safe.push_str("__"),
            'a'..='z' | 'A'..='Z' | '0'..='9' if at > 0 || !escape_first => safe.push(character),
            _ => {
                let _ = write!(safe, "_x{:x}_", u32::from(character));
            }
        }
    }
    safe
}

/// A label inside double quotes, with the characters that mean something to Mermaid or to HTML as entities.
#[must_use]
pub fn mermaid_label(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '"' => safe.push_str("#quot;"),
            '#' => safe.push_str("#35;"),
            '&' => safe.push_str("#amp;"),
            '<' => safe.push_str("#lt;"),
            '>' => safe.push_str("#gt;"),
            '`' => safe.push_str("#96;"),
            '\\' => safe.push_str("#92;"),
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
