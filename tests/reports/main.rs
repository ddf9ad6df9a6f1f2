//! The reports of a run, as their readers meet them: they agree with each other, whatever failed on the way.

mod live;
mod metrics;
#[path = "../program/mod.rs"]
mod program;
mod results;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use program::{Place, Ran, json_lines};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

/// Three ops, of which one fails every second time and one has a name that no format likes.
const WORKLOAD: &str = "blocks:\n  b:\n    ops:\n      quick: {delay: 1ms}\n      half: {delay: 2ms, fail: fail=Busy every=2}\n      \
                        ключи-🗝: {delay: 3ms}\n";

/// A run of 3 s with every report that there is.
fn reported() -> (Place, Ran, Json) {
    let place = Place::new();
    place.file("w.yaml", WORKLOAD);
    let (ran, result) = place.result(&[
        "run",
        "workload=w.yaml",
        "driver=diag",
        "alias=x.y-z",
        "cycles=3000",
        "cyclerate=1000",
        "threads=50",
        "errors=counter",
        "--log-histograms",
        "times.hlog:.*:1s",
        "--log-histostats",
        "stats.csv:.*:1s",
        "--report-csv-to",
        "csv",
        "--report-interval",
        "1",
        "--report-ycsb-to",
        "ycsb.txt",
        "--report-html-to",
        "report.html",
        "--report-summary-to",
        "_LOGS_/_SESSION_.summary",
        "--session-name",
        "S",
        "--progress",
        "none",
    ]);
    ran.ok();
    (place, ran, result)
}

