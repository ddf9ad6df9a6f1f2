//! YCSB's text of a run, and its status lines: what parsers of its output read.
//!
//! An op's own part is of the ops that ended well (sent → answered); `NAME-FAILED` is of those that did not, and
//! where there is a target rate `Intended-NAME` is of due → answered, as YCSB has it with
//! `measurement.interval=both`. Throughput counts the ops that ended well. Times are whole microseconds.

use super::clock::Window;
use super::{Activity, Destination, ReportError, Run, wording};
use crate::metrics::{Frame, OpStats};
use hdrhistogram::Histogram;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// How the text tells latencies: YCSB's properties `measurementtype`, `measurement.interval` and
/// `hdrhistogram.percentiles`.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    pub measurement: Measurement,
    /// Absent: where there is a target rate.
    pub intended: Option<Intended>,
    pub percentiles: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measurement {
    /// Percentiles to three digits.
    Hdr,
    /// Percentiles to a millisecond, from so many buckets of one; each of them is told where it is verbose.
    Histogram { buckets: u64, verbose: bool },
    /// Averages over time, each of so many seconds.
    TimeSeries { seconds: u64 },
}

/// Which of the two clocks are told: sent → answered, due → answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intended {
    Without,
    Only,
    Both,
}

impl Default for Form {
    fn default() -> Form {
        Form { measurement: Measurement::Hdr, intended: None, percentiles: vec![50.0, 95.0, 99.0] }
    }
}

/// Writes the text of `run`, whole or not at all.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| render(run, &run.ycsb, out))
}

/// The counted part of an activity.
fn counted(activity: &Activity) -> Duration {
    activity.elapsed.saturating_sub(activity.warm_up.unwrap_or_default().elapsed)
}

/// All ops of an activity that go by one name.
struct Section<'a> {
    name: String,
    stats: OpStats,
    /// Their positions.
    ops: Vec<usize>,
    /// An answer that is not what the op expects means that there was no such record.
    may_miss: bool,
    activity: &'a Activity,
}

/// Of each activity, in the order of its ops.
fn sections(run: &Run) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for activity in &run.activities {
        let first = sections.len();
        for (at, op) in activity.ops.iter().enumerate() {
            let name = op.report_as.as_ref().unwrap_or(&op.name);
            match sections[first..].iter_mut().find(|section| section.name == *name) {
                Some(section) => {
                    section.stats.add(&op.stats);
                    section.ops.push(at);
                }
                None => sections.push(Section {
                    name: name.clone(),
                    stats: op.stats.clone(),
                    ops: vec![at],
                    may_miss: op.report_as.is_some(),
                    activity,
                }),
            }
        }
    }
    // Two steps may run the same op.
    let mut named: HashMap<String, usize> = HashMap::new();
    for section in &sections {
        *named.entry(section.name.clone()).or_default() += 1;
    }
    for section in &mut sections {
        section.name = match named.get(&section.name) {
            Some(1) => name(&section.name),
            _ => name(&format!("{}.{}", section.activity.alias, section.name)),
        };
    }
    sections
}

fn render(run: &Run, form: &Form, out: &mut dyn Write) -> io::Result<()> {
    // What comes after another op in its cycle is part of the same operation.
    let operations = |activity: &Activity| -> u64 {
        activity.ops.iter().filter(|op| !op.follows).map(|op| op.stats.ok).sum()
    };
    let ok: u64 = run.activities.iter().map(operations).sum();
    // Activities may run at the same time, so their times do not add up.
    let elapsed = match run.activities.as_slice() {
        [only] => counted(only),
        _ => run.elapsed,
    };
    writeln!(out, "[OVERALL], RunTime(ms), {}", elapsed.as_millis())?;
    let seconds = elapsed.as_secs_f64();
    let throughput = if seconds > 0.0 { ok as f64 / seconds } else { 0.0 };
    writeln!(out, "[OVERALL], Throughput(ops/sec), {throughput:?}")?;
    for section in sections(run) {
        section.write(form, out)?;
    }
    let mut cleanups = OpStats::default().service;
    for closing in run.activities.iter().filter_map(|activity| activity.closing) {
        // It grows to any time that a run can take.
        let _ = cleanups.record(u64::try_from(closing.as_nanos()).unwrap_or(u64::MAX));
    }
    if !cleanups.is_empty() {
        times("CLEANUP", &cleanups, &Form { measurement: Measurement::Hdr, ..form.clone() }, out)?;
    }
    Ok(())
}

