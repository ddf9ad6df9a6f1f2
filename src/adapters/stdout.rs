//! The `stdout` driver: writes each op's text to standard output or a file. Makes an op of its own for a
//! workload that has bindings only.

use super::{
    Adapter, AdapterError, AdapterRow, Config, Dispenser, Failure, Outcome, Parameter, Run, Scratch,
    TargetFacts,
};
use crate::functions::Context;
use crate::plan::{BindError, Body, Form, OpPlan, TextTemplate};
use crate::span::{Text, nearest};
use crate::workload::{Data, Node, OpTemplate};
use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an op may be held back before the next one takes it along to the reader.
const HELD_BACK: Duration = Duration::from_millis(100);

pub static ROW: AdapterRow = AdapterRow {
    name: "stdout",
    help: "writes the text of each op to standard output or a file",
    form: Form::Text,
    check: |_| Vec::new(),
    parameters: &[
        Parameter {
            name: "filename",
            default: Some("stdout"),
            help: "the file to write, emptied first; `stdout` is standard output",
        },
        Parameter {
            name: "newline",
            default: Some("true"),
            help: "whether an op made from bindings ends its line; ops of a workload are written as they are",
        },
        Parameter {
            name: "format",
            default: Some("assignments"),
            help: "how an op made from bindings looks: csv, readout, json, inlinejson or assignments",
        },
        Parameter {
            name: "bindings",
            default: Some("doc"),
            help: "the bindings that an op is made from: `doc` for all of the document, or a regular expression",
        },
    ],
    connect: |config| Box::pin(async move { connect(&config) }),
    synthesise: Some(synthesise),
};

fn connect(config: &Config) -> Result<Arc<dyn Adapter>, AdapterError> {
    // Also where no op is made from bindings.
    format(&config.parameters).and(newline(&config.parameters)).map_err(AdapterError::Configuration)?;
    let name = config.parameters.get("filename").map_or("stdout", String::as_str);
    let refused =
        |error: io::Error| AdapterError::Configuration(format!("cannot write to `{name}`: {error}"));
    if name.is_empty() {
        return Err(AdapterError::Configuration("`filename=` names no file".to_owned()));
    }
    let is_stdout = name.eq_ignore_ascii_case("stdout");
    let file = if is_stdout {
        // Not through `io::stdout`, which ends a write at every line.
        File::from(io::stdout().as_fd().try_clone_to_owned().map_err(refused)?)
    } else {
        File::create(name).map_err(refused)?
    };
    let output = Output {
        name: name.to_owned(),
        is_stdout,
        at_once: is_stdout && io::stdout().is_terminal(),
        state: Mutex::new(State {
            writer: BufWriter::with_capacity(64 * 1024, file),
            flushed: Instant::now(),
            failed: None,
        }),
    };
    let facts = TargetFacts {
        kind: "stdout".to_owned(),
        settings: vec![("file".to_owned(), name.to_owned())],
        ..TargetFacts::default()
    };
    Ok(Arc::new(Stdout { facts, output: Arc::new(output) }))
}

struct Stdout {
    facts: TargetFacts,
    output: Arc<Output>,
}

struct Output {
    name: String,
    is_stdout: bool,
    /// A person watches: nothing is held back.
    at_once: bool,
    state: Mutex<State>,
}

struct State {
    writer: BufWriter<File>,
    flushed: Instant,
    /// The first error; what follows it would leave a gap in the output.
    failed: Option<WriteError>,
}

#[derive(Debug, Clone)]
struct WriteError {
    message: String,
    /// The reader of standard output has closed it, as `head` does once it has seen enough.
    unread: bool,
}

impl Output {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt(&self, write: impl FnOnce(&mut State) -> io::Result<()>) -> Result<(), WriteError> {
        let mut state = self.state();
        if state.failed.is_none()
            && let Err(error) = write(&mut state)
        {
            state.failed = Some(WriteError {
                message: format!("writing to `{}` failed: {error}", self.name),
                unread: self.is_stdout && error.kind() == io::ErrorKind::BrokenPipe,
            });
        }
        state.failed.clone().map_or(Ok(()), Err)
    }
}

