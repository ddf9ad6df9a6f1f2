//! What a step did, as a table for people, and the line that closes a run.
//!
//! [`text`] is printed when a step ends, [`closing`] once at the end of the run; together they hold each
//! figure once.

use super::figures::{Figures, OpFigures, Times};
use super::{Activity, Destination, Ended, ReportError, Run, Status, remarks, wording};
use crate::metrics::ErrorCounts;
use crate::redact;
use std::collections::BTreeMap;

/// Ops beyond these share a row.
const OPS_SHOWN: usize = 10;
/// Error names of one op beyond these are counted, not named.
const ERRORS_SHOWN: usize = 6;

/// The summary of one activity as whole lines; `label` is what it is called.
pub fn text(activity: &Activity, label: &str) -> String {
    let figures = Figures::of(activity);
    let mut lines = account(activity, label, &figures);
    counts(&figures, &mut lines);
    errors(&figures.ops, &mut lines);
    times(&figures.ops, &mut lines);
    lines.push(String::new());
    lines.join("\n")
}

/// Writes all of it: each activity, and the closing line.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| {
        for activity in &run.activities {
            writeln!(out, "{}", text(activity, &activity.label(&run.activities)))?;
        }
        out.write_all(closing(run).as_bytes())
    })
}

/// What became of an activity, in sentences: the first is of its cycles, the others are of its pace.
pub(super) fn account(activity: &Activity, label: &str, figures: &Figures) -> Vec<String> {
    std::iter::once(headline(activity, label)).chain(remarks::of(activity, figures)).collect()
}

fn headline(activity: &Activity, label: &str) -> String {
    let ended = match &activity.ended {
        Ended::Complete => "all cycles done".to_owned(),
        Ended::TimeUp => "its time was over".to_owned(),
        Ended::Stopped(who) => format!("stopped by {}", wording::line(who, 100)),
        Ended::Unwritten(why) => {
            format!("its output could not be written: {}", redact::passwords(&wording::line(why, 100)))
        }
        Ended::Failed { op, cycle, name, message } => format!(
            "stopped by {} of {} at cycle {cycle}: {}",
            wording::name(name),
            wording::name(op),
            redact::passwords(&wording::line(message, 200)),
        ),
    };
    let done = wording::count(activity.cycles_done);
    let cycles = match activity.cycles_asked {
        Some(asked) => format!("{done} of {}", wording::counted(asked, "cycle")),
        None => wording::counted(activity.cycles_done, "cycle"),
    };
    let before = match activity.cycles_before {
        0 => String::new(),
        before => format!(" ({} more were done before)", wording::count(before)),
    };
    format!(
        "{}: {cycles}{before} in {} with {}; {ended}",
        wording::name(label),
        wording::elapsed(activity.elapsed),
        wording::counted(activity.threads as u64, "thread"),
    )
}

fn counts(figures: &Figures, lines: &mut Vec<String>) {
    if figures.ops.is_empty() {
        return;
    }
    let partial = figures.ops.iter().any(|op| op.attempted != op.ok);
    let mut heads = vec!["op", "ok", "attempted", "errors", "ok ops/s"];
    if partial {
        heads.push("attempted/s");
    }
    heads.extend(["MB/s", "docs"]);
    let mut table = Table::new(&heads, 1);
    let row = |name: String, ops: &[&OpFigures]| {
        let sum = |of: fn(&OpFigures) -> u64| ops.iter().map(|op| of(op)).sum::<u64>();
        let rate = |of: fn(&OpFigures) -> Option<f64>| {
            let sum: Option<f64> = ops.iter().map(|op| of(op)).sum();
            sum.unwrap_or(f64::NAN)
        };
        let mut cells = vec![
            name,
            wording::count(sum(|op| op.ok)),
            wording::count(sum(|op| op.attempted)),
            wording::count(sum(|op| op.failed)),
            wording::number(rate(|op| op.ok_per_s)),
        ];
        if partial {
            cells.push(wording::number(rate(|op| op.attempted_per_s)));
        }
        cells.push(wording::number(rate(|op| op.bytes_per_s) / 1e6));
        cells.push(wording::count(sum(|op| op.docs_returned)));
        cells
    };
    let (shown, others) = most_attempted(&figures.ops, OPS_SHOWN);
    for op in &shown {
        table.rows.push(row(wording::name(&op.name), &[op]));
    }
    if !others.is_empty() {
        table.rows.push(row(format!("{} other ops", wording::count(others.len() as u64)), &others));
    }
    if figures.ops.len() > 1 {
        table.rows.push(row("all ops".to_owned(), &figures.ops.iter().collect::<Vec<_>>()));
    }
    lines.push(String::new());
    lines.extend(table.lines());
}

