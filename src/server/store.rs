//! The data directory: its lock, the fjall database in it, and the catalog of collections.

use super::ServerError;
use super::collection::{Collection, Index, IndexField, Validation};
use super::durability::Durability;
use super::error::{CommandError, code};
use super::path::Path as FieldPath;
use super::raw::{self, Value, kind};
use super::schema::Schema;
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Database, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, OwnedWriteBatch,
    PersistMode,
};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The file that marks a data directory of nbrs and is locked by who uses it.
const MARKER: &str = "nbrs-data";
/// Where in the data directory the database is.
const STORE: &str = "store";

/// What bounds the memory of a load: a memtable of the documents, of which some may wait to be flushed.
const DOCUMENTS_MEMTABLE: u64 = 24 << 20;
const INDEX_MEMTABLE: u64 = 8 << 20;
const CACHE: u64 = 64 << 20;
/// What a start may have to replay.
const JOURNALS: u64 = 256 << 20;
/// Documents from this size on are kept beside the tree, so that compaction does not copy them.
const SEPARATE_FROM: u32 = 4 << 10;

type Databases = BTreeMap<String, BTreeMap<String, Arc<Collection>>>;

/// An open data directory.
pub struct Store {
    database: Database,
    catalog: Keyspace,
    databases: RwLock<Databases>,
    /// Held while collections and indexes are made and dropped.
    changing: Mutex<()>,
    next_id: AtomicU64,
    pub durability: Durability,
    /// Last: the directory is free when everything above is closed.
    _lock: Lock,
}

/// What `create` may say about a collection.
#[derive(Default)]
pub struct CollectionOptions {
    /// The options that are kept, as `listCollections` shows them; empty: none.
    pub options: Vec<u8>,
}

/// What `createIndexes` says about one index.
pub struct IndexSpec {
    pub name: String,
    pub pattern: Vec<u8>,
    pub unique: bool,
}

impl Store {
    /// Opens the data directory, makes it if it is not there.
    ///
    /// # Errors
    /// [`ServerError::InUse`] if another process has it; a directory with other things in it; the store's own.
    pub fn open(data_dir: &Path) -> Result<Store, ServerError> {
        let lock = lock(data_dir, true)?;
        let store = |error: fjall::Error| {
            ServerError::Store(format!("the data in {} cannot be opened: {error}", data_dir.display()))
        };
        let database = Database::builder(data_dir.join(STORE))
            .cache_size(CACHE)
            .max_journaling_size(JOURNALS)
            .journal_compression(CompressionType::None)
            // `Durability` decides what goes to disk when.
            .manual_journal_persist(true)
            .open()
            .map_err(store)?;
        let catalog = database
            .keyspace("catalog", || KeyspaceCreateOptions::default().max_memtable_size(1 << 20))
            .map_err(store)?;
        let durability = Durability::start(database.clone(), &data_dir.join(STORE))
            .map_err(|source| ServerError::Io { what: "no thread for", path: data_dir.to_owned(), source })?;
        let mut opened = Store {
            database,
            catalog,
            databases: RwLock::new(Databases::new()),
            changing: Mutex::new(()),
            next_id: AtomicU64::new(1),
            durability,
            _lock: lock,
        };
        opened.load().map_err(|error| {
            ServerError::Store(format!(
                "the catalog in {} cannot be read: {}",
                data_dir.display(),
                error.message
            ))
        })?;
        Ok(opened)
    }

    /// Reads the catalog, and removes what a crash left half made.
    fn load(&mut self) -> Result<(), CommandError> {
        let broken = || CommandError::new(code::INTERNAL_ERROR, "an entry is not what it should be");
        let mut known: HashSet<String> = HashSet::from(["catalog".to_owned()]);
        let mut highest = 0;
        let mut databases = Databases::new();
        for item in self.catalog.iter() {
            let (key, entry) = item.into_inner()?;
            let key = std::str::from_utf8(&key).map_err(|_| broken())?;
            let (database, name) = key.split_once('\0').ok_or_else(broken)?;
            let id = raw::get(&entry, b"id").and_then(Value::as_i64).ok_or_else(broken)? as u64;
            highest = highest.max(id);
            known.insert(documents_name(id));
            let options =
                raw::get(&entry, b"options").and_then(Value::as_document).ok_or_else(broken)?.to_vec();
            let mut indexes = Vec::new();
            for item in raw::get(&entry, b"indexes").ok_or_else(broken)?.elements() {
                let index = item.value.as_document().ok_or_else(broken)?;
                let id = raw::get(index, b"id").and_then(Value::as_i64).ok_or_else(broken)? as u64;
                highest = highest.max(id);
                known.insert(entries_name(id));
                let spec = IndexSpec {
                    name: raw::get(index, b"name").and_then(Value::as_str).ok_or_else(broken)?.to_owned(),
                    pattern: raw::get(index, b"key")
                        .and_then(Value::as_document)
                        .ok_or_else(broken)?
                        .to_vec(),
                    unique: raw::get(index, b"unique").and_then(Value::as_bool).unwrap_or_default(),
                };
                let index_entry = self.index(id, spec)?;
                let multikey = raw::get(index, b"multikey").and_then(Value::as_bool).unwrap_or_default();
                index_entry.multikey.store(multikey, Ordering::Relaxed);
                indexes.push(Arc::new(index_entry));
            }
            let collection = self.collection_from(database, name, id, options, indexes, false)?;
            databases.entry(database.to_owned()).or_default().insert(name.to_owned(), Arc::new(collection));
        }
        for name in self.database.list_keyspace_names() {
            if !known.contains(&*name) {
                let keyspace = self.database.keyspace(&name, KeyspaceCreateOptions::default)?;
                self.database.delete_keyspace(keyspace)?;
            }
        }
        self.next_id = AtomicU64::new(highest + 1);
        self.databases = RwLock::new(databases);
        Ok(())
    }

