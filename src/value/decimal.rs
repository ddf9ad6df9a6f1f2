//! Decimal numbers of any length, as Java's `BigDecimal` has them.

use std::str::FromStr;

/// ±`digits` × 10^−`scale`. As in Java, 1.0 and 1.00 differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BigDecimal {
    /// Never set for zero.
    negative: bool,
    /// In ASCII, without zeros in front; `0` for zero.
    digits: String,
    scale: i32,
}

/// What becomes of digits that are cut off: Java's `RoundingMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
    Ceiling,
    Floor,
    HalfUp,
    HalfDown,
    HalfEven,
    /// An error if a digit other than 0 would be lost.
    Unnecessary,
}

impl Rounding {
    /// The mode of Java's name for it.
    pub fn named(name: &str) -> Option<Rounding> {
        Some(match name {
            "UP" => Rounding::Up,
            "DOWN" => Rounding::Down,
            "CEILING" => Rounding::Ceiling,
            "FLOOR" => Rounding::Floor,
            "HALF_UP" => Rounding::HalfUp,
            "HALF_DOWN" => Rounding::HalfDown,
            "HALF_EVEN" => Rounding::HalfEven,
            "UNNECESSARY" => Rounding::Unnecessary,
            _ => return None,
        })
    }
}

impl BigDecimal {
    /// `unscaled` × 10^−`scale`.
    pub fn new(unscaled: i64, scale: i32) -> BigDecimal {
        BigDecimal { negative: unscaled < 0, digits: unscaled.unsigned_abs().to_string(), scale }
    }

    /// Exactly the double, digit for digit. None for NaN and the infinities.
    pub fn exact(value: f64) -> Option<BigDecimal> {
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let mut significand = if exponent == 0 { fraction << 1 } else { fraction | 1 << 52 };
        if significand == 0 {
            return Some(BigDecimal::new(0, 0));
        }
        let mut exponent = exponent - 1075;
        let zeros = significand.trailing_zeros();
        significand >>= zeros;
        exponent += zeros as i32;
        // s·2^e is an integer, or s·5^−e with −e digits behind the point.
        let factor = if exponent < 0 { 5 } else { 2 };
        Some(BigDecimal {
            negative: value < 0.0,
            digits: product(significand, factor, exponent.unsigned_abs()),
            scale: if exponent < 0 { -exponent } else { 0 },
        })
    }

    /// Digits of the unscaled value; 1 for zero.
    pub fn precision(&self) -> usize {
        self.digits.len()
    }

    pub fn scale(&self) -> i32 {
        self.scale
    }

    /// At most `precision` digits, 0 for all. None if digits would be lost under
    /// [`Rounding::Unnecessary`], or the scale leaves 32 bits.
    pub fn rounded(mut self, precision: usize, rounding: Rounding) -> Option<BigDecimal> {
        if precision == 0 || self.digits.len() <= precision {
            return Some(self);
        }
        let dropped = self.digits.len() - precision;
        self.scale = self.scale.checked_sub(i32::try_from(dropped).ok()?)?;
        let rest = self.digits.split_off(precision);
        let rest = rest.as_bytes();
        if rest.iter().all(|digit| *digit == b'0') {
            return Some(self);
        }
        let exactly_half = rest[0] == b'5' && rest[1..].iter().all(|digit| *digit == b'0');
        let above_half = rest[0] >= b'5' && !exactly_half;
        let odd = self.digits.bytes().last().is_some_and(|digit| digit & 1 == 1);
        let away = match rounding {
            Rounding::Unnecessary => return None,
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::Ceiling => !self.negative,
            Rounding::Floor => self.negative,
            Rounding::HalfUp => above_half || exactly_half,
            Rounding::HalfDown => above_half,
            Rounding::HalfEven => above_half || exactly_half && odd,
        };
        if away {
            let nines = self.digits.bytes().rev().take_while(|digit| *digit == b'9').count();
            let kept = precision - nines;
            let mut digits = self.digits[..kept].to_owned();
            match digits.pop() {
                Some(last) => digits.push(char::from(last as u8 + 1)),
                // 99 becomes 100, which is 10 with one digit less behind the point.
                None => {
                    digits.push('1');
                    self.scale = self.scale.checked_sub(1)?;
                    digits.extend(std::iter::repeat_n('0', nines.saturating_sub(1)));
                    self.digits = digits;
                    return Some(self);
                }
            }
            digits.extend(std::iter::repeat_n('0', nines));
            self.digits = digits;
        }
        Some(self)
    }

