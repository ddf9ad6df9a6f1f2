//! How documents are found: picks an index for a filter and a sort, then walks it.
//!
//! A plan is a list of spans of keys that holds at least every document that the filter wants; the filter is
//! then asked of each document found, so a span may be generous but never mean.

use super::collection::{Collection, Index};
use super::error::{CommandError, code};
use super::filter::{Filter, Test};
use super::key;
use super::path::Path;
use super::raw::{self, Value, kind};
use super::store::{Store, same_pattern};
use fjall::{Readable, Slice, Snapshot};
use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// More spans than this from `$in` lists are not worth an index.
const MAX_SPANS: usize = 100_000;

/// A place between keys: before or after all keys that begin with these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cut {
    prefix: Vec<u8>,
    after: bool,
}

impl Cut {
    fn before(prefix: Vec<u8>) -> Cut {
        Cut { prefix, after: false }
    }

    fn after(prefix: Vec<u8>) -> Cut {
        Cut { prefix, after: true }
    }

    /// The same place in descending order.
    fn flipped(mut self) -> Cut {
        self.prefix.iter_mut().for_each(|byte| *byte = !*byte);
        self.after = !self.after;
        self
    }

    /// The first key that is not before this place; `None`: there is none.
    fn key(self) -> Option<Vec<u8>> {
        if self.after { successor(self.prefix) } else { Some(self.prefix) }
    }
}

/// The smallest bytes greater than all that begin with `prefix`.
fn successor(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return Some(prefix);
        }
        prefix.pop();
    }
    None
}

/// Keys to look at: one, or all from a first up to before an end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Span {
    Key(Vec<u8>),
    Range(Vec<u8>, Option<Vec<u8>>),
}

/// Where the keys are looked up.
#[derive(Clone)]
enum Source {
    /// In the documents themselves: by `_id` or all of them.
    Documents,
    Index(Arc<Index>),
}

/// How the documents for a filter are found.
pub struct Plan {
    source: Source,
    spans: Vec<Span>,
    reverse: bool,
    /// The documents come in the order of the sort that was asked for.
    pub sorted: bool,
    /// Nothing narrows the search: every document is looked at.
    pub whole: bool,
}

/// A field to sort by.
#[derive(Debug, Clone)]
pub struct SortField {
    pub path: Path,
    pub ascending: bool,
}

/// Which index a command names.
pub enum Hint {
    Natural { reverse: bool },
    Index(Arc<Index>),
    Id,
}

/// The spans that tests on one field allow, in ascending order of the field's values.
enum Narrowing {
    Points(Vec<Vec<u8>>),
    Range(Cut, Cut),
}

impl Plan {
    /// The best plan for a filter and a sort.
    pub fn choose(collection: &Collection, filter: &Filter, sort: &[SortField], hint: Option<&Hint>) -> Plan {
        let conjuncts = filter.conjuncts();
        let id = Path::new("_id");
        let mut candidates = Vec::new();
        if !matches!(hint, Some(Hint::Natural { .. } | Hint::Index(_))) {
            candidates.push(candidate(&Source::Documents, &[(&id, true)], false, true, &conjuncts, sort));
        }
        for index in collection.indexes().iter() {
            match hint {
                Some(Hint::Index(hinted)) if hinted.id == index.id => {}
                Some(_) => continue,
                None => {}
            }
            let fields: Vec<_> = index.fields.iter().map(|field| (&field.path, field.ascending)).collect();
            let multikey = index.multikey.load(Ordering::SeqCst);
            candidates.push(candidate(
                &Source::Index(index.clone()),
                &fields,
                multikey,
                index.unique,
                &conjuncts,
                sort,
            ));
        }
        let best = candidates.into_iter().max_by_key(|(score, _)| *score);
        match best {
            Some((score, plan)) if score > 0 || hint.is_some() => plan,
            _ => Plan {
                source: Source::Documents,
                spans: vec![Span::Range(Vec::new(), None)],
                reverse: matches!(hint, Some(Hint::Natural { reverse: true })),
                sorted: sort.is_empty(),
                whole: true,
            },
        }
    }
}

