//! The `mongodb` driver: database commands to a MongoDB deployment, as an application would send them.
//!
//! One client of the official driver per activity. Ops go over connections of the `lane`, or through the
//! driver, with the same bytes. There is a connection for each logical thread, all of them up before the clock
//! starts, unless the connection string says otherwise; nothing is retried, for a retry would hide a latency.

mod codes;
mod connections;
mod defaults;
mod dispenser;
mod failure;
mod lane;
mod uri;

use super::{
    Adapter, AdapterError, AdapterRow, Config, Connections, Counters, Dispenser, LONGEST_CLOSE, Parameter,
    TargetFacts,
};
use crate::plan::{Body, DryRun, Form, OpPlan, TextTemplate};
use crate::span::Diagnostic;
use ::mongodb::error::{Error, ErrorKind};
use ::mongodb::options::{
    Acknowledgment, ClientOptions, Compressor, DriverInfo, ReadPreference, SelectionCriteria, ServerApi,
    ServerApiVersion, Tls,
};
use ::mongodb::{Client, Database};
use bson::{Bson, Document, doc};
use connections::Tally;
use defaults::Defaults;
use dispenser::{CommandDispenser, Shared, count_of};
use futures_util::future::BoxFuture;
use lane::Lane;
pub use lane::{Flight, read_reply};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use uri::Target;

pub static ROW: AdapterRow = AdapterRow {
    name: "mongodb",
    help: "sends each op as a database command to a MongoDB deployment",
    form: Form::Command,
    check,
    parameters: &[
        Parameter {
            name: "connection",
            default: None,
            help: "connection string, handed to the driver as it is (else NBRS_CONNECTION, else the embedded server)",
        },
        Parameter {
            name: "database",
            default: None,
            help: "database of all commands (else the connection string's, else `nbrs`)",
        },
        Parameter {
            name: "apiVersion",
            default: None,
            help: "`1` declares the Stable API, version 1, with each command",
        },
        Parameter {
            name: "lane",
            default: Some("auto"),
            help: "how ops reach the server: `wire` over connections of nbrs's own, which cost the client little, \
                   `driver` through the official driver, `auto` whichever can do what the connection string asks",
        },
    ],
    connect: |config| Box::pin(connect(config)),
    synthesise: None,
};

/// How long a deployment may take to answer before the first op, and how long an op may wait for a suitable
/// server: so much less than 5 s that the message about it comes within them. `serverSelectionTimeoutMS` in the
/// connection string overrides it.
const PATIENCE: Duration = Duration::from_secs(4);

/// What is added to the time that the driver allows itself, before we give up on the driver.
const GRACE: Duration = Duration::from_millis(300);

/// Connections that are opened at the same time while the pool is filled: enough to be quick, few enough not
/// to meet a server's limit on new connections.
const MAX_CONNECTING: u32 = 32;

/// How long the pool may take to fill; each connection that authenticates costs the server milliseconds.
const WARM_UP: Duration = Duration::from_secs(60);

// That a target is unreachable is said within 5 s, also where the server is silent.
const _: () = assert!((PATIENCE.as_millis() + GRACE.as_millis() + LONGEST_CLOSE.as_millis()) < 5000);

/// Connections of the driver where ops go another way.
const ADMIN_CONNECTIONS: u32 = 2;

/// Where `lane=` is not given.
const DEFAULT_LANE: lane::Choice = lane::Choice::Auto;

/// Used where neither `database=` nor the connection string names one.
const DEFAULT_DATABASE: &str = "nbrs";

struct MongoAdapter {
    client: Client,
    /// For [`Adapter::counters`]: a client with one connection, so that no op waits for one of the pool.
    aside: OnceLock<Client>,
    aside_options: ClientOptions,
    shared: Arc<Shared>,
    facts: TargetFacts,
    /// Of the driver's lane.
    tally: Arc<Tally>,
    /// The connection string without its secrets.
    shown: String,
    /// User name and authentication database.
    user: Option<(String, String)>,
    /// What to look at where no server is suitable: the driver says only that none is.
    check: &'static str,
}

