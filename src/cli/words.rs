//! argv → [`Request`]: options by clap, words by the grammar of the reference (verbs, `k=v`, workload names).

use crate::session::{self, parameters};
use crate::span::{Diagnostic, nearest};
use crate::workload::{self, LoadOptions, scenario};
use clap::{CommandFactory, FromArgMatches, Parser};
use indexmap::IndexMap;
use regex::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Options, which may stand anywhere between the words.
#[derive(Debug, Parser)]
#[command(
    name = "nbrs",
    version,
    about = "Finds out what a MongoDB deployment can take",
    override_usage = "nbrs run workload=NAME [tags=FILTER] [cycles=N] [threads=N] [cyclerate=R] [k=v…]\n       \
                      nbrs WORKLOAD [SCENARIO…] [k=v…]\n       \
                      nbrs start k=v… [await ALIAS] [stop ALIAS] [waitmillis N]\n       \
                      nbrs eval RECIPE [--at LIST] [--json]\n       \
                      nbrs show workload=NAME [tags=FILTER] [cycles=N] [k=v…] [--json]\n       \
                      nbrs describe workload=NAME [tags=FILTER] [k=v…] [--json]\n       \
                      nbrs server [--port P] [--data-dir D] [--drop]",
    after_help = "Results go to stdout; header, progress, notices and errors to stderr.\n\
                  Exit codes: 0 done, 1 ended by op errors, 2 usage or configuration, 3 target unreachable,\n\
                  130 interrupted, 143 terminated.",
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

    /// A folder to look for workloads in; may be given again
    #[arg(long, value_name = "DIR", help_heading = "Running")]
    pub include: Vec<PathBuf>,
    /// Where the embedded server keeps its data
    #[arg(long, value_name = "D", help_heading = "Running")]
    pub data_dir: Option<PathBuf>,
    /// `bar`, `console:1s` (a line per interval) or `none`
    #[arg(long, value_name = "MODE", help_heading = "Running")]
    pub progress: Option<String>,
    /// Write the result as JSON; `-` is stdout
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub report_json_to: Option<OsString>,

    /// Port to listen on; 0 is any
    #[arg(long, value_name = "P", help_heading = "Server")]
    pub port: Option<u16>,
    /// Empty the data directory
    #[arg(long, help_heading = "Server")]
    pub drop: bool,
}

/// Options that the documentation of nbrs names and this version has not: refused by name.
const REFUSED_OPTIONS: &[&str] = &[
    "report-csv-to",
    "report-html-to",
    "report-ycsb-to",
    "report-summary-to",
    "report-graphite-to",
    "report-prompush-to",
    "report-interval",
    "log-histograms",
    "log-histostats",
    "logs-dir",
    "logs-level",
    "logs-max",
    "metrics-listen",
    "fail-if",
    "keep",
    "min",
    "max",
    "hold",
    "html",
    "strict",
    "argsfile",
    "keep-going",
    "hdr-digits",
    "session-name",
    "show-script",
    "add-labels",
    "set-labels",
];

/// Verbs of the command line that this version has not: refused by name.
const REFUSED_VERBS: &[&str] =
    &["plan", "check", "ycsb", "findmax", "compare", "merge", "report", "completions", "script", "fragment"];

