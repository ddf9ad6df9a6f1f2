//! The live bars, one an activity, drawn to stderr with indicatif.
//!
//! While bars are drawn, lines for the terminal go through [`Bars::println`] (or are written within
//! [`Bars::suspend`]), so that neither garbles the other.

use super::{Interval, wording};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::time::Duration;

/// All bars of a run.
#[derive(Debug, Clone)]
pub struct Bars {
    all: MultiProgress,
}

impl Bars {
    /// Bars on stderr; nothing is drawn where that is not a terminal.
    pub fn stderr() -> Bars {
        Bars { all: MultiProgress::new() }
    }

    /// Draws nothing; lines still come through.
    pub fn hidden() -> Bars {
        Bars { all: MultiProgress::with_draw_target(ProgressDrawTarget::hidden()) }
    }

    /// Adds a bar below the others.
    pub fn add(&self, alias: &str, total: u64) -> Bar {
        let bar = self.all.add(ProgressBar::new(total));
        // The template is ours: were it wrong, the plain bar would do.
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:14.cyan/blue} {msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_prefix(wording::name(alias));
        let bar = Bar { bar, total };
        bar.update(0, &Interval::default(), 0);
        bar
    }

    /// Writes a line to stderr, above the bars.
    pub fn println(&self, text: &str) {
        let drawn = !self.all.is_hidden() && self.all.println(text).is_ok();
        if !drawn {
            // A closed stderr leaves nobody to tell.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Runs `write` with the bars out of the way, for whatever else writes to the terminal.
    pub fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        self.all.suspend(write)
    }
}

/// The bar of one activity.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    total: u64,
}

impl Bar {
    /// A single bar on stderr.
    pub fn new(alias: &str, total: u64) -> Bar {
        Bars::stderr().add(alias, total)
    }

    /// `done` cycles and `errors` since the start, `interval` the latest second.
    pub fn update(&self, done: u64, interval: &Interval, errors: u64) {
        self.bar.set_message(message(done, self.total, interval, errors));
        self.bar.set_position(done.min(self.total));
    }

    /// Takes the bar away: the summary follows.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// `12,500/25,000  2,498/s  0 errors  p99 1.23 ms  ETA 5 s`.
fn message(done: u64, total: u64, interval: &Interval, errors: u64) -> String {
    let mut text = format!(
        "{}/{}  {}  {}",
        wording::count(done),
        wording::count(total),
        wording::per_second(interval.ops_per_s),
        wording::counted(errors, "error"),
    );
    if let Some(p99) = interval.p99 {
        text += &format!("  p99 {}", wording::time(p99 as f64));
    }
    let left = total.saturating_sub(done) as f64 / interval.attempted_per_s;
    // A hundred years hence is no estimate.
    if left.is_finite() && left < 3.2e9 {
        text += &format!("  ETA {}", eta(left));
    }
    text
}

fn eta(seconds: f64) -> String {
    let whole = seconds.ceil();
    if whole < 60.0 { format!("{whole:.0} s") } else { wording::elapsed(Duration::from_secs_f64(whole)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_far_how_fast_and_how_long() {
        let interval =
            Interval { ops_per_s: 2498.0, attempted_per_s: 2500.0, errors: 0, p99: Some(1_230_000) };
        assert_eq!(
            message(12_500, 25_000, &interval, 1),
            "12,500/25,000  2,498/s  1 error  p99 1.23 ms  ETA 5 s"
        );
        let slow = Interval { ops_per_s: 100.0, attempted_per_s: 100.0, errors: 0, p99: None };
        assert_eq!(message(0, 12_500, &slow, 0), "0/12,500  100/s  0 errors  ETA 2 min 05 s");
    }

    #[test]
    fn nothing_done_gives_no_estimate() {
        assert_eq!(message(0, 10, &Interval::default(), 0), "0/10  0/s  0 errors");
        assert_eq!(message(0, 0, &Interval::default(), 0), "0/0  0/s  0 errors");
        let stalled = Interval { attempted_per_s: 1e-12, ..Interval::default() };
        assert!(!message(0, u64::MAX, &stalled, 0).contains("ETA"));
    }

    #[test]
    fn hidden_bars_take_updates_and_go() {
        let bars = Bars::hidden();
        let bar = bars.add("main\n", 10);
        bar.update(20, &Interval::default(), 0);
        assert_eq!(bars.suspend(|| 5), 5);
        bar.finish();
    }
}
