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
    fn names_are_exact() {
        assert_eq!(Sequencer::parse("interval"), Some(Sequencer::Interval));
        assert_eq!(Sequencer::parse("Interval"), None);
        assert_eq!(Sequencer::parse(""), None);
    }

    proptest! {
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
