//! Named scenarios → the commands that their steps stand for, with the user's parameters worked in.

use super::tags::{later_dialect, unset_variable};
use super::template::{comes_from, is_given, is_given_by, unset_in};
use super::{Data, Node, Scenario, Step, Workload};
use crate::span::{Diagnostic, Location, Text, nearest};
use crate::units;
use indexmap::IndexMap;
use std::time::Duration;

/// The scenario that runs when none is named.
const DEFAULT: &str = "default";

/// Words that begin a command.
pub const VERBS: &[&str] = &["run", "start", "await", "stop", "forceStop", "waitmillis", "wait"];

/// Verbs of the reference that are not built.
const OTHER_VERBS: &[&str] =
    &["script", "fragment", "activity", "scenario", "java", "container", "getenv", "runapp"];

/// The parameter names that activities and drivers have.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary<'a> {
    pub known: &'a [&'a str],
    /// The name of what may have several (`rate` is `cyclerate`).
    pub canonical: fn(&str) -> &str,
}

impl<'a> From<&'a [&'a str]> for Vocabulary<'a> {
    fn from(known: &'a [&'a str]) -> Vocabulary<'a> {
        Vocabulary { known, canonical: |name| name }
    }
}

/// One command of a step, with the user's parameters worked in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlannedStep {
    pub scenario: String,
    pub step: String,
    /// One of [`VERBS`].
    pub verb: String,
    /// The alias of the activity that is run, or that is awaited or stopped.
    pub alias: String,
    /// The number of `waitmillis`.
    pub argument: Option<String>,
    /// Of `run`, `start` and `wait` only; with `workload`, without `alias`.
    pub params: IndexMap<String, String>,
    /// The values among `params` that stand in the step, with their places.
    pub written: IndexMap<String, Text>,
    /// Where the alias or time of what is no activity stands, or else the verb.
    pub place: Option<Location>,
    /// It runs another workload than the one that it is a step of.
    pub runs_other: bool,
}

/// What a scenario command comes to.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    pub steps: Vec<PlannedStep>,
    /// What the user should know: a parameter that overrides several steps, one that a step has locked.
    pub notices: Vec<Diagnostic>,
}

/// Works out `WORKLOAD [name…] [k=v…]`. `typed` is the workload as the user wrote it, `names` are scenarios or
/// `scenario.step` (none: `default`).
///
/// # Errors
/// An unknown scenario, step, or parameter; a step that is no command; a locked parameter; a template variable
/// with neither value nor default.
pub fn plan<'a>(
    workload: &Workload,
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
    vocabulary: impl Into<Vocabulary<'a>>,
) -> Result<Plan, Vec<Diagnostic>> {
    let (plan, errors) = examine(workload, typed, names, user, vocabulary);
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// As [`plan`], but gives what could be worked out beside what could not.
pub fn examine<'a>(
    workload: &Workload,
    typed: &str,
    names: &[String],
    user: &IndexMap<String, String>,
    vocabulary: impl Into<Vocabulary<'a>>,
) -> (Plan, Vec<Diagnostic>) {
    let vocabulary = vocabulary.into();
    let user = user.iter().map(|(name, value)| (canonical(name, workload, vocabulary), value.clone()));
    let mut planner = Planner {
        workload,
        typed,
        user: &user.collect(),
        vocabulary,
        other_workload: false,
        steps: Vec::new(),
        overridden: IndexMap::new(),
        locked: IndexMap::new(),
        chosen: Vec::new(),
        errors: Vec::new(),
        notices: Vec::new(),
    };
    let default = [DEFAULT.to_owned()];
    for name in if names.is_empty() { &default[..] } else { names } {
        match find(workload, name) {
            Ok((scenario, steps)) => {
                for step in steps {
                    planner.chosen.push(step);
                    planner.step(&scenario.name, step);
                }
            }
            Err(error) => planner.errors.push(error),
        }
    }
    planner.finish()
}

/// The one name of a parameter, unless the workload has a template variable that is called like another.
fn canonical(name: &str, workload: &Workload, vocabulary: Vocabulary<'_>) -> String {
    let is_variable = workload.variables.iter().any(|variable| variable.name == name);
    if is_variable { name.to_owned() } else { (vocabulary.canonical)(name).to_owned() }
}

