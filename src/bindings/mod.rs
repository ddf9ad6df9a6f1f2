//! Recipe + function table → typed [`Program`].
//!
//! `resolve` chooses an overload for each call as the reference does; `compose` chains the chosen
//! functions, with the reference's conversions between them, into one function of the cycle number.

mod compose;
mod resolve;

pub use resolve::no_function;

pub use crate::functions::{Eval, EvalError};

use crate::functions::{Chain, Context, Function, Nested, Produce, Slice, Type};
use crate::recipe::{self, Parsed};
use crate::span::{Diagnostic, Text};
use crate::value::Value;
use bson::spec::ElementType;
use std::fmt;
use std::sync::Arc;

/// What a program always yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int,
    Long,
    Double,
    /// Always text (Java String or CharBuffer).
    Text,
    /// Anything else: known only when the value is.
    Object,
}

/// A recipe, compiled: a pure chain of functions from the cycle number to a value. Cheap to clone.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    recipe: String,
    kind: Kind,
    pure: bool,
    reads_acknowledged: bool,
    slice: bool,
    chain: Chain,
}

/// A program and what should be said of it (text that the reference silently drops, for instance).
#[derive(Debug)]
pub struct Compiled {
    pub program: Program,
    pub notices: Vec<Diagnostic>,
}

impl Program {
    /// Compiles `recipe`; an error shows where in the recipe, and the nearest function names.
    pub fn compile(recipe: &Text) -> Result<Compiled, Diagnostic> {
        Program::of(recipe::parse(recipe), recipe).or_else(|error| match recipe::parse_with_flows(recipe) {
            Some(parsed) => Program::of(Ok(parsed), recipe),
            None => Err(error),
        })
    }

    fn of(parsed: Result<Parsed, Diagnostic>, recipe: &Text) -> Result<Compiled, Diagnostic> {
        let parsed = parsed?;
        let compiled = resolve::resolve(&parsed.recipe, recipe).and_then(|(stages, said)| {
            Ok((compose::compose(&stages, &parsed.recipe, recipe)?, stages, said))
        });
        match compiled {
            Ok((chain, stages, said)) => {
                let mut notices = parsed.notices;
                notices.extend(said);
                let output = stages.last().map_or(Type::Object, |stage| stage.output);
                let kind = match (&chain, output) {
                    (Chain::Long(_), _) => Kind::Long,
                    (Chain::Int(_), _) => Kind::Int,
                    (Chain::Double(_), _) => Kind::Double,
                    (Chain::Object(_), Type::String | Type::CharBuffer) => Kind::Text,
                    (Chain::Object(_), _) => Kind::Object,
                };
                let pure = stages.iter().all(|stage| stage.pure);
                let reads_acknowledged = stages.iter().any(|stage| stage.reads_acknowledged);
                let recipe = recipe.as_str().to_owned();
                let slice = chain.is_slice();
                let inner = Inner { recipe, kind, pure, reads_acknowledged, slice, chain };
                let program = Program(Arc::new(inner));
                Ok(Compiled { program, notices })
            }
            Err(mut error) => {
                // What was dropped is often why the rest does not fit.
                for notice in parsed.notices {
                    if let Some(location) = notice.location {
                        error.related.push((location, notice.message));
                    }
                }
                Err(error)
            }
        }
    }

    /// The recipe's text.
    pub fn recipe(&self) -> &str {
        &self.0.recipe
    }

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The value depends on the cycle alone, not on a thread's variables or a clock.
    pub fn is_pure(&self) -> bool {
        self.0.pure
    }

    /// It reads [`Context::acknowledged`], which is to be kept for it.
    pub fn reads_acknowledged(&self) -> bool {
        self.0.reads_acknowledged
    }

    /// The value for `cycle`.
    pub fn eval(&self, cycle: i64, context: &mut Context) -> Eval<Value> {
        self.0.chain.value(cycle, context)
    }

