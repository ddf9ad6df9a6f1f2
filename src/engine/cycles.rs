//! Deals cycles to threads: one shared counter of strides, no partition, each cycle exactly once a pass.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The cycles of an activity, for any number of threads to claim from.
#[derive(Debug)]
pub(super) struct Cycles {
    cycles: Range<u64>,
    stride: u64,
    strides_per_pass: u64,
    strides: u64,
    next: Contended,
}

/// Written by all threads with each claim; on cache lines of its own, so that what lies beside it is not.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Contended(AtomicU64);

/// Consecutive cycles that one thread runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stride {
    pub cycles: Range<u64>,
    /// How many cycles of all passes stand before it.
    pub position: u64,
}

impl Cycles {
    /// `passes` times over `cycles`, `stride` at a time. The last stride of a pass may be shorter.
    pub fn new(cycles: Range<u64>, passes: u64, stride: u64) -> Cycles {
        let length = cycles.end.saturating_sub(cycles.start);
        let stride = stride.max(1);
        let strides_per_pass = length.div_ceil(stride);
        Cycles {
            cycles,
            stride,
            strides_per_pass,
            strides: strides_per_pass.saturating_mul(passes),
            next: Contended::default(),
        }
    }

    /// The next stride, or `None` when all are dealt.
    pub fn claim(&self) -> Option<Stride> {
        let claimed = self.next.0.fetch_add(1, Relaxed);
        if claimed >= self.strides {
            return None;
        }
        let before = claimed % self.strides_per_pass * self.stride;
        let start = self.cycles.start + before;
        let pass = claimed / self.strides_per_pass;
        Some(Stride {
            cycles: start..start.saturating_add(self.stride).min(self.cycles.end),
            position: pass * (self.cycles.end - self.cycles.start) + before,
        })
    }

    /// All strides are dealt.
    pub fn exhausted(&self) -> bool {
        self.next.0.load(Relaxed) >= self.strides
    }

    /// Cycles over all passes.
    pub fn total(&self) -> u64 {
        let length = self.cycles.end.saturating_sub(self.cycles.start);
        match self.strides_per_pass {
            0 => 0,
            per_pass => length.saturating_mul(self.strides / per_pass),
        }
    }

    /// More threads than this would find nothing to do.
    pub fn strides(&self) -> u64 {
        self.strides
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dealt(cycles: &Cycles) -> Vec<u64> {
        std::iter::from_fn(|| cycles.claim()).flat_map(|stride| stride.cycles).collect()
    }

    #[test]
    fn strides_are_aligned_and_the_last_of_a_pass_may_be_short() {
        let cycles = Cycles::new(5..12, 2, 3);
        let strides: Vec<_> = std::iter::from_fn(|| cycles.claim()).collect();
        let ranges: Vec<_> = strides.iter().map(|stride| stride.cycles.clone()).collect();
        assert_eq!(ranges, [5..8, 8..11, 11..12, 5..8, 8..11, 11..12]);
        let positions: Vec<_> = strides.iter().map(|stride| stride.position).collect();
        assert_eq!(positions, [0, 3, 6, 7, 10, 13]);
        assert!(cycles.exhausted());
        assert_eq!(cycles.total(), 14);
    }

    #[test]
    fn nothing_to_do_is_nothing_done() {
        for cycles in [Cycles::new(0..0, 1, 1), Cycles::new(7..7, 3, 5), Cycles::new(0..9, 0, 1)] {
            assert_eq!((cycles.total(), cycles.claim()), (0, None));
        }
    }

    #[test]
    fn the_end_of_the_numbers_is_reached() {
        let cycles = Cycles::new(u64::MAX - 3..u64::MAX, 1, 2);
        assert_eq!(dealt(&cycles), [u64::MAX - 3, u64::MAX - 2, u64::MAX - 1]);
    }

    proptest! {
        #[test]
        fn each_cycle_is_dealt_once_a_pass(start in 0u64..50, length in 0u64..200, passes in 1u64..4, stride in 1u64..30) {
            let cycles = Cycles::new(start..start + length, passes, stride);
            let expected: Vec<u64> = (0..passes).flat_map(|_| start..start + length).collect();
            prop_assert_eq!(cycles.total(), expected.len() as u64);
            prop_assert_eq!(dealt(&cycles), expected);
        }
    }
}
