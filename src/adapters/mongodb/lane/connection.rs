//! One connection: a request goes out in one write, its reply comes in with one read where it is small, and is
//! read where it lies. A connection whose exchange was not finished is not used again: whoever drops it closes
//! it.

use super::super::connections::Opened;
use super::compression;
use super::topology::Server;
use crate::plan::{Inset, pieces};
use crate::wire::{self, HEADER_BYTES, Header, MORE_TO_COME, Message, OP_COMPRESSED, OP_MSG, WireError};
use ::mongodb::options::Compressor;
use bson::{RawDocument, RawDocumentBuf};
use futures_util::task::AtomicWaker;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::client::TlsStream;

/// What one read takes while nothing is known of a reply: more than most replies have, so that the socket is
/// known to be empty after it.
const FIRST: usize = 16 << 10;
/// What the buffer of a long reply grows by at most before its bytes have arrived.
const STEP: usize = 1 << 20;
/// A longer buffer is given back once the reply was read.
const KEEP: usize = 1 << 20;

/// A message of no more bytes is joined before it is written: that costs less than to hand the system its parts.
const SMALL: usize = 1 << 10;
/// How many pieces one write takes at most: more than a command has that holds a long text or two.
const PIECES: usize = 16;

/// Bytes before the body of a command: header, flags, kind of section, length of the document.
pub(super) const HEAD: usize = HEADER_BYTES + 4 + 1 + 4;

/// What ended an exchange. The connection is of no use after it.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum Fault {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server closed the connection in the middle of a reply")]
    HalfReply,
    /// The driver's monitor has given the server up.
    #[error("the server does not answer the driver's monitor any more")]
    Cut,
    /// Bytes that are no reply to what was asked.
    #[error("{0}")]
    Reply(String),
    /// Nothing was sent.
    #[error("{0}")]
    Command(String),
}

impl From<WireError> for Fault {
    fn from(error: WireError) -> Fault {
        match error {
            WireError::Io(error) => Fault::Io(error),
            WireError::HalfMessage => Fault::HalfReply,
            other => Fault::Reply(other.to_string()),
        }
    }
}

impl From<bson::error::Error> for Fault {
    fn from(error: bson::error::Error) -> Fault {
        Fault::Reply(error.to_string())
    }
}

/// By which an exchange under way can be ended from outside.
#[derive(Default)]
pub(super) struct Line {
    cut: AtomicBool,
    waiting: AtomicWaker,
}

impl Line {
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
        self.waiting.wake();
    }
}

pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

macro_rules! each {
    ($stream:expr, $inner:ident => $then:expr) => {
        match $stream {
            Stream::Tcp($inner) => $then,
            Stream::Unix($inner) => $then,
            Stream::Tls($inner) => $then,
        }
    };
}

/// What the server said of itself when the connection was made.
pub(super) struct Terms {
    pub(super) compressor: Option<Compressor>,
    /// It knows sessions: commands carry this one.
    pub(super) session: Option<super::session::Session>,
    pub(super) longest_message: usize,
}

pub(super) struct Connection {
    stream: Stream,
    line: Arc<Line>,
    /// A reply that comes in pieces.
    inbox: Vec<u8>,
    /// A reply without its compression.
    unpacked: Vec<u8>,
    /// A command with compression; empty if it goes without.
    packed: Vec<u8>,
    last_request: i32,
    pub(super) terms: Terms,
    pub(super) server: Arc<Server>,
    generation: u32,
    /// Told only where connections may not be idle for long.
    idle_since: Option<Instant>,
    /// Once it takes commands.
    pub(super) opened: Option<Opened>,
    /// Of a shared connection that is in use.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// A command on its way: its document after the length.
pub(super) struct Parts<'a> {
    /// A whole document, but for its insets.
    pub(super) command: &'a [u8],
    pub(super) insets: &'a [Inset],
    /// What follows the elements of `command`, to the end of the document.
    pub(super) rest: [&'a [u8]; 3],
}

impl<'a> Parts<'a> {
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let elements = 4..self.command.len().saturating_sub(1);
        pieces(self.command, elements, self.insets).chain(self.rest)
    }
}

