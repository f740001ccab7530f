//! Searching the timeline: while one types, and from hit to hit.

use super::model::{Key, Mode, Model};

/// Characters of what is searched for.
const NEEDLE: usize = 200;

/// A key while the words are being typed: the cursor goes along.
pub(super) fn typed(model: &mut Model, from: usize, key: Key) {
    match key {
        Key::Char(character) if model.needle.chars().count() < NEEDLE => model.needle.push(character),
        Key::Backspace => {
            model.needle.pop();
        }
        Key::Enter => {
            model.mode = Mode::Browse;
            return;
        }
        Key::Escape => {
            model.mode = Mode::Browse;
            model.needle.clear();
            model.found.clear();
            model.go(from);
            return;
        }
        _ => return,
    }
    let hit = hit(model, from, true, true);
    model.go(hit.unwrap_or(from));
    told(model, hit);
}

/// The next hit, or the one before; goes round at the ends.
pub(super) fn next(model: &mut Model, forward: bool) {
    if model.needle.is_empty() {
        model.found = "nothing was searched for; / searches".to_owned();
        return;
    }
    let hit = hit(model, model.cursor, forward, false);
    if let Some(row) = hit {
        model.go(row);
    }
    told(model, hit);
}

fn told(model: &mut Model, hit: Option<usize>) {
    model.found = match hit {
        _ if model.needle.is_empty() => String::new(),
        None => "nowhere in this run".to_owned(),
        Some(row) => {
            let needle = model.needle.to_lowercase();
            let words = model.run.words();
            let all = words.iter().filter(|words| words.contains(&needle)).count();
            let before = words.iter().take(row).filter(|words| words.contains(&needle)).count();
            format!("{} of {all} steps", before + 1)
        }
    };
}

/// The first row with the words, from a row on; with that row itself or without (it is then the last one looked at).
fn hit(model: &Model, from: usize, forward: bool, itself: bool) -> Option<usize> {
    let needle = model.needle.to_lowercase();
    let words = model.run.words();
    if needle.is_empty() || words.is_empty() {
        return None;
    }
    let first = usize::from(!itself);
    let at = |step: usize| {
        let step = step % words.len();
        (if forward { from + step } else { from + words.len() - step }) % words.len()
    };
    (first..words.len() + first)
        .map(at)
        .find(|row| words.get(*row).is_some_and(|words| words.contains(&needle)))
}
