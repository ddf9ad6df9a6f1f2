//! A workload file: template variables, YAML, normalising. It loads, or each error has a place and can be drawn.

use indexmap::IndexMap;
use nbrs::span::Source;
use nbrs::workload;
use std::sync::Arc;

pub fn check(text: String) {
    let params = IndexMap::from([("a".to_owned(), "<<b:1>>".to_owned())]);
    let source = Arc::new(Source { name: "f.yaml".to_owned(), text });
    let (workload, found) = workload::examine(source, &params);
    assert!(workload.is_some() || !found.is_empty());
    for one in found {
        assert!(one.location.is_some(), "{}", one.message);
        let _ = (one.one_line(), one.render(false));
    }
}
