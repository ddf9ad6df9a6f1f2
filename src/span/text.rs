//! [`Text`]: a string that knows which bytes of which [`Source`] it came from, however it was cut and joined.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A named text that a user wrote: a workload file, or `command line`.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The name as shown in messages: the path as given, or `command line`.
    pub name: String,
    /// The whole text, as read.
    pub text: String,
}

/// A byte range of a [`Source`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub source: Arc<Source>,
    pub range: Range<usize>,
}

impl Location {
    /// Line and column of the start, both 1-based; the column counts characters. Lines end with `\n`.
    pub fn line_column(&self) -> (usize, usize) {
        let text = self.source.text.as_str();
        let before = &text[..floor_boundary(text, self.range.start)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        // A byte order mark is not a character that anybody sees.
        let column = before[line_start..].chars().filter(|c| *c != '\u{feff}').count() + 1;
        (line, column)
    }
}

/// `name:line:column`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

/// The last character boundary of `text` at or before `at`.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A run of a [`Text`]'s bytes that came from one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// First byte of the run within the text; it ends where the next piece starts.
    pub at: usize,
    pub source: Arc<Source>,
    /// Where the run comes from.
    pub range: Range<usize>,
    /// The run is copied byte for byte, so that offsets within it map one to one.
    pub verbatim: bool,
}

impl Piece {
    /// Where the byte at offset `within` the run comes from.
    fn start_of(&self, within: usize) -> usize {
        if self.verbatim { (self.range.start + within).min(self.range.end) } else { self.range.start }
    }

    /// Where the run's first `within` bytes end.
    fn end_of(&self, within: usize) -> usize {
        if self.verbatim { (self.range.start + within).min(self.range.end) } else { self.range.end }
    }
}

/// A string and, for each part of it, the place it came from. Two texts are equal if their characters and their
/// places are; compare [`Text::as_str`] for the characters alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    text: String,
    /// Sorted by `at`; empty for a text with no known origin.
    pieces: Vec<Piece>,
}

