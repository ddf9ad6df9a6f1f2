//! What YCSB 0.18 draws: key names, key choosers with its constants, and values of fields.
//!
//! YCSB draws from a random source; here each draw is a hash of the cycle, so that a cycle always chooses the
//! same key. Distributions are the same.

use super::curves::Harmonics;
use super::{
    Arguments, Category, Constructor, EvalError, Example, Function, FunctionRow, Overload, Refusal, Type,
    hash,
};
use crate::value::{self, Value};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &KEY,
    &ZERO_PADDED,
    &UNIFORM,
    &SEQUENTIAL,
    &ZIPFIAN,
    &SCRAMBLED_ZIPFIAN,
    &LATEST,
    &HOTSPOT,
    &EXPONENTIAL,
    &FIELD,
    &FIELD_TEXT,
];

const CYCLE_DRAWN: &str = "the draw is a hash of the input: YCSB's comes from a random source";

/// A hash as a number from 0 to below 1, with the 53 bits of a double.
pub(super) fn fraction(hash: i64) -> f64 {
    (hash.unsigned_abs() >> 10) as f64 / (1u64 << 53) as f64
}

/// 64-bit FNV-1a over the eight bytes, the lowest first, without its sign.
pub(super) fn fnv(value: i64) -> i64 {
    let hash = value.to_le_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash as i64).wrapping_abs()
}

/// Appends a number that is not negative, with zeros before it up to `width`.
fn write_padded(number: i64, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    value::write_long(number, out);
    let missing = width.saturating_sub(out.len() - start);
    out.splice(start..start, std::iter::repeat_n(b'0', missing));
}

/// The argument `position`, which must be at least `least`.
pub(super) fn at_least(
    arguments: &Arguments<'_>,
    position: usize,
    what: &str,
    least: i64,
) -> Result<i64, Refusal> {
    let value = arguments.long(position)?;
    if value >= least {
        Ok(value)
    } else {
        Err(Refusal::new(format!("the {what} must be at least {least}, not {value}")).at(position))
    }
}

/// The argument `position`, a width in characters; `default` where it is left out.
fn width(arguments: &Arguments<'_>, position: usize, default: usize) -> Result<usize, Refusal> {
    const MOST: i64 = 1000;
    if arguments.count() <= position {
        return Ok(default);
    }
    let width = at_least(arguments, position, "width", 1)?;
    usize::try_from(width)
        .ok()
        .filter(|_| width <= MOST)
        .ok_or_else(|| Refusal::new(format!("a width of {width} digits is more than {MOST}")).at(position))
}

/// What appends the key of a record, by the arguments (insertorder, zeropadding) from `at` on, if they are given.
pub(super) fn key_writer(
    arguments: &Arguments<'_>,
    at: usize,
) -> Result<impl Fn(i64, &mut Vec<u8>) + Send + Sync + use<>, Refusal> {
    let hashed = match arguments.get(at) {
        None => true,
        Some(_) => match arguments.text(at)? {
            "hashed" => true,
            "ordered" => false,
            other => {
                return Err(Refusal::new(format!("'{other}' is no insert order"))
                    .at(at)
                    .help("known are 'hashed' and 'ordered'"));
            }
        },
    };
    let width = width(arguments, at + 1, 1)?;
    Ok(move |record: i64, out: &mut Vec<u8>| {
        out.extend_from_slice(b"user");
        write_padded(if hashed { fnv(record) } else { record }, width, out);
    })
}

