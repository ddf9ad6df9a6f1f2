//! Elementary functions as the reference's runtime computes them, the same on every machine.
//!
//! `exp` and `ln` follow the method of the kernels that the runtime has on x86-64 (tables of 64 powers of two and
//! of 129 logarithms, polynomials of degree 6 and 7), operation by operation, since its last bit is not always
//! the rounded one; the tables are computed here. `pow` and `tan` are rounded correctly from a computation with
//! twice the digits: there the runtime differs in one result of some hundreds, by one unit in the last place.
//! `log_1p`, `exp_m1` and `asin` follow the public FDLIBM 5.3 of Sun Microsystems, which the runtime's own
//! definition prescribes.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, LOG2_E};
use std::sync::LazyLock;

/// An unevaluated sum of two doubles, the second at most half a unit in the last place of the first.
/// Algorithms: T. J. Dekker, "A floating-point technique for extending the available precision" (1971).
#[derive(Clone, Copy)]
struct Double2 {
    high: f64,
    low: f64,
}

/// ln 2 in three parts; the first two end in zeros, so that whole multiples of them are exact.
const LN_2_PARTS: [f64; 3] = [
    f64::from_bits(0x3fe6_2e42_fefa_0000),
    f64::from_bits(0x3d7c_f79a_bc9e_0000),
    f64::from_bits(0x3b0d_9cc0_1f97_b57a),
];
/// π/2 in three parts.
const HALF_PI_PARTS: [f64; 3] =
    [FRAC_PI_2, f64::from_bits(0x3c91_a626_3314_5c07), f64::from_bits(0xb91f_1976_b7ed_8fbc)];

/// The exact sum of two doubles.
#[inline]
fn two_sum(a: f64, b: f64) -> Double2 {
    let high = a + b;
    let of_b = high - a;
    Double2 { high, low: (a - (high - of_b)) + (b - of_b) }
}

/// The exact sum of two doubles of which the first is not smaller.
#[inline]
fn quick_two_sum(a: f64, b: f64) -> Double2 {
    let high = a + b;
    Double2 { high, low: b - (high - a) }
}

/// The upper 26 bits.
#[inline]
pub(super) fn high_part(value: f64) -> f64 {
    const SPLIT: f64 = 134_217_729.0; // 2^27 + 1
    let scaled = SPLIT * value;
    scaled - (scaled - value)
}

/// The exact product of two doubles.
#[inline]
fn two_product(a: f64, b: f64) -> Double2 {
    let high = a * b;
    let (a_high, b_high) = (high_part(a), high_part(b));
    let (a_low, b_low) = (a - a_high, b - b_high);
    Double2 { high, low: ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low }
}

impl Double2 {
    const ONE: Double2 = Double2 { high: 1.0, low: 0.0 };

    fn of(high: f64) -> Double2 {
        Double2 { high, low: 0.0 }
    }

    fn plus(self, other: Double2) -> Double2 {
        let high = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let sum = quick_two_sum(high.high, high.low + low.high);
        quick_two_sum(sum.high, sum.low + low.low)
    }

    fn times(self, other: Double2) -> Double2 {
        let product = two_product(self.high, other.high);
        quick_two_sum(product.high, product.low + (self.high * other.low + self.low * other.high))
    }

    fn times_double(self, factor: f64) -> Double2 {
        let product = two_product(self.high, factor);
        quick_two_sum(product.high, product.low + self.low * factor)
    }

    /// Times a power of two: exact.
    fn scaled(self, power: f64) -> Double2 {
        Double2 { high: self.high * power, low: self.low * power }
    }

    fn over(self, divisor: Double2) -> Double2 {
        let first = self.high / divisor.high;
        let rest = self.plus(divisor.times_double(-first));
        let second = rest.high / divisor.high;
        let rest = rest.plus(divisor.times_double(-second));
        quick_two_sum(first, second).plus(Double2::of(rest.high / divisor.high))
    }

    fn rounded(self) -> f64 {
        self.high + self.low
    }
}

/// e^x = (1 + m)·2^k: k and m, for |x| below 800.
fn exp_parts(x: Double2) -> (i32, Double2) {
    const HALVINGS: i32 = 9;
    let k = (x.high / LN_2).round();
    let rest = x
        .plus(Double2::of(-k * LN_2_PARTS[0]))
        .plus(Double2::of(-k * LN_2_PARTS[1]))
        .plus(Double2::of(-k * LN_2_PARTS[2]));
    let r = rest.scaled(1.0 / f64::from(1 << HALVINGS));
    // e^r − 1 by its series; |r| is below 0.0007, so that nine terms are enough.
    let mut sum = Double2::of(1.0 / 9.0);
    for n in (2..9).rev() {
        sum = Double2::ONE.plus(r.times(sum)).over(Double2::of(f64::from(n)));
    }
    let mut m = r.times(Double2::ONE.plus(r.times(sum)));
    for _ in 0..HALVINGS {
        m = m.scaled(2.0).plus(m.times(m));
    }
    (k as i32, m)
}

