//! A run, or two of them compared, as one page that needs nothing but itself: no script, no font, no network.
//! Readable on a screen, on that of a phone, in the dark and on paper.

mod axis;
mod chart;
mod comparison;
mod figures;

pub use comparison::write as write_comparison;

use super::figures::{Figures, OpFigures, Times};
use super::{Activity, Destination, Merged, ReportError, Run, Status, summary, wording};
use crate::redact;
use std::borrow::Cow;
use std::time::SystemTime;

/// Writes the page of `run`, whole or not at all.
pub fn write(run: &Run, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| out.write_all(page(run).as_bytes()))
}

/// Ops of an activity that have charts of their own; the others are in the tables.
const OPS_DRAWN: usize = 12;

/// A text as it may stand in a page, between tags and in a quoted attribute.
fn escaped(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'') || (wording::is_unseen(c) && c != '\n');
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c if special(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// What stands around a page's content.
fn around(title: &str, content: &str) -> String {
    const STYLE: &str = include_str!("style.css");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"generator\" content=\"nbrs {}\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{content}</main>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(title),
    )
}

/// A number that programs read too.
fn data(value: impl std::fmt::Display, shown: &str) -> String {
    format!("<data value=\"{value}\">{}</data>", escaped(shown))
}

fn page(run: &Run) -> String {
    let title = match run.activities.as_slice() {
        [] => "nbrs".to_owned(),
        [first, ..] => match &first.scenario {
            Some(scenario) => format!("{}, {scenario}", first.workload),
            None => first.workload.clone(),
        },
    };
    let mut out = format!("<header>\n<h1>{}</h1>\n<p>{}</p>\n", escaped(&title), standing(run));
    for condition in &run.fail_if {
        out += &format!("<p class=\"note\">--fail-if {} holds</p>\n", escaped(condition));
    }
    if run.target.as_ref().is_some_and(|target| target.embedded) {
        out += "<p class=\"note\">The target is the server inside nbrs: its figures are not MongoDB's.</p>\n";
    }
    if let Some(rate) = run.max_rate {
        out += &format!("<p>The highest rate that is kept is {}.</p>\n", escaped(&wording::per_second(rate)));
    }
    if run.activities.len() > 1 {
        let link = |(at, activity): (usize, &Activity)| {
            format!("<a href=\"#a{at}\">{}</a>", escaped(&wording::name(&activity.label(&run.activities))))
        };
        out += &format!("<nav>{}</nav>\n", run.activities.iter().enumerate().map(link).collect::<String>());
    }
    out += "</header>\n";
    for (at, activity) in run.activities.iter().enumerate() {
        out += &section(at, activity, &activity.label(&run.activities));
    }
    out += &configuration(run);
    out += &format!(
        "<footer>Made by nbrs {}. Service: sent → answered. Response: due → answered, so waiting for a free thread \
         counts. Both are of ops that ended well; failed ops have times of their own. Percentiles over time are of \
         each interval of a second; of a long run, the highest of each stretch is drawn, so that no peak is \
         lost.</footer>\n",
        escaped(&run.version)
    );
    around(&format!("{title}: nbrs"), &out)
}

fn standing(run: &Run) -> String {
    let good = if run.status == Status::Done { " good" } else { "" };
    let mut text = format!("<span class=\"status{good}\">{}</span> ", run.status.word());
    text += &format!("<span class=\"soft\">{}, {}", moment(run.started), wording::elapsed(run.elapsed));
    if let Some(target) = &run.target {
        text += &format!(", {}", escaped(&wording::name(&target.kind)));
        for known in [&target.version, &target.topology].into_iter().flatten() {
            text += &format!(" {}", escaped(&wording::name(known)));
        }
    }
    text + "</span>"
}

fn moment(time: SystemTime) -> String {
    let stamp = wording::stamp(time, '.');
    format!("{} UTC", stamp.split('.').next().unwrap_or(&stamp))
}