/// The `most` ops that were tried most, in the activity's order, and the others.
pub(super) fn most_attempted(ops: &[OpFigures], most: usize) -> (Vec<&OpFigures>, Vec<&OpFigures>) {
    let mut order: Vec<usize> = (0..ops.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(ops[*i].attempted));
    order.truncate(most);
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for (i, op) in ops.iter().enumerate() {
        if order.contains(&i) { shown.push(op) } else { others.push(op) }
    }
    (shown, others)
}

/// One line for each op that met an error.
fn errors(ops: &[OpFigures], lines: &mut Vec<String>) {
    let (shown, others) = most_attempted(ops, OPS_SHOWN);
    for op in shown {
        if !op.errors.is_empty() {
            lines.push(format!("  errors of {}: {}", wording::name(&op.name), error_counts(&op.errors)));
        }
    }
    let mut rest: BTreeMap<String, ErrorCounts> = BTreeMap::new();
    for (name, counts) in others.iter().flat_map(|op| &op.errors) {
        let sum = rest.entry(name.clone()).or_default();
        sum.ended += counts.ended;
        sum.first += counts.first;
        sum.retried += counts.retried;
        sum.given_up += counts.given_up;
    }
    if !rest.is_empty() {
        lines.push(format!("  errors of other ops: {}", error_counts(&rest)));
    }
}

/// `DuplicateKey 2, WriteConflict 1 (retried 6 times)`, the most frequent first.
fn error_counts(errors: &BTreeMap<String, ErrorCounts>) -> String {
    let mut by_count: Vec<_> = errors.iter().collect();
    by_count.sort_by_key(|(_, counts)| std::cmp::Reverse((counts.ended, counts.retried)));
    let mut parts: Vec<String> = by_count
        .iter()
        .take(ERRORS_SHOWN)
        .map(|(name, counts)| {
            let mut text = format!("{} {}", wording::name(name), wording::count(counts.ended));
            if counts.retried > 0 {
                text += &format!(" (retried {})", wording::counted(counts.retried, "time"));
            }
            text
        })
        .collect();
    if by_count.len() > ERRORS_SHOWN {
        let rest: u64 = by_count[ERRORS_SHOWN..].iter().map(|(_, counts)| counts.ended).sum();
        let names = wording::count((by_count.len() - ERRORS_SHOWN) as u64);
        parts.push(format!("{names} other names {}", wording::count(rest)));
    }
    parts.join(", ")
}

fn times(ops: &[OpFigures], lines: &mut Vec<String>) {
    let mut table = Table::new(&["time", "clock", "min", "p50", "p95", "p99", "p99.9", "max"], 2);
    let (shown, others) = most_attempted(ops, OPS_SHOWN);
    // Without a rate an op is due when it is sent: one row says both.
    let two_clocks = shown.iter().any(|op| op.response.is_some() && op.response != op.service);
    let mut failed = false;
    for op in shown {
        let mut name = wording::name(&op.name);
        let mut row = |clock: &str, times: &Option<Times>| {
            let Some(times) = times else { return };
            let mut cells = vec![std::mem::take(&mut name), clock.to_owned()];
            let shown = [times.min, times.p50, times.p95, times.p99, times.p999, times.max];
            cells.extend(shown.map(wording::time));
            table.rows.push(cells);
        };
        if two_clocks {
            row("service", &op.service);
            row("response", &op.response);
        } else {
            row("service, response", &op.service);
        }
        row("failed", &op.failed_times);
        for (name, times) in &op.timers {
            row(&format!("timer {}", wording::name(name)), &Some(*times));
        }
        failed |= op.failed_times.is_some();
    }
    if table.rows.len() == 1 {
        return;
    }
    lines.push(String::new());
    lines.extend(table.lines());
    if !others.is_empty() {
        lines.push(format!("  times of the {} most frequent ops; the result file has all", OPS_SHOWN));
    }
    lines.push(if two_clocks {
        "  service: sent → answered; response: due → answered, so waiting for a free thread counts".to_owned()
    } else {
        "  service: sent → answered; response: due → answered, the same where there is no target rate"
            .to_owned()
    });
    if failed {
        lines.push("  failed: sent → answered of ops that failed, which are in no other row".to_owned());
    }
}