/// Times 2^k, in steps that do not overflow before the result does.
fn scaled_by_power(mut value: f64, mut k: i32) -> f64 {
    while k > 1000 {
        value *= f64::from_bits((1023 + 1000) << 52);
        k -= 1000;
    }
    while k < -900 {
        value *= f64::from_bits((1023 - 900) << 52);
        k += 900;
    }
    value * f64::from_bits(((1023 + k) as u64) << 52)
}

/// Steps per doubling in the table of powers of two, and per doubling in that of logarithms.
const STEPS: usize = 128;

/// 2^(j/128).
static POWERS: LazyLock<[Double2; STEPS]> = LazyLock::new(|| {
    std::array::from_fn(|j| {
        let j = j as f64 / STEPS as f64;
        let x = Double2::of(j * LN_2_PARTS[0])
            .plus(Double2::of(j * LN_2_PARTS[1]))
            .plus(Double2::of(j * LN_2_PARTS[2]));
        let (k, m) = exp_parts(x);
        Double2::ONE.plus(m).scaled(scaled_by_power(1.0, k))
    })
});

/// e^x = s·2^k: s and k, with an error below 2^−64 where |x| is below 800.
#[inline]
fn exp_quick(x: Double2) -> (Double2, i32) {
    let step = STEPS as f64;
    let n = (x.high * (step / LN_2)).round_ties_even();
    let n_scaled = n / step;
    let r = two_sum(x.high - n_scaled * LN_2_PARTS[0], -n_scaled * LN_2_PARTS[1]);
    let low = r.low - n_scaled * LN_2_PARTS[2] + x.low;
    let h = r.high;
    // e^r − 1 without the first term: r is below 0.003.
    let tail = low
        + h * low
        + h * h * (0.5 + h * (1.0 / 6.0 + h * (1.0 / 24.0 + h * (1.0 / 120.0 + h * (1.0 / 720.0)))));
    let n = n as i32;
    let power = POWERS[n.rem_euclid(STEPS as i32) as usize];
    let product = two_product(power.high, h);
    let sum = quick_two_sum(power.high, product.high);
    let rest = sum.low + (product.low + (power.low + power.low * h + power.high * tail));
    (quick_two_sum(sum.high, rest), n.div_euclid(STEPS as i32))
}

/// The value to which both ends of an interval about it round, if they do.
#[inline]
fn certain(value: Double2, error: f64) -> Option<f64> {
    let error = value.high.abs() * error;
    let rounded = value.high + (value.low + error);
    (rounded == value.high + (value.low - error)).then_some(rounded)
}

/// e^x where x is off by `error` at most.
fn exp_of(x: Double2, error: f64, exact: impl Fn() -> Double2) -> f64 {
    if x.high > 710.0 {
        return f64::INFINITY;
    }
    if x.high < -746.0 {
        return 0.0;
    }
    let (quick, k) = exp_quick(x);
    if let Some(rounded) = certain(quick, error + 5e-20) {
        return scaled_by_power(rounded, k);
    }
    let (k, m) = exp_parts(exact());
    scaled_by_power(Double2::ONE.plus(m).rounded(), k)
}

/// A positive finite number as m·2^e with m from √½ to √2.
#[inline]
fn decompose(x: f64) -> (f64, i32) {
    let (x, exponent) = if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, -54) } else { (x, 0) };
    let e = exponent + ((x.to_bits() >> 52) as i32 - 1023);
    let m = f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 { (m * 0.5, e + 1) } else { (m, e) }
}

/// e·ln 2, rounded to two doubles.
fn times_ln_2(e: i32) -> Double2 {
    let e = f64::from(e);
    two_sum(e * LN_2_PARTS[0], e * LN_2_PARTS[1]).plus(Double2::of(e * LN_2_PARTS[2]))
}

/// For m from i/128 to (i+1)/128, a short number near 1/m and the logarithm of its inverse.
static LOGARITHMS: LazyLock<Vec<(f64, Double2)>> = LazyLock::new(|| {
    (0..=2 * STEPS)
        .map(|i| {
            let middle = (i as f64 + 0.5) / STEPS as f64;
            // Nothing is taken from what is near 1 already, so that its own logarithm stays precise.
            let inverse =
                if (middle - 1.0).abs() < 0.008 { 1.0 } else { ((1.0 / middle) * 512.0).round() / 512.0 };
            let (m, e) = decompose(inverse);
            (inverse, times_ln_2(e).plus(ln_exact(m)).scaled(-1.0))
        })
        .collect()
});

