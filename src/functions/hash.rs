//! The hash that all random-looking functions stand on: MurmurHash3 (x64, 128 bits, seed 0) of the eight
//! big-endian bytes of a number, its low half. Algorithm: Austin Appleby's public-domain MurmurHash3.

use super::{Category, Example, Function, FunctionRow, Overload, forms};

/// The hash with its sign.
#[inline]
pub fn signed(value: i64) -> i64 {
    // Eight bytes are less than a block: only the tail and the final mix are left of the algorithm.
    let k1 = (value as u64)
        .swap_bytes()
        .wrapping_mul(0x87c3_7b91_1142_53d5)
        .rotate_left(31)
        .wrapping_mul(0x4cf5_ad43_2745_937f);
    let h1 = k1 ^ 8;
    let h2 = 8u64;
    let h1 = h1.wrapping_add(h2);
    let h2 = h2.wrapping_add(h1);
    mix(h1).wrapping_add(mix(h2)) as i64
}

#[inline]
fn mix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

/// The hash as a number from 0 up (but for the one in 2^64 that has no positive counterpart).
#[inline]
pub fn long(value: i64) -> i64 {
    signed(value).wrapping_abs()
}

/// The low 31 bits of the hash of a long.
#[inline]
pub fn int(value: i64) -> i32 {
    low_bits(long(value))
}

#[inline]
fn low_bits(hash: i64) -> i32 {
    (hash & i64::from(i32::MAX)) as i32
}

/// The hash of an int: of its four bytes, twice.
#[inline]
pub fn of_int(value: i32) -> i32 {
    int(twice(value))
}

/// The four bytes of an int, twice.
#[inline]
fn twice(value: i32) -> i64 {
    let bits = u64::from(value as u32);
    (bits << 32 | bits) as i64
}

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&HASH, &SIGNED_HASH, &FULL_HASH];

static HASH: FunctionRow = FunctionRow {
    name: "Hash",
    category: Category::Hash,
    doc: "a random-looking number from 0 up, the same for the same input",
    examples: &[
        Example("Hash()", 0, "2945182322382062539"),
        Example("Hash() -> int", 0, "1280820171"),
        Example("ToInt(); Hash()", 1, "1476114732"),
    ],
    overloads: &[
        Overload::long_to_int(forms::NONE, |_| Ok(Function::long_to_int(|v, _| Ok(int(v))))),
        Overload::long_to_long(forms::NONE, |_| Ok(Function::long_to_long(|v, _| Ok(long(v))))),
        Overload::int_to_int(forms::NONE, |_| Ok(Function::int_to_int(|v, _| Ok(of_int(v))))),
    ],
    ..FunctionRow::NEW
};

static SIGNED_HASH: FunctionRow = FunctionRow {
    name: "SignedHash",
    category: Category::Hash,
    doc: "a random-looking number of either sign, the same for the same input",
    notes: "the forms that give int drop the sign",
    examples: &[
        Example("SignedHash()", 2, "-8218881827949364593"),
        Example("SignedHash() -> int", 1, "488002522"),
    ],
    overloads: &[
        Overload::long_to_int(forms::NONE, |_| Ok(Function::long_to_int(|v, _| Ok(low_bits(signed(v)))))),
        Overload::long_to_long(forms::NONE, |_| Ok(Function::long_to_long(|v, _| Ok(signed(v))))),
        Overload::int_to_int(forms::NONE, |_| {
            Ok(Function::int_to_int(|v, _| Ok(low_bits(signed(twice(v))))))
        }),
    ],
    ..FunctionRow::NEW
};

static FULL_HASH: FunctionRow = FunctionRow {
    name: "FullHash",
    category: Category::Hash,
    doc: "as SignedHash, from long to long only",
    examples: &[Example("FullHash()", 2, "-8218881827949364593")],
    overloads: &[Overload::long_to_long(forms::NONE, |_| Ok(Function::long_to_long(|v, _| Ok(signed(v)))))],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        for (value, expected) in [
            (0, 2945182322382062539),
            (1, 6292367497774912474),
            (2, 8218881827949364593),
            (5, 4464361019114304900),
            (-1, 6853156495446839949),
            (i64::MAX, 9146070906113848730),
            (i64::MIN, 1838927571072900970),
        ] {
            assert_eq!(long(value), expected);
        }
        assert!(signed(2) < 0);
        assert_eq!((int(0), of_int(1), of_int(2)), (1280820171, 1476114732, 1829715121));
    }
}
