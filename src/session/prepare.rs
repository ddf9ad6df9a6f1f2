//! Parameters → an activity that is ready to connect: workload loaded, ops selected and compiled, numbers
//! read. Contacts nothing, so that whatever is wrong is said before anything is touched.

use super::SessionError;
use super::load::LoadPlan;
use super::values::{Values, or_fault};
use super::{order, parameters};
use crate::adapters::{ADAPTERS, AdapterRow};
use crate::plan::{self, Body, DryRun, OpPlan};
use crate::policy::Policy;
use crate::redact;
use crate::sequence::{self, Ordinals, Ratio};
use crate::span::{Diagnostic, Location, Severity, Text, nearest};
use crate::workload::tags::{self, TagFilter};
use crate::workload::{self, LoadOptions, OpTemplate, Workload};
use indexmap::IndexMap;
use std::ops::Range;
use std::path::PathBuf;

/// How many cycles of an op are bound to learn its size.
const SIZE_SAMPLES: usize = 64;

/// The driver whose ops are texts to be written.
const PRINTS: &str = "stdout";

/// One op of a prepared activity.
pub struct PreparedOp {
    pub name: String,
    pub driver: &'static AdapterRow,
    pub ratio: u64,
    pub plan: OpPlan,
    /// Mean bytes of the op as sent, by sampling; unknown if none of the samples could be bound.
    pub mean_bytes: Option<f64>,
    /// It writes documents: its bytes count towards what the run will write.
    pub writes: bool,
    /// Its times go by the reference's names for them too.
    pub instrument: bool,
    /// The position of the op that runs in the same cycle once this one ended well.
    pub then: Option<usize>,
    /// The position of the first op of its cycles, where it is not that itself.
    pub head: Option<usize>,
    /// Its bindings count its own cycles.
    pub ordinals: Option<Ordinals>,
    /// What it is called in YCSB's text.
    pub report_as: Option<String>,
}

impl PreparedOp {
    /// It inserts documents: by the command of that name, or by updates that count cycles of their own.
    pub fn inserts(&self) -> bool {
        let Body::Command(template) = &self.plan.body else { return false };
        match template.command() {
            Some("insert") => true,
            Some("update") => self.ordinals.is_some(),
            _ => false,
        }
    }
}

impl PreparedOp {
    /// What it shares a client by: driver, space and connection string of its own.
    pub fn client(&self) -> (&'static str, Option<&str>, Option<&str>) {
        (self.driver.name, self.plan.space.as_deref(), self.plan.connection.as_deref())
    }
}

/// An activity that is ready to connect.
pub struct Prepared {
    pub alias: String,
    /// The workload as named, or `None` for `op=`.
    pub workload: Option<String>,
    pub scenario: Option<String>,
    pub step: Option<String>,
    pub ops: Vec<PreparedOp>,
    /// Entry `cycle % len` is the position in `ops`.
    pub sequence: Vec<usize>,
    pub cycles: Range<u64>,
    pub recycles: u64,
    pub stride: u64,
    pub threads: usize,
    pub load: LoadPlan,
    /// Nothing but time ends it: `cycles` is the whole range of numbers.
    pub unbounded: bool,
    pub policy: Policy,
    pub max_tries: u32,
    /// Parameters for the drivers.
    pub parameters: IndexMap<String, String>,
    pub notices: Vec<Diagnostic>,
    /// Parameters that the scenario passes on and that mean nothing here, each with what is wrong with it.
    pub unused: Vec<(String, Diagnostic)>,
    /// Sentences for the header.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Cycles to run, passes included.
    pub fn cycles_asked(&self) -> u64 {
        (self.cycles.end - self.cycles.start).saturating_mul(self.recycles)
    }

    /// The share of cycles that run the op at `position`, between 0 and 1.
    pub fn share(&self, position: usize) -> f64 {
        let head = self.ops.get(position).and_then(|op| op.head).unwrap_or(position);
        let hits = self.sequence.iter().filter(|&&op| op == head).count();
        hits as f64 / self.sequence.len().max(1) as f64
    }

