//! `--log-histograms` and `--log-histostats`: every time of every interval, as HdrHistogram's interval log (V2,
//! with tags) or as a table of its quantiles.
//!
//! Stamps and lengths are seconds; stamps count from the log's base time. Times are nanoseconds, and
//! `Interval_Max` milliseconds, as the reference has it.

use super::clock::{self, Timer, Window};
use super::packed::Packer;
use super::{Export, Growing, ReportError, Run, Source, wording};
use crate::metrics::Frame;
use crate::units;
use hdrhistogram::Histogram;
use regex::Regex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Histograms,
    Stats,
}

/// `FILE[:REGEX[:INTERVAL]]`.
#[derive(Debug, Clone)]
pub struct Spec {
    pub file: PathBuf,
    /// Matches whole names of metrics, or their last part.
    pub names: Regex,
    /// The names as they were given.
    pub pattern: String,
    pub every: Duration,
}

const EVERY: Duration = Duration::from_secs(30);
/// Frames are no shorter.
const SHORTEST: Duration = Duration::from_secs(1);

impl Spec {
    /// Reads the text; `_SESSION_` in the name of the file stands for `session`.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn read(text: &str, session: &str) -> Result<Spec, String> {
        let (file, rest) = text.split_once(':').unwrap_or((text, ""));
        if file.is_empty() {
            return Err("it names no file".to_owned());
        }
        // A regular expression may hold colons; an interval is what stands behind the last one and is one.
        let (pattern, every) = match rest.rsplit_once(':') {
            Some((pattern, every)) => (pattern, Some(every)),
            None => (rest, None),
        };
        let every = match every {
            None | Some("") => EVERY,
            Some(text) => units::duration(text).map_err(|error| error.to_string())?,
        };
        if every < SHORTEST {
            return Err("an interval is at least 1s".to_owned());
        }
        let pattern = if pattern.is_empty() { ".*" } else { pattern };
        let names = Regex::new(&format!("^(?:{pattern})$"))
            .map_err(|_| format!("`{pattern}` is no regular expression"))?;
        let file = PathBuf::from(file.replace("_SESSION_", session));
        Ok(Spec { file, names, pattern: pattern.to_owned(), every })
    }
}

/// One log.
pub struct IntervalLog {
    spec: Spec,
    form: Form,
    out: Growing,
    packer: Packer,
    open: HashMap<usize, (Vec<Timer>, Window)>,
    /// Some that did not match, for the error that none did.
    refused: Vec<String>,
    matched: bool,
}

impl IntervalLog {
    /// Begins the log; the run `session` started at `started`.
    pub fn create(
        spec: Spec,
        form: Form,
        session: &str,
        started: SystemTime,
    ) -> Result<IntervalLog, ReportError> {
        let mut out = Growing::create(&spec.file)?;
        out.head(head(form, session, started).as_bytes())?;
        let packer = Packer::new();
        Ok(IntervalLog { spec, form, out, packer, open: HashMap::new(), refused: Vec::new(), matched: false })
    }

    fn emit(&mut self, source: &Source) -> Result<(), ReportError> {
        let Some((timers, window)) = self.open.get_mut(&source.id) else { return Ok(()) };
        if window.is_empty() {
            return Ok(());
        }
        let all = window.all();
        let mut lines = String::new();
        for timer in timers.iter() {
            let histogram = timer.clock.of(window.stats(&all, timer.op));
            // Where nothing fails there is nothing to say of failures.
            if timer.clock == clock::Clock::Failed && histogram.is_empty() {
                continue;
            }
            let start = source.offset + window.start;
            lines += &match self.form {
                Form::Histograms => line(&timer.name, start, window.length, &histogram, &mut self.packer)?,
                Form::Stats => stats_line(&timer.name, start, window.length, &histogram),
            };
        }
        window.clear();
        self.out.write(lines.as_bytes())
    }
}

impl Export for IntervalLog {
    fn begin(&mut self, source: &Source) -> Result<(), ReportError> {
        let (names, pattern) = (&self.spec.names, &self.spec.pattern);
        let all = pattern == ".*";
        let (timers, refused): (Vec<Timer>, Vec<Timer>) = clock::timers(source)
            .into_iter()
            .partition(|timer| all || names.is_match(&timer.name) || names.is_match(&timer.family));
        self.matched |= !timers.is_empty();
        self.refused.extend(refused.into_iter().take(3).map(|timer| timer.name));
        self.open.insert(source.id, (timers, Window::new(self.spec.every, source.ops.len())));
        Ok(())
    }

