//! A reply off the wire: it is read, or refused as the failure of its op.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nbrs::adapters::mongodb::read_reply;

fuzz_target!(|bytes: Vec<u8>| {
    let mut bytes = bytes;
    // Most of the bytes are there for what stands after the header.
    if let Ok(length) = i32::try_from(bytes.len())
        && let Some(header) = bytes.first_chunk_mut::<16>()
    {
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[8..12].copy_from_slice(&1_i32.to_le_bytes());
        let code: i32 = if header[12] & 1 == 0 { 2013 } else { 2012 };
        header[12..].copy_from_slice(&code.to_le_bytes());
    }
    let _ = read_reply(&bytes, 1);
});