impl Adapter for Stdout {
    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn dispenser(&self, plan: OpPlan) -> Result<Arc<dyn Dispenser>, AdapterError> {
        match plan.body {
            Body::Text(text) => Ok(Arc::new(Line { text, output: self.output.clone() })),
            _ => Err(AdapterError::Configuration(format!("op `{}` is not a text", plan.name))),
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async {
            match self.output.attempt(|state| state.writer.flush()) {
                Err(error) if !error.unread => Err(AdapterError::Unreachable(error.message)),
                _ => Ok(()),
            }
        })
    }
}

struct Line {
    text: TextTemplate,
    output: Arc<Output>,
}

impl Dispenser for Line {
    fn bind(&self, cycle: i64, context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError> {
        scratch.bytes.clear();
        self.text.bind(cycle, context, &mut scratch.bytes)
    }

    fn run<'a>(&'a self, _cycle: i64, scratch: &'a mut Scratch) -> Run<'a> {
        let written = self.output.attempt(|state| {
            state.writer.write_all(&scratch.bytes)?;
            // What reads a slow stream is not to wait for 64 KB of it.
            if self.output.at_once || state.flushed.elapsed() >= HELD_BACK {
                state.writer.flush()?;
                state.flushed = Instant::now();
            }
            Ok(())
        });
        let failure = written.err().map(|error| Failure {
            name: "WriteFailed".into(),
            exception: Some("RuntimeException"),
            message: error.message,
            unread: error.unread,
            ..Failure::default()
        });
        Run::Ready(Outcome { bytes_sent: scratch.bytes.len() as u64, failure, ..Outcome::default() })
    }
}

/// How the text of an op is made from binding names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Readout,
    Json,
    InlineJson,
    Assignments,
}

const FORMATS: &[(&str, Format)] = &[
    ("csv", Format::Csv),
    ("readout", Format::Readout),
    ("json", Format::Json),
    ("inlinejson", Format::InlineJson),
    ("assignments", Format::Assignments),
];

impl Format {
    fn template(self, names: &[&str]) -> String {
        let each = |one: &dyn Fn(&str) -> String, between: &str| {
            names.iter().map(|name| one(name)).collect::<Vec<_>>().join(between)
        };
        match self {
            Format::Csv => each(&|name| format!("{{{name}}}"), ","),
            Format::Assignments => each(&|name| format!("{name}={{{name}}}"), " "),
            Format::Readout => {
                let width = names.iter().map(|name| name.encode_utf16().count()).max().unwrap_or(0);
                each(&|name| format!("{name:>width$} : {{{name}}}"), "\n")
            }
            Format::Json => {
                format!("{{\n {}\n}}", each(&|name| format!("\"{name}\":\"{{{name}}}\""), ",\n "))
            }
            Format::InlineJson => format!("{{{}}}", each(&|name| format!("\"{name}\":\"{{{name}}}\""), ", ")),
        }
    }
}

/// The parameter `format`.
fn format(parameters: &IndexMap<String, String>) -> Result<Format, String> {
    let Some(name) = parameters.get("format") else { return Ok(Format::Assignments) };
    FORMATS.iter().find(|(known, _)| known == name).map(|(_, format)| *format).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        let near = nearest(name, known.iter().copied());
        let hint = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("`format={name}` is none of {}{hint}", known.join(", "))
    })
}

/// The parameter `newline`.
fn newline(parameters: &IndexMap<String, String>) -> Result<bool, String> {
    match parameters.get("newline").map(String::as_str) {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(other) => Err(format!("`newline={other}` is neither true nor false")),
    }
}

