//! From an address to a connection that takes commands: TCP, TLS, `hello`, authentication.

use super::super::connections::Tally;
use super::super::failure;
use super::super::uri::Secrets;
use super::connection::{Connection, Fault, Stream, Terms};
use super::scram::{Conversation, Keys, Mechanism, Salt};
use super::session::Session;
use super::topology::{Server, lock};
use super::{compression, tls};
use crate::adapters::Failure;
use crate::wire::MAX_MESSAGE_BYTES;
use ::mongodb::options::{
    AuthMechanism, ClientOptions, Compressor, Credential, ServerAddress, ServerApi, Tls,
};
use bson::raw::cstr;
use bson::spec::BinarySubtype;
use bson::{Binary, Document, RawDocumentBuf, doc};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// How long a connection may take to come up; the driver's own default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// An idle connection is looked after so often by the system; the driver's own figure.
const KEEPALIVE: Duration = Duration::from_secs(120);
const DEFAULT_PORT: u16 = 27017;

/// How the client shows who it is.
enum Login {
    Scram { user: String, password: String, source: String, mechanism: Option<Mechanism> },
    X509 { user: Option<String> },
}

/// Makes connections.
pub(super) struct Connector {
    tls: Option<TlsConnector>,
    login: Option<Login>,
    keys: Mutex<HashMap<Salt, Keys>>,
    compressors: Vec<Compressor>,
    hello: RawDocumentBuf,
    api: Document,
    timeout: Duration,
    pub(super) tally: Arc<Tally>,
    /// How many connections may be coming up at the same time.
    pub(super) gate: Semaphore,
}

/// Why this lane cannot connect as `options` ask; `None` if it can.
pub(super) fn obstacle(options: &ClientOptions) -> Option<String> {
    let credential = options.credential.as_ref()?;
    match &credential.mechanism {
        None | Some(AuthMechanism::ScramSha1 | AuthMechanism::ScramSha256 | AuthMechanism::MongoDbX509) => {
            None
        }
        Some(other) => Some(format!("authMechanism {} is not built into it", other.as_str())),
    }
}

impl Connector {
    /// # Errors
    /// What is wrong with the files that TLS is to use.
    pub(super) fn new(options: &ClientOptions) -> Result<Connector, String> {
        let tls = match &options.tls {
            Some(Tls::Enabled(options)) => Some(tls::connector(options)?),
            _ => None,
        };
        let api = options.server_api.as_ref().map(api_fields).unwrap_or_default();
        let login = options.credential.as_ref().map(Login::new);
        let compressors = options.compressors.clone().unwrap_or_default();
        let hello = hello(options, login.as_ref(), &compressors, &api)?;
        let gate = Semaphore::new(options.max_connecting.map_or(2, |most| most.max(1) as usize));
        let timeout = options.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let (keys, tally) = (Mutex::default(), Arc::default());
        Ok(Connector { tls, login, keys, compressors, hello, api, timeout, tally, gate })
    }

    /// A connection to `server` that takes commands.
    pub(super) async fn connect(
        &self,
        server: &Arc<Server>,
        secrets: &Secrets,
    ) -> Result<Connection, Failure> {
        let late = |_| {
            failure::own(
                "NetworkTimeout",
                format!("no connection to {} within {:?}", server.address, self.timeout),
            )
        };
        self.tally.asked();
        let stream = timeout(self.timeout, self.open(&server.address)).await.map_err(late)??;
        let mut connection = Connection::new(stream, Arc::clone(server));
        let meeting = async {
            let met = self.meet(&mut connection).await?;
            self.authenticate(&mut connection, met).await
        };
        timeout(self.timeout, meeting).await.map_err(late)?.map_err(|mut failure| {
            failure.message = secrets.scrub(&failure.message);
            failure
        })?;
        connection.opened = Some(self.tally.opened());
        Ok(connection)
    }

    async fn open(&self, address: &ServerAddress) -> Result<Stream, Failure> {
        let failed = |error: io::Error| {
            failure::own(
                "ConnectionFailed",
                failure::with_advice(format!("no connection to {address}: {error}")),
            )
        };
        match address {
            ServerAddress::Tcp { host, port } => {
                let addresses = lookup_host((host.as_str(), port.unwrap_or(DEFAULT_PORT))).await;
                let addresses = addresses.map_err(|error| {
                    failure::own("DnsFailed", format!("{host} cannot be resolved: {error}"))
                })?;
                let stream = open_any(addresses).await.map_err(failed)?;
                let Some(tls) = &self.tls else { return Ok(Stream::Tcp(stream)) };
                let name = ServerName::try_from(host.clone()).map_err(|error| {
                    failure::own(
                        "DnsFailed",
                        format!("{host} is no name that a certificate can have: {error}"),
                    )
                })?;
                Ok(Stream::Tls(Box::new(tls.connect(name, stream).await.map_err(failed)?)))
            }
            ServerAddress::Unix { path } => {
                Ok(Stream::Unix(UnixStream::connect(path).await.map_err(failed)?))
            }
            other => {
                Err(failure::own("ConnectionFailed", format!("{other} is no address that this lane knows")))
            }
        }
    }

