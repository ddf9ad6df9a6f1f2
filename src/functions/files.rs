//! Functions that read a file, once, when they are built: the user's file of that name below the working
//! directory, else the one that is bundled.

use super::function::{OfNull, Transform};
use super::image::Image;
use super::java_regex::JavaRegex;
use super::{
    Arguments, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Map, Overload,
    Refusal, Type, hash, ranges,
};
use crate::value::{self, JavaHashMap, Value};
use rust_embed::RustEmbed;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

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

/// The bytes of a user's file; `None` if there is none of that name.
fn read_local(name: &str) -> Result<Option<Vec<u8>>, Refusal> {
    let mut bytes = Vec::new();
    // Some files, devices among them, have no end.
    match std::fs::File::open(name).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > MAX_FILE_BYTES => {
            Err(Refusal::new(format!("`{name}` is longer than 1 GB")))
        }
        Ok(_) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Refusal::new(format!("`{name}` cannot be read: {error}"))),
    }
}

/// The text of the first of `names` that there is: as a user's file below the working directory, else
/// bundled.
pub(super) fn read_first(names: &[&str]) -> Result<String, Refusal> {
    let mut found = None;
    for name in names {
        found = read_local(name)?.map(|bytes| (*name, bytes));
        if found.is_some() {
            break;
        }
    }
    let found = found.or_else(|| {
        names.iter().find_map(|name| {
            let within = name.strip_prefix("data/").filter(|within| is_data(within))?;
            Some((*name, Bundled::get(within)?.data.into_owned()))
        })
    });
    let Some((name, bytes)) = found else {
        let name = names.first().copied().unwrap_or_default();
        let known: Vec<String> =
            Bundled::iter().filter(|name| is_data(name)).map(|name| format!("data/{name}")).collect();
        let help = if name.contains("://") {
            "files are read from the local disk alone: save it there first".to_owned()
        } else {
            format!("paths are relative to the working directory; bundled are: {}", known.join(", "))
        };
        return Err(Refusal::new(format!("there is no file `{name}`")).help(help));
    };
    String::from_utf8(bytes).map_err(|error| {
        Refusal::new(format!("`{name}` is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })
}

/// The text of the file that a recipe calls `name`.
pub fn read(name: &str) -> Result<String, Refusal> {
    read_first(&[name])
}

/// The lines of a file, which may be named without its `data/` too. Only LF ends a line, and empty lines at
/// the end do not count; a file without anything has one empty line.
pub fn lines(name: &str) -> Result<Vec<String>, Refusal> {
    let text = read_first(&[name, &format!("data/{name}")])?;
    if text.is_empty() {
        return Ok(vec![String::new()]);
    }
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    Ok(lines)
}

/// [`lines`] of a file that must have some.
fn some_lines(arguments: &Arguments<'_>) -> Result<Vec<String>, Refusal> {
    let name = arguments.text(0)?;
    let lines = lines(name).map_err(|refusal| refusal.at(0))?;
    if lines.is_empty() {
        return Err(Refusal::new(format!("`{name}` has no lines")).at(0));
    }
    Ok(lines)
}

/// A table of texts: the first line of the file names the columns. Rows may be shorter or longer than it.
pub struct Table {
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The table in a file of comma-separated values, quoted as RFC 4180 has it. Empty lines do not count.
pub fn table(name: &str) -> Result<Table, Refusal> {
    let text = read(name)?;
    let wrong = |error: csv::Error| Refusal::new(format!("`{name}` is not a CSV file: {error}"));
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let fields = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let header = fields(reader.headers().map_err(wrong)?);
    let rows =
        reader.records().map(|record| Ok(fields(&record.map_err(wrong)?))).collect::<Result<_, _>>()?;
    Ok(Table { header, rows })
}

impl Table {
    /// Where the column `name` is.
    pub fn column(&self, name: &str) -> Result<usize, Refusal> {
        self.header.iter().position(|column| column == name).ok_or_else(|| {
            Refusal::new(format!("there is no column `{name}`"))
                .help(format!("the columns are: {}", self.header.join(", ")))
        })
    }

    /// The values of the column `name`, row by row.
    pub fn values(&self, name: &str) -> Result<Vec<String>, Refusal> {
        let column = self.column(name)?;
        self.rows
            .iter()
            .enumerate()
            .map(|(position, row)| {
                row.get(column).cloned().ok_or_else(|| {
                    Refusal::new(format!(
                        "row {} has {} fields, too few for the column `{name}`",
                        position + 1,
                        row.len()
                    ))
                })
            })
            .collect()
    }
}

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &HASHED_FILE_EXTRACT_TO_STRING,
    &HASHED_LOREM_EXTRACT_TO_STRING,
    &HASHED_LINE_TO_STRING,
    &HASHED_LINE_TO_INT,
    &HASHED_LINE_TO_STRING_LIST,
    &HASHED_LINE_TO_STRING_SET,
    &HASHED_LINE_TO_STRING_STRING_MAP,
    &HASHED_LINES_TO_KEY_VALUE_STRING,
    &MODULO_LINE_TO_STRING,
    &MODULO_CSV_LINE_TO_STRING,
    &MODULO_LINE_OF_FILE,
    &FIRST_LINES,
    &DIRECTORY_LINES,
];

const FILE: &[Constructor] = &[Constructor::of(&[Type::String])];
const FILE_AND_BOUNDS: &[Constructor] = &[Constructor::of(&[Type::String, Type::Int, Type::Int])];

static HASHED_FILE_EXTRACT_TO_STRING: FunctionRow = FunctionRow {
    name: "HashedFileExtractToString",
    category: Category::File,
    doc: "a random-looking extract of a text file, with a length between two bounds or from a function",
    notes: "lengths are in UTF-16 units, as Java counts: a character outside the first 65,536 is two, and half \
            of one at an end of the extract becomes `?`",
    examples: &[Example("HashedFileExtractToString('data/lorem_ipsum_full.txt',9,11)", 10, "bus aerdit ")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[
            Constructor::of(&[Type::String, Type::Int, Type::Int]),
            Constructor::of(&[Type::String, Type::Object]),
        ],
        |arguments| {
            let sizes =
                if arguments.count() == 3 { sizes_between(arguments, 1)? } else { arguments.size(1)? };
            extracts(arguments.text(0)?, sizes).map_err(|refusal| refusal.at(0))
        },
    )],
    ..FunctionRow::NEW
};

static HASHED_LOREM_EXTRACT_TO_STRING: FunctionRow = FunctionRow {
    name: "HashedLoremExtractToString",
    category: Category::File,
    doc: "a random-looking extract of data/lorem_ipsum_full.txt, with a length between two bounds",
    notes: "the bundled text is our own, so these are not the values of NoSQLBench: a file of that name below \
            the working directory is taken instead",
    examples: &[Example("HashedLoremExtractToString(9,11)", 10, "bus aerdit ")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::Int, Type::Int])],
        |arguments| extracts("data/lorem_ipsum_full.txt", sizes_between(arguments, 0)?),
    )],
    ..FunctionRow::NEW
};

