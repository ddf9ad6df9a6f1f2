//! The charts of a run's page: what each shows, with its title, its legend and its axes.

use super::super::series::{self, Sample, samples};
use super::super::{Activity, wording};
use super::axis::{Axis, beyond};
use super::chart::{Band, COLOURS, Chart, Line, Size, TARGET};
use super::escaped;
use crate::metrics::Quantiles;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Which of the quantiles.
type Part = fn(&Quantiles) -> u64;

/// Quantiles over time: name, colour, and which.
const QUANTILES: [(&str, usize, Part); 4] = [
    ("p50", 0, |times| times.p50),
    ("p95", 2, |times| times.p95),
    ("p99", 1, |times| times.p99),
    ("max", 4, |times| times.max),
];

/// Ops that have a line of their own in a chart of all of them.
const OPS_OF_ALL: usize = 5;

/// A chart in both sizes, with its title and legend; nothing where there is nothing to show.
pub fn figure(title: &str, about: &str, make: impl Fn(Size) -> Chart) -> String {
    let (wide, narrow) = (make(Size::Wide), make(Size::Narrow));
    let (Some(wide_svg), Some(narrow_svg)) = (wide.svg(Size::Wide), narrow.svg(Size::Narrow)) else {
        return String::new();
    };
    let entry = |line: &Line| {
        format!(
            "<li><i class=\"k{}\"></i>{}</li>",
            line.colour % COLOURS + 1,
            escaped(&wording::name(&line.name))
        )
    };
    let legend: String = wide.lines.iter().map(entry).collect();
    format!(
        "<figure>\n<figcaption>{} <span>{about}</span></figcaption>\n<ul class=\"legend\">{legend}</ul>\n\
         <div class=\"wide\">{wide_svg}</div>\n<div class=\"narrow\">{narrow_svg}</div>\n</figure>\n",
        escaped(title)
    )
}

/// Seconds that charts of an activity reach to.
fn end(activity: &Activity) -> f64 {
    activity.series.iter().map(|point| point.at.as_secs_f64()).fold(activity.elapsed.as_secs_f64(), f64::max)
}

fn outages(activity: &Activity) -> Vec<(f64, f64)> {
    let last = end(activity);
    let until = |to: Option<std::time::Duration>| to.map_or(last, |to| to.as_secs_f64());
    activity.outages.iter().map(|outage| (outage.from.as_secs_f64(), until(outage.to))).collect()
}

/// The ops that are tried most, by position.
fn most_tried(activity: &Activity) -> Vec<usize> {
    let mut order: Vec<usize> = (0..activity.ops.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(activity.ops.get(*at).map(|op| op.stats.attempted)));
    order.truncate(OPS_OF_ALL);
    order.sort_unstable();
    order
}

