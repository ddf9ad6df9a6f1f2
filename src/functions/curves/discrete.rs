//! Discrete curves: quantiles by formula for the geometric one, by search for the others.

use super::elementary::{exp, exp_m1, ln, log_1p, pow};
use super::search::{self, Shape};
use super::special::beta::{beta_complement, beta_regularised};
use super::special::gamma::gamma_q;
use super::{Discrete, curve, positive, probability};
use crate::functions::{Arguments, Example, FunctionRow, Refusal};
use std::f64::consts::PI;
use std::sync::OnceLock;

/// The functions of this family.
pub static ROWS: &[&FunctionRow] = &[&BINOMIAL, &GEOMETRIC, &HYPERGEOMETRIC, &PASCAL, &POISSON, &ZIPF];

type Built = Result<Discrete, Refusal>;

/// A quantile by search for it.
fn by_search(shape: Shape<i32>, cumulative: impl Fn(i32) -> f64 + Send + Sync + 'static) -> Built {
    Ok(Box::new(move |p, known| search::discrete(p, &shape, known, &cumulative)))
}

/// The argument `position` as a probability, which may be 0 where `zero`.
fn chance(arguments: &Arguments<'_>, position: usize, zero: bool) -> Result<f64, Refusal> {
    let p = arguments.double(position)?;
    if probability(p).is_ok() && (zero || p > 0.0) {
        return Ok(p.abs());
    }
    let range = if zero { "from 0 to 1" } else { "above 0 and not above 1" };
    Err(Refusal::new(format!("the probability must be {range}, not {p}")).at(position))
}

/// The argument `position`, a number of things that must be at least `least`.
fn count(arguments: &Arguments<'_>, position: usize, what: &str, least: i32) -> Result<i32, Refusal> {
    let count = arguments.int(position)?;
    if count >= least {
        Ok(count)
    } else {
        Err(Refusal::new(format!("the {what} must be at least {least}, not {count}")).at(position))
    }
}

curve!(
    BINOMIAL,
    "Binomial",
    [Int, Double],
    [int_int, int_long, long_int, long_long],
    "how many of a number of trials succeed, each with the same probability",
    "",
    [Example("Binomial(8,0.5)", 0, "3"), Example("Binomial(8,0.5,'compute')", 1, "5")],
    binomial
);

fn binomial(arguments: &Arguments<'_>) -> Built {
    let (trials, p) = (count(arguments, 0, "number of trials", 0)?, chance(arguments, 1, true)?);
    let n = f64::from(trials);
    let of_none = if p >= 0.5 { pow(1.0 - p, n) } else { exp(n * log_1p(-p)) };
    let shape = Shape {
        lower: if p < 1.0 { 0 } else { trials },
        upper: if p > 0.0 { trials } else { 0 },
        mean: n * p,
        variance: n * p * (1.0 - p),
    };
    by_search(shape, move |x| match x {
        i32::MIN..=-1 => 0.0,
        x if x >= trials => 1.0,
        0 => of_none,
        x => beta_complement(p, f64::from(x) + 1.0, n - f64::from(x)),
    })
}

curve!(
    POISSON,
    "Poisson",
    [Double],
    [int_int, int_long, long_int, long_long],
    "how often something happens that happens independently, from the mean",
    "",
    [Example("Poisson(100.0)", 0, "95")],
    poisson
);

fn poisson(arguments: &Arguments<'_>) -> Built {
    let mean = positive(arguments, 0, "mean")?;
    let shape = Shape { lower: 0, upper: i32::MAX, mean, variance: mean };
    by_search(shape, move |x| match x {
        i32::MIN..=-1 => 0.0,
        0 => exp(-mean),
        x => gamma_q(f64::from(x) + 1.0, mean),
    })
}

curve!(
    PASCAL,
    "Pascal",
    [Int, Double],
    [int_int, int_long, long_int, long_long],
    "how many trials fail before a number of them succeeds, each with the same probability",
    "",
    [Example("Pascal(2,0.25)", 0, "3")],
    pascal
);