    /// Bytes that the run will write to the server, by sampling.
    pub fn bytes_to_write(&self) -> f64 {
        let cycles = match (self.load.duration, self.load.most_cycles(self.threads, self.stride)) {
            // As fast as it goes for some time: nobody knows how much that is.
            (Some(_), None) => return 0.0,
            (_, most) => most.unwrap_or(f64::INFINITY).min(self.cycles_asked() as f64),
        };
        let writing = self.ops.iter().enumerate().filter(|(_, op)| op.writes);
        writing.map(|(at, op)| op.mean_bytes.unwrap_or(0.0) * self.share(at) * cycles).sum()
    }

    /// The first op of each client, in order.
    pub fn clients(&self) -> Vec<&PreparedOp> {
        let mut clients: Vec<&PreparedOp> = Vec::new();
        for op in &self.ops {
            if !clients.iter().any(|first| first.client() == op.client()) {
                clients.push(op);
            }
        }
        clients
    }

    /// Its ops do nothing but write their texts.
    pub fn only_prints(&self) -> bool {
        self.ops.iter().all(|op| op.driver.name == PRINTS)
    }

    /// An op of this activity writes its text to the process's standard output.
    pub fn uses_stdout(&self) -> bool {
        if self.ops.iter().any(|op| op.plan.dry_run == Some(DryRun::Emit)) {
            return true;
        }
        self.ops.iter().any(|op| op.driver.name == PRINTS)
            && self.parameters.get("filename").is_none_or(|name| name == "stdout")
    }
}

/// An activity as a command line or a scenario's step asks for it.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub parameters: IndexMap<String, String>,
    /// The values among them that stand in a file, with their places.
    pub written: IndexMap<String, Text>,
    /// The names among them that a scenario passes on from its own command line: not every step knows them all.
    pub passed_on: Vec<String>,
    pub scenario: Option<String>,
    pub step: Option<String>,
    /// It is a step that runs another workload than its own.
    pub runs_other: bool,
}

impl Request {
    /// What a command line asks for.
    pub fn of(parameters: IndexMap<String, String>) -> Request {
        Request { parameters, ..Request::default() }
    }

    /// A parameter's value as a text that errors can point into.
    fn text(&self, name: &str, value: &str) -> Text {
        match self.written.get(name).filter(|text| text.as_str() == value) {
            Some(text) => text.clone(),
            None => Text::of_source(format!("parameter {name}"), value),
        }
    }

    /// Where a parameter's value stands, if in a file.
    pub(super) fn place(&self, name: &str) -> Option<Location> {
        self.written.get(name).and_then(Text::location)
    }

    /// What is wrong with a parameter's value, where it stands.
    pub(super) fn fault(&self, name: &str, value: &str, error: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(format!("parameter `{name}={value}`: {error}")).at(self.place(name))
    }
}

/// A workload and the ops of it that the tag filter selects.
pub struct Selected {
    pub workload: Workload,
    pub ops: Vec<OpTemplate>,
    pub notices: Vec<Diagnostic>,
    /// The names of the workload's template variables.
    pub variables: Vec<String>,
    /// Parameters under their canonical names.
    pub parameters: IndexMap<String, String>,
    /// Of those that the scenario passes on, the ones that nothing here knows, each with what is wrong with it; where
    /// that was looked for.
    pub unused: Vec<(String, Diagnostic)>,
}

