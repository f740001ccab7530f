//! How a flow narrative tells loops (OBS-86, OBS-87).

use std::collections::{HashMap, VecDeque};

use indexmap::IndexMap;

use crate::value::Str;

/// A strategy parameter outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("loop strategy `{strategy}`: {parameter} = {value} must be at least {least}")]
pub struct InvalidStrategy {
    /// The strategy.
    pub strategy: &'static str,
    /// The parameter.
    pub parameter: &'static str,
    /// What was given.
    pub value: u64,
    /// The smallest legal value.
    pub least: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Adaptive { threshold: u64, sample_rate: u64 },
    Milestone { interval: u64, first: bool },
    Progressive { base: u64 },
    Windowed { head: u64, tail: usize },
    Rle,
    Separate,
    Silent,
}

/// Which passes of a loop are told. Parameters are checked when the strategy is made.
///
/// ```
/// use footprint::recorders::LoopStrategy;
/// assert!(LoopStrategy::progressive(2).is_ok());
/// assert!(LoopStrategy::progressive(1).is_err()); // would never grow
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopStrategy(Kind);

fn least(
    strategy: &'static str,
    parameter: &'static str,
    value: u64,
    least: u64,
) -> Result<(), InvalidStrategy> {
    if value >= least { Ok(()) } else { Err(InvalidStrategy { strategy, parameter, value, least }) }
}

impl LoopStrategy {
    /// Every pass.
    pub fn all() -> Self {
        Self(Kind::All)
    }

    /// All passes up to `threshold`, then every `sample_rate`-th after it.
    ///
    /// # Errors
    /// Either parameter below 1.
    pub fn adaptive(threshold: u64, sample_rate: u64) -> Result<Self, InvalidStrategy> {
        least("adaptive", "threshold", threshold, 1)?;
        least("adaptive", "sample_rate", sample_rate, 1)?;
        Ok(Self(Kind::Adaptive { threshold, sample_rate }))
    }

    /// The first pass (if `first`), then multiples of `interval`.
    ///
    /// # Errors
    /// `interval` below 1.
    pub fn milestone(interval: u64, first: bool) -> Result<Self, InvalidStrategy> {
        least("milestone", "interval", interval, 1)?;
        Ok(Self(Kind::Milestone { interval, first }))
    }

    /// Passes 1, `base`, `base²`, ….
    ///
    /// # Errors
    /// `base` below 2.
    pub fn progressive(base: u64) -> Result<Self, InvalidStrategy> {
        least("progressive", "base", base, 2)?;
        Ok(Self(Kind::Progressive { base }))
    }

    /// Per target the first `head` and the last `tail` passes, with a note of how many were left out.
    ///
    /// # Errors
    /// Either parameter below 1.
    pub fn windowed(head: u64, tail: usize) -> Result<Self, InvalidStrategy> {
        least("windowed", "head", head, 1)?;
        least("windowed", "tail", tail as u64, 1)?;
        Ok(Self(Kind::Windowed { head, tail }))
    }

    /// Consecutive loops to one target as one sentence.
    pub fn rle() -> Self {
        Self(Kind::Rle)
    }

    /// Loop sentences in a side list.
    pub fn separate() -> Self {
        Self(Kind::Separate)
    }

    /// Only totals per target.
    pub fn silent() -> Self {
        Self(Kind::Silent)
    }

    /// The default id of a flow narrative with this strategy.
    pub fn default_id(self) -> &'static str {
        match self.0 {
            Kind::All => "narrative",
            Kind::Adaptive { .. } => "narrative-adaptive",
            Kind::Milestone { .. } => "narrative-milestone",
            Kind::Progressive { .. } => "narrative-progressive",
            Kind::Windowed { .. } => "narrative-windowed",
            Kind::Rle => "narrative-rle",
            Kind::Separate => "narrative-separate",
            Kind::Silent => "narrative-silent",
        }
    }

    pub(super) fn start(self) -> LoopTeller {
        LoopTeller { kind: self.0, ..LoopTeller::default() }
    }
}

