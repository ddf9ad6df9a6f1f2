//! The wire lane: ops go over connections of nbrs's own, and cost the client little more than the system calls.
//!
//! The official driver stays beside it. It reads the connection string, watches the deployment and answers for
//! everything that is not an op; [`topology`] hears of what it sees. A connection belongs to a logical thread, or
//! to all of them where `maxPoolSize` allows fewer. An op in flight owns its connection: if it is dropped, or its
//! exchange breaks, the connection is closed with it, and the next op makes a new one.

mod compression;
mod connection;
mod flight;
mod handshake;
mod reply;
mod scram;
mod session;
mod tls;
mod topology;

use super::connections::Tally;
use super::failure;
use super::uri::Secrets;
use crate::adapters::{Failure, Outcome};
use ::mongodb::event::EventHandler;
use ::mongodb::event::sdam::SdamEvent;
use ::mongodb::options::{ClientOptions, ReadPreference, SelectionCriteria};
use ::mongodb::{Client, ServerInfo};
use bson::{Bson, Document, RawDocumentBuf, doc};
use connection::Connection;
pub(super) use connection::Fault;
pub use flight::Flight;
pub(super) use flight::Letter;
use futures_util::StreamExt;
use handshake::Connector;
pub(super) use reply::Summary;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;
use topology::{Ending, Purpose, Server, Spared, Topology, Use, Way, lock};

/// How often round-trip times are asked for: as often as the driver looks at a server, if it is not told otherwise.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How many sessions one `endSessions` may name.
const SESSIONS_AT_ONCE: usize = 10_000;

/// Which lane ops take, as `lane=` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The wire lane if it can do what the connection string asks.
    Auto,
    Wire,
    Driver,
}

impl Choice {
    pub(super) fn parse(text: &str) -> Result<Choice, String> {
        match text {
            "auto" => Ok(Choice::Auto),
            "wire" => Ok(Choice::Wire),
            "driver" => Ok(Choice::Driver),
            other => Err(format!("lane={other}: a lane is `auto`, `wire` or `driver`")),
        }
    }
}

/// What of the connection string this lane cannot do; `None` if it can do all.
pub(super) fn obstacle(options: &ClientOptions) -> Option<String> {
    if options.load_balanced == Some(true) {
        return Some("loadBalanced=true is not built into it".to_owned());
    }
    let staleness = match preference(options) {
        Some(
            ReadPreference::Secondary { options }
            | ReadPreference::PrimaryPreferred { options }
            | ReadPreference::SecondaryPreferred { options }
            | ReadPreference::Nearest { options },
        ) => options.as_ref().and_then(|it| it.max_staleness).is_some_and(|it| !it.is_zero()),
        _ => false,
    };
    if staleness {
        return Some("maxStalenessSeconds is not built into it".to_owned());
    }
    handshake::obstacle(options)
}

fn preference(options: &ClientOptions) -> Option<&ReadPreference> {
    match &options.selection_criteria {
        Some(SelectionCriteria::ReadPreference(preference)) => Some(preference),
        _ => None,
    }
}

/// A logical thread's place, with the connections that are its own.
#[derive(Default)]
struct Seat {
    /// What was known of the deployment when `ways` were chosen.
    version: u64,
    /// For each [`Purpose`].
    ways: [Vec<Way>; 2],
    turn: usize,
    #[allow(clippy::vec_box, reason = "connections change hands with every op")]
    connections: Vec<Box<Connection>>,
}

/// The lane of one adapter.
pub(super) struct Lane {
    topology: Arc<Topology>,
    connector: Connector,
    /// One for each logical thread; none where they share connections.
    seats: Box<[Mutex<Seat>]>,
    /// Connections to each server that are brought up before the clock starts.
    wanted: usize,
    preference: Option<ReadPreference>,
    /// What ends a command, for each [`Ending`]: elements after the session, and the end of the document.
    endings: [Vec<u8>; 3],
    patience: Duration,
    longest_idle: Option<Duration>,
    most_connecting: usize,
    /// Asks the driver how near the servers are.
    watch: Mutex<Option<AbortHandle>>,
    watch_every: Duration,
}