/// The op `synthetic`: all document-level bindings (or those that `bindings=` names), as `format=` says.
fn synthesise(
    bindings: &IndexMap<String, Text>,
    parameters: &IndexMap<String, String>,
) -> Result<OpTemplate, String> {
    if bindings.is_empty() {
        return Err("the workload has neither ops nor document-level bindings to make one from".to_owned());
    }
    let wanted = parameters.get("bindings").map_or("doc", String::as_str);
    let mut names: Vec<&str> = if wanted.eq_ignore_ascii_case("doc") {
        bindings.keys().map(String::as_str).collect()
    } else {
        let pattern = regex::Regex::new(&format!("^(?:{wanted})$"))
            .map_err(|_| format!("`bindings={wanted}` is not a regular expression"))?;
        bindings.keys().map(String::as_str).filter(|name| pattern.is_match(name)).collect()
    };
    if names.is_empty() {
        let known: Vec<&str> = bindings.keys().map(String::as_str).collect();
        return Err(format!("`bindings={wanted}` matches none of the bindings {}", known.join(", ")));
    }
    let (format, newline) = (format(parameters)?, newline(parameters)?);
    sort_as_java_set(&mut names);
    let mut template = format.template(&names);
    if newline {
        end_line(&mut template);
    }
    let stmt = Node { data: Data::Text(Text::unplaced(template)), location: None };
    Ok(OpTemplate {
        name: "synthetic".to_owned(),
        block: "synthetic".to_owned(),
        description: None,
        op: IndexMap::from([("stmt".to_owned(), stmt)]),
        params: IndexMap::new(),
        bindings: bindings.clone(),
        tags: IndexMap::new(),
        location: None,
    })
}

/// One newline at the end; two after a text of several lines.
fn end_line(template: &mut String) {
    let inner = template.find('\n').is_some_and(|at| at > 0 && at < template.len() - 1);
    let ending = if inner { "\n\n" } else { "\n" };
    while !template.ends_with(ending) {
        template.push('\n');
    }
}

