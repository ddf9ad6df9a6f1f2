//! A result file → the [`Run`] that it was written of, exact but for what the file rounds.

use super::document::{
    ActivityPart, ClientPart, Document, EndedPart, OpPart, PointPart, QuantilesPart, TargetPart,
    TimelinePart, TimesPart, YcsbPart,
};
use super::{SCHEMA, ended_text};
use crate::metrics::{
    Client, ConnectionPoint, ErrorCounts, OpStats, Outage, Point, Quantiles, ServerPoint, WarmUp,
};
use crate::report::timeline::{Cell, Timeline};
use crate::report::ycsb::{Form, Intended, Measurement};
use crate::report::{Activity, Ended, Merged, Op, ReportError, Run, Status, Target, packed, wording};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What every result says of itself.
#[derive(serde::Deserialize)]
struct Head {
    schema: String,
}

fn of_other_schema(schema: &str) -> String {
    format!("its schema is `{}`, not `{SCHEMA}`: another version of nbrs wrote it", wording::line(schema, 40))
}

/// Reads a result file.
///
/// # Errors
/// A file that cannot be read, or holds no result of a run.
pub fn read(path: &Path) -> Result<Run, ReportError> {
    let cannot = |why: String| ReportError::Other(format!("cannot read {}: {why}", path.display()));
    if path.is_dir() {
        return Err(cannot("it is a folder".to_owned()));
    }
    let open = || File::open(path).map(BufReader::new).map_err(|error| cannot(error.to_string()));
    let document = serde_json::from_reader(open()?).map_err(|error| {
        // Of another schema, another shape is to be expected.
        match open().map(serde_json::from_reader::<_, Head>) {
            Ok(Ok(head)) if head.schema != SCHEMA => cannot(of_other_schema(&head.schema)),
            _ => cannot(format!("it is no result of a run (`--report-json-to`): {error}")),
        }
    })?;
    run_of(document).map_err(cannot)
}

pub(super) fn run_of(document: Document) -> Result<Run, String> {
    if document.schema != SCHEMA {
        return Err(of_other_schema(&document.schema));
    }
    let run = document.run;
    let activities = document.activities.into_iter().enumerate().map(|(at, part)| {
        let alias = wording::name(&part.alias);
        activity(at, part).map_err(|why| format!("activity {alias}: {why}"))
    });
    let mut merged = Vec::new();
    for part in run.merged {
        merged.push(Merged {
            command: part.command,
            started: moment(part.started.as_deref())?,
            elapsed: time(part.elapsed_s)?,
            status: status(&part.status)?,
        });
    }
    Ok(Run {
        version: run.version,
        command: run.command,
        started: moment(run.started.as_deref())?,
        elapsed: time(run.elapsed_s)?,
        status: status(&run.status)?,
        target: run.target.map(target),
        activities: activities.collect::<Result<_, _>>()?,
        fail_if: run.fail_if,
        max_rate: run.max_rate,
        merged,
        ycsb: run.ycsb.map_or_else(|| Ok(Form::default()), form)?,
    })
}

fn form(part: YcsbPart) -> Result<Form, String> {
    let measurement = match (&*part.measurement, part.buckets, part.granularity_s) {
        ("hdrhistogram", ..) => Measurement::Hdr,
        // More than any program would print.
        ("histogram", Some(buckets @ 1..=10_000_000), _) => {
            Measurement::Histogram { buckets, verbose: part.verbose }
        }
        ("timeseries", _, Some(seconds)) if seconds > 0 => {
            Measurement::TimeSeries { seconds: count(seconds)? }
        }
        (other, ..) => {
            return Err(format!(
                "`{}` is no form of YCSB's text that can be written",
                wording::line(other, 40)
            ));
        }
    };
    let intended = match part.interval.as_deref() {
        None => None,
        Some("op") => Some(Intended::Without),
        Some("intended") => Some(Intended::Only),
        Some("both") => Some(Intended::Both),
        Some(other) => return Err(format!("`{}` is no interval of YCSB's text", wording::line(other, 40))),
    };
    if let Some(odd) = part.percentiles.iter().find(|percentile| !(0.0..=100.0).contains(*percentile)) {
        return Err(format!("{odd} is no percentile"));
    }
    Ok(Form { measurement, intended, percentiles: part.percentiles })
}

fn status(word: &str) -> Result<Status, String> {
    Status::of_word(word).ok_or_else(|| format!("`{}` is no status", wording::line(word, 40)))
}

/// 1970 where the file does not say.
fn moment(text: Option<&str>) -> Result<SystemTime, String> {
    let Some(text) = text else { return Ok(SystemTime::UNIX_EPOCH) };
    bson::DateTime::parse_rfc3339_str(text)
        .map(bson::DateTime::to_system_time)
        .map_err(|_| format!("`{}` is no time", wording::line(text, 40)))
}

