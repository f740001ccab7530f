//! Drawing. Only what is visible is made, and nothing is looked up.

use agentfootprint::debug::{excerpt, plain};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as Drawn, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::layout::{areas, inside};
use super::model::{Mode, Model, Pane};
use super::page::Page;
use super::rows::Row;
use super::text::{Line, Tone, columns};

/// Whether colours may be used; emphasis is always there without them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colours: bool,
}

const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "one line"),
    ("PgUp PgDn", "one screen"),
    ("Home End g G", "to the beginning, to the end"),
    ("Tab", "the next pane; Shift-Tab the one before"),
    ("Enter", "from the timeline into the step; on a line that names a step, to that step"),
    ("/", "search as you type; n and N go on, Esc goes back"),
    ("w", "why: from the answer back to its causes, or what led to this step"),
    ("Esc", "back to the timeline"),
    ("q", "quit"),
    ("", ""),
    ("", "A row: ! something failed, the iteration, the number of the step, its kind, its name."),
    ("", "The context is that of the model call the cursor is in or after."),
    ("", "A search looks at ids, changes and events; at 64 Ki characters of one step at most."),
];

impl Look {
    fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Heading => self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Cyan),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Warning => self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Yellow),
        }
    }

    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.colours { style.fg(colour) } else { style }
    }

    fn kind(self, kind: &str) -> Style {
        match kind {
            "llm-turn" => self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Magenta),
            "tool-call" => self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Green),
            "decision" => self.coloured(Style::new(), Color::Blue),
            _ => Style::new(),
        }
    }
}

pub(super) fn view(model: &Model, look: Look, frame: &mut Frame<'_>) {
    // A terminal that has just become smaller is drawn on before the model hears of it.
    let areas = areas(frame.area(), model.pane);
    head(model, look, areas.head, frame);
    let rows = model.run.rows().len();
    let title = format!("timeline {}/{rows}", if rows == 0 { 0 } else { model.cursor + 1 });
    pane(frame, areas.timeline, &title, model.pane == Pane::Timeline, look, |width, height| {
        timeline(model, look, width, height)
    });
    let title = if model.why.is_some() { "why (Esc closes)" } else { "step" };
    pane(frame, areas.detail, title, model.pane == Pane::Detail, look, |_, height| {
        page(model.upper(), model.pane == Pane::Detail, look, height)
    });
    pane(frame, areas.context, "context of the call", model.pane == Pane::Context, look, |_, height| {
        page(&model.context, model.pane == Pane::Context, look, height)
    });
    foot(model, look, areas.foot, frame);
    if model.mode == Mode::Help {
        help(frame, look);
    }
}

fn head(model: &Model, look: Look, area: Rect, frame: &mut Frame<'_>) {
    let width = usize::from(area.width);
    let limits = &model.run.limits;
    let second = if limits.is_empty() {
        Drawn::default()
    } else {
        let text = excerpt(&format!("⚠ limits of this record: {}", limits.join(", ")), width);
        Drawn::styled(text, look.tone(Tone::Warning))
    };
    let first = Drawn::styled(excerpt(&model.run.headline, width), Style::new().add_modifier(Modifier::BOLD));
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

/// A bordered pane around the lines that fit it.
fn pane<'a>(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    active: bool,
    look: Look,
    lines: impl FnOnce(usize, usize) -> Vec<Drawn<'a>>,
) {
    if area.is_empty() {
        return;
    }
    let style = if active { look.tone(Tone::Heading) } else { look.tone(Tone::Dim) };
    let title = if active { format!(" ▸ {title} ") } else { format!(" {title} ") };
    frame.render_widget(Block::bordered().border_style(style).title(title), area);
    let room = inside(area);
    let lines = lines(usize::from(room.width), usize::from(room.height));
    frame.render_widget(Paragraph::new(lines), room);
}