    pub fn batch(&self) -> OwnedWriteBatch {
        self.database.batch()
    }

    pub fn snapshot(&self) -> fjall::Snapshot {
        self.database.snapshot()
    }

    pub fn collection(&self, database: &str, name: &str) -> Option<Arc<Collection>> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        databases.get(database)?.get(name).cloned()
    }

    /// The collection, made if it is not there.
    pub fn collection_or_new(&self, database: &str, name: &str) -> Result<Arc<Collection>, CommandError> {
        if let Some(collection) = self.collection(database, name) {
            return Ok(collection);
        }
        let changing = self.changing();
        match self.collection(database, name) {
            Some(collection) => Ok(collection),
            None => self.make(&changing, database, name, CollectionOptions::default()),
        }
    }

    /// Makes a collection. One that is there with the same options is left as it is, as in MongoDB since 7.0.
    ///
    /// # Errors
    /// NamespaceExists if it is there with other options; options that cannot be kept.
    pub fn create(&self, database: &str, name: &str, options: CollectionOptions) -> Result<(), CommandError> {
        let changing = self.changing();
        let Some(there) = self.collection(database, name) else {
            return self.make(&changing, database, name, options).map(drop);
        };
        let document = |bytes| Value { kind: kind::DOCUMENT, bytes };
        if same_options(&there.options, &options.options) {
            return Ok(());
        }
        Err(CommandError::new(
            code::NAMESPACE_EXISTS,
            format!(
                "namespace {database}.{name} already exists, but with different options: {}",
                document(&there.options).shown()
            ),
        ))
    }

    fn make(
        &self,
        _changing: &MutexGuard<'_, ()>,
        database: &str,
        name: &str,
        options: CollectionOptions,
    ) -> Result<Arc<Collection>, CommandError> {
        let CollectionOptions { options } = options;
        let options = if options.is_empty() { raw::document(|_| {}) } else { options };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let collection = Arc::new(self.collection_from(database, name, id, options, Vec::new(), true)?);
        self.save(&collection)?;
        self.databases
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(database.to_owned())
            .or_default()
            .insert(name.to_owned(), collection.clone());
        Ok(collection)
    }

    /// Removes a collection with its indexes; how many indexes it had, the one of `_id` included.
    pub fn drop_collection(&self, database: &str, name: &str) -> Result<Option<usize>, CommandError> {
        let _changing = self.changing();
        let removed = {
            let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
            let Some(collections) = databases.get_mut(database) else { return Ok(None) };
            let Some(collection) = collections.remove(name) else { return Ok(None) };
            if collections.is_empty() {
                databases.remove(database);
            }
            collection
        };
        removed.mark_dropped();
        let mut batch = self.batch();
        batch.remove(&self.catalog, catalog_key(database, name));
        batch.commit()?;
        // The catalog first: what is left of a crash between the two is removed at the next start.
        self.database.persist(PersistMode::SyncData)?;
        let indexes = removed.indexes();
        for index in indexes.iter() {
            self.database.delete_keyspace(index.entries.clone())?;
        }
        self.database.delete_keyspace(removed.documents.clone())?;
        Ok(Some(indexes.len() + 1))
    }

    /// Adds indexes to a collection; how many it had and has, and whether it had to be made.
    ///
    /// # Errors
    /// Conflicts with indexes that are there; what filling them brings up.
    pub fn create_indexes(
        &self,
        database: &str,
        name: &str,
        specs: Vec<IndexSpec>,
    ) -> Result<(usize, usize, bool), CommandError> {
        let changing = self.changing();
        let (collection, made) = match self.collection(database, name) {
            Some(collection) => (collection, false),
            None => (self.make(&changing, database, name, CollectionOptions::default())?, true),
        };
        let before = collection.indexes().len() + 1;
        let dropped =
            |_| CommandError::new(code::NAMESPACE_NOT_FOUND, "the collection was dropped meanwhile");
        let mut writing = collection.write(self).map_err(dropped)?;
        for spec in specs {
            if already_there(&collection, &spec)? {
                continue;
            }
            let id = self.next_id.fetch_add(1, Ordering::Relaxed);
            let index = Arc::new(self.index(id, spec)?);
            if let Err(error) = writing.add_index(index.clone()) {
                self.database.delete_keyspace(index.entries.clone())?;
                return Err(error);
            }
        }
        Ok((before, collection.indexes().len() + 1, made))
    }

    /// Writes the collection's entry of the catalog, to disk.
    pub fn save(&self, collection: &Collection) -> Result<(), CommandError> {
        let entry = raw::document(|w| {
            w.i64("id", collection.id as i64)
                .value("options", Value { kind: kind::DOCUMENT, bytes: &collection.options })
                .array("indexes", |w| {
                    for (i, index) in collection.indexes().iter().enumerate() {
                        w.document(&i.to_string(), |w| {
                            w.i64("id", index.id as i64)
                                .str("name", &index.name)
                                .value("key", Value { kind: kind::DOCUMENT, bytes: &index.pattern })
                                .bool("unique", index.unique)
                                .bool("multikey", index.multikey.load(Ordering::Relaxed));
                        });
                    }
                });
        });
        let mut batch = self.batch();
        batch.insert(&self.catalog, catalog_key(&collection.database, &collection.name), entry);
        batch.commit()?;
        self.database.persist(PersistMode::SyncData)?;
        Ok(())
    }

    /// The collections of a database, by name.
    pub fn collections(&self, database: &str) -> Vec<Arc<Collection>> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        databases.get(database).map(|collections| collections.values().cloned().collect()).unwrap_or_default()
    }

    /// The databases with their size on disk in bytes, by name.
    pub fn databases(&self) -> Vec<(String, u64)> {
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        let size = |collection: &Arc<Collection>| {
            collection.documents.disk_space()
                + collection.indexes().iter().map(|index| index.entries.disk_space()).sum::<u64>()
        };
        databases
            .iter()
            .map(|(name, collections)| (name.clone(), collections.values().map(size).sum()))
            .collect()
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collection_from(
        &self,
        database: &str,
        name: &str,
        id: u64,
        options: Vec<u8>,
        indexes: Vec<Arc<Index>>,
        empty: bool,
    ) -> Result<Collection, CommandError> {
        let validation = validation(&options)?;
        let documents = self.database.keyspace(&documents_name(id), || {
            KeyspaceCreateOptions::default().max_memtable_size(DOCUMENTS_MEMTABLE).with_kv_separation(Some(
                KvSeparationOptions::default()
                    .separation_threshold(SEPARATE_FROM)
                    .compression(CompressionType::None),
            ))
        })?;
        Ok(Collection::new(database, name, id, documents, options, validation, indexes, empty))
    }

    fn index(&self, id: u64, spec: IndexSpec) -> Result<Index, CommandError> {
        let IndexSpec { name, pattern, unique } = spec;
        let entries = self.database.keyspace(&entries_name(id), || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(INDEX_MEMTABLE)
                .data_block_compression_policy(CompressionPolicy::disabled())
        })?;
        let fields = raw::elements(&pattern)
            .map(|field| IndexField {
                path: FieldPath::new(field.name_str()),
                ascending: field.value.as_f64().is_some_and(|direction| direction > 0.0),
            })
            .collect();
        Ok(Index { name, pattern, fields, unique, multikey: AtomicBool::new(false), id, entries })
    }
}

