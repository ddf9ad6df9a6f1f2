//! What ends a run from outside: a signal, and a reader that has seen enough.

mod program;

use program::{Place, Ran, ended, signal};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);

fn result_of(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.path().join("result.json")).expect("a result");
    serde_json::from_str(&text).expect("JSON")
}

/// Reads what a run says on stderr until it tells where it stands: from then on it hears signals.
fn until_it_runs(run: &mut Child) {
    let mut stderr = BufReader::new(run.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("(pending") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("stderr can be read") > 0, "it ended before it ran");
    }
    // Whoever writes to it shall find a reader.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
}

// ---- signals ----

/// Starts nbrs from a shell, after `before`.
fn from_shell(place: &Place, before: &str, words: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_nbrs");
    let mut shell = place.shell(&format!("{before} {program} {words}"));
    shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell")
}

/// Hears of a closed terminal, though whoever runs the tests may not (`nohup`).
const HEARING: &str = "exec env --default-signal=HUP";

#[test]
fn a_closed_terminal_ends_a_run_as_other_signals_do_with_its_reports() {
    let place = Place::new();
    let words =
        "run driver=diag op=delay=50ms cycles=100000 --report-json-to result.json --progress console:100ms";
    let mut run = from_shell(&place, HEARING, words);
    until_it_runs(&mut run);
    signal(&run, Signal::HUP);
    let ran = ended(run, SOON);
    assert_eq!(ran.code, 129, "{}", ran.stdout);
    assert!(
        ran.stdout.contains("of 100,000 cycles") && ran.stdout.contains("stopped by SIGHUP"),
        "{}",
        ran.stdout
    );
    assert_eq!(result_of(&place)["run"]["status"], "terminated");
}

#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    let place = Place::new();
    let words = "run driver=diag op=delay=20ms cycles=50 threads=1 --progress console:100ms";
    let mut run = from_shell(&place, "trap '' HUP; exec", words);
    until_it_runs(&mut run);
    signal(&run, Signal::HUP);
    let ran = ended(run, SOON);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.contains("50 of 50 cycles"), "{}", ran.stdout);
}

#[test]
fn a_closed_terminal_ends_the_server_as_other_signals_do() {
    let place = Place::new();
    for which in [Signal::HUP, Signal::INT, Signal::TERM] {
        let mut server = from_shell(&place, HEARING, "server --data-dir data");
        program::listening(&mut server);
        signal(&server, which);
        assert_eq!(ended(server, SOON).code, 0, "{which:?}");
    }
}

// ---- readers ----

/// Runs `words`, reads `bytes` of what it writes, and closes the pipe.
fn read_some(place: &Place, words: &[&str], bytes: usize) -> Ran {
    let mut run = place.start(words);
    let mut stdout = run.stdout.take().expect("it is piped");
    stdout.read_exact(&mut vec![0; bytes]).expect("it writes that much");
    drop(stdout);
    ended(run, SOON)
}

#[test]
fn ops_that_print_end_when_their_reader_has_seen_enough_whatever_errors_says() {
    let place = Place::new();
    let words =
        ["run", "driver=stdout", r"op={{Identity()}} and some more text\n", "cycles=1000000000", "threads=4"];
    let reports = ["--report-json-to", "result.json", "--progress", "none"];
    for (bytes, errors) in
        [(2000, None), (0, None), (2000, Some("errors=counter")), (2000, Some("errors=retry"))]
    {
        let errors: Vec<&str> = errors.into_iter().collect();
        let ran = read_some(&place, &[&words[..], &errors, &reports].concat(), bytes);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains("stopped by the reader of its output"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("error:") && !ran.stderr.contains("warning:"), "{}", ran.stderr);
        let activity = &result_of(&place)["activities"][0];
        assert_eq!(activity["ended"]["by"], "stopped");
        assert_eq!(activity["ops"][0]["errors"], serde_json::json!({}));
        assert_eq!(activity["ops"][0]["ok"], activity["cycles"]["done"]);
    }
}

