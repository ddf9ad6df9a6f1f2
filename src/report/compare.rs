//! `nbrs compare`: two results side by side, op by op, and which differences are more than the noise between the
//! intervals of one run.
//!
//! A figure of a whole run says nothing of how much it would differ in the next one. The intervals of a run do:
//! their mean in A is held against their mean in B by Welch's t-test (B. L. Welch, Biometrika 34, 1947), at one in
//! a hundred. Neighbouring intervals resemble each other, so that n of them know less than n independent ones
//! would: with an autocorrelation r between neighbours, n (1 − r) / (1 + r) is the number that counts.

use super::figures::{Figures, OpFigures, Times};
use super::series::{Sample, samples};
use super::{Activity, Run, wording};
use crate::metrics::{Quantiles, Sampling};
use std::fmt::Write as _;

/// What the intervals of a run say of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sampled {
    mean: f64,
    variance: f64,
    /// Intervals, as far as they are independent of each other.
    independent: f64,
}

/// Fewer intervals than this tell nothing of the noise between them.
const FEWEST: usize = 5;
/// The quantile of the normal distribution that leaves one in a hundred outside, on both sides together.
const Z: f64 = 2.575_829_303_548_9;

impl Sampled {
    fn of(values: &[f64]) -> Option<Sampled> {
        if values.len() < FEWEST {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
        let correlation = if squares > 0.0 { (neighbours / squares).clamp(0.0, 0.99) } else { 0.0 };
        let independent = (n * (1.0 - correlation) / (1.0 + correlation)).max(2.0);
        Some(Sampled { mean, variance: squares / (n - 1.0), independent })
    }

    fn error(&self) -> f64 {
        self.variance / self.independent
    }
}

/// Whether the means differ by more than noise.
fn differ(a: &Sampled, b: &Sampled) -> bool {
    let (of_a, of_b) = (a.error(), b.error());
    let error = of_a + of_b;
    if error <= 0.0 {
        return a.mean != b.mean;
    }
    // Degrees of freedom after Welch and Satterthwaite; the quantile of Student's t after Abramowitz and Stegun,
    // 26.7.5.
    let freedom =
        error.powi(2) / (of_a.powi(2) / (a.independent - 1.0) + of_b.powi(2) / (b.independent - 1.0));
    let critical = Z
        + (Z.powi(3) + Z) / (4.0 * freedom)
        + (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * freedom.powi(2));
    (a.mean - b.mean).abs() / error.sqrt() > critical
}

/// What a difference is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// More than the noise between intervals.
    Differs,
    /// No more than that.
    Noise,
    /// Too few intervals to tell.
    TooFew,
    /// A figure of single ops, which intervals do not sample.
    Untold,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Differs => "more than the noise between intervals",
            Verdict::Noise => "within the noise between intervals",
            Verdict::TooFew => "too few intervals to tell from noise",
            Verdict::Untold => "",
        }
    }
}

/// A line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: &'static str,
    /// Of A and of B.
    pub cells: [String; 2],
    pub change: String,
    pub verdict: Verdict,
}

/// An op of both runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// `alias.block__op`.
    pub name: String,
    pub rows: Vec<Row>,
    /// Its intervals in A and in B.
    pub samples: [Vec<Sample>; 2],
    /// Response times differ from service times: there is a target rate.
    pub rated: bool,
}

/// One of the runs, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub name: String,
    pub what: String,
    pub command: String,
}

/// Two runs, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub headings: [Heading; 2],
    /// What differs in what was asked for, and what only one of them has; sentences.
    pub notes: Vec<String>,
    pub ops: Vec<Compared>,
}

/// One op of one run.
struct Side<'a> {
    figures: &'a OpFigures,
    samples: Vec<Sample>,
    rated: bool,
}

impl Side<'_> {
    fn rates(&self) -> Vec<f64> {
        let rate = |sample: &Sample| sample.ok as f64 / (sample.to - sample.from);
        self.samples.iter().map(rate).filter(|rate| rate.is_finite()).collect()
    }

    fn times(&self, of: fn(&Sample) -> Option<Quantiles>, part: fn(&Quantiles) -> u64) -> Vec<f64> {
        self.samples.iter().filter_map(of).map(|times| part(&times) as f64).collect()
    }

    fn failed(&self) -> Option<f64> {
        let failed = self.figures.failed;
        (self.figures.attempted > 0).then(|| failed as f64 / self.figures.attempted as f64)
    }
}