    fn frame(&mut self, source: &Source, frame: &Frame) -> Result<(), ReportError> {
        let Some((_, window)) = self.open.get_mut(&source.id) else { return Ok(()) };
        if window.push(frame) { self.emit(source) } else { Ok(()) }
    }

    fn end(&mut self, source: &Source) -> Result<(), ReportError> {
        self.emit(source)?;
        self.open.remove(&source.id);
        Ok(())
    }

    fn close(self: Box<Self>, _: &Run) -> Result<Vec<PathBuf>, ReportError> {
        let (pattern, refused, matched) = (self.spec.pattern, self.refused, self.matched);
        let file = self.out.finish()?;
        if !matched && !refused.is_empty() {
            return Err(ReportError::Other(format!(
                "{} is empty: no metric is called `{pattern}`; there are {}, …",
                file.display(),
                refused.join(", ")
            )));
        }
        Ok(vec![file])
    }
}

fn head(form: Form, session: &str, started: SystemTime) -> String {
    let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let date = wording::java_date(started);
    match form {
        Form::Histograms => format!(
            "#logging histograms for session {session}\n#[Histogram log format version 1.3]\n\
             #[StartTime: {since:.3} (seconds since epoch), {date}]\n\
             #[BaseTime: {since:.3} (seconds since epoch)]\n\
             \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        ),
        Form::Stats => format!(
            "#logging stats for session {session}\n#[Histogram log format version 1.0]\n\
             #[StartTime: {since:.3} (seconds since epoch), {date}]\n#[TimeUnit: NANOSECONDS]\n\
             #Tag,Interval_Start,Interval_Length,count,min,p25,p50,p75,p90,p95,p98,p99,p999,p9999,max\n"
        ),
    }
}

/// A tag ends at a comma, and a log's fields at blanks.
fn tag(name: &str) -> String {
    name.chars()
        .map(|c| if c == ',' || c.is_whitespace() || wording::is_unseen(c) { '_' } else { c })
        .collect()
}

fn line(
    name: &str,
    start: Duration,
    length: Duration,
    histogram: &Histogram<u64>,
    packer: &mut Packer,
) -> Result<String, ReportError> {
    Ok(format!(
        "Tag={},{:.3},{:.3},{:.3},{}\n",
        tag(name),
        start.as_secs_f64(),
        length.as_secs_f64(),
        histogram.max() as f64 / 1e6,
        packer.text(histogram)?,
    ))
}

fn stats_line(name: &str, start: Duration, length: Duration, histogram: &Histogram<u64>) -> String {
    // As Java writes a double: `10.0`, `0.01`.
    let start = (start.as_secs_f64() * 1e3).round() / 1e3;
    let mut line = format!("Tag={},{start:?},{:.3},{}", tag(name), length.as_secs_f64(), histogram.len());
    let min = if histogram.is_empty() { 0 } else { histogram.min() };
    line += &format!(",{min}");
    for quantile in [0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999] {
        line += &format!(",{}", histogram.value_at_quantile(quantile));
    }
    line + &format!(",{}\n", histogram.max())
}

#[cfg(test)]
mod tests {
    use super::super::clock::tests::{frame, source};
    use super::*;
    use crate::report::figures::tests::run;

    /// What a log holds after these frames.
    fn logged(spec: &str, form: Form, frames: &[Frame]) -> Result<String, ReportError> {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = format!("{}/{spec}", folder.path().display());
        let spec = Spec::read(&spec, "S").expect("it can be read");
        let file = spec.file.clone();
        let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut log = IntervalLog::create(spec, form, "S", started).expect("writable");
        let source = source(&["b__a,\n b"]);
        log.begin(&source)?;
        for frame in frames {
            log.frame(&source, frame)?;
        }
        log.end(&source)?;
        assert_eq!(Box::new(log).close(&run(Vec::new()))?, std::slice::from_ref(&file));
        Ok(std::fs::read_to_string(file).expect("readable"))
    }

    #[test]
    fn each_interval_has_its_own_start_and_length() {
        let frames = [frame(0, 1_001, &[5]), frame(1_001, 999, &[7, 8]), frame(2_000, 300, &[9])];
        let log = logged("h.hlog:.*servicetime:1s", Form::Histograms, &frames).expect("written");
        let mut lines = log.lines();
        assert_eq!(lines.next(), Some("#logging histograms for session S"));
        assert_eq!(lines.next(), Some("#[Histogram log format version 1.3]"));
        assert_eq!(
            lines.next(),
            Some("#[StartTime: 1700000000.000 (seconds since epoch), Tue Nov 14 22:13:20 UTC 2023]")
        );
        let rows: Vec<Vec<&str>> =
            lines.filter(|line| line.starts_with("Tag=")).map(|line| line.split(',').collect()).collect();
        let fields: Vec<[&str; 3]> = rows.iter().map(|row| [row[0], row[1], row[2]]).collect();
        let tag = "Tag=main.cycles_servicetime";
        assert_eq!(fields, [[tag, "0.500", "1.001"], [tag, "1.501", "0.999"], [tag, "2.500", "0.300"]]);
        let counts: Vec<u64> =
            rows.iter().map(|row| crate::report::packed::read(row[4]).expect("a histogram").len()).collect();
        assert_eq!(counts, [1, 2, 1]);
    }

    #[test]
    fn longer_intervals_hold_all_of_their_frames_and_the_last_one_its_own_length() {
        let frames: Vec<Frame> = (0..12).map(|s| frame(s * 1_000, 1_000, &[1_000_000])).collect();
        let log = logged("s.csv:cycles_servicetime:5s", Form::Stats, &frames).expect("written");
        let rows: Vec<&str> = log.lines().filter(|line| line.starts_with("Tag=")).collect();
        let value = "1000447";
        let quantiles = [value; 9].join(",");
        assert_eq!(
            rows,
            [
                format!("Tag=main.cycles_servicetime,0.5,5.000,5,999936,{quantiles},{value}"),
                format!("Tag=main.cycles_servicetime,5.5,5.000,5,999936,{quantiles},{value}"),
                format!("Tag=main.cycles_servicetime,10.5,2.000,2,999936,{quantiles},{value}"),
            ]
        );
        let columns = log.lines().find(|line| line.starts_with("#Tag")).expect("a head").split(',').count();
        assert!(rows.iter().all(|row| row.split(',').count() == columns), "{log}");
    }

    #[test]
    fn a_name_with_a_comma_or_a_newline_is_one_tag() {
        let log = logged("s.csv:.*service", Form::Stats, &[frame(0, 1_000, &[1])]).expect("written");
        assert!(log.contains("\nTag=main.b__a___b.service,"), "{log}");
    }

    #[test]
    fn a_pattern_that_names_nothing_is_an_error() {
        let error = logged("h.hlog:cycles_sevicetime", Form::Histograms, &[frame(0, 1_000, &[1])])
            .expect_err("there is no such metric");
        assert!(error.to_string().contains("no metric is called `cycles_sevicetime`"), "{error}");
    }

    #[test]
    fn file_pattern_and_interval_are_told_apart() {
        for (text, file, pattern, seconds) in [
            ("h.hlog", "h.hlog", ".*", 30),
            ("h_SESSION_.hlog:.*suc.*", "hS.hlog", ".*suc.*", 30),
            ("h.hlog:.*:1s", "h.hlog", ".*", 1),
            ("h.hlog::5 seconds", "h.hlog", ".*", 5),
            ("h.hlog:(?:a|b):1m", "h.hlog", "(?:a|b)", 60),
        ] {
            let spec = Spec::read(text, "S").expect(text);
            assert_eq!(spec.file, PathBuf::from(file), "{text}");
            assert_eq!(spec.pattern, pattern, "{text}");
            assert_eq!(spec.every, Duration::from_secs(seconds), "{text}");
        }
        for (text, part) in [
            ("", "no file"),
            (":.*", "no file"),
            ("h.hlog:.*:soon", "soon"),
            ("h.hlog:.*:10ms", "at least 1s"),
            ("h.hlog:(:1s", "no regular expression"),
        ] {
            let error = Spec::read(text, "S").expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
