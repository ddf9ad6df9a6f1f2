//! Replies held against what they have to be (`expect:`, `verify:`), reads of only what was written, and named
//! timers, as users of the program meet them: on the embedded server and on `diag`.

mod program;

use program::{Place, Ran};
use serde_json::{Value, json};

const PEOPLE: &str = r#"
bindings:
  id: Identity()
  name: NumberNameToString()
blocks:
  write:
    ops:
      insert:
        op: |
          { insert: "people", documents: [ { _id: {id}, name: "{name}", in: { n: {id} } } ] }
        expect: { n: 1, ok: 1 }
  read:
    ops:
      find:
        op: |
          { find: "people", filter: { _id: {id} } }
        expect: [docs == 1, doc.in.n == cycle]
        verify: |
          { _id: {id}, name: "{name}", "in.n": {id} }
  rename:
    ops:
      update:
        update: people
        updates: [ { q: { _id: "{id}" }, u: { $set: { name: nobody } } } ]
        expect: { n: 1, nModified: 1 }
"#;

fn people() -> Place {
    let place = Place::new();
    place.file("people.yaml", PEOPLE);
    place
}

fn run(place: &Place, words: &[&str]) -> (Ran, Value) {
    let mut args = vec!["run", "workload=people.yaml"];
    args.extend(words);
    place.result(&args)
}

#[test]
fn replies_that_are_as_expected_are_ops_that_ended_well() {
    let place = people();
    for (block, cycles) in [("write", "50"), ("read", "50"), ("rename", "7..8")] {
        let (ran, result) =
            run(&place, &[&format!("tags=block:{block}"), &format!("cycles={cycles}"), "threads=4"]);
        ran.ok();
        let op = &result["activities"][0]["ops"][0];
        assert_eq!((&op["ok"], &op["errors"]), (&op["attempted"], &json!({})), "{block}");
    }
}

