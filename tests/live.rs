//! What the bundled workloads need of a server, stated against any: the one that `NBRS_TEST_URI` names, else
//! the embedded server. Where it is not given the tests say so.

#[path = "live/target.rs"]
mod target;

use bson::{Bson, Document, doc};
use futures_util::TryStreamExt;
use target::{Target, number};

/// The server to test, if one is given.
fn given_uri() -> Option<String> {
    std::env::var("NBRS_TEST_URI").ok().filter(|uri| !uri.is_empty())
}

macro_rules! live {
    ($($name:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let target = match given_uri() {
                Some(uri) => Target::given(&uri).await,
                None => Target::embedded().await,
            };
            behaviour::$name(&target).await;
            target.end().await;
        })*
    };
}

live! {
    keyvalue_schema_is_made_once
    keyvalue_documents_are_inserted_once_per_key
    documents_are_held_to_the_validator
    tabular_reads_by_index_with_limit_and_projection
    basic_writes_and_reads_by_id
    unordered_inserts_go_on_after_duplicates
    values_keep_their_types
    text_of_any_script_is_a_name_and_a_value
    cursors_are_read_to_their_end_in_batches
    sorts_skips_and_limits
    filters_select_by_equality_comparison_and_lists
    updates_change_replace_and_upsert
    deletes_remove_one_or_all
    counts_distinct_and_groups
    indexes_are_listed_and_conflicts_named
    what_is_not_known_is_refused_by_name
    dropping_what_is_not_there_is_no_error
    a_server_says_what_it_is
}

#[test]
fn which_server_is_tested_is_said() {
    match given_uri() {
        Some(_) => println!("live tests run against the server that NBRS_TEST_URI names"),
        None => println!("NBRS_TEST_URI is not set: live tests run against the embedded server"),
    }
}

mod behaviour {
    use super::*;

    fn keyvalue_schema() -> Document {
        doc! {
            "create": "keyvalue",
            "clusteredIndex": { "key": { "_id": 1 }, "unique": true, "name": "_id_idx" },
            "writeConcern": { "w": "majority" },
            "validator": { "$jsonSchema": {
                "bsonType": "object", "required": ["key"],
                "properties": { "key": { "bsonType": "string" }, "value": { "bsonType": "string" } },
            } },
            "validationLevel": "strict",
            "validationAction": "error",
        }
    }

    fn keyvalue_index() -> Document {
        doc! {
            "createIndexes": "keyvalue",
            "indexes": [{ "key": { "key": 1 }, "name": "kv_key_idx", "unique": true }],
            "writeConcern": { "w": "majority" },
            "commitQuorum": "majority",
        }
    }

    fn write_errors(reply: &Document) -> Vec<&Document> {
        reply
            .get_array("writeErrors")
            .map(|errors| errors.iter().filter_map(Bson::as_document).collect())
            .unwrap_or_default()
    }

    pub async fn keyvalue_schema_is_made_once(target: &Target) {
        target.run(keyvalue_schema()).await;
        target.run(keyvalue_index()).await;
        // Since 7.0 only other options are an error.
        target.run(keyvalue_schema()).await;
        let (code, name, message) = target.fails(doc! { "create": "keyvalue" }).await;
        assert_eq!((code, name.as_str()), (48, "NamespaceExists"), "{message}");
        // The very same index again changes nothing.
        target.run(keyvalue_index()).await;
        let collections = target.batch(doc! { "listCollections": 1, "nameOnly": true }).await;
        assert_eq!(collections.len(), 1);
        assert_eq!(collections[0].get_str("name").unwrap(), "keyvalue");
    }

