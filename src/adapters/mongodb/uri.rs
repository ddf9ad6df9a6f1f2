//! The connection string: what the driver makes of it, and what to say when it cannot be read. The driver alone
//! decides what is valid; this file only keeps its secrets.

use super::super::AdapterError;
use crate::redact;
use ::mongodb::error::ErrorKind;
use ::mongodb::options::ClientOptions;
use std::path::Path;
use std::time::Duration;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Bytes that a password must not hold unless they are percent-encoded.
const RESERVED: &[u8] = b":/?#[]@";

/// User name and password as the driver sees them: what stands before the last `@` that is not among the
/// options.
fn user_info(uri: &str) -> Option<&str> {
    let (_, rest) = uri.split_once("://")?;
    let (before, _) = rest.split_once('?').unwrap_or((rest, ""));
    before.rsplit_once('@').map(|(user_info, _)| user_info)
}

/// Texts that must not appear in any message.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// The secrets of a connection string as written and, where the driver could read it, as decoded.
    fn of(uri: &str, options: Option<&ClientOptions>) -> Secrets {
        let mut secrets: Vec<String> =
            redact::secret_ranges(uri).into_iter().map(|range| uri[range].to_owned()).collect();
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
        let shown = redact::uri(uri);
        if redact::password_range(uri).is_some() && !uri.contains('@') {
            return Err(AdapterError::Configuration(format!(
                "connection={shown} is not valid: what follows the `:` is no port (1 to 65535); a user name and a \
                 password are followed by `@` and a host"
            )));
        }
        if let Some(range) = redact::password_range(uri)
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
                        AdapterError::Unreachable(format!("{shown}: {words}{}", without_resolver()))
                    }
                    _ => AdapterError::Configuration(format!("connection={shown} is not valid: {words}")),
                })
            }
        }
    }
}

/// What is missing where a name cannot be resolved, such as in an empty root.
fn without_resolver() -> &'static str {
    match Path::new("/etc/resolv.conf").exists() {
        true => "",
        false => ": there is no /etc/resolv.conf, which names the servers that resolve names",
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
