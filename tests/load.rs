//! How fast and for how long a run goes, what it says of itself, and how one that was cut off is completed: as
//! users of the program meet it.

mod program;

use program::{Place, Ran, ended, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

const ONE_MINUTE: Duration = Duration::from_secs(60);

#[track_caller]
fn main_activity(result: &Value) -> &Value {
    &result["activities"][0]
}

#[track_caller]
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

#[test]
fn every_cycle_is_run_exactly_once_whatever_divides_them() {
    let place = Place::new();
    for (cycles, threads, more) in [
        ("100", "3", "stride=1"),
        ("300017", "7", "stride=1"),
        ("50k", "64", "stride=7"),
        ("1", "1000", "stride=1"),
        ("1000", "20", "recycles=3"),
    ] {
        let cycles_word = format!("cycles={cycles}");
        let threads_word = format!("threads={threads}");
        let (ran, result) =
            place.result(&["run", "driver=diag", "op=noop", &cycles_word, &threads_word, more]);
        ran.ok();
        let main = main_activity(&result);
        assert_eq!(main["cycles"]["asked"], main["cycles"]["done"], "{cycles}");
        assert_eq!(main["ops"][0]["ok"], main["cycles"]["done"], "{cycles}");
        assert_eq!(main["ended"], json!({"by": "complete"}));
    }
}

#[test]
fn time_or_cycles_end_a_run_whichever_is_first_and_the_summary_says_which() {
    let place = Place::new();
    let (ran, result) = place.result(&["run", "driver=diag", "op=delay=1ms", "duration=300ms", "threads=4"]);
    assert!(ran.ok().stdout.contains("; its time was over"), "{}", ran.stdout);
    let main = main_activity(&result);
    assert_eq!((&main["ended"]["by"], main["cycles"].get("asked")), (&json!("time"), None));
    assert!(count(&main["cycles"]["done"]) > 0);

    let (ran, result) =
        place.result(&["run", "driver=diag", "op=delay=1ms", "duration=300ms", "cycles=1M", "threads=4"]);
    let done = count(&main_activity(&result)["cycles"]["done"]);
    assert!(done > 0 && done < 1_000_000);
    assert!(ran.ok().stdout.contains(" of 1,000,000 cycles in "), "{}", ran.stdout);

    let (ran, result) = place.result(&["run", "driver=diag", "op=noop", "duration=1h", "cycles=100"]);
    assert!(ran.ok().stdout.contains("; all cycles done"), "{}", ran.stdout);
    assert_eq!(count(&main_activity(&result)["cycles"]["done"]), 100);
    place.run(&["run", "driver=diag", "op=noop", "cycles=0", "duration=1h"]).ok();
}

#[test]
fn an_op_that_outlives_the_time_is_waited_for() {
    let place = Place::new();
    let (ran, result) = place.result(&["run", "driver=diag", "op=delay=2s", "duration=100ms", "threads=2"]);
    ran.ok();
    assert_eq!(main_activity(&result)["ops"][0]["ok"], 2);
}

#[test]
fn a_warm_up_runs_and_is_not_counted() {
    let (ran, result) = Place::new().result(&[
        "run",
        "driver=diag",
        "op=delay=1ms",
        "cycles=2000",
        "threads=4",
        "warmup=200ms",
    ]);
    let main = main_activity(&result);
    let warm = count(&main["warm_up"]["cycles"]);
    assert!(main["warm_up"]["elapsed_s"].as_f64() >= Some(0.2), "{main}");
    assert_eq!(warm + count(&main["ops"][0]["attempted"]), 2000);
    assert_eq!(count(&main["cycles"]["done"]), 2000);
    assert!(ran.ok().stdout.contains("not counted below"), "{}", ran.stdout);
}

#[test]
fn a_target_that_is_too_slow_is_explained_in_words() {
    let place = Place::new();
    let (ran, result) =
        place.result(&["run", "driver=diag", "op=delay=10ms", "cycles=400", "cyclerate=1000", "threads=1"]);
    ran.ok();
    // Once at once, and then no more often than every ten seconds.
    let told = ran.stderr.matches("all 1 thread busy, behind schedule by").count() as f64;
    let elapsed = main_activity(&result)["elapsed_s"].as_f64().expect("a time");
    assert!(told >= 1.0 && told <= 1.0 + elapsed / 10.0, "{}", ran.stderr);
    for part in ["behind schedule, backlog", "response times include queueing", "1 thread was busy"] {
        assert!(ran.stdout.contains(part), "no `{part}` in\n{}", ran.stdout);
    }
    let main = main_activity(&result);
    assert!(count(&main["rate"]["backlog"]) > 100);
    // The last op fell due within half a second and was answered after four.
    let op = &main["ops"][0];
    assert!(op["response_us"]["max"].as_f64() > Some(3_000_000.0), "{op}");
    assert!(op["service_us"]["p50"].as_f64() < Some(1_000_000.0), "{op}");
}

#[test]
fn rates_hold_for_strides_for_threads_and_over_time() {
    let place = Place::new();
    let target = |words: &[&str]| {
        let mut args = vec!["run", "driver=diag", "op=noop"];
        args.extend(words);
        let (ran, result) = place.result(&args);
        ran.ok();
        let main = main_activity(&result);
        assert_eq!(main["cycles"]["asked"], main["cycles"]["done"], "{words:?}");
        main["rate"]["target"].as_f64().unwrap_or_else(|| panic!("{words:?}: no target"))
    };
    let near = |value: f64, expected: f64| (value - expected).abs() < expected * 0.02;
    assert!(near(target(&["cycles=200", "stride=10", "striderate=100", "threads=2"]), 1000.0));
    assert!(near(target(&["cycles=100", "cyclerate=100,1.1,start,thread", "threads=5"]), 500.0));
    // 100/s and 500/s, half a second of each; 0.1/s needs no waiting for the first.
    let mean = target(&["cycles=300", "rate_profile=steps:0s:100,500ms:500", "threads=5"]);
    assert!(mean > 200.0 && mean < 400.0, "{mean}");
    assert!(near(target(&["cycles=1", "cyclerate=0.1"]), 0.1));
}

#[test]
fn an_open_loop_keeps_as_much_in_flight_as_falls_due() {
    let (ran, result) = Place::new().result(&[
        "run",
        "driver=diag",
        "op=delay=100ms",
        "cycles=500",
        "cyclerate=1000",
        "open=true",
        "max_in_flight=1000",
    ]);
    ran.ok();
    let main = main_activity(&result);
    assert_eq!(count(&main["ops"][0]["ok"]), 500);
    // One thread would take 50 s.
    assert!(main["elapsed_s"].as_f64() < Some(20.0), "{main}");
}

#[test]
fn parameters_that_cannot_be_together_are_refused_at_their_place() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    main: run driver=diag open=true cyclerate=5\nops:\n  a: noop\n",
    );
    place.run(&["w.yaml"]).refused(2, &["needs `max_in_flight=N`", "w.yaml:3:"]);
    for (word, part) in [
        ("rate_profile=100", "write TIME:RATE, such as `60s:5000`"),
        ("duration=soon", "`soon` is not a number"),
        ("cyclerate=100,1.1,start,task", "nor of activity, thread"),
    ] {
        place.run(&["run", "driver=diag", "op=noop", word]).refused(2, &[part]);
    }
    place
        .run(&["run", "driver=diag", "op=noop", "duration=1s", "resume=j"])
        .refused(2, &["`resume=` needs `cycles=`"]);
}

