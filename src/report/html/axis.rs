//! Axes: from where to where, with ticks at round values and what stands beside them. Times of ops are drawn by
//! their logarithm where they reach over more than a decade.

use super::super::wording;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// An axis. Values are placed by [`Axis::at`].
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub name: &'static str,
    pub from: f64,
    pub to: f64,
    /// Place and label.
    pub ticks: Vec<(f64, String)>,
    logarithmic: bool,
}

/// Steps between ticks: 1, 2 or 5 times a power of ten.
fn step(range: f64, most: f64) -> f64 {
    let least = (range / most).max(f64::MIN_POSITIVE);
    let decade = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * decade).find(|step| *step >= least * 0.999).unwrap_or(least)
}

impl Axis {
    fn linear(name: &'static str, to: f64, step: f64, label: impl Fn(f64) -> String) -> Axis {
        let count = (to / step).floor().min(1000.0) as u32;
        let ticks = (0..=count).map(|n| f64::from(n) * step).map(|at| (at, label(at))).collect();
        Axis { name, from: 0.0, to, ticks, logarithmic: false }
    }

    /// Time since the start, to `end` seconds.
    pub fn seconds(end: f64) -> Axis {
        let end = if end.is_finite() && end > 0.0 { end } else { 1.0 };
        const STEPS: [f64; 16] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0,
            14400.0, 43200.0,
        ];
        let step = match end {
            _ if end < 10.0 => step(end, 10.0),
            _ => STEPS
                .into_iter()
                .find(|step| end / step <= 10.0)
                .unwrap_or_else(|| (end / 10.0 / 86400.0).ceil() * 86400.0),
        };
        Axis::linear("time since the start", end, step, |at| match (at, step) {
            (0.0, _) => "0".to_owned(),
            (at, step) if step < 1.0 => format!("{at:.1} s"),
            (at, step) if step < 60.0 && end < 120.0 => format!("{at:.0} s"),
            (at, _) if end < 7200.0 => {
                format!("{}:{:02} min", (at / 60.0) as u64, at as u64 % 60).replace(":00 min", " min")
            }
            (at, _) => {
                format!("{}:{:02} h", (at / 3600.0) as u64, (at / 60.0) as u64 % 60).replace(":00 h", " h")
            }
        })
    }

    /// Something per second, up to `highest`.
    pub fn rate(highest: f64, name: &'static str) -> Axis {
        let highest = if highest.is_finite() && highest > 0.0 { highest * 1.05 } else { 1.0 };
        let step = step(highest, 6.0);
        Axis::linear(name, highest, step, |at| match at {
            at if at >= 1e6 => format!("{} M", short(at / 1e6)),
            at if at >= 1e4 => format!("{} k", short(at / 1e3)),
            at => short(at),
        })
    }

    /// Times of ops in nanoseconds.
    pub fn times(lowest: f64, highest: f64) -> Axis {
        const NAME: &str = "time";
        let (lowest, highest) = (lowest.max(1.0), highest.max(1.0));
        if highest / lowest < 10.0 {
            let to = highest * 1.05;
            return Axis::linear(NAME, to, step(to, 6.0), wording_of);
        }
        let (from, to) = (lowest.log10() - 0.05, highest.log10() + 0.05);
        let decades = from.floor() as i32..=to.ceil() as i32;
        let steps: &[f64] = if to - from > 3.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let ticks = decades.flat_map(|decade| steps.iter().map(move |n| n * 10f64.powi(decade)));
        let ticks: Vec<(f64, String)> = ticks
            .map(|value| (value.log10(), wording_of(value)))
            .filter(|(at, _)| *at >= from && *at <= to)
            .collect();
        Axis { name: "time (logarithmic)", from, to, ticks, logarithmic: true }
    }

    /// Shares of ops, drawn by how few are beyond them; `fewest` is the smallest share beyond that can be told.
    pub fn shares(fewest: f64) -> Axis {
        let to = beyond(1.0 - fewest.clamp(1e-6, 0.1)).max(1.0);
        let ticks = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];
        let label = |share: f64| format!("p{}", short_digits(share * 100.0));
        let ticks = ticks.into_iter().map(|share| (beyond(share), label(share)));
        let ticks = ticks.filter(|(at, _)| *at <= to + 1e-9).collect();
        Axis { name: "share of ops that took no longer", from: 0.0, to, ticks, logarithmic: false }
    }

    /// Where a value is placed; a logarithm has no place for nothing.
    pub fn at(&self, value: f64) -> Option<f64> {
        if !self.logarithmic {
            return Some(value);
        }
        (value > 0.0).then(|| value.log10().max(self.from))
    }

    /// The same with no more than `most` ticks.
    pub fn thinned(&self, most: usize) -> Axis {
        let every = self.ticks.len().div_ceil(most.max(1)).max(1);
        Axis { ticks: self.ticks.iter().step_by(every).cloned().collect(), ..self.clone() }
    }

    /// What stands at the tick nearest to `at`.
    pub fn label(&self, at: f64) -> String {
        let nearest = self.ticks.iter().min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs()));
        nearest.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, (low, high): (i32, i32)) -> i32 {
        let share = ((at - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        low + (share * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

/// Where the share of ops `share` stands: one decade for each 9.
pub fn beyond(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn short_digits(x: f64) -> String {
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A round time, without the zeros that a table wants.
fn wording_of(nanos: f64) -> String {
    if nanos == 0.0 {
        return "0".to_owned();
    }
    let text = wording::time(nanos);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_stand_at_round_values() {
        for (axis, expected) in [
            (Axis::seconds(5.0), &["0", "0.5 s", "1.0 s"][..]),
            (Axis::seconds(60.0), &["0", "10 s", "20 s"]),
            (Axis::seconds(600.0), &["0", "1 min", "2 min"]),
            (Axis::seconds(300.0), &["0", "0:30 min", "1 min"]),
            (Axis::seconds(86_400.0), &["0", "4 h", "8 h"]),
            (Axis::rate(2_500.0, "ops/s"), &["0", "500", "1000"]),
            (Axis::rate(42_000.0, "ops/s"), &["0", "10 k", "20 k"]),
            (Axis::times(100_000.0, 300_000.0), &["0", "100 µs", "200 µs"]),
            (Axis::times(80_000.0, 2_000_000.0), &["100 µs", "200 µs", "500 µs", "1 ms", "2 ms"]),
            (Axis::times(80_000.0, 3e9), &["100 µs", "1 ms", "10 ms"]),
            (Axis::shares(0.001), &["p0", "p50", "p90", "p99", "p99.9"]),
        ] {
            assert_eq!(&labels(&axis)[..expected.len()], expected, "{axis:?}");
            assert!(axis.from < axis.to);
        }
    }

    #[test]
    fn axes_of_nothing_have_a_range() {
        for axis in [
            Axis::seconds(0.0),
            Axis::seconds(f64::NAN),
            Axis::rate(0.0, "ops/s"),
            Axis::times(0.0, 0.0),
            Axis::times(1.0, 1.8e19),
            Axis::shares(0.0),
            Axis::shares(1.0),
        ] {
            assert!(axis.from < axis.to && axis.to.is_finite(), "{axis:?}");
            assert!(axis.ticks.len() < 40, "{axis:?}");
            assert!(axis.thinned(3).ticks.len() <= 3);
        }
    }
}