#[test]
fn one_that_is_not_ends_the_run_or_is_counted_by_its_name_as_errors_says() {
    let place = people();
    run(&place, &["tags=block:write", "cycles=20"]).0.ok();
    run(&place, &["tags=block:rename", "cycles=7..8"]).0.ok();

    // Without errors= an op that failed stops the run, with both values.
    let (ran, _) = run(&place, &["tags=block:read", "cycles=20"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let said = "stopped by VerifyFailed of read__find at cycle 7: `name` is \"nobody\", expected \"seven\"";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);

    // By its name, or by the one that NoSQLBench would have thrown. Cycle 20 reads what was never written.
    for errors in ["VerifyFailed:warn;ExpectFailed:warn", "ResultVerificationError:warn"] {
        let (ran, result) = run(&place, &["tags=block:read", "cycles=21", &format!("errors={errors}")]);
        let op = &result["activities"][0]["ops"][0];
        assert_eq!(op["ok"], 19, "{op}");
        assert_eq!(op["errors"], json!({"ExpectFailed": 1, "VerifyFailed": 1}));
        for part in [
            "read__find, cycle 7: VerifyFailed: `name` is \"nobody\"",
            "read__find, cycle 20: ExpectFailed: `docs == 1` does not hold: docs is 0",
        ] {
            assert!(ran.ok().stderr.contains(part), "no `{part}` in\n{}", ran.stderr);
        }
    }

    // A retry reads anew: it is no better then, and the run goes on.
    let (ran, result) = run(&place, &["tags=block:read", "cycles=20", "errors=retry=now", "maxtries=3"]);
    let detail = &result["activities"][0]["ops"][0]["errors_detail"]["VerifyFailed"];
    assert_eq!(*detail, json!({"first": 1, "retried": 2, "given_up": 1}));
    ran.ok();

    // What was written only in part is that error, and nothing else.
    let (ran, result) = run(&place, &["tags=block:write", "cycles=1"]);
    assert_eq!(result["activities"][0]["ops"][0]["errors"], json!({"DuplicateKey": 1}), "{}", ran.stderr);
}

#[test]
fn what_groovy_did_is_refused_with_what_to_write_instead() {
    let place = Place::new();
    place.file("w.yaml", "ops:\n  a:\n    op: '{ ping: 1 }'\n    verifier: 'true'\n");
    place.run(&["run", "workload=w.yaml"]).refused(
        2,
        &["`verifier` is Groovy, which nbrs does not run", "w.yaml:4:15", "write `expect: docs == 1`"],
    );
    place
        .run(&["run", "driver=diag", "op=noop", "errors=verifyexpected"])
        .refused(2, &["give the op `expect:` or `verify:`"]);
}

#[test]
fn the_latest_are_read_only_once_they_are_written() {
    let place = Place::new();
    // One insert in four cycles: the number of a turn is that of its insert.
    place.file(
        "d.yaml",
        r#"
bindings:
  loaded: Identity()
  new: Div(4); Add(20)
  latest: YcsbLatest(20)
  beyond: Div(4); Add(1000000)
blocks:
  load:
    ops:
      insert: '{ insert: "d", documents: [ { _id: {loaded} } ] }'
  main:
    params: { expect: result.ok == 1 }
    ops:
      insert: '{ insert: "d", documents: [ { _id: {new} } ] }'
      read:
        op: '{ find: "d", filter: { _id: {TEMPLATE(key,latest)} } }'
        ratio: 3
        expect: docs == 1
"#,
    );
    place.run(&["run", "workload=d.yaml", "tags=block:load", "cycles=20"]).ok();
    let main = ["run", "workload=d.yaml", "tags=block:main", "cycles=4000", "threads=16", "errors=counter"];
    let (ran, result) = place.result(&main);
    ran.ok();
    for op in [0, 1] {
        let op = &result["activities"][0]["ops"][op];
        assert_eq!((&op["ok"], &op["errors"]), (&op["attempted"], &json!({})), "{op}");
    }
    // The check tells: what was not written is not there.
    let mut beyond = main.to_vec();
    beyond.extend(["key=beyond", "database=other"]);
    let (_, result) = place.result(&beyond);
    assert_eq!(result["activities"][0]["ops"][1]["errors"], json!({"ExpectFailed": 3000}));
}

#[test]
fn timers_run_from_one_op_to_another_on_the_same_thread() {
    let place = Place::new();
    place.file(
        "t.yaml",
        "ops:\n  a: {op: 'delay=20ms', start-timers: 'trip, both'}\n  b: {op: 'delay=20ms', stop-timers: trip}\n  c: {op:          'fail=Busy', instrument: true, stop-timers: both}\n",
    );
    let args =
        ["run", "driver=diag", "workload=t.yaml", "cycles=30", "threads=2", "errors=counter", "alias=main"];
    let mut with_csv = args.to_vec();
    with_csv.extend(["--report-csv-to", "csv"]);
    let (ran, result) = place.result(&with_csv);
    ran.ok();
    let timers = &result["activities"][0]["ops"][0]["timers_us"];
    for name in ["trip", "both"] {
        assert_eq!(timers[name]["count"], 10, "{timers}");
        // Two delays of 20 ms each; the histogram keeps three digits.
        assert!(timers[name]["min"].as_f64() >= Some(39_900.0), "{timers}");
        assert!(ran.stdout.contains(&format!("timer {name}")), "{}", ran.stdout);
    }
    assert_eq!(result["activities"][0]["ops"][1].get("timers_us"), None);
    for file in ["main.block0__a.trip.csv", "main.block0__c.errorsfor_block0__c.csv"] {
        let text = std::fs::read_to_string(place.path().join("csv").join(file))
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(text.lines().nth(1).and_then(|row| row.split(',').nth(1)), Some("10"), "{text}");
    }
    assert!(
        !place.path().join("csv/main.block0__a.successfor_block0__a.csv").exists(),
        "a is not instrumented"
    );

    place.file("u.yaml", "ops:\n  a: {op: noop, start-timers: trip}\n  b: {op: noop, stop-timers: tripp}\n");
    place.run(&["run", "driver=diag", "workload=u.yaml"]).refused(
        2,
        &["op `block0__b` stops the timer `tripp`, which no selected op starts", "did you mean `trip`?"],
    );
    place.file("v.yaml", "ops:\n  a: {op: noop, start-timers: trip}\n");
    let ran = place.run(&["run", "driver=diag", "workload=v.yaml"]);
    assert!(ran.ok().stderr.contains("`trip`, which no selected op stops"), "{}", ran.stderr);
}