#[test]
fn an_interrupted_run_says_what_it_did_and_is_completed_by_resume() {
    let place = Place::new();
    let args = [
        "run",
        "driver=diag",
        "op=delay=1ms",
        "cycles=5000",
        "threads=4",
        "alias=a/b",
        "resume=journals",
        "--progress",
        "console:100ms",
        "--report-json-to",
        "first.json",
    ];
    let child = place.start(&args);
    let journal = place.path().join("journals/a_b.journal");
    program::until(|| {
        std::fs::read(&journal).is_ok_and(|bytes| bytes.iter().filter(|b| **b == 2).count() > 200)
    });
    signal(&child, Signal::INT);
    let ran = ended(child, ONE_MINUTE);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stdout.contains(" of 5,000 cycles in "), "{}", ran.stdout);
    let first: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("first.json")).expect("a result"))
            .expect("JSON");
    let done = count(&main_activity(&first)["cycles"]["done"]);

    let (ran, second) = place.result(&args[..7]);
    assert!(ran.ok().stderr.contains("of 5000 cycles were done by the run before"), "{}", ran.stderr);
    let main = main_activity(&second);
    assert_eq!(main["cycles"], json!({"asked": 5000, "done": 5000 - done, "before": done}));
    // Another run has no use for it.
    let mut other = args[..7].to_vec();
    other[3] = "cycles=6000";
    place.run(&other).refused(2, &["is of another run", "cycles=0..5000", "cycles=0..6000"]);
}