/// Points `slices` to what comes after the first `skip` bytes of `parts`, as far as they reach; gives how many do.
fn gather<'a>(parts: impl Iterator<Item = &'a [u8]>, mut skip: usize, slices: &mut [IoSlice<'a>]) -> usize {
    let mut places = slices.iter_mut();
    for part in parts {
        match part.get(skip..) {
            None => skip -= part.len(),
            Some([]) => skip = 0,
            Some(rest) => {
                let Some(place) = places.next() else { break };
                *place = IoSlice::new(rest);
                skip = 0;
            }
        }
    }
    let left = places.len();
    slices.len() - left
}

impl Connection {
    pub(super) fn new(stream: Stream, server: Arc<Server>) -> Connection {
        Connection {
            stream,
            line: server.line(),
            inbox: Vec::new(),
            unpacked: Vec::new(),
            packed: Vec::new(),
            last_request: 0,
            terms: Terms { compressor: None, session: None, longest_message: wire::MAX_MESSAGE_BYTES },
            generation: server.generation(),
            server,
            idle_since: None,
            opened: None,
            permit: None,
        }
    }

    /// It may be used for another op.
    pub(super) fn is_usable(&self, longest_idle: Option<Duration>) -> bool {
        let fresh = match (longest_idle, self.idle_since) {
            (Some(longest), Some(since)) => since.elapsed() < longest,
            _ => true,
        };
        fresh && self.generation == self.server.generation()
    }

    pub(super) fn rest(&mut self, longest_idle: Option<Duration>) {
        self.idle_since = longest_idle.map(|_| Instant::now());
    }

