//! Text → [`Expression`], by precedence climbing.

use super::operators::Operator;
use super::{Expression, Node, SyntaxError, math};
use crate::value::Value;
use std::ops::Range;

/// How deep parentheses, signs and conditions may stand in each other.
const MOST_NESTED: usize = 64;

/// Words of MVEL that mean something there, and nothing here.
const REFUSED_WORDS: &[&str] = &[
    "new",
    "if",
    "else",
    "for",
    "foreach",
    "while",
    "until",
    "do",
    "return",
    "def",
    "function",
    "proto",
    "import",
    "import_static",
    "with",
    "assert",
    "isdef",
    "in",
    "is",
    "instanceof",
    "contains",
    "soundslike",
    "strsim",
    "convertable_to",
    "switch",
    "var",
    "this",
    "empty",
    "nil",
    "or",
    "and",
];

/// Signs of MVEL and of other languages that mean nothing here, longer ones first.
const REFUSED_SIGNS: &[&str] = &[
    "~=", "=~", "+=", "-=", "*=", "/=", "%=", "++", "--", "<<<", "->", "?.", "::", "#", "@", "$", "{", "}",
    "[", "]", "`", "\\",
];

pub(super) fn expression(text: &str) -> Result<Expression, SyntaxError> {
    let mut parser = Parser { text, at: 0, depth: 0, typed: Vec::new() };
    let mut statements = Vec::new();
    parser.blanks();
    while !parser.rest().is_empty() {
        statements.push(parser.statement()?);
        if parser.rest().is_empty() {
            break;
        }
        if !parser.take(";") {
            return Err(parser.unexpected());
        }
        while parser.take(";") {}
    }
    if statements.is_empty() {
        return Err(error("the expression is empty", 0..text.len()));
    }
    Ok(Expression { statements })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Names given values whose type is known.
    typed: Vec<&'a str>,
}