/// The cycles that a journal says were begun and not done, as they are named.
fn begun(journal: &[u8]) -> Vec<String> {
    let states = &journal[4096..];
    let is_begun = |cycle: usize| states.get(cycle) == Some(&1);
    let mut ranges = Vec::new();
    for first in (0..states.len()).filter(|at| is_begun(*at) && (*at == 0 || !is_begun(at - 1))) {
        let end = (first..).find(|at| !is_begun(*at)).unwrap_or(first);
        ranges.push(if end == first + 1 { first.to_string() } else { format!("{first}..{end}") });
    }
    ranges
}

#[test]
fn a_run_that_was_killed_is_completed_with_each_cycle_once_in_the_store() {
    let place = Place::new();
    place.file(
        "load.yaml",
        "bindings:\n  id: Identity()\nops:\n  insert: |\n    { insert: \"c\", documents: [ { _id: {id} } ] }\n  \
         count: |\n    { count: \"c\" }\n",
    );
    let mut server = place.start(&["server", "--port", "0", "--data-dir", "data"]);
    let uri = program::listening(&mut server);
    let connection = format!("connection={uri}");
    let load = ["run", "workload=load.yaml", "tags=name:.*insert", "cycles=6k", "threads=8", &connection];
    let mut first = load.to_vec();
    first.push("resume=journals");
    let child = place.start(&first);
    let journal = place.path().join("journals/load_yaml.journal");
    program::until(|| {
        std::fs::read(&journal)
            .is_ok_and(|bytes| bytes[4096.min(bytes.len())..].iter().filter(|b| **b == 2).count() > 300)
    });
    signal(&child, Signal::KILL);
    let ran = ended(child, ONE_MINUTE);
    assert_ne!(ran.code, 0);
    let in_flight = begun(&std::fs::read(&journal).expect("the journal stays"));

    let mut second = first.clone();
    second.push("errors=DuplicateKey:counter;stop");
    let (ran, result) = place.result(&second);
    let (before, main) = (&main_activity(&result)["cycles"]["before"], main_activity(&result));
    assert!(count(before) >= 300, "{main}");
    assert_eq!(count(before) + count(&main["cycles"]["done"]), 6_000);
    // Those in flight, at most one a thread, may have been done: they are named, and their keys tell.
    let again = main["ops"][0]["errors"].get("DuplicateKey").map_or(0, count);
    assert!(again <= 8, "{main}");
    match in_flight.is_empty() {
        true => assert_eq!(again, 0, "{main}"),
        false => {
            let named = format!("nobody knows whether the target did them: {}", in_flight.join(", "));
            let said: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&named), "no `{named}` in\n{}", ran.stderr);
        }
    }
    let ran: Ran = place.run(&[
        "run",
        "workload=load.yaml",
        "tags=name:.*count",
        "cycles=1",
        "dryrun=emit",
        &connection,
    ]);
    assert!(ran.ok().stdout.contains("6000"), "{}", ran.stdout);
    signal(&server, Signal::TERM);
    ended(server, ONE_MINUTE);
}

#[test]
fn conditions_that_hold_fail_a_run_and_those_that_name_nothing_are_refused_before() {
    let place = Place::new();
    let run = |conditions: &[&str], words: &[&str]| {
        let mut args = vec!["run", "driver=diag", "cycles=20"];
        args.extend(words);
        for condition in conditions {
            args.extend(["--fail-if", condition]);
        }
        place.run(&args)
    };
    let slow = &["op=delay=5ms"][..];
    run(&["p99>1ms", "errors>1%"], slow).refused(4, &["--fail-if 'p99>1ms' holds: DIAG0 has "]);
    run(&["p99>1h", "errors>1%", "stmt1.p50>1h"], slow).ok();
    let half = &["op=fail:every=2", "errors=counter"][..];
    run(&["errors>40%"], half).refused(4, &["has 50%"]);
    // What is worse than a condition decides: not one op succeeded.
    run(&["errors>40%"], &["op=fail=Busy", "errors=counter"]).refused(1, &["--fail-if"]);
    run(&["rate<95%"], slow).refused(2, &["no activity has a target rate"]);
    run(&["fid.p99>1ms"], slow).refused(2, &["no op and no alias is named `fid`"]);
    run(&["p99=1ms"], slow).refused(2, &["compares nothing"]);
}

