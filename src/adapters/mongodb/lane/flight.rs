//! One op in flight over a connection of the lane: a future that is held in place, so that an op whose
//! connection is at hand allocates nothing.

use super::super::dispenser::CommandDispenser;
use super::super::failure;
use super::Lane;
use super::connection::{Connection, HEAD, Parts};
use super::session::Session;
use super::topology::{Ending, Purpose, Spared};
use crate::adapters::{Failure, Outcome};
use crate::plan::{Expected, Inset};
use futures_util::future::BoxFuture;
use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// What is to be sent.
pub(in super::super) struct Letter<'a> {
    /// The command as it was bound: a whole BSON document, but for its insets.
    pub(in super::super) command: &'a [u8],
    pub(in super::super) insets: &'a [Inset],
    /// Of its reply.
    pub(in super::super) expected: &'a Expected,
    /// See [`super::database_element`].
    pub(in super::super) database: Cow<'a, [u8]>,
    /// It may go where the read preference leads.
    pub(in super::super) reads: bool,
    /// No reply is wanted.
    pub(in super::super) unacknowledged: bool,
    /// The command takes a session.
    pub(in super::super) sessions: bool,
    /// The command may be compressed.
    pub(in super::super) compress: bool,
}

impl Letter<'_> {
    fn purpose(&self) -> Purpose {
        if self.reads { Purpose::Read } else { Purpose::Primary }
    }

    fn parts<'a>(&'a self, session: Option<&'a Session>, ending: &'a [u8]) -> Parts<'a> {
        let rest = [&*self.database, session.map_or(&[], Session::element), ending];
        Parts { command: self.command, insets: self.insets, rest }
    }

    /// Bytes of the command.
    fn length(&self) -> usize {
        self.command.len() + self.insets.iter().map(|inset| inset.as_bytes().len()).sum::<usize>()
    }

    /// What is wrong with the command, if it is none.
    fn flaw(&self) -> Option<&'static str> {
        let length = self.command.first_chunk::<4>().map(|length| i32::from_le_bytes(*length));
        match self.command {
            [.., 0] if length.and_then(|it| usize::try_from(it).ok()) == Some(self.length()) => {
                (self.command.len() <= 5).then_some("an empty document is no command")
            }
            _ => Some("the command is not a BSON document"),
        }
    }
}

enum Stage<'a> {
    Start,
    Connecting(BoxFuture<'a, Result<(Box<Connection>, Ending), Failure>>),
    Sending,
    Receiving,
}

/// An op on its way.
pub struct Flight<'a> {
    op: &'a CommandDispenser,
    lane: &'a Lane,
    cycle: i64,
    thread: usize,
    letter: Letter<'a>,
    stage: Stage<'a>,
    /// From [`Stage::Sending`] on.
    connection: Option<Box<Connection>>,
    session: Option<Session>,
    ending: Ending,
    head: [u8; HEAD],
    sent: usize,
    /// What was known of the deployment when the op was sent.
    version: u64,
}

impl<'a> Flight<'a> {
    pub(in super::super) fn new(
        op: &'a CommandDispenser,
        lane: &'a Lane,
        cycle: i64,
        thread: usize,
        letter: Letter<'a>,
    ) -> Flight<'a> {
        Flight {
            op,
            lane,
            cycle,
            thread,
            letter,
            stage: Stage::Start,
            connection: None,
            session: None,
            ending: Ending::Bare,
            head: [0; HEAD],
            sent: 0,
            version: lane.topology.version(),
        }
    }

    fn begin(&mut self, mut connection: Box<Connection>, ending: Ending) -> Result<(), Failure> {
        let takes_session = self.letter.sessions && !self.letter.unacknowledged;
        self.session = connection.terms.session.as_ref().filter(|_| takes_session).cloned();
        self.ending = ending;
        let parts = self.letter.parts(self.session.as_ref(), &self.lane.endings[ending as usize]);
        match connection.begin(&parts, self.letter.unacknowledged, self.letter.compress) {
            Ok(head) => {
                self.head = head;
                self.connection = Some(connection);
                self.stage = Stage::Sending;
                Ok(())
            }
            Err(fault) => {
                // Nothing was sent.
                self.lane.give(self.thread, connection);
                Err(failure::of_fault(&fault))
            }
        }
    }

    /// The exchange is over; the connection is ready for the next.
    fn land(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.lane.give(self.thread, connection);
        }
    }

    fn poll_exchange(&mut self, context: &mut Context<'_>) -> Poll<Result<Outcome, Failure>> {
        loop {
            match &mut self.stage {
                Stage::Start => {
                    if let Some(flaw) = self.letter.flaw() {
                        return Poll::Ready(Err(failure::own("InvalidCommand", flaw.to_owned())));
                    }
                    let purpose = self.letter.purpose();
                    match self.lane.take(self.thread, purpose) {
                        Some((connection, ending)) => self.begin(connection, ending)?,
                        None => {
                            let connecting = self.lane.obtain(self.thread, purpose, self.op.secrets());
                            self.stage = Stage::Connecting(Box::pin(connecting));
                        }
                    }
                }
                Stage::Connecting(connecting) => {
                    let (connection, ending) = ready!(connecting.as_mut().poll(context))?;
                    self.begin(connection, ending)?;
                }
                Stage::Sending => {
                    let Some(connection) = &mut self.connection else { return Poll::Ready(Err(landed())) };
                    let ending = &self.lane.endings[self.ending as usize];
                    let parts = self.letter.parts(self.session.as_ref(), ending);
                    let sent = ready!(connection.poll_send(context, &self.head, &parts, &mut self.sent));
                    sent.map_err(|fault| failure::of_fault(&fault))?;
                    if self.letter.unacknowledged {
                        self.land();
                        return Poll::Ready(Ok(Outcome::default()));
                    }
                    self.stage = Stage::Receiving;
                }
                Stage::Receiving => {
                    let Some(connection) = &mut self.connection else { return Poll::Ready(Err(landed())) };
                    let (op, cycle, expected) = (self.op, self.cycle, self.letter.expected);
                    let reply =
                        ready!(connection.poll_reply(context, |reply| op.read(cycle, expected, reply)));
                    let outcome = reply.map_err(|fault| failure::of_fault(&fault))?;
                    if outcome.failure.as_ref().is_some_and(failure::has_lost_its_role) {
                        self.lane.topology.suspect(&connection.server, Spared::All, self.version);
                    }
                    self.land();
                    return Poll::Ready(Ok(outcome));
                }
            }
        }
    }
}

/// What an op is told that is awaited after its end.
fn landed() -> Failure {
    failure::own("ClientClosed", "the op has ended".to_owned())
}

impl Future for Flight<'_> {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let this = self.get_mut();
        let mut outcome = match ready!(this.poll_exchange(context)) {
            Ok(outcome) => outcome,
            Err(failure) => {
                // An exchange that broke leaves a connection that is of no use.
                this.connection = None;
                Outcome { failure: Some(this.op.explained(failure)), ..Outcome::default() }
            }
        };
        outcome.bytes_sent = this.letter.length() as u64;
        Poll::Ready(outcome)
    }
}
