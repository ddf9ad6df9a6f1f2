//! A server that speaks just enough of MongoDB's wire protocol to be driven by the official driver, and
//! answers what it is told to: benches take it for its speed (replies are bytes made beforehand, one thread,
//! no look into the command), tests for its obedience (any reply, a closed connection, silence).
//!
//! It runs on a thread of its own, so that it shares no runtime with what it measures.

// Each bench and each test takes what it needs.
#![allow(dead_code)]

pub mod process;

use bson::{Document, RawDocument, doc};
use nbrs::wire::{self, Message, MessageReader, WireError};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

/// What to do about one command.
pub enum Reply {
    /// A whole BSON document.
    Bytes(Arc<[u8]>),
    /// Bytes that are no message of ours, made for the number of the request; in pieces of so many bytes, which
    /// arrive one after the other. The connection is closed after them if so asked.
    Raw { make: Box<dyn FnOnce(i32) -> Vec<u8> + Send>, piece: usize, close: bool },
    /// Closes the connection without an answer.
    Close,
    /// Never answers.
    Silence,
}

impl From<Document> for Reply {
    fn from(document: Document) -> Reply {
        let bytes = bson::serialize_to_vec(&document).expect("a reply is a valid document");
        Reply::Bytes(bytes.into())
    }
}

/// Between two pieces of a reply: so long that they arrive apart.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// Decides on the reply to each command; sees the connection's number (from 0) and the whole command.
pub type Script = dyn Fn(u64, &RawDocument) -> Reply + Send + Sync;

/// What a server has seen.
#[derive(Default)]
pub struct Seen {
    /// Connections ever opened.
    pub opened: AtomicU64,
    /// Connections open now.
    pub open: AtomicU64,
    /// Commands by name, those of the driver's own (`isMaster`, …) too.
    commands: Mutex<BTreeMap<String, u64>>,
    /// Every command that is not the driver's own, whole; kept only by [`Canned::scripted`].
    pub log: Mutex<Vec<Document>>,
    /// When the first command came that is not part of connecting.
    first_op: Mutex<Option<Instant>>,
}

impl Seen {
    pub fn count(&self, command: &str) -> u64 {
        self.commands.lock().expect("no holder panics").get(command).copied().unwrap_or(0)
    }

    pub fn first_op(&self) -> Option<Instant> {
        *self.first_op.lock().expect("no holder panics")
    }
}

/// A running server; it ends with the process.
pub struct Canned {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
}

impl Canned {
    /// Answers fast, and always well: `find` with one document, writes with `n: 1`.
    pub fn fast() -> Canned {
        Canned::start(None)
    }

    /// Answers as `script` says; commands that connect are left to it too, see [`connecting`].
    pub fn scripted(script: impl Fn(u64, &RawDocument) -> Reply + Send + Sync + 'static) -> Canned {
        Canned::start(Some(Arc::new(script)))
    }

    pub fn uri(&self) -> String {
        format!("mongodb://{}", self.address)
    }

    fn start(script: Option<Arc<Script>>) -> Canned {
        let listener =
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let seen = Arc::new(Seen::default());
        let watched = seen.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(serve(listener, watched, script));
        });
        Canned { address, seen }
    }
}

