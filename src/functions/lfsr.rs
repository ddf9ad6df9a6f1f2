//! Shuffling without memory: a linear feedback shift register runs through all numbers below a power of two,
//! each once, and those outside the wanted range are skipped.

use super::arithmetic::remainder;
use super::{Arguments, Category, Constructor, Example, Function, FunctionRow, Overload, Refusal, Type};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&SHUFFLE];

static SHUFFLE: FunctionRow = FunctionRow {
    name: "Shuffle",
    category: Category::Hash,
    doc: "the numbers of a range, each once, in an order that looks random",
    notes: "`Shuffle(min,max)` yields numbers from min + 1 to max, as NoSQLBench does; a third argument chooses another \
            order. Consecutive inputs, as many as the range has numbers, yield each once",
    examples: &[
        Example("Shuffle(0,10)", 0, "6"),
        Example("Shuffle(0,1000000)", 0, "603618"),
        Example("Shuffle(11,99,3)", 0, "83"),
    ],
    overloads: &[Overload::new(
        "from_long.to_long",
        Type::Long,
        Type::Long,
        &[Constructor::of(&[Type::Long, Type::Long]), Constructor::of(&[Type::Long, Type::Long, Type::Int])],
        shuffle,
    )],
    ..FunctionRow::NEW
};

fn shuffle(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let (min, max) = (arguments.long(0)?, arguments.long(1)?);
    let order = if arguments.count() == 3 { arguments.int(2)? } else { i32::MAX };
    let size = max.checked_sub(min).filter(|size| *size >= 0).ok_or_else(|| {
        Refusal::new(format!("from {min} to {max} is no range below 2^63 numbers"))
            .help("write the lower bound first")
    })?;
    let order = usize::try_from(order)
        .map_err(|_| Refusal::new(format!("the order must not be negative, but is {order}")).at(2))?;
    let width = (u64::BITS - size.leading_zeros()).max(LEAST_WIDTH);
    let feedback = mask(width, order % masks_of(width)) as i64;
    Ok(Function::long_to_long(move |v, _| {
        let mut register = remainder(v, size)?.wrapping_add(1);
        loop {
            let out = register & 1;
            register = (register >> 1) ^ (out.wrapping_neg() & feedback);
            if register <= size {
                return Ok(register.wrapping_add(min));
            }
        }
    }))
}

const LEAST_WIDTH: u32 = 4;

/// The different primes of 2^w − 1, for w from 4 to 63.
#[rustfmt::skip]
static PRIMES: [&[u64]; 60] = [
    &[3, 5],
    &[31],
    &[3, 7],
    &[127],
    &[3, 5, 17],
    &[7, 73],
    &[3, 11, 31],
    &[23, 89],
    &[3, 5, 7, 13],
    &[8191],
    &[3, 43, 127],
    &[7, 31, 151],
    &[3, 5, 17, 257],
    &[131_071],
    &[3, 7, 19, 73],
    &[524_287],
    &[3, 5, 11, 31, 41],
    &[7, 127, 337],
    &[3, 23, 89, 683],
    &[47, 178_481],
    &[3, 5, 7, 13, 17, 241],
    &[31, 601, 1801],
    &[3, 2731, 8191],
    &[7, 73, 262_657],
    &[3, 5, 29, 43, 113, 127],
    &[233, 1103, 2089],
    &[3, 7, 11, 31, 151, 331],
    &[2_147_483_647],
    &[3, 5, 17, 257, 65_537],
    &[7, 23, 89, 599_479],
    &[3, 43_691, 131_071],
    &[31, 71, 127, 122_921],
    &[3, 5, 7, 13, 19, 37, 73, 109],
    &[223, 616_318_177],
    &[3, 174_763, 524_287],
    &[7, 79, 8191, 121_369],
    &[3, 5, 11, 17, 31, 41, 61_681],
    &[13_367, 164_511_353],
    &[3, 7, 43, 127, 337, 5419],
    &[431, 9719, 2_099_863],
    &[3, 5, 23, 89, 397, 683, 2113],
    &[7, 31, 73, 151, 631, 23_311],
    &[3, 47, 178_481, 2_796_203],
    &[2351, 4513, 13_264_529],
    &[3, 5, 7, 13, 17, 97, 241, 257, 673],
    &[127, 4_432_676_798_593],
    &[3, 11, 31, 251, 601, 1801, 4051],
    &[7, 103, 2143, 11_119, 131_071],
    &[3, 5, 53, 157, 1613, 2731, 8191],
    &[6361, 69_431, 20_394_401],
    &[3, 7, 19, 73, 87_211, 262_657],
    &[23, 31, 89, 881, 3191, 201_961],
    &[3, 5, 17, 29, 43, 113, 127, 15_790_321],
    &[7, 32_377, 524_287, 1_212_847],
    &[3, 59, 233, 1103, 2089, 3_033_169],
    &[179_951, 3_203_431_780_337],
    &[3, 5, 7, 11, 13, 31, 41, 61, 151, 331, 1321],
    &[2_305_843_009_213_693_951],
    &[3, 715_827_883, 2_147_483_647],
    &[7, 73, 127, 337, 92_737, 649_657],
];