/// The last line of a run: how it ended, what was done, and how many errors were let pass.
pub fn closing(run: &Run) -> String {
    let (mut ok, mut attempted) = (0u64, 0u64);
    let mut let_pass: BTreeMap<String, ErrorCounts> = BTreeMap::new();
    for activity in &run.activities {
        let figures = Figures::of(activity);
        ok += figures.ops.iter().map(|op| op.ok).sum::<u64>();
        attempted += figures.ops.iter().map(|op| op.attempted).sum::<u64>();
        for (name, n) in figures.let_pass {
            let_pass.entry(name).or_default().ended += n;
        }
    }
    let passed: u64 = let_pass.values().map(|counts| counts.ended).sum();
    let unwritten = run.activities.iter().any(|activity| matches!(activity.ended, Ended::Unwritten(_)));
    let done = match (run.status, ok, attempted) {
        _ if unwritten => {
            format!("{} were run, and not all of their output was written", wording::counted(attempted, "op"))
        }
        (Status::Failed, 0, 1..) => format!("not one of {} ended well", wording::counted(attempted, "op")),
        _ => format!("{} of {} ended well", wording::count(ok), wording::counted(attempted, "op")),
    };
    let errors = match passed {
        0 => "no errors let pass".to_owned(),
        1 => format!("1 error was let pass: {}", error_counts(&let_pass)),
        _ => format!("{} errors were let pass: {}", wording::count(passed), error_counts(&let_pass)),
    };
    format!("{} in {}: {done}; {errors}\n", run.status.word(), wording::elapsed(run.elapsed))
}

/// Cells in columns: the first `left` flush left, the others flush right.
struct Table {
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(heads: &[&str], left: usize) -> Table {
        Table { left, rows: vec![heads.iter().map(|head| (*head).to_owned()).collect()] }
    }

