//! The workload language as users meet it: files in, op templates and planned steps out, and errors that point
//! into the file that the user wrote.

mod documents;
mod file;
#[path = "../program/mod.rs"]
mod program;
mod sequence;
mod tags;

use indexmap::IndexMap;
use nbrs::functions::Context;
use nbrs::plan::{Form, compile};
use nbrs::span::{Diagnostic, Source, Text};
use nbrs::workload::tags::TagFilter;
use nbrs::workload::{self, LoadOptions, OpTemplate, Workload, find, scenario};
use proptest::prelude::*;
use std::fs;
use std::sync::Arc;

/// Parameter names that activities and drivers have, as far as the bundled scenarios use them.
const KNOWN: &[&str] =
    &["driver", "tags", "cycles", "threads", "errors", "workload", "database", "connection"];

fn params(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn lines(errors: Vec<Diagnostic>) -> String {
    errors.iter().map(Diagnostic::one_line).collect::<Vec<_>>().join("\n")
}

fn parsed(text: &str, pairs: &[(&str, &str)]) -> Result<Workload, String> {
    let source = Arc::new(Source { name: "w.yaml".to_owned(), text: text.to_owned() });
    workload::parse(source, &params(pairs)).map_err(lines)
}

fn bundled(name: &str, pairs: &[(&str, &str)]) -> Workload {
    let params = params(pairs);
    workload::load(name, &LoadOptions { includes: &[], params: &params })
        .unwrap_or_else(|e| panic!("{}", lines(e)))
}

fn selected(workload: &Workload, filter: &str) -> Vec<OpTemplate> {
    let filter = TagFilter::parse(&Text::unplaced(filter)).expect("a filter");
    filter.select(workload).unwrap_or_else(|error| panic!("{}", error.one_line()))
}

fn names(workload: &Workload, filter: &str) -> Vec<String> {
    selected(workload, filter).into_iter().map(|op| op.name).collect()
}

fn statement(op: &OpTemplate) -> String {
    op.op["stmt"].as_text().expect("a text").as_str().to_owned()
}

#[test]
fn the_bundled_workloads_load_and_have_the_blocks_and_ops_that_users_know() {
    let keyvalue = bundled("mongodb-keyvalue2", &[]);
    assert_eq!(
        names(&keyvalue, ""),
        [
            "schema__create-collection",
            "schema__create-key-index",
            "rampup__rampup-insert",
            "main-read__main-select",
            "main-write__main-insert",
            "drop-collection__drop-collection"
        ]
    );
    assert_eq!(names(&keyvalue, "block:main.*"), ["main-read__main-select", "main-write__main-insert"]);
    assert_eq!(names(&keyvalue, "block:\"schema.*\"").len(), 2);
    let tabular = bundled("mongodb-tabular2", &[]);
    assert_eq!(names(&tabular, "block:'main-.*'").len(), 9);
    let ratios: Vec<String> = selected(&tabular, "block:main-.*")
        .iter()
        .map(|op| op.op["ratio"].as_text().expect("a number").as_str().to_owned())
        .collect();
    assert_eq!(ratios, ["1", "1", "1", "1", "1", "1", "1", "1", "8"]);
    let basic = bundled("mongodb-basic", &[]);
    assert_eq!(
        names(&basic, ""),
        ["rampup__insert", "read__find", "write__insert", "drop-collection__drop-collection"]
    );
    for workload in [keyvalue, tabular, basic] {
        assert!(workload.warnings.is_empty() && workload.unset.is_empty(), "{}", workload.path);
        assert!(workload.description.as_deref().is_some_and(|text| text.contains("What to expect")));
    }
}

#[test]
fn the_bundled_default_scenarios_plan_and_can_be_run_small() {
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (
            "mongodb-keyvalue2",
            &[("rampup-cycles", "10k"), ("main-cycles", "5k"), ("mintext", "50"), ("maxtext", "150")],
            &[
                "schema tags=block:schema.* threads=1",
                "rampup tags=block:rampup cycles=10k threads=auto",
                "main tags=block:main-.* cycles=5k threads=auto",
                "drop tags=block:drop-collection threads=1",
            ],
        ),
        (
            "mongodb-tabular2",
            &[("rampup-cycles", "10k"), ("main-cycles", "5k")],
            &[
                "schema tags=block:schema.* threads=1",
                "rampup tags=block:rampup cycles=10k threads=auto",
                "main tags=block:main-.* cycles=5k threads=auto",
                "drop tags=block:drop-collection threads=1",
            ],
        ),
        (
            "mongodb-basic",
            &[],
            &[
                "rampup tags=block:rampup.*, cycles=10 threads=auto",
                "write tags=block:write.*, cycles=10 threads=auto",
                "read tags=block:read.*, cycles=10 threads=auto",
                "drop tags=block:drop-collection threads=1",
            ],
        ),
    ];
    for (name, user, expected) in cases {
        let workload = bundled(name, user);
        let plan = scenario::plan(&workload, name, &[], &params(user), KNOWN).map_err(lines).expect("a plan");
        let steps: Vec<String> = plan
            .steps
            .iter()
            .map(|step| {
                assert_eq!((step.verb.as_str(), step.params["workload"].as_str()), ("run", *name));
                let shown = ["tags", "cycles", "threads"];
                let shown = shown.iter().filter_map(|key| Some(format!(" {key}={}", step.params.get(*key)?)));
                format!("{}{}", step.alias, shown.collect::<String>())
            })
            .collect();
        assert_eq!(steps, *expected, "{name}");
        for step in &plan.steps {
            assert!(!names(&workload, &step.params["tags"]).is_empty(), "{name} {}", step.step);
        }
    }
}

