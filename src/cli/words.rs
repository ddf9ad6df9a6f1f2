//! argv → [`Request`]: options by clap, words by the grammar of the reference (verbs, `k=v`, workload names).

use super::outputs::Outputs;
use super::verbs::{self, is_command};
use super::{help, input, ycsb};
use crate::redact;
use crate::session::condition::Condition;
use crate::session::findmax::Search;
use crate::session::{self, parameters, steps};
use crate::span::{Diagnostic, Text, nearest};
use crate::workload::scenario::{self, PlannedStep};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{FromArgMatches, Parser, ValueEnum};
use clap_complete::Shell;
use indexmap::IndexMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Options, which may stand anywhere between the words.
#[derive(Debug, Parser)]
#[command(
    name = "nbrs",
    version,
    about = "Finds out what a MongoDB deployment can take",
    disable_help_subcommand = true,
    args_override_self = false
)]
pub struct Options {
    /// Verbs, workloads, scenarios and k=v parameters
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    /// List the workloads that have scenarios
    #[arg(long, help_heading = "Looking")]
    pub list_workloads: bool,
    /// List the scenarios of all workloads
    #[arg(long, help_heading = "Looking")]
    pub list_scenarios: bool,
    /// List the drivers
    #[arg(long, alias = "list-activity-types", help_heading = "Looking")]
    pub list_drivers: bool,
    /// List the binding functions
    #[arg(long, help_heading = "Looking")]
    pub list_functions: bool,
    /// Copy a bundled workload into the working directory
    #[arg(long, value_name = "NAME", help_heading = "Looking")]
    pub copy: Option<String>,
    /// Cycles to evaluate: `0,1,5..10`
    #[arg(long, value_name = "LIST", help_heading = "Looking")]
    pub at: Option<String>,
    /// Evaluate the recipes of a file, one a line
    #[arg(long, value_name = "FILE", help_heading = "Looking")]
    pub from: Option<PathBuf>,
    /// Print JSON
    #[arg(long, help_heading = "Looking")]
    pub json: bool,
    /// Warnings are errors too
    #[arg(long, help_heading = "Looking")]
    pub strict: bool,
    /// Print Markdown
    #[arg(long, help_heading = "Looking")]
    pub markdown: bool,

    /// Take further words from a file, one a line; lines that begin with `#` are comments
    #[arg(long, value_name = "FILE", help_heading = "Words")]
    pub argsfile: Option<PathBuf>,

    /// A folder to look for workloads in; may be given again
    #[arg(long, value_name = "DIR", help_heading = "Words")]
    pub include: Vec<PathBuf>,
    /// Where the embedded server keeps its data
    #[arg(long, value_name = "D", help_heading = "Running")]
    pub data_dir: Option<PathBuf>,
    /// Exit 4 if this holds of the run: `p99>50ms`, `errors>1%`, `rate<95%`, `OP.p99>…`; of a comparison `p99>+10%`, too; may be given again
    #[arg(long, value_name = "COND", help_heading = "Running")]
    pub fail_if: Vec<String>,
    /// compare: write the comparison as a page for browsers; `-` is stdout
    #[arg(long, value_name = "FILE", help_heading = "Reports")]
    pub html: Option<OsString>,
    /// findmax: a condition that a rate has to keep, such as `p99<20ms`; may be given again
    #[arg(long, value_name = "COND", help_heading = "Running")]
    pub keep: Vec<String>,
    /// findmax: the lowest rate of interest; 1 if not given
    #[arg(long, value_name = "R", help_heading = "Running")]
    pub min: Option<String>,
    /// findmax: the highest rate of interest
    #[arg(long, value_name = "R", help_heading = "Running")]
    pub max: Option<String>,
    /// findmax: how long each rate is held; 10s if not given
    #[arg(long, value_name = "TIME", help_heading = "Running")]
    pub hold: Option<String>,
    /// A step that fails does not keep the steps after it from running
    #[arg(long, help_heading = "Running")]
    pub keep_going: bool,
    /// `bar`, `tui` (the whole terminal), `console:1s` (a line per interval), `ycsb:10s` (YCSB's status lines) or
    /// `none`
    #[arg(long, value_name = "MODE", help_heading = "Running")]
    pub progress: Option<String>,
    #[command(flatten)]
    pub outputs: Outputs,

