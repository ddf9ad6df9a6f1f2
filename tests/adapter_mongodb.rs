//! The mongodb driver against a server that says what each test tells it to.

#[path = "../benches/canned/mod.rs"]
mod canned;
mod program;

use bson::{Document, doc};
use canned::{Canned, Reply, connecting};
use indexmap::IndexMap;
use nbrs::adapters::mongodb::ROW;
use nbrs::adapters::{Adapter, AdapterError, Config, Dispenser, Outcome, Scratch};
use nbrs::functions::Context;
use nbrs::plan::{self, Form};
use nbrs::span::Text;
use nbrs::workload::{Data, Node, OpTemplate};
use program::Place;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Connects with the parameters `given`, for `threads` logical threads.
async fn connect_with(given: &[(&str, &str)], threads: usize) -> Result<Arc<dyn Adapter>, AdapterError> {
    let parameters: IndexMap<String, String> =
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    (ROW.connect)(Config { alias: "test".to_owned(), parameters, threads }).await
}

/// Both ways that ops can take.
const LANES: [&str; 2] = ["driver", "wire"];

/// Connects with the lane `lane`, for one logical thread.
async fn connect_by(lane: &str, uri: &str) -> Arc<dyn Adapter> {
    connect_with(&[("connection", uri), ("lane", lane)], 1)
        .await
        .unwrap_or_else(|error| panic!("{lane}: {error}"))
}

async fn connect(uri: &str) -> Result<Arc<dyn Adapter>, AdapterError> {
    connect_with(&[("connection", uri)], 1).await
}

async fn refusal(uri: &str) -> AdapterError {
    match connect(uri).await {
        Ok(_) => panic!("{uri} should be refused"),
        Err(error) => error,
    }
}

/// A server that connects everybody and leaves all other commands to `script`.
fn server(script: impl Fn(&Document) -> Reply + Send + Sync + 'static) -> Canned {
    Canned::scripted(move |_, command| match connecting(command) {
        Some(reply) => reply.into(),
        None => script(&Document::try_from(command).expect("the driver sends documents")),
    })
}

fn setting<'a>(adapter: &'a dyn Adapter, name: &str) -> &'a str {
    let found = adapter.facts().settings.iter().find(|(key, _)| key == name);
    found.map_or("not told", |(_, value)| value.as_str())
}

/// The dispenser of an op whose text is `stmt`.
fn dispenser(adapter: &dyn Adapter, stmt: &str) -> Arc<dyn Dispenser> {
    dispenser_of(adapter, &[("stmt", stmt)])
}

/// The dispenser of an op with these fields.
fn dispenser_of(adapter: &dyn Adapter, fields: &[(&str, &str)]) -> Arc<dyn Dispenser> {
    let node = |text: &str| Node { data: Data::Text(Text::unplaced(text)), location: None };
    let template = OpTemplate {
        name: "block__op".to_owned(),
        block: "block".to_owned(),
        op: fields.iter().map(|(name, text)| ((*name).to_owned(), node(text))).collect(),
        bindings: IndexMap::from([("n".to_owned(), Text::unplaced("Identity()"))]),
        ..OpTemplate::default()
    };
    let compiled = plan::compile(&template, Form::Command);
    let plan = compiled.unwrap_or_else(|errors| panic!("{errors:?}")).plan;
    nbrs::adapters::dispenser(adapter, plan).expect("a command op")
}

/// Runs one cycle.
async fn run(dispenser: &dyn Dispenser, cycle: i64) -> Outcome {
    let mut scratch = Scratch::default();
    dispenser.bind(cycle, &mut Context::default(), &mut scratch).expect("the op binds");
    dispenser.run(cycle, &mut scratch).await
}

async fn run_text(adapter: &dyn Adapter, stmt: &str) -> Outcome {
    run(&*dispenser(adapter, stmt), 0).await
}

/// What holds whichever way ops take.
macro_rules! in_both_lanes {
    ($($name:ident)*) => {
        mod in_both_lanes {
            $(#[tokio::test]
            async fn $name() {
                for lane in super::LANES {
                    super::$name(lane).await;
                }
            })*
        }
    };
}

