//! Conditions on what a run did, for `--fail-if` and `findmax --keep`: `p99>50ms`, `response.p99>1s`,
//! `errors>1%`, `rate<95%`, `main__find.p99>20ms`.
//!
//! ```text
//! condition := [OP '.'] [clock '.'] figure ('<' | '<=' | '>' | '>=') value
//! clock     := service | response | wait | failed          (service if not said)
//! figure    := pN | min | mean | max | errors | rate
//! ```
//!
//! A time's value is a duration, that of `errors` a number or a share of the ops that were tried (`1%`), that of
//! `rate` cycles per second or a share of the target rate (`95%`). `OP` is an op (`main__find`, or `find`) or the
//! alias of an activity; without it a condition is on all ops of each activity together.

use crate::engine::ActivityResult;
use crate::metrics::{OpStats, Sampling};
use crate::span::{Diagnostic, nearest};
use crate::units;
use hdrhistogram::Histogram;
use regex::Regex;
use std::sync::LazyLock;
use std::time::Duration;

/// A condition as written, and what it asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub text: String,
    of: Option<String>,
    figure: Figure,
    sense: Sense,
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// Of the figure's own kind.
    Value(f64),
    /// How much more or less than in another run, as a share of that.
    Change(f64),
}

/// What a condition is asked of: an activity that has ended.
pub struct Subject<'a> {
    pub alias: &'a str,
    /// `block__op`, and what it did.
    pub ops: Vec<(&'a str, &'a OpStats)>,
    /// Cycles per second, done and asked for.
    pub achieved: Option<f64>,
    pub target: Option<f64>,
    /// Seconds that count.
    pub counted: Option<f64>,
}