fn text(place: &Place, file: &str) -> String {
    fs::read_to_string(place.path().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The fields of an interval log's lines, without comments and legend.
fn log_lines(text: &str) -> Vec<Vec<&str>> {
    text.lines().filter(|line| line.starts_with("Tag=")).map(|line| line.split(',').collect()).collect()
}

/// Nanoseconds of a time of the result file.
fn nanos(times: &Json, name: &str) -> u64 {
    (times[name].as_f64().unwrap_or_else(|| panic!("no {name} in {times}")) * 1e3).round() as u64
}

fn count(json: &Json) -> u64 {
    json.as_u64().unwrap_or_else(|| panic!("{json} is no count"))
}

#[test]
fn all_reports_of_a_run_agree() {
    let (place, ran, result) = reported();
    let activity = &result["activities"][0];
    let ops = activity["ops"].as_array().expect("ops");
    assert_eq!(ops.iter().map(|op| count(&op["attempted"])).sum::<u64>(), 3000);

    // The log of histograms: the same times, op by op, in intervals that follow each other without a gap.
    let log = text(&place, "times.hlog");
    let mut totals: BTreeMap<&str, Histogram<u64>> = BTreeMap::new();
    let mut spans: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for line in log_lines(&log) {
        let bytes = STANDARD.decode(line[4]).expect("base 64");
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
        let seconds = |at: usize| line[at].parse::<f64>().expect("seconds");
        spans.entry(line[0]).or_default().push((seconds(1), seconds(2)));
        totals
            .entry(line[0])
            .or_insert_with(|| Histogram::new(3).expect("3 digits"))
            .add(histogram)
            .expect("it grows");
    }
    for op in ops {
        let name = op["name"].as_str().expect("a name");
        for (clock, times) in
            [("service", "service_us"), ("response", "response_us"), ("failed", "failed_us")]
        {
            let Some(times) = op.get(times) else { continue };
            let total = &totals[format!("Tag=x.y-z.{name}.{clock}").as_str()];
            assert_eq!(total.len(), count(&times["count"]), "{name} {clock}");
            for (quantile, field) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p999")] {
                assert_eq!(total.value_at_quantile(quantile), nanos(times, field), "{name} {clock} {field}");
            }
            assert_eq!(total.max(), nanos(times, "max"), "{name} {clock}");
        }
    }
    let whole = "Tag=x.y-z.cycles_servicetime";
    assert_eq!(totals[whole].len(), 3000);
    let spans = &spans[whole];
    assert!(spans[0].0 < 1.0, "starts count from the start of the run: {spans:?}");
    for pair in spans.windows(2) {
        assert!((pair[0].0 + pair[0].1 - pair[1].0).abs() < 0.003, "a gap: {spans:?}");
    }
    let length: f64 = spans.iter().map(|(_, length)| length).sum();
    let elapsed = activity["elapsed_s"].as_f64().expect("seconds");
    assert!((length - elapsed).abs() < 0.5, "{length} of {elapsed} s");

    // Its quantiles as a table.
    let stats = text(&place, "stats.csv");
    let stats = log_lines(&stats);
    assert!(stats.iter().all(|line| line.len() == 15), "{stats:?}");
    let of_whole = stats.iter().filter(|line| line[0] == whole);
    assert_eq!(of_whole.map(|line| line[3].parse::<u64>().expect("a count")).sum::<u64>(), 3000);

    // CSV: the last row of each file has the totals.
    let last = |file: &str| -> u64 {
        let text = text(&place, &format!("csv/{file}.csv"));
        let last = text.lines().last().expect("rows").to_owned();
        last.split(',').nth(1).expect("a count").parse().expect("a count")
    };
    let ok: u64 = ops.iter().map(|op| count(&op["ok"])).sum();
    assert_eq!(last("x.y-z.result_success"), ok);
    assert_eq!(last("x.y-z.result_failed"), 500);
    assert_eq!(last("x.y-z.errors_ALL"), 500);
    assert_eq!(last("x.y-z.b__half.errors_Busy"), 500);
    assert_eq!(last("x.y-z.b__ключи-🗝.service"), 1000);

    // YCSB's text.
    let ycsb = text(&place, "ycsb.txt");
    let line = |section: &str, name: &str| -> f64 {
        let start = format!("[{section}], {name}, ");
        let line = ycsb.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("no `{start}` in\n{ycsb}")).parse().expect("a number")
    };
    for op in ops {
        let name = op["name"].as_str().expect("a name");
        assert_eq!(line(name, "Operations"), count(&op["ok"]) as f64);
        assert_eq!(line(name, "Return=OK"), count(&op["ok"]) as f64);
        let micros = |field: &str| (nanos(&op["service_us"], field) / 1000) as f64;
        assert_eq!(line(name, "99thPercentileLatency(us)"), micros("p99"));
        assert_eq!(line(name, "MaxLatency(us)"), micros("max"));
        assert_eq!(line(&format!("Intended-{name}"), "Operations"), count(&op["ok"]) as f64);
    }
    assert_eq!(line("b__half-FAILED", "Operations"), 500.0);
    assert_eq!(line("b__half", "Return=ERROR"), 500.0);

    // The page.
    let page = text(&place, "report.html");
    for op in ops {
        let name = op["name"].as_str().expect("a name");
        let failed = count(&op["attempted"]) - count(&op["ok"]);
        let counts = [count(&op["ok"]), count(&op["attempted"]), failed].map(|n| n as f64);
        assert_eq!(page_row(&page, "Ops", name)[..3], counts, "{name}");
        let times = page_row(&page, "Times", name);
        for (column, field) in [(2, "p50"), (5, "p99"), (8, "max")] {
            assert_eq!(times[column], nanos(&op["service_us"], field) as f64, "{name} {field}");
        }
    }

    // The summary, on standard output and in its file, and where all of it is.
    assert_eq!(text(&place, "logs/S.summary").replace("\n\n", "\n"), ran.stdout.replace("\n\n", "\n"));
    assert!(ran.stdout.contains("2,500 of 3,000 ops ended well"), "{}", ran.stdout);
    let log = text(&place, "logs/S.log");
    assert!(
        log.contains("2,500 of 3,000 ops ended well") && log.contains("nbrs run workload=w.yaml"),
        "{log}"
    );
    let written = ran.stderr.lines().last().expect("a last line");
    for file in [
        "result.json",
        "report.html",
        "ycsb.txt",
        "times.hlog",
        "stats.csv",
        "csv",
        "logs/S.summary",
        "logs/S.log",
    ] {
        assert!(written.contains(file), "no {file} in `{written}`");
    }
    let parts = fs::read_dir(place.path())
        .expect("readable")
        .filter(|entry| entry.as_ref().expect("readable").file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(parts.count(), 0, "something was left under its first name");
}

/// What a program that reads an interval log says of each tag.
fn read_by(command: &mut Command) -> Vec<Json> {
    let ran = Ran::of(command);
    json_lines(&ran.ok().stdout)
}

#[test]
fn readers_of_other_languages_find_the_same_times() {
    let (python, jar) = (std::env::var_os("NBRS_TEST_PYTHON"), std::env::var_os("NBRS_TEST_HDR_JAR"));
    let (Some(python), Some(jar)) = (python, jar) else {
        println!("skipped: NBRS_TEST_PYTHON or NBRS_TEST_HDR_JAR is not set");
        return;
    };
    let (place, _, result) = reported();
    let readers = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers");
    let log = place.path().join("times.hlog");
    for mut command in [Command::new(python), Command::new("java")] {
        if command.get_program() == "java" {
            command.arg("-Dfile.encoding=UTF-8").arg("-Dstdout.encoding=UTF-8").arg("-cp").arg(&jar);
            command.arg(format!("{readers}/HdrLog.java"));
        } else {
            command.arg(format!("{readers}/hdr.py")).env("PYTHONUTF8", "1");
        }
        let read = read_by(command.arg(&log));
        let of = |tag: &str| {
            read.iter().find(|line| line["tag"] == tag).unwrap_or_else(|| panic!("no {tag} in {read:?}"))
        };
        let activity = &result["activities"][0];
        for op in activity["ops"].as_array().expect("ops") {
            let name = op["name"].as_str().expect("a name");
            for (clock, times) in
                [("service", "service_us"), ("response", "response_us"), ("failed", "failed_us")]
            {
                let Some(times) = op.get(times) else { continue };
                // The Java library takes no tag outside of ASCII apart, but reads it.
                let line = of(&format!("x.y-z.{name}.{clock}"));
                assert_eq!(count(&line["count"]), count(&times["count"]), "{line}");
                for field in ["p50", "p99", "max"] {
                    assert_eq!(count(&line[field]), nanos(times, field), "{field} of {line}");
                }
            }
        }
        let whole = of("x.y-z.cycles_servicetime");
        assert_eq!(count(&whole["count"]), 3000);
        let (seconds, elapsed) = (whole["seconds"].as_f64(), activity["elapsed_s"].as_f64());
        let difference = seconds.expect("seconds") - elapsed.expect("seconds");
        assert!(difference.abs() < 0.5, "{difference} s between {whole} and the result");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    // Where even the head does not fit, nothing is run.
    for (option, runs) in [
        ("--log-histograms=/dev/full:.*:1s", false),
        ("--log-histostats=/dev/full", false),
        ("--report-ycsb-to=/dev/full", true),
        ("--report-json-to=/dev/full", true),
        ("--report-html-to=/dev/full", true),
    ] {
        let ran = place.run(&["run", "op=noop", "driver=diag", "cycles=5", option]);
        ran.refused(2, &["error: cannot write /dev/full: "]);
        assert_eq!(ran.stderr.matches("cannot write").count(), 1, "{}", ran.stderr);
        assert_eq!(ran.stdout.contains("5 of 5"), runs, "{option}: {}", ran.stdout);
    }
}

#[test]
fn what_cannot_work_is_said_before_anything_runs() {
    let place = Place::new();
    place.file("f", "");
    for (option, part) in [
        ("--log-histograms=no/such/h.hlog", "no/such is not a folder"),
        ("--log-histograms=h.hlog:(", "is no regular expression"),
        ("--log-histostats=h.csv:.*:soon", "soon"),
        ("--report-csv-to=f", "is not a folder"),
        ("--report-interval=5", "goes with `--report-csv-to`"),
        ("--metrics-listen=nowhere", "cannot listen on `nowhere`"),
        ("--report-prompush-to=ftp://u:s3cret@h/", "http://HOST[:PORT]/PATH"),
        ("--report-summary-to=f/x", "is not a folder"),
        ("--session-name=a/b", "is not the name of a file"),
        ("--logs-dir=f/logs", "cannot write f/logs"),
    ] {
        let ran = place.run(&["run", "op=noop", "driver=diag", option]);
        ran.refused(2, &[part]);
        assert_eq!(ran.stdout, "", "{option}");
    }
    let ran = place.run(&["run", "op=noop", "driver=diag", "--report-ycsb-to=-", "--report-json-to=-"]);
    ran.refused(2, &["only one report can go to standard output"]);
    for options in [
        ["--report-json-to=r", "--report-html-to=./r"],
        ["--report-json-to=r", "--log-histograms=r"],
        ["--log-histostats=r", "--log-histograms=r"],
        ["--report-ycsb-to=r", "--report-summary-to=r"],
        ["--report-csv-to=r", "--report-json-to=r"],
    ] {
        let ran = place.run(&[&["run", "op=noop", "driver=diag"][..], &options].concat());
        ran.refused(2, &["two reports would be written to "]);
        assert_eq!(ran.stdout, "", "{options:?}");
    }
    let ran = place.run(&["run", "workload=nowhere.yaml", "--log-histograms=h.hlog"]);
    ran.refused(2, &["nowhere.yaml"]);
    let left: Vec<_> =
        fs::read_dir(place.path()).expect("readable").flatten().map(|e| e.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("h.hlog")), "{left:?}");
}

#[test]
fn a_summary_for_long_runs_only_is_not_printed_after_a_short_one() {
    let place = Place::new();
    let run = ["run", "op=noop", "driver=diag", "cycles=1", "--report-summary-to"];
    let with = |to: &str| place.run(&[&run[..], &[to]].concat());
    assert_eq!(with("stdout:60").ok().stdout, "");
    assert!(with("stdout").ok().stdout.contains("1 of 1"));
    let to_stderr = with("stderr");
    assert_eq!(to_stderr.ok().stdout, "");
    assert!(to_stderr.stderr.contains("1 of 1"));
    assert!(with("s.txt").ok().stdout.contains("1 of 1"), "a file does not take it off standard output");
    assert!(text(&place, "s.txt").contains("1 of 1"));
}

#[test]
fn each_run_leaves_a_log_unless_told_otherwise() {
    let place = Place::new();
    place.run(&["run", "op=noop", "driver=diag", "cycles=1", "--logs-dir=none"]).ok();
    assert!(!place.path().join("logs").exists());
    let ran =
        place.run(&["run", "op=fail=Busy", "driver=diag", "cycles=9", "connection=mongodb://u:s3cret@h/"]);
    assert_ne!(ran.code, 0);
    let ran = place.run(&["run", "op=fail=Busy", "driver=diag", "cycles=9", "errors=counter"]);
    assert_eq!(ran.code, 1);
    for entry in fs::read_dir(place.path().join("logs")).expect("a folder").flatten() {
        let log = fs::read_to_string(entry.path()).expect("readable");
        assert!(!log.contains("s3cret"), "{log}");
        assert!(log.lines().count() > 1, "{log}");
    }
}

#[test]
fn status_lines_of_ycsb_go_to_stderr() {
    let place = Place::new();
    let ran = place.run(&["run", "op=delay=100ms", "driver=diag", "cycles=15", "--progress=ycsb:1s"]);
    let status: Vec<&str> = ran.ok().stderr.lines().filter(|line| line.contains(" sec: ")).collect();
    assert!(status.len() >= 2, "{}", ran.stderr);
    assert!(status[0].contains(" 0 sec: 0 operations; est completion in 0 second"), "{status:?}");
    let last = status.last().expect("a line");
    assert!(last.contains(" sec: 15 operations; ") && last.contains(": Count="), "{status:?}");
    assert!(!ran.stdout.contains(" sec: "), "{}", ran.stdout);
}

/// The first number that a page holds for programs in each cell of the row of an op in a table.
fn page_row(page: &str, table: &str, op: &str) -> Vec<f64> {
    let table =
        page.split(&format!("<caption>{table}</caption>")).nth(1).unwrap_or_else(|| panic!("no {table}"));
    let table = table.split("</table>").next().expect("it ends");
    let row = table.split("<tr>").find(|row| row.contains(&format!("<td>{op}</td>")));
    let row = row.unwrap_or_else(|| panic!("no {op} in {table}"));
    row.split("<data value=\"")
        .skip(1)
        .map(|cell| cell.split('"').next().expect("a value").parse().expect("a number"))
        .collect()
}

/// What a page becomes in headless Chromium, and what was said on its console.
fn in_chromium(chromium: &std::ffi::OsStr, page: &std::path::Path, width: u32) -> (String, String) {
    let profile = tempfile::tempdir().expect("a folder");
    let ran = Ran::of(
        Command::new(chromium)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--enable-logging=stderr",
                "--dump-dom",
            ])
            .arg(format!("--window-size={width},900"))
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("file://{}", page.display())),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    (ran.stdout, ran.stderr)
}

