//! How many inserting cycles are acknowledged without a gap, for functions that read only what was written.
//!
//! Inserting cycles are numbered as they come in the sequence, from cycle 0 on; what comes before the activity's first
//! cycle was another run's to write, and counts as written. An op that reads what others wrote draws from the numbers
//! below the mark; those above it may be in flight. An insert that failed wrote nothing, so the mark stays below it
//! for good.

use crate::sequence::Ordinals;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
pub(super) struct Watermark {
    reached: Arc<AtomicU64>,
    numbers: Ordinals,
    /// Whether the op at each place of the sequence inserts.
    inserts: Box<[bool]>,
    cycles: Range<u64>,
    ahead: Mutex<Ahead>,
}

/// What is known beyond the mark.
#[derive(Debug)]
struct Ahead {
    mark: u64,
    /// Acknowledged above the mark: no more than are in flight below them.
    acknowledged: BinaryHeap<Reverse<u64>>,
    /// The lowest number that failed: nothing from it on will be reached.
    failed: u64,
}

impl Watermark {
    /// For an activity over `cycles` with this `sequence`, whose op at a position inserts or not.
    pub(super) fn new(sequence: &[usize], inserts: impl Fn(usize) -> bool, cycles: Range<u64>) -> Watermark {
        let inserts: Box<[bool]> = sequence.iter().map(|op| inserts(*op)).collect();
        let numbers = Ordinals::of_places(&inserts);
        let mark = numbers.of(cycles.start);
        let ahead = Ahead { mark, acknowledged: BinaryHeap::new(), failed: u64::MAX };
        Watermark {
            reached: Arc::new(AtomicU64::new(mark)),
            numbers,
            inserts,
            cycles,
            ahead: Mutex::new(ahead),
        }
    }

    /// What functions read.
    pub(super) fn reached(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.reached)
    }

    /// The number of an inserting cycle.
    fn number(&self, cycle: u64) -> Option<u64> {
        let place = cycle.checked_rem(self.inserts.len() as u64)?;
        let inserts = self.inserts.get(usize::try_from(place).ok()?).copied()?;
        inserts.then(|| self.numbers.of(cycle))
    }

    /// The cycle at `position` among those of all passes came to its end, well or not. Later passes write nothing
    /// new.
    pub(super) fn ended(&self, cycle: u64, position: u64, well: bool) {
        if position >= self.cycles.end.saturating_sub(self.cycles.start) {
            return;
        }
        let Some(number) = self.number(cycle) else { return };
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if !well {
            ahead.failed = ahead.failed.min(number);
            return;
        }
        if number > ahead.failed {
            return;
        }
        ahead.acknowledged.push(Reverse(number));
        let mark = ahead.mark;
        while ahead.acknowledged.peek() == Some(&Reverse(ahead.mark)) {
            ahead.acknowledged.pop();
            ahead.mark += 1;
        }
        if ahead.mark > mark {
            self.reached.store(ahead.mark, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering::Relaxed;

    /// One insert (op 1) and two reads in a turn of three, from cycle 4 on: inserts are 4, 7, 10, …, and 1 before.
    fn one_of_three(length: u64) -> Watermark {
        Watermark::new(&[0, 1, 0], |op| op == 1, 4..4 + length)
    }

    #[test]
    fn the_mark_is_the_number_of_inserts_before_the_first_that_is_not_acknowledged() {
        let mark = one_of_three(100);
        let end = |cycle: u64, well| {
            mark.ended(cycle, cycle - 4, well);
            mark.reached.load(Relaxed)
        };
        // Cycle, whether it ended well, and the mark then.
        for (cycle, well, reached) in [
            (5, true, 1), // a read
            (7, true, 1), // the third insert of all, before the second
            (4, true, 3),
            (13, true, 3),
            (10, true, 5),
            (16, false, 5), // failed: nothing gets past it
            (19, true, 5),
            (22, false, 5),
        ] {
            assert_eq!(end(cycle, well), reached, "after cycle {cycle}");
        }
        assert!(
            mark.ahead.lock().expect("no panic").acknowledged.is_empty(),
            "what cannot be reached is not kept"
        );
    }

    #[test]
    fn a_second_pass_writes_nothing_new_and_no_op_may_insert() {
        let mark = one_of_three(3);
        mark.ended(4, 0, true);
        mark.ended(4, 3, true);
        assert_eq!(mark.reached.load(Relaxed), 2);
        for sequence in [&[][..], &[0, 0]] {
            let none = Watermark::new(sequence, |_| false, 0..10);
            none.ended(0, 0, true);
            assert_eq!(none.reached.load(Relaxed), 0);
        }
    }

    proptest! {
        #[test]
        fn any_order_comes_to_the_same(mut cycles in Just((4u64..64).collect::<Vec<_>>()).prop_shuffle(), failed in 4u64..100) {
            let mark = one_of_three(60);
            let mut ended = Vec::new();
            for cycle in cycles.drain(..) {
                mark.ended(cycle, cycle - 4, cycle != failed);
                ended.push(cycle);
                let whole = (4..64).step_by(3).take_while(|insert| ended.contains(insert) && *insert != failed).count();
                prop_assert_eq!(mark.reached.load(Relaxed), 1 + whole as u64);
            }
        }
    }
}
