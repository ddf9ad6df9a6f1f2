//! Masks passwords and other secrets of connection strings in text that is shown or written.

use std::ops::Range;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Options of a connection string whose value is a secret, in lower case.
const SECRET_OPTIONS: &[&str] =
    &["tlscertificatekeyfilepassword", "proxypassword", "authmechanismproperties", "password"];

/// `text` with the secrets of every connection string in it as `***`, whatever surrounds them.
///
/// A password written raw may hold `/`, `?`, `@` or a blank, so it is taken to reach to the last `@` of its word,
/// or of its line where its word has none.
pub fn passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while let Some(scheme) = rest.find("://") {
            // The word that the connection string begins in, and no further than the next one.
            let after = scheme + 3;
            let next = rest[after..]
                .find("://")
                .map_or(rest.len(), |at| rest[..after + at].trim_end_matches(is_scheme).len().max(after));
            let word = rest[after..next].find(char::is_whitespace).map_or(next, |at| after + at);
            let broken = !rest[after..word].contains('@') && !reads_as_hosts(hosts_of(&rest[after..word]));
            let end = if broken { rest[..next].rfind('@').map_or(word, |at| at.max(word)) } else { word };
            // What follows the last `@` of a broken password belongs to its connection string.
            let end = rest[end..next].find(char::is_whitespace).map_or(next, |at| end + at);
            out.push_str(&uri(&rest[..end]));
            rest = &rest[end..];
        }
        out.push_str(rest);
    }
    out
}

fn is_scheme(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+-.".contains(c)
}

/// The same for a text that holds one connection string and nothing behind it.
pub fn uri(text: &str) -> String {
    let mut shown = text.to_owned();
    let mut ranges = secret_ranges(text);
    ranges.sort_by_key(|range| range.start);
    for range in ranges.into_iter().rev() {
        shown.replace_range(range, MASK);
    }
    shown
}

/// Words as a shell would read them, without secrets.
pub fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+.,:/@%^".contains(c);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            let word = uri(word);
            if !word.is_empty() && word.chars().all(plain) {
                word
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// The byte ranges of `uri` that hold secrets; they do not overlap.
pub fn secret_ranges(uri: &str) -> Vec<Range<usize>> {
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
                let end = value.find(['\'', '"', '`']).unwrap_or(value.len());
                ranges.push(start..start + end);
            }
            at += option.len() + 1;
        }
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Where the password of `uri` stands, as its writer meant it: up to the last `@`, even where a `/` or `?`
/// in the password makes a reader that follows the grammar see something else.
pub fn password_range(uri: &str) -> Option<Range<usize>> {
    let start = uri.find("://")? + 3;
    let rest = &uri[start..];
    let (before, options) = rest.split_once('?').unwrap_or((rest, ""));
    // An `@` among the options belongs to them if all else reads as it should.
    let reads_well =
        reads_as_hosts(hosts_of(before)) && options.split('&').all(|option| option.contains('='));
    let at = if reads_well { before.rfind('@')? } else { rest.rfind('@')? };
    let colon = rest[..at].find(':')?;
    Some(start + colon + 1..start + at)
}

/// The hosts of what follows `scheme://`.
fn hosts_of(rest: &str) -> &str {
    rest.split(['/', '?']).next().and_then(|text| text.rsplit('@').next()).unwrap_or_default()
}

fn reads_as_hosts(text: &str) -> bool {
    text.split(',').all(|host| match host.split_once(':') {
        None => true,
        Some((_, port)) => host.starts_with('[') || port.parse::<u16>().is_ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_secret_is_left_of_a_connection_string() {
        for (text, shown) in [
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
            ("mongodb://u:s3 cr@h/", "mongodb://u:***@h/"),
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
            assert_eq!(uri(text), shown, "{text}");
            assert_eq!(passwords(text), shown, "{text}");
        }
    }

    #[test]
    fn secrets_are_masked_in_the_midst_of_other_text() {
        for (text, shown) in [
            ("connection=mongodb://u:s3cr%40t@h/ x=1", "connection=mongodb://u:***@h/ x=1"),
            (
                "no `mongodb://u:pw@h/?proxyPassword=pw`, ask a@b",
                "no `mongodb://u:***@h/?proxyPassword=***`, ask a@b",
            ),
            ("mongodb://h:1/ and b@c", "mongodb://h:1/ and b@c"),
            ("2 | k='mongodb://u:s3 cr@h/' x\n  |   ^", "2 | k='mongodb://u:***@h/' x\n  |   ^"),
            ("mongodb://u:a@h,mongodb://v:b@i/", "mongodb://u:***@h,mongodb://v:***@i/"),
            ("a: mongodb://u:a@h b: mongodb://v:b@i/", "a: mongodb://u:***@h b: mongodb://v:***@i/"),
            ("nothing here\nat all", "nothing here\nat all"),
            ("://:// é://", "://:// é://"),
        ] {
            assert_eq!(passwords(text), shown);
        }
    }

    proptest! {
        #[test]
        fn no_password_survives(password in "[ -~é]{4,12}", port in 1u16..) {
            // `1/2?a=b` reads as a port, a database and an option; `://` as another connection string.
            let reads_otherwise = password.contains("://") || (password.contains('?') && password.contains('='));
            prop_assume!(!reads_otherwise);
            let text = format!("mongodb://bob:{password}@example.invalid:{port}/db");
            let masked = format!("mongodb://bob:***@example.invalid:{port}/db");
            prop_assert_eq!(uri(&text), masked);
        }

        #[test]
        fn any_text_is_masked_without_a_panic(text in "(://|@|:| |é|mongodb|\\?|proxyPassword=|&|\n|,){0,20}") {
            passwords(&text);
        }
    }
}
