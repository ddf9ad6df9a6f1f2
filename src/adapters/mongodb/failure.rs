//! What went wrong, under a stable name: the server's code name where the server said it, else one of our own.
//!
//! | name | what happened | the reference's name |
//! |--|--|--|
//! | code name, such as `DuplicateKey` | the server refused the command (`Code<N>` for a number without a name) | `MongoCommandException`; `MongoExecutionTimeoutException` (50), `MongoNotPrimaryException`, `MongoNodeIsRecoveringException` |
//! | code name, partial | `writeErrors` or `writeConcernError` in a reply that is ok | `MongoBulkWriteException`, `MongoWriteConcernException` |
//! | `ConnectionFailed` | a new connection was refused or broke before it was up | `MongoSocketOpenException` |
//! | `NetworkError` | a connection broke under a command | `MongoSocketReadException` |
//! | `NetworkTimeout` | a socket operation took too long | `MongoSocketReadTimeoutException` |
//! | `ServerSelectionTimeout` | no suitable server within `serverSelectionTimeoutMS` | `MongoTimeoutException` |
//! | `PoolCleared` | another connection's failure cleared the pool | `MongoConnectionPoolClearedException` |
//! | `AuthenticationFailed` | the credentials were refused | `MongoSecurityException` |
//! | `DnsFailed` | a host name could not be resolved | `MongoSocketException` |
//! | `TlsFailed` | the TLS settings do not work | `MongoSecurityException` |
//! | `InvalidCommand` | the driver refused to send it (too large, empty) | `IllegalArgumentException` |
//! | `InvalidReply` | the reply is not what the protocol allows | `MongoInternalException` |
//! | `SessionsNotSupported` | the server knows no sessions | `MongoClientException` |
//! | `ClientClosed` | the run was ending | `IllegalStateException` |
//! | `DriverError` | anything else the driver may come up with | `MongoException` |

use super::super::Failure;
use super::codes;
use super::lane::Fault;
use super::uri::{Secrets, plain_words};
use ::mongodb::error::{Error, ErrorKind};
use bson::{RawBsonRef, RawDocument};
use std::borrow::Cow;
use std::io;

/// Label that the driver puts on network errors that met a connection not yet up.
const CONNECTION_NOT_UP: &str = "SystemOverloadedError";

/// Codes by which a server says that it is not, or no longer, the primary.
const NOT_PRIMARY: &[i32] = &[10058, 10107, 13435];
/// Codes of a server that starts, stops or steps down.
const RECOVERING: &[i32] = &[91, 189, 11600, 11602, 13436];
const MAX_TIME_EXPIRED: i32 = 50;

/// Names of ours with the reference's names for the same.
const OWN: &[(&str, &str)] = &[
    ("ConnectionFailed", "MongoSocketOpenException"),
    ("NetworkError", "MongoSocketReadException"),
    ("NetworkTimeout", "MongoSocketReadTimeoutException"),
    ("ServerSelectionTimeout", "MongoTimeoutException"),
    ("PoolCleared", "MongoConnectionPoolClearedException"),
    ("AuthenticationFailed", "MongoSecurityException"),
    ("DnsFailed", "MongoSocketException"),
    ("TlsFailed", "MongoSecurityException"),
    ("InvalidCommand", "IllegalArgumentException"),
    ("InvalidReply", "MongoInternalException"),
    ("SessionsNotSupported", "MongoClientException"),
    ("ClientClosed", "IllegalStateException"),
    ("DriverError", "MongoException"),
];

/// A failure under one of the names that are ours.
pub(super) fn own(name: &'static str, message: String) -> Failure {
    let exception = OWN.iter().find(|(own, _)| *own == name).map(|(_, exception)| *exception);
    Failure { name: Cow::Borrowed(name), exception, message, ..Failure::default() }
}

