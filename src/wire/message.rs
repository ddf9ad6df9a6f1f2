//! One message: from bytes to parts that borrow them, and from parts to bytes.

use super::{
    CHECKSUM_PRESENT, EXHAUST_ALLOWED, HEADER_BYTES, MAX_MESSAGE_BYTES, MORE_TO_COME, OP_MSG, OP_QUERY,
    OP_REPLY, WireError, crc32c::crc32c,
};
use bson::RawDocument;

/// The 16 bytes that open a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the whole message in bytes, this header included.
    pub length: usize,
    /// The sender's number for this message.
    pub request_id: i32,
    /// For a reply: the request's number.
    pub response_to: i32,
    /// One of [`OP_MSG`], [`OP_QUERY`], [`OP_REPLY`] or another.
    pub op_code: i32,
}

impl Header {
    /// Reads a header and checks its length; `bytes` must hold at least [`HEADER_BYTES`].
    pub fn parse(bytes: &[u8]) -> Result<Header, WireError> {
        let mut cursor = Cursor(bytes);
        let length = cursor.i32()?;
        if length < HEADER_BYTES as i32 || length as usize > MAX_MESSAGE_BYTES {
            return Err(WireError::Length(length));
        }
        Ok(Header {
            length: length as usize,
            request_id: cursor.i32()?,
            response_to: cursor.i32()?,
            op_code: cursor.i32()?,
        })
    }
}

/// A parsed message; its parts borrow from the bytes that it was parsed from.
#[derive(Debug)]
pub enum Message<'a> {
    Msg(Msg<'a>),
    Query(Query<'a>),
}

/// An OP_MSG.
#[derive(Debug)]
pub struct Msg<'a> {
    /// [`CHECKSUM_PRESENT`], [`MORE_TO_COME`], [`EXHAUST_ALLOWED`].
    pub flags: u32,
    /// The one kind 0 section: the command or the reply.
    pub body: &'a RawDocument,
    /// The kind 1 sections in their order: long lists of documents sent beside the body.
    pub sequences: Vec<Sequence<'a>>,
}

impl<'a> Msg<'a> {
    /// Whether the sender wants no reply.
    pub fn more_to_come(&self) -> bool {
        self.flags & MORE_TO_COME != 0
    }

    /// The sequence of that name.
    pub fn sequence(&self, identifier: &str) -> Option<&Sequence<'a>> {
        self.sequences.iter().find(|sequence| sequence.identifier == identifier)
    }
}

/// A kind 1 section: the documents of the command field `identifier`, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    pub identifier: &'a str,
    documents: &'a [u8],
}

impl<'a> Sequence<'a> {
    /// The documents; their lengths were checked when the message was parsed.
    pub fn documents(&self) -> impl Iterator<Item = &'a RawDocument> + use<'a> {
        let mut cursor = Cursor(self.documents);
        std::iter::from_fn(move || if cursor.0.is_empty() { None } else { cursor.document().ok() })
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.documents().count()
    }

    /// Bytes of all documents together.
    pub fn byte_len(&self) -> usize {
        self.documents.len()
    }

    /// Whether there is no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

/// A legacy OP_QUERY. Servers of today take it for `hello` and its old names only.
#[derive(Debug)]
pub struct Query<'a> {
    /// `database.$cmd` for a command.
    pub collection: &'a str,
    pub query: &'a RawDocument,
}

/// Parses one whole message, header included.
///
/// # Errors
/// Lengths that do not add up, flags that must be understood and are not, a wrong checksum, another op code.
pub fn parse(bytes: &[u8]) -> Result<(Header, Message<'_>), WireError> {
    let header = Header::parse(bytes)?;
    if header.length != bytes.len() {
        return Err(WireError::Malformed("length in the header is not the length of the message"));
    }
    let message = match header.op_code {
        OP_MSG => Message::Msg(parse_msg(bytes)?),
        OP_QUERY => Message::Query(parse_query(&bytes[HEADER_BYTES..])?),
        other => return Err(WireError::OpCode(other)),
    };
    Ok((header, message))
}

fn parse_msg(bytes: &[u8]) -> Result<Msg<'_>, WireError> {
    let mut cursor = Cursor(&bytes[HEADER_BYTES..]);
    let flags = cursor.i32()? as u32;
    // The lower 16 bits must be understood, the upper ones may be ignored.
    if flags & 0xFFFF & !(CHECKSUM_PRESENT | MORE_TO_COME) != 0 {
        return Err(WireError::Flags(flags));
    }
    if flags & CHECKSUM_PRESENT != 0 {
        let (sections, checksum) =
            cursor.0.split_last_chunk::<4>().ok_or(WireError::Malformed("no room for the checksum"))?;
        if u32::from_le_bytes(*checksum) != crc32c(&bytes[..bytes.len() - 4]) {
            return Err(WireError::Checksum);
        }
        cursor.0 = sections;
    }
    let mut body = None;
    let mut sequences = Vec::new();
    while !cursor.0.is_empty() {
        match cursor.u8()? {
            0 if body.is_some() => return Err(WireError::Malformed("two body sections")),
            0 => body = Some(cursor.document()?),
            1 => sequences.push(cursor.sequence()?),
            _ => return Err(WireError::Malformed("unknown kind of section")),
        }
    }
    let body = body.ok_or(WireError::Malformed("no body section"))?;
    Ok(Msg { flags: flags & (CHECKSUM_PRESENT | MORE_TO_COME | EXHAUST_ALLOWED), body, sequences })
}