/// A name ends at a bracket or a comma.
fn name(text: &str) -> String {
    let plain = |c: char| if c == ']' || c == '[' || c == ',' || wording::is_unseen(c) { '_' } else { c };
    text.chars().map(plain).collect()
}

/// The error of an answer that is not what the op expects.
const UNEXPECTED: &str = "ExpectFailed";

impl Section<'_> {
    fn write(&self, form: &Form, out: &mut dyn Write) -> io::Result<()> {
        let (name, stats) = (&self.name, &self.stats);
        let rated = self.activity.target.is_some();
        let intended = form.intended.unwrap_or(if rated { Intended::Both } else { Intended::Without });
        let alone = intended == Intended::Only;
        let clock = if alone { &stats.response } else { &stats.service };
        times(name, clock, form, out)?;
        writeln!(out, "[{name}], Return=OK, {}", stats.ok)?;
        let failed = stats.failed_ops();
        if failed > 0 {
            let missed = match stats.errors.get(UNEXPECTED) {
                Some(counts) if self.may_miss => counts.ended,
                _ => 0,
            };
            for (status, count) in [("NOT_FOUND", missed), ("ERROR", failed - missed.min(failed))] {
                if count > 0 {
                    writeln!(out, "[{name}], Return={status}, {count}")?;
                }
            }
        }
        match form.measurement {
            Measurement::Histogram { buckets, verbose: true } => verbose(name, clock, buckets, out)?,
            Measurement::TimeSeries { seconds } => self.series(seconds, out)?,
            Measurement::Hdr | Measurement::Histogram { .. } => {}
        }
        if failed > 0 {
            times(&format!("{name}-FAILED"), &stats.failed, form, out)?;
        }
        if intended == Intended::Both {
            times(&format!("Intended-{name}"), &stats.response, form, out)?;
        }
        // From one op to the end of another: YCSB has READ-MODIFY-WRITE.
        for (timer, histogram) in &stats.timers {
            times(&self::name(timer), histogram, form, out)?;
        }
        Ok(())
    }

    /// The average time of each so many seconds; an interval in which nothing ended is left out.
    fn series(&self, seconds: u64, out: &mut dyn Write) -> io::Result<()> {
        // Interval → ops, and the sum of their times in microseconds.
        let mut intervals: BTreeMap<u64, (u64, f64)> = BTreeMap::new();
        for point in self.activity.series.iter().filter(|point| self.ops.contains(&point.op)) {
            // A point is called by its end.
            let begun = point.at.saturating_sub(point.length).as_secs_f64().round() as u64;
            let interval = intervals.entry(begun / seconds * seconds).or_default();
            interval.0 += point.ok;
            interval.1 += point.ok as f64 * point.service.mean as f64 / 1e3;
        }
        for (begun, (ops, sum)) in intervals.into_iter().filter(|(_, (ops, _))| *ops > 0) {
            writeln!(out, "[{}], {}, {:?}", self.name, begun * 1000, sum / ops as f64)?;
        }
        Ok(())
    }
}

fn times(name: &str, histogram: &Histogram<u64>, form: &Form, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "[{name}], Operations, {}", histogram.len())?;
    // YCSB prints NaN here, which no parser expects.
    if histogram.is_empty() {
        return Ok(());
    }
    writeln!(out, "[{name}], AverageLatency(us), {:?}", histogram.mean() / 1e3)?;
    if let Measurement::Histogram { .. } = form.measurement {
        writeln!(out, "[{name}], LatencyVariance(us), {:?}", (histogram.stdev() / 1e3).powi(2))?;
    }
    writeln!(out, "[{name}], MinLatency(us), {}", histogram.min() / 1_000)?;
    writeln!(out, "[{name}], MaxLatency(us), {}", histogram.max() / 1_000)?;
    match form.measurement {
        Measurement::Hdr => {
            for percentile in &form.percentiles {
                let time = histogram.value_at_quantile(percentile / 100.0) / 1_000;
                writeln!(out, "[{name}], {}PercentileLatency(us), {time}", ordinal(*percentile))?;
            }
        }
        Measurement::Histogram { buckets, .. } => coarse(name, histogram, buckets, out)?,
        Measurement::TimeSeries { .. } => {}
    }
    Ok(())
}

/// `95` is `95th`, `99.9` is `99.9`: as YCSB names them, whose suffixes are those of numbers.
fn ordinal(percentile: f64) -> String {
    if percentile.fract() != 0.0 {
        return percentile.to_string();
    }
    let suffix = match percentile as u64 {
        11..=13 => "th",
        number => match number % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    };
    format!("{percentile}{suffix}")
}