/// The scenario (and the one step of it, or all) that `name` stands for.
fn find<'w>(workload: &'w Workload, name: &str) -> Result<(&'w Scenario, Vec<&'w Step>), Diagnostic> {
    let by_name = |name: &str| workload.scenarios.iter().find(|scenario| scenario.name == name);
    if let Some(scenario) = by_name(name) {
        return Ok((scenario, scenario.steps.iter().collect()));
    }
    let path = &workload.path;
    if workload.scenarios.is_empty() {
        return Err(Diagnostic::error(format!("workload `{path}` has no scenarios"))
            .help(format!("run its ops with `nbrs run workload={path} tags=…`")));
    }
    let dotted = name.split_once('.').and_then(|(scenario, step)| Some((by_name(scenario)?, step)));
    if let Some((scenario, step)) = dotted {
        // Steps of a list are called 000, 001, …
        let padded = step.parse::<u32>().map_or(step.to_owned(), |number| format!("{number:03}"));
        let found = scenario.steps.iter().find(|s| s.name == padded || s.name == step);
        let names: Vec<String> =
            scenario.steps.iter().map(|s| format!("{}.{}", scenario.name, s.name)).collect();
        return match found {
            Some(step) => Ok((scenario, vec![step])),
            None => Err(choose(
                Diagnostic::error(format!("workload `{path}` has no step `{name}`")),
                name,
                &names.iter().map(String::as_str).collect::<Vec<_>>(),
            )),
        };
    }
    let names: Vec<&str> = workload.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    Err(choose(Diagnostic::error(format!("workload `{path}` has no scenario `{name}`")), name, &names))
}

fn choose(error: Diagnostic, wanted: &str, names: &[&str]) -> Diagnostic {
    let there = format!("there are {}", names.join(", "));
    match nearest(wanted, names.iter().copied()).first() {
        Some(near) => error.help(format!("did you mean `{near}`? {there}")),
        None => error.help(there),
    }
}

struct Planner<'a> {
    workload: &'a Workload,
    typed: &'a str,
    user: &'a IndexMap<String, String>,
    vocabulary: Vocabulary<'a>,
    /// A step runs a workload of its own, whose template variables are not known here.
    other_workload: bool,
    steps: Vec<PlannedStep>,
    /// User parameter → steps in which it took the place of a value.
    overridden: IndexMap<String, Vec<String>>,
    /// User parameter → steps that keep their own value.
    locked: IndexMap<String, Vec<String>>,
    /// The steps that were asked for.
    chosen: Vec<&'a Step>,
    errors: Vec<Diagnostic>,
    notices: Vec<Diagnostic>,
}

/// One piece of a step: a word, or `name OPERATOR value`.
struct Piece {
    name: Text,
    /// How many `=`, and what follows them.
    assigned: Option<(usize, Text)>,
}

