//! What recipes yield, against values that NoSQLBench 5.17.9 itself made (`tests/golden/values.jsonl`), and
//! what holds for every recipe: the same on any number of threads, and no input that makes it panic.

use nbrs::bindings::Program;
use nbrs::cli::eval;
use nbrs::functions::{self, Category, Constructor, Context, FunctionRow, Type};
use nbrs::span::Text;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value as Json;
use std::cell::Cell;
use std::path::Path;
use std::sync::Once;

/// The recipes read `data/NAME` below the working directory.
fn in_golden_folder() {
    static ENTER: Once = Once::new();
    ENTER.call_once(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        std::env::set_current_dir(folder).expect("tests/golden is there");
    });
}

struct Golden {
    recipe: String,
    values: Vec<(i64, Json)>,
    kind: String,
}

/// How many recipes there are.
const RECIPES: usize = 616;

fn golden() -> Vec<Golden> {
    in_golden_folder();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/values.jsonl");
    let text = std::fs::read_to_string(path).expect("the golden values are there");
    let all: Vec<Golden> = text
        .lines()
        .map(|line| {
            let line: Json = serde_json::from_str(line).expect("a line is JSON");
            let values = line["values"].as_array().expect("values is a list");
            Golden {
                recipe: line["recipe"].as_str().expect("recipe is text").to_owned(),
                kind: line["type"].as_str().expect("type is text").to_owned(),
                values: values
                    .iter()
                    .map(|pair| (pair[0].as_i64().expect("a cycle is an integer"), pair[1].clone()))
                    .collect(),
            }
        })
        .collect();
    assert_eq!(all.len(), RECIPES);
    all
}

fn same(found: &Json, expected: &Json, kind: &str) -> bool {
    match (found, expected) {
        (Json::Object(found), Json::Object(expected)) if expected.contains_key("!error") => {
            found.contains_key("!error")
        }
        (Json::String(found), Json::String(expected)) if matches!(kind, "Double" | "Float") => {
            let number = |text: &str| text.parse::<f64>().expect("a number");
            number(found) == number(expected)
        }
        _ => found == expected,
    }
}

