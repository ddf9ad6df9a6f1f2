//! Ratios → a look-up table of op positions. Holds no ops: it deals in `usize`.

/// How ops with ratios are laid out over one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sequencer {
    /// Round-robin over the ops that still have count left.
    #[default]
    Bucket,
    /// Each op spread evenly over the sequence.
    Interval,
    /// All of the first, then all of the next.
    Concat,
}

impl Sequencer {
    /// Every sequencer by the name that users give it.
    pub const NAMES: [(&'static str, Sequencer); 3] =
        [("bucket", Sequencer::Bucket), ("interval", Sequencer::Interval), ("concat", Sequencer::Concat)];

    /// `bucket`, `interval` or `concat`, exactly.
    pub fn parse(name: &str) -> Option<Sequencer> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, sequencer)| *sequencer)
    }
}

/// How often an op comes, beside the ratios of others: a whole number, or a share such as 0.95, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// `digits / 10^places`.
    digits: u64,
    places: u32,
}

impl Ratio {
    pub const ONE: Ratio = Ratio { digits: 1, places: 0 };

    /// `5`, `0.95`, `.5` or `1.0`; None for all else, and for more than six places.
    pub fn parse(text: &str) -> Option<Ratio> {
        const MOST_PLACES: usize = 6;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let fraction = fraction.trim_end_matches('0');
        let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if text.is_empty() || text == "." || !plain(whole) || !plain(fraction) || fraction.len() > MOST_PLACES
        {
            return None;
        }
        let digits = format!("0{whole}{fraction}").parse().ok()?;
        Some(Ratio { digits, places: fraction.len() as u32 })
    }

    /// The op is left out.
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    fn has_fraction(self) -> bool {
        self.places > 0
    }
}

/// The ratios as whole numbers, in their lowest terms where one of them is a fraction: 0.95 and 0.05 are 19 and
/// 1. Whole numbers stay as they are, as they decide how long the sequence is.
pub fn whole(ratios: &[Ratio]) -> Vec<u64> {
    if !ratios.iter().any(|ratio| ratio.has_fraction()) {
        return ratios.iter().map(|ratio| ratio.digits).collect();
    }
    let places = ratios.iter().map(|ratio| ratio.places).max().unwrap_or(0);
    let scaled = |ratio: &Ratio| ratio.digits.saturating_mul(10u64.pow(places - ratio.places));
    let scaled: Vec<u64> = ratios.iter().map(scaled).collect();
    let divisor = scaled.iter().copied().fold(0, greatest_common_divisor).max(1);
    scaled.into_iter().map(|ratio| ratio / divisor).collect()
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Which of an op's own cycles a cycle is: 0 for the first that the op has, whatever other ops come between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordinals {
    /// Entry `c % len`: how many of the op come before that position.
    before: Vec<u32>,
    /// How many are in the whole table.
    count: u64,
}

impl Ordinals {
    /// Of `op` in a table of at most [`MAX_LENGTH`] entries.
    pub fn new(table: &[usize], op: usize) -> Ordinals {
        Ordinals::of_places(&table.iter().map(|entry| *entry == op).collect::<Vec<_>>())
    }

    /// Of the ops at the places of a table that are marked.
    pub fn of_places(marked: &[bool]) -> Ordinals {
        let mut count = 0u32;
        let before = marked
            .iter()
            .map(|marked| {
                let before = count;
                count += u32::from(*marked);
                before
            })
            .collect();
        Ordinals { before, count: u64::from(count) }
    }

    /// How many of the op's cycles come before `cycle`.
    pub fn of(&self, cycle: u64) -> u64 {
        let length = self.before.len().max(1) as u64;
        let within = self.before.get((cycle % length) as usize).copied().unwrap_or(0);
        (cycle / length).saturating_mul(self.count).saturating_add(u64::from(within))
    }
}

/// The longest table worth building (16 Mi entries, 128 MB): a caller refuses ratios that add up to more.
pub const MAX_LENGTH: u64 = 1 << 24;

/// The table for `ratios`: entry `c % len` is the position of the op of cycle `c`. A ratio of 0 leaves its op
/// out; without any ratio above 0 the table is empty.
pub fn table(ratios: &[u64], sequencer: Sequencer) -> Vec<usize> {
    match sequencer {
        Sequencer::Bucket => bucket(ratios),
        Sequencer::Interval => interval(ratios),
        Sequencer::Concat => concat(ratios),
    }
}

fn bucket(ratios: &[u64]) -> Vec<usize> {
    let mut table = Vec::new();
    let mut left: Vec<(usize, u64)> = ratios.iter().copied().enumerate().collect();
    left.retain(|(_, count)| *count > 0);
    while !left.is_empty() {
        for (op, count) in &mut left {
            table.push(*op);
            *count -= 1;
        }
        left.retain(|(_, count)| *count > 0);
    }
    table
}