impl<'a> From<&'a ActivityResult> for Subject<'a> {
    fn from(result: &'a ActivityResult) -> Subject<'a> {
        Subject {
            alias: &result.alias,
            ops: result.op_names.iter().map(String::as_str).zip(&result.totals).collect(),
            achieved: result.achieved(),
            target: result.target,
            counted: result.counted(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    /// Nanoseconds.
    Time(Clock, Statistic),
    /// Ops that ended in an error: how many, or as a share of those that were tried.
    Errors { share: bool },
    /// Cycles per second, or as a share of the target.
    Rate { share: bool },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Clock {
    Service,
    Response,
    Wait,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    /// Between 0 and 1.
    Quantile(f64),
    Min,
    Mean,
    Max,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sense {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// A figure as it was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    Time(Duration),
    Count(u64),
    PerSecond(f64),
    /// Between 0 and 1, mostly.
    Share(f64),
    /// From another run to this one: 0.1 is a tenth more.
    Change(f64),
}

impl Measured {
    fn value(self) -> f64 {
        match self {
            Measured::Time(time) => time.as_nanos() as f64,
            Measured::Count(count) => count as f64,
            Measured::PerSecond(value) | Measured::Share(value) | Measured::Change(value) => value,
        }
    }
}

/// What a condition found in one activity.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The activity's alias, and the op if the condition names one.
    pub of: String,
    pub measured: Measured,
    pub holds: bool,
}

const FORMS: &str =
    "such as p99>50ms, response.p99>1s, errors>1%, rate<95%, or of one op: main__find.p99>20ms";

static LEFT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:(?P<of>.+?)\.)??(?:(?P<clock>service|response|wait|failed)\.)?(?P<figure>p[0-9]+(?:\.[0-9]+)?|min|mean|max|errors|rate)$",
    )
    .expect("the expression is one")
});

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// What is no condition, with the part that is wrong.
    pub fn parse(text: &str) -> Result<Condition, Diagnostic> {
        let condition = Condition::parse_between(text)?;
        if let Limit::Change(_) = condition.limit {
            return Err(Diagnostic::error(format!(
                "the condition `{text}`: a change is one between two runs"
            ))
            .help("nbrs compare A.json B.json --fail-if 'p99>+10%'"));
        }
        Ok(condition)
    }

    /// Reads a condition that may be on the change between two runs: `p99>+10%`, `rate<-5%`.
    ///
    /// # Errors
    /// As of [`parse`](Condition::parse).
    pub fn parse_between(text: &str) -> Result<Condition, Diagnostic> {
        let wrong = |why: String| Diagnostic::error(format!("the condition `{text}`: {why}")).help(FORMS);
        let at = text.find(['<', '>']).ok_or_else(|| wrong("it compares nothing".to_owned()))?;
        let (left, right) = text.split_at(at);
        let (sense, value) =
            [("<=", Sense::AtMost), (">=", Sense::AtLeast), ("<", Sense::Below), (">", Sense::Above)]
                .iter()
                .find_map(|(sign, sense)| Some((*sense, right.strip_prefix(sign)?)))
                .ok_or_else(|| wrong("it compares nothing".to_owned()))?;
        let (left, value) = (left.trim(), value.trim());
        let parts = LEFT.captures(left).ok_or_else(|| {
            wrong(format!("`{left}` is no figure: there are pN, min, mean, max, errors and rate"))
        })?;
        let part = |name: &str| parts.name(name).map(|part| part.as_str());
        let share = value.strip_suffix('%').map(str::trim);
        let change = share.filter(|share| share.starts_with(['+', '-']));
        let change = change.and_then(|share| share.parse::<f64>().ok()).filter(|change| change.is_finite());
        let number = |text: &str| {
            text.parse::<f64>()
                .ok()
                .filter(|n| n.is_finite() && *n >= 0.0)
                .ok_or_else(|| wrong(format!("`{value}` is no share")))
        };
        let (figure, limit) = match part("figure").unwrap_or_default() {
            "errors" if change.is_some() => (Figure::Errors { share: false }, 0.0),
            "rate" if change.is_some() => (Figure::Rate { share: false }, 0.0),
            "errors" => match share {
                Some(share) => (Figure::Errors { share: true }, number(share)? / 100.0),
                None => {
                    let count = units::count(value).map_err(|error| wrong(error.to_string()))?;
                    (Figure::Errors { share: false }, count as f64)
                }
            },
            "rate" => match share {
                Some(share) => (Figure::Rate { share: true }, number(share)? / 100.0),
                None => {
                    let per_second = value.trim_end_matches("/s");
                    let rate = units::rate(per_second).map_err(|error| wrong(error.to_string()))?;
                    (Figure::Rate { share: false }, rate.per_second)
                }
            },
            statistic => {
                let statistic = match statistic {
                    "min" => Statistic::Min,
                    "mean" => Statistic::Mean,
                    "max" => Statistic::Max,
                    quantile => Statistic::Quantile(
                        percentile(&quantile[1..])
                            .ok_or_else(|| wrong(format!("`{quantile}` is no percentile")))?,
                    ),
                };
                let clock = match part("clock") {
                    Some("response") => Clock::Response,
                    Some("wait") => Clock::Wait,
                    Some("failed") => Clock::Failed,
                    _ => Clock::Service,
                };
                let limit = match change {
                    Some(_) => 0.0,
                    None => {
                        units::duration(value).map_err(|error| wrong(error.to_string()))?.as_nanos() as f64
                    }
                };
                (Figure::Time(clock, statistic), limit)
            }
        };
        if part("clock").is_some() && !matches!(figure, Figure::Time(..)) {
            return Err(wrong("only times have a clock".to_owned()));
        }
        let of = part("of").map(str::to_owned);
        let limit = change.map_or(Limit::Value(limit), |change| Limit::Change(change / 100.0));
        Ok(Condition { text: text.to_owned(), of, figure, sense, limit })
    }

    /// Checks that what it names is part of a run: `names` are the aliases and ops (`block__op`), `paced` whether
    /// an activity has a target rate.
    pub fn check_names(&self, names: &[&str], paced: bool) -> Result<(), Diagnostic> {
        if let Some(of) = &self.of
            && !names.iter().any(|name| names_op(of, name))
        {
            let error = Diagnostic::error(format!(
                "the condition `{}`: no op and no alias is named `{of}`",
                self.text
            ));
            return Err(match nearest(of, names.iter().copied()).first() {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("there are: {}", names.join(", "))),
            });
        }
        if matches!(self.figure, Figure::Rate { share: true }) && !paced {
            return Err(Diagnostic::error(format!(
                "the condition `{}`: no activity has a target rate",
                self.text
            ))
            .help("give cyclerate=, or compare with a number of cycles per second: rate<1000"));
        }
        Ok(())
    }

    /// Whether it is on the change between two runs.
    pub fn is_change(&self) -> bool {
        matches!(self.limit, Limit::Change(_))
    }

    /// Whether it is on an op of an activity.
    pub fn is_on(&self, alias: &str, op: &str) -> bool {
        self.of.as_ref().is_none_or(|of| of == alias || names_op(of, op))
    }

    /// What intervals know of its figure, if anything.
    pub fn sampling(&self) -> Option<Sampling> {
        let response = match self.figure {
            Figure::Rate { .. } => return Some(Sampling::Rate),
            Figure::Time(Clock::Service, _) => false,
            Figure::Time(Clock::Response, _) => true,
            Figure::Time(..) | Figure::Errors { .. } => return None,
        };
        match self.figure {
            Figure::Time(_, Statistic::Quantile(quantile)) => Some(Sampling::Time { response, quantile }),
            _ => None,
        }
    }

    /// What it finds in an activity that has ended; `None` where it is not about it, or nothing was measured.
    pub fn find(&self, result: &ActivityResult) -> Option<Finding> {
        self.find_in(&Subject::from(result), None)
    }

    /// The same of any activity; `before` is that of the run from which changes are reckoned.
    pub fn find_in(&self, subject: &Subject, before: Option<&Subject>) -> Option<Finding> {
        let mut measured = self.measure(subject)?;
        let limit = match self.limit {
            Limit::Value(limit) => limit,
            Limit::Change(limit) => {
                let (from, to) = (self.measure(before?)?.value(), measured.value());
                measured = Measured::Change(if from == to { 0.0 } else { to / from - 1.0 });
                limit
            }
        };
        let value = measured.value();
        let holds = match self.sense {
            Sense::Below => value < limit,
            Sense::AtMost => value <= limit,
            Sense::Above => value > limit,
            Sense::AtLeast => value >= limit,
        };
        let of = match &self.of {
            Some(of) if of != subject.alias => format!("{of} of {}", subject.alias),
            _ => subject.alias.to_owned(),
        };
        Some(Finding { of, measured, holds })
    }

    fn measure(&self, subject: &Subject) -> Option<Measured> {
        let named = |of: &&String| *of != subject.alias;
        let ops: Vec<&OpStats> = match self.of.as_ref().filter(named) {
            Some(of) => {
                subject.ops.iter().filter(|(name, _)| names_op(of, name)).map(|(_, stats)| *stats).collect()
            }
            None => subject.ops.iter().map(|(_, stats)| *stats).collect(),
        };
        if ops.is_empty() {
            return None;
        }
        self.figure.measure(subject, &ops, self.of.as_ref().filter(named).is_none())
    }
}

