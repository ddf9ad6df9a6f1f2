//! Times: from numbers of milliseconds to dates and their texts, and to the start of a day, a week, a year in
//! a time zone.

use super::function::Transform;
use super::joda::{self, Pattern};
use super::zone::{self, DAY, HOUR, MINUTE, SECOND, Zone};
use super::{
    Arguments, Build, Category, Constructor, Eval, EvalError, Example, Function, FunctionRow, Overload,
    Refusal, Type, arithmetic,
};
use crate::value::calendar::WEEKDAYS;
use crate::value::{self, Value};
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[
    &CURRENT_EPOCH_MILLIS,
    &CURRENT_TIME_MILLIS,
    &ELAPSED_NANO_TIME,
    &STARTING_EPOCH_MILLIS,
    &TO_DATE,
    &TO_DATE_TIME,
    &TO_JODA_DATE_TIME,
    &TO_JAVA_INSTANT,
    &TO_JODA_INSTANT,
    &TO_LOCAL_TIME,
    &TO_MILLIS_AT_START_OF_SECOND,
    &TO_MILLIS_AT_START_OF_MINUTE,
    &TO_MILLIS_AT_START_OF_HOUR,
    &TO_MILLIS_AT_START_OF_DAY,
    &TO_MILLIS_AT_START_OF_NEXT_DAY,
    &TO_MILLIS_AT_START_OF_MONTH,
    &TO_MILLIS_AT_START_OF_YEAR,
    &TO_MILLIS_AT_START_OF_NAMED_WEEK_DAY,
    &TO_MILLIS_AT_START_OF_NEXT_NAMED_WEEK_DAY,
    &STRING_DATE_WRAPPER,
    &DATE_TIME_PARSER,
];

const NOTHING: &[Constructor] = &[Constructor::of(&[])];
const ONE_TEXT: &[Constructor] = &[Constructor::of(&[Type::String])];

/// An overload of the package of most of these.
const fn of_long(output: Type, constructors: &'static [Constructor], build: Build) -> Overload {
    Overload::new("from_long.to_time_types", Type::Long, output, constructors, build)
}

/// Milliseconds since 1970 by the clock of the machine.
fn now() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
    }
}

static CURRENT_EPOCH_MILLIS: FunctionRow = FunctionRow {
    name: "CurrentEpochMillis",
    category: Category::Time,
    doc: "the time of the clock when the value is made, in milliseconds since 1970",
    notes: "the input does not matter",
    pure: false,
    examples: &[Example("CurrentEpochMillis(); Mod(1)", 5, "0")],
    overloads: &[of_long(Type::Long, NOTHING, |_| Ok(Function::long_to_long(|_, _| Ok(now()))))],
    ..FunctionRow::NEW
};

static CURRENT_TIME_MILLIS: FunctionRow = FunctionRow {
    name: "CurrentTimeMillis",
    category: Category::Time,
    doc: "the time of the clock when the value is made, in milliseconds since 1970",
    notes: "the input does not matter",
    pure: false,
    examples: &[Example("CurrentTimeMillis(); Mod(1)", 5, "0")],
    overloads: &[Overload::new("temporal", Type::Long, Type::Long, NOTHING, |_| {
        Ok(Function::long_to_long(|_, _| Ok(now())))
    })],
    ..FunctionRow::NEW
};

static ELAPSED_NANO_TIME: FunctionRow = FunctionRow {
    name: "ElapsedNanoTime",
    category: Category::Time,
    doc: "nanoseconds by a clock that only goes forward, from some moment of the process on",
    notes: "the input does not matter; only differences mean something",
    pure: false,
    examples: &[Example("ElapsedNanoTime(); Mod(1)", 5, "0")],
    overloads: &[of_long(Type::Long, NOTHING, |_| {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        let start = *START;
        Ok(Function::long_to_long(move |_, _| {
            Ok(i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX))
        }))
    })],
    ..FunctionRow::NEW
};