    /// Says hello, and begins to authenticate with it: that saves a round trip, where the server takes it.
    async fn meet(&self, connection: &mut Connection) -> Result<Met, Failure> {
        let (hello, conversation) = self.login.as_ref().map_or_else(
            || (Cow::Borrowed(&self.hello), None),
            |login| {
                let (mut first, conversation) = login.first();
                first.insert("db", login.source());
                let mut hello = self.hello.clone();
                // What it holds can be encoded.
                if let Ok(first) = RawDocumentBuf::try_from(&first) {
                    hello.append(cstr!("speculativeAuthenticate"), first);
                }
                (Cow::Owned(hello), conversation)
            },
        );
        let reply = call(connection, &hello).await?;
        let known: Vec<&str> = texts(&reply, "compression");
        let usable = self.compressors.iter().find(|it| known.contains(&compression::name(it)));
        let longest = number(&reply, "maxMessageSizeBytes").filter(|longest| *longest > 0);
        connection.terms = Terms {
            compressor: usable.cloned(),
            session: reply.contains_key("logicalSessionTimeoutMinutes").then(Session::new),
            longest_message: longest
                .map_or(MAX_MESSAGE_BYTES, |longest| longest as usize)
                .min(MAX_MESSAGE_BYTES),
        };
        let has_sha256 = texts(&reply, "saslSupportedMechs").contains(&Mechanism::Sha256.name());
        Ok(Met {
            has_sha256,
            begun: reply.get_document("speculativeAuthenticate").ok().cloned(),
            conversation,
        })
    }

    async fn authenticate(&self, connection: &mut Connection, met: Met) -> Result<(), Failure> {
        match (&self.login, met.begun) {
            (None, _) | (Some(Login::X509 { .. }), Some(_)) => Ok(()),
            (Some(login @ Login::X509 { .. }), None) => {
                let (command, _) = login.first();
                self.ask(connection, command, login.source()).await.map(|_| ())
            }
            (Some(Login::Scram { user, password, source, mechanism }), begun) => {
                let (conversation, reply) = match (met.conversation, begun) {
                    (Some(conversation), Some(reply)) => (conversation, reply),
                    _ => {
                        // Without a choice of either side: SHA-256 where the server says that it has it for this user.
                        let negotiated = if met.has_sha256 { Mechanism::Sha256 } else { Mechanism::Sha1 };
                        let conversation = Conversation::new(mechanism.unwrap_or(negotiated), user);
                        let reply = self.ask(connection, sasl_start(&conversation), source).await?;
                        (conversation, reply)
                    }
                };
                self.scram(connection, &conversation, &reply, user, password, source).await
            }
        }
    }

    /// Goes on with a conversation whose first message `reply` answers.
    async fn scram(
        &self,
        connection: &mut Connection,
        conversation: &Conversation,
        reply: &Document,
        user: &str,
        password: &str,
        source: &str,
    ) -> Result<(), Failure> {
        let id = reply.get("conversationId").cloned().unwrap_or(bson::Bson::Int32(1));
        let proceed =
            |text: String| doc! { "saslContinue": 1, "conversationId": id.clone(), "payload": payload(text) };
        let challenge = conversation.challenge(received(reply)).map_err(refused)?;
        let known = lock(&self.keys).get(&challenge.salt).cloned();
        let keys = match known {
            Some(keys) => keys,
            None => {
                let keys = challenge.salt.keys(user, password).map_err(refused)?;
                lock(&self.keys).insert(challenge.salt.clone(), keys.clone());
                keys
            }
        };
        let (last, verifier) = conversation.last(&challenge, &keys);
        let mut reply = self.ask(connection, proceed(last), source).await?;
        if received(&reply) != verifier.as_bytes() {
            return Err(refused("the server does not know the password itself".to_owned()));
        }
        // Older servers end with an empty message.
        let done = |reply: &Document| matches!(reply.get_bool("done"), Ok(true));
        if !done(&reply) {
            reply = self.ask(connection, proceed(String::new()), source).await?;
        }
        if done(&reply) {
            Ok(())
        } else {
            Err(refused("the server does not end the conversation".to_owned()))
        }
    }

    /// Sends a command of the authentication; a refusal is one of the credentials.
    async fn ask(
        &self,
        connection: &mut Connection,
        mut command: Document,
        database: &str,
    ) -> Result<Document, Failure> {
        command.insert("$db", database);
        command.extend(self.api.clone());
        let command = RawDocumentBuf::try_from(&command).map_err(|error| failure::of_fault(&error.into()))?;
        call(connection, &command).await.map_err(|failure| match failure.code {
            Some(_) => refused(failure.message),
            None => failure,
        })
    }
}

