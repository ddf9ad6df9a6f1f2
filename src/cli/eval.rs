//! `nbrs eval`: what recipes yield at given cycles, for people (`cycle<TAB>value`) and as JSON.

use crate::bindings::Program;
use crate::functions::Context;
use crate::redact;
use crate::span::Text;
use crate::units;
use crate::value::Value;
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;

/// The cycles that are looked at where none are given.
pub const DEFAULT_CYCLES: Range<u64> = 0..10;

/// A value whose JSON text is longer than this stands as its hash and length.
const LONGEST_VALUE: usize = 3000;

/// A list of cycles and ranges, `0,1,5..10`; the end of a range is not in it. The error says what is wrong.
pub fn cycles(list: &str) -> Result<Vec<Range<u64>>, String> {
    list.split(',')
        .map(|part| {
            let part = part.trim();
            if part.contains("..") {
                units::cycles(part).map_err(|error| error.to_string())
            } else {
                let cycle = units::count(part).map_err(|error| error.to_string())?;
                Ok(cycle..cycle.saturating_add(1))
            }
        })
        .collect()
}

/// Evaluates each recipe at each cycle. Plain: a line a cycle, recipes parted by an empty line, errors and
/// notices on stderr. JSON: a line a recipe. Whether all recipes compiled.
pub fn run(recipes: Vec<Text>, at: &[Range<u64>], json: bool, out: &mut dyn io::Write) -> io::Result<bool> {
    let mut all_compiled = true;
    let mut first = true;
    for recipe in recipes {
        let compiled = Program::compile(&recipe);
        all_compiled &= compiled.is_ok();
        let mut line = Vec::new();
        if json {
            match compiled {
                Ok(compiled) => write_json(&recipe, &compiled.program, at, out)?,
                Err(error) => {
                    line.extend_from_slice(b"{\"recipe\":");
                    write_json_text(recipe.as_str(), &mut line);
                    line.extend_from_slice(b",\"error\":");
                    write_json_text(&redact::passwords(&error.one_line()), &mut line);
                    line.extend_from_slice(b"}\n");
                    out.write_all(&line)?;
                }
            }
            continue;
        }
        match compiled {
            Ok(compiled) => {
                super::tell(&compiled.notices);
                if !std::mem::take(&mut first) {
                    out.write_all(b"\n")?;
                }
                write_plain(&compiled.program, at, out)?;
            }
            Err(error) => super::tell(&[error]),
        }
    }
    Ok(all_compiled)
}

fn cycles_of(at: &[Range<u64>]) -> impl Iterator<Item = i64> {
    // Cycle numbers fit an i64: what is beyond is not a cycle.
    at.iter().cloned().flatten().map_while(|cycle| i64::try_from(cycle).ok())
}

fn write_plain(program: &Program, at: &[Range<u64>], out: &mut dyn io::Write) -> io::Result<()> {
    // What one thread keeps from cycle to cycle is no part of a value: each cycle starts from nothing.
    let mut context = Context::default();
    let mut line = Vec::new();
    for cycle in cycles_of(at) {
        line.clear();
        line.extend_from_slice(cycle.to_string().as_bytes());
        line.push(b'\t');
        let value_at = line.len();
        if let Err(error) = program.write_text(cycle, &mut context, &mut line) {
            line.truncate(value_at);
            line.extend_from_slice(format!("error: {error}").as_bytes());
        }
        line.push(b'\n');
        out.write_all(&line)?;
    }
    Ok(())
}

fn write_json(
    recipe: &Text,
    program: &Program,
    at: &[Range<u64>],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut context = Context::default();
    let mut line = Vec::new();
    line.extend_from_slice(b"{\"recipe\":");
    write_json_text(recipe.as_str(), &mut line);
    line.extend_from_slice(b",\"values\":[");
    let mut kind: Option<&'static str> = None;
    let mut value_text = Vec::new();
    for (position, cycle) in cycles_of(at).enumerate() {
        if position > 0 {
            line.push(b',');
        }
        line.extend_from_slice(format!("[{cycle},").as_bytes());
        match program.eval(cycle, &mut context) {
            Ok(value) => {
                let name = value.type_name();
                kind = match kind {
                    Some(seen) if seen != name => Some("mixed"),
                    _ => Some(name),
                };
                value_text.clear();
                write_json_value(&value, &mut value_text);
                if value_text.len() > LONGEST_VALUE {
                    line.extend_from_slice(b"{\"!sha256\":\"");
                    for byte in Sha256::digest(&value_text) {
                        line.extend_from_slice(format!("{byte:02x}").as_bytes());
                    }
                    line.extend_from_slice(format!("\",\"!length\":{}}}", value_text.len()).as_bytes());
                } else {
                    line.extend_from_slice(&value_text);
                }
            }
            Err(error) => {
                line.extend_from_slice(b"{\"!error\":");
                write_json_text(error.name, &mut line);
                line.push(b'}');
            }
        }
        line.push(b']');
        out.write_all(&line)?;
        line.clear();
    }
    line.extend_from_slice(b"],\"type\":");
    write_json_text(kind.unwrap_or("null"), &mut line);
    line.extend_from_slice(b"}\n");
    out.write_all(&line)
}

