//! Which ops a cycle runs, beyond ratios: ops that come after others in the same cycle, and ops that count cycles
//! of their own.

use super::prepare::PreparedOp;
use crate::sequence::Ordinals;
use crate::span::Diagnostic;
use crate::workload::OpTemplate;

/// The op, by its name or `block__op`, after which an op comes in the same cycle, if that one ended well.
pub const AFTER: &str = "after";
/// `true`: an op's bindings count its own cycles.
pub const OWN_CYCLES: &str = "own-cycles";
/// The name that an op has in YCSB's text.
pub const REPORT_AS: &str = "report-as";

/// For each op, the position of the one that it comes after.
///
/// # Errors
/// All that is wrong: a name that none of the selected ops has, ops that come after each other, two after one, an
/// op that has a ratio as well.
pub(super) fn after(ops: &[OpTemplate]) -> Result<Vec<Option<usize>>, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; ops.len()];
    for (at, op) in ops.iter().enumerate() {
        let Some(node) = op.field(AFTER) else { continue };
        let wanted = node.as_text().map(|text| text.as_str().to_owned()).unwrap_or_default();
        let error =
            |what: String| Diagnostic::error(format!("{}: {what}", op.name)).at(node.location.clone());
        let found = ops
            .iter()
            .position(|other| other.name == wanted)
            .or_else(|| {
                // A name alone means the op of the same block, before one of another.
                let block = op.name.split("__").next().unwrap_or_default();
                ops.iter().position(|other| other.name == format!("{block}__{wanted}"))
            })
            .or_else(|| ops.iter().position(|other| other.name.ends_with(&format!("__{wanted}"))));
        let Some(found) = found else {
            let names =
                ops.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, op)| op.name.as_str());
            errors.push(error(format!("`{AFTER}: {wanted}` names none of the selected ops")).suggest(
                &wanted,
                names,
                "select that one too",
            ));
            continue;
        };
        if op.field("ratio").is_some_and(|ratio| ratio.as_text().is_none_or(|text| text.as_str() != "1")) {
            errors.push(
                error(format!("an op that comes after `{wanted}` has no ratio of its own"))
                    .help(format!("it comes as often as `{wanted}` ends well")),
            );
        } else if before.contains(&Some(found)) {
            errors.push(
                error(format!("another op comes after `{wanted}` already"))
                    .help("let it come after that one"),
            );
        } else {
            before[at] = Some(found);
        }
    }
    let mut looped = (0..ops.len()).filter(|at| head(&before, *at).is_none());
    if let Some(at) = looped.next() {
        let place = ops[at].field(AFTER).and_then(|node| node.location.clone());
        errors.push(Diagnostic::error(format!("{}: the ops come after each other", ops[at].name)).at(place));
    }
    if errors.is_empty() { Ok(before) } else { Err(errors) }
}

/// The first op of the cycles that op `at` is in; None where they run in a ring.
pub(super) fn head(before: &[Option<usize>], at: usize) -> Option<usize> {
    let mut at = at;
    for _ in 0..=before.len() {
        match before.get(at).copied().flatten() {
            Some(earlier) => at = earlier,
            None => return Some(at),
        }
    }
    None
}

/// Whether op `op` counts its own cycles.
///
/// # Errors
/// A value that is neither true nor false.
pub(super) fn own_cycles(op: &OpTemplate) -> Result<bool, Diagnostic> {
    let Some(node) = op.field(OWN_CYCLES) else { return Ok(false) };
    match node.as_text().map(|text| text.as_str().to_lowercase()).as_deref() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(Diagnostic::error(format!("{}: `{OWN_CYCLES}` is true or false", op.name))
            .at(node.location.clone())),
    }
}

/// Lets ops that count their own cycles do so, once it is known which op each cycle runs.
pub(super) fn number(ops: &mut [PreparedOp], own: &[bool], sequence: &[usize]) {
    for (at, own) in own.iter().enumerate() {
        if *own {
            ops[at].ordinals = Some(Ordinals::new(sequence, ops[at].head.unwrap_or(at)));
        }
    }
}