static STARTING_EPOCH_MILLIS: FunctionRow = FunctionRow {
    name: "StartingEpochMillis",
    category: Category::Time,
    doc: "the input added to a time in UTC, in milliseconds since 1970",
    notes: "times may be written `2017-01-01`, `2017-01-01 23:59:59`, `2017-01-01 23:59:59.000+0000`, \
            `20170101T235959.000Z`, `20170101T235959Z`, `20170101`, `201701` or `2017`",
    examples: &[Example("StartingEpochMillis('2017-01-01 23:59:59')", 1, "1483315199001")],
    overloads: &[of_long(Type::Long, ONE_TEXT, |arguments| {
        let start = joda::base_time(arguments.text(0)?).map_err(|message| Refusal::new(message).at(0))?;
        let headroom = i64::MAX.wrapping_sub(start);
        Ok(Function::long_to_long(move |v, _| Ok(start.wrapping_add(arithmetic::remainder(v, headroom)?))))
    })],
    ..FunctionRow::NEW
};

/// No arguments, a factor, or a factor and a divisor.
const FACTORS: &[Constructor] =
    &[Constructor::of(&[]), Constructor::of(&[Type::Int]), Constructor::of(&[Type::Int, Type::Int])];
/// Joda's date-times take a factor alone as a text.
const JODA_FACTORS: &[Constructor] =
    &[Constructor::of(&[]), Constructor::of(&[Type::String]), Constructor::of(&[Type::Int, Type::Int])];
const FACTOR_NOTES: &str = "the input is multiplied by the first argument and divided by the second, if they are \
                            given, and is then in milliseconds since 1970, UTC";

/// The milliseconds that an input stands for.
fn millis(
    arguments: &Arguments<'_>,
) -> Result<impl Fn(i64) -> Eval<i64> + Send + Sync + Clone + 'static, Refusal> {
    let factor = match arguments.get(0) {
        None => 1,
        Some(super::Argument::Text(text)) => value::parse_int(text)
            .ok_or_else(|| Refusal::new(format!("`{text}` is not a 32-bit integer")).at(0))?,
        Some(_) => arguments.int(0)?,
    };
    let (factor, divisor) =
        (i64::from(factor), if arguments.count() < 2 { 1 } else { i64::from(arguments.int(1)?) });
    Ok(move |v: i64| {
        if divisor == 0 {
            return Err(EvalError::division_by_zero());
        }
        Ok(v.wrapping_mul(factor).wrapping_div(divisor))
    })
}

fn dated(arguments: &Arguments<'_>, make: fn(i64) -> Value) -> Result<Function, Refusal> {
    let millis = millis(arguments)?;
    Ok(Function::long_to_object(move |v, _| Ok(make(millis(v)?))))
}

static TO_DATE: FunctionRow = FunctionRow {
    name: "ToDate",
    category: Category::Time,
    doc: "a number of milliseconds as a date",
    notes: FACTOR_NOTES,
    examples: &[
        Example("ToDate()", 86400000, "Fri Jan 02 00:00:00 UTC 1970"),
        Example("ToDate(86400000,2)", 3, "Fri Jan 02 12:00:00 UTC 1970"),
    ],
    overloads: &[of_long(Type::Date, FACTORS, |arguments| dated(arguments, Value::Date))],
    ..FunctionRow::NEW
};

static TO_DATE_TIME: FunctionRow = FunctionRow {
    name: "ToDateTime",
    category: Category::Time,
    doc: "a number of milliseconds as a date",
    notes: FACTOR_NOTES,
    examples: &[
        Example("ToDateTime()", 1, "1970-01-01T00:00:00.001Z"),
        Example("ToDateTime('1000')", 1, "1970-01-01T00:00:01.000Z"),
        Example("ToDateTime(1000,3)", 1, "1970-01-01T00:00:00.333Z"),
    ],
    overloads: &[of_long(Type::JodaDateTime, JODA_FACTORS, |arguments| {
        dated(arguments, Value::JodaDateTime)
    })],
    ..FunctionRow::NEW
};

static TO_JODA_DATE_TIME: FunctionRow = FunctionRow {
    name: "ToJodaDateTime",
    category: Category::Time,
    doc: "a number of milliseconds as a date",
    notes: FACTOR_NOTES,
    examples: &[Example("ToJodaDateTime()", 1, "1970-01-01T00:00:00.001Z")],
    overloads: &[of_long(Type::JodaDateTime, JODA_FACTORS, |arguments| {
        dated(arguments, Value::JodaDateTime)
    })],
    ..FunctionRow::NEW
};

