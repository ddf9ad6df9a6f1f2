//! The result file, `nbrs-result/1` (its JSON schema is `docs/result-schema.json`).
//!
//! Times are microseconds, rates are per second, what was not measured is absent. Histograms are in it too, so that
//! [`read()`] gives back the run that was written.

mod document;
mod read;

pub use read::read;

use super::figures::{Figures, OpFigures, Times};
use super::packed::{self, Packer};
use super::timeline::Timeline;
use super::ycsb::{Form, Intended, Measurement};
use super::{Activity, Destination, Ended, Merged, Op, ReportError, Run, Target};
use crate::metrics::{Point, Quantiles};
use crate::redact;
use document::{
    ActivityPart, CellPart, ClientPart, ConnectionPart, CyclesPart, Document, EndedPart, ErrorPart,
    HistogramsPart, MergedPart, OpPart, OutagePart, PointPart, QuantilesPart, RatePart, RunPart, ServerPart,
    TargetPart, TimelinePart, TimesPart, WarmUpPart, YcsbPart,
};
use hdrhistogram::Histogram;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

pub const SCHEMA: &str = "nbrs-result/1";

fn document(run: &Run) -> Result<Document, ReportError> {
    let mut packer = Packer::new();
    // Nothing else shows them.
    let with_means = matches!(run.ycsb.measurement, Measurement::TimeSeries { .. });
    let activities = run.activities.iter().map(|one| activity(one, with_means, &mut packer));
    let activities = activities.collect::<Result<_, _>>()?;
    Ok(Document {
        schema: Cow::Borrowed(SCHEMA),
        run: RunPart {
            version: run.version.clone(),
            command: redact::passwords(&run.command),
            started: rfc3339(run.started),
            elapsed_s: seconds(run.elapsed),
            status: Cow::Borrowed(run.status.word()),
            fail_if: run.fail_if.clone(),
            max_rate: run.max_rate,
            target: run.target.as_ref().map(TargetPart::from),
            merged: run.merged.iter().map(MergedPart::from).collect(),
            ycsb: (run.ycsb != Form::default()).then(|| YcsbPart::from(&run.ycsb)),
        },
        activities,
    })
}

impl From<&Merged> for MergedPart {
    fn from(merged: &Merged) -> MergedPart {
        MergedPart {
            command: redact::passwords(&merged.command),
            started: rfc3339(merged.started),
            elapsed_s: seconds(merged.elapsed),
            status: Cow::Borrowed(merged.status.word()),
        }
    }
}

impl From<&Form> for YcsbPart {
    fn from(form: &Form) -> YcsbPart {
        let part = |word, buckets, verbose, granularity_s| YcsbPart {
            measurement: Cow::Borrowed(word),
            buckets,
            verbose,
            granularity_s,
            interval: form.intended.map(|intended| {
                Cow::Borrowed(match intended {
                    Intended::Without => "op",
                    Intended::Only => "intended",
                    Intended::Both => "both",
                })
            }),
            percentiles: form.percentiles.clone(),
        };
        match form.measurement {
            Measurement::Hdr => part("hdrhistogram", None, false, None),
            Measurement::Histogram { buckets, verbose } => part("histogram", Some(buckets), verbose, None),
            Measurement::TimeSeries { seconds } => part("timeseries", None, false, Some(seconds)),
        }
    }
}

impl From<&Target> for TargetPart {
    fn from(target: &Target) -> TargetPart {
        let settings = target.settings.iter();
        TargetPart {
            kind: target.kind.clone(),
            version: target.version.clone(),
            topology: target.topology.clone(),
            uri: target.uri.as_deref().map(redact::passwords),
            settings: settings.map(|(name, value)| (name.clone(), redact::passwords(value).into())).collect(),
        }
    }
}