async fn serve(listener: std::net::TcpListener, seen: Arc<Seen>, script: Option<Arc<Script>>) {
    let listener = TcpListener::from_std(listener).expect("a runtime is here");
    let replies = Arc::new(Replies::new());
    while let Ok((stream, _)) = listener.accept().await {
        let number = seen.opened.fetch_add(1, Ordering::Relaxed);
        seen.open.fetch_add(1, Ordering::Relaxed);
        let (seen, script, replies) = (seen.clone(), script.clone(), replies.clone());
        tokio::spawn(async move {
            // A client that goes away is no error here.
            let _ = converse(stream, number, &seen, script.as_deref(), &replies).await;
            seen.open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

async fn converse(
    mut stream: TcpStream,
    number: u64,
    seen: &Seen,
    script: Option<&Script>,
    replies: &Replies,
) -> Result<(), WireError> {
    stream.set_nodelay(true)?;
    let (input, mut output) = stream.split();
    let mut input = MessageReader::new(input);
    let mut answer = Vec::new();
    while let Some(bytes) = input.next().await? {
        let (header, Message::Msg(message)) = wire::parse(bytes)? else {
            return Err(WireError::OpCode(wire::OP_QUERY));
        };
        let name = first_key(message.body.as_bytes());
        let reply = match script {
            Some(script) => {
                note(seen, &name, Some(message.body));
                script(number, message.body)
            }
            None => {
                if !is_connecting(&name) && seen.first_op().is_none() {
                    note(seen, &name, None);
                }
                Reply::Bytes(replies.to(&name))
            }
        };
        if message.more_to_come() {
            continue;
        }
        let body = match &reply {
            Reply::Bytes(body) => RawDocument::from_bytes(body).expect("a reply is a valid document"),
            Reply::Raw { .. } => {
                let Reply::Raw { make, piece, close } = reply else { unreachable!("it was one just now") };
                for part in make(header.request_id).chunks(piece.max(1)) {
                    output.write_all(part).await?;
                    tokio::time::sleep(PAUSE).await;
                }
                if close {
                    return Ok(());
                }
                continue;
            }
            Reply::Close => return Ok(()),
            Reply::Silence => return std::future::pending().await,
        };
        answer.clear();
        wire::write_msg(&mut answer, 0, header.request_id, 0, body);
        output.write_all(&answer).await?;
    }
    Ok(())
}

fn note(seen: &Seen, name: &str, command: Option<&RawDocument>) {
    *seen.commands.lock().expect("no holder panics").entry(name.to_owned()).or_default() += 1;
    if is_connecting(name) {
        return;
    }
    seen.first_op.lock().expect("no holder panics").get_or_insert_with(Instant::now);
    if let Some(command) = command.and_then(|command| Document::try_from(command).ok()) {
        seen.log.lock().expect("no holder panics").push(command);
    }
}

/// The first key of a BSON document: the command's name.
fn first_key(document: &[u8]) -> std::borrow::Cow<'_, str> {
    let from = document.get(5..).unwrap_or_default();
    let end = from.iter().position(|byte| *byte == 0).unwrap_or(from.len());
    String::from_utf8_lossy(&from[..end])
}

/// Commands by which the driver and the adapter connect, before any op.
fn is_connecting(name: &str) -> bool {
    ["isMaster", "ismaster", "hello", "ping", "buildInfo", "saslStart", "saslContinue", "endSessions"]
        .contains(&name)
}

/// What a healthy standalone server says to a command that connects; None for any other command.
pub fn connecting(command: &RawDocument) -> Option<Document> {
    let name = first_key(command.as_bytes());
    match name.as_ref() {
        "isMaster" | "ismaster" | "hello" => Some(hello()),
        "buildInfo" => Some(doc! { "version": "7.0.0", "ok": 1.0 }),
        "ping" | "endSessions" => Some(doc! { "ok": 1.0 }),
        _ => None,
    }
}

fn hello() -> Document {
    doc! {
        "helloOk": true, "ismaster": true, "isWritablePrimary": true, "maxBsonObjectSize": 16 << 20,
        "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "logicalSessionTimeoutMinutes": 30,
        "connectionId": 1, "minWireVersion": 0, "maxWireVersion": 21, "readOnly": false, "ok": 1.0,
    }
}

/// Replies made beforehand.
struct Replies {
    hello: Arc<[u8]>,
    build_info: Arc<[u8]>,
    write: Arc<[u8]>,
    find: Arc<[u8]>,
    ok: Arc<[u8]>,
}

impl Replies {
    fn new() -> Replies {
        let bytes = |document: Document| bson::serialize_to_vec(&document).expect("a valid document").into();
        let batch = doc! { "firstBatch": [{ "_id": 1, "v": "x" }], "id": 0_i64, "ns": "db.c" };
        Replies {
            hello: bytes(hello()),
            build_info: bytes(doc! { "version": "7.0.0", "ok": 1.0 }),
            write: bytes(doc! { "n": 1, "ok": 1.0 }),
            find: bytes(doc! { "cursor": batch, "ok": 1.0 }),
            ok: bytes(doc! { "ok": 1.0 }),
        }
    }

    fn to(&self, name: &str) -> Arc<[u8]> {
        match name {
            "insert" | "update" | "delete" => self.write.clone(),
            "find" | "aggregate" => self.find.clone(),
            "isMaster" | "ismaster" | "hello" => self.hello.clone(),
            "buildInfo" => self.build_info.clone(),
            _ => self.ok.clone(),
        }
    }
}
