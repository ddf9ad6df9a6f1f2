//! Texts that many slices are cut from: the image of `CharBufImage`, the text of a file.

use super::function::{Produce, Slice, bson_text};
use super::{
    Argument, Arguments, Category, Constructor, Context, Eval, EvalError, Example, Function, FunctionRow,
    Map, Overload, Producer, Refusal, Type, hash,
};
use crate::value::Value;
use bson::spec::ElementType;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// How far apart the known places are in a text whose characters differ in width.
const STRIDE: usize = 64;

/// A text that is cut by position in constant time. Positions count units: UTF-16 units as in Java, or
/// characters where the text was made of characters.
pub struct Image {
    text: Arc<str>,
    units: usize,
    index: Index,
    /// It has neither quotes nor backslashes.
    plain: bool,
}

enum Index {
    /// Every unit has this many bytes.
    Fixed(usize),
    /// The byte where each unit `n * STRIDE` is, or the character that it belongs to begins; and how many
    /// units a character is.
    Places(Vec<Place>, fn(char) -> usize),
}

struct Place {
    byte: usize,
    /// The unit at which the character at `byte` begins: at most one before `n * STRIDE`.
    unit: usize,
}

/// A cut: whole characters, and whether it began or ended within one.
pub struct Cut {
    pub bytes: Range<usize>,
    /// The cut begins with the second half of a character.
    pub half_before: bool,
    /// The cut ends with the first half of a character.
    pub half_after: bool,
}

impl Image {
    /// `text`, counted in UTF-16 units.
    pub fn utf16(text: String) -> Image {
        Image::new(text, char::len_utf16)
    }

    /// `text`, counted in characters.
    pub fn characters(text: String) -> Image {
        Image::new(text, |_| 1)
    }

    fn new(text: String, measure: fn(char) -> usize) -> Image {
        let plain = memchr::memchr3(b'"', b'\'', b'\\', text.as_bytes()).is_none();
        let width = text.chars().next().map_or(1, char::len_utf8);
        let fixed = if width == 1 {
            text.is_ascii()
        } else {
            text.chars().all(|c| c.len_utf8() == width && measure(c) == 1)
        };
        if fixed {
            return Image { units: text.len() / width, text: text.into(), index: Index::Fixed(width), plain };
        }
        let mut places = Vec::new();
        let mut unit = 0;
        for (byte, character) in text.char_indices() {
            let next = unit + measure(character);
            while places.len() * STRIDE < next {
                places.push(Place { byte, unit });
            }
            unit = next;
        }
        Image { text: text.into(), units: unit, index: Index::Places(places, measure), plain }
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Length in units.
    pub fn units(&self) -> usize {
        self.units
    }

    /// The byte of the character that unit `at` belongs to, and whether `at` is its second half.
    fn place(&self, at: usize) -> (usize, bool) {
        match &self.index {
            Index::Fixed(width) => (at * width, false),
            Index::Places(places, measure) => {
                if at >= self.units {
                    return (self.text.len(), false);
                }
                let Some(place) = places.get(at / STRIDE) else { return (self.text.len(), false) };
                let mut unit = place.unit;
                for (byte, character) in self.text[place.byte..].char_indices() {
                    let next = unit + measure(character);
                    if at < next {
                        return (place.byte + byte, at > unit);
                    }
                    unit = next;
                }
                (self.text.len(), false)
            }
        }
    }

    /// The units `start..start + length`; `None` if they are not all there.
    #[inline]
    pub fn cut(&self, start: usize, length: usize) -> Option<Cut> {
        let end = start.checked_add(length).filter(|end| *end <= self.units)?;
        let (from, half_before) = self.place(start);
        let (to, half_after) = self.place(end);
        let from = if half_before { from + char_width(&self.text, from) } else { from };
        Some(Cut {
            bytes: from..to.max(from),
            half_before: half_before && length > 0,
            half_after: half_after && to >= from,
        })
    }
}

fn char_width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

/// The characters of a set such as `A-Za-z0-9 _|/`: `a-b` is a range of printable ASCII, all else itself.
pub fn character_set(spec: &str) -> Result<Vec<char>, Refusal> {
    let characters: Vec<char> = spec.chars().collect();
    let mut set = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if let [low, '-', high] = characters[at..(at + 3).min(characters.len())] {
            for end in [low, high] {
                if !(' '..='~').contains(&end) {
                    return Err(Refusal::new(format!(
                        "{end:?} cannot bound a range: it is not printable ASCII"
                    ))
                    .help("list such characters one by one"));
                }
            }
            if high < low {
                return Err(Refusal::new(format!("the range `{low}-{high}` runs backwards"))
                    .help(format!("write `{high}-{low}`")));
            }
            set.extend(low..=high);
            at += 3;
        } else {
            set.push(characters[at]);
            at += 1;
        }
    }
    if set.is_empty() {
        return Err(Refusal::new("the set of characters is empty"));
    }
    Ok(set)
}

