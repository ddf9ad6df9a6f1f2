//! `findmax`: the highest rate at which a target keeps given conditions.
//!
//! The first probe runs as fast as it goes, which bounds what can be asked for. The next ones ask for rates
//! between the highest that was kept and the lowest that was not, until these are close. A rate is kept if every
//! condition holds and the target did what was asked: a rate that is not achieved has found its limit, whatever
//! its latencies say. Each probe goes on with the cycles after those of the one before.

use super::condition::{Condition, Finding};
use super::prepare::Request;
use super::{Behind, Command, Finished, Head, Session, SessionError, Settings, Stall, View};
use crate::engine::Progress;
use crate::metrics::Frame;
use crate::span::Diagnostic;
use crate::units;
use indexmap::IndexMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// What to look for.
#[derive(Debug, Clone)]
pub struct Search {
    /// Conditions that a rate has to keep; at least one.
    pub keep: Vec<Condition>,
    /// Cycles per second that are of no interest below, and above.
    pub min: f64,
    pub max: f64,
    /// How long each rate is held.
    pub hold: Duration,
}

/// One rate that was tried.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Cycles per second; absent in the probe that goes as fast as it can.
    pub rate: Option<f64>,
    pub achieved: f64,
    /// What the conditions found, each with its text.
    pub findings: Vec<(String, Option<Finding>)>,
    pub kept: bool,
}

/// What came of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// The highest rate that was kept.
    pub rate: Option<f64>,
    /// The lowest that was not; absent if every rate up to the highest of interest was kept.
    pub beyond: Option<f64>,
    pub probes: Vec<Probe>,
    pub error: Option<SessionError>,
    /// The last probe ended by an error of an op.
    pub failed: bool,
}

/// A rate is kept only if this share of it is achieved.
const ACHIEVED: f64 = 0.97;
/// The search ends when the rates that were kept and not kept are as close as this.
const CLOSE: f64 = 0.04;
/// The share of a probe's time that is not counted, for queues of the probe before to drain.
const WARM_UP: f64 = 0.1;
/// A search has an end, also where a target answers differently each time.
const MOST_PROBES: usize = 60;

/// Narrows down where rates are kept no more.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bisection {
    min: f64,
    kept: Option<f64>,
    not_kept: f64,
}

impl Bisection {
    /// The next rate to try; `None` once it is known well enough.
    fn next(&self) -> Option<f64> {
        match self.kept {
            Some(kept) if self.not_kept - kept <= self.not_kept * CLOSE => None,
            Some(kept) => Some((kept + self.not_kept) / 2.0),
            None if self.not_kept <= self.min * 1.001 => None,
            // Near the bound at first: most targets do most of what they can at their fastest.
            None => Some((self.not_kept * 0.6).max(self.min)),
        }
    }

    fn note(&mut self, rate: f64, kept: bool) {
        if kept { self.kept = Some(rate) } else { self.not_kept = rate }
    }
}

/// Searches with the activity that `parameters` describe.
pub async fn find_max(
    parameters: &IndexMap<String, String>,
    search: &Search,
    settings: &Settings,
    view: Arc<dyn View>,
    interrupt: watch::Receiver<bool>,
) -> Found {
    let probing = Arc::new(Probing { inner: view, said: Mutex::default(), begun: AtomicBool::new(false) });
    let mut session = Session::new(settings, Arc::clone(&probing) as Arc<dyn View>, interrupt);
    let mut found = Found::default();
    if let Err(error) = look(&mut session, parameters, search, &probing, &mut found).await {
        found.error = Some(error);
    }
    if let Err(late) = session.end().await {
        found.error.get_or_insert(late);
    }
    found
}