impl Planner<'_> {
    fn step(&mut self, scenario: &str, step: &Step) {
        if let Err(error) = self.commands(scenario, step) {
            self.errors.push(error);
        }
    }

    fn commands(&mut self, scenario: &str, step: &Step) -> Result<(), Diagnostic> {
        self.refuse_unset(scenario, step)?;
        let mut pieces = pieces(&step.command)?.into_iter().peekable();
        if pieces.peek().is_none() {
            return Err(Diagnostic::error(format!("step `{}` of scenario `{scenario}` is empty", step.name))
                .at(step.location.clone())
                .help("write it as `run driver=… tags=… cycles=…`"));
        }
        while let Some(piece) = pieces.next() {
            let verb = verb(&piece)?;
            match verb {
                "run" | "start" => {
                    let mut given = Vec::new();
                    while let Some(piece) = pieces.next_if(|piece| piece.assigned.is_some()) {
                        given.push(piece);
                    }
                    self.activity(scenario, step, (verb, piece.name.location()), given)?;
                }
                "wait" => {
                    let mut params = IndexMap::new();
                    while let Some(piece) = pieces.next_if(|piece| piece.assigned.is_some()) {
                        let value = piece.assigned.map(|(_, value)| value).unwrap_or_default();
                        let one =
                            IndexMap::from([(piece.name.as_str().to_owned(), value.as_str().to_owned())]);
                        pause(&one).map_err(|error| error.at(piece.name.location()))?;
                        params.extend(one);
                    }
                    pause(&params).map_err(|error| error.at(piece.name.location()))?;
                    self.steps.push(PlannedStep {
                        scenario: scenario.to_owned(),
                        step: step.name.clone(),
                        verb: verb.to_owned(),
                        alias: step.name.clone(),
                        params,
                        place: piece.name.location(),
                        ..PlannedStep::default()
                    });
                }
                _ => {
                    let named = pieces.next_if(|piece| {
                        piece.assigned.is_none() || (verb == "await" && piece.name.as_str() == "activity")
                    });
                    let argument = named.map(|piece| match piece.assigned {
                        Some((_, alias)) => Piece { name: alias, assigned: None },
                        None => piece,
                    });
                    if let Some(limit) = pieces.next_if(|piece| verb == "await" && piece.assigned.is_some()) {
                        let name = &limit.name;
                        return Err(Diagnostic::error(format!(
                            "`await` takes an alias only, not `{name}=…`"
                        ))
                        .at(name.location())
                        .help("how long an activity may take is its own `duration=`"));
                    }
                    let argument = argument.ok_or_else(|| {
                        let what = if verb == "waitmillis" { "a number of milliseconds" } else { "an alias" };
                        Diagnostic::error(format!("`{verb}` needs {what}")).at(piece.name.location()).help(
                            format!("write `{verb} {}`", if verb == "waitmillis" { "500" } else { "ALIAS" }),
                        )
                    })?;
                    let argument_text = argument.name.as_str().to_owned();
                    let waits = verb == "waitmillis";
                    if waits && argument_text.parse::<u64>().is_err() {
                        return Err(Diagnostic::error(format!(
                            "`{argument_text}` is not a number of milliseconds"
                        ))
                        .at(argument.name.location()));
                    }
                    self.steps.push(PlannedStep {
                        scenario: scenario.to_owned(),
                        step: step.name.clone(),
                        verb: verb.to_owned(),
                        alias: if waits { step.name.clone() } else { argument_text.clone() },
                        argument: waits.then_some(argument_text),
                        place: argument.name.location(),
                        ..PlannedStep::default()
                    });
                }
            }
        }
        Ok(())
    }

    fn refuse_unset(&self, scenario: &str, step: &Step) -> Result<(), Diagnostic> {
        if let Some((range, unset)) = unset_in(&step.command, &self.workload.unset) {
            let name = &unset.name;
            let user = format!("step `{}` of scenario `{scenario}`", step.name);
            return Err(unset_variable(name, &user).at(step.command.locate(range)));
        }
        later_dialect(&step.command).map_or(Ok(()), Err)
    }

    /// `run` or `start` with the step's parameters and then the user's.
    fn activity(
        &mut self,
        scenario: &str,
        step: &Step,
        (verb, place): (&str, Option<Location>),
        given: Vec<Piece>,
    ) -> Result<(), Diagnostic> {
        let mut params: IndexMap<String, String> = IndexMap::new();
        let mut written: IndexMap<String, Text> = IndexMap::new();
        let mut all_known = true;
        let runs_other = self.runs_other(&given);
        self.other_workload |= runs_other;
        for piece in given {
            let Some((operator, value)) = piece.assigned else { continue };
            let name = (self.vocabulary.canonical)(piece.name.as_str());
            if params.contains_key(name) {
                return Err(Diagnostic::error(format!("`{name}` is given twice in step `{}`", step.name))
                    .at(piece.name.location()));
            }
            let own = value.as_str().to_owned();
            // What is left out need not exist.
            // Which names another workload has is known where it is read.
            if !is_undefined(&own) && !runs_other && !self.check_name(&piece.name) {
                all_known = false;
                continue;
            }
            let kept = match (self.user.get(name), operator) {
                (None, _) => own,
                // The user's already, through a template variable.
                (Some(given), _) if *given == own && value.location().as_ref().is_some_and(is_given) => own,
                (Some(given), 1) => {
                    self.overridden.entry(name.to_owned()).or_default().push(step.name.clone());
                    params.insert(name.to_owned(), given.clone());
                    continue;
                }
                (Some(_), 2) => {
                    self.locked
                        .entry(name.to_owned())
                        .or_default()
                        .push(format!("{} ({name}={own})", step.name));
                    own
                }
                (Some(given), _) => {
                    return Err(Diagnostic::error(format!(
                        "step `{}` of scenario `{scenario}` has locked `{name}={own}`: it cannot be set to `{given}`",
                        step.name
                    ))
                    .at(piece.name.location())
                    .help(match variable_of(&value) {
                        Some(variable) => format!("set the template variable instead: `{variable}=…`"),
                        None => {
                            "`===` locks a value, `==` keeps it quietly, `=` lets it be overridden".to_owned()
                        }
                    }));
                }
            };
            params.insert(name.to_owned(), kept);
            written.insert(name.to_owned(), value);
        }
        if !all_known {
            return Ok(());
        }
        for (name, value) in self.user {
            params.entry(name.clone()).or_insert_with(|| value.clone());
        }
        params.retain(|_, value| !is_undefined(value));
        written.retain(|name, _| params.contains_key(name));
        if !["workload", "op"].iter().any(|name| params.contains_key(*name)) {
            params.insert("workload".to_owned(), self.typed.to_owned());
        }
        let alias_place = written.get("alias").and_then(Text::location);
        let alias = self.alias(params.shift_remove("alias"), alias_place, scenario, &step.name);
        self.steps.push(PlannedStep {
            scenario: scenario.to_owned(),
            step: step.name.clone(),
            verb: verb.to_owned(),
            alias,
            argument: None,
            params,
            written,
            place,
            runs_other,
        });
        Ok(())
    }

    /// Whether an activity with the parameters `given` runs another workload.
    fn runs_other(&self, given: &[Piece]) -> bool {
        let named = |piece: &&Piece| (self.vocabulary.canonical)(piece.name.as_str()) == "workload";
        let written = given.iter().find(named).and_then(|piece| piece.assigned.as_ref());
        let user = self.user.get("workload").map(String::as_str);
        let named = match written {
            Some((1, value)) => user.or(Some(value.as_str())),
            Some((_, value)) => Some(value.as_str()),
            None => user,
        };
        named.is_some_and(|named| !is_undefined(named) && named != self.typed)
    }

    /// A step's own parameters must exist too. Whether this one does.
    fn check_name(&mut self, name: &Text) -> bool {
        let known = self.is_known(name.as_str());
        if !known {
            let error = Diagnostic::error(format!("there is no parameter `{name}`")).at(name.location());
            self.errors.push(error.suggest(name.as_str(), self.vocabulary.known.iter().copied(), ""));
        }
        known
    }

    fn is_known(&self, name: &str) -> bool {
        self.vocabulary.known.contains(&name)
            || self.workload.variables.iter().any(|variable| variable.name == name)
    }

    fn alias(
        &mut self,
        template: Option<String>,
        place: Option<Location>,
        scenario: &str,
        step: &str,
    ) -> String {
        let Some(template) = template else { return sanitised(step) };
        if !template.contains("STEP") && !self.notices.iter().any(|notice| notice.message.contains(&template))
        {
            self.notices.push(
                Diagnostic::warning(format!("alias `{template}` does not contain STEP: steps may share it"))
                    .at(place)
                    .help("write `alias=WORKLOAD_SCENARIO_STEP`"),
            );
        }
        let file = self.typed.rsplit(['/', '\\']).next().unwrap_or(self.typed);
        template
            .replace("WORKLOAD", &sanitised(file))
            .replace("SCENARIO", &sanitised(scenario))
            .replace("STEP", &sanitised(step))
    }

    /// The step that uses the template variable `name` where none that was asked for does, nor anything but steps.
    fn used_elsewhere(&self, name: &str) -> Option<String> {
        let value = self.user.get(name).filter(|value| !value.is_empty())?;
        let workload = self.workload;
        let recipes = workload.ops.iter().flat_map(|op| op.bindings.values());
        let in_ops = workload.ops.iter().any(|op| {
            let named = [&op.name, &op.block].into_iter().chain(op.tags.values());
            op.op.values().chain(op.params.values()).any(|node| node_from(node, name))
                || named.into_iter().any(|text| text.contains(value.as_str()))
        });
        let chosen = self.chosen.iter().any(|step| comes_from(&step.command, name));
        if chosen
            || in_ops
            || recipes.chain(workload.document_bindings.values()).any(|recipe| comes_from(recipe, name))
        {
            return None;
        }
        workload.scenarios.iter().find_map(|scenario| {
            let step = scenario.steps.iter().find(|step| comes_from(&step.command, name))?;
            Some(format!("{}.{}", scenario.name, step.name))
        })
    }

    fn finish(mut self) -> (Plan, Vec<Diagnostic>) {
        if !self.other_workload && !self.steps.is_empty() {
            let variables = self.workload.variables.iter().map(|variable| variable.name.as_str());
            let names: Vec<&str> = self.vocabulary.known.iter().copied().chain(variables).collect();
            let unknown = self.user.keys().filter(|name| !self.is_known(name)).map(|name| {
                Diagnostic::error(format!(
                    "no step uses `{name}`: it is neither a parameter nor a template variable of `{}`",
                    self.workload.path
                ))
                .suggest(name, names.iter().copied(), "")
            });
            let idle = self.user.keys().filter(|name| !self.vocabulary.known.contains(&name.as_str()));
            let idle = idle.filter_map(|name| {
                let step = self.used_elsewhere(name)?;
                Some(
                    Diagnostic::error(format!("no step uses `{name}` of those that run"))
                        .help(format!("it is a template variable of step `{step}`")),
                )
            });
            self.errors.extend(unknown.chain(idle).collect::<Vec<_>>());
        }
        for name in self.user.keys() {
            let own = self.overridden.get(name).map(|steps| steps.join(", "));
            let several = self.overridden.get(name).is_some_and(|steps| steps.len() > 1);
            let kept = self.locked.get(name).map(|steps| steps.join(", "));
            let value = &self.user[name];
            if let (Some(steps), true) = (own, several) {
                let count = self.overridden[name].len();
                self.notices.push(
                    Diagnostic::warning(format!("`{name}={value}` overrides {count} steps: {steps}"))
                        .help(format!("use `{name}==…` in a step to keep its own")),
                );
            }
            if let Some(steps) = kept {
                self.notices.push(Diagnostic::warning(format!(
                    "`{name}={value}` does not count where a step keeps its own (`==`): {steps}"
                )));
            }
        }
        (Plan { steps: self.steps, notices: self.notices }, self.errors)
    }
}