    /// Appends the text of the value for `cycle` (as Java prints it, UTF-8), without making the value where
    /// it can. On an error `out` may hold a part.
    pub fn write_text(&self, cycle: i64, context: &mut Context, out: &mut Vec<u8>) -> Eval<()> {
        self.0.chain.write(cycle, context, out)
    }

    /// The text of every value is a part of one that stays in memory, which [`Program::slice`] gives.
    pub fn is_slice(&self) -> bool {
        self.0.slice
    }

    /// The text of the value for `cycle` where it lies; `None` unless [`Program::is_slice`].
    pub fn slice(&self, cycle: i64, context: &mut Context) -> Eval<Option<Slice<'_>>> {
        if self.0.slice { self.0.chain.slice(cycle, context) } else { Ok(None) }
    }

    /// Appends the BSON of the value for `cycle`, without type and key; gives its type, None for a field to
    /// be left out. On an error `out` may hold a part.
    pub fn write_bson(
        &self,
        cycle: i64,
        context: &mut Context,
        out: &mut Vec<u8>,
    ) -> Eval<Option<ElementType>> {
        self.0.chain.write_bson(cycle, context, out)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("recipe", &self.recipe()).field("kind", &self.kind()).finish()
    }
}

/// A call of the flow, with the function chosen for it.
struct Stage {
    chosen: Nested,
    pure: bool,
    reads_acknowledged: bool,
}

impl std::ops::Deref for Stage {
    type Target = Nested;

    fn deref(&self) -> &Nested {
        &self.chosen
    }
}

impl Stage {
    /// The cycle number itself: what stands before a first function that takes no long.
    fn identity() -> Stage {
        let function = Function::long_to_long(|v, _| Ok(v));
        Stage {
            chosen: Nested { name: "Identity", input: Type::Long, output: Type::Long, function },
            pure: true,
            reads_acknowledged: false,
        }
    }

