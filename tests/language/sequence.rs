//! Ratios, sequences, cycles, and the numbers that users write for them.

use super::file::{File, has_parts};

/// A workload with one op a ratio, which print `A`, `B`, ….
fn lettered(ratios: &[u64]) -> File {
    let ops: String = ratios
        .iter()
        .zip('A'..)
        .map(|(ratio, letter)| format!("  {letter}: {{stmt: {letter}, ratio: {ratio}}}\n"))
        .collect();
    File::with(&format!("ops:\n{ops}"))
}

#[test]
fn ratios_lay_ops_out_as_the_reference_does() {
    let rows: &[(&[u64], &str, &str)] = &[
        (&[5, 3, 1], "bucket", "ABCABABAA"),
        (&[5, 3, 1], "interval", "ABCABAABA"),
        (&[5, 3, 1], "concat", "AAAAABBBC"),
        (&[4, 3, 2, 1], "bucket", "ABCDABCABA"),
        (&[4, 3, 2, 1], "interval", "ABCDABACBA"),
        (&[5, 5, 1], "interval", "ABCABABABAB"),
        (&[1, 9], "bucket", "ABBBBBBBBB"),
        (&[1, 9], "interval", "ABBBBBBBBB"),
        (&[2, 3], "interval", "ABBAB"),
        (&[3, 7], "bucket", "ABABABBBBB"),
        (&[3, 7], "interval", "ABBBABBABB"),
        (&[1, 0, 2], "bucket", "ACC"),
    ];
    for (ratios, seq, expected) in rows {
        let texts = lettered(ratios).texts(&[&format!("seq={seq}")]);
        assert_eq!(texts.as_deref(), Ok(*expected), "{ratios:?} {seq}");
    }
    let long = lettered(&[49, 1]).texts(&[]).expect("it is shown");
    assert!(long.len() == 50 && long.starts_with("ABAA"), "{long}");
    assert_eq!(lettered(&[2, 1]).texts(&["seq=interval", "cycles=6"]).as_deref(), Ok("ABAABA"));
}

#[test]
fn the_op_of_a_cycle_follows_from_its_number_alone() {
    assert_eq!(lettered(&[2, 1]).texts(&["cycles=1..6"]).as_deref(), Ok("BAABA"));
    assert_eq!(lettered(&[2, 1]).texts(&["cycles=1000000000..+2"]).as_deref(), Ok("BA"));
    let shown = lettered(&[1, 1]).show(&["driver=stdout", "cycles=5..7"]).expect("it is shown");
    let cycles: Vec<u64> = shown.iter().map(|line| line["cycle"].as_u64().expect("a number")).collect();
    assert_eq!(cycles, [5, 6]);
    assert_eq!((shown[0]["op"].as_str(), shown[1]["op"].as_str()), (Some("block0__B"), Some("block0__A")));
}

#[test]
fn files_documents_blocks_and_ops_come_in_the_order_of_the_file() {
    let program = File::with("blocks: {z: {ops: [A, B]}, a: {ops: C}}\nops: D\n---\nops: [E, F]\n");
    assert_eq!(program.texts(&[]).as_deref(), Ok("DABCEF"));
}

#[test]
fn an_op_with_ratio_0_is_not_there_and_its_errors_go_unseen() {
    let yaml = "ops: {a: {stmt: A, ratio: 1}, b: {stmt: '{nope}', ratio: 0}}";
    assert_eq!(File::with(yaml).texts(&[]).as_deref(), Ok("A"));
    has_parts(lettered(&[0, 0]).texts(&[]), &["w.yaml:2:23", "ratio 0"], "0,0");
    has_parts(lettered(&[1, 99_999_999]).texts(&[]), &["w.yaml:3:23", "add up to 100000000"], "1,99999999");
    for (ratio, at) in [("-1", "w.yaml:1:27"), ("1.5.2", "w.yaml:1:27"), ("many", "w.yaml:1:27")] {
        let program = File::with(&format!("ops: {{a: {{stmt: A, ratio: {ratio}}}}}"));
        has_parts(program.texts(&[]), &[at, "`ratio` must be a number", ratio], ratio);
    }
    has_parts(lettered(&[1]).texts(&["seq=Bucket"]), &["bucket, interval, concat"], "seq");
}

