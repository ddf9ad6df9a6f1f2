//! YCSB's text of a run, and its status lines: what parsers of its output read.
//!
//! An op's own part is of the ops that ended well (sent → answered); `NAME-FAILED` is of those that did not, and
//! where there is a target rate `Intended-NAME` is of due → answered, as YCSB has it with
//! `measurement.interval=both`. Throughput counts the ops that ended well. Times are whole microseconds.

use super::clock::Window;
use super::{Activity, Destination, ReportError, Run, wording};
use crate::metrics::{Frame, OpStats};
use hdrhistogram::Histogram;
use std::collections::HashMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// Writes the text of `run`, whole or not at all.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| render(run, out))
}

/// The counted part of an activity.
fn counted(activity: &Activity) -> Duration {
    activity.elapsed.saturating_sub(activity.warm_up.unwrap_or_default().elapsed)
}

fn render(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let ops = run.activities.iter().flat_map(|activity| &activity.ops);
    let ok: u64 = ops.map(|op| op.stats.ok).sum();
    // Activities may run at the same time, so their times do not add up.
    let elapsed = match run.activities.as_slice() {
        [only] => counted(only),
        _ => run.elapsed,
    };
    writeln!(out, "[OVERALL], RunTime(ms), {}", elapsed.as_millis())?;
    let seconds = elapsed.as_secs_f64();
    let throughput = if seconds > 0.0 { ok as f64 / seconds } else { 0.0 };
    writeln!(out, "[OVERALL], Throughput(ops/sec), {throughput:?}")?;
    let mut named: HashMap<&str, usize> = HashMap::new();
    for op in run.activities.iter().flat_map(|activity| &activity.ops) {
        *named.entry(&op.name).or_default() += 1;
    }
    for activity in &run.activities {
        for op in &activity.ops {
            // Two steps may run the same op.
            let name = match named.get(op.name.as_str()) {
                Some(1) => name(&op.name),
                _ => name(&format!("{}.{}", activity.alias, op.name)),
            };
            section(&name, &op.stats, activity.target.is_some(), out)?;
        }
    }
    Ok(())
}

/// A name ends at a bracket or a comma.
fn name(text: &str) -> String {
    let plain = |c: char| if c == ']' || c == '[' || c == ',' || c.is_control() { '_' } else { c };
    text.chars().map(plain).collect()
}

fn section(name: &str, stats: &OpStats, rated: bool, out: &mut dyn Write) -> io::Result<()> {
    times(name, &stats.service, out)?;
    writeln!(out, "[{name}], Return=OK, {}", stats.ok)?;
    let failed = stats.failed_ops();
    if failed > 0 {
        writeln!(out, "[{name}], Return=ERROR, {failed}")?;
        times(&format!("{name}-FAILED"), &stats.failed, out)?;
    }
    if rated {
        times(&format!("Intended-{name}"), &stats.response, out)?;
    }
    Ok(())
}

fn times(name: &str, histogram: &Histogram<u64>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "[{name}], Operations, {}", histogram.len())?;
    // YCSB prints NaN here, which no parser expects.
    if histogram.is_empty() {
        return Ok(());
    }
    writeln!(out, "[{name}], AverageLatency(us), {:?}", histogram.mean() / 1e3)?;
    writeln!(out, "[{name}], MinLatency(us), {}", histogram.min() / 1_000)?;
    writeln!(out, "[{name}], MaxLatency(us), {}", histogram.max() / 1_000)?;
    for percentile in [50u32, 95, 99] {
        let time = histogram.value_at_quantile(f64::from(percentile) / 100.0) / 1_000;
        writeln!(out, "[{name}], {percentile}thPercentileLatency(us), {time}")?;
    }
    Ok(())
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
    /// For these ops, a line every so often; `total` cycles.
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
        for (name, stats) in self.names.iter().zip(&window.ops) {
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
    use crate::report::figures::tests::{activity, op, run};

    fn text(run: &Run) -> String {
        let mut out = Vec::new();
        render(run, &mut out).expect("a Vec takes all");
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