fn activity(activity: &Activity, with_means: bool, packer: &mut Packer) -> Result<ActivityPart, ReportError> {
    let figures = Figures::of(activity);
    let series =
        activity.series.iter().filter_map(|point| point_part(point, &figures.ops, with_means)).collect();
    let mut ops = Vec::with_capacity(activity.ops.len());
    for (op, figures) in activity.ops.iter().zip(figures.ops) {
        ops.push(op_part(op, figures, packer)?);
    }
    Ok(ActivityPart {
        alias: activity.alias.clone(),
        workload: activity.workload.clone(),
        scenario: activity.scenario.clone(),
        step: activity.step.clone(),
        started: rfc3339(activity.started),
        elapsed_s: seconds(activity.elapsed),
        closing_s: activity.closing.map(seconds),
        ended: EndedPart::from(&activity.ended),
        cycles: CyclesPart {
            asked: activity.cycles_asked,
            done: activity.cycles_done,
            before: Some(activity.cycles_before).filter(|n| *n > 0),
        },
        warm_up: activity
            .warm_up
            .map(|warm_up| WarmUpPart { elapsed_s: seconds(warm_up.elapsed), cycles: warm_up.cycles }),
        client: ClientPart {
            cpu: activity.client.cpu.map(|cpu| rounded(cpu, 1e3)),
            clock_late_us: figures.target.map(|_| micros(activity.client.lateness.as_nanos() as f64)),
            late_intervals: Some(activity.client.late_intervals).filter(|n| *n > 0),
            busy: Some(rounded(activity.client.busy, 1e3)).filter(|_| activity.client.late_intervals > 0),
            memory: activity.client.memory,
            swapped: Some(activity.client.swapped).filter(|bytes| *bytes > 0),
        },
        outages: activity
            .outages
            .iter()
            .map(|outage| OutagePart { from_s: seconds(outage.from), to_s: outage.to.map(seconds) })
            .collect(),
        threads: activity.threads,
        rate: RatePart {
            target: figures.target.map(|rate| rounded(rate, 1e3)),
            achieved: figures.achieved.map(|rate| rounded(rate, 1e3)),
            backlog: figures.target.map(|_| activity.backlog),
            backlog_end: figures.target.map(|_| activity.backlog_left),
        },
        series,
        server: activity
            .server
            .iter()
            .map(|point| ServerPart {
                t: rounded(point.at.as_secs_f64(), 1e3),
                ops: point.ops.clone(),
                connections: point.connections,
                mean_us: point.mean_us.iter().map(|(kind, us)| (kind.clone(), rounded(*us, 1e3))).collect(),
            })
            .collect(),
        connections: activity
            .connections
            .iter()
            .map(|point| ConnectionPart {
                t: rounded(point.at.as_secs_f64(), 1e3),
                asked: point.asked,
                opened: point.opened,
                lost: point.lost,
                open: point.open,
            })
            .collect(),
        timeline: activity.timeline.as_ref().map(|timeline| timeline_part(timeline, &activity.ops)),
        ops,
    })
}

fn op_part(op: &Op, figures: OpFigures, packer: &mut Packer) -> Result<OpPart, ReportError> {
    let mut packed = |histogram: &Histogram<u64>| match histogram.is_empty() {
        true => Ok(None),
        false => packer.text(histogram).map(Some),
    };
    let stats = &op.stats;
    let mut histograms = HistogramsPart {
        service: packed(&stats.service)?,
        response: packed(&stats.response)?,
        wait: packed(&stats.wait)?,
        failed: packed(&stats.failed)?,
        failed_response: packed(&stats.failed_response)?,
        strides: packed(&stats.strides)?,
        timers: BTreeMap::new(),
        errors: BTreeMap::new(),
    };
    for (name, times) in &stats.timers {
        histograms.timers.extend(packed(times)?.map(|text| (name.clone(), text)));
    }
    for (name, times) in &stats.error_times {
        histograms.errors.extend(packed(times)?.map(|text| (name.clone(), text)));
    }
    let ended = figures.errors.iter().filter(|(_, counts)| counts.ended > 0);
    let detail = figures.errors.iter().map(|(name, counts)| {
        let part = ErrorPart {
            first: counts.first,
            retried: counts.retried,
            given_up: counts.given_up,
            partial: Some(counts.partial).filter(|n| *n > 0),
            documents: Some(counts.documents).filter(|n| *n > 0),
            time_us: figures.error_times.get(name).copied().map(TimesPart::from),
        };
        (name.clone(), part)
    });
    Ok(OpPart {
        errors: ended.map(|(name, counts)| (name.clone(), counts.ended)).collect(),
        errors_detail: detail.collect(),
        name: figures.name,
        report_as: op.report_as.clone(),
        follows: op.follows,
        ok: figures.ok,
        attempted: figures.attempted,
        retries: figures.retries,
        tries: figures.tries,
        result_codes: figures.result_codes,
        bytes_sent: figures.bytes_sent,
        docs_returned: figures.docs_returned,
        docs_written: figures.docs_written,
        service_us: figures.service.map(TimesPart::from),
        response_us: figures.response.map(TimesPart::from),
        wait_us: figures.wait.map(TimesPart::from),
        failed_us: figures.failed_times.map(TimesPart::from),
        timers_us: figures.timers.into_iter().map(|(name, times)| (name, TimesPart::from(times))).collect(),
        histograms,
    })
}