#[test]
fn numbers_mean_what_they_say() {
    for (cycles, first, count) in [
        ("3", 0, 3),
        ("5..8", 5, 3),
        ("1k..1003", 1_000, 3),
        ("1.5k..+2", 1_500, 2),
        ("0.5k..+2", 500, 2),
        ("1K..+1", 1_000, 1),
        ("2 kilo..+1", 2_000, 1),
        ("1M..+1", 1_000_000, 1),
        ("1.5M..+1", 1_500_000, 1),
        ("1e6..+1", 1_000_000, 1),
        ("1E6..+1", 1_000_000, 1),
        ("1B..+1", 1_000_000_000, 1),
        ("1G..+1", 1_000_000_000, 1),
        ("1T..+1", 1_000_000_000_000, 1),
        ("1P..+1", 1_000_000_000_000_000, 1),
        ("1exa..+1", 1_000_000_000_000_000_000, 1),
        ("7U..+1", 7, 1),
        ("2^10..+1", 1024, 1),
        ("1Ki..+1", 1024, 1),
        ("2Mi..+1", 2 << 20, 1),
        ("7..7", 0, 0),
        ("0", 0, 0),
    ] {
        let program = File::with("ops: x");
        let shown = program.show(&["driver=stdout", &format!("cycles={cycles}")]);
        let shown = shown.unwrap_or_else(|error| panic!("{cycles}: {error}"));
        assert_eq!(shown.len(), count, "{cycles}");
        assert_eq!(
            shown.first().map_or(0, |line| line["cycle"].as_u64().expect("a number")),
            first,
            "{cycles}"
        );
    }
    for (cycles, part) in [
        ("10..5", "backwards"),
        ("..5", "first cycle is missing"),
        ("5..", "last cycle is missing"),
        ("5KB", "write `K`"),
        ("5x", "`x` in `5x` is not a unit"),
        ("1.9", "`1.9` is not a whole number"),
        ("-5", "`-5` is not a number"),
        ("many", "`many` is not a number"),
        ("10E", "too large"),
        ("MAX..+1", "too large"),
    ] {
        let program = File::with("ops: x");
        has_parts(program.texts(&[&format!("cycles={cycles}")]), &["cycles=", part], cycles);
    }
    for (parameter, part) in [
        ("stride=0", "at least 1"),
        ("recycles=x", "`x`"),
        ("threads=0", "no thread at all"),
        ("threads=many", "`many`"),
    ] {
        let program = File::with("ops: x");
        has_parts(program.texts(&[parameter]), &[parameter, part], parameter);
    }
}

/// What a run with one thread prints.
fn printed(program: &File, words: &[&str]) -> String {
    let words =
        [&["run", "workload=w.yaml", "driver=stdout", "threads=1", "--progress", "none"], words].concat();
    let ran = program.run(&words);
    assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    ran.stdout
}

#[test]
fn every_cycle_is_run_and_recycles_counts_whole_passes() {
    let program = lettered(&[2, 1]);
    for (words, expected) in [
        (&[][..], "ABA"),
        // The last stride may be short, also the only one.
        (&["cycles=7"], "ABAABAA"),
        (&["cycles=2"], "AB"),
        (&["cycles=5", "stride=4"], "ABAAB"),
        (&["cycles=1..3"], "BA"),
        (&["cycles=2", "recycles=3"], "ABABAB"),
        (&["recycles=2"], "ABAABA"),
        (&["stride=4"], "ABAA"),
        (&["cycles=0"], ""),
    ] {
        assert_eq!(printed(&program, words), expected, "{words:?}");
    }
    let program =
        File::with("bindings: {n: Identity()}\nops: {a: \"{n}\\n\", b: \"{n}\\n\", c: \"{n}\\n\"}\n");
    let many = printed(&program, &["cycles=50", "recycles=3"]);
    let ran = program.run(&[
        "run",
        "workload=w.yaml",
        "driver=stdout",
        "threads=7",
        "stride=4",
        "cycles=50",
        "recycles=3",
        "--progress",
        "none",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sorted = |text: &str| {
        let mut cycles: Vec<u64> = text.lines().map(|line| line.parse().expect("a cycle")).collect();
        cycles.sort_unstable();
        cycles
    };
    assert_eq!(sorted(&ran.stdout), sorted(&many));
    assert_eq!(sorted(&many), (0..50).flat_map(|cycle| [cycle; 3]).collect::<Vec<u64>>());
}

#[test]
fn a_dry_run_makes_every_op_and_sends_none() {
    let program = File::with("ops: {a: {stmt: A}, b: {stmt: B, dryrun: none}}\n");
    assert_eq!(printed(&program, &["dryrun=op", "cycles=4"]), "BB");
    let failing = File::with("ops: {a: {op: {erroroncycle: 1}}}\n");
    let run = |words: &[&str]| {
        failing.run(
            &[&["run", "workload=w.yaml", "driver=diag", "cycles=3", "--progress", "none"], words].concat(),
        )
    };
    assert_eq!(run(&[]).code, 1);
    let dry = run(&["dryrun=OP"]);
    assert!(dry.code == 0 && dry.stderr.contains("made and not sent"), "{}", dry.stderr);
    // What cannot be bound fails in a dry run too.
    let unbound = File::with("bindings: {n: Div(0)}\nops: '{n}'\n");
    let ran = unbound.run(&[
        "run",
        "workload=w.yaml",
        "driver=stdout",
        "cycles=1",
        "dryrun=op",
        "--progress",
        "none",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let emitted = File::with("ops: {a: {ping: 1}}\n");
    let ran = emitted.run(&["run", "workload=w.yaml", "cycles=2", "dryrun=emit", "--progress", "none"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "0\tblock0__a\t{\"ok\":{\"$numberDouble\":\"1.0\"}}\n1\tblock0__a\t{\"ok\":{\"$numberDouble\":\"1.0\"}}\n"
    );
    for other in ["jsonnet", "exprs", "maybe"] {
        has_parts(emitted.show(&[&format!("dryrun={other}")]), &[other, "none"], other);
    }
}
