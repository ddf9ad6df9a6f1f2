//! Chooses an overload for each call of a flow, as the reference does.
//!
//! For one call, every constructor of every overload that its arguments fit is a candidate, in the order of
//! the function's row, sorted by how well they fit. For a flow, neighbours narrow each other down from the
//! left: by equal types, by assignable types, by the reference's preference among types. Nothing here knows
//! a function by name.

use super::{Stage, compose};
use crate::functions::{self, Argument, Arguments, Constructor, FunctionRow, Match, Nested, Overload, Type};
use crate::recipe::{self, ArgumentValue, Call, Recipe};
use crate::span::{Diagnostic, Text, nearest};

/// The most candidates that one call may have: nested calls multiply them.
const MOST_CANDIDATES: usize = 4096;

/// Whose rules a recipe is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// The reference's, to the letter: every candidate must be buildable, or the recipe is refused.
    Reference,
    /// For recipes that the reference refuses: candidates that cannot be built are passed over, forms that
    /// only we have are looked at too, and a first function that takes no long is given one as if
    /// `Identity()` stood before it.
    Ours,
}

/// The chosen function of each step, in order, and what should be said of the choice.
pub fn resolve(recipe: &Recipe, text: &Text) -> Result<(Vec<Stage>, Vec<Diagnostic>), Diagnostic> {
    // Names first: the whole recipe is looked at before arguments are, files read or images made.
    let mut unknown = Vec::new();
    for call in &recipe.steps {
        check_names(call, text)?;
        check_nested_names(call, text, &mut unknown)?;
    }
    let works = |stages: &Vec<Stage>| stages.windows(2).all(|pair| pair[0].may_precede(&pair[1]));
    let mut misfits = Vec::new();
    let ours = || attempt(recipe, text, Rules::Ours, &mut Vec::new());
    match attempt(recipe, text, Rules::Reference, &mut misfits) {
        // What fails at each cycle in the reference may do better by our own forms.
        Ok(stages) if !works(&stages) => match ours() {
            Ok(ours) if works(&ours) => Ok((ours, Vec::new())),
            _ => Ok((stages, Vec::new())),
        },
        Ok(stages) => Ok((stages, unknown.into_iter().chain(misfits).map(without_arguments).collect())),
        // The unknown name is why nothing fits.
        Err(_) if !unknown.is_empty() => Err(unknown.swap_remove(0)),
        Err(refusal) => match ours() {
            Ok(stages) => Ok((stages, Vec::new())),
            // A nested call that means nothing is the reason, not what the call around it is without it.
            Err(_) => Err(if misfits.is_empty() { refusal } else { misfits.swap_remove(0) }),
        },
    }
}

/// What the reference makes of an unknown function among arguments, said of a recipe that works all the same.
fn without_arguments(error: Diagnostic) -> Diagnostic {
    let mut notice = Diagnostic::warning(format!(
        "{}, so the call that it is an argument of is made without any arguments, as NoSQLBench does",
        error.message
    ));
    notice.location = error.location;
    notice.help = error.help;
    notice
}

fn attempt(
    recipe: &Recipe,
    text: &Text,
    rules: Rules,
    misfits: &mut Vec<Diagnostic>,
) -> Result<Vec<Stage>, Diagnostic> {
    let mut steps = Vec::with_capacity(recipe.steps.len());
    for call in &recipe.steps {
        let candidates = candidates(call, text, rules, misfits)?;
        if candidates.is_empty() {
            return Err(nothing_fits(call, text));
        }
        steps.push(candidates);
    }
    let Some(first) = steps.first_mut() else {
        return Err(Diagnostic::error("the recipe is empty").at(text.location()));
    };
    let takes_a_long = |stage: &Stage| Type::Long.is_assignable(stage.input, true);
    if first.iter().any(|candidate| candidate.input == Type::Long) {
        first.retain(|candidate| candidate.input == Type::Long);
    } else if rules == Rules::Ours && first.iter().any(takes_a_long) {
        first.retain(takes_a_long);
        steps.insert(0, vec![Stage::identity()]);
    } else {
        let inputs: Vec<String> = unique(first.iter().map(|candidate| candidate.input.to_string()));
        let call = &recipe.steps[0];
        return Err(Diagnostic::error(format!(
            "`{}` cannot come first: it takes {}, and the first function is given the cycle number, a long",
            call.name.text,
            inputs.join(" or ")
        ))
        .at(text.locate(call.range.clone()))
        .help("put a function between that makes one of a long, such as `ToString();`"));
    }
    narrow(&mut steps);
    Ok(steps.into_iter().filter_map(|candidates| candidates.into_iter().next()).collect())
}