    /// Port to listen on; 0 is any
    #[arg(long, value_name = "P", help_heading = "Server")]
    pub port: Option<u16>,
    /// Empty the data directory
    #[arg(long, help_heading = "Server")]
    pub drop: bool,
}

/// Options of the reference, or that the documentation of nbrs names, which this version has not: refused by name.
const REFUSED_OPTIONS: &[&str] = &[
    "--hdr-digits",
    "--add-labels",
    "--set-labels",
    "--metrics-prefix",
    "--disable-logged-metrics",
    "--report-graphite-to",
    "--show-script",
    "--compile-script",
    "--list-scripts",
    "--list-commands",
    "--list-apps",
    "--logs-level",
    "--logs-max",
    "--log-level-override",
    "--console-pattern",
    "--logfile-pattern",
    "--logging-pattern",
    "--ansi",
    "--show-stacktraces",
    "--annotate",
    "--annotators",
    "--maturity",
    "--statedir",
    "-v",
    "-vv",
    "-vvv",
];

/// Verbs of the command line that this version has not: refused by name.
const REFUSED_VERBS: &[&str] = &["script", "fragment"];

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A live bar where stderr is a terminal, else a line every ten seconds.
    Default,
    Bar,
    /// The whole terminal.
    Live,
    /// A line per interval.
    Lines(Duration),
    /// A status line of YCSB's per interval.
    Ycsb(Duration),
    None,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Request {
    /// No words at all: what to paste first.
    Hello,
    Help(Topic),
    ListWorkloads,
    ListScenarios,
    ListDrivers,
    ListFunctions,
    Copy(String),
    Eval {
        recipe: Option<String>,
        from: Option<PathBuf>,
        at: Option<String>,
        json: bool,
    },
    Show {
        parameters: IndexMap<String, String>,
        json: bool,
    },
    Describe {
        parameters: IndexMap<String, String>,
        json: bool,
    },
    Plan {
        script: Script,
        json: bool,
    },
    Check {
        files: Vec<String>,
        parameters: IndexMap<String, String>,
        strict: bool,
        json: bool,
    },
    Compare {
        files: [String; 2],
    },
    Merge {
        paths: Vec<String>,
    },
    Report {
        file: String,
    },
    Completions(Shell),
    Server {
        port: u16,
        data_dir: Option<PathBuf>,
        drop: bool,
    },
    FindMax {
        parameters: IndexMap<String, String>,
        search: Search,
        progress: ProgressMode,
    },
    Run {
        script: Script,
        progress: ProgressMode,
    },
}

/// What `nbrs help` is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    Everything,
    Verb(String),
    Function(String),
    Functions { markdown: bool },
    Workload(String),
    Driver(String),
}

/// A command line that is no request.
#[derive(Debug)]
pub enum WordsError {
    /// Said by clap: usage errors, and `--help` and `--version`, which are none.
    Clap(clap::Error),
    Usage(Vec<Diagnostic>),
}