/// Cells of ops that were tried.
fn timeline_part(timeline: &Timeline, ops: &[Op]) -> TimelinePart {
    let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| packed::text(bytes));
    let mut points = Vec::new();
    for (from, cells) in timeline.bins() {
        for (op, cell) in ops.iter().zip(cells).filter(|(_, cell)| cell.ok > 0 || cell.errors > 0) {
            points.push(CellPart {
                from,
                op: op.name.clone(),
                ok: cell.ok,
                errors: cell.errors,
                service: text(&cell.service),
                response: text(&cell.response).filter(|_| cell.response != cell.service),
            });
        }
    }
    TimelinePart { bin_s: timeline.bin(), points }
}

impl From<Times> for TimesPart {
    fn from(times: Times) -> TimesPart {
        TimesPart {
            count: times.count,
            min: micros(times.min),
            mean: micros(times.mean),
            stddev: micros(times.stddev),
            p50: micros(times.p50),
            p90: micros(times.p90),
            p95: micros(times.p95),
            p99: micros(times.p99),
            p999: micros(times.p999),
            p9999: micros(times.p9999),
            max: micros(times.max),
        }
    }
}

fn point_part(point: &Point, ops: &[OpFigures], with_means: bool) -> Option<PointPart> {
    let quantiles = |q: &Quantiles| {
        let measured = point.ok > 0 || *q != Quantiles::default();
        measured.then(|| QuantilesPart {
            p50: micros(q.p50 as f64),
            p95: micros(q.p95 as f64),
            p99: micros(q.p99 as f64),
            max: micros(q.max as f64),
            mean: with_means.then(|| micros(q.mean as f64)),
        })
    };
    Some(PointPart {
        t: rounded(point.at.as_secs_f64(), 1e3),
        op: ops.get(point.op)?.name.clone(),
        ok: point.ok,
        errors: point.errors,
        service_us: quantiles(&point.service),
        response_us: quantiles(&point.response),
    })
}

/// What ended an activity, in words.
fn ended_text(name: &str, op: &str, cycle: u64, message: &str) -> String {
    format!("{name} of {op} at cycle {cycle}: {message}")
}

impl From<&Ended> for EndedPart {
    fn from(ended: &Ended) -> EndedPart {
        let unwritten = |why: &str| redact::passwords(&format!("an output that could not be written: {why}"));
        let by = |by, what: Option<&String>| EndedPart {
            by: Cow::Borrowed(by),
            what: what.cloned(),
            error: None,
            op: None,
            cycle: None,
        };
        match ended {
            Ended::Complete => by("complete", None),
            Ended::TimeUp => by("time", None),
            Ended::Stopped(who) => by("stopped", Some(who)),
            Ended::Unwritten(why) => by("stopped", Some(&unwritten(why))),
            Ended::Failed { op, cycle, name, message } => EndedPart {
                error: Some(name.clone()),
                op: Some(op.clone()),
                cycle: Some(*cycle),
                ..by("failed", Some(&redact::passwords(&ended_text(name, op, *cycle, message))))
            },
        }
    }
}

fn seconds(duration: Duration) -> f64 {
    rounded(duration.as_secs_f64(), 1e6)
}

fn micros(nanos: f64) -> f64 {
    rounded(nanos / 1e3, 1e3)
}

fn rounded(x: f64, per_unit: f64) -> f64 {
    (x * per_unit).round() / per_unit
}

/// In UTC, to the millisecond; absent where the clock is set to a year that the form cannot say.
fn rfc3339(time: SystemTime) -> Option<String> {
    bson::DateTime::from_system_time(time).try_to_rfc3339_string().ok()
}