#[test]
fn values_are_those_of_the_reference() {
    let mut wrong = Vec::new();
    for golden in golden() {
        let at: Vec<_> = golden.values.iter().map(|(cycle, _)| *cycle as u64..*cycle as u64 + 1).collect();
        let mut out = Vec::new();
        eval::run(vec![Text::of_source("recipe", golden.recipe.as_str())], &at, true, &mut out)
            .expect("memory is writable");
        let found: Json = serde_json::from_slice(&out).expect("eval writes JSON");
        if let Some(error) = found.get("error") {
            wrong.push(format!("{}: {error}", golden.recipe));
            continue;
        }
        if found["type"] != golden.kind.as_str() {
            wrong.push(format!("{}: a {}, but expected a {}", golden.recipe, found["type"], golden.kind));
        }
        for (position, (cycle, expected)) in golden.values.iter().enumerate() {
            let found = &found["values"][position][1];
            if !same(found, expected, &golden.kind) {
                wrong.push(format!("{} at {cycle}: {found}, but expected {expected}", golden.recipe));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} recipes differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn text_written_is_the_text_of_the_value() {
    for golden in golden() {
        let program = Program::compile(&Text::unplaced(golden.recipe.as_str())).expect("it compiles").program;
        // What is saved on a thread is saved by both ways.
        let (mut context, mut other) = (Context::default(), Context::default());
        for (cycle, _) in &golden.values {
            let mut written = b"before ".to_vec();
            let outcome = program.write_text(*cycle, &mut context, &mut written);
            match program.eval(*cycle, &mut other) {
                Ok(value) => {
                    let mut expected = b"before ".to_vec();
                    value.write_text(&mut expected);
                    assert!(outcome.is_ok() && written == expected, "{} at {cycle}", golden.recipe);
                }
                Err(error) => assert_eq!(outcome, Err(error), "{} at {cycle}", golden.recipe),
            }
        }
    }
}

#[test]
fn values_do_not_depend_on_the_thread() {
    const CYCLES: i64 = 640;
    const THREADS: i64 = 16;
    let compiled = |recipe: &str| Program::compile(&Text::unplaced(recipe));
    // Examples may name files that are not in this folder.
    // Examples name files from the project's folder, this test runs below it.
    let examples = functions::all()
        .flat_map(|row| row.examples.iter().map(|example| example.0.replace("tests/golden/", "")));
    let examples = examples.filter(|recipe| compiled(recipe).is_ok());
    for recipe in golden().into_iter().map(|golden| golden.recipe).chain(examples) {
        let program = compiled(&recipe).expect("it compiles").program;
        if !program.is_pure() {
            continue;
        }
        let texts =
            |program: &Program, cycles: &mut dyn Iterator<Item = i64>| -> Vec<(i64, Option<Vec<u8>>)> {
                let mut context = Context::default();
                cycles
                    .map(|cycle| {
                        let mut out = Vec::new();
                        (cycle, program.write_text(cycle, &mut context, &mut out).ok().map(|()| out))
                    })
                    .collect()
            };
        // Long texts say no more here than short ones.
        let step = if recipe.contains("50000") { 40 } else { 1 };
        let alone = texts(&program, &mut (0..CYCLES).step_by(step));
        let mut together: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS)
                .map(|worker| {
                    let program = program.clone();
                    scope.spawn(move || {
                        texts(
                            &program,
                            &mut (0..CYCLES).step_by(step).filter(|cycle| cycle % THREADS == worker),
                        )
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("no worker panics")).collect()
        });
        together.sort();
        assert!(alone == together, "{recipe}");
    }
}

#[test]
fn no_cycle_panics() {
    let cycles: Vec<i64> = [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX, i32::MIN.into(), i32::MAX.into()]
        .into_iter()
        .chain(-20..20)
        .chain((0..63).flat_map(|bit| [(1i64 << bit) - 1, 1 << bit, -(1 << bit)]))
        .collect();
    for golden in golden() {
        let program = Program::compile(&Text::unplaced(golden.recipe.as_str())).expect("it compiles").program;
        let mut context = Context::default();
        let mut out = Vec::new();
        for cycle in &cycles {
            out.clear();
            let _ = program.write_text(*cycle, &mut context, &mut out);
        }
    }
}

#[test]
fn no_argument_panics() {
    in_golden_folder();
    let numbers = [
        "2147483647",
        "-9223372036854775808L",
        "1e39",
        "1e999d",
        "'{}'",
        "true",
        "null",
        "long->Uniform(0.0,1.0)->double",
        "Prefix('p')",
    ];
    let cycles = [i64::MIN, -1, 0, 1, 12_345, i64::MAX];
    for row in functions::all() {
        let one = numbers.iter().map(|first| (*first).to_owned());
        // What fits is tried further below; here most of it does not.
        let two = ["0,0", "-1L,1e39", "'a',Hash()", "Hash(),'a'"].map(str::to_owned);
        for arguments in std::iter::once(String::new()).chain(one).chain(two) {
            if takes_its_time(row, &arguments) {
                continue;
            }
            for recipe in
                [format!("{}({arguments})", row.name), format!("ToString(); {}({arguments})", row.name)]
            {
                let Ok(compiled) = Program::compile(&Text::of_source("recipe", recipe)) else { continue };
                let mut context = Context::default();
                for cycle in cycles {
                    let _ = compiled.program.eval(cycle, &mut context);
                    let _ = compiled.program.write_text(cycle, &mut context, &mut Vec::new());
                }
            }
        }
    }
}

/// What is allowed, but not here: images of 2^31 characters, and tables of curves so wide or so steep that each
/// of their points takes long.
fn takes_its_time(row: &FunctionRow, arguments: &str) -> bool {
    const HUGE: [&str; 4] = ["2147483647", "9223372036854775807", "1e38", "1e308"];
    let huge = HUGE.iter().any(|huge| arguments.contains(huge));
    huge && (row.name.starts_with("CharBuf") || row.category == Category::Distribution)
}

/// Literals and functions that could stand for a parameter of a type: edges first of all.
fn arguments_of(parameter: Type) -> &'static [&'static str] {
    const INTS: &[&str] = &["0", "1", "-1", "7", "1000", "2147483647", "-2147483648"];
    const LONGS: &[&str] =
        &["0L", "1L", "-1L", "7", "1000000000000L", "9223372036854775807L", "-9223372036854775808L"];
    const DECIMALS: &[&str] = &["0.0", "-0.0", "0.5", "1.0", "-1.5", "1e38", "1e39"];
    const DOUBLES: &[&str] = &["0d", "0.5d", "1.0d", "-1.5d", "1e308d", "1e999d", "7"];
    const TEXTS: &[&str] =
        &["''", "'a'", "'{}'", "'a:1;b:2'", "'data/lines.txt'", "'é漢😀'", "'sum'", "'0-9*2'"];
    const FUNCTIONS: &[&str] = &[
        "Identity()",
        "long->Hash()->int",
        "long->HashRange(0.0d,1.0d)->double",
        "NumberNameToString()",
        "int->Add(1)->int",
        "Prefix('p')",
        "HashRange(1,5)",
        "ToString()",
    ];
    const ANYTHING: &[&str] = &["3", "1L", "0.5", "2.0d", "'a'", "true", "null", "Identity()", "ToString()"];
    match parameter {
        Type::Int | Type::Short | Type::Byte => INTS,
        Type::Long => LONGS,
        Type::Float => DECIMALS,
        Type::Double => DOUBLES,
        Type::Boolean => &["true", "false"],
        Type::String | Type::CharSequence => TEXTS,
        Type::Object | Type::Number => ANYTHING,
        _ => FUNCTIONS,
    }
}

/// What makes a value that a function may take.
fn source_of(input: Type) -> &'static str {
    match input {
        Type::Long => "",
        Type::Int => "ToInt(); ",
        Type::Double => "HashRange(-1000000000d,1000000000d); ",
        Type::String | Type::CharSequence => "ToString(); ",
        Type::List | Type::Collection => "ListSizedStepped(2,Identity()); ",
        Type::BoxedFloat => "Identity(); ToFloat(); ",
        _ => "Identity(); ",
    }
}

/// Any arguments for a constructor, as a recipe has them.
fn any_arguments(constructor: &Constructor) -> impl Strategy<Value = String> + use<> {
    let parameters: Vec<_> = constructor.parameters.iter().map(|kind| select(arguments_of(*kind))).collect();
    let rest = match constructor.rest {
        Some(kind) => vec(select(arguments_of(kind)), 0..5).boxed(),
        None => Just(Vec::new()).boxed(),
    };
    (parameters, rest).prop_map(|(mut arguments, rest)| {
        arguments.extend(rest);
        arguments.join(",")
    })
}

#[test]
fn no_function_panics_whatever_fits_its_parameters() {
    const CASES: u32 = 12;
    const EDGES: [i64; 13] = [
        0,
        1,
        -1,
        (1 << 31) - 1,
        1 << 31,
        (1 << 31) + 1,
        -(1 << 31),
        1 << 32,
        (1 << 53) + 1,
        i64::MAX - 1,
        i64::MAX,
        i64::MIN + 1,
        i64::MIN,
    ];
    in_golden_folder();
    let evaluated = Cell::new(0);
    let constructors = |row: &'static FunctionRow| {
        let overloads = row.overloads.iter();
        overloads.flat_map(|overload| overload.constructors.iter().map(move |one| (overload.input, one)))
    };
    for row in functions::all() {
        for (input, constructor) in constructors(row) {
            let has_arguments = !constructor.parameters.is_empty() || constructor.rest.is_some();
            let cases = if has_arguments { CASES } else { 2 };
            // The same cases at each run; one that fails is told with what it was shrunk to.
            let config = Config { cases, failure_persistence: None, ..Config::default() };
            let mut runner =
                TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
            let cycles = vec(prop_oneof![select(&EDGES[..]), any::<i64>()], 1..6);
            let outcome = runner.run(&(any_arguments(constructor), cycles), |(arguments, cycles)| {
                if takes_its_time(row, &arguments) {
                    return Ok(());
                }
                let recipe = format!("{}{}({arguments})", source_of(input), row.name);
                let Ok(compiled) = Program::compile(&Text::of_source("recipe", recipe)) else {
                    return Ok(());
                };
                let mut context = Context::default();
                for cycle in cycles {
                    evaluated.set(evaluated.get() + 1);
                    let _ = compiled.program.eval(cycle, &mut context);
                    let _ = compiled.program.write_text(cycle, &mut context, &mut Vec::new());
                    let _ = compiled.program.write_bson(cycle, &mut context, &mut Vec::new());
                }
                Ok(())
            });
            outcome.unwrap_or_else(|error| panic!("{}: {error}", row.name));
        }
    }
    assert!(evaluated.get() > 2_000, "only {} values were made", evaluated.get());
}