/// Characters of one block: within a block each follows from the one before, blocks are independent.
const BLOCK: usize = 1024;

/// Blocks that one thread makes side by side: their chains of hashes overlap in the processor.
const LANES: usize = 8;

/// Fills `out` with the blocks from `seed` up: block `b` starts from the number `seed + b`, hashes it again
/// and again, and takes from each hash the character at its remainder.
fn fill<T: Copy + Send + Sync>(set: &[T], seed: i64, out: &mut [T]) {
    let count = set.len() as u64;
    // ⌊2^64 / count⌋ or one less: the quotient from the high half of a product is then at most one too small.
    let reciprocal = u64::MAX / count;
    let pick = |hash: i64| {
        let hash = hash as u64;
        let quotient = ((u128::from(hash) * u128::from(reciprocal)) >> 64) as u64;
        let mut rest = hash.wrapping_sub(quotient.wrapping_mul(count));
        if rest >= count {
            rest -= count;
        }
        set[rest as usize]
    };
    let mut block = seed;
    for lanes in out.chunks_mut(BLOCK * LANES) {
        // Of a known size, so that no place in it is checked 16 million times.
        if let Ok(lanes) = <&mut [T; BLOCK * LANES]>::try_from(&mut *lanes) {
            let mut states: [i64; LANES] = std::array::from_fn(|lane| block.wrapping_add(lane as i64));
            for position in 0..BLOCK {
                for (lane, state) in states.iter_mut().enumerate() {
                    *state = hash::long(*state);
                    lanes[lane * BLOCK + position] = pick(*state);
                }
            }
        } else {
            for (lane, characters) in lanes.chunks_mut(BLOCK).enumerate() {
                let mut state = block.wrapping_add(lane as i64);
                for character in characters {
                    state = hash::long(state);
                    *character = pick(state);
                }
            }
        }
        block = block.wrapping_add(LANES as i64);
    }
}

/// [`fill`] on two threads, where it pays.
fn fill_on_two_threads<T: Copy + Send + Sync>(set: &[T], seed: i64, out: &mut [T]) {
    let blocks = out.len() / (BLOCK * LANES) / 2 * LANES;
    if blocks < 4 * LANES {
        return fill(set, seed, out);
    }
    let (first, second) = out.split_at_mut(blocks * BLOCK);
    std::thread::scope(|scope| {
        scope.spawn(|| fill(set, seed, first));
        fill(set, seed.wrapping_add(blocks as i64), second);
    });
}

fn reserve<T: Clone>(value: T, size: usize) -> Result<Vec<T>, Refusal> {
    let mut made = Vec::new();
    made.try_reserve_exact(size)
        .map_err(|_| Refusal::new(format!("an image of {size} characters does not fit into the memory")))?;
    made.resize(size, value);
    Ok(made)
}