/// Throughput and errors of all ops.
pub fn overview(activity: &Activity) -> String {
    let all = samples(&activity.series, None);
    let several = activity.ops.len() > 1;
    let shown: Vec<(usize, Vec<Sample>)> = match several {
        true => {
            most_tried(activity).into_iter().map(|op| (op, samples(&activity.series, Some(op)))).collect()
        }
        false => Vec::new(),
    };
    let name = |op: usize| activity.ops.get(op).map_or_else(String::new, |op| op.name.clone());
    let throughput = figure("Throughput", "ops that ended well, per second", |size| {
        let rates = series::rates(&all, size.points());
        let mut lines = vec![Line {
            name: if several { "all ops".to_owned() } else { name(0) },
            colour: 0,
            points: rates.iter().map(|(t, [_, mean, _])| (*t, Some(*mean))).collect(),
        }];
        lines.extend(shown.iter().zip(1..).map(|((op, samples), colour)| {
            Line {
                name: name(*op),
                colour,
                points: series::rates(samples, size.points())
                    .iter()
                    .map(|(t, [_, mean, _])| (*t, Some(*mean)))
                    .collect(),
            }
        }));
        let target = activity.target.filter(|rate| rate.is_finite() && *rate > 0.0);
        let highest = rates.iter().map(|(_, [.., high])| *high).chain(target).fold(0.0, f64::max);
        let measured = !all.is_empty();
        lines.extend(target.filter(|_| measured).map(|rate| Line {
            name: format!("target {}", wording::per_second(rate)),
            colour: TARGET,
            points: vec![(0.0, Some(rate)), (end(activity), Some(rate))],
        }));
        let bands = vec![Band {
            colour: 0,
            points: rates.into_iter().map(|(t, [low, _, high])| (t, low, high)).collect(),
        }];
        Chart {
            title: "Throughput over time".to_owned(),
            x: Axis::seconds(end(activity)),
            y: Axis::rate(highest, "ops/s"),
            lines,
            bands,
            shades: outages(activity),
        }
    });
    if all.iter().all(|sample| sample.errors == 0) {
        return throughput;
    }
    let errors = figure("Errors", "ops that ended in an error, per second", |size| {
        let of = |samples: &[Sample]| -> Vec<(f64, Option<f64>)> {
            series::errors(samples, size.points()).into_iter().map(|(t, rate)| (t, Some(rate))).collect()
        };
        let points = of(&all);
        let highest = points.iter().filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
        let all_ops = Line { name: if several { "all ops".to_owned() } else { name(0) }, colour: 4, points };
        Chart {
            title: "Errors over time".to_owned(),
            x: Axis::seconds(end(activity)),
            y: Axis::rate(highest, "errors/s"),
            lines: vec![all_ops],
            bands: Vec::new(),
            shades: outages(activity),
        }
    });
    throughput + &errors
}

/// The charts of one op.
pub fn op(activity: &Activity, place: usize) -> String {
    let Some(op) = activity.ops.get(place) else { return String::new() };
    let samples = samples(&activity.series, Some(place));
    let rated = activity.target.is_some() && op.stats.service != op.stats.response;
    let over_time = |title: &str, about: &str, of: fn(&Sample) -> Option<Quantiles>| {
        let chart = |size: Size| quantiles(title, &samples, of, end(activity), outages(activity), size);
        figure(title, about, chart)
    };
    let mut charts = match rated {
        true => over_time("Service time", "sent → answered", |sample| sample.service),
        false => over_time("Service and response time", "sent → answered", |sample| sample.service),
    };
    if rated {
        charts += &over_time("Response time", "due → answered", |sample| sample.response);
    }
    let stats = &op.stats;
    let clocks: Vec<(&str, usize, &Histogram<u64>)> = [
        (if rated { "service" } else { "service, response" }, 0, &stats.service),
        ("response", 1, &stats.response),
        ("failed", 4, &stats.failed),
    ]
    .into_iter()
    .filter(|(name, _, histogram)| !histogram.is_empty() && (rated || *name != "response"))
    .collect();
    charts += &distribution(&clocks);
    if charts.is_empty() {
        return charts;
    }
    format!("<h3>{}</h3>\n{charts}", escaped(&op.name))
}

fn quantiles(
    title: &str,
    samples: &[Sample],
    of: fn(&Sample) -> Option<Quantiles>,
    end: f64,
    shades: Vec<(f64, f64)>,
    size: Size,
) -> Chart {
    let points = series::times(samples, size.points(), of);
    let measured = || points.iter().filter_map(|(_, times)| *times);
    let lowest = measured().map(|times| times.p50).filter(|time| *time > 0).min().unwrap_or(1);
    let highest = measured().map(|times| times.max).max().unwrap_or(1);
    let y = Axis::times(lowest as f64, highest as f64);
    // The highest first, so that the others are drawn over it.
    let lines = QUANTILES.iter().rev().map(|(name, colour, part)| {
        let place = |times: Quantiles| y.at(part(&times) as f64);
        let points = points.iter().map(|(t, times)| (*t, times.and_then(place))).collect();
        Line { name: (*name).to_owned(), colour: *colour, points }
    });
    let lines = lines.collect();
    Chart { title: format!("{title} over time"), x: Axis::seconds(end), y, lines, bands: Vec::new(), shades }
}