/// `run` as a result file tells it: what is made of this equals what is made of the file later.
///
/// # Errors
/// A histogram that cannot be encoded.
pub fn told(run: &Run) -> Result<Run, ReportError> {
    read::run_of(document(run)?).map_err(ReportError::Other)
}

/// Writes the result of `run` as one JSON text on one line, whole or not at all.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    let document = document(run)?;
    to.write(|out| {
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Client, ConnectionPoint, ErrorCounts, OpStats, Outage, ServerPoint, WarmUp};
    use crate::report::figures::tests::{activity, op};
    use crate::report::{Ended, Status};
    use serde_json::{Value, json};

    fn rendered(run: &Run) -> Value {
        serde_json::to_value(document(run).expect("it can be packed")).expect("it is JSON")
    }

    /// Fails where `value` does not have the shape of `schema`; knows the keywords that the schema uses.
    fn assert_shape(schema: &Value, root: &Value, value: &Value, at: &str) {
        let schema = match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                root.pointer(reference.trim_start_matches('#')).expect("the reference leads somewhere")
            }
            None => schema,
        };
        if let Some(expected) = schema.get("const") {
            assert_eq!(value, expected, "{at}");
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
            assert!(allowed.contains(value), "{at}: {value}");
        }
        if let Some(kind) = schema.get("type").and_then(Value::as_str) {
            let fits = match kind {
                "object" => value.is_object(),
                "array" => value.is_array(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "integer" => value.is_u64(),
                other => panic!("the schema has a type {other} that this test does not know"),
            };
            assert!(fits, "{at} is no {kind}: {value}");
        }
        if let Some(minimum) = schema.get("minimum").and_then(Value::as_f64) {
            assert!(value.as_f64().is_some_and(|n| n >= minimum), "{at}: {value}");
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            assert!(value.get(name.as_str().expect("a name")).is_some(), "{at} has no {name}");
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let at = format!("{at}.{name}");
            match (schema.get("properties").and_then(|all| all.get(name)), schema.get("additionalProperties"))
            {
                (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                    assert_shape(schema, root, value, &at)
                }
                _ => panic!("{at} is not in the schema"),
            }
        }
        for (i, value) in value.as_array().into_iter().flatten().enumerate() {
            assert_shape(&schema["items"], root, value, &format!("{at}[{i}]"));
        }
    }

    fn assert_valid(value: &Value) {
        let schema: Value =
            serde_json::from_str(include_str!("../../../docs/result-schema.json")).expect("JSON");
        assert_shape(&schema, &schema, value, "result");
    }

    fn run(activities: Vec<Activity>) -> Run {
        let words =
            ["nbrs", "run", "tags=block:main.*", "connection=mongodb://app:s3cr%40t@db1/?w=1", "it's"];
        Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: redact::command_line(&words.map(str::to_owned)),
            started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
            elapsed: Duration::from_micros(10_010_000),
            status: Status::Done,
            target: Some(Target {
                kind: "mongodb".to_owned(),
                version: Some("8.0.4".to_owned()),
                topology: None,
                uri: Some("mongodb://app:s3cr%40t@db1/?w=1".to_owned()),
                settings: vec![("writeConcern".to_owned(), "w:1".to_owned())],
                embedded: false,
            }),
            activities,
            fail_if: Vec::new(),
            max_rate: None,
            merged: Vec::new(),
            ycsb: Form::default(),
        }
    }

    fn main_step() -> Activity {
        let mut write = op("main__insert");
        write.stats.ok = (1 << 31) + 5;
        write.stats.attempted = (1 << 31) + 7;
        write.stats.bytes_sent = 1000;
        write.stats.retries = 4;
        write.stats.errors = BTreeMap::from([
            (
                "DuplicateKey".to_owned(),
                ErrorCounts { ended: 2, first: 2, given_up: 2, ..Default::default() },
            ),
            ("WriteConflict".to_owned(), ErrorCounts { first: 4, retried: 4, ..Default::default() }),
        ]);
        write.stats.service.record_n(1_500, 4).expect("fits");
        write.stats.response.record(2_000_000).expect("fits");
        let mut main = activity("main", vec![op("main__find"), write]);
        main.scenario = None;
        main.cycles_asked = Some(10);
        main.cycles_done = 9;
        main.target = Some(2500.0);
        main.backlog = 3;
        main.elapsed = Duration::from_secs(2);
        main.ended = Ended::Stopped("SIGINT".to_owned());
        main.series = vec![
            Point {
                at: Duration::from_millis(1_000),
                length: Duration::from_secs(1),
                op: 1,
                ok: 4,
                errors: 2,
                service: Quantiles { p50: 1_500, p95: 1_500, p99: 1_500, max: 1_501, mean: 1_400 },
                response: Quantiles {
                    p50: 2_000_000,
                    p95: 2_000_000,
                    p99: 2_000_000,
                    max: 2_000_000,
                    mean: 2_000_000,
                },
            },
            Point {
                at: Duration::from_millis(1_300),
                length: Duration::from_millis(300),
                op: 0,
                ok: 0,
                errors: 0,
                service: Quantiles::default(),
                response: Quantiles::default(),
            },
        ];
        main
    }

    #[test]
    fn a_result_has_the_published_shape() {
        let result = rendered(&run(vec![main_step()]));
        assert_valid(&result);
        assert_eq!(
            result["run"],
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "command": r"nbrs run 'tags=block:main.*' 'connection=mongodb://app:***@db1/?w=1' 'it'\''s'",
                "started": "2023-11-14T22:13:20.123Z",
                "elapsed_s": 10.01,
                "status": "done",
                "target": {"kind": "mongodb", "version": "8.0.4", "uri": "mongodb://app:***@db1/?w=1",
                    "settings": {"writeConcern": "w:1"}},
            })
        );
        let main = &result["activities"][0];
        assert_eq!(main["cycles"], json!({"asked": 10, "done": 9}));
        assert_eq!(main["rate"], json!({"target": 2500.0, "achieved": 4.5, "backlog": 3, "backlog_end": 0}));
        assert_eq!(main["ended"], json!({"by": "stopped", "what": "SIGINT"}));
        assert_eq!(
            main["series"],
            json!([
                {
                    "t": 1.0, "op": "main__insert", "ok": 4, "errors": 2,
                    "service_us": {"p50": 1.5, "p95": 1.5, "p99": 1.5, "max": 1.501},
                    "response_us": {"p50": 2000.0, "p95": 2000.0, "p99": 2000.0, "max": 2000.0},
                },
                {"t": 1.3, "op": "main__find", "ok": 0, "errors": 0},
            ])
        );
        let insert = &main["ops"][1];
        assert_eq!(insert["ok"], json!(2_147_483_653u64));
        assert_eq!(insert["errors"], json!({"DuplicateKey": 2}));
        assert_eq!(
            insert["errors_detail"]["WriteConflict"],
            json!({"first": 4, "retried": 4, "given_up": 0})
        );
        assert_eq!(insert["service_us"]["count"], json!(4));
        assert_eq!(insert["service_us"]["p50"], json!(1.5));
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let mut nothing = activity("main", vec![op("main__\"a\"\nключи-🗝")]);
        nothing.series.push(Point {
            at: Duration::ZERO,
            length: Duration::ZERO,
            // An op that is not there cannot be named.
            op: 7,
            ok: 0,
            errors: 0,
            service: Quantiles::default(),
            response: Quantiles::default(),
        });
        let result = rendered(&Run { target: None, elapsed: Duration::ZERO, ..run(vec![nothing]) });
        assert_valid(&result);
        let main = &result["activities"][0];
        assert_eq!(main["rate"], json!({}));
        assert_eq!(main["series"], json!([]));
        assert_eq!(main["ops"][0]["name"], "main__\"a\"\nключи-🗝");
        assert_eq!(main["ops"][0].get("service_us"), None);
        assert_valid(&rendered(&run(Vec::new())));
    }

    /// A run of which every part is there.
    fn full() -> Run {
        let mut main = main_step();
        main.ops[1].report_as = Some("INSERT".to_owned());
        main.ops[1].follows = true;
        main.closing = Some(Duration::from_micros(1_250));
        main.ops[1].stats.wait.record_n(3, 9).expect("it grows");
        main.ops[1].stats.failed.record(70_000).expect("it grows");
        let failed = main.ops[1].stats.failed.clone();
        main.ops[1].stats.error_times.insert("DuplicateKey".to_owned(), failed);
        main.ops[1].stats.failed_response.record(90_000).expect("it grows");
        main.ops[1].stats.strides.record(110_000).expect("it grows");
        let timer = main.ops[1].stats.wait.clone();
        main.ops[1].stats.timers.insert("whole".to_owned(), timer);
        main.ops[1].stats.result_codes.insert(7, 2);
        main.ops[1].stats.tries.insert(3, 2);
        main.client = Client {
            cpu: Some(0.25),
            lateness: Duration::from_micros(17),
            late_intervals: 4,
            busy: 0.5,
            memory: Some(80_000_000),
            swapped: 4_096,
        };
        main.outages = vec![
            Outage { from: Duration::from_millis(100), to: Some(Duration::from_millis(1_200)) },
            Outage { from: Duration::from_millis(1_500), to: None },
        ];
        main.warm_up = Some(WarmUp { elapsed: Duration::from_millis(500), cycles: 3 });
        main.server = vec![ServerPoint {
            at: Duration::from_secs(1),
            length: Duration::from_secs(1),
            ops: BTreeMap::from([("insert".to_owned(), 5)]),
            connections: Some(3),
            mean_us: BTreeMap::from([("writes".to_owned(), 12.5)]),
        }];
        main.cycles_asked = Some(i64::MAX as u64);
        main.connections = vec![
            ConnectionPoint { at: Duration::ZERO, asked: 9, opened: 8, lost: 0, open: 8 },
            ConnectionPoint { at: Duration::from_millis(3_000), asked: 3, opened: 2, lost: 4, open: 6 },
        ];
        main.ended = Ended::Failed {
            op: "main__insert".to_owned(),
            cycle: 7,
            name: "Odd of: at".to_owned(),
            message: "a: b of c at cycle 3: d".to_owned(),
        };
        let mut timeline = Timeline::new(2, 2);
        let packed = |value| {
            let mut times: Histogram<u64> = Histogram::new(3).expect("3 digits");
            times.record(value).expect("it grows");
            Packer::new().bytes(&times).expect("packed")
        };
        let cell = |service, response| super::super::timeline::Cell { ok: 1, errors: 0, service, response };
        let cells = vec![cell(packed(5), packed(5)), cell(packed(9), packed(3_000_000))];
        timeline.add(1_700_000_001, cells).expect("histograms");
        main.timeline = Some(timeline);
        let mut run = run(vec![main, activity("second", vec![op("b__a")])]);
        run.fail_if = vec!["p99>1ms".to_owned()];
        run.max_rate = Some(12.5);
        run.ycsb = Form {
            measurement: Measurement::Histogram { buckets: 20, verbose: true },
            intended: Some(Intended::Only),
            percentiles: vec![50.0, 99.9],
        };
        run.merged = vec![Merged {
            command: "nbrs run".to_owned(),
            started: run.started,
            elapsed: run.elapsed,
            status: Status::Interrupted,
        }];
        run
    }

    /// Without what may be packed in other ways.
    fn unpacked(mut result: Value) -> Value {
        for activity in result["activities"].as_array_mut().expect("activities") {
            for op in activity["ops"].as_array_mut().expect("ops") {
                op.as_object_mut().expect("an op").remove("histograms");
            }
        }
        result
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        let (given, written) = (full(), rendered(&full()));
        assert_valid(&written);
        let read =
            read::run_of(serde_json::from_value(written.clone()).expect("the shape")).expect("a result");
        assert_eq!(unpacked(rendered(&read)), unpacked(written));
        assert_eq!(read.ycsb, given.ycsb);
        for form in [
            Form { measurement: Measurement::TimeSeries { seconds: 2 }, ..Form::default() },
            Form { intended: Some(Intended::Without), ..Form::default() },
            Form { intended: Some(Intended::Both), ..Form::default() },
            Form::default(),
        ] {
            let told = told(&Run { ycsb: form.clone(), ..full() }).expect("it is told");
            let means = matches!(form.measurement, Measurement::TimeSeries { .. });
            assert_eq!(told.activities[0].series[0].service.mean, if means { 1_400 } else { 0 });
            assert_eq!(told.ycsb, form);
        }
        let (read, given) = (&read.activities[0], &given.activities[0]);
        let (of_read, of_given) = (&read.ops[1].stats, &given.ops[1].stats);
        let clocks = |stats: &OpStats| {
            [
                &stats.service,
                &stats.response,
                &stats.wait,
                &stats.failed,
                &stats.failed_response,
                &stats.strides,
            ]
            .map(Clone::clone)
        };
        assert_eq!(clocks(of_read), clocks(of_given));
        assert_eq!((&of_read.timers, &of_read.error_times), (&of_given.timers, &of_given.error_times));
        assert_eq!(
            (&read.ended, &read.timeline, &read.client, read.closing),
            (&given.ended, &given.timeline, &given.client, given.closing)
        );
        let called = |op: &Op| (op.report_as.clone(), op.follows);
        assert_eq!(
            read.ops.iter().map(called).collect::<Vec<_>>(),
            [(None, false), (Some("INSERT".to_owned()), true)]
        );
        // The first point of an op begins where the warm-up ended.
        let first = &given.series[0];
        let without = |times: Quantiles| Quantiles { mean: 0, ..times };
        assert_eq!(
            read.series[0],
            Point {
                length: Duration::from_millis(500),
                service: without(first.service),
                response: without(first.response),
                ..first.clone()
            }
        );
    }

    #[test]
    fn a_file_that_is_no_result_is_an_error() {
        let written = rendered(&full());
        let changed = |pointer: &str, to: Value| {
            let mut value = written.clone();
            *value.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = to;
            let document: Document = serde_json::from_value(value).expect("the shape");
            read::run_of(document).err().unwrap_or_else(|| panic!("{pointer} was taken"))
        };
        for (pointer, to, part) in [
            ("/schema", json!("other/1"), "its schema is `other/1`, not `nbrs-result/1`"),
            ("/run/status", json!("odd"), "`odd` is no status"),
            ("/run/started", json!("yesterday"), "`yesterday` is no time"),
            ("/run/elapsed_s", json!(-1.0), "-1 is no time in seconds"),
            ("/run/ycsb/measurement", json!("raw"), "`raw` is no form of YCSB's text"),
            ("/run/ycsb/buckets", json!(0), "is no form of YCSB's text that can be written"),
            ("/run/ycsb/interval", json!("never"), "`never` is no interval of YCSB's text"),
            ("/run/ycsb/percentiles/0", json!(101.0), "101 is no percentile"),
            ("/activities/0/elapsed_s", json!(1e300), "activity main: 1"),
            ("/activities/0/ended/by", json!("magic"), "`magic` ends no activity"),
            ("/activities/0/series/0/op", json!("other"), "other is none of its ops"),
            ("/activities/0/ops/1/ok", json!(u64::MAX), "op main__insert: 18446744073709551615 is too large"),
            (
                "/activities/0/ops/1/service_us/count",
                json!(5),
                "its service times are 5, but their histogram holds 4",
            ),
            ("/activities/0/ops/1/histograms/wait", json!("x"), "a histogram cannot be decoded"),
            ("/activities/0/timeline/bin_s", json!(3), "which is no power of two"),
        ] {
            let error = changed(pointer, to);
            assert!(error.contains(part), "{pointer}: {error}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("r.json");
        for text in ["[1]", "{", "{}"] {
            std::fs::write(&file, text).expect("writable");
            let error = read(&file).expect_err(text).to_string();
            assert!(error.contains("r.json: it is no result of a run"), "{error}");
        }
        std::fs::write(&file, r#"{"schema": "nbrs-result/2", "odd": [1]}"#).expect("writable");
        let error = read(&file).expect_err("of another shape").to_string();
        assert!(error.contains("its schema is `nbrs-result/2`"), "{error}");
        for path in [folder.path().join("none.json"), folder.path().to_owned()] {
            assert!(read(&path).expect_err("no file").to_string().starts_with("cannot read "));
        }
    }

    #[test]
    fn words_of_the_command_are_quoted_for_a_shell() {
        for (words, line) in [
            (vec!["nbrs", "run", "workload=a.yaml", "cycles=0..10"], "nbrs run workload=a.yaml cycles=0..10"),
            (vec!["a b", "", "$x", "'"], r"'a b' '' '$x' ''\'''"),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(redact::command_line(&words), line);
        }
    }
}
