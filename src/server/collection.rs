//! One collection: its documents under their `_id`, its indexes, and the only way to change both.

use super::error::{CommandError, code};
use super::key::{self, MAX_KEY_BYTES};
use super::path::Path;
use super::raw::{self, Value, Writer, kind};
use super::schema::Schema;
use super::store::Store;
use fjall::{Keyspace, Slice};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A collection. Documents are kept in the order of their `_id`s, so the `_id` index is the store itself.
pub struct Collection {
    /// `database.collection`, as error messages have it.
    pub namespace: String,
    pub database: String,
    pub name: String,
    /// The number in the names of its keyspaces.
    pub id: u64,
    pub documents: Keyspace,
    /// What `create` was given of options that are kept: a document.
    pub options: Vec<u8>,
    pub validation: Option<Validation>,
    indexes: RwLock<Arc<Vec<Arc<Index>>>>,
    write: Mutex<WriteState>,
}

/// A validator and how it is applied.
pub struct Validation {
    pub schema: Schema,
    /// `moderate`: updates of documents that did not fit before are let through.
    pub moderate: bool,
    /// `warn`: nothing is refused.
    pub warn: bool,
}

/// A secondary index: entries are the encoded field values, followed by the document's key where they may
/// repeat.
pub struct Index {
    pub name: String,
    /// The key pattern as it was given: a document.
    pub pattern: Vec<u8>,
    pub fields: Vec<IndexField>,
    pub unique: bool,
    /// Whether any document had an array in an indexed field: then a document has several entries.
    pub multikey: AtomicBool,
    pub id: u64,
    pub entries: Keyspace,
}

/// One field of a key pattern.
pub struct IndexField {
    pub path: Path,
    pub ascending: bool,
}

struct WriteState {
    dropped: bool,
    /// How many documents there are, once somebody asked.
    count: Option<u64>,
}

/// A document ready to be stored: `_id` first, checked, with its key.
pub struct Prepared {
    pub key: Vec<u8>,
    pub document: Slice,
}

/// The right to change a collection; nobody else changes it meanwhile.
pub struct Writing<'c> {
    store: &'c Store,
    collection: &'c Collection,
    indexes: Arc<Vec<Arc<Index>>>,
    state: MutexGuard<'c, WriteState>,
}

/// The collection was dropped between finding it and changing it.
#[derive(Debug)]
pub struct Dropped;

impl Collection {
    #[allow(clippy::too_many_arguments, reason = "the fields of a catalog entry, given once")]
    pub fn new(
        database: &str,
        name: &str,
        id: u64,
        documents: Keyspace,
        options: Vec<u8>,
        validation: Option<Validation>,
        indexes: Vec<Arc<Index>>,
        empty: bool,
    ) -> Collection {
        Collection {
            namespace: format!("{database}.{name}"),
            database: database.to_owned(),
            name: name.to_owned(),
            id,
            documents,
            options,
            validation,
            indexes: RwLock::new(Arc::new(indexes)),
            write: Mutex::new(WriteState { dropped: false, count: empty.then_some(0) }),
        }
    }

    pub fn indexes(&self) -> Arc<Vec<Arc<Index>>> {
        self.indexes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The `clusteredIndex` that `create` was given.
    pub fn clustered(&self) -> Option<Value<'_>> {
        raw::get(&self.options, b"clusteredIndex")
    }

    /// Waits for the right to write.
    pub fn write<'c>(&'c self, store: &'c Store) -> Result<Writing<'c>, Dropped> {
        let state = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        if state.dropped {
            return Err(Dropped);
        }
        Ok(Writing { store, collection: self, indexes: self.indexes(), state })
    }

    /// How many documents there are. The first call after a start counts them.
    pub fn count(&self) -> Result<u64, CommandError> {
        let mut state = self.write.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = state.count {
            return Ok(count);
        }
        let mut count = 0;
        for item in self.documents.iter() {
            item.key()?;
            count += 1;
        }
        state.count = Some(count);
        Ok(count)
    }

    /// From now on nothing is written.
    pub fn mark_dropped(&self) {
        self.write.lock().unwrap_or_else(PoisonError::into_inner).dropped = true;
    }