/// Whether something in `node` was put there by the parameter `name`.
fn node_from(node: &Node, name: &str) -> bool {
    match &node.data {
        Data::Text(text) => comes_from(text, name),
        Data::List(items) => items.iter().any(|item| node_from(item, name)),
        Data::Map(entries) => {
            entries.iter().any(|(key, value)| comes_from(key, name) || node_from(value, name))
        }
        _ => node.location.as_ref().is_some_and(|location| is_given_by(location, name)),
    }
}

/// How long `wait` is to wait: the times of its parameters together.
///
/// # Errors
/// A parameter that is no time, or none at all.
pub fn pause(params: &IndexMap<String, String>) -> Result<Duration, Diagnostic> {
    let mut sum: Option<Duration> = None;
    for (name, value) in params {
        let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a whole number"));
        let time = match name.as_str() {
            "ms" | "millis" => number().map(Duration::from_millis),
            "us" | "µs" | "micros" => number().map(Duration::from_micros),
            "ns" | "nanos" => number().map(Duration::from_nanos),
            "unit" => units::duration(value).map_err(|error| error.to_string()),
            _ => Err("there are ms, us, ns and unit".to_owned()),
        };
        let time = time.map_err(|why| Diagnostic::error(format!("`wait {name}={value}`: {why}")))?;
        sum = Some(sum.unwrap_or_default().saturating_add(time));
    }
    sum.ok_or_else(|| Diagnostic::error("`wait` needs a time").help("write `wait ms=500`"))
}

