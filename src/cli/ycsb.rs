//! `nbrs ycsb load|run mongodb …`: YCSB's command line and properties → the scenario of its core workload.
//!
//! Properties are the workload's template variables, or become parameters of nbrs, or are refused with what they
//! would need; none is dropped without a word.

use super::help;
use super::words::{Script, WordsError, progress_mode};
use crate::report::ycsb::{Form, Intended, Measurement};
use crate::session::steps;
use crate::span::{Diagnostic, nearest};
use crate::units;
use indexmap::IndexMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The bundled workload.
const WORKLOAD: &str = "mongodb-ycsb";

/// What stands behind `ycsb`, but for the options that nbrs itself has.
#[derive(Debug, Default, PartialEq)]
pub struct CommandLine {
    /// `load` or `run`, and the database.
    words: Vec<String>,
    /// `k=v` words: parameters of nbrs.
    parameters: IndexMap<String, String>,
    files: Vec<String>,
    /// Of `-p`, `-threads` and `-target`, which count before files.
    properties: IndexMap<String, String>,
    status: bool,
    /// Options that mean something to the virtual machine of YCSB alone.
    idle: Vec<String>,
}

/// What the command line comes to.
pub struct Asked {
    pub script: Script,
    pub progress: super::words::ProgressMode,
    /// Where YCSB's text goes.
    pub export: OsString,
    pub form: Form,
}

/// Takes YCSB's options out of `args` (the first is the program's name) where the verb is `ycsb`. What is left is
/// for the parser of nbrs' own options.
pub fn take(args: &[OsString]) -> Result<Option<(Vec<OsString>, CommandLine)>, Diagnostic> {
    let Some(verb) = verb(args) else { return Ok(None) };
    let mut left: Vec<OsString> = args[..=verb].to_vec();
    let mut line = CommandLine::default();
    let mut rest = args[verb + 1..].iter();
    while let Some(arg) = rest.next() {
        let Some(text) = arg.to_str() else {
            return Err(Diagnostic::error(format!("`{}` is not UTF-8 text", arg.to_string_lossy())));
        };
        let mut value = |what: &str| {
            let value = rest.next().and_then(|value| value.to_str());
            value.map(str::to_owned).ok_or_else(|| Diagnostic::error(format!("`{text}` needs {what}")))
        };
        match text {
            "-s" => line.status = true,
            "-P" => line.files.push(value("the name of a file")?),
            "-p" => {
                let pair = value("a property: -p recordcount=1000")?;
                let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.trim().is_empty())
                else {
                    return Err(Diagnostic::error(format!("`-p {pair}` is no `name=value`")));
                };
                line.properties.insert(name.trim().to_owned(), value.to_owned());
            }
            "-threads" => drop(line.properties.insert("threadcount".to_owned(), value("a number")?)),
            "-target" => drop(line.properties.insert("target".to_owned(), value("operations per second")?)),
            "-l" => drop(line.properties.insert("label".to_owned(), value("a label")?)),
            "-cp" | "-jvm-args" => {
                value("a value")?;
                line.idle.push(text.to_owned());
            }
            _ if text.starts_with("-jvm-args=") => line.idle.push("-jvm-args".to_owned()),
            _ if text.starts_with("--") || text == "-h" => {
                left.push(arg.clone());
                if takes_next(text) {
                    left.extend(rest.next().cloned());
                }
            }
            _ if text.starts_with('-') => {
                return Err(Diagnostic::error(format!("`ycsb` has no option `{text}`"))
                    .help("there are -P FILE, -p NAME=VALUE, -s, -threads N and -target N"));
            }
            _ => match text.split_once('=') {
                Some((name, value)) => {
                    if line.parameters.insert(name.to_owned(), value.to_owned()).is_some() {
                        return Err(Diagnostic::error(format!("parameter `{name}` is given twice")));
                    }
                }
                None => line.words.push(text.to_owned()),
            },
        }
    }
    Ok(Some((left, line)))
}

/// Whether the word after this option of nbrs is its value.
fn takes_next(option: &str) -> bool {
    let Some(name) = option.strip_prefix("--") else { return false };
    let command = help::command();
    let mut known = command.get_arguments().filter(|row| row.get_long() == Some(name));
    known.any(|row| row.get_action().takes_values())
}

