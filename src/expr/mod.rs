//! The one small expression language: `Expr()` in recipes, and conditions on results.
//!
//! It is a subset of MVEL 2.5, which the reference evaluates, with MVEL's rules for numbers: literals,
//! variables, arithmetic, bit operations, comparison, `&&` `||` `!`, `?:`, concatenation, `Math.…`, and
//! statements with assignments. Anything else is refused by name. Text → [`Expression`] once, with the place of
//! each fault; evaluating allocates nothing but texts.

mod math;
mod operators;
mod parse;

pub use operators::Operator;

use crate::value::Value;
use std::ops::Range;

/// A text that is no expression of this language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong, one sentence, lower case, no full stop.
    pub message: String,
    /// The bytes of the text to point at.
    pub range: Range<usize>,
    /// What to write instead.
    pub help: Option<String>,
}

/// An expression that could not be evaluated with the variables that it was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Short name in Java's style, such as `ArithmeticException`.
    pub name: &'static str,
    pub message: String,
}

/// The names that an expression may use and set.
pub trait Variables {
    /// A copy of the value of `name`; None if there is no such variable.
    fn get(&self, name: &str) -> Option<Value>;

    /// `name = value`. An error says why not.
    fn set(&mut self, name: &str, value: Value) -> Result<(), String>;
}