    /// Holds a new or changed document to the validator.
    ///
    /// # Errors
    /// DocumentValidationFailure with MongoDB's details.
    pub fn validate(&self, document: &[u8], before: Option<&[u8]>) -> Result<(), CommandError> {
        let Some(Validation { schema, moderate, warn: false }) = &self.validation else { return Ok(()) };
        let Some(details) = schema.explain(document) else { return Ok(()) };
        if *moderate && before.is_some_and(|before| schema.explain(before).is_some()) {
            return Ok(());
        }
        let id = raw::get(document, b"_id").unwrap_or(raw::NULL);
        Err(CommandError::new(code::DOCUMENT_VALIDATION_FAILURE, "Document failed validation").with_details(
            raw::document(|w| {
                w.document("errInfo", |w| {
                    w.value("failingDocumentId", id)
                        .value("details", Value { kind: kind::DOCUMENT, bytes: &details });
                });
            }),
        ))
    }
}

/// Checks `_id` and size and puts `_id` first; a missing one is made.
///
/// # Errors
/// An `_id` of a type that cannot be one, or without a key; a document that is too long.
pub fn prepare(document: &[u8]) -> Result<Prepared, CommandError> {
    let id = raw::elements(document).enumerate().find(|(_, element)| element.name == b"_id");
    let mut key = Vec::with_capacity(32);
    let document = match &id {
        Some((position, element)) => {
            encode_id(element.value, &mut key)?;
            if *position == 0 {
                Slice::new(document)
            } else {
                Slice::from(raw::document(|w| {
                    w.element(element);
                    raw::elements(document).filter(|other| other.name != b"_id").for_each(|other| {
                        w.element(&other);
                    });
                }))
            }
        }
        None => {
            let id = bson::oid::ObjectId::new().bytes();
            let value = Value { kind: kind::OBJECT_ID, bytes: &id };
            encode_id(value, &mut key)?;
            let mut front = Vec::with_capacity(21);
            front.extend_from_slice(&(document.len() as i32 + 17).to_le_bytes());
            front.push(kind::OBJECT_ID);
            front.extend_from_slice(b"_id\0");
            front.extend_from_slice(&id);
            // One copy, straight into what the store keeps.
            Slice::from_reader(&mut front.chain(&document[4..]), document.len() + 17)
                .map_err(|error| CommandError::new(code::INTERNAL_ERROR, error.to_string()))?
        }
    };
    check_size(&document)?;
    Ok(Prepared { key, document })
}

/// The longest document that can be stored.
pub fn check_size(document: &[u8]) -> Result<(), CommandError> {
    use crate::wire::MAX_DOCUMENT_BYTES;
    if document.len() > MAX_DOCUMENT_BYTES {
        return Err(CommandError::new(
            code::OBJECT_TOO_LARGE,
            format!("object too large. size in bytes: {}, max size: {MAX_DOCUMENT_BYTES}", document.len()),
        ));
    }
    Ok(())
}

/// Appends the key under which the document of that `_id` is kept.
pub fn encode_id(id: Value<'_>, key: &mut Vec<u8>) -> Result<(), CommandError> {
    if matches!(id.kind, kind::ARRAY | kind::REGEX | kind::UNDEFINED) {
        return Err(CommandError::new(
            code::INVALID_ID_FIELD,
            format!("The '_id' value cannot be of type {}", id.type_name()),
        ));
    }
    key::encode(id, key)?;
    // An index entry holds its fields and this key.
    if key.len() > MAX_KEY_BYTES / 2 {
        return Err(CommandError::new(
            code::KEY_TOO_LONG,
            format!("_id of {} bytes is too long for the embedded server (32500 are not)", key.len()),
        ));
    }
    Ok(())
}

