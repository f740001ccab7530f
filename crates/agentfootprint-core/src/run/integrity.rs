//! The disposition ledger of a run: whether each integrity check really ran (EVD-410…415).

use std::fmt;

use agentfootprint_record::events::words::Seam;

/// The checks a run knows, in registration order (EVD-410).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum IntegrityCheck {
    /// The request on the wire is the request that was recorded.
    WireInvariant = 0,
    /// Two composed pieces that cannot both hold.
    ComposeInvariant = 1,
    /// An action offered after its argument ground left the window.
    DanglingReference = 2,
    /// An argument nothing served.
    UnsupportedArgument = 3,
    /// A claim against a settled fact.
    UnsupportedClaim = 4,
    /// A lookup of an id the run itself produced came back empty.
    EmptyLookup = 5,
    /// Rows disagree with the declared column types.
    ColumnTypeMismatch = 6,
    /// A declared column is missing.
    MissingColumn = 7,
    /// A grounded answer with nothing from this turn in it.
    PriorTurnEvidence = 8,
}

impl IntegrityCheck {
    /// Every check, in registration order.
    pub const ALL: [Self; 9] = [
        Self::WireInvariant,
        Self::ComposeInvariant,
        Self::DanglingReference,
        Self::UnsupportedArgument,
        Self::UnsupportedClaim,
        Self::EmptyLookup,
        Self::ColumnTypeMismatch,
        Self::MissingColumn,
        Self::PriorTurnEvidence,
    ];

    /// The recorded name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WireInvariant | Self::ComposeInvariant => "invariant-violation",
            Self::DanglingReference => "dangling-reference",
            Self::UnsupportedArgument => "unsupported-argument",
            Self::UnsupportedClaim => "unsupported-claim",
            Self::EmptyLookup => "empty-lookup",
            Self::ColumnTypeMismatch => "column-type-mismatch",
            Self::MissingColumn => "missing-column",
            Self::PriorTurnEvidence => "prior-turn-evidence",
        }
    }

    /// Where it looks.
    pub const fn seam(self) -> Seam {
        match self {
            Self::WireInvariant => Seam::Wire,
            Self::ComposeInvariant | Self::DanglingReference => Seam::Compose,
            Self::UnsupportedArgument => Seam::Choice,
            Self::UnsupportedClaim | Self::PriorTurnEvidence => Seam::Claim,
            Self::EmptyLookup | Self::ColumnTypeMismatch | Self::MissingColumn => Seam::Write,
        }
    }
}

impl fmt::Display for IntegrityCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What one encounter of a check came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Looked and found nothing wrong.
    Pass,
    /// Looked and found a contradiction; the time of the finding in Unix milliseconds.
    Fail {
        /// When.
        at_ms: u64,
    },
    /// Nothing to look at.
    NotApplicable,
    /// Something to look at that could not be seen.
    Unreachable,
}

/// The counts of one check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckCounts {
    /// Passes and failures.
    pub checked: u64,
    /// Failures.
    pub findings: u64,
    /// Encounters with nothing to look at.
    pub not_applicable: u64,
    /// Encounters that could not look.
    pub unreachable: u64,
    /// When it failed last.
    pub last_fired_at: Option<u64>,
    /// Canary runs; they never touch the other counts.
    pub synthetic: u64,
}

/// One ledger per run.
#[derive(Clone, Debug, Default)]
pub struct IntegrityLedger {
    counts: [CheckCounts; IntegrityCheck::ALL.len()],
    work_existed: bool,
}

impl IntegrityLedger {
    /// A ledger in which every check that is not armed is noted as not applicable, per check.
    pub fn new(armed: impl Fn(IntegrityCheck) -> bool) -> Self {
        let mut ledger = Self::default();
        for check in IntegrityCheck::ALL {
            if !armed(check) {
                ledger.note(check, Disposition::NotApplicable);
            }
        }
        ledger
    }

    /// Files one encounter. No path through a seam returns without one.
    pub fn note(&mut self, check: IntegrityCheck, disposition: Disposition) {
        let Some(counts) = self.counts.get_mut(check as usize) else { return };
        match disposition {
            Disposition::Pass => counts.checked += 1,
            Disposition::Fail { at_ms } => {
                counts.checked += 1;
                counts.findings += 1;
                counts.last_fired_at = Some(at_ms);
            }
            Disposition::NotApplicable => counts.not_applicable += 1,
            Disposition::Unreachable => counts.unreachable += 1,
        }
    }

    /// Files one canary run (EVD-413).
    pub fn note_synthetic(&mut self, check: IntegrityCheck) {
        if let Some(counts) = self.counts.get_mut(check as usize) {
            counts.synthetic += 1;
        }
    }

    /// Notes that there was a turn to check: its state holds `llmLatestContent`, which no check writes (EVD-414).
    pub fn note_work(&mut self) {
        self.work_existed = true;
    }

    /// Whether there was anything to check.
    pub fn work_existed(&self) -> bool {
        self.work_existed
    }

    /// The rows in registration order.
    pub fn rows(&self) -> impl Iterator<Item = (IntegrityCheck, CheckCounts)> + '_ {
        IntegrityCheck::ALL.into_iter().zip(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves EVD-410, EVD-411.
    #[test]
    fn checks_that_are_not_armed_are_noted_at_once() {
        let ledger = IntegrityLedger::new(|check| check == IntegrityCheck::WireInvariant);
        let rows: Vec<_> = ledger.rows().collect();
        assert_eq!(rows.len(), 9);
        assert_eq!(rows[0].1, CheckCounts::default());
        assert!(rows[1..].iter().all(|(_, counts)| counts.not_applicable == 1 && counts.checked == 0));
    }

    /// Proves EVD-411, EVD-414.
    #[test]
    fn every_encounter_files_exactly_one_disposition() {
        let mut ledger = IntegrityLedger::new(|_| true);
        assert!(!ledger.work_existed());
        ledger.note(IntegrityCheck::WireInvariant, Disposition::Pass);
        ledger.note(IntegrityCheck::WireInvariant, Disposition::Fail { at_ms: 7 });
        ledger.note_synthetic(IntegrityCheck::WireInvariant);
        ledger.note_work();
        let (_, counts) = ledger.rows().next().unwrap();
        assert_eq!(
            (counts.checked, counts.findings, counts.last_fired_at, counts.synthetic),
            (2, 1, Some(7), 1)
        );
        assert!(ledger.work_existed());
    }
}
