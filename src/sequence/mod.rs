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
    /// `bucket`, `interval` or `concat`, exactly.
    pub fn parse(name: &str) -> Option<Sequencer> {
        let _ = name;
        todo!()
    }
}

/// The table for `ratios`: entry `c % len` is the position of the op of cycle `c`.
pub fn table(ratios: &[u64], sequencer: Sequencer) -> Vec<usize> {
    let _ = (ratios, sequencer);
    todo!()
}