/// The position of the word `ycsb`, if it is the first that is neither an option nor an option's value.
fn verb(args: &[OsString]) -> Option<usize> {
    let mut at = 1;
    while let Some(text) = args.get(at)?.to_str() {
        match text {
            "ycsb" => return Some(at),
            _ if !text.starts_with("--") => return None,
            _ => at += 1 + usize::from(takes_next(text)),
        }
    }
    None
}

/// What a property is for.
enum Use {
    /// A template variable of the workload: a whole number, a number, true or false, or a name.
    Count,
    Number,
    Flag,
    Name,
    /// Read below.
    Read,
    /// Without effect here, as long as it has this value.
    Only(&'static str, &'static str),
    /// Nothing that a test depends on.
    Idle,
}

/// The properties of YCSB's client, core workload, measurements and MongoDB binding.
static PROPERTIES: &[(&str, Use)] = &[
    ("recordcount", Use::Count),
    ("operationcount", Use::Count),
    ("insertcount", Use::Count),
    ("insertstart", Use::Count),
    ("zeropadding", Use::Count),
    ("fieldcount", Use::Count),
    ("fieldlength", Use::Count),
    ("minfieldlength", Use::Count),
    ("minscanlength", Use::Count),
    ("maxscanlength", Use::Count),
    ("batchsize", Use::Count),
    ("readproportion", Use::Number),
    ("updateproportion", Use::Number),
    ("insertproportion", Use::Number),
    ("scanproportion", Use::Number),
    ("readmodifywriteproportion", Use::Number),
    ("hotspotdatafraction", Use::Number),
    ("hotspotopnfraction", Use::Number),
    ("exponential.percentile", Use::Number),
    ("exponential.frac", Use::Number),
    ("readallfields", Use::Flag),
    ("writeallfields", Use::Flag),
    ("mongodb.upsert", Use::Flag),
    ("table", Use::Name),
    ("fieldnameprefix", Use::Name),
    ("insertorder", Use::Name),
    ("requestdistribution", Use::Name),
    ("scanlengthdistribution", Use::Name),
    ("fieldlengthdistribution", Use::Name),
    ("threadcount", Use::Read),
    ("target", Use::Read),
    ("maxexecutiontime", Use::Read),
    ("workload", Use::Read),
    ("exportfile", Use::Read),
    ("exporter", Use::Read),
    ("status.interval", Use::Read),
    ("measurementtype", Use::Read),
    ("measurement.interval", Use::Read),
    ("hdrhistogram.percentiles", Use::Read),
    ("measurement.histogram.verbose", Use::Read),
    ("histogram.buckets", Use::Read),
    ("timeseries.granularity", Use::Read),
    ("mongodb.url", Use::Read),
    ("mongodb.writeConcern", Use::Read),
    ("mongodb.readPreference", Use::Read),
    ("mongodb.maxconnections", Use::Read),
    ("core_workload_insertion_retry_limit", Use::Read),
    ("core_workload_insertion_keep_going_on_error", Use::Read),
    (
        "dataintegrity",
        Use::Only("false", "values that can be recomputed from the key and a check of each read"),
    ),
    ("readallfieldsbyname", Use::Only("false", "a projection that names all fields")),
    ("dotransactions", Use::Only("", "no property: `nbrs ycsb load` loads and `nbrs ycsb run` runs")),
    ("measurement.trackjvm", Use::Only("false", "a Java virtual machine, which nbrs is not run by")),
    (
        "reportlatencyforeacherror",
        Use::Only("false", "latencies of each error apart: --report-json-to has errors by name"),
    ),
    (
        "latencytrackederrors",
        Use::Only("", "latencies of each error apart: --report-json-to has errors by name"),
    ),
    (
        "fieldlengthhistogram",
        Use::Only("hist.txt", "lengths from a histogram file: constant, uniform or zipfian are built"),
    ),
    ("core_workload_insertion_retry_interval", Use::Idle),
    ("hdrhistogram.fileoutput", Use::Idle),
    ("hdrhistogram.output.path", Use::Idle),
    ("columnfamily", Use::Idle),
    ("maxscanrate", Use::Idle),
    ("scanoptimelimit", Use::Idle),
    ("discardscannedrecord", Use::Idle),
    ("status", Use::Idle),
    ("label", Use::Idle),
    ("db", Use::Idle),
];

