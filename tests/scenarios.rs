//! Commands, scenarios and steps, row by row: what `nbrs plan` makes of them, and what a run of them does.

mod program;

use program::{Place, Ran, json_lines};
use serde_json::{Value as Json, json};

/// A workload with the step `command` in scenario `default`, step `a`.
fn one_step(command: &str) -> String {
    let quoted = command.replace('\'', "''");
    format!("scenarios:\n  default:\n    a: '{quoted}'\nops: {{op1: x}}\n")
}

/// The plan of `args`, as JSON.
#[track_caller]
fn planned(place: &Place, args: &[&str]) -> Vec<Json> {
    let mut words = vec!["plan"];
    words.extend(args);
    words.push("--json");
    let ran = place.run(&words);
    ran.ok().json().as_array().expect("an array").clone()
}

/// One step as text: `scenario.step verb alias k=v k=v`.
fn text(step: &Json) -> String {
    let word = |name: &str| step[name].as_str().unwrap_or("-").to_owned();
    let params = step["params"].as_object().expect("params");
    let params: String = params.iter().map(|(k, v)| format!(" {k}={}", v.as_str().expect("text"))).collect();
    format!("{}.{} {} {}{params}", word("scenario"), word("step"), word("verb"), word("alias"))
}

#[track_caller]
fn texts(place: &Place, args: &[&str]) -> Vec<String> {
    planned(place, args).iter().map(text).collect()
}

/// What stderr says of a command that is refused.
#[track_caller]
fn refused(place: &Place, args: &[&str]) -> String {
    let ran = place.run(args);
    assert_eq!(ran.code, 2, "{args:?}\nstdout:\n{}\nstderr:\n{}", ran.stdout, ran.stderr);
    ran.stderr
}

// ---- the words of a command line ----