impl From<Diagnostic> for WordsError {
    fn from(diagnostic: Diagnostic) -> WordsError {
        WordsError::Usage(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for WordsError {
    fn from(diagnostics: Vec<Diagnostic>) -> WordsError {
        WordsError::Usage(diagnostics)
    }
}

/// Reads `args` (the first is the program's name).
pub fn parse(args: &[OsString]) -> Result<(Options, Request), WordsError> {
    let args = with_args_files(args)?;
    let (args, ycsb) = match ycsb::take(&args)? {
        Some((left, line)) => (left, Some(line)),
        None => (args, None),
    };
    for arg in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        let name = arg.split('=').next().unwrap_or("");
        if REFUSED_OPTIONS.contains(&name) {
            let help = match name {
                "--show-script" => "`nbrs plan WORKLOAD SCENARIO` prints what the steps come to",
                "-v" | "-vv" | "-vvv" => {
                    "a run says what it does on stderr and in its log: `--logs-dir`, `--progress`"
                }
                _ => "`nbrs --help` lists what there is",
            };
            let error = Diagnostic::error(format!("this version of nbrs has no option `{name}`"));
            return Err(error.help(help).into());
        }
    }
    let matches = help::command().try_get_matches_from(&args).map_err(unknown_option)?;
    let mut options = Options::from_arg_matches(&matches).map_err(WordsError::Clap)?;
    let given: Vec<&str> = matches
        .ids()
        .map(clap::Id::as_str)
        .filter(|id| !["words", "Options", "Outputs"].contains(id))
        .filter(|id| matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine))
        .collect();
    let request = match ycsb {
        Some(line) => {
            only(&given, "ycsb", verbs::RUN_OPTIONS)?;
            let asked = line.asked(&options.include, options.progress.as_deref())?;
            options.outputs.report_ycsb_to.get_or_insert(asked.export);
            options.outputs.ycsb = asked.form;
            // As with YCSB, nothing but its text stands on standard output.
            options.outputs.report_summary_to.get_or_insert_with(|| "stderr".to_owned());
            Request::Run { script: asked.script, progress: asked.progress }
        }
        None => request(&options, &given)?,
    };
    Ok((options, request))
}

/// An option that there is none of, with the nearest that there is; what else clap says, as it says it.
fn unknown_option(error: clap::Error) -> WordsError {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given,
        _ => return WordsError::Clap(error),
    };
    let name = given.split('=').next().unwrap_or(given);
    let command = help::command();
    let known: Vec<String> =
        command.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    Diagnostic::error(format!("there is no option `{name}`"))
        .suggest(name, known.iter().map(String::as_str), "`nbrs --help` lists them")
        .into()
}

/// The longest file of arguments.
const MAX_ARGS_FILE: u64 = 1_000_000;

/// `args` with each `--argsfile FILE` replaced by the arguments in that file, one a line. An option and its
/// value may share a line.
fn with_args_files(args: &[OsString]) -> Result<Vec<OsString>, Diagnostic> {
    let mut out = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let file = match arg.to_str() {
            Some("--argsfile") => args.next().cloned().ok_or_else(|| {
                Diagnostic::error("`--argsfile` needs the name of a file").help("--argsfile my.args")
            })?,
            Some(text) => match text.strip_prefix("--argsfile=") {
                Some(file) => OsString::from(file),
                None => {
                    out.push(arg.clone());
                    continue;
                }
            },
            None => {
                out.push(arg.clone());
                continue;
            }
        };
        let shown = file.to_string_lossy().into_owned();
        let text = input::read(file.as_ref(), MAX_ARGS_FILE)
            .and_then(|text| match text.contains('\0') {
                true => Err(std::io::Error::other("this is no file of arguments, one a line")),
                false => Ok(text),
            })
            .map_err(|error| Diagnostic::error(format!("--argsfile: cannot read `{shown}`: {error}")))?;
        let whole = Text::of_source(shown, text.as_str());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let word = line.trim();
            let at = whole.locate(start..start + line.len());
            start += line.len();
            if word.is_empty() || word.starts_with('#') {
                continue;
            }
            if word.starts_with("--argsfile") {
                return Err(Diagnostic::error("a file of arguments names another one")
                    .at(at)
                    .help("give both on the command line"));
            }
            match word.split_once(char::is_whitespace) {
                Some((option, value)) if option.starts_with("--") && !option.contains('=') => {
                    out.extend([OsString::from(option), OsString::from(value.trim_start())]);
                }
                _ => out.push(OsString::from(word)),
            }
        }
    }
    Ok(out)
}