/// `find` and `main__find` name the op `main__find`.
fn names_op(given: &str, op: &str) -> bool {
    given == op || op.split_once("__").is_some_and(|(_, name)| name == given)
}

/// `99` → 0.99, `99.9` and `999` → 0.999.
fn percentile(digits: &str) -> Option<f64> {
    let value: f64 = match digits.len() {
        // As the result file names them: p999, p9999.
        3.. if digits.starts_with("99") && !digits.contains('.') => {
            format!("{}.{}", &digits[..2], &digits[2..])
        }
        _ => digits.to_owned(),
    }
    .parse()
    .ok()?;
    (0.0..=100.0).contains(&value).then_some(value / 100.0)
}

impl Figure {
    fn measure(self, subject: &Subject, ops: &[&OpStats], whole: bool) -> Option<Measured> {
        let mut all = OpStats::default();
        ops.iter().for_each(|op| all.add(op));
        let attempted = all.attempted;
        match self {
            Figure::Time(clock, statistic) => {
                let times = Some(clock.histogram(&all)).filter(|times| !times.is_empty())?;
                let nanoseconds = match statistic {
                    Statistic::Quantile(quantile) => times.value_at_quantile(quantile),
                    Statistic::Min => times.min(),
                    Statistic::Max => times.max(),
                    Statistic::Mean => times.mean() as u64,
                };
                Some(Measured::Time(Duration::from_nanos(nanoseconds)))
            }
            Figure::Errors { share } => {
                let failed = all.failed_ops();
                match share {
                    false => Some(Measured::Count(failed)),
                    true => (attempted > 0).then(|| Measured::Share(failed as f64 / attempted as f64)),
                }
            }
            Figure::Rate { share } => {
                let achieved = match whole {
                    true => subject.achieved?,
                    false => attempted as f64 / subject.counted?,
                };
                match share {
                    false => Some(Measured::PerSecond(achieved)),
                    true => Some(Measured::Share(achieved / subject.target.filter(|target| *target > 0.0)?)),
                }
            }
        }
    }
}