/// The values that a step, right or wrong, gives the parameter `name`.
pub fn values_of(step: &Step, name: &str) -> Vec<String> {
    let words = words(&step.command).unwrap_or_default();
    let assigned = |word: &Word| {
        let value = word.text.as_str().strip_prefix(name)?.strip_prefix('=')?;
        Some(value.trim_start_matches('=').to_owned())
    };
    words.iter().filter_map(assigned).collect()
}

/// The value that leaves a parameter out.
fn is_undefined(value: &str) -> bool {
    value.eq_ignore_ascii_case("undef")
}

/// The template variable whose default `value` is, if it is one.
fn variable_of(value: &Text) -> Option<String> {
    let place = value.location()?;
    let before = place.source.text.get(..place.range.start)?.trim_end();
    let before = before.strip_suffix([',', ':'])?.trim_end();
    let name = before.rfind(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).map_or(0, |at| at + 1);
    let is_variable = ["TEMPLATE(", "<<", "${"].iter().any(|open| before[..name].trim_end().ends_with(open));
    (is_variable && name < before.len()).then(|| before[name..].to_owned())
}

/// A name as a part of an alias: without what follows the first point, `-` as `_`, letters and digits only.
fn sanitised(word: &str) -> String {
    let cut = word.find('.').filter(|at| at + 1 < word.len()).unwrap_or(word.len());
    word[..cut].replace('-', "_").chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn verb(piece: &Piece) -> Result<&'static str, Diagnostic> {
    let name = piece.name.as_str();
    let known = VERBS.iter().find(|verb| **verb == name && piece.assigned.is_none());
    known.copied().ok_or_else(|| {
        let at = piece.name.location();
        if piece.assigned.is_some() {
            return Diagnostic::error(format!("`{name}=…` stands before any command"))
                .at(at)
                .help(format!("a step begins with one of {}", VERBS.join(", ")));
        }
        if OTHER_VERBS.contains(&name) {
            return Diagnostic::error(format!("the command `{name}` is not supported"))
                .at(at)
                .help(format!("a step is made of {}", VERBS.join(", ")));
        }
        let otherwise = format!("a step is made of {}", VERBS.join(", "));
        Diagnostic::error(format!("`{name}` is not a command")).at(at).suggest(
            name,
            VERBS.iter().copied(),
            otherwise,
        )
    })
}