fn request(options: &Options, given: &[&str]) -> Result<Request, WordsError> {
    let lists = [
        (options.list_workloads, Request::ListWorkloads),
        (options.list_scenarios, Request::ListScenarios),
        (options.list_drivers, Request::ListDrivers),
        (options.list_functions, Request::ListFunctions),
    ];
    for (asked, request) in lists {
        if asked {
            no_words(options, "a list takes no words")?;
            only(
                given,
                "a list",
                &["list_workloads", "list_scenarios", "list_drivers", "list_functions", "include"],
            )?;
            return Ok(request);
        }
    }
    if let Some(name) = &options.copy {
        no_words(options, "`--copy NAME` takes no other words")?;
        only(given, "--copy", &["copy", "include"])?;
        return Ok(Request::Copy(name.clone()));
    }
    let Some(first) = options.words.first() else {
        if let Some(lone) = given.first() {
            return Err(Diagnostic::error(format!("`--{}` alone asks for nothing", dashed(lone)))
                .help("name a workload, or see `nbrs --help`")
                .into());
        }
        return Ok(Request::Hello);
    };
    let rest = &options.words[1..];
    let takes = verbs::find(first).map_or(verbs::RUN_OPTIONS, |verb| verb.options);
    if !REFUSED_VERBS.contains(&first.as_str()) {
        only(given, verbs::find(first).map_or("a run", |verb| verb.name), takes)?;
    }
    match first.as_str() {
        "help" => Ok(Request::Help(topic(rest, options.markdown)?)),
        "completions" => match rest {
            [shell] => {
                Ok(Request::Completions(Shell::from_str(shell, false).map_err(|_| shells(Some(shell)))?))
            }
            [] => Err(shells(None).into()),
            [_, extra, ..] => {
                Err(Diagnostic::error(format!("`completions` takes one word; `{extra}` is one too many"))
                    .into())
            }
        },
        "eval" => {
            if let Some(extra) = rest.get(1) {
                return Err(Diagnostic::error(format!(
                    "`eval` takes one recipe; `{extra}` is one word too many"
                ))
                .help("put the recipe in quotes: nbrs eval 'Mod(10); ToString()'")
                .into());
            }
            match (rest.first(), &options.from) {
                (None, None) => Err(Diagnostic::error("`eval` needs a recipe or --from FILE")
                    .help("nbrs eval 'Hash(); Mod(100)' --at 0..5")
                    .into()),
                (Some(_), Some(_)) => {
                    Err(Diagnostic::error("`eval` takes a recipe or --from FILE, not both").into())
                }
                (recipe, from) => Ok(Request::Eval {
                    recipe: recipe.cloned(),
                    from: from.clone(),
                    at: options.at.clone(),
                    json: options.json,
                }),
            }
        }
        "show" | "describe" => {
            let (parameters, left) = take_parameters(rest)?;
            if let Some(extra) = left.first() {
                return Err(Diagnostic::error(format!("`{first}` takes k=v words only, not `{extra}`"))
                    .help(format!("nbrs {first} {}", as_workload(extra)))
                    .into());
            }
            let json = options.json;
            Ok(if first == "show" {
                Request::Show { parameters, json }
            } else {
                Request::Describe { parameters, json }
            })
        }
        "server" => {
            if let Some(extra) = rest.first() {
                return Err(Diagnostic::error(format!("`server` takes options only, not `{extra}`"))
                    .help("nbrs server --port 27017 --data-dir ./data")
                    .into());
            }
            Ok(Request::Server {
                port: options.port.unwrap_or(0),
                data_dir: options.data_dir.clone(),
                drop: options.drop,
            })
        }
        "compare" => match rest {
            [a, b] => Ok(Request::Compare { files: [a.clone(), b.clone()] }),
            _ => Err(Diagnostic::error("`compare` needs two result files")
                .help("nbrs compare A.json B.json, each made by --report-json-to")
                .into()),
        },
        "merge" | "report"
            if options.outputs.whole().is_empty() && options.outputs.report_summary_to.is_none() =>
        {
            Err(Diagnostic::error(format!("`{first}` has nothing to write"))
                .help(format!("nbrs {first} RESULT.json --report-html-to result.html"))
                .into())
        }
        "merge" => match rest {
            [] => Err(Diagnostic::error("`merge` needs result files, or folders of them")
                .help("nbrs merge part-1.json part-2.json --report-json-to whole.json")
                .into()),
            paths => Ok(Request::Merge { paths: paths.to_vec() }),
        },
        "report" => match rest {
            [file] => Ok(Request::Report { file: file.clone() }),
            _ => Err(Diagnostic::error("`report` needs one result file")
                .help("nbrs report result.json --report-html-to result.html")
                .into()),
        },
        verb if REFUSED_VERBS.contains(&verb) => {
            Err(Diagnostic::error(format!("this version of nbrs has no verb `{verb}`"))
                .help(format!("`nbrs --help` lists what there is; ./{verb}.yaml reaches a file of that name"))
                .into())
        }
        "plan" => {
            if rest.is_empty() {
                return Err(Diagnostic::error("`plan` needs a workload")
                    .help("nbrs plan mongodb-keyvalue2 default rampup-cycles=10k")
                    .into());
            }
            let script = Script::read(rest, &options.include)?;
            Ok(Request::Plan { script, json: options.json })
        }
        "check" => {
            let count = rest.iter().take_while(|word| !is_parameter(word)).count();
            let (files, rest) = rest.split_at(count);
            let (parameters, left) = take_parameters(rest)?;
            if let Some(extra) = left.first() {
                return Err(Diagnostic::error(format!("`{extra}` stands behind k=v words"))
                    .help("files first: nbrs check FILE… [k=v…]")
                    .into());
            }
            if files.is_empty() {
                return Err(Diagnostic::error("`check` needs a file").help("nbrs check carts.yaml").into());
            }
            let files = files.to_vec();
            Ok(Request::Check { files, parameters, strict: options.strict, json: options.json })
        }
        "findmax" => {
            let (parameters, left) = take_parameters(rest)?;
            if let Some(extra) = left.first() {
                return Err(Diagnostic::error(format!("`findmax` takes k=v words only, not `{extra}`"))
                    .help(format!("nbrs findmax --keep 'p99<20ms' {}", as_workload(extra)))
                    .into());
            }
            let progress = progress_mode(options.progress.as_deref())?;
            Ok(Request::FindMax { parameters, search: search(options)?, progress })
        }
        _ => {
            let progress = progress_mode(options.progress.as_deref())?;
            Ok(Request::Run { script: Script::read(&options.words, &options.include)?, progress })
        }
    }
}

