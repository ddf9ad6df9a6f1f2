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
    let mut probe = async |rate: Option<f64>, found: &mut Found| -> Result<Option<bool>, SessionError> {
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
        found.probes.push(probe);
        found.failed = finished.failed();
        // Go on behind what this probe may have begun; from the start again where the cycles are used up.
        let begun = finished
            .result
            .cycles_done
            .saturating_add((finished.head.threads as u64).saturating_mul(finished.head.stride));
        cycles.start = cycles.start.saturating_add(begun);
        if cycles.start >= cycles.end || matches!(finished.result.ended, crate::engine::Ended::Complete) {
            cycles.start = first;
        }
        Ok(Some(kept))
    };

    let mut bound = search.max;
    if !open {
        let Some(kept) = probe(None, found).await? else { return Ok(()) };
        let fastest = found.probes.last().map_or(0.0, |probe| probe.achieved);
        if found.failed || fastest <= 0.0 {
            return Ok(());
        }
        // Nothing that could be asked for is out of reach, and the conditions hold even so.
        if kept && fastest > bound {
            found.rate = Some(bound);
        }
        bound = bound.min(fastest);
    }
    let mut bisection = Bisection { min: search.min, kept: None, not_kept: bound };
    if bound == search.max {
        match probe(Some(bound), found).await? {
            None => return Ok(()),
            Some(true) => {
                found.rate = Some(bound);
                return Ok(());
            }
            Some(false) => {}
        }
    }
    while let Some(rate) = bisection.next() {
        if found.probes.len() >= MOST_PROBES || found.failed {
            break;
        }
        let rate = if rate >= 100.0 { rate.round() } else { rate };
        let Some(kept) = probe(Some(rate), found).await? else { break };
        bisection.note(rate, kept);
    }
    found.rate = bisection.kept;
    found.beyond = Some(bisection.not_kept);
    Ok(())
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

    #[test]
    fn nothing_is_found_where_not_even_the_least_rate_is_kept() {
        assert_eq!(found(100.0, 100_000.0, 50.0).0, None);
        assert_eq!(found(100.0, 90.0, 1_000.0), (None, 0));
    }
}