/// ln x with a relative error below 2^−65, for finite positive x.
#[inline]
fn ln_quick(x: f64) -> Double2 {
    let (m, e) = decompose(x);
    let (inverse, ln) = LOGARITHMS[(m * STEPS as f64) as usize];
    // m/inverse − 1, exactly but for what is below 2^−100.
    let product = two_product(m, inverse);
    let r = quick_two_sum(product.high - 1.0, product.low);
    let half_square = two_product(r.high, -0.5 * r.high);
    let h = r.high;
    let tail = h
        * h
        * h
        * (1.0 / 3.0
            + h * (-1.0 / 4.0
                + h * (1.0 / 5.0 + h * (-1.0 / 6.0 + h * (1.0 / 7.0 + h * (-1.0 / 8.0 + h * (1.0 / 9.0)))))));
    let log = two_sum(r.high, half_square.high);
    let log = quick_two_sum(log.high, log.low + (r.low + half_square.low - r.high * r.low + tail));
    if e == 0 && inverse == 1.0 {
        return log;
    }
    times_ln_2(e).plus(ln).plus(log)
}

/// ln m, for m near 1, with twice the digits.
fn ln_exact(m: f64) -> Double2 {
    // One step of Newton's method from an estimate: ln m = y + ln(m·e^−y).
    let y = log_1p(m - 1.0);
    let (k, inverse) = exp_parts(Double2::of(-y));
    let near_one = Double2::ONE.plus(inverse).times_double(m).scaled(scaled_by_power(1.0, k));
    let error = near_one.plus(Double2::of(-1.0));
    // ln(1 + e) = e − e²/2 + …, and e is of the order of 2^−53.
    let correction = error.plus(Double2::of(-0.5 * error.high * error.high));
    Double2::of(y).plus(correction)
}

/// ln x with twice the digits, for finite positive x.
fn ln_slow(x: f64) -> Double2 {
    let (m, e) = decompose(x);
    times_ln_2(e).plus(ln_exact(m))
}

/// 2^(j/64): the double below it, and what is missing to it, relative to that double.
static POWERS_OF_64: LazyLock<[(f64, f64); 64]> = LazyLock::new(|| {
    std::array::from_fn(|j| {
        let power = POWERS[2 * j];
        let (high, low) = if power.low < 0.0 {
            let below = f64::from_bits(power.high.to_bits() - 1);
            (below, (power.high - below) + power.low)
        } else {
            (power.high, power.low)
        };
        (high, low / high)
    })
});

/// e^x.
pub fn exp(x: f64) -> f64 {
    // 1.5·2^52: what is added to it is rounded to an integer.
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    const STEPS_OF_LN_2: f64 = f64::from_bits(0x4057_1547_652b_82fe);
    const STEP: [f64; 2] = [f64::from_bits(0x3f86_2e42_fefa_0000), f64::from_bits(0x3d1c_f79a_bc9e_3b3a)];
    // Factors of y² to y⁶ in e^y − 1.
    const P: [f64; 5] = [
        f64::from_bits(0x3fdf_ffff_ffff_fffe),
        f64::from_bits(0x3fc5_5555_5554_8ba1),
        f64::from_bits(0x3fa5_5555_555b_9e25),
        f64::from_bits(0x3f81_1115_c090_cf0f),
        f64::from_bits(0x3f56_c15c_e328_9860),
    ];
    if x.is_nan() {
        return x;
    }
    if x.abs() < f64::from_bits(0x3c90_0000_0000_0000) {
        return 1.0 + x;
    }
    // What is not a normal double, or may not be one, is the rounded one.
    if !(-708.0..709.0).contains(&x) {
        return exp_of(Double2::of(x), 0.0, || Double2::of(x));
    }
    let steps = (x * STEPS_OF_LN_2 + ROUNDER) - ROUNDER;
    let y = (x - steps * STEP[0]) - steps * STEP[1];
    let n = steps as i32;
    let (power, missing) = POWERS_OF_64[(n & 63) as usize];
    let power = scaled_by_power(power, n >> 6);
    let square = y * y;
    let cube = y * square;
    let tail = (cube * square) * (P[3] + P[4] * y);
    let sum = (cube * (P[1] + P[2] * y) + ((y + missing) + tail)) + square * P[0];
    sum * power + power
}

