//! `nbrs ycsb …` and the bundled scenarios of YCSB, as their users meet them: the records that they leave, the text
//! that they print, and what the server counted. Against the server that `NBRS_TEST_URI` names, else `nbrs server`.

mod program;

use bson::spec::BinarySubtype;
use bson::{Bson, Document, doc};
use futures_util::TryStreamExt;
use mongodb::Client;
use program::{Place, Ran, listening, signal};
use std::collections::BTreeMap;
use std::process::Child;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A given server counts what all tests do: one that reads its counters is alone with it.
static ALONE: RwLock<()> = RwLock::new(());

/// A server, a database of its own on it, and a folder to run in.
struct Target {
    place: Place,
    server: Option<Child>,
    url: String,
    database: String,
    runtime: tokio::runtime::Runtime,
    client: Client,
    _turn: Turn,
}

/// Others may use the server, or none.
enum Turn {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

impl Target {
    fn new() -> Target {
        Target::with(Turn::Shared { _guard: ALONE.read().unwrap_or_else(PoisonError::into_inner) })
    }

    fn alone() -> Target {
        Target::with(Turn::Alone { _guard: ALONE.write().unwrap_or_else(PoisonError::into_inner) })
    }

    fn with(turn: Turn) -> Target {
        let place = Place::new();
        let given = std::env::var("NBRS_TEST_URI").ok().filter(|uri| !uri.is_empty());
        let (server, uri) = match given {
            Some(uri) => (None, uri),
            None => {
                let mut server = place.start(&["server", "--data-dir", "store"]);
                let uri = listening(&mut server);
                (Some(server), uri)
            }
        };
        let database = format!("nbrs_test_{}", uuid::Uuid::new_v4().simple());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(Client::with_uri_str(&uri)).expect("the URI is one");
        let url = format!("mongodb.url={uri}/{database}");
        Target { place, server, url, database, runtime, client, _turn: turn }
    }

    /// `nbrs ycsb` with these words, its URL besides. A run of YCSB prints nothing but its text.
    fn ycsb(&self, line: &str) -> Ran {
        let mut args = vec!["ycsb"];
        args.extend(line.split(' '));
        args.extend(["-p", &self.url]);
        let ran = self.place.run(&args);
        for line in ran.stdout.lines() {
            assert!(line.starts_with('[') && line.split(", ").count() == 3, "{line}");
        }
        ran
    }

    fn run(&self, command: Document) -> Document {
        let database = self.client.database(&self.database);
        self.runtime.block_on(async { database.run_command(command).await }).expect("the server answers")
    }

    fn documents(&self, table: &str) -> BTreeMap<String, Document> {
        let collection = self.client.database(&self.database).collection::<Document>(table);
        let all: Vec<Document> = self
            .runtime
            .block_on(async { collection.find(doc! {}).await?.try_collect().await })
            .expect("the server answers");
        all.into_iter().map(|record| (record.get_str("_id").expect("a key").to_owned(), record)).collect()
    }

    /// What the server counted, by kind.
    fn counters(&self) -> BTreeMap<String, i64> {
        let status = self.run(doc! { "serverStatus": 1 });
        let counters = status.get_document("opcounters").expect("it counts");
        let number = |value: &Bson| match value {
            Bson::Int32(n) => i64::from(*n),
            Bson::Int64(n) => *n,
            other => panic!("{other}"),
        };
        counters
            .iter()
            .filter(|(_, value)| matches!(value, Bson::Int32(_) | Bson::Int64(_)))
            .map(|(kind, value)| (kind.clone(), number(value)))
            .collect()
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let database = self.client.database(&self.database);
        let _ = self.runtime.block_on(async { database.run_command(doc! { "dropDatabase": 1 }).await });
        if let Some(server) = &mut self.server {
            signal(server, rustix::process::Signal::TERM);
            let _ = server.wait();
        }
    }
}

/// The number on a line of YCSB's text; 0 if it is not there.
fn told(ran: &Ran, name: &str, what: &str) -> u64 {
    let start = format!("[{name}], {what}, ");
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix(&start));
    line.map_or(0, |number| number.parse().unwrap_or_else(|_| panic!("{start}{number}")))
}

/// The keys of YCSB by record number, as it made them itself.
fn key(record: u64) -> String {
    let number = i64::try_from(record).expect("it is small");
    // FNV-1a over the eight bytes, the lowest first: held against the golden keys below.
    let hash = number.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("user{}", (hash as i64).wrapping_abs())
}