impl Index {
    /// The keys of the document's entries without the document's own key.
    fn keys(&self, document: &[u8]) -> Result<(Vec<Vec<u8>>, bool), CommandError> {
        let mut keys = vec![Vec::with_capacity(32)];
        let mut multikey = None;
        for field in &self.fields {
            let (values, array) = field.path.indexed(document);
            if array && let Some(first) = multikey.replace(field.path.as_str()) {
                return Err(CommandError::new(
                    code::CANNOT_INDEX_PARALLEL_ARRAYS,
                    format!("cannot index parallel arrays [{}] [{first}]", field.path.as_str()),
                ));
            }
            if let [value] = values[..] {
                for key in &mut keys {
                    field.encode(value, key)?;
                }
            } else {
                let mut product = Vec::with_capacity(keys.len() * values.len());
                for key in keys {
                    for value in &values {
                        let mut longer = key.clone();
                        field.encode(*value, &mut longer)?;
                        product.push(longer);
                    }
                }
                keys = product;
            }
        }
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup();
        }
        if let Some(key) = keys.iter().find(|key| key.len() > MAX_KEY_BYTES / 2) {
            return Err(CommandError::new(
                code::KEY_TOO_LONG,
                format!(
                    "key of {} bytes is too long for index {} in the embedded server (32500 are not)",
                    key.len(),
                    self.name
                ),
            ));
        }
        Ok((keys, multikey.is_some()))
    }

    /// The store's key and value of an entry.
    fn entry(&self, mut key: Vec<u8>, id: &[u8]) -> (Vec<u8>, Slice) {
        if self.unique {
            return (key, Slice::new(id));
        }
        key.extend_from_slice(id);
        key.extend_from_slice(&(id.len() as u16).to_be_bytes());
        (key, Slice::empty())
    }

    /// The document's key that an entry leads to.
    pub fn document_key(&self, entry: &[u8], value: &Slice) -> Option<Slice> {
        if self.unique {
            return Some(value.clone());
        }
        let (rest, length) = entry.split_last_chunk::<2>()?;
        let start = rest.len().checked_sub(usize::from(u16::from_be_bytes(*length)))?;
        Some(Slice::new(&rest[start..]))
    }

    fn duplicate(&self, namespace: &str, document: &[u8]) -> CommandError {
        let values: Vec<(&str, Value<'_>)> = self
            .fields
            .iter()
            .map(|field| {
                let value = field.path.indexed(document).0.first().copied().unwrap_or(raw::NULL);
                (field.path.as_str(), value)
            })
            .collect();
        duplicate_key(namespace, &self.name, &self.pattern, &values)
    }
}

impl IndexField {
    pub fn encode(&self, value: Value<'_>, key: &mut Vec<u8>) -> Result<(), CommandError> {
        if self.ascending {
            key::encode(value, key)?
        } else {
            key::encode_descending(value, key)?
        }
        Ok(())
    }
}

