//! The wire lane of the mongodb driver: what it sends, and what becomes of an op when a server, a socket or a
//! reply is not what it should be.

#[path = "../benches/canned/mod.rs"]
mod canned;
#[path = "lane/ramp.rs"]
mod ramp;
#[path = "lane/security.rs"]
mod security;

use bson::{Document, RawDocument, doc};
use canned::{Canned, Reply, connecting};
use indexmap::IndexMap;
use nbrs::adapters::mongodb::ROW;
use nbrs::adapters::{Adapter, AdapterError, Config, Dispenser, Outcome, Scratch};
use nbrs::functions::Context;
use nbrs::plan::{self, Form};
use nbrs::server::{Server, ServerConfig};
use nbrs::span::Text;
use nbrs::wire;
use nbrs::workload::{self, Data, LoadOptions, Node, OpTemplate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const LANES: [&str; 2] = ["driver", "wire"];

/// What ops may use.
const BINDINGS: &[(&str, &str)] = &[
    ("n", "Identity()"),
    ("one", "FixedValue(1) -> int"),
    ("long", "CharBufImage('A-Za-z0-9',60000,HashRange(20000,30000)); ToString()"),
    ("wide", "Hash(); CharBufImage('aé漢😀',60000,HashRange(20000,30000)); ToString()"),
];

type Connected = Result<Arc<dyn Adapter>, AdapterError>;

async fn connect_with(given: &[(&str, &str)], threads: usize) -> Connected {
    let parameters: IndexMap<String, String> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (ROW.connect)(Config { alias: "test".to_owned(), parameters, threads }).await
}

async fn connect(lane: &str, uri: &str, threads: usize) -> Arc<dyn Adapter> {
    let connected = connect_with(&[("connection", uri), ("lane", lane)], threads).await;
    connected.unwrap_or_else(|error| panic!("{lane}: {error}"))
}

/// A server that connects everybody and leaves all other commands to `script`.
fn server(script: impl Fn(&RawDocument) -> Reply + Send + Sync + 'static) -> Canned {
    Canned::scripted(move |_, command| match connecting(command) {
        Some(reply) => reply.into(),
        None => script(command),
    })
}

fn op(adapter: &dyn Adapter, stmt: &str) -> Arc<dyn Dispenser> {
    let stmt = Node { data: Data::Text(Text::unplaced(stmt)), location: None };
    let template = OpTemplate {
        name: "block__op".to_owned(),
        block: "block".to_owned(),
        op: IndexMap::from([("stmt".to_owned(), stmt)]),
        bindings: BINDINGS
            .iter()
            .map(|(name, recipe)| ((*name).to_owned(), Text::unplaced(*recipe)))
            .collect(),
        ..OpTemplate::default()
    };
    let compiled = plan::compile(&template, Form::Command);
    let plan = compiled.unwrap_or_else(|errors| panic!("{errors:?}")).plan;
    adapter.dispenser(plan).expect("a command op")
}

/// Runs one cycle on logical thread `thread`.
async fn run_on(thread: usize, op: &dyn Dispenser, cycle: i64) -> Outcome {
    let mut context = Context { thread, ..Context::default() };
    let mut scratch = Scratch::default();
    op.bind(cycle, &mut context, &mut scratch).expect("the op binds");
    op.run(cycle, &mut scratch).await
}

async fn run(op: &dyn Dispenser, cycle: i64) -> Outcome {
    run_on(0, op, cycle).await
}

/// The name that an op failed under; empty if it ended well.
async fn failure(op: &dyn Dispenser, cycle: i64) -> String {
    run(op, cycle).await.failure.map(|failure| failure.name.into_owned()).unwrap_or_default()
}

fn n_of(command: &RawDocument) -> i32 {
    command.get_i32("count").or_else(|_| command.get_i32("insert")).unwrap_or(-1)
}

fn ok() -> Document {
    doc! { "n": 1, "ok": 1.0 }
}

fn message(request: i32, body: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = bson::RawDocumentBuf::try_from(body).expect("a document");
    wire::write_msg(&mut bytes, 0, request, 0, &body);
    bytes
}

fn raw(make: impl FnOnce(i32) -> Vec<u8> + Send + 'static) -> Reply {
    Reply::Raw { make: Box::new(make), piece: usize::MAX, close: false }
}

/// A hello of the primary of a set, at `address`.
fn primary(address: &str) -> Document {
    doc! {
        "helloOk": true, "ismaster": true, "isWritablePrimary": true, "secondary": false, "setName": "rs",
        "setVersion": 1, "hosts": [address], "me": address, "primary": address, "maxBsonObjectSize": 16 << 20,
        "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "logicalSessionTimeoutMinutes": 30,
        "minWireVersion": 0, "maxWireVersion": 21, "readOnly": false, "ok": 1.0,
    }
}

/// A command as sent, with a session's id made one that compares.
fn comparable(command: &RawDocument) -> Vec<u8> {
    let mut bytes = command.as_bytes().to_vec();
    if let Ok(session) = command.get_document("lsid") {
        let id = session.get_binary("id").expect("a session has an id").bytes;
        let at = bytes.windows(id.len()).position(|window| window == id).expect("it is in there");
        bytes[at..at + id.len()].fill(0);
    }
    bytes
}

#[tokio::test]
async fn both_lanes_send_the_same_bytes() {
    type Log = Arc<Mutex<Vec<Vec<u8>>>>;
    let sent: Log = Log::default();
    let address: Arc<Mutex<String>> = Arc::default();
    let (log, own) = (Arc::clone(&sent), Arc::clone(&address));
    let server = Canned::scripted(move |_, command| {
        let set = own.lock().expect("no holder panics").clone();
        match connecting(command) {
            Some(hello) if hello.contains_key("helloOk") && !set.is_empty() => primary(&set).into(),
            Some(reply) => reply.into(),
            None => {
                log.lock().expect("no holder panics").push(comparable(command));
                ok().into()
            }
        }
    });
    let set = server.address.to_string();
    for (options, own, api) in [
        ("", "", false),
        ("/shop?w=majority&journal=true&readConcernLevel=local", "", true),
        ("/?readPreference=nearest", "", false),
        ("/?replicaSet=rs&readPreference=secondaryPreferred&readPreferenceTags=dc:east", &*set, true),
        ("/?replicaSet=rs", &set, false),
        ("/?directConnection=true&readPreference=secondary", &set, false),
        ("/?directConnection=true", &set, false),
    ] {
        *address.lock().expect("no holder panics") = own.to_owned();
        let mut by_lane = Vec::new();
        for lane in LANES {
            let uri = format!("{}{options}", server.uri());
            let mut given = vec![("connection", uri.as_str()), ("lane", lane)];
            given.extend(api.then_some(("apiVersion", "1")));
            let adapter =
                connect_with(&given, 1).await.unwrap_or_else(|error| panic!("{lane} {options}: {error}"));
            sent.lock().expect("no holder panics").clear();
            for stmt in [
                "{ find: 'c', filter: { _id: {n} } }",
                "{ insert: 'c', documents: [ { _id: {n}, v: '{n}' } ] }",
                // Long texts, which the wire lane sends from where they lie.
                "{ insert: 'c', documents: [ { v: '{long}' }, { v: '<{long}>', w: { v: '{wide}' } } ] }",
                "{ update: 'c', updates: [ { q: {}, u: { $set: { v: '{wide}' } } } ], writeConcern: { w: {one} } }",
                "{ insert: 'c', documents: [ { _id: {n} } ], writeConcern: { w: 1 } }",
                "{ update: 'c', updates: [ { q: { _id: {n} }, u: { $inc: { a: 1 } } } ] }",
                "{ aggregate: 'c', pipeline: [ { $match: { _id: {n} } } ], cursor: {} }",
                "{ killCursors: 'c', cursors: [ 5 ] }",
                "{ command{n}: 1 }",
            ] {
                let op = op(&*adapter, stmt);
                for cycle in 0..3 {
                    assert_eq!(run(&*op, cycle).await.failure, None, "{lane} {options} {stmt}");
                }
            }
            let params = IndexMap::new();
            let workload =
                workload::load("mongodb-keyvalue2", &LoadOptions { includes: &[], params: &params });
            for template in &workload.unwrap_or_else(|errors| panic!("{errors:?}")).ops {
                let plan =
                    plan::compile(template, Form::Command).unwrap_or_else(|errors| panic!("{errors:?}")).plan;
                let op = adapter.dispenser(plan).expect("a command op");
                for cycle in [0, 7, 1_000_003] {
                    let outcome = run(&*op, cycle).await;
                    assert_eq!(outcome.failure, None, "{lane} {options}");
                }
            }
            by_lane.push(std::mem::take(&mut *sent.lock().expect("no holder panics")));
            adapter.close().await.expect("it closes");
        }
        assert!(by_lane[0].len() > 21);
        assert_eq!(by_lane[0].len(), by_lane[1].len());
        for (driver, wire) in by_lane[0].iter().zip(&by_lane[1]) {
            let text = |bytes: &[u8]| RawDocument::from_bytes(bytes).map(|it| format!("{it:?}"));
            assert!(driver == wire, "{options}: {:?}\n{:?}", text(driver), text(wire));
        }
    }
}

#[tokio::test]
async fn a_reply_may_be_split_at_every_byte() {
    let length = message(1, &ok()).len();
    let server = server(move |command| {
        let piece = usize::try_from(n_of(command)).unwrap_or(0);
        Reply::Raw { make: Box::new(|request| message(request, &ok())), piece, close: false }
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ insert: {n} }");
    // Pieces of one byte, and each way to make two.
    for piece in 1..length {
        let outcome = run(&*op, piece as i64).await;
        assert_eq!((outcome.failure, outcome.docs_written), (None, 1), "{piece}");
    }
}

#[tokio::test]
async fn a_reply_of_48_megabytes_is_read_and_the_next_one_too() {
    let server = server(|command| {
        let filler = if n_of(command) == 1 { 15_900_000 } else { 10 };
        let documents = vec![doc! { "v": "x".repeat(filler) }; 3];
        doc! { "cursor": { "id": 0_i64, "firstBatch": documents }, "ok": 1.0 }.into()
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ count: {n} }");
    for cycle in [0, 1, 0] {
        let outcome = run(&*op, cycle).await;
        assert_eq!((outcome.failure, outcome.docs_returned), (None, 3));
    }
}

#[tokio::test]
async fn bytes_that_are_no_reply_end_their_op_and_no_other() {
    fn with(at: usize, bytes: &[u8]) -> Reply {
        let bytes = bytes.to_vec();
        raw(move |request| {
            let mut message = message(request, &ok());
            message[at..at + bytes.len()].copy_from_slice(&bytes);
            message
        })
    }
    let server = server(|command| match n_of(command) {
        1 => with(0, &10_i32.to_le_bytes()),
        2 => with(0, &(-1_i32).to_le_bytes()),
        3 => with(0, &60_000_000_i32.to_le_bytes()),
        4 => with(0, &30_i32.to_le_bytes()),
        5 => with(12, &1_i32.to_le_bytes()),
        6 => with(12, &2012_i32.to_le_bytes()),
        7 => with(16, &[2]),
        8 => with(16, &[4]),
        9 => with(20, &[7]),
        10 => with(21, &5_i32.to_le_bytes()),
        11 => with(21, &500_i32.to_le_bytes()),
        12 => raw(|request| message(request + 1, &ok())),
        13 => raw(|request| [message(request, &ok()), b"more".to_vec()].concat()),
        14 => raw(|request| [message(request, &ok()), message(request, &ok())].concat()),
        15 => raw(|_| vec![0; 100]),
        16 => doc! { "n": 1 }.into(),
        17 => doc! { "ok": "yes" }.into(),
        _ => ok().into(),
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ insert: {n} }");
    for cycle in 1..=17 {
        let outcome = run(&*op, cycle).await;
        let failure = outcome.failure.unwrap_or_else(|| panic!("{cycle} should fail"));
        assert_eq!(failure.name, "InvalidReply", "{cycle}: {failure:?}");
        assert!(!failure.message.is_empty(), "{cycle}");
        assert_eq!(run(&*op, 0).await.failure, None, "after {cycle}");
    }
}

#[tokio::test]
async fn a_socket_that_is_cut_in_a_reply_ends_its_op_and_no_other() {
    let length = message(1, &ok()).len();
    let server = server(move |command| match usize::try_from(n_of(command)) {
        Ok(cut) if cut < length => {
            let make = move |request| message(request, &ok())[..cut].to_vec();
            Reply::Raw { make: Box::new(make), piece: usize::MAX, close: true }
        }
        _ => ok().into(),
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ insert: {n} }");
    for cut in (0..length).step_by(5) {
        assert_eq!(failure(&*op, cut as i64).await, "NetworkError", "{cut}");
        assert_eq!(failure(&*op, 1000).await, "", "after {cut}");
    }
    // Each op was sent once.
    let commands = server.seen.log.lock().expect("no holder panics").len();
    assert_eq!(commands, 2 * length.div_ceil(5));
}

#[tokio::test]
async fn an_op_that_is_given_up_takes_its_connection_with_it() {
    let server = server(|command| match n_of(command) {
        1 => Reply::Silence,
        // The reply would be taken for that of the next op.
        2 => Reply::Raw {
            make: Box::new(|request| message(request, &doc! { "ok": 1, "n": 77 })),
            piece: 30,
            close: false,
        },
        _ => ok().into(),
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ insert: {n} }");
    for cycle in [1, 2, 1] {
        let opened = server.seen.opened.load(Ordering::Relaxed);
        let mut scratch = Scratch::default();
        op.bind(cycle, &mut Context::default(), &mut scratch).expect("it binds");
        let running = op.run(cycle, &mut scratch);
        let given_up = tokio::select! {
            biased;
            _ = running => false,
            () = async {
                while server.seen.log.lock().expect("no holder panics").last().and_then(|it| it.get_i32("insert").ok())
                    != Some(cycle as i32)
                {
                    tokio::time::sleep(Duration::from_micros(100)).await;
                }
            } => true,
        };
        if given_up {
            let outcome = run(&*op, 0).await;
            assert_eq!((outcome.failure, outcome.docs_written), (None, 1));
            assert!(server.seen.opened.load(Ordering::Relaxed) > opened, "a new connection");
        }
    }
}

#[tokio::test]
async fn asking_for_counters_leaves_the_connections_of_ops_alone() {
    let used: Arc<Mutex<Vec<u64>>> = Arc::default();
    let uses = Arc::clone(&used);
    let server = Canned::scripted(move |connection, command| match connecting(command) {
        Some(reply) => reply.into(),
        None => {
            if command.get("insert").is_ok_and(|it| it.is_some()) {
                uses.lock().expect("no holder panics").push(connection);
            }
            ok().into()
        }
    });
    let adapter = connect("wire", &server.uri(), 1).await;
    let op = op(&*adapter, "{ insert: {n} }");
    for cycle in 0..3 {
        assert_eq!(failure(&*op, cycle).await, "");
        assert!(adapter.counters().await.is_some());
    }
    let used = used.lock().expect("no holder panics");
    assert!(used.iter().all(|connection| *connection == used[0]), "{used:?}");
}

#[tokio::test]
async fn threads_that_share_connections_take_turns() {
    let at_once = Arc::new(AtomicUsize::new(0));
    let server =
        server(|_| Reply::Raw { make: Box::new(|request| message(request, &ok())), piece: 20, close: false });
    let uri = format!("{}/?maxPoolSize=2", server.uri());
    let adapter = connect("wire", &uri, 8).await;
    adapter.warm_up().await.expect("connections");
    let before = server.seen.opened.load(Ordering::Relaxed);
    let op = op(&*adapter, "{ insert: {n} }");
    let runs = (0..8).map(|thread| {
        let (op, at_once) = (op.clone(), at_once.clone());
        tokio::spawn(async move {
            for cycle in 0..5 {
                at_once.fetch_add(1, Ordering::Relaxed);
                assert_eq!(run_on(thread, &*op, cycle).await.failure, None);
            }
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.expect("no op panics");
    }
    assert_eq!(at_once.load(Ordering::Relaxed), 40);
    // The monitor may have opened one to measure round trips.
    assert!(server.seen.opened.load(Ordering::Relaxed) <= before + 1);
}

#[tokio::test]
async fn a_write_of_w_0_awaits_no_reply() {
    // A server that would answer something else to a write that wants no answer.
    let server = server(|_| ok().into());
    let adapter = connect("wire", &format!("{}/?w=0", server.uri()), 1).await;
    let insert = op(&*adapter, "{ insert: {n}, documents: [ { _id: {n} } ] }");
    let count = op(&*adapter, "{ count: {n} }");
    for cycle in 0..3 {
        let outcome = run(&*insert, cycle).await;
        assert_eq!((outcome.failure, outcome.docs_written), (None, 0));
        assert!(outcome.bytes_sent > 0);
        assert_eq!(failure(&*count, cycle).await, "");
    }
    let log = server.seen.log.lock().expect("no holder panics");
    let names: Vec<_> = log.iter().map(|it| it.keys().next().cloned().unwrap_or_default()).collect();
    assert_eq!(names, ["insert", "count"].repeat(3));
    // A write that nobody answers for has no session, and every other command has one.
    assert!(log.iter().all(|it| it.contains_key("lsid") != it.contains_key("insert")), "{log:?}");
    let told = adapter.facts().settings.iter().find(|(name, _)| name == "writeConcern");
    assert!(told.is_some_and(|(_, text)| text.contains("until they are sent")), "{told:?}");
}

#[tokio::test]
async fn no_lane_sends_a_command_again_by_itself() {
    let labels = ["RetryableWriteError"];
    for lane in LANES {
        let server = server(move |command| {
            match n_of(command) {
            0 => doc! {
                "ok": 0.0, "code": 6, "codeName": "HostUnreachable", "errmsg": "no", "errorLabels": labels.to_vec(),
            }
            .into(),
            1 => doc! {
                "ok": 1.0, "n": 1, "writeConcernError": { "code": 91, "errmsg": "no" }, "errorLabels": labels.to_vec(),
            }
            .into(),
            _ => Reply::Close,
        }
        });
        let adapter = connect(lane, &format!("{}/?retryWrites=true", server.uri()), 1).await;
        let op = op(&*adapter, "{ insert: {n} }");
        for (cycle, expected) in [(0, "HostUnreachable"), (1, "ShutdownInProgress"), (2, "NetworkError")] {
            assert_eq!(failure(&*op, cycle).await, expected, "{lane}");
            assert_eq!(server.seen.count("insert"), cycle as u64 + 1, "{lane} {expected}");
        }
    }
}

#[tokio::test]
async fn the_lane_is_told_and_one_that_cannot_be_is_named() {
    let server = Canned::fast();
    let told = |adapter: &Arc<dyn Adapter>| {
        let found = adapter.facts().settings.iter().find(|(name, _)| name == "lane");
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    for (lane, expected) in [("wire", "wire"), ("driver", "driver"), ("auto", "wire")] {
        assert!(told(&connect(lane, &server.uri(), 1).await).starts_with(expected), "{lane}");
    }
    let stale = format!("{}/?readPreference=nearest&maxStalenessSeconds=120", server.uri());
    let text = told(&connect("auto", &stale, 1).await);
    assert!(text.starts_with("driver") && text.contains("maxStalenessSeconds"), "{text}");
    for (lane, uri, words) in
        [("wire", &stale, "maxStalenessSeconds"), ("fast", &server.uri(), "`auto`, `wire` or `driver`")]
    {
        match connect_with(&[("connection", uri), ("lane", lane)], 1).await {
            Err(AdapterError::Configuration(text)) => assert!(text.contains(words), "{text}"),
            other => panic!("{lane}: {:?}", other.err()),
        }
    }
}

#[tokio::test]
async fn a_server_that_falls_silent_ends_the_ops_that_wait_for_it() {
    for lane in LANES {
        let silent = Arc::new(AtomicUsize::new(0));
        let is_silent = Arc::clone(&silent);
        let server = Canned::scripted(move |_, command| {
            if is_silent.load(Ordering::Relaxed) == 1 {
                return Reply::Silence;
            }
            connecting(command).unwrap_or_else(ok).into()
        });
        let options = "serverMonitoringMode=poll&heartbeatFrequencyMS=500&connectTimeoutMS=500";
        let adapter = connect(lane, &format!("{}/?{options}", server.uri()), 1).await;
        let op = op(&*adapter, "{ insert: {n} }");
        assert_eq!(failure(&*op, 0).await, "", "{lane}");
        silent.store(1, Ordering::Relaxed);
        assert_eq!(failure(&*op, 1).await, "PoolCleared", "{lane}");
    }
}

/// An embedded server at a port that is given, so that another can follow it there.
async fn embedded(directory: &tempfile::TempDir, port: u16) -> Server {
    let config = || ServerConfig { data_dir: directory.path().join("data"), port };
    let begun = Instant::now();
    loop {
        match Server::start(config()).await {
            Ok(server) => return server,
            // The port of the one before may not be free at once.
            Err(_) if begun.elapsed() < Duration::from_secs(10) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_killed_and_started_again_is_found() {
    const THREADS: usize = 40;
    for lane in LANES {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let server = embedded(&directory, 0).await;
        let port = server.address().port();
        let uri =
            format!("mongodb://{}/?heartbeatFrequencyMS=500&serverSelectionTimeoutMS=600", server.address());
        let adapter = connect(lane, &uri, THREADS).await;
        adapter.warm_up().await.expect("connections");
        let op = op(&*adapter, "{ insert: 'c', documents: [ { n: {n} } ] }");
        assert_eq!(failure(&*op, 0).await, "", "{lane}");
        server.stop().await.expect("it stops");
        let mut names = std::collections::BTreeSet::new();
        for cycle in 0..3 {
            let all = (0..THREADS).map(|thread| run_on(thread, &*op, cycle));
            let outcomes = futures_util::future::join_all(all).await;
            names.extend(outcomes.into_iter().filter_map(|it| Some(it.failure?.name.into_owned())));
        }
        let known = ["ConnectionFailed", "NetworkError", "PoolCleared", "ServerSelectionTimeout"];
        assert!(names.iter().all(|name| known.contains(&name.as_str())), "{lane}: {names:?}");
        assert!(names.contains("ServerSelectionTimeout"), "{lane}: {names:?}");
        let server = embedded(&directory, port).await;
        let begun = Instant::now();
        while !failure(&*op, 1).await.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{lane}: it is not found");
        }
        for thread in 0..THREADS {
            assert_eq!(run_on(thread, &*op, 1).await.failure, None, "{lane}");
        }
        adapter.close().await.expect("it closes");
        server.stop().await.expect("it stops");
    }
}

#[tokio::test]
async fn connections_that_break_together_do_not_come_back_in_a_storm() {
    const THREADS: usize = 100;
    let meeting = Arc::new(AtomicUsize::new(0));
    let refusing = Arc::new(AtomicUsize::new(0));
    let (met, refuses) = (Arc::clone(&meeting), Arc::clone(&refusing));
    let server = Canned::scripted(move |_, command| {
        if refuses.load(Ordering::Relaxed) == 0 {
            return connecting(command).unwrap_or_else(ok).into();
        }
        // The first command of a connection tells of the client.
        if command.get("client").is_ok_and(|client| client.is_some()) {
            met.fetch_add(1, Ordering::Relaxed);
        }
        Reply::Close
    });
    let adapter = connect("wire", &format!("{}/?serverSelectionTimeoutMS=300", server.uri()), THREADS).await;
    adapter.warm_up().await.expect("connections");
    let op = op(&*adapter, "{ insert: {n} }");
    refusing.store(1, Ordering::Relaxed);
    for cycle in 0..4 {
        let all = (0..THREADS).map(|thread| run_on(thread, &*op, cycle));
        let outcomes = futures_util::future::join_all(all).await;
        assert!(outcomes.iter().all(|it| it.failure.is_some()));
    }
    // Four rounds of a hundred ops: at most 32 come to a server at the same time, and when the first is turned
    // away the others leave it alone for a while.
    let met = meeting.load(Ordering::Relaxed);
    assert!(met < 2 * THREADS, "{met} attempts");
}

/// What a list of ops comes to: documents, and the names of failures.
async fn outcomes(lane: &str, uri: &str, database: &str) -> Vec<(String, u64, u64, String)> {
    let given = [("connection", uri), ("lane", lane), ("database", database)];
    let adapter = connect_with(&given, 1).await.unwrap_or_else(|error| panic!("{lane}: {error}"));
    adapter.warm_up().await.expect("connections");
    let mut seen = Vec::new();
    for stmt in [
        "{ drop: 'c' }",
        "{ create: 'c' }",
        "{ create: 'c' }",
        "{ createIndexes: 'c', indexes: [ { key: { k: 1 }, name: 'k', unique: true } ] }",
        "{ insert: 'c', documents: [ { _id: 1, k: 1 }, { _id: 2, k: 2 } ] }",
        "{ insert: 'c', documents: [ { _id: 3, k: 1 }, { _id: 4, k: 4 } ], ordered: false }",
        "{ find: 'c', filter: {} }",
        "{ find: 'c', filter: { k: 2 } }",
        "{ find: 'c', filter: { k: { $none: 2 } } }",
        "{ update: 'c', updates: [ { q: {}, u: { $set: { a: 1 } }, multi: true } ] }",
        "{ aggregate: 'c', pipeline: [ { $match: { a: 1 } }, { $limit: 2 } ], cursor: {} }",
        "{ aggregate: 'c', pipeline: [ { $none: 1 } ], cursor: {} }",
        "{ insert: 'c', documents: [ { _id: 9 } ], writeConcern: { w: 1 } }",
        "{ delete: 'c', deletes: [ { q: { _id: 1 }, limit: 1 } ] }",
        "{ count: 'c' }",
        "{ noSuchCommand: 1 }",
        "{ find: 'c', filter: 7 }",
        "{ drop: 'c' }",
    ] {
        let outcome = run(&*op(&*adapter, stmt), 0).await;
        let name = outcome.failure.map(|failure| failure.name.into_owned()).unwrap_or_default();
        seen.push((stmt.to_owned(), outcome.docs_returned, outcome.docs_written, name));
    }
    adapter.close().await.expect("it closes");
    seen
}

/// Against the embedded server, and the one that `NBRS_TEST_URI` names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_lanes_come_to_the_same() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = embedded(&directory, 0).await;
    let embedded = format!("mongodb://{}", server.address());
    let given = std::env::var("NBRS_TEST_URI").ok().filter(|uri| !uri.is_empty());
    for uri in std::iter::once(embedded).chain(given) {
        let database = format!("nbrs_lane_{}", uuid::Uuid::new_v4().simple());
        let driver = outcomes("driver", &uri, &database).await;
        assert_eq!(outcomes("wire", &uri, &database).await, driver);
        assert!(driver.iter().filter(|(.., name)| !name.is_empty()).count() >= 4, "{driver:?}");
        let separator = if uri.contains('?') { "&" } else { "/?" };
        let packed = format!("{uri}{separator}compressors=zstd,zlib,snappy");
        assert_eq!(outcomes("wire", &packed, &database).await, driver);
    }
    server.stop().await.expect("it stops");
}
