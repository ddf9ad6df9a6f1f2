//! Connections that come up against something that turns half of them away, as a limiter of connection rates does.

use super::{LANES, canned, connect, ok, op, run_on};
use canned::{Canned, Reply, connecting};
use futures_util::future::select;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

const THREADS: usize = 60;

/// Passes connections on to a server.
#[derive(Default)]
struct Proxy {
    /// Every second new connection is closed as soon as it was taken.
    picky: AtomicBool,
    turned_away: AtomicUsize,
    /// Connections that were passed on and have ended.
    ended: AtomicUsize,
}

impl Proxy {
    async fn start(server: SocketAddr) -> (SocketAddr, Arc<Proxy>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a loopback port is free");
        let address = listener.local_addr().expect("it is bound");
        let proxy = Arc::new(Proxy::default());
        let own = Arc::clone(&proxy);
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((mut client, _)) = listener.accept().await {
                if own.picky.load(SeqCst) {
                    number += 1;
                    if number % 2 == 0 {
                        own.turned_away.fetch_add(1, SeqCst);
                        continue;
                    }
                }
                let proxy = Arc::clone(&own);
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(server).await.expect("the server is there");
                    // Whoever ends it: it has ended.
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                    proxy.ended.fetch_add(1, SeqCst);
                });
            }
        });
        (address, proxy)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_up_survive_when_new_ones_are_turned_away() {
    for lane in LANES {
        let server = Canned::fast();
        let (address, proxy) = Proxy::start(server.address).await;
        let adapter = connect(lane, &format!("mongodb://{address}/"), THREADS).await;
        let op = op(&*adapter, "{ insert: {n} }");
        proxy.picky.store(true, SeqCst);
        // The driver's own warm-up would wait for the connections that do not come.
        if lane == "wire" {
            adapter.warm_up().await.expect("some come up");
        }
        let before = proxy.turned_away.load(SeqCst);
        let (mut failed, mut names) = (0, BTreeSet::new());
        let begun = Instant::now();
        loop {
            let outcomes =
                futures_util::future::join_all((0..THREADS).map(|thread| run_on(thread, &*op, 0))).await;
            let failures: Vec<_> = outcomes.into_iter().filter_map(|it| it.failure).collect();
            if failures.is_empty() {
                break;
            }
            failed += failures.len();
            names.extend(failures.into_iter().map(|failure| failure.name.into_owned()));
            assert!(begun.elapsed() < Duration::from_secs(60), "{lane}: {failed} failures, {names:?}");
        }
        let turned_away = proxy.turned_away.load(SeqCst);
        assert!(turned_away > 0, "{lane}");
        assert!(names.iter().all(|name| name == "ConnectionFailed"), "{lane}: {names:?}");
        if lane == "wire" {
            // Each is counted: as the failure of the op that it was made for.
            assert!(failed > 0);
            assert_eq!(failed, turned_away - before);
        }
        assert_eq!(proxy.ended.load(SeqCst), 0, "{lane}: a connection that was up was given up");
        adapter.close().await.expect("it closes");
    }
}

#[tokio::test]
async fn who_waits_for_a_turn_to_connect_waits_no_longer_than_for_a_server() {
    let silent = Arc::new(AtomicBool::new(false));
    let is_silent = Arc::clone(&silent);
    let server = Canned::scripted(move |_, command| {
        // The first command of a connection tells of the client.
        let is_new = command.get("client").is_ok_and(|client| client.is_some());
        if is_new && is_silent.load(SeqCst) {
            return Reply::Silence;
        }
        connecting(command).unwrap_or_else(ok).into()
    });
    let options = "maxConnecting=1&connectTimeoutMS=60000&serverSelectionTimeoutMS=200";
    let adapter = connect("wire", &format!("{}/?{options}", server.uri()), 2).await;
    let op = op(&*adapter, "{ insert: {n} }");
    silent.store(true, SeqCst);
    let (one, other) = (run_on(0, &*op, 0), run_on(1, &*op, 0));
    // One of them has its turn, and no answer.
    let (ended, _) = select(pin!(one), pin!(other)).await.factor_first();
    let failure = ended.failure.expect("it fails");
    assert_eq!(failure.name, "ServerSelectionTimeout");
    assert!(failure.message.contains("coming up"), "{}", failure.message);
}