/// −ln of 128/256, 129/256 and so on to 1: rounded to a multiple of 2^−43, and the rest.
static INVERSES: LazyLock<[(f64, f64); 129]> = LazyLock::new(|| {
    const SCALE: f64 = 8_796_093_022_208.0;
    std::array::from_fn(|i| {
        if i == 128 {
            return (0.0, -0.0);
        }
        let ln = ln_slow((128 + i) as f64 / 256.0);
        let high = (-ln.high * SCALE).round_ties_even() / SCALE;
        (high, (-ln.high - high) - ln.low)
    })
});

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fefa_3800), f64::from_bits(0x3d2e_f357_93c7_6730)];
    // Factors of r² to r⁷ in ln(1 + r).
    const P: [f64; 6] = [
        -0.5,
        f64::from_bits(0x3fd5_5555_5555_5555),
        -0.25,
        f64::from_bits(0x3fc9_9999_9999_999a),
        f64::from_bits(0xbfc5_555e_3d6f_b175),
        f64::from_bits(0x3fc2_4924_9249_2492),
    ];
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    let (x, scaled) = if x < f64::MIN_POSITIVE { (x * 18_014_398_509_481_984.0, -54) } else { (x, 0) };
    let k = f64::from(scaled + (x.to_bits() >> 52) as i32 - 1023);
    let m = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    // 1/m, rounded to a multiple of 1/256.
    let near = 1.0 / f32::from_bits((m.to_bits() >> 29) as u32 & 0x7f_ffff | 127 << 23);
    let place = (near.to_bits() + 0x8000) >> 16 & 0xff;
    let inverse = f64::from(place + 128) / 256.0;
    let m_high = f64::from_bits(m.to_bits() & 0xffff_e000_0000_0000);
    let r = (m - m_high) * inverse + (m_high * inverse - 1.0);
    let (high, low) = INVERSES[place as usize % INVERSES.len()];
    let start = high + k * LN_2[0];
    let sum = start + r;
    let square = r * r;
    let fourth = square * square;
    let late = ((P[4] * r + P[3]) * r + (P[5] * r) * square) * fourth;
    let early = ((P[1] * r + P[0]) + P[2] * square) * square;
    sum + ((((r + (start - sum)) + (k * LN_2[1] + low)) + late) + early)
}

/// x^y, with Java's special cases.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return 1.0;
    }
    if y == 1.0 || x.is_nan() {
        return x;
    }
    let plain = x.is_finite() && y.is_finite() && x > 0.0;
    if !plain {
        // Zeros, infinities, NaN and negative bases: exact, or of an absolute value found below.
        if x < 0.0 && x.is_finite() && y.is_finite() && y.trunc() == y {
            let odd = y.abs() < 9_007_199_254_740_992.0 && y % 2.0 != 0.0;
            let magnitude = pow(-x, y);
            return if odd { -magnitude } else { magnitude };
        }
        return if x.abs() == 1.0 && y.is_infinite() { f64::NAN } else { x.powf(y) };
    }
    if y == 2.0 {
        return x * x;
    }
    if x == 1.0 {
        return 1.0;
    }
    let ln = ln_quick(x);
    // Far out of range already: the exact product could overflow.
    if (ln.high * y).abs() > 1e4 {
        return if (ln.high > 0.0) == (y > 0.0) { f64::INFINITY } else { 0.0 };
    }
    let product = ln.times_double(y);
    exp_of(product, product.high.abs() * 5e-20, || ln_slow(x).times_double(y))
}

/// Where the runtime's tangent of π·(n/1000 − ½), of which a curve's table is made, is not the rounded one.
const OTHER_TANGENTS: [(u64, u64); 4] = [
    (0xbfe4_b599_d8e4_358b, 0xbfe8_2f11_251d_0c02),
    (0xbfe2_65ac_b57d_ae52, 0xbfe4_bbc2_3eec_8d79),
    (0x3fe1_e4fe_b8ec_f51b, 0x3fe4_06e2_a89a_249c),
    (0x3fee_8fb8_c8c5_9718, 0x3ff6_9d45_ac1f_936b),
];

/// The tangent, for |x| up to π/2.
pub fn tan(x: f64) -> f64 {
    const DOUBLINGS: i32 = 4;
    if x.is_nan() || x == 0.0 {
        return x;
    }
    if let Some((_, tangent)) = OTHER_TANGENTS.iter().find(|(argument, _)| *argument == x.to_bits()) {
        return f64::from_bits(*tangent);
    }
    let a = x.abs();
    if a > FRAC_PI_2 {
        return x.tan();
    }
    let complement = a > FRAC_PI_2 / 2.0;
    let angle = if complement {
        two_sum(HALF_PI_PARTS[0], -a).plus(Double2::of(HALF_PI_PARTS[1])).plus(Double2::of(HALF_PI_PARTS[2]))
    } else {
        Double2::of(a)
    };
    let t = angle.scaled(1.0 / f64::from(1 << DOUBLINGS));
    // Sine, and 1 − cosine, by their series; the angle is below 0.05.
    let square = t.times(t);
    let (mut sine, mut versine) = (Double2::ONE, Double2::ONE);
    for n in (1..=9).rev() {
        let n = f64::from(n);
        let term = |factor: f64, sum: Double2| {
            Double2::ONE.plus(square.times(sum).over(Double2::of(factor)).scaled(-1.0))
        };
        sine = term(2.0 * n * (2.0 * n + 1.0), sine);
        versine = term((2.0 * n + 1.0) * (2.0 * n + 2.0), versine);
    }
    let mut sine = t.times(sine);
    let mut versine = square.times(versine).scaled(0.5);
    for _ in 0..DOUBLINGS {
        let cosine = Double2::ONE.plus(versine.scaled(-1.0));
        versine = sine.times(sine).scaled(2.0);
        sine = sine.times(cosine).scaled(2.0);
    }
    let cosine = Double2::ONE.plus(versine.scaled(-1.0));
    let tangent = if complement { cosine.over(sine) } else { sine.over(cosine) }.rounded();
    if x < 0.0 { -tangent } else { tangent }
}