/// The plan for one index, and how good it is: 0 is no better than looking at every document.
fn candidate(
    source: &Source,
    fields: &[(&Path, bool)],
    multikey: bool,
    unique: bool,
    conjuncts: &[(&Path, &Test)],
    sort: &[SortField],
) -> (u32, Plan) {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let mut range = None;
    let mut equal_fields = 0;
    let mut score = 0;
    for (path, ascending) in fields {
        let tests: Vec<&Test> =
            conjuncts.iter().filter(|(tested, _)| tested == path).map(|(_, test)| *test).collect();
        match narrow(&tests, multikey) {
            Some(Narrowing::Points(points)) if prefixes.len().saturating_mul(points.len()) <= MAX_SPANS => {
                let mut longer = Vec::with_capacity(prefixes.len() * points.len());
                for prefix in &prefixes {
                    for point in &points {
                        let mut key = prefix.clone();
                        key.extend(point.iter().map(|byte| if *ascending { *byte } else { !*byte }));
                        longer.push(key);
                    }
                }
                prefixes = longer;
                equal_fields += 1;
                score += 10;
            }
            Some(Narrowing::Range(low, high)) => {
                range = Some(if *ascending { (low, high) } else { (high.flipped(), low.flipped()) });
                score += 5;
                break;
            }
            _ => break,
        }
    }
    let exact = equal_fields == fields.len();
    if exact && unique {
        score += 20;
    }
    prefixes.sort_unstable();
    prefixes.dedup();
    // One run of keys in the order of the fields that are left gives that order for nothing.
    let order = if prefixes.len() == 1 && !multikey {
        sorted_by(&fields[equal_fields..], fields, sort)
    } else {
        None
    };
    let sorted = sort.is_empty() || order.is_some() || (exact && unique && prefixes.len() <= 1);
    if !sort.is_empty() && sorted {
        score += 3;
    }
    let spans = prefixes
        .into_iter()
        .filter_map(|prefix| match &range {
            None if exact && unique => Some(Span::Key(prefix)),
            None => {
                let end = successor(prefix.clone());
                Some(Span::Range(prefix, end))
            }
            Some((low, high)) => {
                let place =
                    |cut: &Cut| Cut { prefix: [&prefix[..], &cut.prefix].concat(), after: cut.after }.key();
                // A start beyond every key or after the end: nothing is there.
                let (start, end) = (place(low)?, place(high));
                end.as_ref().is_none_or(|end| start < *end).then_some(Span::Range(start, end))
            }
        })
        .collect();
    let whole = equal_fields == 0 && range.is_none();
    (score, Plan { source: source.clone(), spans, reverse: order == Some(true), sorted, whole })
}

/// Whether an index's order is the sort's: `Some(true)` backwards. Fields held to one value do not count.
fn sorted_by(left: &[(&Path, bool)], all: &[(&Path, bool)], sort: &[SortField]) -> Option<bool> {
    let held = &all[..all.len() - left.len()];
    let sort: Vec<_> =
        sort.iter().filter(|field| !held.iter().any(|(path, _)| **path == field.path)).collect();
    if sort.len() > left.len() {
        return None;
    }
    let mut reverse = None;
    for (wanted, (path, ascending)) in sort.iter().zip(left) {
        if wanted.path != **path {
            return None;
        }
        let backwards = wanted.ascending != *ascending;
        if *reverse.get_or_insert(backwards) != backwards {
            return None;
        }
    }
    Some(reverse.unwrap_or(false))
}

