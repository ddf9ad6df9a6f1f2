//! Bytes: buffers of hashes, digests, and bytes as text.

use super::function::{Transform, text_value};
use super::text::text_to_text;
use super::{
    Argument, Arguments, Build, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Map,
    Overload, Refusal, Type, hash,
};
use crate::value::{ByteBuffer, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest;
use std::sync::Arc;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &HASHED_TO_BYTE_BUFFER,
    &BYTE_BUFFER_SIZED_HASHED,
    &HASHED_BYTE_BUFFER_EXTRACT,
    &DIGEST_TO_BYTE_BUFFER,
    &TO_BYTE_BUFFER,
    &TO_CHAR_BUFFER,
    &TO_HEX_STRING,
    &BYTE_BUFFER_TO_HEX,
    &TO_BASE64_STRING,
    &TO_BASE64,
];

const NOTHING: &[Constructor] = &[Constructor::of(&[])];

/// Bytes of a long.
const LONG: usize = 8;

const fn hashed(constructors: &'static [Constructor], build: Build) -> Overload {
    Overload::new("from_long.to_bytebuffer", Type::Long, Type::ByteBuffer, constructors, build)
}

/// A function of any value that gives another.
fn of_value(make: impl Fn(&Value) -> Eval<Value> + Send + Sync + 'static) -> Function {
    Function::ObjectToObject(Transform::by_value(move |value, _| make(&value)))
}

/// A function of a buffer.
fn of_buffer(make: impl Fn(&ByteBuffer) -> Value + Send + Sync + 'static) -> Function {
    of_value(move |value| match value {
        Value::Bytes(bytes) => Ok(make(bytes)),
        other => Err(EvalError::wrong_class(other, "ByteBuffer")),
    })
}

fn buffer(bytes: impl Into<Vec<u8>>) -> Value {
    Value::Bytes(ByteBuffer::from(bytes.into()))
}

/// More bytes than any document can hold.
const MOST_BYTES: usize = 1 << 24;

/// A number of bytes that may be asked for.
pub(super) fn checked_size(size: i32) -> Eval<usize> {
    match usize::try_from(size) {
        Ok(size) if size <= MOST_BYTES => Ok(size),
        Ok(_) => Err(EvalError::boxed(
            "OutOfMemoryError",
            format!("{size} bytes are more than the {MOST_BYTES} that are made at most"),
        )),
        Err(_) => Err(EvalError::boxed("IllegalArgumentException", format!("{size} is no number of bytes"))),
    }
}

/// The hashes of `v` and the numbers after it, of which the first `size` bytes count.
fn hashes(v: i64, size: i32) -> Eval<ByteBuffer> {
    let limit = checked_size(size)?;
    let longs = limit / LONG + 1;
    let mut array = Vec::with_capacity(longs * LONG);
    for i in 0..longs as i64 {
        array.extend_from_slice(&hash::long(v.wrapping_add(i)).to_be_bytes());
    }
    Ok(ByteBuffer::limited(array, limit))
}

fn hashed_buffers(sizes: Map<i64, i32>) -> Function {
    Function::long_to_object(move |v, cx| Ok(Value::Bytes(hashes(v, sizes(v, cx)?)?)))
}

static HASHED_TO_BYTE_BUFFER: FunctionRow = FunctionRow {
    name: "HashedToByteBuffer",
    category: Category::Bytes,
    doc: "so many random-looking bytes",
    examples: &[Example("HashedToByteBuffer(10); ToHexString()", 1, "5752fae69d1653da720f")],
    overloads: &[hashed(&[Constructor::of(&[Type::Int])], |arguments| {
        let size = arguments.int(0)?;
        Ok(hashed_buffers(Arc::new(move |_, _| Ok(size))))
    })],
    ..FunctionRow::NEW
};

static BYTE_BUFFER_SIZED_HASHED: FunctionRow = FunctionRow {
    name: "ByteBufferSizedHashed",
    category: Category::Bytes,
    doc: "random-looking bytes, as many as a number or a function says",
    examples: &[Example("ByteBufferSizedHashed(HashRange(1,10)); ToHexString()", 1, "5752fae69d")],
    overloads: &[hashed(&[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Object])], |arguments| {
        Ok(hashed_buffers(arguments.size(0)?))
    })],
    ..FunctionRow::NEW
};

