//! Points of a run over time, brought down to as many as a chart can show. Peaks are kept: of times the highest
//! of each stretch stands for it; of rates the mean is the line, and lowest and highest are the band behind it.

use crate::metrics::{Point, Quantiles};
use std::collections::BTreeMap;
use std::time::Duration;

/// One interval of an op, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Seconds since the activity's clock started.
    pub from: f64,
    pub to: f64,
    pub ok: u64,
    pub errors: u64,
    /// Nanoseconds; absent where nothing was measured, and of several ops together.
    pub service: Option<Quantiles>,
    pub response: Option<Quantiles>,
}

/// The samples of the op at `op`; without one, of all ops together.
pub fn samples(series: &[Point], op: Option<usize>) -> Vec<Sample> {
    let measured = |quantiles: &Quantiles| (*quantiles != Quantiles::default()).then_some(*quantiles);
    let mut by_end: BTreeMap<Duration, Sample> = BTreeMap::new();
    for point in series.iter().filter(|point| op.is_none_or(|op| op == point.op)) {
        let sample = by_end.entry(point.at).or_insert_with(|| Sample {
            from: point.at.saturating_sub(point.length).as_secs_f64(),
            to: point.at.as_secs_f64(),
            ..Sample::default()
        });
        sample.ok += point.ok;
        sample.errors += point.errors;
        if op.is_some() {
            sample.service = measured(&point.service);
            sample.response = measured(&point.response);
        }
    }
    let mut samples: Vec<Sample> = by_end.into_values().collect();
    // What is left at the end is too short for a rate of its own.
    if let [.., before, last] = samples.as_slice()
        && (last.to - last.from) < (before.to - before.from) / 2.0
    {
        let joined = together(&[*before, *last]);
        samples.truncate(samples.len() - 2);
        samples.push(joined);
    }
    samples
}

fn together(samples: &[Sample]) -> Sample {
    let highest = |of: fn(&Sample) -> Option<Quantiles>| {
        samples.iter().filter_map(of).reduce(|a, b| Quantiles {
            p50: a.p50.max(b.p50),
            p95: a.p95.max(b.p95),
            p99: a.p99.max(b.p99),
            max: a.max.max(b.max),
            mean: a.mean.max(b.mean),
        })
    };
    Sample {
        from: samples.first().map_or(0.0, |sample| sample.from),
        to: samples.last().map_or(0.0, |sample| sample.to),
        ok: samples.iter().map(|sample| sample.ok).sum(),
        errors: samples.iter().map(|sample| sample.errors).sum(),
        service: highest(|sample| sample.service),
        response: highest(|sample| sample.response),
    }
}

fn per_second(n: u64, sample: &Sample) -> f64 {
    let seconds = sample.to - sample.from;
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

fn middle(sample: &Sample) -> f64 {
    f64::midpoint(sample.from, sample.to)
}

fn stretches(samples: &[Sample], most: usize) -> impl Iterator<Item = &[Sample]> {
    samples.chunks(samples.len().div_ceil(most.max(1)).max(1))
}

/// Ops per second: middle of the stretch, and lowest, mean and highest rate in it.
pub fn rates(samples: &[Sample], most: usize) -> Vec<(f64, [f64; 3])> {
    stretches(samples, most)
        .map(|stretch| {
            let all = together(stretch);
            let each = stretch.iter().map(|sample| per_second(sample.ok, sample));
            let (low, high) =
                each.fold((f64::INFINITY, 0f64), |(low, high), rate| (low.min(rate), high.max(rate)));
            (middle(&all), [low, per_second(all.ok, &all), high])
        })
        .collect()
}

/// Errors per second: middle of the stretch, and the highest rate in it.
pub fn errors(samples: &[Sample], most: usize) -> Vec<(f64, f64)> {
    stretches(samples, most)
        .map(|stretch| {
            let highest = stretch.iter().map(|sample| per_second(sample.errors, sample)).fold(0.0, f64::max);
            (middle(&together(stretch)), highest)
        })
        .collect()
}

/// Quantiles in nanoseconds: middle of the stretch, and the highest in it; absent where nothing was measured.
pub fn times(
    samples: &[Sample],
    most: usize,
    of: fn(&Sample) -> Option<Quantiles>,
) -> Vec<(f64, Option<Quantiles>)> {
    stretches(samples, most)
        .map(|stretch| {
            let all = together(stretch);
            (middle(&all), of(&all))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(end: u64, length: u64, op: usize, ok: u64, max: u64) -> Point {
        let times = Quantiles { p50: max / 4, p95: max / 2, p99: max / 2, max, mean: max / 4 };
        Point {
            at: Duration::from_millis(end),
            length: Duration::from_millis(length),
            op,
            ok,
            errors: u64::from(ok == 7),
            service: times,
            response: times,
        }
    }

    #[test]
    fn a_day_of_seconds_becomes_a_few_hundred_points_with_its_peaks() {
        let day: Vec<Point> = (1..=86_400)
            .map(|second| match second {
                40_000 => point(second * 1_000, 1_000, 0, 7, 9_000_000_000),
                _ => point(second * 1_000, 1_000, 0, 100, 1_000),
            })
            .collect();
        let samples = samples(&day, Some(0));
        let times = times(&samples, 700, |sample| sample.service);
        assert!(times.len() <= 700);
        assert_eq!(
            times.iter().filter_map(|(_, times)| *times).map(|times| times.max).max(),
            Some(9_000_000_000)
        );
        let rates = rates(&samples, 700);
        assert_eq!(rates.iter().map(|(_, [low, ..])| *low).fold(f64::INFINITY, f64::min), 7.0);
        assert!(rates.iter().all(|(_, [_, _, high])| *high == 100.0));
        assert_eq!(errors(&samples, 300).iter().map(|(_, errors)| *errors).fold(0.0, f64::max), 1.0);
    }

    #[test]
    fn ops_add_up_and_a_short_rest_has_no_rate_of_its_own() {
        let series = [
            point(1_000, 1_000, 0, 10, 5),
            point(1_000, 1_000, 1, 20, 5),
            point(2_000, 1_000, 0, 10, 5),
            point(2_060, 60, 0, 10, 5),
        ];
        let all = samples(&series, None);
        assert_eq!(all.iter().map(|sample| sample.ok).collect::<Vec<_>>(), [30, 20]);
        assert_eq!((all[1].from, all[1].to, all[1].service), (1.0, 2.06, None));
        let rates = rates(&all, 10);
        assert!((rates[1].1[1] - 20.0 / 1.06).abs() < 1e-9);
        let first = samples(&series, Some(0));
        assert_eq!((first.len(), first[0].service.map(|times| times.max)), (2, Some(5)));
        // A run that was cut off in its first second is there all the same.
        assert_eq!(samples(&series[..1], None).len(), 1);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(rates(&[], 10).is_empty() && errors(&[], 10).is_empty());
    }
}