/// No run is longer than a hundred years: sums of such times cannot overflow.
fn time(seconds: f64) -> Result<Duration, String> {
    const LONGEST: f64 = 3.2e9;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if seconds <= LONGEST => Ok(time),
        _ => Err(format!("{seconds} is no time in seconds")),
    }
}

/// Numbers that JSON holds exactly; sums of them cannot overflow.
fn count(n: u64) -> Result<u64, String> {
    if n <= 1 << 53 { Ok(n) } else { Err(format!("{n} is too large for a count")) }
}

fn nanos(micros: f64) -> u64 {
    (micros * 1e3).round() as u64
}

fn target(part: TargetPart) -> Target {
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Target {
        embedded: part.kind == "embedded",
        kind: part.kind,
        version: part.version,
        topology: part.topology,
        uri: part.uri,
        settings: part.settings.into_iter().map(|(name, value)| (name, text(value))).collect(),
    }
}

fn activity(id: usize, part: ActivityPart) -> Result<Activity, String> {
    let warm_up = match part.warm_up {
        None => None,
        Some(warm_up) => Some(WarmUp { elapsed: time(warm_up.elapsed_s)?, cycles: count(warm_up.cycles)? }),
    };
    let mut outages = Vec::new();
    for outage in part.outages {
        outages.push(Outage { from: time(outage.from_s)?, to: outage.to_s.map(time).transpose()? });
    }
    let mut ops = Vec::new();
    for op in part.ops {
        let name = op.name.clone();
        ops.push(self::op(op).map_err(|why| format!("op {}: {why}", wording::name(&name)))?);
    }
    let places: HashMap<&str, usize> =
        ops.iter().enumerate().map(|(at, op): (usize, &Op)| (op.name.as_str(), at)).collect();
    let began = warm_up.unwrap_or_default().elapsed;
    let series = series(part.series, &places, began)?;
    let timeline = part.timeline.map(|part| timeline(part, &places)).transpose()?;
    let mut server = Vec::new();
    let mut before = Duration::ZERO;
    for point in part.server {
        let at = time(point.t)?;
        server.push(ServerPoint {
            at,
            length: at.saturating_sub(before),
            ops: point
                .ops
                .into_iter()
                .map(|(kind, n)| Ok((kind, count(n)?)))
                .collect::<Result<_, String>>()?,
            connections: point.connections,
            mean_us: point.mean_us,
        });
        before = at;
    }
    let connections = part.connections.into_iter().map(|point| {
        Ok(ConnectionPoint {
            at: time(point.t)?,
            asked: count(point.asked)?,
            opened: count(point.opened)?,
            lost: count(point.lost)?,
            open: count(point.open)?,
        })
    });
    let connections = connections.collect::<Result<_, String>>()?;
    Ok(Activity {
        id,
        started: moment(part.started.as_deref())?,
        alias: part.alias,
        workload: part.workload,
        scenario: part.scenario,
        step: part.step,
        // As many as somebody asked for, of which most may never have run.
        cycles_asked: part.cycles.asked,
        cycles_done: count(part.cycles.done)?,
        cycles_before: count(part.cycles.before.unwrap_or(0))?,
        threads: usize::try_from(count(part.threads as u64)?).unwrap_or(usize::MAX),
        target: part.rate.target,
        backlog: count(part.rate.backlog.unwrap_or(0))?,
        backlog_left: count(part.rate.backlog_end.unwrap_or(0))?,
        client: client(&part.client)?,
        outages,
        elapsed: time(part.elapsed_s)?,
        closing: part.closing_s.map(time).transpose()?,
        warm_up,
        server,
        connections,
        ended: ended(part.ended)?,
        ops,
        series,
        timeline,
    })
}

fn client(part: &ClientPart) -> Result<Client, String> {
    Ok(Client {
        cpu: part.cpu,
        lateness: time(part.clock_late_us.unwrap_or(0.0) / 1e6)?,
        late_intervals: count(part.late_intervals.unwrap_or(0))?,
        busy: part.busy.unwrap_or(0.0),
        memory: part.memory,
        swapped: part.swapped.unwrap_or(0),
    })
}

fn ended(part: EndedPart) -> Result<Ended, String> {
    let what = part.what.unwrap_or_default();
    Ok(match &*part.by {
        "complete" => Ended::Complete,
        "time" => Ended::TimeUp,
        "stopped" => Ended::Stopped(what),
        "failed" => {
            let (op, cycle) = (part.op.unwrap_or_default(), part.cycle.unwrap_or(0));
            let name = part.error.unwrap_or_default();
            let said = ended_text(&name, &op, cycle, "");
            let message = what.strip_prefix(&said).unwrap_or(&what).to_owned();
            Ended::Failed { op, cycle, name, message }
        }
        other => return Err(format!("`{}` ends no activity", wording::line(other, 40))),
    })
}