    fn lines(&self) -> Vec<String> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |row: &Vec<String>| {
            let mut text = String::new();
            for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if i < self.left {
                    text += &format!("  {cell:<width$}");
                } else {
                    text += &format!("  {cell:>width$}");
                }
            }
            text.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Client, ConnectionPoint, Outage, Point, Quantiles, ServerPoint, WarmUp};
    use crate::report::figures::tests::{activity, op};
    use crate::report::{Op, Target};
    use hdrhistogram::Histogram;
    use std::time::{Duration, SystemTime};

    fn text(activity: &Activity) -> String {
        super::text(activity, &activity.alias)
    }

    /// Records `n` values that spread evenly from `low` to `high` nanoseconds.
    fn spread(histogram: &mut Histogram<u64>, n: u64, low: u64, high: u64) {
        for i in 0..n {
            histogram.record(low + (high - low) * i / n.max(2)).expect("fits");
        }
    }

    fn ended(name: &str, ended: u64) -> (String, ErrorCounts) {
        (name.to_owned(), ErrorCounts { ended, first: ended, given_up: ended, ..Default::default() })
    }

    /// An op of which `ok` ended well.
    fn measured(name: &str, ok: u64) -> Op {
        let mut op = op(name);
        op.stats.ok = ok;
        op.stats.attempted = ok;
        op.stats.bytes_sent = ok * 120;
        spread(&mut op.stats.service, ok.min(1000), 85_000, 400_000);
        op.stats.response = op.stats.service.clone();
        op
    }

    fn rated_main() -> Activity {
        let mut read = measured("main-read__main-find", 12_500);
        read.stats.docs_returned = 12_500;
        spread(&mut read.stats.response, 1000, 90_000, 2_000_000);
        let mut write = measured("main-write__main-insert", 12_498);
        write.stats.attempted = 12_500;
        write.stats.errors.extend([ended("DuplicateKey", 2)]);
        spread(&mut write.stats.failed, 2, 150_000, 170_000);
        spread(&mut write.stats.response, 1000, 90_000, 2_000_000);
        let mut main = activity("main", vec![read, write]);
        main.cycles_asked = Some(25_000);
        main.cycles_done = 25_000;
        main.threads = 25;
        main.target = Some(2500.0);
        main.elapsed = Duration::from_millis(10_010);
        main
    }

    fn run(activities: Vec<Activity>, status: Status) -> Run {
        Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "nbrs".to_owned(),
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::from_millis(10_400),
            status,
            target: Some(Target::default()),
            activities,
            fail_if: Vec::new(),
            max_rate: None,
            merged: Vec::new(),
            ycsb: crate::report::ycsb::Form::default(),
        }
    }

    #[test]
    fn a_rated_step_shows_both_clocks_and_its_errors_by_name() {
        let expected = "\
main: 25,000 of 25,000 cycles in 10.01 s with 25 threads; all cycles done
  target 2,500/s, achieved 2,498/s (99.9%)

  op                           ok  attempted  errors  ok ops/s  attempted/s  MB/s    docs
  main-read__main-find     12,500     12,500       0     1,249        1,249  0.15  12,500
  main-write__main-insert  12,498     12,500       2     1,249        1,249  0.15       0
  all ops                  24,998     25,000       2     2,497        2,498  0.30  12,500
  errors of main-write__main-insert: DuplicateKey 2

  time                     clock         min     p50      p95      p99    p99.9      max
  main-read__main-find     service   85.0 µs  242 µs   384 µs   397 µs   400 µs   400 µs
                           response  85.0 µs  356 µs  1.81 ms  1.96 ms  1.99 ms  2.00 ms
  main-write__main-insert  service   85.0 µs  242 µs   384 µs   397 µs   400 µs   400 µs
                           response  85.0 µs  356 µs  1.81 ms  1.96 ms  1.99 ms  2.00 ms
                           failed     150 µs  150 µs   160 µs   160 µs   160 µs   160 µs
  service: sent → answered; response: due → answered, so waiting for a free thread counts
  failed: sent → answered of ops that failed, which are in no other row
";
        let main = rated_main();
        assert_eq!(text(&main), expected);
        assert_eq!(
            closing(&run(vec![main], Status::Done)),
            "done in 10.40 s: 24,998 of 25,000 ops ended well; 2 errors were let pass: DuplicateKey 2\n"
        );
    }

    #[test]
    fn a_step_without_a_rate_shows_its_one_clock_once() {
        let mut rampup = activity("rampup", vec![measured("rampup__rampup-insert", 50_000)]);
        rampup.cycles_asked = Some(50_000);
        rampup.cycles_done = 50_000;
        rampup.threads = 4;
        rampup.elapsed = Duration::from_millis(3_210);
        let expected = "\
rampup: 50,000 of 50,000 cycles in 3.21 s with 4 threads; all cycles done

  op                         ok  attempted  errors  ok ops/s  MB/s  docs
  rampup__rampup-insert  50,000     50,000       0    15,576  1.87     0

  time                   clock                  min     p50     p95     p99   p99.9     max
  rampup__rampup-insert  service, response  85.0 µs  242 µs  384 µs  397 µs  400 µs  400 µs
  service: sent → answered; response: due → answered, the same where there is no target rate
";
        assert_eq!(text(&rampup), expected);
        assert_eq!(
            closing(&run(vec![rampup], Status::Done)),
            "done in 10.40 s: 50,000 of 50,000 ops ended well; no errors let pass\n"
        );
    }

    #[test]
    fn a_rate_that_was_not_met_is_explained_in_words() {
        let mut main = activity("main", Vec::new());
        main.target = Some(2000.0);
        main.cycles_asked = Some(20_000);
        main.cycles_done = 20_000;
        main.elapsed = Duration::from_secs(20);
        for (backlog, words) in [
            (0, "  target 2,000/s, achieved 1,000/s (50%)"),
            (3, "  target 2,000/s, achieved 1,000/s (50%)"),
            (
                10_000,
                "  target 2,000/s, achieved 1,000/s (50%): behind schedule, backlog 10,000 cycles at worst, \
                 7 at the end; response times include queueing",
            ),
        ] {
            main.backlog = backlog;
            main.backlog_left = 7;
            assert_eq!(text(&main).lines().nth(1), Some(words));
        }
    }

    #[test]
    fn what_held_the_client_up_is_said_in_words() {
        let mut main = activity("main", Vec::new());
        main.target = Some(2000.0);
        main.elapsed = Duration::from_secs(20);
        main.threads = 10;
        let words = |main: &Activity| text(main).lines().nth(2).unwrap_or_default().trim_start().to_owned();
        let late = Client { lateness: Duration::from_millis(35), late_intervals: 4, ..Client::default() };
        for (backlog, client, beginning) in [
            (0, Client::default(), ""),
            // The clock woke late, but nothing came of it.
            (0, late, ""),
            (10_000, late, "client-bound: the clock of this machine woke up to 35.0 ms late"),
            (10_000, Client { busy: 0.9, ..late }, "all 10 threads were busy in 90% of the late intervals"),
            (10_000, Client { cpu: Some(0.97), busy: 1.0, ..late }, "client-bound: this process took 97% of"),
            (0, Client { cpu: Some(0.97), ..Client::default() }, "client-bound: this process took 97% of"),
            (0, Client { cpu: Some(0.5), ..Client::default() }, ""),
            (
                0,
                Client { swapped: 80_000_000, ..Client::default() },
                "client-bound: 80 MB of this process's memory",
            ),
            (0, Client { swapped: 4_096, ..Client::default() }, ""),
        ] {
            (main.backlog, main.client) = (backlog, client);
            assert!(words(&main).starts_with(beginning), "{client:?}: {}", words(&main));
            assert_eq!(words(&main).is_empty(), beginning.is_empty(), "{client:?}");
        }
    }

    #[test]
    fn threads_of_a_closed_loop_that_are_not_busy_with_ops_are_told_of() {
        let mut main = activity("main", vec![measured("a__b", 50_000)]);
        // 50,000 ops of 242 µs each are 12.1 s of ops.
        for (threads, seconds, target, told) in [
            (4, 3, None, false),
            (4, 6, None, true),
            (4, 6, Some(10_000.0), false),
            // Too few ops of each thread, and too short a time.
            (3_000, 6, None, false),
            (100, 0, None, false),
        ] {
            (main.threads, main.elapsed, main.target) = (threads, Duration::from_secs(seconds), target);
            let words = text(&main);
            assert_eq!(
                words.contains("had an op in flight on average"),
                told,
                "{threads} {seconds}: {words}"
            );
        }
        (main.threads, main.elapsed, main.target) = (4, Duration::from_secs(6), None);
        assert!(
            text(&main).contains("  of 4 threads, 2.02 had an op in flight on average"),
            "{}",
            text(&main)
        );
    }

    #[test]
    fn a_run_that_slows_down_says_so() {
        let mut main = activity("main", vec![op("a"), op("b")]);
        let at_rates = |rates: &[u64]| -> Vec<Point> {
            let seconds = (1..).map(Duration::from_secs);
            let point = |(at, ok): (Duration, &u64), op| Point {
                at,
                length: Duration::from_secs(1),
                op,
                ok: *ok,
                errors: 0,
                service: Quantiles::default(),
                response: Quantiles::default(),
            };
            seconds.zip(rates).flat_map(|second| [point(second, 0), point(second, 1)]).collect()
        };
        let told = |main: &Activity| {
            text(main).contains("throughput fell: 200/s in the first tenth of the run, 90/s")
        };
        main.series = at_rates(&[[100; 10], [45; 10]].concat());
        assert!(told(&main), "{}", text(&main));
        for steady in [&[[100; 10], [55; 10]].concat()[..], &[100, 40, 30]] {
            main.series = at_rates(steady);
            assert!(!text(&main).contains("throughput fell"));
        }
    }

    #[test]
    fn the_target_s_own_counters_stand_beside_the_client_s() {
        let mut main = activity("main", Vec::new());
        let point = |seconds, insert, us| ServerPoint {
            at: Duration::from_secs(seconds),
            length: Duration::from_secs(1),
            ops: [("insert".to_owned(), insert)].into(),
            connections: Some(20 + seconds),
            mean_us: [("writes".to_owned(), us)].into(),
        };
        main.server = vec![point(1, 1_000, 40.0), point(2, 2_000, 60.0)];
        let expected = "  the target itself, in the first 2.00 s: 3,000 insert, 22 connections, writes 50.0 µs on average";
        assert_eq!(text(&main).lines().nth(1), Some(expected));
    }

    #[test]
    fn connections_that_were_lost_or_not_had_are_said_and_no_others() {
        let mut main = activity("main", Vec::new());
        let point = |seconds, asked, opened, lost, open| ConnectionPoint {
            at: Duration::from_secs(seconds),
            asked,
            opened,
            lost,
            open,
        };
        main.connections = vec![point(0, 30, 30, 0, 30), point(4, 2, 2, 0, 32)];
        assert!(!text(&main).contains("connections"));
        main.connections.extend([point(5, 1, 0, 12, 20), point(6, 14, 12, 1, 31)]);
        let expected = "  connections: 30 before the run; 13 lost, 14 of 17 opened anew, 20 at fewest (most lost in the second to 5.00 s)";
        assert_eq!(text(&main).lines().nth(1), Some(expected));
    }

    #[test]
    fn warm_up_outages_and_what_was_done_before_are_said() {
        let mut main = activity("main", Vec::new());
        main.cycles_asked = None;
        main.cycles_done = 5_000;
        main.ended = Ended::TimeUp;
        main.elapsed = Duration::from_secs(12);
        main.warm_up = Some(WarmUp { elapsed: Duration::from_secs(2), cycles: 900 });
        let second = Duration::from_secs;
        main.outages = vec![
            Outage { from: second(4), to: Some(Duration::from_millis(7_300)) },
            Outage { from: second(10), to: None },
        ];
        let expected = "\
main: 5,000 cycles in 12.00 s with 1 thread; its time was over
  warm-up of 2.00 s with 900 cycles, not counted below
  outage: no op ended well for 3.30 s, from 4.00 s to 7.30 s of the run
  outage: no op ended well after 10.00 s of the run
";
        assert_eq!(text(&main), expected);
        main.cycles_asked = Some(10_000);
        main.cycles_before = 4_000;
        let headline = "main: 5,000 of 10,000 cycles (4,000 more were done before) in 12.00 s";
        assert!(text(&main).starts_with(headline), "{}", text(&main));
    }

    #[test]
    fn what_ended_a_step_is_said() {
        let mut main = activity("main", Vec::new());
        main.cycles_asked = Some(100);
        main.cycles_done = 42;
        main.elapsed = Duration::from_secs(1);
        main.ended = Ended::Stopped("SIGINT".to_owned());
        assert_eq!(text(&main), "main: 42 of 100 cycles in 1.00 s with 1 thread; stopped by SIGINT\n");
        main.ended = Ended::Failed {
            op: "schema__create".to_owned(),
            cycle: 41,
            name: "NamespaceExists".to_owned(),
            message: "collection a.b exists;\nmongodb://u:s3cr@h".to_owned(),
        };
        assert_eq!(
            text(&main),
            "main: 42 of 100 cycles in 1.00 s with 1 thread; stopped by NamespaceExists of schema__create at \
             cycle 41: collection a.b exists; mongodb://u:***@h\n"
        );
    }

    #[test]
    fn a_common_run_fits_25_lines() {
        let main = rated_main();
        let write = main.ops[1].clone();
        let three = Activity { ops: vec![main.ops[0].clone(), write.clone(), write], ..main };
        let whole = text(&three) + &closing(&run(vec![three], Status::Done));
        assert!(whole.lines().count() <= 25, "{whole}");
    }

    #[test]
    fn of_many_ops_the_most_frequent_have_rows_and_nothing_is_lost() {
        let mut ops: Vec<Op> = (0..60).map(|i| measured(&format!("b__op{i}"), 100 + i)).collect();
        ops[0].stats.errors.extend([ended("Rare", 1)]);
        ops[1].stats.errors.extend([ended("Rare", 2)]);
        let many = activity("main", ops);
        let text = text(&many);
        assert!(text.contains("  b__op59 "), "{text}");
        assert!(text.contains("  50 other ops  6,225 "), "{text}");
        assert!(text.contains("  all ops       7,770 "), "{text}");
        assert!(text.contains("  errors of other ops: Rare 3\n"), "{text}");
        assert!(text.lines().count() < 40, "{text}");
    }

    #[test]
    fn many_error_names_are_summed_up_and_retries_told() {
        let mut errors: BTreeMap<String, ErrorCounts> = (1..=9).map(|i| ended(&format!("E{i}"), i)).collect();
        errors.insert(
            "WriteConflict".to_owned(),
            ErrorCounts { first: 20, retried: 30, ended: 10, given_up: 10, ..Default::default() },
        );
        assert_eq!(
            error_counts(&errors),
            "WriteConflict 10 (retried 30 times), E9 9, E8 8, E7 7, E6 6, E5 5, 4 other names 10"
        );
    }

    #[test]
    fn a_run_of_nothing_and_a_run_of_failures_are_told_without_nan() {
        let nothing = activity("main", vec![op("main__read")]);
        let expected = "\
main: 0 of 0 cycles in 0 ns with 1 thread; all cycles done

  op          ok  attempted  errors  ok ops/s  MB/s  docs
  main__read   0          0       0         -     -     0
";
        assert_eq!(text(&nothing), expected);
        let mut write = op("main__write");
        write.stats.attempted = 5;
        write.stats.errors.extend([ended("Unauthorized", 5)]);
        let mut all_failed = activity("main", vec![write]);
        all_failed.target = Some(1.0);
        assert!(!text(&all_failed).contains("NaN") && !text(&all_failed).contains("inf"));
        assert_eq!(
            closing(&run(vec![all_failed], Status::Failed)),
            "failed in 10.40 s: not one of 5 ops ended well; 5 errors were let pass: Unauthorized 5\n"
        );
        assert_eq!(
            closing(&run(Vec::new(), Status::Interrupted)),
            "interrupted in 10.40 s: 0 of 0 ops ended well; no errors let pass\n"
        );
    }

    #[test]
    fn names_with_quotes_newlines_and_any_script_keep_the_table_whole() {
        let odd = activity("ключи-🗝", vec![measured("b__\"a\",\nb", 1), measured("b__ключи-🗝", 1)]);
        let text = text(&odd);
        assert!(text.starts_with("ключи-🗝: "), "{text}");
        assert!(text.contains("  b__\"a\",\\nb "), "{text}");
        let ends: Vec<usize> = text.lines().skip(2).take(4).map(|line| line.chars().count()).collect();
        assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }

    #[test]
    fn errors_of_all_steps_are_summed_in_the_last_line() {
        let mut first = activity("rampup", vec![measured("rampup__insert", 3)]);
        first.ops[0].stats.errors.extend([ended("DuplicateKey", 1)]);
        let second = rated_main();
        assert_eq!(
            closing(&run(vec![first, second], Status::Done)),
            "done in 10.40 s: 25,001 of 25,003 ops ended well; 3 errors were let pass: DuplicateKey 3\n"
        );
    }
}
