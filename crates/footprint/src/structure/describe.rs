//! A chart as numbered sentences (ENG-54). Every step of every inner chart has one line, so the text grows with the chart and not
//! with its nesting.

use crate::chart::Chart;
use crate::structure::StructureRef;
use crate::value::Str;

impl Chart {
    /// What this chart does, step by step in build order: a header that names the first node, then numbered lines.
    ///
    /// ```
    /// use footprint::chart::{Chart, Stage};
    /// use footprint::scope::Scope;
    ///
    /// let chart = Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) }).named("Seed").describe("loads the order"))
    ///     .then(Stage::new("score", |_: Scope| async { Ok(()) }).named("Score"))
    ///     .build()?;
    /// assert_eq!(chart.description(), "Flowchart: Seed\nSteps:\n1. Seed - loads the order\n2. Score");
    /// # Ok::<(), footprint::chart::BuildErrors>(())
    /// ```
    pub fn description(&self) -> String {
        describe(self.structure().root())
    }
}

/// First line of a chart's description.
pub(super) fn header(root: StructureRef<'_>) -> String {
    format!("Flowchart: {}", one_line(&root.name))
}

/// A step is one line whatever its author wrote: a line break inside a name or a description would read as another step.
fn one_line(text: &str) -> String {
    if !text.contains(is_line_break) {
        return text.to_owned();
    }
    text.split(is_line_break).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

struct Writer<'a> {
    text: String,
    waiting: Vec<Step<'a>>,
}

enum Step<'a> {
    /// The node that has this number at this depth of nesting.
    Node {
        node: StructureRef<'a>,
        depth: usize,
        number: usize,
        /// The node it follows, where it follows one.
        after: Option<StructureRef<'a>>,
    },
    /// A branch or fork child that has something to say.
    Child {
        child: StructureRef<'a>,
        depth: usize,
    },
    Line {
        depth: usize,
        text: String,
    },
}

fn describe(root: StructureRef<'_>) -> String {
    let mut writer = Writer {
        text: format!("{}\nSteps:", header(root)),
        waiting: vec![Step::Node { node: root, depth: 0, number: 1, after: None }],
    };
    while let Some(step) = writer.waiting.pop() {
        match step {
            Step::Node { node, depth, number, after } => writer.node(node, depth, number, after),
            Step::Child { child, depth } => writer.child(child, depth),
            Step::Line { depth, text } => writer.line(depth, &text),
        }
    }
    writer.text
}

impl<'a> Writer<'a> {
    fn node(
        &mut self,
        node: StructureRef<'a>,
        depth: usize,
        mut number: usize,
        before: Option<StructureRef<'a>>,
    ) {
        let decides = node.has_decider || node.has_selector;
        let generated_fork = node.children().len() > 0
            && !decides
            && before.is_some_and(|before| is_generated_after(node, before));
        let mut after = Vec::new();
        if !generated_fork {
            let mut line = step_text(node);
            if decides {
                let branches = ids(node.branch_ids.as_deref().unwrap_or_default());
                let picks = if node.has_decider { "picks one of" } else { "picks any of" };
                line = format!("{line} ({picks}: {branches})");
            }
            self.line(depth, &format!("{number}. {line}"));
            number += 1;
        }
        if node.children().len() > 0 && !decides {
            let names: Vec<&str> = node.children().map(|child| &*child.node().name).collect();
            after.push(Step::Line { depth, text: format!("{number}. In parallel: {}", names.join(", ")) });
            number += 1;
        }
        if let Some(inner) = node.subflow() {
            after.push(Step::Node { node: inner, depth: depth + 1, number: 1, after: None });
        }
        after.extend(
            node.children()
                .filter(|child| speaks(*child))
                .map(|child| Step::Child { child, depth: depth + 1 }),
        );
        match node.next() {
            Some(next) if next.is_loop_reference => {
                after.push(Step::Line { depth: depth + 1, text: format!("loops back to {}", next.id) });
            }
            Some(next) => after.push(Step::Node { node: next, depth, number, after: Some(node) }),
            None => {}
        }
        self.waiting.extend(after.into_iter().rev());
    }

    /// A branch: its description, its inner chart, its loop.
    fn child(&mut self, child: StructureRef<'a>, depth: usize) {
        let target = child.node().loop_target.as_ref();
        let loops = target.map(|target| format!(", then loops back to {target}")).unwrap_or_default();
        let mut text = step_text(child);
        if *child.name != *child.id {
            text = format!("{}: {text}", child.id);
        }
        self.line(depth, &format!("- {text}{loops}"));
        if let Some(inner) = child.subflow() {
            self.waiting.push(Step::Node { node: inner, depth: depth + 1, number: 1, after: None });
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("   ", depth));
        self.text.push_str(&one_line(text));
    }
}

/// A generated fork node has no function and says nothing itself: its children are the step.
fn is_generated_after(node: StructureRef<'_>, before: StructureRef<'_>) -> bool {
    let taken = before.is_subflow_root || before.is_dynamic_parallel || before.children().len() > 0;
    taken
        && node.id.strip_suffix("-fork") == Some(&*before.id)
        && node.name == node.id
        && node.description.is_none()
}

/// Whether a branch gets a line of its own.
fn speaks(child: StructureRef<'_>) -> bool {
    child.description.is_some() || child.is_subflow_root || child.node().loop_target.is_some()
}

fn step_text(node: StructureRef<'_>) -> String {
    let mut text = node.name.to_string();
    if node.is_subflow_root {
        text.push_str(match node.subflow() {
            Some(_) => " [chart]",
            None => " [chart, resolved when first entered]",
        });
    }
    if node.is_dynamic_parallel {
        text.push_str(" [one branch per item]");
    }
    if let Some(description) = &node.description {
        text = format!("{text} - {description}");
    }
    match node.subflow() {
        Some(inner) => format!("{text} ({})", header(inner)),
        None => text,
    }
}

fn ids(ids: &[Str]) -> String {
    ids.iter().map(|id| &**id).collect::<Vec<_>>().join(", ")
}
