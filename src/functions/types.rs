//! The Java types that inputs, outputs and parameters have, and what may be assigned to what.
//!
//! The reference chooses among overloads by these rules (those of commons-lang `ClassUtils.isAssignable`), so
//! which function a recipe gets depends on them.

use super::function::Function;
use std::fmt;

/// A Java type, as far as the library uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    // Primitives.
    Long,
    Int,
    Float,
    Double,
    Boolean,
    Byte,
    // Boxes.
    BoxedLong,
    BoxedInt,
    BoxedFloat,
    BoxedDouble,
    BoxedBoolean,
    BoxedByte,
    // Other references.
    String,
    CharBuffer,
    CharSequence,
    Number,
    Object,
    // Functions, as parameters.
    LongUnaryOperator,
    LongToIntFunction,
    LongToDoubleFunction,
    LongFunction,
    IntUnaryOperator,
    IntToLongFunction,
    IntToDoubleFunction,
    IntFunction,
    DoubleUnaryOperator,
    DoubleToLongFunction,
    DoubleToIntFunction,
    DoubleFunction,
    Function,
    /// One function of the library, by its name, and no other.
    Only(&'static str),
}

/// How well an argument fits a parameter; the better the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// The parameter's type, or its box.
    Direct,
    /// A reference to a subtype.
    Converted,
    /// Unboxed and widened.
    Widened,
    /// One of any number that may follow.
    Rest,
}

