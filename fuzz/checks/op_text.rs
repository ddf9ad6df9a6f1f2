//! An op text: bind points, captures, JSON. It compiles for each kind of driver, or each error has a place; what
//! compiles binds, or says why it does not.

use indexmap::IndexMap;
use nbrs::functions::Context;
use nbrs::plan::{Form, compile};
use nbrs::span::Text;
use nbrs::workload::{Data, Node, OpTemplate};

pub fn check(text: String) {
    let stmt = Node { data: Data::Text(Text::of_source("op", text)), location: None };
    let recipes = [("n", "Identity()"), ("s", "ToString(); Prefix('\"')"), ("d", "Add(0.5)")];
    let op = OpTemplate {
        name: "b__o".to_owned(),
        block: "b".to_owned(),
        op: IndexMap::from([("stmt".to_owned(), stmt)]),
        bindings: recipes
            .map(|(name, recipe)| (name.to_owned(), Text::unplaced(recipe)))
            .into_iter()
            .collect(),
        ..OpTemplate::default()
    };
    for form in [Form::Command, Form::Text, Form::Fields] {
        match compile(&op, form) {
            Ok(compiled) => {
                for cycle in [0, 1, 12345] {
                    let _ = compiled.plan.body.bind(cycle, &mut Context::default(), &mut Vec::new());
                }
            }
            Err(errors) => {
                for error in errors {
                    assert!(error.location.is_some(), "{}", error.message);
                    let _ = error.render(false);
                }
            }
        }
    }
}
