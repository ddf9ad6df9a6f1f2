//! Authentication and TLS in both lanes, against a server that knows the other half of them.

use super::{LANES, canned, connect_with, failure, ok, op};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bson::spec::BinarySubtype;
use bson::{Binary, Document, RawDocument, doc};
use canned::{Canned, Reply, connecting};
use hmac::{Hmac, KeyInit, Mac};
use nbrs::adapters::AdapterError;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring};

const ROUNDS: u32 = 4096;
const SALT: &[u8] = b"a salt of a test";

fn mac<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("keys may have any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// The server's half of SCRAM for user `bob`.
#[derive(Default)]
struct Doorkeeper {
    /// What was said so far on each connection.
    said: Mutex<HashMap<u64, (String, String)>>,
    /// Connections that may go on.
    known: Mutex<HashMap<u64, ()>>,
}

impl Doorkeeper {
    fn answer(&self, connection: u64, command: &RawDocument, password: &str) -> Reply {
        let payload = command.get_binary("payload").map(|it| it.bytes.to_vec()).unwrap_or_default();
        let text = String::from_utf8(payload).expect("SCRAM is text");
        let reply = |text: String, done: bool| -> Reply {
            let payload = Binary { subtype: BinarySubtype::Generic, bytes: text.into_bytes() };
            doc! { "conversationId": 7, "done": done, "payload": payload, "ok": 1.0 }.into()
        };
        if let Ok(mechanism) = command.get_str("mechanism") {
            let bare = text.strip_prefix("n,,").expect("no channel binding").to_owned();
            let nonce = bare.split_once(",r=").expect("a nonce").1;
            let challenge = format!("r={nonce}more,s={},i={ROUNDS}", BASE64.encode(SALT));
            let signed = format!("{mechanism} {bare},{challenge}");
            self.said.lock().expect("no holder panics").insert(connection, (signed, challenge.clone()));
            return reply(challenge, false);
        }
        let (signed, _) = self.said.lock().expect("no holder panics")[&connection].clone();
        let (mechanism, signed) = signed.split_once(' ').expect("the mechanism stands first");
        let (unproved, proof) = text.rsplit_once(",p=").expect("a proof");
        let signed = format!("{signed},{unproved}");
        let (stored, server, signature): (Vec<u8>, Vec<u8>, Vec<u8>) = if mechanism == "SCRAM-SHA-1" {
            let digest = md5::Md5::digest(format!("bob:mongo:{password}"));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let mut salted = [0; 20];
            pbkdf2::pbkdf2::<Hmac<Sha1>>(digest.as_bytes(), SALT, ROUNDS, &mut salted).expect("any length");
            let stored = Sha1::digest(mac::<Hmac<Sha1>>(&salted, b"Client Key")).to_vec();
            let server = mac::<Hmac<Sha1>>(&salted, b"Server Key");
            let signature = mac::<Hmac<Sha1>>(&stored, signed.as_bytes());
            (stored, mac::<Hmac<Sha1>>(&server, signed.as_bytes()), signature)
        } else {
            let mut salted = [0; 32];
            pbkdf2::pbkdf2::<Hmac<Sha256>>(password.as_bytes(), SALT, ROUNDS, &mut salted)
                .expect("any length");
            let stored = Sha256::digest(mac::<Hmac<Sha256>>(&salted, b"Client Key")).to_vec();
            let server = mac::<Hmac<Sha256>>(&salted, b"Server Key");
            let signature = mac::<Hmac<Sha256>>(&stored, signed.as_bytes());
            (stored, mac::<Hmac<Sha256>>(&server, signed.as_bytes()), signature)
        };
        let proof = BASE64.decode(proof).expect("base64");
        let key: Vec<u8> = proof.iter().zip(&signature).map(|(proof, sign)| proof ^ sign).collect();
        let hashed = if mechanism == "SCRAM-SHA-1" {
            Sha1::digest(&key).to_vec()
        } else {
            Sha256::digest(&key).to_vec()
        };
        if hashed != stored {
            return refusal(18, "AuthenticationFailed", "Authentication failed.");
        }
        self.known.lock().expect("no holder panics").insert(connection, ());
        reply(format!("v={}", BASE64.encode(server)), true)
    }
}

fn refusal(code: i32, name: &str, message: &str) -> Reply {
    doc! { "ok": 0.0, "code": code, "codeName": name, "errmsg": message }.into()
}

/// A server on which only `bob` with `password` gets further than `hello`. `mechanisms`: those that it says it
/// knows him by. `at_once`: it takes an authentication that begins with `hello`.
fn guarded(password: &'static str, mechanisms: &'static [&'static str], at_once: bool) -> Canned {
    let door = Arc::new(Doorkeeper::default());
    Canned::scripted(move |connection, command| {
        let name = command.iter_elements().next().and_then(Result::ok).expect("a command").key().as_str();
        match (name, connecting(command)) {
            ("isMaster" | "ismaster" | "hello", Some(mut hello)) => {
                if command.get_str("saslSupportedMechs").is_ok_and(|user| user == "shop.bob") {
                    hello.insert("saslSupportedMechs", mechanisms.to_vec());
                }
                if let (true, Ok(begin)) = (at_once, command.get_document("speculativeAuthenticate"))
                    && begin.get_str("mechanism").is_ok_and(|mechanism| mechanisms.contains(&mechanism))
                    && let Reply::Bytes(begun) = door.answer(connection, begin, password)
                {
                    assert_eq!(begin.get_str("db").ok(), Some("shop"));
                    let begun = RawDocument::from_bytes(&begun).expect("a document");
                    hello.insert("speculativeAuthenticate", Document::try_from(begun).expect("a document"));
                }
                hello.into()
            }
            ("saslStart" | "saslContinue", _) => door.answer(connection, command, password),
            _ if !door.known.lock().expect("no holder panics").contains_key(&connection) => {
                refusal(13, "Unauthorized", "command requires authentication")
            }
            (_, Some(reply)) => reply.into(),
            _ => ok().into(),
        }
    })
}

#[tokio::test]
async fn scram_lets_in_who_knows_the_password() {
    const BOTH: &[&str] = &["SCRAM-SHA-1", "SCRAM-SHA-256"];
    for lane in LANES {
        // Whether the server takes what begins with `hello`, and whether that saves a command of each connection.
        for (mechanisms, asked, at_once, saves) in [
            (BOTH, "", false, false),
            (BOTH, "", true, true),
            (&BOTH[..1], "", false, false),
            (&BOTH[..1], "", true, false),
            (BOTH, "&authMechanism=SCRAM-SHA-1", false, false),
            (BOTH, "&authMechanism=SCRAM-SHA-1", true, true),
            (BOTH, "&authMechanism=SCRAM-SHA-256", false, false),
            (BOTH, "&authMechanism=SCRAM-SHA-256", true, true),
        ] {
            let server = guarded("p@ss, wörd=", mechanisms, at_once);
            let uri = format!(
                "mongodb://bob:p%40ss%2C%20w%C3%B6rd%3D@{}/shop?authSource=shop{asked}",
                server.address
            );
            let connected = connect_with(&[("connection", &uri), ("lane", lane)], 2).await;
            let adapter = connected.unwrap_or_else(|error| panic!("{lane} {mechanisms:?} {asked}: {error}"));
            adapter.warm_up().await.unwrap_or_else(|error| panic!("{lane} {mechanisms:?} {asked}: {error}"));
            assert_eq!(
                failure(&*op(&*adapter, "{ insert: 1 }"), 0).await,
                "",
                "{lane} {mechanisms:?} {asked}"
            );
            assert_eq!(server.seen.count("saslStart") == 0, saves, "{lane} {mechanisms:?} {asked}");
        }
    }
}

#[tokio::test]
async fn a_password_that_is_wrong_when_a_connection_is_made_again_is_told_as_such() {
    for lane in LANES {
        let door = Arc::new(Doorkeeper::default());
        let password = Arc::new(Mutex::new("geheim"));
        let current = Arc::clone(&password);
        let server = Canned::scripted(move |connection, command| {
            let name = command.iter_elements().next().and_then(Result::ok).expect("a command").key().as_str();
            match name {
                "saslStart" | "saslContinue" => {
                    door.answer(connection, command, &current.lock().expect("no holder panics"))
                }
                "bye" => Reply::Close,
                _ => connecting(command).unwrap_or_else(ok).into(),
            }
        });
        let uri = format!("mongodb://bob:geheim@{}/?authMechanism=SCRAM-SHA-256", server.address);
        let adapter = connect_with(&[("connection", &uri), ("lane", lane)], 1).await.expect("it answers");
        assert_eq!(failure(&*op(&*adapter, "{ insert: 1 }"), 0).await, "", "{lane}");
        *password.lock().expect("no holder panics") = "another";
        assert_eq!(failure(&*op(&*adapter, "{ bye: 1 }"), 0).await, "NetworkError", "{lane}");
        let outcome = super::run(&*op(&*adapter, "{ insert: 1 }"), 0).await;
        let failure = outcome.failure.expect("it fails");
        assert_eq!(failure.name, "AuthenticationFailed", "{lane}: {failure:?}");
        assert!(!failure.message.contains("geheim"), "{failure:?}");
    }
}

fn pem(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tls").join(name)
}

/// Takes TLS connections and passes them on to `server` in the clear; `clients`: those without a certificate of
/// the authority are turned away.
async fn proxy(server: SocketAddr, clients: bool) -> SocketAddr {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pem("ca.pem")).expect("a certificate")).expect("a root");
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions");
    let builder = if clients {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        builder.with_client_cert_verifier(verifier.expect("a verifier"))
    } else {
        builder.with_no_client_auth()
    };
    let chain = CertificateDer::pem_file_iter(pem("server.pem"))
        .expect("a file")
        .map(|it| it.expect("a certificate"));
    let key = PrivateKeyDer::from_pem_file(pem("server.pem")).expect("a key");
    let config = builder.with_single_cert(chain.collect(), key).expect("a certificate with its key");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(server).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_with_the_options_of_the_connection_string() {
    let big = |command: &RawDocument| -> Reply {
        match command.get("find") {
            Ok(Some(_)) => {
                let batch = vec![doc! { "v": "x".repeat(300_000) }; 3];
                doc! { "cursor": { "id": 0_i64, "firstBatch": batch }, "ok": 1.0 }.into()
            }
            _ => connecting(command).unwrap_or_else(ok).into(),
        }
    };
    let server = Canned::scripted(move |_, command| big(command));
    let open = proxy(server.address, false).await;
    let closed = proxy(server.address, true).await;
    let (ca, client) = (pem("ca.pem"), pem("client.pem"));
    let (ca, client) = (ca.display(), client.display());
    for lane in LANES {
        for (address, options, works) in [
            (open, format!("tlsCAFile={ca}"), true),
            (open, "tlsAllowInvalidCertificates=true".to_owned(), true),
            (open, String::new(), false),
            (closed, format!("tlsCAFile={ca}&tlsCertificateKeyFile={client}"), true),
            (closed, format!("tlsCAFile={ca}"), false),
            (
                closed,
                format!("tlsCAFile={ca}&tlsCertificateKeyFile={client}&authMechanism=MONGODB-X509"),
                true,
            ),
            (open, "tlsCAFile=/no/such/file.pem".to_owned(), false),
        ] {
            let uri = format!("mongodb://{address}/?tls=true&serverSelectionTimeoutMS=1000&{options}");
            let connected = connect_with(&[("connection", &uri), ("lane", lane)], 2).await;
            assert_eq!(
                connected.is_ok(),
                works,
                "{lane} {options}: {:?}",
                connected.err().map(|it| it.to_string())
            );
            let Ok(adapter) = connected else { continue };
            adapter.warm_up().await.unwrap_or_else(|error| panic!("{lane} {options}: {error}"));
            let long = "y".repeat(300_000);
            let insert = op(&*adapter, &format!("{{ insert: 'c', documents: [ {{ v: '{long}' }} ] }}"));
            let find = op(&*adapter, "{ find: 'c' }");
            for cycle in 0..3 {
                assert_eq!(failure(&*insert, cycle).await, "", "{lane} {options}");
                let outcome = super::run(&*find, cycle).await;
                assert_eq!((outcome.failure, outcome.docs_returned), (None, 3), "{lane} {options}");
            }
        }
    }
    let seen = server.seen.log.lock().expect("no holder panics");
    let logins: Vec<&Document> = seen.iter().filter(|it| it.contains_key("authenticate")).collect();
    assert!(logins.len() >= 4, "each connection of either lane says who it is: {}", logins.len());
    assert!(logins.iter().all(|it| it.get_str("$db").is_ok_and(|it| it == "$external")));
}

#[tokio::test]
async fn a_mechanism_that_the_wire_lane_has_not_is_named() {
    let server = Canned::fast();
    let uri = format!("mongodb://bob:geheim@{}/?authMechanism=PLAIN&authSource=$external", server.address);
    match connect_with(&[("connection", &uri), ("lane", "wire")], 1).await {
        Err(AdapterError::Configuration(text)) => {
            assert!(
                text.contains("PLAIN") && text.contains("lane=driver") && !text.contains("geheim"),
                "{text}"
            );
        }
        other => panic!("{:?}", other.err()),
    }
}