async fn connect(config: Config) -> Result<Arc<dyn Adapter>, AdapterError> {
    let parameter = |name: &str| config.parameters.get(name).map(String::as_str);
    let uri = parameter("connection").ok_or_else(|| {
        AdapterError::Configuration(format!("{}: the mongodb driver needs `connection=`", config.alias))
    })?;
    let Target { mut options, secrets, shown } = Target::parse(uri, PATIENCE).await?;
    let database = database_name(parameter("database"), &options)?;
    options.server_api = match parameter("apiVersion") {
        None => None,
        Some("1") => Some(ServerApi::builder().version(ServerApiVersion::V1).build()),
        Some(other) => {
            return Err(AdapterError::Configuration(format!(
                "apiVersion={other}: the only API version is 1"
            )));
        }
    };
    let patience = options.server_selection_timeout.unwrap_or(PATIENCE) + GRACE;
    tune(&mut options, config.threads);
    let asked = options.clone();
    let (lane, told) = lane(parameter("lane"), &mut options, config.threads, &shown)?;
    let mut settings = settings(&asked, &database, config.threads, lane.is_some());
    settings.push(("lane".to_owned(), told));
    let user = options.credential.as_ref().and_then(|credential| {
        Some((credential.username.clone()?, credential.source.clone().unwrap_or_else(|| "admin".to_owned())))
    });
    let check = match (&options.tls, &options.repl_set_name) {
        (Some(Tls::Enabled(_)), _) => "; TLS is on: does the server speak it?",
        (_, Some(_)) => "; is replicaSet= the name of its replica set?",
        _ => "",
    };
    let balanced = options.load_balanced == Some(true);
    let defaults = Defaults::take(&mut options);
    let mut aside_options = options.clone();
    (aside_options.min_pool_size, aside_options.max_pool_size) = (Some(0), Some(1));
    // What the other client has yet to find out is no news of the deployment.
    aside_options.sdam_event_handler = None;
    let tally = Arc::new(Tally::default());
    if lane.is_none() {
        options.cmap_event_handler = Some(tally.listener());
    }
    let client = Client::with_options(options).map_err(|error| {
        AdapterError::Configuration(format!(
            "connection={shown}: {}",
            secrets.scrub(&failure::words(&error.kind))
        ))
    })?;
    let shared = Arc::new(Shared {
        client: client.clone(),
        database: client.database(&database),
        defaults,
        secrets,
        lane,
    });
    let mut adapter = MongoAdapter {
        client,
        aside: OnceLock::new(),
        aside_options,
        shared,
        facts: TargetFacts::default(),
        tally,
        shown,
        user,
        check,
    };
    let answer = tokio::time::timeout(patience, adapter.admin(doc! { "ping": 1 })).await;
    if let Err(error) = answer.unwrap_or_else(|_| Err(ErrorKind::from(std::io::ErrorKind::TimedOut).into())) {
        let refusal = adapter.unreachable(&error, patience);
        adapter.shut_down().await;
        return Err(refusal);
    }
    adapter.facts = adapter.ask(balanced, settings, patience).await;
    Ok(Arc::new(adapter))
}

/// The lane of ops, if it is not the driver's, and what the header says of it. In the wire lane the driver has no
/// connections to bring up.
fn lane(
    asked: Option<&str>,
    options: &mut ClientOptions,
    threads: usize,
    shown: &str,
) -> Result<(Option<Lane>, String), AdapterError> {
    let asked = asked.map_or(Ok(DEFAULT_LANE), lane::Choice::parse).map_err(AdapterError::Configuration)?;
    let obstacle = lane::obstacle(options);
    match (asked, obstacle) {
        (lane::Choice::Driver, _) => Ok((None, "driver".to_owned())),
        (lane::Choice::Auto, Some(obstacle)) => Ok((None, format!("driver (not wire: {obstacle})"))),
        (lane::Choice::Wire, Some(obstacle)) => Err(AdapterError::Configuration(format!(
            "lane=wire cannot be used with connection={shown}: {obstacle}; use lane=driver"
        ))),
        (lane::Choice::Auto | lane::Choice::Wire, None) => {
            let patience = options.server_selection_timeout.unwrap_or(PATIENCE);
            let lane = Lane::new(options, threads.max(1), patience)
                .map_err(|error| AdapterError::Configuration(format!("connection={shown}: {error}")))?;
            options.sdam_event_handler = Some(lane.listener());
            (options.min_pool_size, options.max_pool_size) = (Some(0), Some(ADMIN_CONNECTIONS));
            Ok((Some(lane), "wire".to_owned()))
        }
    }
}

/// The database of all commands that do not name their own.
fn database_name(given: Option<&str>, options: &ClientOptions) -> Result<String, AdapterError> {
    let name = given.or(options.default_database.as_deref()).unwrap_or(DEFAULT_DATABASE);
    match wrong_database_name(name) {
        None => Ok(name.to_owned()),
        Some(wrong) => Err(AdapterError::Configuration(format!("database={name}: the name {wrong}"))),
    }
}