fn section(at: usize, activity: &Activity, label: &str) -> String {
    let figures = Figures::of(activity);
    let mut out = format!("<section id=\"a{at}\">\n<h2>{}</h2>\n", escaped(&wording::name(label)));
    for line in summary::account(activity, label, &figures) {
        out += &format!("<p class=\"soft\">{}</p>\n", escaped(line.trim()));
    }
    out += &cards(activity, &figures);
    out += &figures::overview(activity);
    out += &counts(&figures);
    out += &errors(&figures.ops);
    out += &times(&figures.ops);
    let (drawn, others) = summary::most_attempted(&figures.ops, OPS_DRAWN);
    for op in &drawn {
        if let Some(place) = activity.ops.iter().position(|there| there.name == op.name) {
            out += &figures::op(activity, place);
        }
    }
    if !others.is_empty() {
        out += &format!(
            "<p class=\"soft\">{} were tried less often and are in the tables only.</p>\n",
            wording::counted(others.len() as u64, "more op")
        );
    }
    out += &figures::server(activity);
    out + "</section>\n"
}

fn cards(activity: &Activity, figures: &Figures) -> String {
    let sum = |of: fn(&OpFigures) -> u64| figures.ops.iter().map(of).sum::<u64>();
    let rate: Option<f64> = figures.ops.iter().map(|op| op.ok_per_s).sum();
    let all = super::clock::sum(activity.ops.iter().map(|op| &op.stats));
    let p99 =
        |histogram| Times::of(histogram).map_or_else(|| "-".to_owned(), |times| wording::time(times.p99));
    let (attempted, failed) = (sum(|op| op.attempted), sum(|op| op.failed));
    let mut cards = vec![
        (wording::number(rate.unwrap_or(f64::NAN)), "ok ops/s".to_owned()),
        (wording::count(sum(|op| op.ok)), format!("ok of {} ops", wording::count(attempted))),
        (
            wording::count(failed),
            match attempted {
                0 => "errors".to_owned(),
                _ => format!("errors, {}", wording::percent(failed as f64 / attempted as f64)),
            },
        ),
        (p99(&all.service), "service p99".to_owned()),
    ];
    if activity.target.is_some() {
        cards.push((p99(&all.response), "response p99".to_owned()));
    }
    let card = |(value, what): (String, String)| {
        format!("<div class=\"card\"><b>{}</b><span>{}</span></div>", escaped(&value), escaped(&what))
    };
    format!("<div class=\"cards\">{}</div>\n", cards.into_iter().map(card).collect::<String>())
}

/// A table that may be wider than the page.
fn table(caption: &str, heads: &[&str], rows: &str) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    format!(
        "<div class=\"wide-table\"><table><caption>{caption}</caption><thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\
         </tbody></table></div>\n"
    )
}

fn row(class: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr{class}>{cells}</tr>\n")
}

fn counts(figures: &Figures) -> String {
    if figures.ops.is_empty() {
        return String::new();
    }
    let line = |class: &str, name: &str, ops: &[&OpFigures]| {
        let count = |of: fn(&OpFigures) -> u64| {
            let n = ops.iter().map(|op| of(op)).sum::<u64>();
            data(n, &wording::count(n))
        };
        let rate = |of: fn(&OpFigures) -> Option<f64>, unit: f64| {
            let sum: Option<f64> = ops.iter().map(|op| of(op)).sum();
            match sum {
                Some(rate) => data(rate, &wording::number(rate / unit)),
                None => "-".to_owned(),
            }
        };
        let cells = [
            escaped(name).into_owned(),
            count(|op| op.ok),
            count(|op| op.attempted),
            count(|op| op.failed),
            rate(|op| op.ok_per_s, 1.0),
            rate(|op| op.attempted_per_s, 1.0),
            rate(|op| op.bytes_per_s, 1e6),
            count(|op| op.retries),
            count(|op| op.docs_returned),
            count(|op| op.docs_written),
        ];
        row(class, &cells)
    };
    let mut rows: String = figures.ops.iter().map(|op| line("", &op.name, &[op])).collect();
    if figures.ops.len() > 1 {
        rows += &line(" class=\"all\"", "all ops", &figures.ops.iter().collect::<Vec<_>>());
    }
    let heads = [
        "op",
        "ok",
        "attempted",
        "errors",
        "ok ops/s",
        "attempted/s",
        "MB/s sent",
        "retries",
        "docs returned",
        "docs written",
    ];
    table("Ops", &heads, &rows)
}