#[test]
fn findmax_searches_between_rates_and_says_what_is_kept() {
    let place = Place::new();
    let (ran, result) = place.result(&[
        "findmax",
        "driver=diag",
        "op=delay=5ms",
        "threads=10",
        "--keep",
        "p50<1s",
        "--hold",
        "300ms",
    ]);
    assert!(ran.ok().stdout.contains("the highest rate that is kept is "), "{}", ran.stdout);
    let fastest = result["activities"][0]["rate"]["achieved"].as_f64().expect("a rate");
    let found = result["run"]["max_rate"].as_f64().expect("a rate");
    // Ten threads at 5 ms and more each: no faster than 2000/s.
    assert!(found <= 2_000.0 && found <= fastest * 1.05 && found > 0.0, "{found} of {fastest}");
    assert!(result["activities"].as_array().is_some_and(|probes| probes.len() >= 3));
    place
        .run(&[
            "findmax",
            "driver=diag",
            "op=delay=5ms",
            "--keep",
            "p50<1us",
            "--hold",
            "100ms",
            "--min",
            "50",
        ])
        .refused(4, &["not kept"]);
    place
        .run(&["findmax", "driver=diag", "op=noop", "cyclerate=5", "--keep", "p50<1s"])
        .refused(2, &["findmax sets `cyclerate=` itself"]);
}

#[test]
fn twenty_thousand_threads_are_tasks_and_fit_the_memory_of_a_small_machine() {
    let (ran, result) =
        Place::new().result(&["run", "driver=diag", "op=noop", "threads=20000", "cycles=100k", "stride=1"]);
    ran.ok();
    let main = main_activity(&result);
    assert_eq!(count(&main["ops"][0]["ok"]), 100_000);
    let memory = count(&main["client"]["memory"]);
    assert!(memory < 500_000_000, "{memory} bytes");
}

#[test]
fn threads_of_a_closed_loop_that_the_client_keeps_busy_are_told_of() {
    let run = |words: &[&str]| {
        let mut args = vec!["run", "driver=diag", "duration=1200ms", "threads=2"];
        args.extend(words);
        Place::new().run(&args).ok().stdout.clone()
    };
    let words = "had an op in flight on average (ops/s × mean service time)";
    let noop = run(&["op=noop"]);
    assert!(noop.contains(words), "{noop}");
    for busy in [&["op=delay=100ms"][..], &["op=noop", "cyclerate=100"]] {
        let text = run(busy);
        assert!(!text.contains(words), "{busy:?}: {text}");
    }
}

/// A server of its own, which ends with the test.
struct Server(std::process::Child);

impl Server {
    fn start(place: &Place) -> (Server, String) {
        let mut server = place.start(&["server", "--port", "0", "--data-dir", "data"]);
        let uri = program::listening(&mut server);
        (Server(server), uri)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn more_threads_than_connections_wait_for_one_and_every_op_ends() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "bindings: {id: Identity()}\nops:\n  a: '{ insert: \"c\", documents: [ { _id: {id} } ] }'\n",
    );
    let (_server, uri) = Server::start(&place);
    for w in [0, 1] {
        let connection = format!("connection={uri}/?maxPoolSize=100&w={w}");
        let database = format!("database=d{w}");
        let (ran, result) =
            place.result(&["run", "workload=w.yaml", "threads=2300", "cycles=2300", &connection, &database]);
        ran.ok();
        let main = main_activity(&result);
        assert_eq!((count(&main["ops"][0]["ok"]), &main["ended"]["by"]), (2_300, &json!("complete")));
        let header: String = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(header.contains("100 connections for 2300 threads"), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("unacknowledged"), w == 0, "{}", ran.stderr);
    }
}

#[test]
fn the_connections_of_a_step_are_gone_when_the_next_one_runs() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    one: run driver=mongodb threads=20 duration=1500ms\n    two: run driver=mongodb threads=5 \
         duration=2500ms\nops:\n  a: '{ ping: 1 }'\n",
    );
    let (_server, uri) = Server::start(&place);
    let connection = format!("connection={uri}");
    let (ran, result) = place.result(&["w.yaml", &connection]);
    ran.ok();
    let open = |activity: usize| {
        let points = result["activities"][activity]["server"].as_array().expect("the server tells");
        count(&points.last().expect("a second")["connections"])
    };
    // A connection for each thread, one to ask for these counts, and those that watch the server.
    let (one, two) = (open(0), open(1));
    assert!((20..=26).contains(&one), "{one}");
    assert!((5..=11).contains(&two), "{two}");
}

