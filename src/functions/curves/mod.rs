//! Statistical curves: a hash (or the input itself) brought through an inverse cumulative distribution
//! function, by default through a table of a thousand points with straight lines between.
//!
//! Every curve comes in classes by what they take and give; all draw from the samplers here, with the
//! reference's slips kept (table ends, clamping bounds, hashes), since its values depend on them.

pub mod uniform;

use super::{Arguments, Eval, EvalError, Function, Refusal, hash};

const RESOLUTION: usize = 1000;
/// 2^63 − 1 as a double, which is 2^63.
const MAX_LONG: f64 = i64::MAX as f64;
const MAX_INT: f64 = i32::MAX as f64;

/// What the texts behind a curve's numbers turn on and off.
#[derive(Debug, Clone, Copy)]
struct Modifiers {
    hash: bool,
    interpolate: bool,
    clamp: bool,
    finite: bool,
}

/// The texts from argument `from` on. Discrete curves know the first two pairs only.
fn modifiers(arguments: &Arguments<'_>, from: usize, continuous: bool) -> Result<Modifiers, Refusal> {
    const PAIRS: [(&str, &str); 4] =
        [("hash", "map"), ("interpolate", "compute"), ("clamp", "noclamp"), ("finite", "infinite")];
    let pairs = if continuous { &PAIRS[..] } else { &PAIRS[..2] };
    let mut on = [false; 4];
    let mut off = [false; 4];
    for position in from..arguments.count() {
        let word = arguments.text(position)?;
        let Some(pair) = pairs.iter().position(|(yes, no)| word == *yes || word == *no) else {
            let known: Vec<String> = pairs.iter().map(|(yes, no)| format!("'{yes}' or '{no}'")).collect();
            let kind = if continuous { "continuous" } else { "discrete" };
            return Err(Refusal::new(format!("'{word}' is no modifier of a {kind} curve"))
                .at(position)
                .help(format!("known are {}", known.join(", "))));
        };
        if word == pairs[pair].0 {
            on[pair] = true;
        } else {
            off[pair] = true;
        }
        if on[pair] && off[pair] {
            let (yes, no) = pairs[pair];
            return Err(Refusal::new(format!("'{yes}' and '{no}' exclude each other")).at(position));
        }
    }
    Ok(Modifiers { hash: !off[0], interpolate: !off[1], clamp: !off[2], finite: !off[3] })
}

#[cold]
fn outside() -> Box<EvalError> {
    EvalError::boxed(
        "ArrayIndexOutOfBoundsException",
        "the input is outside the curve's table: with 'map' it must not be negative",
    )
}

#[cold]
fn no_probability(p: f64) -> Box<EvalError> {
    EvalError::boxed("DistributionException", format!("{p} is no probability from 0 to 1"))
}

/// Reads the table at `point`, on the line between two entries.
#[inline]
fn sample(table: &[f64], point: f64) -> Eval<f64> {
    let left = point as i32;
    let fraction = point - f64::from(left);
    match usize::try_from(left).ok().and_then(|left| table.get(left..left + 2)) {
        Some([low, high]) => Ok(low * (1.0 - fraction) + high * fraction),
        _ => Err(outside()),
    }
}

fn probability(p: f64) -> Eval<f64> {
    if (0.0..=1.0).contains(&p) { Ok(p) } else { Err(no_probability(p)) }
}

/// The points of a table.
fn points(icdf: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..RESOLUTION).map(|point| icdf(point as f64 / RESOLUTION as f64)).collect()
}

/// Clamped as `max(low, min(high, value))` of Java, which keeps NaN.
fn clamped(value: f64, low: f64, high: f64) -> f64 {
    if value.is_nan() { value } else { value.min(high).max(low) }
}

/// Clamping of the computed samplers starts at the smallest positive double, whatever was meant.
const LEAST_COMPUTED: f64 = 5e-324;

/// A continuous curve from long to double, from its inverse cumulative distribution function.
fn continuous_long_double(
    icdf: impl Fn(f64) -> f64 + Send + Sync + 'static,
    arguments: &Arguments<'_>,
    from: usize,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, true)?;
    let draw = move |v| if modifiers.hash { hash::long(v) } else { v };
    if !modifiers.interpolate {
        return Ok(Function::long_to_double(move |v, _| {
            Ok(clamped(icdf(probability(draw(v) as f64 / MAX_LONG)?), LEAST_COMPUTED, MAX_LONG))
        }));
    }
    let mut table = points(icdf);
    if modifiers.clamp {
        table.iter_mut().for_each(|q| *q = clamped(*q, -MAX_LONG, MAX_LONG));
    }
    if modifiers.finite {
        let start = table.iter().take_while(|q| q.is_infinite()).count();
        table.drain(..start);
        while table.last().is_some_and(|q| q.is_infinite()) {
            table.pop();
        }
    }
    table.push(0.0);
    let scale = (1.0 / MAX_LONG) * (table.len() as f64 - 2.0);
    Ok(Function::long_to_double(move |v, _| sample(&table, scale * draw(v) as f64)))
}

