//! Puts acknowledged writes on disk: in the background at least every 50 ms, at once for whoever waits, and
//! one fsync for all who wait at the same time.
//!
//! The store's own fsync keeps its journal locked, so that nobody writes meanwhile. Here the journal is handed
//! to the operating system under that lock, which is quick, and synced through a file handle of our own, which
//! is slow but holds up nobody.

use super::error::{CommandError, code};
use fjall::{Database, PersistMode};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long a write that nobody waits for stays off the disk, and the time of one fsync.
const INTERVAL: Duration = Duration::from_millis(50);

const FAILED: &str = "writing to disk failed, no further write is taken";

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
    failed: AtomicBool,
    mutex: Mutex<()>,
    wake: Condvar,
}

#[derive(Debug, Clone)]
enum Progress {
    SyncedTo(u64),
    Failed(String),
}

impl Durability {
    /// Starts the thread; `folder` is the database's.
    pub fn start(database: Database, folder: &Path) -> std::io::Result<Durability> {
        let mut journal = Journal { folder: folder.to_owned(), open: None };
        let shared = Arc::new(Shared {
            database,
            written: AtomicU64::new(0),
            waiters: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            mutex: Mutex::new(()),
            wake: Condvar::new(),
        });
        let (sender, progress) = watch::channel(Progress::SyncedTo(0));
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("nbrs-sync".into())
            .spawn(move || of_thread.run(&mut journal, &sender))?;
        Ok(Durability { shared, progress, thread: Mutex::new(Some(thread)) })
    }

    /// To be called when a write has reached the store: hands it to the operating system, so that it outlives
    /// this process, and remembers that it must go to disk.
    pub fn written(&self) -> Result<Ticket, CommandError> {
        if self.shared.failed.load(Ordering::SeqCst) {
            return Err(CommandError::new(code::INTERNAL_ERROR, FAILED));
        }
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
    fn run(&self, journal: &mut Journal, progress: &watch::Sender<Progress>) {
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
                match journal.sync(&self.database) {
                    Ok(()) => {
                        synced = written;
                        progress.send_replace(Progress::SyncedTo(synced));
                    }
                    Err(error) => {
                        self.failed.store(true, Ordering::SeqCst);
                        progress.send_replace(Progress::Failed(format!("{FAILED}: {error}")));
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

/// The file that the store appends to, by a handle of our own.
struct Journal {
    folder: PathBuf,
    open: Option<(PathBuf, File)>,
}

impl Journal {
    /// Puts on disk what was written before the call.
    ///
    /// What was written is in the newest journal, or in an older one: those the store syncs itself before it
    /// makes the next, and it writes to the next only when the folder is synced too.
    fn sync(&mut self, database: &Database) -> Result<(), fjall::Error> {
        database.persist(PersistMode::Buffer)?;
        let Some(newest) = newest_journal(&self.folder)? else {
            return database.persist(PersistMode::SyncData);
        };
        match &self.open {
            Some((path, file)) if *path == newest => file.sync_data()?,
            _ => match File::open(&newest) {
                Ok(file) => {
                    file.sync_data()?;
                    self.open = Some((newest, file));
                }
                // Sealed and removed since it was listed: only the store knows where it stands.
                Err(_) => database.persist(PersistMode::SyncData)?,
            },
        }
        Ok(())
    }
}

/// The journal with the highest number.
fn newest_journal(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut newest = None;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let number =
            path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jnl")?.parse::<u64>().ok());
        if let Some(number) = number
            && newest.as_ref().is_none_or(|(highest, _)| number > *highest)
        {
            newest = Some((number, path));
        }
    }
    Ok(newest.map(|(_, path)| path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fjall::KeyspaceCreateOptions;

    #[test]
    fn the_journal_that_the_store_writes_to_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder(folder.path()).manual_journal_persist(true).open().unwrap();
        let keyspace = database.keyspace("k", KeyspaceCreateOptions::default).unwrap();
        let mut batch = database.batch();
        batch.insert(&keyspace, "key", "a value that can be found again");
        batch.commit().unwrap();
        let mut journal = Journal { folder: folder.path().to_owned(), open: None };
        journal.sync(&database).unwrap();
        let (path, _) = journal.open.expect("a journal was synced");
        let bytes = std::fs::read(path).unwrap();
        assert!(bytes.windows(8).any(|window| window == b"be found"), "what was written is in it");
    }

    #[test]
    fn the_newest_journal_is_the_one_with_the_highest_number() {
        let folder = tempfile::tempdir().unwrap();
        assert!(newest_journal(folder.path()).unwrap().is_none());
        for name in ["9.jnl", "10.jnl", "lock", "x.jnl"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(newest_journal(folder.path()).unwrap(), Some(folder.path().join("10.jnl")));
    }

    #[tokio::test]
    async fn whoever_waits_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::builder(folder.path()).manual_journal_persist(true).open().unwrap();
        let durability = Arc::new(Durability::start(database, folder.path()).unwrap());
        let mut waiting = Vec::new();
        for _ in 0..20 {
            let durability = durability.clone();
            waiting.push(tokio::spawn(async move {
                let ticket = durability.written().unwrap();
                durability.on_disk(ticket).await.unwrap();
                assert!(matches!(&*durability.progress.borrow(), Progress::SyncedTo(to) if *to >= ticket.0));
            }));
        }
        for waiter in waiting {
            waiter.await.unwrap();
        }
        durability.stop().unwrap();
    }
}