#[test]
fn commands_are_verbs_with_their_words_and_parameters() {
    let place = Place::new();
    place.file("w.yaml", &one_step("run driver=stdout"));
    let rows: &[(&[&str], &[&str])] = &[
        (&["run", "driver=diag", "op=noop"], &["-.- run - driver=diag op=noop"]),
        (&["run", "driver=diag", "op=noop", "alias=b"], &["-.- run b driver=diag op=noop"]),
        // several commands in one line
        (
            &["start", "op=a", "alias=x", "waitmillis", "50", "stop", "x", "run", "op=b", "await", "x"],
            &["-.- start x op=a", "-.- waitmillis - ms=50", "-.- stop x", "-.- run - op=b", "-.- await x"],
        ),
        (&["forceStop", "x"], &["-.- forceStop x"]),
        // a command after a scenario and its parameters, and another scenario
        (
            &["w", "default", "cycles=2", "run", "op=b", "w.yaml"],
            &[
                "default.a run a driver=stdout cycles=2 workload=w",
                "-.- run - op=b",
                "default.a run a driver=stdout workload=w.yaml",
            ],
        ),
        // the value is all that follows the first `=`
        (
            &["run", "op=x", "connection=mongodb://h/?a=b&c=d", r#"filter={"a":"x=y"}"#],
            &[r#"-.- run - op=x connection=mongodb://h/?a=b&c=d filter={"a":"x=y"}"#],
        ),
        (&["run", "op=a b", "tags=block:\"x\""], &["-.- run - op=a b tags=block:\"x\""]),
        (&["run", "op=it's"], &["-.- run - op=it's"]),
    ];
    for (words, expected) in rows {
        assert_eq!(texts(&place, words), *expected, "{words:?}");
    }
}

#[test]
fn words_that_cannot_be_meant_are_refused() {
    let place = Place::new();
    place.file("w.yaml", &one_step("run driver=stdout"));
    for (words, parts) in [
        (&["threads=5"][..], &["stands before any command"][..]),
        (&["run", "op=x", "threads="], &["`threads=` has no value"]),
        (&["run", "op=x", "=5"], &["no name before the `=`"]),
        (&["run", "op=x", "threads=1", "threads=2"], &["`threads` is given twice"]),
        (&["w", "default", "threads=1", "threads=2"], &["`threads` is given twice"]),
        (&["run", "w.yaml"], &["takes k=v words, not `w.yaml`", "nbrs run workload=w.yaml"]),
        (&["await"], &["`await` needs an alias"]),
        (&["waitmillis", "soon"], &["not a number of milliseconds"]),
        (&["stop", "a("], &["no pattern of aliases"]),
        (&["waitMillis", "5"], &["`waitmillis`"]),
        (&["run", "op=x", "show"], &["`show` must be the first word"]),
        (&["run", "op=x", "driver=diag", "cyclerate=5", "rate=6"], &["cyclerate=5", "rate=6"]),
        (&["w", "default", "cyclerate=5", "rate=6"], &["cyclerate=5", "rate=6"]),
        (&["w", "default", "yaml=other.yaml", "workload=w"], &["two names for one parameter"]),
    ] {
        let said = refused(&place, words);
        for part in parts {
            assert!(said.contains(part), "{words:?}: no `{part}` in\n{said}");
        }
    }
}

#[test]
fn names_of_one_parameter_are_one_parameter() {
    let place = Place::new();
    place.file("w.yaml", &one_step("run driver=stdout rate=100"));
    // In a step, on the command line, and one over the other.
    assert_eq!(texts(&place, &["w"]), ["default.a run a driver=stdout cyclerate=100 workload=w"]);
    for name in ["rate", "cyclerate", "targetrate"] {
        let word = format!("{name}=7");
        let expected = ["default.a run a driver=stdout cyclerate=7 workload=w"];
        assert_eq!(texts(&place, &["w", "default", &word]), expected, "{name}");
    }
    place.run(&["run", "driver=diag", "op=noop", "rate=1000", "cyclerate=1000", "cycles=2"]).ok();
}

#[test]
fn a_file_of_arguments_stands_for_its_lines() {
    let place = Place::new();
    place.file("w.yaml", &one_step("run driver=stdout"));
    place.file("a.args", "# sizes\n\ncycles=5\r\nop text=a b\n--progress none\n");
    place.file("b.args", "run\ndriver=stdout\nop={{Identity()}} and a blank\\n\n--progress none\ncycles=2");
    let ran = place.run(&["--argsfile", "b.args"]);
    assert_eq!(ran.ok().stdout, "0 and a blank\n1 and a blank\n");
    assert_eq!(place.run(&["run", "--argsfile=b.args"]).code, 2, "the words stand where the option does");
    for (file, part) in [
        ("none.args", "cannot read `none.args`"),
        (".", "cannot read `.`"),
        ("/dev/zero", "longer than 1 MB"),
        ("c.args", "names another one"),
    ] {
        place.file("c.args", "--argsfile b.args\n");
        assert!(refused(&place, &["run", "--argsfile", file]).contains(part));
    }
}

#[test]
fn a_verb_wins_over_a_workload_of_its_name() {
    let place = Place::new();
    place.file("check.yaml", &one_step("run driver=stdout"));
    assert!(refused(&place, &["check"]).contains("`check` needs a file"));
    assert_eq!(place.run(&["check", "check.yaml"]).ok().stdout, "");
    assert_eq!(texts(&place, &["./check.yaml"]), ["default.a run a driver=stdout workload=./check.yaml"]);
}

// ---- which scenario ----

const FORMS: &str = "scenarios:\n  default: run k=1\n  list: [run k=1, run k=2]\n  map: {b: run k=1, a: run k=2 start k=3}\n\
                     ops: {op1: x TEMPLATE(k,0)}\n";

#[test]
fn scenarios_are_a_text_a_list_or_a_map_and_are_named_whole_or_by_step() {
    let place = Place::new();
    place.file("f.yaml", FORMS);
    let rows: &[(&[&str], &[&str])] = &[
        (&[], &["default.001 run 001 k=1"]),
        (&["list"], &["list.000 run 000 k=1", "list.001 run 001 k=2"]),
        (&["map"], &["map.b run b k=1", "map.a run a k=2", "map.a start a k=3"]),
        (&["map.a"], &["map.a run a k=2", "map.a start a k=3"]),
        (&["list.1"], &["list.001 run 001 k=2"]),
        (&["list.001"], &["list.001 run 001 k=2"]),
        (&["map.b", "default"], &["map.b run b k=1", "default.001 run 001 k=1"]),
    ];
    for (names, expected) in rows {
        let words: Vec<&str> = ["f"].iter().chain(*names).copied().collect();
        let expected: Vec<String> = expected.iter().map(|step| format!("{step} workload=f")).collect();
        assert_eq!(texts(&place, &words), expected, "{names:?}");
    }
    for (name, part) in [
        ("lst", "has no scenario `lst`\n  help: did you mean `list`? there are default, list, map"),
        ("map.c", "has no step `map.c`"),
        ("list.7", "there are list.000, list.001"),
    ] {
        let said = refused(&place, &["plan", "f", name]);
        assert!(said.contains(part), "{name}: {said}");
    }
}

#[test]
fn what_is_no_scenario_is_refused_at_its_place() {
    let place = Place::new();
    for (yaml, parts) in [
        ("scenarios: [run k=1]\n", &["f.yaml:1:12", "map of names"][..]),
        ("scenarios: {default: }\n", &["f.yaml:1:"]),
        ("scenarios: {default: 5}\n", &["f.yaml:1:22"]),
        ("scenarios: {default: {a: [run k=1]}}\n", &["f.yaml:1:26"]),
        ("scenarios: {default: {a: }}\n", &["f.yaml:1:"]),
    ] {
        place.file("f.yaml", &format!("{yaml}ops: {{op1: x}}\n"));
        let said = refused(&place, &["plan", "f"]);
        for part in parts {
            assert!(said.contains(part), "{yaml}: no `{part}` in\n{said}");
        }
    }
    place.file("g.yaml", "ops: {op1: x}\n");
    let said = refused(&place, &["g"]);
    assert!(said.contains("has no scenarios") && said.contains("nbrs run workload=g.yaml"), "{said}");
}

// ---- from a step to a command ----

#[test]
fn a_step_is_split_like_a_shell_would() {
    let place = Place::new();
    for (step, op) in [
        ("run op=a", "a"),
        ("  run   op=a  ", "a"),
        ("run\top=a\n", "a"),
        ("run op='a b'", "a b"),
        ("run op=\"a b\"", "a b"),
        ("run 'op=a b'", "a b"),
        ("run op=a' 'b", "a b"),
        (r"run op=a\ b", "a b"),
        (r"run op=a\\b", r"a\b"),
        (r#"run op=\"a\""#, "\"a\""),
        (r"run op=it\'s", "it's"),
        (r#"run op="it's""#, "it's"),
        (r#"run op="a\"b""#, "a\"b"),
        (r"run op='a\b'", r"a\b"),
        // stays, so that patterns and line ends need no quotes
        (r"run op=a\db\n", r"a\db\n"),
        ("run op='a=b = c'", "a=b = c"),
        ("run op=''", ""),
        (r#"run op={"a":"b"}"#, "{a:b}"),
        (r#"run op='{"a": "x=y"}'"#, r#"{"a": "x=y"}"#),
    ] {
        let yaml = format!(
            "scenarios:\n  default:\n    a: {}\nops: {{op1: x}}\n",
            serde_json::to_string(step).expect("a JSON string is YAML")
        );
        place.file("w.yaml", &yaml);
        let steps = planned(&place, &["w"]);
        assert_eq!(steps[0]["params"], json!({ "op": op }), "{step}");
    }
    for (step, part) in [
        ("run op='a", "w.yaml:3:12: error: this ' is never closed"),
        ("run op=\"a", "is never closed"),
        ("run op=a b", "`b` is not a command"),
        ("run {a}", "`{a}` is not a command or a parameter"),
        ("run -x", "`-x` is not a command or a parameter"),
        ("run op= k=1", "`op=` has no value"),
        ("", "is empty"),
    ] {
        place.file(
            "w.yaml",
            &format!("scenarios:\n  default:\n    a: |\n      {step}\nops: {{op1: x TEMPLATE(k,0)}}\n"),
        );
        let found = place.run(&["check", "w.yaml"]);
        assert_eq!(found.code, 2, "{step}");
        let stdout = found.stdout.replace("w.yaml:4:14", "w.yaml:3:12");
        assert!(stdout.contains(part), "{step}: {stdout}");
    }
}

#[test]
fn a_value_of_the_user_may_hold_anything() {
    let place = Place::new();
    // In a plain scalar, since a workload is a text before it is YAML.
    let steps = "scenarios:\n  default:\n    a: run op=TEMPLATE(text,none) tags=<<tag:block:x>> cycles=1\nops: {op1: x}\n";
    place.file("w.yaml", steps);
    for value in ["a b", "it's", "\"", r"a\ b", "k=v", "run", "  "] {
        let word = format!("text={value}");
        let steps = planned(&place, &["w", "default", &word]);
        assert_eq!(steps[0]["params"]["op"], value, "{value:?}");
        assert_eq!(steps[0]["params"]["cycles"], "1");
    }
    // Where a word of a step stands, the user's words are words.
    place.file("w.yaml", &one_step("run TEMPLATE(more,) op=x"));
    assert_eq!(
        texts(&place, &["w", "default"]),
        ["default.a run a op=x workload=w".replace(" workload=w", "")]
    );
    let steps = planned(&place, &["w", "default", "more=threads=5 cycles=2"]);
    assert_eq!((&steps[0]["params"]["threads"], &steps[0]["params"]["cycles"]), (&json!("5"), &json!("2")));
}

#[test]
fn operators_say_who_may_set_a_value() {
    let place = Place::new();
    // step, the user's words, and what becomes of `cycles` (none: it is left out)
    let rows: &[(&str, &[&str], Option<&str>)] = &[
        ("run cycles=10", &[], Some("10")),
        ("run cycles==10", &[], Some("10")),
        ("run cycles===10", &[], Some("10")),
        ("run cycles=10", &["cycles=5"], Some("5")),
        ("run cycles==10", &["cycles=5"], Some("10")),
        ("run cycles===10", &["threads=5"], Some("10")),
        ("run threads=1", &["cycles=5"], Some("5")),
        // UNDEF, in any case, leaves out
        ("run cycles=UNDEF", &[], None),
        ("run cycles==undef", &[], None),
        ("run cycles==UNDEF", &["cycles=5"], None),
        ("run cycles=UNDEF", &["cycles=5"], Some("5")),
        ("run cycles=10", &["cycles=Undef"], None),
        ("run threads=1", &["cycles=UNDEF"], None),
        ("run nonsense==undef", &[], None),
        // through a template variable
        ("run cycles===TEMPLATE(n,10)", &[], Some("10")),
        ("run cycles===TEMPLATE(n,10)", &["n=7"], Some("7")),
        ("run cycles===TEMPLATE(n, 10)", &[], Some("10")),
        ("run cycles===<<n: 10 >> threads=1", &[], Some("10")),
        ("run cycles=TEMPLATE(n,)", &["n=7"], Some("7")),
        // a variable that is called like a parameter is both
        ("run cycles=TEMPLATE(cycles,10)", &["cycles=7"], Some("7")),
        ("run cycles===TEMPLATE(cycles,10)", &["cycles=7"], Some("7")),
        ("run cycles===TEMPLATE(cycles,10)", &[], Some("10")),
    ];
    for (step, user, cycles) in rows {
        place.file("w.yaml", &one_step(step));
        let words: Vec<&str> = ["w", "default"].iter().chain(*user).copied().collect();
        let steps = planned(&place, &words);
        assert_eq!(steps[0]["params"].get("cycles").and_then(Json::as_str), *cycles, "{step} with {user:?}");
    }
    for (step, user, parts) in [
        (
            "run cycles===10",
            "cycles=5",
            &["w.yaml:3:13", "has locked `cycles=10`: it cannot be set to `5`"][..],
        ),
        (
            "run cycles===TEMPLATE(a-cycles,10)",
            "cycles=5",
            &["set the template variable instead: `a-cycles=…`"],
        ),
        ("run cycles====10", "threads=5", &["`====` is not an operator"]),
        ("run cycles=1 cycles=2", "threads=5", &["`cycles` is given twice in step `a`"]),
        ("run rate=1 cyclerate=2", "threads=5", &["`cyclerate` is given twice in step `a`"]),
        (
            "run cycles=TEMPLATE(n)",
            "threads=5",
            &["template variable `n` has no value and no default", "`n=…`"],
        ),
    ] {
        place.file("w.yaml", &one_step(step));
        let said = refused(&place, &["w", "default", user]);
        for part in parts {
            assert!(said.contains(part), "{step}: no `{part}` in\n{said}");
        }
    }
}

#[test]
fn a_value_that_overrides_several_steps_or_meets_a_lock_is_said() {
    let place = Place::new();
    let steps = |c: &str| {
        format!(
            "scenarios:\n  default:\n    a: run driver=diag tags=block:a cycles=1\n    b: run driver=diag tags=block:b cycles=10\n    \
             c: run driver=diag tags{c}block:c cycles=100\nblocks: {{a: {{ops: {{o: noop}}}}, b: {{ops: {{o: noop}}}}, c: {{ops: {{o: noop}}}}}}\n"
        )
    };
    place.file("w.yaml", &steps("="));
    let ran = place.run(&["plan", "w", "default", "tags=block:b"]);
    assert!(ran.ok().stderr.contains("`tags=block:b` overrides 3 steps: a, b, c"), "{}", ran.stderr);
    assert!(ran.stderr.contains("`tags==…`"), "{}", ran.stderr);
    let (ran, result) = place.result(&["w", "default", "tags=block:b"]);
    assert!(ran.ok().stderr.contains("overrides 3 steps"), "a run says it too: {}", ran.stderr);
    let names: Vec<&Json> =
        result["activities"].as_array().expect("a list").iter().map(|a| &a["ops"][0]["name"]).collect();
    assert_eq!(names, ["b__o", "b__o", "b__o"]);
    place.file("w.yaml", &steps("=="));
    let ran = place.run(&["plan", "w", "default", "tags=block:b"]);
    assert!(ran.ok().stderr.contains("does not count where a step keeps its own (`==`): c (tags=block:c)"));
    assert!(ran.stdout.contains("tags=block:c"), "{}", ran.stdout);
    // Nothing is said of one step, nor of a value that steps take through a template variable.
    let ran = place.run(&["plan", "w", "default.a", "tags=block:b"]);
    assert_eq!(ran.ok().stderr, "");
}

#[test]
fn every_parameter_of_the_user_goes_to_every_step_and_must_be_of_use_to_one() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    out: run driver=stdout tags==block:out\n    idle: run driver=diag tags==block:idle\n\
         blocks:\n  out:\n    ops: {o: \"TEMPLATE(text,x)\\n\"}\n  idle:\n    ops: {o: noop}\n",
    );
    // `filename` is stdout's: the diag step has no use for it, and runs.
    let ran = place.run(&["w", "default", "filename=out.txt", "text=hello"]);
    ran.ok();
    let written = std::fs::read_to_string(place.path().join("out.txt")).expect("the file of the first step");
    assert_eq!(written, "hello\n");
    for (words, parts) in [
        (&["w", "default", "txt=hello"][..], &["no step uses `txt`", "did you mean `text`?"][..]),
        (&["w", "default", "cylces=5"], &["did you mean `cycles`?"]),
        (&["w", "default", "connection=mongodb://h/"], &["`connection` is a parameter of driver `mongodb`"]),
        (&["w", "default.idle", "filename=out.txt"], &["`filename` is a parameter of driver `stdout`"]),
    ] {
        let said = refused(&place, words);
        for part in parts {
            assert!(said.contains(part), "{words:?}: no `{part}` in\n{said}");
        }
    }
    // A step's own parameter must be of use to that step.
    place.file("v.yaml", &one_step("run driver=diag filename=x op=noop"));
    assert!(refused(&place, &["v"]).contains("`filename` is a parameter of driver `stdout`"));
}

#[test]
fn the_alias_is_the_steps_name_unless_it_says_how_it_is_made() {
    let place = Place::new();
    let rows = [
        ("sch-ema: run k=1", "sch_ema"),
        ("v1.2: run k=1", "v1"),
        ("é-1: run k=1", "_1"),
        ("s: run alias=STEP", "s"),
        ("s: run alias=WORKLOAD_SCENARIO_STEP", "my_w_de_fault_s"),
        ("s: run alias=mine", "mine"),
        ("s: start alias=STEP-x", "s-x"),
    ];
    std::fs::create_dir(place.path().join("dir")).expect("a folder");
    for (step, alias) in rows {
        place.file(
            "dir/my-w.yaml",
            &format!("scenarios: {{de-fault: {{{step}}}}}\nops: {{op1: x TEMPLATE(k,0)}}\n"),
        );
        let steps = planned(&place, &["dir/my-w.yaml", "de-fault"]);
        assert_eq!(steps[0]["alias"], alias, "{step}");
    }
    place.file("w.yaml", &one_step("run alias=mine"));
    assert!(place.run(&["plan", "w"]).ok().stderr.contains("does not contain STEP"));
    assert_eq!(texts(&place, &["w", "default", "alias=yours"]), ["default.a run yours workload=w"]);
}

#[test]
fn a_step_may_name_a_workload_or_an_op_of_its_own() {
    let place = Place::new();
    place.file("other.yaml", "ops: {o: \"TEMPLATE(word,none)\\n\"}\n");
    place.file("w.yaml", &one_step("run driver=stdout workload=other.yaml"));
    assert_eq!(texts(&place, &["w"]), ["default.a run a driver=stdout workload=other.yaml"]);
    // A template variable of that other workload is of use.
    assert_eq!(place.run(&["w", "default", "word=hi"]).ok().stdout, "hi\n");
    assert!(refused(&place, &["w", "default", "wrod=hi"]).contains("`wrod`"));
    // So is one that the step itself gives.
    place.file("w.yaml", &one_step("run driver=stdout workload=other.yaml word=ho"));
    assert_eq!(place.run(&["w"]).ok().stdout, "ho\n");
    place.file("w.yaml", &one_step("run driver=stdout op=x"));
    assert_eq!(texts(&place, &["w"]), ["default.a run a driver=stdout op=x"]);
}

#[test]
fn a_plan_looks_into_the_workloads_that_steps_name() {
    let place = Place::new();
    place.file("other.yaml", "blocks: {b: {ops: {o: \"TEMPLATE(word,none)\\n\"}}}\n");
    place.file("broken.yaml", "ops: {o: [}\n");
    let rows: &[(&str, &[&str], &[&str])] = &[
        ("run driver=stdout workload=nothing", &[], &["no workload `nothing`"]),
        ("run driver=stdout yaml=broken.yaml", &[], &["broken.yaml:1:"]),
        ("run driver=stdout workload=other tags=block:c", &[], &["block:c", "w.yaml:3:"]),
        ("run driver=stdout workload=other wrod=x", &[], &["unknown parameter `wrod`", "w.yaml:3:"]),
        ("run driver=stdout workload=other", &["wrod=x"], &["no step uses it", "`wrod`"]),
        ("run driver=stdout", &["workload=nothing"], &["no workload `nothing`"]),
    ];
    for (step, user, parts) in rows {
        place.file("w.yaml", &one_step(step));
        for verb in [&["plan", "w", "default"][..], &["w", "default"]] {
            let said = refused(&place, &[verb, user].concat());
            for part in *parts {
                assert!(said.contains(part), "{verb:?} {step}: no `{part}` in\n{said}");
            }
        }
    }
    place.file("w.yaml", &one_step("run driver=stdout workload=other"));
    assert_eq!(
        texts(&place, &["w", "default", "word=x"]),
        ["default.a run a driver=stdout workload=other word=x"]
    );
}

#[test]
fn steps_begin_with_a_command() {
    let place = Place::new();
    for (step, parts) in [
        ("driver=stdout", &["w.yaml:3:9", "stands before any command"][..]),
        ("rum k=1", &["`rum` is not a command", "did you mean `run`?"]),
        ("script x.js", &["`script` is not supported"]),
        ("run cylces=5", &["there is no parameter `cylces`", "`cycles`"]),
        ("await", &["`await` needs an alias"]),
        ("waitmillis soon", &["`soon` is not a number"]),
        ("run op=x await nobody", &["await: no activity `nobody`"]),
    ] {
        place.file("w.yaml", &one_step(step));
        let said = refused(&place, &["w"]);
        for part in parts {
            assert!(said.contains(part), "{step}: no `{part}` in\n{said}");
        }
    }
    place.file(
        "w.yaml",
        &one_step("start driver=diag op=delay=5s cycles=100 waitmillis 50 stop a run driver=diag op=noop"),
    );
    let (ran, result) = place.result(&["w"]);
    assert!(ran.code == 0 || ran.code == 1, "{}", ran.stderr);
    assert_eq!(result["activities"].as_array().map(Vec::len), Some(2), "{result}");
}

// ---- what a run of them does ----

const TWO: &str = "scenarios:\n  one: {same: run driver=stdout tags==block:a}\n  two: {same: run driver=stdout tags==block:b}\n\
                   list: [run driver=stdout tags==block:a, run driver=stdout tags==block:b]\n\
                   blocks: {a: {ops: {o: \"a\\n\"}}, b: {ops: {o: \"b\\n\"}}}\n";

#[test]
fn steps_of_the_same_name_all_run() {
    let place = Place::new();
    place.file("w.yaml", &TWO.replace("list:", "  list:"));
    assert_eq!(place.run(&["w", "one", "two"]).ok().stdout, "a\nb\n");
    assert_eq!(place.run(&["w", "one", "errors=stop", "w", "one"]).ok().stdout, "a\na\n");
    assert_eq!(place.run(&["w", "list"]).ok().stdout, "a\nb\n");
    assert_eq!(
        place
            .run(&[
                "run",
                "driver=stdout",
                r"op=a\n",
                "alias=x",
                "run",
                "driver=stdout",
                r"op=b\n",
                "alias=x"
            ])
            .ok()
            .stdout,
        "a\nb\n"
    );
}

#[test]
fn a_failed_step_ends_the_scenario_unless_it_is_to_keep_going() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    one: run driver=diag tags==block:bad cycles=3\n    two: run driver=stdout tags==block:good\n\
         blocks:\n  bad: {ops: {o: erroroncycle=1}}\n  good: {ops: {o: \"good\\n\"}}\n",
    );
    let ran = place.run(&["w"]);
    assert_eq!((ran.code, ran.stdout.contains("good")), (1, false), "{}", ran.stderr);
    let ran = place.run(&["w", "--keep-going"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "good\n"), "{}", ran.stderr);
    // A slip in the last step is said before the first one runs, whatever is asked.
    let text = std::fs::read_to_string(place.path().join("w.yaml"))
        .expect("the file")
        .replace("block:good", "block:god");
    place.file("w.yaml", &text);
    let ran = place.run(&["w", "--keep-going"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("w.yaml:4:") && ran.stderr.contains("`block:good`"), "{}", ran.stderr);
}

#[test]
fn a_step_begins_after_the_last_op_of_the_step_before() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    one: run driver=stdout tags==block:a cycles=2000 threads=20\n    two: run driver=stdout tags==block:b cycles=2000 threads=20\n\
         blocks:\n  a: {ops: {o: \"a\\n\", wait: {op: {delay: 1ms}, driver: diag, ratio: 1}}}\n  b: {ops: {o: \"b\\n\"}}\n",
    );
    let ran = place.run(&["w"]);
    let lines: Vec<&str> = ran.ok().stdout.lines().collect();
    assert_eq!(lines.len(), 3000, "every cycle of both steps");
    let first_b = lines.iter().position(|line| *line == "b").expect("a b");
    assert_eq!(first_b, 1000, "no b before the last a");
}

#[test]
fn no_cycles_run_nothing_and_are_no_error() {
    let place = Place::new();
    place.file("w.yaml", &one_step("run driver=stdout cycles=0"));
    for words in [
        &["w"][..],
        &["run", "driver=stdout", "op=x", "cycles=0"],
        &["run", "driver=stdout", "op=x", "cycles=5..5"],
    ] {
        let ran = place.run(words);
        assert!(ran.ok().stdout.is_empty(), "{words:?}: {}", ran.stdout);
    }
}

#[test]
fn what_is_given_reaches_every_layer() {
    let place = Place::new();
    // `collection` stands in the ops; `database` is a parameter of the driver; both reach every step.
    let (ran, result) = place.result(&[
        "mongodb-keyvalue2",
        "default",
        "database=mydb",
        "collection=mine",
        "rampup-cycles=3",
        "main-cycles=2",
        "mintext=5",
        "maxtext=9",
    ]);
    ran.ok();
    let headers = ran.stderr.matches("database mydb").count();
    assert!(headers >= 1, "{}", ran.stderr);
    assert_eq!(result["activities"].as_array().map(Vec::len), Some(4));
    for tags in ["block:schema", "block:rampup", "block:main.*", "block:drop-collection"] {
        let shown = place.run(&[
            "show",
            "workload=mongodb-keyvalue2",
            &format!("tags={tags}"),
            "collection=mine",
            "mintext=5",
            "maxtext=9",
            "--json",
        ]);
        for line in json_lines(&shown.ok().stdout) {
            let command = line["command"].as_object().expect("a command");
            assert_eq!(command.values().next(), Some(&json!("mine")), "{line}");
        }
    }
}

#[test]
fn the_driver_is_the_ops_then_the_parameters_then_the_default() {
    let place = Place::new();
    let prints = |ran: Ran| ran.ok().stdout.clone();
    place.file("op.yaml", "ops: {o: {op: \"o\\n\", driver: stdout}}\n");
    assert_eq!(prints(place.run(&["run", "workload=op.yaml"])), "o\n");
    place.file("type.yaml", "params: {type: stdout}\nops: {o: \"o\\n\"}\n");
    assert_eq!(prints(place.run(&["run", "workload=type.yaml"])), "o\n");
    place.file("plain.yaml", "ops: {o: \"o\\n\"}\n");
    assert_eq!(prints(place.run(&["run", "workload=plain.yaml", "driver=stdout"])), "o\n");
    assert_eq!(prints(place.run(&["run", "workload=plain.yaml", "type=stdout"])), "o\n");
    assert!(
        refused(&place, &["run", "workload=plain.yaml"]).contains("plain.yaml:1:"),
        "mongodb takes commands"
    );
    place.file("bare.yaml", "bindings: {n: Identity()}\n");
    assert_eq!(prints(place.run(&["run", "workload=bare.yaml", "cycles=2"])), "n=0\nn=1\n");
    place.file("odd.yaml", "params: {type: read}\nops: {o: \"o\\n\"}\n");
    let ran = place.run(&["run", "workload=odd.yaml", "driver=stdout"]);
    assert!(ran.ok().stderr.contains("`type: read` names no driver"), "{}", ran.stderr);
    assert!(
        refused(&place, &["run", "workload=plain.yaml", "driver=mongo"]).contains("did you mean `mongodb`?")
    );
}

#[test]
fn defaults_are_one_sequence_once_by_one_thread() {
    let place = Place::new();
    place.file("w.yaml", "ops: {a: {op: noop, ratio: 3}, b: {op: noop, ratio: 2}}\n");
    let asked = |words: &[&str]| {
        let words: Vec<&str> =
            ["run", "workload=w.yaml", "driver=diag"].iter().chain(words).copied().collect();
        let (ran, result) = place.result(&words);
        ran.ok();
        let activity = &result["activities"][0];
        (
            activity["cycles"]["asked"].as_u64().expect("a count"),
            activity["threads"].as_u64().expect("a count"),
        )
    };
    assert_eq!(asked(&[]), (5, 1));
    assert_eq!(asked(&["recycles=3"]), (15, 1));
    assert_eq!(asked(&["stride=7"]), (7, 1));
    assert_eq!(asked(&["cycles=12", "threads=4"]), (12, 4));
    // Capped at the cycles.
    assert_eq!(asked(&["cycles=2", "threads=auto"]), (2, 2));
    for (word, part) in [
        ("threads=lots", "threads=lots"),
        ("seq=Bucket", "bucket, interval, concat"),
        ("cycles=..5", "..5"),
        ("cycles=9..3", "9..3"),
    ] {
        assert!(refused(&place, &["run", "workload=w.yaml", "driver=diag", word]).contains(part), "{word}");
    }
}

#[test]
fn everything_that_is_wrong_with_an_activity_is_said_at_once() {
    let place = Place::new();
    place.file("w.yaml", "bindings: {n: Modd(5)}\nops: {a: \"{n}\", b: {op: \"x\", ratio: many}}\n");
    let words = [
        "run",
        "workload=w.yaml",
        "driver=stdout",
        "cycles=5q",
        "threads=lots",
        "cyclerate=fast",
        "errors=stopp",
        "seq=Bucket",
        "recycles=0",
        "maxtries=0",
        "stride=0",
        "dryrun=maybe",
        "cylces=5",
    ];
    let said = refused(&place, &words);
    for part in [
        "`Modd`",
        "`many`",
        "cycles=5q",
        "threads=lots",
        "cyclerate=fast",
        "`stopp`",
        "seq=Bucket",
        "recycles=0",
        "maxtries=0",
        "stride=0",
        "maybe",
        "`cylces`",
    ] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    assert_eq!(said.lines().filter(|line| line.starts_with("error")).count(), 12, "{said}");
}

#[test]
fn no_template_is_left_in_any_output_however_a_workload_is_reached() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("mine")).expect("a folder");
    place.file(
        "mine/f.yaml",
        "description: a TEMPLATE(word,plain) one\nscenarios:\n  default:\n    s: run driver=stdout tags==block:TEMPLATE(b,x) cycles=<<n:2>>\n\
         bindings: {k: 'Mod(TEMPLATE(m,TEMPLATE(o,4)))'}\nblocks:\n  x:\n    params: {ratio: '${q:1}'}\n    ops: {o: \"TEMPLATE(word,plain) {k}\\n\"}\n",
    );
    let absolute = place.path().join("mine/f.yaml");
    let absolute = absolute.to_str().expect("UTF-8");
    let workload = format!("workload={absolute}");
    let rows: &[&[&str]] = &[
        &["mine/f"],
        &["f", "--include", "mine"],
        &[absolute, "default"],
        &["run", "workload=mine/f.yaml", "driver=stdout"],
        &["run", &workload, "driver=stdout", "word=other", "m=9"],
        &["show", "workload=mine/f", "driver=stdout"],
        &["describe", "workload=mine/f", "--json"],
        &["plan", "mine/f", "--json"],
        &["check", "mine/f.yaml"],
        &["help", "workload", "mine/f"],
        &["--list-scenarios", "--include", "mine"],
        &["--list-workloads", "--include", "mine"],
    ];
    for words in rows {
        let ran = place.run(words);
        for text in [&ran.ok().stdout, &ran.stderr] {
            for form in ["TEMPLATE(", "<<", "${", "UNSET"] {
                assert!(!text.contains(form), "{words:?}: `{form}` in\n{text}");
            }
        }
    }
}

#[test]
fn a_failure_stops_what_was_started_and_the_summary_says_so() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    back: start driver=diag tags==block:slow cycles=1000000\n    bad: run driver=diag tags==block:bad cycles=1\n    \
         last: run driver=stdout tags==block:good\n  \
         other:\n    bad: start driver=diag tags==block:bad cycles=1\n    back: run driver=diag tags==block:slow cycles=1000000\n  \
         pause:\n    bad: start driver=diag tags==block:bad cycles=1\n    rest: waitmillis 3600000\n  \
         lost:\n    back: start driver=diag tags==block:slow cycles=1000000\n    gone: run driver=mongodb tags==block:ping connection=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200\n\
         blocks:\n  slow: {ops: {o: delay=1ms}}\n  bad: {ops: {o: erroroncycle=0}}\n  good: {ops: {o: \"good\\n\"}}\n  ping: {ops: {o: '{ping: 1}'}}\n",
    );
    for (scenario, code, stopped) in [
        ("default", 1, Some("the failure of `bad`")),
        // It may fail before the other is started.
        ("other", 1, None),
        ("pause", 1, None),
        ("lost", 3, Some("an error of the step after it")),
    ] {
        let (ran, result) = place.result(&["w", scenario]);
        assert_eq!((ran.code, ran.stdout.contains("good")), (code, false), "{}", ran.stderr);
        let said = ran.stdout + &ran.stderr;
        if let Some(what) = stopped {
            assert!(said.contains(&format!("stopped by {what}")), "{scenario}:\n{said}");
            let activities = result["activities"].as_array().expect("activities");
            assert_eq!(activities.len(), if scenario == "lost" { 1 } else { 2 }, "{result}");
        }
    }
}

#[test]
fn a_target_out_of_reach_does_not_end_a_run_that_is_to_keep_going() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  default:\n    gone: start driver=mongodb tags==block:ping connection=mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200\n    \
         wait: await gone\n    last: run driver=stdout tags==block:good\n\
         blocks:\n  good: {ops: {o: \"good\\n\"}}\n  ping: {ops: {o: '{ping: 1}'}}\n",
    );
    let ran = place.run(&["w", "--keep-going"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, "good\n"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{}", ran.stderr);
    assert_eq!(place.run(&["w"]).stdout, "");
}

#[test]
fn the_later_forms_of_wait_and_await_are_read() {
    let place = Place::new();
    let rows: &[(&str, &[&str])] = &[
        ("wait ms=5", &["default.a wait a ms=5"]),
        ("wait ms=1 us=2 ns=3", &["default.a wait a ms=1 us=2 ns=3"]),
        ("wait unit=2ms", &["default.a wait a unit=2ms"]),
        (
            "start driver=stdout alias=x_STEP await activity=x_a",
            &["default.a start x_a driver=stdout workload=w", "default.a await x_a"],
        ),
    ];
    for (command, expected) in rows {
        place.file("w.yaml", &one_step(command));
        assert_eq!(texts(&place, &["w"]), *expected, "{command}");
        place.run(&["w"]).ok();
    }
    place.run(&["start", "driver=diag", "op=noop", "alias=x", "wait", "ms=1", "await", "activity=x"]).ok();
    for (command, part) in [
        ("wait", "needs a time"),
        ("wait soon=5", "there are ms, us, ns and unit"),
        ("wait ms=1.5", "not a whole number"),
        ("await activity=x s=5", "not `s=…`"),
        ("container x", "`container` is not supported"),
    ] {
        place.file("w.yaml", &one_step(command));
        assert!(refused(&place, &["plan", "w"]).contains(part), "{command}");
    }
}

#[test]
fn a_plan_refuses_the_values_that_a_run_does() {
    let place = Place::new();
    for (command, part) in [
        ("run driver=stdout cycles=1kb", "w.yaml:3:34"),
        ("run driver=stdout threads=many", "`many` is not a number"),
        ("run driver=stdout errors=whatever", "unknown verb"),
        ("run driver=stdout cyclerate=fast", "`cyclerate=fast`"),
        ("run driver=stdout seq=any", "no order of ops"),
        ("await nothing", "no activity `nothing`"),
    ] {
        place.file("w.yaml", &one_step(command));
        for verb in [&["plan", "w"][..], &["w"]] {
            assert!(refused(&place, verb).contains(part), "{verb:?} {command}: {}", refused(&place, verb));
        }
    }
    assert!(refused(&place, &["plan", "run", "driver=diag", "op=noop", "cycles=1kb"]).contains("`kb`"));
}

#[test]
fn a_template_variable_of_other_steps_is_of_no_use_to_those_that_run() {
    let place = Place::new();
    place.file(
        "w.yaml",
        "scenarios:\n  a: {s: run driver=stdout cycles=TEMPLATE(acycles,1)}\n  b: {s: 'run driver=stdout cycles=TEMPLATE(bcycles,1) tags=block:TEMPLATE(blk,main)'}\n\
         blocks: {TEMPLATE(blk,main): {ops: {o: \"TEMPLATE(text,x)\\n\"}}}\n",
    );
    let said = refused(&place, &["w", "a", "bcycles=5"]);
    assert!(said.contains("no step uses `bcycles` of those that run") && said.contains("`b.s`"), "{said}");
    assert_eq!(place.run(&["w", "b", "bcycles=2"]).ok().stdout, "x\nx\n");
    for word in ["text=y", "blk=other", "acycles=1"] {
        place.run(&["w", "a", word]).ok();
    }
}

#[test]
fn a_filter_of_tags_that_has_nothing_to_choose_from_is_said() {
    let place = Place::new();
    place.file("w.yaml", "bindings: {n: Identity()}\n");
    let ran = place.run(&["run", "workload=w.yaml", "tags=block:main", "cycles=1"]);
    assert_eq!(ran.ok().stdout, "n=0\n");
    assert!(ran.stderr.contains("`tags=` has no effect"), "{}", ran.stderr);
}
