//! OP_COMPRESSED: a message whose part after the header is compressed, as MongoDB's wire protocol has it.

use super::connection::{Fault, HEAD, Parts};
use crate::wire::{HEADER_BYTES, MAX_MESSAGE_BYTES, OP_COMPRESSED, OP_MSG};
use ::mongodb::options::Compressor;
use std::io::{self, Read, Write};

/// Header, the op code within, the length of what is compressed, the compressor.
const START: usize = HEADER_BYTES + 4 + 4 + 1;

const NONE: u8 = 0;
const SNAPPY: u8 = 1;
const ZLIB: u8 = 2;
const ZSTD: u8 = 3;

/// The compressor's name in the handshake.
pub(super) fn name(compressor: &Compressor) -> &'static str {
    match compressor {
        Compressor::Snappy => "snappy",
        Compressor::Zlib { .. } => "zlib",
        Compressor::Zstd { .. } => "zstd",
        _ => "unknown",
    }
}

/// Writes to `packed` the message that begins with `head`, compressed.
pub(super) fn pack(
    compressor: &Compressor,
    head: &[u8; HEAD],
    rest: &Parts<'_>,
    packed: &mut Vec<u8>,
) -> Result<(), Fault> {
    let plain = || std::iter::once(&head[HEADER_BYTES..]).chain(rest.iter());
    let length: usize = plain().map(<[u8]>::len).sum();
    packed.extend_from_slice(&head[..12]);
    packed.extend_from_slice(&OP_COMPRESSED.to_le_bytes());
    packed.extend_from_slice(&OP_MSG.to_le_bytes());
    packed.extend_from_slice(&(length as i32).to_le_bytes());
    let failed = |error: io::Error| Fault::Command(format!("the command cannot be compressed: {error}"));
    match compressor {
        Compressor::Snappy => {
            packed.push(SNAPPY);
            let plain: Vec<u8> = plain().flatten().copied().collect();
            let bytes = snap::raw::Encoder::new().compress_vec(&plain);
            packed.extend_from_slice(&bytes.map_err(|error| failed(io::Error::other(error)))?);
        }
        Compressor::Zlib { level } => {
            packed.push(ZLIB);
            let level = level.map_or_else(flate2::Compression::default, flate2::Compression::new);
            let mut encoder = flate2::write::ZlibEncoder::new(&mut *packed, level);
            plain().try_for_each(|part| encoder.write_all(part)).map_err(failed)?;
            encoder.finish().map_err(failed)?;
        }
        Compressor::Zstd { level } => {
            packed.push(ZSTD);
            let level = level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
            let mut encoder = zstd::Encoder::new(&mut *packed, level).map_err(failed)?;
            plain().try_for_each(|part| encoder.write_all(part)).map_err(failed)?;
            encoder.finish().map_err(failed)?;
        }
        other => return Err(Fault::Command(format!("{other:?} is not built into this lane"))),
    }
    let length = packed.len() as i32;
    packed[..4].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// Writes to `plain` the message within `message`, an OP_COMPRESSED.
pub(super) fn unpack(message: &[u8], plain: &mut Vec<u8>) -> Result<(), Fault> {
    let wrong = |what: String| Fault::Reply(format!("a compressed reply {what}"));
    let Some((start, bytes)) = message.split_at_checked(START) else {
        return Err(wrong("ends too early".to_owned()));
    };
    let number = |at: usize| i32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
    let length = usize::try_from(number(HEADER_BYTES + 4)).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES - HEADER_BYTES {
        return Err(wrong(format!("claims a length of {}", number(HEADER_BYTES + 4))));
    }
    plain.clear();
    plain.extend_from_slice(&((HEADER_BYTES + length) as i32).to_le_bytes());
    plain.extend_from_slice(&start[4..12]);
    plain.extend_from_slice(&start[HEADER_BYTES..HEADER_BYTES + 4]);
    // One more than there may be, so that too much is seen.
    let limit = length as u64 + 1;
    let read = match start[START - 1] {
        NONE => {
            plain.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        SNAPPY => match snap::raw::decompress_len(bytes) {
            // The decoder makes room for what the bytes claim.
            Ok(claimed) if claimed == length => snap::raw::Decoder::new()
                .decompress_vec(bytes)
                .map(|bytes| {
                    plain.extend_from_slice(&bytes);
                    bytes.len()
                })
                .map_err(io::Error::other),
            Ok(claimed) => Ok(claimed),
            Err(error) => Err(io::Error::other(error)),
        },
        ZLIB => flate2::read::ZlibDecoder::new(bytes).take(limit).read_to_end(plain),
        ZSTD => zstd::Decoder::new(bytes).and_then(|decoder| decoder.take(limit).read_to_end(plain)),
        other => return Err(wrong(format!("uses compressor {other}, which nobody asked for"))),
    };
    match read {
        Ok(read) if read == length => Ok(()),
        Ok(_) => Err(wrong("is not as long as it says".to_owned())),
        Err(error) => Err(wrong(format!("cannot be read: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{self, Message};
    use bson::rawdoc;
    use proptest::prelude::*;

    fn message(filler: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        wire::write_msg(&mut bytes, 3, 9, 0, &rawdoc! { "ok": 1, "text": "x".repeat(filler) });
        bytes
    }

    fn packed(compressor: &Compressor, message: &[u8]) -> Vec<u8> {
        let head = message.first_chunk().expect("a message");
        let mut packed = Vec::new();
        let parts = Parts { command: &message[HEAD - 4..], insets: &[], rest: [&[0], &[], &[]] };
        pack(compressor, head, &parts, &mut packed).expect("it can be compressed");
        packed
    }

    const ALL: [Compressor; 3] =
        [Compressor::Snappy, Compressor::Zlib { level: Some(6) }, Compressor::Zstd { level: None }];

    #[test]
    fn what_was_packed_unpacks_to_the_same_message() {
        for compressor in &ALL {
            for filler in [0, 100, 300_000] {
                let whole = message(filler);
                let packed = packed(compressor, &whole);
                assert_eq!(wire::Header::parse(&packed).expect("a header").length, packed.len());
                let mut plain = vec![1, 2, 3];
                unpack(&packed, &mut plain).expect("it unpacks");
                assert!(plain == whole, "{compressor:?}");
                assert!(matches!(wire::parse(&plain), Ok((_, Message::Msg(_)))));
            }
        }
    }

    #[test]
    fn a_length_that_is_not_so_is_refused() {
        for compressor in &ALL {
            let mut packed = packed(compressor, &message(1000));
            for claimed in [0, 10, 1_000_000, -1, i32::MAX] {
                packed[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&i32::to_le_bytes(claimed));
                assert!(unpack(&packed, &mut Vec::new()).is_err(), "{compressor:?} {claimed}");
            }
        }
        assert!(unpack(&[0; START - 1], &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn noise_is_refused_or_read_but_never_panics(
            noise in proptest::collection::vec(any::<u8>(), START..400), compressor in 0..5_u8, length in 0..1000_i32,
        ) {
            let mut noise = noise;
            noise[START - 1] = compressor;
            noise[HEADER_BYTES + 4..HEADER_BYTES + 8].copy_from_slice(&length.to_le_bytes());
            let _ = unpack(&noise, &mut Vec::new());
        }
    }
}
