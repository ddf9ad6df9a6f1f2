//! Countries, and places of the United States.

use super::samplers::sampled_column;
use super::{Category, Constructor, Example, Function, FunctionRow, Overload, Refusal, Type};
use std::path::Path;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &COUNTRY_NAMES,
    &COUNTRY_CODES,
    &CITIES,
    &CITIES_BY_POPULATION,
    &CITIES_BY_DENSITY,
    &COUNTIES,
    &COUNTIES_BY_POPULATION,
    &COUNTIES_BY_DENSITY,
    &STATE_CODES,
    &STATE_CODES_BY_POPULATION,
    &STATE_CODES_BY_DENSITY,
    &STATE_NAMES,
    &STATE_NAMES_BY_POPULATION,
    &STATE_NAMES_BY_DENSITY,
    &TIME_ZONES,
    &TIME_ZONES_BY_POPULATION,
    &TIME_ZONES_BY_DENSITY,
    &ZIP_CODES,
    &ZIP_CODES_BY_POPULATION,
    &ZIP_CODES_BY_DENSITY,
];

/// Distinct entries of a column of the countries, all alike.
fn countries(column: &str) -> Result<Function, Refusal> {
    sampled_column(column, "n/a", &["name", "data/countries.csv"])
}

/// Distinct entries of a column of the places, all alike or as often as they are there: of the user's file,
/// if there is one under the reference's name, else of the bundled one.
fn places(column: &str, alike: bool) -> Result<Function, Refusal> {
    const USERS: &str = "data/simplemaps/uszips.csv";
    let file = if Path::new(USERS).exists() { USERS } else { "data/us_places.csv" };
    let words = if alike { &["name", file][..] } else { &[file][..] };
    sampled_column(column, "n/a", words)
}

macro_rules! place {
    ($row:ident, $name:literal, $doc:literal, $notes:expr, $example:literal, $build:expr) => {
        static $row: FunctionRow = FunctionRow {
            name: $name,
            category: Category::Premade,
            doc: $doc,
            notes: $notes,
            examples: &[Example(concat!($name, "()"), 0, $example)],
            overloads: &[Overload::new("@realer", Type::Long, Type::String, &[Constructor::of(&[])], |_| {
                $build
            })],
            ..FunctionRow::NEW
        };
    };
}

const PLACES: &str = "of a list of 121 cities; a file `data/simplemaps/uszips.csv` below the working directory, such \
                      as the one that NoSQLBench has, is taken instead";
const ROWS_OF_PLACES: &str = "as often as there are rows of it, as in NoSQLBench, of a list of 121 cities; a file \
                              `data/simplemaps/uszips.csv` below the working directory, such as the one that \
                              NoSQLBench has, is taken instead";
const COUNTIES_ARE_CITIES: &str = "yields cities, as NoSQLBench does, of a list of 121; a file \
                                   `data/simplemaps/uszips.csv` below the working directory, such as the one that \
                                   NoSQLBench has, is taken instead; for counties write \
                                   `CSVSampler('county_name','n/a','name','data/us_places')`";

place!(
    COUNTRY_NAMES,
    "CountryNames",
    "names of countries, all alike",
    "",
    "Antarctica",
    countries("COUNTRY_NAME")
);
place!(
    COUNTRY_CODES,
    "CountryCodes",
    "codes of countries of two letters, all alike",
    "",
    "CO",
    countries("COUNTRY_CODE")
);
place!(CITIES, "Cities", "names of cities, all alike", PLACES, "Portland", places("city", true));
place!(
    CITIES_BY_POPULATION,
    "CitiesByPopulation",
    "names of cities",
    ROWS_OF_PLACES,
    "Portland",
    places("city", false)
);
place!(
    CITIES_BY_DENSITY,
    "CitiesByDensity",
    "names of cities",
    ROWS_OF_PLACES,
    "Portland",
    places("city", false)
);
place!(
    COUNTIES,
    "Counties",
    "names of cities, all alike",
    COUNTIES_ARE_CITIES,
    "Portland",
    places("city", true)
);
place!(
    COUNTIES_BY_POPULATION,
    "CountiesByPopulation",
    "names of counties",
    ROWS_OF_PLACES,
    "Virginia Beach",
    places("county_name", false)
);
place!(
    COUNTIES_BY_DENSITY,
    "CountiesByDensity",
    "names of counties",
    ROWS_OF_PLACES,
    "Virginia Beach",
    places("county_name", false)
);
place!(STATE_CODES, "StateCodes", "codes of states, all alike", PLACES, "AK", places("state_id", true));
place!(
    STATE_CODES_BY_POPULATION,
    "StateCodesByPopulation",
    "codes of states",
    ROWS_OF_PLACES,
    "NC",
    places("state_id", false)
);
place!(
    STATE_CODES_BY_DENSITY,
    "StateCodesByDensity",
    "codes of states",
    ROWS_OF_PLACES,
    "NC",
    places("state_id", false)
);
place!(
    STATE_NAMES,
    "StateNames",
    "names of states, all alike",
    PLACES,
    "Connecticut",
    places("state_name", true)
);
place!(
    STATE_NAMES_BY_POPULATION,
    "StateNamesByPopulation",
    "names of states",
    ROWS_OF_PLACES,
    "Maine",
    places("state_name", false)
);
place!(
    STATE_NAMES_BY_DENSITY,
    "StateNamesByDensity",
    "names of states",
    ROWS_OF_PLACES,
    "Maine",
    places("state_name", false)
);
place!(
    TIME_ZONES,
    "TimeZones",
    "names of time zones, all alike",
    PLACES,
    "America/Chicago",
    places("timezone", true)
);
place!(
    TIME_ZONES_BY_POPULATION,
    "TimeZonesByPopulation",
    "names of time zones",
    ROWS_OF_PLACES,
    "America/New_York",
    places("timezone", false)
);
place!(
    TIME_ZONES_BY_DENSITY,
    "TimeZonesByDensity",
    "names of time zones",
    ROWS_OF_PLACES,
    "America/New_York",
    places("timezone", false)
);
place!(ZIP_CODES, "ZipCodes", "postal codes, all alike", PLACES, "55101", places("zip", true));
place!(
    ZIP_CODES_BY_POPULATION,
    "ZipCodesByPopulation",
    "postal codes",
    ROWS_OF_PLACES,
    "55101",
    places("zip", false)
);
place!(
    ZIP_CODES_BY_DENSITY,
    "ZipCodesByDensity",
    "postal codes",
    ROWS_OF_PLACES,
    "55101",
    places("zip", false)
);
