//! Documents, blocks, op collections and their normalising, layering, fields and bind points.

use super::file::{File, has_parts};
use serde_json::{Value as Json, json};

/// Name, op fields and params of each op.
fn ops(yaml: &str) -> Vec<(String, Json, Json)> {
    let described = File::with(yaml).describe(&[]).unwrap_or_else(|error| panic!("{yaml}:\n{error}"));
    let op = |op: &Json| {
        let name = op["name"].as_str().expect("a name").to_owned();
        (name, op["op"].clone(), op.get("params").cloned().unwrap_or(json!({})))
    };
    described.iter().map(op).collect()
}

fn names(yaml: &str) -> Vec<String> {
    ops(yaml).into_iter().map(|(name, ..)| name).collect()
}

fn refused(yaml: &str, parts: &[&str]) {
    has_parts(File::with(yaml).describe(&[]), parts, yaml);
}

#[test]
fn only_json_has_numbers_booleans_and_null() {
    let yaml = "ops:\n  o:\n    t: true\n    f: false\n    yes: yes\n    True: True\n    tilde: ~\n    hex: 0x10\n    octal: 08\n    \
                underscore: 1_000\n    int: -12\n    long: 5000000000\n    float: 1e3\n    point: 1.5\n    quoted: '5'\n    on: on\n    time: 12:30\n";
    let expected = json!({
        "t": true, "f": false, "yes": "yes", "True": "True", "tilde": "~", "hex": "0x10", "octal": "08",
        "underscore": "1_000", "int": -12, "long": 5_000_000_000_i64, "float": 1000.0, "point": 1.5, "quoted": "5",
        "on": "on", "time": "12:30"
    });
    assert_eq!(ops(yaml), [("block0__o".to_owned(), expected, json!({}))]);
}

#[test]
fn a_file_may_have_documents_anchors_merge_keys_a_mark_and_windows_line_ends() {
    assert_eq!(names("ops: a\n---\nops: {x: b}\n---\n"), ["block0__stmt1", "block0__x"]);
    let anchors = "bindings: &b {n: Identity()}\nblocks:\n  x:\n    bindings: *b\n    ops: {o: &o {find: c, limit: 1}}\n  \
                   y:\n    ops: {o: {<<: *o, limit: 2, skip: 3}}\n";
    let found = ops(anchors);
    assert_eq!(found[1].1.to_string(), json!({"find": "c", "limit": 2, "skip": 3}).to_string());
    assert_eq!(ops("\u{feff}ops:\r\n  a: |\r\n    one\r\n    two\r\n")[0].1, json!({"stmt": "one\ntwo\n"}));
}

