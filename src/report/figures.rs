//! The numbers that follow from what was measured, worked out once for the summary and for the result file.
//!
//! Every figure that cannot be had (a rate of a run that took no time, a percentile of nothing) is absent, so
//! that no NaN or infinity reaches an output.

use super::{Activity, Ended};
use crate::metrics::ErrorCounts;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// What a histogram says. Nanoseconds, but for `count`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub stddev: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p999: f64,
    pub p9999: f64,
    pub max: f64,
}

impl Times {
    /// Absent where nothing was recorded.
    pub fn of(histogram: &Histogram<u64>) -> Option<Times> {
        if histogram.is_empty() {
            return None;
        }
        let at = |quantile| histogram.value_at_quantile(quantile) as f64;
        let times = Times {
            count: histogram.len(),
            min: histogram.min() as f64,
            mean: histogram.mean(),
            stddev: histogram.stdev(),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: histogram.max() as f64,
        };
        Some(times)
    }
}

/// One op's figures. Rates are per second of the activity's elapsed time.
#[derive(Debug, Clone)]
pub struct OpFigures {
    pub name: String,
    pub ok: u64,
    pub attempted: u64,
    /// Ops that ended in an error, whichever.
    pub failed: u64,
    pub errors: BTreeMap<String, ErrorCounts>,
    pub retries: u64,
    /// Ops by how often they were tried.
    pub tries: BTreeMap<u32, u64>,
    pub result_codes: BTreeMap<u8, u64>,
    pub bytes_sent: u64,
    pub docs_returned: u64,
    pub docs_written: u64,
    pub ok_per_s: Option<f64>,
    pub attempted_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    /// Sent → answered, of ops that ended well.
    pub service: Option<Times>,
    /// Due → answered, of ops that ended well.
    pub response: Option<Times>,
    /// Due → sent, of all ops.
    pub wait: Option<Times>,
    /// Sent → answered, of ops that failed.
    pub failed_times: Option<Times>,
    /// The same by error, of errors whose times were asked for.
    pub error_times: BTreeMap<String, Times>,
    /// From its start to the end of another op, by the timer's name.
    pub timers: BTreeMap<String, Times>,
}

/// An activity's figures.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Cycles done per second.
    pub achieved: Option<f64>,
    /// Cycles asked for per second.
    pub target: Option<f64>,
    /// Achieved as a share of the target.
    pub of_target: Option<f64>,
    pub ops: Vec<OpFigures>,
    /// Ops that ended in an error with which the run went on, by the error's name.
    pub let_pass: BTreeMap<String, u64>,
}

impl Figures {
    pub fn of(activity: &Activity) -> Figures {
        let warm_up = activity.warm_up.unwrap_or_default();
        let seconds = activity.elapsed.saturating_sub(warm_up.elapsed).as_secs_f64();
        let achieved = rate(activity.cycles_done.saturating_sub(warm_up.cycles), seconds);
        let target = activity.target.filter(|rate| rate.is_finite() && *rate > 0.0);
        let ops: Vec<OpFigures> = activity
            .ops
            .iter()
            .map(|op| {
                let stats = &op.stats;
                OpFigures {
                    name: op.name.clone(),
                    ok: stats.ok,
                    attempted: stats.attempted,
                    failed: stats.errors.values().map(|counts| counts.ended).sum(),
                    errors: stats.errors.clone(),
                    retries: stats.retries,
                    tries: stats.tries(),
                    result_codes: stats.result_codes.clone(),
                    bytes_sent: stats.bytes_sent,
                    docs_returned: stats.docs_returned,
                    docs_written: stats.docs_written,
                    ok_per_s: rate(stats.ok, seconds),
                    attempted_per_s: rate(stats.attempted, seconds),
                    bytes_per_s: rate(stats.bytes_sent, seconds),
                    service: Times::of(&stats.service),
                    response: Times::of(&stats.response),
                    wait: Times::of(&stats.wait),
                    failed_times: Times::of(&stats.failed),
                    error_times: by_name(&stats.error_times),
                    timers: by_name(&stats.timers),
                }
            })
            .collect();
        let of_target = achieved.zip(target).map(|(achieved, target)| achieved / target);
        let let_pass = let_pass(&ops, &activity.ended);
        Figures { achieved, target, of_target, ops, let_pass }
    }
}

fn by_name(histograms: &BTreeMap<String, Histogram<u64>>) -> BTreeMap<String, Times> {
    histograms.iter().filter_map(|(name, times)| Some((name.clone(), Times::of(times)?))).collect()
}