impl CommandLine {
    /// The commands that it asks for.
    pub fn asked(&self, includes: &[PathBuf], progress: Option<&str>) -> Result<Asked, WordsError> {
        let load = self.phase()?;
        let mut notices: Vec<Diagnostic> = self
            .idle
            .iter()
            .map(|option| Diagnostic::warning(format!("`{option}` is for Java, and has no effect here")))
            .collect();
        let mut properties = self.read_files(&mut notices)?;
        properties.extend(self.properties.iter().map(|(name, value)| (name.clone(), value.clone())));
        let mut errors = Vec::new();
        let mut user = variables(&properties, &mut errors, &mut notices);
        let given =
            |name: &str| properties.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        translate(load, &given, &mut user, &mut errors);
        let form = match form(&given) {
            Ok(form) => form,
            Err(error) => {
                errors.push(error);
                Form::default()
            }
        };
        if !errors.is_empty() {
            return Err(errors.into());
        }
        for (name, value) in &self.parameters {
            user.insert(name.clone(), value.clone());
        }
        let scenario = if load { "ycsb-load" } else { "ycsb-run" };
        let plan = steps::plan(WORKLOAD, &[scenario.to_owned()], &user, includes)?;
        notices.extend(plan.notices);
        let status = match (progress, self.status) {
            (None, true) => Some(format!("ycsb:{}s", given("status.interval").unwrap_or("10"))),
            (progress, _) => progress.map(str::to_owned),
        };
        Ok(Asked {
            script: Script::of(plan.steps, notices),
            progress: progress_mode(status.as_deref())?,
            export: given("exportfile").unwrap_or("-").into(),
            form,
        })
    }

    /// Whether records are loaded.
    fn phase(&self) -> Result<bool, Diagnostic> {
        let usage = "nbrs ycsb load|run mongodb -P workloads/workloada -p recordcount=1000";
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let wrong = |message: String| Err(Diagnostic::error(message).help(usage));
        match words.as_slice() {
            ["load", "mongodb"] => Ok(true),
            ["run", "mongodb"] => Ok(false),
            ["load" | "run"] => wrong("`ycsb` needs the name of a database, which is `mongodb`".to_owned()),
            ["load" | "run", other] => {
                wrong(format!("`{other}`: nbrs drives MongoDB alone, under the name `mongodb`"))
            }
            ["shell", ..] => wrong("nbrs has no shell of YCSB's: it loads and runs".to_owned()),
            [] => wrong("`ycsb` needs `load` or `run`".to_owned()),
            [_, _, extra, ..] => wrong(format!("`{extra}` is one word too many")),
            [other, ..] => wrong(format!("`ycsb {other}`: there are `load` and `run`")),
        }
    }

    /// The properties of all files, later ones before earlier ones.
    fn read_files(&self, notices: &mut Vec<Diagnostic>) -> Result<IndexMap<String, String>, WordsError> {
        let mut properties = IndexMap::new();
        for name in &self.files {
            let path = Path::new(name);
            match read_properties(path) {
                Ok(pairs) => properties.extend(pairs),
                Err(Unread::Missing) => {
                    let last = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
                    let Some(letter) = last.strip_prefix("workload").filter(|letter| is_mix(letter)) else {
                        return Err(Diagnostic::error(format!("-P: there is no file `{name}`"))
                            .help("workloada to workloadf are built in, where no file has the name")
                            .into());
                    };
                    notices.push(Diagnostic::warning(format!(
                        "there is no file `{name}`: it is taken for YCSB's own {last}, which is built in"
                    )));
                    properties.extend(built_in(letter)?);
                }
                Err(Unread::Bad(why)) => {
                    return Err(Diagnostic::error(format!("-P: cannot read `{name}`: {why}")).into());
                }
            }
        }
        Ok(properties)
    }
}

fn is_mix(letter: &str) -> bool {
    ["a", "b", "c", "d", "e", "f"].contains(&letter)
}

/// The properties of YCSB's own workload: those that the bundled scenario has, and its counts.
fn built_in(letter: &str) -> Result<IndexMap<String, String>, WordsError> {
    let scenario = format!("ycsb-{letter}");
    let plan = steps::plan(WORKLOAD, &[scenario], &IndexMap::new(), &[])?;
    let mut properties: IndexMap<String, String> = ["recordcount", "operationcount"]
        .map(|name| (name.to_owned(), "1000".to_owned()))
        .into_iter()
        .collect();
    let known = |name: &String| PROPERTIES.iter().any(|(known, _)| known == name);
    let params = plan.steps.into_iter().flat_map(|step| step.params);
    properties.extend(params.filter(|(name, _)| known(name) && name != "workload"));
    Ok(properties)
}