/// `workload=NAME` as a shell takes it.
fn as_workload(name: &str) -> String {
    let name = if name.is_empty() { "NAME" } else { name };
    redact::command_line(&[format!("workload={name}")])
}

/// `k=v`, and not the path of a file.
fn is_parameter(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '\\']))
}

fn topic(words: &[String], markdown: bool) -> Result<Topic, Diagnostic> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let topic = match words.as_slice() {
        [] => Topic::Everything,
        ["functions"] => Topic::Functions { markdown },
        ["function", name] => Topic::Function((*name).to_owned()),
        ["workload", name] => Topic::Workload((*name).to_owned()),
        ["driver", name] => Topic::Driver((*name).to_owned()),
        [verb] if verbs::find(verb).is_some() => Topic::Verb((*verb).to_owned()),
        [kind @ ("function" | "workload" | "driver")] => {
            return Err(Diagnostic::error(format!("`help {kind}` needs a name"))
                .help(format!("`nbrs --list-{kind}s` lists them")));
        }
        [other, ..] => {
            let known = verbs::VERBS.iter().map(|verb| verb.name);
            let kinds = ["functions", "function", "workload", "driver"];
            return Err(Diagnostic::error(format!("there is no help on `{}`", words.join(" "))).suggest(
                other,
                known.chain(kinds),
                "nbrs help [VERB], nbrs help function NAME, nbrs help workload NAME, nbrs help driver NAME",
            ));
        }
    };
    if markdown && !matches!(topic, Topic::Functions { .. }) {
        return Err(Diagnostic::error("`--markdown` goes with `nbrs help functions`"));
    }
    Ok(topic)
}

fn shells(given: Option<&str>) -> Diagnostic {
    let error = match given {
        Some(shell) => Diagnostic::error(format!("there are no completions for the shell `{shell}`")),
        None => Diagnostic::error("`completions` needs the name of a shell"),
    };
    let names: Vec<String> = Shell::value_variants().iter().map(Shell::to_string).collect();
    error.help(format!("there are {}", names.join(", ")))
}

fn dashed(id: &str) -> String {
    id.replace('_', "-")
}

fn no_words(options: &Options, message: &str) -> Result<(), Diagnostic> {
    match options.words.first() {
        None => Ok(()),
        Some(word) => Err(Diagnostic::error(format!("{message}, not `{word}`"))),
    }
}

