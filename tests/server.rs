//! The embedded server: what it refuses, what it withstands, and what it keeps.

#[path = "live/target.rs"]
mod target;

use bson::{Bson, Document, doc, rawdoc};
use mongodb::Client;
use nbrs::server::{Server, ServerConfig, ServerError, remove_data};
use nbrs::wire;
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use target::{Target, number};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(data_dir: &Path) -> Result<Server, ServerError> {
    Server::start(ServerConfig { data_dir: data_dir.to_owned(), port: 0 }).await
}

async fn client_of(server: &Server) -> Client {
    Client::with_uri_str(format!("mongodb://{}", server.address())).await.expect("the URI is one")
}

/// What it refuses.
mod refuses {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_it_would_ignore_otherwise() {
        let target = Target::embedded().await;
        target.run(doc! { "insert": "c", "documents": [{ "_id": 1, "a": 1 }] }).await;
        let update = |u: Document, more: Document| {
            let mut statement = doc! { "q": {}, "u": u };
            statement.extend(more);
            doc! { "update": "c", "updates": [statement] }
        };
        let aggregate = |stage: Document| doc! { "aggregate": "c", "pipeline": [stage], "cursor": {} };
        let index = |key: Document, more: Document| {
            let mut spec = doc! { "key": key, "name": "i" };
            spec.extend(more);
            doc! { "createIndexes": "c", "indexes": [spec] }
        };
        #[rustfmt::skip]
        let table: Vec<(Document, i32, &str, &str)> = vec![
            (doc! { "findAndModify": "c" }, 59, "CommandNotFound", "findAndModify"),
            (doc! { "find": "c", "nonsense": 1 }, 40415, "IDLUnknownField", "find.nonsense"),
            (doc! { "find": "c", "collation": { "locale": "de" } }, 238, "NotImplemented", "collation"),
            (doc! { "find": "c", "let": { "a": 1 } }, 238, "NotImplemented", "let"),
            (doc! { "find": "c", "tailable": true }, 238, "NotImplemented", "tailable"),
            (doc! { "find": "c", "filter": 1 }, 14, "TypeMismatch", "find.filter"),
            (doc! { "find": 1 }, 73, "InvalidNamespace", "collection name"),
            (doc! { "find": "" }, 73, "InvalidNamespace", "Invalid collection name"),
            (doc! { "find": "c", "hint": "none" }, 2, "BadValue", "hint"),
            (doc! { "find": "c", "sort": { "a": 5 } }, 2, "BadValue", "sort"),
            (doc! { "find": "c", "projection": { "a": { "$slice": 1 } } }, 238, "NotImplemented", "projection"),
            (doc! { "find": "c", "readConcern": { "level": "snapshot" } }, 238, "NotImplemented", "snapshot"),
            (doc! { "find": "c", "readConcern": { "level": "none" } }, 9, "FailedToParse", "none"),
            (doc! { "insert": "c", "documents": [{}], "writeConcern": { "w": 2 } }, 2, "BadValue", "w"),
            (doc! { "insert": "c", "documents": [{}], "writeConcern": { "w": "tag" } }, 2, "BadValue", "tag"),
            (doc! { "insert": "c", "documents": [{}], "writeConcern": { "x": 1 } }, 40415, "IDLUnknownField", "x"),
            (doc! { "insert": "c" }, 40414, "IDLFailedToParse", "documents"),
            (doc! { "insert": "c", "documents": [] }, 16, "InvalidLength", "batch"),
            (doc! { "insert": "c", "documents": [1] }, 14, "TypeMismatch", "documents"),
            (doc! { "insert": "c", "documents": [{}], "txnNumber": 1i64 }, 20, "IllegalOperation", "retryable writes"),
            (doc! { "ping": 1, "apiVersion": "2" }, 322, "APIVersionError", "2"),
            (doc! { "distinct": "c", "key": "a", "apiVersion": "1", "apiStrict": true }, 323, "APIStrictError", "distinct"),
            (doc! { "ping": 1, "maxTimeMS": -1 }, 2, "BadValue", "maxTimeMS"),
            (update(doc! { "$set": { "a": 2 } }, doc! { "arrayFilters": [] }), 238, "NotImplemented", "arrayFilters"),
            (update(doc! { "$set": { "a": 2 } }, doc! { "none": 1 }), 40415, "IDLUnknownField", "none"),
            (doc! { "delete": "c", "deletes": [{ "q": {} }] }, 40414, "IDLFailedToParse", "limit"),
            (doc! { "delete": "c", "deletes": [{ "q": {}, "limit": 2 }] }, 9, "FailedToParse", "limit"),
            (aggregate(doc! { "$lookup": {} }), 40324, "Location40324", "$lookup"),
            (aggregate(doc! { "$project": { "a": 1 } }), 40324, "Location40324", "$project"),
            (aggregate(doc! { "$group": { "_id": 1, "m": { "$max": "$a" } } }), 15952, "Location15952", "$max"),
            (aggregate(doc! { "$group": { "_id": { "$toUpper": "$a" } } }), 168, "InvalidPipelineOperator", "$toUpper"),
            (aggregate(doc! { "$group": {} }), 15955, "Location15955", "_id"),
            (aggregate(doc! { "$limit": 0 }), 5107201, "Location5107201", "$limit"),
            (doc! { "aggregate": "c", "pipeline": [] }, 9, "FailedToParse", "cursor"),
            (doc! { "aggregate": "c", "pipeline": [], "cursor": { "x": 1 } }, 40415, "IDLUnknownField", "cursor.x"),
            (index(doc! { "a": "text" }, doc! {}), 238, "NotImplemented", "text"),
            (index(doc! { "a": 0 }, doc! {}), 67, "CannotCreateIndex", "a"),
            (index(doc! {}, doc! {}), 67, "CannotCreateIndex", "empty"),
            (index(doc! { "a": 1 }, doc! { "sparse": true }), 238, "NotImplemented", "sparse"),
            (index(doc! { "a": 1 }, doc! { "expireAfterSeconds": 1 }), 238, "NotImplemented", "expireAfterSeconds"),
            (index(doc! { "a": 1 }, doc! { "none": 1 }), 197, "InvalidIndexSpecificationOption", "none"),
            (doc! { "create": "n", "capped": true, "size": 1 }, 238, "NotImplemented", "capped"),
            (doc! { "create": "n", "validator": { "a": 1 } }, 238, "NotImplemented", "validator"),
            (doc! { "create": "n", "validationLevel": "some" }, 2, "BadValue", "validationLevel"),
            (doc! { "create": "n", "clusteredIndex": { "key": { "a": 1 }, "unique": true } }, 197, "InvalidIndexSpecificationOption", "_id"),
            (doc! { "getMore": 5i64, "collection": "c" }, 43, "CursorNotFound", "5"),
        ];
        for (command, code, name, part) in table {
            let (actual, actual_name, message) = target.fails(command.clone()).await;
            assert_eq!((actual, actual_name.as_str()), (code, name), "{command}: {message}");
            assert!(message.contains(part), "{command}: {message}");
        }
        // Nothing of all that was done by half.
        assert_eq!(target.batch(doc! { "find": "c" }).await, [doc! { "_id": 1, "a": 1 }]);
        target.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn documents_that_it_cannot_keep() {
        let target = Target::embedded().await;
        target.run(doc! { "createIndexes": "c", "indexes": [{ "key": { "k": 1 }, "name": "k" }] }).await;
        let decimal: bson::Decimal128 = "1.5".parse().unwrap();
        for (document, code) in [
            (doc! { "_id": [1] }, 53),
            (doc! { "_id": Bson::Undefined }, 53),
            (doc! { "_id": decimal }, 238),
            (doc! { "k": decimal }, 238),
            (doc! { "k": "x".repeat(40_000) }, 17280),
            (doc! { "_id": "x".repeat(40_000) }, 17280),
            (doc! { "big": "x".repeat(16 * 1024 * 1024) }, 10334),
        ] {
            let reply = target.run(doc! { "insert": "c", "documents": [document] }).await;
            assert_eq!(number(&reply, "n"), 0);
            let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap().clone();
            assert_eq!(number(&error, "code"), code, "{error}");
        }
        let reply = target.run(doc! { "insert": "c", "documents": [{ "free": decimal }] }).await;
        assert_eq!(number(&reply, "n"), 1);
        target.end().await;
    }