/// The rows that are visible, and no other.
pub(super) fn timeline(model: &Model, look: Look, width: usize, height: usize) -> Vec<Drawn<'_>> {
    let rows = model.run.rows().iter().enumerate().skip(model.top).take(height);
    rows.map(|(at, row)| row_line(row, at == model.cursor, look, width)).collect()
}

fn row_line(row: &Row, selected: bool, look: Look, width: usize) -> Drawn<'_> {
    let iteration = row.iteration.map_or_else(String::new, |iteration| iteration.to_string());
    let (stage, number) = row.step.rsplit_once('#').unwrap_or((row.step.as_str(), ""));
    let mark = if row.alarming { "!" } else { " " };
    let kind = excerpt(&row.kind, 9);
    let name = if row.label.is_empty() { stage.to_owned() } else { format!("{}  {stage}", row.label) };
    let indent = " ".repeat(row.depth.min(8) * 2);
    let number = if number.is_empty() { String::new() } else { format!("#{}", excerpt(number, 7)) };
    let head = format!("{:>3} {number:<6} ", excerpt(&iteration, 6));
    let room = width.saturating_sub(columns(&head) + 12);
    let mut line = Drawn::from(vec![
        Span::styled(mark, look.tone(Tone::Warning)),
        Span::styled(head, look.tone(Tone::Dim)),
        Span::styled(format!("{kind:<10}"), look.kind(&row.kind)),
        Span::styled(excerpt(&format!("{indent}{name}"), room.max(1)), Style::new()),
    ]);
    if selected {
        line = line.patch_style(Style::new().add_modifier(Modifier::REVERSED));
    }
    line
}

fn page<'a>(page: &'a Page, active: bool, look: Look, height: usize) -> Vec<Drawn<'a>> {
    page.visible(height).map(|(selected, line)| drawn(line, selected && active, look)).collect()
}

fn drawn(line: &Line, selected: bool, look: Look) -> Drawn<'_> {
    let mut style = look.tone(line.tone);
    if line.row.is_some() {
        style = style.add_modifier(Modifier::UNDERLINED);
    }
    let mut drawn =
        Drawn::from(vec![Span::raw(" ".repeat(line.indent)), Span::styled(line.text.as_str(), style)]);
    if selected {
        drawn = drawn.patch_style(Style::new().add_modifier(Modifier::REVERSED));
    }
    drawn
}

fn foot(model: &Model, look: Look, area: Rect, frame: &mut Frame<'_>) {
    let found = if model.found.is_empty() { String::new() } else { format!("  ({})", model.found) };
    let text = match model.mode {
        Mode::Search { .. } => format!("/{}▏{found}  Enter keeps, Esc goes back", plain(&model.needle)),
        _ if !model.needle.is_empty() || !model.found.is_empty() => {
            format!("/{}{found}  n next  N previous  ? help  q quit", plain(&model.needle))
        }
        _ => "↑↓ move  Tab pane  Enter open  / search  w why  ? help  q quit".to_owned(),
    };
    let text = excerpt(&text, usize::from(area.width));
    frame.render_widget(Paragraph::new(Drawn::styled(text, look.tone(Tone::Dim))), area);
}

fn help(frame: &mut Frame<'_>, look: Look) {
    let size = frame.area();
    let height = u16::try_from(HELP.len()).unwrap_or(u16::MAX).saturating_add(2).min(size.height);
    let [_, middle, _] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(height), Constraint::Fill(1)]).areas(size);
    let [_, area, _] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(94.min(size.width)),
        Constraint::Fill(1),
    ])
    .areas(middle);
    frame.render_widget(Clear, area);
    let lines = HELP.iter().map(|(keys, says)| {
        Drawn::from(vec![Span::styled(format!("{keys:<14}"), look.tone(Tone::Heading)), Span::raw(*says)])
    });
    let lines: Vec<Drawn<'_>> = lines.collect();
    pane(frame, area, "help (any key closes)", true, look, |_, _| lines);
}