/// How many times lie in each millisecond; in the last bucket, those beyond.
fn milliseconds(histogram: &Histogram<u64>, buckets: u64) -> BTreeMap<u64, u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for step in histogram.iter_recorded() {
        let bucket = step.value_iterated_to() / 1_000_000;
        *counts.entry(bucket.min(buckets)).or_default() += step.count_since_last_iteration();
    }
    counts
}

/// Percentiles to a millisecond. As in YCSB, one that lies beyond the buckets is not told.
fn coarse(name: &str, histogram: &Histogram<u64>, buckets: u64, out: &mut dyn Write) -> io::Result<()> {
    let counts = milliseconds(histogram, buckets);
    for percentile in [95u64, 99] {
        let mut seen = 0u64;
        let reached = counts.range(..buckets).find(|(_, count)| {
            seen += **count;
            u128::from(seen) * 100 >= u128::from(histogram.len()) * u128::from(percentile)
        });
        if let Some((bucket, _)) = reached {
            writeln!(out, "[{name}], {percentile}thPercentileLatency(us), {}", bucket * 1000)?;
        }
    }
    Ok(())
}

/// Every bucket.
fn verbose(name: &str, histogram: &Histogram<u64>, buckets: u64, out: &mut dyn Write) -> io::Result<()> {
    let counts = milliseconds(histogram, buckets);
    let count = |bucket: u64| counts.get(&bucket).copied().unwrap_or(0);
    for bucket in 0..buckets {
        writeln!(out, "[{name}], {bucket}, {}", count(bucket))?;
    }
    writeln!(out, "[{name}], >{buckets}, {}", count(buckets))
}

/// The status lines of one activity.
#[derive(Debug)]
pub struct Status {
    names: Vec<String>,
    /// Absent where nothing but time ends it.
    total: Option<u64>,
    done: u64,
    window: Window,
}

impl Status {
    /// For ops that go by these names, a line every so often; `total` cycles.
    pub fn new(names: Vec<String>, total: Option<u64>, every: Duration) -> Status {
        let window = Window::new(every, names.len());
        Status { names, total, done: 0, window }
    }

    /// What YCSB prints before the first op.
    pub fn first(&self, now: SystemTime) -> String {
        format!("{} 0 sec: 0 operations; est completion in 0 second ", wording::stamp(now, ':'))
    }

    /// Takes a frame; gives a line where an interval is over.
    pub fn push(&mut self, now: SystemTime, frame: &Frame) -> Option<String> {
        self.done += frame.ops.iter().map(|op| op.attempted).sum::<u64>();
        self.window.push(frame).then(|| self.line(now, false))
    }

    /// The line of what is left at the end.
    pub fn last(&mut self, now: SystemTime) -> Option<String> {
        (!self.window.is_empty()).then(|| self.line(now, true))
    }

    fn line(&mut self, now: SystemTime, last: bool) -> String {
        let window = &self.window;
        let elapsed = window.end().as_secs_f64();
        let attempted: u64 = window.ops.iter().map(|op| op.attempted).sum();
        let current = decimals(attempted as f64 / window.length.as_secs_f64());
        let mut line = format!(
            "{} {elapsed:.0} sec: {} operations; {current} current ops/sec; ",
            wording::stamp(now, ':'),
            self.done
        );
        if let (Some(total), false) = (self.total, last) {
            let left = total.saturating_sub(self.done) as f64 * elapsed / self.done as f64;
            if left.is_finite() {
                line += &format!("est completion in {}", remaining(left.ceil() as u64));
            }
        }
        let mut sections: Vec<(&str, OpStats)> = Vec::new();
        for (name, stats) in self.names.iter().zip(&window.ops) {
            match sections.iter_mut().find(|(known, _)| known == name) {
                Some((_, all)) => all.add(stats),
                None => sections.push((name, stats.clone())),
            }
        }
        for (name, stats) in sections {
            line += &interval(name, &stats.service);
            line += &interval(&format!("{name}-FAILED"), &stats.failed);
        }
        self.window.clear();
        line
    }
}

/// Nothing where nothing was recorded.
fn interval(name: &str, histogram: &Histogram<u64>) -> String {
    if histogram.is_empty() {
        return String::new();
    }
    let at = |quantile: f64| histogram.value_at_quantile(quantile) / 1_000;
    format!(
        "[{}: Count={}, Max={}, Min={}, Avg={}, 50={}, 90={}, 99={}, 99.9={}, 99.99={}] ",
        self::name(name),
        histogram.len(),
        histogram.max() / 1_000,
        histogram.min() / 1_000,
        decimals(histogram.mean() / 1e3),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(0.9999),
    )
}