impl Lane {
    /// The lane of `threads` logical threads. The client that is made of `options` must tell its events to
    /// [`Lane::listener`].
    ///
    /// # Errors
    /// What is wrong with the files that TLS is to use.
    pub(super) fn new(options: &ClientOptions, threads: usize, patience: Duration) -> Result<Lane, String> {
        let most = options.max_pool_size.map_or(threads, |most| most as usize).max(1);
        let seats = if threads <= most { threads } else { 0 };
        let preference = preference(options).filter(|it| **it != ReadPreference::Primary).cloned();
        let api = options.server_api.as_ref().map(handshake::api_fields).unwrap_or_default();
        Ok(Lane {
            topology: Topology::new(options.local_threshold, most),
            connector: Connector::new(options)?,
            seats: std::iter::repeat_with(Mutex::default).take(seats).collect(),
            wanted: options.min_pool_size.map_or(most, |least| least as usize).min(most),
            endings: [None, Some(&ReadPreference::PrimaryPreferred { options: None }), preference.as_ref()]
                .map(|preference| ending(&api, preference)),
            preference,
            patience,
            longest_idle: options.max_idle_time.filter(|it| !it.is_zero()),
            most_connecting: options.max_connecting.map_or(2, |most| most.max(1) as usize),
            watch: Mutex::default(),
            watch_every: options.heartbeat_freq.unwrap_or(HEARTBEAT),
        })
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.connector.tally
    }

    pub(super) fn listener(&self) -> EventHandler<SdamEvent> {
        self.topology.listener()
    }

    /// A connection for an op, if one is at hand.
    fn take(&self, thread: usize, purpose: Purpose) -> Option<(Box<Connection>, Ending)> {
        let mut seat = lock(self.seats.get(thread)?);
        let seat = &mut *seat;
        let version = self.topology.version();
        if seat.version != version {
            seat.ways = [Purpose::Primary, Purpose::Read]
                .map(|purpose| self.topology.ways(purpose, self.preference.as_ref()));
            seat.version = version;
        }
        let ways = &seat.ways[purpose as usize];
        seat.turn = seat.turn.wrapping_add(1);
        let way = ways.get(seat.turn.checked_rem(ways.len())?)?;
        let at = seat.connections.iter().position(|it| Arc::ptr_eq(&it.server, &way.server))?;
        let connection = seat.connections.swap_remove(at);
        connection.is_usable(self.longest_idle).then_some((connection, way.ending))
    }

    /// Gives a connection back that is ready for the next op.
    fn give(&self, thread: usize, mut connection: Box<Connection>) {
        connection.rest(self.longest_idle);
        match (connection.permit.take(), self.seats.get(thread)) {
            (None, Some(seat)) => lock(seat).connections.push(connection),
            (permit, _) => {
                let server = Arc::clone(&connection.server);
                lock(&server.idle).push(connection);
                drop(permit);
            }
        }
    }

    /// A connection for an op, made if need be.
    async fn obtain(
        &self,
        thread: usize,
        purpose: Purpose,
        secrets: &Secrets,
    ) -> Result<(Box<Connection>, Ending), Failure> {
        let deadline = Instant::now() + self.patience;
        let late = |why: &str| {
            let words = format!("no suitable server within {:?}: {why}", self.patience);
            failure::own("ServerSelectionTimeout", secrets.scrub(&words))
        };
        // A thread with a seat would have taken its connection if it had one.
        let mut use_of = if self.seats.is_empty() { Use::Op } else { Use::Connection };
        loop {
            let ways = self.topology.wait(use_of, purpose, self.preference.as_ref(), deadline).await;
            let ways = ways.map_err(|shown| late(&failure::why_none_suits(&shown)))?;
            let turn = self.seats.get(thread).map_or(thread, |seat| lock(seat).turn);
            let Some(way) = turn.checked_rem(ways.len()).and_then(|at| ways.get(at)) else { continue };
            let permit = match self.seats.get(thread) {
                Some(_) => None,
                None => way.server.permits.clone().acquire_owned().await.ok(),
            };
            let idle = permit.as_ref().and_then(|_| self.idle(&way.server));
            let mut connection = match idle {
                Some(connection) => connection,
                None if !self.topology.takes_connections(&way.server) => {
                    use_of = Use::Connection;
                    continue;
                }
                None => {
                    let version = self.topology.version();
                    let turn = tokio::time::timeout_at(deadline.into(), self.connector.gate.acquire());
                    let turn = turn.await.map_err(|_| {
                        late(&format!(
                            "connections to {} that are coming up take their time",
                            way.server.address
                        ))
                    })?;
                    let Ok(_turn) = turn else { continue };
                    if self.topology.version() != version {
                        continue;
                    }
                    match self.connector.connect(&way.server, secrets).await {
                        Ok(connection) => Box::new(connection),
                        Err(failure) => {
                            if failure.name != "AuthenticationFailed" {
                                self.topology.suspect(&way.server, Spared::Connections, version);
                            }
                            return Err(failure);
                        }
                    }
                }
            };
            connection.permit = permit;
            return Ok((connection, way.ending));
        }
    }