fn duplicate_key(namespace: &str, index: &str, pattern: &[u8], values: &[(&str, Value<'_>)]) -> CommandError {
    let shown: Vec<String> =
        values.iter().map(|(name, value)| format!("{name}: {}", value.shown())).collect();
    let message = format!(
        "E11000 duplicate key error collection: {namespace} index: {index} dup key: {{ {} }}",
        shown.join(", ")
    );
    CommandError::new(code::DUPLICATE_KEY, message).with_details(raw::document(|w| {
        w.value("keyPattern", Value { kind: kind::DOCUMENT, bytes: pattern }).document("keyValue", |w| {
            for (name, value) in values {
                w.value(name, *value);
            }
        });
    }))
}

impl Writing<'_> {
    /// Adds a document.
    ///
    /// # Errors
    /// DuplicateKey; a value that an index cannot take; the store.
    pub fn insert(&mut self, prepared: Prepared) -> Result<(), CommandError> {
        let Prepared { key, document } = prepared;
        let documents = &self.collection.documents;
        if documents.contains_key(&key)? {
            let id = raw::get(&document, b"_id").unwrap_or(raw::NULL);
            let pattern = raw::document(|w| {
                w.i32("_id", 1);
            });
            return Err(duplicate_key(&self.collection.namespace, "_id_", &pattern, &[("_id", id)]));
        }
        let mut batch = self.store.batch();
        for index in self.indexes.iter() {
            let (keys, multikey) = index.keys(&document)?;
            for entry in keys {
                if index.unique && index.entries.contains_key(&entry)? {
                    return Err(index.duplicate(&self.collection.namespace, &document));
                }
                let (entry, value) = index.entry(entry, &key);
                batch.insert(&index.entries, entry, value);
            }
            self.note_multikey(index, multikey)?;
        }
        batch.insert(documents, key, document);
        batch.commit()?;
        if let Some(count) = &mut self.state.count {
            *count += 1;
        }
        Ok(())
    }

    /// Puts `new` in the place of `old`, which has the same `_id`.
    ///
    /// # Errors
    /// As [`Writing::insert`].
    pub fn replace(&mut self, key: &[u8], old: &[u8], new: Slice) -> Result<(), CommandError> {
        let mut batch = self.store.batch();
        for index in self.indexes.iter() {
            let (before, _) = index.keys(old)?;
            let (after, multikey) = index.keys(&new)?;
            if before == after {
                continue;
            }
            for entry in before.iter().filter(|entry| !after.contains(entry)) {
                batch.remove(&index.entries, index.entry(entry.clone(), key).0);
            }
            for entry in after.into_iter().filter(|entry| !before.contains(entry)) {
                if index.unique && index.entries.contains_key(&entry)? {
                    return Err(index.duplicate(&self.collection.namespace, &new));
                }
                let (entry, value) = index.entry(entry, key);
                batch.insert(&index.entries, entry, value);
            }
            self.note_multikey(index, multikey)?;
        }
        batch.insert(&self.collection.documents, key, new);
        batch.commit()?;
        Ok(())
    }

    /// Takes a document away.
    pub fn remove(&mut self, key: &[u8], old: &[u8]) -> Result<(), CommandError> {
        let mut batch = self.store.batch();
        for index in self.indexes.iter() {
            for entry in index.keys(old)?.0 {
                batch.remove(&index.entries, index.entry(entry, key).0);
            }
        }
        batch.remove(&self.collection.documents, key);
        batch.commit()?;
        if let Some(count) = &mut self.state.count {
            *count = count.saturating_sub(1);
        }
        Ok(())
    }

    /// The document of that key as it is now.
    pub fn current(&self, key: &[u8]) -> Result<Option<Slice>, CommandError> {
        Ok(self.collection.documents.get(key)?)
    }

    /// Fills a new index from the documents that are there, then makes it one of the collection's.
    ///
    /// # Errors
    /// DuplicateKey for a unique index; values that it cannot take. Then nothing is changed.
    pub fn add_index(&mut self, index: Arc<Index>) -> Result<(), CommandError> {
        const BATCH: usize = 1_000;
        let mut batch = self.store.batch();
        for item in self.collection.documents.iter() {
            let (key, document) = item.into_inner()?;
            let (keys, multikey) = index.keys(&document)?;
            if multikey {
                index.multikey.store(true, Ordering::Relaxed);
            }
            for entry in keys {
                if index.unique && index.entries.contains_key(&entry)? {
                    return Err(index.duplicate(&self.collection.namespace, &document));
                }
                let (entry, value) = index.entry(entry, &key);
                batch.insert(&index.entries, entry, value);
            }
            // A unique index must see each entry when it looks for the next.
            if index.unique || batch.len() >= BATCH {
                batch.commit()?;
                batch = self.store.batch();
            }
        }
        batch.commit()?;
        let mut indexes = (*self.indexes).clone();
        indexes.push(index);
        self.indexes = Arc::new(indexes);
        *self.collection.indexes.write().unwrap_or_else(PoisonError::into_inner) = self.indexes.clone();
        self.store.save(self.collection)
    }

    /// The first array in an indexed field changes how the index may be used; that must be known after a
    /// restart too, so it is written before the entries are.
    fn note_multikey(&self, index: &Index, multikey: bool) -> Result<(), CommandError> {
        if multikey && !index.multikey.swap(true, Ordering::SeqCst) {
            self.store.save(self.collection)?;
        }
        Ok(())
    }
}

impl Index {
    /// Writes the index as `listIndexes` shows it.
    pub fn describe(&self, out: &mut Writer<'_>) {
        out.i32("v", 2)
            .value("key", Value { kind: kind::DOCUMENT, bytes: &self.pattern })
            .str("name", &self.name);
        if self.unique {
            out.bool("unique", true);
        }
    }
}
