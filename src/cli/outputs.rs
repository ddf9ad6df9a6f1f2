//! The reports that a command line asks for: which, where, and what could not work said before the run.

use crate::report::csv::CsvFolder;
use crate::report::interval_log::{Form, IntervalLog, Spec};
use crate::report::prometheus::{self, Prometheus};
use crate::report::{self, Destination, Export, Logbook, ReportError, Run, wording};
use crate::span::Diagnostic;
use crate::units;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Options of whatever runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reports")]
pub struct Outputs {
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub report_json_to: Option<OsString>,
    /// Write the result as a page for browsers; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub report_html_to: Option<OsString>,
    /// Write the result as YCSB prints it; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub report_ycsb_to: Option<OsString>,
    /// Write a folder of CSV files, one a metric
    #[arg(long, value_name = "DIR")]
    pub report_csv_to: Option<PathBuf>,
    /// Time between the rows of CSV files, and between pushes (default 10s; a bare number is seconds)
    #[arg(long, value_name = "TIME")]
    pub report_interval: Option<String>,
    /// Serve metrics to Prometheus while the run goes on: `127.0.0.1:9400`, `:9400` on all interfaces
    #[arg(long, value_name = "ADDR")]
    pub metrics_listen: Option<String>,
    /// Push metrics to a gateway, or write them to a remote-write endpoint
    #[arg(long, value_name = "URL")]
    pub report_prompush_to: Option<String>,
    /// Where the summary goes: `stdout`, `stderr` or a file, `:SECONDS` behind it for runs longer than that;
    /// several with commas
    #[arg(long, value_name = "TARGET[:SECONDS],…")]
    pub report_summary_to: Option<String>,
    /// Log the times of every interval as histograms that HdrHistogram's tools read; may be given again
    #[arg(long, value_name = "FILE[:REGEX[:INTERVAL]]")]
    pub log_histograms: Vec<String>,
    /// Log the quantiles of every interval as CSV; may be given again
    #[arg(long, value_name = "FILE[:REGEX[:INTERVAL]]")]
    pub log_histostats: Vec<String>,
    /// Where each run leaves its log (default logs; `none`: nowhere)
    #[arg(long, value_name = "DIR")]
    pub logs_dir: Option<PathBuf>,
    /// What the run is called in its logs
    #[arg(long, value_name = "NAME")]
    pub session_name: Option<String>,
    /// How YCSB's text tells latencies.
    #[arg(skip)]
    pub ycsb: report::ycsb::Form,
}

/// A report that is written in one piece when the run has ended.
pub type Whole = fn(&Run, &Destination) -> Result<(), ReportError>;

/// Where the summary goes besides, or instead of, standard output.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summaries {
    /// Each with the time that a run must be longer than.
    pub files: Vec<(PathBuf, Duration)>,
    /// To stderr rather than stdout.
    pub to_stderr: bool,
    /// Only where the run was longer than this, so not before its end.
    pub after: Option<Duration>,
}

/// All that was asked for, begun.
pub struct Open {
    pub growing: Vec<Box<dyn Export>>,
    whole: Vec<(Whole, Destination)>,
    pub summaries: Summaries,
    pub log: Option<Logbook>,
    /// A report has standard output for itself.
    pub takes_stdout: bool,
    /// A timeline of each activity is wanted.
    pub timelines: bool,
    /// What a user should read before the run, a line each.
    pub says: Vec<String>,
    ycsb: report::ycsb::Form,
}