enum Unread {
    Missing,
    Bad(String),
}

/// A file of Java's properties.
fn read_properties(path: &Path) -> Result<Vec<(String, String)>, Unread> {
    const MAX_BYTES: u64 = 1_000_000;
    let bad = |why: std::io::Error| match why.kind() {
        std::io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Bad(why.to_string()),
    };
    let about = std::fs::metadata(path).map_err(bad)?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return Err(Unread::Bad("it is no file of properties".to_owned()));
    }
    let file = BufReader::new(File::open(path).map_err(bad)?);
    let mut pairs = Vec::new();
    java_properties::PropertiesIter::new(file)
        .read_into(|name, value| pairs.push((name, value)))
        .map_err(|error| Unread::Bad(error.to_string()))?;
    Ok(pairs)
}

/// The properties that are template variables, checked: what stands in them stands in recipes and commands.
fn variables(
    properties: &IndexMap<String, String>,
    errors: &mut Vec<Diagnostic>,
    notices: &mut Vec<Diagnostic>,
) -> IndexMap<String, String> {
    let mut user = IndexMap::new();
    for (name, text) in properties {
        let value = text.trim();
        let mut wrong = |what: &str| {
            errors.push(Diagnostic::error(format!("property `{name}={value}`: {what}")));
        };
        let Some((_, kind)) = PROPERTIES.iter().find(|(known, _)| known == name) else {
            let notice =
                Diagnostic::warning(format!("property `{name}` is none that nbrs knows, and has no effect"));
            notices.push(match nearest(name, PROPERTIES.iter().map(|(name, _)| *name)).first() {
                Some(near) => notice.help(format!("did you mean `{near}`?")),
                None => notice,
            });
            continue;
        };
        match kind {
            Use::Count => match units::count(value) {
                // YCSB pads to no width as to one.
                Ok(count) if name == "zeropadding" => {
                    drop(user.insert(name.clone(), count.max(1).to_string()))
                }
                Ok(count) => drop(user.insert(name.clone(), count.to_string())),
                Err(error) => wrong(&error.to_string()),
            },
            Use::Number => match value.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => {
                    user.insert(name.clone(), plain(number));
                }
                _ => wrong("a number from 0 up is wanted"),
            },
            Use::Flag => match value.to_lowercase().as_str() {
                flag @ ("true" | "false") => drop(user.insert(name.clone(), flag.to_owned())),
                _ => wrong("true or false is wanted"),
            },
            Use::Name => {
                let odd = value.chars().find(|c| c.is_control() || "'\"\\{}[]#&*!|>%@`,<$".contains(*c));
                match odd {
                    None if value.is_empty() => wrong("a name is missing"),
                    None if value.contains(": ") || value.ends_with(':') => wrong("a name holds no `: `"),
                    None => drop(user.insert(name.clone(), value.to_owned())),
                    Some(c) => wrong(&format!("a name here cannot hold {c:?}")),
                }
            }
            Use::Only(only, needs) if !value.is_empty() && value != *only => {
                wrong(&format!("it would need {needs}"));
            }
            Use::Read | Use::Only(..) => {}
            Use::Idle => notices
                .push(Diagnostic::warning(format!("property `{name}` has no effect on MongoDB by nbrs"))),
        }
    }
    user
}

