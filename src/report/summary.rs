//! What a step did, as a table for people, and the line that closes a run.
//!
//! [`text`] is printed when a step ends, [`closing`] once at the end of the run; together they hold each
//! figure once.

use super::figures::{Figures, OpFigures, Times};
use super::{Activity, Ended, Run, Status, redact, wording};
use crate::metrics::ErrorCounts;
use std::collections::BTreeMap;

/// Ops beyond these share a row.
const OPS_SHOWN: usize = 10;
/// Error names of one op beyond these are counted, not named.
const ERRORS_SHOWN: usize = 6;

/// The summary of one activity as whole lines.
pub fn text(activity: &Activity) -> String {
    let figures = Figures::of(activity);
    let mut lines = vec![headline(activity)];
    lines.extend(pace(activity, &figures));
    counts(&figures, &mut lines);
    errors(&figures.ops, &mut lines);
    times(&figures.ops, &mut lines);
    lines.push(String::new());
    lines.join("\n")
}

fn headline(activity: &Activity) -> String {
    let ended = match &activity.ended {
        Ended::Complete => "all cycles done".to_owned(),
        Ended::Stopped(who) => format!("stopped by {}", wording::line(who, 100)),
        Ended::Failed { op, cycle, name, message } => format!(
            "stopped by {} of {} at cycle {cycle}: {}",
            wording::name(name),
            wording::name(op),
            redact::passwords(&wording::line(message, 200)),
        ),
    };
    format!(
        "{}: {} of {} in {} with {}; {ended}",
        wording::name(&activity.alias),
        wording::count(activity.cycles_done),
        wording::counted(activity.cycles_asked, "cycle"),
        wording::elapsed(activity.elapsed),
        wording::counted(activity.threads as u64, "thread"),
    )
}

/// What became of the target rate, in words.
fn pace(activity: &Activity, figures: &Figures) -> Option<String> {
    let target = figures.target?;
    let mut text = format!("  target {}", wording::per_second(target));
    if let (Some(achieved), Some(share)) = (figures.achieved, figures.of_target) {
        text += &format!(", achieved {} ({})", wording::per_second(achieved), wording::percent(share));
    }
    // A cycle that is due while the timer ticks is no backlog: a tenth of a second's worth is.
    if activity.backlog as f64 > (target / 10.0).max(1.0) {
        text += &format!(
            ": behind schedule, backlog {} at worst; response times include queueing",
            wording::counted(activity.backlog, "cycle")
        );
    }
    Some(text)
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
    let (shown, others) = most_attempted(&figures.ops);
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

/// The ops that get a row of their own, in the activity's order, and the others.
fn most_attempted(ops: &[OpFigures]) -> (Vec<&OpFigures>, Vec<&OpFigures>) {
    let mut order: Vec<usize> = (0..ops.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(ops[*i].attempted));
    order.truncate(OPS_SHOWN);
    let (mut shown, mut others) = (Vec::new(), Vec::new());
    for (i, op) in ops.iter().enumerate() {
        if order.contains(&i) { shown.push(op) } else { others.push(op) }
    }
    (shown, others)
}

/// One line for each op that met an error.
fn errors(ops: &[OpFigures], lines: &mut Vec<String>) {
    let (shown, others) = most_attempted(ops);
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
    let (shown, others) = most_attempted(ops);
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
        failed |= op.failed_times.is_some();
    }
    if table.rows.is_empty() {
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
    let done = match (run.status, ok, attempted) {
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
