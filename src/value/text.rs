//! Numbers and UUIDs as Java prints and reads them (`String.valueOf`, `Long.valueOf`, `Double.valueOf`).

use std::io::Write as _;

/// Appends a decimal integer. Allocates nothing but what `out` grows by.
pub fn write_long(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a double as `Double.toString` of JDK 19 and later does: the shortest digits that read back.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    if !write_special(value, out) {
        let mut scientific = Scientific::default();
        let _ = write!(scientific, "{value:e}");
        if scientific.has_one_digit() {
            // Java prints at least two digits and takes the two nearest, which need not end in 0 (4.9E-324).
            scientific = Scientific::default();
            let _ = write!(scientific, "{value:.1e}");
        }
        scientific.write_java(out);
    }
}

/// Appends a float, likewise, with the digits of single precision.
pub fn write_float(value: f32, out: &mut Vec<u8>) {
    if !write_special(f64::from(value), out) {
        let mut scientific = Scientific::default();
        let _ = write!(scientific, "{value:e}");
        if scientific.has_one_digit() {
            scientific = Scientific::default();
            let _ = write!(scientific, "{value:.1e}");
        }
        scientific.write_java(out);
    }
}

/// NaN, the infinities and the zeros; whether `value` was one.
fn write_special(value: f64, out: &mut Vec<u8>) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else if value == 0.0 {
        if value.is_sign_negative() { b"-0.0" } else { b"0.0" }
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// Rust's `{:e}` text (`-d.ddde-x`) in a fixed space.
#[derive(Default)]
struct Scientific {
    bytes: [u8; 32],
    length: usize,
}

impl std::io::Write for Scientific {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        let room = self.bytes.len() - self.length;
        let taken = part.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&part[..taken]);
        self.length += taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Scientific {
    fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn has_one_digit(&self) -> bool {
        !self.text().contains(&b'.')
    }

    /// Plain notation for 10^-3 ≤ |value| < 10^7, else `d.dddE±x`.
    fn write_java(&self, out: &mut Vec<u8>) {
        let text = self.text();
        let (negative, text) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mark = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let exponent = std::str::from_utf8(text.get(mark + 1..).unwrap_or_default())
            .ok()
            .and_then(|exponent| exponent.parse::<i32>().ok())
            .unwrap_or_default();
        let mut digits = [0u8; 32];
        let mut count = 0;
        for byte in &text[..mark] {
            if *byte != b'.' {
                digits[count] = *byte;
                count += 1;
            }
        }
        // `{:.1e}` leaves a zero that plain notation must not repeat.
        while count > 1 && digits[count - 1] == b'0' {
            count -= 1;
        }
        let digits = &digits[..count];
        if negative {
            out.push(b'-');
        }
        if (0..7).contains(&exponent) {
            let whole = exponent as usize + 1;
            out.extend(digits.iter().copied().chain(std::iter::repeat(b'0')).take(whole));
            out.push(b'.');
            out.extend_from_slice(digits.get(whole..).filter(|rest| !rest.is_empty()).unwrap_or(b"0"));
        } else if (-3..0).contains(&exponent) {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(digits);
        } else {
            out.push(digits[0]);
            out.push(b'.');
            out.extend_from_slice(digits.get(1..).filter(|rest| !rest.is_empty()).unwrap_or(b"0"));
            out.push(b'E');
            write_long(i64::from(exponent), out);
        }
    }
}

/// `Long.valueOf`: an optional sign and decimal digits, nothing else.
pub fn parse_long(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// `Integer.valueOf`, likewise.
pub fn parse_int(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// `Double.valueOf`: blanks around are dropped; decimal with an optional exponent and an optional `d` or `f`
/// at the end, `NaN`, `Infinity`, or a hexadecimal number such as `0x1.8p3`.
pub fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c <= ' ');
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match magnitude {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        _ if magnitude.starts_with("0x") || magnitude.starts_with("0X") => {
            parse_hexadecimal(&magnitude[2..])?
        }
        _ => {
            let digits = magnitude.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(magnitude);
            // Rust reads `inf` and `nan` too; Java does not.
            if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
                return None;
            }
            digits.parse().ok()?
        }
    };
    Some(if negative { -value } else { value })
}

/// `h.hhhp±x`, without the `0x`. More than 60 bits of digits are an error rather than rounded.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let mut exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() > 15 || exponent.abs() > 1_200 {
        return None;
    }
    let bits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    exponent -= 4 * fraction.len() as i32;
    // Two steps, so that neither factor leaves the range of normal numbers.
    let half = exponent / 2;
    Some(bits as f64 * 2f64.powi(half) * 2f64.powi(exponent - half))
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytes in lower-case hexadecimal.
pub(super) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]));
}

/// Appends a UUID: 8-4-4-4-12 hexadecimal digits.
pub(super) fn write_uuid(high: u64, low: u64, out: &mut Vec<u8>) {
    let number = u128::from(high) << 64 | u128::from(low);
    let mut text = [b'-'; 36];
    let mut digits = (0..32).rev().map(|digit| HEX[(number >> (4 * digit) & 15) as usize]);
    for (position, place) in text.iter_mut().enumerate() {
        if !matches!(position, 8 | 13 | 18 | 23) {
            *place = digits.next().unwrap_or(b'0');
        }
    }
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("numbers are ASCII")
    }

    #[test]
    fn doubles_print_as_java_prints_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.001, "0.001"),
            (0.000999, "9.99E-4"),
            (100.0, "100.0"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.5e300, "1.5E300"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (9_223_372_036_854_775_807.0, "9.223372036854776E18"),
            (2e23, "2.0E23"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(text(|out| write_double(value, out)), expected);
        }
    }

    #[test]
    fn floats_print_with_their_own_digits() {
        for (value, expected) in [
            (0.1f32, "0.1"),
            (f32::from_bits(1), "1.4E-45"),
            (f32::MAX, "3.4028235E38"),
            (16_777_216.0, "1.6777216E7"),
            (1_234_567.0, "1234567.0"),
        ] {
            assert_eq!(text(|out| write_float(value, out)), expected);
        }
    }

    #[test]
    fn doubles_read_as_java_reads_them() {
        for (text, expected) in [
            ("1", Some(1.0)),
            (" 5.7 ", Some(5.7)),
            ("-0", Some(-0.0)),
            ("1e400", Some(f64::INFINITY)),
            ("1.5d", Some(1.5)),
            (".5f", Some(0.5)),
            ("5.", Some(5.0)),
            ("+2", Some(2.0)),
            ("0x1.8p3", Some(12.0)),
            ("Infinity", Some(f64::INFINITY)),
            ("inf", None),
            ("nan", None),
            ("", None),
            ("-", None),
            ("1_000", None),
            ("abc", None),
            ("é", None),
        ] {
            assert_eq!(parse_double(text), expected, "{text:?}");
        }
        assert!(parse_double("NaN").is_some_and(f64::is_nan));
    }

    proptest::proptest! {
        #[test]
        fn printed_doubles_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            let printed = text(|out| write_double(value, out));
            let read = parse_double(&printed).expect("it reads what it prints");
            proptest::prop_assert!(read == value || (read.is_nan() && value.is_nan()), "{}", printed);
        }

        #[test]
        fn longs_print_in_decimal(value: i64) {
            proptest::prop_assert_eq!(text(|out| write_long(value, out)), value.to_string());
        }

        #[test]
        fn reading_never_panics(text: String) {
            let _ = (parse_double(&text), parse_long(&text), parse_int(&text));
        }
    }
}