#[test]
fn documents_that_an_insert_did_not_write_are_counted_apart_from_the_op_that_failed() {
    let place = Place::new();
    let documents: Vec<String> = [0, 1, 2, 3, 4, 5, 6, 0, 1, 7].map(|id| format!("{{ _id: {id} }}")).into();
    let op = format!("{{ insert: \"c\", ordered: false, documents: [ {} ] }}", documents.join(", "));
    place.file("w.yaml", &format!("ops:\n  many: '{op}'\n"));
    let (ran, result) = place.result(&["run", "workload=w.yaml", "cycles=1", "errors=.*11000.*:counter"]);
    let op = &main_activity(&result)["ops"][0];
    assert_eq!(count(&op["docs_written"]), 8, "{}", ran.stderr);
    assert_eq!((&op["ok"], &op["errors"]), (&json!(0), &json!({"DuplicateKey": 1})));
    assert_eq!(count(&op["errors_detail"]["DuplicateKey"]["documents"]), 2);
}

#[test]
fn failures_have_times_of_their_own_and_rates_apart() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "ops:\n  mixed:\n    op:\n      delay: delay=20ms every=2\n      fail: fail=Busy cycles=1,3,5,7,9,11,13,15,17,19\n",
    );
    let (ran, result) =
        place.result(&["run", "driver=diag", "workload=w.yaml", "cycles=20", "threads=4", "errors=timer"]);
    ran.ok();
    let op = &main_activity(&result)["ops"][0];
    assert_eq!((count(&op["ok"]), count(&op["attempted"])), (10, 20));
    assert!(op["service_us"]["min"].as_f64() >= Some(19_000.0), "{op}");
    assert_eq!(count(&op["failed_us"]["count"]), 10);
    assert_eq!(count(&op["errors_detail"]["Busy"]["time_us"]["count"]), 10);
    for part in ["ok ops/s", "attempted/s", "failed"] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

#[test]
fn a_server_that_is_restarted_mid_run_is_an_outage_that_retries_outlast() {
    ["wire", "driver"].into_iter().for_each(outlast_a_restart);
}

fn outlast_a_restart(lane: &str) {
    let lane = format!("lane={lane}");
    let place = Place::new();
    place.file("w.yaml", "ops:\n  find: |\n    { find: \"c\", filter: { _id: 1 } }\n");
    let mut server = place.start(&["server", "--port", "0", "--data-dir", "data"]);
    let uri = program::listening(&mut server);
    let port = uri.rsplit(':').next().expect("a port").to_owned();
    let connection = format!("connection={uri}/?serverSelectionTimeoutMS=300");
    let child = place.start(&[
        "run",
        "workload=w.yaml",
        "duration=6s",
        "threads=4",
        "cyclerate=200",
        "errors=retry",
        "maxtries=1k",
        &connection,
        &lane,
        "--report-json-to",
        "result.json",
    ]);
    std::thread::sleep(Duration::from_millis(1_500));
    signal(&server, Signal::KILL);
    ended(server, ONE_MINUTE);
    std::thread::sleep(Duration::from_millis(1_500));
    let mut server = place.start(&["server", "--port", &port, "--data-dir", "data"]);
    program::listening(&mut server);
    let ran = ended(child, ONE_MINUTE);
    ran.ok();
    signal(&server, Signal::TERM);
    ended(server, ONE_MINUTE);

    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path().join("result.json")).expect("a result"))
            .expect("JSON");
    let main = main_activity(&result);
    assert_eq!(main["ended"]["by"], "time");
    let outage = &main["outages"][0];
    let (from, to) =
        (outage["from_s"].as_f64().expect("it began"), outage["to_s"].as_f64().expect("it ended"));
    assert!(to - from >= 1.4, "{outage}");
    assert!(ran.stdout.contains("outage: no op ended well for "), "{}", ran.stdout);
    let errors = main["ops"][0]["errors_detail"].as_object().expect("errors");
    assert!(errors.values().any(|detail| count(&detail["retried"]) > 0), "{main}");
    // What the server itself counted stands beside it.
    assert!(main["server"].as_array().is_some_and(|points| !points.is_empty()), "{main}");
    // All connections were lost, and opened anew.
    let connections = main["connections"].as_array().expect("connections");
    let sum = |part: &str| connections[1..].iter().map(|point| count(&point[part])).sum::<u64>();
    assert_eq!(connections[0], json!({"t": 0.0, "asked": 4, "opened": 4, "lost": 0, "open": 4}), "{lane}");
    assert!(
        sum("lost") >= 4 && sum("opened") >= 1 && sum("asked") >= sum("opened"),
        "{lane}: {connections:?}"
    );
    assert!(ran.stdout.contains("  connections: 4 before the run; "), "{}", ran.stdout);
}