/// An image of `size` characters out of a set.
fn image_of_set(set: &[char], size: usize, seed: i64) -> Result<Image, Refusal> {
    if set.iter().all(char::is_ascii) {
        let bytes: Vec<u8> = set.iter().map(|c| *c as u8).collect();
        let mut out = reserve(b' ', size)?;
        fill_on_two_threads(&bytes, seed, &mut out);
        let text = String::from_utf8(out).map_err(|_| Refusal::new("the image is no text"))?;
        return Ok(Image::utf16(text));
    }
    let mut out = reserve(' ', size)?;
    fill_on_two_threads(set, seed, &mut out);
    Ok(Image::characters(out.into_iter().collect()))
}

/// An image of `size` UTF-16 units out of the texts that a function gives for `seed`, `seed + 1` and so on.
fn image_of_function(function: &Producer<i64>, size: usize, seed: i64) -> Result<Image, Refusal> {
    const MOST_EMPTY: usize = 10_000;
    let mut out = Vec::new();
    let mut context = Context::default();
    let mut units = 0;
    let mut empty = 0;
    let mut next = seed;
    while units < size {
        let from = out.len();
        function
            .write(next, &mut context, &mut out)
            .map_err(|error| Refusal::new(format!("the function fails for {next}: {error}")).at(0))?;
        let added = String::from_utf8_lossy(&out[from..]).encode_utf16().count();
        empty = if added == 0 { empty + 1 } else { 0 };
        if empty > MOST_EMPTY {
            return Err(Refusal::new("the function gives only empty texts").at(0));
        }
        units += added;
        next = next.wrapping_add(1);
    }
    let whole = Image::utf16(String::from_utf8_lossy(&out).into_owned());
    let cut = whole.cut(0, size).map_or(0..0, |cut| cut.bytes);
    Ok(Image::utf16(whole.text[cut].to_owned()))
}

/// Images of sets, one for each set, size and seed in the whole process: several bindings, ops and steps
/// share one.
type Shared = Mutex<HashMap<(Vec<char>, usize, i64), Arc<Image>>>;

fn shared_image(set: Vec<char>, size: usize, seed: i64) -> Result<Arc<Image>, Refusal> {
    static IMAGES: std::sync::LazyLock<Shared> = std::sync::LazyLock::new(Mutex::default);
    // Held while the image is made, so that nobody makes it twice.
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(image) = images.get(&(set.clone(), size, seed)) {
        return Ok(image.clone());
    }
    let image = Arc::new(image_of_set(&set, size, seed)?);
    images.insert((set, size, seed), image.clone());
    Ok(image)
}

/// The characters of an image that none are named for.
const DEFAULT_SET: &str = "a-zA-Z0-9 ";
const SLICE_NOTES: &str = "lengths count characters where the set is given, and UTF-16 units where a function \
                           makes the text; a slice never holds half a character. A size above that of the whole \
                           text gives the whole text";

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&CHAR_BUF_IMAGE, &CHAR_BUFFER_EXTRACT];

static CHAR_BUF_IMAGE: FunctionRow = FunctionRow {
    name: "CharBufImage",
    category: Category::Text,
    doc: "a slice of a long random-looking text that is made once: from a set of characters (or a function's \
          texts), so many characters long, with a size that may vary",
    notes: SLICE_NOTES,
    examples: &[
        Example("CharBufImage('abc',100,5)", 0, "bccca"),
        Example("CharBufImage('A-Za-z0-9',1000,HashRange(2,4)); ToString()", 0, "aCk"),
    ],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::CharBuffer,
        &[
            Constructor::of(&[Type::Object, Type::Int, Type::Object, Type::Long]),
            Constructor::of(&[Type::Object, Type::Int, Type::Object]),
            Constructor::of(&[Type::Object, Type::Int]),
            Constructor::of(&[Type::Int]),
        ],
        char_buf_image,
    )],
    ..FunctionRow::NEW
};