/// Reads a step: its words are split as a shell would, and a word with an `=` is a parameter.
fn pieces(command: &Text) -> Result<Vec<Piece>, Diagnostic> {
    let mut pieces: Vec<Piece> = Vec::new();
    for word in words(command)? {
        let piece = piece(&word.text)?;
        if let Some((_, value)) = &piece.assigned
            && value.is_empty()
            && !word.quoted
        {
            let name = &piece.name;
            return Err(Diagnostic::error(format!("`{name}=` has no value"))
                .at(name.location())
                .help(format!("write `{name}=…`, or `{name}=UNDEF` to leave it out")));
        }
        pieces.push(piece);
    }
    Ok(pieces)
}

fn piece(word: &Text) -> Result<Piece, Diagnostic> {
    let written = word.as_str();
    let name_end =
        written.find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).unwrap_or(written.len());
    let starts_well = written.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let rest = &written[name_end..];
    if !starts_well || !(rest.is_empty() || rest.starts_with('=')) {
        return Err(Diagnostic::error(format!("`{written}` is not a command or a parameter"))
            .at(word.location())
            .help(
                "a step is like `run driver=stdout tags=block:main cycles=100`; quote values with blanks",
            ));
    }
    let name = word.slice(0..name_end);
    if rest.is_empty() {
        return Ok(Piece { name, assigned: None });
    }
    let operator = rest.len() - rest.trim_start_matches('=').len();
    if operator > 3 {
        return Err(Diagnostic::error(format!("`{}` is not an operator", &rest[..operator]))
            .at(word.locate(name_end..name_end + operator))
            .help("`=` may be overridden, `==` keeps its value, `===` refuses another"));
    }
    let value = word.slice(name_end + operator..written.len());
    Ok(Piece { name, assigned: Some((operator, value)) })
}

/// A word of a step, without its quotes.
#[derive(Default)]
struct Word {
    text: Text,
    /// Quotes stood in it.
    quoted: bool,
}

