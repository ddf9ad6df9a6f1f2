//! The result file, `nbrs-result/1` (its JSON schema is `docs/result-schema.json`).
//!
//! Times are microseconds, rates are per second, what was not measured is absent.

use super::figures::{Figures, OpFigures, Times};
use super::{Activity, Destination, Ended, ReportError, Run, Target};
use crate::metrics::{Point, Quantiles};
use crate::redact;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

pub const SCHEMA: &str = "nbrs-result/1";

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    run: RunPart,
    activities: Vec<ActivityPart>,
}

#[derive(Serialize)]
struct RunPart {
    version: &'static str,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    elapsed_s: f64,
    status: &'static str,
    /// The conditions of `--fail-if` that hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fail_if: Vec<String>,
    /// What `findmax` found, in cycles per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<TargetPart>,
}

#[derive(Serialize)]
struct TargetPart {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

#[derive(Serialize)]
struct ActivityPart {
    alias: String,
    workload: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    /// Since the clock started, the warm-up included.
    elapsed_s: f64,
    ended: EndedPart,
    cycles: CyclesPart,
    threads: usize,
    rate: RatePart,
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_up: Option<WarmUpPart>,
    client: ClientPart,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outages: Vec<OutagePart>,
    ops: Vec<OpPart>,
    series: Vec<PointPart>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    server: Vec<ServerPart>,
}

#[derive(Serialize)]
struct CyclesPart {
    /// Absent where nothing but time was to end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<u64>,
    done: u64,
    /// Done by the run that this one completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
}

#[derive(Serialize)]
struct EndedPart {
    /// `complete`, `time`, `stopped`, `failed`.
    by: &'static str,
    /// Who stopped it, or the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    what: Option<String>,
}

#[derive(Serialize)]
struct WarmUpPart {
    elapsed_s: f64,
    cycles: u64,
}

#[derive(Serialize)]
struct ClientPart {
    /// Share of this machine's processors that this process took.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<f64>,
    /// How late the clock that releases starts woke at worst; only where there is a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_late_us: Option<f64>,
    /// Of the intervals with late starts, the share at whose end all threads were busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<f64>,
    /// Memory of this process at most, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    /// Of it, what was swapped out while the activity ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    swapped: Option<u64>,
}

#[derive(Serialize)]
struct OutagePart {
    from_s: f64,
    /// Absent where it did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    to_s: Option<f64>,
}

#[derive(Serialize)]
struct RatePart {
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    achieved: Option<f64>,
    /// Only where there is a target.
    #[serde(skip_serializing_if = "Option::is_none")]
    backlog: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backlog_end: Option<u64>,
}

#[derive(Serialize)]
struct OpPart {
    name: String,
    ok: u64,
    attempted: u64,
    errors: BTreeMap<String, u64>,
    errors_detail: BTreeMap<String, ErrorPart>,
    retries: u64,
    /// Number of tries → ops.
    tries: BTreeMap<u32, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    result_codes: BTreeMap<u8, u64>,
    bytes_sent: u64,
    docs_returned: u64,
    docs_written: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_us: Option<TimesPart>,
    /// Named timers that it starts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    timers_us: BTreeMap<String, TimesPart>,
}

#[derive(Serialize)]
struct ErrorPart {
    first: u64,
    retried: u64,
    given_up: u64,
    /// Documents that were not written; absent where replies did not speak of documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_us: Option<TimesPart>,
}

#[derive(Serialize)]
struct TimesPart {
    count: u64,
    min: f64,
    mean: f64,
    stddev: f64,
    p50: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    p9999: f64,
    max: f64,
}

#[derive(Serialize)]
struct PointPart {
    /// End of the interval, seconds since the activity's clock started.
    t: f64,
    op: String,
    ok: u64,
    errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_us: Option<QuantilesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_us: Option<QuantilesPart>,
}

#[derive(Serialize)]
struct ServerPart {
    /// End of the interval, seconds since the activity's clock started.
    t: f64,
    ops: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    mean_us: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct QuantilesPart {
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl From<&Run> for Document {
    fn from(run: &Run) -> Document {
        Document {
            schema: SCHEMA,
            run: RunPart {
                version: env!("CARGO_PKG_VERSION"),
                command: redact::command_line(&run.command),
                started: rfc3339(run.started),
                elapsed_s: rounded(run.elapsed.as_secs_f64(), 1e6),
                status: run.status.word(),
                fail_if: run.fail_if.clone(),
                max_rate: run.max_rate,
                target: run.target.as_ref().map(TargetPart::from),
            },
            activities: run.activities.iter().map(ActivityPart::from).collect(),
        }
    }
}

impl From<&Target> for TargetPart {
    fn from(target: &Target) -> TargetPart {
        TargetPart {
            kind: target.kind.clone(),
            version: target.version.clone(),
            topology: target.topology.clone(),
            uri: target.uri.as_deref().map(redact::passwords),
        }
    }
}

impl From<&Activity> for ActivityPart {
    fn from(activity: &Activity) -> ActivityPart {
        let figures = Figures::of(activity);
        ActivityPart {
            alias: activity.alias.clone(),
            workload: activity.workload.clone(),
            scenario: activity.scenario.clone(),
            step: activity.step.clone(),
            elapsed_s: seconds(activity.elapsed),
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
            series: activity.series.iter().filter_map(|point| PointPart::of(point, &figures.ops)).collect(),
            ops: figures.ops.into_iter().map(OpPart::from).collect(),
            server: activity
                .server
                .iter()
                .map(|point| ServerPart {
                    t: rounded(point.at.as_secs_f64(), 1e3),
                    ops: point.ops.clone(),
                    connections: point.connections,
                    mean_us: point
                        .mean_us
                        .iter()
                        .map(|(kind, us)| (kind.clone(), rounded(*us, 1e3)))
                        .collect(),
                })
                .collect(),
        }
    }
}

impl From<OpFigures> for OpPart {
    fn from(op: OpFigures) -> OpPart {
        let ended = op.errors.iter().filter(|(_, counts)| counts.ended > 0);
        let detail = op.errors.iter().map(|(name, counts)| {
            let part = ErrorPart {
                first: counts.first,
                retried: counts.retried,
                given_up: counts.given_up,
                documents: Some(counts.documents).filter(|n| *n > 0),
                time_us: op.error_times.get(name).copied().map(TimesPart::from),
            };
            (name.clone(), part)
        });
        OpPart {
            errors: ended.map(|(name, counts)| (name.clone(), counts.ended)).collect(),
            errors_detail: detail.collect(),
            name: op.name,
            ok: op.ok,
            attempted: op.attempted,
            retries: op.retries,
            tries: op.tries,
            result_codes: op.result_codes,
            bytes_sent: op.bytes_sent,
            docs_returned: op.docs_returned,
            docs_written: op.docs_written,
            service_us: op.service.map(TimesPart::from),
            response_us: op.response.map(TimesPart::from),
            wait_us: op.wait.map(TimesPart::from),
            failed_us: op.failed_times.map(TimesPart::from),
            timers_us: op.timers.into_iter().map(|(name, times)| (name, TimesPart::from(times))).collect(),
        }
    }
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

impl PointPart {
    fn of(point: &Point, ops: &[OpFigures]) -> Option<PointPart> {
        let quantiles = |q: &Quantiles| {
            let measured = point.ok > 0 || *q != Quantiles::default();
            measured.then(|| QuantilesPart {
                p50: micros(q.p50 as f64),
                p95: micros(q.p95 as f64),
                p99: micros(q.p99 as f64),
                max: micros(q.max as f64),
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
}

impl From<&Ended> for EndedPart {
    fn from(ended: &Ended) -> EndedPart {
        match ended {
            Ended::Complete => EndedPart { by: "complete", what: None },
            Ended::TimeUp => EndedPart { by: "time", what: None },
            Ended::Stopped(who) => EndedPart { by: "stopped", what: Some(who.clone()) },
            Ended::Unwritten(why) => EndedPart {
                by: "stopped",
                what: Some(redact::passwords(&format!("an output that could not be written: {why}"))),
            },
            Ended::Failed { op, cycle, name, message } => EndedPart {
                by: "failed",
                what: Some(redact::passwords(&format!("{name} of {op} at cycle {cycle}: {message}"))),
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

/// The result as one JSON text on one line.
fn render(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document::from(run))?;
    out.write_all(b"\n")
}

/// Writes the result of `run`, whole or not at all.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| render(run, out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::ErrorCounts;
    use crate::report::figures::tests::{activity, op};
    use crate::report::{Ended, Status};
    use serde_json::{Value, json};
    use std::time::Duration;

    fn rendered(run: &Run) -> Value {
        let mut out = Vec::new();
        render(run, &mut out).expect("a Vec takes all");
        let text = String::from_utf8(out).expect("JSON is UTF-8");
        assert_eq!(text.matches('\n').count(), 1, "one JSON text, one line");
        serde_json::from_str(&text).expect("it is JSON")
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
            serde_json::from_str(include_str!("../../docs/result-schema.json")).expect("JSON");
        assert_shape(&schema, &schema, value, "result");
    }

    fn run(activities: Vec<Activity>) -> Run {
        Run {
            command: [
                "nbrs",
                "run",
                "tags=block:main.*",
                "connection=mongodb://app:s3cr%40t@db1/?w=1",
                "it's",
            ]
            .map(str::to_owned)
            .to_vec(),
            started: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
            elapsed: Duration::from_micros(10_010_000),
            status: Status::Done,
            target: Some(Target {
                kind: "mongodb".to_owned(),
                version: Some("8.0.4".to_owned()),
                topology: None,
                uri: Some("mongodb://app:s3cr%40t@db1/?w=1".to_owned()),
                settings: Vec::new(),
                embedded: false,
            }),
            activities,
            fail_if: Vec::new(),
            max_rate: None,
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
                service: Quantiles { mean: 1_500, p50: 1_500, p95: 1_500, p99: 1_500, max: 1_501 },
                response: Quantiles {
                    mean: 2_000_000,
                    p50: 2_000_000,
                    p95: 2_000_000,
                    p99: 2_000_000,
                    max: 2_000_000,
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
                "target": {"kind": "mongodb", "version": "8.0.4", "uri": "mongodb://app:***@db1/?w=1"},
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
