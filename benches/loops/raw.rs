//! The floor: tasks that write constant messages to sockets of their own and read the replies without a look.

use super::{Figures, cpu_time, figures};
use bson::RawDocumentBuf;
use nbrs::wire;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a round came to, and half of all ops took no longer than this.
pub struct Raw {
    pub figures: Figures,
    pub p50_us: f64,
}

/// The commands as messages.
fn messages(commands: &[RawDocumentBuf]) -> Vec<Vec<u8>> {
    let encode = |command: &RawDocumentBuf| {
        let mut body = command.clone();
        body.append(bson::cstr!("$db"), "bench");
        let mut bytes = Vec::new();
        wire::write_msg(&mut bytes, 1, 0, 0, &body);
        bytes
    };
    commands.iter().map(encode).collect()
}

/// Sends `commands` over `connections` sockets for `round`. `timed`: each op is timed too.
pub async fn raw(
    uri: &str,
    commands: &[RawDocumentBuf],
    connections: usize,
    round: Duration,
    timed: bool,
) -> Raw {
    let address = uri.strip_prefix("mongodb://").expect("a URI");
    let messages: Arc<[Vec<u8>]> = messages(commands).into();
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        let stream = TcpStream::connect(address).await.expect("the server takes connections");
        stream.set_nodelay(true).expect("a socket can be set so");
        streams.push(stream);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (started, cpu) = (Instant::now(), cpu_time());
    let tasks: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(number, mut stream)| {
            let (messages, stop) = (Arc::clone(&messages), Arc::clone(&stop));
            tokio::spawn(async move {
                let (mut count, mut sum, mut times) = (0, 0, Vec::new());
                let mut reply = vec![0; 16 << 10];
                while !stop.load(Ordering::Relaxed) {
                    let message = &messages[(number + count) % messages.len()];
                    let sent = timed.then(Instant::now);
                    stream.write_all(message).await.expect("the server reads");
                    let mut have = 0;
                    loop {
                        have += stream.read(&mut reply[have..]).await.expect("the server answers");
                        let length = reply.first_chunk::<4>().map(|it| u32::from_le_bytes(*it) as usize);
                        if have >= 4 && length.is_some_and(|length| have >= length) {
                            break;
                        }
                    }
                    times.extend(sent.map(|sent| sent.elapsed()));
                    sum += message.len();
                    count += 1;
                }
                (count, sum, times)
            })
        })
        .collect();
    tokio::time::sleep(round).await;
    stop.store(true, Ordering::Relaxed);
    let (mut ops, mut bytes, mut times) = (0, 0, Vec::new());
    for task in tasks {
        let (count, sum, some) = task.await.expect("no task panics");
        (ops, bytes) = (ops + count as u64, bytes + sum as u64);
        times.extend(some);
    }
    times.sort_unstable();
    let p50 = times.get(times.len() / 2).copied().unwrap_or_default();
    Raw { figures: figures(ops, bytes, started.elapsed(), cpu_time() - cpu), p50_us: p50.as_secs_f64() * 1e6 }
}
