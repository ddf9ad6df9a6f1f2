//! What a binding costs per cycle, and an image once: first the figures that have a bound, each the best of
//! several rounds with how often it asked for memory, then more recipes as criterion measures them.
//!
//! `cargo bench --bench bindings`; `cargo bench --bench bindings -- none` for the bounded figures alone.

#[path = "../tests/counting/mod.rs"]
mod counting;

use counting::allocations;
use criterion::{Criterion, criterion_group};
use nbrs::bindings::Program;
use nbrs::functions::Context;
use nbrs::span::Text;
use nbrs::value::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What is made of a cycle.
#[derive(Clone, Copy)]
enum Make {
    Number,
    Text,
    Bson,
}

const IMAGE: &str = "CharBufImage('A-Za-z0-9 _|/',16000000,100)";

/// Figures that shall stay under a bound, in nanoseconds a cycle.
const BOUNDED: &[(&str, &str, Make, u32)] = &[
    ("numeric flow of three functions", "Add(3); Mul(7L); Mod(1000000)", Make::Number, 15),
    ("numeric flow, hashed", "Hash(); Add(3); Mod(1000000)", Make::Number, 15),
    ("numeric flow, into BSON", "Add(3); Mul(7L); Mod(1000000)", Make::Bson, 15),
    ("Hash; Mod; ToString", "Hash(); Mod(1000000000); ToString()", Make::Text, 60),
    ("Hash; Mod; ToString, into BSON", "Hash(); Mod(1000000000); ToString()", Make::Bson, 60),
    ("curve sample: Normal", "Normal(0.0,1.0)", Make::Number, 25),
    ("curve sample: Uniform", "Uniform(0.0,100.0)", Make::Number, 25),
    ("curve sample: Zipf", "Zipf(1000,1.5)", Make::Number, 25),
    ("curve sample: Poisson, to int", "Poisson(4.5) -> int", Make::Number, 25),
    ("CharBufImage slice of 100 bytes", IMAGE, Make::Text, 40),
    ("CharBufImage slice, into BSON", IMAGE, Make::Bson, 40),
    // How much of it is waiting for memory.
    ("the same, of an image in cache", "CharBufImage('A-Za-z0-9 _|/',16000,100)", Make::Text, 40),
    ("the same, of 1.6 million characters", "CharBufImage('A-Za-z0-9 _|/',1600000,100)", Make::Text, 40),
];

/// The bound of an image of 16 million characters, made once.
const IMAGE_BOUND: Duration = Duration::from_millis(200);

/// Flows of numbers, of which no text is made.
const NUMBERS: &[(&str, &str)] = &[
    ("three functions", "Add(3); Mul(7L); Mod(1000000)"),
    ("hashed key", "Hash(); Mod(1000000000)"),
    ("expression", "Expr('cycle * 3 + 1')"),
    ("saved and loaded", "Save('a'); Add(1); Load('a')"),
];

/// Values that go into BSON without a text.
const DOCUMENTS: &[(&str, &str)] = &[
    ("list of ten", "ListSizedStepped(10,Identity())"),
    ("map of five", "MapSizedStepped(5,NumberNameToString(),Identity())"),
];

const RECIPES: &[(&str, &str)] = &[
    ("key of rampup", "Mod(1000000000); ToString()"),
    ("key of main", "Uniform(0,1000000000); ToString() -> String"),
    ("hashed key", "Hash(); Mod(1000000000); ToString()"),
    (
        "text of 100",
        "Hash(); Mod(1000000000); CharBufImage('A-Za-z0-9 _|/',16000000,HashRange(50,150)); ToString();",
    ),
    (
        "text of 100 KB",
        "Hash(); Mod(1000000000); CharBufImage('A-Za-z0-9 _|/',16000000,HashRange(50000,150000)); ToString();",
    ),
    ("extract of 100", "Hash(); HashedFileExtractToString('data/lorem_ipsum_full.txt',50,150) -> String"),
    ("template", "Template('user-{}-{}',Identity(),Hash())"),
    ("double", "HashRange(0.0d,1.0d); ToString()"),
];

fn compiled(recipe: &str) -> Program {
    Program::compile(&Text::unplaced(recipe)).expect("a recipe of this file compiles").program
}

/// Times `run` for each recipe, over rising cycles, with one context and one buffer that it may write into.
fn each<T>(
    criterion: &mut Criterion,
    group: &str,
    recipes: &[(&str, &str)],
    run: impl Fn(&Program, i64, &mut Context, &mut Vec<u8>) -> T,
) {
    let mut group = criterion.benchmark_group(group);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    for (name, recipe) in recipes {
        let program = compiled(recipe);
        let mut context = Context::default();
        let mut out = Vec::new();
        let mut cycle = 0;
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                out.clear();
                cycle += 1;
                run(&program, black_box(cycle), &mut context, &mut out)
            });
        });
    }
    group.finish();
}

fn texts(criterion: &mut Criterion) {
    each(criterion, "text of a cycle", RECIPES, |program, cycle, context, out| {
        program.write_text(cycle, context, out).expect("it has a value");
        out.len()
    });
}

fn numbers(criterion: &mut Criterion) {
    each(criterion, "number of a cycle", NUMBERS, |program, cycle, context, _| program.eval(cycle, context));
}

fn documents(criterion: &mut Criterion) {
    each(criterion, "BSON of a cycle", DOCUMENTS, |program, cycle, context, out| {
        program.write_bson(cycle, context, out).expect("BSON holds it");
        out.len()
    });
}

/// Cycles of a round.
const CYCLES: u32 = 5_000;
const ROUNDS: usize = 1000;

/// The time of the quickest of `count` rounds: the others were disturbed.
fn best(count: usize, mut round: impl FnMut()) -> Duration {
    (0..count)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn bounded() {
    println!("{:<34} {:>9} {:>9} {:>24}", "", "best", "bound", "allocations in a round");
    for &(name, recipe, make, bound) in BOUNDED {
        let program = compiled(recipe);
        let mut context = Context::default();
        let mut out = Vec::with_capacity(1000);
        let mut next = 0;
        let mut round = || {
            for _ in 0..CYCLES {
                next += 1;
                out.clear();
                let cycle = black_box(next);
                match make {
                    Make::Number => {
                        match &program.eval(cycle, &mut context) {
                            Ok(Value::Long(long)) => black_box(*long),
                            Ok(Value::Int(int)) => black_box(i64::from(*int)),
                            Ok(Value::Double(double)) => black_box(*double) as i64,
                            other => panic!("{other:?} is no number"),
                        };
                    }
                    Make::Text => program.write_text(cycle, &mut context, &mut out).expect("it has a text"),
                    Make::Bson => {
                        program.write_bson(cycle, &mut context, &mut out).expect("BSON holds it");
                    }
                }
                black_box(&out);
            }
        };
        let time = best(ROUNDS, &mut round).as_secs_f64() * 1e9 / f64::from(CYCLES);
        println!("{name:<34} {time:>6.1} ns {bound:>6} ns {:>24}", allocations(round));
    }
    // Another seed each time, since images are kept.
    let mut seed = 1;
    let time = best(5, || {
        seed += 1;
        compiled(&format!("CharBufImage('A-Za-z0-9 _|/',16000000,100,{seed}L)"));
    });
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{:<34} {:>6.0} ms {:>6} ms",
        "image of 16 million characters",
        milliseconds(time),
        milliseconds(IMAGE_BOUND)
    );
}

criterion_group!(benches, numbers, texts, documents);

fn main() {
    bounded();
    benches();
    Criterion::default().configure_from_args().final_summary();
}