/// What is wrong with the name of a database. Characters that no server takes are refused here, where it can be
/// said what to change.
fn wrong_database_name(name: &str) -> Option<String> {
    match name {
        "" => Some("is empty".to_owned()),
        name if name.len() > 63 => Some("is longer than 63 bytes".to_owned()),
        name => name
            .chars()
            .find(|c| ['/', '\\', '.', ' ', '"', '$', '\0'].contains(c))
            .map(|c| format!("holds {c:?}, which a database name cannot")),
    }
}

fn check(plan: &OpPlan) -> Vec<Diagnostic> {
    let name = plan.database.as_ref().and_then(TextTemplate::literal);
    let wrong = name.and_then(|name| Some((name, wrong_database_name(name)?)));
    let error =
        |(name, wrong)| Diagnostic::error(format!("op `{}`: database `{name}`: the name {wrong}", plan.name));
    wrong.map(error).into_iter().collect()
}

/// Sets what the connection string leaves open.
fn tune(options: &mut ClientOptions, threads: usize) {
    let threads = u32::try_from(threads.max(1)).unwrap_or(u32::MAX);
    let max = *options.max_pool_size.get_or_insert(threads.max(options.min_pool_size.unwrap_or(0)));
    // The driver fills the pool up to its minimum.
    options.min_pool_size.get_or_insert(threads.min(max));
    options.max_connecting.get_or_insert(threads.clamp(2, MAX_CONNECTING));
    options.server_selection_timeout.get_or_insert(PATIENCE);
    options.retry_reads.get_or_insert(false);
    options.retry_writes.get_or_insert(false);
    options.app_name.get_or_insert_with(|| "nbrs".to_owned());
    let version = env!("CARGO_PKG_VERSION").to_owned();
    options.driver_info = Some(DriverInfo::builder().name("nbrs").version(version).build());
}

/// What is in effect, for the header. `wire`: ops take the wire lane.
fn settings(options: &ClientOptions, database: &str, threads: usize, wire: bool) -> Vec<(String, String)> {
    let server = || "the server's default".to_owned();
    let mut settings = vec![("database", database.to_owned())];
    let write_concern = options.write_concern.as_ref().map(|concern| {
        let mut parts = Vec::new();
        match &concern.w {
            Some(Acknowledgment::Nodes(0)) if wire => {
                parts.push("w:0, unacknowledged (such writes are timed until they are sent; no reply comes)".to_owned());
            }
            // The driver waits for a reply to every command, so such a write is timed like any other.
            Some(Acknowledgment::Nodes(0)) => parts.push(
                "w:0, unacknowledged (the reply is awaited and timed, but does not say whether it was written)"
                    .to_owned(),
            ),
            Some(Acknowledgment::Nodes(nodes)) => parts.push(format!("w:{nodes}")),
            Some(Acknowledgment::Majority) => parts.push("w:majority".to_owned()),
            Some(Acknowledgment::Custom(tag)) => parts.push(format!("w:{tag}")),
            _ => {}
        }
        parts.extend(concern.journal.map(|journal| format!("j:{journal}")));
        parts.extend(concern.w_timeout.map(|limit| format!("wtimeout:{} ms", limit.as_millis())));
        parts.join(", ")
    });
    settings.push(("writeConcern", write_concern.filter(|text| !text.is_empty()).unwrap_or_else(server)));
    let read_concern = options.read_concern.as_ref().and_then(|concern| {
        let document = bson::serialize_to_document(concern).ok()?;
        document.get_str("level").ok().map(str::to_owned)
    });
    settings.push(("readConcern", read_concern.unwrap_or_else(server)));
    settings.push(("readPreference", read_preference(options.selection_criteria.as_ref())));
    for (name, on) in [("retryReads", options.retry_reads), ("retryWrites", options.retry_writes)] {
        // The driver's retries are for its own helpers, not for commands that it is handed whole.
        let text = if on == Some(true) { "on (but the driver does not retry such commands)" } else { "off" };
        settings.push((name, text.to_owned()));
    }
    let pool = options.max_pool_size.unwrap_or_default();
    let threads = threads.max(1);
    let mut connections = format!("{pool} connection{}", if pool == 1 { "" } else { "s" });
    if (pool as usize) < threads {
        connections
            .push_str(&format!(" for {threads} threads (maxPoolSize): ops wait for a free connection"));
    }
    settings.push(("pool", connections));
    let compressors: Vec<_> = options.compressors.iter().flatten().map(compressor).collect();
    let compressors = if compressors.is_empty() { "none".to_owned() } else { compressors.join(", ") };
    settings.push(("compressors", compressors));
    settings
        .push(("tls", if matches!(options.tls, Some(Tls::Enabled(_))) { "on" } else { "off" }.to_owned()));
    if options.server_api.is_some() {
        settings.push(("apiVersion", "1".to_owned()));
    }
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn read_preference(criteria: Option<&SelectionCriteria>) -> String {
    match criteria {
        Some(SelectionCriteria::ReadPreference(preference)) => {
            let mode = match preference {
                ReadPreference::Primary => "primary",
                ReadPreference::Secondary { .. } => "secondary",
                ReadPreference::PrimaryPreferred { .. } => "primaryPreferred",
                ReadPreference::SecondaryPreferred { .. } => "secondaryPreferred",
                ReadPreference::Nearest { .. } => "nearest",
                _ => return preference.to_string(),
            };
            // With tags or staleness, the driver's own text tells them too.
            let text = preference.to_string();
            if text.contains(',') { format!("{mode} {text}") } else { mode.to_owned() }
        }
        _ => "primary".to_owned(),
    }
}

fn compressor(compressor: &Compressor) -> &'static str {
    match compressor {
        Compressor::Zstd { .. } => "zstd",
        Compressor::Zlib { .. } => "zlib",
        Compressor::Snappy => "snappy",
        _ => "another",
    }
}