/// A row of the driver table by name; the error names the nearest.
pub fn driver(name: &str) -> Result<&'static AdapterRow, Diagnostic> {
    ADAPTERS.iter().copied().find(|row| row.name == name).ok_or_else(|| {
        let names = || ADAPTERS.iter().map(|row| row.name);
        let error = Diagnostic::error(format!("there is no driver `{name}`"));
        match nearest(name, names()).first() {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("there are: {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

/// Loads the workload and selects ops by `tags=`. Builds no binding and chooses no driver, so that the parameters
/// of all drivers may be given.
pub fn select(request: &Request, includes: &[PathBuf]) -> Result<Selected, SessionError> {
    let mut selected = select_with(request, includes, workload::load)?;
    let drivers: Vec<&str> = ADAPTERS.iter().map(|row| row.name).collect();
    let (unused, unknown) = unknown(request, &selected.parameters, &drivers, &selected.variables);
    selected.unused = unused;
    let faults: Vec<Diagnostic> =
        unknown.into_iter().map(|(name, error)| error.at(request.place(&name))).collect();
    if faults.is_empty() { Ok(selected) } else { Err(faults.into()) }
}

/// A parameter's name, and what is wrong with it.
type Fault = (String, Diagnostic);

/// The parameters that nothing knows: those that a scenario passes on, which another step may know, and the others.
fn unknown(
    request: &Request,
    parameters: &IndexMap<String, String>,
    drivers: &[&str],
    variables: &[String],
) -> (Vec<Fault>, Vec<Fault>) {
    let unknown = parameters::unknown(parameters, drivers, variables);
    unknown.into_iter().partition(|(name, _)| request.passed_on.contains(name))
}

/// Reads the workload of a name.
pub(super) type Load = fn(&str, &LoadOptions<'_>) -> Result<Workload, Vec<Diagnostic>>;

/// As [`select`], with a reader of workloads.
pub(super) fn select_with(
    request: &Request,
    includes: &[PathBuf],
    load: Load,
) -> Result<Selected, SessionError> {
    let given = &request.parameters;
    let mut notices = Vec::new();
    let workload = match (parameters::value(given, "op"), parameters::value(given, "workload")) {
        (Some(_), Some(_)) => {
            return Err(Diagnostic::error("`op=` and `workload=` both say what to run")
                .help("give one of them")
                .into());
        }
        (Some(text), None) => {
            // As typed in a shell: \n, \t and \\ mean what they do in the reference's command line.
            workload::from_op_text(&Text::of_source("parameter op", unescape(text)), given)?
        }
        (None, Some(name)) => load(name, &LoadOptions { includes, params: given })?,
        (None, None) => {
            return Err(Diagnostic::error("an activity needs `workload=` or `op=`")
                .help("`nbrs --list-workloads` lists the bundled ones")
                .into());
        }
    };
    let variables: Vec<String> = workload.variables.iter().map(|v| v.name.clone()).collect();
    let given = parameters::canonical(given, &variables)?;
    notices.extend(workload.warnings.iter().cloned());
    let filter = match given.get("tags") {
        Some(text) => TagFilter::parse(&request.text("tags", text))?,
        None => TagFilter::parse(&Text::unplaced(""))?,
    };
    notices.extend(filter.notices().iter().cloned());
    let ops = if workload.ops.is_empty() { Vec::new() } else { filter.select(&workload)? };
    Ok(Selected { workload, ops, notices, variables, parameters: given, unused: Vec::new() })
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('\\') => out.push('\\'),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => out.push('\\'),
        }
    }
    out
}

pub(super) fn op_driver(
    op: &mut OpTemplate,
    default: &'static AdapterRow,
    notices: &mut Vec<Diagnostic>,
) -> Result<&'static AdapterRow, Diagnostic> {
    if let Some(node) = op.field("driver") {
        let name = node.as_text().map(|text| text.as_str().to_owned()).unwrap_or_default();
        return driver(&name).map_err(|error| error.at(node.location.clone()));
    }
    if let Some(node) = op.field("type") {
        let name = node.as_text().map(|text| text.as_str().to_owned()).unwrap_or_default();
        match driver(&name) {
            Ok(row) => {
                // It is no field of what is sent.
                op.op.shift_remove("type");
                return Ok(row);
            }
            // The reference takes any `type` for a driver's name and fails; some of its own files carry one
            // that means something else. As a field of an op it may be part of what is sent.
            Err(_) if !op.op.contains_key("type") => {
                let message = format!("op parameter `type: {name}` names no driver and has no effect");
                let notice = Diagnostic::warning(message).at(node.location.clone());
                if !notices.contains(&notice) {
                    notices.push(notice);
                }
            }
            Err(_) => {}
        }
    }
    Ok(default)
}

pub(super) fn op_ratio(op: &OpTemplate) -> Result<Ratio, Diagnostic> {
    let Some(node) = op.field("ratio") else { return Ok(Ratio::ONE) };
    let text = node.as_text().map(|text| text.as_str().to_owned()).unwrap_or_default();
    Ratio::parse(text.trim()).ok_or_else(|| {
        Diagnostic::error(format!("{}: `ratio` must be a number from 0 up, not `{text}`", op.name))
            .at(node.location.clone())
            .help("a whole number, or a share such as 0.95 with at most six places")
    })
}

/// Compiles an op and asks its driver what it makes of it.
pub(super) fn compile(
    op: &OpTemplate,
    row: &AdapterRow,
    notices: &mut Vec<Diagnostic>,
) -> Result<OpPlan, Vec<Diagnostic>> {
    let compiled = plan::compile(op, row.form)?;
    notices.extend(compiled.notices);
    let found = (row.check)(&compiled.plan);
    let (wrong, odd): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.severity == Severity::Error);
    notices.extend(odd);
    if wrong.is_empty() {
        return Ok(compiled.plan);
    }
    let placed = |error: Diagnostic| match error.location {
        Some(_) => error,
        None => error.at(op.location.clone()),
    };
    Err(wrong.into_iter().map(placed).collect())
}

/// What an activity is called, in whatever is shown: without secrets.
pub(super) fn alias(parameters: &IndexMap<String, String>, driver: &str) -> String {
    let given = ["alias", "workload"].into_iter().find_map(|name| parameters::value(parameters, name));
    let driver = parameters::value(parameters, "driver").unwrap_or(driver);
    given.map_or_else(|| format!("{}0", driver.to_uppercase()), redact::passwords)
}

/// What is wrong with the values of an activity's parameters, as far as no workload is needed to see it.
pub(super) fn check_values(request: &Request) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    if let Ok(parameters) = parameters::canonical(&request.parameters, &[]) {
        Values::read(request, &parameters, &mut faults);
    }
    faults
}