#[test]
fn a_value_given_on_the_command_line_reaches_every_op_however_the_workload_is_named() {
    let user = [("collection", "mine"), ("writekey", "fresh_key")];
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.yaml");
    let (_, content) = find::bundled("mongodb-keyvalue2").expect("it is bundled");
    fs::write(&copy, content).expect("a file");
    for name in ["mongodb-keyvalue2", "mongodb-keyvalue2.yaml", copy.to_str().expect("UTF-8")] {
        let workload = bundled(name, &user);
        for op in &workload.ops {
            assert!(statement(op).contains(": \"mine\""), "{}: {}", op.name, statement(op));
        }
        let write = statement(&selected(&workload, "block:main-write")[0]);
        assert!(write.contains("key: \"{fresh_key}\""), "{write}");
        for text in
            workload.ops.iter().map(statement).chain(workload.ops[0].bindings.values().map(Text::to_string))
        {
            assert!(!text.contains("TEMPLATE(") && !text.contains("<<"), "{text}");
        }
    }
    assert!(
        statement(&selected(&bundled("mongodb-keyvalue2", &[]), "block:main-write")[0]).contains("{rw_key}")
    );
}

#[test]
fn an_error_in_a_default_within_a_block_text_points_at_its_line_and_column() {
    let text = "# a comment TEMPLATE(unused,1)\nbindings:\n  a: TEMPLATE(dist,Unifrom(0,9))\n  b: >-\n    Hash();\n    Mood(5)\nops:\n  one: |\n    {\n      insert: \"TEMPLATE(coll,é x)\",\n      v: {{Bad()}}\n    }\n";
    let place = |workload: &Workload, of: &dyn Fn(&OpTemplate) -> Text, needle: &str| {
        let text = of(&workload.ops[0]);
        let at = text.as_str().find(needle).unwrap_or_else(|| panic!("{needle} in {text}"));
        text.locate(at..at + needle.len()).expect("placed").to_string()
    };
    let stmt = |op: &OpTemplate| op.op["stmt"].as_text().expect("a text");
    let workload = parsed(text, &[]).expect("it loads");
    assert_eq!(place(&workload, &|op| op.bindings["a"].clone(), "Unifrom"), "w.yaml:3:20");
    assert_eq!(place(&workload, &|op| op.bindings["b"].clone(), "Mood"), "w.yaml:6:5");
    assert_eq!(place(&workload, &stmt, "Bad"), "w.yaml:11:12");
    assert_eq!(place(&workload, &stmt, "é x"), "w.yaml:10:30");
    let workload =
        parsed(text, &[("coll", "much longer than it was"), ("dist", "Zipf(1)")]).expect("it loads");
    assert_eq!(place(&workload, &stmt, "Bad"), "w.yaml:11:12");
    assert_eq!(place(&workload, &|op| op.bindings["a"].clone(), "Zipf"), "parameter dist:1:6");
    let windows = text.replace('\n', "\r\n");
    let workload = parsed(&windows, &[]).expect("it loads");
    assert_eq!(place(&workload, &stmt, "Bad"), "w.yaml:11:12");
}

#[test]
fn a_yaml_error_is_drawn_with_file_line_column_and_a_caret() {
    let error = workload::parse(
        Arc::new(Source { name: "w.yaml".to_owned(), text: "ops:\n  a: x\n  b: y\n  a: z\n".to_owned() }),
        &IndexMap::new(),
    )
    .expect_err("a is given twice");
    let drawn = error[0].render(false);
    assert!(drawn.contains("w.yaml:4:3") && drawn.contains("first given here"), "{drawn}");
    assert!(drawn.contains("a: z") && drawn.contains("a: x"), "{drawn}");
}

