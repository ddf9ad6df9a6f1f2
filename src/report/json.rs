//! The result file, `nbrs-result/1` (its JSON schema is `docs/result-schema.json`).
//!
//! Times are microseconds, rates are per second, what was not measured is absent. A file appears whole or not
//! at all: it is written under another name beside its own and then renamed.

use super::figures::{Figures, OpFigures, Times};
use super::{Activity, ReportError, Run, Target, redact};
use crate::metrics::{Point, Quantiles};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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
    cycles: CyclesPart,
    threads: usize,
    rate: RatePart,
    ops: Vec<OpPart>,
    series: Vec<PointPart>,
}

#[derive(Serialize)]
struct CyclesPart {
    asked: u64,
    done: u64,
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
}

#[derive(Serialize)]
struct OpPart {
    name: String,
    ok: u64,
    attempted: u64,
    errors: BTreeMap<String, u64>,
    errors_detail: BTreeMap<String, ErrorPart>,
    retries: u64,
    bytes_sent: u64,
    docs_returned: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_us: Option<TimesPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_us: Option<TimesPart>,
}

#[derive(Serialize)]
struct ErrorPart {
    first: u64,
    retried: u64,
    given_up: u64,
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
                command: redact::passwords(&command_line(&run.command)),
                started: rfc3339(run.started),
                elapsed_s: rounded(run.elapsed.as_secs_f64(), 1e6),
                status: run.status.word(),
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
            cycles: CyclesPart { asked: activity.cycles_asked, done: activity.cycles_done },
            threads: activity.threads,
            rate: RatePart {
                target: figures.target,
                achieved: figures.achieved.map(|rate| rounded(rate, 1e3)),
                backlog: figures.target.map(|_| activity.backlog),
            },
            series: activity.series.iter().filter_map(|point| PointPart::of(point, &figures.ops)).collect(),
            ops: figures.ops.into_iter().map(OpPart::from).collect(),
        }
    }
}

impl From<OpFigures> for OpPart {
    fn from(op: OpFigures) -> OpPart {
        let ended = op.errors.iter().filter(|(_, counts)| counts.ended > 0);
        let detail = op.errors.iter().map(|(name, counts)| {
            let part = ErrorPart { first: counts.first, retried: counts.retried, given_up: counts.given_up };
            (name.clone(), part)
        });
        OpPart {
            errors: ended.map(|(name, counts)| (name.clone(), counts.ended)).collect(),
            errors_detail: detail.collect(),
            name: op.name,
            ok: op.ok,
            attempted: op.attempted,
            retries: op.retries,
            bytes_sent: op.bytes_sent,
            docs_returned: op.docs_returned,
            service_us: op.service.map(TimesPart::from),
            response_us: op.response.map(TimesPart::from),
            wait_us: op.wait.map(TimesPart::from),
            failed_us: op.failed_times.map(TimesPart::from),
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

/// The words as a shell would read them.
fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+.,:/@%^{}~".contains(c);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            if !word.is_empty() && word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// The result as one JSON text on one line.
fn render(run: &Run, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Document::from(run))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Where a result goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    Stdout,
    File(PathBuf),
}

impl Destination {
    /// `-` is standard output. Says at once what could not work at the end of the run.
    pub fn new(file: impl Into<OsString>) -> Result<Destination, ReportError> {
        let file: OsString = file.into();
        if file == "-" {
            return Ok(Destination::Stdout);
        }
        let path = PathBuf::from(file);
        if path.is_dir() {
            return Err(ReportError::IsFolder { path });
        }
        let folder = folder_of(&path);
        if !folder.is_dir() {
            return Err(ReportError::NoFolder { folder: folder.to_owned(), path });
        }
        Ok(Destination::File(path))
    }

    /// Writes the result of `run`, whole or not at all.
    pub fn write(&self, run: &Run) -> Result<(), ReportError> {
        match self {
            Destination::Stdout => {
                let mut out = BufWriter::new(io::stdout().lock());
                render(run, &mut out).map_err(ReportError::Stdout)
            }
            Destination::File(path) => {
                to_file(run, path).map_err(|source| ReportError::File { path: path.clone(), source })
            }
        }
    }
}

fn to_file(run: &Run, path: &Path) -> io::Result<()> {
    // A pipe or a device is written to as it is; renaming would put a file in its place. Of a link, the file
    // that it leads to is replaced, not the link.
    let path = match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            return render(run, &mut out);
        }
        Ok(_) => &fs::canonicalize(path)?,
        Err(_) => path,
    };
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    let part = folder_of(path).join(name);
    let written = write_through(run, &part).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // The error that counts is the first.
        let _ = fs::remove_file(&part);
    }
    written
}

/// On disk when this returns, so that a full disk shows here and not after the rename.
fn write_through(run: &Run, path: &Path) -> io::Result<()> {
    let file = File::create(path)?;
    let mut out = BufWriter::new(&file);
    render(run, &mut out)?;
    file.sync_all()
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