/// The failure that an error of the driver stands for.
pub(super) fn of_error(error: &Error, secrets: &Secrets) -> Failure {
    match error.kind.as_ref() {
        // The server does not know the password, so its words stand as they are.
        ErrorKind::Command(it) => return refused(it.code, &it.code_name, it.message.clone()),
        // A reply without a code, which the driver cannot read as a refusal.
        ErrorKind::InvalidResponse { .. } => {
            if let Some(failure) = error.server_response().and_then(|reply| of_refusal(reply)) {
                return failure;
            }
        }
        _ => {}
    }
    let name = match error.kind.as_ref() {
        ErrorKind::Io(cause) if cause.kind() == io::ErrorKind::TimedOut => "NetworkTimeout",
        ErrorKind::Io(_) if error.contains_label(CONNECTION_NOT_UP) => "ConnectionFailed",
        ErrorKind::Io(_) => "NetworkError",
        ErrorKind::ServerSelection { .. } => "ServerSelectionTimeout",
        ErrorKind::ConnectionPoolCleared { .. } => "PoolCleared",
        ErrorKind::Authentication { .. } => "AuthenticationFailed",
        ErrorKind::DnsResolve { .. } => "DnsFailed",
        ErrorKind::InvalidTlsConfig { .. } => "TlsFailed",
        ErrorKind::InvalidArgument { .. } => "InvalidCommand",
        ErrorKind::InvalidResponse { .. } | ErrorKind::Bson(_) => "InvalidReply",
        ErrorKind::SessionsNotSupported => "SessionsNotSupported",
        ErrorKind::Shutdown => "ClientClosed",
        _ => "DriverError",
    };
    own(name, secrets.scrub(&words(&error.kind)))
}

/// The failure of an exchange on a connection of ours.
pub(super) fn of_fault(fault: &Fault) -> Failure {
    let name = match fault {
        Fault::Io(cause) if cause.kind() == io::ErrorKind::TimedOut => "NetworkTimeout",
        Fault::Io(_) | Fault::Closed | Fault::HalfReply => "NetworkError",
        Fault::Cut => "PoolCleared",
        Fault::Reply(_) => "InvalidReply",
        Fault::Command(_) => "InvalidCommand",
    };
    own(name, fault.to_string())
}

/// The failure of a reply that is not ok, or is no reply; none if it is ok.
pub(super) fn of_refusal(reply: &RawDocument) -> Option<Failure> {
    match reply.get("ok").map(|ok| ok.map(number)) {
        Ok(Some(Some(1))) => return None,
        Ok(Some(Some(_))) => {}
        Ok(Some(None)) => return Some(own("InvalidReply", "`ok` of the reply is not a number".to_owned())),
        Ok(None) => return Some(own("InvalidReply", "missing 'ok' value in response".to_owned())),
        Err(error) => return Some(own("InvalidReply", error.to_string())),
    }
    let text = |key| reply.get(key).ok().flatten().and_then(RawBsonRef::as_str);
    let (message, code_name) = (text("errmsg"), text("codeName"));
    match reply.get("code").ok().flatten().and_then(number) {
        Some(code) => {
            let message = message.unwrap_or_default().to_owned();
            Some(refused(i32::try_from(code).unwrap_or(0), code_name.unwrap_or_default(), message))
        }
        None => Some(match message {
            Some(message) => refused(0, code_name.unwrap_or("CommandFailed"), message.to_owned()),
            None => own("InvalidReply", "the reply is neither ok nor says why".to_owned()),
        }),
    }
}

/// A whole number, however it is written.
pub(super) fn number(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(n) => Some(i64::from(n)),
        RawBsonRef::Int64(n) => Some(n),
        RawBsonRef::Double(n) => Some(n as i64),
        _ => None,
    }
}

/// The server's own word about a failure is that it leads, or that it serves, no longer.
pub(super) fn has_lost_its_role(failure: &Failure) -> bool {
    let in_role = |code| NOT_PRIMARY.contains(&code) || RECOVERING.contains(&code);
    !failure.partial && failure.code.is_some_and(in_role)
}