#[test]
fn keys_here_are_those_of_ycsb() {
    let mut known = 0;
    for line in include_str!("golden/ycsb.txt").lines() {
        if let Some((number, name)) = line.split_once('\t').filter(|(_, name)| name.starts_with("user")) {
            assert_eq!(key(number.parse().expect("a number")), name);
            known += 1;
        }
    }
    assert!(known > 20);
}

#[test]
fn a_load_leaves_the_records_of_ycsb_however_it_writes_them() {
    let target = Target::new();
    for (table, options, commands) in [
        ("plain", "", 300),
        ("batches", " -p batchsize=64", 5),
        ("upserts", " -p mongodb.upsert=true", 300),
        ("upsert_batches", " -p mongodb.upsert=true -p batchsize=64", 5),
    ] {
        let line = format!(
            "load mongodb -P workloads/workloada -p recordcount=300 -threads 4 -p table={table}{options}"
        );
        let ran = target.ycsb(&line);
        ran.ok();
        assert_eq!(told(&ran, "INSERT", "Return=OK"), commands, "{table}: {}", ran.stdout);
        assert_eq!(told(&ran, "INSERT", "Operations"), commands, "{table}");
        for part in [
            "[OVERALL], RunTime(ms), ",
            "[OVERALL], Throughput(ops/sec), ",
            "[INSERT], AverageLatency(us), ",
            "[CLEANUP], Operations, ",
        ] {
            assert!(ran.stdout.contains(part), "{table}: {part}");
        }
        let records = target.documents(table);
        assert_eq!(records.len(), 300, "{table}");
        for number in 0..300 {
            let record = &records[&key(number)];
            assert_eq!(record.len(), 11, "{table}: {record}");
            for field in 0..10 {
                match record.get(format!("field{field}")) {
                    Some(Bson::Binary(value)) => {
                        assert_eq!((value.subtype, value.bytes.len()), (BinarySubtype::Generic, 100));
                    }
                    other => panic!("{table}: {other:?}"),
                }
            }
        }
    }
    // Part of the records, by another name, ordered, of another size.
    let options = "-p insertstart=90 -p insertcount=5 -p insertorder=ordered -p zeropadding=6 -p fieldcount=2 -p fieldlength=7";
    target.ycsb(&format!("load mongodb -p recordcount=100 -p table=part {options}")).ok();
    let records = target.documents("part");
    let keys: Vec<&str> = records.keys().map(String::as_str).collect();
    assert_eq!(keys, ["user000090", "user000091", "user000092", "user000093", "user000094"]);
    assert_eq!(records["user000090"].get_binary_generic("field1").ok().map(Vec::len), Some(7));
}