impl Default for Text {
    fn default() -> Text {
        Text::unplaced("")
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Text {
    /// A text with no known origin.
    pub fn unplaced(text: impl Into<String>) -> Text {
        Text { text: text.into(), pieces: Vec::new() }
    }

    /// A text that is a source of its own, such as a recipe on the command line.
    pub fn of_source(name: impl Into<String>, text: impl Into<String>) -> Text {
        Text::whole(&Arc::new(Source { name: name.into(), text: text.into() }))
    }

    /// The whole text of `source`.
    pub fn whole(source: &Arc<Source>) -> Text {
        let text = source.text.clone();
        let range = 0..text.len();
        Text { text, pieces: vec![Piece { at: 0, source: Arc::clone(source), range, verbatim: true }] }
    }

    /// A text put together from pieces; `pieces` must be sorted by `at`.
    pub fn from_pieces(text: String, pieces: Vec<Piece>) -> Text {
        debug_assert!(pieces.windows(2).all(|two| two[0].at <= two[1].at));
        Text { text, pieces }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The part `range` of this text, with its origin. A range that leaves the text, or cuts a character, is
    /// shortened to what is there.
    pub fn slice(&self, range: Range<usize>) -> Text {
        let mut part = Text::default();
        part.push_slice(self, range);
        part
    }

    /// This text without blanks, tabs and line ends at both ends.
    pub fn trim(&self) -> Text {
        let start = self.text.len() - self.text.trim_start().len();
        self.slice(start..start + self.text.trim().len())
    }

    /// Appends `other` with its origin.
    pub fn push(&mut self, other: &Text) {
        self.push_slice(other, 0..other.len());
    }

    /// Appends the part `range` of `other` with its origin.
    pub fn push_slice(&mut self, other: &Text, range: Range<usize>) {
        let start = floor_boundary(&other.text, range.start);
        let end = floor_boundary(&other.text, range.end).max(start);
        let base = self.text.len();
        self.text.push_str(&other.text[start..end]);
        let first = other.pieces.partition_point(|piece| piece.at <= start).saturating_sub(1);
        for (position, piece) in other.pieces.iter().enumerate().skip(first) {
            if piece.at >= end && position != first {
                break;
            }
            let skipped = start.saturating_sub(piece.at);
            let stop = other.pieces.get(position + 1).map_or(end, |next| next.at.min(end));
            let source_range = if piece.verbatim {
                piece.start_of(skipped)..piece.end_of(stop.max(start).saturating_sub(piece.at))
            } else {
                piece.range.clone()
            };
            self.push_piece(Piece {
                at: base + piece.at.max(start) - start,
                source: Arc::clone(&piece.source),
                range: source_range,
                verbatim: piece.verbatim,
            });
        }
    }

    /// Appends `text`, all of which stands for the place `location` (a value put where a name stood).
    pub fn push_str(&mut self, text: &str, location: Option<Location>) {
        if let Some(Location { source, range }) = location {
            self.push_piece(Piece { at: self.text.len(), source, range, verbatim: false });
        }
        self.text.push_str(text);
    }

    fn push_piece(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut() {
            let joins = last.verbatim
                && piece.verbatim
                && Arc::ptr_eq(&last.source, &piece.source)
                && last.range.end == piece.range.start
                && piece.at - last.at == last.range.len();
            if joins {
                last.range.end = piece.range.end;
                return;
            }
        }
        self.pieces.push(piece);
    }

    /// The place in a source that the bytes `range` of this text came from. A range over several places gives
    /// their hull if they are of one source and in order, else the first place.
    pub fn locate(&self, range: Range<usize>) -> Option<Location> {
        let first_at = self.pieces.partition_point(|piece| piece.at <= range.start).saturating_sub(1);
        let first = self.pieces.get(first_at)?;
        let start = first.start_of(range.start.saturating_sub(first.at));
        let last_byte = range.end.saturating_sub(1).max(range.start);
        let last_at = self.pieces.partition_point(|piece| piece.at <= last_byte).saturating_sub(1);
        let last = self.pieces.get(last_at)?;
        let end = if range.end > range.start {
            last.end_of(range.end.saturating_sub(last.at))
        } else if first.verbatim {
            start
        } else {
            first.range.end
        };
        let hull = Arc::ptr_eq(&first.source, &last.source) && end >= start;
        let range = if hull { start..end } else { start..first.range.end.max(start) };
        Some(Location { source: Arc::clone(&first.source), range })
    }

    /// The place of the whole text.
    pub fn location(&self) -> Option<Location> {
        self.locate(0..self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "f.yaml".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn line_and_column_count_from_one_and_in_characters() {
        let source = source("\u{feff}één\r\ntwo\n");
        for (needle, expected) in [("é", (1, 1)), ("n\r", (1, 3)), ("two", (2, 1)), ("wo", (2, 2))] {
            let at = source.text.find(needle).expect("the needle is there");
            let location = Location { source: Arc::clone(&source), range: at..at + 1 };
            assert_eq!(location.line_column(), expected, "{needle}");
        }
        let end = Location { source: Arc::clone(&source), range: 999..1000 };
        assert_eq!(end.line_column(), (3, 1));
    }

    #[test]
    fn a_slice_of_a_joined_text_knows_where_each_part_came_from() {
        let file = Text::whole(&source("abc DEF ghi"));
        let mut joined = file.slice(8..11);
        joined.push_str("<value>", file.locate(4..7));
        joined.push(&file.slice(0..3));
        assert_eq!(joined.as_str(), "ghi<value>abc");
        let place = |range: Range<usize>| joined.locate(range).map(|l| l.range);
        assert_eq!(place(1..2), Some(9..10));
        assert_eq!(place(4..6), Some(4..7));
        assert_eq!(place(11..12), Some(1..2));
        let part = joined.slice(8..12);
        assert_eq!(part.as_str(), "e>ab");
        assert_eq!(part.locate(0..1).map(|l| l.range), Some(4..7));
        assert_eq!(part.locate(3..4).map(|l| l.range), Some(1..2));
    }

    #[test]
    fn adjacent_parts_of_one_source_join_and_empty_ranges_have_a_place() {
        let file = Text::whole(&source("0123456789"));
        let mut joined = file.slice(0..4);
        joined.push(&file.slice(4..8));
        assert_eq!(joined.locate(2..7).map(|l| l.range), Some(2..7));
        assert_eq!(joined.locate(8..8).map(|l| l.range), Some(8..8));
        assert_eq!(file.slice(3..3).location().map(|l| l.range), Some(3..3));
        assert_eq!(Text::unplaced("x").location(), None);
        assert_eq!(file.slice(2..999).as_str(), "23456789");
        assert_eq!(Text::unplaced(" a b\n").trim().as_str(), "a b");
    }
}