#[test]
fn keys_keep_their_order_and_odd_ones_matter_only_where_they_are_used() {
    let yaml = "blocks:\n  good: {ops: {o: {z: 1, a: 2, m: 3}}}\n  odd: {ops: {o: {k: [{ {a: b}: 1 }]}}}\n";
    let program = File::with(yaml);
    let good = program.describe(&["tags=block:good"]).expect("it loads");
    assert_eq!(good[0]["op"].to_string(), r#"{"z":1,"a":2,"m":3}"#);
    has_parts(program.describe(&["tags=block:odd"]), &["w.yaml:3:25", "field names are texts"], yaml);
}

#[test]
fn every_form_of_an_op_comes_to_a_name_fields_and_params() {
    let rows = [
        ("op: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("ops: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("operation: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("statement: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("statements: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("stmt: a b", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("ops: [a b]", "block0__stmt1", json!({"stmt": "a b"}), json!({})),
        ("ops: {n1: a b}", "block0__n1", json!({"stmt": "a b"}), json!({})),
        ("ops: [{op: a b}]", "block0__stmt", json!({"stmt": "a b"}), json!({})),
        // The reference takes `ratio` for the op's name here; it is a parameter of the op `x`.
        ("ops: [{op: x, ratio: 5}]", "block0__stmt", json!({"stmt": "x"}), json!({"ratio": 5})),
        ("ops: [{name: n1, op: a b, ratio: 5}]", "block0__n1", json!({"ratio": 5, "stmt": "a b"}), json!({})),
        ("ops: [{n1: a b, ratio: 5}]", "block0__n1", json!({"stmt": "a b"}), json!({"ratio": 5})),
        (
            "ops: {op1: {op: {stmt: {find: c}}, ratio: 3}}",
            "block0__op1",
            json!({"stmt": {"find": "c"}}),
            json!({"ratio": 3}),
        ),
        ("ops: {op1: {op: {find: c}, ratio: 3}}", "block0__op1", json!({"find": "c"}), json!({"ratio": 3})),
        ("ops: {op1: {stmt: {find: c, x: 1}}}", "block0__op1", json!({"find": "c", "x": 1}), json!({})),
        ("ops: {op1: {stmt: a, ratio: 3}}", "block0__op1", json!({"ratio": 3, "stmt": "a"}), json!({})),
        ("ops: {op1: {statement: a}}", "block0__op1", json!({"stmt": "a"}), json!({})),
        ("ops: {op1: {operation: a}}", "block0__op1", json!({"stmt": "a"}), json!({})),
        ("ops: {op1: {op: a}}", "block0__op1", json!({"stmt": "a"}), json!({})),
        ("ops: {op1: [1,2]}", "block0__op1", json!({"stmt": [1, 2]}), json!({})),
        ("ops: {op1: {op: [1,2]}}", "block0__op1", json!({"stmt": [1, 2]}), json!({})),
        ("ops: {op1: {find: c, ratio: 3}}", "block0__op1", json!({"find": "c", "ratio": 3}), json!({})),
        ("ops: [{a: x, b: y}]", "block0__a", json!({"stmt": "x"}), json!({"b": "y"})),
        ("ops: [{a: {find: c}, b: y}]", "block0__a", json!({"find": "c"}), json!({"b": "y"})),
        (
            "ops: {op1: {stmt: x, params: {name: zed}}}",
            "block0__zed",
            json!({"stmt": "x"}),
            json!({"name": "zed"}),
        ),
        ("ops: {op1: {name: own, stmt: x}}", "block0__own", json!({"stmt": "x"}), json!({})),
        // Without `op`, what is left are fields of the op; within `op`, `params` is a field like any other.
        ("ops: {op1: {find: c, params: {q: 1}}}", "block0__op1", json!({"find": "c"}), json!({"q": 1})),
        (
            "ops: {op1: {op: {find: c, params: {q: 1}}}}",
            "block0__op1",
            json!({"find": "c", "params": {"q": 1}}),
            json!({}),
        ),
        ("ops: {params: {find: c}}", "block0__params", json!({"find": "c"}), json!({})),
    ];
    for (yaml, name, op, params) in rows {
        assert_eq!(ops(yaml), [(name.to_owned(), op, params)], "{yaml}");
    }
    assert_eq!(
        names("ops: [x, {a: y}, {find: c, z: 1}, z]"),
        ["block0__stmt1", "block0__a", "block0__find", "block0__stmt4"]
    );
}

#[test]
fn what_an_op_cannot_be_is_refused_at_its_place() {
    for (yaml, parts) in [
        ("ops: [{n1: a b, ratio: 5, params: {q: 1}}]", &["w.yaml:1:17", "`ratio` stands beside"][..]),
        ("ops: {o: {find: {id}}}", &["w.yaml:1:18", "`id` has no value", "quote it: \"{id}\""]),
        ("ops: [{name: n, op: a, stmt: b}]", &["given as `op` and as `stmt`"]),
        ("ops: [[a]]", &["w.yaml:1:7", "an op is a text or a map of fields; this is a list"]),
        ("ops: [null]", &["w.yaml:1:7", "this is nothing"]),
        ("ops: {o: {find: c, f: TEMPLATE(a,)}}", &["w.yaml:1:20", "`f` has no value"]),
        ("ops: {o: {stmt: true}}", &["op `o` is a text, a list or a map of fields; this is true or false"]),
        ("ops: [5]", &["w.yaml:1:7", "an op is a text or a map of fields; this is a number"]),
        ("ops: {a: 5}", &["an op is a text or a map of fields; this is a number"]),
        ("ops: {a: }", &["op `a` has nothing to do"]),
        ("ops: [{a: 5}]", &["op `a` is a text, a list or a map of fields; this is a number"]),
    ] {
        refused(yaml, parts);
    }
}

#[test]
fn a_document_has_the_keys_it_has() {
    for (yaml, parts) in [
        ("op: a\nops: b", &["w.yaml:2:1", "given as `op` and as `ops`", "first given here"][..]),
        ("statement: a\nstatements: b", &["given as `statement` and as `statements`"]),
        ("operations: a", &["no field `operations`", "ops stand under `ops`"]),
        ("stmts: a", &["no field `stmts`", "ops stand under `ops`"]),
        ("junk: 1\nops: a", &["w.yaml:1:1", "no field `junk`"]),
        ("bindngs: {}\nops: a", &["did you mean `bindings`?"]),
        ("ops:", &["w.yaml:1:1", "`ops` of block `block0` has no ops"]),
        ("- a", &["a workload is a map"]),
        ("a: 1\na: 2", &["w.yaml:2:1", "the key `a` is given twice", "first given here"]),
        ("desc: a\ndescription: b\nops: x", &["`desc` and `description` are both given"]),
        ("min_version: \"5.26\"\nops: a", &["w.yaml:1:14", "asks for version 5.26; workloads up to 5.25"]),
        ("min_version: soon\nops: a", &["w.yaml:1:14", "`soon` is not a version"]),
        ("scenarios: x\nops: a", &["`scenarios` is a map"]),
        ("", &["this workload is empty"]),
    ] {
        refused(yaml, parts);
    }
    for (version, name) in [("\"5.17.9\"", "n"), ("5.25", "n"), ("\"5.25.13\"", "n"), ("4", "n")] {
        assert_eq!(
            names(&format!("min_version: {version}\nname: w\ndesc: d\nops: {{n: x}}")),
            [format!("block0__{name}")]
        );
    }
}

#[test]
fn blocks_are_lists_or_maps_and_number_from_one_counting_block0() {
    for (yaml, expected) in [
        ("ops: a\nblocks: [{ops: b}]", &["block0__stmt1", "block2__stmt1"][..]),
        ("blocks: [{ops: a}, {ops: [b, c]}]", &["block1__stmt1", "block2__stmt1", "block2__stmt2"]),
        ("blocks: [{name: x, ops: a}, {ops: b}]", &["x__stmt1", "block2__stmt1"]),
        ("blocks: {x: {ops: a}, y: {op: b}}", &["x__stmt1", "y__stmt1"]),
        ("blocks: {x: {name: z, ops: a}}", &["z__stmt1"]),
        ("blocks: {x: {}, y: {ops: {}}, z: {ops: a}}", &["z__stmt1"]),
        ("blocks: [{ops: a}]\n---\nblocks: [{ops: b}]\n", &["block1__stmt1", "block1__stmt1"]),
        ("blocks: {x: {statements: [a, {n: b}]}}", &["x__stmt1", "x__n"]),
    ] {
        assert_eq!(names(yaml), expected, "{yaml}");
    }
    refused("blocks: {x: 5}", &["block `x` is a map with `ops`"]);
    refused("blocks: x", &["`blocks` is a map of names to blocks"]);
}

#[test]
fn an_unknown_key_of_a_block_is_warned_of_with_a_hint_at_the_indentation() {
    for (yaml, parts) in [
        (
            "blocks:\n  a:\n    ops: x\n    b:\n      ops: y\n",
            &["w.yaml:4:5", "no field `b`", "blocks do not nest"][..],
        ),
        ("blocks: {a: {ops: x, pramas: {y: z}}}", &["did you mean `params`?"]),
        ("blocks: {a: {ops: x, find: c}}", &["check the indentation"]),
    ] {
        let ran = File::with(yaml).run(&["describe", "workload=w.yaml"]);
        assert_eq!(ran.code, 0, "{yaml}: {}", ran.stderr);
        for part in [&["warning"], parts].concat() {
            assert!(ran.stderr.contains(part), "{yaml}: no `{part}` in\n{}", ran.stderr);
        }
    }
}

#[test]
fn op_counts_before_block_before_document() {
    let yaml = "description: all\nbindings: {a: A(), b: B(), n: }\nparams: {p: 1, m: {x: 1}}\ntags: {t: doc, u: 5}\n\
                blocks:\n  x:\n    desc: block\n    bindings: {b: B2()}\n    params: {q: 2, m: {y: 2}}\n    tags: {t: 1.10}\n    ops:\n      \
                o: {f: v, desc: what, bindings: {c: C()}, params: {q: 3}, tags: {block: mine, name: mine, w: v}}\n---\nops: s\n";
    let described = File::with(yaml).describe(&[]).expect("it loads");
    assert_eq!(
        described[0],
        json!({
            "name": "x__o", "description": "what", "op": {"f": "v"}, "params": {"p": 1, "m": {"y": 2}, "q": 3},
            "bindings": {"a": "A()", "b": "B2()", "c": "C()"},
            // What the user says of the automatic tags does not count.
            "tags": {"t": "1.10", "u": "5", "block": "x", "name": "x__o", "w": "v"}
        })
    );
    // Nothing is inherited from another document, and what is empty is left out.
    assert_eq!(
        described[1],
        json!({"name": "block0__stmt1", "op": {"stmt": "s"}, "tags": {"block": "block0", "name": "block0__stmt1"}})
    );
}

#[test]
fn template_variables_have_their_value_wherever_they_stand() {
    let rows: &[(&str, &[&str], &str)] = &[
        ("TEMPLATE(a,5) TEMPLATE(a)", &[], "5 5"),
        ("TEMPLATE(a,5) TEMPLATE(a,6)", &[], "5 6"),
        ("TEMPLATE(a:5) <<a:6>> <<a,7>> <<a>> ${a:8} ${a}", &[], "5 6 7 5 8 5"),
        ("TEMPLATE(a:5) <<a:6>> <<a,7>> <<a>> ${a:8} ${a}", &["a=x y"], "x y x y x y x y x y x y"),
        ("[TEMPLATE(a,)]", &[], "[]"),
        ("TEMPLATE(a,TEMPLATE(b,9))", &[], "9"),
        ("TEMPLATE(a,TEMPLATE(b,9))", &["b=3"], "3"),
        ("TEMPLATE(a,TEMPLATE(b,9))", &["a=1"], "1"),
        ("TEMPLATE(a,<<b:2>>) <<a:TEMPLATE(b,2)>> <<a:<<b:2>>>> ${a:${b:2}}", &[], "2 2 2 2"),
        ("TEMPLATE(a,1)", &["a=TEMPLATE(b,2)"], "2"),
        ("TEMPLATE(u,http://x:80)", &[], "http://x:80"),
        ("TEMPLATE(k,Uniform(0,1000)); X", &[], "Uniform(0,1000); X"),
        ("TEMPLATE(k,Uniform(0,1000)); X", &["k=Zipf(5,2)"], "Zipf(5,2); X"),
        ("<<k:Uniform(0,10)->long>>; X", &["k=Z(1)"], "Z(1); X"),
        ("TEMPLATE(x,-5) <<y:-6>>", &[], "-5 -6"),
        ("|TEMPLATE(x, 5)|${y: 6}|", &[], "| 5| 6|"),
        ("TEMPLATE( x ,5)", &["x=7"], "7"),
        // The name of a core parameter is a name like any other.
        ("TEMPLATE(threads,1) TEMPLATE(cycles,5)", &["threads=3"], "3 5"),
    ];
    for (text, words, expected) in rows {
        let program = File::with(&format!("ops:\n  o: |-\n    {text}\n"));
        let described = program.describe(words).unwrap_or_else(|error| panic!("{text}:\n{error}"));
        assert_eq!(described[0]["op"]["stmt"], json!(expected), "{text} {words:?}");
    }
    for (text, words, parts) in [
        ("TEMPLATE(a) TEMPLATE(a,5)", &[][..], &["w.yaml:3:5", "`a` has no value and no default"][..]),
        ("<<coll>>", &[], &["`coll` has no value and no default", "give `coll=…`"]),
        ("in ${coll}", &[], &["w.yaml:3:8", "`coll` has no value and no default"]),
        ("TEMPLATE()", &[], &["a template variable has no name"]),
        ("TEMPLATE(a,5", &[], &["w.yaml:3:5", "`TEMPLATE(` is never closed"]),
        ("${a:5", &[], &["w.yaml:3:5", "`${` is never closed"]),
        ("TEMPLATE(a)", &["a=TEMPLATE(a,5)x"], &["`a` refers to itself"]),
        ("{{= cycles * 2 }}", &[], &["w.yaml:3:5", "expressions `{{= … }}` are not supported"]),
        ("TEMPLATE(a,{{= 1 }})", &[], &["expressions `{{= … }}` are not supported"]),
        ("{{@name}}", &[], &["expressions `{{@ … }}` are not supported"]),
    ] {
        let program = File::with(&format!("ops:\n  o: |-\n    {text}\n"));
        has_parts(program.describe(words), parts, text);
    }
    // Of an op that is not selected nothing is asked.
    let program = File::with("blocks: {a: {ops: x}, b: {ops: 'TEMPLATE(c)'}, d: {ops: '{{= 1 }}'}}");
    assert_eq!(program.describe(&["tags=block:a"]).map(|ops| ops.len()), Ok(1));
}

#[test]
fn no_way_of_loading_a_file_leaves_a_template_in_it() {
    let yaml = "description: d\nbindings: {n: 'Mod(TEMPLATE(m,5))'}\nops: {o: \"x {n} <<c:1>> ${d:2}\\n\"}\n\
                scenarios: {default: {s: run driver=stdout cycles=TEMPLATE(count, 3) threads=1}}\n";
    let program = File::with(yaml);
    let absolute = std::env::temp_dir().join("never-there.yaml");
    assert!(!absolute.exists());
    for words in [
        &["run", "workload=w.yaml", "driver=stdout", "cycles=3", "--progress", "none"][..],
        &["w.yaml", "default", "--progress", "none"],
        &["w", "--progress", "none"],
        &["w", "default.s", "count=3", "--progress", "none"],
    ] {
        let ran = program.run(words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "x 0 1 2\nx 1 1 2\nx 2 1 2\n"),
            "{words:?}: {}",
            ran.stderr
        );
    }
    let listed = program.run(&["--list-scenarios", "--include", "."]);
    assert!(
        listed.stdout.contains("        m = 5\n") && !listed.stdout.contains("TEMPLATE("),
        "{}",
        listed.stdout
    );
}

const BINDINGS: &str = "bindings: {n: Identity(), m: 'Mod(3)', s: 'Add(7); ToString()', b-c: 'Add(1)', 1: 'Add(2)', 'x,y': 'Add(3)'}\n";

#[test]
fn bind_points_are_told_from_json() {
    for (text, expected) in [
        ("{n}", "5"),
        ("a{n}b{m}", "a5b2"),
        ("{n}{m}", "52"),
        ("{1} {x,y} {b-c}", "7 8 6"),
        ("{{Mod(4)}} {(Mod(4))}", "1 1"),
        ("{{ Mod(4); Add(1) }}", "2"),
        ("{ n } {_id:1} {} {a b} {n", "{ n } {_id:1} {} {a b} {n"),
        ("{{n}", "{5"),
        ("plain", "plain"),
        // Equal recipes are one value within a text.
        ("{n}{{Identity()}}", "55"),
        // A capture point loses its brackets beside a bind point, as in the reference; a list keeps them.
        ("[user as u] {n} [5] [a, b]", "user 5 [5] [a, b]"),
        ("[user as u] [5]", "[user as u] [5]"),
    ] {
        let program = File::with(&format!("{BINDINGS}ops:\n  o: |-\n    {text}\n"));
        assert_eq!(program.texts(&["cycles=5..6"]).as_deref(), Ok(expected), "{text}");
    }
    for (text, parts) in [
        ("{nope}", &["w.yaml:4:5", "no binding is named `nope`", "bindings here: n, m, s, b-c, 1, x,y"][..]),
        ("{nn}", &["did you mean `n`?"]),
        ("{{Nope()}}", &["w.yaml:4:7", "no function `Nope`"]),
    ] {
        let program = File::with(&format!("{BINDINGS}ops:\n  o: |-\n    {text}\n"));
        has_parts(program.texts(&[]), parts, text);
    }
}

#[test]
fn a_bind_point_alone_keeps_its_type_in_a_map_and_values_are_walked_to_any_depth() {
    let yaml = format!(
        "{BINDINGS}ops:\n  o:\n    insert: c\n    documents:\n      - _id: '{{n}}'\n        tags: ['{{s}}', {{n: '{{n}}', x: 'a{{n}}'}}]\n        \
         '{{n}}': literal\n    ordered: false\n"
    );
    let shown = File::with(&yaml).show(&["cycles=5..6"]).expect("it binds");
    assert_eq!(
        shown[0]["command"],
        json!({
            "insert": "c",
            "documents": [{
                "_id": {"$numberLong": "5"},
                "tags": ["12", {"n": {"$numberLong": "5"}, "x": "a5"}],
                "{n}": "literal"
            }],
            "ordered": false
        })
    );
}

#[test]
fn an_op_field_counts_before_a_param_and_params_are_never_dynamic() {
    let order = |yaml: &str| File::with(yaml).texts(&[]);
    assert_eq!(order("ops: {a: {stmt: A, ratio: 2, params: {ratio: 9}}, b: B}").as_deref(), Ok("ABA"));
    assert_eq!(order("params: {ratio: 2}\nops: {a: A, b: {stmt: B, ratio: 1}}").as_deref(), Ok("ABA"));
    assert_eq!(order("ops: {a: {stmt: A, ratio: \"3\"}}").as_deref(), Ok("AAA"));
    has_parts(
        order("bindings: {n: Identity()}\nops: {a: {stmt: A, ratio: '{n}'}}"),
        &["w.yaml:2:27", "`ratio` must be a number"],
        "",
    );
    let program = File::with("bindings: {n: Identity()}\nops: {a: {stmt: 'x', params: {p: 'v{n}'}}}");
    assert_eq!(program.describe(&[]).expect("it loads")[0]["params"], json!({"p": "v{n}"}));
}

#[test]
fn type_is_a_driver_only_if_it_names_one_and_unknown_params_are_noticed_once() {
    let yaml = "params: {prepared: false, cl: x, type: read}\nops:\n  a: {stmt: A}\n  b: {stmt: B}\n  c: {stmt: C, params: {cl: y}}\n";
    let ran = File::with(yaml).run(&["show", "workload=w.yaml", "driver=stdout"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (name, at) in
        [("`prepared`", "w.yaml:1:20"), ("`cl`", "w.yaml:1:31"), ("`type: read`", "w.yaml:1:40")]
    {
        assert_eq!(ran.stderr.matches(name).count(), 1, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(at), "{name}: {}", ran.stderr);
    }
    let yaml = "ops:\n  a: {stmt: A, type: stdout}\n  b: {op: {log: level=INFO}, type: diag}\n  c: {find: c, type: x}\n";
    let shown = File::with(yaml).show(&[]).expect("each has its driver");
    assert_eq!(shown[0]["text"], "A");
    assert_eq!(shown[1]["fields"], json!({"log": "level=INFO"}));
    assert_eq!(shown[2]["command"], json!({"find": "c", "type": "x"}));
    has_parts(
        File::with("ops: {a: {stmt: A, driver: stdot}}").show(&[]),
        &["w.yaml:1:28", "did you mean `stdout`?"],
        "",
    );
}

#[test]
fn types_come_through_to_the_command() {
    let yaml = "ops:\n  text: |\n    { insert: \"ключи-🗝\", n: {\"$numberLong\": \"5000000000\"}, d: {\"$date\": \"2024-01-01T00:00:00Z\"},\n      \
                u: {\"$uuid\": \"00000000-0000-0000-0000-000000000001\"}, i: 1, f: 1.0, a: [5], v: \"$a.b\" }\n  \
                map:\n    insert: ключи-🗝\n    n: {$numberLong: '5000000000'}\n    d: {$date: '2024-01-01T00:00:00Z'}\n    \
                u: {$uuid: 00000000-0000-0000-0000-000000000001}\n    i: 1\n    f: 1.0\n    a: [5]\n    v: $a.b\n";
    let shown = File::with(yaml).show(&[]).expect("both are commands");
    let expected = json!({
        "insert": "ключи-🗝", "n": {"$numberLong": "5000000000"}, "d": {"$date": {"$numberLong": "1704067200000"}},
        "u": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAQ==", "subType": "04"}}, "i": {"$numberInt": "1"},
        "f": {"$numberDouble": "1.0"}, "a": [{"$numberInt": "5"}], "v": "$a.b"
    });
    for line in &shown {
        assert_eq!(line["command"].to_string(), expected.to_string());
    }
    has_parts(
        File::with("ops: {a: \"{ insert: 'c', 'a\\\\u0000b': 1 }\"}").show(&[]),
        &["a key cannot hold a NUL character"],
        "",
    );
    has_parts(
        File::with("ops: {a: {insert: c, \"a\\0b\": 1}}").show(&[]),
        &["a key cannot hold a NUL character"],
        "",
    );
}

#[test]
fn what_an_op_needs_and_lacks_is_named_with_op_and_place() {
    has_parts(
        File::with("blocks: {b: {ops: {read-1: {ratio: 5}}}}").show(&[]),
        &["w.yaml:1:20", "op `b__read-1`", "required field `stmt` is missing"],
        "",
    );
    has_parts(
        File::with("ops: {t: {log: level=INFO, dely: 5ms}, u: {delay: soon}}").show(&["driver=diag"]),
        &["w.yaml:1:34", "no task is named `dely`; did you mean `delay`?", "w.yaml:1:51", "op `block0__u`"],
        "",
    );
}
