//! Results that are read in batches: the pipeline of documents behind a cursor, and the cursors left open.

use super::compare::compare;
use super::error::{CommandError, code};
use super::path::Path;
use super::projection::Projection;
use super::raw::{self, Value, Writer, kind};
use super::scan::{Scan, SortField};
use fjall::Slice;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Documents of a first batch if the command does not say.
pub const FIRST_BATCH: usize = 101;
/// What a batch may have in bytes; one document always fits.
const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// A cursor that nobody asks for that long is closed.
const IDLE: Duration = Duration::from_secs(600);
/// Of more open cursors than this, those that were left alone longest are closed. A load generator reads the
/// first batch of each find and leaves the rest: that must neither stop it nor fill the memory.
const MAX_OPEN: usize = 10_000;
/// What open cursors may hold in memory together, before those that were left alone longest are closed.
const MAX_HELD: usize = 512 * 1024 * 1024;
/// What a sort may hold in memory.
const SORT_BYTES: usize = 100 * 1024 * 1024;

/// A document as it is stored, or made by a projection or a stage.
pub enum Document {
    Stored(Slice),
    Made(Vec<u8>),
}

impl Deref for Document {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Document::Stored(slice) => slice,
            Document::Made(bytes) => bytes,
        }
    }
}

/// Documents one after the other.
pub type Documents = Box<dyn Iterator<Item = Result<Document, CommandError>> + Send>;

/// The documents that a scan finds.
pub fn scanned(mut scan: Scan) -> Documents {
    Box::new(std::iter::from_fn(move || match scan.next() {
        Ok(Some(found)) => Some(Ok(Document::Stored(found.document))),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    }))
}

/// Bytes of all results that lie in memory.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Counts as held for as long as it lives.
struct Held(usize);

impl Held {
    fn of<'d>(documents: impl Iterator<Item = &'d [u8]>) -> Held {
        let bytes = documents.map(<[u8]>::len).sum();
        HELD.fetch_add(bytes, Relaxed);
        Held(bytes)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0, Relaxed);
    }
}

/// No documents.
pub fn nothing() -> Documents {
    Box::new(std::iter::empty())
}

/// Documents that have been made already.
pub fn made(documents: Vec<Vec<u8>>) -> Documents {
    let held = Held::of(documents.iter().map(Vec::as_slice));
    Box::new(documents.into_iter().map(move |document| {
        let _ = &held;
        Ok(Document::Made(document))
    }))
}

/// Parses a `sort` document.
///
/// # Errors
/// Directions other than 1 and -1.
pub fn parse_sort(document: &[u8]) -> Result<Vec<SortField>, CommandError> {
    raw::elements(document)
        .map(|field| {
            let name = field.name_str();
            if name.starts_with('$') && name != "$natural" {
                return Err(CommandError::new(
                    code::BAD_VALUE,
                    format!("FieldPath field names may not start with '$'. Found: {name}"),
                ));
            }
            match field.value.as_i64() {
                Some(direction @ (1 | -1)) => Ok(SortField { path: Path::new(name), ascending: direction == 1 }),
                _ if field.value.is_document() => {
                    Err(CommandError::not_implemented(format_args!("sorting by {}", field.value.shown())))
                }
                _ => Err(CommandError::new(
                    code::BAD_VALUE,
                    format!(
                        "$sort key ordering must be 1 (for ascending) or -1 (for descending), found {} for {name}",
                        field.value.shown()
                    ),
                )),
            }
        })
        .collect()
}

