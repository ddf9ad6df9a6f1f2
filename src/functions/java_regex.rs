//! Java's regular expressions: patterns are rewritten into the syntax of `fancy_regex`, where the two differ,
//! and matches and replacements follow Java's rules.
//!
//! Differences that are rewritten: `\w`, `\d`, `\s`, `\b` and the POSIX classes are ASCII; `.`, `^` and `$` know
//! all of Unicode's line ends, `$` also stands before a line end that ends the text; `\Q…\E`, `\h`, `\v`, `\R`,
//! octal and control escapes. What has no counterpart is refused by name.

use super::{Eval, EvalError};
use fancy_regex::{Captures, Regex};

/// A compiled pattern.
pub struct JavaRegex {
    find: Regex,
    /// The same pattern, for a match of the whole text.
    whole: Regex,
}

impl JavaRegex {
    /// The error says what is wrong with the pattern.
    pub fn new(pattern: &str) -> Result<JavaRegex, String> {
        let translated = Translator::new(pattern).translate()?;
        let compile = |pattern: &str| {
            Regex::new(pattern).map_err(|error| format!("the regular expression is not understood: {error}"))
        };
        Ok(JavaRegex { find: compile(&translated)?, whole: compile(&format!(r"\A(?:{translated})\z"))? })
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> Eval<bool> {
        self.whole.is_match(text).map_err(|error| too_hard(&error))
    }

    /// The matches from left to right, as `Matcher.find` gives them: after an empty match the search goes on
    /// one character further, and an empty match may stand right behind another.
    fn each<'t>(&self, text: &'t str, mut found: impl FnMut(&Captures<'t, str>) -> Eval<()>) -> Eval<()> {
        let mut from = 0;
        while from <= text.len() {
            let Some(captures) = self.find.captures_from_pos(text, from).map_err(|error| too_hard(&error))?
            else {
                break;
            };
            let Some(whole) = captures.get(0) else { break };
            let (start, end) = (whole.start(), whole.end());
            found(&captures)?;
            from = if start == end {
                end + text.get(end..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
            } else {
                end
            };
        }
        Ok(())
    }

    /// Appends `text` with every match replaced: `String.replaceAll`.
    pub fn replace_all(&self, text: &str, replacement: &Replacement, out: &mut Vec<u8>) -> Eval<()> {
        let mut copied = 0;
        self.each(text, |captures| {
            if let Some(whole) = captures.get(0) {
                out.extend_from_slice(text.get(copied..whole.start()).unwrap_or_default().as_bytes());
                replacement.write(captures, out)?;
                copied = whole.end();
            }
            Ok(())
        })?;
        out.extend_from_slice(text.get(copied..).unwrap_or_default().as_bytes());
        Ok(())
    }

    /// The parts between matches: `String.split`, without empty parts at the end.
    pub fn split<'t>(&self, text: &'t str) -> Eval<Vec<&'t str>> {
        let mut parts = Vec::new();
        let mut from = 0;
        self.each(text, |captures| {
            if let Some(whole) = captures.get(0) {
                // No empty part before an empty match at the start.
                if whole.end() > 0 {
                    parts.extend(text.get(from..whole.start()));
                    from = whole.end();
                }
            }
            Ok(())
        })?;
        if parts.is_empty() {
            return Ok(vec![text]);
        }
        parts.extend(text.get(from..));
        while parts.last().is_some_and(|part| part.is_empty()) {
            parts.pop();
        }
        Ok(parts)
    }
}

fn too_hard(error: &fancy_regex::Error) -> Box<EvalError> {
    EvalError::boxed("StackOverflowError", format!("the regular expression is too hard to match: {error}"))
}

/// What stands in for a match, in Java's syntax: `$1` and `${name}` are groups, `\` takes the next character
/// as it is.
pub struct Replacement {
    /// An error counts only once something matches, as in Java.
    parts: Result<Vec<Part>, String>,
}

enum Part {
    Text(String),
    Group(usize),
}

impl Replacement {
    /// The replacement in matches of `regex`.
    pub fn new(replacement: &str, regex: &JavaRegex) -> Replacement {
        Replacement { parts: Replacement::parse(replacement, &regex.find) }
    }