impl MongoAdapter {
    /// Runs an administrative command, where ops may run too.
    async fn admin(&self, command: Document) -> Result<Document, Error> {
        let admin: Database = self.client.database("admin");
        let mut action = admin.run_command(command);
        if let Some(selection) = &self.shared.defaults.selection {
            action = action.selection_criteria(selection.clone());
        }
        action.await
    }

    /// What the target tells of itself; what it refuses to tell stays unknown.
    async fn ask(&self, balanced: bool, settings: Vec<(String, String)>, limit: Duration) -> TargetFacts {
        let ask = |command: Document| async move {
            tokio::time::timeout(limit, self.admin(command)).await.ok().and_then(Result::ok)
        };
        let (build, hello) =
            futures_util::future::join(ask(doc! { "buildInfo": 1 }), ask(doc! { "hello": 1 })).await;
        let hello = match hello {
            Some(hello) => Some(hello),
            // Servers older than 4.4.2 know it by its old name only.
            None => ask(doc! { "isMaster": 1 }).await,
        };
        let embedded = build.as_ref().is_some_and(|build| build.contains_key("nbrs"));
        TargetFacts {
            kind: if embedded { "embedded" } else { "mongodb" }.to_owned(),
            version: build.and_then(|build| build.get_str("version").ok().map(str::to_owned)),
            topology: hello.map(|hello| topology(&hello, balanced)),
            uri: Some(self.shown.clone()),
            settings,
        }
    }

    /// Why the deployment cannot be used, in one message.
    fn unreachable(&self, error: &Error, patience: Duration) -> AdapterError {
        let words = self.shared.secrets.scrub(&failure::words(&error.kind));
        let shown = &self.shown;
        AdapterError::Unreachable(match (error.kind.as_ref(), &self.user) {
            (ErrorKind::Authentication { .. }, Some((user, source))) => {
                format!("{shown} refuses the credentials of user `{user}` (authSource `{source}`): {words}")
            }
            (ErrorKind::Io(cause), _) if cause.kind() == std::io::ErrorKind::TimedOut => {
                format!("{shown} does not answer within {patience:?}")
            }
            (ErrorKind::ServerSelection { .. }, _) => {
                format!("no server of {shown} can be used: {words}{}", self.check)
            }
            _ => format!("{shown} cannot be used: {words}"),
        })
    }