#[test]
fn an_op_on_the_command_line_is_a_text_or_a_workload() {
    let load = |text: &str| {
        workload::from_op_text(&Text::of_source("command line", text), &params(&[("x", "5")])).map_err(lines)
    };
    let op = load("TEMPLATE(x,1){{Identity()}}\n é").expect("a text");
    assert_eq!(names(&op, ""), ["block0__stmt1"]);
    assert_eq!(statement(&op.ops[0]), "5{{Identity()}}\n é");
    let placed = op.ops[0].op["stmt"].as_text().expect("a text");
    let at = placed.as_str().find('é').expect("é");
    assert_eq!(placed.locate(at..at + 2).expect("placed").to_string(), "command line:2:2");
    let json = load(r#"{"ops": {"a": "TEMPLATE(y,b)", "c": "d\n"}, "bindings": {"x": "Mod(5)"}}"#)
        .expect("a workload");
    assert_eq!(names(&json, ""), ["block0__a", "block0__c"]);
    assert_eq!(statement(&json.ops[0]), "b");
    assert_eq!(statement(&json.ops[1]), "d\n");
    assert!(load("{x: ").expect_err("no YAML").starts_with("command line:1:5: error: this is not YAML"));
}

#[test]
fn one_override_per_layer() {
    let text = "params: {p: doc}\nblocks:\n  b:\n    params: {p: TEMPLATE(p,block)}\n    ops: {o: {stmt: x, params: {q: TEMPLATE(q,op)}}}\n\
                scenarios: {default: {s: run tags==block:b cycles=TEMPLATE(n, 5) threads=1}}\n";
    for (user, p, q, cycles) in [
        (&[][..], "block", "op", "5"),
        (&[("p", "cli"), ("q", "cli2"), ("n", "7")], "cli", "cli2", "7"),
        (&[("cycles", "9")], "block", "op", "9"),
    ] {
        let workload = parsed(text, user).expect("it loads");
        let op = &workload.ops[0];
        assert_eq!(op.params["p"].as_text().expect("a text").as_str(), p);
        assert_eq!(op.params["q"].as_text().expect("a text").as_str(), q);
        let plan =
            scenario::plan(&workload, "w.yaml", &[], &params(user), KNOWN).map_err(lines).expect("a plan");
        assert_eq!(plan.steps[0].params["cycles"], cycles);
    }
}

#[test]
fn values_keep_what_was_written_and_the_yaml_of_today() {
    let text = "ops: {o: {stmt: x}}\nparams: {country: no, ver: 1.10, code: 007, t: 12:30, big: 12345678901234567890, on: on}\n";
    let op = parsed(text, &[]).expect("it loads").ops.remove(0);
    for (name, expected) in [
        ("country", "no"),
        ("ver", "1.10"),
        ("code", "007"),
        ("t", "12:30"),
        ("big", "12345678901234567890"),
        ("on", "on"),
    ] {
        assert_eq!(op.params[name].as_text().expect(name).as_str(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_loads_or_is_refused_at_a_place(
        text in r#"((ops|blocks|bindings|params|tags|scenarios|name|op|stmt|a|b)(: |:\n  |:\n|\n| )|[\[\]{},|>'"&*!é-]|\n|\n  |- |TEMPLATE\(a,|\)|<<b:|>>|<<: |\$\{a:|---\n){0,24}"#,
    ) {
        whole_way(text, &params(&[("a", "<<b:1>>")]));
    }

    #[test]
    fn any_op_text_is_compiled_or_refused_at_a_place(
        op in r#"(\{(n|s|no)\}|\{\{(Mod\(5\)|Bad)\}\}|[{}\[\]:,'"/\\]|find|: |"c"|5|-1\.5|\[n\]|\[n as m\]|\$oid|ISODate\(|\)| |\n|é|\u{FDD0}){0,24}"#,
    ) {
        let mut text = String::from("bindings: {n: Identity(), s: \"ToString(); Prefix(', a: ')\"}\nops:\n  o: |-1\n");
        for line in format!("{{{op}").split('\n') {
            text.push_str(&format!("   {line}\n"));
        }
        whole_way(text, &IndexMap::new());
    }
}

/// Loads a file, plans its scenario, compiles its ops for every driver and binds some cycles. Whatever is wrong on
/// the way is said at a place of the file.
fn whole_way(text: String, user: &IndexMap<String, String>) {
    let placed = |errors: &[Diagnostic]| {
        assert!(!errors.is_empty());
        for error in errors {
            assert!(error.location.is_some(), "without a place: {error:?}");
            let _ = (error.one_line(), error.render(false));
        }
    };
    let source = Arc::new(Source { name: "w.yaml".to_owned(), text });
    let workload = match workload::parse(source, user) {
        Ok(workload) => workload,
        Err(errors) => return placed(&errors),
    };
    let _ = scenario::plan(&workload, "w", &[], user, KNOWN);
    let all = TagFilter::parse(&Text::unplaced("")).expect("an empty filter");
    let ops = match all.select(&workload) {
        Ok(ops) => ops,
        Err(error) => return placed(&[error]),
    };
    for op in &ops {
        for form in [Form::Command, Form::Text, Form::Fields] {
            match compile(op, form) {
                Ok(compiled) => {
                    for cycle in 0..3 {
                        let _ = compiled.plan.body.bind(cycle, &mut Context::default(), &mut Vec::new());
                    }
                }
                Err(errors) => placed(&errors),
            }
        }
    }
}
