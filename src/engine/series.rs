//! The points over time that are kept of a run, in bounded memory: when there are as many intervals as are kept, two
//! become one, and from then on each is twice as long.

use crate::metrics::{Frame, Point};

/// Intervals that are kept at most: two hours of one second.
const MOST_INTERVALS: usize = 7_200;

#[derive(Debug)]
pub(super) struct Series {
    points: Vec<Point>,
    most: usize,
    /// Frames of one interval.
    every: u32,
    /// Frames that do not make an interval yet, added up.
    pending: Option<Frame>,
    frames: u32,
}

impl Series {
    pub(super) fn new() -> Series {
        Series::of_most(MOST_INTERVALS)
    }

    fn of_most(most: usize) -> Series {
        Series { points: Vec::new(), most, every: 1, pending: None, frames: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.points.is_empty() && self.pending.is_none()
    }

    pub(super) fn push(&mut self, frame: &Frame) {
        if self.every == 1 {
            self.keep(frame);
            return;
        }
        match &mut self.pending {
            Some(pending) => {
                pending.length += frame.length;
                for (sum, stats) in pending.ops.iter_mut().zip(&frame.ops) {
                    sum.add(stats);
                }
            }
            None => self.pending = Some(frame.clone()),
        }
        self.frames += 1;
        if self.frames >= self.every {
            self.close();
        }
    }

    /// All points, in order of time.
    pub(super) fn into_points(mut self) -> Vec<Point> {
        self.close();
        self.points
    }

    fn close(&mut self) {
        self.frames = 0;
        if let Some(frame) = self.pending.take() {
            self.keep(&frame);
        }
    }

    fn keep(&mut self, frame: &Frame) {
        let ops = frame.ops.len();
        if ops > 0 && self.points.len() / ops >= self.most {
            self.halve(ops);
        }
        self.points.extend(frame.points());
    }

    fn halve(&mut self, ops: usize) {
        let mut halved: Vec<Point> = Vec::with_capacity(self.points.len() / 2 + ops);
        for two in self.points.chunks(ops * 2) {
            let (first, second) = two.split_at(ops.min(two.len()));
            let start = halved.len();
            halved.extend_from_slice(first);
            halved[start..].iter_mut().zip(second).for_each(|(point, next)| point.merge(next));
        }
        self.points = halved;
        self.every = self.every.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Second `n` of a run of two ops, of which the first took `n` ms once and the second failed once.
    fn frame(n: u64) -> Frame {
        let mut frame =
            Frame { start: Duration::from_secs(n), length: Duration::from_secs(1), ..Frame::empty(2) };
        frame.ops[0].ok = 1;
        frame.ops[0].service.record(n * 1_000_000).expect("it grows");
        frame.ops[1].error("E").ended = 1;
        frame
    }

    #[test]
    fn a_long_run_keeps_as_many_points_as_a_short_one_and_loses_no_count_and_no_peak() {
        for seconds in [1, 7, 8, 9, 16, 17, 100, 1_000] {
            let mut series = Series::of_most(8);
            assert!(series.is_empty());
            for n in 0..seconds {
                series.push(&frame(n));
                assert!(!series.is_empty());
                assert!(series.points.len() <= 8 * 2, "{n}");
            }
            let points = series.into_points();
            assert!(
                points.len() <= 9 * 2 && (seconds < 8 || points.len() >= 5 * 2),
                "{seconds}: {}",
                points.len()
            );
            let of = |op: usize| points.iter().filter(move |point| point.op == op);
            assert_eq!(of(0).map(|point| point.ok).sum::<u64>(), seconds);
            assert_eq!(of(1).map(|point| point.errors).sum::<u64>(), seconds);
            assert_eq!(of(0).map(|point| point.length).sum::<Duration>(), Duration::from_secs(seconds));
            let mut end = Duration::ZERO;
            for point in of(0) {
                assert_eq!(point.at, end + point.length, "{seconds}: they follow each other");
                end = point.at;
                // The slowest second of an interval is its last.
                let peak = (end.as_secs() - 1) * 1_000_000;
                assert!(point.service.max >= peak && point.service.max <= peak + peak / 500 + 1, "{point:?}");
            }
        }
    }
}