fn high_word(x: f64) -> i32 {
    (x.to_bits() >> 32) as i32
}

fn with_high_word(x: f64, high: i32) -> f64 {
    f64::from_bits(u64::from(high as u32) << 32 | x.to_bits() & 0xffff_ffff)
}

const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// ln(1 + x), by FDLIBM.
pub fn log_1p(x: f64) -> f64 {
    const LP: [f64; 7] = [
        0.6666666666666735,
        0.3999999999940942,
        0.2857142874366239,
        0.22222198432149784,
        0.1818357216161805,
        0.15313837699209373,
        0.14798198605116586,
    ];
    let hx = high_word(x);
    let ax = hx & 0x7fff_ffff;
    let (mut k, mut f, mut hu, mut c) = (1, 0.0, 1, 0.0);
    if hx < 0x3fda_827a {
        // x < 0.41422
        if ax >= 0x3ff0_0000 {
            return if x == -1.0 { f64::NEG_INFINITY } else { f64::NAN };
        }
        if ax < 0x3e20_0000 {
            // |x| < 2^−29
            return if ax < 0x3c90_0000 { x } else { x - x * x * 0.5 };
        }
        if hx > 0 || hx <= 0xbfd2_bec3_u32 as i32 {
            // −0.2929 < x < 0.41422
            k = 0;
            f = x;
            hu = 1;
        }
    }
    if hx >= 0x7ff0_0000 {
        return x + x;
    }
    if k != 0 {
        let mut u;
        if hx < 0x4340_0000 {
            u = 1.0 + x;
            hu = high_word(u);
            k = (hu >> 20) - 1023;
            // What rounding took from 1 + x.
            c = if k > 0 { 1.0 - (u - x) } else { x - (u - 1.0) };
            c /= u;
        } else {
            u = x;
            hu = high_word(u);
            k = (hu >> 20) - 1023;
            c = 0.0;
        }
        hu &= 0x000f_ffff;
        if hu < 0x6_a09e {
            u = with_high_word(u, hu | 0x3ff0_0000);
        } else {
            k += 1;
            u = with_high_word(u, hu | 0x3fe0_0000);
            hu = (0x0010_0000 - hu) >> 2;
        }
        f = u - 1.0;
    }
    let k = f64::from(k);
    let hfsq = 0.5 * f * f;
    if hu == 0 {
        // |f| < 2^−20
        if f == 0.0 {
            return if k == 0.0 { 0.0 } else { k * LN_2_HIGH + (c + k * LN_2_LOW) };
        }
        let r = hfsq * (1.0 - 0.6666666666666666 * f);
        return if k == 0.0 { f - r } else { k * LN_2_HIGH - ((r - (k * LN_2_LOW + c)) - f) };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * (LP[0] + z * (LP[1] + z * (LP[2] + z * (LP[3] + z * (LP[4] + z * (LP[5] + z * LP[6]))))));
    if k == 0.0 {
        f - (hfsq - s * (hfsq + r))
    } else {
        k * LN_2_HIGH - ((hfsq - (s * (hfsq + r) + (k * LN_2_LOW + c))) - f)
    }
}

/// e^x − 1, by FDLIBM.
pub fn exp_m1(x: f64) -> f64 {
    const OVERFLOW: f64 = 709.782712893384;
    const Q: [f64; 5] = [
        -0.03333333333333313,
        0.0015873015872548146,
        -7.93650757867488e-05,
        4.008217827329362e-06,
        -2.0109921818362437e-07,
    ];
    let negative = x.is_sign_negative();
    let hx = high_word(x) & 0x7fff_ffff;
    if hx >= 0x4043_687a {
        // |x| ≥ 56 ln 2
        if hx >= 0x4086_2e42 {
            if x.is_nan() {
                return x;
            }
            if x == f64::INFINITY {
                return x;
            }
            if x > OVERFLOW {
                return f64::INFINITY;
            }
        }
        if negative {
            return -1.0;
        }
    }
    let (mut x, mut k, mut c) = (x, 0, 0.0);
    if hx > 0x3fd6_2e42 {
        // |x| > 0.5 ln 2
        let (high, low);
        if hx < 0x3ff0_a2b2 {
            // |x| < 1.5 ln 2
            if negative {
                (high, low, k) = (x + LN_2_HIGH, -LN_2_LOW, -1);
            } else {
                (high, low, k) = (x - LN_2_HIGH, LN_2_LOW, 1);
            }
        } else {
            k = (LOG2_E * x + if negative { -0.5 } else { 0.5 }) as i32;
            let t = f64::from(k);
            (high, low) = (x - t * LN_2_HIGH, t * LN_2_LOW);
        }
        x = high - low;
        c = (high - x) - low;
    } else if hx < 0x3c90_0000 {
        // |x| < 2^−54
        return x;
    }
    let hfx = 0.5 * x;
    let hxs = x * hfx;
    let r1 = 1.0 + hxs * (Q[0] + hxs * (Q[1] + hxs * (Q[2] + hxs * (Q[3] + hxs * Q[4]))));
    let t = 3.0 - r1 * hfx;
    let mut e = hxs * ((r1 - t) / (6.0 - x * t));
    if k == 0 {
        return x - (x * e - hxs);
    }
    e = x * (e - c) - c;
    e -= hxs;
    if k == -1 {
        return 0.5 * (x - e) - 0.5;
    }
    if k == 1 {
        return if x < -0.25 { -2.0 * (e - (x + 0.5)) } else { 1.0 + 2.0 * (x - e) };
    }
    let add_exponent = |y: f64| with_high_word(y, high_word(y).wrapping_add(k << 20));
    if k <= -2 || k > 56 {
        return add_exponent(1.0 - (e - x)) - 1.0;
    }
    if k < 20 {
        // 1 − 2^−k
        let t = with_high_word(1.0, 0x3ff0_0000 - (0x20_0000 >> k));
        add_exponent(t - (e - x))
    } else {
        // 2^−k
        let t = with_high_word(1.0, (0x3ff - k) << 20);
        add_exponent((x - (e + t)) + 1.0)
    }
}

/// The arc sine, by FDLIBM.
pub fn asin(x: f64) -> f64 {
    const HALF_PI_HIGH: f64 = FRAC_PI_2;
    const HALF_PI_LOW: f64 = 6.123233995736766e-17;
    const QUARTER_PI_HIGH: f64 = FRAC_PI_4;
    const P: [f64; 6] = [
        0.16666666666666666,
        -0.3255658186224009,
        0.20121253213486293,
        -0.04005553450067941,
        0.0007915349942898145,
        3.479331075960212e-05,
    ];
    const Q: [f64; 4] = [-2.403394911734414, 2.0209457602335057, -0.6882839716054533, 0.07703815055590194];
    let p = |t: f64| t * (P[0] + t * (P[1] + t * (P[2] + t * (P[3] + t * (P[4] + t * P[5])))));
    let q = |t: f64| 1.0 + t * (Q[0] + t * (Q[1] + t * (Q[2] + t * Q[3])));
    let a = x.abs();
    if x.is_nan() || a > 1.0 {
        return f64::NAN;
    }
    if a == 1.0 {
        return x * HALF_PI_HIGH + x * HALF_PI_LOW;
    }
    if a < 0.5 {
        if a < 7.450580596923828e-9 {
            return x; // |x| < 2^−27
        }
        let t = x * x;
        return x + x * (p(t) / q(t));
    }
    let t = (1.0 - a) * 0.5;
    let (p, q) = (p(t), q(t));
    let s = t.sqrt();
    let result = if high_word(a) >= 0x3fef_3333 {
        // |x| > 0.975
        HALF_PI_HIGH - (2.0 * (s + s * (p / q)) - HALF_PI_LOW)
    } else {
        let w = f64::from_bits(s.to_bits() & !0xffff_ffff);
        let c = (t - w * w) / (s + w);
        let r = p / q;
        let p = 2.0 * s * r - (HALF_PI_LOW - 2.0 * c);
        let q = QUARTER_PI_HIGH - 2.0 * w;
        QUARTER_PI_HIGH - (p - q)
    };
    if x > 0.0 { result } else { -result }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_runtime() {
        // Bits of arguments and result, as a JDK 17 on x86-64 computes them.
        #[rustfmt::skip]
        let known: &[(&str, u64, u64, u64)] = &[
            ("exp", 0xc015_9238_105d_488a, 0x0000_0000_0000_0000, 0x3f72_a23d_19cc_dcb0),
            ("exp", 0xbffb_7dd4_03e1_fd28, 0x0000_0000_0000_0000, 0x3fc6_f618_3633_9c21),
            ("exp", 0xc014_330b_a63b_8e5b, 0x0000_0000_0000_0000, 0x3f7a_41af_f16b_e047),
            ("exp", 0xbffb_35a4_d84c_ddf8, 0x0000_0000_0000_0000, 0x3fc7_5e9a_6247_eb4f),
            ("exp", 0xc009_da99_608b_f144, 0x0000_0000_0000_0000, 0x3fa4_37e0_b2e4_4582),
            ("exp", 0xc01f_2fa1_ac10_e23e, 0x0000_0000_0000_0000, 0x3f3a_f235_a27c_d6b2),
            // Not the rounded ones.
            ("exp", 0xbff9_b73e_9a46_61f3, 0x0000_0000_0000_0000, 0x3fc9_a809_733d_4900),
            ("exp", 0xbf95_6401_618c_66e0, 0x0000_0000_0000_0000, 0x3fef_56a6_58dc_9c3c),
            ("exp", 0x3f8d_10a2_8674_701b, 0x0000_0000_0000_0000, 0x3ff0_3a8b_5e20_0a2a),
            ("exp", 0x4084_576b_01a4_e956, 0x0000_0000_0000_0000, 0x7aa1_0631_76ad_90f6),
            ("log", 0x3fe9_bfc9_9bb1_7d48, 0x0000_0000_0000_0000, 0xbfcb_d195_9952_0187),
            ("log", 0x3fef_fa09_826f_98cb, 0x0000_0000_0000_0000, 0xbf47_dc2f_6c25_adf2),
            ("log", 0x3fe5_43e7_f516_56fe, 0x0000_0000_0000_0000, 0xbfda_2781_73e8_2b94),
            ("log", 0x3ff0_43e1_df68_3647, 0x0000_0000_0000_0000, 0x3f90_d4dc_68af_abd6),
            ("log", 0x4042_4776_d54a_681a, 0x0000_0000_0000_0000, 0x400c_ca90_9b8a_0de4),
            ("log", 0x402d_e275_4063_cc3f, 0x0000_0000_0000_0000, 0x4005_a231_9a25_ab40),
            ("log", 0x3ffa_44e6_b580_b629, 0x0000_0000_0000_0000, 0x3fdf_bb4a_8ba1_b650),
            ("log", 0x4012_ae6e_2152_b2a8, 0x0000_0000_0000_0000, 0x3ff8_a8e3_3338_f4f4),
            ("log", 0x3fc7_10f3_0e59_e6ef, 0x0000_0000_0000_0000, 0xbffb_6b28_5d91_fa62),
            ("log", 0x400f_5cdc_d2f0_33fc, 0x0000_0000_0000_0000, 0x3ff5_dbde_af6f_abc0),
            ("pow", 0x405f_f2f2_d09b_8b65, 0xbff6_b1e7_30fe_8218, 0x3f50_d843_3016_d1be),
            ("pow", 0x3f98_9c15_507a_f690, 0xbff6_0c95_22fa_3ac2, 0x4065_4b7d_88fa_55ac),
            ("pow", 0x4017_9b04_c312_0d0f, 0xbff2_693f_9b92_3876, 0x3fc0_994b_1e98_d961),
            ("pow", 0x3f9d_b18a_409c_1fc4, 0xbfe8_21a9_d312_ec14, 0x402c_e0f1_4639_5c1d),
            ("pow", 0x403f_66be_5da7_6447, 0x3fce_db34_9e3c_1dc0, 0x4002_5d02_a66e_ceb3),
            ("pow", 0x400f_2867_7b8b_bfd4, 0x3ff0_ac58_15fa_2b7c, 0x4010_7f02_c3b7_ac55),
            ("tan", 0xbff3_5f47_58b8_f6de, 0x0000_0000_0000_0000, 0xc005_4067_12e6_90d2),
            ("tan", 0x3fcc_ae4b_0075_f7a7, 0x0000_0000_0000_0000, 0x3fcd_2bb0_9a9b_1784),
            ("tan", 0xbff7_0c03_cb92_4dba, 0x0000_0000_0000_0000, 0xc01e_8270_ca7e_8326),
            ("tan", 0x3ff8_15c2_ff16_8d04, 0x0000_0000_0000_0000, 0x402e_7f98_5bd2_ba89),
            ("tan", 0xbfe3_9fa1_df8e_b578, 0x0000_0000_0000_0000, 0xbfe6_8518_9f3f_8239),
            ("tan", 0xbff3_f203_f152_ee0d, 0x0000_0000_0000_0000, 0xc007_cdfd_12be_470f),
            ("log1p", 0x3fca_8415_d71d_491c, 0x0000_0000_0000_0000, 0x3fc8_1923_0ab7_fa76),
            ("log1p", 0x3fc5_e78b_c0ce_4a40, 0x0000_0000_0000_0000, 0x3fc4_384b_a55d_8d0b),
            ("log1p", 0x3fc2_cb32_607d_5798, 0x0000_0000_0000_0000, 0x3fc1_8928_1eb0_2be7),
            ("log1p", 0x3f91_c457_2e19_74e0, 0x0000_0000_0000_0000, 0x3f91_9d55_4071_7813),
            ("log1p", 0x3fcf_55b3_f419_ab14, 0x0000_0000_0000_0000, 0x3fcc_0772_3cfb_3a0d),
            ("log1p", 0x3fcf_c440_3df7_cd28, 0x0000_0000_0000_0000, 0x3fcc_6022_3d62_e3d7),
            ("expm1", 0x3fcd_b308_a703_a4e0, 0x0000_0000_0000_0000, 0x3fd0_b6b9_fe5c_085e),
            ("expm1", 0x3ff3_4fc9_cd70_b108, 0x0000_0000_0000_0000, 0x4002_bf39_4435_60c2),
            ("expm1", 0xbfe3_01d8_dbce_8c24, 0x0000_0000_0000_0000, 0xbfdc_a9ef_8e18_578b),
            ("expm1", 0xbfdb_0963_9b4d_32a8, 0x0000_0000_0000_0000, 0xbfd6_0d44_271e_0d1c),
            ("expm1", 0xbfe5_22cd_0aa3_09a8, 0x0000_0000_0000_0000, 0xbfde_f020_0af7_e729),
            ("expm1", 0x3fe5_b023_5f7f_bd2c, 0x0000_0000_0000_0000, 0x3fef_05af_4f9e_f05a),
            ("asin", 0x3fd8_3ed1_8c8b_1fe8, 0x0000_0000_0000_0000, 0x3fd8_ddc6_ffeb_5c87),
            ("asin", 0x3fe5_b1cd_aaaf_c54b, 0x0000_0000_0000_0000, 0x3fe7_d6d8_e5c0_125a),
            ("asin", 0x3fef_5f74_08be_7a3e, 0x0000_0000_0000_0000, 0x3ff5_f5b9_f84a_3f87),
            ("asin", 0x3fed_c60d_8214_2f9b, 0x0000_0000_0000_0000, 0x3ff3_2112_c3ad_9928),
            ("asin", 0x3fd9_355a_edea_0e78, 0x0000_0000_0000_0000, 0x3fd9_e912_f309_a2b0),
            ("asin", 0x3fe5_4bda_0777_eece, 0x0000_0000_0000_0000, 0x3fe7_4d37_8024_9b8e),
        ];
        for (name, x, y, expected) in known {
            let (x, y) = (f64::from_bits(*x), f64::from_bits(*y));
            let found = match *name {
                "exp" => exp(x),
                "log" => ln(x),
                "pow" => pow(x, y),
                "tan" => tan(x),
                "log1p" => log_1p(x),
                "expm1" => exp_m1(x),
                _ => asin(x),
            };
            assert_eq!(found.to_bits(), *expected, "{name}({x}, {y})");
        }
    }

    #[test]
    fn quick_results_are_those_with_twice_the_digits() {
        for step in 0..20_000 {
            let x = f64::from(step) * 0.0371 - 371.0;
            let (k, m) = exp_parts(Double2::of(x));
            let quick = exp_of(Double2::of(x), 0.0, || Double2::of(x));
            assert_eq!(quick, scaled_by_power(Double2::ONE.plus(m).rounded(), k), "exp({x})");
            assert!((exp(x) / quick - 1.0).abs() < 3e-16, "exp({x})");
            let x = f64::from(step + 1) * 1.7e-3;
            let rounded = ln_slow(x).rounded();
            if let Some(quick) = certain(ln_quick(x), 5e-20) {
                assert_eq!(quick, rounded, "ln({x})");
            }
            assert!((ln(x) - rounded).abs() <= 3e-16 * rounded.abs(), "ln({x})");
        }
    }

    #[test]
    fn edges_are_javas() {
        for (x, y, expected) in [
            (0.0, -1.0, f64::INFINITY),
            (-0.0, 3.0, -0.0),
            (-2.0, 3.0, -8.0),
            (2.0, 1023.0, 8.98846567431158e307),
            (2.0, -1074.0, 5e-324),
            (f64::INFINITY, -1.0, 0.0),
            (1e300, 2.0, f64::INFINITY),
        ] {
            assert_eq!(pow(x, y).to_bits(), f64::to_bits(expected), "{x}^{y}");
        }
        assert!(pow(-2.0, 0.5).is_nan() && pow(1.0, f64::INFINITY).is_nan() && ln(-1.0).is_nan());
        assert_eq!((exp(710.0), exp(-746.0), ln(0.0)), (f64::INFINITY, 0.0, f64::NEG_INFINITY));
    }
}
