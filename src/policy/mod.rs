//! `errors=` chains: parse, match an error's name, say what to do. Sends nothing.

use crate::units::UnitError;

/// What to do about one error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    pub stop: bool,
    pub warn: bool,
    pub retry: bool,
    pub count: bool,
}

/// A parsed `errors=` text, or the default policy.
#[derive(Debug, Clone, Default)]
pub struct Policy {}

impl Policy {
    pub fn parse(text: &str) -> Result<Policy, UnitError> {
        let _ = text;
        todo!()
    }

    /// Decides by any of the error's names (code name, exception name).
    pub fn decide(&self, names: &[&str], partial: bool) -> Decision {
        let _ = (names, partial);
        todo!()
    }
}