/// Tries the addresses of a host one after the other.
async fn open_any(addresses: impl Iterator<Item = std::net::SocketAddr>) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                let keepalive = socket2::TcpKeepalive::new().with_time(KEEPALIVE);
                socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Sends a command before the first op; a network error then is one of a connection that is not up.
async fn call(connection: &mut Connection, command: &RawDocumentBuf) -> Result<Document, Failure> {
    let reply = connection.call(command).await.map_err(|fault| match fault {
        Fault::Io(_) | Fault::Closed | Fault::HalfReply => {
            failure::own("ConnectionFailed", fault.to_string())
        }
        other => failure::of_fault(&other),
    })?;
    match failure::of_refusal(&reply) {
        Some(failure) => Err(failure),
        None => Document::try_from(&*reply).map_err(|error| failure::of_fault(&error.into())),
    }
}

fn refused(words: String) -> Failure {
    failure::own("AuthenticationFailed", words)
}

/// What came of the first exchange of a connection.
struct Met {
    /// The server says that it knows the user by SCRAM-SHA-256.
    has_sha256: bool,
    /// Its reply to the authentication that was begun with `hello`, if it took that.
    begun: Option<Document>,
    /// The conversation that was begun.
    conversation: Option<Conversation>,
}

fn sasl_start(conversation: &Conversation) -> Document {
    doc! {
        "saslStart": 1, "mechanism": conversation.mechanism().name(), "payload": payload(conversation.first()),
        "options": { "skipEmptyExchange": true },
    }
}

fn payload(text: String) -> Binary {
    Binary { subtype: BinarySubtype::Generic, bytes: text.into_bytes() }
}

fn received(reply: &Document) -> &[u8] {
    reply.get_binary_generic("payload").map(Vec::as_slice).unwrap_or_default()
}

fn number(reply: &Document, key: &str) -> Option<i64> {
    reply.get_i32(key).map(i64::from).or_else(|_| reply.get_i64(key)).ok()
}

fn texts<'a>(reply: &'a Document, key: &str) -> Vec<&'a str> {
    reply.get_array(key).into_iter().flatten().filter_map(|it| it.as_str()).collect()
}

/// The fields by which a command declares the Stable API.
pub(super) fn api_fields(api: &ServerApi) -> Document {
    bson::serialize_to_document(api).unwrap_or_default()
}

impl Login {
    /// The command that begins to authenticate, without a choice of the server's; and the conversation that it opens.
    fn first(&self) -> (Document, Option<Conversation>) {
        match self {
            Login::X509 { user } => {
                let mut command = doc! { "authenticate": 1, "mechanism": "MONGODB-X509" };
                command.extend(user.iter().map(|user| ("user".to_owned(), user.as_str().into())));
                (command, None)
            }
            Login::Scram { user, mechanism, .. } => {
                let conversation = Conversation::new(mechanism.unwrap_or(Mechanism::Sha256), user);
                (sasl_start(&conversation), Some(conversation))
            }
        }
    }

    /// Where the user is known.
    fn source(&self) -> &str {
        match self {
            Login::X509 { .. } => "$external",
            Login::Scram { source, .. } => source,
        }
    }

    fn new(credential: &Credential) -> Login {
        let user = credential.username.clone();
        let scram = |mechanism| Login::Scram {
            user: user.clone().unwrap_or_default(),
            password: credential.password.clone().unwrap_or_default(),
            source: credential.source.clone().unwrap_or_else(|| "admin".to_owned()),
            mechanism,
        };
        match &credential.mechanism {
            Some(AuthMechanism::MongoDbX509) => Login::X509 { user: user.clone() },
            Some(AuthMechanism::ScramSha1) => scram(Some(Mechanism::Sha1)),
            Some(AuthMechanism::ScramSha256) => scram(Some(Mechanism::Sha256)),
            _ => scram(None),
        }
    }
}

/// The first command of every connection. The name is the old one, which every server knows.
fn hello(
    options: &ClientOptions,
    login: Option<&Login>,
    compressors: &[Compressor],
    api: &Document,
) -> Result<RawDocumentBuf, String> {
    let mut command = if api.is_empty() {
        doc! { "isMaster": 1, "helloOk": true }
    } else {
        doc! { "hello": 1 }
    };
    if let Some(Login::Scram { user, source, mechanism: None, .. }) = login {
        command.insert("saslSupportedMechs", format!("{source}.{user}"));
    }
    if !compressors.is_empty() {
        command.insert("compression", compressors.iter().map(compression::name).collect::<Vec<_>>());
    }
    let mut client = Document::new();
    if let Some(name) = &options.app_name {
        client.insert("application", doc! { "name": name });
    }
    client.insert("driver", doc! { "name": "nbrs", "version": env!("CARGO_PKG_VERSION") });
    client.insert("os", doc! { "type": std::env::consts::OS, "architecture": std::env::consts::ARCH });
    command.insert("client", client);
    command.insert("$db", "admin");
    command.extend(api.clone());
    RawDocumentBuf::try_from(&command).map_err(|error| error.to_string())
}
