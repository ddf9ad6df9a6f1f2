//! What nbrs costs on top of the official driver, as ratios against a bare loop around the driver in the same
//! run, both against a canned-reply server in a process of its own.
//!
//! `cargo bench --bench driver_loop` runs all; `cargo bench --bench driver_loop -- NAME…` only those named:
//! - `end-to-end`: 16 threads of small commands; at least 90 % of the bare loop's ops/s is wanted.
//! - `rampup`: inserts of 100 KB values; at least 80 % of the bare loop's MB/s is wanted.
//! - `start`: the release binary, from its start to the first command at the server; under 200 ms is wanted.
//!
//! Each takes less than a minute. Nothing fails on a slow machine: the figures are for a reader.

mod canned;

use bson::{RawDocumentBuf, rawdoc};
use canned::Canned;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Set for the child process that is the server.
const SERVE: &str = "NBRS_BENCH_SERVE";
const THREADS: usize = 16;
const ROUNDS: usize = 3;
const ROUND: Duration = Duration::from_secs(2);

fn main() {
    if std::env::var_os(SERVE).is_some() {
        let server = Canned::fast();
        println!("{}", server.uri());
        // The parent holds the other end of our input; when it is gone, so are we.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if runs("end-to-end") {
        end_to_end();
    }
}

/// The server in a process of its own; ends when dropped.
struct Server {
    process: Child,
    uri: String,
}

impl Server {
    fn start() -> Server {
        let program = std::env::current_exe().expect("this program has a path");
        let mut process = Command::new(program)
            .env(SERVE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started");
        let output = process.stdout.take().expect("its output is piped");
        let mut uri = String::new();
        BufReader::new(output).read_line(&mut uri).expect("it says where it is");
        Server { process, uri: uri.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn runtime(workers: usize) -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The bare loop: tasks that send one command over and over. Gives ops/s.
fn bare(uri: &str, workers: usize, command: &RawDocumentBuf) -> f64 {
    runtime(workers).block_on(async {
        let mut options = mongodb::options::ClientOptions::parse(uri).await.expect("a valid URI");
        options.max_pool_size = Some(THREADS as u32);
        options.min_pool_size = Some(THREADS as u32);
        options.max_connecting = Some(THREADS as u32);
        options.retry_reads = Some(false);
        options.retry_writes = Some(false);
        let client = mongodb::Client::with_options(options).expect("valid options");
        let database = client.database("bench");
        database.run_command(bson::doc! { "ping": 1 }).await.expect("the server answers");
        client.warm_connection_pool().await;
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let tasks: Vec<_> = (0..THREADS)
            .map(|_| {
                let (database, command) = (database.clone(), command.clone());
                let (stop, done) = (stop.clone(), done.clone());
                tokio::spawn(async move {
                    let mut count = 0;
                    while !stop.load(Ordering::Relaxed) {
                        database.run_raw_command(command.clone()).await.expect("the server answers");
                        count += 1;
                    }
                    done.fetch_add(count, Ordering::Relaxed);
                })
            })
            .collect();
        tokio::time::sleep(ROUND).await;
        stop.store(true, Ordering::Relaxed);
        for task in tasks {
            task.await.expect("no task panics");
        }
        done.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64()
    })
}

fn end_to_end() {
    let server = Server::start();
    let command = rawdoc! { "find": "keyvalue", "filter": { "key": "1234567" } };
    for _ in 0..ROUNDS {
        for workers in [1, 2, 4] {
            println!("bare {workers}: {:.0} ops/s", bare(&server.uri, workers, &command));
        }
    }
}