impl Outputs {
    /// Begins the reports of a run that starts at `started`. The second: what else should be said.
    pub fn open(&self, started: SystemTime) -> Result<(Open, Vec<Diagnostic>), Diagnostic> {
        let session = self.session(started)?;
        let mut notices = Vec::new();
        let mut whole: Vec<(Whole, Destination)> = Vec::new();
        for (file, write) in self.whole() {
            whole.push((write, Destination::new(file.clone()).map_err(said)?));
        }
        let takes_stdout = alone_on_stdout(whole.iter().map(|(_, to)| to))?;
        let mut files: Vec<PathBuf> =
            whole.iter().filter_map(|(_, to)| to.path()).map(PathBuf::from).collect();
        let mut growing: Vec<Box<dyn Export>> = Vec::new();
        for (option, texts, form) in [
            ("--log-histograms", &self.log_histograms, Form::Histograms),
            ("--log-histostats", &self.log_histostats, Form::Stats),
        ] {
            for text in texts {
                let spec = Spec::read(text, &session).map_err(|why| {
                    Diagnostic::error(format!("`{option} {text}`: {why}"))
                        .help(format!("{option} times.log:.*_servicetime:1s"))
                })?;
                files.push(spec.file.clone());
                growing.push(Box::new(IntervalLog::create(spec, form, &session, started).map_err(said)?));
            }
        }
        let mut says = Vec::new();
        let every = self.interval()?;
        if let Some(folder) = &self.report_csv_to {
            files.push(folder.clone());
            growing.push(Box::new(CsvFolder::create(folder.clone(), every).map_err(said)?));
        }
        let mut prometheus = Prometheus::default();
        if let Some(address) = &self.metrics_listen {
            let page = prometheus.listen(address).map_err(said)?;
            says.push(format!("metrics are at {page}"));
        }
        if let Some(url) = &self.report_prompush_to {
            let target = prometheus::Target::read(url).map_err(|why| {
                Diagnostic::error(format!("`--report-prompush-to`: {why}"))
                    .help("http://gateway:9091/metrics/job/nbrs, or http://prometheus:9090/api/v1/write")
            })?;
            prometheus.push(target, &session, every);
        }
        if prometheus.is_used() {
            growing.push(Box::new(prometheus));
        }
        let (logs, asked) = match &self.logs_dir {
            None => (Some(Path::new("logs")), false),
            Some(folder) if folder.as_os_str() == "none" => (None, true),
            Some(folder) => (Some(folder.as_path()), true),
        };
        let log = match logs.map(|folder| Logbook::create(folder, &session)) {
            None => None,
            Some(Ok(log)) => Some(log),
            Some(Err(error)) if asked => return Err(said(error)),
            Some(Err(error)) => {
                notices.push(
                    Diagnostic::warning(format!("this run leaves no log: {error}"))
                        .help("--logs-dir DIR puts it elsewhere, --logs-dir none asks for none"),
                );
                None
            }
        };
        let logs = logs.unwrap_or(Path::new(".")).to_string_lossy();
        let summaries = match self.report_summary_to.as_deref() {
            Some(text) => summaries(text, &logs, &session)?,
            None => Summaries::default(),
        };
        files.extend(summaries.files.iter().map(|(file, _)| file.clone()));
        one_file_each(files.iter().map(PathBuf::as_path))?;
        Ok((
            Open {
                growing,
                whole,
                summaries,
                log,
                takes_stdout,
                timelines: self.report_json_to.is_some(),
                says,
                ycsb: self.ycsb.clone(),
            },
            notices,
        ))
    }

    /// Between rows of CSV files and between pushes.
    fn interval(&self) -> Result<Duration, Diagnostic> {
        let Some(text) = &self.report_interval else { return Ok(Duration::from_secs(10)) };
        if self.report_csv_to.is_none() && self.report_prompush_to.is_none() {
            let goes_with = "`--report-interval` goes with `--report-csv-to` or `--report-prompush-to`";
            return Err(Diagnostic::error(goes_with));
        }
        seconds(text).map_err(|why| {
            Diagnostic::error(format!("`--report-interval`: {why}")).help("--report-interval 10s")
        })
    }

    /// The reports that are asked for and written in one piece.
    pub fn whole(&self) -> Vec<(&OsString, Whole)> {
        let all: [(&Option<OsString>, Whole); 3] = [
            (&self.report_json_to, report::json::write),
            (&self.report_html_to, report::html::write),
            (&self.report_ycsb_to, report::ycsb::write),
        ];
        all.into_iter().filter_map(|(file, write)| Some((file.as_ref()?, write))).collect()
    }