const RUN_VERBS: &[&str] = &["run", "start", "await", "stop", "forceStop", "waitmillis"];
const OWN_VERBS: &[&str] = &["eval", "show", "describe", "server", "help"];

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A live bar where stderr is a terminal, else a line every ten seconds.
    Default,
    Bar,
    /// A line per interval.
    Lines(Duration),
    None,
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Request {
    /// No words at all: what to paste first.
    Hello,
    Help,
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
    Server {
        port: u16,
        data_dir: Option<PathBuf>,
        drop: bool,
    },
    Run {
        commands: Vec<session::Command>,
        notices: Vec<Diagnostic>,
        progress: ProgressMode,
    },
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
    for arg in args.iter().skip(1).filter_map(|arg| arg.to_str()) {
        let name = arg.strip_prefix("--").unwrap_or("").split('=').next().unwrap_or("");
        if REFUSED_OPTIONS.contains(&name) {
            return Err(Diagnostic::error(format!("this version of nbrs has no option `--{name}`"))
                .help("`nbrs --help` lists what there is")
                .into());
        }
    }
    let matches = Options::command().try_get_matches_from(args).map_err(WordsError::Clap)?;
    let options = Options::from_arg_matches(&matches).map_err(WordsError::Clap)?;
    let given: Vec<&str> = matches
        .ids()
        .map(clap::Id::as_str)
        .filter(|id| *id != "words" && *id != "Options")
        .filter(|id| matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine))
        .collect();
    let request = request(&options, &given)?;
    Ok((options, request))
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
    match first.as_str() {
        "help" => {
            only(given, "help", &[])?;
            match rest.first() {
                None => Ok(Request::Help),
                Some(topic) => {
                    Err(Diagnostic::error(format!("this version of nbrs has no help on `{topic}`"))
                        .help("`nbrs --help`, `nbrs --list-functions`, `nbrs --list-scenarios`")
                        .into())
                }
            }
        }
        "eval" => {
            only(given, "eval", &["at", "from", "json"])?;
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
            only(given, first, &["json", "include"])?;
            let (parameters, left) = take_parameters(rest)?;
            if let Some(extra) = left.first() {
                return Err(Diagnostic::error(format!("`{first}` takes k=v words only, not `{extra}`"))
                    .help(format!("nbrs {first} workload={extra}"))
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
            only(given, "server", &["port", "data_dir", "drop"])?;
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
        verb if REFUSED_VERBS.contains(&verb) => {
            Err(Diagnostic::error(format!("this version of nbrs has no verb `{verb}`"))
                .help(format!("`nbrs --help` lists what there is; ./{verb}.yaml reaches a file of that name"))
                .into())
        }
        _ => {
            only(given, "a run", &["include", "data_dir", "progress", "report_json_to"])?;
            let progress = progress_mode(options.progress.as_deref())?;
            let (commands, notices) = script(&options.words, &options.include)?;
            Ok(Request::Run { commands, notices, progress })
        }
    }
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

fn progress_mode(text: Option<&str>) -> Result<ProgressMode, Diagnostic> {
    let Some(text) = text else { return Ok(ProgressMode::Default) };
    let (mode, interval) =
        text.split_once(':').map_or((text, None), |(mode, interval)| (mode, Some(interval)));
    let wrong = |why: String| {
        Diagnostic::error(format!("`--progress {text}`: {why}")).help("bar, console:1s or none")
    };
    match (mode, interval) {
        ("console", interval) => {
            let interval =
                crate::units::duration(interval.unwrap_or("1m")).map_err(|e| wrong(e.to_string()))?;
            if interval < Duration::from_millis(100) {
                return Err(wrong("an interval is at least 100ms".to_owned()));
            }
            Ok(ProgressMode::Lines(interval))
        }
        ("bar", None) => Ok(ProgressMode::Bar),
        ("none", None) => Ok(ProgressMode::None),
        ("tui", None) => Err(wrong("this version of nbrs has no live view".to_owned())),
        ("bar" | "none", Some(_)) => Err(wrong(format!("`{mode}` takes no interval"))),
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

/// Words of a run → commands, with the steps of named scenarios worked out.
fn script(
    words: &[String],
    includes: &[PathBuf],
) -> Result<(Vec<session::Command>, Vec<Diagnostic>), WordsError> {
    let mut commands = Vec::new();
    let mut notices = Vec::new();
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        match word.as_str() {
            "run" | "start" => {
                let (parameters, left) = take_parameters(after)?;
                if let Some(extra) = left.first().filter(|w| !is_command(w) && parameters.is_empty()) {
                    return Err(Diagnostic::error(format!("`{word}` takes k=v words, not `{extra}`"))
                        .help(format!("nbrs {word} workload={extra}"))
                        .into());
                }
                commands.push(session::Command::Activity {
                    parameters,
                    wait: word == "run",
                    scenario: None,
                    step: None,
                });
                rest = left;
            }
            "await" | "stop" | "forceStop" | "waitmillis" => {
                let Some((argument, left)) = after.split_first() else {
                    let what = if word == "waitmillis" { "a number of milliseconds" } else { "an alias" };
                    return Err(Diagnostic::error(format!("`{word}` needs {what}")).into());
                };
                commands.push(simple(word, argument)?);
                rest = left;
            }
            _ if word.contains('=') => {
                return Err(Diagnostic::error(format!("`{word}` stands before any command"))
                    .help(format!("nbrs run {word} …"))
                    .into());
            }
            _ if OWN_VERBS.contains(&word.as_str()) => {
                return Err(Diagnostic::error(format!("`{word}` must be the first word")).into());
            }
            _ => {
                let names: Vec<String> =
                    after.iter().take_while(|w| !w.contains('=') && !is_command(w)).cloned().collect();
                let (user, left) = take_parameters(&after[names.len()..])?;
                let (planned, said) = scenario_commands(word, &names, &user, includes)?;
                commands.extend(planned);
                notices.extend(said);
                rest = left;
            }
        }
    }
    Ok((commands, notices))
}

fn is_command(word: &str) -> bool {
    RUN_VERBS.contains(&word) || OWN_VERBS.contains(&word)
}

fn simple(verb: &str, argument: &str) -> Result<session::Command, Diagnostic> {
    match verb {
        "await" => Ok(session::Command::Await(argument.to_owned())),
        "waitmillis" => argument
            .parse()
            .map(session::Command::WaitMillis)
            .map_err(|_| Diagnostic::error(format!("`waitmillis {argument}`: not a number of milliseconds"))),
        _ => {
            let mut patterns = Vec::new();
            for alias in argument.split([',', ';', ' ']).filter(|alias| !alias.is_empty()) {
                let pattern = Regex::new(&format!("^(?:{alias})$")).map_err(|error| {
                    Diagnostic::error(format!(
                        "`{verb} {argument}`: `{alias}` is no pattern of aliases: {error}"
                    ))
                })?;
                patterns.push(pattern);
            }
            Ok(session::Command::Stop(patterns))
        }
    }
}

/// The commands that a scenario's steps stand for.
fn scenario_commands(
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
    includes: &[PathBuf],
) -> Result<(Vec<session::Command>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let options = LoadOptions { includes, params: user };
    let workload = workload::load(typed, &options).map_err(|errors| could_not_recognise(typed, errors))?;
    let known = parameters::all_known();
    let plan = scenario::plan(&workload, typed, names, user, &known)?;
    let mut commands = Vec::new();
    for step in plan.steps {
        match step.verb.as_str() {
            "run" | "start" => {
                let mut parameters = step.params;
                parameters.entry("alias".to_owned()).or_insert(step.alias);
                commands.push(session::Command::Activity {
                    parameters,
                    wait: step.verb == "run",
                    scenario: Some(step.scenario),
                    step: Some(step.step),
                });
            }
            "waitmillis" => {
                commands.push(simple("waitmillis", &step.argument.unwrap_or_default()).map_err(|d| vec![d])?);
            }
            verb => commands.push(simple(verb, &step.alias).map_err(|d| vec![d])?),
        }
    }
    Ok((commands, plan.notices))
}

/// A word that is neither verb nor workload: say which verb it is near to.
fn could_not_recognise(word: &str, mut errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let verbs = RUN_VERBS.iter().chain(OWN_VERBS).copied();
    if let Some(verb) = nearest(word, verbs).first()
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
        let Ok(Request::Run { commands, .. }) = read("run workload=w connection=mongodb://h/?a=b&c=d") else {
            panic!("a run")
        };
        let session::Command::Activity { parameters, wait: true, .. } = &commands[0] else { panic!("run") };
        assert_eq!(parameters["connection"], "mongodb://h/?a=b&c=d");
    }

    #[test]
    fn commands_follow_each_other() {
        let Ok(Request::Run { commands, .. }) =
            read("start workload=w alias=a waitmillis 50 stop a,b run workload=v await a")
        else {
            panic!("a run")
        };
        assert_eq!(commands.len(), 5);
        assert!(matches!(&commands[0], session::Command::Activity { wait: false, .. }));
        assert!(matches!(&commands[1], session::Command::WaitMillis(50)));
        assert!(matches!(&commands[2], session::Command::Stop(patterns) if patterns.len() == 2));
        assert!(matches!(&commands[4], session::Command::Await(alias) if alias == "a"));
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
            ("server now", "options only"),
            ("findmax rate=5", "no verb `findmax`"),
            ("run workload=w --report-html-to x.html", "no option `--report-html-to`"),
            ("run workload=w --progress tui", "no live view"),
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