/// What tests on one field say about its keys; `None`: nothing that an index can use.
fn narrow(tests: &[&Test], multikey: bool) -> Option<Narrowing> {
    let point = |value: Value<'_>| {
        // Null stands for missing fields too, arrays are in the index item by item.
        let plain = !value.is_null() && !matches!(value.kind, kind::ARRAY | kind::REGEX);
        let mut key = Vec::new();
        (plain && key::encode(value, &mut key).is_ok()).then_some(key)
    };
    for test in tests {
        match test {
            Test::Eq(value) => {
                if let Some(key) = point(value.get()) {
                    return Some(Narrowing::Points(vec![key]));
                }
            }
            Test::In(values) => {
                if let Some(keys) = values.iter().map(|value| point(value.get())).collect() {
                    return Some(Narrowing::Points(keys));
                }
            }
            _ => {}
        }
    }
    let mut narrowed: Option<(Cut, Cut)> = None;
    for test in tests {
        let (value, low, after) = match test {
            Test::Gt(value) => (value.get(), true, true),
            Test::Gte(value) => (value.get(), true, false),
            Test::Lt(value) => (value.get(), false, false),
            Test::Lte(value) => (value.get(), false, true),
            _ => continue,
        };
        if value.is_nan() || matches!(value.kind, kind::MIN_KEY | kind::MAX_KEY) {
            continue;
        }
        let Some(key) = point(value) else { continue };
        let tag = vec![key::tag(value.kind)];
        let cut = Cut { prefix: key, after };
        let (from, to) = if low { (cut, Cut::after(tag)) } else { (Cut::before(tag), cut) };
        narrowed = Some(match narrowed {
            None => (from, to),
            // Of an array one item may satisfy the one and another item the other.
            Some(first) if multikey => first,
            Some((low, high)) => (later(low, from), earlier(high, to)),
        });
    }
    narrowed.map(|(low, high)| Narrowing::Range(low, high))
}

fn later(a: Cut, b: Cut) -> Cut {
    if b.clone().key() > a.clone().key() && b.clone().key().is_some() || a.clone().key().is_none() {
        b
    } else {
        a
    }
}

fn earlier(a: Cut, b: Cut) -> Cut {
    match (a.clone().key(), b.clone().key()) {
        (None, _) => b,
        (_, None) => a,
        (Some(x), Some(y)) => {
            if y < x {
                b
            } else {
                a
            }
        }
    }
}

impl Hint {
    /// Resolves the `hint` of a command: an index's name, its key pattern or `{ $natural: 1 }`.
    ///
    /// # Errors
    /// BadValue if there is no such index.
    pub fn parse(hint: Value<'_>, collection: &Collection) -> Result<Option<Hint>, CommandError> {
        let indexes = collection.indexes();
        if let Some(name) = hint.as_str() {
            let clustered =
                collection.clustered().and_then(|c| raw::get(c.bytes, b"name")).and_then(Value::as_str);
            if name == "_id_" || clustered == Some(name) {
                return Ok(Some(Hint::Id));
            }
            return match indexes.iter().find(|index| index.name == name) {
                Some(index) => Ok(Some(Hint::Index(index.clone()))),
                None => Err(no_such_index()),
            };
        }
        let Some(pattern) = hint.as_document() else {
            return Err(CommandError::new(code::FAILED_TO_PARSE, "Hint must be a string or an object"));
        };
        let mut fields = raw::elements(pattern);
        match fields.next() {
            None => return Ok(None),
            Some(first) if first.name == b"$natural" => {
                let reverse = first.value.as_f64().is_some_and(|direction| direction < 0.0);
                return Ok(Some(Hint::Natural { reverse }));
            }
            Some(first) if first.name == b"_id" && fields.next().is_none() => return Ok(Some(Hint::Id)),
            Some(_) => {}
        }
        match indexes.iter().find(|index| same_pattern(&index.pattern, pattern)) {
            Some(index) => Ok(Some(Hint::Index(index.clone()))),
            None => Err(no_such_index()),
        }
    }
}

fn no_such_index() -> CommandError {
    CommandError::new(code::BAD_VALUE, "hint provided does not correspond to an existing index")
}

/// A document found, with the key it is kept under.
pub struct Found {
    pub key: Slice,
    pub document: Slice,
}

