//! Time, injected.
//!
//! Nothing in the engine asks the operating system for the time directly: a run takes a [`Clock`] from
//! its options, so a run with a [`ManualClock`] and fixed run ids is byte-for-byte reproducible.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of wall-clock and monotonic time.
///
/// Both methods are called with no engine lock held.
///
/// ```
/// use footprint::clock::{Clock, ManualClock};
/// let clock = ManualClock::at(1_700_000_000_000);
/// clock.advance_ms(250);
/// assert_eq!(clock.now_ms(), 1_700_000_000_250);
/// ```
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch; what timestamps in a record are made of.
    fn now_ms(&self) -> u64;

    /// Time since an arbitrary fixed origin, never going backwards; what durations are made of.
    fn monotonic(&self) -> Duration;
}

/// The operating system's clock.
#[derive(Debug, Clone)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A system clock whose monotonic origin is now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        unix_ms()
    }

    fn monotonic(&self) -> Duration {
        self.origin.elapsed()
    }
}

/// Milliseconds since the Unix epoch by the operating system; 0 for a clock set before 1970.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map(|since| since.as_secs().saturating_mul(1000).saturating_add(u64::from(since.subsec_millis())))
        .unwrap_or(0)
}

/// A clock that only moves when told to; for tests and reproducible records.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: AtomicU64,
    start: u64,
}

impl ManualClock {
    /// A clock that stands at `unix_ms`.
    pub fn at(unix_ms: u64) -> Self {
        Self { now: AtomicU64::new(unix_ms), start: unix_ms }
    }

    /// Moves the clock forward.
    pub fn advance_ms(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall-clock time. Going back is allowed: that is what a test may want to see.
    pub fn set_ms(&self, unix_ms: u64) {
        self.now.store(unix_ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves ENG-140.
    #[test]
    fn manual_clock_moves_only_when_told() {
        let clock = ManualClock::at(10);
        assert_eq!((clock.now_ms(), clock.monotonic()), (10, Duration::ZERO));
        clock.advance_ms(5);
        assert_eq!((clock.now_ms(), clock.monotonic()), (15, Duration::from_millis(5)));
        clock.set_ms(3);
        assert_eq!((clock.now_ms(), clock.monotonic()), (3, Duration::ZERO));
    }

    #[test]
    fn system_clock_is_past_2020_and_monotonic() {
        let clock = SystemClock::new();
        assert!(clock.now_ms() > 1_577_836_800_000);
        let first = clock.monotonic();
        assert!(clock.monotonic() >= first);
    }
}
