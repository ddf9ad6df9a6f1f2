//! What each cycle came to, in a file, so that a run that was cut off can be completed: every cycle that is not
//! known to be done is run.
//!
//! The file is a page of text that says which run it belongs to, then one byte a cycle: 0 not begun, 1 begun,
//! 2 done. Bytes are written as things happen and are in the system's hands at once, so they outlive the
//! process however it ends; once a second they are brought to the disk, so that they outlive the machine.
//! A cycle that is begun and not done was in flight when the run was cut off: nobody knows whether the target
//! did it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes before the first cycle.
const HEAD: u64 = 4096;
const MAGIC: &str = "nbrs-journal/1\n";
/// A journal of more cycles than this would be larger than anybody wants: 10 GB.
const MOST_CYCLES: u64 = 10_000_000_000;
/// Ranges of cycles in flight that are named.
const UNKNOWN_SHOWN: usize = 20;

const BEGUN: u8 = 1;
const DONE: u8 = 2;

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("the journal {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is no journal of nbrs", .0.display())]
    Foreign(PathBuf),
    #[error("the journal {} is of another run: it says {there}, this one {here}", path.display())]
    OtherRun { path: PathBuf, there: String, here: String },
    #[error("{cycles} cycles are too many for a journal, which holds {MOST_CYCLES}")]
    TooMany { cycles: u64 },
}

/// A journal that is open for a run.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// One bit a cycle that was done before.
    done: Vec<u64>,
    done_before: u64,
    /// Positions that were in flight when the run before was cut off.
    unknown: Vec<Range<u64>>,
    unknown_count: u64,
}

impl Journal {
    /// Opens the journal at `path`, or makes it. `run` says which run it is, in lines `name=value`: a journal
    /// whose lines differ is refused. `cycles` are those of all passes.
    pub fn open(path: &Path, run: &str, cycles: u64) -> Result<Journal, JournalError> {
        let io_error = |source| JournalError::Io { path: path.to_owned(), source };
        if cycles > MOST_CYCLES {
            return Err(JournalError::TooMany { cycles });
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(io_error)?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(io_error)?;
        let head = head(run);
        let mut journal = Journal {
            path: path.to_owned(),
            done: vec![0; usize::try_from(cycles.div_ceil(64)).unwrap_or(usize::MAX)],
            done_before: 0,
            unknown: Vec::new(),
            unknown_count: 0,
            file: file.try_clone().map_err(io_error)?,
        };
        if file.metadata().map_err(io_error)?.len() == 0 {
            file.set_len(HEAD + cycles).map_err(io_error)?;
            file.write_all_at(&head, 0).map_err(io_error)?;
            return Ok(journal);
        }
        let mut there = vec![0; HEAD as usize];
        if file.read_exact_at(&mut there, 0).is_err() || !there.starts_with(MAGIC.as_bytes()) {
            return Err(JournalError::Foreign(path.to_owned()));
        }
        if there != head {
            return Err(other_run(path, &there, &head));
        }
        file.seek(SeekFrom::Start(HEAD)).map_err(io_error)?;
        journal.read(&mut file.take(cycles)).map_err(io_error)?;
        Ok(journal)
    }

    fn read(&mut self, bytes: &mut impl Read) -> io::Result<()> {
        let mut block = vec![0; 1 << 20];
        let mut position = 0u64;
        loop {
            let read = bytes.read(&mut block)?;
            if read == 0 {
                return Ok(());
            }
            for state in &block[..read] {
                match *state {
                    DONE => {
                        self.done[(position / 64) as usize] |= 1 << (position % 64);
                        self.done_before += 1;
                    }
                    BEGUN => self.note_unknown(position),
                    _ => {}
                }
                position += 1;
            }
        }
    }

    fn note_unknown(&mut self, position: u64) {
        self.unknown_count += 1;
        if let Some(last) = self.unknown.last_mut().filter(|last| last.end == position) {
            last.end += 1;
        } else if self.unknown.len() < UNKNOWN_SHOWN {
            self.unknown.push(position..position + 1);
        }
    }

    /// Cycles that were done before this run.
    pub fn done_before(&self) -> u64 {
        self.done_before
    }

    /// Cycles that were in flight when the run before was cut off: how many, and the first of them as ranges of
    /// positions among the cycles of all passes.
    pub fn unknown(&self) -> (u64, &[Range<u64>]) {
        (self.unknown_count, &self.unknown)
    }

    /// The cycle at this position was done before.
    pub(super) fn was_done(&self, position: u64) -> bool {
        self.done.get((position / 64) as usize).is_some_and(|bits| bits >> (position % 64) & 1 == 1)
    }

    pub(super) fn begin(&self, position: u64) -> Result<(), JournalError> {
        self.write(position, BEGUN)
    }

    pub(super) fn done(&self, position: u64) -> Result<(), JournalError> {
        self.write(position, DONE)
    }

    /// It was not done, and it is known that it was not.
    pub(super) fn undone(&self, position: u64) -> Result<(), JournalError> {
        self.write(position, 0)
    }

    /// A system call of less than a microsecond: it copies one byte into the system's memory.
    fn write(&self, position: u64, state: u8) -> Result<(), JournalError> {
        self.file
            .write_all_at(&[state], HEAD + position)
            .map_err(|source| JournalError::Io { path: self.path.clone(), source })
    }

    /// Another handle to bring what is written to the disk with.
    pub(super) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }
}