/// Passes to one target that follow one another.
#[derive(Clone, Debug)]
struct Run {
    target: Str,
    from: u64,
    to: u64,
    count: u64,
}

/// A strategy at work on one run.
#[derive(Clone, Debug)]
pub(super) struct LoopTeller {
    kind: Kind,
    suppressed: u64,
    counts: IndexMap<Str, u64>,
    tails: HashMap<Str, VecDeque<String>>,
    runs: Vec<Run>,
    aside: Vec<String>,
}

impl Default for LoopTeller {
    fn default() -> Self {
        Self {
            kind: Kind::All,
            suppressed: 0,
            counts: IndexMap::new(),
            tails: HashMap::new(),
            runs: Vec::new(),
            aside: Vec::new(),
        }
    }
}

impl LoopTeller {
    /// Hears of one pass; returns the sentence to tell now, if any.
    pub(super) fn pass(&mut self, target: &Str, iteration: u64, sentence: String) -> Option<String> {
        let seen = self.counts.entry(target.clone()).or_default();
        *seen += 1;
        let told = match self.kind {
            Kind::All => true,
            Kind::Adaptive { threshold, sample_rate } => {
                iteration <= threshold || (iteration - threshold).is_multiple_of(sample_rate)
            }
            Kind::Milestone { interval, first } => {
                (first && iteration == 1) || iteration.is_multiple_of(interval)
            }
            Kind::Progressive { base } => is_power(iteration, base),
            Kind::Windowed { head, tail } => {
                let told = *seen <= head;
                if !told {
                    let ring = self.tails.entry(target.clone()).or_default();
                    if ring.len() == tail {
                        ring.pop_front();
                    }
                    ring.push_back(sentence.clone());
                }
                told
            }
            Kind::Rle => {
                match self.runs.last_mut().filter(|run| run.target == *target) {
                    Some(run) => {
                        run.to = iteration;
                        run.count += 1;
                    }
                    None => {
                        self.runs.push(Run {
                            target: target.clone(),
                            from: iteration,
                            to: iteration,
                            count: 1,
                        });
                    }
                }
                false
            }
            Kind::Separate => {
                self.aside.push(sentence.clone());
                false
            }
            Kind::Silent => false,
        };
        if !told {
            self.suppressed += 1;
        }
        told.then_some(sentence)
    }

    /// What comes after all other sentences.
    pub(super) fn summaries(&self) -> Vec<String> {
        let total = |(target, count): (&Str, &u64)| format!("{target}: {count} passes in all");
        match self.kind {
            Kind::Windowed { head, .. } => self
                .tails
                .iter()
                .collect::<std::collections::BTreeMap<_, _>>()
                .into_iter()
                .flat_map(|(target, ring)| {
                    let count = self.counts.get(target).copied().unwrap_or(0);
                    let omitted = count.saturating_sub(head).saturating_sub(ring.len() as u64);
                    let note = (omitted > 0).then(|| format!("{target}: {omitted} passes left out"));
                    note.into_iter().chain(ring.iter().cloned())
                })
                .collect(),
            Kind::Rle => self
                .runs
                .iter()
                .map(|run| match run.count {
                    1 => format!("{}: pass {}", run.target, run.from),
                    _ => format!("{}: passes {} to {}", run.target, run.from, run.to),
                })
                .collect(),
            Kind::Silent => self.counts.iter().map(total).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn aside(&self) -> &[String] {
        &self.aside
    }

    pub(super) fn counts(&self) -> &IndexMap<Str, u64> {
        &self.counts
    }

    pub(super) fn suppressed(&self) -> u64 {
        self.suppressed
    }
}

fn is_power(n: u64, base: u64) -> bool {
    let mut power = 1_u64;
    while power < n {
        match power.checked_mul(base) {
            Some(next) => power = next,
            None => return false,
        }
    }
    power == n
}
