//! Results that are read in batches: the pipeline of documents behind a cursor, and the cursors left open.

use super::compare::compare;
use super::error::{CommandError, code};
use super::path::Path;
use super::projection::Projection;
use super::raw::{self, Value, Writer, kind};
use super::scan::{Scan, SortField};
use fjall::Slice;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Documents of a first batch if the command does not say.
pub const FIRST_BATCH: usize = 101;
/// What a batch may have in bytes; one document always fits.
const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// A cursor that nobody asks for that long is closed.
const IDLE: Duration = Duration::from_secs(600);
/// More open cursors than this are a leak of the client.
const MAX_OPEN: usize = 10_000;
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

/// No documents.
pub fn nothing() -> Documents {
    Box::new(std::iter::empty())
}

/// Documents that have been made already.
pub fn made(documents: Vec<Vec<u8>>) -> Documents {
    Box::new(documents.into_iter().map(|document| Ok(Document::Made(document))))
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
    Ok(Box::new(kept.into_iter().map(Ok)))
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
}

impl Cursor {
    pub fn new(
        namespace: String,
        documents: Documents,
        projection: Option<Projection>,
        no_timeout: bool,
    ) -> Cursor {
        Cursor { namespace, documents, projection, ahead: None, used: Instant::now(), no_timeout }
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
    open: Mutex<HashMap<i64, Cursor>>,
}

impl Cursors {
    /// Keeps a cursor and gives its number, which is never 0.
    ///
    /// # Errors
    /// Too many are open.
    pub fn keep(&self, cursor: Cursor) -> Result<i64, CommandError> {
        let mut open = self.lock();
        if open.len() >= MAX_OPEN {
            return Err(CommandError::new(
                code::INTERNAL_ERROR,
                format!("{MAX_OPEN} cursors are open: close them, or read them to their end"),
            ));
        }
        loop {
            let id = i64::from_ne_bytes(rand::random::<[u8; 8]>()) & i64::MAX;
            if id != 0 && !open.contains_key(&id) {
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
        match open.get(&id) {
            None => Err(CommandError::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found"))),
            Some(cursor) if cursor.namespace != namespace => Err(CommandError::new(
                code::UNAUTHORIZED,
                format!(
                    "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                    cursor.namespace
                ),
            )),
            Some(_) => {
                open.remove(&id).ok_or_else(|| CommandError::new(code::CURSOR_NOT_FOUND, "cursor is gone"))
            }
        }
    }

    /// Puts a cursor back under its number.
    pub fn put_back(&self, id: i64, mut cursor: Cursor) {
        cursor.used = Instant::now();
        self.lock().insert(id, cursor);
    }

    /// Closes a cursor; whether it was open.
    pub fn close(&self, id: i64) -> bool {
        self.lock().remove(&id).is_some()
    }

    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Closes those that nobody has asked for in ten minutes.
    pub fn close_idle(&self) {
        self.lock().retain(|_, cursor| cursor.no_timeout || cursor.used.elapsed() < IDLE);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Cursor>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