static TO_JAVA_INSTANT: FunctionRow = FunctionRow {
    name: "ToJavaInstant",
    category: Category::Time,
    doc: "a number of milliseconds as a date, whose text has milliseconds only where there are some",
    notes: FACTOR_NOTES,
    examples: &[
        Example("ToJavaInstant()", 1, "1970-01-01T00:00:00.001Z"),
        Example("ToJavaInstant(1000)", 1, "1970-01-01T00:00:01Z"),
    ],
    overloads: &[of_long(Type::Instant, FACTORS, |arguments| dated(arguments, Value::Instant))],
    ..FunctionRow::NEW
};

static TO_JODA_INSTANT: FunctionRow = FunctionRow {
    name: "ToJodaInstant",
    category: Category::Time,
    doc: "a number of milliseconds as a date, whose text always has milliseconds",
    notes: FACTOR_NOTES,
    examples: &[Example("ToJodaInstant(1000)", 1, "1970-01-01T00:00:01.000Z")],
    overloads: &[of_long(Type::JodaInstant, FACTORS, |arguments| dated(arguments, Value::JodaInstant))],
    ..FunctionRow::NEW
};

static TO_LOCAL_TIME: FunctionRow = FunctionRow {
    name: "ToLocalTime",
    category: Category::Time,
    doc: "the time of day of a number of milliseconds, in UTC or in a zone",
    notes: "the input is multiplied by the first argument and divided by the second; the zone `default` is UTC, \
            whatever that of the machine is",
    examples: &[
        Example("ToLocalTime(1000)", 90, "00:01:30"),
        Example("ToLocalTime(1000,1,'Asia/Kolkata')", 90, "05:31:30"),
    ],
    overloads: &[of_long(
        Type::LocalTime,
        &[
            Constructor::of(&[]),
            Constructor::of(&[Type::Int]),
            Constructor::of(&[Type::Int, Type::Int]),
            Constructor::of(&[Type::Int, Type::Int, Type::String]),
        ],
        |arguments| {
            let millis = millis(arguments)?;
            let zone = match arguments.count() {
                3 if arguments.text(2)? != "default" => zone_at(arguments, 2)?,
                _ => Zone::Utc,
            };
            Ok(Function::long_to_object(move |v, _| {
                let instant = millis(v)?;
                Ok(Value::LocalTime((instant.rem_euclid(DAY) + zone.offset(instant)).rem_euclid(DAY)))
            }))
        },
    )],
    ..FunctionRow::NEW
};

fn zone_at(arguments: &Arguments<'_>, position: usize) -> Result<Zone, Refusal> {
    if arguments.count() <= position {
        return Ok(Zone::Utc);
    }
    Zone::named(arguments.text(position)?).map_err(|message| Refusal::new(message).at(position))
}

/// A function from one time to another in a zone.
fn in_zone(zone: Zone, f: impl Fn(&Zone, i64) -> Eval<i64> + Send + Sync + 'static) -> Function {
    Function::long_to_long(move |v, _| {
        // The ends of time are without a zone in the reference.
        if v == i64::MIN || v == i64::MAX { f(&Zone::Utc, v) } else { f(&zone, v) }
    })
}

/// An optional zone.
const ZONE: &[Constructor] = &[Constructor::of(&[]), Constructor::of(&[Type::String])];
const ZONE_NOTES: &str = "input and result are milliseconds since 1970; without a zone it is UTC. A start beyond \
                          the range of times is an error";

/// A row that rounds times down in a zone.
macro_rules! start_of {
    ($row:ident, $name:literal, $doc:literal, $examples:expr, $f:expr) => {
        static $row: FunctionRow = FunctionRow {
            name: $name,
            category: Category::Time,
            doc: $doc,
            notes: ZONE_NOTES,
            examples: $examples,
            overloads: &[Overload::new(
                "from_long.to_time_types.joda",
                Type::Long,
                Type::Long,
                ZONE,
                |arguments| Ok(in_zone(zone_at(arguments, 0)?, $f)),
            )],
            ..FunctionRow::NEW
        };
    };
}

