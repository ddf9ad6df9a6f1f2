//! [`Bound`]: an op of a dry run, which is made for each cycle and goes nowhere.

use super::{Dispenser, Outcome, Run, Scratch};
use crate::functions::Context;
use crate::plan::BindError;
use std::sync::Arc;

/// Binds what the dispenser within binds, and runs nothing.
pub(super) struct Bound(pub Arc<dyn Dispenser>);

impl Dispenser for Bound {
    fn bind(&self, cycle: i64, context: &mut Context, scratch: &mut Scratch) -> Result<(), BindError> {
        self.0.bind(cycle, context, scratch)
    }

    fn run<'a>(&'a self, _cycle: i64, _scratch: &'a mut Scratch) -> Run<'a> {
        Run::Ready(Outcome::default())
    }
}