    pub async fn keyvalue_documents_are_inserted_once_per_key(target: &Target) {
        target.run(keyvalue_schema()).await;
        target.run(keyvalue_index()).await;
        let insert = |key: &str| {
            doc! {
                "insert": "keyvalue", "documents": [{ "key": key, "value": "v" }],
                "writeConcern": { "w": "majority" }, "comment": "c",
            }
        };
        let reply = target.run(insert("a")).await;
        assert_eq!(number(&reply, "n"), 1);
        let reply = target.run(insert("a")).await;
        assert_eq!(number(&reply, "n"), 0);
        let errors = write_errors(&reply);
        assert_eq!(errors.len(), 1);
        assert_eq!(number(errors[0], "code"), 11000);
        assert_eq!(number(errors[0], "index"), 0);
        assert_eq!(errors[0].get_document("keyPattern").unwrap(), &doc! { "key": 1 });
        assert_eq!(errors[0].get_document("keyValue").unwrap(), &doc! { "key": "a" });
        let found = target
            .batch(doc! {
                "find": "keyvalue", "filter": { "key": { "$eq": "a" } }, "readConcern": { "level": "majority" },
            })
            .await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].get_str("value").unwrap(), "v");
        assert!(found[0].get_object_id("_id").is_ok(), "an _id is made for documents without");
    }

    pub async fn documents_are_held_to_the_validator(target: &Target) {
        target.run(keyvalue_schema()).await;
        for document in [doc! { "value": "no key" }, doc! { "key": 5 }, doc! { "key": "k", "value": 1 }] {
            let reply = target.run(doc! { "insert": "keyvalue", "documents": [document.clone()] }).await;
            let errors = write_errors(&reply);
            assert_eq!(errors.len(), 1, "{document}: {reply}");
            assert_eq!(number(errors[0], "code"), 121, "{document}");
        }
        target.run(doc! { "insert": "keyvalue", "documents": [{ "_id": 1, "key": "k" }] }).await;
        let reply = target
            .run(doc! { "update": "keyvalue", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "key": 1 } } }] })
            .await;
        assert_eq!(number(write_errors(&reply)[0], "code"), 121);
    }

    pub async fn tabular_reads_by_index_with_limit_and_projection(target: &Target) {
        target
            .run(doc! {
                "createIndexes": "tabular",
                "indexes": [
                    { "key": { "part": 1 }, "name": "tab_part_idx", "unique": false },
                    { "key": { "clust": 1 }, "name": "tab_clust_idx", "unique": true },
                ],
                "writeConcern": { "w": "majority" },
            })
            .await;
        let documents: Vec<Document> = (0..100)
            .map(
                |i| doc! { "part": (i % 10).to_string(), "clust": i.to_string(), "data0": "x", "data1": "y" },
            )
            .collect();
        let reply = target.run(doc! { "insert": "tabular", "documents": documents }).await;
        assert_eq!(number(&reply, "n"), 100);
        let found = target
            .batch(doc! {
                "find": "tabular", "filter": { "part": { "$eq": "3" } }, "limit": 4,
                "projection": { "data0": 1, "data1": 1 }, "readConcern": { "level": "majority" },
            })
            .await;
        assert_eq!(found.len(), 4);
        for document in found {
            assert_eq!(document.keys().collect::<Vec<_>>(), ["_id", "data0", "data1"]);
        }
        let found = target.batch(doc! { "find": "tabular", "filter": { "part": "3" } }).await;
        assert_eq!(found.len(), 10);
        assert!(target.batch(doc! { "find": "tabular", "filter": { "part": "none" } }).await.is_empty());
    }

    pub async fn basic_writes_and_reads_by_id(target: &Target) {
        for (id, value) in [(0, 2945182322382062539i64), (1, 6292367497774912474)] {
            let reply =
                target.run(doc! { "insert": "keyvalue", "documents": [{ "_id": id, "value": value }] }).await;
            assert_eq!(number(&reply, "n"), 1);
        }
        let found = target.batch(doc! { "find": "keyvalue", "filter": { "_id": 1 } }).await;
        assert_eq!(found, [doc! { "_id": 1, "value": 6292367497774912474i64 }]);
        // Numbers are equal across types, and so they are as keys.
        let reply = target.run(doc! { "insert": "keyvalue", "documents": [{ "_id": 1.0 }] }).await;
        assert_eq!(number(write_errors(&reply)[0], "code"), 11000);
        assert_eq!(target.batch(doc! { "find": "keyvalue", "filter": { "_id": 0i64 } }).await.len(), 1);
    }

    pub async fn unordered_inserts_go_on_after_duplicates(target: &Target) {
        let documents: Vec<Document> =
            [1, 2, 3, 3, 4, 5, 6, 6, 7, 8].iter().map(|id| doc! { "_id": *id }).collect();
        let reply = target
            .run(doc! { "insert": "unordered", "documents": documents.clone(), "ordered": false })
            .await;
        assert_eq!(number(&reply, "n"), 8);
        let errors = write_errors(&reply);
        assert_eq!(errors.iter().map(|error| number(error, "index")).collect::<Vec<_>>(), [3, 7]);
        assert!(errors.iter().all(|error| number(error, "code") == 11000));
        let reply = target.run(doc! { "insert": "ordered", "documents": documents }).await;
        assert_eq!(number(&reply, "n"), 3);
        assert_eq!(write_errors(&reply).len(), 1);
    }

    pub async fn values_keep_their_types(target: &Target) {
        let document = doc! {
            "_id": 1, "n": 5_000_000_000i64, "i": 1, "f": 1.0, "small": 1i64, "b": true, "null": null,
            "d": bson::DateTime::from_millis(1_704_067_200_000),
            "u": bson::Binary { subtype: bson::spec::BinarySubtype::Uuid, bytes: vec![7; 16] },
            "t": bson::Timestamp { time: 5, increment: 6 }, "o": bson::oid::ObjectId::from_bytes([1; 12]),
            "dec": "1.50".parse::<bson::Decimal128>().unwrap(), "nested": { "a": [1, 2i64, 3.0, { "b": "c" }] },
        };
        target.run(doc! { "insert": "types", "documents": [document.clone()] }).await;
        assert_eq!(target.batch(doc! { "find": "types", "filter": {} }).await, [document]);
    }

    pub async fn text_of_any_script_is_a_name_and_a_value(target: &Target) {
        let collection = "ключи-🗝";
        let document = doc! { "_id": "aé漢😀", "поле": "值", "zero": "a\0b" };
        target.run(doc! { "insert": collection, "documents": [document.clone()] }).await;
        let found = target.batch(doc! { "find": collection, "filter": { "поле": "值" } }).await;
        assert_eq!(found, [document]);
    }

    pub async fn cursors_are_read_to_their_end_in_batches(target: &Target) {
        let collection = target.database.collection::<Document>("many");
        let documents: Vec<Document> =
            (0..1000).map(|i| doc! { "_id": i, "text": "x".repeat(100) }).collect();
        collection.insert_many(documents).await.unwrap();
        for size in [None, Some(7), Some(101), Some(1000), Some(2000)] {
            let mut find = collection.find(doc! { "_id": { "$gte": 100 } });
            if let Some(size) = size {
                find = find.batch_size(size);
            }
            let found: Vec<Document> = find.await.unwrap().try_collect().await.unwrap();
            assert_eq!(found.len(), 900, "batches of {size:?}");
        }
        let reply = target.run(doc! { "find": "many", "filter": {}, "batchSize": 10 }).await;
        let cursor = reply.get_document("cursor").unwrap();
        let id = cursor.get_i64("id").unwrap();
        assert_ne!(id, 0);
        let more = target.run(doc! { "getMore": id, "collection": "many", "batchSize": 5 }).await;
        let batch = more.get_document("cursor").unwrap().get_array("nextBatch").unwrap();
        assert_eq!(batch.len(), 5);
        let killed = target.run(doc! { "killCursors": "many", "cursors": [id] }).await;
        assert_eq!(killed.get_array("cursorsKilled").unwrap(), &[Bson::Int64(id)]);
        let (code, name, _) = target.fails(doc! { "getMore": id, "collection": "many" }).await;
        assert_eq!((code, name.as_str()), (43, "CursorNotFound"));
        let single = target.run(doc! { "find": "many", "batchSize": 3, "singleBatch": true }).await;
        assert_eq!(single.get_document("cursor").unwrap().get_i64("id").unwrap(), 0);
    }

    pub async fn sorts_skips_and_limits(target: &Target) {
        let documents: Vec<Document> =
            (0..50).map(|i| doc! { "_id": i, "a": (i * 7) % 50, "b": i % 3, "c": (i * 7) % 50 }).collect();
        target.run(doc! { "insert": "sorted", "documents": documents }).await;
        target
            .run(doc! { "createIndexes": "sorted", "indexes": [{ "key": { "b": 1, "c": -1 }, "name": "b_c" }] })
            .await;
        let ids = |documents: Vec<Document>, field: &str| -> Vec<i64> {
            documents.iter().map(|document| number(document, field)).collect()
        };
        let found = target.batch(doc! { "find": "sorted", "sort": { "a": -1 }, "skip": 2, "limit": 3 }).await;
        assert_eq!(ids(found, "a"), [47, 46, 45]);
        let found = target.batch(doc! { "find": "sorted", "sort": { "_id": -1 }, "limit": 3 }).await;
        assert_eq!(ids(found, "_id"), [49, 48, 47]);
        for direction in [1, -1] {
            let found = target
                .batch(
                    doc! { "find": "sorted", "filter": { "b": 1 }, "sort": { "c": direction }, "limit": 30 },
                )
                .await;
            let found = ids(found, "c");
            assert_eq!(found.len(), 17);
            let mut expected = found.clone();
            expected.sort_by_key(|c| c * direction);
            assert_eq!(found, expected);
        }
        let found = target.batch(doc! { "find": "sorted", "sort": { "b": -1, "c": 1 }, "limit": 100 }).await;
        let keys: Vec<(i64, i64)> = found.iter().map(|d| (-number(d, "b"), number(d, "c"))).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        let (code, _, message) = target.fails(doc! { "find": "sorted", "limit": -1 }).await;
        // MongoDB has a code of its own for this.
        assert!([51024, 2].contains(&code), "{code}: {message}");
    }

    pub async fn filters_select_by_equality_comparison_and_lists(target: &Target) {
        let documents = vec![
            doc! { "_id": 1, "a": 5, "s": "x", "in": { "n": 1 }, "l": [1, 2] },
            doc! { "_id": 2, "a": 6i64, "s": "y", "in": { "n": 2 }, "l": [3, 9] },
            doc! { "_id": 3, "a": 7.5, "s": "z", "l": [] },
            doc! { "_id": 4, "a": "5", "s": null },
            doc! { "_id": 5 },
        ];
        // With and without indexes the answers are the same.
        for collection in ["plain", "indexed"] {
            if collection == "indexed" {
                for field in ["a", "s", "l", "in.n"] {
                    target
                        .run(doc! {
                            "createIndexes": collection, "indexes": [{ "key": { field: 1 }, "name": field }],
                        })
                        .await;
                }
                target
                    .run(doc! {
                        "createIndexes": collection,
                        "indexes": [{ "key": { "a": -1, "s": 1 }, "name": "both" }],
                    })
                    .await;
            }
            target.run(doc! { "insert": collection, "documents": documents.clone() }).await;
            for (filter, expected) in [
                (doc! {}, vec![1, 2, 3, 4, 5]),
                (doc! { "a": 5 }, vec![1]),
                (doc! { "a": 6.0 }, vec![2]),
                (doc! { "a": { "$gte": 5, "$lt": 7 } }, vec![1, 2]),
                (doc! { "a": { "$gt": 5 } }, vec![2, 3]),
                (doc! { "a": { "$in": ["5", 7.5, 100] } }, vec![3, 4]),
                (doc! { "a": { "$ne": 5 } }, vec![2, 3, 4, 5]),
                (doc! { "a": { "$nin": [5, "5"] } }, vec![2, 3, 5]),
                (doc! { "s": null }, vec![4, 5]),
                (doc! { "s": { "$exists": true } }, vec![1, 2, 3, 4]),
                (doc! { "in.n": 2 }, vec![2]),
                (doc! { "in": { "n": 1 } }, vec![1]),
                (doc! { "l": 9 }, vec![2]),
                (doc! { "l": [1, 2] }, vec![1]),
                (doc! { "l": { "$gt": 2, "$lt": 9 } }, vec![2]),
                (doc! { "l": { "$gt": 3, "$lt": 9 } }, vec![2]),
                (doc! { "$or": [{ "a": 5 }, { "s": "z" }] }, vec![1, 3]),
                (doc! { "$and": [{ "a": { "$gt": 4 } }, { "s": "y" }] }, vec![2]),
                (doc! { "$nor": [{ "a": 5 }, { "s": "z" }] }, vec![2, 4, 5]),
                (doc! { "a": { "$not": { "$gt": 5 } } }, vec![1, 4, 5]),
                (doc! { "_id": { "$gt": 2, "$lte": 4 } }, vec![3, 4]),
                (doc! { "_id": { "$in": [5, 1, 1, 77] } }, vec![1, 5]),
                (doc! { "a": { "$gt": 7 }, "s": "z" }, vec![3]),
            ] {
                let found = target.batch(doc! { "find": collection, "filter": filter.clone() }).await;
                let mut ids: Vec<i64> = found.iter().map(|document| number(document, "_id")).collect();
                ids.sort_unstable();
                assert_eq!(ids, expected, "{filter} in {collection}");
                let count = target.run(doc! { "count": collection, "query": filter.clone() }).await;
                assert_eq!(number(&count, "n"), expected.len() as i64, "{filter} in {collection}");
            }
        }
    }

    pub async fn updates_change_replace_and_upsert(target: &Target) {
        target
            .run(doc! { "createIndexes": "u", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] })
            .await;
        target.run(doc! { "insert": "u", "documents": (0..5).map(|i| doc! { "_id": i, "k": i, "n": 0 }).collect::<Vec<_>>() }).await;
        let update = |q: Document, u: Document, multi: bool, upsert: bool| {
            doc! { "update": "u", "updates": [{ "q": q, "u": u, "multi": multi, "upsert": upsert }] }
        };
        let reply = target
            .run(update(doc! { "_id": 1 }, doc! { "$set": { "n": 5, "x.y": "z" } }, false, false))
            .await;
        assert_eq!((number(&reply, "n"), number(&reply, "nModified")), (1, 1));
        let reply = target.run(update(doc! { "_id": 1 }, doc! { "$set": { "n": 5 } }, false, false)).await;
        assert_eq!((number(&reply, "n"), number(&reply, "nModified")), (1, 0));
        let reply = target.run(update(doc! { "n": 0 }, doc! { "$inc": { "n": 2 } }, true, false)).await;
        assert_eq!((number(&reply, "n"), number(&reply, "nModified")), (4, 4));
        let reply = target.run(update(doc! { "_id": 99 }, doc! { "$set": { "n": 1 } }, false, false)).await;
        assert_eq!((number(&reply, "n"), number(&reply, "nModified")), (0, 0));
        let reply = target.run(update(doc! { "_id": 2 }, doc! { "k": 2, "new": true }, false, false)).await;
        assert_eq!(number(&reply, "nModified"), 1);
        let reply =
            target.run(update(doc! { "_id": 7, "k": 70 }, doc! { "$set": { "n": 1 } }, false, true)).await;
        assert_eq!((number(&reply, "n"), number(&reply, "nModified")), (1, 0));
        assert_eq!(reply.get_array("upserted").unwrap(), &[Bson::Document(doc! { "index": 0, "_id": 7 })]);
        // An index follows; a key that another has is refused.
        let reply = target.run(update(doc! { "_id": 3 }, doc! { "$set": { "k": 33 } }, false, false)).await;
        assert_eq!(number(&reply, "nModified"), 1);
        assert!(target.batch(doc! { "find": "u", "filter": { "k": 3 } }).await.is_empty());
        assert_eq!(target.batch(doc! { "find": "u", "filter": { "k": 33 } }).await.len(), 1);
        let reply = target.run(update(doc! { "_id": 3 }, doc! { "$set": { "k": 4 } }, false, false)).await;
        assert_eq!(number(write_errors(&reply)[0], "code"), 11000);
        let reply = target.run(update(doc! { "_id": 3 }, doc! { "$set": { "_id": 4 } }, false, false)).await;
        assert_eq!(number(write_errors(&reply)[0], "code"), 66);
        let found = target.batch(doc! { "find": "u", "filter": {}, "sort": { "_id": 1 } }).await;
        assert_eq!(
            found,
            [
                doc! { "_id": 0, "k": 0, "n": 2 },
                doc! { "_id": 1, "k": 1, "n": 5, "x": { "y": "z" } },
                doc! { "_id": 2, "k": 2, "new": true },
                doc! { "_id": 3, "k": 33, "n": 2 },
                doc! { "_id": 4, "k": 4, "n": 2 },
                doc! { "_id": 7, "k": 70, "n": 1 },
            ]
        );
    }

    pub async fn deletes_remove_one_or_all(target: &Target) {
        target.run(doc! { "createIndexes": "d", "indexes": [{ "key": { "k": 1 }, "name": "k" }] }).await;
        let documents: Vec<Document> = (0..20).map(|i| doc! { "_id": i, "k": i % 4 }).collect();
        target.run(doc! { "insert": "d", "documents": documents }).await;
        let delete =
            |q: Document, limit: i32| doc! { "delete": "d", "deletes": [{ "q": q, "limit": limit }] };
        assert_eq!(number(&target.run(delete(doc! { "k": 1 }, 1)).await, "n"), 1);
        assert_eq!(number(&target.run(delete(doc! { "k": 1 }, 0)).await, "n"), 4);
        assert_eq!(number(&target.run(delete(doc! { "k": 1 }, 0)).await, "n"), 0);
        assert!(target.batch(doc! { "find": "d", "filter": { "k": 1 } }).await.is_empty());
        assert_eq!(number(&target.run(doc! { "count": "d" }).await, "n"), 15);
        assert_eq!(number(&target.run(delete(doc! {}, 0)).await, "n"), 15);
        assert_eq!(number(&target.run(doc! { "count": "d" }).await, "n"), 0);
    }

    pub async fn counts_distinct_and_groups(target: &Target) {
        let documents: Vec<Document> =
            (0..30).map(|i| doc! { "_id": i, "g": format!("g{}", i % 3), "n": i, "tags": ["a", format!("t{}", i % 2)] }).collect();
        target.run(doc! { "insert": "a", "documents": documents }).await;
        assert_eq!(number(&target.run(doc! { "count": "a", "query": {} }).await, "n"), 30);
        let reply = target.run(doc! { "count": "a", "query": { "g": "g1" }, "skip": 2, "limit": 5 }).await;
        assert_eq!(number(&reply, "n"), 5);
        assert_eq!(number(&target.run(doc! { "count": "none" }).await, "n"), 0);
        let reply = target.run(doc! { "distinct": "a", "key": "g", "query": { "n": { "$gte": 1 } } }).await;
        let mut values: Vec<_> = reply.get_array("values").unwrap().iter().filter_map(Bson::as_str).collect();
        values.sort_unstable();
        assert_eq!(values, ["g0", "g1", "g2"]);
        let reply = target.run(doc! { "distinct": "a", "key": "tags" }).await;
        assert_eq!(reply.get_array("values").unwrap().len(), 3);
        let aggregate =
            |pipeline: Vec<Document>| doc! { "aggregate": "a", "pipeline": pipeline, "cursor": {} };
        let mut groups = target
            .batch(aggregate(vec![
                doc! { "$match": { "n": { "$lt": 9 } } },
                doc! { "$group": { "_id": "$g", "count": { "$sum": 1 }, "total": { "$sum": "$n" } } },
            ]))
            .await;
        groups.sort_by_key(|group| group.get_str("_id").unwrap().to_owned());
        let found: Vec<(i64, i64)> =
            groups.iter().map(|g| (number(g, "count"), number(g, "total"))).collect();
        assert_eq!(found, [(3, 9), (3, 12), (3, 15)]);
        let found =
            target.batch(aggregate(vec![doc! { "$group": { "_id": null, "n": { "$sum": "$n" } } }])).await;
        assert_eq!((found.len(), number(&found[0], "n")), (1, 435));
        let found =
            target.batch(aggregate(vec![doc! { "$match": { "g": "g2" } }, doc! { "$count": "here" }])).await;
        assert_eq!(number(&found[0], "here"), 10);
        let found = target
            .batch(aggregate(vec![doc! { "$sort": { "n": -1 } }, doc! { "$skip": 1 }, doc! { "$limit": 2 }]))
            .await;
        assert_eq!(found.iter().map(|d| number(d, "n")).collect::<Vec<_>>(), [28, 27]);
        let collection = target.database.collection::<Document>("a");
        assert_eq!(collection.count_documents(doc! { "g": "g0" }).await.unwrap(), 10);
        assert_eq!(collection.estimated_document_count().await.unwrap(), 30);
    }

    pub async fn indexes_are_listed_and_conflicts_named(target: &Target) {
        let create = |key: Document, name: &str, unique: bool| {
            doc! { "createIndexes": "i", "indexes": [{ "key": key, "name": name, "unique": unique }] }
        };
        let reply = target.run(create(doc! { "a": 1, "b": -1 }, "a_b", false)).await;
        assert_eq!((number(&reply, "numIndexesBefore"), number(&reply, "numIndexesAfter")), (1, 2));
        let reply = target.run(create(doc! { "a": 1, "b": -1 }, "a_b", false)).await;
        assert_eq!((number(&reply, "numIndexesBefore"), number(&reply, "numIndexesAfter")), (2, 2));
        let (code, name, _) = target.fails(create(doc! { "c": 1 }, "a_b", false)).await;
        assert_eq!((code, name.as_str()), (86, "IndexKeySpecsConflict"));
        let (code, name, _) = target.fails(create(doc! { "a": 1, "b": -1 }, "other", false)).await;
        assert_eq!((code, name.as_str()), (85, "IndexOptionsConflict"));
        let indexes = target.batch(doc! { "listIndexes": "i" }).await;
        let names: Vec<_> = indexes.iter().map(|index| index.get_str("name").unwrap()).collect();
        assert_eq!(names, ["_id_", "a_b"]);
        assert_eq!(indexes[1].get_document("key").unwrap(), &doc! { "a": 1, "b": -1 });
        // Values that are there already must fit a unique index.
        target.run(doc! { "insert": "i", "documents": [{ "u": 1 }, { "u": 1 }] }).await;
        let (code, _, _) = target.fails(create(doc! { "u": 1 }, "u", true)).await;
        assert_eq!(code, 11000);
        assert_eq!(target.batch(doc! { "listIndexes": "i" }).await.len(), 2);
        let (code, name, _) = target.fails(doc! { "listIndexes": "none" }).await;
        assert_eq!((code, name.as_str()), (26, "NamespaceNotFound"));
    }

    pub async fn what_is_not_known_is_refused_by_name(target: &Target) {
        target.run(doc! { "insert": "r", "documents": [{ "_id": 1 }] }).await;
        let (code, name, message) = target.fails(doc! { "noSuchCommand": 1 }).await;
        assert_eq!((code, name.as_str()), (59, "CommandNotFound"));
        assert!(message.contains("noSuchCommand"), "{message}");
        let (code, _, message) =
            target.fails(doc! { "aggregate": "r", "pipeline": [{ "$noStage": {} }], "cursor": {} }).await;
        assert_eq!(code, 40324, "{message}");
        assert!(message.contains("$noStage"), "{message}");
        let (code, name, message) =
            target.fails(doc! { "find": "r", "filter": { "a": { "$noOp": 1 } } }).await;
        assert_eq!((code, name.as_str()), (2, "BadValue"));
        assert!(message.contains("$noOp"), "{message}");
    }

    pub async fn dropping_what_is_not_there_is_no_error(target: &Target) {
        target.run(doc! { "insert": "gone", "documents": [{ "_id": 1 }] }).await;
        target.run(doc! { "drop": "gone" }).await;
        assert!(target.batch(doc! { "find": "gone" }).await.is_empty());
        target.database.collection::<Document>("gone").drop().await.unwrap();
        target.run(doc! { "insert": "gone", "documents": [{ "_id": 1 }] }).await;
        assert_eq!(target.batch(doc! { "find": "gone" }).await.len(), 1);
    }

    pub async fn a_server_says_what_it_is(target: &Target) {
        let admin = target.client.database("admin");
        for name in ["hello", "isMaster", "ismaster"] {
            let reply = admin.run_command(doc! { name: 1 }).await.unwrap();
            assert!(number(&reply, "maxWireVersion") >= 8, "{name}");
            assert_eq!(number(&reply, "maxBsonObjectSize"), 16 * 1024 * 1024);
        }
        admin.run_command(doc! { "ping": 1 }).await.unwrap();
        let info = admin.run_command(doc! { "buildInfo": 1 }).await.unwrap();
        assert!(!info.get_str("version").unwrap().is_empty());
        let names = target.client.list_database_names().await.unwrap();
        assert!(!names.contains(&"never made".to_owned()));
    }
}
