//! Which server an op goes to. What servers there are, the official driver's monitors know; their events keep
//! this view of the deployment, and the driver's rules (mode, tag sets, `localThresholdMS`) choose from it.

use super::connection::{Connection, Line};
use ::mongodb::ServerType;
use ::mongodb::TopologyType;
use ::mongodb::error::ErrorKind;
use ::mongodb::event::EventHandler;
use ::mongodb::event::sdam::{SdamEvent, TopologyDescription};
use ::mongodb::options::{ReadPreference, ReadPreferenceOptions, ServerAddress, TagSet};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore};

/// How much slower than the nearest a server may be; the driver's own default.
const LOCAL_THRESHOLD: Duration = Duration::from_millis(15);
/// How long a server that failed us, or turned us away, is left alone, unless the driver has looked at it before: the shortest time
/// between two looks of the driver's.
const LEFT_ALONE: Duration = Duration::from_millis(500);

/// What an op is to the deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// For the primary, or whoever takes writes.
    Primary,
    /// A read, to where the read preference of the connection string leads.
    Read,
}

/// How a command ends that goes to a certain server: with which read preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Bare,
    /// `primaryPreferred`: what the driver sends to a member of a set that it was told to talk to alone.
    PrimaryPreferred,
    /// The one of the connection string.
    Given,
}

/// One server, for as long as the deployment has it.
pub(super) struct Server {
    pub(super) address: ServerAddress,
    /// Connections of an older generation are not used again.
    generation: AtomicU32,
    /// Of connections that are open.
    lines: Mutex<Vec<Weak<Line>>>,
    /// Leave to have a connection, where threads share them.
    pub(super) permits: Arc<Semaphore>,
    /// Shared connections that nobody uses.
    #[allow(clippy::vec_box, reason = "connections change hands with every op")]
    pub(super) idle: Mutex<Vec<Box<Connection>>>,
}

impl Server {
    fn new(address: ServerAddress, connections: usize) -> Server {
        Server {
            address,
            generation: AtomicU32::new(0),
            lines: Mutex::default(),
            permits: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            idle: Mutex::default(),
        }
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// No connection that exists is used for another op.
    fn outdate(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
        let idle = std::mem::take(&mut *lock(&self.idle));
        drop(idle);
    }

    /// Ends every op under way as well: the server does not answer any more.
    fn cut(&self) {
        self.outdate();
        for line in lock(&self.lines).drain(..) {
            if let Some(line) = line.upgrade() {
                line.cut();
            }
        }
    }

    /// A line that [`Server::cut`] reaches.
    pub(super) fn line(&self) -> Arc<Line> {
        let line = Arc::new(Line::default());
        let mut lines = lock(&self.lines);
        if lines.len() == lines.capacity() {
            lines.retain(|line| line.strong_count() > 0);
        }
        lines.push(Arc::downgrade(&line));
        line
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is to be done with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// An op over a connection that there may be.
    Op,
    /// A new connection.
    Connection,
}

/// Of what a server that is not what we take it for is spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spared {
    /// Everything: its own word is that it leads, or serves, no longer.
    All,
    /// New connections: it did not take one. Those that are up go on.
    Connections,
}

/// A server as it was last seen.
#[derive(Clone)]
struct Member {
    server: Arc<Server>,
    kind: ServerType,
    round_trip: Option<Duration>,
    tags: TagSet,
    /// It failed us at this time, and the driver has not looked since.
    failed: Option<(Instant, Spared)>,
}

impl Member {
    fn is_for(&self, purpose: Use) -> bool {
        !matches!((self.failed, purpose), (Some((_, Spared::All)), _) | (Some(_), Use::Connection))
    }
}

struct View {
    kind: TopologyType,
    members: Vec<Member>,
    /// The driver's own words about a deployment that it cannot use.
    shown: String,
}

/// The deployment.
pub(super) struct Topology {
    view: RwLock<View>,
    /// Grows with each change of the view.
    version: AtomicU64,
    changed: Notify,
    threshold: Duration,
    connections: usize,
}

/// Where an op can go.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) server: Arc<Server>,
    pub(super) ending: Ending,
}

impl Topology {
    /// `connections`: the most that threads may share of one server.
    pub(super) fn new(threshold: Option<Duration>, connections: usize) -> Arc<Topology> {
        let view = View { kind: TopologyType::Unknown, members: Vec::new(), shown: String::new() };
        Arc::new(Topology {
            view: RwLock::new(view),
            version: AtomicU64::new(1),
            changed: Notify::new(),
            threshold: threshold.unwrap_or(LOCAL_THRESHOLD),
            connections,
        })
    }