#[test]
fn what_was_all_written_before_the_reader_left_is_done() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_nbrs");
    let line = format!(r"{program} run driver=stdout op='{{{{Identity()}}}}\n' cycles=3; echo code $? >&2");
    let ran = Ran::of(&mut place.shell(&format!("({line}) | true")));
    assert!(ran.stderr.contains("code 0") && ran.stderr.contains("3 of 3 cycles"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_has_seen_enough_of_one_step_keeps_no_other_from_running() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    print: run driver=stdout tags=block:print cycles=1000000000\n    \
         work: run driver=diag tags=block:work cycles=20\n\
         blocks:\n  print:\n    ops:\n      p: \"some text\\n\"\n  work:\n    ops:\n      w: noop\n",
    );
    let ran = read_some(&place, &["w.yaml", "--report-json-to", "result.json", "--progress", "none"], 100);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(result_of(&place)["activities"][1]["cycles"]["done"], 20);
}

#[test]
fn a_reader_that_leaves_ops_which_do_more_than_print_is_an_error_of_theirs() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "ops:\n  print: {driver: stdout, stmt: \"some text\\n\"}\n  work: {driver: diag, op: noop}\n",
    );
    let words = ["run", "workload=w.yaml", "driver=diag", "cycles=1000000000", "--progress", "none"];
    let ran = read_some(&place, &words, 100);
    ran.refused(1, &["stopped by WriteFailed", "Broken pipe"]);
}

#[test]
fn a_summary_that_nobody_reads_is_no_error_and_a_report_is() {
    let place = Place::new();
    let noop = ["run", "driver=diag", "op=delay=200ms", "cycles=5", "threads=1", "--progress", "none"];
    let ran = read_some(&place, &noop, 0);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("error:"), "{}", ran.stderr);
    let ran = read_some(&place, &[&noop[..], &["--report-json-to", "-"]].concat(), 0);
    ran.refused(2, &["cannot write to standard output: Broken pipe"]);
}

#[test]
fn what_cannot_be_said_ends_nothing() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_nbrs");
    for (words, code) in [
        ("eval 'Modd(5)'", 2),
        ("eval 'Mod(5' --at 1", 0),
        ("run driver=diag op=noop cycles=5 2>/dev/full", 0),
        ("run driver=nothing", 2),
        ("--nothing", 2),
    ] {
        let ran = Ran::of(&mut place.shell(&format!("{program} {words} 2>/dev/full")));
        assert_eq!(ran.code, code, "{words}");
    }
}

// ---- several activities ----

#[test]
fn activities_of_one_alias_are_told_apart() {
    let place = Place::new();
    let one = |cycles| ["run", "driver=diag", "op=noop", cycles, "alias=a"];
    let words = [&one("cycles=10")[..], &one("cycles=20"), &["--progress", "console:1s"]].concat();
    let ran = place.run(&words);
    for line in ["a: 10 of 10 cycles", "a (2): 20 of 20 cycles"] {
        assert!(ran.ok().stdout.contains(line), "{}", ran.stdout);
    }
    for line in ["alias a\n", "alias a (2)\n", "\na (pending", "\na (2) (pending"] {
        assert!(ran.stderr.contains(line), "no `{line}` in\n{}", ran.stderr);
    }
    let words = [&words[..], &["--report-json-to", "result.json", "--report-summary-to", "s.txt"]].concat();
    place.run(&words).ok();
    let summary = std::fs::read_to_string(place.path().join("s.txt")).expect("a summary");
    assert!(summary.contains("a: 10 of") && summary.contains("a (2): 20 of"), "{summary}");
    assert_eq!(result_of(&place)["activities"][1]["alias"], "a");
    place.run(&["report", "result.json", "--report-html-to", "r.html"]).ok();
    let page = std::fs::read_to_string(place.path().join("r.html")).expect("a page");
    assert!(page.contains(">a (2)<"), "the page names both");
}