#[test]
fn each_mix_does_what_ycsbs_does_and_the_server_counts_the_same() {
    let target = Target::alone();
    target.ycsb("load mongodb -P workloads/workloada -p recordcount=500 -threads 4").ok();
    // Mix; operations that are told, how many of 400; documents inserted.
    type Row = (&'static str, &'static [(&'static str, u64)], usize);
    let rows: &[Row] = &[
        ("a", &[("READ", 200), ("UPDATE", 200)], 0),
        ("b", &[("READ", 380), ("UPDATE", 20)], 0),
        ("c", &[("READ", 400)], 0),
        ("f", &[("READ", 400), ("UPDATE", 200)], 0),
        ("d", &[("READ", 380), ("INSERT", 20)], 20),
        // The records that the mix before it inserted are part of the table now.
        ("e", &[("SCAN", 380), ("INSERT", 20)], 20),
    ];
    let mut inserted = 0;
    for (mix, operations, new) in rows {
        let records = 500 + inserted;
        let before = target.counters();
        let line = format!(
            "run mongodb -P x/workload{mix} -p recordcount={records} -p operationcount=400 -threads 8"
        );
        let ran = target.ycsb(&line);
        ran.ok();
        let sum: BTreeMap<&str, u64> = operations.iter().copied().collect();
        for (name, count) in &sum {
            assert_eq!(told(&ran, name, "Return=OK"), *count, "{mix}: {name}\n{}", ran.stdout);
        }
        assert!(!ran.stdout.contains("NOT_FOUND") && !ran.stdout.contains("FAILED"), "{mix}: {}", ran.stdout);
        let whole = told(&ran, "READ-MODIFY-WRITE", "Operations");
        assert_eq!(whole, if *mix == "f" { 200 } else { 0 }, "{mix}");
        inserted += new;
        let count = |counters: &BTreeMap<String, i64>, kind: &str| counters.get(kind).copied().unwrap_or(0);
        let after = target.counters();
        for (kind, names) in
            [("query", &["READ", "SCAN"][..]), ("update", &["UPDATE"]), ("insert", &["INSERT"])]
        {
            let told: u64 = names.iter().filter_map(|name| sum.get(name)).sum();
            assert_eq!(count(&after, kind) - count(&before, kind), told as i64, "{mix}: {kind}");
        }
        let all = target.documents("usertable");
        assert_eq!(all.len(), 500 + inserted, "{mix}");
        for number in 0..500 + inserted {
            assert!(all.contains_key(&key(number as u64)), "{mix}: {number}");
        }
    }
}

#[test]
fn a_run_that_inserts_reads_no_record_before_it_is_written() {
    let target = Target::new();
    target.ycsb("load mongodb -p recordcount=20").ok();
    for distribution in ["latest", "zipfian", "exponential"] {
        let table = format!("-p table={distribution}");
        target.ycsb(&format!("load mongodb -p recordcount=20 {table}")).ok();
        let ran = target.ycsb(&format!(
            "run mongodb -p recordcount=20 -p operationcount=3000 -threads 32 -p readproportion=0.5 -p updateproportion=0 \
             -p insertproportion=0.5 -p requestdistribution={distribution} {table}"
        ));
        ran.ok();
        assert_eq!(told(&ran, "READ", "Return=OK"), 1500, "{}", ran.stdout);
        assert_eq!(target.documents(distribution).len(), 1520);
    }
}

#[test]
fn a_run_reads_the_records_that_it_has_inserted_itself() {
    let target = Target::new();
    let connection = target.url.replacen("mongodb.url=", "connection=", 1);
    for distribution in ["latest", "zipfian", "exponential"] {
        let table = format!("table={distribution}");
        let words = |scenario: &str, more: &[&str]| -> Ran {
            let mut args = vec!["mongodb-ycsb", scenario, "recordcount=20", &table, &connection];
            args.extend(more);
            target.place.run(&args)
        };
        words("ycsb-load", &[]).ok();
        let request = format!("requestdistribution={distribution}");
        let mix = ["operationcount=600", "readproportion=0.5", "updateproportion=0", "insertproportion=0.5"];
        let ran = words("ycsb-run", &[&mix[..], &[&request, "threads=4", "dryrun=emit"]].concat());
        let read: Vec<serde_json::Value> = ran
            .ok()
            .stdout
            .lines()
            .filter(|line| line.contains("\trun__read\t"))
            .map(|line| serde_json::from_str(line.rsplit('\t').next().expect("a reply")).expect("JSON"))
            .collect();
        assert_eq!(read.len(), 300, "{distribution}");
        let loaded: Vec<String> = (0..20).map(key).collect();
        let is_new = |reply: &&serde_json::Value| {
            let id = reply["cursor"]["firstBatch"][0]["_id"].as_str().expect("a record is read");
            !loaded.iter().any(|key| key == id)
        };
        // Of 320 records in the end, 20 were there at the start.
        let new = read.iter().filter(is_new).count();
        assert!(new > 100, "{distribution}: {new} of 300 reads were of records that the run inserted");
    }
}

#[test]
fn a_record_that_is_not_there_is_told_as_ycsb_tells_it() {
    let target = Target::new();
    target.ycsb("load mongodb -p recordcount=50").ok();
    let ran = target.ycsb(
        "run mongodb -p recordcount=100 -p operationcount=400 -p readproportion=0.5 -p updateproportion=0.5 -threads 4",
    );
    ran.ok();
    for name in ["READ", "UPDATE"] {
        let (found, missed) = (told(&ran, name, "Return=OK"), told(&ran, name, "Return=NOT_FOUND"));
        assert_eq!(found + missed, 200, "{}", ran.stdout);
        // Half of the records are there.
        assert!(missed > 50 && found > 50, "{}", ran.stdout);
        assert_eq!(told(&ran, &format!("{name}-FAILED"), "Operations"), missed, "{}", ran.stdout);
    }
}

#[test]
fn unacknowledged_writes_are_called_so_and_not_taken_for_records_that_are_not_there() {
    let target = Target::new();
    let url = format!("{}?w=0", target.url);
    let ycsb = |line: &str| {
        let mut args: Vec<&str> = std::iter::once("ycsb").chain(line.split(' ')).collect();
        args.extend(["-p", &url]);
        let ran = target.place.run(&args);
        ran.ok();
        assert!(ran.stderr.contains("unacknowledged"), "{}", ran.stderr);
        ran
    };
    ycsb("load mongodb -p recordcount=100 -threads 2");
    let ran = ycsb("run mongodb -P x/workloada -p recordcount=100 -p operationcount=100 -threads 2");
    assert_eq!(
        (told(&ran, "READ", "Return=OK"), told(&ran, "UPDATE", "Return=OK")),
        (50, 50),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_second_run_that_inserts_the_same_says_what_to_give() {
    let target = Target::new();
    target.ycsb("load mongodb -p recordcount=100").ok();
    let line = "run mongodb -P x/workloadd -p recordcount=100 -p operationcount=100";
    assert_eq!(told(target.ycsb(line).ok(), "INSERT", "Return=OK"), 5);
    let again = target.ycsb(line);
    assert_eq!(told(again.ok(), "INSERT", "Return=ERROR"), 5, "{}", again.stdout);
    assert_eq!(told(&again, "READ", "Return=OK"), 95, "{}", again.stdout);
    for part in ["DuplicateKey", "recordcount="] {
        assert!(again.stderr.contains(part), "no `{part}` in {}", again.stderr);
    }
    let line = "run mongodb -P x/workloadd -p recordcount=105 -p operationcount=100";
    assert_eq!(told(target.ycsb(line).ok(), "INSERT", "Return=OK"), 5);
}

#[test]
fn the_text_goes_where_it_is_asked_to_and_status_lines_to_stderr() {
    let target = Target::new();
    let ran = target.ycsb(
        "load mongodb -s -p recordcount=150 -target 100 -p status.interval=1 -p exportfile=out.txt -p measurement.interval=both",
    );
    ran.ok();
    assert_eq!(ran.stdout, "");
    let text = std::fs::read_to_string(target.place.path().join("out.txt")).expect("it was written");
    assert!(text.contains("\n[INSERT], Return=OK, 150\n"), "{text}");
    assert!(text.contains("\n[Intended-INSERT], Operations, 150\n"), "{text}");
    for part in [
        " 0 sec: 0 operations; est completion in 0 second",
        " 1 sec: ",
        " current ops/sec; ",
        "[INSERT: Count=",
    ] {
        assert!(ran.stderr.contains(part), "no `{part}` in {}", ran.stderr);
    }
}

#[test]
fn the_scenarios_take_the_properties_as_variables() {
    let target = Target::new();
    let connection = target.url.trim_start_matches("mongodb.").replacen("url=", "connection=", 1);
    let run = |words: &[&str]| {
        let mut args = vec!["mongodb-ycsb"];
        args.extend(words);
        args.push(&connection);
        target.place.run(&args)
    };
    run(&["ycsb-load", "recordcount=100", "table=t", "threads=2"]).ok();
    let ran = run(&[
        "ycsb-f",
        "recordcount=100",
        "operationcount=60",
        "table=t",
        "threads=3",
        "--report-ycsb-to",
        "y.txt",
    ]);
    ran.ok();
    let text = std::fs::read_to_string(target.place.path().join("y.txt")).expect("it was written");
    assert!(
        text.contains("\n[READ], Return=OK, 60\n") && text.contains("\n[UPDATE], Return=OK, 30\n"),
        "{text}"
    );
    run(&["ycsb-drop", "table=t"]).ok();
    assert_eq!(target.documents("t").len(), 0);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_contacted() {
    let place = Place::new();
    for (line, part) in [
        ("ycsb", "needs `load` or `run`"),
        ("ycsb load redis", "drives MongoDB alone"),
        ("ycsb run mongodb -p recordcount=5", "`operationcount` is missing"),
        ("ycsb load mongodb -P none/such", "there is no file `none/such`"),
        ("ycsb load mongodb -p recordcount=5 -p dataintegrity=true", "would need"),
        ("ycsb load mongodb -p recordcount=5 -p table=a:", "holds no"),
        (
            "ycsb run mongodb -p recordcount=5 -p operationcount=5 -p requestdistribution=normal",
            "no request distribution",
        ),
        ("ycsb load mongodb -p recordcount=5 -p insertstart=9", "comes to less than 0"),
        ("ycsb load mongodb -x", "no option `-x`"),
        ("ycsb load mongodb -p recordcount=5 -p mongodb.url=http://u:s3cr3t@h", "scheme"),
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let ran = place.run(&args);
        ran.refused(2, &[part]);
        assert!(!ran.stderr.contains("s3cr3t"), "{}", ran.stderr);
    }
}