fn parse_query(bytes: &[u8]) -> Result<Query<'_>, WireError> {
    let mut cursor = Cursor(bytes);
    cursor.i32()?; // flags
    let collection = cursor.cstring()?;
    cursor.i32()?; // number to skip
    cursor.i32()?; // number to return
    let query = cursor.document()?;
    if !cursor.0.is_empty() {
        cursor.document()?; // field selector, of no use to a command
    }
    if !cursor.0.is_empty() {
        return Err(WireError::Malformed("bytes after the query"));
    }
    Ok(Query { collection, query })
}

/// The bytes not yet read; every step checks that they suffice.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or(WireError::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.take(1)?[0])
    }

    fn i32(&mut self) -> Result<i32, WireError> {
        let (value, rest) =
            self.0.split_first_chunk::<4>().ok_or(WireError::Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(i32::from_le_bytes(*value))
    }

    fn cstring(&mut self) -> Result<&'a str, WireError> {
        let end =
            self.0.iter().position(|&byte| byte == 0).ok_or(WireError::Malformed("a name has no end"))?;
        let text = self.take(end)?;
        self.take(1)?;
        std::str::from_utf8(text).map_err(|_| WireError::Malformed("a name is not UTF-8"))
    }

    /// A document by its own length; what is inside is checked by whoever reads it.
    fn document(&mut self) -> Result<&'a RawDocument, WireError> {
        let length = Cursor(self.0).i32()?;
        let length =
            usize::try_from(length).map_err(|_| WireError::Malformed("negative length of a document"))?;
        RawDocument::from_bytes(self.take(length)?)
            .map_err(|_| WireError::Malformed("a document's length or end is wrong"))
    }

    fn sequence(&mut self) -> Result<Sequence<'a>, WireError> {
        let length = Cursor(self.0).i32()?;
        let length = usize::try_from(length)
            .ok()
            .filter(|&length| length >= 4)
            .ok_or(WireError::Malformed("wrong length of a document sequence"))?;
        let mut section = Cursor(&self.take(length)?[4..]);
        let identifier = section.cstring()?;
        let documents = section.0;
        while !section.0.is_empty() {
            section.document()?;
        }
        Ok(Sequence { identifier, documents })
    }
}

/// Where an OP_MSG begins in a buffer; [`finish_msg`] needs it to set the length.
#[derive(Debug, Clone, Copy)]
#[must_use = "without finish_msg the length of the message is not set"]
pub struct MsgStart(usize);

/// Opens an OP_MSG at the end of `buffer` up to and including the kind byte of its body. The caller appends
/// the bytes of the body, and further sections if it likes, then calls [`finish_msg`].
pub fn begin_msg(buffer: &mut Vec<u8>, request_id: i32, response_to: i32, flags: u32) -> MsgStart {
    let start = buffer.len();
    write_header(buffer, request_id, response_to, OP_MSG);
    buffer.extend_from_slice(&flags.to_le_bytes());
    buffer.push(0);
    MsgStart(start)
}

/// Sets the length of the message that [`begin_msg`] opened; it ends where `buffer` ends.
///
/// No checksum is added, whatever the flags say: MongoDB's own drivers and servers send none over plain
/// connections they trust.
pub fn finish_msg(buffer: &mut [u8], start: MsgStart) {
    set_length(buffer, start.0);
}

/// Appends a whole OP_MSG with one body section to `buffer`.
pub fn write_msg(buffer: &mut Vec<u8>, request_id: i32, response_to: i32, flags: u32, body: &RawDocument) {
    let start = begin_msg(buffer, request_id, response_to, flags & !CHECKSUM_PRESENT);
    buffer.extend_from_slice(body.as_bytes());
    finish_msg(buffer, start);
}

/// Appends an OP_REPLY with one document to `buffer`: the answer to an OP_QUERY.
pub fn write_reply(buffer: &mut Vec<u8>, request_id: i32, response_to: i32, document: &RawDocument) {
    const AWAIT_CAPABLE: i32 = 8;
    let start = buffer.len();
    write_header(buffer, request_id, response_to, OP_REPLY);
    buffer.extend_from_slice(&AWAIT_CAPABLE.to_le_bytes());
    buffer.extend_from_slice(&0i64.to_le_bytes()); // cursor
    buffer.extend_from_slice(&0i32.to_le_bytes()); // starting from
    buffer.extend_from_slice(&1i32.to_le_bytes()); // documents returned
    buffer.extend_from_slice(document.as_bytes());
    set_length(buffer, start);
}