/// Integers and booleans as JSON has them; decimal numbers as their text, since JSON has no NaN and readers
/// differ in digits; buffers in hexadecimal; sets and maps in the order of their JSON texts, since their own is
/// arbitrary; all else as text in ASCII.
fn write_json_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null
        | Value::Bool(_)
        | Value::Byte(_)
        | Value::Short(_)
        | Value::Int(_)
        | Value::Long(_)
        | Value::BigInteger(_) => value.write_text(out),
        Value::Text(text) => write_json_text(text, out),
        Value::Bytes(bytes) => {
            write_json_text(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), out);
        }
        Value::Doubles(doubles) => write_json_list(doubles.iter().map(|d| json(&Value::Double(*d))), out),
        Value::Floats(floats) => write_json_list(floats.iter().map(|f| json(&Value::Float(*f))), out),
        Value::List(values) | Value::Array(values) => write_json_list(values.iter().map(json), out),
        Value::Set(values) => {
            let mut items: Vec<Vec<u8>> = values.iter().map(json).collect();
            items.sort();
            write_json_list(items.into_iter(), out);
        }
        Value::Map(entries) => {
            let mut entries: Vec<(String, Vec<u8>)> =
                entries.iter().map(|(key, value)| (key.text(), json(value))).collect();
            entries.sort();
            write_json_object(entries.iter().map(|(key, value)| (key.as_str(), value.as_slice())), out);
        }
        Value::Document(fields) => {
            let fields: Vec<(&str, Vec<u8>)> =
                fields.iter().map(|(name, value)| (name.as_str(), json(value))).collect();
            write_json_object(fields.iter().map(|(key, value)| (*key, value.as_slice())), out);
        }
        _ => write_json_text(&value.text(), out),
    }
}

fn json(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_json_value(value, &mut out);
    out
}

fn write_json_list(items: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.push(b']');
}

fn write_json_object<'a>(entries: impl Iterator<Item = (&'a str, &'a [u8])>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (position, (key, value)) in entries.enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_json_text(key, out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
}

/// A JSON string with everything outside ASCII as `\u` escapes.
fn write_json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            ' '..='\u{7f}' => out.push(character as u8),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(recipe: &str, at: &str, json: bool) -> (String, bool) {
        let mut out = Vec::new();
        let at = cycles(at).expect("a list of cycles");
        let compiled =
            run(vec![Text::of_source("recipe", recipe)], &at, json, &mut out).expect("memory is writable");
        (String::from_utf8(out).expect("UTF-8"), compiled)
    }

    #[test]
    fn lists_of_cycles_have_single_ones_and_ranges() {
        for (list, expected) in [
            ("0,1,5..10", vec![(0, 1), (1, 2), (5, 10)]),
            ("9223372036854775807", vec![(9223372036854775807, 9223372036854775808)]),
            ("2k", vec![(2000, 2001)]),
        ] {
            let ranges = cycles(list).expect(list);
            assert_eq!(ranges.iter().map(|range| (range.start, range.end)).collect::<Vec<_>>(), expected);
        }
        for broken in ["", "x", "1,", "-1", "5..x"] {
            assert!(cycles(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn plain_output_is_a_line_a_cycle() {
        assert_eq!(evaluated("Mod(2); ToString()", "0..3", false), ("0\t0\n1\t1\n2\t0\n".to_owned(), true));
        let (out, compiled) = evaluated("Div(0)", "7", false);
        assert!(compiled && out.starts_with("7\terror: ArithmeticException"), "{out}");
        assert_eq!(evaluated("Nope()", "0", false), (String::new(), false));
    }

    #[test]
    fn json_output_is_a_line_a_recipe() {
        for (recipe, at, expected) in [
            ("Mod(2)", "0..2", r#"{"recipe":"Mod(2)","values":[[0,0],[1,1]],"type":"Long"}"#),
            ("Mod(2) -> int", "1", r#"{"recipe":"Mod(2) -> int","values":[[1,1]],"type":"Integer"}"#),
            (
                "Identity(); Add(0.5)",
                "1",
                r#"{"recipe":"Identity(); Add(0.5)","values":[[1,"1.5"]],"type":"Double"}"#,
            ),
            (
                r#"FixedValue('é"')"#,
                "0",
                r#"{"recipe":"FixedValue('\u00e9\"')","values":[[0,"\u00e9\""]],"type":"String"}"#,
            ),
            (
                "Mod(0)",
                "0",
                r#"{"recipe":"Mod(0)","values":[[0,{"!error":"ArithmeticException"}]],"type":"null"}"#,
            ),
        ] {
            assert_eq!(evaluated(recipe, at, true), (format!("{expected}\n"), true));
        }
        let (out, compiled) = evaluated("Mood(2)", "0", true);
        assert!(
            !compiled && out.starts_with(r#"{"recipe":"Mood(2)","error":""#) && out.contains("`Mod`"),
            "{out}"
        );
    }

    #[test]
    fn long_values_stand_as_hash_and_length() {
        let (out, _) = evaluated("CharBufImage('ab',5000,3000)", "0", true);
        assert!(out.contains(r#"[0,{"!sha256":""#) && out.contains(r#"","!length":3002}]"#), "{out}");
    }
}