fn char_buf_image(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let whole: Map<i64, i32>;
    let size_at = if arguments.count() == 1 { 0 } else { 1 };
    let asked = arguments.int(size_at)?;
    let size = checked_size(asked).map_err(|refusal| refusal.at(size_at))?;
    let lengths = if arguments.count() < 3 {
        whole = Arc::new(move |_, _| Ok(asked));
        whole
    } else {
        arguments.size(2)?
    };
    let seed = if arguments.count() < 4 { 0 } else { arguments.long(3)? };
    let image = match arguments.get(0) {
        Some(Argument::Text(spec)) => {
            shared_image(character_set(spec).map_err(|refusal| refusal.at(0))?, size, seed)?
        }
        Some(Argument::Function(_)) => Arc::new(image_of_function(&arguments.producer(0)?, size, seed)?),
        _ if arguments.count() == 1 => shared_image(character_set(DEFAULT_SET)?, size, seed)?,
        _ => {
            return Err(Refusal::new("the characters must be a text or a function").at(0));
        }
    };
    Ok(Function::LongToObject(Arc::new(Slices { image, lengths })))
}

/// More characters than this are a slip: they would fill the memory of all but large machines.
const MOST_CHARACTERS: usize = 1 << 28;

fn checked_size(size: i32) -> Result<usize, Refusal> {
    match usize::try_from(size) {
        Ok(size) if size <= MOST_CHARACTERS => Ok(size),
        Ok(_) => Err(Refusal::new(format!(
            "an image of {size} characters is more than the {MOST_CHARACTERS} that are made at most"
        ))),
        Err(_) => Err(Refusal::new("the size of the image is negative")),
    }
}

static CHAR_BUFFER_EXTRACT: FunctionRow = FunctionRow {
    name: "CharBufferExtract",
    category: Category::Text,
    doc: "a random-looking slice of a text that is made once: a number says how many random-looking letters, \
          digits and blanks, a function makes it for 0; the slice's size is a number or a function",
    notes: SLICE_NOTES,
    examples: &[
        Example("CharBufferExtract(1000,5)", 1, "XuslW"),
        Example("CharBufferExtract(AlphaNumericString(50),HashRange(2,4))", 1, "P0A"),
    ],
    overloads: &[Overload::new(
        "from_long.to_charbuffer",
        Type::Long,
        Type::CharBuffer,
        &[Constructor::of(&[Type::Object, Type::Object])],
        |arguments| {
            let lengths = arguments.size(1)?;
            let image = if let Some(Argument::Function(nested)) = arguments.get(0) {
                let made = arguments
                    .producer(0)?
                    .value(0, &mut Context::default())
                    .map_err(|error| Refusal::new(format!("`{}` fails for 0: {error}", nested.name)).at(0))?;
                let text = made.as_text().ok_or_else(|| {
                    Refusal::new(format!("`{}` makes a {}, not a text", nested.name, made.type_name())).at(0)
                })?;
                Arc::new(Image::utf16(text.to_owned()))
            } else {
                let size = arguments.size(0)?(0, &mut Context::default())
                    .map_err(|error| Refusal::new(error.message).at(0))?;
                let size = checked_size(size).map_err(|refusal| refusal.at(0))?;
                shared_image(character_set(DEFAULT_SET)?, size, 0)?
            };
            Ok(Function::LongToObject(Arc::new(Slices { image, lengths })))
        },
    )],
    ..FunctionRow::NEW
};

/// Slices of an image.
struct Slices {
    image: Arc<Image>,
    lengths: Map<i64, i32>,
}

impl Slices {
    #[inline]
    fn range(&self, v: i64, context: &mut Context) -> Eval<Range<usize>> {
        let units = self.image.units();
        let asked = (self.lengths)(v, context)?;
        let length = usize::try_from(asked).map_err(|_| {
            EvalError::boxed(
                "IndexOutOfBoundsException",
                format!("a slice of {asked} characters was asked for"),
            )
        })?;
        let length = length.min(units);
        // An image has an int of units, so that this is a division of 32 bits: the shorter one.
        let places = u32::try_from(units - length + 1).unwrap_or(u32::MAX);
        let start = (hash::int(v) as u32 % places) as usize;
        self.image.cut(start, length).map(|cut| cut.bytes).ok_or_else(|| {
            EvalError::boxed("IndexOutOfBoundsException", format!("no {length} characters at {start}"))
        })
    }

