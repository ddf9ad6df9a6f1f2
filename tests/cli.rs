//! The program as its users meet it: words in; stdout, stderr and an exit code out.

mod program;

use program::{Place, Ran, ended, signal};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const SMALL: [&str; 2] = ["mintext=50", "maxtext=150"];

// ---- looking ----

#[test]
fn alone_it_says_what_to_paste() {
    let ran = Place::new().run(&[]);
    ran.ok();
    assert!(ran.stdout.lines().filter(|line| line.trim_start().starts_with("nbrs ")).count() >= 3);
}

#[test]
fn the_lists_name_what_is_bundled() {
    let place = Place::new();
    let scenarios = place.run(&["--list-scenarios"]);
    for line in [
        "    nbrs mongodb-keyvalue2 default",
        "    nbrs mongodb-tabular2 default",
        "    nbrs mongodb-basic default",
    ] {
        assert!(scenarios.ok().stdout.lines().any(|l| l == line), "no `{line}` in\n{}", scenarios.stdout);
    }
    assert!(place.run(&["--list-workloads"]).ok().stdout.lines().any(|l| l == "mongodb-keyvalue2.yaml"));
    assert_eq!(place.run(&["--list-drivers"]).ok().stdout, "mongodb\nstdout\ndiag\n");
    assert!(place.run(&["--list-functions"]).ok().stdout.contains("HashRange"));
}