    /// What the driver's client is to tell its events to.
    pub(super) fn listener(self: &Arc<Topology>) -> EventHandler<SdamEvent> {
        let topology = Arc::clone(self);
        EventHandler::callback(move |event| topology.hear(event))
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(super) fn is_sharded(&self) -> bool {
        self.view.read().unwrap_or_else(PoisonError::into_inner).kind == TopologyType::Sharded
    }

    fn hear(&self, event: SdamEvent) {
        match event {
            SdamEvent::TopologyDescriptionChanged(event) => self.describe(&event.new_description),
            SdamEvent::ServerHeartbeatSucceeded(event) => self.trust(&event.server_address),
            SdamEvent::ServerHeartbeatFailed(event) => {
                let silent = matches!(event.failure.kind.as_ref(),
                    ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::TimedOut);
                if silent && let Some(server) = self.server(&event.server_address) {
                    server.cut();
                }
            }
            _ => {}
        }
    }

    fn server(&self, address: &ServerAddress) -> Option<Arc<Server>> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        view.members.iter().find(|it| it.server.address == *address).map(|it| Arc::clone(&it.server))
    }

    fn describe(&self, description: &TopologyDescription) {
        self.change(|view| {
            let members = description.servers().into_iter().map(|(address, seen)| {
                let known = view.members.iter().find(|it| it.server.address == *address);
                let server = match known {
                    Some(known) => Arc::clone(&known.server),
                    None => Arc::new(Server::new(address.clone(), self.connections)),
                };
                let (kind, tags) = (seen.server_type(), seen.tags().cloned().unwrap_or_default());
                let round_trip = seen.average_round_trip_time();
                // A server that the driver has lost is, when it comes back, one with new connections.
                if kind == ServerType::Unknown && known.is_some_and(|it| it.kind != ServerType::Unknown) {
                    server.outdate();
                }
                Member { server, kind, round_trip, tags, failed: None }
            });
            let members: Vec<Member> = members.collect();
            for gone in &view.members {
                if !members.iter().any(|it| Arc::ptr_eq(&it.server, &gone.server)) {
                    gone.server.outdate();
                }
            }
            *view = View { kind: description.topology_type(), members, shown: description.to_string() };
            true
        });
    }

    /// Changes the view, and tells of it if `change` says that it did.
    fn change(&self, change: impl FnOnce(&mut View) -> bool) {
        let changed = {
            let mut view = self.view.write().unwrap_or_else(PoisonError::into_inner);
            let changed = change(&mut view);
            if changed {
                self.version.fetch_add(1, Ordering::Release);
            }
            changed
        };
        if changed {
            self.changed.notify_waiters();
        }
    }

    /// The driver has looked at the server, and it is well.
    fn trust(&self, address: &ServerAddress) {
        self.change(|view| {
            let member = view.members.iter_mut().find(|it| it.server.address == *address);
            member.is_some_and(|it| it.failed.take().is_some())
        });
    }

    /// How long a round trip to a server takes now: of this the driver's events do not tell.
    pub(super) fn time(&self, address: &ServerAddress, round_trip: Option<Duration>) {
        self.change(|view| {
            let member = view.members.iter_mut().find(|it| it.server.address == *address);
            member.is_some_and(|it| std::mem::replace(&mut it.round_trip, round_trip) != round_trip)
        });
    }

    /// `server` did not take a connection, or says that it is not what we take it for: it is spared for a
    /// while. `version`: what was known when the op began; what has changed since then counts for more.
    pub(super) fn suspect(&self, server: &Arc<Server>, spared: Spared, version: u64) {
        self.change(|view| {
            if self.version() != version {
                return false;
            }
            let member = view.members.iter_mut().find(|it| Arc::ptr_eq(&it.server, server));
            member.is_some_and(|it| it.failed.replace((Instant::now(), spared)).is_none())
        });
    }

    /// New connections to `server` may be made.
    pub(super) fn takes_connections(&self, server: &Arc<Server>) -> bool {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        let member = view.members.iter().find(|it| Arc::ptr_eq(&it.server, server));
        member.is_some_and(|it| it.is_for(Use::Connection))
    }

    /// All servers that an op could go to now.
    pub(super) fn ways(&self, purpose: Purpose, preference: Option<&ReadPreference>) -> Vec<Way> {
        self.ways_for(Use::Op, purpose, preference)
    }