/// Prepares an activity. Everything that can be wrong before contact is said here.
pub fn prepare(request: &Request, includes: &[PathBuf]) -> Result<Prepared, SessionError> {
    prepare_selected(request, select_with(request, includes, workload::load)?)
}

/// Prepares an activity of which [`select`] has chosen the ops.
pub(super) fn prepare_selected(request: &Request, selected: Selected) -> Result<Prepared, SessionError> {
    let Selected { workload, mut ops, mut notices, variables, parameters, .. } = selected;
    let bare = ops.is_empty();
    if bare && parameters.contains_key("tags") {
        notices.push(
            Diagnostic::warning("`tags=` has no effect: the workload has no ops of its own to choose from")
                .at(request.place("tags")),
        );
    }
    let default = match parameters.get("driver") {
        Some(name) => driver(name).map_err(|error| error.at(request.place("driver")))?,
        None if bare => driver("stdout")?,
        None => driver("mongodb")?,
    };
    if bare {
        match default.synthesise {
            Some(make) => {
                let op = make(&workload.document_bindings, &parameters).map_err(Diagnostic::error)?;
                tags::check(&op, &workload)?;
                ops.push(op);
            }
            None => {
                return Err(Diagnostic::error(format!(
                    "there are no ops for driver `{}`, and it makes none of its own",
                    default.name
                ))
                .help("give the workload `ops:`, or use driver=stdout to print its bindings")
                .into());
            }
        }
    }

    // Everything that is wrong is said at once.
    let mut faults: Vec<Diagnostic> = Vec::new();
    let mut drivers: Vec<&str> = vec![default.name];
    let mut chosen = Vec::new();
    for op in &mut ops {
        let row = or_fault(op_driver(op, default, &mut notices), &mut faults).unwrap_or(default);
        if !drivers.contains(&row.name) {
            drivers.push(row.name);
        }
        let ratio = or_fault(op_ratio(op), &mut faults).unwrap_or(Ratio::ONE);
        let own = or_fault(order::own_cycles(op), &mut faults).unwrap_or(false);
        chosen.push((row, ratio, own));
    }
    let before = order::after(&ops).unwrap_or_else(|errors| {
        faults.extend(errors);
        vec![None; ops.len()]
    });
    let whole_ratios = sequence::whole(&chosen.iter().map(|(_, ratio, _)| *ratio).collect::<Vec<_>>());
    let (unused, unknown) = unknown(request, &parameters, &drivers, &variables);
    faults.extend(unknown.into_iter().map(|(name, error)| error.at(request.place(&name))));
    notice_idle_params(ops.iter().zip(&chosen).map(|(op, (row, ..))| (op, *row)), &mut notices);

    let values = Values::read(request, &parameters, &mut faults);

    // An op with ratio 0 is not part of the run: its errors go unseen, as in the reference.
    let head = |at: usize| order::head(&before, at).unwrap_or(at);
    let mut following = vec![None; ops.len()];
    for (at, earlier) in before.iter().enumerate() {
        if let Some(earlier) = earlier {
            following[*earlier] = Some(at);
        }
    }
    let kept: Vec<usize> = (0..ops.len()).filter(|at| whole_ratios[head(*at)] > 0).collect();
    let mut prepared: Vec<PreparedOp> = Vec::new();
    for at in &kept {
        let (op, (row, ..)) = (&ops[*at], &chosen[*at]);
        // Positions among those that are kept.
        let position = |op: usize| kept.iter().position(|kept| *kept == op);
        match compile(op, row, &mut notices) {
            Ok(mut plan) => {
                let dry_run = *plan.dry_run.get_or_insert(values.dry_run);
                let report_as = op.field(order::REPORT_AS).and_then(workload::Node::as_text);
                prepared.push(PreparedOp {
                    name: op.name.clone(),
                    driver: row,
                    ratio: whole_ratios[head(*at)],
                    writes: writes(&plan) && dry_run != DryRun::Op,
                    instrument: plan.timers.instrument.unwrap_or(values.instrument),
                    plan,
                    mean_bytes: None,
                    then: following[*at].and_then(position),
                    head: Some(head(*at)).filter(|head| head != at).and_then(position),
                    ordinals: None,
                    report_as: report_as.map(|text| text.as_str().to_owned()),
                });
            }
            Err(errors) => faults.extend(errors),
        }
    }
    check_timers(&prepared, &ops, &mut faults, &mut notices);
    let ratio_place =
        |op: Option<&OpTemplate>| op.and_then(|op| op.field("ratio")).and_then(|node| node.location.clone());
    if prepared.is_empty() && faults.is_empty() {
        faults.push(
            Diagnostic::error("every selected op has ratio 0: there is nothing to run")
                .at(ratio_place(ops.first()))
                .help("give one of them a `ratio` of at least 1"),
        );
    }
    let dealt = |op: &PreparedOp| if op.head.is_none() { op.ratio } else { 0 };
    let ratios: Vec<u64> = prepared.iter().map(dealt).collect();
    let length = ratios.iter().try_fold(0u64, |sum, r| sum.checked_add(*r)).unwrap_or(u64::MAX);
    let sequence = if length > sequence::MAX_LENGTH {
        let largest = ops.iter().zip(&whole_ratios).max_by_key(|(_, ratio)| **ratio).map(|(op, _)| op);
        let error = Diagnostic::error(format!("the ratios of the selected ops add up to {length}"));
        faults.push(error.at(ratio_place(largest)).help(format!(
            "a sequence holds at most {} ops: divide the ratios by a common factor",
            sequence::MAX_LENGTH
        )));
        Vec::new()
    } else {
        sequence::table(&ratios, values.sequencer)
    };
    if faults.is_empty() {
        let own: Vec<bool> = kept.iter().map(|at| chosen[*at].2).collect();
        order::number(&mut prepared, &own, &sequence);
    }

    let unbounded = values.unbounded(&parameters);
    let stride = values.stride.unwrap_or(sequence.len() as u64).max(1);
    let otherwise = if unbounded { 0..i64::MAX as u64 } else { 0..stride };
    let cycles = values.cycles.clone().unwrap_or(otherwise);
    let asked = (cycles.end - cycles.start).saturating_mul(values.recycles);
    let threads = values.threads(asked);
    let threads_given = parameters.contains_key("threads");
    let Values { mut load, recycles, max_tries, policy, .. } = values;
    if load.max_in_flight.is_some() && threads_given {
        notices.push(Diagnostic::warning(
            "`threads=` has no effect with `open=true`: max_in_flight= says how many ops may be in flight",
        ));
    }
    if !faults.is_empty() {
        return Err(SessionError::Usage(faults));
    }
    notices.extend(policy.notices().iter().map(Diagnostic::warning));
    let mut notes = std::mem::take(&mut load.notes);
    let bound_only = prepared.iter().filter(|op| op.plan.dry_run == Some(DryRun::Op)).count();
    if bound_only == prepared.len() {
        notes.push("dry run: ops are made and not sent".to_owned());
    } else if bound_only > 0 {
        notes.push(format!("dry run: {bound_only} of {} ops are made and not sent", prepared.len()));
    }
    if asked > 1000 && !threads_given && load.max_in_flight.is_none() {
        notes.push("1 thread runs one op at a time; threads=N or threads=auto runs more".to_owned());
    }

    for op in &mut prepared {
        op.mean_bytes = plan::sample_bytes(&op.plan, cycles.clone(), SIZE_SAMPLES);
    }

    Ok(Prepared {
        alias: alias(&parameters, default.name),
        workload: parameters.get("workload").cloned(),
        scenario: request.scenario.clone(),
        step: request.step.clone(),
        ops: prepared,
        sequence,
        cycles,
        recycles,
        stride,
        threads,
        load,
        unbounded,
        policy,
        max_tries,
        parameters,
        notices,
        unused,
        notes,
    })
}

