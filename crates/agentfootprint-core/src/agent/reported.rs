//! What the events of the slots have already said: a piece is reported when it enters its slot, not again while it stays (AGT-68).

use std::collections::HashSet;

use agentfootprint_record::events::words::ContextSlot;
use footprint::value::Str;

use super::records::Piece;

/// The pieces of each slot's last visit, by content hash.
#[derive(Default)]
pub(crate) struct ReportedPieces {
    system: HashSet<Str>,
    messages: HashSet<Str>,
    tools: HashSet<Str>,
}

impl ReportedPieces {
    /// The pieces of this visit that the visit before did not hold. The first `unchanged` are the same as then, and nothing
    /// else was: a growing conversation costs what it grows by.
    pub(crate) fn entering<'a>(
        &mut self,
        slot: &ContextSlot,
        pieces: &'a [Piece],
        unchanged: usize,
    ) -> Vec<&'a Piece> {
        let known = match slot {
            ContextSlot::SystemPrompt => &mut self.system,
            ContextSlot::Messages => &mut self.messages,
            _ => &mut self.tools,
        };
        let hash = |piece: &Piece| piece.payload.content_hash.clone();
        if unchanged > 0 {
            let added = pieces.iter().skip(unchanged);
            return added.filter(|piece| known.insert(hash(piece))).collect();
        }
        if pieces.len() == known.len()
            && pieces.iter().all(|piece| known.contains(&piece.payload.content_hash))
        {
            return Vec::new();
        }
        let mut now = HashSet::with_capacity(pieces.len());
        let entering = pieces
            .iter()
            .filter(|piece| now.insert(hash(piece)) && !known.contains(&piece.payload.content_hash))
            .collect();
        *known = now;
        entering
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::base_piece;
    use super::*;

    fn pieces(texts: &[&str]) -> Vec<Piece> {
        texts.iter().map(|text| base_piece(&Str::from(*text), "r")).collect()
    }

    fn said(entering: Vec<&Piece>) -> Vec<&str> {
        entering.into_iter().map(|piece| &*piece.payload.content_summary).collect()
    }

    /// Proves AGT-68: once while it stays, again when it comes back, and one row for equal pieces.
    #[test]
    fn a_piece_is_said_when_it_enters() {
        let mut reported = ReportedPieces::default();
        let slot = ContextSlot::SystemPrompt;
        let mut visit = |texts: &[&str]| -> Vec<String> {
            said(reported.entering(&slot, &pieces(texts), 0)).into_iter().map(str::to_owned).collect()
        };
        assert_eq!(visit(&["a", "b", "a"]), ["a", "b"]);
        assert!(visit(&["a", "b"]).is_empty());
        assert_eq!(visit(&["b", "c"]), ["c"]);
        assert_eq!(visit(&["a", "b", "c"]), ["a"]);
        assert!(visit(&[]).is_empty());
        assert_eq!(visit(&["a"]), ["a"]);
    }

    /// Proves AGT-68: a list that only grew is compared at its end, and slots do not know of each other.
    #[test]
    fn a_grown_list_is_looked_at_from_where_it_grew() {
        let mut reported = ReportedPieces::default();
        let all = pieces(&["a", "b", "c"]);
        assert_eq!(said(reported.entering(&ContextSlot::Messages, &all[..2], 0)), ["a", "b"]);
        assert_eq!(said(reported.entering(&ContextSlot::Messages, &all, 2)), ["c"]);
        assert!(reported.entering(&ContextSlot::Messages, &all, 3).is_empty());
        assert_eq!(said(reported.entering(&ContextSlot::Tools, &all[..1], 0)), ["a"]);
        assert_eq!(said(reported.entering(&ContextSlot::Messages, &pieces(&["b", "d"]), 0)), ["d"]);
    }
}