/// Walks the documents of a plan that pass the filter, as they were when the walk began.
pub struct Scan {
    collection: Arc<Collection>,
    snapshot: Snapshot,
    filter: Filter,
    source: Source,
    /// The spans not yet begun, the next one last.
    spans: Vec<Span>,
    reverse: bool,
    current: Option<fjall::Iter>,
    /// Documents given out, where an index may lead to one several times.
    seen: Option<HashSet<Slice>>,
    deadline: Option<Instant>,
    steps: u32,
}

impl Scan {
    pub fn new(
        store: &Store,
        collection: Arc<Collection>,
        filter: Filter,
        plan: Plan,
        deadline: Option<Instant>,
    ) -> Scan {
        let Plan { source, mut spans, reverse, .. } = plan;
        if !reverse {
            spans.reverse();
        }
        let repeats = match &source {
            Source::Index(index) => index.multikey.load(Ordering::SeqCst),
            Source::Documents => false,
        };
        Scan {
            snapshot: store.snapshot(),
            collection,
            filter,
            source,
            spans,
            reverse,
            current: None,
            seen: repeats.then(HashSet::new),
            deadline,
            steps: 0,
        }
    }

    /// The next document.
    ///
    /// # Errors
    /// MaxTimeMSExpired; the store.
    pub fn next(&mut self) -> Result<Option<Found>, CommandError> {
        loop {
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(64) {
                check_deadline(self.deadline)?;
            }
            let Some(found) = self.advance()? else { return Ok(None) };
            if let Some(seen) = &mut self.seen
                && !seen.insert(found.key.clone())
            {
                continue;
            }
            if self.filter.matches(&found.document) {
                return Ok(Some(found));
            }
        }
    }

    fn advance(&mut self) -> Result<Option<Found>, CommandError> {
        loop {
            if let Some(iter) = &mut self.current {
                let item = if self.reverse { iter.next_back() } else { iter.next() };
                match item {
                    None => self.current = None,
                    Some(item) => {
                        let (key, value) = item.into_inner()?;
                        match &self.source {
                            Source::Documents => return Ok(Some(Found { key, document: value })),
                            Source::Index(index) => {
                                let Some(key) = index.document_key(&key, &value) else { continue };
                                if let Some(found) = self.fetch(key)? {
                                    return Ok(Some(found));
                                }
                            }
                        }
                    }
                }
                continue;
            }
            let Some(span) = self.spans.pop() else { return Ok(None) };
            let keyspace = match &self.source {
                Source::Documents => &self.collection.documents,
                Source::Index(index) => &index.entries,
            };
            match span {
                Span::Key(key) => {
                    let document_key = match &self.source {
                        Source::Documents => Some(Slice::from(key)),
                        Source::Index(index) => match self.snapshot.get(keyspace, &key)? {
                            Some(value) => index.document_key(&key, &value),
                            None => None,
                        },
                    };
                    if let Some(key) = document_key
                        && let Some(found) = self.fetch(key)?
                    {
                        return Ok(Some(found));
                    }
                }
                Span::Range(start, end) => {
                    let end = end.map_or(Bound::Unbounded, Bound::Excluded);
                    self.current =
                        Some(self.snapshot.range::<Vec<u8>, _>(keyspace, (Bound::Included(start), end)));
                }
            }
        }
    }

    fn fetch(&self, key: Slice) -> Result<Option<Found>, CommandError> {
        let document = self.snapshot.get(&self.collection.documents, &key)?;
        Ok(document.map(|document| Found { key, document }))
    }
}

