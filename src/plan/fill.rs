//! Fills the holes of a command for one cycle. A long text that lies in memory anyway may stay there: the command is
//! then a document with [`Inset`]s, for one who can send it in pieces.

use super::BindError;
use super::command::CommandTemplate;
use super::element::{self, Conversion, Quote};
use super::encode::{Span, Step, write_value};
use crate::bindings::EvalError;
use crate::functions::{Context, Slice};
use crate::value::Value;
use bson::RawBson;
use bson::spec::ElementType;
use std::ops::Range;
use std::sync::Arc;

/// Values that several holes share are kept within a cycle, up to this many.
pub(super) const KEPT: usize = 8;

/// A text of fewer bytes is copied: that costs less than to send one piece more.
const LEAST_APART: usize = 8 << 10;

/// A long text that belongs to a command and is not among its bytes. All lengths in the command count it.
#[derive(Debug, Clone)]
pub struct Inset {
    /// It stands before this byte of the command.
    pub at: usize,
    text: Arc<str>,
    range: Range<usize>,
}

impl Inset {
    pub fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes().get(self.range.clone()).unwrap_or_default()
    }
}

/// The pieces of a command in their order: its bytes `range`, with all insets where they stand.
pub fn pieces<'a>(
    command: &'a [u8],
    range: Range<usize>,
    insets: &'a [Inset],
) -> impl Iterator<Item = &'a [u8]> + Clone {
    let starts = std::iter::once(range.start).chain(insets.iter().map(|inset| inset.at));
    let ends = insets.iter().map(|inset| inset.at).chain(std::iter::once(range.end));
    let before = std::iter::once(None).chain(insets.iter().map(Some));
    before.zip(starts.zip(ends)).flat_map(move |(inset, (start, end))| {
        [inset.map_or(&[][..], Inset::as_bytes), command.get(start..end).unwrap_or_default()]
    })
}

/// The fast lane could not bind a cycle.
pub(super) enum Stop {
    /// Only the rendered text can tell what the command is.
    Render,
    Failed(BindError),
}

/// Values of this cycle that more than one hole takes. An array, so that no cycle allocates for it; made only
/// where the template needs it.
#[derive(Default)]
struct Kept(Option<[Option<Value>; KEPT]>);

impl Kept {
    fn place(&mut self, place: usize) -> Option<&mut Option<Value>> {
        self.0.get_or_insert_default().get_mut(place)
    }
}

pub(super) struct Filler<'a> {
    template: &'a CommandTemplate,
    bytes: &'a [u8],
    cycle: i64,
    context: &'a mut Context,
    kept: Kept,
    out: &'a mut Vec<u8>,
    /// Where long texts go, if they may stay where they lie.
    insets: Option<&'a mut Vec<Inset>>,
    /// Start of the innermost open document. Its length field holds, until it is closed, the start of the one
    /// around it, so that no stack is needed.
    open: u32,
}