fn error(message: impl Into<String>, range: Range<usize>) -> SyntaxError {
    SyntaxError { message: message.into(), range, help: None }
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `sign` and the blanks behind it, if it comes next.
    fn take(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
            self.blanks();
        }
        found
    }

    fn word(&self) -> &'a str {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let starts = |c: char| c.is_alphabetic() || c == '_';
        if !rest.starts_with(starts) {
            return "";
        }
        &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())]
    }

    /// What comes next has no place here.
    fn unexpected(&self) -> SyntaxError {
        let word = self.word();
        if REFUSED_WORDS.contains(&word) {
            return self.refused(word);
        }
        if let Some(sign) = REFUSED_SIGNS.iter().find(|sign| self.rest().starts_with(**sign)) {
            return self.refused(sign);
        }
        match self.rest().chars().next() {
            None => error("a value is missing at the end", self.at..self.at),
            Some('=') => error("only a name can be given a value", self.at..self.at + 1),
            Some(next) => {
                let length = if word.is_empty() { next.len_utf8() } else { word.len() };
                error(format!("`{}` cannot stand here", &self.rest()[..length]), self.at..self.at + length)
            }
        }
    }

    fn refused(&self, what: &str) -> SyntaxError {
        let range = self.at..self.at + what.len();
        let message = match what {
            "[" | "]" | "{" | "}" => format!("`{what}`: lists, maps and blocks are no part of this language"),
            _ => format!("`{what}` is no part of this language"),
        };
        SyntaxError {
            message,
            range,
            help: Some(
                "there are literals, variables, arithmetic, bit operations, comparisons, `&&`, `||`, `!`, `?:`, \
                 texts joined by `+`, `Math.…`, and statements with assignments"
                    .to_owned(),
            ),
        }
    }

    fn statement(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        let word = self.word();
        if !word.is_empty() && !REFUSED_WORDS.contains(&word) {
            self.at += word.len();
            self.blanks();
            if self.rest().starts_with('=')
                && !self.rest().starts_with("==")
                && !self.rest().starts_with("=~")
            {
                self.at += 1;
                self.blanks();
                let value = self.choice()?;
                if value.has_known_type() {
                    self.typed.push(word);
                }
                return Ok(Node::Assign(word.to_owned(), Box::new(value)));
            }
            self.at = start;
        }
        let value = self.choice()?;
        if self.rest().starts_with('=') && !self.rest().starts_with("=~") {
            let left = self.text[start..self.at].trim_end();
            return Err(error("only a name can be given a value", start..start + left.len()));
        }
        Ok(value)
    }

    /// One level deeper; the same function runs again for each.
    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.depth += 1;
        if self.depth > MOST_NESTED {
            return Err(error(
                format!("the expression is more than {MOST_NESTED} levels deep"),
                self.at..self.at,
            ));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn choice(&mut self) -> Result<Node, SyntaxError> {
        self.nested(|parser| {
            let holds = parser.or()?;
            if parser.rest().starts_with("?.") || !parser.take("?") {
                return Ok(holds);
            }
            let yes = parser.choice()?;
            if !parser.take(":") {
                return Err(error("`:` is missing after `?`", parser.at..parser.at));
            }
            let no = parser.choice()?;
            Ok(Node::Choice(Box::new(holds), Box::new(yes), Box::new(no)))
        })
    }

    fn or(&mut self) -> Result<Node, SyntaxError> {
        let mut left = self.and()?;
        while self.take("||") {
            left = Node::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Node, SyntaxError> {
        let mut left = self.comparison()?;
        while self.take("&&") {
            left = Node::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    /// Operators of two values. MVEL works on the literals that it meets first from the left, as it reads them:
    /// there only arithmetic has its precedence, so that `1 << 2 + 1` is 5.
    fn comparison(&mut self) -> Result<Node, SyntaxError> {
        let mut left = self.unary()?;
        while left.is_constant() {
            let at = self.at;
            let Some((sign, operator, binding)) = self.operator() else { break };
            if operator.is_arithmetic() {
                left = self.binary_after(left, binding.min(Operator::LEAST_ARITHMETIC))?;
                continue;
            }
            self.take(sign);
            let right = self.unary()?;
            if !right.is_constant() {
                self.at = at;
                break;
            }
            left = Node::binary(operator, left, right, false);
        }
        self.binary_after(left, 0)
    }

    /// The operator that comes next, if it is one of two values.
    fn operator(&self) -> Option<(&'static str, Operator, u8)> {
        let rest = self.rest();
        let longer = ["&&", "||"].iter().chain(REFUSED_SIGNS).any(|sign| rest.starts_with(*sign));
        Operator::ALL.into_iter().find(|(sign, ..)| !longer && rest.starts_with(*sign))
    }

    /// Operators that bind at least as tightly as `least`, from the left.
    /// Whether there were any comes with them.
    fn binary(&mut self, least: u8) -> Result<(Node, bool), SyntaxError> {
        let left = self.unary()?;
        let end = self.at;
        Ok((self.binary_after(left, least)?, self.at > end))
    }

    fn binary_after(&mut self, mut left: Node, least: u8) -> Result<Node, SyntaxError> {
        while let Some((sign, operator, binding)) = self.operator() {
            if binding < least {
                break;
            }
            self.take(sign);
            let (right, tighter) = self.nested(|parser| parser.binary(binding + 1))?;
            let is_typed = matches!(&left, Node::Variable(name) if self.typed.contains(&name.as_str()));
            left = Node::binary(operator, left, right, tighter && !is_typed);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, SyntaxError> {
        let rest = self.rest();
        if REFUSED_SIGNS.iter().any(|sign| rest.starts_with(*sign)) {
            return Err(self.unexpected());
        }
        if self.take("-") {
            return self.nested(|parser| Ok(Node::Negate(Box::new(parser.unary()?))));
        }
        if self.take("+") {
            return self.nested(Parser::unary);
        }
        if self.take("~") {
            return self.nested(|parser| Ok(Node::Complement(Box::new(parser.unary()?))));
        }
        if !rest.starts_with("!=") && self.take("!") {
            return self.nested(|parser| Ok(Node::Not(Box::new(parser.unary()?))));
        }
        if self.take("(") {
            let inner = self.choice()?;
            if !self.take(")") {
                if self.rest().is_empty() {
                    return Err(error("`)` is missing", self.at..self.at));
                }
                return Err(self.unexpected());
            }
            return Ok(inner);
        }
        match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            Some(digit) if digit.is_ascii_digit() || digit == '.' => self.number(),
            _ => self.name(),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<Node, SyntaxError> {
        let start = self.at;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((offset, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, 'b')) => text.push('\u{8}'),
                    Some((_, 'f')) => text.push('\u{c}'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                _ if character == quote => {
                    self.at = start + offset + quote.len_utf8();
                    self.blanks();
                    return Ok(Node::Constant(Value::Text(text)));
                }
                _ => text.push(character),
            }
        }
        Err(error("this text is never closed", start..self.text.len()))
    }

    /// Digits up to nine make an int, more a long; a point or an exponent a double.
    fn number(&mut self) -> Result<Node, SyntaxError> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        let mut length = 0;
        while let Some(byte) = bytes.get(length) {
            let after_exponent = length > 0 && !is_hex && matches!(bytes[length - 1], b'e' | b'E');
            if byte.is_ascii_alphanumeric() || *byte == b'.' || after_exponent && matches!(byte, b'-' | b'+')
            {
                length += 1;
            } else {
                break;
            }
        }
        let word = &rest[..length];
        let range = self.at..self.at + length;
        self.at += length;
        self.blanks();
        number(word).map(Node::Constant).ok_or_else(|| {
            let digits = word.strip_suffix(['L', 'l']).unwrap_or(word);
            if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                error(format!("`{word}` is outside the range of 64-bit integers"), range)
            } else {
                error(format!("`{word}` is no number"), range)
            }
        })
    }

    fn name(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        let word = self.word();
        if word.is_empty() || REFUSED_WORDS.contains(&word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        // A dotted name is one name.
        loop {
            let rest = self.rest();
            let Some(after) = rest.strip_prefix('.') else { break };
            if !after.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                break;
            }
            self.at += 1;
            self.at += self.word().len();
        }
        let name = &self.text[start..self.at];
        let range = start..self.at;
        self.blanks();
        let is_call = self.rest().starts_with('(');
        match name {
            "true" => return Ok(Node::Constant(Value::Bool(true))),
            "false" => return Ok(Node::Constant(Value::Bool(false))),
            "null" => return Ok(Node::Constant(Value::Null)),
            _ => {}
        }
        if let Some(function) = name.strip_prefix("Math.") {
            if let (Some(constant), false) = (math::constant(function), is_call) {
                return Ok(Node::Constant(Value::Double(constant)));
            }
            return self.math(function, range);
        }
        if is_call {
            return Err(if name.contains('.') {
                error(format!("`{name}(…)`: methods cannot be called, only `Math.…`"), range)
            } else {
                error(format!("`{name}` is no function; there is only `Math.…`"), range)
            });
        }
        Ok(Node::Variable(name.to_owned()))
    }

    fn math(&mut self, name: &str, range: Range<usize>) -> Result<Node, SyntaxError> {
        let Some(call) = math::find(name) else {
            return Err(if name == "random" {
                error("`Math.random` is not the same at each run: use `Hash()` before the expression", range)
            } else {
                error(format!("there is no function `Math.{name}` here"), range)
            });
        };
        let mut arguments = Vec::new();
        if !self.take("(") {
            return Err(error(format!("`(` is missing after `Math.{name}`"), range));
        }
        while !self.take(")") {
            if !arguments.is_empty() && !self.take(",") {
                return Err(if self.rest().is_empty() {
                    error("`)` is missing", self.at..self.at)
                } else {
                    self.unexpected()
                });
            }
            arguments.push(self.choice()?);
        }
        if arguments.len() != call.arguments() {
            let wanted = call.arguments();
            return Err(error(
                format!("`Math.{name}` takes {wanted}, not {} arguments", arguments.len()),
                range,
            ));
        }
        Ok(Node::Math(call, arguments))
    }
}

fn number(word: &str) -> Option<Value> {
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return match digits.strip_suffix(['L', 'l']) {
            Some(digits) => i64::from_str_radix(digits, 16).ok().map(Value::Long),
            None => i32::from_str_radix(digits, 16).ok().map(Value::Int),
        };
    }
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits(word) {
        return Some(match word.strip_prefix('0').filter(|rest| !rest.is_empty()) {
            Some(octal) => Value::Int(i32::from_str_radix(octal, 8).ok()?),
            None if word.len() > 9 => Value::Long(word.parse().ok()?),
            None => Value::Int(word.parse().ok()?),
        });
    }
    let digits = &word[..word.len() - 1];
    match word.as_bytes().last()? {
        b'L' | b'l' if all_digits(digits) => digits.parse().ok().map(Value::Long),
        b'f' | b'F' => decimal(digits)?.parse().ok().map(Value::Float),
        b'd' | b'D' => decimal(digits)?.parse().ok().map(Value::Double),
        _ => decimal(word)?.parse().ok().map(Value::Double),
    }
}

/// Only what is a decimal number: Rust reads `inf` and `nan` too.
fn decimal(text: &str) -> Option<&str> {
    text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte)).then_some(text)
}