#[test]
fn a_bundled_workload_is_copied_once_and_runs_from_its_copy() {
    let place = Place::new();
    place.run(&["--copy", "mongodb-basic"]).ok();
    assert!(place.path().join("mongodb-basic.yaml").exists());
    place.run(&["--copy", "mongodb-basic"]).refused(2, &["mongodb-basic.yaml", "exists"]);
    let shown =
        place.run(&["show", "workload=mongodb-basic.yaml", "tags=block:rampup", "cycles=1", "--json"]);
    assert!(
        shown.ok().stdout.starts_with(r#"{"cycle":0,"op":"rampup__insert","command":{"insert":"keyvalue""#)
    );
    place.run(&["--copy", "mongodb-basics"]).refused(2, &["mongodb-basic"]);
}

#[test]
fn eval_shows_values_by_cycle() {
    let place = Place::new();
    assert_eq!(place.run(&["eval", "Mod(3)", "--at", "2..5,9"]).ok().stdout, "2\t2\n3\t0\n4\t1\n9\t0\n");
    let json = place.run(&["eval", "Hash(); Mod(10)", "--at", "0,1", "--json"]);
    assert_eq!(
        json.ok().stdout,
        "{\"recipe\":\"Hash(); Mod(10)\",\"values\":[[0,9],[1,4]],\"type\":\"Long\"}\n"
    );
    place.file("recipes.txt", "Mod(5)\nModd(5)\n");
    let from = place.run(&["eval", "--from", "recipes.txt", "--at", "7", "--json"]);
    assert_eq!(from.code, 2);
    let lines: Vec<&str> = from.stdout.lines().collect();
    assert_eq!(lines[0], r#"{"recipe":"Mod(5)","values":[[7,2]],"type":"Long"}"#);
    assert!(lines[1].starts_with(r#"{"recipe":"Modd(5)","error":"#), "{}", lines[1]);
}

#[test]
fn show_prints_the_commands_of_one_stride_and_contacts_nothing() {
    let place = Place::new();
    let shown =
        place.run(&["show", "workload=mongodb-keyvalue2", "tags=block:main.*", "--json", SMALL[0], SMALL[1]]);
    let lines: Vec<serde_json::Value> = shown
        .ok()
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON text a line"))
        .collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0]["op"], "main-read__main-select");
    assert_eq!(lines[1]["op"], "main-write__main-insert");
    assert_eq!(lines[1]["command"]["documents"][0]["key"], "681537631");
    assert!(!place.path().join("data-home").exists(), "nothing was opened");
}

#[test]
fn describe_gives_the_selected_op_templates() {
    let place = Place::new();
    let described = place.run(&["describe", "workload=mongodb-keyvalue2", "tags=block:rampup", "--json"]);
    let ops = described.ok().json();
    assert_eq!(ops.as_array().map(Vec::len), Some(1));
    assert_eq!(ops[0]["name"], "rampup__rampup-insert");
    assert_eq!(ops[0]["tags"]["block"], "rampup");
    assert!(ops[0]["op"]["stmt"].is_string());
}

// ---- errors before anything is contacted ----

#[test]
fn usage_errors_name_the_nearest_and_contact_nothing() {
    let place = Place::new();
    place.file(
        "f.yaml",
        "bindings:\n  k: Modd(5)\nops:\n  op1: |\n    { find: \"c\", filter: { k: \"{k}\" } }\n",
    );
    for (args, parts) in [
        (vec!["run", "workload=mongodb-keyvalue"], vec!["mongodb-keyvalue2"]),
        (vec!["run", "workload=mongodb-keyvalue2", "tags=block:ramp"], vec!["rampup"]),
        (vec!["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "cyclrate=5"], vec!["cyclerate"]),
        (vec!["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "cycles=50q"], vec!["50q"]),
        (vec!["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "driver=mongo"], vec!["mongodb"]),
        (
            vec!["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "errors=stopp"],
            vec!["stop", "retry"],
        ),
        (vec!["run", "workload=f.yaml"], vec!["f.yaml:2:6", "Mod", "^"]),
        (vec!["run", "workload=f.yaml", "op=noop"], vec!["give one of them"]),
        (vec!["run", "op={find: \"c\"}"], vec!["op={ops: {a: {stmt: {find: \"c\"}}}}"]),
        (vec!["mongodb-keyvalue2", "defalt"], vec!["default"]),
        (vec!["mongodb-keyvalue2", "default", "mintxt=5"], vec!["mintext"]),
        (vec!["rum", "workload=mongodb-keyvalue2"], vec!["run"]),
        (vec!["run", "my load"], vec!["nbrs run 'workload=my load'"]),
        (vec!["run", ""], vec!["nbrs run workload=NAME"]),
        (vec!["run", "driver=stdout", "op=x", "filename="], vec!["`filename=` names no file"]),
        (vec!["stop", "a("], vec!["`a(` is no pattern of aliases: unclosed group\n"]),
        (vec!["describe", "workload=mongodb-keyvalue2", "nothere=5"], vec!["unknown parameter `nothere`"]),
        (vec!["run", "driver=stdout", "op=x", "format=jsn"], vec!["did you mean `json`?"]),
        (vec!["run", "driver=stdout", "op=x", "newline=maybe"], vec!["neither true nor false"]),
        // Options of the reference that there are none of.
        (vec!["-vv", "run", "op=noop"], vec!["this version of nbrs has no option `-vv`", "--logs-dir"]),
        (
            vec!["--show-script", "run"],
            vec!["this version of nbrs has no option `--show-script`", "nbrs plan"],
        ),
        (vec!["--report-graphite-to=h:1", "run"], vec!["no option `--report-graphite-to`"]),
        (vec!["--progres", "none", "run"], vec!["there is no option `--progres`", "`--progress`"]),
    ] {
        let ran = place.run(&args);
        ran.refused(2, &parts);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(!place.path().join("data-home").exists(), "{args:?} opened the store");
    }
}

#[test]
fn errors_in_files_have_their_place_and_a_caret() {
    let place = Place::new();
    for (name, text, place_text) in [
        ("tab.yaml", "ops:\n\tbad: x\n", "tab.yaml:2:"),
        ("twice.yaml", "ops:\n  a: x\n  a: y\n", "twice.yaml:3:3"),
        ("recipe.yaml", "ops:\n  a: \"{ find: 'c', n: {{Mod(}} }\"\n", "recipe.yaml:2:"),
        (
            "json.yaml",
            "ops:\n  a: |\n    {\n      find: \"c\",\n      filter: { k: @ }\n    }\n",
            "json.yaml:5:20",
        ),
        (
            "missing.yaml",
            "bindings:\n  key: Mod(5)\nops:\n  a: |\n    { find: \"c\", filter: { k: {kez} } }\n",
            "missing.yaml:5:",
        ),
    ] {
        place.file(name, text);
        let ran = place.run(&["run", &format!("workload={name}"), "driver=mongodb"]);
        ran.refused(2, &[place_text]);
    }
}

#[test]
fn a_run_that_cannot_fit_on_the_disk_is_refused_before_its_first_op() {
    let place = Place::new();
    let ran = place.run(&["mongodb-keyvalue2", "default", "rampup-cycles=1000000000", "main-cycles=1"]);
    ran.refused(2, &["are free", "cycles"]);
    assert!(!place.path().join("data-home").exists());
}

// ---- targets that cannot be reached ----

#[test]
fn an_unreachable_server_is_one_message_within_five_seconds_and_no_password() {
    let place = Place::new();
    let start = Instant::now();
    let ran = place.run(&[
        "run",
        "workload=mongodb-basic",
        "tags=block:read",
        "connection=mongodb://someone:s3cr%40t@127.0.0.1:1/",
    ]);
    ran.refused(3, &["127.0.0.1:1"]);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
    for secret in ["s3cr", "s3cr@t", "s3cr%40t"] {
        assert!(!ran.stderr.contains(secret) && !ran.stdout.contains(secret), "{}", ran.stderr);
    }
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error")).count(), 1, "{}", ran.stderr);
}

#[test]
fn two_processes_cannot_share_a_data_directory() {
    let place = Place::new();
    let data = place.path().join("d");
    let data = data.to_str().expect("a UTF-8 path");
    let mut server = place.start(&["server", "--port", "0", "--data-dir", data]);
    let uri = program::listening(&mut server);
    assert!(uri.starts_with("mongodb://127.0.0.1:"), "{uri}");
    let second = place.run(&["run", "workload=mongodb-basic", "tags=block:rampup", "--data-dir", data]);
    second.refused(2, &["nbrs server"]);
    // The way that the message names.
    let connection = format!("connection={uri}");
    place.run(&["run", "workload=mongodb-basic", "tags=block:rampup", "cycles=10", &connection]).ok();
    signal(&server, rustix::process::Signal::TERM);
    assert_eq!(ended(server, Duration::from_secs(10)).code, 0);
    let read = place
        .result(&["run", "workload=mongodb-basic", "tags=block:rampup", "cycles=10", "--data-dir", data])
        .1;
    let op = &read["activities"][0]["ops"][0];
    assert_eq!(op["errors"]["DuplicateKey"], 10, "what was written before is there: {op}");
}

#[test]
fn a_place_that_is_no_data_directory_is_refused_as_configuration() {
    let place = Place::new();
    let folder = place.path().join("photos");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("cat.jpg"), "cat").expect("a file in it");
    for no_place in [folder.clone(), folder.join("cat.jpg")] {
        let dir = no_place.to_str().expect("a UTF-8 path");
        let run = ["run", "workload=mongodb-basic", "tags=block:read", "cycles=1", "--data-dir", dir];
        place.run(&run).refused(2, &[dir]);
        place.run(&["server", "--port", "0", "--data-dir", dir]).refused(2, &[dir]);
    }
}

#[test]
fn a_wrong_connection_string_of_the_environment_is_said_to_be_from_there() {
    let place = Place::new();
    for (uri, code) in [("mongodb://u:p@ss@h/", 2), ("nonsense", 2), ("mongodb://127.0.0.1:1/", 3)] {
        let mut command = place.command(&["run", "workload=mongodb-basic", "tags=block:read"]);
        let ran = Ran::of(command.env("NBRS_CONNECTION", uri));
        ran.refused(code, &["NBRS_CONNECTION"]);
    }
}

// ---- running ----

#[test]
fn every_cycle_is_run_once_whatever_the_threads() {
    let place = Place::new();
    for (cycles, threads) in [("100", "3"), ("1", "1000"), ("10..17", "4")] {
        let (ran, result) = place.result(&[
            "run",
            "op=noop",
            "driver=diag",
            &format!("cycles={cycles}"),
            &format!("threads={threads}"),
        ]);
        ran.ok();
        let asked = match cycles {
            "10..17" => 7,
            number => number.parse().expect("a number"),
        };
        let activity = &result["activities"][0];
        assert_eq!(activity["cycles"]["asked"], asked);
        assert_eq!(activity["cycles"]["done"], asked);
        assert_eq!(activity["ops"][0]["ok"], asked);
    }
    let (ran, result) = place.result(&["run", "op=noop", "driver=diag", "cycles=0"]);
    ran.ok();
    assert_eq!(result["activities"][0]["cycles"]["done"], 0);
}

#[test]
fn what_ops_print_has_stdout_for_itself() {
    let place = Place::new();
    let ran = place.run(&["run", "driver=stdout", r"op={{Identity()}}\n", "cycles=3"]);
    assert_eq!(ran.ok().stdout, "0\n1\n2\n");
    assert!(
        ran.stderr.contains("stmt1") || ran.stderr.contains("block0"),
        "the summary is on stderr:\n{}",
        ran.stderr
    );
    place.file("b.yaml", "bindings:\n  alpha: Mod(2)\n  beta: NumberNameToString()\n");
    let bare = place.run(&["run", "workload=b.yaml", "cycles=2", "format=csv"]);
    assert_eq!(bare.ok().stdout.lines().count(), 2, "{}", bare.stdout);
}

#[test]
fn an_op_error_ends_the_run_with_exit_1_and_the_steps_after_it_do_not_run() {
    let place = Place::new();
    place.file(
        "s.yaml",
        "scenarios:\n  default:\n    one: run driver=diag tags=block:bad cycles=10\n    two: run driver=diag tags=block:good cycles=10\n\
         blocks:\n  bad:\n    ops:\n      op1:\n        op:\n          erroroncycle: erroroncycle=5\n  good:\n    ops:\n      op2:\n        op: noop\n",
    );
    let (ran, result) = place.result(&["s.yaml"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(result["activities"].as_array().map(Vec::len), Some(1));
    assert_eq!(result["activities"][0]["ops"][0]["ok"], 5);
    assert_eq!(result["run"]["status"], "failed");
    let (ran, result) = place.result(&["s.yaml", "errors=counter"]);
    ran.ok();
    assert_eq!(result["activities"][0]["cycles"]["done"], 10);
    assert_eq!(result["activities"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_run_of_which_nothing_succeeded_is_not_a_success() {
    let place = Place::new();
    let ran = place.run(&["run", "driver=diag", "op=erroroncycle=0", "cycles=1", "errors=counter"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
}

#[test]
fn the_first_try_of_the_readme_loads_and_reads_what_it_loaded() {
    let place = Place::new();
    let mut schema = vec!["run", "workload=mongodb-keyvalue2", "tags=block:schema"];
    schema.extend(SMALL);
    place.run(&schema).ok();
    let mut rampup = vec!["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "cycles=2k", "threads=8"];
    rampup.extend(SMALL);
    let (ran, loaded) = place.result(&rampup);
    ran.ok();
    assert!(ran.stderr.contains("embedded server"), "{}", ran.stderr);
    assert_eq!(loaded["activities"][0]["ops"][0]["ok"], 2000);
    let mut main = vec!["run", "workload=mongodb-keyvalue2", "tags=block:main.*", "cycles=2k", "threads=8"];
    main.extend(SMALL);
    let (ran, result) = place.result(&main);
    ran.ok();
    let ops = result["activities"][0]["ops"].as_array().expect("ops");
    let select = ops.iter().find(|op| op["name"] == "main-read__main-select").expect("the read op");
    assert_eq!(select["ok"], 1000);
    assert_eq!(select["docs_returned"], 1000, "every read returned its document");
    let insert = ops.iter().find(|op| op["name"] == "main-write__main-insert").expect("the write op");
    assert_eq!(insert["errors"]["DuplicateKey"], 1000, "main-write repeats the keys of rampup");
}

#[test]
fn every_bundled_scenario_can_be_run_twice_with_small_sizes() {
    let place = Place::new();
    for scenario in [
        vec!["mongodb-keyvalue2", "rampup-cycles=200", "main-cycles=200", SMALL[0], SMALL[1]],
        vec!["mongodb-tabular2", "rampup-cycles=200", "main-cycles=200"],
        vec!["mongodb-basic", "rampup-cycles=200", "write-cycles=200", "read-cycles=200"],
    ] {
        for _ in 0..2 {
            let (ran, result) = place.result(&scenario);
            ran.ok();
            assert_eq!(result["activities"].as_array().map(Vec::len), Some(4), "{scenario:?}");
        }
    }
}

#[test]
fn a_collection_that_is_there_names_the_ways_out() {
    let place = Place::new();
    // Made by the first insert, so without the options that the schema block asks for.
    place
        .run(&["run", "workload=mongodb-keyvalue2", "tags=block:rampup", "cycles=1", SMALL[0], SMALL[1]])
        .ok();
    let again = place.run(&["run", "workload=mongodb-keyvalue2", "tags=block:schema"]);
    assert_eq!(again.code, 1);
    let said = format!("{}{}", again.stdout, again.stderr);
    assert!(said.contains("tags=block:drop-collection") && said.contains("database="), "{said}");
}

// ---- progress, results, ends ----

#[test]
fn progress_lines_have_the_reference_s_form() {
    let place = Place::new();
    let ran = place.run(&[
        "run",
        "driver=diag",
        "op=delay=20ms",
        "cycles=60",
        "alias=main",
        "--progress",
        "console:200ms",
    ]);
    let line = ran.ok().stderr.lines().find(|line| line.contains("(pending,current,complete)=("));
    let line = line.unwrap_or_else(|| panic!("no progress line in\n{}", ran.stderr));
    assert!(line.starts_with("main (pending,current,complete)=(") && line.contains('%'), "{line}");
    assert!(ran.stderr.contains("(last report)"), "{}", ran.stderr);
}

#[test]
fn the_result_has_its_schema_s_name_and_no_password() {
    let place = Place::new();
    let (_, result) = place.result(&["run", "op=noop", "driver=diag", "cycles=5"]);
    assert_eq!(result["schema"], "nbrs-result/1");
    assert_eq!(result["run"]["status"], "done");
    let s = &result["activities"][0]["ops"][0]["service_us"];
    for key in ["count", "min", "mean", "stddev", "p50", "p90", "p95", "p99", "p999", "p9999", "max"] {
        assert!(s[key].is_number(), "{key}: {s}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_said_at_once() {
    let place = Place::new();
    for (to, part) in [("no/such/folder/r.json", "no/such/folder"), ("", "file is empty")] {
        let ran = place.run(&["run", "op=noop", "driver=diag", "--report-json-to", to]);
        ran.refused(2, &[part]);
        assert_eq!(ran.stdout, "", "nothing was run");
    }
}

#[test]
fn an_interrupt_stops_within_two_seconds_with_a_summary() {
    for (which, code) in [(rustix::process::Signal::INT, 130), (rustix::process::Signal::TERM, 143)] {
        let place = Place::new();
        let child = place.start(&["run", "driver=diag", "op=delay=50ms", "cycles=100000", "threads=4"]);
        std::thread::sleep(Duration::from_millis(1500));
        signal(&child, which);
        let ran = ended(child, Duration::from_secs(4));
        assert_eq!(ran.code, code, "{}", ran.stderr);
        assert!(ran.stdout.contains("100,000"), "the summary says how many of how many:\n{}", ran.stdout);
    }
}

#[test]
fn an_op_that_hangs_does_not_hold_up_an_interrupt() {
    let place = Place::new();
    let child = place.start(&["run", "driver=diag", "op=delay=60s", "cycles=10", "threads=2"]);
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(ended(child, Duration::from_secs(4)).code, 130);
}

#[test]
fn a_step_starts_after_the_last_op_of_the_step_before() {
    let place = Place::new();
    place.file(
        "s.yaml",
        "scenarios:\n  default:\n    one: run driver=diag tags=block:slow cycles=40 threads=20\n    two: run driver=diag tags=block:quick cycles=1\n\
         blocks:\n  slow:\n    ops:\n      op1:\n        op: delay=50ms\n  quick:\n    ops:\n      op2:\n        op: noop\n",
    );
    let (ran, result) = place.result(&["s.yaml"]);
    ran.ok();
    let names: Vec<&str> =
        result["activities"].as_array().expect("a list").iter().filter_map(|a| a["alias"].as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(result["activities"][0]["cycles"]["done"], 40);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Place::new();
    let mut child = place.start(&["--list-scenarios"]);
    drop(child.stdout.take());
    let ran = ended(child, Duration::from_secs(10));
    assert_eq!(ran.code, 0);
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("internal error"), "{}", ran.stderr);
}

#[test]
fn a_delay_before_the_first_op_is_no_part_of_the_run() {
    let place = Place::new();
    let before = Instant::now();
    let (_, result) = place.result(&["run", "driver=diag", "op=initdelay=700ms", "cycles=3"]);
    assert!(before.elapsed() >= Duration::from_millis(700));
    assert_eq!(result["activities"][0]["cycles"]["done"], 3);
}

#[test]
fn an_alias_that_nothing_started_is_said_before_anything_runs() {
    let place = Place::new();
    let ran = place.run(&["start", "driver=diag", "op=noop", "alias=load", "cycles=1", "await", "laod"]);
    ran.refused(2, &["await", "`laod`", "`load`"]);
    assert_eq!(ran.stdout, "", "nothing ran");
    let ran = place.run(&["run", "driver=diag", "op=noop", "alias=load", "cycles=1", "stop", "other,b.*"]);
    let said = "stop: no activity `other,b.*` is started before it\n  help: there are: load";
    assert!(ran.ok().stderr.contains(said), "{}", ran.stderr);
}

#[test]
fn too_few_open_files_are_said_before_anything_is_contacted() {
    let place = Place::new();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 100; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_nbrs")])
        .args(["run", "workload=mongodb-basic", "tags=block:rampup", "threads=200", "cycles=1000"])
        .current_dir(place.path())
        .env("HOME", place.path())
        .env("XDG_DATA_HOME", place.path().join("data-home"))
        .env_remove("NBRS_CONNECTION");
    let output = command.output().expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("needs about 460 open files") && stderr.contains("100"), "{stderr}");
    assert!(!place.path().join("data-home").exists());
}

// ---- check, help, completions ----

/// The bundled workloads, by file name.
fn bundled() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the scenarios are there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    assert!(names.len() >= 3, "{names:?}");
    names
}

#[test]
fn check_says_nothing_about_the_bundled_workloads() {
    let place = Place::new();
    for name in bundled() {
        let ran = place.run(&["check", &name, "--strict"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{name}");
    }
    assert!(!place.path().join("data-home").exists(), "nothing was opened");
}

#[test]
fn check_says_all_that_is_wrong_with_each_file_one_problem_a_line() {
    let place = Place::new();
    let rows = [
        ("tab.yaml", "ops:\n\ta: x\n", &["tab.yaml:2:2: error: this is not YAML"][..]),
        ("twice.yaml", "ops:\n  a: x\n  a: y\n", &["twice.yaml:3:3: error: the key `a` is given twice"]),
        ("map.yaml", "ops: {a: [b: c\n", &["map.yaml:"]),
        ("empty.yaml", "", &["empty.yaml:1:1: error: "]),
        (
            "several.yaml",
            "bindings:\n  k: Modd(5)\nops:\n  a: |\n    { find: \"c\", filter: { k: {k} } }\n  b: |\n    { find: \"c\", filter: { k: {kk} } }\n",
            &[
                "several.yaml:2:6: error: there is no function `Modd`; did you mean `Mod`?",
                "several.yaml:7:31: error: ",
            ],
        ),
        (
            "step.yaml",
            "scenarios: {default: {a: run driver=diag tags==block:x cycles=5q}}\nblocks: {x: {ops: {o: noop}}}\n",
            &["step.yaml:1:63: error: parameter `cycles=5q`"],
        ),
        ("nothing.yaml", "ops: {a: \"{ping: 1}\"}\n", &[]),
    ];
    let mut files = Vec::new();
    for (name, text, _) in rows {
        place.file(name, text);
        files.push(name);
    }
    let words: Vec<&str> = ["check"].iter().chain(&files).chain(&["absent.yaml"]).copied().collect();
    let ran = place.run(&words);
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""), "{}", ran.stdout);
    for (name, _, expected) in rows {
        let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with(name)).collect();
        assert_eq!(lines.len(), expected.len(), "{name}: {lines:?}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected), "{line} does not begin with {expected}");
        }
    }
    assert!(ran.stdout.contains("absent.yaml:1:1: error: no workload `absent.yaml`"), "{}", ran.stdout);
    // The same for programs.
    let json = place.run(&["check", "several.yaml", "--json"]);
    let lines = program::json_lines(&json.stdout);
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["file"], &lines[0]["line"], &lines[0]["column"]),
        (&"several.yaml".into(), &2.into(), &6.into())
    );
    assert_eq!((&lines[0]["severity"], &lines[0]["help"]), (&"error".into(), &"did you mean `Mod`?".into()));
}

#[test]
fn a_warning_is_an_error_where_check_is_strict() {
    let place = Place::new();
    place.file("w.yaml", "blocks:\n  a:\n    opps: {x: y}\n    ops: {o: \"{ping: 1}\"}\n");
    let ran = place.run(&["check", "w.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(ran.stdout.starts_with("w.yaml:3:5: warning: "), "{}", ran.stdout);
    let ran = place.run(&["check", "w.yaml", "--strict"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stdout.starts_with("w.yaml:3:5: error: "), "{}", ran.stdout);
    place.run(&["show", "workload=w.yaml"]).ok();
}

#[test]
fn help_explains_each_function_workload_driver_and_verb() {
    let place = Place::new();
    let help = |words: &[&str]| {
        let words: Vec<&str> = ["help"].iter().chain(words).copied().collect();
        place.run(&words).ok().stdout.clone()
    };
    for name in ["HashRange", "Template"] {
        assert!(place.run(&["--list-functions"]).ok().stdout.contains(&format!("\n{name} ")), "{name}");
        let text = help(&["function", name]);
        assert!(text.starts_with(&format!("{name} (")) && text.contains("nbrs eval"), "{text}");
    }
    for name in bundled() {
        let text = help(&["workload", name.trim_end_matches(".yaml")]);
        for part in ["Scenarios:", "What to expect", "Template variables", "Blocks and their ops"] {
            assert!(text.contains(part), "{name}: no `{part}` in {text}");
        }
    }
    assert!(help(&["driver", "mongodb"]).contains("connection"));
    for verb in ["run", "start", "show", "describe", "plan", "check", "eval", "server", "help", "completions"]
    {
        assert!(help(&[verb]).contains(&format!("Usage: nbrs {verb}")), "{verb}");
        assert!(help(&[]).contains(&format!("\n  {verb} ")), "{verb}");
    }
    for heading in ["Looking:", "Running:", "Verbs:", "Parameters of every activity", "Exit codes:"] {
        assert!(help(&[]).contains(heading), "{heading}");
        assert!(place.run(&["--help"]).ok().stdout.contains(heading), "{heading}");
    }
    place.run(&["help", "function", "HashRang"]).refused(2, &["no function `HashRang`", "`HashRange`"]);
    place
        .run(&["help", "function", "Token"])
        .refused(2, &["`Token` of NoSQLBench is not part of nbrs: it logs in"]);
    place.run(&["help", "workload", "mongodb-basik"]).refused(2, &["mongodb-basic"]);
    place.run(&["help", "driver", "mongo"]).refused(2, &["mongodb"]);
}

#[test]
fn completions_are_there_for_every_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&["completions", shell]).ok().stdout.clone();
        for word in ["completions", "mongodb-keyvalue2", "report-json-to", "list-scenarios"] {
            assert!(script.contains(word), "{shell}: no `{word}`");
        }
    }
}

#[test]
fn a_bad_file_stops_no_list() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("mine")).expect("a folder");
    place.file("mine/good.yaml", "scenarios: {default: run op=x}\nops: {a: b}\n");
    place.file("mine/bad.yaml", "scenarios: {default: run op=x\n");
    std::fs::write(place.path().join("mine/latin.yaml"), b"ops: caf\xe9\n").expect("a file");
    place.file("mine/a b.yaml", "scenarios: {one two: run op=x}\nops: {a: b}\n");
    // As it can be pasted.
    let listed = place.run(&["--list-scenarios", "--include", "mine"]).stdout;
    assert!(listed.contains("    nbrs 'mine/a b' 'one two'\n"), "{listed}");
    for list in ["--list-workloads", "--list-scenarios"] {
        let ran = place.run(&[list, "--include", "mine"]);
        assert!(ran.ok().stdout.contains("mine/good"), "{}", ran.stdout);
        for name in ["mine/bad.yaml", "mine/latin.yaml"] {
            assert!(ran.stderr.contains(&format!("`{name}` is left out of the list")), "{}", ran.stderr);
        }
    }
}

// ---- secrets ----

#[test]
fn no_output_shows_a_password() {
    let place = Place::new();
    let uri = "mongodb://someone:s3cr%40t@127.0.0.1:1/?serverSelectionTimeoutMS=100";
    let connection = format!("connection={uri}");
    place.file(
        "w.yaml",
        &format!(
            "scenarios:\n  default: run driver=mongodb connection={uri} tags=block:x cycles=1q\n  good: run driver=mongodb connection={uri}\n\
             blocks: {{a: {{ops: {{o: \"{{ping: 1}}\"}}}}}}\n"
        ),
    );
    place.file(
        "own.yaml",
        &format!("ops: {{o: {{stmt: \"{{ping: 1}}\", params: {{connection: '{uri}'}}}}}}\n"),
    );
    place.file(
        "t.yaml",
        &format!(
            "scenarios:\n  default: run driver=mongodb connection=TEMPLATE(conn,{uri})\nops: {{o: \"{{ping: 1}}\"}}\n"
        ),
    );
    place.file("a.args", &format!("run\n{connection}\nworkload=mongodb-basic\ntags=block:nothing\n"));
    let rows: &[&[&str]] = &[
        &["run", "workload=mongodb-basic", "tags=block:read", &connection],
        &["run", "workload=mongodb-basic", "tags=block:read", &connection, "--report-json-to", "-"],
        &["run", &connection],
        &[&connection],
        &["rum", &connection],
        &["run", "op=x", &connection, &connection],
        &["run", "workload=mongodb-basic", "tags=block:read", &connection, "--nonsense"],
        &["run", "workload=mongodb-basic", "tags=block:read", &connection, "threds=1"],
        &["run", "driver=diag", "op=noop", &connection],
        &["show", "workload=mongodb-basic", &connection],
        &["describe", "workload=mongodb-basic", &connection],
        &["describe", "workload=own.yaml", "--json"],
        &["describe", "workload=own.yaml"],
        &["plan", "mongodb-basic", &connection],
        &["plan", "mongodb-basic", &connection, "--json"],
        &["plan", "w", "good"],
        &["plan", "w", "--json"],
        &["w"],
        &["w", "good"],
        &["check", "w.yaml"],
        &["check", "w.yaml", "--json"],
        &["help", "workload", "w.yaml"],
        &["help", "workload", "t.yaml"],
        &["plan", "t"],
        &["plan", "mongodb-basic", "connection=mongodb://127.0.0.1:1/?password=s3cr"],
        &["run", "driver=mongodb", "op={ping: 1}", "connection=mongodb://127.0.0.1:1/?password=s3cr"],
        &["--argsfile", "a.args"],
        &["--list-scenarios", "--include", "."],
    ];
    for words in rows {
        for environment in [None, Some(uri)] {
            let mut command = place.command(words);
            command.envs(environment.map(|uri| ("NBRS_CONNECTION", uri)));
            let ran = Ran::of(&mut command);
            for text in [&ran.stdout, &ran.stderr] {
                assert!(!text.contains("s3cr"), "{words:?}:\n{text}");
            }
        }
    }
}

/// Everything that a run left in its folder, as text.
fn files_of(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            found.extend(files_of(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            found.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    found
}

#[test]
fn a_mistyped_connection_string_shows_its_password_nowhere() {
    let shows = |text: &str| text.contains("s3cr") || text.contains("zq9k");
    for uri in [
        "mongodb://app:s3cr@h.invalid:x/",
        "mongodb://app:s3cr",
        "mongodb+srv://app:s3cr",
        "mongodb:/app:s3cr@h/",
        "mongodb//app:s3cr@h/",
        "mongodb:app:s3cr@h",
        "app:s3cr@h",
        "mongo://app:s3cr@h/",
        "mongodb://app:s3cr;zq9k,s3cr@h/",
        "mongodb://app:x@s3cr@h/",
        "mongodb://h:1/?password=s3cr",
    ] {
        let given = Place::new();
        given.file(
            "w.yaml",
            &format!(
                "description: 'reads {uri} '\nscenarios: {{default: 'run driver=stdout alias={uri} errors={uri}', s: 'run driver=stdout errors={uri}'}}\n\
                 bindings: {{b: \"Templat('{uri}')\"}}\nops: {{o: {{stmt: '{uri} {{b}}', description: 'to {uri} '}}}}\n"
            ),
        );
        let with = |name: &str| format!("{name}={uri}");
        let (connection, errors, alias) = (with("connection"), with("errors"), with("alias"));
        let recipe = format!("Templat('{uri}')");
        let rows: &[&[&str]] = &[
            &["run", "driver=mongodb", "op={ping: 1}", &connection, "--report-json-to", "r.json"],
            &["run", "driver=diag", "op=noop", &errors],
            &[
                "run",
                "driver=diag",
                "op=noop",
                &alias,
                "--report-json-to",
                "a.json",
                "--report-csv-to",
                "csv",
            ],
            &["run", "driver=diag", "op=fail=Busy", &alias, "--progress", "console:1s"],
            &["start", "driver=diag", "op=noop", &alias, "await", uri],
            &["run", "driver=diag", "op=noop", &with("cycles")],
            &["run", "driver=diag", "op=noop", &with("tags")],
            &["run", "driver=diag", "op=noop", &with("threds")],
            &["run", &with("workload")],
            &["run", "driver=mongodb", &with("op")],
            &[uri],
            &["plan", "w", &connection],
            &["plan", "w", &connection, "--json"],
            &["w"],
            &["w", "s"],
            &["check", "w.yaml"],
            &["check", "w.yaml", "--json"],
            &["describe", "workload=w.yaml"],
            &["describe", "workload=w.yaml", "--json"],
            &["help", "workload", "w.yaml"],
            &["--list-workloads", "--include", "."],
            &["--list-scenarios", "--include", "."],
            &["eval", &recipe],
            &["eval", "Mod(5)", "--at", uri],
            &["run", "driver=diag", "op=noop", "--progress", uri],
            &["run", "driver=diag", "op=noop", "--fail-if", uri],
        ];
        for words in rows {
            for environment in [None, Some(uri)] {
                let mut command = given.command(words);
                command.envs(environment.map(|uri| ("NBRS_CONNECTION", uri)));
                let ran = Ran::of(&mut command);
                for text in [&ran.stdout, &ran.stderr] {
                    assert!(!shows(text), "{words:?}:\n{text}");
                    assert!(!text.contains("internal error"), "{words:?}:\n{text}");
                }
                if !words.contains(&"driver=mongodb") {
                    break;
                }
            }
        }
        for (path, text) in files_of(given.path()) {
            let name = path.display().to_string();
            assert!(name.ends_with("w.yaml") || !(shows(&text) || shows(&name)), "{name}:\n{text}");
        }
    }
}

// ---- pipes ----

fn pipe(place: &Place, name: &str) {
    use rustix::fs::{CWD, Mode, mkfifoat};
    mkfifoat(CWD, place.path().join(name), Mode::RUSR | Mode::WUSR).expect("a pipe");
}

#[test]
fn a_pipe_that_nobody_holds_the_other_end_of_is_an_error_and_no_wait() {
    let place = Place::new();
    pipe(&place, "p");
    pipe(&place, "w.yaml");
    let noop = ["run", "driver=diag", "op=noop"];
    let rows: &[(&[&str], &str)] = &[
        (&["--report-json-to", "p"], "nobody reads from"),
        (&["--report-summary-to", "p"], "nobody reads from"),
        (&["--log-histograms", "p"], "nobody reads from"),
        (&["--argsfile", "p"], "nothing writes to"),
    ];
    for (option, part) in rows {
        let ran = ended(place.start(&[&noop[..], option].concat()), Duration::from_secs(20));
        ran.refused(2, &[part]);
    }
    ended(place.start(&["eval", "--from", "p"]), Duration::from_secs(20)).refused(2, &["nothing writes to"]);
    for words in [&["run", "workload=w.yaml"][..], &["w"], &["check", "w.yaml"], &["help", "workload", "w"]] {
        let ran = ended(place.start(words), Duration::from_secs(20));
        ran.refused(2, &[]);
        let said = ran.stderr + &ran.stdout;
        assert!(said.contains("`w.yaml` is a pipe or a device") && !said.contains("did you mean"), "{said}");
    }
}

#[test]
fn a_signal_ends_a_report_that_its_reader_keeps_waiting() {
    let place = Place::new();
    pipe(&place, "p");
    let mut reader =
        std::fs::OpenOptions::new().read(true).write(true).open(place.path().join("p")).expect("a pipe");
    let ops: String = (0..400).map(|n| format!("  operation-number-{n}: noop\n")).collect();
    place.file("many.yaml", &format!("ops:\n{ops}"));
    let run = place.start(&["run", "driver=diag", "workload=many.yaml", "--report-json-to", "p"]);
    // One byte of the report is read; the rest fills the pipe and waits.
    reader.read_exact(&mut [0]).expect("the report begins");
    signal(&run, rustix::process::Signal::TERM);
    let ran = ended(run, Duration::from_secs(20));
    assert_eq!(ran.code, 143, "{}", ran.stderr);
    drop(reader);
}

// ---- what cannot be meant ----

#[test]
fn what_names_nothing_is_said_with_what_is_near() {
    let place = Place::new();
    place.file("nul.yaml", "ops: {a: \"x\0y\"}\n");
    place.file("noname.yaml", "ops:\n  a: \"TEMPLATE()\"\n");
    place.run(&["--progres", "none"]).refused(2, &["no option `--progres`", "did you mean `--progress`?"]);
    place.run(&["run", "--bogus=5"]).refused(2, &["no option `--bogus`", "`nbrs --help` lists them"]);
    place.run(&["run", "workload=nul.yaml"]).refused(2, &["nul.yaml:1:12", "NUL byte"]);
    let ran = place.run(&["run", "driver=stdout", "workload=noname.yaml"]);
    ran.refused(2, &["has no name", "`TEMPLATE(name,default)`"]);
    assert!(!ran.stderr.contains("give `="), "{}", ran.stderr);
    let ran = place.run(&["--list-workloads", "--include", "nowhere"]);
    assert!(ran.ok().stderr.contains("--include nowhere: there is no such folder"), "{}", ran.stderr);
}

#[test]
fn a_summary_does_not_say_that_what_could_not_be_written_went_well() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_nbrs");
    let ran =
        Ran::of(&mut place.shell(&format!("{program} run driver=stdout op=hello cycles=10 > /dev/full")));
    ran.refused(1, &["its output could not be written", "not all of their output was written"]);
    assert!(!ran.stderr.contains("ended well"), "{}", ran.stderr);
}