    /// The slice's UTF-8. Whether it begins and ends with a character is not asked: that would wait for the
    /// image's memory before the copy does.
    #[inline]
    fn bytes(&self, v: i64, context: &mut Context) -> Eval<&[u8]> {
        let range = self.range(v, context)?;
        Ok(self.image.text.as_bytes().get(range).unwrap_or_default())
    }
}

impl Produce<i64> for Slices {
    fn value(&self, v: i64, context: &mut Context) -> Eval<Value> {
        let range = self.range(v, context)?;
        Ok(Value::Chars { image: self.image.text.clone(), start: range.start, end: range.end })
    }

    fn write(&self, v: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        out.extend_from_slice(self.bytes(v, context)?);
        Ok(())
    }

    fn is_slice(&self) -> bool {
        true
    }

    #[inline]
    fn slice(&self, v: i64, context: &mut Context) -> Eval<Option<Slice<'_>>> {
        let range = self.range(v, context)?;
        Ok(Some(Slice { text: &self.image.text, range, plain: self.image.plain }))
    }

    fn write_bson(&self, v: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<Option<ElementType>> {
        bson_text(out, |out| self.write(v, context, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_ranges_of_printable_ascii() {
        for (spec, expected) in [
            ("a-c", Ok("abc")),
            ("a-cX0-2", Ok("abcX012")),
            ("a-", Ok("a-")),
            ("-a", Ok("-a")),
            ("╱╲", Ok("╱╲")),
            ("c-a", Err("backwards")),
            ("a-é", Err("printable")),
            ("", Err("empty")),
        ] {
            match (character_set(spec), expected) {
                (Ok(set), Ok(expected)) => assert_eq!(set.into_iter().collect::<String>(), expected),
                (Err(refusal), Err(words)) => assert!(refusal.message.contains(words), "{}", refusal.message),
                (found, _) => panic!("{spec}: {found:?}"),
            }
        }
    }

    #[test]
    fn blocks_come_out_the_same_whatever_the_lanes_and_threads() {
        let set: Vec<u8> = (b'a'..=b'z').chain(b'0'..=b'9').collect();
        let mut expected = Vec::new();
        for block in 0..100 {
            let mut state = 7 + block;
            for _ in 0..BLOCK {
                state = hash::long(state);
                expected.push(set[(state % set.len() as i64) as usize]);
            }
        }
        for size in [1, BLOCK, BLOCK * LANES + 5, 100 * BLOCK - 1] {
            let mut out = vec![0; size];
            fill_on_two_threads(&set, 7, &mut out);
            assert!(out == expected[..size], "{size}");
        }
    }

    #[test]
    fn cuts_count_units_and_never_split_a_character() {
        for text in ["abcdef", "╱╲╱╲", "aé漢😀z", &"a😀é".repeat(100)] {
            let image = Image::utf16(text.to_owned());
            let units: Vec<u16> = text.encode_utf16().collect();
            assert_eq!(image.units(), units.len());
            for start in 0..=units.len() {
                for length in 0..=(units.len() - start) {
                    let cut = image.cut(start, length).expect("within the text");
                    let mut found = image.text[cut.bytes].to_owned();
                    if cut.half_before {
                        found.insert(0, '\u{FFFD}');
                    }
                    if cut.half_after && !(cut.half_before && length == 1) {
                        found.push('\u{FFFD}');
                    }
                    assert_eq!(
                        found,
                        String::from_utf16_lossy(&units[start..start + length]),
                        "{text} {start} {length}"
                    );
                }
            }
            assert!(image.cut(units.len(), 1).is_none());
        }
    }

    #[test]
    fn a_set_of_any_characters_gives_whole_characters() {
        let set = character_set("aé漢😀").expect("a set");
        let image = image_of_set(&set, 3000, 0).expect("an image");
        assert_eq!((image.units(), image.text.chars().count()), (3000, 3000));
        assert!(image.text.chars().all(|c| set.contains(&c)));
    }
}