static KEY: FunctionRow = FunctionRow {
    name: "YcsbKey",
    category: Category::Text,
    doc: "the name that YCSB gives the record of this number",
    notes: "`YcsbKey(order, zeropadding)`: 'hashed' (the default) or 'ordered', YCSB's insertorder, and the least number \
            of digits",
    ours: true,
    examples: &[
        Example("YcsbKey()", 0, "user6284781860667377211"),
        Example("YcsbKey('ordered',8)", 10, "user00000010"),
    ],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[
            Constructor::of(&[]),
            Constructor::of(&[Type::String]),
            Constructor::of(&[Type::String, Type::Int]),
        ],
        |arguments| {
            let write = key_writer(arguments, 0)?;
            Ok(Function::long_to_text(move |v, _, out| {
                write(v, out);
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

static ZERO_PADDED: FunctionRow = FunctionRow {
    name: "ZeroPadded",
    category: Category::Text,
    doc: "a number with zeros before it, so that texts sort as numbers do",
    notes: "`ZeroPadded(width)` or `ZeroPadded(prefix, width)`; a negative number, or one with more digits, is an error, \
            since it would sort elsewhere",
    ours: true,
    examples: &[Example("ZeroPadded(8)", 42, "00000042"), Example("ZeroPadded('user',4)", 7, "user0007")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::String, Type::Int])],
        |arguments| {
            let position = arguments.count() - 1;
            let prefix = if position == 1 { arguments.text(0)?.to_owned() } else { String::new() };
            let width = width(arguments, position, 1)?;
            Ok(Function::long_to_text(move |v, _, out| {
                out.extend_from_slice(prefix.as_bytes());
                let start = out.len();
                write_padded(v, width, out);
                if v < 0 || out.len() - start > width {
                    return Err(EvalError::boxed(
                        "IllegalArgumentException",
                        format!("{v} does not fit {width} digits"),
                    ));
                }
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// A chooser among as many items as the first argument says.
macro_rules! chooser {
    ($row:ident, $name:literal, $doc:literal, $notes:expr, $pure:literal, $constructors:expr, $examples:expr, $build:expr) => {
        static $row: FunctionRow = FunctionRow {
            name: $name,
            category: Category::Distribution,
            doc: $doc,
            notes: $notes,
            pure: $pure,
            // The only one that is not pure is so since it reads them.
            reads_acknowledged: !$pure,
            ours: true,
            examples: $examples,
            overloads: &[Overload::new("from_long.to_long", Type::Long, Type::Long, $constructors, $build)],
        };
    };
}

const ITEMS: &[Constructor] = &[Constructor::of(&[Type::Long])];
const ITEMS_AND_SKEW: &[Constructor] =
    &[Constructor::of(&[Type::Long]), Constructor::of(&[Type::Long, Type::Double])];

chooser!(
    UNIFORM,
    "YcsbUniform",
    "record numbers that are chosen alike, from 0 to below the number of records",
    CYCLE_DRAWN,
    true,
    ITEMS,
    &[Example("YcsbUniform(1000)", 0, "539")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        Ok(Draw::Uniform { first: 0, records: items }.over(items))
    }
);

chooser!(
    SEQUENTIAL,
    "YcsbSequential",
    "record numbers one after the other, from 0 to below the number of records, and again",
    "",
    true,
    ITEMS,
    &[Example("YcsbSequential(1000)", 1234, "234")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        Ok(Draw::Sequential { first: 0, records: items }.over(items))
    }
);

/// J. Gray and others, "Quickly generating billion-record synthetic databases" (1994), with what depends on the
/// number of items computed beforehand.
#[derive(Clone, Copy)]
pub(super) struct Zipfian {
    items: f64,
    zeta: f64,
    eta: f64,
    /// 1 + 2^−θ: below it, in units of a share of ζ, stand the first two items.
    first_two: f64,
    /// 1/(1 − θ).
    alpha: f64,
}

/// YCSB's constant.
pub(super) const THETA: f64 = 0.99;

impl Zipfian {
    fn new(items: i64, theta: f64, zeta: f64) -> Zipfian {
        let count = items as f64;
        let first_two = 1.0 + 0.5f64.powf(theta);
        let eta = (1.0 - (2.0 / count).powf(1.0 - theta)) / (1.0 - first_two / zeta);
        Zipfian { items: count, zeta, eta, first_two, alpha: 1.0 / (1.0 - theta) }
    }

    /// Over `items` items, as skewed as `sums`.
    pub(super) fn of(items: i64, sums: &Harmonics) -> Zipfian {
        Zipfian::new(items, sums.exponent(), sums.at(items))
    }

    /// Whether it is over as many items.
    fn covers(&self, items: i64) -> bool {
        self.items == items as f64
    }

    /// The item, the likeliest being 0, at `unit` from 0 to below 1.
    pub(super) fn at(&self, unit: f64) -> i64 {
        let uz = unit * self.zeta;
        if uz < 1.0 {
            0
        } else if uz < self.first_two {
            1
        } else {
            (self.items * (self.eta * unit - self.eta + 1.0).powf(self.alpha)) as i64
        }
    }
}

/// With YCSB's constants for the distribution that it scrambles: over ten thousand million items, whatever their
/// number.
pub(super) fn scrambled() -> Zipfian {
    const SCRAMBLED: i64 = 10_000_000_001;
    const ZETA: f64 = 26.46902820178302;
    Zipfian::new(SCRAMBLED, THETA, ZETA)
}

/// How a record is drawn, from a hash of the cycle (or from the cycle itself).
pub(super) enum Draw {
    Uniform { first: i64, records: i64 },
    Sequential { first: i64, records: i64 },
    Scrambled { zipfian: Zipfian, first: i64, items: i64 },
    Latest { sums: Harmonics, at_start: Zipfian },
    Hotspot { first: i64, hot: i64, cold: i64, share: f64 },
    Exponential { gamma: f64 },
}

impl Draw {
    /// The last of `loaded` records and those written since, by a zipfian distribution.
    pub(super) fn latest(loaded: i64, theta: f64) -> Draw {
        let sums = Harmonics::new(i64::MAX, theta);
        Draw::Latest { at_start: Zipfian::of((loaded - 1).max(1), &sums), sums }
    }

    /// That share of the draws is of the first `set` (a share, too) of the records.
    pub(super) fn hotspot(first: i64, records: i64, set: f64, share: f64) -> Draw {
        let hot = (records as f64 * set) as i64;
        Draw::Hotspot { first, hot, cold: records - hot, share }
    }

    /// That percentile of the draws is among the last `range` records.
    pub(super) fn exponential(percentile: f64, range: f64) -> Draw {
        Draw::Exponential { gamma: -(1.0 - percentile / 100.0).ln() / range }
    }

    /// A record number, for a draw `hash` of `cycle`, where the records go up to `last`; it may be none of them.
    fn at(&self, cycle: i64, hash: i64, last: i64) -> i64 {
        match self {
            Draw::Uniform { first, records } => first + hash % records,
            Draw::Sequential { first, records } => first + cycle.rem_euclid(*records),
            Draw::Scrambled { zipfian, first, items } => first + fnv(zipfian.at(fraction(hash))) % items,
            Draw::Latest { sums, at_start } => {
                // YCSB draws among as many items as the last number, so that the very first record is left out.
                let items = last.max(1);
                let zipfian = if at_start.covers(items) { *at_start } else { Zipfian::of(items, sums) };
                last - zipfian.at(fraction(hash))
            }
            Draw::Hotspot { first, hot, cold, share } => {
                let second = hash::long(hash);
                // Where there are no such records, the others are chosen.
                let is_hot = (fraction(hash) < *share || *cold == 0) && *hot > 0;
                first + if is_hot { second % hot } else { hot + second % cold }
            }
            Draw::Exponential { gamma } => last.saturating_sub((-fraction(hash).ln() / gamma) as i64),
        }
    }

    /// A record from 0 to `last`. As YCSB does, what is none is drawn again, here so many times at most.
    pub(super) fn within(&self, cycle: i64, last: i64, draws: usize) -> Option<i64> {
        let mut hash = hash::long(cycle);
        for _ in 0..draws {
            let record = self.at(cycle, hash, last);
            if (0..=last).contains(&record) {
                return Some(record);
            }
            hash = hash::long(hash);
        }
        None
    }

    /// The function of a draw that is always one of `items` records.
    fn over(self, items: i64) -> Function {
        Function::long_to_long(move |v, _| Ok(self.at(v, hash::long(v), items - 1)))
    }
}

/// The argument `position`, how skewed a zipfian chooser is; YCSB's constant where it is left out.
fn skew(arguments: &Arguments<'_>, position: usize) -> Result<f64, Refusal> {
    if arguments.count() <= position {
        return Ok(THETA);
    }
    let theta = arguments.double(position)?;
    if theta > 0.0 && theta < 1.0 {
        Ok(theta)
    } else {
        Err(Refusal::new(format!("the skew must be above 0 and below 1, not {theta}"))
            .at(position)
            .help("YCSB's is 0.99d; for an exponent of 1 or more use `Zipf`"))
    }
}

chooser!(
    ZIPFIAN,
    "YcsbZipfian",
    "record numbers of which the first are chosen most, by a zipfian distribution",
    "`YcsbZipfian(records, skew)`: the skew is 0.99 unless given. The draw is a hash of the input: YCSB's comes from a \
     random source",
    true,
    ITEMS_AND_SKEW,
    &[Example("YcsbZipfian(1000)", 0, "5"), Example("YcsbZipfian(1000,0.5d)", 0, "109")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        let zipfian = Zipfian::of(items, &Harmonics::new(items, skew(arguments, 1)?));
        Ok(Function::long_to_long(move |v, _| Ok(zipfian.at(fraction(hash::long(v))).min(items - 1))))
    }
);

chooser!(
    SCRAMBLED_ZIPFIAN,
    "YcsbScrambledZipfian",
    "record numbers by a zipfian distribution whose most chosen records are spread over all: YCSB's `zipfian`",
    CYCLE_DRAWN,
    true,
    ITEMS,
    &[Example("YcsbScrambledZipfian(1000)", 0, "581")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        Ok(Draw::Scrambled { zipfian: scrambled(), first: 0, items }.over(items))
    }
);

chooser!(
    LATEST,
    "YcsbLatest",
    "record numbers of which the last are chosen most: those loaded, and those that this run has inserted",
    "`YcsbLatest(loaded, skew)`: to the number of records loaded before the run come the cycles acknowledged in it, so \
     that only what was written is read; the skew is 0.99 unless given. The draw is a hash of the input: YCSB's comes \
     from a random source",
    false,
    ITEMS_AND_SKEW,
    &[Example("YcsbLatest(1000)", 0, "994")],
    |arguments| {
        let loaded = at_least(arguments, 0, "number of records loaded", 0)?;
        let draw = Draw::latest(loaded, skew(arguments, 1)?);
        Ok(Function::long_to_long(move |v, cx| {
            let written = cx.acknowledged.load(std::sync::atomic::Ordering::Acquire);
            let last = loaded.saturating_add(i64::try_from(written).unwrap_or(i64::MAX)) - 1;
            if last < 0 {
                return Err(EvalError::boxed("IllegalStateException", "no record has been written yet"));
            }
            Ok(draw.at(v, hash::long(v), last).max(0))
        }))
    }
);

chooser!(
    HOTSPOT,
    "YcsbHotspot",
    "record numbers of which a share of the first is chosen in a share of the draws, all alike within",
    "`YcsbHotspot(records, share of records, share of draws)`: 0.2 and 0.8 unless given. The draw is a hash of the \
     input: YCSB's comes from a random source",
    true,
    &[Constructor::of(&[Type::Long]), Constructor::of(&[Type::Long, Type::Double, Type::Double])],
    &[Example("YcsbHotspot(1000)", 0, "62")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        let share = |position: usize, default: f64| {
            if arguments.count() <= position {
                return Ok(default);
            }
            let share = arguments.double(position)?;
            if (0.0..=1.0).contains(&share) {
                Ok(share)
            } else {
                Err(Refusal::new(format!("a share must be from 0 to 1, not {share}")).at(position))
            }
        };
        let (set, draws) = (share(1, 0.2)?, share(2, 0.8)?);
        Ok(Draw::hotspot(0, items, set, draws).over(items))
    }
);

chooser!(
    EXPONENTIAL,
    "YcsbExponential",
    "record numbers of which the last are chosen most, by an exponential distribution",
    "`YcsbExponential(records, percentile, share)`: that percentile of the draws is among that share of the last \
     records; 95 and 0.8571428571 unless given. The draw is a hash of the input: YCSB's comes from a random source",
    true,
    &[Constructor::of(&[Type::Long]), Constructor::of(&[Type::Long, Type::Double, Type::Double])],
    &[Example("YcsbExponential(1000)", 0, "673")],
    |arguments| {
        let items = at_least(arguments, 0, "number of records", 1)?;
        let (percentile, share) = if arguments.count() == 1 {
            (95.0, 0.8571428571)
        } else {
            (arguments.double(1)?, arguments.double(2)?)
        };
        if !(percentile > 0.0 && percentile < 100.0) {
            return Err(Refusal::new(format!(
                "the percentile must be above 0 and below 100, not {percentile}"
            ))
            .at(1));
        }
        if !(share > 0.0 && share <= 1.0) {
            return Err(Refusal::new(format!("the share must be above 0 and not above 1, not {share}")).at(2));
        }
        let draw = Draw::exponential(percentile, items as f64 * share);
        Ok(Function::long_to_long(move |v, _| Ok(draw.within(v, items - 1, 1000).unwrap_or(0))))
    }
);

/// The longest field.
pub(super) const MOST_BYTES: i64 = 16 * 1024 * 1024;

/// Appends the characters of a field: YCSB's, six to a draw of 32 bits, of which each takes some.
pub(super) fn write_field(seed: i64, length: usize, out: &mut Vec<u8>) {
    const MASKS: [u32; 6] = [31, 63, 95, 31, 63, 95];
    let end = out.len() + length;
    out.reserve(length);
    let mut draw = seed;
    while out.len() < end {
        draw = hash::long(draw);
        let bits = draw as u32;
        for (place, mask) in MASKS.iter().take(end - out.len()).enumerate() {
            out.push((bits >> (5 * place) & mask) as u8 + b' ');
        }
    }
}

/// The arguments (length) or (length, field).
fn field(arguments: &Arguments<'_>) -> Result<(usize, i64), Refusal> {
    let length = at_least(arguments, 0, "length", 0)?;
    let field = if arguments.count() > 1 { arguments.long(1)? } else { 0 };
    match usize::try_from(length) {
        Ok(bytes) if length <= MOST_BYTES => Ok((bytes, field)),
        _ => Err(Refusal::new(format!("a field of {length} bytes is larger than a document may be")).at(0)),
    }
}

/// Where the characters of a field come from: another place for each field.
pub(super) fn seed(v: i64, field: i64) -> i64 {
    hash::long(v) ^ hash::long(!field)
}

const FIELDS: &[Constructor] = &[Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Long])];

static FIELD: FunctionRow = FunctionRow {
    name: "YcsbField",
    category: Category::Text,
    doc: "the value of a field as YCSB writes it to MongoDB: binary, of printable characters",
    notes: "`YcsbField(length, field)`: bytes, and which of a record's fields it is, so that they differ (0 unless given)",
    ours: true,
    examples: &[Example("YcsbField(6)", 0, "java.nio.HeapByteBuffer[pos=0 lim=6 cap=6]")],
    overloads: &[Overload::new(
        "from_long.to_bytebuffer",
        Type::Long,
        Type::ByteBuffer,
        FIELDS,
        |arguments| {
            let (length, field) = field(arguments)?;
            Ok(Function::long_to_object(move |v, _| {
                let mut bytes = Vec::new();
                write_field(seed(v, field), length, &mut bytes);
                Ok(Value::Bytes(bytes.into()))
            }))
        },
    )],
    ..FunctionRow::NEW
};

static FIELD_TEXT: FunctionRow = FunctionRow {
    name: "YcsbFieldText",
    category: Category::Text,
    doc: "the value of a field as YCSB makes it, as a text",
    notes: "`YcsbFieldText(length, field)`: characters, and which of a record's fields it is, so that they differ (0 \
            unless given)",
    ours: true,
    examples: &[Example("YcsbFieldText(20)", 0, "2Q#<Yg55`+U36H==)~?C")],
    overloads: &[Overload::new("from_long.to_string", Type::Long, Type::String, FIELDS, |arguments| {
        let (length, field) = field(arguments)?;
        Ok(Function::long_to_text(move |v, _, out| {
            write_field(seed(v, field), length, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Argument, Context, Eval, Map};
    use std::collections::HashMap;
    use std::sync::atomic::Ordering;

    /// What YCSB's own classes gave.
    const MEASURED: &str = include_str!("../../tests/golden/ycsb.txt");

    fn chooser(row: &FunctionRow, arguments: &[Argument]) -> Map<i64, i64> {
        match (row.overloads[0].build)(&Arguments(arguments)) {
            Ok(Function::LongToLong(choose)) => choose,
            Ok(_) => panic!("{} is no chooser", row.name),
            Err(refusal) => panic!("{}: {refusal:?}", row.name),
        }
    }

    #[test]
    fn keys_are_named_as_ycsb_names_them() {
        let Ok(Function::LongToObject(key)) = (KEY.overloads[0].build)(&Arguments(&[])) else {
            panic!("a key is a text")
        };
        let mut known = 0;
        for line in MEASURED.lines() {
            let Some((number, name)) = line.split_once('\t').filter(|(_, name)| name.starts_with("user"))
            else {
                continue;
            };
            let number = number.parse().expect("a record number");
            let value = key.value(number, &mut Context::default());
            assert_eq!(value, Ok(Value::Text(name.to_owned())), "{number}");
            known += 1;
        }
        assert!(known > 20, "{known}");
    }

    #[test]
    fn shares_are_those_that_ycsb_gives() {
        const DRAWS: i64 = 400_000;
        const MEASURED_DRAWS: f64 = 4e6;
        let many = Argument::Int(100_000);
        let few = Argument::Int(1000);
        for (title, row, arguments) in [
            ("zipfian 0..999 theta 0.99", &ZIPFIAN, vec![few.clone()]),
            ("zipfian 0..99999 theta 0.99", &ZIPFIAN, vec![many.clone()]),
            ("scrambled zipfian 0..999", &SCRAMBLED_ZIPFIAN, vec![few.clone()]),
            ("scrambled zipfian 0..99999", &SCRAMBLED_ZIPFIAN, vec![many]),
            (
                "hotspot 0..999 hotset 0.2 hotop 0.8",
                &HOTSPOT,
                vec![few.clone(), Argument::Double(0.2), Argument::Double(0.8)],
            ),
            ("latest over 1000 acknowledged", &LATEST, vec![few]),
        ] {
            let line = MEASURED.lines().find(|line| line.starts_with(title)).expect(title);
            let shares = line.rsplit('\t').next().expect("a line has fields");
            let choose = chooser(row, &arguments);
            let mut context = Context::default();
            let mut counts: HashMap<i64, f64> = HashMap::new();
            for cycle in 0..DRAWS {
                *counts.entry(choose(cycle, &mut context).expect("it is chosen")).or_default() += 1.0;
            }
            for pair in shares.split_whitespace() {
                let (item, share) = pair.split_once(':').expect("item:share");
                let (item, share): (i64, f64) =
                    (item.parse().expect("a number"), share.parse().expect("a share"));
                // The most drawn of equals are above their true share: there only the true one is known.
                let share = if row.name == HOTSPOT.name { 0.8 / 200.0 } else { share };
                let found = counts.get(&item).copied().unwrap_or_default() / DRAWS as f64;
                let error = (share * (1.0 - share) * (1.0 / DRAWS as f64 + 1.0 / MEASURED_DRAWS)).sqrt();
                assert!((found - share).abs() < 3.0 * error + 5e-6, "{title}, {item}: {found}, not {share}");
            }
        }
    }

    #[test]
    fn zeta_sums_are_those_that_ycsb_computes() {
        let mut known = 0;
        let lines = MEASURED.lines().skip_while(|line| !line.starts_with("# zeta")).skip(1);
        for line in lines {
            let (items, sum) = line.split_once('\t').expect("n and sum");
            let (items, sum): (i64, f64) = (items.parse().expect("n"), sum.parse().expect("sum"));
            assert!((Harmonics::new(items, THETA).at(items) / sum - 1.0).abs() < 1e-13, "{items}");
            known += 1;
        }
        assert_eq!(known, 6);
    }

    #[test]
    fn latest_follows_what_is_acknowledged() {
        let choose = chooser(&LATEST, &[Argument::Int(0)]);
        let mut context = Context::default();
        assert!(choose(0, &mut context).is_err());
        for written in [1u64, 2, 3, 1000, 1 << 40] {
            context.acknowledged.store(written, Ordering::Release);
            for cycle in 0..1000 {
                let chosen = choose(cycle, &mut context).expect("there are records");
                assert!((0..written as i64).contains(&chosen), "{chosen} of {written}");
            }
        }
    }

    #[test]
    fn choosers_stay_within_their_records() {
        for row in [&UNIFORM, &SEQUENTIAL, &ZIPFIAN, &SCRAMBLED_ZIPFIAN, &HOTSPOT, &EXPONENTIAL] {
            for items in [1, 2, 3, 1000, i64::MAX] {
                let choose = chooser(row, &[Argument::Long(items)]);
                for cycle in (0..2000).chain([i64::MIN, -1, i64::MAX]) {
                    let chosen = choose(cycle, &mut Context::default()).expect("it is chosen");
                    assert!((0..items).contains(&chosen), "{} of {items}: {chosen}", row.name);
                }
            }
        }
    }

    #[test]
    fn exponential_has_its_percentile() {
        const DRAWS: i64 = 100_000;
        let choose =
            chooser(&EXPONENTIAL, &[Argument::Int(10_000), Argument::Double(95.0), Argument::Double(0.5)]);
        let mut context = Context::default();
        let late =
            (0..DRAWS).filter(|cycle| choose(*cycle, &mut context).expect("it is chosen") >= 5000).count();
        // Draws before the first record (a quarter of a per cent) are drawn again.
        let expected = 0.95 / (1.0 - 0.05f64.powi(2));
        let error = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!((late as f64 / DRAWS as f64 - expected).abs() < 4.0 * error, "{late}");
    }

    #[test]
    fn padded_numbers_sort_as_numbers_do() {
        let Ok(Function::LongToObject(padded)) = (ZERO_PADDED.overloads[0].build)(&Arguments(&[
            Argument::Text("user".to_owned()),
            Argument::Int(8),
        ])) else {
            panic!("it is a text")
        };
        let text = |v: i64| -> Eval<Vec<u8>> {
            let mut out = Vec::new();
            padded.write(v, &mut Context::default(), &mut out)?;
            Ok(out)
        };
        let numbers = [0, 2, 9, 10, 99, 100, 12_345_678, 99_999_999];
        for pair in numbers.windows(2) {
            assert!(text(pair[0]).expect("it fits") < text(pair[1]).expect("it fits"), "{pair:?}");
        }
        assert!(text(100_000_000).is_err() && text(-1).is_err());
    }
}