    /// The reports of runs that have ended: what is asked for of one that took `elapsed`, and where it goes.
    pub fn later(&self, elapsed: Duration) -> Result<Vec<(Whole, Destination)>, Diagnostic> {
        let mut all: Vec<(Whole, Destination)> = Vec::new();
        for (file, write) in self.whole() {
            all.push((write, Destination::new(file.clone()).map_err(said)?));
        }
        for (target, after) in self.report_summary_to.as_deref().map_or(Ok(Vec::new()), summary_targets)? {
            let to = match target {
                SummaryTo::Stdout => Destination::Stdout,
                SummaryTo::Stderr => {
                    return Err(Diagnostic::error("`--report-summary-to stderr` is for runs")
                        .help("stdout, or the name of a file"));
                }
                SummaryTo::File(file) if file.contains("_SESSION_") || file.contains("_LOGS_") => {
                    return Err(Diagnostic::error(format!(
                        "`--report-summary-to {file}`: a result that is read has no session and no logs"
                    )));
                }
                SummaryTo::File(file) => Destination::new(file).map_err(said)?,
            };
            if after.is_zero() || elapsed > after {
                all.push((report::summary::write, to));
            }
        }
        alone_on_stdout(all.iter().map(|(_, to)| to))?;
        one_file_each(all.iter().filter_map(|(_, to)| to.path()))?;
        Ok(all)
    }

    fn session(&self, started: SystemTime) -> Result<String, Diagnostic> {
        match &self.session_name {
            None => Ok(wording::stamp(started, '_').replace(['-', ':'], "").replace(' ', "_")),
            Some(name) if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') => {
                Err(Diagnostic::error(format!("`--session-name {name}` is not the name of a file")))
            }
            Some(name) => Ok(name.clone()),
        }
    }
}

/// Whether one of them is standard output, which takes no second one.
fn alone_on_stdout<'a>(all: impl Iterator<Item = &'a Destination>) -> Result<bool, Diagnostic> {
    match all.filter(|to| **to == Destination::Stdout).count() {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Diagnostic::error("only one report can go to standard output")
            .help("give the others the name of a file")),
    }
}

/// The second report that is written to a file takes the place of the first.
fn one_file_each<'a>(files: impl Iterator<Item = &'a Path>) -> Result<(), Diagnostic> {
    match report::same_file(files) {
        None => Ok(()),
        Some(file) => {
            let twice = format!("two reports would be written to {}", file.display());
            Err(Diagnostic::error(twice).help("give each a file of its own"))
        }
    }
}

fn said(error: ReportError) -> Diagnostic {
    Diagnostic::error(error.to_string())
}

/// A time of which a bare number is seconds, at least one.
fn seconds(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let time = if text.parse::<f64>().is_ok() {
        units::duration(&format!("{text}s"))
    } else {
        units::duration(text)
    };
    match time.map_err(|error| error.to_string())? {
        time if time < Duration::from_secs(1) => Err(format!("`{text}` is less than a second")),
        time => Ok(time),
    }
}

/// A target of the summary, as it is named: `stdout`, `stderr`, the name of a file.
enum SummaryTo<'a> {
    Stdout,
    Stderr,
    File(&'a str),
}

/// The targets of `stdout:60,_LOGS_/_SESSION_.summary`, each with the time that a run must be longer than.
fn summary_targets(text: &str) -> Result<Vec<(SummaryTo<'_>, Duration)>, Diagnostic> {
    let mut targets = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (target, after) = match part.rsplit_once(':') {
            Some((target, "0")) => (target, Duration::ZERO),
            Some((target, after)) => {
                let after = seconds(after).map_err(|why| {
                    Diagnostic::error(format!("`--report-summary-to {part}`: {why}"))
                        .help("seconds behind the colon: stdout:60")
                })?;
                (target, after)
            }
            None => (part, Duration::ZERO),
        };
        let target = match target {
            "stdout" | "console" => SummaryTo::Stdout,
            "stderr" => SummaryTo::Stderr,
            "" => return Err(Diagnostic::error(format!("`--report-summary-to {part}` names no target"))),
            file => SummaryTo::File(file),
        };
        targets.push((target, after));
    }
    Ok(targets)
}

