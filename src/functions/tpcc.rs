//! What TPC-C draws: non-uniform numbers, and last names made of syllables.

use super::{Category, Constructor, Example, Function, FunctionRow, Overload, Refusal, Type, hash};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&NU_RAND, &LAST_NAME];

static NU_RAND: FunctionRow = FunctionRow {
    name: "TpccNURand",
    category: Category::Distribution,
    doc: "numbers between two bounds, both included, some of which come often: NURand of TPC-C, clause 2.1.6",
    notes: "`TpccNURand(A, x, y, C)` is ((random(0,A) | random(x,y)) + C) % (y − x + 1) + x. A is 255 for last names, \
            1023 for customers, 8191 for items; C, chosen once, is from 0 to A: for last names those of load and run \
            must differ by 65 to 119, but not by 96 or 112. The draws are hashes of the input",
    ours: true,
    examples: &[
        Example("TpccNURand(1023,1,3000,7)", 0, "2007"),
        Example("TpccNURand(255,0,999,123); TpccLastName()", 0, "OUGHTOUGHTPRES"),
    ],
    overloads: &[Overload::new(
        "from_long.to_long",
        Type::Long,
        Type::Long,
        &[Constructor::of(&[Type::Long, Type::Long, Type::Long, Type::Long])],
        |arguments| {
            let (a, x, y, c) =
                (arguments.long(0)?, arguments.long(1)?, arguments.long(2)?, arguments.long(3)?);
            if !(0..i64::MAX).contains(&a) {
                return Err(Refusal::new(format!("A must be from 0 to below 2^63 − 1, not {a}")).at(0));
            }
            if x < 0 || y < x || y == i64::MAX {
                return Err(Refusal::new(format!("from {x} to {y} is no range of numbers from 0 up"))
                    .at(1)
                    .help("write A, the lower bound, the upper bound, and C"));
            }
            if !(0..=a).contains(&c) {
                return Err(Refusal::new(format!("C must be from 0 to A, which is {a}, not {c}")).at(3));
            }
            let size = y - x + 1;
            Ok(Function::long_to_long(move |v, _| {
                let first = hash::long(v);
                let second = hash::long(first);
                // Below 2^64: both are below 2^63.
                let drawn = ((first % (a + 1)) | (x + second % size)) as u64 + c as u64;
                Ok((drawn % size as u64) as i64 + x)
            }))
        },
    )],
    ..FunctionRow::NEW
};

static LAST_NAME: FunctionRow = FunctionRow {
    name: "TpccLastName",
    category: Category::Text,
    doc: "the last name of a number from 0 to 999, of three syllables: TPC-C, clause 4.3.2.3",
    notes: "of other numbers the last three digits are taken",
    ours: true,
    examples: &[Example("TpccLastName()", 371, "PRICALLYOUGHT"), Example("TpccLastName()", 40, "BARPRESBAR")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[])],
        |_| {
            Ok(Function::long_to_text(|v, _, out| {
                const SYLLABLES: [&str; 10] =
                    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
                let number = v.rem_euclid(1000) as usize;
                for digit in [number / 100, number / 10 % 10, number % 10] {
                    out.extend_from_slice(SYLLABLES[digit].as_bytes());
                }
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Argument, Arguments, Context};

    #[test]
    fn numbers_are_within_and_as_skewed_as_the_formula_makes_them() {
        // For A = 1023 and 1 to 3000, all but the two draws known: probabilities by counting both.
        let (a, x, y, c) = (15i64, 1i64, 30i64, 7i64);
        let size = y - x + 1;
        let mut expected = vec![0.0; size as usize];
        for first in 0..=a {
            for second in x..=y {
                let number = ((first | second) + c) % size;
                expected[number as usize] += 1.0 / ((a + 1) * size) as f64;
            }
        }
        let arguments = [a, x, y, c].map(Argument::Long);
        let Ok(Function::LongToLong(draw)) = (NU_RAND.overloads[0].build)(&Arguments(&arguments)) else {
            panic!("it draws numbers")
        };
        const DRAWS: i64 = 100_000;
        let mut counts = vec![0.0; size as usize];
        for cycle in 0..DRAWS {
            let number = draw(cycle, &mut Context::default()).expect("it draws");
            counts[(number - x) as usize] += 1.0;
        }
        for (number, (count, share)) in counts.iter().zip(&expected).enumerate() {
            let error = (share * (1.0 - share) / DRAWS as f64).sqrt();
            assert!(
                (count / DRAWS as f64 - share).abs() < 4.0 * error + 1e-9,
                "{number}: {count}, not {share}"
            );
        }
    }
}