async fn look(
    session: &mut Session<'_>,
    parameters: &IndexMap<String, String>,
    search: &Search,
    probing: &Probing,
    found: &mut Found,
) -> Result<(), SessionError> {
    for name in
        ["cyclerate", "targetrate", "rate", "striderate", "rate_profile", "duration", "warmup", "resume"]
    {
        if parameters.contains_key(name) {
            return Err(Diagnostic::error(format!("findmax sets `{name}=` itself"))
                .help(
                    "--min, --max and --hold say between which rates it searches, and how long it holds one",
                )
                .into());
        }
    }
    let open = parameters.get("open").is_some_and(|open| open == "true");
    if open && search.max.is_infinite() {
        return Err(Diagnostic::error("findmax with `open=true` needs --max")
            .help("an open loop has no speed of its own that would bound the search")
            .into());
    }
    let mut cycles = match parameters.get("cycles") {
        Some(text) => units::cycles(text).map_err(|error| Request::default().fault("cycles", text, error))?,
        None => 0..i64::MAX as u64,
    };
    let first = cycles.start;
    let probes = &mut found.probes;
    let probe = async |rate: Option<f64>| -> Result<Option<Tried>, SessionError> {
        let mut parameters = parameters.clone();
        let warm_up = search.hold.mul_f64(WARM_UP);
        parameters.insert("cycles".to_owned(), format!("{}..{}", cycles.start, cycles.end));
        parameters.insert("duration".to_owned(), format!("{}ns", search.hold.as_nanos()));
        parameters.insert("warmup".to_owned(), format!("{}ns", warm_up.as_nanos()));
        if let Some(rate) = rate {
            parameters.insert("cyclerate".to_owned(), rate.to_string());
        }
        let request = Box::new(Request::of(parameters));
        let command = Command::Activity { request, wait: true };
        session.run_all(vec![command]).await?;
        let Some(finished) = session.finished.pop() else { return Ok(None) };
        if *session.interrupt.borrow() {
            return Ok(None);
        }
        let achieved = finished.result.achieved().unwrap_or_default();
        let findings: Vec<_> = search
            .keep
            .iter()
            .map(|condition| (condition.text.clone(), condition.find(&finished.result)))
            .collect();
        let holds = findings.iter().all(|(_, finding)| finding.as_ref().is_some_and(|found| found.holds));
        let kept = holds && rate.is_none_or(|rate| achieved >= rate * ACHIEVED) && !finished.failed();
        let probe = Probe { rate, achieved, findings, kept };
        probing.inner.probed(&finished, &probe);
        probes.push(probe);
        // Go on behind what this probe may have begun; from the start again where the cycles are used up.
        let begun = finished
            .result
            .cycles_done
            .saturating_add((finished.head.threads as u64).saturating_mul(finished.head.stride));
        cycles.start = cycles.start.saturating_add(begun);
        if cycles.start >= cycles.end || matches!(finished.result.ended, crate::engine::Ended::Complete) {
            cycles.start = first;
        }
        Ok(Some(Tried { achieved, kept, failed: finished.failed() }))
    };
    let narrowed = narrow(search, open, probe).await?;
    (found.rate, found.beyond, found.failed) = (narrowed.rate, narrowed.beyond, narrowed.failed);
    Ok(())
}

/// What a probe came to.
#[derive(Debug, Clone, Copy)]
struct Tried {
    achieved: f64,
    kept: bool,
    /// It ended by an error of an op.
    failed: bool,
}

/// Between which rates the highest that is kept lies.
#[derive(Debug, Default)]
struct Narrowed {
    rate: Option<f64>,
    beyond: Option<f64>,
    failed: bool,
}

/// Tries rates with `probe` (none is as fast as it goes) until it is known well enough which is the highest that is
/// kept. `probe` gives nothing once it is interrupted. `open`: nothing but `search.max` bounds what can be asked for.
async fn narrow(
    search: &Search,
    open: bool,
    mut probe: impl AsyncFnMut(Option<f64>) -> Result<Option<Tried>, SessionError>,
) -> Result<Narrowed, SessionError> {
    let mut narrowed = Narrowed::default();
    let mut bound = search.max;
    let mut probes = 0;
    if !open {
        probes += 1;
        let Some(Tried { achieved: fastest, kept, failed }) = probe(None).await? else { return Ok(narrowed) };
        narrowed.failed = failed;
        if failed || fastest <= 0.0 {
            return Ok(narrowed);
        }
        // Nothing that could be asked for is out of reach, and the conditions hold even so.
        if kept && fastest > bound {
            narrowed.rate = Some(bound);
        }
        bound = bound.min(fastest);
    }
    let mut bisection = Bisection { min: search.min, kept: None, not_kept: bound };
    if bound == search.max {
        probes += 1;
        let Some(tried) = probe(Some(bound)).await? else { return Ok(narrowed) };
        narrowed.failed = tried.failed;
        if tried.kept {
            narrowed.rate = Some(bound);
            return Ok(narrowed);
        }
    }
    while let Some(rate) = bisection.next() {
        if probes >= MOST_PROBES || narrowed.failed {
            break;
        }
        probes += 1;
        let rate = if rate >= 100.0 { rate.round() } else { rate };
        let Some(tried) = probe(Some(rate)).await? else { break };
        narrowed.failed = tried.failed;
        bisection.note(rate, tried.kept);
    }
    (narrowed.rate, narrowed.beyond) = (bisection.kept, Some(bisection.not_kept));
    Ok(narrowed)
}

/// Shows the probes of a search as lines, where the steps of a scenario would each have a header and a summary.
struct Probing {
    inner: Arc<dyn View>,
    said: Mutex<Vec<String>>,
    begun: AtomicBool,
}

impl Probing {
    /// Whether `text` is said for the first time.
    fn is_new(&self, text: String) -> bool {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let new = !said.contains(&text);
        if new {
            said.push(text);
        }
        new
    }
}

impl View for Probing {
    fn notice(&self, notice: &Diagnostic) {
        if self.is_new(notice.message.clone()) {
            self.inner.notice(notice);
        }
    }

    fn stdout_is_taken(&self) {
        self.inner.stdout_is_taken();
    }