/// The order in which Java's `HashSet` gives these texts when they were put in one by one: the reference's
/// order, so that outputs can be compared.
fn sort_as_java_set(names: &mut [&str]) {
    let mut buckets: usize = 16;
    while names.len() > buckets / 4 * 3 {
        buckets *= 2;
    }
    names.sort_by_key(|name| {
        let hash =
            name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
        (hash ^ (hash >> 16)) as usize & (buckets - 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(names: &[&str], parameters: &[(&str, &str)]) -> Result<String, String> {
        let bindings = names.iter().map(|name| ((*name).to_owned(), Text::unplaced("Identity()"))).collect();
        let parameters = parameters.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let op = synthesise(&bindings, &parameters)?;
        match &op.op["stmt"].data {
            Data::Text(text) => Ok(text.as_str().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_op_is_made_of_bindings_in_the_reference_order() {
        let cases: &[(&[(&str, &str)], &str)] = &[
            (&[], "zeta={zeta} alpha={alpha} mid={mid}\n"),
            (&[("newline", "false")], "zeta={zeta} alpha={alpha} mid={mid}"),
            (&[("format", "csv")], "{zeta},{alpha},{mid}\n"),
            (&[("format", "readout")], " zeta : {zeta}\nalpha : {alpha}\n  mid : {mid}\n\n"),
            (
                &[("format", "json")],
                "{\n \"zeta\":\"{zeta}\",\n \"alpha\":\"{alpha}\",\n \"mid\":\"{mid}\"\n}\n\n",
            ),
            (
                &[("format", "inlinejson")],
                "{\"zeta\":\"{zeta}\", \"alpha\":\"{alpha}\", \"mid\":\"{mid}\"}\n",
            ),
            (&[("bindings", "doc")], "zeta={zeta} alpha={alpha} mid={mid}\n"),
            (&[("bindings", "alpha|mid")], "alpha={alpha} mid={mid}\n"),
            (&[("bindings", "mid")], "mid={mid}\n"),
        ];
        for (parameters, expected) in cases {
            // The order in the file does not matter.
            for names in [["zeta", "alpha", "mid"], ["mid", "alpha", "zeta"]] {
                assert_eq!(made(&names, parameters).as_deref(), Ok(*expected), "{parameters:?}");
            }
        }
    }

    #[test]
    fn an_op_that_cannot_be_made_says_why() {
        /// Binding names, parameters, what is said.
        type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        let cases: &[Case] = &[
            ("", &[], "neither ops nor"),
            ("a", &[("bindings", "b.*")], "none of the bindings a"),
            ("a", &[("bindings", "(")], "not a regular expression"),
            ("a", &[("format", "jsn")], "did you mean `json`?"),
            ("a", &[("newline", "yes")], "neither true nor false"),
        ];
        for (names, parameters, expected) in cases {
            let names: Vec<&str> = names.split_whitespace().collect();
            let error = made(&names, parameters).expect_err("no op can be made");
            assert!(error.contains(expected), "{error}");
        }
    }

    fn adapter(filename: &str) -> Result<Arc<dyn Adapter>, AdapterError> {
        let parameters = IndexMap::from([("filename".to_owned(), filename.to_owned())]);
        connect(&Config { alias: "a".to_owned(), parameters, threads: 1 })
    }

    fn run(adapter: &Arc<dyn Adapter>, text: &str, times: i64) -> Option<Failure> {
        let stmt = Node { data: Data::Text(Text::unplaced(text)), location: None };
        let op = OpTemplate {
            name: "b__o".to_owned(),
            block: "b".to_owned(),
            op: IndexMap::from([("stmt".to_owned(), stmt)]),
            ..OpTemplate::default()
        };
        let plan = crate::plan::compile(&op, Form::Text).unwrap_or_else(|errors| panic!("{errors:?}")).plan;
        let dispenser = adapter.dispenser(plan).expect("a text op fits");
        let mut scratch = Scratch::default();
        let mut failure = None;
        for cycle in 0..times {
            dispenser.bind(cycle, &mut Context::default(), &mut scratch).expect("a literal binds");
            match dispenser.run(cycle, &mut scratch) {
                Run::Ready(outcome) => failure = failure.or(outcome.failure),
                _ => panic!("nothing is to be awaited"),
            }
        }
        failure
    }

    #[test]
    fn ops_are_written_as_they_are_and_flushed_at_close() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("out.txt");
        std::fs::write(&path, "old").expect("the folder is writable");
        let adapter = adapter(path.to_str().expect("a UTF-8 path")).expect("the file can be written");
        assert_eq!(run(&adapter, "x\n", 3), None);
        futures_util::FutureExt::now_or_never(adapter.close()).expect("ready").expect("flushed");
        assert_eq!(std::fs::read_to_string(&path).expect("written"), "x\nx\nx\n");
    }

    #[test]
    fn what_reads_a_slow_stream_is_not_kept_waiting() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("out.txt");
        let adapter = adapter(path.to_str().expect("a UTF-8 path")).expect("the file can be written");
        assert_eq!(run(&adapter, "a\n", 1), None);
        std::thread::sleep(HELD_BACK);
        assert_eq!(run(&adapter, "b\n", 1), None);
        assert_eq!(std::fs::read_to_string(&path).expect("written"), "a\nb\n");
    }

    #[test]
    fn a_full_disk_fails_the_op_and_the_close() {
        let adapter = adapter("/dev/full").expect("the device opens");
        let failure = run(&adapter, &"x".repeat(40_000), 4).expect("the disk is full");
        assert_eq!(failure.name, "WriteFailed");
        assert!(failure.message.starts_with("writing to `/dev/full` failed"), "{}", failure.message);
        let closed = futures_util::FutureExt::now_or_never(adapter.close()).expect("ready");
        assert!(closed.is_err());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_at_once() {
        let Err(error) = adapter("/no/such/folder/out.txt") else { panic!("opened") };
        assert!(
            matches!(error, AdapterError::Configuration(text) if text.contains("/no/such/folder/out.txt"))
        );
    }
}