    fn parse(replacement: &str, regex: &Regex) -> Result<Vec<Part>, String> {
        let groups = regex.captures_len();
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = replacement.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' => text.push(rest.next().ok_or("the replacement ends in a `\\`")?),
                '$' => {
                    let group = match rest.peek().copied() {
                        Some('{') => {
                            rest.next();
                            let name: String = rest.by_ref().take_while(|c| *c != '}').collect();
                            regex.capture_names().position(|known| known == Some(name.as_str())).ok_or_else(
                                || format!("the replacement names a group `{name}` that is not there"),
                            )?
                        }
                        Some(digit) if digit.is_ascii_digit() => {
                            let mut group = 0;
                            // As many digits as make a group that there is, but at least one.
                            while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                                let longer = group * 10 + digit as usize;
                                if longer >= groups && group > 0 {
                                    break;
                                }
                                group = longer;
                                rest.next();
                                if group >= groups {
                                    return Err(format!(
                                        "the replacement has `${group}`, but there is no such group"
                                    ));
                                }
                                if group == 0 {
                                    break;
                                }
                            }
                            group
                        }
                        _ => {
                            return Err("a `$` in the replacement must be followed by a group: write `\\$`"
                                .to_owned());
                        }
                    };
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(Part::Group(group));
                }
                c => text.push(c),
            }
        }
        if !text.is_empty() {
            parts.push(Part::Text(text));
        }
        Ok(parts)
    }

    fn write(&self, captures: &Captures<'_, str>, out: &mut Vec<u8>) -> Eval<()> {
        let parts = self
            .parts
            .as_ref()
            .map_err(|message| EvalError::boxed("IllegalArgumentException", message.as_str()))?;
        for part in parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                // A group that took no part in the match is empty.
                Part::Group(group) => {
                    out.extend_from_slice(captures.get(*group).map_or("", |group| group.as_str()).as_bytes());
                }
            }
        }
        Ok(())
    }
}

/// Modes that a pattern switches on and off.
#[derive(Clone, Copy, Default)]
struct Modes {
    dot_all: bool,
    multiline: bool,
    unix_lines: bool,
    comments: bool,
    unicode_classes: bool,
    ignore_case: bool,
}

const LINE_ENDS: &str = r"\n\r\x{85}\x{2028}\x{2029}";
const HORIZONTAL: &str = r"\x20\t\x{A0}\x{1680}\x{180E}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}";
const VERTICAL: &str = r"\n-\r\x{85}\x{2028}\x{2029}";
const WORD: &str = "0-9A-Za-z_";

/// The POSIX classes, ASCII alone.
const POSIX: [(&str, &str); 14] = [
    ("Lower", "a-z"),
    ("Upper", "A-Z"),
    ("ASCII", r"\x00-\x7F"),
    ("Alpha", "A-Za-z"),
    ("Digit", "0-9"),
    ("Alnum", "0-9A-Za-z"),
    ("Punct", r"!-/:-@\[-`\{-~"),
    ("Graph", "!-~"),
    ("Print", r"\x20-~"),
    ("Blank", r"\x20\t"),
    ("Cntrl", r"\x00-\x1F\x7F"),
    ("XDigit", "0-9A-Fa-f"),
    ("Space", r"\t-\r\x20"),
    ("IsWord", WORD),
];

struct Translator {
    pattern: Vec<char>,
    at: usize,
    out: String,
    modes: Modes,
    /// The modes outside each open group.
    outer: Vec<Modes>,
    /// Capturing groups begun so far.
    groups: usize,
    all_groups: usize,
}