fn pascal(arguments: &Arguments<'_>) -> Built {
    let (successes, p) = (count(arguments, 0, "number of successes", 1)?, chance(arguments, 1, false)?);
    let r = f64::from(successes);
    let shape = Shape {
        lower: 0,
        upper: if p < 1.0 { i32::MAX } else { 0 },
        mean: (r * (1.0 - p)) / p,
        variance: r * (1.0 - p) / (p * p),
    };
    by_search(shape, move |x| if x < 0 { 0.0 } else { beta_regularised(p, r, f64::from(x) + 1.0) })
}

curve!(
    GEOMETRIC,
    "Geometric",
    [Double],
    [int_int, int_long, long_int, long_long],
    "how many trials fail before one succeeds, each with the same probability",
    "",
    [Example("Geometric(0.5)", 2, "3"), Example("Geometric(0.05)->int", 0, "7")],
    geometric
);

fn geometric(arguments: &Arguments<'_>) -> Built {
    let chance = chance(arguments, 0, false)?;
    let log_fail = log_1p(-chance);
    let cumulative = move |x: i32| match x {
        i32::MIN..=-1 => 0.0,
        0 => chance,
        x => -exp_m1(log_fail * (f64::from(x) + 1.0)),
    };
    Ok(Box::new(move |p, _| {
        if p == 1.0 {
            return Ok(if chance < 1.0 { i32::MAX } else { 0 });
        }
        if p <= chance {
            return Ok(0);
        }
        let x = ((log_1p(-p) / log_fail).ceil() - 1.0) as i32;
        // Rounding may be off by one: the result is the first whose cumulative probability reaches p.
        Ok(if cumulative(x.saturating_sub(1)) >= p {
            x - 1
        } else if cumulative(x) < p && x < i32::MAX {
            x + 1
        } else {
            x
        })
    }))
}

curve!(
    HYPERGEOMETRIC,
    "Hypergeometric",
    [Int, Int, Int],
    [int_int, int_long, long_int, long_long],
    "how many of those drawn from a population, without putting back, are among the marked ones",
    "",
    [Example("Hypergeometric(40,20,10)", 0, "4")],
    hypergeometric
);

fn hypergeometric(arguments: &Arguments<'_>) -> Built {
    let population = count(arguments, 0, "size of the population", 1)?;
    let marked = count(arguments, 1, "number of marked", 0)?;
    let drawn = count(arguments, 2, "number of drawn", 0)?;
    for (position, what, part) in [(1, "marked", marked), (2, "drawn", drawn)] {
        if part > population {
            return Err(Refusal::new(format!("{part} {what} are more than the population of {population}"))
                .at(position)
                .help("write the size of the population first, then how many are marked, then how many are drawn"));
        }
    }
    let (n, k, s) = (f64::from(population), f64::from(marked), f64::from(drawn));
    let (p, q) = (s / n, f64::from(population - drawn) / n);
    let shape = Shape {
        lower: (marked - (population - drawn)).max(0),
        upper: drawn.min(marked),
        mean: s * (k / n),
        variance: (s * k * (n - k) * (n - s)) / (n * n * (n - 1.0)),
    };
    let of_all = log_binomial(drawn, population, p, q);
    let log_mass = move |x: i32| {
        log_binomial(x, marked, p, q) + log_binomial(drawn - x, population - marked, p, q) - of_all
    };
    let mass = CumulativeMass::new(&shape, log_mass)?;
    by_search(shape, move |x| {
        if x < shape.lower {
            0.0
        } else if x >= shape.upper {
            1.0
        } else {
            mass.up_to(x)
        }
    })
}

/// Sums of the probabilities from the least value up, those left out that are too small to be a double.
struct CumulativeMass {
    first: i32,
    sums: Vec<f64>,
}

impl CumulativeMass {
    /// More values than this are not kept.
    const MOST: i64 = 20_000_000;