fn sizes_between(arguments: &Arguments<'_>, position: usize) -> Result<Map<i64, i32>, Refusal> {
    let range = ranges::int_between(arguments.int(position)?, arguments.int(position + 1)?)?;
    Ok(Arc::new(move |v, _| range(v)))
}

fn extracts(name: &str, sizes: Map<i64, i32>) -> Result<Function, Refusal> {
    let text = Image::utf16(read(name)?);
    let units = i32::try_from(text.units())
        .map_err(|_| Refusal::new(format!("`{name}` is too large to cut from: over 2^31 characters")))?;
    if units == 0 {
        return Err(Refusal::new(format!("`{name}` is empty")));
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

/// Chooses a line by the hash of a number.
#[derive(Clone)]
struct HashedLine(Arc<[String]>);

impl HashedLine {
    fn of(arguments: &Arguments<'_>) -> Result<HashedLine, Refusal> {
        Ok(HashedLine(some_lines(arguments)?.into()))
    }

    fn line(&self, v: i64) -> Eval<&str> {
        // The remainder of a negative hash (there is one) loses its sign in the mask, and is then no line.
        let position = (hash::long(v) % self.0.len() as i64) & i64::from(i32::MAX);
        line_at(&self.0, position)
    }
}

fn line_at(lines: &[String], position: i64) -> Eval<&str> {
    usize::try_from(position).ok().and_then(|position| lines.get(position)).map(String::as_str).ok_or_else(
        || {
            EvalError::boxed(
                "ArrayIndexOutOfBoundsException",
                format!("there is no line {position} among {}", lines.len()),
            )
        },
    )
}

static HASHED_LINE_TO_STRING: FunctionRow = FunctionRow {
    name: "HashedLineToString",
    category: Category::File,
    doc: "a random-looking line of a file",
    examples: &[Example("HashedLineToString('data/variable_words.txt')", 5, "inlet_current")],
    overloads: &[Overload::new("from_long.to_string", Type::Long, Type::String, FILE, |arguments| {
        let lines = HashedLine::of(arguments)?;
        Ok(Function::long_to_text(move |v, _, out| {
            out.extend_from_slice(lines.line(v)?.as_bytes());
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static HASHED_LINE_TO_INT: FunctionRow = FunctionRow {
    name: "HashedLineToInt",
    category: Category::File,
    doc: "a random-looking line of a file of integers",
    notes: "each line must be a 32-bit integer and nothing else",
    examples: &[Example("HashedLineToInt('data/numbers.txt')", 1, "5")],
    overloads: &[Overload::new("from_long.to_int", Type::Long, Type::Int, FILE, |arguments| {
        let name = arguments.text(0)?;
        let values = lines(name)
            .map_err(|refusal| refusal.at(0))?
            .iter()
            .enumerate()
            .map(|(position, line)| {
                value::parse_int(line).ok_or_else(|| {
                    Refusal::new(format!(
                        "line {} of `{name}` is not a 32-bit integer: {line:?}",
                        position + 1
                    ))
                    .at(0)
                })
            })
            .collect::<Result<Vec<i32>, Refusal>>()?;
        Ok(Function::long_to_int(move |v, _| {
            let count = values.len() as i64;
            let position =
                i64::from(hash::int(v)).checked_rem(count).ok_or_else(EvalError::division_by_zero)?;
            Ok(values.get(position as usize).copied().unwrap_or_default())
        }))
    })],
    ..FunctionRow::NEW
};

/// The lines that a collection of lines is made of: as many as a hash says, of the input and the numbers
/// after it.
fn hashed_lines(
    arguments: &Arguments<'_>,
) -> Result<impl Fn(i64) -> Eval<Vec<Value>> + Send + Sync + 'static, Refusal> {
    let lines = HashedLine::of(arguments)?;
    let (least, most) = (i64::from(arguments.int(1)?), i64::from(arguments.int(2)?));
    if most < least {
        return Err(Refusal::new("the least size is above the greatest").help("write the least size first"));
    }
    Ok(move |v: i64| {
        let size = least + hash::long(v) % (most - least + 1);
        // A size below 0 is none.
        (0..super::collections::checked_size(size.max(0))? as i64)
            .map(|i| Ok(Value::Text(lines.line(v.wrapping_add(i))?.to_owned())))
            .collect()
    })
}

static HASHED_LINE_TO_STRING_LIST: FunctionRow = FunctionRow {
    name: "HashedLineToStringList",
    category: Category::File,
    doc: "a list of random-looking lines of a file, with a size between two bounds",
    examples: &[Example(
        "HashedLineToStringList('data/variable_words.txt',2,3)",
        1,
        "[panel_noise, roof_load]",
    )],
    overloads: &[Overload::new(
        "from_long.to_collection",
        Type::Long,
        Type::List,
        FILE_AND_BOUNDS,
        |arguments| {
            let lines = hashed_lines(arguments)?;
            Ok(Function::long_to_object(move |v, _| Ok(Value::List(lines(v)?))))
        },
    )],
    ..FunctionRow::NEW
};

static HASHED_LINE_TO_STRING_SET: FunctionRow = FunctionRow {
    name: "HashedLineToStringSet",
    category: Category::File,
    doc: "a set of random-looking lines of a file: as many draws as are between two bounds, and so at most that \
          many elements",
    examples: &[Example(
        "HashedLineToStringSet('data/variable_words.txt',2,3)",
        1,
        "[roof_load, panel_noise]",
    )],
    overloads: &[Overload::new(
        "from_long.to_collection",
        Type::Long,
        Type::Set,
        FILE_AND_BOUNDS,
        |arguments| {
            let lines = hashed_lines(arguments)?;
            Ok(Function::long_to_object(move |v, _| {
                let mut set = JavaHashMap::default();
                for line in lines(v)? {
                    set.put(line, ());
                }
                Ok(Value::Set(set.into_pairs().into_iter().map(|(line, ())| line).collect()))
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// The one line that a map of lines holds, if it holds any: the reference puts the same entry again and
/// again.
fn line_of_map(
    arguments: &Arguments<'_>,
) -> Result<impl Fn(i64) -> Eval<Option<String>> + Send + Sync + 'static, Refusal> {
    let lines = HashedLine::of(arguments)?;
    let sizes = ranges::int_between(0, arguments.int(1)?.wrapping_sub(1))?;
    Ok(move |v: i64| if sizes(v)? > 0 { Ok(Some(lines.line(v)?.to_owned())) } else { Ok(None) })
}

static HASHED_LINE_TO_STRING_STRING_MAP: FunctionRow = FunctionRow {
    name: "HashedLineToStringStringMap",
    category: Category::File,
    doc: "a map of one random-looking line of a file to itself, or now and then an empty one",
    notes: "the second argument only sets how seldom the map is empty: once in that many",
    examples: &[Example(
        "HashedLineToStringStringMap('data/variable_words.txt',4)",
        1,
        "{panel_noise=panel_noise}",
    )],
    overloads: &[Overload::new(
        "from_long.to_collection",
        Type::Long,
        Type::Map,
        &[Constructor::of(&[Type::String, Type::Int])],
        |arguments| {
            let line = line_of_map(arguments)?;
            Ok(Function::long_to_object(move |v, _| {
                let entries = line(v)?.map(|line| (Value::Text(line.clone()), Value::Text(line)));
                Ok(Value::Map(entries.into_iter().collect()))
            }))
        },
    )],
    ..FunctionRow::NEW
};

static HASHED_LINES_TO_KEY_VALUE_STRING: FunctionRow = FunctionRow {
    name: "HashedLinesToKeyValueString",
    category: Category::File,
    doc: "the text `line:line;` of a random-looking line of a file, or now and then an empty text",
    notes: "the second argument only sets how seldom the text is empty: once in that many",
    examples: &[Example(
        "HashedLinesToKeyValueString('data/variable_words.txt',4)",
        1,
        "panel_noise:panel_noise;",
    )],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::String, Type::Int])],
        |arguments| {
            let line = line_of_map(arguments)?;
            Ok(Function::long_to_text(move |v, _, out| {
                if let Some(line) = line(v)? {
                    out.extend_from_slice(format!("{line}:{line};").as_bytes());
                }
                Ok(())
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// Cycles through lines.
fn cycled(lines: Vec<String>) -> Function {
    Function::long_to_text(move |v, _, out| {
        let position = super::arithmetic::remainder(v, lines.len() as i64)?;
        out.extend_from_slice(line_at(&lines, position)?.as_bytes());
        Ok(())
    })
}

static MODULO_LINE_TO_STRING: FunctionRow = FunctionRow {
    name: "ModuloLineToString",
    category: Category::File,
    doc: "the lines of a file, one after the other, and again from the first",
    notes: "a negative input that is no multiple of the number of lines is an error",
    examples: &[Example("ModuloLineToString('data/variable_words.txt')", 0, "inlet_current")],
    overloads: &[Overload::new("from_long.to_string", Type::Long, Type::String, FILE, |arguments| {
        Ok(cycled(lines(arguments.text(0)?).map_err(|refusal| refusal.at(0))?))
    })],
    ..FunctionRow::NEW
};

static MODULO_CSV_LINE_TO_STRING: FunctionRow = FunctionRow {
    name: "ModuloCSVLineToString",
    category: Category::File,
    doc: "the values of a column of a CSV file, one after the other, and again from the first",
    notes: "the first line names the columns, in the case given; a negative input that is no multiple of the \
            number of rows is an error",
    examples: &[Example("ModuloCSVLineToString('data/us_places.csv','city')", 0, "New York")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::String, Type::String])],
        |arguments| {
            let table = table(arguments.text(0)?).map_err(|refusal| refusal.at(0))?;
            Ok(cycled(table.values(arguments.text(1)?).map_err(|refusal| refusal.at(1))?))
        },
    )],
    ..FunctionRow::NEW
};

static MODULO_LINE_OF_FILE: FunctionRow = FunctionRow {
    name: "ModuloLineOfFile",
    category: Category::File,
    doc: "the numbers of a file's lines from 0 up, and again from 0",
    examples: &[
        Example("ModuloLineOfFile('data/variable_words.txt')", 101, "1"),
        Example("ModuloLineOfFile('data/variable_words.txt') -> int", 99, "99"),
    ],
    overloads: &[
        Overload::new("from_long.to_int", Type::Long, Type::Int, FILE, |arguments| {
            let count = some_lines(arguments)?.len() as i64;
            Ok(Function::long_to_int(move |v, _| Ok((v % count % i64::from(i32::MAX)) as i32)))
        }),
        Overload::new("from_long.to_long", Type::Long, Type::Long, FILE, |arguments| {
            let count = some_lines(arguments)?.len() as i64;
            Ok(Function::long_to_long(move |v, _| Ok(v % count)))
        }),
    ],
    ..FunctionRow::NEW
};

static FIRST_LINES: FunctionRow = FunctionRow {
    name: "FirstLines",
    category: Category::File,
    doc: "the first line of a file, or with a number over 1 so many first lines less one, without their ends",
    notes: "the input does not matter; `FirstLines(file,n)` joins n-1 lines, as NoSQLBench does",
    examples: &[Example("Identity(); FirstLines('data/variable_words.txt')", 5, "inlet_current")],
    overloads: &[Overload::new(
        "unary_string",
        Type::Object,
        Type::String,
        &[Constructor::of(&[Type::String]), Constructor::of(&[Type::String, Type::BoxedInt])],
        |arguments| {
            let count = if arguments.count() == 1 { 1 } else { arguments.int(1)? };
            let lines = some_lines(arguments)?;
            let count = match usize::try_from(count) {
                Ok(0) | Err(_) => return Err(Refusal::new("the number of lines is below 1").at(1)),
                Ok(1) => 1,
                Ok(count) => count.min(lines.len()) - 1,
            };
            let text = lines.get(..count).unwrap_or_default().concat();
            Ok(constant_text(text))
        },
    )],
    ..FunctionRow::NEW
};

/// The same text for any value.
pub fn constant_text(text: String) -> Function {
    Function::ObjectToObject(Transform::by_text(OfNull::Text, move |out, from, _| {
        out.truncate(from);
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }))
}

static DIRECTORY_LINES: FunctionRow = FunctionRow {
    name: "DirectoryLines",
    category: Category::File,
    doc: "the lines of all files below a folder whose paths match a regular expression, one after the other in \
          the order of calls, and again from the first",
    notes: "the input does not matter: all threads draw from one sequence. Folders are followed ten deep, files \
            are in the order of their paths, and each is read when its turn comes",
    pure: false,
    examples: &[Example("DirectoryLines('scenarios/data','.*/variable_words[.]txt')", 0, "inlet_current")],
    overloads: &[Overload::new(
        "from_long.to_string",
        Type::Long,
        Type::String,
        &[Constructor::of(&[Type::String, Type::String])],
        |arguments| {
            let lines = Mutex::new(DirectoryCursor::open(arguments)?);
            Ok(Function::long_to_text(move |_, _, out| {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.next(out)
            }))
        },
    )],
    ..FunctionRow::NEW
};

/// A place among the lines of several files.
struct DirectoryCursor {
    paths: Vec<String>,
    /// The file after the one that `lines` are of.
    next_path: usize,
    lines: std::vec::IntoIter<String>,
}

impl DirectoryCursor {
    fn open(arguments: &Arguments<'_>) -> Result<DirectoryCursor, Refusal> {
        let folder = arguments.text(0)?;
        let pattern = JavaRegex::new(arguments.text(1)?).map_err(|message| Refusal::new(message).at(1))?;
        let mut paths = Vec::new();
        collect_files(Path::new(folder), 10, &mut paths)
            .map_err(|error| Refusal::new(format!("`{folder}` cannot be read: {error}")).at(0))?;
        let mut kept = Vec::new();
        for path in paths {
            let path = path.to_string_lossy().into_owned();
            let matches =
                pattern.matches(&path).map_err(|message| Refusal::new(message.to_string()).at(1))?;
            if matches {
                kept.push(path);
            }
        }
        if kept.is_empty() {
            return Err(Refusal::new(format!("no file below `{folder}` matches")).at(1));
        }
        kept.sort();
        let mut cursor = DirectoryCursor { paths: kept, next_path: 0, lines: Vec::new().into_iter() };
        cursor.open_next().map_err(|refusal| refusal.at(0))?;
        Ok(cursor)
    }

    fn open_next(&mut self) -> Result<(), Refusal> {
        let Some(path) = self.paths.get(self.next_path) else { return Ok(()) };
        self.lines = read(path)?.lines().map(str::to_owned).collect::<Vec<_>>().into_iter();
        self.next_path += 1;
        Ok(())
    }

    fn next(&mut self, out: &mut Vec<u8>) -> Eval<()> {
        let mut empty = 0;
        loop {
            if let Some(line) = self.lines.next() {
                out.extend_from_slice(line.as_bytes());
                return Ok(());
            }
            if empty > self.paths.len() {
                return Err(EvalError::boxed("NoSuchElementException", "the files have no lines"));
            }
            empty += 1;
            if self.next_path >= self.paths.len() {
                self.next_path = 0;
            }
            self.open_next().map_err(|refusal| EvalError::boxed("IOException", refusal.message))?;
        }
    }
}

fn collect_files(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        path.metadata()?;
        found.push(path.to_owned());
        return Ok(());
    }
    if depth > 0 {
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            // What cannot be looked at is passed over, as a broken link is.
            if path.is_dir() || path.is_file() {
                collect_files(&path, depth - 1, found)?;
            }
        }
    }
    Ok(())
}
