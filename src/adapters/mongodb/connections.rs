//! How many connections one client asked for, got and lost.

use crate::adapters::Connections;
use ::mongodb::event::EventHandler;
use ::mongodb::event::cmap::CmapEvent;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts since the client was made.
#[derive(Debug, Default)]
pub(super) struct Tally {
    asked: AtomicU64,
    opened: AtomicU64,
    closed: AtomicU64,
}

/// A connection that was opened; it counts as closed when this is dropped.
#[derive(Debug)]
pub(super) struct Opened(Arc<Tally>);

impl Tally {
    /// A connection is asked for.
    pub(super) fn asked(&self) {
        self.asked.fetch_add(1, Relaxed);
    }

    /// It takes commands.
    pub(super) fn opened(self: &Arc<Tally>) -> Opened {
        self.opened.fetch_add(1, Relaxed);
        Opened(Arc::clone(self))
    }

    /// Every closed connection was opened, and every opened one asked for, whenever this is read.
    pub(super) fn now(&self) -> Connections {
        let closed = self.closed.load(Relaxed);
        let opened = self.opened.load(Relaxed).max(closed);
        Connections { asked: self.asked.load(Relaxed).max(opened), opened, closed }
    }

    /// Counts the connections of the driver's pools.
    pub(super) fn listener(self: &Arc<Tally>) -> EventHandler<CmapEvent> {
        let tally = Arc::clone(self);
        let open: Mutex<HashSet<(String, u32)>> = Mutex::default();
        EventHandler::callback(move |event| {
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                CmapEvent::ConnectionCreated(_) => tally.asked(),
                CmapEvent::ConnectionReady(event)
                    if open.insert((event.address.to_string(), event.connection_id)) =>
                {
                    tally.opened.fetch_add(1, Relaxed);
                }
                // One that was never ready did not open.
                CmapEvent::ConnectionClosed(event)
                    if open.remove(&(event.address.to_string(), event.connection_id)) =>
                {
                    tally.closed.fetch_add(1, Relaxed);
                }
                _ => {}
            }
        })
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.closed.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_open_until_it_is_dropped() {
        let tally = Arc::new(Tally::default());
        (0..3).for_each(|_| tally.asked());
        let kept = tally.opened();
        drop(tally.opened());
        assert_eq!(tally.now(), Connections { asked: 3, opened: 2, closed: 1 });
        drop(kept);
        assert_eq!(tally.now(), Connections { asked: 3, opened: 2, closed: 2 });
    }
}