impl<'a> Filler<'a> {
    pub(super) fn new(
        template: &'a CommandTemplate,
        bytes: &'a [u8],
        cycle: i64,
        context: &'a mut Context,
        out: &'a mut Vec<u8>,
        insets: Option<&'a mut Vec<Inset>>,
    ) -> Filler<'a> {
        Filler { template, bytes, cycle, context, kept: Kept::default(), out, insets, open: 0 }
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Literal(range) => self.out.extend_from_slice(&self.bytes[range.clone()]),
            Step::Open => {
                let at = self.out.len() as u32;
                self.out.extend_from_slice(&self.open.to_le_bytes());
                self.open = at;
            }
            Step::Close => {
                self.out.push(0);
                let at = self.open as usize;
                let length = self.length_from(at) as u32;
                let field = &mut self.out[at..at + 4];
                self.open = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
                field.copy_from_slice(&length.to_le_bytes());
            }
            Step::Text { parts, quote } => {
                let at = self.out.len();
                self.out.extend_from_slice(&[0; 4]);
                self.spans(parts, *quote, true)?;
                self.out.push(0);
                let length = (self.length_from(at) - 4) as u32;
                self.out[at..at + 4].copy_from_slice(&length.to_le_bytes());
            }
            Step::Int(slot) => match self.value(*slot)? {
                Value::Int(n) => self.out.extend_from_slice(&n.to_le_bytes()),
                other => return Err(self.other_kind(*slot, &other)),
            },
            Step::Long(slot) => match self.value(*slot)? {
                Value::Long(n) => self.out.extend_from_slice(&n.to_le_bytes()),
                other => return Err(self.other_kind(*slot, &other)),
            },
            Step::Double(slot) => match self.value(*slot)? {
                Value::Double(d) => self.out.extend_from_slice(&d.to_le_bytes()),
                other => return Err(self.other_kind(*slot, &other)),
            },
            Step::Bare { slot, type_back, in_array } => {
                let at = self.out.len();
                match self.bare(*slot)? {
                    Some(element_type) => self.out[at - type_back] = element_type,
                    None => self.leave_out(at - type_back, *in_array),
                }
            }
            Step::Native { slot, type_back, in_array } => {
                let at = self.out.len();
                match self.native(*slot)? {
                    Some(element_type) => self.out[at - type_back] = element_type as u8,
                    None => self.leave_out(at - type_back, *in_array),
                }
            }
            Step::Typed { conversion, parts, quote, type_back } => {
                let at = self.out.len();
                let element_type = self.typed(*conversion, parts, *quote)?;
                self.out[at - type_back] = element_type;
            }
        }
        Ok(())
    }

    /// How long the command is from `at` on so far.
    fn length_from(&self, at: usize) -> usize {
        let insets = self.insets.iter().flat_map(|insets| insets.iter().rev());
        let apart: usize = insets.take_while(|inset| inset.at > at).map(|inset| inset.range.len()).sum();
        self.out.len() - at + apart
    }

    /// A field without a value goes; an item of an array becomes null, so that the others keep their places.
    fn leave_out(&mut self, type_at: usize, in_array: bool) {
        if in_array {
            self.out[type_at] = ElementType::Null as u8;
        } else {
            self.out.truncate(type_at);
        }
    }

    fn failed(&self, slot: usize, source: EvalError) -> Stop {
        Stop::Failed(BindError::Eval {
            op: self.template.op.to_string(),
            cycle: self.cycle,
            recipe: self.template.slots[slot].program.recipe().to_owned(),
            source,
        })
    }

    fn other_kind(&self, slot: usize, value: &Value) -> Stop {
        let message = format!("the binding yields {} where it promised another kind", value.type_name());
        self.failed(slot, EvalError { name: "ClassCastException", message })
    }

    /// The value of a slot, the same for every hole of a cycle.
    fn value(&mut self, slot: usize) -> Result<Value, Stop> {
        let program = &self.template.slots[slot].program;
        let Some(place) = self.template.kept[slot] else {
            return program.eval(self.cycle, self.context).map_err(|source| self.failed(slot, *source));
        };
        if let Some(Some(value)) = self.kept.place(place) {
            return Ok(value.clone());
        }
        let value = program.eval(self.cycle, self.context).map_err(|source| self.failed(slot, *source))?;
        if let Some(kept) = self.kept.place(place) {
            *kept = Some(value.clone());
        }
        Ok(value)
    }

    /// Appends the text of a slot's value.
    fn text(&mut self, slot: usize) -> Result<(), Stop> {
        if self.template.kept[slot].is_some() {
            self.value(slot)?.write_text(self.out);
            return Ok(());
        }
        let program = &self.template.slots[slot].program;
        program.write_text(self.cycle, self.context, self.out).map_err(|source| self.failed(slot, *source))
    }

    /// The text of a slot where it lies, if it lies anywhere.
    fn slice(&mut self, slot: usize) -> Result<Option<Slice<'a>>, Stop> {
        let program = &self.template.slots[slot].program;
        if !program.is_slice() || self.template.kept[slot].is_some() {
            return Ok(None);
        }
        program.slice(self.cycle, self.context).map_err(|source| self.failed(slot, *source))
    }

    /// Appends a text, or leaves it where it lies if it is long and may be sent `apart`.
    fn take(&mut self, slice: &Slice<'_>, apart: bool) {
        match &mut self.insets {
            Some(insets) if apart && slice.range.len() >= LEAST_APART => {
                let (text, range) = (Arc::clone(slice.text), slice.range.clone());
                insets.push(Inset { at: self.out.len(), text, range });
            }
            _ => self.out.extend_from_slice(slice.as_bytes()),
        }
    }

    /// Appends literals and texts. Within quotes, a text that would change how the string reads stops it.
    fn spans(&mut self, parts: &[Span], quote: Option<u8>, apart: bool) -> Result<(), Stop> {
        let breaks = |text: &[u8]| quote.is_some_and(|quote| memchr::memchr2(quote, b'\\', text).is_some());
        for part in parts {
            match part {
                Span::Literal(range) => self.out.extend_from_slice(&self.bytes[range.clone()]),
                Span::Hole(slot) => {
                    if let Some(slice) = self.slice(*slot)? {
                        if !slice.plain && breaks(slice.as_bytes()) {
                            return Err(Stop::Render);
                        }
                        self.take(&slice, apart);
                        continue;
                    }
                    let at = self.out.len();
                    self.text(*slot)?;
                    if breaks(&self.out[at..]) {
                        return Err(Stop::Render);
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends what the text of a value would parse to, if it is a single scalar, and BSON's own values, whose
    /// text says less than they do, as they are; gives its type, None for a field to be left out.
    fn bare(&mut self, slot: usize) -> Result<Option<u8>, Stop> {
        let scalar = if self.template.slots[slot].program.kind() == crate::bindings::Kind::Text {
            self.scalar(|filler| filler.text(slot))?
        } else {
            match self.value(slot)? {
                Value::Int(n) => RawBson::Int32(n),
                Value::Long(n) => element::smallest(n),
                Value::Double(d) => RawBson::Double(d),
                Value::Bool(b) => RawBson::Boolean(b),
                Value::Null => RawBson::Null,
                Value::Unset => return Ok(None),
                other if other.is_of_bson() => {
                    let written = other.write_bson(self.out);
                    let written = written.map_err(|message| {
                        self.failed(slot, EvalError { name: "CodecConfigurationException", message })
                    });
                    return Ok(written?.map(|element_type| element_type as u8));
                }
                other => self.scalar(|filler| {
                    other.write_text(filler.out);
                    Ok(())
                })?,
            }
        };
        Ok(Some(write_value(scalar, self.out)))
    }

    /// The scalar that the text appended by `write` means; `out` is as before.
    fn scalar(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<RawBson, Stop> {
        let at = self.out.len();
        write(self)?;
        let scalar = std::str::from_utf8(&self.out[at..]).ok().and_then(element::scalar);
        self.out.truncate(at);
        scalar.ok_or(Stop::Render)
    }

    /// Appends a value in its own type; gives that, None for a field to be left out.
    fn native(&mut self, slot: usize) -> Result<Option<ElementType>, Stop> {
        if self.template.kept[slot].is_some() {
            let written = self.value(slot)?.write_bson(self.out);
            return written.map_err(|message| {
                self.failed(slot, EvalError { name: "CodecConfigurationException", message })
            });
        }
        if self.insets.is_some()
            && let Some(slice) = self.slice(slot)?
        {
            let length = slice.range.len() as u32 + 1;
            self.out.extend_from_slice(&length.to_le_bytes());
            self.take(&slice, true);
            self.out.push(0);
            return Ok(Some(ElementType::String));
        }
        let program = &self.template.slots[slot].program;
        program.write_bson(self.cycle, self.context, self.out).map_err(|source| self.failed(slot, *source))
    }

    /// Appends what `conversion` makes of a text; gives its type. A text that it does not take is left to the
    /// slow lane, which says what is wrong.
    fn typed(&mut self, conversion: Conversion, parts: &[Span], quote: Quote) -> Result<u8, Stop> {
        let at = self.out.len();
        self.spans(parts, if let Quote::Mark(mark) = quote { Some(mark) } else { None }, false)?;
        let value = std::str::from_utf8(&self.out[at..]).ok().and_then(|text| match quote {
            Quote::Bare => match element::number(text)? {
                RawBson::Int32(n) => conversion.of_integer(i64::from(n)).ok(),
                RawBson::Int64(n) => conversion.of_integer(n).ok(),
                _ => None,
            },
            _ => conversion.apply(text).ok(),
        });
        self.out.truncate(at);
        Ok(write_value(value.ok_or(Stop::Render)?, self.out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Body, Form, compile, op_templates};

    const BINDINGS: &str = r#"
bindings:
  n: Mod(7)
  long: CharBufImage('A-Za-z0-9',60000,HashRange(20000,30000))
  text: CharBufImage('A-Za-z0-9',60000,HashRange(20000,30000)); ToString()
  wide: CharBufImage('aé漢😀',60000,20000); ToString()
  quotes: CharBufImage('a-z"',60000,20000); ToString()
  edge: CharBufImage('A-Z',60000,HashRange(8190,8194)); ToString()
  short: CharBufImage('A-Z',60000,100); ToString()
  made: CharBufImage('A-Z',60000,20000); ToString(); Prefix('x')
"#;

    fn command(op: &str) -> CommandTemplate {
        let template = op_templates(&format!("{BINDINGS}{op}\n")).remove(0);
        match compile(&template, Form::Command).unwrap_or_else(|e| panic!("{op}: {e:?}")).plan.body {
            Body::Command(command) => command,
            _ => panic!("not a command"),
        }
    }

    #[test]
    fn a_command_in_pieces_has_the_bytes_of_the_whole_one() {
        // Op, and how many of its texts stay where they lie; `None`: that depends on the cycle.
        for (op, apart) in [
            (r#"op: "{insert: 'c', documents: [{k: '{n}', v: '{text}'}], ordered: true}""#, Some(1)),
            (r#"op: "{insert: 'c', documents: [{v: '{long}', w: '{wide}'}, {x: {y: '{text}'}}]}""#, Some(3)),
            (r#"op: "{insert: 'c', documents: [{v: '<{text}{short}{wide}>'}]}""#, Some(2)),
            (r#"op: "{insert: 'c', v: ['{edge}', '{n}', {n}]}""#, None),
            // Below the least length, made for the cycle, or needed twice.
            (r#"op: "{insert: 'c', documents: [{v: '{short}', w: '{made}'}]}""#, Some(0)),
            (r#"op: "{insert: 'c', documents: [{v: '{text}', w: '{text}'}]}""#, Some(0)),
            // A quote in the text changes how an op text reads if it stands in such quotes.
            (r#"op: "{insert: 'c', documents: [{v: '{quotes}'}]}""#, Some(1)),
            (r#"op: '{insert: "c", v: {$date: "2024-01-01"}, w: "{text}"}'"#, Some(1)),
            ("ops: {op1: {insert: c, documents: [{v: '{text}', w: '{long}', x: '<{wide}>'}]}}", Some(3)),
            ("ops: {op1: {insert: c, documents: [{v: '{quotes}', n: '{n}', w: '{made}'}]}}", Some(1)),
        ] {
            let command = command(op);
            let (mut whole, mut bytes, mut insets) = (Vec::new(), Vec::new(), Vec::new());
            let mut context = Context::default();
            for cycle in 0..20 {
                command.bind(cycle, &mut context, &mut whole).expect("it binds");
                command.bind_apart(cycle, &mut context, &mut bytes, &mut insets).expect("it binds");
                let joined = pieces(&bytes, 0..bytes.len(), &insets).collect::<Vec<_>>().concat();
                assert!(joined == whole, "{op}, cycle {cycle}");
                assert!(apart.is_none_or(|apart| apart == insets.len()), "{op}: {}", insets.len());
                bson::RawDocument::from_bytes(&joined).expect("a document");
            }
        }
    }

    #[test]
    fn a_cycle_that_has_to_be_rendered_is_whole() {
        let command =
            command(r#"op: '{insert: "c", v: "{text}", w: "{short}{(ToString(); Prefix("\\t"))}"}'"#);
        let (mut whole, mut bytes) = (Vec::new(), Vec::new());
        let mut insets = vec![];
        for cycle in 0..3 {
            let mut context = Context::default();
            command.bind_apart(cycle, &mut context, &mut bytes, &mut insets).expect("it binds");
            command.bind(cycle, &mut context, &mut whole).expect("it binds");
            assert!(insets.is_empty() && bytes == whole);
        }
    }

    #[test]
    fn a_part_of_the_pieces_begins_and_ends_where_it_is_asked_to() {
        let text: Arc<str> = "0123456789".into();
        let inset = |at, range| Inset { at, text: Arc::clone(&text), range };
        let insets = [inset(5, 0..2), inset(5, 3..4), inset(7, 9..10)];
        let joined = |insets: &[Inset]| {
            String::from_utf8(pieces(b"abcdefgh", 4..8, insets).collect::<Vec<_>>().concat()).expect("text")
        };
        assert_eq!(joined(&insets), "e013fg9h");
        assert_eq!(joined(&[]), "efgh");
    }
}