/// Whether the very same index exists.
fn already_there(collection: &Collection, spec: &IndexSpec) -> Result<bool, CommandError> {
    for index in collection.indexes().iter() {
        let same_key = same_pattern(&index.pattern, &spec.pattern);
        if index.name == spec.name && same_key && index.unique == spec.unique {
            return Ok(true);
        }
        if index.name == spec.name {
            return Err(CommandError::new(
                code::INDEX_KEY_SPECS_CONFLICT,
                format!(
                    "An existing index has the same name as the requested index and another key or other \
                     options: {}",
                    spec.name
                ),
            ));
        }
        if same_key {
            return Err(CommandError::new(
                code::INDEX_OPTIONS_CONFLICT,
                format!("Index already exists with a different name: {}", index.name),
            ));
        }
    }
    let pattern = Value { kind: kind::DOCUMENT, bytes: &spec.pattern };
    let mut fields = pattern.elements();
    Ok(fields.next().is_some_and(|field| field.name == b"_id" && field.value.as_i64() == Some(1))
        && fields.next().is_none())
}

/// Whether two documents of options have the same fields in whatever order.
fn same_options(a: &[u8], b: &[u8]) -> bool {
    raw::elements(a).count() == raw::elements(b).count()
        && raw::elements(a).all(|x| raw::elements(b).any(|y| x.whole == y.whole))
}

