//! Functions that read a file, once, when they are built: the user's file of that name below the working
//! directory, else the one that is bundled.

use super::image::Image;
use super::{
    Arguments, Category, Constructor, EvalError, Example, Function, FunctionRow, Map, Overload, Refusal, Type,
};
use super::{hash, ranges};
use rust_embed::RustEmbed;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Data files that come with the program, under `data/` for recipes.
#[derive(RustEmbed)]
#[folder = "scenarios/data"]
struct Bundled;

/// Whether a file of that folder is data, rather than its origin.
fn is_data(name: &str) -> bool {
    !name.ends_with(".md") && !name.ends_with(".py")
}

/// The longest file that is read: it stays in memory.
const MAX_FILE_BYTES: u64 = 1_000_000_000;

/// The text of the file that a recipe calls `name`.
fn read(name: &str) -> Result<String, Refusal> {
    let mut bytes = Vec::new();
    // Some files, devices among them, have no end.
    let read = std::fs::File::open(name)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map(|_| std::mem::take(&mut bytes));
    let bytes = match read {
        Ok(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => {
            return Err(Refusal::new(format!("`{name}` is longer than 1 GB")).at(0));
        }
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let bundled = name.strip_prefix("data/").filter(|name| is_data(name)).and_then(Bundled::get);
            match bundled {
                Some(file) => file.data.into_owned(),
                None => {
                    let known: Vec<String> = Bundled::iter()
                        .filter(|name| is_data(name))
                        .map(|name| format!("data/{name}"))
                        .collect();
                    return Err(Refusal::new(format!("there is no file `{name}`")).at(0).help(format!(
                        "paths are relative to the working directory; bundled are: {}",
                        known.join(", ")
                    )));
                }
            }
        }
        Err(error) => return Err(Refusal::new(format!("`{name}` cannot be read: {error}")).at(0)),
    };
    String::from_utf8(bytes).map_err(|error| {
        Refusal::new(format!("`{name}` is not UTF-8 at byte {}", error.utf8_error().valid_up_to())).at(0)
    })
}

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&HASHED_FILE_EXTRACT_TO_STRING];

static HASHED_FILE_EXTRACT_TO_STRING: FunctionRow = FunctionRow {
    name: "HashedFileExtractToString",
    category: Category::File,
    doc: "a random-looking extract of a text file, with a length between two bounds or from a function",
    examples: &[Example("HashedFileExtractToString('data/lorem_ipsum_full.txt',9,11)", 10, "bus aerdit ")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[
            Constructor::of(&[Type::String, Type::Int, Type::Int]),
            Constructor::of(&[Type::String, Type::Object]),
        ],
        hashed_file_extract,
    )],
    ..FunctionRow::NEW
};

fn hashed_file_extract(arguments: &Arguments<'_>) -> Result<Function, Refusal> {
    let name = arguments.text(0)?;
    let sizes: Map<i64, i32> = if arguments.count() == 3 {
        let range = ranges::int_between(arguments.int(1)?, arguments.int(2)?)?;
        Arc::new(move |v, _| range(v))
    } else {
        arguments.size(1)?
    };
    let text = Image::utf16(read(name)?);
    let units = i32::try_from(text.units()).map_err(|_| {
        Refusal::new(format!("`{name}` is too large to cut from: over 2^31 characters")).at(0)
    })?;
    if units == 0 {
        return Err(Refusal::new(format!("`{name}` is empty")).at(0));
    }
    Ok(Function::long_to_text(move |v, cx, out| {
        let size = sizes(v, cx)? % units;
        let outside = || {
            EvalError::boxed(
                "StringIndexOutOfBoundsException",
                format!("an extract of {size} characters was asked for"),
            )
        };
        let length = usize::try_from(size).map_err(|_| outside())?;
        let start = hash::int(v) % (units - size);
        let cut =
            usize::try_from(start).ok().and_then(|start| text.cut(start, length)).ok_or_else(outside)?;
        // Half a character is no text: it is written as Java encodes it.
        if cut.half_before {
            out.push(b'?');
        }
        out.extend_from_slice(text.text().get(cut.bytes).unwrap_or_default().as_bytes());
        if cut.half_after && !(cut.half_before && length == 1) {
            out.push(b'?');
        }
        Ok(())
    }))
}