in_both_lanes! {
    failures_go_by_stable_names
    a_collection_that_exists_is_told_with_the_way_out
    documents_and_bytes_are_counted
    a_retry_sends_the_same_command_again
    an_op_may_name_its_database_and_a_dry_run_sends_nothing
    nothing_is_added_to_commands_unless_it_was_asked_for
    a_server_that_is_gone_is_a_failure_of_the_op
    the_connection_strings_concerns_reach_only_commands_that_do_not_set_their_own
}

#[tokio::test]
async fn what_the_target_tells_is_known_and_what_it_refuses_is_unknown() {
    let silent = Canned::scripted(|_, command| match connecting(command) {
        Some(_) if command.get("buildInfo").is_ok_and(|found| found.is_some()) => {
            doc! { "ok": 0.0, "code": 13, "codeName": "Unauthorized", "errmsg": "not authorized" }.into()
        }
        Some(reply) => reply.into(),
        None => Reply::Close,
    });
    let adapter = connect(&silent.uri()).await.expect("a server that tells little is no error");
    assert_eq!(adapter.facts().version, None);
    assert_eq!(adapter.facts().topology.as_deref(), Some("standalone"));

    let embedded = Canned::scripted(|_, command| match connecting(command) {
        Some(mut reply) => {
            if reply.contains_key("version") {
                reply.insert("nbrs", "0.1.0");
            }
            reply.into()
        }
        None => Reply::Close,
    });
    let adapter = connect(&embedded.uri()).await.expect("it answers");
    assert_eq!(adapter.facts().kind, "embedded");
    assert_eq!(adapter.facts().version.as_deref(), Some("7.0.0"));
    assert_eq!(adapter.facts().uri, Some(embedded.uri()));
}

#[tokio::test]
async fn settings_tell_what_is_in_effect() {
    let server = Canned::fast();
    let uri = server.uri();
    let plain = connect_with(&[("connection", &uri)], 25).await.expect("it answers");
    for (name, value) in [
        ("database", "nbrs"),
        ("writeConcern", "the server's default"),
        ("readConcern", "the server's default"),
        ("readPreference", "primary"),
        ("retryReads", "off"),
        ("retryWrites", "off"),
        ("pool", "25 connections"),
        ("compressors", "none"),
        ("tls", "off"),
        ("apiVersion", "not told"),
    ] {
        assert_eq!(setting(&*plain, name), value, "{name}");
    }
    let uri = format!(
        "{uri}/shop?w=majority&journal=true&wtimeoutMS=500&readConcernLevel=local&\
         readPreference=secondaryPreferred&maxPoolSize=5&compressors=zstd,snappy&retryWrites=true"
    );
    let full = connect_with(&[("connection", &uri), ("apiVersion", "1")], 25).await.expect("it answers");
    for (name, value) in [
        ("database", "shop"),
        ("writeConcern", "w:majority, j:true, wtimeout:500 ms"),
        ("readConcern", "local"),
        ("readPreference", "secondaryPreferred"),
        ("retryReads", "off"),
        ("retryWrites", "on (but the driver does not retry such commands)"),
        ("pool", "5 connections for 25 threads (maxPoolSize): ops wait for a free connection"),
        ("compressors", "zstd, snappy"),
        ("apiVersion", "1"),
    ] {
        assert_eq!(setting(&*full, name), value, "{name}");
    }
    let named = connect_with(&[("connection", &uri), ("database", "mine")], 1).await.expect("it answers");
    assert_eq!(setting(&*named, "database"), "mine");
    let unacknowledged = connect(&format!("{}/?w=0", server.uri())).await.expect("it answers");
    assert!(setting(&*unacknowledged, "writeConcern").starts_with("w:0, unacknowledged"));
}