/// # Errors
/// MaxTimeMSExpired if the time is over.
pub fn check_deadline(deadline: Option<Instant>) -> Result<(), CommandError> {
    match deadline {
        Some(deadline) if Instant::now() >= deadline => {
            Err(CommandError::new(code::MAX_TIME_MS_EXPIRED, "operation exceeded time limit"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::collection::prepare;
    use super::super::cursor::{parse_sort, scanned, sort};
    use super::super::store::IndexSpec;
    use super::*;
    use bson::{Bson, Document, doc};
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    fn bytes(document: &Document) -> Vec<u8> {
        bson::serialize_to_vec(document).unwrap()
    }

    fn collection(
        indexes: &[(Document, bool)],
        documents: &[Document],
    ) -> (tempfile::TempDir, Store, Arc<Collection>) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let specs = indexes
            .iter()
            .enumerate()
            .map(|(i, (pattern, unique))| IndexSpec {
                name: format!("i{i}"),
                pattern: bytes(pattern),
                unique: *unique,
            })
            .collect();
        store.create_indexes("d", "c", specs).unwrap();
        let collection = store.collection("d", "c").unwrap();
        for document in documents {
            let prepared = prepare(&bytes(document)).unwrap();
            collection.write(&store).unwrap().insert(prepared).unwrap();
        }
        (folder, store, collection)
    }

    /// What a plan is, in short.
    fn plan(collection: &Collection, filter: &Document, order: &Document) -> (String, usize, bool, bool) {
        let filter = Filter::parse(&bytes(filter)).unwrap();
        let plan = Plan::choose(collection, &filter, &parse_sort(&bytes(order)).unwrap(), None);
        let source = match &plan.source {
            Source::Documents => "documents".to_owned(),
            Source::Index(index) => index.name.clone(),
        };
        (source, plan.spans.len(), plan.whole, plan.sorted)
    }

    #[test]
    fn the_index_that_narrows_most_is_taken() {
        let indexes = [(doc! { "a": 1 }, false), (doc! { "u": 1 }, true), (doc! { "a": 1, "b": -1 }, false)];
        let (_folder, _store, collection) = collection(&indexes, &[]);
        #[rustfmt::skip]
        let table = [
            (doc! {}, doc! {}, ("documents", 1, true, true)),
            (doc! { "_id": 5 }, doc! {}, ("documents", 1, false, true)),
            (doc! { "_id": { "$in": [5, 6, 5] } }, doc! {}, ("documents", 2, false, true)),
            (doc! { "_id": { "$gt": 5 } }, doc! { "_id": -1 }, ("documents", 1, false, true)),
            (doc! { "a": 5, "u": 1 }, doc! {}, ("i1", 1, false, true)),
            (doc! { "u": { "$in": [1, 2, 3] } }, doc! {}, ("i1", 3, false, true)),
            (doc! { "a": 5, "b": 1 }, doc! {}, ("i2", 1, false, true)),
            (doc! { "a": 5 }, doc! { "b": 1 }, ("i2", 1, false, true)),
            (doc! { "a": 5 }, doc! { "x": 1 }, ("i2", 1, false, false)),
            (doc! {}, doc! { "a": -1, "b": 1 }, ("i2", 1, true, true)),
            (doc! {}, doc! { "a": 1, "b": 1 }, ("documents", 1, true, false)),
            (doc! { "x": 5 }, doc! {}, ("documents", 1, true, true)),
            (doc! { "a": null }, doc! {}, ("documents", 1, true, true)),
            (doc! { "u": { "$gt": 5, "$lt": 1 } }, doc! {}, ("i1", 0, false, true)),
        ];
        for (filter, order, (source, spans, whole, sorted)) in table {
            let expected = (source.to_owned(), spans, whole, sorted);
            assert_eq!(plan(&collection, &filter, &order), expected, "{filter} sorted by {order}");
        }
    }

    fn value() -> impl Strategy<Value = Bson> {
        let scalar = prop_oneof![
            4 => (0..6i32).prop_map(Bson::Int32),
            2 => (0..6i64).prop_map(Bson::Int64),
            2 => (0..12i32).prop_map(|n| Bson::Double(f64::from(n) / 2.0)),
            1 => Just(Bson::Double(f64::NAN)),
            2 => "[ab]{0,2}".prop_map(Bson::String),
            1 => Just(Bson::Null),
            1 => any::<bool>().prop_map(Bson::Boolean),
        ];
        prop_oneof![
            6 => scalar.clone(),
            1 => proptest::collection::vec(scalar.clone(), 0..3).prop_map(Bson::Array),
            1 => scalar.prop_map(|inner| Bson::Document(doc! { "n": inner })),
        ]
    }

    fn test() -> impl Strategy<Value = Bson> {
        let ordering = prop_oneof![Just("$gt"), Just("$gte"), Just("$lt"), Just("$lte")];
        prop_oneof![
            3 => value(),
            2 => (ordering.clone(), value()).prop_map(|(name, v)| Bson::Document(doc! { name: v })),
            2 => (ordering.clone(), value(), ordering, value())
                .prop_map(|(a, v, b, w)| Bson::Document(doc! { a: v, b: w })),
            2 => proptest::collection::vec(value(), 0..4).prop_map(|list| Bson::Document(doc! { "$in": list })),
            1 => value().prop_map(|v| Bson::Document(doc! { "$ne": v })),
            1 => any::<bool>().prop_map(|b| Bson::Document(doc! { "$exists": b })),
        ]
    }

    fn field() -> impl Strategy<Value = &'static str> {
        prop_oneof![Just("a"), Just("b"), Just("a.n"), Just("c")]
    }

    #[test]
    fn an_index_changes_how_documents_are_found_never_which() {
        let mut runner = TestRunner::deterministic();
        let documents: Vec<Document> = (0..150)
            .map(|i| {
                let fields = (proptest::option::of(value()), proptest::option::of(value()), 0..4i32);
                let (a, b, c) = fields.new_tree(&mut runner).unwrap().current();
                let mut document = doc! { "_id": i, "c": c };
                document.extend(a.map(|a| ("a".to_owned(), a)));
                // Only one field of a compound index may be an array.
                document.extend(b.filter(|b| !matches!(b, Bson::Array(_))).map(|b| ("b".to_owned(), b)));
                document
            })
            .collect();
        let indexes = [
            (doc! { "a": 1 }, false),
            (doc! { "b": -1 }, false),
            (doc! { "c": 1, "b": 1 }, false),
            (doc! { "a": -1, "b": 1 }, false),
            (doc! { "a.n": 1 }, false),
        ];
        let (_folder, store, collection) = collection(&indexes, &documents);
        let ids = |filter: &Filter, plan: Plan, order: &[SortField]| -> Vec<i64> {
            let sorted = plan.sorted;
            let mut found = scanned(Scan::new(&store, collection.clone(), filter.clone(), plan, None));
            if !sorted {
                found = sort(found, order, None).unwrap();
            }
            found.map(|document| raw::get(&document.unwrap(), b"_id").unwrap().as_i64().unwrap()).collect()
        };
        let filters = proptest::collection::vec((field(), test()), 1..3);
        runner
            .run(&(filters, proptest::option::of((field(), any::<bool>()))), |(tests, order)| {
                let parts: Vec<Bson> =
                    tests.into_iter().map(|(name, test)| doc! { name: test }.into()).collect();
                let filter = Filter::parse(&bytes(&doc! { "$and": parts })).unwrap();
                // Ties are decided by `_id`, so that the order is one.
                let order: Vec<SortField> = order
                    .into_iter()
                    .map(|(name, ascending)| SortField { path: Path::new(name), ascending })
                    .chain([SortField { path: Path::new("_id"), ascending: true }])
                    .collect();
                let natural = Hint::Natural { reverse: false };
                let plain = ids(&filter, Plan::choose(&collection, &filter, &order, Some(&natural)), &order);
                let planned = ids(&filter, Plan::choose(&collection, &filter, &order, None), &order);
                prop_assert_eq!(&plain, &planned);
                for index in collection.indexes().iter() {
                    let hint = Hint::Index(index.clone());
                    let hinted =
                        ids(&filter, Plan::choose(&collection, &filter, &order, Some(&hint)), &order);
                    prop_assert_eq!(&plain, &hinted, "by {}", index.name);
                }
                Ok(())
            })
            .unwrap();
    }
}
