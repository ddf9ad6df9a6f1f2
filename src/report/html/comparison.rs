//! Two runs on one page: the figures of each op side by side, and both over time on the same axes.

use super::super::compare::{Compared, Comparison, Verdict};
use super::super::series::{self, Sample};
use super::super::{Destination, ReportError};
use super::axis::Axis;
use super::chart::{Chart, Line};
use super::{around, escaped, figures, row, table};
use crate::metrics::Quantiles;
use crate::redact;

/// Writes the page of a comparison, whole or not at all.
pub fn write(comparison: &Comparison, to: &Destination) -> Result<(), ReportError> {
    to.write(|out| out.write_all(page(comparison).as_bytes()))
}

fn page(comparison: &Comparison) -> String {
    let mut out = "<header>\n<h1>Two runs compared</h1>\n".to_owned();
    for (mark, heading) in ["A", "B"].iter().zip(&comparison.headings) {
        out += &format!(
            "<p><b>{mark}</b> {}: <span class=\"soft\">{}</span><br><code>{}</code></p>\n",
            escaped(&heading.name),
            escaped(&heading.what),
            escaped(&redact::passwords(&heading.command))
        );
    }
    for note in &comparison.notes {
        out += &format!("<p class=\"note\">{}</p>\n", escaped(note));
    }
    out += "</header>\n";
    for op in &comparison.ops {
        out += &section(op);
    }
    out += "<footer>A difference is more than noise where the mean of the intervals of A differs from that of B by \
            Welch's t-test at one in a hundred, the number of intervals corrected for their resemblance to their \
            neighbours.</footer>\n";
    around("Two runs compared: nbrs", &out)
}

fn section(op: &Compared) -> String {
    let mut out = format!("<section>\n<h2>{}</h2>\n", escaped(&op.name));
    let mut rows = String::new();
    for line in &op.rows {
        let verdict = match line.verdict {
            Verdict::Differs => format!("<b>{}</b>", line.verdict.text()),
            _ => line.verdict.text().to_owned(),
        };
        let cells = [&line.cells[0], &line.cells[1], &line.change].map(|cell| escaped(cell).into_owned());
        let [a, b, change] = cells;
        rows += &row("", &[line.name.to_owned(), a, b, change, verdict]);
    }
    out += &table("Figures of the whole runs", &["", "A", "B", "change", "the difference is"], &rows);
    let end = op.samples.iter().flatten().map(|sample| sample.to).fold(0.0, f64::max);
    out += &figures::figure("Throughput", "ops that ended well, per second", |size| {
        let rates = op.samples.each_ref().map(|samples| {
            let rates = series::rates(samples, size.points());
            rates.into_iter().map(|(t, [_, mean, _])| (t, Some(mean))).collect::<Vec<_>>()
        });
        let highest = rates.iter().flatten().filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
        both("Throughput over time", rates, end, Axis::rate(highest, "ops/s"))
    });
    out += &times(op, "Service time, p99", "sent → answered", |sample| sample.service, end);
    if op.rated {
        out += &times(op, "Response time, p99", "due → answered", |sample| sample.response, end);
    }
    out + "</section>\n"
}

fn times(op: &Compared, title: &str, about: &str, of: fn(&Sample) -> Option<Quantiles>, end: f64) -> String {
    figures::figure(title, about, |size| {
        let p99 = op.samples.each_ref().map(|samples| {
            let times = series::times(samples, size.points(), of).into_iter();
            times.map(|(t, times)| (t, times.map(|times| times.p99 as f64))).collect::<Vec<_>>()
        });
        let measured = || p99.iter().flatten().filter_map(|(_, time)| *time).filter(|time| *time > 0.0);
        let y =
            Axis::times(measured().fold(f64::INFINITY, f64::min).min(1e18), measured().fold(1.0, f64::max));
        let placed =
            p99.map(|line| line.into_iter().map(|(t, time)| (t, time.and_then(|time| y.at(time)))).collect());
        both(&format!("{title} over time"), placed, end, y)
    })
}

fn both(title: &str, points: [Vec<(f64, Option<f64>)>; 2], end: f64, y: Axis) -> Chart {
    let [a, b] = points;
    let lines = [("A", 0, a), ("B", 1, b)]
        .map(|(name, colour, points)| Line { name: name.to_owned(), colour, points })
        .into_iter()
        .collect();
    Chart { title: title.to_owned(), x: Axis::seconds(end), y, lines, bands: Vec::new(), shades: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::super::compare::tests::{measured, noisy};
    use super::*;

    #[test]
    fn both_runs_are_in_every_chart() {
        let (a, b) = (measured(&noisy(1_000, 100_000, 30)), measured(&noisy(1_500, 300_000, 20)));
        let page = page(&Comparison::of(["a.json", "b<.json"], &a, &b));
        assert_eq!(page.matches("<li><i class=\"k1\"></i>A</li><li><i class=\"k2\"></i>B</li>").count(), 2);
        assert_eq!(page.matches("<svg").count(), 4, "two charts in two sizes");
        assert!(page.contains("b&lt;.json") && page.contains("<b>more than the noise between intervals</b>"));
        let nothing = measured(&[]);
        assert!(!super::page(&Comparison::of(["a", "b"], &nothing, &nothing)).contains("<svg"));
    }
}