/// A figure of both; absent where neither has it.
fn row(
    name: &'static str,
    (a, b): (Option<f64>, Option<f64>),
    verdict: Verdict,
    spelt: fn(f64) -> String,
) -> Option<Row> {
    if a.is_none() && b.is_none() {
        return None;
    }
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), spelt);
    let change = match (a, b) {
        (Some(a), Some(b)) if a > 0.0 => format!("{:+.1}%", (b / a - 1.0) * 100.0),
        (Some(a), Some(b)) if a == b => "+0.0%".to_owned(),
        _ => "-".to_owned(),
    };
    Some(Row { name, cells: [cell(a), cell(b)], change, verdict })
}

fn verdict(a: &[f64], b: &[f64]) -> Verdict {
    match (Sampled::of(a), Sampled::of(b)) {
        (Some(a), Some(b)) if differ(&a, &b) => Verdict::Differs,
        // Intervals that drift tell as little as few of them: a difference of any size would pass for noise.
        (Some(a), Some(b)) if a.independent.min(b.independent) >= FEWEST as f64 => Verdict::Noise,
        _ => Verdict::TooFew,
    }
}

/// A figure of the two clocks: what each calls it, of a whole run, and of an interval.
type Figure = ([&'static str; 2], fn(&Times) -> f64, fn(&Quantiles) -> u64);

const FIGURES: [Figure; 4] = [
    (["service p50", "response p50"], |times| times.p50, |times| times.p50),
    (["service p95", "response p95"], |times| times.p95, |times| times.p95),
    (["service p99", "response p99"], |times| times.p99, |times| times.p99),
    (["service max", "response max"], |times| times.max, |times| times.max),
];

fn rows(a: &Side, b: &Side) -> Vec<Row> {
    let mut rows = vec![row(
        "ok ops/s",
        (a.figures.ok_per_s, b.figures.ok_per_s),
        verdict(&a.rates(), &b.rates()),
        wording::number,
    )];
    let mut times =
        |clock: usize, of: fn(&OpFigures) -> Option<Times>, sampled: fn(&Sample) -> Option<Quantiles>| {
            for (names, part, part_of_sample) in FIGURES {
                let name = names[clock];
                let whole = |side: &Side| of(side.figures).map(|times| part(&times));
                let verdict = match name.ends_with("max") {
                    true => Verdict::Untold,
                    false => verdict(&a.times(sampled, part_of_sample), &b.times(sampled, part_of_sample)),
                };
                rows.push(row(name, (whole(a), whole(b)), verdict, wording::time));
            }
        };
    times(0, |op| op.service, |sample| sample.service);
    if a.rated || b.rated {
        times(1, |op| op.response, |sample| sample.response);
    }
    if a.failed() != Some(0.0) || b.failed() != Some(0.0) {
        rows.push(row("errors", (a.failed(), b.failed()), Verdict::Untold, wording::percent));
    }
    rows.into_iter().flatten().collect()
}

/// Whether a figure differs by more than noise in any of the ops (`which`) that two runs of an activity share.
pub fn noise(a: &Activity, b: &Activity, which: impl Fn(&str) -> bool, sampling: Sampling) -> Verdict {
    let part: fn(&Quantiles) -> u64 = match sampling {
        Sampling::Rate => |_| 0,
        Sampling::Time { quantile: 0.5, .. } => |times| times.p50,
        Sampling::Time { quantile: 0.95, .. } => |times| times.p95,
        Sampling::Time { quantile: 0.99, .. } => |times| times.p99,
        Sampling::Time { .. } => return Verdict::Untold,
    };
    let values = |activity: &Activity, op: usize| -> Vec<f64> {
        let samples = samples(&activity.series, Some(op));
        match sampling {
            Sampling::Rate => {
                let cycles = |sample: &Sample| (sample.ok + sample.errors) as f64 / (sample.to - sample.from);
                samples.iter().map(cycles).filter(|rate| rate.is_finite()).collect()
            }
            Sampling::Time { response, .. } => {
                let times = samples
                    .iter()
                    .filter_map(|sample| if response { sample.response } else { sample.service });
                times.map(|times| part(&times) as f64).collect()
            }
        }
    };
    let mut sum = Verdict::Untold;
    for (at, op) in a.ops.iter().enumerate().filter(|(_, op)| which(&op.name)) {
        let Some(there) = b.ops.iter().position(|other| other.name == op.name) else { continue };
        let (of_a, of_b) = (values(a, at), values(b, there));
        if of_a.iter().chain(&of_b).all(|value| *value == 0.0) {
            continue;
        }
        sum = match (sum, verdict(&of_a, &of_b)) {
            (Verdict::Differs, _) | (_, Verdict::Differs) => Verdict::Differs,
            (Verdict::TooFew, _) | (_, Verdict::TooFew) => Verdict::TooFew,
            (_, verdict) => verdict,
        };
    }
    sum
}

fn heading(name: &str, run: &Run) -> Heading {
    let target = run.target.as_ref().map_or_else(String::new, |target| {
        let version = target.version.as_deref().unwrap_or("");
        format!(", {} {version}", wording::name(&target.kind)).trim_end().to_owned()
    });
    Heading {
        name: name.to_owned(),
        what: format!("{}, {}{target}", wording::stamp(run.started, '.'), run.status.word()),
        command: wording::line(&run.command, 1000),
    }
}

impl Comparison {
    /// Of the runs of files `names`.
    pub fn of(names: [&str; 2], a: &Run, b: &Run) -> Comparison {
        let mut comparison = Comparison {
            headings: [heading(names[0], a), heading(names[1], b)],
            notes: Vec::new(),
            ops: Vec::new(),
        };
        let notes = &mut comparison.notes;
        for of_a in &a.activities {
            let Some(of_b) = b.activities.iter().find(|activity| activity.alias == of_a.alias) else {
                notes.push(format!("{} is only in A", wording::name(&of_a.alias)));
                continue;
            };
            settings(of_a, of_b, notes);
            let (figures_a, figures_b) = (Figures::of(of_a), Figures::of(of_b));
            for (at, op) in figures_a.ops.iter().enumerate() {
                let name = wording::name(&format!("{}.{}", of_a.alias, op.name));
                let Some(there) = figures_b.ops.iter().position(|other| other.name == op.name) else {
                    notes.push(format!("{name} is only in A"));
                    continue;
                };
                let side = |activity: &Activity, figures, at| Side {
                    figures,
                    samples: samples(&activity.series, Some(at)),
                    rated: activity.target.is_some(),
                };
                let (a, b) = (side(of_a, op, at), side(of_b, &figures_b.ops[there], there));
                let (rows, rated) = (rows(&a, &b), a.rated || b.rated);
                comparison.ops.push(Compared { name, rows, samples: [a.samples, b.samples], rated });
            }
            for op in
                figures_b.ops.iter().filter(|op| figures_a.ops.iter().all(|other| other.name != op.name))
            {
                let name = wording::name(&format!("{}.{}", of_b.alias, op.name));
                notes.push(format!("{name} is only in B"));
            }
        }
        for activity in
            b.activities.iter().filter(|one| a.activities.iter().all(|other| other.alias != one.alias))
        {
            notes.push(format!("{} is only in B", wording::name(&activity.alias)));
        }
        if comparison.ops.is_empty() {
            notes
                .push("no op is in both runs: an op is the same where the alias and its name are".to_owned());
        }
        comparison
    }

    /// As whole lines.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (mark, heading) in ['A', 'B'].iter().zip(&self.headings) {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{mark}  {}: {}", heading.name, heading.what);
            let _ = writeln!(out, "   {}", wording::line(&heading.command, 200));
        }
        if !self.notes.is_empty() {
            out += "\n";
        }
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        for op in &self.ops {
            op.text(&mut out);
        }
        out
    }
}