    /// Whether a value of this stage can ever be what `next` takes. A number is read from texts and from values
    /// of unknown class.
    fn may_precede(&self, next: &Stage) -> bool {
        if !next.input.is_primitive() {
            return self.output.may_be(next.input);
        }
        self.output.is_assignable(Type::Double, true)
            || [Type::Number, Type::CharSequence].iter().any(|class| self.output.is_a(*class))
            || self.output == Type::Object
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions;

    fn compile(recipe: &str) -> Result<Program, Diagnostic> {
        Program::compile(&Text::of_source("recipe", recipe)).map(|compiled| compiled.program)
    }

    /// `Kind text` of a value.
    fn shown(recipe: &str, cycle: i64) -> String {
        let program = match compile(recipe) {
            Ok(program) => program,
            Err(error) => return format!("refused: {}", error.message),
        };
        match program.eval(cycle, &mut Context::default()) {
            Ok(value) => {
                let mut out = Vec::new();
                value.write_text(&mut out);
                format!("{} {}", value.type_name(), String::from_utf8_lossy(&out))
            }
            Err(error) => error.name.to_owned(),
        }
    }

    #[test]
    fn overloads_are_chosen_as_the_reference_chooses_them() {
        for (recipe, cycle, expected) in [
            ("Hash()", 0, "Long 2945182322382062539"),
            ("Hash(); Mod(10)", 0, "Long 9"),
            ("Mod(10) -> int", -5, "Integer 2147483643"),
            ("Mod(10)", -5, "Long -5"),
            ("Add(1)", 2147483647, "Long 2147483648"),
            ("Add(1)->int", 2147483647, "Integer 1"),
            ("Mul(1.5)", 5, "Double 7.5"),
            ("Identity(); Add(0.1)", 0, "Double 0.10000000149011612"),
            ("ToInt(); HashRange(0,10)", 0, "Integer 11"),
            ("Hash(); ToLong()", 0, "Long 2945182322382062592"),
            ("Mod(5); ToString()", 7, "String 2"),
            ("Identity(); ToString(); ToLong()", 9007199254740993, "Long 9007199254740993"),
            ("FixedValue(5)", 0, "Long 5"),
            ("FixedValue('5.7'); Mul(2.0)", 0, "Double 10.0"),
            ("FixedValue('5'); ToInt(); Add(1)", 0, "Long 6"),
            ("Template('{}',Add(1))", 3000000000, "String 852516354"),
            ("Template('{}',Mod(7))", -10, "String 2147483645"),
            ("Template('{}',ToString())", 5, "String 5.0"),
            ("Template('{}',long->Mod(7)->long)", -10, "String -3"),
            ("Template('{}',FixedValue(5))", 0, "String 5"),
            ("from_long.to_int.Add(1)", 2147483647, "Integer 1"),
            ("discrete.long_int.Uniform(0,9)", 0, "Integer 3"),
            ("Uniform(0,1000000000)", 2, "Long 890201860"),
            ("Uniform(0,100)->int", 0, "Integer 32"),
            ("Uniform(-180d,180d)", 0, "Double -65.16072362807124"),
            // An argument that means nothing to the reference takes all arguments with it.
            ("MapFunctions(FixedValue('a'),FixedValue(1.5f))", 0, "Map {}"),
            ("ListFunctions(FixedValue(true))", 0, "List []"),
            ("ListFunctions(Prefix(5))", 0, "List []"),
            ("Hash(FixedValue(1.5))", 0, "Long 2945182322382062539"),
            ("Mul(-37000000000L); ToMillisAtStartOfDay('EST')", 99, "Long -3663082800000"),
            ("Mul(86399999L); StringDateWrapper('YY')", 1_000_000_000_000, "String 01"),
        ] {
            assert_eq!(shown(recipe, cycle), expected, "{recipe}");
        }
        for (recipe, kind) in [
            ("HashRange(0,100)", Kind::Long),
            ("HashRange(0.0,10.0)", Kind::Double),
            ("ToInt(); Uniform(0,10)", Kind::Long),
            ("Uniform(0.0,1.0)", Kind::Double),
            ("Hash(); ToInt()", Kind::Int),
            ("ToString(); ToInt()", Kind::Object),
            ("CharBufImage('ab',10,5)", Kind::Text),
            ("NumberNameToString(); Prefix('x')", Kind::Text),
        ] {
            assert_eq!(compile(recipe).expect(recipe).kind(), kind, "{recipe}");
        }
    }

    #[test]
    fn the_recipes_of_the_grammar_mean_what_the_reference_makes_of_them() {
        for (recipe, cycle, expected) in [
            ("Mod(10) ToString()", 12, "Long 2"),
            ("Mod(10)); ToString()", 12, "Long 2"),
            ("Mod(10);; Add(3)", 12, "Long 2"),
            ("Mod(10)\nAdd(3)", 12, "Long 2"),
            ("Mod(10);\nAdd(3)", 12, "Long 2"),
            ("Mod(10);\n Add(3)", 12, "Long 5"),
            ("Mod(10);\n\nAdd(3)", 12, "Long 5"),
            ("Mod(1000; ToString()", 1234, "String 234"),
            ("Mod(10", 12, "Long 2"),
            ("Mod(10) # x", 12, "Long 2"),
        ] {
            assert_eq!(shown(recipe, cycle), expected, "{recipe:?}");
        }
    }

    #[test]
    fn every_example_is_true() {
        let mut wrong = Vec::new();
        for row in functions::all() {
            for example in row.examples {
                let program =
                    compile(example.0).unwrap_or_else(|error| panic!("{}: {}", example.0, error.message));
                let mut out = Vec::new();
                program.write_text(example.1, &mut Context::default(), &mut out).expect(example.0);
                let found = String::from_utf8_lossy(&out);
                if found != example.2 {
                    wrong.push(format!(
                        "{} at {}: {found}, but documented is {}",
                        example.0, example.1, example.2
                    ));
                }
                assert!(example.0.contains(row.name), "{} does not show {}", example.0, row.name);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Otherwise the engine would not count them for it, and it would never see one.
    #[test]
    fn a_function_whose_values_change_with_what_is_acknowledged_says_so() {
        let texts = |recipe: &str, acknowledged: u64| -> Vec<Result<Vec<u8>, &'static str>> {
            let program = compile(recipe).expect("an example compiles");
            let mut context = Context::default();
            context.acknowledged.store(acknowledged, std::sync::atomic::Ordering::Release);
            let mut text = |cycle| {
                let mut out = Vec::new();
                program.write_text(cycle, &mut context, &mut out).map(|()| out).map_err(|error| error.name)
            };
            (0..50).map(&mut text).collect()
        };
        let mut known = 0;
        for row in functions::all().filter(|row| !row.pure) {
            for example in row.examples {
                let none = texts(example.0, 0);
                // What changes anyway says nothing.
                if none == texts(example.0, 0) && none != texts(example.0, 1_000_000) {
                    assert!(row.reads_acknowledged, "{}", row.name);
                    assert!(compile(example.0).expect("it compiles").reads_acknowledged(), "{}", example.0);
                    known += 1;
                }
            }
        }
        assert!(known >= 2, "{known}");
    }

    #[test]
    fn recipes_of_the_published_workloads_compile() {
        for recipe in [
            "Mod(1000000000); ToString();",
            "Hash(); Mod(1000000000); CharBufImage('A-Za-z0-9 _|/',1600,HashRange(50,150)); ToString();",
            "Uniform(0,1000000000); ToString() -> String",
            "Hash(); Uniform(0,1000000000); CharBufImage('A-Za-z0-9 _|/',1600,HashRange(50,150)); ToString();",
            "Div(1000); ToString() -> String",
            "Add(10); HashedFileExtractToString('data/lorem_ipsum_full.txt',9,11)",
            "Hash(); Uniform(0,100)->int; ToString() -> String",
            "Hash(); Add(1); Uniform(0,1000000)->int; ToString() -> String",
            "Hash(); HashedFileExtractToString('data/lorem_ipsum_full.txt',50,150) -> String",
            "Uniform(1,10) -> int",
            "Mod(1000000000); Hash(); ToString();",
            "Hash(); Mod(5); ToString() -> String",
        ] {
            assert!(compile(recipe).is_ok(), "{recipe}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_where_and_what_to_write() {
        for (recipe, words, place) in [
            ("Mood(10)", "no function `Mood`", Some(0..4)),
            ("Identity(); mod(10)", "no function `mod`", Some(12..15)),
            ("DoubleCache(5)", "no function yields the sequence", Some(0..11)),
            ("Template('{}',DoubleCache(5))", "`DoubleCache`", Some(14..25)),
            ("Zipf(10,-0.5)", "must not be below 0", Some(8..12)),
            ("LastNames('other')", "'other' is no mode", Some(10..17)),
            ("CSVFrequencySampler('data/us_places','Zip')", "no column `Zip`", None),
            ("Prefix('a')", "cannot come first: it takes String", Some(0..11)),
            ("Add(1); Prefix('x')", "`Prefix` takes String, but `Add` gives long", Some(8..19)),
            ("Uniform(2,1)", "lower bound", Some(0..12)),
            ("HashRange(5,1)", "lower bound", None),
            ("FixedValue(5,6)", "fits no form", Some(0..15)),
            (
                "ToBoolean(); Prefix('x')",
                "`Prefix` takes String, but `ToBoolean` gives Boolean",
                Some(13..24),
            ),
            ("ToBoolean(); Add(1)", "`Add` takes long, but `ToBoolean` gives Boolean", Some(13..19)),
            ("Expr('cycle +')", "a value is missing", Some(5..14)),
            ("ToString(); Prefix(Nope())", "no function `Nope`", Some(19..23)),
            ("TriangularStep(5)", "closed", Some(0..17)),
            ("Token('a','b','c','d')", "logs in to a server", Some(0..5)),
            ("HdfFileToFloatList('a','b')", "HDF5", Some(0..18)),
            ("Identity(); ToCqlVector()", "Cassandra", Some(12..23)),
            ("Mod(10) -> Long", "`Long` is no type", Some(11..15)),
            ("Mod(10) -> ToString()", "`ToString` is no type", Some(11..19)),
            ("Mod($x)", "no function takes a variable", Some(4..6)),
            ("Template('{}-{}',Identity())", "2 `{}`", Some(9..16)),
            ("Uniform(0,10,'other')", "'other' is no modifier", Some(13..20)),
            ("Uniform(0,10,'hash','map')", "exclude each other", Some(20..25)),
            ("HashedFileExtractToString('none.txt',1,2)", "no file `none.txt`", Some(26..36)),
            ("CharBufImage('z-a',10,5)", "backwards", Some(13..18)),
            ("CharBufImage(5,10,5)", "must be a text", Some(13..14)),
            ("Mod(0); ToString(); Prefix('a')", "for cycle 1", None),
            ("long_int.Mod(5)", "no function is called", Some(0..12)),
        ] {
            let error = compile(recipe).expect_err(recipe);
            assert!(error.message.contains(words), "{recipe}: {}", error.message);
            if let Some(place) = place {
                assert_eq!(error.location.map(|location| location.range), Some(place), "{recipe}");
            }
        }
        for (recipe, meant) in [("Mood(10)", "`Mod`"), ("FixedWidth(8)", "`ZeroPadded`")] {
            let help = compile(recipe).expect_err("no such function").help.expect("near names");
            assert!(help.contains(meant), "{help}");
        }
    }

    /// Every type that a flow may have goes into every conversion, or the recipe is refused with both named.
    #[test]
    fn every_pair_of_types_converts_or_is_refused_before_the_run() {
        let sources = ["ToInt()", "Identity()", "ToFloat()", "ToDouble()", "ToString()", "ToBoolean()"];
        let targets = [
            ("ToInt()", "ToInt", "3"),
            ("ToLong()", "ToLong", "3"),
            ("ToFloat()", "ToFloat", "3.0"),
            ("ToDouble()", "ToDouble", "3.0"),
            ("ToShort()", "ToShort", "3"),
            ("ToByte()", "ToByte", "3"),
            ("ToBoolean()", "ToBoolean", "true"),
            ("ToString()", "ToString", "3"),
            ("ToBigInt()", "ToBigInt", "3"),
            ("ToBigDecimal()", "ToBigDecimal", "3"),
        ];
        let mut converted = 0;
        for source in sources {
            for (target, name, expected) in targets {
                let recipe = format!("{source}; {target}");
                let found = shown(&recipe, 3);
                let text = found.split_once(' ').map_or(found.as_str(), |(_, text)| text);
                let number = |text: &str| text.parse::<f64>().ok();
                let as_expected = match (source, name) {
                    // The text of a number has its point, and true is 1.
                    ("ToBoolean()", "ToBoolean" | "ToString") => text == "true",
                    ("ToBoolean()", _) => number(text) == Some(1.0),
                    _ => text == expected || number(text).is_some() && number(text) == number(expected),
                };
                if as_expected {
                    converted += 1;
                } else {
                    let source = source.trim_end_matches("()");
                    assert!(
                        found.starts_with("refused:") && found.contains(name) && found.contains(source),
                        "{recipe}: {found}"
                    );
                }
            }
        }
        assert!(converted >= 50, "only {converted} of 60 pairs convert");
    }

    /// Values of forms that are seldom written, as the reference makes them.
    #[test]
    fn rare_forms_have_the_values_of_the_reference() {
        for (recipe, cycle, expected) in [
            ("ToLongUnaryOperator(HashRange(1,5))", 0, "Long 2"),
            ("Combinations(';')", 3, "String "),
            ("DoubleVectors(';')", 3, "double[] []"),
            ("ToJodaInstant(); ToJSON()", 5, r#"String {"iMillis":5}"#),
            (
                "ToDateTime(); ToJSON()",
                5,
                r#"String {"iMillis":5,"iChronology":{"iBase":{"iMinDaysInFirstWeek":4}}}"#,
            ),
            ("HashRange(0.0d,1.0d); DecimalFormat('¤0.00')", 0, "String ¤0.32"),
            ("Mul(86399999L); StringDateWrapper('w')", i64::MAX - 1, "String 1"),
            ("Mul(86399999L); StringDateWrapper('xxxx')", i64::MAX - 1, "String -292275055"),
            ("LogNormal(0.0,1.0,'compute')", 0, "Double 0.6252468853456772"),
            ("Nakagami(2.0,3.0)", 65_535, "Double 1.1523191861152275"),
            ("HashedLineToStringList('data/variable_words.txt',-5,-4)", 3, "List []"),
            ("HashedLineToStringSet('data/variable_words.txt',-5,-4)", 3, "Set []"),
            ("Add(5); ToMillisAtStartOfSecond()", i64::MAX - 1, "Long 9223372036854775616"),
            ("Add(5); ToMillisAtStartOfMonth()", i64::MAX - 1, "Long 9223372035446400000"),
            (
                "Add(1000000000); ToMillisAtStartOfYear('America/Chicago')",
                i64::MAX - 1,
                "Long 9223372017203151616",
            ),
            ("Save('z'); Expr('z+cycle*2')", 9_007_199_254_740_993, "Long 27021597764222976"),
            ("Save('z'); Expr('z+(cycle*2L)')", 9_007_199_254_740_993, "Long 27021597764222979"),
            ("Save('z'); Expr('z+cycle*2L+cycle')", 9_007_199_254_740_993, "Long 36028797018963969"),
            ("Save('z'); Expr('x=z*2L; x+cycle*2L')", 9_007_199_254_740_993, "Long 36028797018963968"),
            ("Expr('x=cycle*2L; x+cycle*3L')", 9_007_199_254_740_993, "Long 45035996273704965"),
            ("Expr('cycle+cycle*2L')", 9_007_199_254_740_993, "Long 27021597764222979"),
            ("Save('z'); Expr('z!=cycle+1L ? 1 : 0')", 4_611_686_018_427_387_907, "Long 0"),
        ] {
            assert_eq!(shown(recipe, cycle), expected, "{recipe}");
        }
    }

    /// Functions of texts differ in what they make of null; here an odd input is null.
    #[test]
    fn null_stays_fails_or_becomes_a_text_as_in_the_reference() {
        for (function, expected) in [
            ("Prefix('a')", "String anull"),
            ("Suffix('a')", "String nulla"),
            ("ToString()", "String null"),
            ("HTMLEntityEncode()", "null null"),
            ("HTMLEntityDecode()", "null null"),
            ("EscapeJSON()", "null null"),
            ("EscapeJSON(); EscapeJSON()", "null null"),
            ("HTMLEntityEncode(); Prefix('b')", "String bnull"),
            ("HTMLEntityEncode(); Trim()", "NullPointerException"),
            ("Trim()", "NullPointerException"),
            ("Trim(); Prefix('z')", "NullPointerException"),
            ("ReplaceAll('a','b')", "NullPointerException"),
            ("ReplaceRegex('a','b'); Suffix('q')", "NullPointerException"),
            ("MatchRegex('a','b')", "NullPointerException"),
            ("URLEncode()", "NullPointerException"),
            ("URLDecode()", "NullPointerException"),
            ("ToBase64String()", "NullPointerException"),
            ("FieldExtractor(' ,1')", "NullPointerException"),
            ("StringFlow(Prefix('a'),Trim())", "String anull"),
            ("StringFlow(Trim())", "NullPointerException"),
        ] {
            let recipe = format!("Mod(2); ToString(); ReplaceAll('0',''); NullIfEmpty(); {function}");
            assert_eq!(shown(&recipe, 0), expected, "{recipe}");
            let program = compile(&recipe).expect("it compiles");
            let mut text = Vec::new();
            let written = program.write_text(0, &mut Context::default(), &mut text);
            match expected.split_once(' ') {
                Some((_, expected)) => assert_eq!(String::from_utf8_lossy(&text), expected, "{recipe}"),
                None => assert!(written.is_err(), "{recipe}"),
            }
            let kind = program.write_bson(0, &mut Context::default(), &mut Vec::new());
            let kind = kind.map_err(|error| error.name);
            match expected.split_once(' ') {
                Some(("null", _)) => assert_eq!(kind, Ok(Some(ElementType::Null)), "{recipe}"),
                Some(_) => assert_eq!(kind, Ok(Some(ElementType::String)), "{recipe}"),
                None => assert_eq!(kind, Err(expected), "{recipe}"),
            }
        }
    }

    /// A variable may be kept by another binding, which is evaluated before.
    #[test]
    fn an_expression_may_read_what_another_recipe_keeps() {
        let program =
            compile("Expr('score > 90 ? 0 : 1') -> long; ToBoolean(); ToString()").expect("it compiles");
        let mut context = Context::default();
        let alone = program.eval(5, &mut context).expect_err("nothing is kept");
        assert_eq!(alone.name, "UnresolveablePropertyException");
        compile("Add(7); Save('score')").expect("it compiles").eval(5, &mut context).expect("it is kept");
        assert_eq!(program.eval(5, &mut context).map(|value| value.text()).expect("a value"), "true");
    }

    /// What would hang or fill the memory is refused, or fails for its cycle.
    #[test]
    fn nothing_grows_without_a_bound() {
        for (recipe, expected) in [
            ("FixedValue('1e999999999'); ToBigDecimal(); Format('%.2f')", "OutOfMemoryError"),
            ("FixedValue('1e-999999999'); ToBigDecimal(); Format('%.2f')", "String 0.00"),
            ("ListSized(Add(2000000000),Identity())", "OutOfMemoryError"),
            ("MapSizedHashed(Add(2000000000),Identity(),Identity())", "OutOfMemoryError"),
            ("ByteBufferSizedHashed(Add(2000000000))", "OutOfMemoryError"),
        ] {
            assert_eq!(shown(recipe, 1), expected, "{recipe}");
        }
        for recipe in [
            "CharBufImage('a-z',2147483647,10)",
            "CharBufImage(2147483647)",
            "CharBufferExtract(2147483647,10)",
            "Binary(-1)",
            "Binary(2147483647)",
        ] {
            assert!(shown(recipe, 1).starts_with("refused"), "{recipe}");
        }
    }

    #[test]
    fn conversions_of_texts_at_the_edges() {
        for (recipe, expected) in [
            ("FixedValue('1e400'); ToDouble()", "Double Infinity"),
            ("FixedValue('-0'); ToDouble()", "Double -0.0"),
            ("FixedValue('NaN'); ToDouble()", "Double NaN"),
            ("FixedValue(''); ToDouble()", "NumberFormatException"),
            ("FixedValue(''); ToInt()", "NumberFormatException"),
            ("FixedValue('2147483648'); ToInt()", "NumberFormatException"),
            ("FixedValue('2147483648'); ToLong()", "Long 2147483648"),
            ("FixedValue('1.5'); ToLong()", "NumberFormatException"),
            ("FixedValue('0.1'); ToFloat()", "Float 0.1"),
            ("FixedValue(2147483648); ToInt()", "Integer 1"),
        ] {
            assert_eq!(shown(recipe, 0), expected, "{recipe}");
        }
    }

    /// Where the reference gives a value it is ours: these it refuses.
    #[test]
    fn what_the_reference_refuses_though_it_is_plain_works() {
        for (recipe, cycle, expected) in [
            ("Add(1.5)", 2, "Double 3.5"),
            ("Mul(2.5d)", 2, "Double 5.0"),
            ("ToDouble()", 7, "Double 7.0"),
            ("ToFloat()", 7, "Float 7.0"),
            ("ToLong()", 7, "Long 7"),
            ("Mod(9999999999)", 10_000_000_005, "Long 6"),
            ("FixedValue(1.5)", 0, "Double 1.5"),
            ("FixedValue(0.1)", 0, "Double 0.1"),
            ("FixedValue(true)", 0, "Boolean true"),
            ("FixedValue(null)", 0, "null null"),
            ("FixedValues('a','b')", 1, "String b"),
            ("Template('{}',Uniform(0,10))", 0, "String 6"),
            ("Uniform(1,1)", 5, "Long 1"),
            ("ListFunctions(Flow(Hash(),Mod(10)))", 1, "List [2]"),
            ("CoinFunc(1.0,Identity(),Hash())", 3, "Long 3"),
            ("ToBoolean(); ToLong()", 3, "Long 1"),
            ("ToBoolean(); ToDouble()", 3, "Double 1.0"),
            // A flow as an argument means what it means alone.
            ("ListSized(2,Hash(); Mod(5))", 1, "List [4, 4]"),
            (
                "Doc('a',Hash(); Mod(5); ToString(),'b',ListSizedStepped(2,Add(1); Mul(2)))",
                1,
                "Document {a=4, b=[4, 6]}",
            ),
            (
                "ListSized(Hash(); Mod(3); Add(1),NumberNameToString(); Prefix('n-'))",
                0,
                "List [n-zero, n-zero]",
            ),
            // The reference reads a forgotten parenthesis here, and gives a value.
            ("Template('{}',Hash(); Mod(5))", 1, "Long 2"),
        ] {
            assert_eq!(shown(recipe, cycle), expected, "{recipe}");
        }
    }

    #[test]
    fn an_unknown_function_among_arguments_leaves_its_call_without_any() {
        let recipe = Text::of_source("recipe", "MapFunctions(Nope(),NumberNameToString())");
        let compiled = Program::compile(&recipe).expect("the reference makes an empty map of it");
        assert_eq!(compiled.notices.len(), 1);
        assert!(compiled.notices[0].message.contains("`Nope`"), "{}", compiled.notices[0].message);
        assert_eq!(compiled.program.eval(1, &mut Context::default()), Ok(Value::Map(Vec::new())));
    }

    #[test]
    fn dropped_text_is_noted_and_explains_errors() {
        let compiled = Program::compile(&Text::of_source("recipe", "Mod(+10) # x")).expect("it compiles");
        assert_eq!(compiled.notices.len(), 3);
        let error =
            Program::compile(&Text::of_source("recipe", "ToString(); Prefix('abc")).expect_err("no text");
        assert!(error.message.contains("fits no form"), "{}", error.message);
        assert!(error.related.iter().any(|(_, words)| words.contains("never closed")));
    }

    #[test]
    fn images_are_shared_between_programs() {
        let slice = |recipe: &str| match compile(recipe).expect(recipe).eval(0, &mut Context::default()) {
            Ok(Value::Chars { image, .. }) => image,
            other => panic!("{other:?}"),
        };
        let image = slice("CharBufImage('a-c',5000,5)");
        assert!(Arc::ptr_eq(&image, &slice("CharBufImage('abc',5000,HashRange(1,9))")));
        assert!(!Arc::ptr_eq(&image, &slice("CharBufImage('abc',5000,5,1L)")));
    }
}