/// Whether two key patterns have the same fields in the same directions.
pub fn same_pattern(a: &[u8], b: &[u8]) -> bool {
    let fields = |pattern| {
        raw::elements(pattern)
            .map(|field| (field.name, field.value.as_f64().map(|direction| direction > 0.0)))
            .collect::<Vec<_>>()
    };
    fields(a) == fields(b)
}

fn validation(options: &[u8]) -> Result<Option<Validation>, CommandError> {
    let Some(validator) = raw::get(options, b"validator").and_then(Value::as_document) else {
        return Ok(None);
    };
    let text = |name: &[u8]| raw::get(options, name).and_then(Value::as_str);
    let Some(schema) = Schema::from_validator(validator)? else { return Ok(None) };
    if text(b"validationLevel") == Some("off") {
        return Ok(None);
    }
    Ok(Some(Validation {
        schema,
        moderate: text(b"validationLevel") == Some("moderate"),
        warn: text(b"validationAction") == Some("warn"),
    }))
}

fn catalog_key(database: &str, name: &str) -> Vec<u8> {
    format!("{database}\0{name}").into_bytes()
}

fn documents_name(id: u64) -> String {
    format!("d{id}")
}

fn entries_name(id: u64) -> String {
    format!("i{id}")
}

/// Empties a data directory.
///
/// # Errors
/// [`ServerError::InUse`] if a process has it open; a directory that is not one of nbrs.
pub fn remove_data(data_dir: &Path) -> Result<(), ServerError> {
    if !data_dir.join(MARKER).exists() {
        if is_empty(data_dir)? {
            return Ok(());
        }
        return Err(not_ours(data_dir));
    }
    let lock = lock(data_dir, false)?;
    let io = |what, path: PathBuf| move |source| ServerError::Io { what, path, source };
    let store = data_dir.join(STORE);
    if store.exists() {
        std::fs::remove_dir_all(&store).map_err(io("cannot remove", store))?;
    }
    let marker = data_dir.join(MARKER);
    std::fs::remove_file(&marker).map_err(io("cannot remove", marker))?;
    drop(lock);
    Ok(())
}

fn is_empty(data_dir: &Path) -> Result<bool, ServerError> {
    match std::fs::read_dir(data_dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(source) => Err(ServerError::Io { what: "cannot read", path: data_dir.to_owned(), source }),
    }
}

fn not_ours(data_dir: &Path) -> ServerError {
    ServerError::Unusable(format!(
        "{} has other files in it and is not a data directory of nbrs: give an empty or a new one",
        data_dir.display()
    ))
}

/// The claim of this process on a data directory.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that is being started at this moment has a copy of it until
        // it runs its own program, and the lock would live as long.
        let _ = self.0.unlock();
    }
}

fn lock(data_dir: &Path, make: bool) -> Result<Lock, ServerError> {
    let io = |what, path: PathBuf| move |source| ServerError::Io { what, path, source };
    let marker = data_dir.join(MARKER);
    if make {
        std::fs::create_dir_all(data_dir).map_err(|error| {
            ServerError::Unusable(format!("cannot make the data directory {}: {error}", data_dir.display()))
        })?;
        if !marker.exists() && !is_empty(data_dir)? {
            return Err(not_ours(data_dir));
        }
    }
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&marker)
        .map_err(io("cannot open", marker.clone()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let text = std::fs::read_to_string(&marker).unwrap_or_default();
            let process = text.lines().find_map(|line| line.strip_prefix("process ")).unwrap_or("unknown");
            return Err(ServerError::InUse(format!(
                "the data directory {} is in use by another process (process {process}). To share the data, \
                 start `nbrs server` alone and give its address as connection=; or keep other data with \
                 --data-dir",
                data_dir.display()
            )));
        }
        Err(TryLockError::Error(source)) => return Err(io("cannot lock", marker)(source)),
    }
    let text = format!("Data of nbrs server, format 1.\nprocess {}\n", std::process::id());
    let written = file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(text.as_bytes()));
    written.map_err(io("cannot write", marker))?;
    Ok(Lock(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_directory_is_free_once_it_is_closed_though_processes_are_being_started() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _ = std::process::Command::new("true").status();
                }
            });
            let refused = (0..300).find_map(|_| lock(dir.path(), true).err());
            done.store(true, Ordering::Relaxed);
            assert!(refused.is_none(), "{refused:?}");
        });
    }
}