/// A number without an exponent, to six places.
fn plain(number: f64) -> String {
    let text = format!("{number:.10}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The properties that are parameters of nbrs.
fn translate<'a>(
    load: bool,
    given: &dyn Fn(&str) -> Option<&'a str>,
    user: &mut IndexMap<String, String>,
    errors: &mut Vec<Diagnostic>,
) {
    let mut wrong = |name: &str, what: &str| {
        let value = given(name).unwrap_or_default();
        errors.push(Diagnostic::error(format!("property `{name}={value}`: {what}")));
    };
    let mut set = |name: &str, value: String| drop(user.insert(name.to_owned(), value));
    if let Some(class) = given("workload")
        && !["site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload", "CoreWorkload"]
            .contains(&class)
    {
        wrong("workload", "CoreWorkload is the one that nbrs has");
    }
    if let Some(class) = given("exporter")
        && !class.ends_with(".TextMeasurementsExporter")
    {
        wrong("exporter", "the text is written; --report-json-to FILE writes nbrs' own JSON beside it");
    }
    let whole = |name: &str| given(name).map(|text| units::count(text).map_err(|error| error.to_string()));
    match whole("threadcount") {
        Some(Ok(threads)) if threads > 0 => set("threads", threads.to_string()),
        Some(Ok(_)) => wrong("threadcount", "at least one thread is needed"),
        Some(Err(error)) => wrong("threadcount", &error),
        None => {}
    }
    match whole("target") {
        // As in YCSB, 0 is no target.
        Some(Ok(0)) | None => {}
        // YCSB spaces the ops of a thread evenly and catches up nothing; late starts are late here too.
        Some(Ok(rate)) => set("cyclerate", rate.to_string()),
        Some(Err(error)) => wrong("target", &error),
    }
    let limit = match whole("maxexecutiontime") {
        Some(Ok(0)) | None => false,
        Some(Ok(seconds)) => {
            set("duration", format!("{seconds}s"));
            true
        }
        Some(Err(error)) => {
            wrong("maxexecutiontime", &error);
            false
        }
    };
    let none = |name: &str| given(name).is_none_or(|text| units::count(text) == Ok(0));
    if none("recordcount") {
        errors.push(Diagnostic::error("property `recordcount` is missing").help("-p recordcount=1000"));
    }
    if !load && none("operationcount") {
        if limit {
            set("cycles", "UNDEF".to_owned());
            set("operationcount", "0".to_owned());
        } else {
            errors.push(
                Diagnostic::error("property `operationcount` is missing")
                    .help("-p operationcount=1000, or -p maxexecutiontime=60 for a time"),
            );
        }
    }
    if load {
        let keep_going = given("core_workload_insertion_keep_going_on_error") == Some("true");
        let retries = whole("core_workload_insertion_retry_limit");
        let then = if keep_going { "warn,counter" } else { "stop" };
        match retries {
            Some(Ok(retries)) if retries > 0 => {
                set("errors", format!("retry,{}", if keep_going { "warn,counter" } else { "counter" }));
                set("maxtries", retries.saturating_add(1).to_string());
            }
            Some(Err(error)) => errors
                .push(Diagnostic::error(format!("property `core_workload_insertion_retry_limit`: {error}"))),
            _ => set("errors", then.to_owned()),
        }
    }
    match connection(given) {
        Ok(None) => {}
        Ok(Some((uri, database))) => {
            set("connection", uri);
            set("database", database);
        }
        Err(error) => errors.push(error),
    }
}

/// Where YCSB keeps its table if the URL names no database, or `admin`.
const DATABASE: &str = "ycsb";

/// The connection string and the database. Older properties of the binding become options of the string.
fn connection<'a>(given: &dyn Fn(&str) -> Option<&'a str>) -> Result<Option<(String, String)>, Diagnostic> {
    let mut options: Vec<(&str, String)> = Vec::new();
    if let Some(count) = given("mongodb.maxconnections") {
        options.push(("maxPoolSize", count.to_owned()));
    }
    if let Some(concern) = given("mongodb.writeConcern") {
        let option = match concern.to_lowercase().as_str() {
            "errors_ignored" | "unacknowledged" => ("w", "0"),
            "acknowledged" => ("w", "1"),
            "journaled" => ("journal", "true"),
            "replica_acknowledged" => ("w", "2"),
            "majority" => ("w", "majority"),
            _ => {
                return Err(Diagnostic::error(format!(
                    "property `mongodb.writeConcern={concern}` is none of YCSB's"
                ))
                .help(
                    "there are unacknowledged, acknowledged, journaled, replica_acknowledged and majority",
                ));
            }
        };
        options.push((option.0, option.1.to_owned()));
    }
    if let Some(preference) = given("mongodb.readPreference") {
        let name = match preference.to_lowercase().as_str() {
            "primary" => "primary",
            "primary_preferred" => "primaryPreferred",
            "secondary" => "secondary",
            "secondary_preferred" => "secondaryPreferred",
            "nearest" => "nearest",
            _ => {
                return Err(Diagnostic::error(format!(
                    "property `mongodb.readPreference={preference}` is none of YCSB's"
                ))
                .help("there are primary, primary_preferred, secondary, secondary_preferred and nearest"));
            }
        };
        options.push(("readPreference", name.to_owned()));
    }
    let Some(url) = given("mongodb.url") else {
        return match options.first() {
            None => Ok(None),
            Some((option, _)) => {
                Err(Diagnostic::error(format!("{option} is asked for, but no `mongodb.url`"))
                    .help("-p mongodb.url=mongodb://HOST:27017/ycsb"))
            }
        };
    };
    let mut url = url.to_owned();
    let hosts = url.find("://").map_or(0, |at| at + 3);
    let path = url[hosts..].find(['/', '?']).map(|at| hosts + at);
    let query = url.find('?');
    let database = match path {
        Some(path) if url[path..].starts_with('/') => {
            url[path + 1..query.unwrap_or(url.len()).max(path + 1)].to_owned()
        }
        _ => String::new(),
    };
    for (name, value) in options {
        let is_there = query.is_some_and(|query| {
            url[query + 1..].split('&').any(|pair| pair.split('=').next() == Some(name))
        });
        if is_there {
            continue;
        }
        if path.is_none() && !url[hosts..].contains('/') {
            url.push('/');
        }
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&format!("{name}={value}"));
    }
    let database = if database.is_empty() || database == "admin" { DATABASE.to_owned() } else { database };
    Ok(Some((url, database)))
}