    fn idle(&self, server: &Server) -> Option<Box<Connection>> {
        let mut idle = lock(&server.idle);
        while let Some(connection) = idle.pop() {
            if connection.is_usable(self.longest_idle) {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps the round-trip times of servers current, where nearness may choose among several. The driver tells them
    /// to whoever chooses a server.
    fn watch(&self, client: &Client) {
        let mut watch = lock(&self.watch);
        if watch.is_some() || (self.preference.is_none() && !self.topology.is_sharded()) {
            return;
        }
        let (topology, client, every) = (Arc::clone(&self.topology), client.clone(), self.watch_every);
        let watching = tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let told = Arc::clone(&topology);
                let any = SelectionCriteria::Predicate(Arc::new(move |server: &ServerInfo<'_>| {
                    told.time(server.address(), server.average_round_trip_time());
                    true
                }));
                // Whoever answers: what counts was told before.
                let _ =
                    client.database("admin").run_command(doc! { "ping": 1 }).selection_criteria(any).await;
            }
        });
        *watch = Some(watching.abort_handle());
    }

    fn stop_watching(&self) {
        if let Some(watching) = lock(&self.watch).take() {
            watching.abort();
        }
    }

    /// Brings connections up to every server that ops may go to. Where a server takes some and turns others away, as
    /// one does that limits how fast they come, the run begins with what there is: an op without a connection makes
    /// one, and counts its failure.
    pub(super) async fn warm_up(&self, client: &Client, secrets: &Secrets) -> Result<(), Failure> {
        let deadline = Instant::now() + self.patience;
        let all = self.topology.wait(Use::Connection, Purpose::Primary, None, deadline).await;
        // Where nothing takes writes, reads may have somewhere to go.
        let mut ways = self.topology.all_ways(self.preference.as_ref());
        self.watch(client);
        if ways.is_empty() {
            ways = all.map_err(|shown| {
                let why = failure::why_none_suits(&shown);
                failure::own("ServerSelectionTimeout", secrets.scrub(&why))
            })?;
        }
        let mut connecting = Vec::new();
        for way in &ways {
            connecting.extend((0..self.wanted).map(|thread| self.fill(&way.server, thread, secrets)));
        }
        let mut coming = futures_util::stream::iter(connecting).buffer_unordered(self.most_connecting);
        let (mut some_are_up, mut turned_away) = (false, None);
        while let Some(came) = coming.next().await {
            match came {
                Ok(()) => some_are_up = true,
                Err(failure) if failure.name == "ConnectionFailed" => turned_away = Some(failure),
                Err(failure) => return Err(failure),
            }
        }
        match turned_away {
            Some(failure) if !some_are_up => Err(failure),
            _ => Ok(()),
        }
    }

    async fn fill(&self, server: &Arc<Server>, thread: usize, secrets: &Secrets) -> Result<(), Failure> {
        let connection = self.connector.connect(server, secrets).await?;
        self.give(thread, Box::new(connection));
        Ok(())
    }

    /// Closes connections that are not in use, and ends their sessions through `client`.
    pub(super) async fn close(&self, client: &Client) {
        self.stop_watching();
        let mut connections = Vec::new();
        for seat in &self.seats {
            connections.append(&mut lock(seat).connections);
        }
        for way in self.topology.all_ways(self.preference.as_ref()) {
            connections.append(&mut lock(&way.server.idle));
        }
        let sessions = connections.iter().filter_map(|it| it.terms.session.as_ref());
        let sessions: Vec<Bson> = sessions.map(|session| session.document().into()).collect();
        drop(connections);
        for some in sessions.chunks(SESSIONS_AT_ONCE) {
            // A server that does not take it forgets them by itself.
            let _ = client.database("admin").run_command(doc! { "endSessions": some.to_vec() }).await;
        }
    }
}