    /// `BigDecimal.hashCode`.
    pub(super) fn java_hash(&self) -> i32 {
        let unscaled = match self.digits.parse::<u64>() {
            // What fits a long is kept as one, and hashed in two halves.
            Ok(bits) if bits < 1 << 63 => ((bits >> 32) as i32).wrapping_mul(31).wrapping_add(bits as i32),
            _ => binary(&self.digits)
                .iter()
                .rev()
                .fold(0i32, |hash, limb| hash.wrapping_mul(31).wrapping_add(*limb as i32)),
        };
        let unscaled = if self.negative { unscaled.wrapping_neg() } else { unscaled };
        unscaled.wrapping_mul(31).wrapping_add(self.scale)
    }

    /// `BigDecimal.toString`: scientific only if the scale is negative or the number below 10^−6.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        let digits = self.digits.as_str();
        if self.negative {
            out.push(b'-');
        }
        let scale = i64::from(self.scale);
        let adjusted = digits.len() as i64 - 1 - scale;
        if scale == 0 {
            out.extend_from_slice(digits.as_bytes());
        } else if scale > 0 && adjusted >= -6 {
            let whole = digits.len() as i64 - scale;
            if whole > 0 {
                let (whole, fraction) = digits.split_at(whole as usize);
                out.extend_from_slice(whole.as_bytes());
                out.push(b'.');
                out.extend_from_slice(fraction.as_bytes());
            } else {
                out.extend_from_slice(b"0.");
                out.extend(std::iter::repeat_n(b'0', whole.unsigned_abs() as usize));
                out.extend_from_slice(digits.as_bytes());
            }
        } else {
            let (first, others) = digits.split_at(1);
            out.extend_from_slice(first.as_bytes());
            if !others.is_empty() {
                out.push(b'.');
                out.extend_from_slice(others.as_bytes());
            }
            if adjusted != 0 {
                out.push(b'E');
                if adjusted > 0 {
                    out.push(b'+');
                }
                super::write_long(adjusted, out);
            }
        }
    }
}

/// Limbs of nine decimal digits, the lowest first.
const LIMB: u64 = 1_000_000_000;

