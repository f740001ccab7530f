//! The pieces of context a model call was sent, ranked by what they share with its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use footprint::value::{Object, Value};

use super::Link;
use super::words::telling;
use crate::plain::{excerpt, plain};

/// Listed suspects.
const LISTED: usize = 6;
/// A word the person used says little about where the answer comes from.
const ASKED_WEIGHT: f64 = 0.1;

/// One piece of context.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Suspect {
    /// `system-prompt`, `messages` or `tools`.
    pub slot: String,
    /// What kind of piece: `fact`, `tool-result`, `user`, `base` …
    pub source: String,
    /// Its id where it has one: the injection, the tool call.
    pub source_id: Option<String>,
    /// The text.
    pub text: String,
    /// Place in the conversation, for messages.
    pub position: Option<usize>,
    /// Share of the answer's telling words that it has, 0 to 1.
    pub score: f64,
    /// Words it shares with the answer.
    pub shared: Vec<String>,
    /// Where it came from, step by step.
    pub path: Vec<Link>,
}

/// One piece as the slots recorded it.
pub(crate) fn piece_of(record: &Value) -> Suspect {
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    Suspect {
        slot: text("slot").unwrap_or_default(),
        source: text("source").unwrap_or_default(),
        source_id: text("sourceId"),
        text: text("rawContent").or_else(|| text("contentSummary")).unwrap_or_default(),
        position: record.get("position").and_then(Value::as_u64).map(|at| at as usize),
        score: 0.0,
        shared: Vec::new(),
        path: Vec::new(),
    }
}

/// Scores the pieces against the answer; best first, pieces that share nothing left out. The second value counts the rest.
pub(crate) fn rank(pieces: Vec<Suspect>, answer: &str, question: &str) -> (Vec<Suspect>, usize) {
    let wanted = telling(answer);
    let asked = telling(question);
    let words: Vec<BTreeSet<String>> = pieces.iter().map(|piece| telling(&piece.text)).collect();
    let mut carriers: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words.iter().flatten().filter(|word| wanted.contains(word.as_str())) {
        *carriers.entry(word.as_str()).or_default() += 1;
    }
    let weight = |word: &str| {
        let rarity = 1.0 / carriers.get(word).copied().unwrap_or(1) as f64;
        if asked.contains(word) { rarity * ASKED_WEIGHT } else { rarity }
    };
    let total: f64 = carriers.keys().map(|word| weight(word)).sum();
    let mut ranked: Vec<Suspect> = pieces
        .into_iter()
        .zip(&words)
        .map(|(mut piece, words)| {
            let shared: Vec<&String> = words.iter().filter(|word| wanted.contains(word.as_str())).collect();
            let sum: f64 = shared.iter().map(|word| weight(word)).sum();
            piece.score = if total > 0.0 { sum / total } else { 0.0 };
            piece.shared = shared.into_iter().cloned().collect();
            piece
        })
        .filter(|piece| piece.score > 0.0)
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let folded = ranked.len().saturating_sub(LISTED);
    ranked.truncate(LISTED);
    (ranked, folded)
}

impl Suspect {
    pub(super) fn lines(&self, rank: usize) -> String {
        let mut out = String::new();
        let id = self.source_id.as_deref().map(|id| format!(" `{id}`")).unwrap_or_default();
        let place = self.position.map(|at| format!(", message {at}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "  {rank}. {:>3.0}%  {}{} ({}{place}): \"{}\"",
            self.score * 100.0,
            plain(&self.source),
            plain(&id),
            plain(&self.slot),
            excerpt(&self.text, 120)
        );
        let shared: Vec<_> = self.shared.iter().take(8).map(|word| plain(word)).collect();
        let _ = writeln!(out, "           shares: {}", shared.join(", "));
        for link in &self.path {
            let _ = writeln!(out, "           ← {:<30} {}", plain(&link.at), plain(&link.what));
        }
        out
    }

    pub(super) fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("slot", Value::from(self.slot.as_str()));
        out.insert("source", Value::from(self.source.as_str()));
        if let Some(id) = &self.source_id {
            out.insert("sourceId", Value::from(id.as_str()));
        }
        if let Some(position) = self.position {
            out.insert("position", Value::from(position as u64));
        }
        out.insert("text", Value::from(self.text.as_str()));
        out.insert("score", Value::from((self.score * 100.0).round() / 100.0));
        out.insert(
            "shared",
            self.shared.iter().map(|word| Value::from(word.as_str())).collect::<Vec<_>>().into(),
        );
        let path = self.path.iter().map(|link| {
            let mut row = Object::new();
            row.insert("at", Value::from(link.at.as_str()));
            row.insert("what", Value::from(link.what.as_str()));
            Value::Object(row)
        });
        out.insert("path", path.collect::<Vec<_>>().into());
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use footprint::value;

    fn piece(source: &str, text: &str) -> Suspect {
        piece_of(&value!({ "slot": "messages", "source": source, "rawContent": text }))
    }

    /// The piece with the words only it could have given comes first, not the one that repeats the question.
    #[test]
    fn a_rare_shared_word_outweighs_the_words_of_the_question() {
        let pieces = vec![
            piece("user", "May I return order A-1001 after the refund window?"),
            piece("fact", "Refund window: 90 days for every order."),
            piece("tool-result", "{\"order\":\"A-1001\",\"status\":\"shipped\"}"),
        ];
        let question = "May I return order A-1001 after the refund window?";
        let (ranked, folded) = rank(pieces, "You may return order A-1001 within 90 days.", question);
        assert_eq!(ranked[0].source, "fact");
        assert!(ranked[0].shared.contains(&"90".to_owned()));
        assert_eq!(folded, 0);
    }
}
