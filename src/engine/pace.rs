//! Which pacer a thread asks for its next start: none, one for all threads, or one of its own.

use super::Load;
use crate::rate::{OwnPace, OwnPacer, Pacer};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) enum Pace {
    /// Every start is due when it happens.
    Free,
    Shared(Arc<Pacer>),
    EachThread(Arc<OwnPace>),
}

/// A thread's view of a [`Pace`].
pub(super) enum ThreadPace<'a> {
    Free,
    Shared(&'a Pacer),
    Own(Box<OwnPacer>),
}

impl Pace {
    pub(super) fn new(load: Option<Load>, started: Instant) -> Pace {
        match load {
            None => Pace::Free,
            Some(Load::Rate(rate)) if rate.each_thread => {
                Pace::EachThread(Arc::new(OwnPace::new(rate, started)))
            }
            Some(Load::Rate(rate)) => Pace::Shared(Arc::new(Pacer::new(rate, started))),
            Some(Load::Profile { profile, burst }) => {
                Pace::Shared(Arc::new(Pacer::of_profile(&profile, burst, started)))
            }
        }
    }

    pub(super) fn is_set(&self) -> bool {
        !matches!(self, Pace::Free)
    }

    pub(super) fn thread(&self) -> ThreadPace<'_> {
        match self {
            Pace::Free => ThreadPace::Free,
            Pace::Shared(pacer) => ThreadPace::Shared(pacer),
            Pace::EachThread(pace) => ThreadPace::Own(Box::new(pace.thread())),
        }
    }

    /// The pacer of all threads, if there is one.
    pub(super) fn shared(&self) -> Option<&Arc<Pacer>> {
        match self {
            Pace::Shared(pacer) => Some(pacer),
            Pace::Free | Pace::EachThread(_) => None,
        }
    }

    /// Starts that are due and were not taken.
    pub(super) fn backlog(&self) -> u64 {
        match self {
            Pace::Free => 0,
            Pace::Shared(pacer) => pacer.backlog(),
            Pace::EachThread(pace) => pace.backlog(),
        }
    }

    /// How late the clock woke at worst since this was last asked.
    pub(super) fn lateness(&self) -> Duration {
        match self {
            Pace::Free => Duration::ZERO,
            Pace::Shared(pacer) => pacer.lateness(),
            Pace::EachThread(pace) => pace.lateness(),
        }
    }

    /// How many starts `threads` threads were to make from `since` to `until`; absent without a rate.
    pub(super) fn due_between(&self, since: Duration, until: Duration, threads: usize) -> Option<f64> {
        match self {
            Pace::Free => None,
            Pace::Shared(pacer) => Some(pacer.due_between(since, until)),
            Pace::EachThread(pace) => Some(pace.due_between(since, until) * threads as f64),
        }
    }

    /// What a thread of the operating system runs to keep the time, if anything.
    pub(super) fn clock(&self) -> Option<Box<dyn FnOnce() + Send>> {
        match self {
            Pace::Free => None,
            Pace::Shared(pacer) => {
                let pacer = Arc::clone(pacer);
                Some(Box::new(move || pacer.keep_time()))
            }
            Pace::EachThread(pace) => {
                let pace = Arc::clone(pace);
                Some(Box::new(move || pace.keep_time()))
            }
        }
    }

    pub(super) fn close(&self) {
        match self {
            Pace::Free => {}
            Pace::Shared(pacer) => pacer.close(),
            Pace::EachThread(pace) => pace.close(),
        }
    }
}

impl ThreadPace<'_> {
    /// Waits for the next start. The outer `None`: the pace is closed; the inner: it is due whenever it happens.
    pub(super) async fn next(&mut self) -> Option<Option<Instant>> {
        match self {
            ThreadPace::Free => Some(None),
            ThreadPace::Shared(pacer) => pacer.next().await.map(Some),
            ThreadPace::Own(pacer) => pacer.next().await.map(Some),
        }
    }
}