    #[tokio::test]
    async fn a_directory_that_another_has_and_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let first = start(directory.path()).await.unwrap();
        let Err(ServerError::InUse(message)) = start(directory.path()).await else {
            panic!("two servers share a directory")
        };
        assert!(message.contains("nbrs server") && message.contains("--data-dir"), "{message}");
        assert!(matches!(remove_data(directory.path()), Err(ServerError::InUse(_))));
        first.stop().await.unwrap();
        start(directory.path()).await.unwrap().stop().await.unwrap();
    }

    #[tokio::test]
    async fn a_directory_with_other_files_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("precious");
        std::fs::write(&precious, "x").unwrap();
        assert!(matches!(start(directory.path()).await, Err(ServerError::Unusable(_))));
        assert!(matches!(remove_data(directory.path()), Err(ServerError::Unusable(_))));
        assert!(precious.exists());
    }

    #[tokio::test]
    async fn a_port_that_another_has() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = start(a.path()).await.unwrap();
        let port = first.address().port();
        let second = Server::start(ServerConfig { data_dir: b.path().to_owned(), port }).await;
        assert!(matches!(second, Err(ServerError::Listen { port: p, .. }) if p == port));
        first.stop().await.unwrap();
    }
}

/// What it withstands.
mod withstands {
    use super::*;

