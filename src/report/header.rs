//! The lines before a step starts: what will be run, how fast, against what, and how much it will write.

use super::{Header, HeaderOp, Target, wording};
use crate::redact;
use crate::units::Rate;

/// Lines are wrapped here.
const WIDTH: usize = 100;
/// Wide enough for the labels.
const INDENT: usize = 12;
/// Ops beyond these are counted, not named.
const OPS_SHOWN: usize = 10;

/// The header as whole lines. `previous` is the target of the step before: what has been said of it is not
/// said again.
pub fn text(header: &Header, previous: Option<&Target>) -> String {
    let mut lines = vec![title(header)];
    if previous != Some(&header.target) {
        target(&header.target, &mut lines);
    }
    entry(
        "cycles",
        &[cycles(header), wording::counted(header.threads as u64, "thread"), rate(header)],
        &mut lines,
    );
    ops(&header.ops, &mut lines);
    if let Some(bytes) = header.bytes_to_write {
        entry("to write", &[format!("about {}", wording::bytes(bytes as f64))], &mut lines);
    }
    for note in &header.notes {
        entry("note", &[redact::passwords(&wording::line(note, 1000))], &mut lines);
    }
    lines.push(String::new());
    lines.join("\n")
}

fn title(header: &Header) -> String {
    let mut title = wording::name(&header.workload);
    for (label, value) in [("scenario", &header.scenario), ("step", &header.step)] {
        if let Some(value) = value {
            title += &format!(", {label} {}", wording::name(value));
        }
    }
    if header.step.as_deref() != Some(&header.alias) {
        title += &format!(", alias {}", wording::name(&header.alias));
    }
    title
}

fn target(target: &Target, lines: &mut Vec<String>) {
    let mut parts = Vec::new();
    parts.push(if target.embedded {
        "the embedded server of nbrs".to_owned()
    } else {
        wording::name(&target.kind)
    });
    match (&target.version, &target.uri) {
        (Some(version), _) => parts.push(format!("version {}", wording::name(version))),
        (None, Some(_)) => parts.push("version unknown".to_owned()),
        (None, None) => {}
    }
    match (&target.topology, &target.uri) {
        (Some(topology), _) if !target.embedded => parts.push(wording::name(topology)),
        (None, Some(_)) if !target.embedded => parts.push("topology unknown".to_owned()),
        _ => {}
    }
    if let Some(uri) = &target.uri {
        parts.push(redact::passwords(uri));
    }
    entry("target", &parts, lines);
    if target.embedded {
        entry(
            "",
            &["its figures are not MongoDB's: give connection=mongodb://… to measure yours".to_owned()],
            lines,
        );
    }
    let settings: Vec<String> =
        target.settings.iter().map(|(name, value)| redact::passwords(&format!("{name} {value}"))).collect();
    if !settings.is_empty() {
        entry("settings", &settings, lines);
    }
}

fn cycles(header: &Header) -> String {
    let once = header.cycles.end.saturating_sub(header.cycles.start);
    let time = header.duration.map(wording::elapsed);
    if let (true, Some(time)) = (header.unbounded, &time) {
        return format!("as many as there are in {time}");
    }
    let mut text = wording::count(once);
    if header.cycles.start > 0 {
        text += &format!(" ({} to {})", header.cycles.start, header.cycles.end.saturating_sub(1));
    }
    if header.recycles > 1 {
        text += &format!(" × {} passes", wording::count(header.recycles));
    }
    if header.stride > 1 {
        text += &format!(" in strides of {}", wording::count(header.stride));
    }
    if let Some(time) = time {
        text += &format!(" or {time}, whichever ends first");
    }
    text
}

fn rate(header: &Header) -> String {
    let said = |rate: &Rate, what: &str| {
        let each = if rate.each_thread { " for each thread" } else { "" };
        format!(
            "{}{what}{each}, late ones caught up at no more than {}",
            wording::per_second(rate.per_second),
            wording::per_second(rate.per_second * rate.burst)
        )
    };
    match (&header.rate, &header.stride_rate) {
        (None, None) => "as fast as they go".to_owned(),
        (Some(rate), None) => said(rate, ""),
        (None, Some(strides)) => said(strides, " strides"),
        (Some(rate), Some(strides)) => format!("{}; {}", said(rate, ""), said(strides, " strides")),
    }
}

