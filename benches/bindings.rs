//! What a binding costs per cycle, and an image once.
//!
//! `cargo bench --bench bindings`

use criterion::{Criterion, criterion_group, criterion_main};
use nbrs::bindings::Program;
use nbrs::functions::Context;
use nbrs::span::Text;
use std::hint::black_box;
use std::time::Duration;

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

fn image(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("image");
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(500)).sample_size(10);
    // Another seed each time, since images are kept.
    let mut seed = 1;
    group.bench_function("of 16 million characters", |bencher| {
        bencher.iter(|| {
            seed += 1;
            compiled(&format!("CharBufImage('A-Za-z0-9 _|/',16000000,100,{seed}L)"))
        });
    });
    group.finish();
}

criterion_group!(benches, numbers, texts, documents, image);
criterion_main!(benches);
