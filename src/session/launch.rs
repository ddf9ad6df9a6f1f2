//! Prepared → connected → running: the adapters of an activity, its journal and timers, and the task that watches it
//! to its end.

use super::prepare::{Prepared, PreparedOp};
use super::target::Embedded;
use super::{
    Active, Asked, DRAIN, Finished, Head, HeadOp, Session, SessionError, TICK, View, Watching,
    counters::{self, ConnectionLog},
    fail, takes_connection,
};
use crate::adapters::{self, Adapter, Config};
use crate::engine::{self, Activity, ActivityOp, Journal, NamedTimer, Running};
use crate::span::Diagnostic;
use indexmap::IndexMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::JoinHandle;

impl Session<'_> {
    /// Connects and starts one activity. Returns without starting it if it was interrupted meanwhile.
    pub(super) async fn launch(&mut self, mut prepared: Prepared) -> Result<(), SessionError> {
        let asked = self.asked(&prepared);
        let from_environment = matches!(asked, Asked::Environment(_));
        let (uri, embedded) = match asked {
            Asked::Nothing | Asked::Given(_) => (None, None),
            Asked::Environment(uri) => (Some(uri.to_owned()), None),
            Asked::Embedded => {
                let dir = self.data_dir()?;
                let server = match self.embedded.take() {
                    Some(server) => server,
                    None => Embedded::start(&dir)?,
                };
                let uri = self.embedded.insert(server).uri();
                (Some(uri), Some(dir))
            }
        };
        prepared.parameters.extend(uri.map(|uri| ("connection".to_owned(), uri)));

        let mut interrupt = self.interrupt.clone();
        let of_origin = |error: SessionError| match from_environment {
            true => error.of_environment(),
            false => error,
        };
        let adapters = tokio::select! {
            adapters = connect(&prepared) => adapters.map_err(of_origin)?,
            _ = interrupt.wait_for(|stop| *stop) => return Ok(()),
        };
        let journal = self.journal(&prepared)?;
        let head = Arc::new(head_of(&prepared, self.launched, embedded, &adapters));
        let timers = timers(&prepared.ops);
        let watermark = prepared.ops.iter().any(|op| op.plan.reads_acknowledged);
        let for_reader = prepared.only_prints();
        let clients = prepared.clients();
        let adapter_of = |op: &PreparedOp| {
            let position = clients.iter().position(|first| first.client() == op.client())?;
            adapters.get(position).cloned()
        };
        let homes: Vec<Option<Arc<dyn Adapter>>> = prepared.ops.iter().map(adapter_of).collect();
        let mut ops = Vec::new();
        for (op, adapter) in prepared.ops.into_iter().zip(homes) {
            if let Some(adapter) = adapter {
                let positions = |names: &[String]| -> Vec<usize> {
                    let position = |name: &String| timers.iter().position(|timer| timer.name == *name);
                    names.iter().filter_map(position).collect()
                };
                let (starts, stops) = (positions(&op.plan.timers.starts), positions(&op.plan.timers.stops));
                let inserts = op.inserts();
                let dispenser = adapters::dispenser(adapter.as_ref(), op.plan)?;
                let (name, then, ordinals) = (op.name, op.then, op.ordinals);
                ops.push(ActivityOp { name, dispenser, then, ordinals, inserts, starts, stops });
            }
        }
        // Not before: an op may ask for a delay before the clock starts.
        tokio::select! {
            warmed = warm_up(&adapters) => warmed.map_err(of_origin)?,
            _ = interrupt.wait_for(|stop| *stop) => return Ok(()),
        }
        let activity = Activity {
            alias: prepared.alias.clone(),
            ops,
            timers,
            sequence: prepared.sequence,
            cycles: prepared.cycles,
            recycles: prepared.recycles,
            stride: prepared.stride,
            threads: prepared.threads,
            cycle_rate: prepared.load.cycle_rate,
            stride_rate: prepared.load.stride_rate,
            max_in_flight: prepared.load.max_in_flight,
            warm_up: prepared.load.warm_up,
            duration: prepared.load.duration,
            policy: prepared.policy,
            max_tries: prepared.max_tries,
            journal,
            watermark,
            for_reader,
            ..Activity::default()
        };
        self.view.begin(&head);
        let watching = Arc::new(Watching { head: Arc::clone(&head), view: Arc::clone(&self.view) });
        let running = engine::start(activity, watching);
        let control = running.control();
        let end = tokio::spawn(supervise(
            running,
            head,
            adapters,
            Arc::clone(&self.view),
            self.interrupt.clone(),
            (!self.settings.keep_going).then(|| self.failure.clone()),
        ));
        self.active.push(Active { alias: prepared.alias, control, end });
        self.launched += 1;
        Ok(())
    }

    /// Opens the journal of an activity, and says what an earlier run left.
    fn journal(&self, prepared: &Prepared) -> Result<Option<Journal>, SessionError> {
        let Some(folder) = &prepared.load.resume else { return Ok(None) };
        let mut name: String =
            prepared.alias.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        name.truncate(name.char_indices().nth(60).map_or(name.len(), |(at, _)| at));
        let ops: Vec<&str> = prepared.ops.iter().map(|op| op.name.as_str()).collect();
        // What decides which op a cycle is.
        let run = format!(
            "alias={}\nworkload={}\ncycles={}..{}\nrecycles={}\nops={}\nsequence={:?}",
            prepared.alias,
            prepared.workload.as_deref().unwrap_or_default(),
            prepared.cycles.start,
            prepared.cycles.end,
            prepared.recycles,
            ops.join(","),
            prepared.sequence,
        );
        let path = folder.join(format!("{name}.journal"));
        let journal = Journal::open(&path, &run, prepared.cycles_asked()).map_err(|error| {
            Diagnostic::error(format!("resume={}: {error}", folder.display()))
                .help("give another folder, or remove the journal to run all cycles")
        })?;
        let (unknown, ranges) = journal.unknown();
        if journal.done_before() > 0 || unknown > 0 {
            self.view.notice(&Diagnostic::warning(format!(
                "{}: {} of {} cycles were done by the run before, of which {} is the journal",
                prepared.alias,
                journal.done_before(),
                prepared.cycles_asked(),
                path.display()
            )));
        }
        if unknown > 0 {
            let once = prepared.cycles.end - prepared.cycles.start;
            let names: Vec<String> = ranges
                .iter()
                .map(|range| {
                    let first = prepared.cycles.start + range.start % once.max(1);
                    match range.end - range.start {
                        1 => first.to_string(),
                        length => format!("{first}..{}", first + length),
                    }
                })
                .collect();
            self.view.notice(
                &Diagnostic::warning(format!(
                    "{}: {unknown} cycles were in flight when the run before was cut off, so that nobody knows \
                     whether the target did them: {}",
                    prepared.alias,
                    names.join(", ")
                ))
                .help("they run again"),
            );
        }
        Ok(Some(journal))
    }
}