/// Nothing is silently ignored: an option that has no meaning for a verb is an error.
fn only(given: &[&str], verb: &str, taken: &[&str]) -> Result<(), Diagnostic> {
    match given.iter().find(|id| !taken.contains(id)) {
        None => Ok(()),
        Some(id) => {
            let takes: Vec<String> = taken.iter().map(|id| format!("--{}", dashed(id))).collect();
            let error = Diagnostic::error(format!("`--{}` has no meaning for {verb}", dashed(id)));
            Err(if takes.is_empty() {
                error
            } else {
                error.help(format!("{verb} takes {}", takes.join(", ")))
            })
        }
    }
}

/// What `findmax` looks for.
fn search(options: &Options) -> Result<Search, Diagnostic> {
    let keep = options.keep.iter().map(|text| Condition::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if keep.is_empty() {
        return Err(Diagnostic::error("`findmax` needs --keep: what a rate has to keep")
            .help("nbrs findmax --keep 'p99<20ms' --keep 'errors<1%' k=v…"));
    }
    let rate = |option: &str, text: &Option<String>, default: f64| match text {
        None => Ok(default),
        Some(text) => crate::units::rate(text)
            .map(|rate| rate.per_second)
            .map_err(|error| Diagnostic::error(format!("`--{option} {text}`: {error}"))),
    };
    let (min, max) = (rate("min", &options.min, 1.0)?, rate("max", &options.max, f64::INFINITY)?);
    if min > max {
        return Err(Diagnostic::error("`--min` is over `--max`").help("rates between them are searched"));
    }
    let hold = match &options.hold {
        None => Duration::from_secs(10),
        Some(text) => {
            crate::units::duration(text).ok().filter(|hold| *hold >= Duration::from_millis(100)).ok_or_else(
                || Diagnostic::error(format!("`--hold {text}`: a time of at least 100 ms, such as 10s")),
            )?
        }
    };
    Ok(Search { keep, min, max, hold })
}

pub(super) fn progress_mode(text: Option<&str>) -> Result<ProgressMode, Diagnostic> {
    let Some(text) = text else { return Ok(ProgressMode::Default) };
    let (mode, interval) =
        text.split_once(':').map_or((text, None), |(mode, interval)| (mode, Some(interval)));
    let wrong = |why: String| {
        Diagnostic::error(format!("`--progress {text}`: {why}"))
            .help("bar, tui, console:1s, ycsb:10s or none")
    };
    let every = |interval: &str| match crate::units::duration(interval) {
        Ok(every) if every < Duration::from_millis(100) => {
            Err(wrong("an interval is at least 100ms".to_owned()))
        }
        Ok(every) => Ok(every),
        Err(error) => Err(wrong(error.to_string())),
    };
    match (mode, interval) {
        ("console", interval) => Ok(ProgressMode::Lines(every(interval.unwrap_or("1m"))?)),
        ("ycsb", interval) => Ok(ProgressMode::Ycsb(every(interval.unwrap_or("10s"))?)),
        ("bar", None) => Ok(ProgressMode::Bar),
        ("none", None) => Ok(ProgressMode::None),
        ("tui", None) => Ok(ProgressMode::Live),
        ("bar" | "none" | "tui", Some(_)) => Err(wrong(format!("`{mode}` takes no interval"))),
        _ => Err(wrong(format!("there is no mode `{mode}`"))),
    }
}

/// `k=v` words from the front of `words`, and what is left. The value is everything after the first `=`.
fn take_parameters(words: &[String]) -> Result<(IndexMap<String, String>, &[String]), Diagnostic> {
    let mut parameters = IndexMap::new();
    for (at, word) in words.iter().enumerate() {
        let Some((name, value)) = word.split_once('=') else { return Ok((parameters, &words[at..])) };
        if name.is_empty() {
            return Err(Diagnostic::error(format!("`{word}` has no name before the `=`")));
        }
        if value.is_empty()
            && parameters::CORE.iter().any(|row| row.name == name || row.synonyms.contains(&name))
        {
            return Err(Diagnostic::error(format!("`{word}` has no value")));
        }
        if parameters.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Diagnostic::error(format!("parameter `{name}` is given twice in one command"))
                .help("give it once"));
        }
    }
    Ok((parameters, &[]))
}

