//! An op text with something in the place of its bind points, to be read as a command; where a fault in it stands in the
//! op text.

use super::TextTemplate;
use super::command_text::MARK;
use crate::functions::Context;
use std::ops::Range;

/// An op text with something in the place of each bind point.
pub(super) struct Rendered {
    pub(super) text: String,
    /// Where each bind point stands in the op text, and what is in its place here.
    holes: Vec<(Range<usize>, Range<usize>)>,
}

impl Rendered {
    /// With one [`MARK`] for each of the bind points `ranges`.
    pub(super) fn marked(source: &str, ranges: &[Range<usize>]) -> Rendered {
        let mut text = String::with_capacity(source.len());
        let mut holes = Vec::with_capacity(ranges.len());
        let mut from = 0;
        for range in ranges {
            text.push_str(&source[from..range.start]);
            holes.push((range.clone(), text.len()..text.len() + MARK.len_utf8()));
            text.push(MARK);
            from = range.end;
        }
        text.push_str(&source[from..]);
        Rendered { text, holes }
    }

    /// With the values of cycle 0; nothing where it cannot be bound.
    pub(super) fn of_cycle_0(template: &TextTemplate, ranges: &[Range<usize>]) -> Option<Rendered> {
        let (bytes, holes) = template.bind_traced(0, &mut Context::default()).ok()?;
        let holes = ranges.iter().cloned().zip(holes).collect();
        Some(Rendered { text: String::from_utf8(bytes).ok()?, holes })
    }

    /// Whether `range` has a part of what stands for a bind point, or follows it with nothing but blanks between.
    pub(super) fn touches_hole(&self, range: &Range<usize>) -> bool {
        self.holes.iter().any(|(_, hole)| {
            hole.start < range.end.max(range.start + 1) && range.start <= hole.end
                || hole.end <= range.start && self.text[hole.end..range.start].trim().is_empty()
        })
    }

    /// The place in the op text of the part `range` of this one.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.position(range.start, false);
        start..self.position(range.end, true).max(start)
    }

    /// Where the byte `at` stands in the op text: within a bind point, at its start, or, if `end`, at its end.
    fn position(&self, at: usize, end: bool) -> usize {
        // Where the literal text that `at` stands in begins, there and here.
        let (mut there, mut here) = (0, 0);
        for (written, rendered) in &self.holes {
            if at <= rendered.start {
                break;
            }
            if at < rendered.end {
                return if end { written.end } else { written.start };
            }
            (there, here) = (written.end, rendered.end);
        }
        there + (at - here)
    }
}