    /// Of a curve with one peak.
    fn new(shape: &Shape<i32>, log_mass: impl Fn(i32) -> f64) -> Result<CumulativeMass, Refusal> {
        const LEAST: f64 = -746.0;
        let mode = (shape.mean as i32).clamp(shape.lower, shape.upper);
        // The ends of what counts, by bisection on each side of the peak.
        let end = |nothing: i32, something: i32| {
            let (mut nothing, mut something) = (i64::from(nothing), i64::from(something));
            while (something - nothing).abs() > 1 {
                let middle = (nothing + something) / 2;
                if log_mass(middle as i32) < LEAST { nothing = middle } else { something = middle }
            }
            something as i32
        };
        let first = if log_mass(shape.lower) < LEAST { end(shape.lower, mode) } else { shape.lower };
        let last = if log_mass(shape.upper) < LEAST { end(shape.upper, mode) } else { shape.upper };
        if i64::from(last) - i64::from(first) > CumulativeMass::MOST {
            return Err(Refusal::new("the curve is too wide: it has over 20 million values"));
        }
        let mut sum = 0.0;
        let sums = (first..=last)
            .map(|x| {
                sum += exp(log_mass(x));
                sum
            })
            .collect();
        Ok(CumulativeMass { first, sums })
    }

    fn up_to(&self, x: i32) -> f64 {
        match usize::try_from(i64::from(x) - i64::from(self.first)) {
            Ok(position) => self.sums.get(position).or(self.sums.last()).copied().unwrap_or_default(),
            Err(_) => 0.0,
        }
    }
}

/// ln of the probability of x successes in n trials: C. Loader, "Fast and accurate computation of binomial
/// probabilities" (2000).
fn log_binomial(x: i32, n: i32, p: f64, q: f64) -> f64 {
    let (wide_x, wide_n) = (f64::from(x), f64::from(n));
    if x == 0 {
        return if p < 0.1 {
            0.0 - deviance(n, wide_n * q) - wide_n * p
        } else if n == 0 {
            0.0
        } else {
            wide_n * ln(q)
        };
    }
    if x == n {
        return if q < 0.1 { 0.0 - deviance(n, wide_n * p) - wide_n * q } else { wide_n * ln(p) };
    }
    let rest = n - x;
    let parts = stirling_error(n)
        - stirling_error(x)
        - stirling_error(rest)
        - deviance(x, wide_n * p)
        - deviance(rest, wide_n * q);
    -0.5 * ln((2.0 * PI * wide_x * f64::from(rest)) / wide_n) + parts
}

/// ln n! less Stirling's approximation of it.
fn stirling_error(n: i32) -> f64 {
    const EXACT: [f64; 16] = [
        0.0,
        0.08106146679532726,
        0.0413406959554093,
        0.02767792568499834,
        0.020790672103765093,
        0.016644691189821193,
        0.013876128823070748,
        0.01189670994589177,
        0.010411265261972096,
        0.009255462182712733,
        0.00833056343336287,
        0.007573675487951841,
        0.00694284010720953,
        0.006408994188004207,
        0.0059513701127588475,
        0.005554733551962801,
    ];
    if let Some(exact) = usize::try_from(n).ok().and_then(|n| EXACT.get(n)) {
        return *exact;
    }
    let n = f64::from(n);
    let square = n * n;
    (1.0 / 12.0
        - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square) / square)
        / n
}

/// x·ln(x/mean) + mean − x, without cancellation.
fn deviance(x: i32, mean: f64) -> f64 {
    let x = f64::from(x);
    if (x - mean).abs() < 0.1 * (x + mean) {
        let d = x - mean;
        let mut v = d / (x + mean);
        let mut next = v * d;
        let mut sum = f64::NAN;
        let mut term = 2.0 * x * v;
        v *= v;
        let mut j = 1.0;
        while next != sum {
            sum = next;
            term *= v;
            next = sum + term / (j * 2.0 + 1.0);
            j += 1.0;
        }
        next
    } else if x == 0.0 {
        mean
    } else {
        x * ln(x / mean) + mean - x
    }
}

curve!(
    ZIPF,
    "Zipf",
    [Int, Double],
    [int_int, int_long, long_int, long_long],
    "numbers from 1 to a greatest one, their probability falling with a power of the number",
    "by default the table has a thousand entries: of more elements not all are drawn; a decimal without `d` is one of \
     32 bits, so that 1.1 is 1.10000002384",
    [Example("Zipf(10,2.0)", 1, "2"), Example("Zipf(100,0.99)", 2, "58")],
    zipf
);

