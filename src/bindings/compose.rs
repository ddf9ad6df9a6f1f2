//! Chains the chosen functions into one function of the cycle number, and says where that cannot work.

use super::Stage;
use crate::functions::{Chain, Context, Type};
use crate::recipe::Recipe;
use crate::span::{Diagnostic, Text};
use crate::value::Value;

/// What an expression fails with that reads a variable which nothing has kept yet.
const UNKNOWN_VARIABLE: &str = "UnresolveablePropertyException";

/// One function out of all stages.
pub fn compose(stages: &[Stage], recipe: &Recipe, text: &Text) -> Result<Chain, Diagnostic> {
    let (Some(first), Some(call)) = (stages.first(), recipe.steps.first()) else {
        return Err(Diagnostic::error("the recipe is empty").at(text.location()));
    };
    let Some(mut chain) = Chain::of(&first.function) else {
        return Err(Diagnostic::error(format!(
            "`{}` takes {}, not the cycle number",
            first.name, first.input
        ))
        .at(text.locate(call.range.clone())));
    };
    let mut previous = first;
    // There is a stage more than there are calls where the first function takes no long.
    let added = stages.len() - recipe.steps.len().min(stages.len());
    for (position, stage) in stages.iter().enumerate().skip(1) {
        let range_of = |position: usize| recipe.steps.get(position).map_or(0..0, |call| call.range.clone());
        let range = range_of(position - added);
        let before = range_of((position - 1).saturating_sub(added));
        if !previous.may_precede(stage) {
            return Err(Diagnostic::error(format!(
                "`{}` takes {}, but `{}` gives {}",
                stage.name, stage.input, previous.name, previous.output
            ))
            .at(text.locate(range))
            .help(format!("put a conversion between them, such as `{}`", conversion(stage.input))));
        }
        if let Chain::Object(producer) = &chain {
            // The reference calls the chain so far once, with 1, to learn what it gives.
            let probe = producer.value(1, &mut Context::default());
            let reason = match probe {
                Ok(Value::Null) => Some("gives no value".to_owned()),
                Ok(_) => None,
                // Another binding may keep it, and come first.
                Err(error) if error.name == UNKNOWN_VARIABLE => None,
                Err(error) => Some(format!("fails: {error}")),
            };
            if let Some(reason) = reason {
                return Err(Diagnostic::error(format!("for cycle 1 `{}` {reason}", previous.name))
                    .at(text.locate(before)));
            }
        }
        chain = chain.then(previous.output, stage);
        previous = stage;
    }
    Ok(chain)
}

fn conversion(wanted: Type) -> &'static str {
    match wanted {
        Type::String | Type::CharSequence => "ToString()",
        Type::BoxedFloat => "ToFloat()",
        Type::BoxedInt => "ToInt()",
        _ => "Identity()",
    }
}
