//! A tag filter: it is read, or refused with what can be drawn; what is read selects, or says why it does not.

use indexmap::IndexMap;
use nbrs::span::{Source, Text};
use nbrs::workload::tags::TagFilter;
use nbrs::workload::{self, Workload};
use std::sync::{Arc, LazyLock};

static WORKLOAD: LazyLock<Workload> = LazyLock::new(|| {
    let text = "tags: {suite: kv}\nblocks: {schema: {ops: a}, main-read: {ops: {r: b, w: c}}}\n".to_owned();
    let source = Arc::new(Source { name: "f.yaml".to_owned(), text });
    workload::parse(source, &IndexMap::new()).expect("it loads")
});

pub fn check(text: String) {
    let filter = match TagFilter::parse(&Text::of_source("tags", text)) {
        Ok(filter) => filter,
        Err(error) => return drop(error.render(false)),
    };
    if let Err(error) = filter.select(&WORKLOAD) {
        let _ = error.render(false);
    }
}