/// Reads a message as the lane reads the reply to request number `request`, when all its bytes are there.
pub fn read_reply(message: &[u8], request: i32) -> Outcome {
    let mut unpacked = Vec::new();
    match connection::document(message, request, &mut unpacked) {
        Ok(reply) => {
            let Summary { returned, n, failure } = Summary::of(reply);
            Outcome { docs_returned: returned, docs_written: n, failure, ..Outcome::default() }
        }
        Err(fault) => Outcome { failure: Some(failure::of_fault(&fault)), ..Outcome::default() },
    }
}

/// The elements that end a command, and the end of its document.
fn ending(api: &Document, preference: Option<&ReadPreference>) -> Vec<u8> {
    let mut fields = api.clone();
    if let Some(preference) = preference.and_then(|it| bson::serialize_to_document(it).ok()) {
        fields.insert("$readPreference", preference);
    }
    // What the driver's options hold can be encoded.
    RawDocumentBuf::try_from(&fields).map(|it| it.as_bytes()[4..].to_vec()).unwrap_or_else(|_| vec![0])
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.stop_watching();
        self.topology.release();
    }
}

/// The element that names the database of a command.
pub(super) fn database_element(name: &str) -> Vec<u8> {
    let length = i32::try_from(name.len() + 1).unwrap_or(i32::MAX);
    [b"\x02$db\0", &length.to_le_bytes()[..], name.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_are_those_of_documents() {
        let whole = bson::serialize_to_vec(&doc! { "$db": "shop" }).expect("a document");
        assert_eq!(&whole[4..whole.len() - 1], database_element("shop"));
        let nearest = ReadPreference::Nearest { options: None };
        let whole =
            bson::serialize_to_vec(&doc! { "apiVersion": "1", "$readPreference": { "mode": "nearest" } });
        assert_eq!(&whole.expect("a document")[4..], ending(&doc! { "apiVersion": "1" }, Some(&nearest)));
        assert_eq!(ending(&doc! {}, None), [0]);
    }

    #[test]
    fn bytes_that_are_no_message_are_a_failure() {
        let mut whole = Vec::new();
        let reply = RawDocumentBuf::try_from(&doc! { "n": 3, "ok": 1 }).expect("a document");
        crate::wire::write_msg(&mut whole, 0, 7, 0, &reply);
        let outcome = read_reply(&whole, 7);
        assert_eq!((outcome.docs_written, outcome.failure), (3, None));
        for cut in 0..whole.len() {
            let failure = read_reply(&whole[..cut], 7).failure.expect("a failure");
            assert_eq!(failure.name, "InvalidReply", "{cut}");
        }
        assert!(read_reply(&whole, 8).failure.is_some_and(|it| it.message.contains("request 7")));
    }

    proptest! {
        #[test]
        fn a_damaged_message_is_read_or_refused(at in any::<usize>(), byte in any::<u8>(), compressed in any::<bool>()) {
            let mut whole = Vec::new();
            let reply = RawDocumentBuf::try_from(&doc! { "cursor": { "firstBatch": [{}] }, "ok": 1 }).expect("a document");
            crate::wire::write_msg(&mut whole, 0, 7, 0, &reply);
            if compressed {
                whole[12..16].copy_from_slice(&crate::wire::OP_COMPRESSED.to_le_bytes());
            }
            let at = at % whole.len();
            whole[at] = byte;
            let _ = read_reply(&whole, 7);
        }
    }

    #[tokio::test]
    async fn what_the_lane_cannot_do_is_named() {
        for (options, words) in [
            ("", None),
            ("?readPreference=nearest&readPreferenceTags=dc:east&localThresholdMS=5", None),
            ("?tls=true&compressors=zstd,zlib,snappy", None),
            ("?authMechanism=MONGODB-X509&tls=true", None),
            ("?readPreference=secondary&maxStalenessSeconds=120", Some("maxStalenessSeconds")),
            ("?loadBalanced=true", Some("loadBalanced")),
        ] {
            let options = ClientOptions::parse(format!("mongodb://h/{options}")).await.expect(options);
            let told = obstacle(&options);
            assert_eq!(told.is_some(), words.is_some(), "{told:?}");
            assert!(words.is_none_or(|words| told.is_some_and(|it| it.contains(words))), "{words:?}");
        }
        for (mechanism, fits) in [("SCRAM-SHA-1", true), ("SCRAM-SHA-256", true), ("PLAIN", false)] {
            let uri = format!("mongodb://u:p@h/?authMechanism={mechanism}&authSource=admin");
            let options = ClientOptions::parse(uri).await.expect(mechanism);
            assert_eq!(obstacle(&options).is_none(), fits, "{mechanism}");
        }
    }
}