#[test]
fn the_page_of_a_run_is_whole_in_a_browser() {
    let (place, ..) = reported();
    let page = text(&place, "report.html");
    assert!(page.ends_with("</html>\n") && !page.contains("<script"), "{page}");
    let Some(chromium) = std::env::var_os("NBRS_TEST_CHROMIUM") else {
        println!("skipped: NBRS_TEST_CHROMIUM is not set");
        return;
    };
    for width in [1_200, 390] {
        let (dom, console) = in_chromium(&chromium, &place.path().join("report.html"), width);
        let errors: Vec<&str> = console.lines().filter(|line| line.contains(":CONSOLE")).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let charts: Vec<&str> = dom.split("<svg").skip(1).collect();
        // Throughput and errors; of each op, service and response time, and their distribution.
        assert_eq!(charts.len(), 2 * (2 + 3 * 3), "{}", dom.len());
        for chart in charts {
            let chart = chart.split("</svg>").next().expect("it ends");
            assert!(chart.contains("<polyline") && chart.matches("<text").count() > 5, "{chart}");
        }
        assert!(dom.contains("<h3>b__ключи-🗝</h3>"), "an op is missing");
    }
}

#[test]
fn a_run_that_is_cut_off_early_has_reports_of_what_it_did() {
    let place = Place::new();
    let child = place.start(&[
        "run",
        "op=delay=5ms",
        "driver=diag",
        "cycles=1000000",
        "cyclerate=200",
        "threads=4",
        "--report-json-to=r.json",
        "--report-html-to=r.html",
        "--report-csv-to=csv",
        "--report-interval=1",
    ]);
    // The second row of a file comes with the second interval.
    let csv = place.path().join("csv");
    program::until(|| {
        let rows = fs::read_dir(&csv)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path()).ok());
        rows.map(|text| text.lines().count()).max() >= Some(3)
    });
    program::signal(&child, rustix::process::Signal::INT);
    let ran = program::ended(child, Duration::from_secs(30));
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let result: Json = serde_json::from_str(&text(&place, "r.json")).expect("JSON");
    let series = result["activities"][0]["series"].as_array().expect("points");
    assert!(series.len() >= 2, "{series:?}");
    // No interval stands out: a counter that begins again, or one that is divided by a length not its own, would.
    let mut before = 0.0;
    for point in series {
        let t = point["t"].as_f64().expect("seconds");
        let rate = count(&point["ok"]) as f64 / (t - before);
        assert!(t > before && rate < 400.0, "{rate}/s until {t} s in {series:?}");
        before = t;
    }
    let page = text(&place, "r.html");
    assert!(page.contains("interrupted") && page.matches("<polyline").count() >= 6, "{}", page.len());
}

