//! Takes whole messages off a byte stream, in one buffer that is used again and again.

use super::{HEADER_BYTES, Header, WireError};
use tokio::io::{AsyncRead, AsyncReadExt};

/// What the buffer grows by at most before the bytes for it have arrived.
const STEP: usize = 1 << 20;
/// What is read at once when nothing is known about the next message.
const FIRST: usize = 16 << 10;
/// A buffer that a long message made longer than this is given back once it is idle.
const KEEP: usize = 1 << 20;

/// Reads messages one after the other. A small message costs one read; what was read beyond it stays for
/// the next.
pub struct MessageReader<R> {
    stream: R,
    buffer: Vec<u8>,
    /// Where the bytes that were not given out yet begin.
    start: usize,
}

impl<R: AsyncRead + Unpin> MessageReader<R> {
    pub fn new(stream: R) -> Self {
        MessageReader { stream, buffer: Vec::new(), start: 0 }
    }

    /// The next whole message, header included, or `None` when the stream ended between two messages.
    /// The bytes are valid until the next call. Safe to cancel: a half-read message is continued.
    ///
    /// # Errors
    /// [`WireError::Length`] as soon as a header says so; [`WireError::HalfMessage`]; errors of the stream.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, WireError> {
        let header = loop {
            if self.buffer.len() - self.start >= HEADER_BYTES {
                break Header::parse(&self.buffer[self.start..])?;
            }
            if self.start == self.buffer.len() {
                self.give_back();
            }
            if self.fill(FIRST).await? == 0 {
                return if self.start == self.buffer.len() { Ok(None) } else { Err(WireError::HalfMessage) };
            }
        };
        loop {
            let have = self.buffer.len() - self.start;
            if have >= header.length {
                break;
            }
            if self.fill(header.length - have).await? == 0 {
                return Err(WireError::HalfMessage);
            }
        }
        let message = self.start..self.start + header.length;
        self.start = message.end;
        Ok(Some(&self.buffer[message]))
    }

    /// Whether a further message, or the beginning of one, has already been read.
    pub fn has_more(&self) -> bool {
        self.start < self.buffer.len()
    }

    /// Everything was given out: begin at the front again, and keep no long buffer for an idle connection.
    fn give_back(&mut self) {
        self.buffer.clear();
        self.start = 0;
        if self.buffer.capacity() > KEEP {
            self.buffer = Vec::new();
        }
    }

    async fn fill(&mut self, wanted: usize) -> Result<usize, WireError> {
        let room = self.buffer.capacity() - self.buffer.len();
        if room < wanted.min(STEP) {
            if self.start > 0 {
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            self.buffer.reserve(wanted.min(STEP));
        }
        Ok(self.stream.read_buf(&mut self.buffer).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_MESSAGE_BYTES, Message, parse, write_msg};
    use super::*;
    use bson::rawdoc;
    use tokio::io::AsyncWriteExt;

    fn message(number: i32, filler: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_msg(&mut bytes, number, 0, 0, &rawdoc! { "ping": number, "filler": "x".repeat(filler) });
        bytes
    }

    #[tokio::test]
    async fn messages_arrive_whole_however_the_bytes_are_cut() {
        let sizes = [0, 10, 5_000, 100_000, 3_000_000, 1, 40_000];
        let bytes: Vec<u8> =
            sizes.iter().enumerate().flat_map(|(i, &size)| message(i as i32, size)).collect();
        for piece in [7, 1000, 65_536, bytes.len()] {
            // One-byte-sized pieces of megabytes would only take time.
            let bytes = if piece == 7 { message(0, 300) } else { bytes.clone() };
            let (mut writer, reader) = tokio::io::duplex(64 << 10);
            let sent = bytes.clone();
            let sender = tokio::spawn(async move {
                for part in sent.chunks(piece) {
                    writer.write_all(part).await.unwrap();
                }
            });
            let mut reader = MessageReader::new(reader);
            let mut received = Vec::new();
            while let Some(message) = reader.next().await.unwrap() {
                let (header, Message::Msg(msg)) = parse(message).unwrap() else { panic!("an OP_MSG") };
                assert_eq!(msg.body.get_i32("ping").unwrap(), header.request_id);
                received.extend_from_slice(message);
            }
            sender.await.unwrap();
            assert!(received == bytes, "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn the_end_inside_a_message_is_an_error_and_between_messages_the_end() {
        let whole = message(1, 100);
        for cut in 0..=whole.len() {
            let mut reader = MessageReader::new(&whole[..cut]);
            match (cut, reader.next().await) {
                (0, Ok(None)) => {}
                (c, Ok(Some(bytes))) if c == whole.len() => assert_eq!(bytes, whole),
                (_, Err(WireError::HalfMessage)) => {}
                (cut, other) => panic!("{cut}: {other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn a_long_length_alone_allocates_little() {
        let mut bytes = (MAX_MESSAGE_BYTES as i32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 12]);
        let mut reader = MessageReader::new(&bytes[..]);
        assert!(matches!(reader.next().await, Err(WireError::HalfMessage)));
        assert!(reader.buffer.capacity() <= 2 * STEP);
    }

    #[tokio::test]
    async fn an_impossible_length_is_refused_at_once() {
        let mut bytes = i32::MAX.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 12]);
        let mut reader = MessageReader::new(&bytes[..]);
        assert!(matches!(reader.next().await, Err(WireError::Length(i32::MAX))));
    }
}