/// Sorts in memory; with a limit it keeps no more than it needs.
///
/// # Errors
/// More than 100 MB to keep.
pub fn sort(
    documents: Documents,
    fields: &[SortField],
    limit: Option<usize>,
) -> Result<Documents, CommandError> {
    let order = |a: &Document, b: &Document| {
        fields
            .iter()
            .map(|field| {
                let ordering = compare(sort_key(a, field), sort_key(b, field));
                if field.ascending { ordering } else { ordering.reverse() }
            })
            .find(|ordering| *ordering != Ordering::Equal)
            .unwrap_or(Ordering::Equal)
    };
    let mut kept: Vec<Document> = Vec::new();
    let mut bytes = 0;
    for document in documents {
        let document = document?;
        bytes += document.len();
        kept.push(document);
        let full = bytes > SORT_BYTES;
        if let Some(limit) = limit
            && (full || kept.len() >= limit.saturating_mul(2).max(1000))
        {
            kept.sort_by(order);
            kept.truncate(limit);
            bytes = kept.iter().map(|document| document.len()).sum();
        }
        if bytes > SORT_BYTES {
            return Err(CommandError::new(
                code::EXCEEDED_MEMORY_LIMIT,
                format!(
                    "Sort exceeded memory limit of {SORT_BYTES} bytes; the embedded server sorts in memory only: \
                     sort by an index or give a limit"
                ),
            ));
        }
    }
    kept.sort_by(order);
    kept.truncate(limit.unwrap_or(usize::MAX));
    let held = Held::of(kept.iter().map(Deref::deref));
    Ok(Box::new(kept.into_iter().map(move |document| {
        let _ = &held;
        Ok(document)
    })))
}

/// What a document is sorted by: of an array the smallest item going up, the greatest going down.
fn sort_key<'d>(document: &'d [u8], field: &SortField) -> Value<'d> {
    let (values, _) = field.path.indexed(document);
    let smaller = |a: Value<'d>, b: Value<'d>| {
        let first = compare(a, b) != Ordering::Greater;
        if first == field.ascending { a } else { b }
    };
    values.into_iter().reduce(smaller).unwrap_or(raw::NULL)
}

/// An open result.
pub struct Cursor {
    pub namespace: String,
    documents: Documents,
    projection: Option<Projection>,
    /// Read from `documents` but not given out yet.
    ahead: Option<Document>,
    used: Instant,
    no_timeout: bool,
    /// Its place among the open cursors, in the order of their use.
    turn: u64,
}

impl Cursor {
    pub fn new(
        namespace: String,
        documents: Documents,
        projection: Option<Projection>,
        no_timeout: bool,
    ) -> Cursor {
        let used = Instant::now();
        Cursor { namespace, documents, projection, ahead: None, used, no_timeout, turn: 0 }
    }

    /// Appends up to `count` documents to an array, and says whether more are left.
    ///
    /// # Errors
    /// Whatever finding them brings up.
    pub fn fill(&mut self, array: &mut Writer<'_>, count: usize) -> Result<bool, CommandError> {
        let start = array.buffer.len();
        let mut written = 0;
        let mut name = itoa(0);
        loop {
            let document = match self.ahead.take() {
                Some(document) => document,
                None => match self.documents.next() {
                    None => return Ok(false),
                    Some(document) => {
                        let document = document?;
                        match &self.projection {
                            None => document,
                            Some(projection) => Document::Made(projection.apply(&document)),
                        }
                    }
                },
            };
            let full = written > 0 && array.buffer.len() - start + document.len() > BATCH_BYTES;
            if written >= count || full {
                self.ahead = Some(document);
                return Ok(true);
            }
            array.value(&name, Value { kind: kind::DOCUMENT, bytes: &document });
            written += 1;
            name = itoa(written);
        }
    }
}

fn itoa(number: usize) -> String {
    number.to_string()
}

/// The cursors that wait for a `getMore`.
#[derive(Default)]
pub struct Cursors {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    cursors: HashMap<i64, Cursor>,
    /// Those that may be closed, the one left alone longest first.
    turns: BTreeMap<u64, i64>,
    next_turn: u64,
}

impl Open {
    fn insert(&mut self, id: i64, mut cursor: Cursor) {
        self.next_turn += 1;
        cursor.turn = self.next_turn;
        if !cursor.no_timeout {
            self.turns.insert(cursor.turn, id);
        }
        self.cursors.insert(id, cursor);
    }

    fn remove(&mut self, id: i64) -> Option<Cursor> {
        let cursor = self.cursors.remove(&id)?;
        self.turns.remove(&cursor.turn);
        Some(cursor)
    }

    /// Closes the one left alone longest; whether there was one.
    fn close_oldest(&mut self) -> bool {
        let oldest = self.turns.first_key_value().map(|(_, id)| *id);
        oldest.is_some_and(|id| self.remove(id).is_some())
    }
}

