//! The hot loop: one logical thread takes strides of cycles and runs them one after another.

use super::cycles::Stride;
use super::pace::ThreadPace;
use super::watermark::Watermark;
use super::{Fatal, JournalError, NamedTimer, Shared, error_names};
use crate::adapters::{Failure, Outcome, Scratch};
use crate::functions::Context;
use crate::metrics::{Ending, Sample, Times};
use crate::policy::{self, Decision};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The cycle that a logical thread has in flight, plus one; 0 is none. On cache lines of its own: processors fetch
/// them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot(AtomicU64);

impl Slot {
    /// The cycle in flight.
    pub(super) fn cycle(&self) -> Option<u64> {
        self.0.load(Relaxed).checked_sub(1)
    }
}

pub(super) async fn run(shared: Arc<Shared>, thread: usize, turn: u32) {
    let acknowledged = shared.watermark.as_ref().map(Watermark::reached).unwrap_or_default();
    let mut context = Context { thread, acknowledged, ..Context::default() };
    let mut scratch = Scratch { keep: shared.max_tries > 1 && shared.policy.retries(), ..Scratch::default() };
    let mut cycle_pace = shared.cycle_pace.thread();
    let mut stride_pace = shared.stride_pace.thread();
    let mut timers = Timers(vec![None; shared.timers.len()]);
    let mut taken = 0;
    while let Some(stride) = shared.cycles.claim() {
        if shared.was_done(&stride) {
            shared.acknowledge_all(&stride);
            continue;
        }
        let Some(stride_due) = due(&shared, &mut stride_pace).await else { return };
        let begun = (shared.stride > 1)
            .then(|| (stride_due.unwrap_or_else(Instant::now), shared.op_of(stride.cycles.start)));
        for (position, cycle) in (stride.position..).zip(stride.cycles) {
            if shared.journal.as_ref().is_some_and(|journal| journal.was_done(position)) {
                shared.acknowledge(Place { cycle, position }, true);
                continue;
            }
            let Some(due) = due(&shared, &mut cycle_pace).await else { return };
            // Due by both schedules: `None` is before any time.
            let due = due.max(stride_due);
            let place = Place { cycle, position };
            let Some(mut flight) = Flight::begin(&shared, thread, place, due) else { return };
            loop {
                let landing = flight.attempt(&mut context, &mut scratch).await;
                timers.note(&shared, flight.op, flight.sent);
                let next = match landing {
                    Landing::Well(outcome) => flight.ok(&outcome),
                    Landing::Unread => {
                        flight.unread();
                        return;
                    }
                    Landing::Badly(outcome, failure) => {
                        flight.failed(&outcome, &failure);
                        None
                    }
                };
                let Some(next) = next else { break };
                flight = Flight::of(&shared, thread, place, next, None);
            }
            // An op that never waits would keep the worker from everything else.
            tokio::task::coop::consume_budget().await;
            taken += 1;
            if taken >= turn {
                taken = 0;
                tokio::task::yield_now().await;
            }
        }
        if let Some((begun, op)) = begun {
            shared.recorder.stride(op, nanoseconds(begun, Instant::now()));
        }
    }
}

/// When each named timer of the activity was started on a thread, where it runs.
struct Timers(Vec<Option<Instant>>);

impl Timers {
    /// An op that was sent at `sent`, if it was, has ended.
    fn note(&mut self, shared: &Shared, op: usize, sent: Option<Instant>) {
        let op = &shared.ops[op];
        for timer in &op.starts {
            if let Some(started) = self.0.get_mut(*timer) {
                *started = sent;
            }
        }
        for timer in &op.stops {
            let started = self.0.get_mut(*timer).and_then(Option::take);
            if let (Some(started), Some(NamedTimer { name, op })) = (started, shared.timers.get(*timer)) {
                shared.recorder.timed(*op, name, nanoseconds(started, Instant::now()));
            }
        }
    }
}

/// How many ops one of `threads` threads may run before it lets the next have its turn. Whatever else the
/// workers have to do, such as to hear of a signal, waits for a turn of every thread: with thousands of them the
/// runtime's own measure is too long.
pub(super) fn turn(threads: usize) -> u32 {
    match u32::try_from(threads) {
        Ok(0..=32) => u32::MAX,
        Ok(threads) => (4096 / threads).max(1),
        Err(_) => 1,
    }
}