start_of!(
    TO_MILLIS_AT_START_OF_SECOND,
    "ToMillisAtStartOfSecond",
    "the start of the second that a time is in",
    &[Example("ToMillisAtStartOfSecond()", 12345, "12000")],
    |zone, v| zone.change(v, |local| Ok(zone::floor(local, SECOND)))
);
start_of!(
    TO_MILLIS_AT_START_OF_MINUTE,
    "ToMillisAtStartOfMinute",
    "the start of the minute that a time is in, in a zone",
    &[Example("ToMillisAtStartOfMinute()", 72345, "60000")],
    |zone, v| zone.change(v, |local| zone::checked_floor(local, MINUTE))
);
start_of!(
    TO_MILLIS_AT_START_OF_HOUR,
    "ToMillisAtStartOfHour",
    "the start of the hour that a time is in, in a zone",
    &[Example("ToMillisAtStartOfHour('Asia/Kolkata')", 1800001, "1800000")],
    |zone, v| zone.change(v, |local| zone::checked_floor(local, HOUR))
);
start_of!(
    TO_MILLIS_AT_START_OF_DAY,
    "ToMillisAtStartOfDay",
    "the start of the day that a time is in, in a zone",
    &[
        Example("ToMillisAtStartOfDay()", 86400001, "86400000"),
        Example("ToMillisAtStartOfDay('America/Chicago')", 1, "-64800000"),
    ],
    |zone: &Zone, v| zone.start_of_day(v)
);
start_of!(
    TO_MILLIS_AT_START_OF_NEXT_DAY,
    "ToMillisAtStartOfNextDay",
    "the start of the day after the one that a time is in, in a zone",
    &[Example("ToMillisAtStartOfNextDay()", 1, "86400000")],
    |zone: &Zone, v| zone.start_of_day(zone.plus_days(v, 1)?)
);
start_of!(
    TO_MILLIS_AT_START_OF_MONTH,
    "ToMillisAtStartOfMonth",
    "the start of the month that a time is in, in a zone",
    &[Example("ToMillisAtStartOfMonth('America/Chicago')", 1, "-2656800000")],
    |zone: &Zone, v| zone.change(zone.start_of_day(v)?, zone::first_of_month)
);
start_of!(
    TO_MILLIS_AT_START_OF_YEAR,
    "ToMillisAtStartOfYear",
    "the start of the year that a time is in, in a zone",
    &[Example("ToMillisAtStartOfYear('America/Chicago')", 1, "-31514400000")],
    |zone: &Zone, v| {
        let month = zone.change(zone.start_of_day(v)?, zone::first_of_month)?;
        zone.change(month, zone::january)
    }
);

/// A weekday and a zone, a weekday, or neither.
const WEEKDAY: &[Constructor] =
    &[Constructor::of(&[Type::String, Type::String]), Constructor::of(&[Type::String]), Constructor::of(&[])];

/// From the start of the day that a time is in and that of the named day of the same week, one of them or the
/// week after.
fn to_weekday(arguments: &Arguments<'_>, week_later: fn(bool) -> bool) -> Result<Function, Refusal> {
    let name = if arguments.count() == 0 { "Monday" } else { arguments.text(0)? };
    let weekday = WEEKDAYS.iter().position(|known| known.eq_ignore_ascii_case(name)).ok_or_else(|| {
        Refusal::new(format!("`{name}` is not a weekday"))
            .at(0)
            .help(format!("write one of {}", WEEKDAYS.join(", ")))
    })? as u8
        + 1;
    Ok(in_zone(zone_at(arguments, 1)?, move |zone, v| {
        let today = zone.start_of_day(v)?;
        let day = zone.change(today, |local| zone::day_of_week(local, weekday))?;
        if week_later(day < today) { zone.plus_days(day, 7) } else { Ok(day) }
    }))
}

static TO_MILLIS_AT_START_OF_NAMED_WEEK_DAY: FunctionRow = FunctionRow {
    name: "ToMillisAtStartOfNamedWeekDay",
    category: Category::Time,
    doc: "the start of the named day (Monday, if none is named) in the week that a time is in, in a zone; if that \
          day is not over before, the same day a week later",
    notes: "weeks begin on Monday; NoSQLBench has it so, though it says most recent day. Input and result are \
            milliseconds since 1970",
    examples: &[
        Example("ToMillisAtStartOfNamedWeekDay('Monday')", 1, "-259200000"),
        Example("ToMillisAtStartOfNamedWeekDay('Saturday','America/Chicago')", 1, "799200000"),
    ],
    overloads: &[Overload::new(
        "from_long.to_time_types.joda",
        Type::Long,
        Type::Long,
        WEEKDAY,
        |arguments| to_weekday(arguments, |before| !before),
    )],
    ..FunctionRow::NEW
};