impl Clock {
    fn histogram(self, op: &OpStats) -> &Histogram<u64> {
        match self {
            Clock::Service => &op.service,
            Clock::Response => &op.response,
            Clock::Wait => &op.wait,
            Clock::Failed => &op.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Ended;
    use crate::metrics::{Client, ErrorCounts};
    use std::time::SystemTime;

    const MS: u64 = 1_000_000;

    fn op(service: &[u64], errors: u64) -> OpStats {
        let mut stats = OpStats::default();
        for ms in service {
            stats.service.record(ms * MS).expect("fits");
            stats.response.record(ms * MS * 10).expect("fits");
        }
        stats.ok = service.len() as u64;
        stats.attempted = stats.ok + errors;
        stats
            .errors
            .insert("DuplicateKey".to_owned(), ErrorCounts { ended: errors, ..ErrorCounts::default() });
        stats
    }

    /// 90 cycles in a second at a target of 100/s.
    fn result() -> ActivityResult {
        ActivityResult {
            alias: "main".to_owned(),
            op_names: vec!["main__find".to_owned(), "main__insert".to_owned()],
            ended: Ended::Complete,
            cycles_asked: 90,
            cycles_done: 90,
            cycles_before: 0,
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::from_secs(1),
            warm_up: None,
            target: Some(100.0),
            backlog: 0,
            backlog_left: 0,
            client: Client::default(),
            outages: Vec::new(),
            series: Vec::new(),
            totals: vec![op(&[1; 60], 0), op(&[50; 20], 10)],
        }
    }

    #[test]
    fn conditions_are_on_all_ops_or_on_one() {
        for (text, holds) in [
            ("p50>40ms", Some(false)),
            ("p99>40ms", Some(true)),
            ("p99 >= 40 ms", Some(true)),
            ("p99<1s", Some(true)),
            ("p999>40ms", Some(true)),
            ("p99.9>40ms", Some(true)),
            ("service.max<=60", Some(true)),
            ("mean<5ms", Some(false)),
            ("min<1500us", Some(true)),
            ("response.p99>400ms", Some(true)),
            ("main__find.p99>2ms", Some(false)),
            ("find.p99>500us", Some(true)),
            ("find.response.p99>2ms", Some(true)),
            ("main.p99>40ms", Some(true)),
            ("other.p99>40ms", None),
            ("failed.p99>1ms", None),
            ("errors>5%", Some(true)),
            ("errors>20%", Some(false)),
            ("errors>0", Some(true)),
            ("insert.errors>30%", Some(true)),
            ("find.errors>0", Some(false)),
            ("rate<95%", Some(true)),
            ("rate<80%", Some(false)),
            ("rate>=90", Some(true)),
            ("rate>0.1k/s", Some(false)),
            ("find.rate>50", Some(true)),
        ] {
            let condition = Condition::parse(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
            assert_eq!(condition.find(&result()).map(|found| found.holds), holds, "{text}");
        }
    }

    #[test]
    fn what_was_measured_is_told() {
        let found = |text: &str| Condition::parse(text).expect(text).find(&result()).expect(text);
        assert_eq!(found("errors>5%").measured, Measured::Share(10.0 / 90.0));
        assert_eq!(found("errors>5").measured, Measured::Count(10));
        assert_eq!(found("rate<95%").measured, Measured::Share(0.9));
        assert_eq!(found("rate<95").measured, Measured::PerSecond(90.0));
        let Measured::Time(p99) = found("insert.p99>1ms").measured else { panic!("a time") };
        assert!(p99 >= Duration::from_millis(50) && p99 < Duration::from_millis(51), "{p99:?}");
        assert_eq!(found("insert.p99>1ms").of, "insert of main");
    }

    #[test]
    fn a_change_is_one_between_two_runs() {
        let (before, mut after) = (result(), result());
        after.totals = vec![op(&[2; 60], 0), op(&[50; 20], 20)];
        after.cycles_done = 81;
        for (text, holds) in [
            ("find.p99>+90%", true),
            ("find.p99>+110%", false),
            ("insert.p99>+0%", false),
            ("insert.p99<=+0%", true),
            ("rate<-5%", true),
            ("rate<-15%", false),
            ("errors>+50%", true),
            ("find.errors>+0%", false),
            ("find.p99>1500us", true),
        ] {
            let condition =
                Condition::parse_between(text).unwrap_or_else(|e| panic!("{text}: {}", e.message));
            let (before, after) = (Subject::from(&before), Subject::from(&after));
            assert_eq!(
                condition.find_in(&after, Some(&before)).map(|found| found.holds),
                Some(holds),
                "{text}"
            );
        }
        let error = Condition::parse("p99>+10%").expect_err("there is one run");
        assert!(error.message.contains("between two runs"), "{}", error.message);
    }

    #[test]
    fn what_is_no_condition_says_why() {
        for (text, part) in [
            ("", "compares nothing"),
            ("p99", "compares nothing"),
            ("p99=5ms", "compares nothing"),
            (">5ms", "`` is no figure"),
            ("p99>", "a number is missing"),
            ("p99>fast", "`fast` is not a number"),
            ("p101>5ms", "`p101` is no percentile"),
            ("latency>5ms", "`latency` is no figure"),
            ("errors>x%", "`x%` is no share"),
            ("errors>-x%", "`-x%` is no share"),
            ("errors>-1%", "a change is one between two runs"),
            ("errors>half", "`half` is not a number"),
            ("rate<0", "over 0"),
            ("response.rate<5", "only times have a clock"),
        ] {
            let error = Condition::parse(text).expect_err(text);
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }

    #[test]
    fn names_and_targets_are_checked_before_a_run() {
        let check = |text: &str, paced| {
            Condition::parse(text).expect(text).check_names(&["main", "main__find"], paced).err()
        };
        assert!(check("main__find.p99>5ms", false).is_none());
        assert!(check("find.p99>5ms", false).is_none());
        let error = check("main__fnd.p99>5ms", true).expect("no such op");
        assert!(error.help.is_some_and(|help| help.contains("`main__find`")));
        assert!(
            check("rate<95%", false).is_some_and(|e| e.message.contains("no activity has a target rate"))
        );
        assert!(check("rate<95%", true).is_none() && check("rate<95", false).is_none());
    }
}
