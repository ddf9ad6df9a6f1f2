//! OP_MSG framing, shared by the embedded server, the canned-reply bench server and handshake-level
//! connections.
//!
//! Takes bytes of a stream, gives messages that borrow from the reader's buffer, and the other way round
//! writes replies and requests in place at the end of a caller's buffer. Follows the MongoDB wire protocol:
//! OP_MSG with kind 0 and kind 1 sections, and the legacy OP_QUERY / OP_REPLY pair that drivers still use for
//! their first `hello`. A wrong length is an error, never a panic, and nothing is allocated for bytes that
//! have not arrived.
//!
//! ```
//! use bson::rawdoc;
//! use nbrs::wire::{self, Message};
//!
//! let mut bytes = Vec::new();
//! wire::write_msg(&mut bytes, 7, 0, 0, &rawdoc! { "ping": 1, "$db": "admin" });
//! let (header, message) = wire::parse(&bytes).unwrap();
//! assert_eq!(header.request_id, 7);
//! let Message::Msg(msg) = message else { panic!("an OP_MSG") };
//! assert_eq!(msg.body.get_i32("ping").unwrap(), 1);
//! ```

mod crc32c;
mod message;
mod reader;

pub use message::{
    Header, Message, Msg, MsgStart, Query, Sequence, begin_msg, finish_msg, parse, write_msg, write_reply,
};
pub use reader::MessageReader;

/// Bytes of the header that opens every message.
pub const HEADER_BYTES: usize = 16;
/// The longest message that is taken, header included (`maxMessageSizeBytes` of `hello`).
pub const MAX_MESSAGE_BYTES: usize = 48_000_000;
/// The longest document that a server stores (`maxBsonObjectSize` of `hello`).
pub const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// The most operations in one write command (`maxWriteBatchSize` of `hello`).
pub const MAX_WRITE_BATCH: usize = 100_000;

/// Op code of a reply to OP_QUERY.
pub const OP_REPLY: i32 = 1;
/// Op code of the legacy query, of which only the first `hello` is left.
pub const OP_QUERY: i32 = 2004;
/// Op code of a compressed message.
pub const OP_COMPRESSED: i32 = 2012;
/// Op code of everything else.
pub const OP_MSG: i32 = 2013;

/// OP_MSG flag: the message ends with a CRC-32C of all bytes before it.
pub const CHECKSUM_PRESENT: u32 = 1;
/// OP_MSG flag: the sender will send another message without waiting; on a request: no reply is wanted.
pub const MORE_TO_COME: u32 = 1 << 1;
/// OP_MSG flag: the client is ready for several replies to this request.
pub const EXHAUST_ALLOWED: u32 = 1 << 16;

/// What is wrong with bytes that should have been a message. After any of these the stream cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The length in a header is below the header's own or above [`MAX_MESSAGE_BYTES`].
    #[error("message length {0} is not between 16 and 48000000")]
    Length(i32),
    /// The stream ended inside a message.
    #[error("connection closed in the middle of a message")]
    HalfMessage,
    /// A part of the message reaches beyond its end, or bytes are left over.
    #[error("malformed message: {0}")]
    Malformed(&'static str),
    /// An op code that is neither OP_MSG nor OP_QUERY.
    #[error("unsupported op code {0}")]
    OpCode(i32),
    /// A required flag bit that nobody has defined.
    #[error("unknown required flag bits in {0:#06x}")]
    Flags(u32),
    /// The checksum at the end does not fit the bytes before it.
    #[error("checksum of the message does not match")]
    Checksum,
    /// The stream itself failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
