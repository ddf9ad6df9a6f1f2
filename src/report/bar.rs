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
        // `wide_msg` is cut where the terminal ends: a line that wraps would stay behind when the bar moves on.
        if let Ok(style) = ProgressStyle::with_template("{bar:14.cyan/blue} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸─"));
        }
        let bar = Bar { bar, alias: wording::name(alias), total };
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
    alias: String,
    total: u64,
}

impl Bar {
    /// A single bar on stderr.
    pub fn new(alias: &str, total: u64) -> Bar {
        Bars::stderr().add(alias, total)
    }

    /// `done` cycles and `errors` since the start, `interval` the latest second.
    pub fn update(&self, done: u64, interval: &Interval, errors: u64) {
        self.bar.set_message(format!("{}  {}", self.alias, message(done, self.total, interval, errors)));
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
    use indicatif::TermLike;
    use std::sync::{Arc, Mutex};

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

    /// A terminal so many columns wide that keeps what is written to it.
    #[derive(Debug, Clone)]
    struct Paper(u16, Arc<Mutex<String>>);

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            self.0
        }
        fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> std::io::Result<()> {
            self.write_str(&format!("{text}\n"))
        }
        fn write_str(&self, text: &str) -> std::io::Result<()> {
            self.1.lock().expect("not poisoned").push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> std::io::Result<()> {
            self.write_str("\n")
        }
        fn flush(&self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_never_wraps() {
        let interval = Interval { ops_per_s: 1e6, attempted_per_s: 1e6, errors: 0, p99: Some(1_230_000) };
        for (width, alias) in
            [(20, "main"), (40, "main"), (50, "漢字-of-a-long-name"), (300, &"x".repeat(290))]
        {
            let paper = Paper(width, Arc::default());
            let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
            let bars = Bars { all: MultiProgress::with_draw_target(target) };
            let bar = bars.add(alias, 1_000_000);
            bar.update(500_000, &interval, 3);
            bar.finish();
            let written = paper.1.lock().expect("not poisoned").clone();
            assert!(written.contains(&alias[..3]), "{written:?}");
            for line in written.lines() {
                assert!(console_width(line) <= usize::from(width), "{width}: {line:?}");
            }
        }
    }

    /// Columns that a text takes: two for a wide character.
    fn console_width(text: &str) -> usize {
        text.trim_end().chars().map(|c| if ('一'..='鿿').contains(&c) { 2 } else { 1 }).sum()
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