/// Waits until the next cycle or stride may start. The outer `None`: the activity stops; the inner: no rate is
/// set, it is due whenever it is sent.
async fn due(shared: &Shared, pace: &mut ThreadPace<'_>) -> Option<Option<Instant>> {
    if shared.stopping() {
        return None;
    }
    pace.next().await
}

/// Which cycle: its number, and its position among the cycles of all passes.
#[derive(Debug, Clone, Copy)]
struct Place {
    cycle: u64,
    position: u64,
}

/// An op between its start and its end. If it is dropped before, because its task was aborted or panicked, it
/// still leaves its record.
struct Flight<'a> {
    shared: &'a Shared,
    thread: usize,
    place: Place,
    op: usize,
    /// No other op of the cycle came before it.
    first: bool,
    due: Option<Instant>,
    sent: Option<Instant>,
    tries: u32,
    /// Of the last error.
    decision: Decision,
    /// It would have been retried but had no tries left.
    given_up: bool,
    landed: bool,
}

enum Landing {
    Well(Outcome),
    Badly(Outcome, Failure),
    /// Nobody reads what it was to write.
    Unread,
}

impl<'a> Flight<'a> {
    /// `None`: its begin could not be written down, which has ended the activity.
    fn begin(shared: &'a Shared, thread: usize, place: Place, due: Option<Instant>) -> Option<Flight<'a>> {
        if let Some(journal) = &shared.journal
            && let Err(error) = journal.begin(place.position)
        {
            shared.journal_failed(place.cycle, &error);
            return None;
        }
        shared.recorder.begin();
        let mut flight = Flight::of(shared, thread, place, shared.op_of(place.cycle), due);
        flight.first = true;
        Some(flight)
    }

    /// Of an op that comes after another in its cycle.
    fn of(shared: &'a Shared, thread: usize, place: Place, op: usize, due: Option<Instant>) -> Flight<'a> {
        if let Some(slot) = shared.slots.get(thread) {
            slot.0.store(place.cycle.saturating_add(1), Relaxed);
        }
        Flight {
            shared,
            thread,
            place,
            op,
            first: false,
            due,
            sent: None,
            tries: 1,
            decision: Decision::default(),
            given_up: false,
            landed: false,
        }
    }

    /// Binds the op and runs it until it ends well or the policy lets it go.
    async fn attempt(&mut self, context: &mut Context, scratch: &mut Scratch) -> Landing {
        let op = &self.shared.ops[self.op];
        let dispenser = &*op.dispenser;
        let number = op.ordinals.as_ref().map(|ordinals| ordinals.of(self.place.cycle));
        let cycle = number.unwrap_or(self.place.cycle) as i64;
        if let Err(error) = dispenser.bind(cycle, context, scratch) {
            let failure =
                Failure { name: error_names::BIND.into(), message: error.to_string(), ..Failure::default() };
            self.decision = self.shared.decide(&failure);
            return Landing::Badly(Outcome::default(), failure);
        }
        self.sent = Some(Instant::now());
        loop {
            let mut outcome = dispenser.run(cycle, scratch).await;
            let Some(failure) = outcome.failure.take() else { return Landing::Well(outcome) };
            if failure.unread && self.shared.for_reader {
                return Landing::Unread;
            }
            self.decision = self.shared.decide(&failure);
            let retry = self.decision.retry && !self.decision.stop;
            self.given_up = retry && self.tries >= self.shared.max_tries;
            if !retry || self.given_up || self.shared.stopping() {
                return Landing::Badly(outcome, failure);
            }
            self.shared.recorder.retried(self.op, &failure.name, self.tries == 1, outcome.bytes_sent);
            if !self.decision.at_once {
                tokio::time::sleep(policy::back_off(self.tries)).await;
            }
            self.tries += 1;
        }
    }

    /// The record of the op, with which its cycle is over or not.
    fn sample(&mut self, outcome: &Outcome, last: bool) -> Sample {
        self.land();
        let now = Instant::now();
        let times = self.sent.map(|sent| Times {
            wait: self.due.map_or(0, |due| nanoseconds(due, sent)),
            service: nanoseconds(sent, now),
        });
        Sample {
            op: self.op,
            last,
            times,
            bytes_sent: outcome.bytes_sent,
            docs_returned: outcome.docs_returned,
            docs_written: outcome.docs_written,
            tries: self.tries,
            ended: nanoseconds(self.shared.started, now),
        }
    }

    /// The slot of the thread is free.
    fn land(&mut self) {
        self.landed = true;
        if let Some(slot) = self.shared.slots.get(self.thread) {
            slot.0.store(0, Relaxed);
        }
    }

    /// The op did nothing and is no error: it leaves no record, and its cycle was not done.
    fn unread(mut self) {
        self.land();
        self.acknowledge(false);
        self.write_down(false);
        self.shared.unread();
    }

    /// Gives the op that is next in the cycle.
    fn ok(mut self, outcome: &Outcome) -> Option<usize> {
        let next = self.shared.ops[self.op].then;
        let sample = self.sample(outcome, next.is_none());
        self.shared.recorder.ok(&sample);
        self.acknowledge(true);
        if next.is_none() {
            self.write_down(true);
        }
        next
    }

    /// What becomes of a cycle for functions that read only what was written: its first op decides.
    fn acknowledge(&self, well: bool) {
        if self.first {
            self.shared.acknowledge(self.place, well);
        }
    }

    /// What became of the cycle, for a run that completes this one.
    fn write_down(&self, done: bool) {
        let Some(journal) = &self.shared.journal else { return };
        let position = self.place.position;
        let written = if done { journal.done(position) } else { journal.undone(position) };
        if let Err(error) = written {
            self.shared.journal_failed(self.place.cycle, &error);
        }
    }

    fn failed(mut self, outcome: &Outcome, failure: &Failure) {
        let sample = self.sample(outcome, true);
        let ending = Ending {
            first: self.tries == 1,
            given_up: self.given_up,
            partial: failure.partial,
            documents: failure.documents,
            timed: self.decision.time,
            code: self.decision.code,
            ..Ending::default()
        };
        self.shared.recorder.failed(&sample, &failure.name, ending);
        self.acknowledge(false);
        // The error that ends a run is what a later one is to get over.
        self.write_down(!self.decision.stop);
        if self.decision.stop {
            self.shared.fail(Fatal {
                op: self.op,
                cycle: self.place.cycle,
                name: failure.name.to_string(),
                message: failure.message.clone(),
            });
        } else if self.decision.warn {
            self.shared.warn(self.op, self.place.cycle, &failure.name, &failure.message);
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let sample = self.sample(&Outcome::default(), true);
        let ending = Ending { first: self.tries == 1, unfinished: true, ..Ending::default() };
        let panicking = std::thread::panicking();
        let name = if panicking { error_names::PANIC } else { error_names::ABANDONED };
        self.shared.recorder.failed(&sample, name, ending);
        self.acknowledge(false);
        if panicking {
            self.shared.fail(Fatal {
                op: self.op,
                cycle: self.place.cycle,
                name: name.to_owned(),
                message: String::new(),
            });
        }
    }
}

impl Shared {
    /// Every cycle of the stride was done before.
    fn was_done(&self, stride: &Stride) -> bool {
        let Some(journal) = &self.journal else { return false };
        (stride.position..).zip(stride.cycles.clone()).all(|(position, _)| journal.was_done(position))
    }

    /// What became of a cycle, for functions that read only what was written.
    fn acknowledge(&self, place: Place, well: bool) {
        if let Some(watermark) = &self.watermark {
            watermark.ended(place.cycle, place.position, well);
        }
    }

    /// All cycles of a stride were done before.
    fn acknowledge_all(&self, stride: &Stride) {
        for (position, cycle) in (stride.position..).zip(stride.cycles.clone()) {
            self.acknowledge(Place { cycle, position }, true);
        }
    }

    /// The position of the op of `cycle`.
    pub(super) fn op_of(&self, cycle: u64) -> usize {
        self.sequence[(cycle % self.sequence.len() as u64) as usize]
    }

    fn journal_failed(&self, cycle: u64, error: &JournalError) {
        let name = error_names::JOURNAL.to_owned();
        self.fail(Fatal { op: usize::MAX, cycle, name, message: error.to_string() });
    }

    fn decide(&self, failure: &Failure) -> Decision {
        let code = failure.code.map(|code| code.to_string());
        let mut names = vec![&*failure.name];
        names.extend(code.as_deref());
        names.extend(failure.exception);
        self.policy.decide(&names, failure.partial)
    }
}

fn nanoseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::turn;

    #[test]
    fn many_threads_have_short_turns_and_few_are_not_held_up() {
        assert_eq!([1, 32].map(turn), [u32::MAX; 2]);
        assert_eq!([33, 1_000, 20_000, usize::MAX].map(turn), [124, 4, 1, 1]);
    }
}