    /// Begins an exchange: the bytes before a command's elements, for [`Connection::poll_send`].
    ///
    /// # Errors
    /// [`Fault::Command`]: the command is longer than the server takes.
    pub(super) fn begin(
        &mut self,
        rest: &Parts<'_>,
        unacknowledged: bool,
        compress: bool,
    ) -> Result<[u8; HEAD], Fault> {
        let document = 4 + rest.iter().map(<[u8]>::len).sum::<usize>();
        let length = HEAD - 4 + document;
        let longest = self.terms.longest_message;
        let (Ok(message), true) = (i32::try_from(length), length <= longest) else {
            return Err(Fault::Command(format!(
                "the message of {length} bytes is longer than the {longest} that the server takes"
            )));
        };
        self.last_request = self.last_request.wrapping_add(1);
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&message.to_le_bytes());
        head[4..8].copy_from_slice(&self.last_request.to_le_bytes());
        head[12..16].copy_from_slice(&OP_MSG.to_le_bytes());
        let flags = if unacknowledged { MORE_TO_COME } else { 0 };
        head[16..20].copy_from_slice(&flags.to_le_bytes());
        head[21..25].copy_from_slice(&(document as i32).to_le_bytes());
        self.packed.clear();
        if let (true, Some(compressor)) = (compress, &self.terms.compressor) {
            compression::pack(compressor, &head, rest, &mut self.packed)?;
        }
        Ok(head)
    }

    /// Writes a command; `sent` counts its bytes from poll to poll.
    pub(super) fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        head: &[u8; HEAD],
        rest: &Parts<'_>,
        sent: &mut usize,
    ) -> Poll<Result<(), Fault>> {
        let length = if self.packed.is_empty() {
            // As `begin` wrote it there.
            u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize
        } else {
            self.packed.len()
        };
        while *sent < length {
            let plain = std::iter::once(&head[..]).chain(rest.iter());
            let mut room = [MaybeUninit::uninit(); SMALL];
            let mut slices = [IoSlice::new(&[]); PIECES];
            let polled = if !self.packed.is_empty() {
                let left = &self.packed[*sent..];
                each!(&mut self.stream, it => Pin::new(it).poll_write(context, left))
            } else if length <= SMALL {
                let mut joined = ReadBuf::uninit(&mut room);
                plain.for_each(|part| joined.put_slice(part));
                let left = joined.filled().get(*sent..).unwrap_or_default();
                each!(&mut self.stream, it => Pin::new(it).poll_write(context, left))
            } else {
                let filled = gather(plain, *sent, &mut slices);
                each!(&mut self.stream, it => Pin::new(it).poll_write_vectored(context, &slices[..filled]))
            };
            let written = ready!(polled)?;
            if written == 0 {
                return Poll::Ready(Err(Fault::Closed));
            }
            *sent += written;
        }
        // Encryption has a buffer of its own.
        match &mut self.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context).map_err(Fault::from),
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Reads the reply to the last command; `read` sees its document where it lies.
    pub(super) fn poll_reply<T>(
        &mut self,
        context: &mut Context<'_>,
        read: impl FnOnce(&RawDocument) -> T,
    ) -> Poll<Result<T, Fault>> {
        let polled = self.poll_whole_reply(context, read);
        if polled.is_pending() {
            self.line.waiting.register(context.waker());
            if self.line.cut.load(Ordering::Acquire) {
                return Poll::Ready(Err(Fault::Cut));
            }
        }
        polled
    }

    fn poll_whole_reply<T>(
        &mut self,
        context: &mut Context<'_>,
        read: impl FnOnce(&RawDocument) -> T,
    ) -> Poll<Result<T, Fault>> {
        if self.inbox.is_empty() {
            let mut room = [MaybeUninit::uninit(); FIRST];
            let mut arrived = ReadBuf::uninit(&mut room);
            ready!(each!(&mut self.stream, it => Pin::new(it).poll_read(context, &mut arrived)))?;
            let bytes = arrived.filled();
            if bytes.is_empty() {
                return Poll::Ready(Err(Fault::Closed));
            }
            if bytes.len() >= HEADER_BYTES && Header::parse(bytes)?.length <= bytes.len() {
                let result = read(document(bytes, self.last_request, &mut self.unpacked)?);
                empty(&mut self.unpacked);
                return Poll::Ready(Ok(result));
            }
            self.inbox.extend_from_slice(bytes);
        }
        loop {
            let wanted = match self.inbox.len() {
                few @ 0..HEADER_BYTES => HEADER_BYTES - few,
                have => Header::parse(&self.inbox)?.length.saturating_sub(have),
            };
            if wanted == 0 {
                break;
            }
            self.inbox.reserve(wanted.min(STEP));
            let arrived = {
                let reading = each!(&mut self.stream, it => {
                    let reading = it.read_buf(&mut self.inbox);
                    std::pin::pin!(reading).poll(context)
                });
                ready!(reading)?
            };
            if arrived == 0 {
                return Poll::Ready(Err(Fault::HalfReply));
            }
        }
        let document = document(&self.inbox, self.last_request, &mut self.unpacked)?;
        let result = read(document);
        empty(&mut self.inbox);
        empty(&mut self.unpacked);
        Poll::Ready(Ok(result))
    }

    /// Sends a whole command and waits for its reply: for what is done before the first op.
    pub(super) async fn call(&mut self, command: &RawDocument) -> Result<RawDocumentBuf, Fault> {
        let rest = Parts { command: command.as_bytes(), insets: &[], rest: [&[0], &[], &[]] };
        let head = self.begin(&rest, false, false)?;
        let mut sent = 0;
        poll_fn(|context| self.poll_send(context, &head, &rest, &mut sent)).await?;
        poll_fn(|context| self.poll_reply(context, RawDocument::to_owned)).await
    }
}

/// Empties a buffer, and gives it back if a long reply made it long.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEEP);
}

/// The document of a reply that is there as a whole.
pub(super) fn document<'a>(
    bytes: &'a [u8],
    request: i32,
    unpacked: &'a mut Vec<u8>,
) -> Result<&'a RawDocument, Fault> {
    let header = Header::parse(bytes)?;
    if header.length != bytes.len() {
        return Err(Fault::Reply(format!("a reply of {} bytes came in {}", header.length, bytes.len())));
    }
    if header.response_to != request {
        return Err(Fault::Reply(format!(
            "the reply is to request {}, and request {request} was sent",
            header.response_to
        )));
    }
    let message = if header.op_code == OP_COMPRESSED {
        compression::unpack(bytes, unpacked)?;
        &unpacked[..]
    } else {
        bytes
    };
    match wire::parse(message)?.1 {
        Message::Msg(reply) if reply.more_to_come() => {
            Err(Fault::Reply("the server announces replies that nobody asked for".to_owned()))
        }
        Message::Msg(reply) => Ok(reply.body),
        Message::Query(_) => Err(Fault::Reply("the server sent a query".to_owned())),
    }
}