fn errors(ops: &[OpFigures]) -> String {
    let mut rows = String::new();
    for op in ops {
        for (name, counts) in &op.errors {
            let count = |n: u64| data(n, &wording::count(n));
            let cells = [
                escaped(&op.name).into_owned(),
                format!("<span class=\"left\">{}</span>", escaped(name)),
                count(counts.ended),
                count(counts.first),
                count(counts.retried),
                count(counts.given_up),
                count(counts.documents),
            ];
            rows += &row("", &cells);
        }
    }
    if rows.is_empty() {
        return rows;
    }
    let heads = ["op", "error", "ops ended", "first tries", "retried", "given up", "docs not written"];
    table("Errors", &heads, &rows)
}

fn times(ops: &[OpFigures]) -> String {
    let mut rows = String::new();
    for op in ops {
        let same = op.service == op.response;
        let clocks = [
            (if same { "service, response" } else { "service" }, op.service),
            ("response", op.response.filter(|_| !same)),
            ("wait", op.wait.filter(|_| !same)),
            ("failed", op.failed_times),
        ];
        let timers = op.timers.iter().map(|(name, times)| (format!("timer {}", escaped(name)), Some(*times)));
        for (clock, times) in clocks.map(|(clock, times)| (clock.to_owned(), times)).into_iter().chain(timers)
        {
            let Some(times) = times else { continue };
            let time = |nanos: f64| data(nanos, &wording::time(nanos));
            let mut cells = vec![escaped(&op.name).into_owned(), clock, wording::count(times.count)];
            let shown = [
                times.min,
                times.mean,
                times.p50,
                times.p90,
                times.p95,
                times.p99,
                times.p999,
                times.p9999,
                times.max,
            ];
            cells.extend(shown.map(time));
            rows += &row("", &cells);
        }
    }
    if rows.is_empty() {
        return rows;
    }
    let heads = ["op", "clock", "count", "min", "mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    table("Times", &heads, &rows)
}

fn configuration(run: &Run) -> String {
    let mut rows = String::new();
    let mut fact = |name: &str, value: &str| {
        rows += &format!("<tr><th scope=\"row\">{}</th><td>{value}</td></tr>\n", escaped(name));
    };
    let code = |text: &str| format!("<code>{}</code>", escaped(&redact::passwords(text)));
    fact("command", &code(&run.command));
    for Merged { command, started, elapsed, status } in &run.merged {
        let when = format!("{}, {}, {}", moment(*started), wording::elapsed(*elapsed), status.word());
        fact("merged from", &format!("{}<br>{}", code(command), escaped(&when)));
    }
    if let Some(target) = &run.target {
        for (name, value) in [
            ("target", Some(&target.kind)),
            ("version", target.version.as_ref()),
            ("topology", target.topology.as_ref()),
            ("connection", target.uri.as_ref()),
        ] {
            if let Some(value) = value {
                fact(name, &code(value));
            }
        }
        for (name, value) in &target.settings {
            fact(name, &escaped(&redact::passwords(value)));
        }
    }
    for activity in &run.activities {
        let mut parts = vec![format!("workload {}", activity.workload)];
        for (what, name) in [("scenario", &activity.scenario), ("step", &activity.step)] {
            parts.extend(name.as_ref().map(|name| format!("{what} {name}")));
        }
        parts.push(match activity.cycles_asked {
            Some(cycles) => wording::counted(cycles, "cycle"),
            None => "cycles without end".to_owned(),
        });
        parts.push(wording::counted(activity.threads as u64, "thread"));
        parts.push(match activity.target {
            Some(rate) => format!("target {}", wording::per_second(rate)),
            None => "as fast as they go".to_owned(),
        });
        fact(&activity.label(&run.activities), &escaped(&parts.join(", ")));
    }
    format!(
        "<section>\n<h2>Configuration</h2>\n<div class=\"wide-table\"><table class=\"facts\">\n{rows}</table></div>\n</section>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{ErrorCounts, Outage, Point, Quantiles};
    use crate::report::Target;
    use crate::report::figures::tests::{activity, op, run};
    use std::time::Duration;

    const ODD: &str = "b__</script><b>\"a'&\u{1b}\u{202e}ключи-🗝";

    /// A run of so many seconds of two ops, of which one has an odd name.
    fn measured(seconds: u64) -> Run {
        let mut ops = vec![op("main__find"), op(ODD)];
        for op in &mut ops {
            (1..=1_000u64).for_each(|n| op.stats.service.record(n * 1_000).expect("it grows"));
            op.stats.response = op.stats.service.clone();
            op.stats.response.record(5_000_000_000).expect("it grows");
            op.stats.ok = 1_000;
            op.stats.attempted = 1_002;
        }
        let failed = ErrorCounts { ended: 2, ..ErrorCounts::default() };
        ops[1].stats.errors.insert("</style>".to_owned(), failed);
        ops[1].stats.failed.record_n(300_000, 2).expect("it grows");
        let mut main = activity("<i>main</i>", ops);
        main.elapsed = Duration::from_secs(seconds);
        main.target = Some(100.0);
        main.outages = vec![Outage { from: Duration::from_secs(1), to: None }];
        let quantiles = |second: u64| {
            let high = if second == 17 { 9_000_000_000 } else { 500_000 + second % 7 * 10_000 };
            Quantiles { p50: 100_000, p95: 300_000, p99: 400_000, max: high, mean: 100_000 }
        };
        main.series = (1..=seconds)
            .flat_map(|second| (0..2).map(move |op| (second, op)))
            .map(|(second, op)| Point {
                at: Duration::from_secs(second),
                length: Duration::from_secs(1),
                op,
                ok: 50,
                errors: second % 2,
                service: quantiles(second),
                response: quantiles(second),
            })
            .collect();
        let mut run = run(vec![main]);
        run.command = "nbrs run 'connection=mongodb://u:s3cret@h/'".to_owned();
        run.target = Some(Target {
            kind: "mongodb".to_owned(),
            uri: Some("mongodb://u:s3cret@h/".to_owned()),
            settings: vec![("writeConcern".to_owned(), "w:1".to_owned())],
            ..Target::default()
        });
        run
    }

    #[test]
    fn nothing_that_a_user_names_becomes_markup_and_no_password_is_shown() {
        let page = page(&measured(20));
        assert!(
            !page.contains("<script") && !page.contains("</script") && !page.contains("<i>main"),
            "{page}"
        );
        assert_eq!(page.matches("</style>").count(), 1);
        assert!(page.contains("b__&lt;/script&gt;&lt;b&gt;&quot;a&#39;&amp;\\u{1b}\\u{202e}ключи-🗝"));
        assert!(!page.contains("s3cret"));
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org/").count()
        );
        assert!(!page.contains("NaN") && !page.contains("inf\""));
    }

    #[test]
    fn every_tag_is_closed() {
        for page in
            [page(&measured(20)), page(&run(Vec::new())), page(&run(vec![activity("a", vec![op("b__a")])]))]
        {
            let mut open: Vec<&str> = Vec::new();
            for tag in page.split('<').skip(1) {
                let tag = tag.split('>').next().expect("a tag");
                let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().expect("a name");
                match tag {
                    _ if ["!doctype", "meta", "br"].contains(&name) || tag.ends_with('/') => {}
                    tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "{tag}"),
                    _ => open.push(name),
                }
            }
            assert!(open.is_empty(), "{open:?}");
        }
    }

    #[test]
    fn the_page_of_a_day_is_small_and_keeps_its_peaks() {
        let (day, short) = (page(&measured(86_400)), page(&measured(60)));
        assert!(day.len() < 1_500_000, "{} bytes", day.len());
        assert!(day.matches("<svg").count() == short.matches("<svg").count());
        // The axis of the highest time reaches over the one second that took 9 s.
        assert!(day.contains("1 s\n</text>"), "the peak is lost");
    }

    #[test]
    fn what_was_measured_is_there_for_programs_too() {
        let page = page(&measured(20));
        assert!(page.contains("<td><data value=\"2004\">2,004</data></td>"), "{page}");
        assert!(page.contains("<td><data value=\"1000\">1,000</data></td>"), "{page}");
    }
}
