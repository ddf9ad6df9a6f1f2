//! The hot loop: one logical thread takes strides of cycles and runs them one after another.

use super::{Fatal, Shared, error_names};
use crate::adapters::{Failure, Outcome, Run, Scratch};
use crate::functions::Context;
use crate::metrics::{Ending, Sample, Times};
use crate::policy::{self, Decision};
use std::sync::Arc;
use std::time::Instant;

pub(super) async fn run(shared: Arc<Shared>, thread: usize, turn: u32) {
    let mut context = Context { thread, ..Context::default() };
    let mut scratch = Scratch { keep: shared.max_tries > 1 && shared.policy.retries(), ..Scratch::default() };
    let mut taken = 0;
    while let Some(stride) = shared.cycles.claim() {
        for cycle in stride {
            let Some(due) = due(&shared).await else { return };
            let mut flight = Flight::begin(&shared, cycle, due);
            match flight.attempt(&mut context, &mut scratch).await {
                Landing::Well(outcome) => flight.ok(&outcome),
                Landing::Badly(outcome, failure) => flight.failed(&outcome, &failure),
            }
            // An op that never waits would keep the worker from everything else.
            tokio::task::coop::consume_budget().await;
            taken += 1;
            if taken >= turn {
                taken = 0;
                tokio::task::yield_now().await;
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

/// Waits until the next cycle may start. The outer `None`: the activity stops; the inner: no rate is set, it is
/// due whenever it is sent.
async fn due(shared: &Shared) -> Option<Option<Instant>> {
    if shared.stopping() {
        return None;
    }
    match &shared.pacer {
        Some(pacer) => pacer.next().await.map(Some),
        None => Some(None),
    }
}

/// An op between its start and its end. If it is dropped before, because its task was aborted or panicked, it
/// still leaves its record.
struct Flight<'a> {
    shared: &'a Shared,
    cycle: u64,
    op: usize,
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
}

impl<'a> Flight<'a> {
    fn begin(shared: &'a Shared, cycle: u64, due: Option<Instant>) -> Flight<'a> {
        shared.recorder.begin();
        let op = shared.sequence[(cycle % shared.sequence.len() as u64) as usize];
        Flight {
            shared,
            cycle,
            op,
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
        let dispenser = &*self.shared.ops[self.op].dispenser;
        let cycle = self.cycle as i64;
        if let Err(error) = dispenser.bind(cycle, context, scratch) {
            let failure = Failure {
                name: error_names::BIND.into(),
                message: error.to_string(),
                ..Failure::default()
            };
            self.decision = self.shared.decide(&failure);
            return Landing::Badly(Outcome::default(), failure);
        }
        self.sent = Some(Instant::now());
        loop {
            let mut outcome = match dispenser.run(cycle, scratch) {
                Run::Ready(outcome) => outcome,
                Run::Pending(running) => running.await,
            };
            let Some(failure) = outcome.failure.take() else { return Landing::Well(outcome) };
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

    fn sample(&mut self, outcome: &Outcome) -> Sample {
        self.landed = true;
        let times = self.sent.map(|sent| Times {
            wait: self.due.map_or(0, |due| nanoseconds(due, sent)),
            service: nanoseconds(sent, Instant::now()),
        });
        Sample {
            op: self.op,
            times,
            bytes_sent: outcome.bytes_sent,
            docs_returned: outcome.docs_returned,
            docs_written: outcome.docs_written,
            tries: self.tries,
        }
    }

    fn ok(mut self, outcome: &Outcome) {
        let sample = self.sample(outcome);
        self.shared.recorder.ok(&sample);
    }

    fn failed(mut self, outcome: &Outcome, failure: &Failure) {
        let sample = self.sample(outcome);
        let ending = Ending {
            first: self.tries == 1,
            given_up: self.given_up,
            partial: failure.partial,
            unfinished: false,
            documents: failure.documents,
            timed: self.decision.time,
            code: self.decision.code,
        };
        self.shared.recorder.failed(&sample, &failure.name, ending);
        if self.decision.stop {
            self.shared.fail(Fatal {
                op: self.op,
                cycle: self.cycle,
                name: failure.name.to_string(),
                message: failure.message.clone(),
            });
        } else if self.decision.warn {
            self.shared.warn(self.op, self.cycle, &failure.name, &failure.message);
        }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let sample = self.sample(&Outcome::default());
        let ending = Ending { first: self.tries == 1, unfinished: true, ..Ending::default() };
        let panicking = std::thread::panicking();
        let name = if panicking { error_names::PANIC } else { error_names::ABANDONED };
        self.shared.recorder.failed(&sample, name, ending);
        if panicking {
            self.shared.fail(Fatal {
                op: self.op,
                cycle: self.cycle,
                name: name.to_owned(),
                message: String::new(),
            });
        }
    }
}

impl Shared {
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
