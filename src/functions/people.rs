//! Names of people, from lists of the United States Census.

use super::samplers::weighted_column;
use super::{
    Arguments, Category, Constructor, Example, Function, FunctionRow, Overload, Refusal, Type, function,
};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&FIRST_NAMES, &LAST_NAMES, &FULL_NAMES];

const MODES: &[Constructor] = &[Constructor::of(&[]), Constructor::of(&[Type::String])];

/// The argument, if there is one: how names are drawn.
fn mode<'a>(arguments: &Arguments<'a>) -> Result<Option<&'a str>, Refusal> {
    if arguments.count() == 0 {
        return Ok(None);
    }
    match arguments.text(0)? {
        mode @ ("map" | "hash") => Ok(Some(mode)),
        other => Err(Refusal::new(format!("'{other}' is no mode")).at(0).help("known are 'hash' and 'map'")),
    }
}

fn first_names(mode: Option<&str>) -> Result<Function, Refusal> {
    let files = ["data/female_firstnames", "data/male_firstnames"];
    weighted_column("Name", "Weight", &mode.into_iter().chain(files).collect::<Vec<_>>())
}

fn last_names(mode: Option<&str>) -> Result<Function, Refusal> {
    weighted_column("Name", "prop100k", &mode.into_iter().chain(["data/surnames"]).collect::<Vec<_>>())
}

static FIRST_NAMES: FunctionRow = FunctionRow {
    name: "FirstNames",
    category: Category::Premade,
    doc: "first names, as frequent as they were in the United States in 1990",
    notes: "'map' draws by the input itself instead of by its hash",
    examples: &[Example("FirstNames()", 0, "Norman"), Example("FirstNames('map')", 0, "Leigh")],
    overloads: &[Overload::new("@realer", Type::Long, Type::String, MODES, |arguments| {
        first_names(mode(arguments)?)
    })],
    ..FunctionRow::NEW
};

static LAST_NAMES: FunctionRow = FunctionRow {
    name: "LastNames",
    category: Category::Premade,
    doc: "last names, as frequent as they were in the United States in 2010",
    notes: "nbrs has the 1,022 most frequent; a file `data/surnames.csv` with columns `Name` and `prop100k` below the \
            working directory is taken instead, such as the one that NoSQLBench has. 'map' draws by the input itself \
            instead of by its hash",
    examples: &[Example("LastNames()", 0, "Mora")],
    overloads: &[Overload::new("@realer", Type::Long, Type::String, MODES, |arguments| {
        last_names(mode(arguments)?)
    })],
    ..FunctionRow::NEW
};

static FULL_NAMES: FunctionRow = FunctionRow {
    name: "FullNames",
    category: Category::Premade,
    doc: "first and last names",
    notes: "`FirstNames` of the cycle, `LastNames` of the next",
    examples: &[Example("FullNames()", 0, "Norman Galindo")],
    overloads: &[Overload::new("@realer", Type::Long, Type::String, &[Constructor::of(&[])], |_| {
        match (first_names(None)?, last_names(None)?) {
            (Function::LongToObject(first), Function::LongToObject(last)) => {
                Ok(Function::LongToObject(function::by_text(move |v: i64, cx, out| {
                    first.write(v, cx, out)?;
                    out.push(b' ');
                    last.write(v.wrapping_add(1), cx, out)
                })))
            }
            _ => Err(Refusal::new("names are no functions to text")),
        }
    })],
    ..FunctionRow::NEW
};