/// What to say of a name that no function here has: why it is refused, or what might be meant.
pub fn no_function(name: &str) -> Diagnostic {
    let simple = name.rsplit('.').next().unwrap_or(name);
    if let Some(why) = functions::why_refused(simple) {
        return Diagnostic::error(format!(
            "the function `{simple}` of NoSQLBench is not part of nbrs: {why}"
        ));
    }
    let error = Diagnostic::error(format!("there is no function `{name}`"));
    match functions::synonym(simple) {
        Some(meant) => error.help(format!("did you mean `{meant}`?")),
        None => {
            error.suggest(simple, functions::all().map(|row| row.name), "`nbrs --list-functions` shows all")
        }
    }
}

/// Refuses names that no function has, here or in a nested call, and type names likewise.
fn check_names(call: &Call, text: &Text) -> Result<(), Diagnostic> {
    let name = &call.name.text;
    let located = |diagnostic: Diagnostic| diagnostic.at(text.locate(call.name.range.clone()));
    match functions::find(name) {
        Some(row) => {
            if !row.overloads.iter().any(|overload| overload.is_called(row.name, name)) {
                let packages: Vec<String> = row
                    .overloads
                    .iter()
                    .map(|overload| format!("{}.{}", overload.package.trim_start_matches('@'), row.name))
                    .collect();
                return Err(located(Diagnostic::error(format!("no function is called `{name}`")))
                    .help(format!("`{}` exists as {}", row.name, packages.join(", "))));
            }
        }
        None => return Err(located(no_function(name))),
    }
    for qualifier in [&call.input, &call.output].into_iter().flatten() {
        if Type::named(&qualifier.text).is_none() {
            let near = nearest(&qualifier.text, Type::NAMES);
            let known = if near.is_empty() { Type::NAMES.to_vec() } else { near };
            return Err(Diagnostic::error(format!("`{}` is no type", qualifier.text))
                .at(text.locate(qualifier.range.clone()))
                .help(format!(
                    "write one of {}; functions are joined by `;`, not by `->`",
                    known.join(", ")
                )));
        }
    }
    Ok(())
}