fn zipf(arguments: &Arguments<'_>) -> Built {
    let elements = count(arguments, 0, "number of elements", 1)?;
    let exponent = arguments.double(1)?;
    if exponent < 0.0 {
        return Err(Refusal::new(format!("the exponent must not be below 0, but is {exponent}")).at(1));
    }
    let sums = ZipfSums::new(elements, exponent);
    Ok(Box::new(move |p, _| {
        if p == 0.0 {
            return Ok(1);
        }
        if 1.0 - p == 0.0 {
            return Ok(elements);
        }
        let (mut lower, mut upper) = (0, i64::from(elements));
        while lower + 1 < upper {
            let middle = (lower + upper) / 2;
            if sums.is_below(middle as i32, p) {
                lower = middle;
            } else {
                upper = middle;
            }
        }
        Ok(upper as i32)
    }))
}

/// Estimates of generalised harmonic numbers H(x) = Σ k^−s over k from 1 to x, off by some units in the last
/// place.
pub struct Harmonics {
    exponent: f64,
    /// H(1), H(2), … as far as they are added up one by one.
    head: Vec<f64>,
    /// The last term of a whole head.
    last_of_head: f64,
}

impl Harmonics {
    const HEAD: i64 = 4096;

    /// Up to H(most).
    pub fn new(most: i64, exponent: f64) -> Harmonics {
        let (mut sum, mut lost) = (0.0, 0.0);
        let head = (1..=most.min(Harmonics::HEAD))
            .map(|k| {
                let term = pow(k as f64, -exponent) - lost;
                let next = sum + term;
                lost = (next - sum) - term;
                sum = next;
                sum
            })
            .collect();
        Harmonics { exponent, head, last_of_head: pow(Harmonics::HEAD as f64, -exponent) }
    }

    /// How fast the terms fall.
    pub fn exponent(&self) -> f64 {
        self.exponent
    }

    /// H(x).
    pub fn at(&self, x: i64) -> f64 {
        if let Some(sum) = usize::try_from(x - 1).ok().and_then(|position| self.head.get(position)) {
            return *sum;
        }
        // The Euler–Maclaurin formula from the end of the head on.
        let (from, to, s) = (Harmonics::HEAD as f64, x as f64, self.exponent);
        let (first, last) = (self.last_of_head, pow(to, -s));
        let log = ln(to / from);
        let integral = from * first * if s == 1.0 { log } else { exp_m1((1.0 - s) * log) / (1.0 - s) };
        let head = self.head.last().copied().unwrap_or_default();
        head + (integral + (last - first) / 2.0 + s / 12.0 * (first / from - last / to))
    }
}

/// Cumulative probabilities of the Zipf distribution.
///
/// The reference adds harmonic numbers from x down, for each x anew. Here an estimate decides unless it is so
/// close that the rounding of those sums does; only then are they made.
struct ZipfSums {
    elements: i32,
    estimates: Harmonics,
    estimate: f64,
    exact: OnceLock<f64>,
}

impl ZipfSums {
    /// Up to here exact sums are worth their time.
    const MOST_EXACT: i32 = 4_000_000;

    fn new(elements: i32, exponent: f64) -> ZipfSums {
        let estimates = Harmonics::new(i64::from(elements), exponent);
        let estimate = estimates.at(i64::from(elements));
        ZipfSums { elements, estimates, estimate, exact: OnceLock::new() }
    }

    /// H(x), added as the reference adds it.
    fn exact(&self, x: i32) -> f64 {
        (1..=x).rev().fold(0.0, |sum, k| sum + pow(f64::from(k), -self.estimates.exponent))
    }

    /// Whether H(x)/H(elements) is below p.
    fn is_below(&self, x: i32, p: f64) -> bool {
        let estimate = self.estimates.at(i64::from(x)) / self.estimate;
        // Far more than rounding errors add up to.
        let doubt = 64.0 * f64::from(self.elements).sqrt() * f64::EPSILON;
        if (estimate - p).abs() > doubt || self.elements > ZipfSums::MOST_EXACT {
            return estimate < p;
        }
        self.exact(x) / self.exact.get_or_init(|| self.exact(self.elements)) < p
    }
}
