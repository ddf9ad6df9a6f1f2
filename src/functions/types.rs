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
    Short,
    Char,
    // Boxes.
    BoxedLong,
    BoxedInt,
    BoxedFloat,
    BoxedDouble,
    BoxedBoolean,
    BoxedByte,
    BoxedShort,
    BoxedChar,
    // Other references.
    String,
    CharBuffer,
    CharSequence,
    Number,
    BigInteger,
    BigDecimal,
    Uuid,
    /// `java.util.Date`.
    Date,
    /// `java.time.Instant`.
    Instant,
    JodaInstant,
    JodaDateTime,
    LocalTime,
    InetAddress,
    ByteBuffer,
    DoubleArray,
    FloatArray,
    IntArray,
    LongArray,
    ObjectArray,
    Collection,
    List,
    Set,
    Map,
    Object,
    // BSON's own, which the reference has not.
    ObjectId,
    Decimal128,
    Document,
    BsonDateTime,
    Binary,
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

/// Boxes beside their primitives.
const BOXES: [(Type, Type); 8] = [
    (Type::Long, Type::BoxedLong),
    (Type::Int, Type::BoxedInt),
    (Type::Float, Type::BoxedFloat),
    (Type::Double, Type::BoxedDouble),
    (Type::Boolean, Type::BoxedBoolean),
    (Type::Byte, Type::BoxedByte),
    (Type::Short, Type::BoxedShort),
    (Type::Char, Type::BoxedChar),
];

/// Reference types that a recipe may name, by their full class names.
const CLASSES: [(Type, &str); 37] = [
    (Type::BoxedLong, "java.lang.Long"),
    (Type::BoxedInt, "java.lang.Integer"),
    (Type::BoxedFloat, "java.lang.Float"),
    (Type::BoxedDouble, "java.lang.Double"),
    (Type::BoxedBoolean, "java.lang.Boolean"),
    (Type::BoxedByte, "java.lang.Byte"),
    (Type::BoxedShort, "java.lang.Short"),
    (Type::BoxedChar, "java.lang.Character"),
    (Type::String, "java.lang.String"),
    (Type::CharSequence, "java.lang.CharSequence"),
    (Type::Number, "java.lang.Number"),
    (Type::Object, "java.lang.Object"),
    (Type::BigInteger, "java.math.BigInteger"),
    (Type::BigDecimal, "java.math.BigDecimal"),
    (Type::Uuid, "java.util.UUID"),
    (Type::Date, "java.util.Date"),
    (Type::Instant, "java.time.Instant"),
    (Type::LocalTime, "java.time.LocalTime"),
    (Type::JodaInstant, "org.joda.time.Instant"),
    (Type::JodaDateTime, "org.joda.time.DateTime"),
    (Type::InetAddress, "java.net.InetAddress"),
    (Type::ByteBuffer, "java.nio.ByteBuffer"),
    (Type::CharBuffer, "java.nio.CharBuffer"),
    (Type::Collection, "java.util.Collection"),
    (Type::List, "java.util.List"),
    (Type::Set, "java.util.Set"),
    (Type::Map, "java.util.Map"),
    (Type::DoubleArray, "[D"),
    (Type::FloatArray, "[F"),
    (Type::IntArray, "[I"),
    (Type::LongArray, "[J"),
    (Type::ObjectArray, "[Ljava.lang.Object;"),
    (Type::ObjectId, "org.bson.types.ObjectId"),
    (Type::Decimal128, "org.bson.types.Decimal128"),
    (Type::Document, "org.bson.Document"),
    (Type::BsonDateTime, "org.bson.BsonDateTime"),
    (Type::Binary, "org.bson.types.Binary"),
];

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
            "String" => Type::String,
            _ => CLASSES.iter().find(|(_, class)| *class == name)?.0,
        })
    }

    /// The names that [`Type::named`] reads, the usual ones.
    pub const NAMES: [&'static str; 10] = [
        "long",
        "int",
        "float",
        "double",
        "boolean",
        "byte",
        "String",
        "java.lang.Object",
        "java.util.UUID",
        "java.nio.CharBuffer",
    ];

    pub fn is_primitive(self) -> bool {
        BOXES.iter().any(|(primitive, _)| *primitive == self)
    }

    fn boxed(self) -> Type {
        BOXES.iter().find(|(primitive, _)| *primitive == self).map_or(self, |(_, boxed)| *boxed)
    }

    fn unboxed(self) -> Type {
        BOXES.iter().find(|(_, boxed)| *boxed == self).map_or(self, |(primitive, _)| *primitive)
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
                Type::BoxedLong
                    | Type::BoxedInt
                    | Type::BoxedFloat
                    | Type::BoxedDouble
                    | Type::BoxedByte
                    | Type::BoxedShort
                    | Type::BigInteger
                    | Type::BigDecimal
            ),
            Type::CharSequence => matches!(self, Type::String | Type::CharBuffer),
            Type::Collection => matches!(self, Type::List | Type::Set),
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
                (Type::Byte, Type::Short | Type::Int | Type::Long | Type::Float | Type::Double)
                    | (Type::Short | Type::Char, Type::Int | Type::Long | Type::Float | Type::Double)
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
            Type::Short => "short",
            Type::Char => "char",
            Type::DoubleArray => "double[]",
            Type::FloatArray => "float[]",
            Type::IntArray => "int[]",
            Type::LongArray => "long[]",
            Type::ObjectArray => "Object[]",
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
            // Simple class names.
            _ => CLASSES
                .iter()
                .find(|(class, _)| class == self)
                .map_or("Object", |(_, name)| name.rsplit('.').next().unwrap_or(name)),
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