/// One command of a run.
#[derive(Debug, Clone)]
pub enum Scripted {
    /// `run k=v…` or `start k=v…`.
    Activity { verb: String, parameters: IndexMap<String, String> },
    /// `await`, `stop`, `forceStop` or `waitmillis`, and its word.
    Simple { verb: String, argument: String },
    /// From a scenario.
    Step(PlannedStep),
}

/// The commands of a run in order, with the steps of named scenarios worked out.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub commands: Vec<Scripted>,
    pub notices: Vec<Diagnostic>,
}

impl Script {
    /// The steps of scenarios, worked out.
    pub fn of(steps: Vec<PlannedStep>, notices: Vec<Diagnostic>) -> Script {
        Script { commands: steps.into_iter().map(Scripted::Step).collect(), notices }
    }

    fn read(words: &[String], includes: &[PathBuf]) -> Result<Script, WordsError> {
        let mut script = Script::default();
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            match word.as_str() {
                "run" | "start" => {
                    let (parameters, left) = take_parameters(after)?;
                    if let Some(extra) = left.first().filter(|w| !is_command(w) && parameters.is_empty()) {
                        return Err(Diagnostic::error(format!("`{word}` takes k=v words, not `{extra}`"))
                            .help(format!("nbrs {word} {}", as_workload(extra)))
                            .into());
                    }
                    script.commands.push(Scripted::Activity { verb: word.clone(), parameters });
                    rest = left;
                }
                "wait" => {
                    let (params, left) = take_parameters(after)?;
                    scenario::pause(&params)?;
                    let step = PlannedStep { verb: word.clone(), params, ..PlannedStep::default() };
                    script.commands.push(Scripted::Step(step));
                    rest = left;
                }
                verb if verbs::RUN_VERBS.contains(&verb) => {
                    let Some((argument, left)) = after.split_first() else {
                        let what = if word == "waitmillis" { "a number of milliseconds" } else { "an alias" };
                        return Err(Diagnostic::error(format!("`{word}` needs {what}")).into());
                    };
                    let named = argument.strip_prefix("activity=").filter(|_| verb == "await");
                    let argument = named.unwrap_or(argument);
                    steps::simple(word, argument, None)?;
                    script
                        .commands
                        .push(Scripted::Simple { verb: word.clone(), argument: argument.to_owned() });
                    rest = left;
                }
                _ if word.contains('=') => {
                    return Err(Diagnostic::error(format!("`{word}` stands before any command"))
                        .help(format!("nbrs run {word} …"))
                        .into());
                }
                _ if verbs::find(word).is_some() => {
                    return Err(Diagnostic::error(format!("`{word}` must be the first word")).into());
                }
                _ => {
                    let names: Vec<String> =
                        after.iter().take_while(|w| !w.contains('=') && !is_command(w)).cloned().collect();
                    let (user, left) = take_parameters(&after[names.len()..])?;
                    let plan = steps::plan(word, &names, &user, includes)
                        .map_err(|errors| could_not_recognise(word, errors))?;
                    script.commands.extend(plan.steps.into_iter().map(Scripted::Step));
                    script.notices.extend(plan.notices);
                    rest = left;
                }
            }
        }
        Ok(script)
    }

    /// The commands of the session.
    pub fn commands(self) -> Result<Vec<session::Command>, Diagnostic> {
        let command = |scripted| match scripted {
            Scripted::Activity { verb, parameters } => Ok(session::Command::Activity {
                request: Box::new(session::prepare::Request::of(parameters)),
                wait: verb == "run",
            }),
            Scripted::Simple { verb, argument } => steps::simple(&verb, &argument, None),
            Scripted::Step(step) => steps::command(step),
        };
        self.commands.into_iter().map(command).collect()
    }
}