fn op(part: OpPart) -> Result<Op, String> {
    let histogram = |text: &Option<String>, times: &Option<TimesPart>, what: &str| {
        let histogram = match text {
            Some(text) => packed::read(text)?,
            None => OpStats::default().service,
        };
        let said = times.as_ref().map_or(0, |times| times.count);
        if histogram.len() == said {
            Ok(histogram)
        } else {
            Err(format!("its {what} times are {said}, but their histogram holds {}", histogram.len()))
        }
    };
    let histograms = &part.histograms;
    let mut errors: BTreeMap<String, ErrorCounts> = BTreeMap::new();
    for (name, detail) in &part.errors_detail {
        let counts = ErrorCounts {
            ended: count(part.errors.get(name).copied().unwrap_or(0))?,
            first: count(detail.first)?,
            retried: count(detail.retried)?,
            given_up: count(detail.given_up)?,
            partial: count(detail.partial.unwrap_or(0))?,
            documents: count(detail.documents.unwrap_or(0))?,
        };
        errors.insert(name.clone(), counts);
    }
    if let Some(name) = part.errors.keys().find(|name| !errors.contains_key(*name)) {
        return Err(format!("the error {} has no detail", wording::name(name)));
    }
    let by_name = |texts: &BTreeMap<String, String>| {
        let read = texts.iter().map(|(name, text)| Ok((name.clone(), packed::read(text)?)));
        read.collect::<Result<BTreeMap<_, _>, String>>()
    };
    // Of these the file tells no figures beside the histogram.
    let unseen =
        |packed: &Option<String>| packed.as_deref().map_or(Ok(OpStats::default().service), packed::read);
    let mut tries = part.tries;
    tries.remove(&1);
    let counts = tries.values().chain(part.result_codes.values());
    counts.copied().try_for_each(|n| count(n).map(drop))?;
    let stats = OpStats {
        ok: count(part.ok)?,
        attempted: count(part.attempted)?,
        errors,
        retries: count(part.retries)?,
        tries,
        result_codes: part.result_codes,
        bytes_sent: count(part.bytes_sent)?,
        docs_returned: count(part.docs_returned)?,
        docs_written: count(part.docs_written)?,
        service: histogram(&histograms.service, &part.service_us, "service")?,
        response: histogram(&histograms.response, &part.response_us, "response")?,
        wait: histogram(&histograms.wait, &part.wait_us, "wait")?,
        failed: histogram(&histograms.failed, &part.failed_us, "failed")?,
        failed_response: unseen(&histograms.failed_response)?,
        strides: unseen(&histograms.strides)?,
        error_times: by_name(&histograms.errors)?,
        timers: by_name(&histograms.timers)?,
    };
    Ok(Op { name: part.name, report_as: part.report_as, follows: part.follows, stats })
}

fn place(places: &HashMap<&str, usize>, op: &str) -> Result<usize, String> {
    places.get(op).copied().ok_or_else(|| format!("{} is none of its ops", wording::name(op)))
}

/// The points, each of which begins where the one before of its op ended.
fn series(
    parts: Vec<PointPart>,
    places: &HashMap<&str, usize>,
    began: Duration,
) -> Result<Vec<Point>, String> {
    let quantiles = |part: &Option<QuantilesPart>| {
        part.as_ref().map_or_else(Quantiles::default, |part| Quantiles {
            p50: nanos(part.p50),
            p95: nanos(part.p95),
            p99: nanos(part.p99),
            max: nanos(part.max),
            mean: part.mean.map_or(0, nanos),
        })
    };
    let mut ends: Vec<Duration> = vec![began; places.len()];
    let mut points = Vec::with_capacity(parts.len());
    for part in parts {
        let op = place(places, &part.op)?;
        let at = time(part.t)?;
        let before = ends.get_mut(op).map_or(began, |end| std::mem::replace(end, at));
        points.push(Point {
            at,
            length: at.saturating_sub(before),
            op,
            ok: count(part.ok)?,
            errors: count(part.errors)?,
            service: quantiles(&part.service_us),
            response: quantiles(&part.response_us),
        });
    }
    Ok(points)
}

fn timeline(part: TimelinePart, places: &HashMap<&str, usize>) -> Result<Timeline, String> {
    if !part.bin_s.is_power_of_two() || part.bin_s > 1 << 32 {
        return Err(format!("its timeline has bins of {} s, which is no power of two", part.bin_s));
    }
    let mut timeline = Timeline::new(places.len(), part.bin_s);
    for cell in part.points {
        let service = cell.service.as_deref().map_or(Ok(Vec::new()), packed::binary)?;
        let response = cell.response.as_deref().map_or(Ok(service.clone()), packed::binary)?;
        let mut cells = vec![Cell::default(); place(places, &cell.op)?];
        cells.push(Cell { ok: count(cell.ok)?, errors: count(cell.errors)?, service, response });
        timeline.add(count(cell.from)?, cells)?;
    }
    Ok(timeline)
}