#[tokio::test]
async fn parameters_that_cannot_work_are_configuration_errors() {
    let server = Canned::fast();
    let uri = server.uri();
    for (given, words) in [
        (vec![], "connection="),
        (vec![("connection", uri.as_str()), ("database", "a.b")], "'.'"),
        (vec![("connection", uri.as_str()), ("database", "")], "empty"),
        (vec![("connection", uri.as_str()), ("apiVersion", "2")], "apiVersion=2"),
        (vec![("connection", "localhost")], "scheme"),
    ] {
        match connect_with(&given, 1).await {
            Err(AdapterError::Configuration(text)) => assert!(text.contains(words), "{text}"),
            other => panic!("{given:?}: {:?}", other.err()),
        }
    }
}

#[tokio::test]
async fn warming_up_opens_one_connection_for_each_thread() {
    let cases = [("", 12, 12), ("", 70, 70), ("/?maxPoolSize=4", 12, 4), ("/?minPoolSize=0", 12, 0)];
    for (lane, (options, threads, expected)) in
        LANES.into_iter().flat_map(|lane| cases.map(|case| (lane, case)))
    {
        let server = Canned::fast();
        let uri = format!("{}{options}", server.uri());
        let adapter =
            connect_with(&[("connection", &uri), ("lane", lane)], threads).await.expect("it answers");
        adapter.warm_up().await.expect("it warms up");
        // The driver's monitor has a connection of its own for `hello` and one to measure round trips; where ops
        // take no connection of the driver's, it has up to two for what is not an op.
        let open = server.seen.open.load(Ordering::Relaxed);
        assert!((expected..=expected + 4).contains(&open), "{lane} {options} {threads}: {open}");
        adapter.close().await.expect("it closes");
        let ended = Instant::now();
        while server.seen.open.load(Ordering::Relaxed) > 0 {
            assert!(ended.elapsed() < Duration::from_secs(5), "connections are left");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn an_unreachable_server_is_one_message_within_five_seconds() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a free port")
        .port();
    let started = Instant::now();
    let error = refusal(&format!("mongodb://bob:geheim@127.0.0.1:{port}/")).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(matches!(error, AdapterError::Unreachable(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("127.0.0.1:{port}")) && text.contains("refused"), "{text}");
    assert!(!text.contains("geheim") && !text.contains("labels"), "{text}");

    // The connection string's own time is kept.
    let started = Instant::now();
    let error = refusal(&format!("mongodb://127.0.0.1:{port}/?serverSelectionTimeoutMS=300")).await;
    assert!(started.elapsed() < Duration::from_secs(3), "{error}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let server = Canned::scripted(|_, _| Reply::Silence);
    let started = Instant::now();
    let error = refusal(&format!("{}/?serverSelectionTimeoutMS=300", server.uri())).await;
    assert!(matches!(error, AdapterError::Unreachable(_)), "{error:?}");
    assert!(started.elapsed() < Duration::from_secs(5));

    // It says hello, and nothing else.
    let server = Canned::scripted(|_, command| match connecting(command) {
        Some(reply) if reply.contains_key("helloOk") => reply.into(),
        _ => Reply::Silence,
    });
    let error = refusal(&format!("{}/?serverSelectionTimeoutMS=300", server.uri())).await;
    assert!(error.to_string().contains("does not answer"), "{error}");
}

#[tokio::test]
async fn refused_credentials_are_one_message_without_the_password() {
    let server = Canned::scripted(|_, command| {
        match connecting(command) {
        Some(reply) => reply.into(),
        None => doc! { "ok": 0.0, "code": 18, "codeName": "AuthenticationFailed", "errmsg": "Authentication failed." }.into(),
    }
    });
    let uri = format!("mongodb://bob:p%40ss%231@{}/shop", server.address);
    let started = Instant::now();
    let error = refusal(&uri).await;
    assert!(started.elapsed() < Duration::from_secs(5));
    let text = error.to_string();
    assert!(matches!(error, AdapterError::Unreachable(_)), "{error:?}");
    assert!(text.contains("credentials of user `bob`") && text.contains("`shop`"), "{text}");
    assert!(text.contains("Authentication failed"), "{text}");
    assert!(!text.contains("p@ss#1") && !text.contains("p%40ss%231"), "{text}");
}

/// A reply that the server refuses a command with.
fn refuse(code: i32, code_name: &str, message: &str) -> Reply {
    doc! { "ok": 0.0, "code": code, "codeName": code_name, "errmsg": message }.into()
}

async fn failures_go_by_stable_names(lane: &str) {
    let server = server(|command| {
        match command.get_i32("insert").unwrap_or_default() {
        1 => refuse(11000, "DuplicateKey", "E11000 duplicate key"),
        2 => refuse(50, "MaxTimeMSExpired", "operation exceeded time limit"),
        3 => refuse(10107, "NotWritablePrimary", "not primary"),
        4 => refuse(11600, "InterruptedAtShutdown", "interrupted at shutdown"),
        5 => doc! { "ok": 0.0, "code": 13, "errmsg": "not authorized" }.into(),
        6 => doc! { "ok": 0.0, "code": 4711, "errmsg": "what" }.into(),
        7 => doc! { "ok": 0.0, "errmsg": "no code at all" }.into(),
        8 => Reply::Close,
        9 => doc! { "n": 1 }.into(),
        10 => doc! { "ok": 1.0, "n": 1, "writeErrors": [{ "index": 1, "code": 11000, "errmsg": "E11000" }] }.into(),
        11 => doc! {
            "ok": 1.0, "n": 1,
            "writeConcernError": { "code": 64, "codeName": "WriteConcernTimeout", "errmsg": "waiting timed out" },
        }
        .into(),
        12 => refuse(40415, "Location40415", "unknown field"),
        _ => doc! { "ok": 1.0, "n": 1 }.into(),
    }
    });
    let adapter = connect_by(lane, &server.uri()).await;
    let op = dispenser(&*adapter, "{ insert: {n} }");
    for (cycle, name, exception, message, partial) in [
        (1, "DuplicateKey", "MongoCommandException", "E11000", false),
        (2, "MaxTimeMSExpired", "MongoExecutionTimeoutException", "exceeded", false),
        (3, "NotWritablePrimary", "MongoNotPrimaryException", "not primary", false),
        (4, "InterruptedAtShutdown", "MongoNodeIsRecoveringException", "shutdown", false),
        (5, "Unauthorized", "MongoCommandException", "not authorized", false),
        (6, "Code4711", "MongoCommandException", "what", false),
        (7, "CommandFailed", "MongoCommandException", "no code at all", false),
        (8, "NetworkError", "MongoSocketReadException", "", false),
        (9, "InvalidReply", "MongoInternalException", "ok", false),
        (10, "DuplicateKey", "MongoBulkWriteException", "E11000", true),
        (11, "WriteConcernTimeout", "MongoWriteConcernException", "timed out", true),
        (12, "Code40415", "MongoCommandException", "unknown field", false),
    ] {
        let outcome = run(&*op, cycle).await;
        let failure = outcome.failure.unwrap_or_else(|| panic!("{cycle} should fail"));
        assert_eq!((failure.name.as_ref(), failure.exception), (name, Some(exception)), "{failure:?}");
        assert_eq!(failure.partial, partial, "{failure:?}");
        assert!(failure.message.contains(message), "{failure:?}");
        assert!(outcome.bytes_sent > 0);
    }
    assert_eq!(run(&*op, 0).await.failure, None);
}

async fn a_server_that_is_gone_is_a_failure_of_the_op(lane: &str) {
    let server = server(|_| Reply::Close);
    let uri = format!("{}/?serverSelectionTimeoutMS=300", server.uri());
    let adapter = connect_by(lane, &uri).await;
    let failure = run_text(&*adapter, "{ ping2: 1 }").await.failure.expect("it fails");
    assert_eq!(failure.name, "NetworkError");
    // The driver tries no other connection of itself: the next op opens one.
    assert_eq!(server.seen.log.lock().expect("no holder panics").len(), 1);
}

async fn a_collection_that_exists_is_told_with_the_way_out(lane: &str) {
    let server = server(|_| refuse(48, "NamespaceExists", "Collection nbrs.c already exists."));
    let adapter = connect_by(lane, &server.uri()).await;
    let failure = run_text(&*adapter, "{ create: 'c' }").await.failure.expect("it fails");
    assert_eq!(failure.name, "NamespaceExists");
    assert!(failure.message.contains("tags=block:drop-collection"), "{}", failure.message);
    assert!(failure.message.contains("database="), "{}", failure.message);
    let failure = run_text(&*adapter, "{ renameCollection: 'c' }").await.failure.expect("it fails");
    assert!(!failure.message.contains("drop-collection"), "{}", failure.message);
}

async fn documents_and_bytes_are_counted(lane: &str) {
    let server = Canned::fast();
    let adapter = connect_by(lane, &server.uri()).await;
    let outcome = run_text(&*adapter, "{ find: 'c' }").await;
    assert_eq!(outcome.docs_returned, 1);
    assert_eq!(
        outcome.bytes_sent,
        bson::serialize_to_vec(&doc! { "find": "c" }).expect("valid").len() as u64
    );
    assert_eq!(run_text(&*adapter, "{ insert: 'c' }").await.docs_returned, 0);
}

async fn the_connection_strings_concerns_reach_only_commands_that_do_not_set_their_own(lane: &str) {
    let server = server(|_| doc! { "ok": 1.0 }.into());
    let uri = format!("{}/shop?w=2&journal=true&readConcernLevel=local&readPreference=nearest", server.uri());
    let given = [("connection", uri.as_str()), ("apiVersion", "1"), ("lane", lane)];
    let adapter = connect_with(&given, 1).await.expect("it answers");
    let write = doc! { "w": 2, "j": true };
    let read = doc! { "level": "local" };
    for (stmt, write_concern, read_concern) in [
        ("{ insert: 'c' }", Some(write.clone()), None),
        ("{ insert: 'c', n: {n} }", Some(write.clone()), None),
        ("{ insert: 'c', writeConcern: { w: 1 } }", Some(doc! { "w": 1 }), None),
        ("{ find: 'c' }", None, Some(read.clone())),
        ("{ find: 'c', readConcern: { level: 'majority' } }", None, Some(doc! { "level": "majority" })),
        ("{ listCollections: 1 }", None, None),
        // the command's name depends on the cycle
        ("{ insert{n}: 'c' }", None, None),
    ] {
        let op = dispenser(&*adapter, stmt);
        for cycle in 0..2 {
            assert_eq!(run(&*op, cycle).await.failure, None, "{stmt}");
            let seen = server.seen.log.lock().expect("no holder panics").last().cloned().expect("a command");
            assert_eq!(seen.get_document("writeConcern").ok(), write_concern.as_ref(), "{stmt}: {seen}");
            assert_eq!(seen.get_document("readConcern").ok(), read_concern.as_ref(), "{stmt}: {seen}");
            assert_eq!(seen.get_str("$db").ok(), Some("shop"));
            assert_eq!(seen.get_str("apiVersion").ok(), Some("1"));
        }
    }
}

async fn a_retry_sends_the_same_command_again(lane: &str) {
    let server = server(|_| doc! { "ok": 1.0 }.into());
    let adapter = connect_by(lane, &server.uri()).await;
    let op = dispenser(&*adapter, "{ insert: 'c', documents: [{ n: {n} }] }");
    let mut scratch = Scratch { keep: true, ..Scratch::default() };
    op.bind(7, &mut Context::default(), &mut scratch).expect("the op binds");
    for _ in 0..2 {
        assert_eq!(op.run(7, &mut scratch).await.failure, None);
    }
    let log = server.seen.log.lock().expect("no holder panics");
    let documents: Vec<_> =
        log.iter().map(|command| command.get_array("documents").expect("documents")).collect();
    assert_eq!(documents, [&vec![doc! { "n": 7 }.into()]; 2]);
}

async fn an_op_may_name_its_database_and_a_dry_run_sends_nothing(lane: &str) {
    let server = server(|_| doc! { "ok": 1.0 }.into());
    let adapter = connect_by(lane, &server.uri()).await;
    let databases = || {
        let log = server.seen.log.lock().expect("no holder panics");
        log.iter().map(|seen| seen.get_str("$db").expect("a database").to_owned()).collect::<Vec<_>>()
    };
    for op in [
        &[("stmt", "{ count: 'c' }")][..],
        &[("stmt", "{ count: 'c' }"), ("database", "fixed")],
        &[("stmt", "{ count: 'c' }"), ("database", "of-{n}")],
        &[("stmt", "{ count: '{n}' }"), ("dryrun", "op")],
    ] {
        assert_eq!(run(&*dispenser_of(&*adapter, op), 5).await.failure, None, "{op:?}");
    }
    assert_eq!(databases(), ["nbrs", "fixed", "of-5"]);
    let bad = dispenser_of(&*adapter, &[("stmt", "{ count: 'c' }"), ("database", "a.{n}")]);
    let error = bad.bind(5, &mut Context::default(), &mut Scratch::default()).expect_err("no such name");
    assert!(error.to_string().contains("database `a.5`: the name holds '.'"), "{error}");
}

async fn nothing_is_added_to_commands_unless_it_was_asked_for(lane: &str) {
    let server = server(|_| doc! { "ok": 1.0 }.into());
    let adapter = connect_by(lane, &server.uri()).await;
    run_text(&*adapter, "{ insert: 'c', documents: [{ a: 1 }] }").await;
    let seen = server.seen.log.lock().expect("no holder panics").last().cloned().expect("a command");
    let keys: Vec<_> = seen.keys().map(String::as_str).collect();
    assert_eq!(keys, ["insert", "documents", "$db", "lsid"]);
}

#[tokio::test]
async fn an_op_of_another_drivers_form_is_refused() {
    let server = Canned::fast();
    let adapter = connect(&server.uri()).await.expect("it answers");
    let plan = plan::OpPlan {
        space: None,
        connection: None,
        name: "block__op".to_owned(),
        body: plan::Body::Fields(Vec::new()),
        database: None,
        captures: Vec::new(),
        dry_run: None,
        checks: None,
        timers: plan::Timers::default(),
        reads_acknowledged: false,
    };
    match adapter.dispenser(plan) {
        Err(AdapterError::Configuration(text)) => assert!(text.starts_with("block__op"), "{text}"),
        _ => panic!("fields are no command"),
    }
}

// ---- spaces ----

#[test]
fn each_space_and_each_connection_string_has_one_client_that_is_closed_at_the_end() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let _inside = runtime.enter();
    let (first, second) = (server(|_| doc! { "ok": 1.0 }.into()), server(|_| doc! { "ok": 1.0 }.into()));
    let place = Place::new();
    place.file(
        "w.yaml",
        &format!(
            "ops:\n  a: {{stmt: '{{find: \"a\"}}', space: s1}}\n  b: {{op: '{{find: \"b\"}}', space: s2}}\n  c: {{stmt: '{{find: \"c\"}}', space: s1}}\n  \
             d: '{{find: \"d\"}}'\n  e: {{op: '{{find: \"e\"}}', connection: '{}'}}\n",
            second.uri()
        ),
    );
    let connection = format!("connection={}", first.uri());
    let ran = place.run(&["run", "workload=w.yaml", &connection, "threads=3", "cycles=50"]);
    ran.ok();
    // A client asks once when it is made.
    assert_eq!((first.seen.count("ping"), second.seen.count("ping")), (3, 1), "{}", ran.stderr);
    assert_eq!((first.seen.count("find"), second.seen.count("find")), (40, 10));
    assert_eq!(ran.stderr.matches("has a client of its own").count(), 3, "{}", ran.stderr);
    program::until(|| first.seen.open.load(Ordering::SeqCst) + second.seen.open.load(Ordering::SeqCst) == 0);

    // Where every op says where it goes, nothing else is asked for.
    place.file(
        "own.yaml",
        &format!("ops: {{e: {{op: '{{find: \"e\"}}', connection: '{}'}}}}\n", second.uri()),
    );
    place.run(&["run", "workload=own.yaml", "cycles=1"]).ok();
    assert!(!place.path().join("data-home").exists(), "no embedded server was started");
    let shown = place.run(&["show", "workload=own.yaml"]);
    assert!(shown.ok().stdout.contains(r#"{"find":"e"}"#), "{}", shown.stdout);
}