/// How latencies are told.
fn form<'a>(given: &dyn Fn(&str) -> Option<&'a str>) -> Result<Form, Diagnostic> {
    let wrong = |name: &str, what: &str| {
        Diagnostic::error(format!("property `{name}={}`: {what}", given(name).unwrap_or_default()))
    };
    let whole = |name: &str, default: u64| match given(name) {
        None => Ok(default),
        Some(text) => units::count(text)
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| wrong(name, "a whole number from 1 up is wanted")),
    };
    let measurement = match given("measurementtype").unwrap_or("hdrhistogram") {
        "hdrhistogram" => Measurement::Hdr,
        "histogram" => Measurement::Histogram {
            buckets: whole("histogram.buckets", 1000)?,
            verbose: given("measurement.histogram.verbose") == Some("true"),
        },
        "timeseries" => {
            let granularity = whole("timeseries.granularity", 1000)?;
            if granularity % 1000 != 0 {
                return Err(wrong("timeseries.granularity", "nbrs keeps whole seconds: 1000, 2000, …"));
            }
            Measurement::TimeSeries { seconds: granularity / 1000 }
        }
        "raw" | "hdrhistogram+raw" => {
            return Err(wrong("measurementtype", "it would need every latency to be kept")
                .help("--log-histograms FILE keeps a histogram a second, which HdrHistogram's tools read"));
        }
        "hdrhistogram+histogram" => {
            return Err(wrong("measurementtype", "one of the two at a time: hdrhistogram or histogram"));
        }
        _ => return Err(wrong("measurementtype", "there are hdrhistogram, histogram and timeseries")),
    };
    let intended = match given("measurement.interval").unwrap_or("op") {
        "op" => Some(Intended::Without),
        "intended" => Some(Intended::Only),
        "both" => Some(Intended::Both),
        _ => return Err(wrong("measurement.interval", "there are op, intended and both")),
    };
    let percentiles = match given("hdrhistogram.percentiles") {
        None => Form::default().percentiles,
        Some(list) => list
            .split(',')
            .map(|text| {
                let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..=100.0).contains(number));
                number.ok_or_else(|| wrong("hdrhistogram.percentiles", "numbers from 0 to 100, with commas"))
            })
            .collect::<Result<_, _>>()?,
    };
    Ok(Form { measurement, intended, percentiles })
}

#[cfg(test)]
mod tests {
    use super::super::words::Scripted;
    use super::*;