#[test]
fn a_reader_that_is_slow_gets_all_of_a_page_and_one_that_goes_away_is_told_of() {
    let place = Place::new();
    let run =
        format!("'{}' run op=noop driver=diag cycles=50 --report-html-to=-", env!("CARGO_BIN_EXE_nbrs"));
    let slow = Ran::of(&mut place.shell(&format!("{run} | (sleep 1; cat)")));
    assert!(
        slow.stdout.starts_with("<!doctype html>") && slow.stdout.ends_with("</html>\n"),
        "{}",
        slow.stdout
    );
    let gone = Ran::of(&mut place.shell(&format!("({run}; echo \"code $?\" >&2) | true")));
    assert!(gone.stderr.contains("cannot write to standard output"), "{}", gone.stderr);
    assert!(gone.stderr.contains("code 2"), "{}", gone.stderr);
}

#[test]
fn a_summary_is_printed_once_whatever_else_is_asked_for() {
    let place = Place::new();
    for progress in ["bar", "console:1s", "ycsb:1s", "none"] {
        for others in [
            &[][..],
            &["--report-json-to=r.json"],
            &["--report-html-to=r.html", "--report-ycsb-to=y.txt", "--report-csv-to=csv"],
            &["--log-histograms=h.hlog", "--logs-dir=none"],
        ] {
            let run = ["run", "op=noop", "driver=diag", "cycles=20", "--progress", progress];
            let ran = place.run(&[&run[..], others].concat());
            let stdout = &ran.ok().stdout;
            assert_eq!(stdout.matches("20 of 20 cycles").count(), 1, "{progress} {others:?}: {stdout}");
            assert_eq!(stdout.matches("done in ").count(), 1, "{progress} {others:?}: {stdout}");
            assert!(!stdout.contains("(pending,current,complete)"), "{stdout}");
            assert!(!ran.stderr.contains("done in "), "{}", ran.stderr);
        }
        let to_stdout = place.run(&[
            "run",
            "op=noop",
            "driver=diag",
            "cycles=20",
            "--progress",
            progress,
            "--report-json-to=-",
        ]);
        assert_eq!(to_stdout.ok().stdout.lines().count(), 1, "JSON is alone on standard output");
        assert_eq!(to_stdout.stderr.matches("20 of 20 cycles").count(), 1, "{}", to_stdout.stderr);
    }
}