fn ops(ops: &[HeaderOp], lines: &mut Vec<String>) {
    let turn: u64 = ops.iter().map(|op| op.ratio).sum();
    let shown = &ops[..ops.len().min(OPS_SHOWN)];
    let names: Vec<String> = shown.iter().map(|op| wording::name(&op.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for (i, (op, name)) in shown.iter().zip(&names).enumerate() {
        let mut parts = Vec::new();
        if ops.len() > 1 {
            parts.push(format!("{} of {}", wording::count(op.ratio), wording::count(turn)));
        }
        if let Some(bytes) = op.mean_bytes.filter(|bytes| bytes.is_finite()) {
            parts.push(format!("{} each", wording::bytes(bytes)));
        }
        let pad = width - name.chars().count();
        let line = format!("{name}{:pad$}  {}", "", parts.join(", "));
        let label = match (i, ops.len()) {
            (0, 1) => "op",
            (0, _) => "ops",
            _ => "",
        };
        lines.push(labelled(label, line.trim_end()));
    }
    if ops.len() > shown.len() {
        lines.push(labelled("", &format!("and {} more", wording::count((ops.len() - shown.len()) as u64))));
    }
}

/// Adds `label` and `parts`, comma between them, wrapped between parts.
fn entry(label: &str, parts: &[String], lines: &mut Vec<String>) {
    let mut line = String::new();
    let mut label = label;
    for part in parts {
        let long = line.chars().count() + 2 + part.chars().count() > WIDTH - INDENT;
        if !line.is_empty() && long {
            line.push(',');
            lines.push(labelled(label, &line));
            label = "";
            line.clear();
        }
        if !line.is_empty() {
            line += ", ";
        }
        line += part;
    }
    lines.push(labelled(label, &line));
}

fn labelled(label: &str, text: &str) -> String {
    format!("{:<INDENT$}{text}", format!("  {label}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            workload: "mongodb-keyvalue2".to_owned(),
            scenario: Some("default".to_owned()),
            step: Some("main".to_owned()),
            alias: "main".to_owned(),
            ops: vec![
                HeaderOp { name: "main-read__main-find".to_owned(), ratio: 5, mean_bytes: Some(120.0) },
                HeaderOp {
                    name: "main-write__main-insert".to_owned(),
                    ratio: 5,
                    mean_bytes: Some(100_133.4),
                },
            ],
            cycles: 0..10_000_000,
            recycles: 1,
            stride: 10,
            threads: 25,
            rate: Some(Rate::new(2500.0, 1.1)),
            stride_rate: None,
            duration: None,
            unbounded: false,
            target: Target {
                kind: "mongodb".to_owned(),
                version: Some("8.0.4".to_owned()),
                topology: Some("replica set rs0".to_owned()),
                uri: Some("mongodb://app:s3cr@db1:27017/perf-test".to_owned()),
                settings: [
                    ("database", "perf-test"),
                    ("writeConcern", "w:1"),
                    ("readPreference", "primary"),
                    ("retryReads", "off"),
                    ("retryWrites", "off"),
                    ("pool", "25"),
                ]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
                embedded: false,
            },
            bytes_to_write: Some(500_667_000_000),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_header_says_what_how_fast_and_against_what() {
        let expected = "\
mongodb-keyvalue2, scenario default, step main
  target    mongodb, version 8.0.4, replica set rs0, mongodb://app:***@db1:27017/perf-test
  settings  database perf-test, writeConcern w:1, readPreference primary, retryReads off,
            retryWrites off, pool 25
  cycles    10,000,000 in strides of 10, 25 threads,
            2,500/s, late ones caught up at no more than 2,750/s
  ops       main-read__main-find     5 of 10, 120 B each
            main-write__main-insert  5 of 10, 100 KB each
  to write  about 501 GB
";
        assert_eq!(text(&header(), None), expected);
    }

    #[test]
    fn the_next_step_on_the_same_target_does_not_repeat_it() {
        let header = header();
        let text = text(&header, Some(&header.target));
        assert!(!text.contains("target") && text.contains("cycles"), "{text}");
    }

    #[test]
    fn the_embedded_server_is_named_and_its_figures_disowned() {
        let mut header = header();
        header.scenario = None;
        header.step = None;
        header.alias = "rampup".to_owned();
        header.ops = vec![HeaderOp { name: "rampup__insert".to_owned(), ratio: 1, mean_bytes: Some(133.0) }];
        header.cycles = 0..50_000;
        header.stride = 1;
        header.threads = 1;
        header.rate = None;
        header.bytes_to_write = Some(6_650_000);
        header.notes = vec!["cycles=50k comes from\nthe command line".to_owned()];
        header.target = Target {
            kind: "embedded".to_owned(),
            version: Some("0.1.0".to_owned()),
            topology: Some("standalone".to_owned()),
            uri: Some("mongodb://127.0.0.1:41233".to_owned()),
            settings: Vec::new(),
            embedded: true,
        };
        let expected = "\
mongodb-keyvalue2, alias rampup
  target    the embedded server of nbrs, version 0.1.0, mongodb://127.0.0.1:41233
            its figures are not MongoDB's: give connection=mongodb://… to measure yours
  cycles    50,000, 1 thread, as fast as they go
  op        rampup__insert  133 B each
  to write  about 6.7 MB
  note      cycles=50k comes from the command line
";
        assert_eq!(text(&header, None), expected);
    }

    #[test]
    fn what_the_target_does_not_tell_is_unknown() {
        let mut header = header();
        header.target =
            Target { kind: "mongodb".to_owned(), uri: Some("mongodb://h".to_owned()), ..Target::default() };
        assert!(
            text(&header, None)
                .contains("  target    mongodb, version unknown, topology unknown, mongodb://h\n")
        );
        header.target = Target { kind: "diag".to_owned(), ..Target::default() };
        assert!(text(&header, None).contains("  target    diag\n"));
    }

    #[test]
    fn parts_of_the_cycles_are_shown_where_they_are_not_plain() {
        let mut header = header();
        header.cycles = 1_000..2_000;
        header.recycles = 3;
        header.stride = 1;
        assert_eq!(cycles(&header), "1,000 (1000 to 1999) × 3 passes");
    }

    #[test]
    fn many_ops_are_counted_and_odd_names_stay_in_their_line() {
        let mut header = header();
        header.ops = (0..50)
            .map(|i| HeaderOp { name: format!("b__\"op\"\n{i}"), ratio: 1, mean_bytes: Some(f64::NAN) })
            .collect();
        let text = text(&header, None);
        assert!(text.contains("  ops       b__\"op\"\\n0  1 of 50\n"), "{text}");
        assert!(text.contains("            and 40 more\n"), "{text}");
    }
}
