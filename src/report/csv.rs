//! `--report-csv-to`: a folder with one CSV file a metric, in the columns of the Dropwizard reporter that the
//! reference uses, and `index.csv`, which says what each file is.
//!
//! Counts and mean rates are since the start; quantiles are those of the interval; times are nanoseconds.

use super::clock::{self, Clock, Timer, Window};
use super::{Export, Growing, ReportError, Run, Source, wording};
use crate::metrics::{Frame, OpStats, Standing};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const TIMER: &str = "t,count,max,mean,min,stddev,p50,p75,p95,p98,p99,p999,mean_rate,m1_rate,m5_rate,m15_rate,rate_unit,duration_unit";
const HISTOGRAM: &str = "t,count,max,mean,min,stddev,p50,p75,p95,p98,p99,p999";
const COUNTER: &str = "t,count";
const GAUGE: &str = "t,value";
const INDEX: &str = "file,activity,op,metric,type";

/// The folder of one run.
pub struct CsvFolder {
    folder: PathBuf,
    every: Duration,
    open: HashMap<usize, Open>,
    files: Vec<Growing>,
    /// Names of files that are taken.
    taken: HashSet<String>,
    index: String,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Timer,
    Histogram,
    Counter,
    Gauge,
}

impl Kind {
    /// Its word in the index, and the head of a file of it.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Timer => ("timer", TIMER),
            Kind::Histogram => ("histogram", HISTOGRAM),
            Kind::Counter => ("counter", COUNTER),
            Kind::Gauge => ("gauge", GAUGE),
        }
    }

    fn of(clock: &Clock) -> Kind {
        if *clock == Clock::Tries { Kind::Histogram } else { Kind::Timer }
    }
}