/// Splits a step like a shell: on blanks and line ends outside quotes. In single quotes everything is plain; in
/// double quotes a backslash makes `"` and `\` plain; outside it does so for blanks and quotes too. Before any
/// other character it stays, so that patterns (`\d`) and `\n` need no quotes. What a parameter of the user puts
/// into a value is plain, whatever is in it.
fn words(command: &Text) -> Result<Vec<Word>, Diagnostic> {
    let written = command.as_str();
    let mut words: Vec<Word> = Vec::new();
    // The word being read, and whether an `=` stood in it outside of parameters' values.
    let mut word: Option<Word> = None;
    let mut in_value = false;
    let mut quote: Option<(char, usize)> = None;
    let mut characters = written.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let here = at..at + c.len_utf8();
        let given = command.locate(here.clone()).as_ref().is_some_and(is_given);
        let open = quote.map(|(open, _)| open);
        match c {
            _ if given && in_value => word.get_or_insert_default().text.push_slice(command, here),
            _ if open == Some(c) => quote = None,
            '\'' | '"' if open.is_none() => {
                quote = Some((c, at));
                word.get_or_insert_default().quoted = true;
            }
            '\\' if open != Some('\'') => {
                let escapes = |next: char| match open {
                    Some(_) => matches!(next, '"' | '\\'),
                    None => matches!(next, '"' | '\\' | '\'') || next.is_whitespace(),
                };
                let escaped = characters.next_if(|(_, next)| escapes(*next));
                let range = escaped.map_or(here, |(at, next)| at..at + next.len_utf8());
                word.get_or_insert_default().text.push_slice(command, range);
            }
            _ if c.is_whitespace() && open.is_none() => {
                words.extend(word.take());
                in_value = false;
            }
            _ => {
                in_value |= c == '=' && !given;
                word.get_or_insert_default().text.push_slice(command, here);
            }
        }
    }
    if let Some((open, at)) = quote {
        return Err(Diagnostic::error(format!("this {open} is never closed"))
            .at(command.locate(at..at + 1))
            .help(format!("close it, or write `\\{open}` for a plain one")));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::span::Source;
    use proptest::prelude::*;
    use std::sync::Arc;

    const KNOWN: &[&str] = &[
        "driver",
        "tags",
        "cycles",
        "threads",
        "errors",
        "alias",
        "workload",
        "op",
        "cyclerate",
        "k",
        "filter",
        "labels",
        "connection",
    ];

    fn user(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn planned(scenarios: &str, names: &[&str], pairs: &[(&str, &str)]) -> Result<Plan, String> {
        let text = format!("ops: {{op1: x}}\nscenarios:\n{scenarios}");
        let user = user(pairs);
        let source = Arc::new(Source { name: "dir/my-w.yaml".to_owned(), text });
        let lines =
            |errors: Vec<Diagnostic>| errors.iter().map(Diagnostic::one_line).collect::<Vec<_>>().join("\n");
        let workload = parse(source, &user).map_err(lines)?;
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        plan(&workload, "dir/my-w", &names, &user, KNOWN).map_err(lines)
    }

    fn shown(plan: &Plan) -> Vec<String> {
        plan.steps
            .iter()
            .map(|step| {
                let params: Vec<String> = step.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
                format!("{}.{} {} {} [{}]", step.scenario, step.step, step.verb, step.alias, params.join(" "))
            })
            .collect()
    }

    #[test]
    fn a_step_becomes_a_command_with_the_users_parameters_worked_in() {
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let rows: &[Row<'_>] = &[
            (
                "run driver=stdout tags==block:sch cycles==UNDEF threads=2",
                &[("connection", "bar")],
                "s.sch-ema run sch_ema [driver=stdout tags=block:sch threads=2 connection=bar workload=dir/my-w]",
            ),
            ("run cycles=10", &[("cycles", "5")], "s.sch-ema run sch_ema [cycles=5 workload=dir/my-w]"),
            ("run cycles==10", &[("cycles", "5")], "s.sch-ema run sch_ema [cycles=10 workload=dir/my-w]"),
            (
                "run cycles=10 threads=1",
                &[("cycles", "undef")],
                "s.sch-ema run sch_ema [threads=1 workload=dir/my-w]",
            ),
            ("run k=5", &[], "s.sch-ema run sch_ema [k=5 workload=dir/my-w]"),
            ("run cycles=TEMPLATE(n, 10)", &[], "s.sch-ema run sch_ema [cycles=10 workload=dir/my-w]"),
            (
                "run cycles===TEMPLATE(n, 10 ) k=1",
                &[],
                "s.sch-ema run sch_ema [cycles=10 k=1 workload=dir/my-w]",
            ),
            (
                "run cycles===TEMPLATE(n, 10)",
                &[("n", "7")],
                "s.sch-ema run sch_ema [cycles=7 n=7 workload=dir/my-w]",
            ),
            (
                "run tags==block:\"schema.*\" filter='a b=c'",
                &[],
                "s.sch-ema run sch_ema [tags=block:schema.* filter=a b=c workload=dir/my-w]",
            ),
            (
                "run alias=WORKLOAD_SCENARIO_STEP workload=other.yaml",
                &[],
                "s.sch-ema run my_w_s_sch_ema [workload=other.yaml]",
            ),
            ("start op=x\\'y k=a\\.b", &[], "s.sch-ema start sch_ema [op=x'y k=a\\.b]"),
            ("await main_1", &[("cycles", "5")], "s.sch-ema await main_1 []"),
            ("waitmillis 500", &[], "s.sch-ema waitmillis sch-ema []"),
        ];
        for (command, pairs, expected) in rows {
            let yaml = format!("  s:\n    sch-ema: >-\n      {command}\n");
            let plan = planned(&yaml, &["s"], pairs).unwrap_or_else(|error| panic!("{command}: {error}"));
            assert_eq!(shown(&plan), [*expected], "{command} with {pairs:?}");
        }
    }

    #[test]
    fn scenarios_are_texts_lists_or_maps_and_steps_are_picked_by_name_or_number() {
        let yaml = "  default: run k=1\n  l: [run k=1, run k=2]\n  m: {a: run k=1, b: run k=2 start k=3}\n  b-l: |\n    run k=1\n    cycles=2\n";
        let names = |of: &[&str]| {
            let plan = planned(yaml, of, &[]).unwrap_or_else(|error| panic!("{of:?}: {error}"));
            plan.steps.iter().map(|s| format!("{}.{}", s.scenario, s.step)).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["default.001"]);
        assert_eq!(names(&["l"]), ["l.000", "l.001"]);
        assert_eq!(names(&["l.1", "m.b"]), ["l.001", "m.b", "m.b"]);
        assert_eq!(names(&["l.001"]), ["l.001"]);
        assert_eq!(names(&["b-l"]), ["b-l.001"]);
        for (name, part) in [
            (
                "defualt",
                "has no scenario `defualt`\n  help: did you mean `default`? there are default, l, m, b-l",
            ),
            ("m.c", "has no step `m.c`\n  help: did you mean `m.a`? there are m.a, m.b"),
            ("zzz", "there are default, l, m, b-l"),
        ] {
            let error = planned(yaml, &[name], &[]).expect_err(name);
            assert!(error.contains(part), "{name}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_step_is_shown_at_its_place() {
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let rows: &[Row<'_>] = &[
            ("driver=stdout", &[], "dir/my-w.yaml:4:8: error: `driver=…` stands before any command"),
            ("rum k=1", &[], "dir/my-w.yaml:4:8: error: `rum` is not a command\n  help: did you mean `run`?"),
            ("script x.js", &[], "`script` is not supported"),
            ("run cylces=5", &[], "dir/my-w.yaml:4:12: error: there is no parameter `cylces`"),
            ("run cycles=", &[], "`cycles=` has no value"),
            ("run cycles=1 cycles=2", &[], "dir/my-w.yaml:4:21: error: `cycles` is given twice"),
            ("run k====1", &[], "dir/my-w.yaml:4:13: error: `====` is not an operator"),
            ("run k='x", &[], "dir/my-w.yaml:4:14: error: this ' is never closed"),
            ("run {x}", &[], "dir/my-w.yaml:4:12: error: `{x}` is not a command or a parameter"),
            ("await", &[], "`await` needs an alias"),
            ("waitmillis soon", &[], "`soon` is not a number"),
            (
                "run cycles===10",
                &[("cycles", "5")],
                "dir/my-w.yaml:4:12: error: step `a` of scenario `s` has locked",
            ),
            (
                "run cycles===TEMPLATE(a-cycles,10) k=TEMPLATE(z-cycles,10)",
                &[("cycles", "5")],
                "help: set the template variable instead: `a-cycles=…`",
            ),
            (
                "run cycles===TEMPLATE(s-cycles,10)",
                &[("cycles", "5")],
                "help: set the template variable instead: `s-cycles=…`",
            ),
            (
                "run cycles=TEMPLATE(n)",
                &[],
                "dir/my-w.yaml:4:19: error: template variable `n` has no value and no default",
            ),
            (
                "run cycles=${n}",
                &[],
                "dir/my-w.yaml:4:19: error: template variable `n` has no value and no default",
            ),
            ("run k=1", &[("cycels", "5")], "no step uses `cycels`"),
            ("run k=TEMPLATE(size,1)", &[("sise", "5")], "help: did you mean `size`?"),
        ];
        for (command, pairs, part) in rows {
            let error = planned(&format!("  s:\n    a: {command}\n"), &["s"], pairs).expect_err(command);
            assert!(error.contains(part), "{command}: {error}");
        }
    }

    #[test]
    fn overriding_several_steps_and_meeting_a_lock_are_said() {
        let yaml = "  default:\n    a: run tags=block:a cycles=1\n    b: run tags=block:b cycles=10\n    c: run tags==block:c cycles=100\n";
        let plan = planned(yaml, &[], &[("tags", "block:b")]).expect("a plan");
        let notices: Vec<&str> = plan.notices.iter().map(|notice| notice.message.as_str()).collect();
        assert_eq!(
            notices,
            [
                "`tags=block:b` overrides 2 steps: a, b",
                "`tags=block:b` does not count where a step keeps its own (`==`): c (tags=block:c)"
            ]
        );
        let plan = planned(yaml, &["default.a"], &[("cycles", "7")]).expect("a plan");
        assert!(plan.notices.is_empty());
        let plan = planned("  default: run alias=mine", &[], &[]).expect("a plan");
        assert!(plan.notices[0].message.contains("does not contain STEP"));
    }

    /// A word as a shell would take it, in one of the ways to write it.
    fn written(word: &str, way: u8) -> String {
        match way {
            0 => format!("'{}'", word.replace('\'', r"'\''")),
            1 => format!("\"{}\"", word.replace('\\', r"\\").replace('"', "\\\"")),
            _ => word.chars().fold(String::new(), |mut out, c| {
                if matches!(c, '\\' | '\'' | '"') || c.is_whitespace() {
                    out.push('\\');
                }
                out.push(c);
                out
            }),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_as_a_shell_would_take_it_is_read_so(
            all in proptest::collection::vec(("[ a-z='\"\\\\é\t]{1,8}", 0u8..3), 0..5),
        ) {
            let line: Vec<String> = all.iter().map(|(word, way)| written(word, *way)).collect();
            let words = words(&Text::of_source("f", line.join("  "))).expect("every quote is closed");
            let read: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            let meant: Vec<&str> = all.iter().map(|(word, _)| word.as_str()).collect();
            prop_assert_eq!(read, meant, "{}", line.join("  "));
        }

        #[test]
        fn any_step_is_read_or_refused(command in r#"(run|start|await|x| |=|'|"|\\|é|TEMPLATE\(n,|\)|,|\t){0,14}"#) {
            let command = Text::of_source("f", command.as_str());
            let step = Step { name: "s".to_owned(), command, location: None };
            let workload = Workload {
                scenarios: vec![Scenario { name: "default".to_owned(), steps: vec![step] }],
                ..Workload::default()
            };
            let _ = plan(&workload, "w", &[], &user(&[("k", "1")]), KNOWN);
        }
    }
}