impl Compared {
    fn text(&self, out: &mut String) {
        let width = |of: &dyn Fn(&Row) -> &str, least: usize| {
            self.rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0).max(least)
        };
        let first = width(&|row| row.name, 0);
        let (left, right) = (width(&|row| &row.cells[0], 1), width(&|row| &row.cells[1], 1));
        let change = width(&|row| &row.change, 6);
        let _ = writeln!(out, "\n{}", self.name);
        let _ = writeln!(out, "  {:first$}  {:>left$}  {:>right$}  {:>change$}", "", "A", "B", "change");
        for row in &self.rows {
            let [of_a, of_b] = &row.cells;
            let line = format!(
                "  {:first$}  {of_a:>left$}  {of_b:>right$}  {:>change$}  {}",
                row.name,
                row.change,
                row.verdict.text()
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let rates = self.samples.each_ref().map(|samples| {
            super::series::rates(samples, usize::MAX)
                .into_iter()
                .map(|(_, [.., rate])| rate)
                .collect::<Vec<_>>()
        });
        if let Some([of_a, of_b]) = overlay(&rates[0], &rates[1]) {
            let _ = writeln!(out, "  ok ops/s over time, on one scale\n  A {of_a}\n  B {of_b}");
        }
    }
}

/// Widest picture of a run over time.
const COLUMNS: usize = 60;

/// Both runs over time, on one scale, the highest value of each column kept.
fn overlay(a: &[f64], b: &[f64]) -> Option<[String; 2]> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let top = a.iter().chain(b).copied().fold(0.0, f64::max);
    let longest = a.len().max(b.len());
    if longest < 2 || top <= 0.0 {
        return None;
    }
    let per_column = longest.div_ceil(COLUMNS);
    let draw = |values: &[f64]| {
        let columns = values.chunks(per_column).map(|chunk| chunk.iter().copied().fold(0.0, f64::max));
        columns.map(|value| BARS[((value / top * 7.0).round() as usize).min(7)]).collect()
    };
    Some([draw(a), draw(b)])
}