/// A name, and what it shows.
type Gauge = (&'static str, fn(&Standing) -> u64);

/// Where an activity stands at the end of an interval, under the reference's names.
const GAUGES: [Gauge; 5] = [
    ("threads", |standing| standing.threads),
    ("ops_pending", |standing| standing.pending),
    ("ops_active", |standing| standing.in_flight),
    ("ops_complete", |standing| standing.done),
    ("backlog", |standing| standing.backlog),
];

/// An activity that runs.
struct Open {
    window: Window,
    /// Before the first interval that counts.
    before: Duration,
    timers: Vec<Row>,
    /// The file of each of [`GAUGES`].
    gauges: [usize; GAUGES.len()],
    standing: Standing,
    /// By op (none is all of them) and name: the file and the count.
    counters: BTreeMap<(Option<usize>, String), (usize, u64)>,
}

struct Row {
    timer: Timer,
    /// Position in the files of the folder.
    file: usize,
    count: u64,
    rates: Option<[f64; 3]>,
}

/// Minutes over which the moving rates look back.
const LOOK_BACK: [f64; 3] = [1.0, 5.0, 15.0];

impl CsvFolder {
    /// Makes the folder if it is not there; a row is written every so often.
    pub fn create(folder: PathBuf, every: Duration) -> Result<CsvFolder, ReportError> {
        if folder.exists() && !folder.is_dir() {
            return Err(ReportError::NotFolder { path: folder });
        }
        fs::create_dir_all(&folder).map_err(|source| ReportError::File { path: folder.clone(), source })?;
        let index = format!("{INDEX}\n");
        Ok(CsvFolder { folder, every, open: HashMap::new(), files: Vec::new(), taken: HashSet::new(), index })
    }

    /// Begins the file of a metric.
    fn file(
        &mut self,
        source: &Source,
        op: Option<usize>,
        metric: &str,
        kind: Kind,
    ) -> Result<usize, ReportError> {
        let name = file_name(&source.metric(op, metric));
        let mut free = format!("{name}.csv");
        // Names that differ only in what a file name cannot hold.
        let mut number = 1;
        while free == "index.csv" || !self.taken.insert(free.clone()) {
            number += 1;
            free = format!("{name}-{number}.csv");
        }
        let op = op.and_then(|op| source.ops.get(op)).map_or("", String::as_str);
        let (kind, head) = kind.words();
        self.index +=
            &format!("{},{},{},{},{kind}\n", cell(&free), cell(&source.alias), cell(op), cell(metric));
        let mut file = Growing::create(self.folder.join(free))?;
        file.head(format!("{head}\n").as_bytes())?;
        file.rest();
        self.files.push(file);
        Ok(self.files.len() - 1)
    }

    fn append(&mut self, file: usize, line: &str) -> Result<(), ReportError> {
        let Some(file) = self.files.get_mut(file) else { return Ok(()) };
        file.write(line.as_bytes())?;
        file.rest();
        Ok(())
    }

    fn emit(&mut self, source: &Source) -> Result<(), ReportError> {
        let Some(mut open) = self.open.remove(&source.id) else { return Ok(()) };
        if !open.window.is_empty() {
            self.rows(source, &mut open)?;
            open.window.clear();
        }
        self.open.insert(source.id, open);
        Ok(())
    }

    fn rows(&mut self, source: &Source, open: &mut Open) -> Result<(), ReportError> {
        let window = &open.window;
        if open.timers.iter().all(|row| row.rates.is_none()) {
            open.before = window.start;
        }
        let elapsed = (window.end() - open.before).as_secs_f64();
        let all = window.all();
        let t = (source.started + window.end())
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        for row in &mut open.timers {
            let line = row.line(t, window.length.as_secs_f64(), elapsed, window.stats(&all, row.timer.op));
            self.append(row.file, &line)?;
        }
        let parts = std::iter::once((None, &all))
            .chain(window.ops.iter().enumerate().map(|(op, stats)| (Some(op), stats)));
        for (op, stats) in parts {
            for (name, count) in counts(stats) {
                let entry = match open.counters.get_mut(&(op, name.clone())) {
                    Some(entry) => entry,
                    // A name of an error gets its file when it is first met.
                    None => {
                        let file = self.file(source, op, &name, Kind::Counter)?;
                        open.counters.entry((op, name)).or_insert((file, 0))
                    }
                };
                entry.1 += count;
            }
        }
        for ((_, of), file) in GAUGES.iter().zip(open.gauges) {
            self.append(file, &format!("{t},{}\n", of(&open.standing)))?;
        }
        for (file, count) in open.counters.values() {
            self.append(*file, &format!("{t},{count}\n"))?;
        }
        Ok(())
    }
}

/// The counts of an interval by name. Those that are always there come with 0 too.
fn counts(stats: &OpStats) -> Vec<(String, u64)> {
    let mut counts = vec![
        ("errors_ALL".to_owned(), stats.failed_ops()),
        ("retries".to_owned(), stats.retries),
        ("bytes_sent".to_owned(), stats.bytes_sent),
        ("docs_returned".to_owned(), stats.docs_returned),
    ];
    counts.extend(stats.errors.iter().map(|(name, counts)| (format!("errors_{name}"), counts.ended)));
    counts
}

impl Row {
    /// `seconds` of the interval, `elapsed` since the first one began.
    fn line(&mut self, t: u64, seconds: f64, elapsed: f64, stats: &OpStats) -> String {
        let histogram = self.timer.clock.of(stats);
        self.count += histogram.len();
        let now = histogram.len() as f64 / seconds;
        let rates = self.rates.get_or_insert([now; 3]);
        for (rate, minutes) in rates.iter_mut().zip(LOOK_BACK) {
            *rate += (1.0 - (-seconds / (60.0 * minutes)).exp()) * (now - *rate);
        }
        let (max, mean, min, deviation) = if histogram.is_empty() {
            (0.0, 0.0, 0.0, 0.0)
        } else {
            (histogram.max() as f64, histogram.mean(), histogram.min() as f64, histogram.stdev())
        };
        let mut line = format!("{t},{},{max:.6},{mean:.6},{min:.6},{deviation:.6}", self.count);
        for quantile in [0.5, 0.75, 0.95, 0.98, 0.99, 0.999] {
            line += &format!(",{:.6}", histogram.value_at_quantile(quantile) as f64);
        }
        if Kind::of(&self.timer.clock) == Kind::Histogram {
            return line + "\n";
        }
        line += &format!(",{:.6}", self.count as f64 / elapsed);
        for rate in rates {
            line += &format!(",{rate:.6}");
        }
        line + ",calls/second,nanoseconds\n"
    }
}

impl Export for CsvFolder {
    fn begin(&mut self, source: &Source) -> Result<(), ReportError> {
        let mut timers = Vec::new();
        for timer in clock::timers(source) {
            let file = self.file(source, timer.op, &timer.family, Kind::of(&timer.clock))?;
            timers.push(Row { timer, file, count: 0, rates: None });
        }
        let mut gauges = [0; GAUGES.len()];
        for (file, (name, _)) in gauges.iter_mut().zip(GAUGES) {
            *file = self.file(source, None, name, Kind::Gauge)?;
        }
        let window = Window::new(self.every, source.ops.len());
        let open = Open {
            window,
            before: Duration::ZERO,
            timers,
            gauges,
            standing: Standing::default(),
            counters: BTreeMap::new(),
        };
        self.open.insert(source.id, open);
        Ok(())
    }

    fn frame(&mut self, source: &Source, frame: &Frame) -> Result<(), ReportError> {
        let Some(open) = self.open.get_mut(&source.id) else { return Ok(()) };
        open.standing = frame.standing;
        if open.window.push(frame) { self.emit(source) } else { Ok(()) }
    }

    fn end(&mut self, source: &Source) -> Result<(), ReportError> {
        self.emit(source)?;
        self.open.remove(&source.id);
        Ok(())
    }

    fn close(self: Box<Self>, _: &Run) -> Result<Vec<PathBuf>, ReportError> {
        for file in self.files {
            file.finish()?;
        }
        let mut index = Growing::create(self.folder.join("index.csv"))?;
        index.write(self.index.as_bytes())?;
        index.finish()?;
        Ok(vec![self.folder])
    }
}

/// A cell as RFC 4180 has it.
pub fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// A name that a file can have, on any system; at most 200 bytes, so that there is room for an ending.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        let c = if wording::is_unseen(c) || r#"/\:*?"<>|"#.contains(c) { '_' } else { c };
        if out.len() + c.len_utf8() > 200 {
            break;
        }
        out.push(c);
    }
    if out.starts_with('.') {
        out.replace_range(..1, "_");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::{frame, source};
    use super::*;
    use crate::report::figures::tests::run;
    use std::path::Path;

    /// Cells of a CSV text, as RFC 4180 has them.
    fn rows(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => row.push(std::mem::take(&mut cell)),
                '\n' if !quoted => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                c => cell.push(c),
            }
        }
        assert!(!quoted && row.is_empty() && cell.is_empty(), "the last line does not end: {text}");
        rows
    }

    fn written(folder: &Path, ops: &[&str], every: u64, frames: &[Frame]) {
        let mut csv =
            CsvFolder::create(folder.to_owned(), Duration::from_secs(every)).expect("it can be made");
        let source = source(ops);
        csv.begin(&source).expect("writable");
        for frame in frames {
            csv.frame(&source, frame).expect("writable");
        }
        csv.end(&source).expect("writable");
        Box::new(csv).close(&run(Vec::new())).expect("writable");
    }

    #[test]
    fn every_file_is_rectangular_whatever_an_op_is_called_and_whatever_it_did() {
        let folder = tempfile::tempdir().expect("a folder");
        let ops = ["b__a", "b__\"a\",\nb", "b__a/b", "b__a:b", "b__ключи-🗝"];
        let mut first = frame(0, 1_000, &[5]);
        first.ops.resize_with(ops.len(), OpStats::default);
        first.ops[1].error("Odd,\"name").ended = 1;
        let mut second = frame(1_000, 300, &[]);
        second.ops.resize_with(ops.len(), OpStats::default);
        written(folder.path(), &ops, 1, &[first, second]);
        let index = rows(&fs::read_to_string(folder.path().join("index.csv")).expect("an index"));
        let mut files = 0;
        for entry in fs::read_dir(folder.path()).expect("readable") {
            let path = entry.expect("readable").path();
            let rows = rows(&fs::read_to_string(&path).expect("UTF-8"));
            assert!(rows.len() > 1, "{} is empty", path.display());
            assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{}: {rows:?}", path.display());
            files += 1;
        }
        assert_eq!(index.len(), files, "the index names all files but itself, under a head");
        for op in ops {
            let named = index.iter().any(|row| row[2] == op && folder.path().join(&row[0]).is_file());
            assert!(named, "{op}: {index:?}");
        }
        assert!(index.iter().any(|row| row[3] == "errors_Odd,\"name" && row[4] == "counter"), "{index:?}");
    }

    #[test]
    fn counts_go_on_and_the_rate_of_a_short_last_interval_is_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let ten = [1_000_000; 10];
        let mut frames: Vec<Frame> = (0..12).map(|s| frame(s * 1_000, 1_000, &ten)).collect();
        frames.push(frame(12_000, 300, &ten[..3]));
        written(folder.path(), &["b__a"], 5, &frames);
        let text = fs::read_to_string(folder.path().join("main.result_success.csv")).expect("a file");
        let rows = rows(&text);
        let of = |name: &str| -> Vec<&str> {
            let at = rows[0].iter().position(|head| head == name).expect("a column");
            rows[1..].iter().map(|row| row[at].as_str()).collect()
        };
        assert_eq!(of("count"), ["50", "100", "123"]);
        assert_eq!(of("t"), ["1700000005", "1700000010", "1700000012"]);
        assert_eq!(of("mean_rate"), ["10.000000"; 3]);
        assert_eq!(of("m1_rate"), ["10.000000"; 3]);
        assert_eq!(of("p99"), ["1000447.000000"; 3]);
        assert_eq!(of("duration_unit"), ["nanoseconds"; 3]);
    }

    #[test]
    fn tries_are_counted_and_gauges_are_of_the_last_moment() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = frame(0, 1_000, &[5; 4]);
        first.ops[0].tries.insert(3, 1);
        first.standing = Standing { threads: 8, in_flight: 5, done: 4, pending: 91, backlog: 2 };
        let mut second = frame(1_000, 1_000, &[5; 6]);
        second.standing = Standing { threads: 8, in_flight: 0, done: 10, pending: 90, backlog: 0 };
        written(folder.path(), &["b__a"], 1, &[first, second]);
        let of = |file: &str| -> Vec<Vec<String>> {
            let text = fs::read_to_string(folder.path().join(format!("main.{file}.csv")));
            rows(&text.unwrap_or_else(|error| panic!("{file}: {error}")))
        };
        let tries = of("tries");
        assert_eq!(tries[0].join(","), HISTOGRAM);
        let figures: Vec<_> = tries[1..].iter().map(|row| (&*row[1], &*row[2], &*row[4])).collect();
        assert_eq!(figures, [("4", "3.000000", "1.000000"), ("10", "1.000000", "1.000000")]);
        for (gauge, values) in [
            ("threads", ["8", "8"]),
            ("ops_pending", ["91", "90"]),
            ("ops_active", ["5", "0"]),
            ("ops_complete", ["4", "10"]),
            ("backlog", ["2", "0"]),
        ] {
            let told = of(gauge);
            assert_eq!(told[0].join(","), GAUGE);
            assert_eq!([&*told[1][1], &*told[2][1]], values, "{gauge}");
        }
    }

    #[test]
    fn a_folder_that_is_a_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("f");
        fs::write(&file, "").expect("writable");
        assert!(matches!(
            CsvFolder::create(file, Duration::from_secs(1)),
            Err(ReportError::NotFolder { .. })
        ));
    }
}