static HASHED_BYTE_BUFFER_EXTRACT: FunctionRow = FunctionRow {
    name: "HashedByteBufferExtract",
    category: Category::Bytes,
    doc: "a random-looking extract of a buffer that is made once: a number says how many random-looking bytes, a \
          function makes it for 0; the extract's size is a number or a function",
    notes: "an extract may begin where fewer bytes than its size are left, which is an error, as in NoSQLBench; \
            the longer the buffer, the seldomer",
    examples: &[Example("HashedByteBufferExtract(1000,HashRange(2,10)); ToHexString()", 1, "3643ca")],
    overloads: &[hashed(&[Constructor::of(&[Type::Object, Type::Object])], |arguments| {
        let image = match arguments.get(0) {
            Some(Argument::Function(nested)) => {
                let made = arguments.producer(0)?.value(0, &mut super::Context::default());
                match made {
                    Ok(Value::Bytes(bytes)) => bytes,
                    Ok(other) => {
                        return Err(Refusal::new(format!(
                            "`{}` makes a {}, not a ByteBuffer",
                            nested.name,
                            other.type_name()
                        ))
                        .at(0));
                    }
                    Err(error) => {
                        return Err(Refusal::new(format!("`{}` fails for 0: {error}", nested.name)).at(0));
                    }
                }
            }
            _ => {
                let size = arguments.size(0)?(0, &mut super::Context::default());
                size.and_then(|size| hashes(0, size)).map_err(|error| Refusal::new(error.message).at(0))?
            }
        };
        let sizes = arguments.size(1)?;
        let capacity = image.array().len();
        Ok(Function::long_to_object(move |v, cx| {
            let size = checked_size(sizes(v, cx)?.min(capacity as i32))?;
            let start = (hash::int(v) as usize)
                .checked_rem(capacity - size)
                .ok_or_else(EvalError::division_by_zero)?;
            let extract = image.get(start..start + size).ok_or_else(|| {
                EvalError::boxed("BufferUnderflowException", format!("there are no {size} bytes at {start}"))
            })?;
            Ok(buffer(extract))
        }))
    })],
    ..FunctionRow::NEW
};

type Digester = fn(&[u8]) -> Vec<u8>;

fn digest_with<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

/// By the names of Java's standard algorithms.
const DIGESTS: [(&str, Digester); 13] = [
    ("MD2", digest_with::<md2::Md2>),
    ("MD5", digest_with::<md5::Md5>),
    ("SHA-1", digest_with::<sha1::Sha1>),
    ("SHA-224", digest_with::<sha2::Sha224>),
    ("SHA-256", digest_with::<sha2::Sha256>),
    ("SHA-384", digest_with::<sha2::Sha384>),
    ("SHA-512", digest_with::<sha2::Sha512>),
    ("SHA-512/224", digest_with::<sha2::Sha512_224>),
    ("SHA-512/256", digest_with::<sha2::Sha512_256>),
    ("SHA3-224", digest_with::<sha3::Sha3_224>),
    ("SHA3-256", digest_with::<sha3::Sha3_256>),
    ("SHA3-384", digest_with::<sha3::Sha3_384>),
    ("SHA3-512", digest_with::<sha3::Sha3_512>),
];

fn digester(arguments: &Arguments<'_>) -> Result<Digester, Refusal> {
    let name = arguments.text(0)?;
    let wanted =
        if name.eq_ignore_ascii_case("SHA") || name.eq_ignore_ascii_case("SHA1") { "SHA-1" } else { name };
    DIGESTS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(wanted))
        .map(|(_, digest)| *digest)
        .ok_or_else(|| {
            let known: Vec<&str> = DIGESTS.iter().map(|(known, _)| *known).collect();
            Refusal::new(format!("there is no digest `{name}`"))
                .at(0)
                .help(format!("write one of {}", known.join(", ")))
        })
}

const ALGORITHM: &[Constructor] = &[Constructor::of(&[Type::String])];