/// The decimal digits of `number` × `factor`^`power`, for a factor of 5 at most.
fn product(number: u64, factor: u64, power: u32) -> String {
    let mut limbs = vec![number % LIMB, number / LIMB % LIMB, number / LIMB / LIMB];
    let mut left = power;
    while left > 0 {
        // 5^12 times a limb fits 64 bits.
        let step = left.min(12);
        left -= step;
        let multiplier = factor.pow(step);
        let mut carry = 0;
        for limb in &mut limbs {
            let value = *limb * multiplier + carry;
            *limb = value % LIMB;
            carry = value / LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let all: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
    all.trim_start_matches('0').to_owned()
}

/// Limbs of 32 bits of a decimal number, the lowest first.
fn binary(digits: &str) -> Vec<u32> {
    let mut limbs: Vec<u32> = Vec::new();
    for digit in digits.bytes() {
        let mut carry = u64::from(digit - b'0');
        for limb in &mut limbs {
            let value = u64::from(*limb) * 10 + carry;
            *limb = value as u32;
            carry = value >> 32;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    limbs
}

/// `new BigDecimal(String)`: digits with an optional sign, point and exponent.
impl FromStr for BigDecimal {
    type Err = ();

    fn from_str(text: &str) -> Result<BigDecimal, ()> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().map_err(|_| ())?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(digits) || !all_digits(fraction) || digits.len() + fraction.len() == 0 {
            return Err(());
        }
        let scale = (fraction.len() as i64).checked_sub(exponent).ok_or(())?;
        let scale = i32::try_from(scale).map_err(|_| ())?;
        let all = format!("{digits}{fraction}");
        let digits = all.trim_start_matches('0');
        let is_zero = digits.is_empty();
        let digits = if is_zero { "0" } else { digits }.to_owned();
        Ok(BigDecimal { negative: whole.starts_with('-') && !is_zero, digits, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(decimal: &BigDecimal) -> String {
        let mut out = Vec::new();
        decimal.write_text(&mut out);
        String::from_utf8(out).expect("decimals are ASCII")
    }

    #[test]
    fn decimals_print_as_java_prints_them() {
        for (unscaled, scale, expected) in [
            (5, 2, "0.05"),
            (-12345, 2, "-123.45"),
            (0, 3, "0.000"),
            (1, 6, "0.000001"),
            (1, 7, "1E-7"),
            (123, 10, "1.23E-8"),
            (123, -2, "1.23E+4"),
            (1, -3, "1E+3"),
            (0, -3, "0E+3"),
            (42, 0, "42"),
        ] {
            assert_eq!(text(&BigDecimal::new(unscaled, scale)), expected);
        }
    }

    #[test]
    fn doubles_become_decimals_digit_for_digit() {
        for (value, expected) in [
            (0.5, "0.5"),
            (-0.0, "0"),
            (0.1, "0.1000000000000000055511151231257827021181583404541015625"),
            (1e22, "10000000000000000000000"),
            (1.5e300, &format!("{:.0}", 1.5e300)),
            (-2.75, "-2.75"),
        ] {
            assert_eq!(BigDecimal::exact(value).map(|decimal| text(&decimal)).as_deref(), Some(expected));
        }
        assert_eq!(BigDecimal::exact(f64::NAN), None);
        assert!(BigDecimal::exact(f64::from_bits(1)).is_some_and(|least| least.scale == 1074));
    }

    #[test]
    fn long_numbers_keep_all_binary_digits_too() {
        // 2^64 + 1.
        assert_eq!(binary("18446744073709551617"), [1, 0, 1]);
    }

    #[test]
    fn rounding_follows_its_mode() {
        for (number, mode, expected) in [
            ("1.25", Rounding::HalfEven, Some("1.2")),
            ("1.35", Rounding::HalfEven, Some("1.4")),
            ("1.25", Rounding::HalfUp, Some("1.3")),
            ("1.25", Rounding::HalfDown, Some("1.2")),
            ("-1.21", Rounding::Up, Some("-1.3")),
            ("-1.29", Rounding::Down, Some("-1.2")),
            ("-1.29", Rounding::Ceiling, Some("-1.2")),
            ("-1.21", Rounding::Floor, Some("-1.3")),
            ("9.96", Rounding::HalfUp, Some("10")),
            ("1.96", Rounding::HalfUp, Some("2.0")),
            ("1996", Rounding::HalfUp, Some("2.0E+3")),
            ("1234", Rounding::HalfUp, Some("1.2E+3")),
            ("1.20", Rounding::Unnecessary, Some("1.2")),
            ("1.21", Rounding::Unnecessary, None),
        ] {
            let rounded = BigDecimal::from_str(number).expect(number).rounded(2, mode);
            assert_eq!(rounded.as_ref().map(text).as_deref(), expected, "{number} {mode:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn printed_decimals_read_back(unscaled: i64, scale in -400i32..400) {
            let decimal = BigDecimal::new(unscaled, scale);
            proptest::prop_assert_eq!(BigDecimal::from_str(&text(&decimal)), Ok(decimal));
        }

        #[test]
        fn reading_never_panics(text: String) {
            let _ = BigDecimal::from_str(&text);
        }
    }
}