static TO_MILLIS_AT_START_OF_NEXT_NAMED_WEEK_DAY: FunctionRow = FunctionRow {
    name: "ToMillisAtStartOfNextNamedWeekDay",
    category: Category::Time,
    doc: "the start of the named day (Monday, if none is named) that comes next in a zone, which may be the day \
          that a time is in",
    notes: ZONE_NOTES,
    examples: &[Example("ToMillisAtStartOfNextNamedWeekDay('Wednesday')", 1, "518400000")],
    overloads: &[Overload::new(
        "from_long.to_time_types.joda",
        Type::Long,
        Type::Long,
        WEEKDAY,
        |arguments| to_weekday(arguments, |before| before),
    )],
    ..FunctionRow::NEW
};

const PATTERN_NOTES: &str = "patterns are those of Joda-Time (`yyyy-MM-dd'T'HH:mm:ss.SSSZ`), with English names; \
                             zone and language are UTC and English, whatever those of the machine are";

fn pattern(arguments: &Arguments<'_>, text: &str) -> Result<Pattern, Refusal> {
    Pattern::new(text).map_err(|message| {
        let refusal = Refusal::new(message);
        if arguments.count() > 0 { refusal.at(0) } else { refusal }
    })
}

static STRING_DATE_WRAPPER: FunctionRow = FunctionRow {
    name: "StringDateWrapper",
    category: Category::Time,
    doc: "the text of a number of milliseconds in a date pattern",
    notes: PATTERN_NOTES,
    examples: &[Example(
        "Mul(1000); StringDateWrapper(\"yyyy-MM-dd'T'HH:mm:ss\")",
        90,
        "1970-01-01T00:01:30",
    )],
    overloads: &[Overload::new("from_long.to_string", Type::Long, Type::String, ONE_TEXT, |arguments| {
        let pattern = pattern(arguments, arguments.text(0)?)?;
        Ok(Function::long_to_text(move |v, _, out| {
            pattern.print(v, out);
            Ok(())
        }))
    })],
    ..FunctionRow::NEW
};

static DATE_TIME_PARSER: FunctionRow = FunctionRow {
    name: "DateTimeParser",
    category: Category::Time,
    doc: "reads a date in a pattern; a text that has another form gives the second argument's date, or an error \
          if there is none",
    notes: PATTERN_NOTES,
    examples: &[
        Example("FixedValue('2020-02-29'); DateTimeParser('yyyy-MM-dd')", 0, "2020-02-29T00:00:00.000Z"),
        Example("FixedValue('x'); DateTimeParser('yyyy-MM-dd','1999-12-31')", 0, "1999-12-31T00:00:00.000Z"),
    ],
    overloads: &[Overload::new(
        "from_string.to_epoch",
        Type::String,
        Type::JodaDateTime,
        &[
            Constructor::of(&[Type::String, Type::String]),
            Constructor::of(&[Type::String]),
            Constructor::of(&[]),
        ],
        |arguments| {
            let form = if arguments.count() == 0 { "yyyy-MM-dd HH:mm:ss.SSSZ" } else { arguments.text(0)? }
                .to_owned();
            let pattern = pattern(arguments, &form)?;
            let default = if arguments.count() == 2 {
                let text = arguments.text(1)?;
                Some(pattern.parse(text).ok_or_else(|| {
                    Refusal::new(format!("`{text}` is not a time in the form `{form}`")).at(1)
                })?)
            } else {
                None
            };
            Ok(Function::ObjectToObject(Transform::by_value(move |value, _| {
                let text = value.as_text().ok_or_else(|| EvalError::wrong_class(&value, "String"))?;
                let read = pattern.parse(text).or(default);
                read.map(Value::JodaDateTime).ok_or_else(|| joda::unreadable(text, &form))
            })))
        },
    )],
    ..FunctionRow::NEW
};