/// Where the summary of a run goes.
fn summaries(text: &str, logs: &str, session: &str) -> Result<Summaries, Diagnostic> {
    let mut summaries = Summaries::default();
    for (target, after) in summary_targets(text)? {
        match target {
            SummaryTo::Stdout | SummaryTo::Stderr => {
                summaries.to_stderr = matches!(target, SummaryTo::Stderr);
                summaries.after = Some(after).filter(|after| !after.is_zero());
            }
            SummaryTo::File(file) => {
                let file = file.replace("_LOGS_", logs).replace("_SESSION_", session);
                match Destination::new(&file).map_err(said)? {
                    Destination::File(file) => summaries.files.push((file, after)),
                    Destination::Stdout => {}
                }
            }
        }
    }
    Ok(summaries)
}

impl Open {
    /// What is written in one piece: the errors, and the files that were written.
    pub fn write(whole: &Written, run: &Run) -> (Vec<ReportError>, Vec<PathBuf>) {
        let (mut errors, mut files) = (Vec::new(), Vec::new());
        if whole.whole.is_empty() && whole.summaries.is_empty() {
            return (errors, files);
        }
        // What `nbrs report` will make of the result file must equal what is made now.
        let told = report::json::told(run);
        // What a result file could not hold costs no other report.
        let run = told.as_ref().unwrap_or(run);
        let mut note = |result: Result<(), ReportError>, to: &Destination| match result {
            Ok(()) => files.extend(to.path().map(Path::to_owned)),
            Err(error) => errors.push(error),
        };
        for (write, to) in &whole.whole {
            note(write(run, to), to);
        }
        for (file, after) in &whole.summaries {
            if after.is_zero() || run.elapsed > *after {
                let to = Destination::File(file.clone());
                note(report::summary::write(run, &to), &to);
            }
        }
        (errors, files)
    }

    /// What is left to write at the end, once the other parts were handed on.
    pub fn rest(&mut self) -> Written {
        Written {
            whole: std::mem::take(&mut self.whole),
            summaries: std::mem::take(&mut self.summaries.files),
            ycsb: self.ycsb.clone(),
        }
    }
}

/// What is written when the run has ended.
pub struct Written {
    whole: Vec<(Whole, Destination)>,
    summaries: Vec<(PathBuf, Duration)>,
    /// How YCSB's text tells latencies.
    pub ycsb: report::ycsb::Form,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_goes_where_it_was_asked_to_go() {
        let read = |text| summaries(text, "logs", "S").map_err(|error| error.message);
        let both = read("stdout:60,S.summary").expect("two targets");
        assert_eq!(both.after, Some(Duration::from_secs(60)));
        assert_eq!(both.files, [(PathBuf::from("S.summary"), Duration::ZERO)]);
        let named = read("_SESSION_.txt:1m, stderr").expect("two targets");
        assert_eq!(named.files, [(PathBuf::from("S.txt"), Duration::from_secs(60))]);
        assert!(named.to_stderr && named.after.is_none());
        for (text, part) in [
            ("stdout:soon", "soon"),
            (":5", "names no target"),
            ("", "names no target"),
            ("stdout,", "names no target"),
            ("no/such/x.txt", "not a folder"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_bare_interval_is_seconds() {
        assert_eq!(seconds("10"), Ok(Duration::from_secs(10)));
        assert_eq!(seconds("1m"), Ok(Duration::from_secs(60)));
        assert!(seconds("0.5").is_err() && seconds("soon").is_err());
    }
}
