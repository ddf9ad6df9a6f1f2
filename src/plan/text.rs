//! [`TextTemplate`]: text with holes.

use super::BindError;
use super::bind_points::{Bindings, Slot, scan};
use crate::functions::Context;
use crate::span::Text;
use std::ops::Range;
use std::sync::Arc;

/// Texts that several holes share are made once a cycle, up to this many.
const KEPT: usize = 16;

/// Text with holes.
#[derive(Clone)]
pub struct TextTemplate {
    op: Arc<str>,
    slots: Vec<Slot>,
    parts: Vec<Piece>,
}

#[derive(Clone)]
enum Piece {
    Literal(String),
    /// The text of a slot. If it has a place, it is kept there the first time and copied from then on.
    Hole {
        slot: usize,
        place: Option<usize>,
    },
}

impl TextTemplate {
    /// A text without holes.
    pub(super) fn of_literal(op: Arc<str>, text: String) -> TextTemplate {
        TextTemplate { op, slots: Vec::new(), parts: vec![Piece::Literal(text)] }
    }

    /// A text with the holes that its bind points are; None after an error, which `bindings` keeps.
    pub(super) fn compile(op: Arc<str>, text: &Text, bindings: &mut Bindings<'_>) -> Option<TextTemplate> {
        let points = scan(text.as_str());
        let slots: Vec<Option<usize>> = points.iter().map(|point| bindings.slot(text, point)).collect();
        let ranges: Vec<Range<usize>> = points.into_iter().map(|point| point.range).collect();
        let slots: Vec<usize> = slots.into_iter().collect::<Option<_>>()?;
        Some(TextTemplate::of_holes(op, text.as_str(), &ranges, &slots, &bindings.slots))
    }

    /// The text `text`, in which slot `slots[i]` of `all` takes the place of `ranges[i]`.
    pub(super) fn of_holes(
        op: Arc<str>,
        text: &str,
        ranges: &[Range<usize>],
        slots: &[usize],
        all: &[Slot],
    ) -> TextTemplate {
        let mut parts = Vec::new();
        // This text's own slots: position in `all` → place to keep it.
        let mut own: Vec<usize> = Vec::new();
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut next_place = 0..KEPT;
        let mut from = 0;
        for (range, slot) in ranges.iter().zip(slots) {
            if from < range.start {
                parts.push(Piece::Literal(text[from..range.start].to_owned()));
            }
            let position = own.iter().position(|known| known == slot).unwrap_or_else(|| {
                let shared = slots.iter().filter(|other| *other == slot).count() > 1;
                own.push(*slot);
                places.push(if shared { next_place.next() } else { None });
                own.len() - 1
            });
            parts.push(Piece::Hole { slot: position, place: places[position] });
            from = range.end;
        }
        if from < text.len() {
            parts.push(Piece::Literal(text[from..].to_owned()));
        }
        TextTemplate { op, slots: own.into_iter().map(|slot| all[slot].clone()).collect(), parts }
    }

    /// Appends `other` to this text.
    pub(super) fn append(&mut self, other: TextTemplate) {
        let shift = self.slots.len();
        self.slots.extend(other.slots);
        for part in other.parts {
            match (self.parts.last_mut(), part) {
                (Some(Piece::Literal(text)), Piece::Literal(more)) => text.push_str(&more),
                // Places are numbered per text; a value of a later text is made anew.
                (_, Piece::Hole { slot, .. }) => {
                    self.parts.push(Piece::Hole { slot: slot + shift, place: None })
                }
                (_, literal) => self.parts.push(literal),
            }
        }
    }

    /// Appends the text for `cycle` to `out`.
    pub fn bind(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Result<(), BindError> {
        self.write(cycle, context, out, &mut |_| {})
    }

    /// The text for `cycle`, and where in it each hole begins and ends.
    pub(super) fn bind_traced(
        &self,
        cycle: i64,
        context: &mut Context,
    ) -> Result<(Vec<u8>, Vec<Range<usize>>), BindError> {
        let (mut out, mut holes) = (Vec::new(), Vec::new());
        self.write(cycle, context, &mut out, &mut |hole| holes.push(hole))?;
        Ok((out, holes))
    }

    fn write(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
        trace: &mut impl FnMut(Range<usize>),
    ) -> Result<(), BindError> {
        let mut kept: [Option<(usize, usize)>; KEPT] = [None; KEPT];
        for part in &self.parts {
            match part {
                Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Hole { slot, place } => {
                    let start = out.len();
                    if let Some((first, end)) = place.and_then(|place| kept[place]) {
                        out.extend_from_within(first..end);
                        trace(start..out.len());
                        continue;
                    }
                    let program = &self.slots[*slot].program;
                    program.write_text(cycle, context, out).map_err(|source| BindError::Eval {
                        op: self.op.to_string(),
                        cycle,
                        recipe: program.recipe().to_owned(),
                        source: *source,
                    })?;
                    if let Some(place) = place {
                        kept[*place] = Some((start, out.len()));
                    }
                    trace(start..out.len());
                }
            }
        }
        Ok(())
    }

    /// The text, if it has no holes.
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }
}