/// An adapter for each of the activity's clients, in their order.
async fn connect(prepared: &Prepared) -> Result<Vec<Arc<dyn Adapter>>, SessionError> {
    let mut adapters: Vec<Arc<dyn Adapter>> = Vec::new();
    for client in prepared.clients() {
        let row = client.driver;
        let own = |name: &String| row.parameters.iter().any(|p| p.name == name);
        let given = prepared.parameters.iter().filter(|(name, _)| own(name));
        let mut parameters: IndexMap<String, String> = given.map(|(n, v)| (n.clone(), v.clone())).collect();
        parameters.extend(client.plan.connection.clone().map(|uri| ("connection".to_owned(), uri)));
        let config = Config { alias: prepared.alias.clone(), parameters, threads: prepared.threads };
        let adapter = (row.connect)(config).await?;
        adapters.push(adapter);
    }
    Ok(adapters)
}

/// Has every adapter ready for the first op.
async fn warm_up(adapters: &[Arc<dyn Adapter>]) -> Result<(), SessionError> {
    for adapter in adapters {
        adapter.warm_up().await?;
    }
    Ok(())
}

/// The named timers of ops, each with the first op that starts it.
fn timers(ops: &[PreparedOp]) -> Vec<NamedTimer> {
    let mut timers: Vec<NamedTimer> = Vec::new();
    for (op, prepared) in ops.iter().enumerate() {
        for name in &prepared.plan.timers.starts {
            if !timers.iter().any(|timer| timer.name == *name) {
                timers.push(NamedTimer { name: name.clone(), op });
            }
        }
    }
    timers
}

