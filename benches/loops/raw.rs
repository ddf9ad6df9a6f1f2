//! The floor: tasks that write constant messages to sockets of their own and read the replies without a look. Or
//! nearly constant ones: with a different part of a long text in each, as no load of large values can do without.

use super::{Figures, cpu_time, figures};
use bson::RawDocumentBuf;
use nbrs::wire;
use std::io::IoSlice;
use std::ops::Range;
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

/// What a loop sends beside the commands.
#[derive(Clone, Default)]
pub struct Sends {
    /// Each op is timed.
    pub timed: bool,
    /// In the place of each field `value` another part of this text.
    pub image: Option<Arc<[u8]>>,
}

struct Message {
    bytes: Vec<u8>,
    /// Of the text of the field `value`.
    value: Range<usize>,
}

impl Message {
    fn of(command: &RawDocumentBuf) -> Message {
        const FIELD: &[u8] = b"\x02value\0";
        let mut body = command.clone();
        body.append(bson::cstr!("$db"), "bench");
        let mut bytes = Vec::new();
        wire::write_msg(&mut bytes, 1, 0, 0, &body);
        let field = bytes.windows(FIELD.len()).position(|window| window == FIELD);
        let value = field.map_or(0..0, |field| {
            let length = field + FIELD.len();
            let text = length + 4;
            let length = bytes[length..].first_chunk().map_or(1, |length| u32::from_le_bytes(*length));
            text..text + length as usize - 1
        });
        Message { bytes, value }
    }

    /// The message of the op number `number`, with a part of `image` as its value.
    fn parts<'a>(&'a self, image: &'a [u8], number: u64) -> [&'a [u8]; 3] {
        // Far apart, like the values of a hash.
        let places = (image.len() - self.value.len()) as u64;
        let from = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % places;
        let value = &image[from as usize..][..self.value.len()];
        [&self.bytes[..self.value.start], value, &self.bytes[self.value.end..]]
    }
}

async fn write(stream: &mut TcpStream, parts: [&[u8]; 3]) {
    let mut slices = parts.map(IoSlice::new);
    let mut left = &mut slices[..];
    while !left.is_empty() {
        let written = stream.write_vectored(left).await.expect("the server reads");
        IoSlice::advance_slices(&mut left, written);
    }
}

/// Sends `commands` over `connections` sockets for `round`.
pub async fn raw(
    uri: &str,
    commands: &[RawDocumentBuf],
    connections: usize,
    round: Duration,
    sends: &Sends,
) -> Raw {
    let address = uri.strip_prefix("mongodb://").expect("a URI");
    let messages: Arc<[Message]> = commands.iter().map(Message::of).collect();
    let timed = sends.timed;
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
            let (messages, stop, image) = (Arc::clone(&messages), Arc::clone(&stop), sends.image.clone());
            tokio::spawn(async move {
                let (mut count, mut sum, mut times) = (0, 0, Vec::new());
                let mut reply = vec![0; 16 << 10];
                while !stop.load(Ordering::Relaxed) {
                    let message = &messages[(number + count) % messages.len()];
                    let sent = timed.then(Instant::now);
                    match &image {
                        None => stream.write_all(&message.bytes).await.expect("the server reads"),
                        Some(image) => {
                            let op = count as u64 * connections as u64 + number as u64;
                            write(&mut stream, message.parts(image, op)).await;
                        }
                    }
                    let mut have = 0;
                    loop {
                        have += stream.read(&mut reply[have..]).await.expect("the server answers");
                        let length = reply.first_chunk::<4>().map(|it| u32::from_le_bytes(*it) as usize);
                        if have >= 4 && length.is_some_and(|length| have >= length) {
                            break;
                        }
                    }
                    times.extend(sent.map(|sent| sent.elapsed()));
                    sum += message.bytes.len();
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