    async fn connect(target: &Target) -> TcpStream {
        let port = target.client.database("admin").run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let host = port.get_str("host").unwrap().to_owned();
        TcpStream::connect(host).await.unwrap()
    }

    fn command(number: i32, flags: u32, body: &bson::RawDocument) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::write_msg(&mut bytes, number, 0, flags, body);
        bytes
    }

    async fn reply(stream: &mut TcpStream) -> (wire::Header, Document) {
        let mut reader = wire::MessageReader::new(stream);
        let bytes = reader.next().await.unwrap().expect("a reply").to_vec();
        let (header, message) = wire::parse(&bytes).unwrap();
        let wire::Message::Msg(msg) = message else { panic!("an OP_MSG") };
        (header, Document::try_from(msg.body).unwrap())
    }

    /// The server closes the connection without a word.
    async fn closed(stream: &mut TcpStream) -> bool {
        matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn bytes_that_are_no_message() {
        let target = Target::embedded().await;
        let ping = rawdoc! { "ping": 1, "$db": "admin" };
        let mut unknown_code = command(1, 0, &ping);
        unknown_code[12..16].copy_from_slice(&9999i32.to_le_bytes());
        let mut unknown_flag = command(1, 0, &ping);
        unknown_flag[16] = 0x80;
        let mut bad_section = command(1, 0, &ping);
        bad_section[20] = 7;
        let mut too_long = command(1, 0, &ping);
        too_long[..4].copy_from_slice(&48_000_001i32.to_le_bytes());
        let mut negative = command(1, 0, &ping);
        negative[..4].copy_from_slice(&(-5i32).to_le_bytes());
        for bytes in
            [unknown_code, unknown_flag, bad_section, too_long, negative, b"GET / HTTP/1.1\r\n\r\n".to_vec()]
        {
            let mut stream = connect(&target).await;
            stream.write_all(&bytes).await.unwrap();
            assert!(closed(&mut stream).await);
        }
        // Half a message, then nothing more.
        let mut stream = connect(&target).await;
        stream.write_all(&command(1, 0, &ping)[..20]).await.unwrap();
        drop(stream);
        target.run(doc! { "ping": 1 }).await;
        target.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn malformed_documents_in_whole_messages() {
        let target = Target::embedded().await;
        let mut stream = connect(&target).await;
        let mut bytes = command(5, 0, &rawdoc! { "insert": "c", "documents": [{ "a": "text" }], "$db": "d" });
        let at = bytes.windows(4).position(|window| window == b"text").unwrap();
        bytes[at] = 0xFF;
        stream.write_all(&bytes).await.unwrap();
        let (header, answer) = reply(&mut stream).await;
        assert_eq!(header.response_to, 5);
        assert_eq!(answer.get_str("codeName").unwrap(), "InvalidBSON");
        // The connection is none the worse.
        stream.write_all(&command(6, 0, &rawdoc! { "ping": 1, "$db": "admin" })).await.unwrap();
        assert_eq!(reply(&mut stream).await.0.response_to, 6);
        drop(stream);
        target.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn messages_in_pieces_and_several_at_once() {
        let target = Target::embedded().await;
        let mut stream = connect(&target).await;
        let bytes = command(1, 0, &rawdoc! { "ping": 1, "$db": "admin" });
        for byte in &bytes {
            stream.write_all(&[*byte]).await.unwrap();
        }
        assert_eq!(reply(&mut stream).await.0.response_to, 1);
        // A request that wants no reply gets none, the next one does.
        let quiet = command(
            2,
            wire::MORE_TO_COME,
            &rawdoc! { "insert": "q", "documents": [{ "_id": 1 }], "$db": "d" },
        );
        let loud = command(3, 0, &rawdoc! { "count": "q", "$db": "d" });
        stream.write_all(&[quiet, loud].concat()).await.unwrap();
        let (header, answer) = reply(&mut stream).await;
        assert_eq!((header.response_to, number(&answer, "n")), (3, 1));
        drop(stream);
        target.client.database("d").drop().await.unwrap();
        target.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn clients_of_old_that_say_hello_in_op_query() {
        let target = Target::embedded().await;
        let mut stream = connect(&target).await;
        for (query, ok) in [(rawdoc! { "isMaster": 1 }, true), (rawdoc! { "find": "c" }, false)] {
            let mut bytes = vec![0; 4];
            for field in [9i32, 0, wire::OP_QUERY, 0] {
                bytes.extend_from_slice(&field.to_le_bytes());
            }
            bytes.extend_from_slice(b"admin.$cmd\0");
            bytes.extend_from_slice(&0i32.to_le_bytes());
            bytes.extend_from_slice(&(-1i32).to_le_bytes());
            bytes.extend_from_slice(query.as_bytes());
            let length = (bytes.len() as i32).to_le_bytes();
            bytes[..4].copy_from_slice(&length);
            stream.write_all(&bytes).await.unwrap();
            let mut head = [0; 36];
            stream.read_exact(&mut head).await.unwrap();
            let length = i32::from_le_bytes(head[..4].try_into().unwrap()) as usize;
            assert_eq!(i32::from_le_bytes(head[12..16].try_into().unwrap()), wire::OP_REPLY);
            let mut body = vec![0; length - 36];
            stream.read_exact(&mut body).await.unwrap();
            let answer: Document = bson::deserialize_from_slice(&body).unwrap();
            assert_eq!(number(&answer, "ok") == 1, ok, "{answer}");
        }
        drop(stream);
        target.end().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_connections_and_clients_that_read_nothing() {
        let target = Target::embedded().await;
        let documents: Vec<Document> = (0..200).map(|i| doc! { "_id": i, "x": "y".repeat(10_000) }).collect();
        target.run(doc! { "insert": "big", "documents": documents }).await;
        let find =
            command(1, 0, &rawdoc! { "find": "big", "batchSize": 1000, "$db": target.database.name() });
        let mut deaf = Vec::new();
        for _ in 0..20 {
            let mut stream = connect(&target).await;
            stream.write_all(&find).await.unwrap();
            deaf.push(stream);
        }
        let mut many = Vec::new();
        for _ in 0..300 {
            many.push(connect(&target).await);
        }
        for (i, stream) in many.iter_mut().enumerate() {
            stream.write_all(&command(i as i32, 0, &rawdoc! { "ping": 1, "$db": "admin" })).await.unwrap();
        }
        for (i, stream) in many.iter_mut().enumerate() {
            assert_eq!(reply(stream).await.0.response_to, i as i32);
        }
        target.run(doc! { "ping": 1 }).await;
        target.end().await;
    }
}

/// What it keeps.
mod keeps {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn everything_over_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let server = start(directory.path()).await.unwrap();
        let client = client_of(&server).await;
        let db = client.database("kept");
        let schema = doc! { "$jsonSchema": { "required": ["k"] } };
        db.run_command(doc! { "create": "c", "validator": schema }).await.unwrap();
        db.run_command(doc! { "createIndexes": "c", "indexes": [
            { "key": { "k": 1 }, "name": "k", "unique": true }, { "key": { "l": -1 }, "name": "l" },
        ] })
        .await
        .unwrap();
        let documents: Vec<Document> = (0..500).map(|i| doc! { "_id": i, "k": i, "l": [i, i + 1] }).collect();
        db.run_command(doc! { "insert": "c", "documents": documents }).await.unwrap();
        db.run_command(doc! { "insert": "gone", "documents": [{ "_id": 1 }] }).await.unwrap();
        db.run_command(doc! { "drop": "gone" }).await.unwrap();
        client.shutdown().await;
        server.stop().await.unwrap();

        let server = start(directory.path()).await.unwrap();
        let client = client_of(&server).await;
        let db = client.database("kept");
        assert_eq!(db.list_collection_names().await.unwrap(), ["c"]);
        assert_eq!(number(&db.run_command(doc! { "count": "c" }).await.unwrap(), "n"), 500);
        let collection = db.collection::<Document>("c");
        assert_eq!(collection.count_documents(doc! { "k": 77 }).await.unwrap(), 1);
        // An index over arrays is still known for one: both items must be within, not one in each bound.
        assert_eq!(collection.count_documents(doc! { "l": { "$gt": 100, "$lt": 102 } }).await.unwrap(), 2);
        for (document, code) in [(doc! { "k": 77 }, 11000), (doc! { "x": 1 }, 121)] {
            let reply = db.run_command(doc! { "insert": "c", "documents": [document] }).await.unwrap();
            let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap().clone();
            assert_eq!(number(&error, "code"), code);
        }
        client.shutdown().await;
        server.stop().await.unwrap();
        remove_data(directory.path()).unwrap();
        let server = start(directory.path()).await.unwrap();
        assert!(client_of(&server).await.database("kept").list_collection_names().await.unwrap().is_empty());
        server.stop().await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_document_for_each_key_however_many_write_it() {
        let target = Target::embedded().await;
        target
            .run(doc! { "createIndexes": "c", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] })
            .await;
        let mut writers = Vec::new();
        for _ in 0..8 {
            let db = target.database.clone();
            writers.push(tokio::spawn(async move {
                let mut inserted = 0;
                for k in 0..100 {
                    let insert = doc! { "insert": "c", "documents": [{ "k": k }] };
                    inserted += number(&db.run_command(insert).await.unwrap(), "n");
                    let add = doc! { "update": "n", "updates": [
                        { "q": { "_id": 1 }, "u": { "$inc": { "n": 1 } }, "upsert": true },
                    ] };
                    let reply = db.run_command(add).await.unwrap();
                    assert_eq!(number(&reply, "n"), 1, "{reply}");
                }
                inserted
            }));
        }
        let mut inserted = 0;
        for writer in writers {
            inserted += writer.await.unwrap();
        }
        assert_eq!(inserted, 100);
        assert_eq!(number(&target.run(doc! { "count": "c" }).await, "n"), 100);
        assert_eq!(target.batch(doc! { "find": "n" }).await, [doc! { "_id": 1, "n": 800 }]);
        target.end().await;
    }

    /// `nbrs server` as a process of its own.
    struct Process {
        child: Child,
        uri: String,
    }

    impl Process {
        fn start(data_dir: &Path) -> Process {
            let mut child = Command::new(env!("CARGO_BIN_EXE_nbrs"))
                .args(["server", "--port", "0", "--data-dir"])
                .arg(data_dir)
                .stdout(Stdio::piped())
                .spawn()
                .expect("nbrs starts");
            let mut line = String::new();
            BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
            let uri = line.trim().strip_prefix("listening on ").expect("its address").to_owned();
            Process { child, uri }
        }

        /// SIGKILL: no chance to put anything in order.
        fn kill(self) {
            drop(self);
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_write_acknowledged_by_the_majority_when_killed() {
        const WRITERS: i64 = 8;
        let directory = tempfile::tempdir().unwrap();
        let acknowledged = Arc::new(Mutex::new(HashSet::new()));
        for round in 0..4i64 {
            let process = Process::start(directory.path());
            let client = Client::with_uri_str(&process.uri).await.unwrap();
            let db = client.database("killed");
            db.run_command(doc! { "createIndexes": "c", "indexes": [{ "key": { "k": 1 }, "name": "k", "unique": true }] })
                .await
                .unwrap();
            let killed = Arc::new(AtomicBool::new(false));
            let mut writers = Vec::new();
            for writer in 0..WRITERS {
                let (db, acknowledged, killed) = (db.clone(), acknowledged.clone(), killed.clone());
                writers.push(tokio::spawn(async move {
                    for number_of_write in 0.. {
                        let id = (round * WRITERS + writer) * 1_000_000 + number_of_write;
                        // Long ones reach the journal in several pieces, between which the kill may fall.
                        let size = if id % 3 == 0 { 50_000 } else { 500 };
                        let insert = doc! {
                            "insert": "c", "writeConcern": { "w": "majority" },
                            "documents": [{ "_id": id, "k": format!("k{id}"), "x": "x".repeat(size) }],
                        };
                        match db.run_command(insert).await {
                            Ok(reply) => {
                                assert_eq!(number(&reply, "n"), 1, "{reply}");
                                acknowledged.lock().unwrap().insert(id);
                            }
                            Err(error) => {
                                assert!(killed.load(Ordering::SeqCst), "it failed before the kill: {error}");
                                return;
                            }
                        }
                    }
                }));
            }
            let before = acknowledged.lock().unwrap().len();
            while acknowledged.lock().unwrap().len() < before + 100 + 50 * round as usize {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            killed.store(true, Ordering::SeqCst);
            process.kill();
            for writer in writers {
                writer.await.unwrap();
            }
            client.shutdown().immediate(true).await;

            let process = Process::start(directory.path());
            let client = Client::with_uri_str(&process.uri).await.unwrap();
            let collection = client.database("killed").collection::<Document>("c");
            let mut found = HashSet::new();
            let mut cursor = collection.find(doc! {}).await.unwrap();
            while cursor.advance().await.unwrap() {
                let document = cursor.deserialize_current().unwrap();
                found.insert(document.get_i64("_id").unwrap());
            }
            let lost: Vec<_> = acknowledged.lock().unwrap().difference(&found).copied().collect();
            assert!(lost.is_empty(), "round {round}: lost {lost:?}");
            // The index tells the same as the documents.
            let by_index = collection.count_documents(doc! { "k": { "$gte": "k" } }).await.unwrap();
            assert_eq!(by_index, found.len() as u64, "round {round}");
            client.shutdown().immediate(true).await;
            process.kill();
        }
    }
}