impl Type {
    /// The type that a recipe's qualifier names: a simple name for the common ones, else a full class name.
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "long" => Type::Long,
            "int" => Type::Int,
            "float" => Type::Float,
            "double" => Type::Double,
            "boolean" => Type::Boolean,
            "byte" => Type::Byte,
            "String" | "java.lang.String" => Type::String,
            "java.lang.Long" => Type::BoxedLong,
            "java.lang.Integer" => Type::BoxedInt,
            "java.lang.Float" => Type::BoxedFloat,
            "java.lang.Double" => Type::BoxedDouble,
            "java.lang.Boolean" => Type::BoxedBoolean,
            "java.lang.Byte" => Type::BoxedByte,
            "java.lang.Number" => Type::Number,
            "java.lang.CharSequence" => Type::CharSequence,
            "java.lang.Object" => Type::Object,
            "java.nio.CharBuffer" => Type::CharBuffer,
            _ => return None,
        })
    }

    /// The names that [`Type::named`] reads, the usual ones.
    pub const NAMES: [&'static str; 9] = [
        "long",
        "int",
        "float",
        "double",
        "boolean",
        "byte",
        "String",
        "java.lang.Object",
        "java.nio.CharBuffer",
    ];

    pub fn is_primitive(self) -> bool {
        matches!(self, Type::Long | Type::Int | Type::Float | Type::Double | Type::Boolean | Type::Byte)
    }

    fn boxed(self) -> Type {
        match self {
            Type::Long => Type::BoxedLong,
            Type::Int => Type::BoxedInt,
            Type::Float => Type::BoxedFloat,
            Type::Double => Type::BoxedDouble,
            Type::Boolean => Type::BoxedBoolean,
            Type::Byte => Type::BoxedByte,
            other => other,
        }
    }

    fn unboxed(self) -> Type {
        match self {
            Type::BoxedLong => Type::Long,
            Type::BoxedInt => Type::Int,
            Type::BoxedFloat => Type::Float,
            Type::BoxedDouble => Type::Double,
            Type::BoxedBoolean => Type::Boolean,
            Type::BoxedByte => Type::Byte,
            other => other,
        }
    }

    /// Whether a reference or value of this type may be given where `to` is wanted without a conversion:
    /// `Class.isAssignableFrom`.
    pub fn is_a(self, to: Type) -> bool {
        if self == to {
            return true;
        }
        if self.is_primitive() || to.is_primitive() {
            return false;
        }
        match to {
            Type::Object => true,
            Type::Number => matches!(
                self,
                Type::BoxedLong | Type::BoxedInt | Type::BoxedFloat | Type::BoxedDouble | Type::BoxedByte
            ),
            Type::CharSequence => matches!(self, Type::String | Type::CharBuffer),
            _ => false,
        }
    }

    /// Whether a value of this type may be assigned to `to`, with primitive widening and, if `boxing`, with
    /// boxing and unboxing.
    pub fn is_assignable(self, to: Type, boxing: bool) -> bool {
        let from = match (boxing, to.is_primitive()) {
            (true, true) => self.unboxed(),
            (true, false) => self.boxed(),
            (false, _) => self,
        };
        from.is_a(to)
            || matches!(
                (from, to),
                (Type::Byte, Type::Int | Type::Long | Type::Float | Type::Double)
                    | (Type::Int, Type::Long | Type::Float | Type::Double)
                    | (Type::Long, Type::Float | Type::Double)
                    | (Type::Float, Type::Double)
            )
    }

    /// Whether a value of this type could turn out to be a `to` at run time.
    pub fn may_be(self, to: Type) -> bool {
        let from = self.boxed();
        from.is_a(to) || to.is_a(from)
    }

    /// How well an argument of this type fits the parameter type `to`; `None` if it does not.
    pub fn fits(self, to: Type) -> Option<Match> {
        if self == to || (to.is_primitive() && self.unboxed() == to) {
            Some(Match::Direct)
        } else if self.is_assignable(to, false) {
            Some(Match::Converted)
        } else if self.is_assignable(to, true) {
            Some(Match::Widened)
        } else {
            None
        }
    }

    /// The order in which the reference prefers types.
    pub fn preference(self) -> u8 {
        match self {
            Type::Long => 0,
            Type::Int => 1,
            Type::Float => 2,
            Type::Double => 3,
            Type::Boolean => 4,
            Type::Byte => 5,
            Type::String => 6,
            _ => 7,
        }
    }

    /// The interface that a function has, as an argument.
    pub fn of_function(function: &Function) -> Type {
        match function {
            Function::LongToLong(_) => Type::LongUnaryOperator,
            Function::LongToInt(_) => Type::LongToIntFunction,
            Function::LongToDouble(_) => Type::LongToDoubleFunction,
            Function::LongToObject(_) => Type::LongFunction,
            Function::IntToInt(_) => Type::IntUnaryOperator,
            Function::IntToLong(_) => Type::IntToLongFunction,
            Function::IntToDouble(_) => Type::IntToDoubleFunction,
            Function::IntToObject(_) => Type::IntFunction,
            Function::DoubleToDouble(_) => Type::DoubleUnaryOperator,
            Function::DoubleToLong(_) => Type::DoubleToLongFunction,
            Function::DoubleToInt(_) => Type::DoubleToIntFunction,
            Function::DoubleToObject(_) => Type::DoubleFunction,
            Function::ObjectToObject(_) => Type::Function,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Long => "long",
            Type::Int => "int",
            Type::Float => "float",
            Type::Double => "double",
            Type::Boolean => "boolean",
            Type::Byte => "byte",
            Type::BoxedLong => "Long",
            Type::BoxedInt => "Integer",
            Type::BoxedFloat => "Float",
            Type::BoxedDouble => "Double",
            Type::BoxedBoolean => "Boolean",
            Type::BoxedByte => "Byte",
            Type::String => "String",
            Type::CharBuffer => "CharBuffer",
            Type::CharSequence => "CharSequence",
            Type::Number => "Number",
            Type::Object => "Object",
            Type::LongUnaryOperator => "function long->long",
            Type::LongToIntFunction => "function long->int",
            Type::LongToDoubleFunction => "function long->double",
            Type::LongFunction => "function long->Object",
            Type::IntUnaryOperator => "function int->int",
            Type::IntToLongFunction => "function int->long",
            Type::IntToDoubleFunction => "function int->double",
            Type::IntFunction => "function int->Object",
            Type::DoubleUnaryOperator => "function double->double",
            Type::DoubleToLongFunction => "function double->long",
            Type::DoubleToIntFunction => "function double->int",
            Type::DoubleFunction => "function double->Object",
            Type::Function => "function Object->Object",
            Type::Only(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_fit_parameters_as_java_boxes_fit_them() {
        for (from, to, expected) in [
            (Type::BoxedInt, Type::Int, Some(Match::Direct)),
            (Type::BoxedInt, Type::BoxedInt, Some(Match::Direct)),
            (Type::BoxedInt, Type::Long, Some(Match::Widened)),
            (Type::BoxedInt, Type::Double, Some(Match::Widened)),
            (Type::BoxedInt, Type::Object, Some(Match::Converted)),
            (Type::BoxedInt, Type::Number, Some(Match::Converted)),
            (Type::BoxedInt, Type::BoxedLong, None),
            (Type::BoxedLong, Type::Int, None),
            (Type::BoxedFloat, Type::Double, Some(Match::Widened)),
            (Type::BoxedDouble, Type::Float, None),
            (Type::BoxedBoolean, Type::Boolean, Some(Match::Direct)),
            (Type::String, Type::CharSequence, Some(Match::Converted)),
            (Type::String, Type::Int, None),
            (Type::LongUnaryOperator, Type::LongUnaryOperator, Some(Match::Direct)),
            (Type::LongUnaryOperator, Type::Object, Some(Match::Converted)),
            (Type::LongUnaryOperator, Type::Function, None),
        ] {
            assert_eq!(from.fits(to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn stages_are_assignable_by_widening_and_subtypes_and_with_boxes_where_allowed() {
        for (from, to, plain, boxing) in [
            (Type::Long, Type::Double, true, true),
            (Type::Long, Type::Int, false, false),
            (Type::Int, Type::Long, true, true),
            (Type::Long, Type::Object, false, true),
            (Type::Long, Type::BoxedLong, false, true),
            (Type::String, Type::Object, true, true),
            (Type::BoxedInt, Type::Long, false, true),
            (Type::BoxedFloat, Type::Double, false, true),
            (Type::Object, Type::String, false, false),
        ] {
            assert_eq!(
                (from.is_assignable(to, false), from.is_assignable(to, true)),
                (plain, boxing),
                "{from} to {to}"
            );
        }
    }
}