/// Two decimals at most.
fn decimals(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// YCSB's words for a time; it makes the plural by the number of digits.
fn remaining(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let mut text = String::new();
    let mut add = |n: u64, unit: &str| {
        if n > 0 {
            text += &format!("{n} {unit}{} ", if n == 1 { "" } else { "s" });
        }
    };
    add(days, "day");
    add(hours, "hour");
    if days == 0 {
        add(minutes, "minute");
    }
    if text.is_empty() {
        text = format!("{seconds} second{} ", if seconds < 10 { "" } else { "s" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::frame;
    use super::*;
    use crate::metrics::{Point, Quantiles};
    use crate::report::figures::tests::{activity, op, run};

    fn text(run: &Run) -> String {
        text_in(&Form::default(), run)
    }

    fn text_in(form: &Form, run: &Run) -> String {
        let mut out = Vec::new();
        render(run, form, &mut out).expect("a Vec takes all");
        String::from_utf8(out).expect("UTF-8")
    }

    fn read() -> Activity {
        let mut read = op("READ");
        read.stats.ok = 3;
        read.stats.attempted = 5;
        for time in [65_000, 70_999, 90_000] {
            read.stats.service.record(time).expect("it grows");
            read.stats.response.record(time + 1_000_000).expect("it grows");
        }
        read.stats.error("Busy").ended = 2;
        read.stats.failed.record_n(2_000, 2).expect("it grows");
        let mut main = activity("main", vec![read]);
        main.elapsed = Duration::from_millis(2_000);
        main
    }

    #[test]
    fn failures_have_a_part_of_their_own_and_do_not_count_as_throughput() {
        assert_eq!(
            text(&run(vec![read()])),
            "\
[OVERALL], RunTime(ms), 2000
[OVERALL], Throughput(ops/sec), 1.5
[READ], Operations, 3
[READ], AverageLatency(us), 75.344
[READ], MinLatency(us), 64
[READ], MaxLatency(us), 90
[READ], 50thPercentileLatency(us), 71
[READ], 95thPercentileLatency(us), 90
[READ], 99thPercentileLatency(us), 90
[READ], Return=OK, 3
[READ], Return=ERROR, 2
[READ-FAILED], Operations, 2
[READ-FAILED], AverageLatency(us), 2.0
[READ-FAILED], MinLatency(us), 2
[READ-FAILED], MaxLatency(us), 2
[READ-FAILED], 50thPercentileLatency(us), 2
[READ-FAILED], 95thPercentileLatency(us), 2
[READ-FAILED], 99thPercentileLatency(us), 2
"
        );
    }

    #[test]
    fn a_target_rate_adds_the_intended_times() {
        let mut main = read();
        main.target = Some(10.0);
        let text = text(&run(vec![main]));
        assert!(text.contains("\n[Intended-READ], Operations, 3\n"), "{text}");
        assert!(text.contains("\n[Intended-READ], 99thPercentileLatency(us), 1090\n"), "{text}");
    }

    #[test]
    fn ops_of_one_name_are_one_and_records_that_are_not_there_are_told_apart() {
        let mut main = read();
        main.ops[0].report_as = Some("READ".to_owned());
        main.ops[0].stats.error(UNEXPECTED).ended = 1;
        let mut second = main.ops[0].clone();
        (second.name, second.follows) = ("other".to_owned(), true);
        main.ops.push(second);
        main.closing = Some(Duration::from_millis(3));
        let text = text(&run(vec![main]));
        // What follows another op is no operation of its own.
        assert!(
            text.starts_with("[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 1.5\n"),
            "{text}"
        );
        assert!(text.contains("\n[READ], Operations, 6\n"), "{text}");
        assert!(
            text.contains("\n[READ], Return=OK, 6\n[READ], Return=NOT_FOUND, 2\n[READ], Return=ERROR, 4\n"),
            "{text}"
        );
        assert!(text.contains("\n[CLEANUP], Operations, 1\n[CLEANUP], AverageLatency(us), 2999."), "{text}");
    }

    #[test]
    fn measurements_have_the_forms_of_ycsb() {
        let mut main = read();
        for time in [1_500_000, 2_500_000, 2_600_000, 9_000_000] {
            main.ops[0].stats.service.record(time).expect("it grows");
        }
        let point = |second: u64, ok: u64, mean: u64| Point {
            at: Duration::from_secs(second),
            length: Duration::from_secs(1),
            op: 0,
            ok,
            errors: 0,
            service: Quantiles { mean, ..Quantiles::default() },
            response: Quantiles::default(),
        };
        main.series = vec![point(1, 1, 50_000), point(2, 3, 90_000), point(3, 0, 0), point(5, 2, 70_000)];
        let run = run(vec![main]);
        let histogram = |buckets, verbose| Form {
            measurement: Measurement::Histogram { buckets, verbose },
            ..Form::default()
        };
        let text = text_in(&histogram(1000, false), &run);
        assert!(text.contains("\n[READ], LatencyVariance(us), "), "{text}");
        assert!(
            text.contains(
                "\n[READ], 95thPercentileLatency(us), 9000\n[READ], 99thPercentileLatency(us), 9000\n"
            ),
            "{text}"
        );
        assert!(!text.contains("[READ], 0, "), "{text}");
        let text = text_in(&histogram(3, true), &run);
        assert!(text.contains("\n[READ], 0, 3\n[READ], 1, 1\n[READ], 2, 2\n[READ], >3, 1\n"), "{text}");
        assert!(!text.contains("[READ], 95th"), "{text}");
        let series = Form { measurement: Measurement::TimeSeries { seconds: 2 }, ..Form::default() };
        let text = text_in(&series, &run);
        assert!(text.contains("\n[READ], 0, 80.0\n[READ], 4000, 70.0\n"), "{text}");
        let percentiles = Form { percentiles: vec![1.0, 12.0, 22.0, 99.9, 100.0], ..Form::default() };
        let text = text_in(&percentiles, &run);
        for name in ["1st", "12th", "22nd", "99.9", "100th"] {
            assert!(text.contains(&format!("\n[READ], {name}PercentileLatency(us), ")), "{name}: {text}");
        }
        let only = Form { intended: Some(Intended::Only), ..Form::default() };
        assert!(text_in(&only, &run).contains("\n[READ], Operations, 3\n"), "the response times");
    }

    #[test]
    fn nothing_and_names_that_come_twice_keep_the_form() {
        let none = text(&run(vec![activity("a", vec![op("x],y")]), activity("b", vec![op("z")])]));
        assert!(none.contains("\n[x__y], Operations, 0\n[x__y], Return=OK, 0\n"), "{none}");
        let twice = text(&run(vec![read(), Activity { alias: "more".to_owned(), ..read() }]));
        assert!(twice.contains("\n[main.READ], Return=OK, 3\n"), "{twice}");
        assert!(twice.contains("\n[more.READ], Return=OK, 3\n"), "{twice}");
        for text in [none, twice] {
            assert!(text.lines().all(|line| line.split(", ").count() == 3), "{text}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    #[test]
    fn status_lines_have_the_form_of_ycsb() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_047_975_991);
        let mut status = Status::new(vec!["READ".to_owned()], Some(100), Duration::from_secs(10));
        assert_eq!(
            status.first(start),
            "2026-11-30 14:12:55:991 0 sec: 0 operations; est completion in 0 second "
        );
        let mut lines = Vec::new();
        for second in 0..12 {
            lines.extend(status.push(start, &frame(second * 1_000, 1_000, &[50_000, 60_000])));
        }
        lines.extend(status.last(start));
        assert_eq!(
            lines,
            [
                "2026-11-30 14:12:55:991 10 sec: 20 operations; 2 current ops/sec; est completion in 40 seconds \
                 [READ: Count=20, Max=60, Min=49, Avg=55.01, 50=50, 90=60, 99=60, 99.9=60, 99.99=60] ",
                "2026-11-30 14:12:55:991 12 sec: 24 operations; 2 current ops/sec; \
                 [READ: Count=4, Max=60, Min=49, Avg=55.01, 50=50, 90=60, 99=60, 99.9=60, 99.99=60] ",
            ]
        );
    }

    #[test]
    fn times_that_remain_are_told_in_its_words() {
        for (seconds, words) in [
            (0, "0 second "),
            (6, "6 second "),
            (33, "33 seconds "),
            (60, "1 minute "),
            (180, "3 minutes "),
            (3_720, "1 hour 2 minutes "),
            (2 * 86_400 + 120, "2 days "),
        ] {
            assert_eq!(remaining(seconds), words);
        }
    }
}