impl Cursors {
    /// Keeps a cursor and gives its number, which is never 0. If too many are open, or hold too much, others
    /// are closed: whoever asks for one of them is told CursorNotFound, as after its ten minutes.
    ///
    /// # Errors
    /// Too many are open that must not be closed.
    pub fn keep(&self, cursor: Cursor) -> Result<i64, CommandError> {
        let mut open = self.lock();
        while open.cursors.len() >= MAX_OPEN {
            if !open.close_oldest() {
                return Err(CommandError::new(
                    code::INTERNAL_ERROR,
                    format!(
                        "{MAX_OPEN} cursors with noCursorTimeout are open: close them, or read them to their end"
                    ),
                ));
            }
        }
        while HELD.load(Relaxed) > MAX_HELD && open.close_oldest() {}
        loop {
            let id = i64::from_ne_bytes(rand::random::<[u8; 8]>()) & i64::MAX;
            if id != 0 && !open.cursors.contains_key(&id) {
                open.insert(id, cursor);
                return Ok(id);
            }
        }
    }

    /// Takes a cursor out to read on.
    ///
    /// # Errors
    /// CursorNotFound; a namespace that is not the cursor's.
    pub fn take(&self, id: i64, namespace: &str) -> Result<Cursor, CommandError> {
        let mut open = self.lock();
        match open.cursors.get(&id) {
            Some(cursor) if cursor.namespace != namespace => Err(CommandError::new(
                code::UNAUTHORIZED,
                format!(
                    "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                    cursor.namespace
                ),
            )),
            _ => open.remove(id).ok_or_else(|| {
                CommandError::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found"))
            }),
        }
    }

    /// Puts a cursor back under its number.
    pub fn put_back(&self, id: i64, mut cursor: Cursor) {
        cursor.used = Instant::now();
        self.lock().insert(id, cursor);
    }

    /// Closes a cursor; whether it was open.
    pub fn close(&self, id: i64) -> bool {
        self.lock().remove(id).is_some()
    }

    pub fn count(&self) -> usize {
        self.lock().cursors.len()
    }

    /// Closes those that nobody has asked for in ten minutes.
    pub fn close_idle(&self) {
        let mut open = self.lock();
        let idle = |open: &Open| {
            let (_, id) = open.turns.first_key_value()?;
            open.cursors.get(id).map(|cursor| cursor.used.elapsed() >= IDLE)
        };
        while idle(&open) == Some(true) && open.close_oldest() {}
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(no_timeout: bool) -> Cursor {
        Cursor::new("d.c".to_owned(), nothing(), None, no_timeout)
    }

    #[test]
    fn cursors_left_open_give_way_to_new_ones_and_those_that_are_read_stay() {
        let cursors = Cursors::default();
        let lasting = cursors.keep(cursor(true)).unwrap();
        let forgotten = cursors.keep(cursor(false)).unwrap();
        let read = cursors.keep(cursor(false)).unwrap();
        for _ in 0..MAX_OPEN - 3 {
            cursors.keep(cursor(false)).unwrap();
        }
        cursors.put_back(read, cursors.take(read, "d.c").unwrap());
        for _ in 0..10 {
            cursors.keep(cursor(false)).unwrap();
        }
        assert_eq!(cursors.count(), MAX_OPEN);
        assert_eq!(cursors.take(forgotten, "d.c").err().map(|e| e.code), Some(code::CURSOR_NOT_FOUND));
        assert!(cursors.take(read, "d.c").is_ok());
        assert!(cursors.take(lasting, "d.c").is_ok());
    }

    #[test]
    fn cursors_that_must_not_be_closed_are_bounded_too() {
        let cursors = Cursors::default();
        for _ in 0..MAX_OPEN {
            cursors.keep(cursor(true)).unwrap();
        }
        assert_eq!(cursors.keep(cursor(false)).err().map(|e| e.code), Some(code::INTERNAL_ERROR));
    }

    #[test]
    fn cursors_left_open_hold_no_more_memory_than_is_allowed() {
        let cursors = Cursors::default();
        // A document's bytes are not looked at here: zeros that nobody touches cost no memory.
        let size = MAX_HELD / 4;
        for _ in 0..10 {
            let documents = made(vec![vec![0; size]]);
            cursors.keep(Cursor::new("d.c".to_owned(), documents, None, false)).unwrap();
        }
        assert!((1..=5).contains(&cursors.count()), "{}", cursors.count());
    }
}