    fn line(text: &str) -> CommandLine {
        let args: Vec<OsString> =
            std::iter::once("nbrs").chain(text.split(' ')).map(OsString::from).collect();
        match take(&args) {
            Ok(Some((_, line))) => line,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// The parameters of the one step that a command line comes to, and the notices.
    fn step(text: &str) -> Result<(IndexMap<String, String>, String), String> {
        let said = |errors: &[Diagnostic]| {
            errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("; ")
        };
        let asked = line(text).asked(&[], None).map_err(|error| match error {
            WordsError::Usage(errors) => said(&errors),
            WordsError::Clap(error) => error.to_string(),
        })?;
        let [Scripted::Step(step)] = asked.script.commands.as_slice() else { panic!("one step") };
        Ok((step.params.clone(), said(&asked.script.notices)))
    }

    #[test]
    fn options_are_taken_from_among_those_of_nbrs() {
        let args = "nbrs --progress none ycsb load mongodb --report-json-to x.json -s -p a=b=c -threads 4 lane=driver";
        let args: Vec<OsString> = args.split(' ').map(OsString::from).collect();
        let (left, line) = take(&args).expect("it is one").expect("it is for YCSB");
        assert_eq!(left.join(OsStr::new(" ")), "nbrs --progress none ycsb --report-json-to x.json");
        assert_eq!(line.words, ["load", "mongodb"]);
        assert!(line.status);
        assert_eq!(line.properties["a"], "b=c");
        assert_eq!(line.properties["threadcount"], "4");
        assert_eq!(line.parameters["lane"], "driver");
        for other in ["nbrs run workload=ycsb", "nbrs ./ycsb.yaml", "nbrs", "nbrs help ycsb"] {
            let args: Vec<OsString> = other.split(' ').map(OsString::from).collect();
            assert!(take(&args).expect("no error").is_none(), "{other}");
        }
    }

    #[test]
    fn properties_become_variables_and_parameters() {
        // Command line, and what its step has.
        let rows: &[(&str, &[(&str, &str)])] = &[
            (
                "ycsb load mongodb -p recordcount=500000 -threads 16 -p mongodb.url=mongodb://h:27017",
                &[
                    ("cycles", "(500000-0)/1"),
                    ("threads", "16"),
                    ("connection", "mongodb://h:27017"),
                    ("database", "ycsb"),
                    ("errors", "stop"),
                    ("tags", "block:load,upsert:false"),
                ],
            ),
            (
                "ycsb load mongodb -p recordcount=1000 -p insertstart=100 -p batchsize=64 -p mongodb.upsert=TRUE",
                &[("cycles", "(1000-100)/64"), ("tags", "block:load,upsert:true"), ("threads", "1")],
            ),
            (
                "ycsb run mongodb -p recordcount=10M -p operationcount=5000000 -p readproportion=50 -p updateproportion=50 \
                 -p requestdistribution=zipfian -p mongodb.url=mongodb://h/admin?maxPoolSize=8000 -p table=test -threads 8000",
                &[
                    ("recordcount", "10000000"),
                    ("cycles", "5000000"),
                    ("readproportion", "50"),
                    ("requestdistribution", "zipfian"),
                    ("database", "ycsb"),
                    ("table", "test"),
                    ("threads", "8000"),
                    ("errors", "warn,counter"),
                ],
            ),
            (
                "ycsb run mongodb -P no/such/workloadd -p recordcount=5 -target 200 -p maxexecutiontime=60",
                &[
                    ("recordcount", "5"),
                    ("operationcount", "1000"),
                    ("requestdistribution", "latest"),
                    ("insertproportion", "0.05"),
                    ("cyclerate", "200"),
                    ("duration", "60s"),
                ],
            ),
            (
                "ycsb run mongodb -p recordcount=5 -p maxexecutiontime=60 -p mongodb.url=mongodb://h/my?w=1 \
                 -p mongodb.writeConcern=majority -p mongodb.readPreference=nearest",
                &[("connection", "mongodb://h/my?w=1&readPreference=nearest"), ("database", "my")],
            ),
            (
                "ycsb run mongodb -p recordcount=5 -p operationcount=1 -p mongodb.url=mongodb://h -p mongodb.writeConcern=journaled",
                &[("connection", "mongodb://h/?journal=true")],
            ),
            (
                "ycsb load mongodb -p recordcount=5 -p core_workload_insertion_retry_limit=3",
                &[("errors", "retry,counter"), ("maxtries", "4")],
            ),
            (
                "ycsb load mongodb -p recordcount=5 -p core_workload_insertion_keep_going_on_error=true",
                &[("errors", "warn,counter")],
            ),
        ];
        for (text, expected) in rows {
            let (params, _) = step(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            for (name, value) in *expected {
                assert_eq!(params.get(*name).map(String::as_str), Some(*value), "{text}: {name}");
            }
        }
        let (params, _) = step("ycsb run mongodb -p recordcount=5 -p maxexecutiontime=60").expect("a run");
        assert!(!params.contains_key("cycles"), "its time ends it");
    }

    #[test]
    fn what_is_not_done_is_said() {
        for (text, part) in [
            ("ycsb", "needs `load` or `run`"),
            ("ycsb load", "needs the name of a database"),
            ("ycsb load cassandra", "drives MongoDB alone"),
            ("ycsb warm mongodb", "there are `load` and `run`"),
            ("ycsb load mongodb now", "one word too many"),
            ("ycsb load mongodb", "`recordcount` is missing"),
            ("ycsb run mongodb -p recordcount=5", "`operationcount` is missing"),
            ("ycsb load mongodb -P no/such/file", "there is no file `no/such/file`"),
            ("ycsb load mongodb -P no/such/workloadg", "there is no file"),
            ("ycsb load mongodb -P .", "no file of properties"),
            ("ycsb load mongodb -p recordcount=five", "`recordcount=five`"),
            ("ycsb load mongodb -p recordcount=5 -p fieldcount=-1", "`fieldcount=-1`"),
            ("ycsb load mongodb -p recordcount=5 -p table=a'b", "cannot hold"),
            ("ycsb load mongodb -p recordcount=5 -p mongodb.upsert=yes", "true or false"),
            ("ycsb load mongodb -p recordcount=5 -p readproportion=NaN", "a number from 0 up"),
            ("ycsb load mongodb -p recordcount=5 -p dataintegrity=true", "recomputed from the key"),
            ("ycsb load mongodb -p recordcount=5 -p measurementtype=raw", "every latency to be kept"),
            ("ycsb load mongodb -p recordcount=5 -p measurement.interval=some", "op, intended and both"),
            (
                "ycsb load mongodb -p recordcount=5 -p workload=site.ycsb.workloads.RestWorkload",
                "CoreWorkload",
            ),
            ("ycsb load mongodb -p recordcount=5 -threads 0", "at least one thread"),
            ("ycsb load mongodb -p recordcount=5 -p mongodb.maxconnections=5", "no `mongodb.url`"),
            ("ycsb load mongodb -p recordcount=5 thraeds=3", "thraeds"),
        ] {
            let error = step(text).err().unwrap_or_else(|| panic!("`{text}` should be refused"));
            assert!(error.contains(part), "{text}: {error}");
        }
        let taken = |text: &str| {
            let args: Vec<OsString> =
                std::iter::once("nbrs").chain(text.split(' ')).map(OsString::from).collect();
            take(&args).err().unwrap_or_else(|| panic!("`{text}` should be refused")).message
        };
        for (text, part) in [
            ("ycsb load mongodb -p", "`-p` needs"),
            ("ycsb load mongodb -p x", "no `name=value`"),
            ("ycsb load mongodb -threads", "`-threads` needs"),
            ("ycsb load mongodb -thread 5", "no option `-thread`"),
        ] {
            assert!(taken(text).contains(part), "{text}: {}", taken(text));
        }
        let notices = |text: &str| step(text).expect("a load").1;
        let text = "ycsb load mongodb -p recordcount=5 -p recrodcount=6 -p columnfamily=x -jvm-args -Xmx4g -P x/workloada";
        let all = notices(text);
        for part in ["`recrodcount`", "`columnfamily`", "`-jvm-args`", "YCSB's own workloada"] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn files_are_javas_properties() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("workloada");
        let text = "# a comment\n! another\nrecordcount = 7\ntable:my\\\n   table\n  fieldcount 3 \n\noperationcount=9\n";
        std::fs::write(&path, text).expect("a file");
        let text = format!("ycsb run mongodb -p operationcount=10 -P {}", path.display());
        let (params, notices) = step(&text).expect("a run");
        assert_eq!(notices, "", "a file of the name is what is meant");
        for (name, value) in
            [("recordcount", "7"), ("table", "mytable"), ("fieldcount", "3"), ("cycles", "10")]
        {
            assert_eq!(params[name], value, "{name}");
        }
    }
}