/// A timer that is stopped has to be started by an op of the run; one that nobody stops is odd.
fn check_timers(
    prepared: &[PreparedOp],
    ops: &[OpTemplate],
    faults: &mut Vec<Diagnostic>,
    notices: &mut Vec<Diagnostic>,
) {
    let names = |of: fn(&plan::Timers) -> &Vec<String>| -> Vec<&String> {
        prepared.iter().flat_map(|op| of(&op.plan.timers)).collect()
    };
    let (started, stopped) = (names(|timers| &timers.starts), names(|timers| &timers.stops));
    let place = |op: &str, name: &str| {
        let op = ops.iter().find(|template| template.name == op)?;
        op.field(name)?.location.clone()
    };
    for op in prepared {
        for name in op.plan.timers.stops.iter().filter(|name| !started.contains(name)) {
            let message = format!("op `{}` stops the timer `{name}`, which no selected op starts", op.name);
            let error = Diagnostic::error(message).at(place(&op.name, "stop-timers"));
            let near = nearest(name, started.iter().map(|name| name.as_str())).first().copied();
            faults.push(match near {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("give an op before it `start-timers: {name}`")),
            });
        }
        for name in op.plan.timers.starts.iter().filter(|name| !stopped.contains(name)) {
            let message = format!("op `{}` starts the timer `{name}`, which no selected op stops", op.name);
            notices.push(Diagnostic::warning(message).at(place(&op.name, "start-timers")));
        }
    }
}

fn writes(plan: &OpPlan) -> bool {
    match &plan.body {
        Body::Command(template) => {
            matches!(template.command(), Some("insert" | "update" | "findAndModify" | "findandmodify"))
        }
        Body::Text(_) | Body::Fields(_) => false,
    }
}

/// Says once of each name which params of ops nobody reads.
pub(super) fn notice_idle_params<'a>(
    ops: impl IntoIterator<Item = (&'a OpTemplate, &'static AdapterRow)>,
    notices: &mut Vec<Diagnostic>,
) {
    let mut said: Vec<&str> = Vec::new();
    for (op, row) in ops {
        for (name, node) in &op.params {
            if plan::knows_field(name, row.form) || said.contains(&name.as_str()) {
                continue;
            }
            said.push(name);
            notices.push(
                Diagnostic::warning(format!("op parameter `{name}` has no effect here"))
                    .at(node.location.clone()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_of_a_shell_word_are_read_as_the_reference_reads_them() {
        for (typed, meant) in
            [(r"a\nb", "a\nb"), (r"a\tb", "a\tb"), (r"a\\nb", r"a\nb"), (r"\d", r"\d"), ("a\\", "a\\")]
        {
            assert_eq!(unescape(typed), meant, "{typed}");
        }
    }
}