/// A word that is neither verb nor workload: say which verb it is near to.
fn could_not_recognise(word: &str, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let Some(verb) = nearest(word, verbs::names()).first()
        && let Some(error) = errors.first_mut()
        && error.location.is_none()
    {
        let verb_help = format!("did you mean the verb `{verb}`?");
        error.help = Some(match error.help.take() {
            Some(help) => format!("{verb_help} {help}"),
            None => verb_help,
        });
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Request, String> {
        let args: Vec<OsString> =
            std::iter::once("nbrs").chain(line.split(' ')).map(OsString::from).collect();
        parse(&args).map(|(_, request)| request).map_err(|error| match error {
            WordsError::Clap(error) => error.to_string(),
            WordsError::Usage(errors) => {
                errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; ")
            }
        })
    }

    #[test]
    fn a_value_is_everything_after_the_first_equals_sign() {
        let Ok(Request::Run { script, .. }) = read("run workload=w connection=mongodb://h/?a=b&c=d") else {
            panic!("a run")
        };
        let Scripted::Activity { parameters, .. } = &script.commands[0] else { panic!("run") };
        assert_eq!(parameters["connection"], "mongodb://h/?a=b&c=d");
    }

    #[test]
    fn commands_follow_each_other() {
        let Ok(Request::Run { script, .. }) =
            read("start workload=w alias=a waitmillis 50 stop a,b run workload=v await a")
        else {
            panic!("a run")
        };
        let commands = script.commands().expect("they can be read");
        assert_eq!(commands.len(), 5);
        assert!(matches!(&commands[0], session::Command::Activity { wait: false, .. }));
        assert!(matches!(&commands[1], session::Command::Wait(time) if time.as_millis() == 50));
        assert!(matches!(&commands[2], session::Command::Stop { patterns, .. } if patterns.len() == 2));
        assert!(matches!(&commands[4], session::Command::Await { alias, .. } if alias == "a"));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_that_says_so() {
        for (line, part) in [
            ("run workload=w threads=1 threads=2", "given twice"),
            ("run =5", "no name before"),
            ("run threads=", "has no value"),
            ("workload=w", "stands before any command"),
            ("eval", "needs a recipe"),
            ("eval Mod(5) ToString()", "one word too many"),
            ("eval Mod(5) --port 5", "has no meaning"),
            ("show workload=w extra", "k=v words only"),
            ("plan", "needs a workload"),
            ("check", "needs a file"),
            ("check f.yaml a=1 g.yaml", "behind k=v words"),
            ("run workload=w --strict", "no meaning for run"),
            ("completions", "needs the name of a shell"),
            ("completions tcsh", "no completions for the shell `tcsh`"),
            ("help function", "needs a name"),
            ("help me", "no help on `me`"),
            ("help ", "no help on ``"),
            ("help run --markdown", "goes with"),
            ("--argsfile", "needs the name of a file"),
            ("server now", "options only"),
            ("compare a.json", "two result files"),
            ("merge a.json b.json", "nothing to write"),
            ("report --report-html-to x.html", "needs one result file"),
            ("findmax cycles=5", "`findmax` needs --keep"),
            ("findmax w --keep p99<5ms", "takes k=v words only, not `w`"),
            ("findmax --keep p99 cycles=5", "it compares nothing"),
            ("findmax --keep p99<5ms --min 5 --max 2 cycles=5", "`--min` is over `--max`"),
            ("findmax --keep p99<5ms --max fast cycles=5", "`--max fast`"),
            ("findmax --keep p99<5ms --hold 1ms cycles=5", "`--hold 1ms`"),
            ("run workload=w --keep p99<5ms", "`--keep` has no meaning for run"),
            ("run workload=w --report-graphite-to x:1", "no option `--report-graphite-to`"),
            ("run workload=w --progress tui:1s", "`tui` takes no interval"),
            ("run workload=w --progress sometimes", "no mode"),
            ("await", "needs an alias"),
            ("waitmillis soon", "not a number"),
            ("--json", "asks for nothing"),
            ("--nonsense", "--nonsense"),
        ] {
            let error = read(line).err().unwrap_or_else(|| panic!("`{line}` should be refused"));
            assert!(error.contains(part), "`{line}`: {error}");
        }
    }

    #[test]
    fn an_option_may_stand_anywhere() {
        for line in [
            "--progress none run workload=w",
            "run --progress none workload=w",
            "run workload=w --progress=none",
        ] {
            assert!(matches!(read(line), Ok(Request::Run { progress: ProgressMode::None, .. })), "{line}");
        }
    }
}
