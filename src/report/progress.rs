//! A line per interval for `--progress console:…`, in the reference's form, and what a live bar needs of a
//! [`Frame`].

use super::wording;
use crate::metrics::Frame;
use hdrhistogram::Histogram;

/// Where an activity stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    pub total: u64,
    pub done: u64,
    /// Started and not done.
    pub in_flight: u64,
}

impl Standing {
    pub fn is_complete(&self) -> bool {
        self.done >= self.total
    }

    /// `main (pending,current,complete)=(90,0,10) 10.00%`. Cycles in flight count as pending too, so pending
    /// and complete add up to the total. `last` marks the one line that is shown after the end.
    pub fn line(&self, alias: &str, last: bool) -> String {
        let pending = self.total.saturating_sub(self.done);
        let mark = if last { " (last report)" } else { "" };
        format!(
            "{} (pending,current,complete)=({pending},{},{}) {}{mark}",
            wording::name(alias),
            self.in_flight,
            self.done,
            self.percent(),
        )
    }

    /// With two decimals, rounded half up, but 100.00% only when all is done.
    fn percent(&self) -> String {
        if self.total == 0 {
            return "Unknown".to_owned();
        }
        let (done, total) = (u128::from(self.done.min(self.total)), u128::from(self.total));
        let mut hundredths = (done * 20_000 + total) / (2 * total);
        if done < total {
            hundredths = hundredths.min(9_999);
        }
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    }
}

/// One interval of an activity, all ops together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Ops that ended well, per second.
    pub ops_per_s: f64,
    /// Ops that ended, well or not, per second.
    pub attempted_per_s: f64,
    /// Ops that ended in an error.
    pub errors: u64,
    /// Response time of ops that ended well, in nanoseconds; absent where none did.
    pub p99: Option<u64>,
}

impl Interval {
    pub fn of(frame: &Frame) -> Interval {
        let seconds = frame.length.as_secs_f64();
        let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let errors = frame.ops.iter().flat_map(|op| op.errors.values()).map(|counts| counts.ended).sum();
        let mut all: Option<Histogram<u64>> = None;
        for op in frame.ops.iter().filter(|op| !op.response.is_empty()) {
            match &mut all {
                None => all = Some(op.response.clone()),
                // Fails only if a value does not fit: then the bar shows the p99 of the others.
                Some(all) => drop(all.add(&op.response)),
            }
        }
        Interval {
            ops_per_s: rate(frame.ops.iter().map(|op| op.ok).sum()),
            attempted_per_s: rate(frame.ops.iter().map(|op| op.attempted).sum()),
            errors,
            p99: all.map(|all| all.value_at_quantile(0.99)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::figures::tests::no_stats;
    use std::time::Duration;

    #[test]
    fn a_line_has_the_reference_form() {
        for (total, done, in_flight, last, line) in [
            (20_000, 1_371, 1, false, "main (pending,current,complete)=(18629,1,1371) 6.86%"),
            (20_000, 10_037, 0, false, "main (pending,current,complete)=(9963,0,10037) 50.19%"),
            (20_000, 20_000, 0, true, "main (pending,current,complete)=(0,0,20000) 100.00% (last report)"),
            (100, 10, 0, false, "main (pending,current,complete)=(90,0,10) 10.00%"),
            (0, 0, 0, true, "main (pending,current,complete)=(0,0,0) Unknown (last report)"),
        ] {
            assert_eq!(Standing { total, done, in_flight }.line("main", last), line);
        }
    }

    #[test]
    fn hundred_percent_means_that_nothing_is_in_flight() {
        let standing = Standing { total: 10_000_000, done: 9_999_999, in_flight: 1 };
        assert!(standing.line("main", false).ends_with(" 99.99%"));
        let all = Standing { total: u64::MAX, done: u64::MAX, in_flight: 0 };
        assert!(all.line("main", false).ends_with(" 100.00%"));
    }

    #[test]
    fn a_short_interval_is_divided_by_its_own_length() {
        let mut stats = no_stats();
        stats.ok = 23;
        stats.attempted = 46;
        stats.response.record_n(1_000_000, 23).expect("fits");
        let frame = Frame { length: Duration::from_millis(2_300), ops: vec![stats], ..Frame::empty(0) };
        let interval = Interval::of(&frame);
        assert!((interval.ops_per_s - 10.0).abs() < 1e-9);
        assert!((interval.attempted_per_s - 20.0).abs() < 1e-9);
        assert!(interval.p99.is_some_and(|p99| (1_000_000..1_001_000).contains(&p99)));
        let none = Frame::empty(1);
        assert_eq!(Interval::of(&none), Interval::default());
    }
}
