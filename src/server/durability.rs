//! Puts acknowledged writes on disk: in the background at least every 50 ms, at once for whoever waits, and
//! one fsync for all who wait at the same time.

use super::error::{CommandError, code};
use fjall::{Database, PersistMode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a write that nobody waits for stays off the disk, and the time of one fsync.
const INTERVAL: Duration = Duration::from_millis(50);

/// A moment in the sequence of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// The thread that syncs, and what is known about its progress.
pub struct Durability {
    shared: Arc<Shared>,
    progress: watch::Receiver<Progress>,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

struct Shared {
    database: Database,
    /// Tickets given out; each was taken after its write had reached the store.
    written: AtomicU64,
    waiters: AtomicU64,
    stopping: AtomicBool,
    mutex: Mutex<()>,
    wake: Condvar,
}

#[derive(Debug, Clone)]
enum Progress {
    SyncedTo(u64),
    Failed(String),
}

impl Durability {
    /// Starts the thread.
    pub fn start(database: Database) -> std::io::Result<Durability> {
        let shared = Arc::new(Shared {
            database,
            written: AtomicU64::new(0),
            waiters: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            mutex: Mutex::new(()),
            wake: Condvar::new(),
        });
        let (sender, progress) = watch::channel(Progress::SyncedTo(0));
        let of_thread = shared.clone();
        let thread =
            std::thread::Builder::new().name("nbrs-sync".into()).spawn(move || of_thread.run(&sender))?;
        Ok(Durability { shared, progress, thread: Mutex::new(Some(thread)) })
    }

    /// To be called when a write has reached the store: hands it to the operating system, so that it outlives
    /// this process, and remembers that it must go to disk.
    pub fn written(&self) -> Result<Ticket, CommandError> {
        self.shared.database.persist(PersistMode::Buffer)?;
        Ok(Ticket(self.shared.written.fetch_add(1, Ordering::SeqCst) + 1))
    }

    /// Waits until everything up to `ticket` is on disk.
    ///
    /// # Errors
    /// The disk failed; after that no write is taken any more.
    pub async fn on_disk(&self, ticket: Ticket) -> Result<(), CommandError> {
        let mut progress = self.progress.clone();
        self.shared.waiters.fetch_add(1, Ordering::SeqCst);
        {
            let _guard = self.shared.mutex.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.wake.notify_one();
        }
        let reached = progress
            .wait_for(|progress| match progress {
                Progress::SyncedTo(synced) => *synced >= ticket.0,
                Progress::Failed(_) => true,
            })
            .await
            .map(|progress| progress.clone());
        self.shared.waiters.fetch_sub(1, Ordering::SeqCst);
        match reached {
            Ok(Progress::SyncedTo(_)) => Ok(()),
            Ok(Progress::Failed(why)) => Err(CommandError::new(code::INTERNAL_ERROR, why)),
            Err(_) => Err(CommandError::new(code::INTERRUPTED_AT_SHUTDOWN, "the server is stopping")),
        }
    }

    /// Everything written so far goes to disk, then the thread ends.
    pub fn stop(&self) -> Result<(), String> {
        self.shared.stopping.store(true, Ordering::SeqCst);
        {
            let _guard = self.shared.mutex.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.wake.notify_one();
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        match &*self.progress.borrow() {
            Progress::Failed(why) => Err(why.clone()),
            Progress::SyncedTo(_) => Ok(()),
        }
    }
}

impl Drop for Durability {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

impl Shared {
    fn run(&self, progress: &watch::Sender<Progress>) {
        let mut synced = 0;
        loop {
            {
                let guard = self.mutex.lock().unwrap_or_else(PoisonError::into_inner);
                let wanted = || {
                    self.stopping.load(Ordering::SeqCst)
                        || (self.waiters.load(Ordering::SeqCst) > 0
                            && self.written.load(Ordering::SeqCst) > synced)
                };
                if !wanted() {
                    drop(self.wake.wait_timeout_while(guard, INTERVAL, |()| !wanted()));
                }
            }
            let stopping = self.stopping.load(Ordering::SeqCst);
            let written = self.written.load(Ordering::SeqCst);
            if written > synced || stopping {
                match self.database.persist(PersistMode::SyncData) {
                    Ok(()) => {
                        synced = written;
                        progress.send_replace(Progress::SyncedTo(synced));
                    }
                    Err(error) => {
                        progress.send_replace(Progress::Failed(format!(
                            "writing to disk failed, no further write is taken: {error}"
                        )));
                        return;
                    }
                }
            }
            if stopping {
                return;
            }
        }
    }
}
