//! Java's `ByteBuffer`: an array of bytes, and how many of them count.

use std::ops::Deref;

/// Derefs to the bytes that count; the array may be longer, which its text and digests show.
#[derive(Debug, Clone, Default)]
pub struct ByteBuffer {
    array: Vec<u8>,
    limit: usize,
}

impl ByteBuffer {
    /// The first `limit` bytes of an array: all of them, if it is shorter.
    pub fn limited(array: Vec<u8>, limit: usize) -> ByteBuffer {
        let limit = limit.min(array.len());
        ByteBuffer { array, limit }
    }

    /// The whole array.
    pub fn array(&self) -> &[u8] {
        &self.array
    }
}

impl From<Vec<u8>> for ByteBuffer {
    fn from(array: Vec<u8>) -> ByteBuffer {
        let limit = array.len();
        ByteBuffer { array, limit }
    }
}

impl Deref for ByteBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.array.get(..self.limit).unwrap_or_default()
    }
}

/// Buffers are equal by the bytes that count.
impl PartialEq for ByteBuffer {
    fn eq(&self, other: &ByteBuffer) -> bool {
        **self == **other
    }
}
