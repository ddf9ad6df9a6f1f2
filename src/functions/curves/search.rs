//! Quantiles by search, for curves whose inverse has no formula: bisection for discrete curves, Brent's method
//! for continuous ones, between bounds from Chebyshev's inequality where the curve has no end.
//!
//! The steps are those of Apache Commons Statistics 1.0 and of its root finder in Commons Numbers 1.1, since
//! the last bit of a root depends on the way there.

use super::unsolved;
use crate::functions::Eval;
use std::collections::HashMap;

/// Cumulative probabilities that were computed before, kept while a table is built.
#[derive(Default)]
pub struct Known(Option<HashMap<i32, f64>>);

impl Known {
    pub fn kept() -> Known {
        Known(Some(HashMap::new()))
    }

    fn get(&mut self, x: i32, compute: impl Fn(i32) -> f64) -> f64 {
        match &mut self.0 {
            Some(known) => *known.entry(x).or_insert_with(|| compute(x)),
            None => compute(x),
        }
    }
}

/// What the searches know of a curve.
#[derive(Debug, Clone, Copy)]
pub struct Shape<T> {
    pub lower: T,
    pub upper: T,
    pub mean: f64,
    pub variance: f64,
}

impl<T> Shape<T> {
    /// The standard deviation, where Chebyshev's inequality says anything.
    fn deviation(&self) -> Option<f64> {
        let deviation = self.variance.sqrt();
        (self.mean.is_finite() && deviation > 0.0 && deviation.is_finite()).then_some(deviation)
    }
}

/// The least x whose cumulative probability reaches p.
pub fn discrete(p: f64, shape: &Shape<i32>, known: &mut Known, cumulative: impl Fn(i32) -> f64) -> Eval<i32> {
    let q = 1.0 - p;
    if p == 0.0 {
        return Ok(shape.lower);
    }
    if q == 0.0 {
        return Ok(shape.upper);
    }
    let (mut lower, mut upper) = (shape.lower.wrapping_sub(1), shape.upper);
    if let Some(deviation) = shape.deviation() {
        let bound = shape.mean - deviation * (q / p).sqrt();
        if bound > f64::from(lower) {
            lower = (bound.ceil() as i32).wrapping_sub(1);
        }
        let bound = shape.mean + deviation * (p / q).sqrt();
        if bound < f64::from(upper) {
            upper = (bound.ceil() as i32).wrapping_sub(1);
        }
    }
    let (mut lower, mut upper) = (i64::from(lower), i64::from(upper));
    while lower + 1 < upper {
        let middle = (lower + upper) / 2;
        let at = known.get(middle as i32, &cumulative);
        if at.is_nan() {
            return Err(unsolved(p));
        }
        if at < p {
            lower = middle;
        } else {
            upper = middle;
        }
    }
    Ok(upper as i32)
}

/// The x whose cumulative probability is p.
pub fn continuous(p: f64, shape: &Shape<f64>, cumulative: impl Fn(f64) -> f64) -> Eval<f64> {
    let q = 1.0 - p;
    let (mut lower, mut upper) = (shape.lower, shape.upper);
    if p == 0.0 {
        return Ok(lower);
    }
    if q == 0.0 {
        return Ok(upper);
    }
    let deviation = shape.deviation();
    if lower == f64::NEG_INFINITY {
        lower = deviation.map_or(lower, |deviation| shape.mean - deviation * (q / p).sqrt());
        if lower == f64::NEG_INFINITY {
            lower = upper.min(-1.0);
            while cumulative(lower) >= p {
                lower *= 2.0;
            }
            lower = lower.max(-f64::MAX);
        }
    }
    if upper == f64::INFINITY {
        upper = deviation.map_or(upper, |deviation| shape.mean + deviation * (p / q).sqrt());
        if upper == f64::INFINITY {
            upper = lower.max(1.0);
            while cumulative(upper) < p {
                upper *= 2.0;
            }
            upper = upper.min(f64::MAX);
        }
    }
    if upper == f64::MAX && cumulative(upper) < p {
        return Ok(shape.upper);
    }
    if lower == -f64::MAX && cumulative(lower) > p {
        return Ok(shape.lower);
    }
    let initial = lower + 0.5 * (upper - lower);
    root(|x| cumulative(x) - p, lower, initial, upper).ok_or_else(|| unsolved(p))
}

/// The smallest positive double: below it nothing differs from zero.
const LEAST: f64 = 5e-324;

/// A zero of `f`: R. P. Brent, Algorithms for Minimization without Derivatives (1973), chapter 4.
fn root(f: impl Fn(f64) -> f64, lower: f64, initial: f64, upper: f64) -> Option<f64> {
    if !(lower <= initial && initial <= upper) {
        return None;
    }
    let at_initial = f(initial);
    if at_initial.abs() <= LEAST {
        return Some(initial);
    }
    let at_lower = f(lower);
    if at_lower.abs() <= LEAST {
        return Some(lower);
    }
    if at_initial * at_lower < 0.0 {
        return bracketed(f, (lower, at_lower), (initial, at_initial));
    }
    let at_upper = f(upper);
    if at_upper.abs() <= LEAST {
        return Some(upper);
    }
    if at_initial * at_upper < 0.0 {
        return bracketed(f, (initial, at_initial), (upper, at_upper));
    }
    None
}

/// Between two points with values of opposite signs.
fn bracketed(
    f: impl Fn(f64) -> f64,
    (mut a, mut fa): (f64, f64),
    (mut b, mut fb): (f64, f64),
) -> Option<f64> {
    const RELATIVE: f64 = f64::EPSILON / 2.0;
    let (mut c, mut fc) = (a, fa);
    let mut d = b - a;
    let mut e = d;
    // Some tens of steps are usual; bisection alone would need some two thousand at worst.
    for _ in 0..100_000 {
        if fc.abs() < fb.abs() {
            (a, b, c) = (b, c, b);
            (fa, fb, fc) = (fb, fc, fb);
        }
        let tolerance = 2.0 * RELATIVE * b.abs() + LEAST;
        let m = 0.5 * (c - b);
        if m.abs() <= tolerance || fb.abs() <= LEAST {
            return Some(b);
        }
        if e.abs() < tolerance || fa.abs() <= fb.abs() {
            d = m;
            e = d;
        } else {
            let s = fb / fa;
            let (mut p, mut q);
            if a == c {
                p = 2.0 * m * s;
                q = 1.0 - s;
            } else {
                q = fa / fc;
                let r = fb / fc;
                p = s * (2.0 * m * q * (q - r) - (b - a) * (r - 1.0));
                q = (q - 1.0) * (r - 1.0) * (s - 1.0);
            }
            if p > 0.0 {
                q = -q;
            } else {
                p = -p;
            }
            if p >= 1.5 * m * q - (tolerance * q).abs() || p >= (0.5 * e * q).abs() {
                d = m;
                e = d;
            } else {
                e = d;
                d = p / q;
            }
        }
        a = b;
        fa = fb;
        if d.abs() > tolerance {
            b += d;
        } else if m > 0.0 {
            b += tolerance;
        } else {
            b -= tolerance;
        }
        fb = f(b);
        if fb.is_nan() {
            return None;
        }
        if (fb > 0.0 && fc > 0.0) || (fb <= 0.0 && fc <= 0.0) {
            c = a;
            fc = fa;
            d = b - a;
            e = d;
        }
    }
    None
}