/// How long which share of ops took.
pub fn distribution(clocks: &[(&str, usize, &Histogram<u64>)]) -> String {
    figure("Distribution of times", "of the whole run, by share of ops", |_| {
        let fewest = clocks.iter().map(|(.., times)| 1.0 / times.len().max(1) as f64).fold(1.0, f64::min);
        let lowest = clocks.iter().map(|(.., times)| times.min()).filter(|time| *time > 0).min().unwrap_or(1);
        let highest = clocks.iter().map(|(.., times)| times.max()).max().unwrap_or(1);
        let (x, y) = (Axis::shares(fewest), Axis::times(lowest as f64, highest as f64));
        let lines = clocks.iter().map(|(name, colour, times)| {
            let last = beyond(1.0 - 1.0 / times.len().max(1) as f64).min(x.to);
            Line { name: (*name).to_owned(), colour: *colour, points: shares(times, last, &y) }
        });
        let lines = lines.collect();
        Chart {
            title: "Distribution of times".to_owned(),
            x,
            y,
            lines,
            bands: Vec::new(),
            shades: Vec::new(),
        }
    })
}

/// Places of shares of ops, up to `last`, and how long they took; the longest of all stands at the end, once.
fn shares(times: &Histogram<u64>, last: f64, y: &Axis) -> Vec<(f64, Option<f64>)> {
    const STEPS: u32 = 120;
    let places = (0..=STEPS).map(|n| (n, last * f64::from(n) / f64::from(STEPS)));
    let time = |n: u32, place: f64| match n {
        STEPS => times.max(),
        _ => times.value_at_quantile(1.0 - 10f64.powf(-place)),
    };
    places.map(|(n, place)| (place, y.at(time(n, place) as f64))).collect()
}

/// What the target counted itself.
pub fn server(activity: &Activity) -> String {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for point in &activity.server {
        for (kind, count) in &point.ops {
            *totals.entry(kind).or_default() += count;
        }
    }
    let mut kinds: Vec<(&str, u64)> = totals.into_iter().filter(|(_, count)| *count > 0).collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds.truncate(COLOURS - 1);
    let chart = figure("The target's own count of ops", "per second, those of other clients too", |size| {
        let stretch = activity.server.len().div_ceil(size.points()).max(1);
        let line = |(colour, (kind, _)): (usize, &(&str, u64))| {
            let points = activity.server.chunks(stretch).filter_map(|stretch| {
                let seconds: f64 = stretch.iter().map(|point| point.length.as_secs_f64()).sum();
                let count: u64 = stretch.iter().filter_map(|point| point.ops.get(*kind)).sum();
                let at = stretch.last()?.at.as_secs_f64() - seconds / 2.0;
                Some((at, (seconds > 0.0).then(|| count as f64 / seconds)))
            });
            Line { name: (*kind).to_owned(), colour, points: points.collect() }
        };
        let lines: Vec<Line> = kinds.iter().enumerate().map(line).collect();
        let rates = lines.iter().flat_map(|line| line.points.iter().filter_map(|(_, rate)| *rate));
        Chart {
            title: "The target's own count of ops over time".to_owned(),
            x: Axis::seconds(end(activity)),
            y: Axis::rate(rates.fold(0.0, f64::max), "ops/s"),
            lines,
            bands: Vec::new(),
            shades: Vec::new(),
        }
    });
    if chart.is_empty() { chart } else { format!("<h3>The target itself</h3>\n{chart}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_ends_once_with_the_longest_time() {
        let mut times: Histogram<u64> = Histogram::new(3).expect("3 digits");
        (1..=10u64).for_each(|n| times.record(n * 100).expect("it grows"));
        let (x, y) = (Axis::shares(0.1), Axis::times(1.0, 1_000.0));
        let points = shares(&times, x.to, &y);
        assert_eq!((x.to, points.last().copied()), (1.0, Some((1.0, y.at(times.max() as f64)))));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{points:?}");
        let longest = points.iter().filter(|(_, time)| *time == y.at(times.max() as f64));
        assert_eq!(longest.count(), 1);
    }
}
