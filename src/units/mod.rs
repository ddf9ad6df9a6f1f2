//! Numbers as users write them: `50k`, `10s`, `0..1M`, `2500,1.1`, `auto`, `4x`.

use std::ops::Range;
use std::time::Duration;

/// A number that could not be read; the text quotes the bad part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(pub String);

/// `50k` → 50000.
pub fn count(text: &str) -> Result<u64, UnitError> {
    let _ = text;
    todo!()
}

/// `N` → `0..N`, `A..B` → `A..B`, `A..+N` → `A..A+N`.
pub fn cycles(text: &str) -> Result<Range<u64>, UnitError> {
    let _ = text;
    todo!()
}

/// `10s`, `250ms`, `1m`; a bare number is milliseconds.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let _ = text;
    todo!()
}

/// A target rate: `2500`, `1.5k,1.2`, `100,1.1,restart`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Starts per second, over 0.
    pub per_second: f64,
    /// How much faster than the rate lost time may be caught up: at least 1.0; 1.1 if not given.
    pub burst: f64,
}

/// `rate[SEP burst[SEP verb]]`, SEP one of `, : ;`.
pub fn rate(text: &str) -> Result<Rate, UnitError> {
    let _ = text;
    todo!()
}

/// How many logical threads: `N`, `auto` (10 × cores, at most the cycles), `Nx` (N × cores).
pub fn threads(text: &str, cores: usize, cycles: u64) -> Result<usize, UnitError> {
    let _ = (text, cores, cycles);
    todo!()
}