    fn ways_for(&self, use_of: Use, purpose: Purpose, preference: Option<&ReadPreference>) -> Vec<Way> {
        let preference = preference.filter(|_| purpose == Purpose::Read).unwrap_or(&ReadPreference::Primary);
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        let ending = |member: &Member| ending(view.kind, member.kind, preference);
        let candidates = view.candidates(use_of, preference, self.threshold);
        candidates.into_iter().map(|it| Way { server: Arc::clone(&it.server), ending: ending(it) }).collect()
    }

    /// The servers that connections are brought up to before the clock starts.
    pub(super) fn all_ways(&self, preference: Option<&ReadPreference>) -> Vec<Way> {
        let mut ways = self.ways(Purpose::Primary, None);
        for way in self.ways(Purpose::Read, preference) {
            if !ways.iter().any(|it| Arc::ptr_eq(&it.server, &way.server)) {
                ways.push(way);
            }
        }
        ways
    }

    /// Waits for a server that an op, or a new connection for it, can go to, until `deadline`; an error says what
    /// there is instead.
    pub(super) async fn wait(
        &self,
        use_of: Use,
        purpose: Purpose,
        preference: Option<&ReadPreference>,
        deadline: Instant,
    ) -> Result<Vec<Way>, String> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            self.forgive();
            let ways = self.ways_for(use_of, purpose, preference);
            if !ways.is_empty() {
                return Ok(ways);
            }
            let until = self.next_forgiven().map_or(deadline, |at| at.min(deadline));
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until.into()) => {
                    if Instant::now() >= deadline {
                        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
                        return Err(view.shown.clone());
                    }
                }
            }
        }
    }

    /// Lets all idle connections go: they and their servers hold each other.
    pub(super) fn release(&self) {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        view.members.iter().for_each(|it| it.server.outdate());
    }

    /// Servers that were left alone for long enough are looked at again.
    fn forgive(&self) {
        self.change(|view| {
            let over = |it: &Member| it.failed.is_some_and(|(at, _)| at.elapsed() >= LEFT_ALONE);
            let mut any = false;
            for member in view.members.iter_mut().filter(|it| over(it)) {
                member.failed = None;
                any = true;
            }
            any
        });
    }

    fn next_forgiven(&self) -> Option<Instant> {
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        view.members.iter().filter_map(|it| it.failed).map(|(at, _)| at).min().map(|at| at + LEFT_ALONE)
    }
}

impl View {
    /// The driver's choice: by the kind of deployment and the mode, then by tag sets, then by nearness.
    fn candidates(&self, use_of: Use, preference: &ReadPreference, threshold: Duration) -> Vec<&Member> {
        let of = |kinds: &[ServerType]| -> Vec<&Member> {
            let fits = |it: &&Member| kinds.contains(&it.kind) && it.is_for(use_of);
            self.members.iter().filter(fits).collect()
        };
        let mut chosen = match self.kind {
            TopologyType::Single => self.members.iter().filter(|it| it.is_for(use_of)).collect(),
            TopologyType::Sharded => of(&[ServerType::Mongos]),
            TopologyType::ReplicaSetWithPrimary | TopologyType::ReplicaSetNoPrimary => {
                let primary = || of(&[ServerType::RsPrimary]);
                let secondaries = |options| tagged(of(&[ServerType::RsSecondary]), options);
                match preference {
                    ReadPreference::Secondary { options } => secondaries(options.as_ref()),
                    ReadPreference::PrimaryPreferred { options } => Some(primary())
                        .filter(|it| !it.is_empty())
                        .unwrap_or_else(|| secondaries(options.as_ref())),
                    ReadPreference::SecondaryPreferred { options } => Some(secondaries(options.as_ref()))
                        .filter(|it| !it.is_empty())
                        .unwrap_or_else(primary),
                    ReadPreference::Nearest { options } => {
                        tagged(of(&[ServerType::RsPrimary, ServerType::RsSecondary]), options.as_ref())
                    }
                    _ => primary(),
                }
            }
            _ => Vec::new(),
        };
        let nearest = chosen.iter().filter_map(|it| it.round_trip).min();
        let within = nearest.map(|nearest| nearest.saturating_add(threshold));
        chosen.retain(|it| it.round_trip.is_some() && it.round_trip <= within);
        chosen
    }
}