/// What the two runs were asked for, where it differs.
fn settings(a: &Activity, b: &Activity, notes: &mut Vec<String>) {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "as fast as they go".to_owned(), wording::per_second);
    let cycles = |cycles: Option<u64>| cycles.map_or_else(|| "no limit".to_owned(), wording::count);
    for (what, a_has, b_has) in [
        ("workload", wording::name(&a.workload), wording::name(&b.workload)),
        ("threads", wording::count(a.threads as u64), wording::count(b.threads as u64)),
        ("target rate", rate(a.target), rate(b.target)),
        ("cycles", cycles(a.cycles_asked), cycles(b.cycles_asked)),
    ] {
        if a_has != b_has {
            notes.push(format!("{}: {what} {a_has} in A, {b_has} in B", wording::name(&a.alias)));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::metrics::Point;
    use crate::report::figures::tests::{activity, op, run};
    use std::time::Duration;

    /// A run of one op with these ok ops and this p99 (ns) in each second.
    pub fn measured(seconds: &[(u64, u64)]) -> Run {
        let mut a = op("b__a");
        a.stats.ok = seconds.iter().map(|(ok, _)| ok).sum();
        a.stats.attempted = a.stats.ok;
        seconds.iter().for_each(|(ok, p99)| a.stats.service.record_n(*p99, *ok).expect("it grows"));
        let mut main = activity("main", vec![a]);
        main.elapsed = Duration::from_secs(seconds.len() as u64);
        main.series = seconds
            .iter()
            .zip(1..)
            .map(|((ok, p99), second)| Point {
                at: Duration::from_secs(second),
                length: Duration::from_secs(1),
                op: 0,
                ok: *ok,
                errors: 0,
                service: Quantiles { p50: p99 / 2, p95: *p99, p99: *p99, max: p99 * 2, mean: p99 / 2 },
                response: Quantiles::default(),
            })
            .collect();
        run(vec![main])
    }

    /// Seconds that differ from each other a little, the same way each time.
    pub fn noisy(rate: u64, p99: u64, seconds: u64) -> Vec<(u64, u64)> {
        (0..seconds)
            .map(|second| (second * 7 + 3) % 11)
            .map(|wobble| (rate + wobble, p99 + wobble * 1_000))
            .collect()
    }

    fn compared(a: &Run, b: &Run) -> String {
        Comparison::of(["a.json", "b.json"], a, b).text()
    }

    #[test]
    fn a_difference_counts_where_it_is_more_than_the_noise() {
        let base = measured(&noisy(1_000, 100_000, 30));
        let verdict = |other: Vec<(u64, u64)>, row: &str| {
            let text = compared(&base, &measured(&other));
            let line = text.lines().find(|line| line.trim_start().starts_with(row));
            line.unwrap_or_else(|| panic!("no {row} in {text}")).to_owned()
        };
        let faster = verdict(noisy(1_100, 100_000, 30), "ok ops/s");
        assert!(faster.contains("+9.9%") && faster.ends_with(Verdict::Differs.text()), "{faster}");
        let same = verdict(noisy(1_001, 101_000, 30), "ok ops/s");
        assert!(same.contains("+0.1%") && same.ends_with(Verdict::Noise.text()), "{same}");
        let slower = verdict(noisy(1_000, 150_000, 30), "service p99");
        assert!(slower.ends_with(Verdict::Differs.text()), "{slower}");
        let short = verdict(noisy(2_000, 100_000, 3), "ok ops/s");
        assert!(short.ends_with(Verdict::TooFew.text()), "{short}");
    }

    #[test]
    fn runs_that_drift_all_along_cannot_tell_what_is_noise() {
        let drifting = |from: u64| (0..6).map(|second| (from / (second + 1), 1_000)).collect::<Vec<_>>();
        let of = |seconds: &[(u64, u64)]| measured(seconds).activities.remove(0);
        let (a, b) = (of(&drifting(6_000)), of(&drifting(1_000)));
        assert_eq!(noise(&a, &b, |_| true, Sampling::Rate), Verdict::TooFew);
    }

    #[test]
    fn one_op_that_differs_is_enough_and_what_no_interval_has_is_not_told() {
        let of = |seconds: &[(u64, u64)]| measured(seconds).activities.remove(0);
        let base = of(&noisy(1_000, 100_000, 30));
        let told = |other: &Activity, sampling| noise(&base, other, |_| true, sampling);
        let time = |quantile| Sampling::Time { response: false, quantile };
        let same = of(&noisy(1_001, 101_000, 30));
        let slower = of(&noisy(1_001, 150_000, 30));
        for sampling in [time(0.5), time(0.95), time(0.99)] {
            assert_eq!(told(&same, sampling), Verdict::Noise, "{sampling:?}");
            assert_eq!(told(&slower, sampling), Verdict::Differs, "{sampling:?}");
        }
        assert_eq!(told(&slower, Sampling::Rate), Verdict::Noise);
        assert_eq!(told(&of(&noisy(1_100, 100_000, 30)), Sampling::Rate), Verdict::Differs);
        assert_eq!(told(&of(&noisy(1_100, 100_000, 3)), Sampling::Rate), Verdict::TooFew);
        // No interval has such a quantile, no response time was measured, no such op is there.
        assert_eq!(told(&slower, time(0.999)), Verdict::Untold);
        assert_eq!(told(&slower, Sampling::Time { response: true, quantile: 0.99 }), Verdict::Untold);
        assert_eq!(noise(&base, &slower, |name| name == "other", time(0.99)), Verdict::Untold);
        // A second op that is the same does not hide the one that differs.
        let with_second = |mut activity: Activity| {
            activity.ops.push(op("b__b"));
            let more: Vec<Point> = base.series.iter().map(|point| Point { op: 1, ..point.clone() }).collect();
            activity.series.extend(more);
            activity
        };
        let verdict = noise(&with_second(base.clone()), &with_second(slower), |_| true, time(0.99));
        assert_eq!(verdict, Verdict::Differs);
    }

    #[test]
    fn runs_of_the_same_kind_seldom_differ() {
        // Pairs of runs drawn from one distribution: about one in a hundred may be taken for different.
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64
        };
        let mut taken_for_different = 0;
        for _ in 0..2_000 {
            let mut run = || Sampled::of(&(0..20).map(|_| draw()).collect::<Vec<_>>()).expect("enough");
            taken_for_different += usize::from(differ(&run(), &run()));
        }
        assert!((2..=50).contains(&taken_for_different), "{taken_for_different} of 2000");
    }

    #[test]
    fn intervals_that_follow_each_other_closely_know_less() {
        let independent: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 100)).collect();
        let mut drifting = independent.clone();
        drifting.sort_by(f64::total_cmp);
        let (independent, drifting) =
            (Sampled::of(&independent).expect("enough"), Sampled::of(&drifting).expect("enough"));
        assert!((independent.mean - drifting.mean).abs() < 1e-9);
        assert!(drifting.independent < 5.0 && independent.independent > 50.0, "{independent:?} {drifting:?}");
    }

    #[test]
    fn both_runs_are_drawn_on_one_scale_with_their_peaks() {
        let mut peak = vec![1.0; 600];
        peak[300] = 8.0;
        let [a, b] = overlay(&peak, &[4.0; 300]).expect("they can be drawn");
        assert_eq!((a.chars().count(), b.chars().count()), (60, 30));
        assert_eq!(a.chars().filter(|c| *c == '█').count(), 1, "{a}");
        assert!(b.chars().all(|c| c == '▅'), "{b}");
        assert_eq!(overlay(&[], &[]), None);
    }

    #[test]
    fn what_differs_in_the_question_is_said_and_what_is_in_one_run_only() {
        let base = measured(&noisy(1_000, 100_000, 10));
        let mut other = base.clone();
        other.activities[0].threads = 8;
        other.activities[0].ops.push(op("new"));
        let text = compared(&base, &other);
        assert!(text.contains("main: threads 1 in A, 8 in B"), "{text}");
        assert!(text.contains("main.new is only in B"), "{text}");
        assert!(text.starts_with("A  a.json: 2023-11-14 22:13:20.000, done\n"), "{text}");
    }

    #[test]
    fn nothing_measured_is_compared_without_nan() {
        let text = compared(&measured(&[]), &measured(&[(0, 0)]));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let mut other = measured(&[]);
        other.activities.clear();
        assert!(compared(&measured(&[]), &other).contains("no op is in both runs"));
    }
}