/// The first page of the journal of `run`.
fn head(run: &str) -> Vec<u8> {
    let mut head = format!("{MAGIC}{run}\n").into_bytes();
    // What does not fit is told apart by what does, in all but absurd cases.
    head.resize(HEAD as usize, 0);
    head
}

/// The first line in which two heads differ.
fn other_run(path: &Path, there: &[u8], here: &[u8]) -> JournalError {
    let lines = |head: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(head).trim_end_matches('\0').lines().map(str::to_owned).collect()
    };
    let (there, here) = (lines(there), lines(here));
    let differ = there.iter().zip(&here).find(|(there, here)| there != here);
    let (there, here) = match differ {
        Some((there, here)) => (there.clone(), here.clone()),
        None => ("something else".to_owned(), "this".to_owned()),
    };
    JournalError::OtherRun { path: path.to_owned(), there, here }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_known_again_and_what_was_in_flight_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("runs/main.journal");
        let journal = Journal::open(&path, "cycles=0..100", 100).expect("made");
        assert_eq!((journal.done_before(), journal.unknown()), (0, (0, &[][..])));
        for position in [0, 1, 2, 50, 51, 52, 99] {
            journal.begin(position).expect("written");
        }
        for position in [0, 1, 99] {
            journal.done(position).expect("written");
        }
        journal.undone(2).expect("written");
        drop(journal);
        let journal = Journal::open(&path, "cycles=0..100", 100).expect("there");
        assert_eq!(journal.done_before(), 3);
        assert_eq!(journal.unknown(), (3, std::slice::from_ref(&(50..53))));
        let done: Vec<u64> = (0..100).filter(|position| journal.was_done(*position)).collect();
        assert_eq!(done, [0, 1, 99]);
        assert!(!journal.was_done(1000));
    }

    #[test]
    fn the_journal_of_another_run_and_what_is_none_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("main.journal");
        drop(Journal::open(&path, "alias=main\ncycles=0..100", 100).expect("made"));
        let error = Journal::open(&path, "alias=main\ncycles=0..200", 200).expect_err("another run");
        assert!(error.to_string().ends_with("it says cycles=0..100, this one cycles=0..200"), "{error}");
        fs::write(&path, "hello").expect("writable");
        assert!(matches!(Journal::open(&path, "", 1), Err(JournalError::Foreign(_))));
        assert!(matches!(Journal::open(&path, "", u64::MAX), Err(JournalError::TooMany { .. })));
        assert!(matches!(Journal::open(&path.join("x"), "", 1), Err(JournalError::Io { .. })));
    }
}