fn head_of(prepared: &Prepared, id: usize, embedded: Option<PathBuf>, adapters: &[Arc<dyn Adapter>]) -> Head {
    let timers = timers(&prepared.ops);
    let ops = prepared
        .ops
        .iter()
        .enumerate()
        .map(|(at, op)| HeadOp {
            name: op.name.clone(),
            ratio: op.ratio,
            share: prepared.share(at),
            mean_bytes: op.mean_bytes,
            instrument: op.instrument,
            report_as: op.report_as.clone(),
            follows: op.head.is_some(),
            own_cycles: op.ordinals.is_some(),
            timers: timers.iter().filter(|timer| timer.op == at).map(|timer| timer.name.clone()).collect(),
        })
        .collect();
    let mut notes = prepared.notes.clone();
    let connected =
        prepared.clients().into_iter().zip(adapters).filter(|(op, _)| takes_connection(op.driver));
    for (client, adapter) in connected.skip(1) {
        let space =
            client.plan.space.as_deref().map_or_else(String::new, |space| format!(" (space `{space}`)"));
        let uri = adapter.facts().uri.clone().unwrap_or_default();
        notes.push(format!("`{}`{space} has a client of its own, to {uri}", client.name));
    }
    Head {
        id,
        alias: prepared.alias.clone(),
        workload: prepared.workload.clone(),
        scenario: prepared.scenario.clone(),
        step: prepared.step.clone(),
        ops,
        cycles: prepared.cycles.clone(),
        recycles: prepared.recycles,
        stride: prepared.stride,
        threads: prepared.threads,
        rate: prepared.load.rate(),
        stride_rate: prepared.load.stride_rate,
        duration: prepared.load.duration,
        unbounded: prepared.unbounded,
        targets: adapters.iter().map(|adapter| adapter.facts().clone()).collect(),
        bytes_to_write: prepared.bytes_to_write(),
        embedded,
        notes,
    }
}

/// Waits for one activity, tells the view where it stands, and passes an interrupt on.
async fn supervise(
    running: Running,
    head: Arc<Head>,
    adapters: Vec<Arc<dyn Adapter>>,
    view: Arc<dyn View>,
    mut interrupt: watch::Receiver<bool>,
    failure: Option<watch::Sender<Option<String>>>,
) -> Finished {
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let control = running.control();
    let server = Arc::new(Mutex::new(Vec::new()));
    let watchers: Vec<_> = adapters
        .iter()
        .map(|adapter| {
            tokio::spawn(counters::watch(Arc::clone(adapter), Instant::now(), Arc::clone(&server)))
        })
        .collect();
    let connections = Arc::new(Mutex::new(ConnectionLog::new(&adapters)));
    let counting = tokio::spawn(counters::count_connections(Arc::clone(&connections)));
    let wait = running.wait(DRAIN);
    tokio::pin!(wait);
    let mut asked = false;
    let mut stopped_by = None;
    let mut failed =
        failure.as_ref().map_or_else(|| watch::Sender::new(None).subscribe(), watch::Sender::subscribe);
    let result = loop {
        tokio::select! {
            result = &mut wait => break result,
            _ = tick.tick() => view.progress(&head, control.progress()),
            stop = interrupt.wait_for(|stop| *stop), if !asked => {
                // A sender that is gone can ask for nothing any more.
                if stop.is_ok() {
                    control.stop();
                }
                asked = true;
            }
            what = failed.wait_for(Option::is_some), if stopped_by.is_none() && failure.is_some() => {
                stopped_by = what.ok().and_then(|what| what.clone());
                control.stop();
            }
        }
    };
    watchers.iter().for_each(JoinHandle::abort);
    counting.abort();
    let connections = {
        let mut log = connections.lock().unwrap_or_else(PoisonError::into_inner);
        log.note();
        std::mem::take(&mut log.points)
    };
    let server = std::mem::take(&mut *server.lock().unwrap_or_else(PoisonError::into_inner));
    let mut close_error = None;
    let closed = Instant::now();
    for adapter in adapters {
        if let Err(error) = adapter.close().await {
            close_error.get_or_insert(error.to_string());
        }
    }
    let closing = closed.elapsed();
    let finished = Finished { head, result, close_error, closing, server, connections, stopped_by };
    if let Some(failure) = failure.filter(|_| finished.failed()) {
        fail(&failure, format!("the failure of `{}`", finished.head.alias));
    }
    view.end(&finished);
    finished
}