    async fn warm_lane_up(&self, lane: &Lane) -> Result<(), AdapterError> {
        match tokio::time::timeout(WARM_UP, lane.warm_up(&self.client, &self.shared.secrets)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(failure)) => Err(AdapterError::Unreachable(format!(
                "{} cannot be used: {}: {}",
                self.shown, failure.name, failure.message
            ))),
            Err(_) => Err(self.not_up_in_time()),
        }
    }

    fn not_up_in_time(&self) -> AdapterError {
        AdapterError::Unreachable(format!(
            "{}: the connections of the pool are not up within {WARM_UP:?}",
            self.shown
        ))
    }

    async fn shut_down(&self) {
        if let Some(lane) = &self.shared.lane {
            let _ = tokio::time::timeout(LONGEST_CLOSE / 2, lane.close(&self.client)).await;
        }
        // What is still in flight was given up by whoever closes us: it is not waited for.
        let aside = self.aside.get().cloned().map(|client| client.shutdown().immediate(true));
        let closing = self.client.clone().shutdown().immediate(true);
        // A server that does not answer must not keep the program; sockets close with the process then.
        let both = async move {
            match aside {
                Some(aside) => {
                    futures_util::future::join(closing.into_future(), aside.into_future()).await;
                }
                None => closing.await,
            }
        };
        let _ = tokio::time::timeout(LONGEST_CLOSE / 2, both).await;
    }
}

/// The counters in a reply to `serverStatus`.
fn counters_of(status: &Document) -> Counters {
    let section = |name: &str| status.get_document(name).ok();
    let ops = section("opcounters").into_iter().flatten();
    let latencies = section("opLatencies").into_iter().flatten().filter_map(|(name, value)| {
        let of = value.as_document()?;
        Some((name.clone(), (count_of(of.get("ops")?)?, count_of(of.get("latency")?)?)))
    });
    Counters {
        ops: ops.filter_map(|(name, value)| Some((name.clone(), count_of(value)?))).collect(),
        connections: section("connections").and_then(|connections| count_of(connections.get("current")?)),
        latencies: latencies.collect(),
    }
}

/// Standalone, replica set or sharded cluster, from the reply to `hello`.
fn topology(hello: &Document, balanced: bool) -> String {
    if balanced {
        return "load balanced".to_owned();
    }
    match (hello.get("msg"), hello.get("setName")) {
        (Some(Bson::String(msg)), _) if msg == "isdbgrid" => "sharded (mongos)".to_owned(),
        (_, Some(Bson::String(name))) => format!("replica set {name}"),
        _ => "standalone".to_owned(),
    }
}

impl Adapter for MongoAdapter {
    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn dispenser(&self, plan: OpPlan) -> Result<Arc<dyn Dispenser>, AdapterError> {
        match plan.body {
            Body::Command(template) => {
                let emits = plan.dry_run == Some(DryRun::Emit);
                let shared = self.shared.clone();
                Ok(Arc::new(CommandDispenser::new(
                    plan.name,
                    template,
                    plan.database,
                    plan.checks,
                    shared,
                    emits,
                )))
            }
            Body::Text(_) | Body::Fields(_) => Err(AdapterError::Configuration(format!(
                "{}: the mongodb driver runs database commands, and this op is none",
                plan.name
            ))),
        }
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async {
            if let Some(lane) = &self.shared.lane {
                return self.warm_lane_up(lane).await;
            }
            // Where only some connections come up the driver waits for the others for ever. The run begins with what
            // there is then, as in the other lane.
            let _ = tokio::time::timeout(WARM_UP, self.client.warm_connection_pool()).await;
            // The driver keeps to itself why connections failed; the next command is told.
            let told = tokio::time::timeout(WARM_UP, self.admin(doc! { "ping": 1 }));
            match told.await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(self.unreachable(&error, WARM_UP)),
                Err(_) => Err(self.not_up_in_time()),
            }
        })
    }

    fn counters(&self) -> BoxFuture<'_, Option<Counters>> {
        Box::pin(async {
            // Sections that are large and not looked at are left out.
            let command = doc! {
                "serverStatus": 1, "repl": 0, "metrics": 0, "locks": 0, "mirroredReads": 0, "latchAnalysis": 0,
                "sharding": 0, "tcmalloc": 0, "wiredTiger": 0,
            };
            let aside = match self.aside.get() {
                Some(client) => client,
                None => {
                    let client = Client::with_options(self.aside_options.clone()).ok()?;
                    self.aside.get_or_init(|| client)
                }
            };
            let status = aside.database("admin").run_command(command).await.ok()?;
            Some(counters_of(&status))
        })
    }

    fn connections(&self) -> Option<Connections> {
        Some(self.shared.lane.as_ref().map_or(&*self.tally, Lane::tally).now())
    }

    fn close(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        Box::pin(async {
            self.shut_down().await;
            Ok(())
        })
    }
}