/// The error that ended the activity was not let pass; the policy decides by name, so neither were its like.
fn let_pass(ops: &[OpFigures], ended: &Ended) -> BTreeMap<String, u64> {
    let fatal = match ended {
        Ended::Failed { name, .. } => Some(name),
        Ended::Complete | Ended::TimeUp | Ended::Stopped(_) | Ended::Unwritten(_) => None,
    };
    let mut passed = BTreeMap::new();
    for op in ops {
        for (name, counts) in &op.errors {
            if counts.ended > 0 && Some(name) != fatal {
                *passed.entry(name.clone()).or_default() += counts.ended;
            }
        }
    }
    passed
}

fn rate(n: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| n as f64 / seconds)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::metrics::{Client, OpStats, WarmUp};
    use crate::report::Op;
    use crate::report::{Run, Status};
    use std::time::{Duration, SystemTime};

    pub(crate) fn no_stats() -> OpStats {
        OpStats::default()
    }

    pub(crate) fn op(name: &str) -> Op {
        Op { name: name.to_owned(), report_as: None, follows: false, stats: no_stats() }
    }

    pub(crate) fn activity(alias: &str, ops: Vec<Op>) -> Activity {
        Activity {
            id: 0,
            started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            alias: alias.to_owned(),
            workload: "mongodb-keyvalue2".to_owned(),
            scenario: Some("default".to_owned()),
            step: Some(alias.to_owned()),
            cycles_asked: Some(0),
            cycles_done: 0,
            cycles_before: 0,
            threads: 1,
            target: None,
            backlog: 0,
            backlog_left: 0,
            client: Client::default(),
            outages: Vec::new(),
            warm_up: None,
            server: Vec::new(),
            connections: Vec::new(),
            elapsed: Duration::ZERO,
            closing: None,
            ended: Ended::Complete,
            ops,
            series: Vec::new(),
            timeline: None,
        }
    }

    pub(crate) fn run(activities: Vec<Activity>) -> Run {
        Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "nbrs run".to_owned(),
            started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            elapsed: Duration::from_secs(10),
            status: Status::Done,
            target: None,
            activities,
            fail_if: Vec::new(),
            max_rate: None,
            merged: Vec::new(),
            ycsb: crate::report::ycsb::Form::default(),
        }
    }

    #[test]
    fn nothing_measured_gives_no_figure_rather_than_nan() {
        let figures = Figures::of(&activity("main", vec![op("main__read")]));
        assert_eq!(figures.achieved, None);
        assert_eq!(figures.ops[0].ok_per_s, None);
        assert_eq!(figures.ops[0].service, None);
    }

    #[test]
    fn counts_over_31_bits_are_exact() {
        let mut big = op("main__read");
        big.stats.ok = (1 << 31) + 5;
        big.stats.attempted = (1 << 31) + 5;
        let mut activity = activity("main", vec![big]);
        activity.cycles_done = (1 << 31) + 5;
        activity.elapsed = Duration::from_secs(1);
        let figures = Figures::of(&activity);
        assert_eq!(figures.ops[0].ok, 2_147_483_653);
        assert_eq!(figures.achieved, Some(2_147_483_653.0));
    }

    #[test]
    fn the_error_that_ended_the_activity_was_not_let_pass() {
        let mut write = op("main__write");
        write.stats.errors.insert("DuplicateKey".to_owned(), ErrorCounts { ended: 7, ..Default::default() });
        write.stats.errors.insert("NotPrimary".to_owned(), ErrorCounts { ended: 2, ..Default::default() });
        write
            .stats
            .errors
            .insert("Retried".to_owned(), ErrorCounts { first: 2, retried: 2, ..Default::default() });
        let mut activity = activity("main", vec![write]);
        assert_eq!(Figures::of(&activity).let_pass.values().sum::<u64>(), 9);
        activity.ended = Ended::Failed {
            op: "main__write".to_owned(),
            cycle: 3,
            name: "NotPrimary".to_owned(),
            message: String::new(),
        };
        assert_eq!(Figures::of(&activity).let_pass, BTreeMap::from([("DuplicateKey".to_owned(), 7)]));
    }

    #[test]
    fn rates_are_of_the_time_and_the_cycles_that_count() {
        let mut activity = activity("main", Vec::new());
        activity.cycles_done = 30_000;
        activity.elapsed = Duration::from_secs(15);
        activity.warm_up = Some(WarmUp { elapsed: Duration::from_secs(5), cycles: 5_000 });
        assert_eq!(Figures::of(&activity).achieved, Some(2500.0));
    }

    #[test]
    fn the_share_of_the_target_follows_from_what_was_done() {
        let mut activity = activity("main", Vec::new());
        activity.target = Some(2000.0);
        activity.cycles_done = 20_000;
        activity.elapsed = Duration::from_secs(20);
        assert_eq!(Figures::of(&activity).of_target, Some(0.5));
    }
}