static DIGEST_TO_BYTE_BUFFER: FunctionRow = FunctionRow {
    name: "DigestToByteBuffer",
    category: Category::Bytes,
    doc: "the digest of a number's eight bytes, or of a buffer, by the named algorithm",
    notes: "of a buffer, all of its array counts, also what lies behind its limit. Algorithms: MD2, MD5, SHA-1, \
            SHA-224, SHA-256, SHA-384, SHA-512, SHA-512/224, SHA-512/256, SHA3-224, SHA3-256, SHA3-384, SHA3-512. \
            Each function has its own algorithm (in NoSQLBench the last of a process has it for all)",
    examples: &[
        Example("DigestToByteBuffer('MD5'); ToHexString()", 1, "fa5ad9a8557e5a84cf23e52d3d3adf77"),
        Example(
            "HashedToByteBuffer(16); DigestToByteBuffer('SHA-1'); ToHexString()",
            1,
            "865ffc949d1e7604a00670c94637b10867c566a8",
        ),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_bytebuffer",
            Type::ByteBuffer,
            Type::ByteBuffer,
            ALGORITHM,
            |arguments| {
                let digest = digester(arguments)?;
                Ok(of_buffer(move |bytes| buffer(digest(bytes.array()))))
            },
        ),
        hashed(ALGORITHM, |arguments| {
            let digest = digester(arguments)?;
            Ok(Function::long_to_object(move |v, _| Ok(buffer(digest(&v.to_be_bytes())))))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_BYTE_BUFFER: FunctionRow = FunctionRow {
    name: "ToByteBuffer",
    category: Category::Bytes,
    doc: "the bytes of a number, highest first, or of a text in UTF-8; with a size, those of a long again and again",
    examples: &[
        Example("ToByteBuffer(); ToHexString()", 258, "0000000000000102"),
        Example("ToByteBuffer(10); ToHexString()", 258, "00000000000001020000"),
        Example("FixedValue('é'); ToByteBuffer(); ToHexString()", 0, "c3a9"),
    ],
    overloads: &[
        Overload::new("conversions.from_charbuffer", Type::CharBuffer, Type::ByteBuffer, NOTHING, |_| {
            Ok(of_value(|value| match value {
                Value::Chars { .. } => Ok(buffer(value.as_text().unwrap_or_default())),
                other => Err(EvalError::wrong_class(other, "CharBuffer")),
            }))
        }),
        Overload::new("conversions.from_double", Type::Double, Type::ByteBuffer, NOTHING, |_| {
            Ok(Function::double_to_object(|v, _| Ok(buffer(v.to_be_bytes()))))
        }),
        Overload::new("conversions.from_float", Type::BoxedFloat, Type::ByteBuffer, NOTHING, |_| {
            Ok(of_value(|value| match value {
                Value::Float(v) => Ok(buffer(v.to_be_bytes())),
                other => Err(EvalError::wrong_class(other, "Float")),
            }))
        }),
        Overload::new("conversions.from_int", Type::Int, Type::ByteBuffer, NOTHING, |_| {
            Ok(Function::int_to_object(|v, _| Ok(buffer(v.to_be_bytes()))))
        }),
        Overload::new(
            "conversions.from_long",
            Type::Long,
            Type::ByteBuffer,
            &[Constructor::of(&[]), Constructor::of(&[Type::Int])],
            |arguments| {
                let size = if arguments.count() == 0 { LONG as i32 } else { arguments.int(0)? };
                Ok(Function::long_to_object(move |v, _| repeated(v, size)))
            },
        ),
        Overload::new("conversions.from_short", Type::BoxedShort, Type::ByteBuffer, NOTHING, |_| {
            Ok(of_value(|value| match value {
                Value::Short(v) => Ok(buffer(v.to_be_bytes())),
                other => Err(EvalError::wrong_class(other, "Short")),
            }))
        }),
        Overload::new("conversions.from_string", Type::String, Type::ByteBuffer, NOTHING, |_| {
            Ok(of_value(|value| match value {
                Value::Text(text) => Ok(buffer(text.as_bytes())),
                other => Err(EvalError::wrong_class(other, "String")),
            }))
        }),
    ],
    ..FunctionRow::NEW
};

/// `size` bytes of the bytes of `v` again and again, in an array of whole longs.
fn repeated(v: i64, size: i32) -> Eval<Value> {
    let limit = checked_size(size)?;
    let longs = limit.div_ceil(LONG);
    Ok(Value::Bytes(ByteBuffer::limited(v.to_be_bytes().repeat(longs), limit)))
}

static TO_CHAR_BUFFER: FunctionRow = FunctionRow {
    name: "ToCharBuffer",
    category: Category::Conversion,
    doc: "a text as Java's CharBuffer, which functions may take or give",
    examples: &[Example("NumberNameToString(); ToCharBuffer()", 1, "one")],
    overloads: &[Overload::new("conversions.from_string", Type::String, Type::CharBuffer, NOTHING, |_| {
        Ok(of_value(|value| match value {
            Value::Text(text) => Ok(Value::Chars { image: text.as_str().into(), start: 0, end: text.len() }),
            other => Err(EvalError::wrong_class(other, "String")),
        }))
    })],
    ..FunctionRow::NEW
};

fn hexadecimal(bytes: &[u8], lower: bool) -> Value {
    let digits: &[u8; 16] = if lower { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
    let digit = |nibble: u8| digits[usize::from(nibble & 15)];
    text_value(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect())
}

static TO_HEX_STRING: FunctionRow = FunctionRow {
    name: "ToHexString",
    category: Category::Conversion,
    doc: "hexadecimal digits: of a buffer's bytes, or of a long without leading zeros",
    notes: "lower case, but `ToHexString(false)` of a buffer is upper case",
    examples: &[
        Example("ToHexString()", 255, "ff"),
        Example("ToHexString()", -1, "ffffffffffffffff"),
        Example("HashedToByteBuffer(2); ToHexString(false)", 1, "5752"),
    ],
    overloads: &[
        Overload::new(
            "conversions.from_bytebuffer",
            Type::ByteBuffer,
            Type::String,
            &[Constructor::of(&[]), Constructor::of(&[Type::Boolean])],
            |arguments| {
                let lower = !matches!(arguments.get(0), Some(Argument::Bool(false)));
                Ok(of_buffer(move |bytes| hexadecimal(bytes, lower)))
            },
        ),
        Overload::new("conversions.from_long", Type::Long, Type::String, NOTHING, |_| {
            Ok(Function::long_to_text(|v, _, out| {
                out.extend_from_slice(format!("{v:x}").as_bytes());
                Ok(())
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static BYTE_BUFFER_TO_HEX: FunctionRow = FunctionRow {
    name: "ByteBufferToHex",
    category: Category::Conversion,
    doc: "the hexadecimal digits of a buffer's bytes, in lower case",
    examples: &[Example("HashedToByteBuffer(4); ByteBufferToHex()", 1, "5752fae6")],
    overloads: &[Overload::new(
        "conversions.from_bytebuffer",
        Type::ByteBuffer,
        Type::String,
        NOTHING,
        |_| Ok(of_buffer(|bytes| hexadecimal(bytes, true))),
    )],
    ..FunctionRow::NEW
};

static TO_BASE64_STRING: FunctionRow = FunctionRow {
    name: "ToBase64String",
    category: Category::Conversion,
    doc: "base64 of a long's eight bytes, of a UUID's sixteen, or of a text in UTF-8",
    examples: &[
        Example("ToBase64String()", 1, "AAAAAAAAAAE="),
        Example("ToUUID(); ToBase64String()", 1, "ASNFZ4mrTe+AAAAAAAAAAQ=="),
        Example("FixedValue('abc'); ToBase64String()", 1, "YWJj"),
    ],
    overloads: &[
        Overload::new("from_long.to_string", Type::Long, Type::String, NOTHING, |_| {
            Ok(Function::long_to_text(|v, _, out| {
                out.extend_from_slice(STANDARD.encode(v.to_be_bytes()).as_bytes());
                Ok(())
            }))
        }),
        Overload::new("from_uuid", Type::Uuid, Type::String, NOTHING, |_| {
            Ok(of_value(|value| match value {
                Value::Uuid { high, low } => {
                    let bytes = [high.to_be_bytes(), low.to_be_bytes()].concat();
                    Ok(Value::Text(STANDARD.encode(bytes)))
                }
                other => Err(EvalError::wrong_class(other, "UUID")),
            }))
        }),
        Overload::new("unary_string", Type::String, Type::String, NOTHING, |_| {
            Ok(text_to_text(|text, out| {
                out.extend_from_slice(STANDARD.encode(text).as_bytes());
                Ok(())
            }))
        }),
    ],
    ..FunctionRow::NEW
};

static TO_BASE64: FunctionRow = FunctionRow {
    name: "ToBase64",
    category: Category::Conversion,
    doc: "base64 of a buffer's bytes",
    examples: &[Example("ByteBufferSizedHashed(7); ToBase64()", 1, "V1L65p0WUw==")],
    overloads: &[Overload::new("from_bytebuffer.to_string", Type::ByteBuffer, Type::String, NOTHING, |_| {
        Ok(of_buffer(|bytes| Value::Text(STANDARD.encode(&**bytes))))
    })],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standards() {
        for (name, expected) in [
            ("MD2", "da853b0d3f88d99b30283a69e6ded6bb"),
            ("MD5", "900150983cd24fb0d6963f7d28e17f72"),
            ("SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("SHA-224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
            ("SHA-512/256", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
            ("SHA3-256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        ] {
            let arguments = [Argument::Text(name.to_lowercase())];
            let digest = digester(&Arguments(&arguments)).expect(name);
            assert_eq!(hexadecimal(&digest(b"abc"), true), Value::Text(expected.to_owned()), "{name}");
        }
        assert!(digester(&Arguments(&[Argument::Text("SHA-257".to_owned())])).is_err());
    }

    #[test]
    fn buffers_have_the_capacity_of_whole_longs() {
        for (size, capacity) in [(0, 8), (7, 8), (8, 16), (10, 16)] {
            let bytes = hashes(1, size).expect("a buffer");
            assert_eq!((bytes.len(), bytes.array().len()), (size as usize, capacity));
        }
        for size in [-1, i32::MIN, i32::MAX] {
            assert!(hashes(1, size).is_err() && repeated(1, size).is_err(), "{size}");
        }
    }
}