fn write_header(buffer: &mut Vec<u8>, request_id: i32, response_to: i32, op_code: i32) {
    for field in [0, request_id, response_to, op_code] {
        buffer.extend_from_slice(&field.to_le_bytes());
    }
}

fn set_length(buffer: &mut [u8], start: usize) {
    let length = (buffer.len() - start) as i32;
    buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;
    use proptest::prelude::*;

    fn two_sections() -> Vec<u8> {
        let mut bytes = Vec::new();
        let start = begin_msg(&mut bytes, 3, 9, MORE_TO_COME);
        bytes.extend_from_slice(rawdoc! { "insert": "c", "$db": "d" }.as_bytes());
        bytes.push(1);
        let section = bytes.len();
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(b"documents\0");
        for id in 0..3 {
            bytes.extend_from_slice(rawdoc! { "_id": id }.as_bytes());
        }
        let length = (bytes.len() - section) as i32;
        bytes[section..section + 4].copy_from_slice(&length.to_le_bytes());
        finish_msg(&mut bytes, start);
        bytes
    }

    fn msg(bytes: &[u8]) -> Msg<'_> {
        match parse(bytes).unwrap() {
            (_, Message::Msg(msg)) => msg,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn body_and_sequence_are_found() {
        let bytes = two_sections();
        let (header, _) = parse(&bytes).unwrap();
        assert_eq!(header, Header { length: bytes.len(), request_id: 3, response_to: 9, op_code: OP_MSG });
        let msg = msg(&bytes);
        assert!(msg.more_to_come());
        assert_eq!(msg.body.get_str("insert").unwrap(), "c");
        let sequence = msg.sequence("documents").unwrap();
        assert_eq!(sequence.len(), 3);
        let ids: Vec<i32> = sequence.documents().map(|d| d.get_i32("_id").unwrap()).collect();
        assert_eq!(ids, [0, 1, 2]);
        assert!(msg.sequence("other").is_none());
    }

    #[test]
    fn a_checksum_is_verified() {
        let mut bytes = two_sections();
        bytes[16] |= CHECKSUM_PRESENT as u8;
        let length = bytes.len() as i32 + 4;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        assert_eq!(msg(&bytes).sequences.len(), 1);
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        assert!(matches!(parse(&bytes), Err(WireError::Checksum)));
    }

    #[test]
    fn optional_flags_are_ignored_and_unknown_required_ones_refused() {
        let mut bytes = two_sections();
        bytes[18] = 0b10;
        assert_eq!(msg(&bytes).flags, MORE_TO_COME);
        bytes[18] = 1;
        assert_eq!(msg(&bytes).flags, MORE_TO_COME | EXHAUST_ALLOWED);
        bytes[16] |= 0b100;
        assert!(matches!(parse(&bytes), Err(WireError::Flags(_))));
    }

    #[test]
    fn a_legacy_query_is_read() {
        let mut bytes = Vec::new();
        write_header(&mut bytes, 1, 0, OP_QUERY);
        bytes.extend_from_slice(&4i32.to_le_bytes());
        bytes.extend_from_slice(b"admin.$cmd\0");
        bytes.extend_from_slice(&0i32.to_le_bytes());
        bytes.extend_from_slice(&(-1i32).to_le_bytes());
        bytes.extend_from_slice(rawdoc! { "isMaster": 1 }.as_bytes());
        set_length(&mut bytes, 0);
        match parse(&bytes).unwrap().1 {
            Message::Query(query) => {
                assert_eq!(query.collection, "admin.$cmd");
                assert_eq!(query.query.get_i32("isMaster").unwrap(), 1);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn headers_with_impossible_lengths_are_refused() {
        for length in [i32::MIN, -1, 0, 15, MAX_MESSAGE_BYTES as i32 + 1, i32::MAX] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend_from_slice(&[0; 12]);
            assert!(matches!(Header::parse(&bytes), Err(WireError::Length(l)) if l == length));
        }
    }

    proptest! {
        #[test]
        fn a_cut_message_is_an_error(at in 0usize..10_000) {
            let mut bytes = two_sections();
            bytes.truncate(at % bytes.len());
            if bytes.len() >= 4 {
                set_length(&mut bytes, 0);
            }
            if let Ok((_, Message::Msg(msg))) = parse(&bytes) {
                // A cut exactly between the sections leaves a whole message.
                prop_assert_eq!(msg.sequences.len(), 0);
            }
        }

        #[test]
        fn a_flipped_byte_never_panics(at in 0usize..10_000, with in 1u8..) {
            let mut bytes = two_sections();
            let at = at % bytes.len();
            bytes[at] ^= with;
            if let Ok((_, Message::Msg(msg))) = parse(&bytes) {
                for sequence in &msg.sequences {
                    sequence.documents().for_each(drop);
                }
            }
        }

        #[test]
        fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..200), msg in any::<bool>()) {
            let mut bytes = Vec::new();
            write_header(&mut bytes, 1, 0, if msg { OP_MSG } else { OP_QUERY });
            bytes.extend_from_slice(&noise);
            set_length(&mut bytes, 0);
            let _ = parse(&bytes);
        }
    }
}