fn primes(width: u32) -> &'static [u64] {
    PRIMES.get((width - LEAST_WIDTH) as usize).copied().unwrap_or_default()
}

/// How many masks of a width the reference has: all there are of few, else the first ten thousand, and of
/// those wider than 32 bits the first hundred.
fn masks_of(width: u32) -> usize {
    if width > 32 {
        return 100;
    }
    // Euler's totient of 2^w − 1, over w.
    let totient =
        primes(width).iter().fold((1u64 << width) - 1, |totient, prime| totient / prime * (prime - 1));
    (totient / u64::from(width)).min(10_000) as usize
}

/// The feedback mask number `position` of those that run through all states, in ascending order.
///
/// They are the primitive polynomials of the width's degree, without their constant term.
fn mask(width: u32, position: usize) -> u64 {
    static FOUND: Mutex<BTreeMap<(u32, usize), u64>> = Mutex::new(BTreeMap::new());
    let key = (width, position);
    if let Some(mask) = FOUND.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return *mask;
    }
    let first = 1u64 << (width - 1);
    let found = (first..=first | (first - 1))
        // Polynomials with an even number of terms are multiples of x + 1.
        .filter(|mask| mask.count_ones() % 2 == 0 && is_primitive(*mask, width))
        .nth(position)
        .unwrap_or(first);
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(key, found);
    found
}

/// Whether x has the order 2^w − 1 modulo the polynomial of a mask.
fn is_primitive(mask: u64, width: u32) -> bool {
    let polynomial = u128::from(mask) << 1 | 1;
    let order = (1u64 << width) - 1;
    power_of_x(order, polynomial, width) == 1
        && primes(width).iter().all(|prime| power_of_x(order / prime, polynomial, width) != 1)
}

/// x^exponent modulo a polynomial over two elements.
fn power_of_x(exponent: u64, polynomial: u128, width: u32) -> u64 {
    let mut power = 1u64;
    for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
        let mut square = spread(power);
        if exponent >> bit & 1 == 1 {
            square <<= 1;
        }
        for high in (width..2 * width).rev() {
            if square >> high & 1 == 1 {
                square ^= polynomial << (high - width);
            }
        }
        power = square as u64;
    }
    power
}

/// The square of a polynomial over two elements: zeros between all bits.
fn spread(bits: u64) -> u128 {
    let mut wide = u128::from(bits);
    for (shift, mask) in [
        (32, 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff),
        (16, 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333_3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555_5555_5555_5555_5555u128),
    ] {
        wide = (wide | wide << shift) & mask;
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_those_that_run_through_all_states() {
        for width in 4..=9 {
            let period = |mask: u64| {
                let step = |register: u64| register >> 1 ^ if register & 1 == 1 { mask } else { 0 };
                1 + std::iter::successors(Some(step(1)), |register| Some(step(*register)))
                    .take(1 << width)
                    .take_while(|register| *register != 1)
                    .count()
            };
            let all: Vec<u64> =
                (1u64 << (width - 1)..1 << width).filter(|mask| period(*mask) == (1 << width) - 1).collect();
            assert_eq!(all.len(), masks_of(width), "{width}");
            let found: Vec<u64> = (0..all.len()).map(|position| mask(width, position)).collect();
            assert_eq!(found, all, "{width}");
        }
    }

    #[test]
    fn first_masks_of_wide_registers_are_known() {
        for (width, first) in [(19, 0x40013), (32, 0x8000_0057), (33, 0x1_0000_0029)] {
            assert_eq!(mask(width, 0), first);
        }
    }

    #[test]
    fn primes_are_those_of_the_number() {
        for width in LEAST_WIDTH..64 {
            let mut rest = (1u64 << width) - 1;
            for prime in primes(width) {
                assert_eq!(rest % prime, 0, "{width}: {prime}");
                while rest.is_multiple_of(*prime) {
                    rest /= prime;
                }
            }
            assert_eq!(rest, 1, "{width}");
        }
    }
}