/// A read expression: statements, of which the last gives the value.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    statements: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Constant(Value),
    Variable(String),
    /// `name = value`.
    Assign(String, Box<Node>),
    Negate(Box<Node>),
    /// Cut to an int, as MVEL cuts what was shifted before it compares.
    Narrow(Box<Node>),
    /// `!`.
    Not(Box<Node>),
    /// `~`.
    Complement(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// As [`Node::Binary`], but integers meet in double even if both are longs: what MVEL makes of a value whose
    /// type it does not know and a product (or another operation that binds tighter) of one whose type it knows.
    InDoubles(Operator, Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    /// Condition, value where it holds, value where not.
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Math(math::Call, Vec<Node>),
}

impl Expression {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Expression, SyntaxError> {
        parse::expression(text)
    }

    /// The value of the last statement.
    pub fn eval(&self, variables: &mut dyn Variables) -> Result<Value, Fault> {
        let mut value = Value::Null;
        for statement in &self.statements {
            value = statement.eval(variables)?;
        }
        Ok(value)
    }

    /// Whether it holds: an error unless the value is a boolean.
    pub fn holds(&self, variables: &mut dyn Variables) -> Result<bool, Fault> {
        condition(self.eval(variables)?)
    }

    /// The names that it reads, each once, in the order in which they stand. Those that it sets before are not
    /// among them.
    pub fn variables(&self) -> Vec<&str> {
        let (mut read, mut set) = (Vec::new(), Vec::new());
        for statement in &self.statements {
            statement.names(&mut read, &mut set);
        }
        read
    }
}

fn condition(value: Value) -> Result<bool, Fault> {
    match value {
        Value::Bool(holds) => Ok(holds),
        other => Err(Fault {
            name: "ClassCastException",
            message: format!("{} is a {}, where true or false is wanted", other.text(), other.type_name()),
        }),
    }
}

impl Node {
    /// `tighter`: the right operand is itself an operation, without parentheses.
    fn binary(operator: Operator, left: Node, right: Node, tighter: bool) -> Node {
        if tighter && right.has_known_type() && !left.has_known_type() {
            return Node::InDoubles(operator, Box::new(left), Box::new(right));
        }
        let is_shifted = matches!(&left, Node::Binary(shift, ..) if shift.is_shift());
        let left = if is_shifted && operator.is_comparison() { Node::Narrow(Box::new(left)) } else { left };
        Node::Binary(operator, Box::new(left), Box::new(right))
    }

    /// MVEL knows the primitive type of its value before it is evaluated: that of `cycle`, of a call, and of
    /// arithmetic with one of these and no other name.
    fn has_known_type(&self) -> bool {
        match self {
            Node::Variable(name) => name == "cycle",
            Node::Math(..) => true,
            Node::Binary(operator, left, right) if operator.is_arithmetic() => {
                let known = |node: &Node| node.has_known_type() || node.is_constant();
                known(left) && known(right) && !self.is_constant()
            }
            _ => false,
        }
    }

    /// Made of literals alone.
    fn is_constant(&self) -> bool {
        match self {
            Node::Constant(_) => true,
            Node::Negate(value) | Node::Narrow(value) => value.is_constant(),
            Node::Binary(_, left, right) | Node::InDoubles(_, left, right) => {
                left.is_constant() && right.is_constant()
            }
            _ => false,
        }
    }

    fn eval(&self, variables: &mut dyn Variables) -> Result<Value, Fault> {
        Ok(match self {
            Node::Constant(value) => value.clone(),
            Node::Variable(name) => variables.get(name).ok_or_else(|| Fault {
                name: "UnresolveablePropertyException",
                message: format!("there is no variable `{name}`"),
            })?,
            Node::Assign(name, value) => {
                let value = value.eval(variables)?;
                variables
                    .set(name, value.clone())
                    .map_err(|message| Fault { name: "IllegalAccessException", message })?;
                value
            }
            Node::Negate(value) => operators::negate(value.eval(variables)?)?,
            Node::Narrow(value) => operators::narrow(value.eval(variables)?),
            Node::Not(value) => Value::Bool(!condition(value.eval(variables)?)?),
            Node::Complement(value) => operators::complement(value.eval(variables)?)?,
            Node::Binary(operator, left, right) => {
                let left = left.eval(variables)?;
                operators::apply(*operator, left, right.eval(variables)?)?
            }
            Node::InDoubles(operator, left, right) => {
                let left = left.eval(variables)?;
                operators::apply_in_doubles(*operator, left, right.eval(variables)?)?
            }
            Node::And(left, right) => {
                Value::Bool(condition(left.eval(variables)?)? && condition(right.eval(variables)?)?)
            }
            Node::Or(left, right) => {
                Value::Bool(condition(left.eval(variables)?)? || condition(right.eval(variables)?)?)
            }
            Node::Choice(holds, yes, no) => {
                if condition(holds.eval(variables)?)? {
                    yes.eval(variables)?
                } else {
                    no.eval(variables)?
                }
            }
            Node::Math(call, arguments) => {
                let mut values = [Value::Null, Value::Null];
                for (place, argument) in values.iter_mut().zip(arguments) {
                    *place = argument.eval(variables)?;
                }
                call.apply(&values)?
            }
        })
    }

    fn names<'a>(&'a self, read: &mut Vec<&'a str>, set: &mut Vec<&'a str>) {
        match self {
            Node::Constant(_) => {}
            Node::Variable(name) => {
                if !read.contains(&name.as_str()) && !set.contains(&name.as_str()) {
                    read.push(name);
                }
            }
            Node::Assign(name, value) => {
                value.names(read, set);
                set.push(name);
            }
            Node::Negate(value) | Node::Narrow(value) | Node::Not(value) | Node::Complement(value) => {
                value.names(read, set);
            }
            Node::Binary(_, left, right)
            | Node::InDoubles(_, left, right)
            | Node::And(left, right)
            | Node::Or(left, right) => {
                left.names(read, set);
                right.names(read, set);
            }
            Node::Choice(holds, yes, no) => {
                holds.names(read, set);
                yes.names(read, set);
                no.names(read, set);
            }
            Node::Math(_, arguments) => arguments.iter().for_each(|argument| argument.names(read, set)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    impl Variables for HashMap<String, Value> {
        fn get(&self, name: &str) -> Option<Value> {
            HashMap::get(self, name).cloned()
        }

        fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
            self.insert(name.to_owned(), value);
            Ok(())
        }
    }

    fn variables() -> HashMap<String, Value> {
        [
            ("cycle", Value::Long(9_007_199_254_740_993)),
            ("small", Value::Int(7)),
            ("half", Value::Double(0.5)),
            ("single", Value::Float(0.1)),
            ("name", Value::Text("a".to_owned())),
            ("result.n", Value::Int(2)),
            ("none", Value::Null),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// `Type text`, or the name of the fault, or `refused: …`.
    fn shown(text: &str) -> String {
        match Expression::parse(text) {
            Err(error) => format!("refused: {}", error.message),
            Ok(expression) => match expression.eval(&mut variables()) {
                Ok(value) => format!("{} {}", value.type_name(), value.text()),
                Err(fault) => fault.name.to_owned(),
            },
        }
    }

    #[test]
    fn numbers_follow_mvels_rules() {
        for (text, expected) in [
            ("1 + 2", "Integer 3"),
            ("2000000 * 2000000", "Integer 1385447424"),
            // Ten digits make a long, and numbers of two types meet in double.
            ("2147483647 + 1", "Long 2147483648"),
            ("cycle + 1", "Long 9007199254740992"),
            ("cycle + 1L", "Long 9007199254740994"),
            ("cycle * cycle", "Long 18014398509481985"),
            ("cycle / 3", "Long 3002399751580330"),
            ("7 / 2", "Double 3.5"),
            ("7L / 2L", "Double 3.5"),
            ("7L / 2", "Long 3"),
            ("7 % 4", "Integer 3"),
            ("-7 % 4", "Integer -3"),
            ("7 % 0", "ArithmeticException"),
            ("7.0 % 0", "Double NaN"),
            ("small * 2.5", "Double 17.5"),
            ("single + single", "Float 0.2"),
            ("single + 1", "Float 1.1"),
            ("2 ** 10", "Integer 1024"),
            ("2 ** 40", "Double 1.099511627776E12"),
            ("0x1f", "Integer 31"),
            ("010", "Integer 8"),
            ("1.5f", "Float 1.5"),
            ("2d", "Double 2.0"),
            ("1e3", "Double 1000.0"),
            ("1 + 2 * 3 - 4", "Integer 3"),
            ("(1 + 2) * 3", "Integer 9"),
            ("-small + +1", "Integer -6"),
            ("'4' * 2", "Integer 8"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn bits_comparisons_and_texts() {
        for (text, expected) in [
            ("cycle & 255", "Long 1"),
            ("5 | 2", "Integer 7"),
            ("5 ^ 1", "Integer 4"),
            ("~5", "Integer -6"),
            ("1 << 33", "Integer 2"),
            ("1L << 33", "Long 8589934592"),
            ("-1 >>> 28", "Integer 15"),
            ("-1 >> 28", "Integer -1"),
            // Literals at the start are worked on from the left, with precedence for arithmetic alone.
            ("1 << 2 + 1", "Integer 5"),
            ("5 & 3 + 1", "Integer 2"),
            ("8 >> 1 + 1", "Integer 5"),
            ("1 + 2 << 3 * 2", "Integer 48"),
            ("1 << 2 + 3 * 2", "Integer 10"),
            ("2 * 3 << 1 + 1", "Integer 13"),
            ("-1 >>> 28 + 1", "Integer 16"),
            ("5 & 3 & 1 + 1", "Integer 2"),
            ("1 << 1 + small", "Integer 9"),
            ("small << 1 + 1", "Integer 28"),
            ("7 & 3 == 3", "Boolean true"),
            ("2 > 1 + 2 ? 7 : 8", "ClassCastException"),
            // What was shifted is cut to an int before it is compared.
            ("cycle << 1 == 2", "Boolean true"),
            ("cycle << 40 > 3", "Boolean false"),
            ("half & 1", "ClassCastException"),
            ("small > 5 && half < 1", "Boolean true"),
            ("small > 5 ? 'big' : 'small'", "String big"),
            ("small < 5 ? 1 : small < 8 ? 2 : 3", "Integer 2"),
            ("!(small == 7)", "Boolean false"),
            ("small == 7.0", "Boolean true"),
            ("name == 'a' || cycle / 0", "Boolean true"),
            ("name != 'b'", "Boolean true"),
            ("name < 'b'", "Boolean true"),
            ("name == 1", "Boolean false"),
            ("none == null", "Boolean true"),
            ("'u' + cycle", "String u9007199254740993"),
            ("1 + 2 + 'x'", "String 3x"),
            ("true + 1", "String true1"),
            ("none + 1", "String null1"),
            ("\"it's\" + ' \\'quoted\\''", "String it's 'quoted'"),
            ("name - 1", "ClassCastException"),
            ("small && true", "ClassCastException"),
            ("result.n == 2", "Boolean true"),
            ("nothing + 1", "UnresolveablePropertyException"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn statements_assign_and_the_last_counts() {
        for (text, expected) in [
            ("x = 2; x * 2", "Integer 4"),
            ("x = small; y = x + 1; y * x;", "Integer 56"),
            ("x = 2", "Integer 2"),
            ("small = 1; small + 1", "Integer 2"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        let expression = Expression::parse("x = a + b; x + c + a").expect("it reads");
        assert_eq!(expression.variables(), ["a", "b", "c"]);
    }

    #[test]
    fn java_math_is_there() {
        for (text, expected) in [
            ("Math.abs(-5)", "Integer 5"),
            ("Math.abs(-5L)", "Long 5"),
            ("Math.max(1, 2L)", "Long 2"),
            ("Math.min(1, 2.5)", "Double 1.0"),
            ("Math.floor(2.5)", "Double 2.0"),
            ("Math.ceil(2.5)", "Double 3.0"),
            ("Math.round(2.5)", "Long 3"),
            ("Math.round(16777217)", "Integer 16777216"),
            ("Math.addExact(9223372036854775806, 1)", "Long 9223372036854775807"),
            ("Math.multiplyExact(65536, 65535)", "ArithmeticException"),
            ("Math.toIntExact(5L)", "Integer 5"),
            ("Math.toIntExact(2147483648)", "ArithmeticException"),
            ("Math.floorMod(-1.0, 7L)", "Long 6"),
            ("Math.round(-2.5)", "Long -2"),
            ("Math.rint(2.5)", "Double 2.0"),
            ("Math.pow(2, 10)", "Double 1024.0"),
            ("Math.sqrt(16)", "Double 4.0"),
            ("Math.floorMod(-7, 4)", "Integer 1"),
            ("Math.floorDiv(-7L, 4)", "Long -2"),
            ("Math.PI", "Double 3.141592653589793"),
            ("Math.signum(-2.0)", "Double -1.0"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn all_else_is_refused_by_name() {
        for (text, words, place) in [
            ("", "empty", 0..0),
            ("1 +", "a value is missing", 3..3),
            ("1 2", "cannot stand here", 2..3),
            ("(1", "`)` is missing", 2..2),
            ("name.length()", "methods", 0..11),
            ("foo(1)", "`foo` is no function", 0..3),
            ("Math.random()", "not the same at each run", 0..11),
            ("Math.foo(1)", "no function `Math.foo`", 0..8),
            ("Math.abs(1, 2)", "takes 1", 0..8),
            ("new String()", "`new`", 0..3),
            ("a = [1]", "lists", 4..5),
            ("if (true) 1", "`if`", 0..2),
            ("a contains 'b'", "`contains`", 2..10),
            ("a ~= 'b'", "`~=`", 2..4),
            ("1 = 2", "only a name", 0..1),
            ("'abc", "never closed", 0..4),
            ("99999999999999999999", "64-bit", 0..20),
            ("1.5B", "`1.5B`", 0..4),
            ("5x", "`5x`", 0..2),
            ("a # b", "`#`", 2..3),
            ("true ? 1", "`:` is missing", 8..8),
            ("a += 1", "`+=`", 2..4),
        ] {
            let error = Expression::parse(text).expect_err(text);
            assert!(error.message.contains(words), "{text}: {}", error.message);
            assert_eq!(error.range, place, "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(Expression::parse(&deep).expect_err("too deep").message.contains("deep"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "([a-c1-9.]|cycle|none|name|half|Math\\.abs\\(|[-+*/%&|^~!<>=?:;()' ]|&&|<<|>>>|\\*\\*|==|L|0x|é){0,24}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.eval(&mut variables());
            }
        }

        #[test]
        fn any_text_is_read_or_refused_within_itself(text: String) {
            if let Err(error) = Expression::parse(&text) {
                proptest::prop_assert!(text.get(error.range).is_some());
            }
        }
    }
}