/// Op `i` with ratio `r` wants the positions `p / r`, `p = 0..r`, of a unit sequence; ties go to the op that
/// comes first.
fn interval(ratios: &[u64]) -> Vec<usize> {
    let mut wanted: Vec<(f64, usize)> = Vec::new();
    for (op, ratio) in ratios.iter().enumerate() {
        wanted.extend((0..*ratio).map(|p| (p as f64 / *ratio as f64, op)));
    }
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    wanted.into_iter().map(|(_, op)| op).collect()
}

fn concat(ratios: &[u64]) -> Vec<usize> {
    let mut table = Vec::new();
    for (op, ratio) in ratios.iter().enumerate() {
        table.extend((0..*ratio).map(|_| op));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn letters(ratios: &[u64], sequencer: Sequencer) -> String {
        table(ratios, sequencer).iter().map(|op| char::from(b'A' + *op as u8)).collect()
    }

    #[test]
    fn orders_are_those_of_the_reference() {
        use Sequencer::{Bucket, Concat, Interval};
        let rows: &[(&[u64], Sequencer, &str)] = &[
            (&[5, 3, 1], Bucket, "ABCABABAA"),
            (&[5, 3, 1], Interval, "ABCABAABA"),
            (&[5, 3, 1], Concat, "AAAAABBBC"),
            (&[4, 3, 2, 1], Bucket, "ABCDABCABA"),
            (&[4, 3, 2, 1], Interval, "ABCDABACBA"),
            (&[5, 5, 1], Interval, "ABCABABABAB"),
            (&[1, 9], Bucket, "ABBBBBBBBB"),
            (&[1, 9], Interval, "ABBBBBBBBB"),
            (&[2, 3], Interval, "ABBAB"),
            (&[3, 7], Bucket, "ABABABBBBB"),
            (&[3, 7], Interval, "ABBBABBABB"),
            (&[1, 0, 2], Bucket, "ACC"),
            (&[2, 1], Interval, "ABA"),
            (&[0, 0], Bucket, ""),
            (&[0, 0], Interval, ""),
            (&[], Concat, ""),
        ];
        for (ratios, sequencer, order) in rows {
            assert_eq!(letters(ratios, *sequencer), *order, "{ratios:?} {sequencer:?}");
        }
        let long = letters(&[49, 1], Bucket);
        assert_eq!(long.len(), 50);
        assert!(long.starts_with("ABAA"));
    }

    #[test]
    fn ratios_are_whole_numbers_or_exact_shares() {
        let read = |texts: &[&str]| -> Vec<Ratio> {
            texts.iter().map(|text| Ratio::parse(text).unwrap_or_else(|| panic!("{text}"))).collect()
        };
        let rows: &[(&[&str], &[u64])] = &[
            (&["5", "10"], &[5, 10]),
            (&["0.95", "0.05"], &[19, 1]),
            (&["0.5", "0.5"], &[1, 1]),
            (&["1.0", "3"], &[1, 3]),
            (&["0.5", "2"], &[1, 4]),
            (&[".25", "0", "0.75"], &[1, 0, 3]),
            (&["0.333333", "0.666667"], &[333_333, 666_667]),
            (&["0.0", "0.00"], &[0, 0]),
            (&[], &[]),
        ];
        for (texts, expected) in rows {
            assert_eq!(whole(&read(texts)), *expected, "{texts:?}");
        }
        for text in ["", ".", "-1", "1e3", "0.0000001", "1.2.3", "x", "+1", "99999999999999999999"] {
            assert_eq!(Ratio::parse(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_exact() {
        assert_eq!(Sequencer::parse("interval"), Some(Sequencer::Interval));
        assert_eq!(Sequencer::parse("Interval"), None);
        assert_eq!(Sequencer::parse(""), None);
    }

    proptest! {
        #[test]
        fn ordinals_count_an_ops_own_cycles(ratios in proptest::collection::vec(0u64..6, 1..5), from in 0u64..1000) {
            let table = table(&ratios, Sequencer::Bucket);
            prop_assume!(!table.is_empty());
            for op in 0..ratios.len() {
                let ordinals = Ordinals::new(&table, op);
                let op_at = |cycle: u64| table[(cycle % table.len() as u64) as usize];
                let counted = (0..from).filter(|cycle| op_at(*cycle) == op).count() as u64;
                prop_assert_eq!(ordinals.of(from), counted);
            }
        }

        #[test]
        fn every_op_occurs_as_often_as_its_ratio(ratios in proptest::collection::vec(0u64..20, 0..8)) {
            for (_, sequencer) in Sequencer::NAMES {
                let table = table(&ratios, sequencer);
                for (op, ratio) in ratios.iter().enumerate() {
                    prop_assert_eq!(table.iter().filter(|entry| **entry == op).count() as u64, *ratio);
                }
            }
        }
    }
}