/// The failure of a command that the server refused.
fn refused(code: i32, code_name: &str, message: String) -> Failure {
    let exception = match code {
        MAX_TIME_EXPIRED => "MongoExecutionTimeoutException",
        code if NOT_PRIMARY.contains(&code) => "MongoNotPrimaryException",
        code if RECOVERING.contains(&code) => "MongoNodeIsRecoveringException",
        _ => "MongoCommandException",
    };
    Failure {
        name: name(code, Some(code_name)),
        code: Some(code).filter(|code| *code != 0),
        exception: Some(exception),
        message,
        ..Failure::default()
    }
}

/// The failure of a reply that is ok but wrote only part, under the name of its first error.
pub(super) fn of_partial_write(reply: &RawDocument) -> Option<Failure> {
    let errors = reply.get_array("writeErrors").into_iter().flatten().filter_map(Result::ok);
    let mut errors = errors.filter_map(RawBsonRef::as_document);
    if let Some(first) = errors.next() {
        let (name, code, mut message) = named(first);
        let more = errors.count();
        if more > 0 {
            message.push_str(&format!(" (and {more} more write errors)"));
        }
        let exception = Some("MongoBulkWriteException");
        return Some(Failure {
            name,
            code,
            exception,
            message,
            partial: true,
            documents: more as u64 + 1,
            ..Failure::default()
        });
    }
    let error = reply.get_document("writeConcernError").ok()?;
    let (name, code, message) = named(error);
    let exception = Some("MongoWriteConcernException");
    Some(Failure { name, code, exception, message, partial: true, ..Failure::default() })
}

/// Name, number and message of an error document in a reply.
fn named(error: &RawDocument) -> (Cow<'static, str>, Option<i32>, String) {
    let code = error.get("code").ok().flatten().and_then(number);
    let code = code.and_then(|code| i32::try_from(code).ok()).unwrap_or(0);
    let message = error.get_str("errmsg").unwrap_or("the server gave no message").to_owned();
    (name(code, error.get_str("codeName").ok()), Some(code).filter(|code| *code != 0), message)
}

fn name(code: i32, code_name: Option<&str>) -> Cow<'static, str> {
    // Some servers send `Location<N>` where they have no name; the table may know better.
    let told = code_name.filter(|name| !name.is_empty() && !name.starts_with("Location"));
    match (codes::name_of(code), told) {
        (Some(known), None) => Cow::Borrowed(known),
        (Some(known), Some(told)) if known == told => Cow::Borrowed(known),
        (_, Some(told)) => Cow::Owned(told.to_owned()),
        (None, None) => Cow::Owned(format!("Code{code}")),
    }
}

/// What the driver says, without the parts that only its makers can read.
pub(super) fn words(kind: &ErrorKind) -> String {
    with_advice(plain(kind))
}

/// What the system says of a connection, with what to do where we know it.
pub(super) fn with_advice(words: String) -> String {
    if words.contains(NO_PORT) {
        format!("{words}{}", no_port_left(super::super::local_ports()))
    } else {
        words
    }
}

/// What the system says where there is no port left, as the driver passes it on in texts.
const NO_PORT: &str = "Cannot assign requested address";

/// Why a connection has no address of its own, and what to do.
fn no_port_left(ports: Option<(u16, u16)>) -> String {
    let range = match ports {
        Some((first, last)) => {
            let count = u32::from(last) - u32::from(first) + 1;
            format!("its {count} ports for outgoing connections ({first} to {last})")
        }
        None => "its ports for outgoing connections".to_owned(),
    };
    format!(
        ": this machine has used up {range} to one server, those of connections closed in the last minute included; \
         widen net.ipv4.ip_local_port_range, give fewer threads= or a maxPoolSize, or drive several servers or mongos"
    )
}

fn plain(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::ServerSelection { message, .. } => why_none_suits(message),
        other => plain_words(other),
    }
}

