//! Tags and the filters that select by them.

use super::file::{File, has_parts};

const FILE: &str = "
tags: {suite: kv}
blocks:
  schema: {ops: {create: a}}
  rampup: {ops: {insert: b}}
  main-read: {ops: {read-1: c, write-1: d}}
  main_write: {ops: [{name: some_name, op: e, tags: {kind: w}}]}
";

fn selected(filter: &str) -> Result<Vec<String>, String> {
    let ops = File::with(FILE).describe(&[&format!("tags={filter}")])?;
    Ok(ops.iter().map(|op| op["name"].as_str().expect("a name").to_owned()).collect())
}

#[test]
fn a_filter_selects_by_whole_values() {
    const ALL: &[&str] = &[
        "schema__create",
        "rampup__insert",
        "main-read__read-1",
        "main-read__write-1",
        "main_write__some_name",
    ];
    for (filter, expected) in [
        ("block:schema", &ALL[..1]),
        ("block=schema", &ALL[..1]),
        ("block: schema", &ALL[..1]),
        ("block:\"schema.*\",", &ALL[..1]),
        ("'block:schema'", &ALL[..1]),
        ("\"block:schema\"", &ALL[..1]),
        ("block:'main-.*'", &ALL[2..4]),
        ("block:main.*", &ALL[2..]),
        ("block:main.*,name:.*write.*", &ALL[3..]),
        ("block:main.*,   name:.*write.*", &ALL[3..]),
        ("all(block:main.*,name:.*write.*)", &ALL[3..]),
        ("any(block:schema,block:rampup)", &ALL[..2]),
        ("ANY(block:schema,block:rampup)", &ALL[..2]),
        ("none(block:main.*)", &ALL[..2]),
        ("suite", ALL),
        ("suite:kv", ALL),
        ("kind", &ALL[4..]),
        // The last of two equal keys counts.
        ("block:schema,block:rampup", &ALL[1..2]),
        // A comma within a regular expression is part of it.
        ("block:s[a-z]{3,5}", &ALL[..1]),
        ("block:schema|rampup", &ALL[..2]),
        // `name` is the full name or the op's own, `op` its own.
        ("name:main_write__some_name", &ALL[4..]),
        ("name:some_name", &ALL[4..]),
        ("name:main-read.*", &ALL[2..4]),
        ("name:read.*", &ALL[2..3]),
        ("op:read-1", &ALL[2..3]),
        ("op:.*-1", &ALL[2..4]),
    ] {
        assert_eq!(selected(filter).as_deref(), Ok(expected.map_owned().as_slice()), "{filter}");
    }
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|name| (*name).to_owned()).collect()
    }
}

#[test]
fn a_filter_that_selects_nothing_lists_what_there_is_and_suggests_the_nearest() {
    for (filter, parts) in [
        ("block:main", &["parameter tags:1:7", "all 5 are filtered out", "did you mean `block:main.*`?"][..]),
        ("block:main_read", &["did you mean `block:main-read`?"]),
        ("block:main-write", &["did you mean `block:main_write`?"]),
        ("phase:schema", &["did you mean `block:schema`?"]),
        ("blocks:schema", &["did you mean `block:schema`?"]),
        ("names:schema__create", &["did you mean `name:schema__create`?"]),
        ("blok:schema", &["did you mean `block:schema`?"]),
        ("block:rampap", &["did you mean `block:rampup`?"]),
        // A blank does not separate.
        ("block:a name:b", &["suite: kv; block: schema, rampup, main-read, main_write"]),
        ("none(suite)", &["all 5 are filtered out"]),
        ("ops:read-1", &["did you mean `op:read-1`?"]),
        ("block:*", &["not a regular expression", "write `.*` for any text"]),
        ("some(block:a)", &["parameter tags:1:1", "not one of all, any, none"]),
        ("block:a(", &["parameter tags:1:7", "not a regular expression"]),
        (":x", &["a tag name is missing"]),
    ] {
        has_parts(selected(filter), parts, filter);
    }
}

#[test]
fn without_any_op_a_driver_that_can_makes_one() {
    let program = File::with(
        "bindings: {zeta: Identity(), alpha: Mod(5), mid: Add(1)}\n---\nbindings: {more: Add(2)}\n",
    );
    for (words, expected) in [
        // In the order of a Java hash set; bindings of all documents.
        (&["bindings=zeta|alpha|mid"][..], "zeta=7 alpha=2 mid=8\n"),
        (&["bindings=zeta|alpha|mid", "format=csv"], "7,2,8\n"),
        (&["bindings=zeta|alpha|mid", "format=readout"], " zeta : 7\nalpha : 2\n  mid : 8\n\n"),
        (
            &["bindings=zeta|alpha|mid", "format=json"],
            "{\n \"zeta\":\"7\",\n \"alpha\":\"2\",\n \"mid\":\"8\"\n}\n\n",
        ),
        (
            &["bindings=zeta|alpha|mid", "format=inlinejson"],
            "{\"zeta\":\"7\", \"alpha\":\"2\", \"mid\":\"8\"}\n",
        ),
        (&["bindings=more", "newline=false"], "more=9"),
    ] {
        assert_eq!(program.texts(&[&["cycles=7..8"], words].concat()).as_deref(), Ok(expected), "{words:?}");
    }
    has_parts(program.texts(&["format=diag"]), &["`format=diag` is none of csv"], "");
    let shown = program.show(&["driver=diag", "cycles=1"]).expect("diag logs");
    assert_eq!(shown[0]["fields"], serde_json::json!({"log": "level=INFO"}));
    has_parts(program.show(&["driver=mongodb"]), &["no ops for driver `mongodb`"], "");
    // Filtering everything away is something else.
    has_parts(File::with("bindings: {a: Mod(5)}\nops: x").texts(&["tags=block:y"]), &["filtered out"], "");
}
