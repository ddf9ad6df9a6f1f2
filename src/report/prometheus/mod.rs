//! What Prometheus reads: a page to scrape (`--metrics-listen`), and the same metrics pushed to a gateway or
//! written to a remote-write endpoint (`--report-prompush-to`).
//!
//! Names are fixed and legal; what users name stands in labels, as they wrote it. Counters and histograms are since
//! the start of the run, so that rates and quantiles over any time can be worked out by whoever asks; the gauges
//! are of the last interval of a second.

mod page;
mod push;

pub use push::Target;

use super::clock::Clock;
use super::{Export, ReportError, Run, Source, Tell};
use crate::metrics::{Frame, OpStats, Quantiles, Standing};
use hdrhistogram::Histogram;
use page::Page;
use push::Pusher;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A metric with all of its values.
struct Family {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    samples: Vec<Sample>,
}

struct Sample {
    /// What follows the family's name: `_bucket`, `_sum`, `_count` or nothing.
    suffix: &'static str,
    labels: Vec<(&'static str, String)>,
    value: f64,
}

/// One activity.
struct Measured {
    source: Source,
    ops: Vec<OpStats>,
    /// Where it stood at the end of the last interval.
    standing: Standing,
    /// Service and response time of the last interval, by op.
    last: Vec<(Quantiles, Quantiles)>,
}

/// All activities of a run.
#[derive(Default)]
struct Metrics(BTreeMap<usize, Measured>);

/// Upper bounds of buckets in nanoseconds: six a decade, from 50 µs to 100 s.
fn bounds() -> impl Iterator<Item = u64> {
    let decades = (0..7).map(|decade| 10u64.pow(decade) * 1_000);
    let all = decades.flat_map(|unit| [10, 15, 20, 30, 50, 70].map(|step| step * unit));
    all.skip_while(|bound| *bound < 50_000).chain([100_000_000_000])
}

impl Metrics {
    fn add(&mut self, source: &Source, frame: &Frame) {
        let measured = self.0.entry(source.id).or_insert_with(|| Measured {
            source: source.clone(),
            ops: std::iter::repeat_with(OpStats::default).take(source.ops.len()).collect(),
            standing: Standing::default(),
            last: Vec::new(),
        });
        measured.standing = frame.standing;
        for (total, seen) in measured.ops.iter_mut().zip(&frame.ops) {
            total.add(seen);
        }
        let last = frame.ops.iter().map(|op| (Quantiles::of(&op.service), Quantiles::of(&op.response)));
        measured.last = last.collect();
    }