impl Translator {
    fn new(pattern: &str) -> Translator {
        let pattern: Vec<char> = pattern.chars().collect();
        // An over-count does no harm: the engine refuses what is not there.
        let all_groups = pattern.iter().filter(|c| **c == '(').count();
        Translator {
            pattern,
            at: 0,
            out: String::new(),
            modes: Modes::default(),
            outer: Vec::new(),
            groups: 0,
            all_groups,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.pattern.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek(0)?;
        self.at += 1;
        Some(next)
    }

    fn literal(&mut self, c: char) {
        self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn translate(mut self) -> Result<String, String> {
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.open_group()?,
                ')' => {
                    self.modes = self.outer.pop().ok_or("the regular expression has a `)` without a `(`")?;
                    self.out.push(')');
                }
                '.' => self.dot(),
                '^' if self.modes.multiline => {
                    let before = if self.modes.unix_lines {
                        r"(?<=\n)".to_owned()
                    } else {
                        r"(?<=[\n\x{85}\x{2028}\x{2029}])|(?<=\r)(?!\n)".to_owned()
                    };
                    self.out.push_str(&format!(r"(?:\A|(?:{before})(?!\z))"));
                }
                '^' => self.out.push_str(r"\A"),
                '$' => self.dollar(),
                '{' => self.repetition()?,
                '*' | '+' | '?' | '|' => self.out.push(c),
                c if self.modes.comments && c.is_ascii_whitespace() => {}
                '#' if self.modes.comments => while self.next().is_some_and(|c| c != '\n') {},
                c => self.literal(c),
            }
        }
        Ok(self.out)
    }

    fn dot(&mut self) {
        if self.modes.dot_all {
            self.out.push_str(r"(?s:.)");
        } else if self.modes.unix_lines {
            self.out.push_str(r"[^\n]");
        } else {
            self.out.push_str(&format!("[^{LINE_ENDS}]"));
        }
    }

    fn dollar(&mut self) {
        let text = match (self.modes.multiline, self.modes.unix_lines) {
            (true, true) => r"(?=\n|\z)",
            (true, false) => r"(?:(?=[\r\x{85}\x{2028}\x{2029}]|\z)|(?<!\r)(?=\n))",
            (false, true) => r"(?=\n?\z)",
            (false, false) => r"(?:(?=(?:\r\n|[\r\x{85}\x{2028}\x{2029}])?\z)|(?<!\r)(?=\n\z))",
        };
        self.out.push_str(text);
    }

    /// Behind a `{`: a number of times, since Java takes no other.
    fn repetition(&mut self) -> Result<(), String> {
        let rest: String =
            self.pattern[self.at..].iter().take_while(|c| c.is_ascii_digit() || **c == ',').collect();
        let closed = self.pattern.get(self.at + rest.len()) == Some(&'}');
        if !rest.starts_with(|c: char| c.is_ascii_digit()) || !closed || self.out.is_empty() {
            return Err("a `{` must be followed by a number of times; as a character it is `\\{`".to_owned());
        }
        self.at += rest.len() + 1;
        self.out.push_str(&format!("{{{rest}}}"));
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), String> {
        self.outer.push(self.modes);
        if self.peek(0) != Some('?') {
            self.groups += 1;
            self.out.push('(');
            return Ok(());
        }
        self.at += 1;
        match (self.peek(0), self.peek(1)) {
            (Some(mark @ (':' | '=' | '!' | '>')), _) => {
                self.at += 1;
                self.out.push_str(&format!("(?{mark}"));
            }
            (Some('<'), Some(mark @ ('=' | '!'))) => {
                self.at += 2;
                self.out.push_str(&format!("(?<{mark}"));
            }
            (Some('<'), _) => {
                self.groups += 1;
                self.out.push_str("(?");
                while let Some(c) = self.next() {
                    self.out.push(c);
                    if c == '>' {
                        return Ok(());
                    }
                }
                return Err("the name of a group has no `>`".to_owned());
            }
            _ => self.switch_modes()?,
        }
        Ok(())
    }

    /// `(?is-x)` or `(?is-x:`.
    fn switch_modes(&mut self) -> Result<(), String> {
        let mut on = true;
        let mut modes = self.modes;
        loop {
            match self.next() {
                Some('-') => on = false,
                Some('i') => modes.ignore_case = on,
                Some('s') => modes.dot_all = on,
                Some('m') => modes.multiline = on,
                Some('d') => modes.unix_lines = on,
                Some('x') => modes.comments = on,
                Some('U') => modes.unicode_classes = on,
                // Unicode's cases: the engine knows no others.
                Some('u') => {}
                Some(end @ (')' | ':')) => {
                    let case = match (self.modes.ignore_case, modes.ignore_case) {
                        (false, true) => "i",
                        (true, false) => "-i",
                        _ => "",
                    };
                    self.modes = modes;
                    if end == ':' {
                        self.out.push_str(&format!("(?{case}:"));
                    } else {
                        // It holds to the end of the group around it.
                        self.outer.pop();
                        if !case.is_empty() {
                            self.out.push_str(&format!("(?{case})"));
                        }
                    }
                    return Ok(());
                }
                Some(c) => return Err(format!("the regular expression has an unknown group `(?{c}`")),
                None => return Err("the regular expression ends within a group".to_owned()),
            }
        }
    }

