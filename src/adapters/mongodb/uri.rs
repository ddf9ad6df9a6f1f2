//! The connection string: what the driver makes of it, what must never be shown of it, and what to say when
//! it cannot be read. The driver alone decides what is valid; this file only keeps its secrets.

use super::super::AdapterError;
use ::mongodb::error::ErrorKind;
use ::mongodb::options::ClientOptions;
use std::ops::Range;
use std::time::Duration;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// URI options whose value is a secret, in lower case.
const SECRET_OPTIONS: &[&str] =
    &["tlscertificatekeyfilepassword", "proxypassword", "authmechanismproperties"];

/// Bytes that a password must not hold unless they are percent-encoded.
const RESERVED: &[u8] = b":/?#[]@";

/// `text` with the password and other secrets of the connection string in it replaced by `***`. Safe for
/// connection strings that are not valid, too; text without one comes back as it is.
pub fn redact(text: &str) -> String {
    let mut shown = text.to_owned();
    let mut ranges = secret_ranges(text);
    ranges.sort_by_key(|range| range.start);
    for range in ranges.into_iter().rev() {
        shown.replace_range(range, MASK);
    }
    shown
}

/// The byte ranges of `uri` that hold secrets; they do not overlap.
fn secret_ranges(uri: &str) -> Vec<Range<usize>> {
    let password = password_range(uri);
    let options_from = password.as_ref().map_or(0, |range| range.end);
    let mut ranges: Vec<_> = password.into_iter().collect();
    if let Some(question) = uri[options_from..].find('?') {
        let mut at = options_from + question + 1;
        for option in uri[at..].split('&') {
            if let Some((key, value)) = option.split_once('=')
                && SECRET_OPTIONS.contains(&key.to_ascii_lowercase().as_str())
            {
                let start = at + key.len() + 1;
                ranges.push(start..start + value.len());
            }
            at += option.len() + 1;
        }
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Where the password of `uri` stands, as its writer meant it: up to the last `@`, even where a `/` or `?`
/// in the password makes a reader that follows the grammar see something else.
fn password_range(uri: &str) -> Option<Range<usize>> {
    let start = uri.find("://")? + 3;
    let rest = &uri[start..];
    let (before, options) = rest.split_once('?').unwrap_or((rest, ""));
    // An `@` among the options belongs to them if all else reads as it should.
    let hosts = before.split('/').next().and_then(|text| text.rsplit('@').next()).unwrap_or_default();
    let reads_well = reads_as_hosts(hosts) && options.split('&').all(|option| option.contains('='));
    let at = if reads_well { before.rfind('@')? } else { rest.rfind('@')? };
    let colon = rest[..at].find(':')?;
    Some(start + colon + 1..start + at)
}

/// User name and password as the driver sees them: what stands before the last `@` that is not among the
/// options.
fn user_info(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let (before, _) = rest.split_once('?').unwrap_or((rest, ""));
    before.rsplit_once('@').map(|(user_info, _)| user_info)
}

fn reads_as_hosts(text: &str) -> bool {
    text.split(',').all(|host| match host.split_once(':') {
        None => true,
        Some((_, port)) => host.starts_with('[') || port.parse::<u16>().is_ok(),
    })
}

/// Texts that must not appear in any message.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of a connection string as written and, where the driver could read it, as decoded.
    fn of(uri: &str, options: Option<&ClientOptions>) -> Secrets {
        let mut secrets: Vec<String> =
            secret_ranges(uri).into_iter().map(|range| uri[range].to_owned()).collect();
        secrets.extend(options.and_then(|options| options.credential.as_ref()?.password.clone()));
        // Longer first, so that none is cut by one that it contains.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.retain(|secret| !secret.is_empty());
        secrets.dedup();
        Secrets(secrets)
    }

    pub(super) fn scrub(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
    }
}

/// A connection string, read.
pub(super) struct Target {
    pub(super) options: ClientOptions,
    pub(super) secrets: Secrets,
    /// The connection string without its secrets.
    pub(super) shown: String,
}

impl Target {
    /// Reads `uri`; names of SRV records are resolved within `limit`.
    pub(super) async fn parse(uri: &str, limit: Duration) -> Result<Target, AdapterError> {
        let shown = redact(uri);
        if let Some(range) = password_range(uri)
            && needs_encoding(&uri.as_bytes()[range])
        {
            return Err(password_must_be_encoded(&shown));
        }
        // The driver slices the two bytes after a `%` unchecked, so that `%` before a letter that is not
        // ASCII would end the process; what it would refuse anyway is refused here.
        if user_info(uri).is_some_and(|text| has_stray_percent(text.as_bytes())) {
            return Err(AdapterError::Configuration(format!(
                "connection={shown} is not valid: write a `%` in the user name as %25"
            )));
        }
        let parsed = match tokio::time::timeout(limit, ClientOptions::parse(uri)).await {
            Ok(parsed) => parsed,
            Err(_) => {
                return Err(AdapterError::Unreachable(format!(
                    "{shown}: its DNS records were not found within {limit:?}"
                )));
            }
        };
        match parsed {
            Ok(options) => {
                let secrets = Secrets::of(uri, Some(&options));
                Ok(Target { options, secrets, shown })
            }
            Err(_) if uri.split_once('?').is_some_and(|(_, options)| options.contains('@')) => {
                // Perhaps a password that reads as options; the driver's words could hold a part of it.
                let scheme = uri.split("://").next().unwrap_or_default();
                Err(password_must_be_encoded(&format!("{scheme}://{MASK}")))
            }
            Err(error) => {
                let secrets = Secrets::of(uri, None);
                let words = secrets.scrub(&plain_words(&error.kind));
                Err(match *error.kind {
                    ErrorKind::DnsResolve { .. } | ErrorKind::Io(_) => {
                        AdapterError::Unreachable(format!("{shown}: {words}"))
                    }
                    _ => AdapterError::Configuration(format!("connection={shown} is not valid: {words}")),
                })
            }
        }
    }
}

/// The driver's message without its preamble.
pub(super) fn plain_words(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::InvalidArgument { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

fn needs_encoding(password: &[u8]) -> bool {
    password.iter().any(|byte| RESERVED.contains(byte)) || has_stray_percent(password)
}

/// A `%` that does not start a percent-encoded byte.
fn has_stray_percent(text: &[u8]) -> bool {
    text.iter().enumerate().any(|(at, byte)| {
        let hex = |offset: usize| text.get(at + offset).is_some_and(u8::is_ascii_hexdigit);
        *byte == b'%' && !(hex(1) && hex(2))
    })
}

fn password_must_be_encoded(shown: &str) -> AdapterError {
    AdapterError::Configuration(format!(
        "connection={shown} is not valid: percent-encode the password (and an `@` anywhere else); in it `@` is written %40, `:` %3A, \
         `/` %2F, `?` %3F, `#` %23, `%` %25, `[` %5B, `]` %5D"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_secret_is_left_of_a_connection_string() {
        for (uri, shown) in [
            ("mongodb://h:27017/db", "mongodb://h:27017/db"),
            ("mongodb://bob@h/", "mongodb://bob@h/"),
            ("mongodb://bob:pw@h:1,i:2/db?w=1", "mongodb://bob:***@h:1,i:2/db?w=1"),
            ("mongodb+srv://bob:pw@h/", "mongodb+srv://bob:***@h/"),
            ("connection=mongodb://bob:pw@h/", "connection=mongodb://bob:***@h/"),
            ("mongodb://bob:p%40ss%231@h/", "mongodb://bob:***@h/"),
            // not valid, and still not shown
            ("mongodb://bob:p@ss#1@h/", "mongodb://bob:***@h/"),
            ("mongodb://bob:p/s?s@h/", "mongodb://bob:***@h/"),
            ("mongodb://bob:p?ss@h/", "mongodb://bob:***@h/"),
            // an `@` among the options is not a password
            ("mongodb://h:27017/?appName=a@b", "mongodb://h:27017/?appName=a@b"),
            ("mongodb://[::1]:27017,h:1/?appName=a@b", "mongodb://[::1]:27017,h:1/?appName=a@b"),
            (
                "mongodb://h/?tls=true&tlsCertificateKeyFilePassword=pw&w=1",
                "mongodb://h/?tls=true&tlsCertificateKeyFilePassword=***&w=1",
            ),
            (
                "mongodb://bob:pw@h/?authMechanismProperties=AWS_SESSION_TOKEN:t",
                "mongodb://bob:***@h/?authMechanismProperties=***",
            ),
            ("localhost", "localhost"),
            ("cycles=10", "cycles=10"),
        ] {
            assert_eq!(redact(uri), shown, "{uri}");
        }
    }

    async fn refusal(uri: &str) -> AdapterError {
        match Target::parse(uri, Duration::from_secs(1)).await {
            Ok(_) => panic!("{uri} should be refused"),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn a_raw_password_is_answered_with_percent_encode_it() {
        for password in ["p@ss#1", "p/ss", "p?ss", "p:ss", "100%", "a%zz", "%é", "%aé", "[x]", "p#ss"] {
            let error = refusal(&format!("mongodb://bob:{password}@h.example/db?w=1")).await;
            let text = error.to_string();
            assert!(matches!(error, AdapterError::Configuration(_)), "{text}");
            assert!(text.contains("percent-encode the password"), "{text}");
            assert!(!text.contains(password), "{text}");
        }
    }

    #[tokio::test]
    async fn an_encoded_password_is_read_and_both_its_forms_are_scrubbed() {
        let target = Target::parse("mongodb://bob:p%40ss%231@h/db", Duration::from_secs(1)).await.unwrap();
        let credential = target.options.credential.clone().unwrap();
        assert_eq!(credential.password.as_deref(), Some("p@ss#1"));
        assert_eq!(target.secrets.scrub("raw p%40ss%231, decoded p@ss#1"), "raw ***, decoded ***");
        assert_eq!(target.shown, "mongodb://bob:***@h/db");
    }

    #[tokio::test]
    async fn other_mistakes_are_answered_in_the_drivers_words() {
        for (uri, words) in [
            ("localhost:27017", "scheme"),
            ("http://h", "http"),
            ("mongodb://h1,h2/x/h3:27017/db", "illegal character in database name"),
            ("mongodb://h/?retryWrits=true", "retrywrit"),
            ("mongodb://h/?maxPoolSize=0", "maxPoolSize"),
            ("mongodb+srv://h:27017/", "port"),
            ("mongodb://b%ob@h/", "%25"),
            ("", "scheme"),
        ] {
            let error = refusal(uri).await;
            let text = error.to_string();
            assert!(matches!(error, AdapterError::Configuration(_)), "{text}");
            assert!(text.to_lowercase().contains(&words.to_lowercase()), "{uri}: {text}");
        }
    }

    proptest! {
        #[test]
        fn no_password_survives_redaction(password in "[ -~é]{4,12}", port in 1u16..) {
            // `1/2?a=b` reads as a port, a database and an option.
            prop_assume!(!(password.contains('?') && password.contains('=')));
            let uri = format!("mongodb://bob:{password}@example.invalid:{port}/db");
            let shown = redact(&uri);
            prop_assert_eq!(shown, format!("mongodb://bob:***@example.invalid:{}/db", port));
        }

        #[test]
        fn reading_any_text_neither_panics_nor_shows_a_password(password in "\\PC{3,10}") {
            let uri = format!("mongodb://bob:{password}@\u{1}/");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            if let Err(error) = runtime.block_on(Target::parse(&uri, Duration::from_secs(1))) {
                let text = error.to_string();
                let text = text.split("percent-encode").next().unwrap_or(&text);
                prop_assert!(!text.replace("bob:***@", "").contains(&password), "{}", text);
            }
        }
    }
}