/// Those that have every tag of the first tag set that any of them has.
fn tagged<'a>(members: Vec<&'a Member>, options: Option<&ReadPreferenceOptions>) -> Vec<&'a Member> {
    let Some(sets) = options.and_then(|it| it.tag_sets.as_ref()).filter(|sets| !sets.is_empty()) else {
        return members;
    };
    let has =
        |member: &Member, set: &TagSet| set.iter().all(|(key, value)| member.tags.get(key) == Some(value));
    let matches =
        sets.iter().map(|set| members.iter().copied().filter(|it| has(it, set)).collect::<Vec<_>>());
    matches.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// The read preference that a command carries, by the driver's rules: a router and a member of a set that is
/// talked to alone are told, all others where it is not the primary.
fn ending(topology: TopologyType, server: ServerType, preference: &ReadPreference) -> Ending {
    let primary = *preference == ReadPreference::Primary;
    match (topology, server) {
        (TopologyType::Single, ServerType::Standalone) => Ending::Bare,
        (TopologyType::Single, ServerType::Mongos) | (TopologyType::Sharded, _) if primary => Ending::Bare,
        (TopologyType::Single, _) if primary => Ending::PrimaryPreferred,
        _ if primary => Ending::Bare,
        _ => Ending::Given,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, kind: ServerType, millis: Option<u64>, tags: &[(&str, &str)]) -> Member {
        let address = ServerAddress::Tcp { host: name.to_owned(), port: None };
        Member {
            server: Arc::new(Server::new(address, 1)),
            kind,
            round_trip: millis.map(Duration::from_millis),
            tags: tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            failed: None,
        }
    }

    fn names(view: &View, preference: &ReadPreference) -> Vec<String> {
        let chosen = view.candidates(Use::Op, preference, LOCAL_THRESHOLD);
        let mut names: Vec<String> = chosen.iter().map(|it| it.server.address.to_string()).collect();
        names.iter_mut().for_each(|name| name.truncate(1));
        names.sort();
        names
    }

    fn tags(sets: &[&[(&str, &str)]]) -> Option<ReadPreferenceOptions> {
        let set = |set: &&[(&str, &str)]| -> TagSet {
            set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        Some(ReadPreferenceOptions::builder().tag_sets(sets.iter().map(set).collect::<Vec<_>>()).build())
    }

    #[test]
    fn servers_are_chosen_by_mode_tags_and_nearness() {
        use ServerType::{RsArbiter, RsPrimary, RsSecondary, Unknown};
        let members = vec![
            member("p", RsPrimary, Some(20), &[("dc", "east")]),
            member("s", RsSecondary, Some(10), &[("dc", "west")]),
            member("t", RsSecondary, Some(24), &[("dc", "east")]),
            member("u", RsSecondary, Some(40), &[("dc", "east")]),
            member("a", RsArbiter, Some(1), &[]),
            member("x", Unknown, None, &[]),
        ];
        let mut view = View { kind: TopologyType::ReplicaSetWithPrimary, members, shown: String::new() };
        let none = None;
        for (preference, expected) in [
            (ReadPreference::Primary, "p"),
            (ReadPreference::Secondary { options: none.clone() }, "st"),
            (ReadPreference::PrimaryPreferred { options: none.clone() }, "p"),
            (ReadPreference::SecondaryPreferred { options: none.clone() }, "st"),
            (ReadPreference::Nearest { options: none.clone() }, "pst"),
            (ReadPreference::Nearest { options: tags(&[&[("dc", "east")]]) }, "pt"),
            (ReadPreference::Secondary { options: tags(&[&[("dc", "north")], &[("dc", "west")]]) }, "s"),
            (ReadPreference::Secondary { options: tags(&[&[("dc", "north")]]) }, ""),
            (ReadPreference::Secondary { options: tags(&[&[("dc", "north")], &[]]) }, "st"),
            (ReadPreference::SecondaryPreferred { options: tags(&[&[("dc", "north")]]) }, "p"),
        ] {
            assert_eq!(names(&view, &preference).concat(), expected, "{preference}");
        }
        view.kind = TopologyType::ReplicaSetNoPrimary;
        view.members.remove(0);
        assert_eq!(names(&view, &ReadPreference::Primary).concat(), "");
        assert_eq!(names(&view, &ReadPreference::PrimaryPreferred { options: none }).concat(), "st");
    }

    #[test]
    fn a_deployment_that_is_no_set_is_read_wherever_it_answers() {
        let secondary = ReadPreference::Secondary { options: None };
        for (kind, server, expected) in [
            (TopologyType::Single, ServerType::Standalone, "h"),
            (TopologyType::Single, ServerType::RsSecondary, "h"),
            (TopologyType::Sharded, ServerType::Mongos, "h"),
            (TopologyType::Sharded, ServerType::Standalone, ""),
            (TopologyType::Unknown, ServerType::Unknown, ""),
        ] {
            let view = View { kind, members: vec![member("h", server, Some(1), &[])], shown: String::new() };
            assert_eq!(names(&view, &secondary).concat(), expected, "{kind:?} {server:?}");
            assert_eq!(names(&view, &ReadPreference::Primary).concat(), expected, "{kind:?} {server:?}");
        }
        // A server that has not answered yet is none to go to.
        let members = vec![member("h", ServerType::Unknown, None, &[])];
        let view = View { kind: TopologyType::Single, members, shown: String::new() };
        assert_eq!(names(&view, &ReadPreference::Primary).concat(), "");
    }

    #[test]
    fn a_command_tells_its_read_preference_to_those_who_would_not_know() {
        let secondary = ReadPreference::Secondary { options: None };
        for (topology, server, primary, read) in [
            (TopologyType::Single, ServerType::Standalone, Ending::Bare, Ending::Bare),
            (TopologyType::Single, ServerType::RsPrimary, Ending::PrimaryPreferred, Ending::Given),
            (TopologyType::Single, ServerType::Mongos, Ending::Bare, Ending::Given),
            (TopologyType::Sharded, ServerType::Mongos, Ending::Bare, Ending::Given),
            (TopologyType::ReplicaSetWithPrimary, ServerType::RsPrimary, Ending::Bare, Ending::Given),
        ] {
            assert_eq!(
                ending(topology, server, &ReadPreference::Primary),
                primary,
                "{topology:?} {server:?}"
            );
            assert_eq!(ending(topology, server, &secondary), read, "{topology:?} {server:?}");
        }
    }

    fn topology(members: Vec<Member>) -> Arc<Topology> {
        let topology = Topology::new(None, 1);
        topology.change(|view| {
            *view = View { kind: TopologyType::Single, members, shown: "as it is".to_owned() };
            true
        });
        topology
    }

    #[test]
    fn a_server_that_failed_is_left_alone_until_the_driver_has_looked_or_time_has_passed() {
        let topology = topology(vec![member("h", ServerType::Standalone, Some(1), &[])]);
        let way = topology.ways(Purpose::Primary, None).remove(0);
        let before = topology.version();
        topology.suspect(&way.server, Spared::All, before);
        assert!(topology.ways(Purpose::Primary, None).is_empty());
        assert!(topology.version() > before, "threads are told to look again");
        topology.trust(&way.server.address);
        assert_eq!(topology.ways(Purpose::Primary, None).len(), 1);
        // What was known before the driver looked is no reason to leave it alone.
        topology.suspect(&way.server, Spared::All, before);
        assert_eq!(topology.ways(Purpose::Primary, None).len(), 1);
    }

    #[test]
    fn a_server_that_took_no_connection_is_still_there_for_those_that_are_up() {
        let topology = topology(vec![member("h", ServerType::Standalone, Some(1), &[])]);
        let way = topology.ways(Purpose::Primary, None).remove(0);
        assert!(topology.takes_connections(&way.server));
        topology.suspect(&way.server, Spared::Connections, topology.version());
        assert!(!topology.takes_connections(&way.server));
        assert!(topology.ways_for(Use::Connection, Purpose::Primary, None).is_empty());
        assert_eq!(topology.ways(Purpose::Primary, None).len(), 1);
        topology.trust(&way.server.address);
        assert!(topology.takes_connections(&way.server));
    }

    #[test]
    fn a_server_that_has_become_slow_is_not_near_any_more() {
        let kind = ServerType::Mongos;
        let topology = topology(vec![member("h", kind, Some(1), &[]), member("i", kind, Some(2), &[])]);
        topology.change(|view| {
            view.kind = TopologyType::Sharded;
            true
        });
        let ways = topology.ways(Purpose::Primary, None);
        assert_eq!(ways.len(), 2);
        topology.time(&ways[0].server.address, Some(Duration::from_millis(100)));
        let left = topology.ways(Purpose::Primary, None);
        assert_eq!((left.len(), &left[0].server.address), (1, &ways[1].server.address));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_server_longer_than_allowed() {
        let topology = topology(Vec::new());
        let deadline = Instant::now() + Duration::from_millis(20);
        let error = topology.wait(Use::Op, Purpose::Primary, None, deadline).await.err();
        assert_eq!(error.as_deref(), Some("as it is"));
        assert!(Instant::now() >= deadline);
    }
}
