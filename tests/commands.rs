//! The bundled scenarios send the reference's commands, cycle for cycle: loaded, selected by tag, compiled and
//! bound, they are compared with commands that the reference itself made (`tests/golden/commands`).
//!
//! Field order counts; the free texts `comment`, `title` and `description` do not.

use indexmap::IndexMap;
use nbrs::functions::Context;
use nbrs::plan::{Body, Form, OpPlan, compile, extended_json};
use nbrs::sequence::{Sequencer, table};
use nbrs::span::Text;
use nbrs::workload::tags::TagFilter;
use nbrs::workload::{Data, LoadOptions, OpTemplate, load};
use std::path::Path;
use std::sync::Once;

/// Runs these tests where `data/lorem_ipsum_full.txt` is the text that the vectors were made with.
fn enter_filler() {
    static ENTER: Once = Once::new();
    ENTER.call_once(|| {
        let filler = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/filler");
        std::env::set_current_dir(filler).expect("the filler folder is there");
    });
}

fn ops(workload: &str, block: &str, params: &[(&str, &str)]) -> Vec<OpTemplate> {
    enter_filler();
    let params: IndexMap<String, String> =
        params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = LoadOptions { includes: &[], params: &params };
    let workload = load(workload, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    let filter =
        TagFilter::parse(&Text::unplaced(format!("block:{block}"))).unwrap_or_else(|e| panic!("{e:?}"));
    filter.select(&workload).unwrap_or_else(|error| panic!("{error:?}"))
}

fn compiled(op: &OpTemplate) -> OpPlan {
    compile(op, Form::Command).unwrap_or_else(|errors| panic!("{}: {errors:?}", op.name)).plan
}

/// As the reference looks it up: op field, else param, else 1.
fn ratio(op: &OpTemplate) -> u64 {
    match op.op.get("ratio").or_else(|| op.params.get("ratio")).map(|node| &node.data) {
        None => 1,
        Some(Data::Int(n)) => u64::try_from(*n).expect("a ratio is not negative"),
        Some(other) => panic!("ratio {other:?}"),
    }
}

/// Removes the texts that are free, at any depth.
fn without_free_texts(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            for free in ["comment", "title", "description"] {
                // Keeps the order of the others.
                if fields.get(free).is_some_and(serde_json::Value::is_string) {
                    fields.shift_remove(free);
                }
            }
            fields.values_mut().for_each(without_free_texts);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_free_texts),
        _ => {}
    }
}

fn check(workload: &str, block: &str, params: &[(&str, &str)], expected_lines: usize) {
    let ops = ops(workload, block, params);
    let plans: Vec<OpPlan> = ops.iter().map(compiled).collect();
    let ratios: Vec<u64> = ops.iter().map(ratio).collect();
    let sequence = table(&ratios, Sequencer::Bucket);
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/commands")
        .join(format!("{workload}.{block}.ndjson"));
    let vectors = std::fs::read_to_string(vectors).expect("the vectors are there");
    let mut context = Context::default();
    let mut bytes = Vec::new();
    let mut lines = 0;
    for (cycle, line) in vectors.lines().enumerate() {
        let plan = &plans[sequence[cycle % sequence.len()]];
        let cycle = i64::try_from(cycle).expect("a small number");
        plan.body.bind(cycle, &mut context, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
        let text = extended_json::canonical(&bytes).expect("a command is BSON");
        let mut ours: serde_json::Value = serde_json::from_str(&text).expect("extended JSON is JSON");
        without_free_texts(&mut ours);
        let theirs: serde_json::Value = serde_json::from_str(line).expect("a vector is JSON");
        // As texts, so that field order counts.
        assert_eq!(ours.to_string(), theirs.to_string(), "{workload} {block} cycle {cycle}");
        lines += 1;
    }
    assert_eq!(lines, expected_lines, "{workload} {block}: vectors");
}

#[test]
fn keyvalue2_sends_the_commands_of_the_reference() {
    let sizes = [("mintext", "50"), ("maxtext", "150")];
    check("mongodb-keyvalue2", "schema", &sizes, 12);
    check("mongodb-keyvalue2", "rampup", &sizes, 40);
    check("mongodb-keyvalue2", "main-read", &sizes, 40);
    check("mongodb-keyvalue2", "main-write", &sizes, 40);
}

#[test]
fn tabular2_sends_the_commands_of_the_reference() {
    check("mongodb-tabular2", "schema", &[], 12);
    check("mongodb-tabular2", "rampup", &[], 20);
    check("mongodb-tabular2", "main-read", &[], 40);
    check("mongodb-tabular2", "main-write", &[], 16);
}

#[test]
fn basic_sends_the_commands_of_the_reference() {
    check("mongodb-basic", "rampup", &[], 40);
    check("mongodb-basic", "read", &[], 12);
    check("mongodb-basic", "write", &[], 12);
}

#[test]
fn no_op_of_the_bundled_scenarios_needs_the_slow_lane() {
    let mut context = Context::default();
    let mut bytes = Vec::new();
    for workload in ["mongodb-keyvalue2", "mongodb-tabular2", "mongodb-basic"] {
        for op in ops(workload, ".*", &[("mintext", "50"), ("maxtext", "150")]) {
            let plan = compiled(&op);
            let Body::Command(command) = &plan.body else { panic!("{}: not a command", op.name) };
            assert!(command.is_fast(), "{}", op.name);
            for cycle in (0..200).chain([1_000_000, 10_000_000]) {
                let rendered = command.was_rendered(cycle, &mut context, &mut bytes);
                assert_eq!(rendered.ok(), Some(false), "{} cycle {cycle}", op.name);
            }
        }
    }
}
