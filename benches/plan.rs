//! What binding and encoding a command costs: the main ops of `mongodb-keyvalue2`, with their random text and
//! with a constant one in its place. Run with `cargo bench --bench plan`.

use criterion::{Criterion, criterion_group, criterion_main};
use indexmap::IndexMap;
use nbrs::functions::Context;
use nbrs::plan::{Form, compile};
use nbrs::span::Text;
use nbrs::workload::{LoadOptions, load};
use std::hint::black_box;
use std::time::Duration;

fn bind(criterion: &mut Criterion) {
    let params = [("mintext", "50"), ("maxtext", "150")];
    let params: IndexMap<String, String> =
        params.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let options = LoadOptions { includes: &[], params: &params };
    let workload = load("mongodb-keyvalue2", &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    let mut group = criterion.benchmark_group("bind");
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    for mut op in workload.ops.into_iter().filter(|op| op.block.starts_with("main")) {
        for random_text in [true, false] {
            if !random_text {
                let text = format!("FixedValue('{}')", "x".repeat(100));
                op.bindings.insert("rw_value".to_owned(), Text::unplaced(text));
            }
            let plan = compile(&op, Form::Command).unwrap_or_else(|errors| panic!("{errors:?}")).plan;
            let name = format!("{}{}", op.name, if random_text { "" } else { ", constant text" });
            let mut context = Context::default();
            let mut bytes = Vec::new();
            let mut cycle = 0;
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    cycle += 1;
                    let bound = plan.body.bind(black_box(cycle), &mut context, &mut bytes);
                    assert!(bound.is_ok());
                    black_box(bytes.len())
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, bind);
criterion_main!(benches);