/// Looks at the names in nested calls. One that nobody has is kept in `unknown`: whether it matters depends on
/// the function that it is an argument of.
fn check_nested_names(call: &Call, text: &Text, unknown: &mut Vec<Diagnostic>) -> Result<(), Diagnostic> {
    for argument in &call.arguments {
        match &argument.value {
            ArgumentValue::Flow(flow) => {
                for step in &flow.steps {
                    check_names(step, text)?;
                    let mut unknown = Vec::new();
                    check_nested_names(step, text, &mut unknown)?;
                    if !unknown.is_empty() {
                        return Err(unknown.swap_remove(0));
                    }
                }
            }
            ArgumentValue::Call(nested) => {
                let simple = nested.name.text.rsplit('.').next().unwrap_or(&nested.name.text);
                match check_names(nested, text) {
                    Err(error)
                        if functions::find(&nested.name.text).is_none()
                            && functions::why_refused(simple).is_none() =>
                    {
                        unknown.push(error);
                    }
                    checked => checked?,
                }
                check_nested_names(nested, text, unknown)?;
            }
            ArgumentValue::Variable(name) => {
                return Err(Diagnostic::error(format!("`${name}`: no function takes a variable"))
                    .at(text.locate(argument.range.clone()))
                    .help(
                        "write the value itself, or `TEMPLATE(name,default)` for one from the command line",
                    ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Everything that a call could mean, the likeliest first, built.
fn candidates(
    call: &Call,
    text: &Text,
    rules: Rules,
    misfits: &mut Vec<Diagnostic>,
) -> Result<Vec<Stage>, Diagnostic> {
    let Some(row) = functions::find(&call.name.text) else { return Ok(Vec::new()) };
    let input = call.input.as_ref().and_then(|name| Type::named(&name.text));
    let output = call.output.as_ref().and_then(|name| Type::named(&name.text));
    let mut found = Vec::new();
    let mut refusal = None;
    for arguments in combinations(call, text, rules, misfits)? {
        let mut fitting: Vec<(Match, &Overload, &Constructor)> = Vec::new();
        for overload in row.overloads {
            if !overload.is_called(row.name, &call.name.text)
                || overload.ours && !row.ours && rules == Rules::Reference
                || input.is_some_and(|wanted| !wanted.is_a(overload.input))
                || output.is_some_and(|wanted| !overload.output.is_a(wanted))
            {
                continue;
            }
            for constructor in overload.constructors {
                if constructor.closed && rules == Rules::Ours {
                    continue;
                }
                if let Some(rank) = rank(constructor, &arguments) {
                    fitting.push((rank, overload, constructor));
                }
            }
        }
        fitting.sort_by_key(|(rank, ..)| *rank);
        if input.is_some() && output.is_some() && fitting.len() > 1 && rules == Rules::Reference {
            return Err(Diagnostic::error(format!(
                "`{}` fits {} forms of the function between these types",
                row.name,
                fitting.len()
            ))
            .at(text.locate(call.range.clone()))
            .help("leave one of the types out, or write the arguments in their own types (`5L`, `5d`)"));
        }
        for (_, overload, constructor) in fitting {
            match build(row, overload, constructor, &arguments, call, text) {
                Ok(stage) => found.push(stage),
                Err(error) if rules == Rules::Reference => return Err(error),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
    }
    match refusal {
        Some(refusal) if found.is_empty() => Err(refusal),
        _ => Ok(found),
    }
}

/// How well the arguments fit a constructor: as the worst of them does.
fn rank(constructor: &Constructor, arguments: &[Argument]) -> Option<Match> {
    let fixed = constructor.parameters.len();
    let mut worst = Match::Direct;
    match constructor.rest {
        None if arguments.len() != fixed => return None,
        Some(_) if arguments.len() < fixed => return None,
        _ => {}
    }
    for (argument, parameter) in arguments.iter().zip(constructor.parameters) {
        worst = worst.max(argument.fits(*parameter)?);
    }
    if let (Some(rest), Some(first)) = (constructor.rest, arguments.get(fixed)) {
        // Only the first of the rest decides; the others must be right, or building fails.
        first.fits(rest)?;
        worst = Match::Rest;
    }
    Some(worst)
}

fn build(
    row: &'static FunctionRow,
    overload: &Overload,
    constructor: &Constructor,
    arguments: &[Argument],
    call: &Call,
    text: &Text,
) -> Result<Stage, Diagnostic> {
    let place = |position: usize| {
        call.arguments.get(position).map_or(call.range.clone(), |argument| argument.range.clone())
    };
    if constructor.closed {
        return Err(Diagnostic::error(format!(
            "`{}` with these arguments is closed to recipes in NoSQLBench, which fails at it",
            row.name
        ))
        .at(text.locate(call.range.clone())));
    }
    if let Some(rest) = constructor.rest {
        for (position, argument) in arguments.iter().enumerate().skip(constructor.parameters.len()) {
            if argument.fits(rest).is_none() {
                return Err(Diagnostic::error(format!(
                    "`{}`: argument {} is {}, but must be {rest}",
                    row.name,
                    position + 1,
                    argument.kind()
                ))
                .at(text.locate(place(position))));
            }
        }
    }
    let function = (overload.build)(&Arguments(arguments)).map_err(|refusal| {
        let range = refusal.argument.map_or(call.range.clone(), place);
        let error = Diagnostic::error(format!("`{}`: {}", row.name, refusal.message)).at(text.locate(range));
        match refusal.help {
            Some(help) => error.help(help),
            None => error,
        }
    })?;
    let chosen = Nested { name: row.name, input: overload.input, output: overload.output, function };
    let mut stage = Stage { chosen, pure: row.pure, reads_acknowledged: row.reads_acknowledged };
    note_nested(call, &mut stage);
    Ok(stage)
}

/// What the functions within a call's arguments do is done by the call.
fn note_nested(call: &Call, stage: &mut Stage) {
    for argument in &call.arguments {
        let calls = match &argument.value {
            ArgumentValue::Call(nested) => std::slice::from_ref(nested),
            ArgumentValue::Flow(flow) => &flow.steps,
            _ => continue,
        };
        for nested in calls {
            let row = functions::find(&nested.name.text);
            stage.pure &= row.is_some_and(|row| row.pure);
            stage.reads_acknowledged |= row.is_some_and(|row| row.reads_acknowledged);
            note_nested(nested, stage);
        }
    }
}

/// Every choice of a candidate for each nested call; the first argument varies slowest.
///
/// Where a nested call has no meaning, the reference goes on as if there were no arguments at all; what is wrong
/// with the call is kept in `misfits`.
fn combinations(
    call: &Call,
    text: &Text,
    rules: Rules,
    misfits: &mut Vec<Diagnostic>,
) -> Result<Vec<Vec<Argument>>, Diagnostic> {
    let mut all: Vec<Vec<Argument>> = vec![Vec::new()];
    for argument in &call.arguments {
        let choices = choices(argument, text, rules, misfits)?;
        if choices.is_empty() {
            return Ok(vec![Vec::new()]);
        }
        if all.len() * choices.len() > MOST_CANDIDATES {
            return Err(Diagnostic::error(format!(
                "`{}` has too many possible meanings to choose from",
                call.name.text
            ))
            .at(text.locate(call.range.clone()))
            .help("qualify the nested functions, for instance `long->Hash()->long`"));
        }
        all = all
            .iter()
            .flat_map(|chosen| {
                choices.iter().map(move |choice| chosen.iter().cloned().chain([choice.clone()]).collect())
            })
            .collect();
    }
    Ok(all)
}

fn choices(
    argument: &recipe::Argument,
    text: &Text,
    rules: Rules,
    misfits: &mut Vec<Diagnostic>,
) -> Result<Vec<Argument>, Diagnostic> {
    Ok(match &argument.value {
        ArgumentValue::Int(value) => vec![Argument::Int(*value)],
        ArgumentValue::Long(value) => vec![Argument::Long(*value)],
        ArgumentValue::Float(value) => vec![Argument::Float(*value)],
        ArgumentValue::Double(value) => vec![Argument::Double(*value)],
        ArgumentValue::Bool(value) => vec![Argument::Bool(*value)],
        ArgumentValue::Text(value) => vec![Argument::Text(value.clone())],
        ArgumentValue::Null => vec![Argument::Null],
        ArgumentValue::Variable(_) => Vec::new(),
        ArgumentValue::Flow(flow) => {
            // Chosen as a flow of its own, not by its first function alone.
            let stages = attempt(flow, text, rules, misfits)?;
            let output = stages.last().map_or(Type::Object, |stage| stage.output);
            let function = compose::compose(&stages, flow, text)?.into_function();
            vec![Argument::Function(Nested { name: "Flow", input: Type::Long, output, function })]
        }
        ArgumentValue::Call(nested) => {
            let candidates = candidates(nested, text, rules, misfits)?;
            if candidates.is_empty() && functions::find(&nested.name.text).is_some() {
                let misfit = nothing_fits(nested, text);
                if rules == Rules::Ours {
                    return Err(misfit);
                }
                misfits.push(misfit);
            }
            candidates.into_iter().map(|stage| Argument::Function(stage.chosen)).collect()
        }
    })
}

/// The error for a call that no overload accepts: its forms are listed.
fn nothing_fits(call: &Call, text: &Text) -> Diagnostic {
    let kinds: Vec<&str> = call
        .arguments
        .iter()
        .map(|argument| match &argument.value {
            ArgumentValue::Int(_) => "int",
            ArgumentValue::Long(_) => "long",
            ArgumentValue::Float(_) => "float",
            ArgumentValue::Double(_) => "double",
            ArgumentValue::Bool(_) => "boolean",
            ArgumentValue::Null => "null",
            ArgumentValue::Text(_) => "String",
            ArgumentValue::Call(_) | ArgumentValue::Flow(_) => "function",
            ArgumentValue::Variable(_) => "variable",
        })
        .collect();
    let mut message = format!("`{}({})` fits no form of the function", call.name.text, kinds.join(", "));
    if let Some(input) = &call.input {
        message.push_str(&format!(" that takes {}", input.text));
    }
    if let Some(output) = &call.output {
        message.push_str(&format!(" that gives {}", output.text));
    }
    let forms = functions::find(&call.name.text).map(|row| {
        unique(row.overloads.iter().flat_map(|overload| {
            overload.constructors.iter().map(|constructor| {
                let mut parameters: Vec<String> =
                    constructor.parameters.iter().map(Type::to_string).collect();
                parameters.extend(constructor.rest.map(|rest| format!("{rest}…")));
                format!(
                    "{}({}) from {} to {}",
                    row.name,
                    parameters.join(", "),
                    overload.input,
                    overload.output
                )
            })
        }))
    });
    let error = Diagnostic::error(message).at(text.locate(call.range.clone()));
    match forms {
        Some(forms) => error.help(format!("its forms are {}", forms.join("; "))),
        None => error,
    }
}

fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// Leaves one candidate for each step. Pairs are looked at from the left, and each rule that removes
/// something starts the pair again from the first rule; what stands left of a pair is decided by then.
fn narrow(steps: &mut [Vec<Stage>]) {
    if let [only] = steps {
        prefer(only);
        return;
    }
    for next in 1..steps.len() {
        let (before, from) = steps.split_at_mut(next);
        let (Some(producers), Some(consumers)) = (before.last_mut(), from.first_mut()) else { continue };
        while producers.len() > 1 || consumers.len() > 1 {
            let outputs: Vec<Type> = producers.iter().map(|producer| producer.output).collect();
            let removed = keep(consumers, |input| outputs.contains(&input))
                || keep(consumers, |input| outputs.iter().any(|output| output.is_assignable(input, false)))
                || keep(consumers, |input| outputs.iter().any(|output| output.is_assignable(input, true)));
            if !removed {
                if producers.len() > 1 {
                    prefer(producers);
                } else {
                    prefer(consumers);
                }
            }
        }
    }
}

/// Keeps the consumers whose input passes, unless none would be left; whether any went.
fn keep(consumers: &mut Vec<Stage>, passes: impl Fn(Type) -> bool) -> bool {
    let passing = consumers.iter().filter(|consumer| passes(consumer.input)).count();
    if passing == 0 || passing == consumers.len() {
        return false;
    }
    consumers.retain(|consumer| passes(consumer.input));
    true
}

/// Keeps the first of those whose input, and then whose output, the reference prefers most.
fn prefer(candidates: &mut Vec<Stage>) {
    candidates.sort_by_key(|candidate| (candidate.input.preference(), candidate.output.preference()));
    candidates.truncate(1);
}