    /// A class of characters, behind its `[`.
    fn class(&mut self) -> Result<(), String> {
        self.out.push('[');
        if self.peek(0) == Some('^') {
            self.at += 1;
            self.out.push('^');
        } else if self.peek(0) == Some(':') {
            // Twice, lest the engine take `[:alpha:]` for the name of a class: in Java it is a set of letters.
            self.out.push_str(r"\x{3A}");
        }
        let mut first = true;
        while let Some(c) = self.next() {
            match c {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '[' => self.class()?,
                '\\' => self.escape(true)?,
                '&' if self.peek(0) == Some('&') => {
                    self.at += 1;
                    self.out.push_str("&&");
                }
                // A range; the engine knows `--` too, which Java does not.
                '-' if !first
                    && !matches!(self.peek(0), Some(']' | '-' | '['))
                    && !self.out.ends_with('-') =>
                {
                    self.out.push('-');
                }
                c if self.modes.comments && c.is_ascii_whitespace() => {}
                c if c.is_alphanumeric() => self.out.push(c),
                c => self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(c))),
            }
            first = false;
        }
        Err("a class of characters has no `]`".to_owned())
    }

    /// A predefined class: in a class its members, outside a class of its own.
    fn members(&mut self, members: &str, negated: bool, in_class: bool) {
        match (negated, in_class) {
            (true, _) => self.out.push_str(&format!("[^{members}]")),
            (false, true) => self.out.push_str(members),
            (false, false) => self.out.push_str(&format!("[{members}]")),
        }
    }

    fn code(&mut self, code: u32) -> Result<(), String> {
        let c = char::from_u32(code)
            .ok_or_else(|| format!("U+{code:04X} in the regular expression is no character"))?;
        self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(c)));
        Ok(())
    }

    /// A number of exactly `digits` digits.
    fn digits(&mut self, digits: usize, radix: u32) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.next().and_then(|c| c.to_digit(radix));
            code = code * radix
                + digit
                    .ok_or_else(|| format!("an escape in the regular expression needs {digits} digits"))?;
        }
        Ok(code)
    }

    /// Behind a `\`.
    fn escape(&mut self, in_class: bool) -> Result<(), String> {
        let c = self.next().ok_or("the regular expression ends in a `\\`")?;
        let unicode = self.modes.unicode_classes;
        match c {
            'd' | 'D' | 'w' | 'W' | 's' | 'S' if unicode => self.out.push_str(&format!(r"\{c}")),
            'd' | 'D' => self.members("0-9", c == 'D', in_class),
            'w' | 'W' => self.members(WORD, c == 'W', in_class),
            's' | 'S' => self.members(r"\t-\r\x20", c == 'S', in_class),
            'h' | 'H' => self.members(HORIZONTAL, c == 'H', in_class),
            'v' | 'V' => self.members(VERTICAL, c == 'V', in_class),
            'p' | 'P' => return self.property(c == 'P', in_class),
            't' | 'n' | 'r' | 'f' | 'a' => self.out.push_str(&format!(r"\{c}")),
            'e' => self.out.push_str(r"\x1B"),
            '0' => {
                let mut code = 0;
                let mut count = 0;
                while let Some(digit) = self.peek(0).and_then(|c| c.to_digit(8)) {
                    if count == 3 || code * 8 + digit > 0o377 {
                        break;
                    }
                    code = code * 8 + digit;
                    count += 1;
                    self.at += 1;
                }
                if count == 0 {
                    return Err("`\\0` in the regular expression needs octal digits".to_owned());
                }
                return self.code(code);
            }
            'x' if self.peek(0) == Some('{') => {
                self.at += 1;
                let digits = self.pattern[self.at..].iter().take_while(|c| **c != '}').count();
                let code = self.digits(digits.clamp(1, 6), 16)?;
                if self.next() != Some('}') {
                    return Err("`\\x{` in the regular expression has no `}`".to_owned());
                }
                return self.code(code);
            }
            'x' => {
                let code = self.digits(2, 16)?;
                return self.code(code);
            }
            'u' => {
                let code = self.digits(4, 16)?;
                return self.code(code);
            }
            'c' => {
                let control = self.next().ok_or("`\\c` in the regular expression needs a character")?;
                return self.code(u32::from(control) ^ 64);
            }
            'Q' => {
                while let Some(c) = self.next() {
                    if c == '\\' && self.peek(0) == Some('E') {
                        self.at += 1;
                        break;
                    }
                    self.literal(c);
                }
            }
            'E' => {}
            '1'..='9' if !in_class => {
                let mut group = c.to_digit(10).unwrap_or_default() as usize;
                while let Some(digit) = self.peek(0).and_then(|c| c.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if longer > self.all_groups {
                        break;
                    }
                    group = longer;
                    self.at += 1;
                }
                // Java lets a group that is not there (yet) match nothing.
                self.out.push_str(&if group <= self.groups {
                    format!(r"(?:\{group})")
                } else {
                    r"[^\s\S]".into()
                });
            }
            'k' if !in_class => self.out.push_str(r"\k"),
            'b' if !in_class => {
                self.out.push_str(&format!("(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))"))
            }
            'B' if !in_class => {
                self.out.push_str(&format!("(?:(?<=[{WORD}])(?=[{WORD}])|(?<![{WORD}])(?![{WORD}]))"))
            }
            'A' | 'z' if !in_class => self.out.push_str(&format!(r"\{c}")),
            'Z' if !in_class => {
                let modes = self.modes;
                self.modes.multiline = false;
                self.dollar();
                self.modes = modes;
            }
            'R' if !in_class => self.out.push_str(&format!(r"(?>\r\n|[{VERTICAL}])")),
            c if c.is_ascii_alphanumeric() => {
                return Err(format!("`\\{c}` in the regular expression is not supported"));
            }
            c if in_class => self.out.push_str(&format!(r"\x{{{:X}}}", u32::from(c))),
            c => self.literal(c),
        }
        Ok(())
    }

    /// `\p{…}` or `\pL`.
    fn property(&mut self, negated: bool, in_class: bool) -> Result<(), String> {
        let name: String = match self.next() {
            Some('{') => {
                let name: String = self.pattern[self.at..].iter().take_while(|c| **c != '}').collect();
                self.at += name.chars().count() + 1;
                name
            }
            Some(c) => c.to_string(),
            None => return Err("`\\p` in the regular expression needs a property".to_owned()),
        };
        if let Some((_, members)) = POSIX.iter().find(|(posix, _)| *posix == name) {
            self.members(members, negated, in_class);
            return Ok(());
        }
        let known = match name.as_str() {
            "javaLowerCase" => "Lowercase",
            "javaUpperCase" => "Uppercase",
            "javaAlphabetic" => "Alphabetic",
            "javaWhitespace" => "White_Space",
            name => name.strip_prefix("Is").unwrap_or(name),
        };
        self.out.push_str(&format!(r"\{}{{{known}}}", if negated { 'P' } else { 'p' }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, replacement: &str, text: &str) -> Result<String, String> {
        let regex = JavaRegex::new(pattern)?;
        let mut out = Vec::new();
        regex
            .replace_all(text, &Replacement::new(replacement, &regex), &mut out)
            .map_err(|error| error.message.clone())?;
        String::from_utf8(out).map_err(|error| error.to_string())
    }

    #[test]
    fn replacements_are_those_of_java() {
        for (pattern, replacement, text, expected) in [
            ("o", "0", "foo", "f00"),
            ("a*", "x", "baaac", "xbxxcx"),
            ("", "-", "aé", "-a-é-"),
            (r"(\w)n", "$1N", "one", "oNe"),
            (r"(\w)(\d)?", "<$1$2>", "a1b", "<a1><b>"),
            (r"(\w)", r"\$1\\", "a", r"$1\"),
            (r"(a)", "$12", "a", "a2"),
            (r"(?<first>a)", "${first}!", "a", "a!"),
            (r"\w", "x", "aé_", "xéx"),
            (r"\d", "x", "1٣", "x٣"),
            (r"\bb", "x", "éb b", "éx x"),
            (".", "x", "a\nb\u{85}c\u{2028}", "x\nx\u{85}x\u{2028}"),
            ("(?s).", "x", "a\nb", "xxx"),
            ("(?s:.)b.", "x", "a\nbb\n", "ax\n"),
            ("a$", "x", "a\n", "x\n"),
            ("a$", "x", "aa", "ax"),
            ("$", "x", "a\r\n", "ax\r\nx"),
            (r"a\z", "x", "a\n", "a\n"),
            ("(?m)^", "> ", "a\nb\n", "> a\n> b\n"),
            (r"\Qa.b\E+", "x", "a.bbb a+b", "x a+b"),
            (r"[a-z&&[^c]]", "x", "bcd", "xcx"),
            (r"[\d\s-]", "x", "a1 -b", "axxxb"),
            (r"[^\w]", "x", "a b", "axb"),
            ("[[:alpha:]]", "x", "alpine: zero", "xxxinex zero"),
            ("[:alpha:]", "x", "alpine: zero", "xxxinex zero"),
            (r"[\[\]\\^]", "x", "[]\\^a", "xxxxa"),
            (r"(a)\1", "x", "aab", "xb"),
            (r"(?<=a)b", "x", "ab b", "ax b"),
            (r"a++a", "x", "aaa", "aaa"),
            (r"(?i)A", "x", "aA", "xx"),
            (r"(?i:A)A", "x", "aA", "x"),
            (r"\x41\u0042\0103\x{1F600}", "x", "ABC😀", "x"),
            (r"\p{Alpha}\p{Punct}\P{Alpha}", "x", "a!1", "x"),
            (r"\p{L}\pL", "x", "éa", "x"),
            ("(?x) a b # c", "x", "ab", "x"),
            (r"^\{", "", "{a}", "a}"),
            (r"\}$", "", "{a}", "{a"),
            (r"a{2,3}", "x", "aaaa", "xa"),
            ("}]", "x", "}]", "x"),
        ] {
            assert_eq!(
                replaced(pattern, replacement, text).as_deref(),
                Ok(expected),
                "{pattern} in {text:?}"
            );
        }
    }

    #[test]
    fn patterns_that_are_none_are_refused_and_replacements_when_they_are_used() {
        for pattern in ["(", ")", "[a", "a{", "{2}", r"\", r"\y", r"\x4", "*", r"\p{Nope}", "(?y)"] {
            assert!(JavaRegex::new(pattern).is_err(), "{pattern}");
        }
        for replacement in ["$", "$1", "${a}", r"\", "$x"] {
            assert!(replaced("a", replacement, "a").is_err(), "{replacement}");
            assert_eq!(replaced("a", replacement, "b").as_deref(), Ok("b"), "{replacement}");
        }
    }

    #[test]
    fn a_whole_match_is_of_all_the_text() {
        for (pattern, text, expected) in [
            ("a|ab", "ab", true),
            (".*e.*", "one", true),
            ("o", "one", false),
            ("a$", "a\n", false),
            ("", "", true),
        ] {
            let regex = JavaRegex::new(pattern).expect(pattern);
            assert_eq!(regex.matches(text), Ok(expected), "{pattern}");
        }
    }

    #[test]
    fn a_split_has_no_empty_parts_at_its_end() {
        for (pattern, text, expected) in [
            (r"\|", "a|b||", vec!["a", "b"]),
            (r"\|", "|a", vec!["", "a"]),
            (r"\|", "", vec![""]),
            (r"\|", "|", vec![]),
            ("", "ab", vec!["a", "b"]),
        ] {
            let regex = JavaRegex::new(pattern).expect(pattern);
            assert_eq!(regex.split(text), Ok(expected), "{pattern} in {text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_pattern_panics(pattern: String, text: String, replacement: String) {
            let _ = replaced(&pattern, &replacement, &text);
        }
    }
}