/// A continuous curve from int to double.
fn continuous_int_double(
    icdf: impl Fn(f64) -> f64 + Send + Sync + 'static,
    arguments: &Arguments<'_>,
    from: usize,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, true)?;
    if !modifiers.interpolate {
        return Ok(Function::int_to_double(move |v, _| {
            let x = if modifiers.hash { hash::long(i64::from(v)) } else { i64::from(v) };
            Ok(clamped(icdf(probability(x as f64 / MAX_LONG)?), LEAST_COMPUTED, MAX_INT))
        }));
    }
    let mut table = points(icdf);
    if modifiers.clamp {
        table.iter_mut().for_each(|q| *q = clamped(*q, f64::from(i32::MIN), MAX_INT));
    }
    if modifiers.finite {
        // Two entries go for each infinity.
        while table.first().is_some_and(|q| q.is_infinite()) {
            table.pop();
            table.drain(..table.len().min(1));
        }
        while table.last().is_some_and(|q| q.is_infinite()) {
            table.truncate(table.len().saturating_sub(2));
        }
    }
    table.push(0.0);
    let scale = (1.0 / MAX_INT) * (table.len() as f64 - 2.0);
    let draw = move |v| if modifiers.hash { hash::of_int(v) } else { v };
    Ok(Function::int_to_double(move |v, _| sample(&table, scale * f64::from(draw(v)))))
}

/// What a discrete curve takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Discrete {
    IntInt,
    IntLong,
    LongInt,
    LongLong,
}

/// A discrete curve, from its inverse cumulative distribution function.
fn discrete(
    class: Discrete,
    icdf: impl Fn(f64) -> i32 + Send + Sync + 'static,
    arguments: &Arguments<'_>,
    from: usize,
) -> Result<Function, Refusal> {
    let modifiers = modifiers(arguments, from, false)?;
    if !modifiers.interpolate {
        return Ok(computed_discrete(class, icdf, modifiers.hash));
    }
    let mut table = points(|p| f64::from(icdf(p)));
    table.push(if class == Discrete::IntLong { 0.0 } else { table.last().copied().unwrap_or_default() });
    let of_long = move |v| if modifiers.hash { hash::long(v) } else { v } as f64;
    let of_int = move |v| f64::from(if modifiers.hash { hash::of_int(v) } else { v });
    let long_scale = (1.0 / MAX_LONG) * (RESOLUTION as f64 - 1.0);
    let int_scale = (1.0 / MAX_INT) * (RESOLUTION as f64 - 1.0);
    Ok(match class {
        Discrete::LongLong => {
            Function::long_to_long(move |v, _| Ok(sample(&table, long_scale * of_long(v))? as i64))
        }
        Discrete::LongInt => {
            Function::long_to_int(move |v, _| Ok(sample(&table, long_scale * of_long(v))? as i32))
        }
        Discrete::IntLong => {
            Function::int_to_long(move |v, _| Ok(sample(&table, int_scale * of_int(v))? as i64))
        }
        Discrete::IntInt => {
            Function::int_to_int(move |v, _| Ok(sample(&table, int_scale * of_int(v))? as i32))
        }
    })
}

fn computed_discrete(
    class: Discrete,
    icdf: impl Fn(f64) -> i32 + Send + Sync + 'static,
    hashed: bool,
) -> Function {
    let draw = move |v: i64| if hashed { hash::long(v) } else { v };
    match class {
        Discrete::LongLong => {
            Function::long_to_long(move |v, _| Ok(i64::from(icdf(probability(draw(v) as f64 / MAX_LONG)?))))
        }
        Discrete::LongInt => {
            Function::long_to_int(move |v, _| Ok(icdf(probability(draw(v) as f64 / MAX_LONG)?)))
        }
        Discrete::IntLong => Function::int_to_long(move |v, _| {
            let x = if hashed { (draw(i64::from(v)) % i64::from(i32::MAX)) as i32 } else { v };
            Ok(i64::from(icdf(probability(f64::from(x) / MAX_INT)?)))
        }),
        // The low half of the hash over 2^63: it may be negative, and then it is no probability.
        Discrete::IntInt => Function::int_to_int(move |v, _| {
            Ok(icdf(probability(f64::from(draw(i64::from(v)) as i32) / MAX_LONG)?))
        }),
    }
}
