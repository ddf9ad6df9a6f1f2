//! What is made of result files: comparisons, merged results, pages.

use crate::program::{self, Place};
use crate::{WORKLOAD, count, nanos, page_row, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value as Json;
use std::time::Duration;

#[test]
fn two_results_are_compared() {
    let place = Place::new();
    for (file, delay) in [("a.json", "op=delay=2ms"), ("b.json", "op=delay=20ms")] {
        let report = format!("--report-json-to={file}");
        place.run(&["run", delay, "driver=diag", "alias=main", "threads=2", "duration=6s", &report]).ok();
    }
    let ran = place.run(&["compare", "a.json", "b.json", "--html", "c.html"]);
    for row in ["ok ops/s", "service p50"] {
        let line = ran.ok().stdout.lines().find(|line| line.trim_start().starts_with(row));
        let line = line.unwrap_or_else(|| panic!("no {row} in {}", ran.stdout));
        // Which of both depends on how busy the machine is.
        let told = [" the noise between intervals", " too few intervals to tell from noise"];
        assert!(told.iter().any(|end| line.ends_with(end)), "{line}");
    }
    assert!(text(&place, "c.html").contains("<svg"));
    for (condition, code) in
        [("p50>+20%", 4), ("rate<-20%", 4), ("p50>19ms", 4), ("p50>10s", 0), ("rate<-99%", 0)]
    {
        let ran = place.run(&["compare", "a.json", "b.json", "--fail-if", condition]);
        assert_eq!(ran.code, code, "{condition}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains(&format!("--fail-if '{condition}' holds: main has ")), code == 4);
    }
    // The same figures, of intervals that differ among themselves as much as the runs do.
    for file in ["a.json", "b.json"] {
        let mut result: Json = serde_json::from_str(&text(&place, file)).expect("JSON");
        let points = result["activities"][0]["series"].as_array_mut().expect("points");
        for (point, at) in points.iter_mut().zip(0..) {
            point["service_us"]["p50"] = Json::from([2_000.0, 20_000.0][at % 2]);
        }
        place.file(&format!("noisy-{file}"), &result.to_string());
    }
    let noisy = ["compare", "noisy-a.json", "noisy-b.json", "--fail-if"];
    let ran = place.run(&[&noisy[..], &["p50>+20%"]].concat());
    let said = "--fail-if 'p50>+20%' does not hold: main has +";
    assert!(ran.ok().stderr.contains(said) && ran.stderr.contains("within the noise"), "{}", ran.stderr);
    // What is not of a change, and what intervals do not sample, is asked of the figures.
    for condition in ["p50>19ms", "p90>+20%", "mean>+20%"] {
        assert_eq!(place.run(&[&noisy[..], &[condition]].concat()).code, 4, "{condition}");
    }
    place
        .run(&["compare", "a.json", "b.json", "--fail-if", "nothing.p50>1s"])
        .refused(2, &["named `nothing`"]);
    place.run(&["run", "op=noop", "driver=diag", "--fail-if", "p50>+1%"]).refused(2, &["between two runs"]);
    place.run(&["compare", "a.json"]).refused(2, &["two result files"]);
    place.run(&["compare", "a.json", "none.json"]).refused(2, &["cannot read none.json"]);
    place.file("c.json", "{}");
    place.run(&["compare", "a.json", "c.json"]).refused(2, &["c.json", "no result of a run"]);
    place.run(&["compare", "a.json", "b.json", "--html=/dev/full"]).refused(2, &["cannot write /dev/full"]);
}

#[test]
fn parts_of_a_run_become_one() {
    let place = Place::new();
    place.file("w.yaml", WORKLOAD);
    std::fs::create_dir(place.path().join("parts")).expect("a folder");
    let children: Vec<_> = ["1", "2"]
        .map(|part| {
            let report = format!("--report-json-to=parts/{part}.json");
            place.start(&[
                "run",
                "workload=w.yaml",
                "driver=diag",
                "alias=x.y-z",
                "cycles=600",
                "cyclerate=300",
                "threads=20",
                "errors=counter",
                "--logs-dir=none",
                "--progress=none",
                &report,
            ])
        })
        .into_iter()
        .collect();
    for child in children {
        program::ended(child, Duration::from_secs(60)).ok();
    }
    let merge = ["merge", "parts", "--report-json-to=whole.json", "--report-html-to=whole.html"];
    assert_eq!(place.run(&merge).ok().stdout, "");
    let read = |file: &str| -> Json { serde_json::from_str(&text(&place, file)).expect("JSON") };
    let (whole, parts) = (read("whole.json"), [read("parts/1.json"), read("parts/2.json")]);
    let main = &whole["activities"][0];
    assert_eq!(whole["run"]["merged"].as_array().map(Vec::len), Some(2));
    assert_eq!((count(&main["threads"]), main["rate"]["target"].as_f64()), (40, Some(600.0)));
    let page = text(&place, "whole.html");
    for (at, op) in main["ops"].as_array().expect("ops").iter().enumerate() {
        let name = op["name"].as_str().expect("a name");
        let mut histogram: Histogram<u64> = Histogram::new(3).expect("3 digits");
        for part in &parts {
            let packed =
                part["activities"][0]["ops"][at]["histograms"]["service"].as_str().expect("a histogram");
            let bytes = STANDARD.decode(packed).expect("base 64");
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
            histogram.add(read).expect("it grows");
        }
        let of_parts = |field: &str| {
            parts.iter().map(|part| count(&part["activities"][0]["ops"][at][field])).sum::<u64>()
        };
        for field in ["ok", "attempted", "bytes_sent"] {
            assert_eq!(count(&op[field]), of_parts(field), "{name} {field}");
        }
        assert_eq!(count(&op["service_us"]["count"]), histogram.len());
        for (quantile, field) in [(0.5, "p50"), (0.99, "p99"), (0.9999, "p9999")] {
            assert_eq!(
                nanos(&op["service_us"], field),
                histogram.value_at_quantile(quantile),
                "{name} {field}"
            );
        }
        let series = main["series"].as_array().expect("points").iter().filter(|point| point["op"] == name);
        assert_eq!(series.map(|point| count(&point["ok"])).sum::<u64>(), count(&op["ok"]), "{name}");
        assert_eq!(
            page_row(&page, "Ops", name)[..2],
            [count(&op["ok"]) as f64, count(&op["attempted"]) as f64]
        );
    }
    // The page of a result that was read is that of the run that wrote it.
    place.run(&["report", "whole.json", "--report-html-to=again.html"]).ok();
    assert_eq!(text(&place, "again.html"), page);

    let to = "--report-json-to=x.json";
    place.run(&["merge", "parts/1.json", "parts/1.json", to]).refused(2, &["the same run"]);
    place.run(&["merge", "parts/1.json", "none.json", to]).refused(2, &["cannot read none.json"]);
    place.run(&["merge", "parts/1.json"]).refused(2, &["nothing to write"]);
    place.run(&["merge", to]).refused(2, &["needs result files"]);
    place.run(&["report", "whole.json"]).refused(2, &["nothing to write"]);
    place.run(&["report", "w.yaml", "--report-html-to=x.html"]).refused(2, &["no result of a run"]);
    assert!(!place.path().join("x.json").exists() && !place.path().join("x.html").exists());
}

#[test]
fn what_is_made_of_a_result_later_equals_what_the_run_made() {
    let place = Place::new();
    place.file("w.yaml", WORKLOAD);
    let rated =
        "run workload=w.yaml driver=diag cycles=2200 cyclerate=1000 threads=9 errors=counter warmup=500ms";
    let stopped = "run op=fail=Busy driver=diag cycles=5";
    let timed = "ycsb run mongodb --data-dir=d -p recordcount=50 -p operationcount=200 -p measurementtype=timeseries \
                 -p timeseries.granularity=1000 -p readmodifywriteproportion=0.5";
    let counted = "ycsb load mongodb --data-dir=d -p recordcount=50 -p measurementtype=histogram -p histogram.buckets=20 \
                   -p measurement.histogram.verbose=true";
    for (run, code) in [(counted, 0), (timed, 0), (rated, 0), (stopped, 1)] {
        let made = |file: &str| {
            [("html", "html"), ("ycsb", "txt"), ("json", "json")]
                .map(|(form, end)| format!("--report-{form}-to={file}.{end}"))
                .into_iter()
                .chain([format!("--report-summary-to={file}.summary")])
                .collect::<Vec<_>>()
        };
        let with = |words: &str, made: &[String]| {
            let words: Vec<&str> = words.split(' ').chain(made.iter().map(String::as_str)).collect();
            place.run(&words)
        };
        let ran = with(run, &made("now"));
        assert_eq!(ran.code, code, "{run}: {}", ran.stderr);
        with("report now.json", &made("later")).ok();
        for end in ["json", "html", "txt", "summary"] {
            let [now, later] = ["now", "later"].map(|file| text(&place, &format!("{file}.{end}")));
            // Not `assert_eq`, whose message would be two pages long.
            let differs = now.lines().zip(later.lines()).find(|(a, b)| a != b);
            assert!(now == later, "{run}: .{end}: {differs:?}");
        }
    }
    let of_last = place.run(&["report", "now.json", "--report-summary-to=stdout"]);
    assert_eq!(of_last.ok().stdout, text(&place, "now.summary"));
    for (option, part) in [
        ("--report-csv-to=csv", "has no meaning for report"),
        ("--log-histograms=h.hlog", "has no meaning for report"),
        ("--report-summary-to=_LOGS_/s", "no session"),
        ("--report-summary-to=stdout,stdout", "only one report"),
    ] {
        place.run(&["report", "now.json", option]).refused(2, &[part]);
    }
}