    fn families(&self) -> Vec<Family> {
        let ops = || {
            self.0.values().flat_map(|measured| {
                let named = measured.source.ops.iter().zip(&measured.ops);
                named.enumerate().map(move |(at, (op, stats))| {
                    let labels = vec![
                        ("activity", measured.source.alias.clone()),
                        ("op", op.clone()),
                        ("workload", measured.source.workload.clone()),
                    ];
                    (labels, stats, measured.last.get(at).copied().unwrap_or_default())
                })
            })
        };
        let counter = |name, help, of: fn(&OpStats) -> u64| {
            let samples =
                ops().map(|(labels, stats, _)| Sample { suffix: "", labels, value: of(stats) as f64 });
            Family { name, help, kind: "counter", samples: samples.collect() }
        };
        let times = |name, help, clock: Clock| {
            let samples = ops().flat_map(|(labels, stats, _)| histogram(&labels, &clock.of(stats)));
            Family { name, help, kind: "histogram", samples: samples.collect() }
        };
        let last = |name, help, of: fn(&(Quantiles, Quantiles)) -> Quantiles| {
            let samples = ops().flat_map(|(labels, _, last)| {
                let at = of(&last);
                [("0.5", at.p50), ("0.95", at.p95), ("0.99", at.p99), ("1", at.max)].map(
                    |(quantile, time)| {
                        let quantile = ("quantile", quantile.to_owned());
                        let labels = labels.iter().cloned().chain([quantile]).collect();
                        Sample { suffix: "", labels, value: time as f64 / 1e9 }
                    },
                )
            });
            Family { name, help, kind: "gauge", samples: samples.collect() }
        };
        let errors = ops().flat_map(|(labels, stats, _)| {
            let ended = stats.errors.iter().filter(|(_, counts)| counts.ended > 0);
            ended.map(move |(name, counts)| {
                let error = ("error", name.clone());
                let labels = labels.iter().cloned().chain([error]).collect();
                Sample { suffix: "", labels, value: counts.ended as f64 }
            })
        });
        let errors = errors.collect();
        let stands = |name, help, of: fn(&Standing) -> u64| {
            let samples = self.0.values().map(|measured| Sample {
                suffix: "",
                labels: vec![
                    ("activity", measured.source.alias.clone()),
                    ("workload", measured.source.workload.clone()),
                ],
                value: of(&measured.standing) as f64,
            });
            Family { name, help, kind: "gauge", samples: samples.collect() }
        };
        vec![
            counter("nbrs_ops_ok_total", "Ops that ended well.", |stats| stats.ok),
            counter("nbrs_ops_attempted_total", "Ops that were tried.", |stats| stats.attempted),
            Family {
                name: "nbrs_errors_total",
                help: "Ops that ended in an error, by its name.",
                kind: "counter",
                samples: errors,
            },
            counter("nbrs_retries_total", "Tries after the first.", |stats| stats.retries),
            counter("nbrs_sent_bytes_total", "Bytes sent, of all tries.", |stats| stats.bytes_sent),
            counter("nbrs_returned_documents_total", "Documents in replies.", |stats| stats.docs_returned),
            times("nbrs_service_seconds", "Sent to answered, of ops that ended well.", Clock::Service),
            times("nbrs_response_seconds", "Due to answered, of ops that ended well.", Clock::Response),
            times("nbrs_failed_seconds", "Sent to answered, of ops that failed.", Clock::Failed),
            last("nbrs_last_second_service_seconds", "Service times of the last second.", |last| last.0),
            last("nbrs_last_second_response_seconds", "Response times of the last second.", |last| last.1),
            stands("nbrs_threads", "Logical threads.", |it| it.threads),
            stands("nbrs_cycles_in_flight", "Cycles that have begun and not ended.", |it| it.in_flight),
            stands("nbrs_cycles_done", "Cycles that came to their end, well or not.", |it| it.done),
            stands("nbrs_cycles_pending", "Cycles that have not begun.", |it| it.pending),
            stands("nbrs_backlog_cycles", "Cycles that are due and have not started.", |it| it.backlog),
        ]
    }
}

fn histogram(labels: &[(&'static str, String)], times: &Histogram<u64>) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut recorded = times.iter_recorded().peekable();
    let mut count = 0;
    for bound in bounds() {
        while let Some(value) =
            recorded.next_if(|value| times.lowest_equivalent(value.value_iterated_to()) <= bound)
        {
            count += value.count_since_last_iteration();
        }
        let le = ("le", format!("{}", bound as f64 / 1e9));
        let labels = labels.iter().cloned().chain([le]).collect();
        samples.push(Sample { suffix: "_bucket", labels, value: count as f64 });
    }
    let all = times.len() as f64;
    let infinite = labels.iter().cloned().chain([("le", "+Inf".to_owned())]).collect();
    samples.push(Sample { suffix: "_bucket", labels: infinite, value: all });
    let sum = if times.is_empty() { 0.0 } else { times.mean() * all / 1e9 };
    samples.push(Sample { suffix: "_sum", labels: labels.to_vec(), value: sum });
    samples.push(Sample { suffix: "_count", labels: labels.to_vec(), value: all });
    samples
}

/// The text format, version 0.0.4.
fn text(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        let (name, help, kind) = (family.name, family.help, family.kind);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for sample in &family.samples {
            let _ = write!(out, "{name}{}", sample.suffix);
            for (at, (label, value)) in sample.labels.iter().enumerate() {
                let open = if at == 0 { '{' } else { ',' };
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(out, "{open}{label}=\"{value}\"");
            }
            let _ = writeln!(out, "}} {}", sample.value);
        }
    }
    out
}

type Shared = Arc<Mutex<Metrics>>;

fn families(shared: &Shared) -> Vec<Family> {
    shared.lock().unwrap_or_else(PoisonError::into_inner).families()
}

/// The metrics of a run, served and pushed as asked.
#[derive(Default)]
pub struct Prometheus {
    metrics: Shared,
    page: Option<Page>,
    /// What is to be pushed where, under which name of the run, how often.
    push: Option<(Target, String, Duration)>,
    pusher: Option<Pusher>,
}

impl Prometheus {
    /// Listens; gives the address of the page.
    pub fn listen(&mut self, address: &str) -> Result<String, ReportError> {
        let metrics = Arc::clone(&self.metrics);
        let page = Page::serve(address, move || text(&families(&metrics)))?;
        let url = format!("http://{}/metrics", page.address());
        self.page = Some(page);
        Ok(url)
    }

    /// Metrics are pushed every so often, and when the run has ended.
    pub fn push(&mut self, target: Target, session: &str, every: Duration) {
        self.push = Some((target, session.to_owned(), every));
    }

    pub fn is_used(&self) -> bool {
        self.page.is_some() || self.push.is_some()
    }
}

impl Export for Prometheus {
    fn start(&mut self, tell: &Tell) -> Result<(), ReportError> {
        if let Some((target, session, every)) = self.push.take() {
            let pusher = Pusher::start(target, session, every, Arc::clone(&self.metrics), Arc::clone(tell))?;
            self.pusher = Some(pusher);
        }
        Ok(())
    }

    fn begin(&mut self, source: &Source) -> Result<(), ReportError> {
        // Counters are there from the start, at 0: a rate needs two points.
        let nothing = Frame::empty(source.ops.len());
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).add(source, &nothing);
        Ok(())
    }

    fn frame(&mut self, source: &Source, frame: &Frame) -> Result<(), ReportError> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).add(source, frame);
        Ok(())
    }

    fn close(self: Box<Self>, _: &Run) -> Result<Vec<PathBuf>, ReportError> {
        self.pusher.map_or(Ok(()), Pusher::finish).map(|()| Vec::new())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::clock::tests::{frame, source};
    use super::*;

    /// Two seconds of an op of four times and two errors.
    pub(in crate::report::prometheus) fn measured(alias: &str, op: &str) -> Metrics {
        let source =
            Source { alias: alias.to_owned(), workload: "./a b/my-load.v2.yaml".to_owned(), ..source(&[op]) };
        let mut frame = frame(0, 1_000, &[40_000, 50_000, 1_000_000, 200_000_000_000]);
        frame.ops[0].error("Odd\"\\\nname").ended = 2;
        let mut metrics = Metrics::default();
        metrics.add(&source, &frame);
        metrics.add(&source, &Frame { start: Duration::from_secs(1), ..frame });
        metrics
    }

    #[test]
    fn names_are_legal_whatever_users_call_things_and_labels_keep_the_original() {
        let text = text(&measured("x.y-z", "b__\"a\\\nключи-🗝").families());
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('{').next().expect("a name");
            let legal = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(!name.is_empty() && name.chars().all(legal), "{line}");
            let value = line.rsplit(' ').next().expect("a value");
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        }
        let labels = r#"activity="x.y-z",op="b__\"a\\\nключи-🗝",workload="./a b/my-load.v2.yaml""#;
        assert!(text.contains(&format!("\nnbrs_ops_ok_total{{{labels}}} 8\n")), "{text}");
        let error = r#"error="Odd\"\\\nname""#;
        assert!(text.contains(&format!("\nnbrs_errors_total{{{labels},{error}}} 4\n")), "{text}");
        assert_eq!(text.matches("# TYPE nbrs_service_seconds histogram\n").count(), 1);
    }

    #[test]
    fn buckets_add_up_and_the_last_one_holds_all() {
        let text = text(&measured("m", "op").families());
        let value = |le: &str| -> u64 {
            let part = format!("le=\"{le}\"}} ");
            let line = text
                .lines()
                .find(|line| line.starts_with("nbrs_service_seconds_bucket") && line.contains(&part));
            line.unwrap_or_else(|| panic!("no {le} in {text}"))
                .rsplit(' ')
                .next()
                .expect("a value")
                .parse()
                .expect("a count")
        };
        let counts: Vec<u64> = ["0.00005", "0.0007", "0.0015", "100", "+Inf"].map(value).to_vec();
        assert_eq!(counts, [4, 4, 6, 6, 8]);
        assert!(bounds().collect::<Vec<_>>().is_sorted());
    }
}