    fn begin(&self, head: &Head) {
        if !self.begun.swap(true, Ordering::Relaxed) {
            self.inner.searching(head);
        }
    }

    fn progress(&self, _: &Head, _: Progress) {}

    fn frame(&self, _: &Head, _: &Frame) {}

    fn warn(&self, head: &Head, op: &str, cycle: u64, name: &str, message: &str) {
        if self.is_new(format!("warned of {name}")) {
            self.inner.warn(head, op, cycle, name, message);
        }
    }

    fn behind(&self, _: &Head, _: Behind) {}

    fn stalled(&self, head: &Head, stall: &Stall) {
        self.inner.stalled(head, stall);
    }

    fn end(&self, _: &Finished) {}

    fn searching(&self, _: &Head) {}

    fn probed(&self, _: &Finished, _: &Probe) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches where rates up to `knee` are kept, and gives the result and the number of probes.
    fn found(min: f64, bound: f64, knee: f64) -> (Option<f64>, usize) {
        let mut bisection = Bisection { min, kept: None, not_kept: bound };
        let mut probes = 0;
        while let Some(rate) = bisection.next() {
            assert!(rate >= min && rate < bound, "{rate}");
            bisection.note(rate, rate <= knee);
            probes += 1;
            assert!(probes < 40, "it does not end");
        }
        (bisection.kept, probes)
    }

    #[test]
    fn the_knee_is_found_within_a_twentieth() {
        for knee in [105.0, 500.0, 4_000.0, 9_900.0, 59_000.0, 99_000.0] {
            let (rate, probes) = found(100.0, 100_000.0, knee);
            let rate = rate.expect("it is over the least");
            assert!(rate <= knee && rate >= knee * 0.95, "{knee}: {rate}");
            assert!(probes <= 20, "{knee}: {probes} probes");
        }
    }

    /// A target that `threads` ops at a time take `seconds` each from: it answers no more than `threads / seconds` a
    /// second, and its response times grow without bound beyond. `jitter` is what a probe may be off by.
    async fn knee_of(threads: f64, seconds: f64, (min, max): (f64, f64), jitter: f64) -> (Narrowed, usize) {
        let knee = threads / seconds;
        let search = Search { keep: Vec::new(), min, max, hold: Duration::from_secs(10) };
        let mut probes = 0;
        let narrowed = narrow(&search, false, async |rate: Option<f64>| {
            probes += 1;
            // To and fro, so that it does not cancel out over a search.
            let off = 1.0 + jitter * [1.0, -1.0, 0.5][probes % 3];
            let achieved = rate.unwrap_or(f64::INFINITY).min(knee * off);
            let kept = rate.is_none_or(|rate| rate <= knee * off && achieved >= rate * ACHIEVED);
            Ok(Some(Tried { achieved, kept, failed: false }))
        });
        (narrowed.await.expect("nothing fails"), probes)
    }

    #[tokio::test]
    async fn the_knee_of_a_target_is_found_within_a_tenth() {
        const ALL: (f64, f64) = (1.0, f64::INFINITY);
        for (threads, seconds) in [(1.0, 0.25), (10.0, 0.04), (25.0, 0.002), (100.0, 0.001), (8_000.0, 0.1)] {
            for jitter in [0.0, 0.01, 0.02] {
                let knee = threads / seconds;
                let (narrowed, probes) = knee_of(threads, seconds, ALL, jitter).await;
                let rate = narrowed.rate.expect("a rate is kept");
                assert!((rate / knee - 1.0).abs() < 0.1, "{knee} ± {jitter}: {rate}");
                assert!(narrowed.beyond >= Some(rate) && probes <= 12, "{knee}: {probes} probes");
            }
        }
        // Bounds on both sides of it.
        assert_eq!(knee_of(10.0, 0.04, (1.0, 100.0), 0.0).await.0.rate, Some(100.0));
        assert_eq!(knee_of(10.0, 0.04, (1_000.0, 5_000.0), 0.0).await.0.rate, None);
    }

    #[tokio::test]
    async fn a_search_ends_with_an_op_that_ends_its_probe() {
        let search = Search { keep: Vec::new(), min: 1.0, max: f64::INFINITY, hold: Duration::from_secs(10) };
        for (bad, rate) in [(1, None), (3, Some(60.0))] {
            let mut probes = 0;
            let narrowed = narrow(&search, false, async |asked: Option<f64>| {
                probes += 1;
                let failed = probes == bad;
                Ok(Some(Tried { achieved: 100.0, kept: !failed && asked.is_some(), failed }))
            })
            .await
            .expect("it ends");
            assert_eq!((narrowed.rate, narrowed.failed, probes), (rate, true, bad));
        }
    }

    #[test]
    fn nothing_is_found_where_not_even_the_least_rate_is_kept() {
        assert_eq!(found(100.0, 100_000.0, 50.0).0, None);
        assert_eq!(found(100.0, 90.0, 1_000.0), (None, 0));
    }
}