/// Why none of the servers suits, from the driver's description of a topology.
pub(super) fn why_none_suits(description: &str) -> String {
    let causes = server_errors(description);
    if causes.is_empty() { description.to_owned() } else { causes.join("; ") }
}

/// The errors of the servers, each once, from the driver's description of a topology: what stands between
/// `Error: Kind: ` and the labels.
fn server_errors(description: &str) -> Vec<&str> {
    let mut causes = Vec::new();
    for part in description.split("Error: Kind: ").skip(1) {
        let cause = part.split(", labels: ").next().unwrap_or(part);
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawDocumentBuf, doc};
    use std::sync::Arc;

    #[test]
    fn a_partial_write_goes_by_the_name_of_its_first_error() {
        let duplicate = doc! { "index": 0, "code": 11000, "errmsg": "E11000 duplicate key" };
        for (reply, name, message) in [
            (doc! { "ok": 1 }, None, ""),
            (doc! { "ok": 1, "writeErrors": [] }, None, ""),
            (
                doc! { "ok": 1, "writeErrors": [duplicate.clone()] },
                Some("DuplicateKey"),
                "E11000 duplicate key",
            ),
            (
                doc! { "ok": 1, "writeErrors": [duplicate.clone(), duplicate.clone(), duplicate] },
                Some("DuplicateKey"),
                "E11000 duplicate key (and 2 more write errors)",
            ),
            (
                doc! { "writeErrors": [{ "code": 121_i64, "errmsg": "no" }] },
                Some("DocumentValidationFailure"),
                "no",
            ),
            (doc! { "writeErrors": [{ "code": 77777.0 }] }, Some("Code77777"), "the server gave no message"),
            (
                doc! { "writeConcernError": { "code": 64, "codeName": "WriteConcernFailed", "errmsg": "late" } },
                Some("WriteConcernFailed"),
                "late",
            ),
        ] {
            let failure = of_partial_write(&RawDocumentBuf::try_from(&reply).expect("a document"));
            assert_eq!(failure.as_ref().map(|f| f.name.as_ref()), name, "{reply}");
            assert!(failure.as_ref().is_none_or(|f| f.partial && f.message == message), "{failure:?}");
        }
    }

    #[test]
    fn an_error_is_named_by_the_server_or_by_the_table_or_by_its_number() {
        for (code, code_name, expected) in [
            (48, Some("NamespaceExists"), "NamespaceExists"),
            (48, None, "NamespaceExists"),
            (48, Some(""), "NamespaceExists"),
            (31082, Some("Location31082"), "SearchNotEnabled"),
            (40324, Some("Location40324"), "Code40324"),
            (59, Some("Ours"), "Ours"),
        ] {
            assert_eq!(name(code, code_name), expected);
        }
    }

    #[test]
    fn a_machine_without_ports_left_is_told_why_and_what_to_do() {
        let error = ErrorKind::Io(Arc::new(io::Error::from_raw_os_error(99)));
        let text = words(&error);
        for part in
            ["Cannot assign requested address", "used up its", "ip_local_port_range", "fewer threads="]
        {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        assert!(
            no_port_left(Some((32_768, 60_999)))
                .contains("its 28232 ports for outgoing connections (32768 to 60999)")
        );
        let refused = ErrorKind::Io(Arc::new(io::Error::from_raw_os_error(111)));
        assert!(!words(&refused).contains("ports"));
    }

    #[test]
    fn a_selection_error_is_told_by_its_causes() {
        let kind = "Server selection timeout: No available servers. Topology: { Type: Unknown, Servers: [ { \
                    Address: 127.0.0.1:1, Type: Unknown, Error: Kind: I/O error: Connection refused (os error \
                    111), labels: {}, source: None, server response: None }, { Address: h:2, Type: Unknown, \
                    Error: Kind: I/O error: Connection refused (os error 111), labels: {} } ] }";
        assert_eq!(server_errors(kind), ["I/O error: Connection refused (os error 111)"]);
        assert!(server_errors("Server selection timeout: no primary").is_empty());
    }
}
