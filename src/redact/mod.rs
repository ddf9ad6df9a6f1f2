//! Masks passwords and other secrets of connection strings in text that is shown or written.

use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// What stands in the place of a secret.
const MASK: &str = "***";

/// Options of a connection string whose value is a secret.
const SECRET_OPTIONS: &str = "tlscertificatekeyfilepassword|proxypassword|authmechanismproperties|password";

/// What a connection string begins with: a scheme, one that was mistyped, or the name of the parameter.
static START: LazyLock<Regex> = LazyLock::new(|| {
    own(r#"(?i)[a-z][a-z0-9+.-]*://|\bmongodb(?:\+srv)?(?::/*|//+)|\bconnection["'`]?\s*[=:]\s*["'`]?"#)
});

/// `user:password@host` that nothing else marks as a connection string.
static BARE: LazyLock<Regex> = LazyLock::new(|| own(r#"[\w.%+$~-]+:([^\s:/@'"`{}\[\]()=,]\S*)@[^\s@]"#));

/// An option with its value, unless that is a bind point.
static OPTION: LazyLock<Regex> =
    LazyLock::new(|| own(&format!(r#"(?i)\b(?:{SECRET_OPTIONS})=([^\s&'"`{{][^\s&'"`]*)"#)));

/// What stands behind a connection string in a text and is none of it.
const AROUND: &[char] = &['\'', '"', '`', ',', '.', ';', ':', ')', ']', '}', '>'];

/// What a message quotes.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| own(r"`([^`\n]+)`"));

fn own(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are regular expressions")
}

/// `text` with the secrets of every connection string in it as `***`, whatever surrounds them, and wherever else
/// in the text they stand.
///
/// A password written raw may hold `/`, `?`, `@` or a blank, so it is taken to reach to the last `@` of its word,
/// or of its line where its word has none.
pub fn passwords(text: &str) -> String {
    let mut ranges = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        ranges.extend(secrets_of_line(line).into_iter().map(|range| shifted(range, start)));
        start += line.len();
    }
    ranges.extend(matches(&OPTION, text));
    ranges.extend(repeats(text, &ranges));
    masked(text, ranges)
}

/// The same for a text that holds one connection string and nothing behind it.
pub fn uri(text: &str) -> String {
    masked(text, secret_ranges(text))
}

/// The same for the value of the parameter `name`.
pub fn parameter(name: &str, value: &str) -> String {
    if name == "connection" { uri(value) } else { passwords(value) }
}

/// Words as a shell would read them, without secrets.
pub fn command_line(words: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=+.,:/@%^".contains(c);
    let quoted: Vec<String> = words
        .iter()
        .map(|word| {
            let word = match word.strip_prefix("connection=") {
                Some(value) => format!("connection={}", uri(value)),
                None => passwords(word),
            };
            if !word.is_empty() && word.chars().all(plain) {
                word
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

/// The byte ranges of a connection string that hold secrets; they do not overlap.
pub fn secret_ranges(uri: &str) -> Vec<Range<usize>> {
    let start = body(uri);
    let found = secrets_of_body(&uri[start..]);
    merged(found.into_iter().map(|range| shifted(range, start)).collect())
}

/// Where the password of a connection string stands, as its writer meant it: up to the last `@`, even where a
/// `/` or `?` in the password makes a reader that follows the grammar see something else; without an `@`, what
/// follows a colon and is no port.
pub fn password_range(uri: &str) -> Option<Range<usize>> {
    let start = body(uri);
    password_of_body(&uri[start..]).map(|range| shifted(range, start))
}

/// Where what follows the scheme begins, or whatever stands in the scheme's place.
fn body(uri: &str) -> usize {
    if let Some(scheme) = uri.find("://").filter(|at| !uri[..*at].contains('@')) {
        return scheme + 3;
    }
    let mut at = 0;
    while let Some(start) = START.find_at(uri, at) {
        if start.start() != at {
            break;
        }
        at = start.end();
    }
    at
}

fn secrets_of_line(line: &str) -> Vec<Range<usize>> {
    let starts: Vec<Range<usize>> = START.find_iter(line).map(|found| found.range()).collect();
    let mut ranges = Vec::new();
    let mut plain_from = 0;
    for (position, start) in starts.iter().enumerate() {
        ranges.extend(bare(line, plain_from..start.start.max(plain_from)));
        let from = start.end;
        let next = starts.get(position + 1).map_or(line.len(), |next| next.start);
        // The word that the connection string begins in, and no further than the next one.
        let word = line[from..next].find(char::is_whitespace).map_or(next, |at| from + at);
        let broken = !line[from..word].contains('@') && !reads_as_hosts(hosts_of(&line[from..word]));
        let end = if broken { line[..next].rfind('@').map_or(word, |at| at.max(word)) } else { word };
        // What follows the last `@` of a broken password belongs to its connection string.
        let end = line[end..next].find(char::is_whitespace).map_or(next, |at| end + at);
        ranges.extend(secrets_of_body(&line[from..end]).into_iter().map(|range| shifted(range, from)));
        plain_from = end;
    }
    ranges.extend(bare(line, plain_from..line.len()));
    ranges
}

fn bare(line: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let start = range.start;
    matches(&BARE, &line[range]).into_iter().map(|found| shifted(found, start)).collect()
}

/// The first groups of all matches.
fn matches(regex: &Regex, text: &str) -> Vec<Range<usize>> {
    regex.captures_iter(text).filter_map(|groups| groups.get(1).map(|group| group.range())).collect()
}

/// The other places of the secrets at `known`: as words of their own, and in quoted pieces, since what splits a
/// text at its colons quotes what lies between them.
fn repeats(text: &str, known: &[Range<usize>]) -> Vec<Range<usize>> {
    // A name of one or two letters is in a password by chance.
    const SHORTEST: usize = 3;
    let secrets: Vec<&str> = known
        .iter()
        .map(|range| &text[range.clone()])
        .filter(|s| s.len() >= SHORTEST && *s != MASK)
        .collect();
    let mut ranges = Vec::new();
    for secret in &secrets {
        for (at, _) in text.match_indices(secret) {
            let end = at + secret.len();
            let inner = |c: char| c.is_alphanumeric();
            if !text[..at].ends_with(inner) && !text[end..].starts_with(inner) {
                ranges.push(at..end);
            }
        }
    }
    let holds_secret =
        |from: usize, to: usize| known.iter().any(|range| from < range.end && range.start < to);
    let is_piece = |quoted: &Range<usize>| {
        let piece = &text[quoted.clone()];
        piece.len() >= SHORTEST
            && !holds_secret(quoted.start, quoted.end)
            && text.match_indices(piece).any(|(at, _)| holds_secret(at, at + piece.len()))
    };
    ranges.extend(matches(&QUOTED, text).into_iter().filter(is_piece));
    ranges
}

/// The secrets of what follows `scheme://`.
fn secrets_of_body(rest: &str) -> Vec<Range<usize>> {
    let password = password_of_body(rest);
    let options_from = password.as_ref().map_or(0, |range| range.end);
    let options = matches(&OPTION, &rest[options_from..]).into_iter();
    password.into_iter().chain(options.map(|range| shifted(range, options_from))).collect()
}

fn password_of_body(rest: &str) -> Option<Range<usize>> {
    let (before, options) = rest.split_once('?').unwrap_or((rest, ""));
    let hosts_read = reads_as_hosts(hosts_of(before));
    // An `@` among the options belongs to them if all else reads as it should.
    let reads_well = hosts_read && options.split('&').all(|option| option.contains('='));
    let user_info = if reads_well { before } else { rest };
    let (colon, end) = match user_info.rfind('@') {
        Some(at) => (rest[..at].find(':')?, at),
        None if hosts_read => return None,
        None => (rest.find(':')?, rest.trim_end_matches(AROUND).len()),
    };
    (colon + 1 < end).then(|| colon + 1..end)
}

/// The hosts of what follows `scheme://`.
fn hosts_of(rest: &str) -> &str {
    rest.split(['/', '?']).next().and_then(|text| text.rsplit('@').next()).unwrap_or_default()
}

fn reads_as_hosts(text: &str) -> bool {
    text.trim_end_matches(AROUND).split(',').all(|host| match host.split_once(':') {
        None => true,
        Some((_, port)) => {
            // A bind point, a template variable, a form in a help text, the address of an IPv6 host.
            let made = port.starts_with(['{', '<', '$']) || port.starts_with("TEMPLATE") || port == "PORT";
            host.starts_with('[') || host.ends_with('[') || made || port.parse::<u16>().is_ok()
        }
    })
}

fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// The ranges in order, those that meet as one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

fn masked(text: &str, ranges: Vec<Range<usize>>) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for range in merged(ranges) {
        shown.push_str(&text[at..range.start]);
        shown.push_str(MASK);
        at = range.end;
    }
    shown.push_str(&text[at..]);
    shown
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
            // an `@` is missing
            ("mongodb://app:s3cr", "mongodb://app:***"),
            ("mongodb://app:s3/c?r", "mongodb://app:***"),
            ("mongodb+srv://app:s3cr", "mongodb+srv://app:***"),
            ("mongodb://h:{port}/", "mongodb://h:{port}/"),
            ("http://HOST[:PORT]/PATH http://HOST:PORT", "http://HOST[:PORT]/PATH http://HOST:PORT"),
            // the scheme is mistyped, or missing
            ("mongodb:/app:s3cr@h/", "mongodb:/app:***@h/"),
            ("mongodb//app:s3cr@h/", "mongodb//app:***@h/"),
            ("mongodb:app:s3cr@h/", "mongodb:app:***@h/"),
            ("mongodb:/app:s3cr", "mongodb:/app:***"),
            ("mongo://app:s3cr@h/", "mongo://app:***@h/"),
            ("://app:s3cr@h", "://app:***@h"),
            ("connection=app:s3cr@h", "connection=app:***@h"),
            ("connection=app:s3cr", "connection=app:***"),
            ("connection=app:s3 cr@h", "connection=app:***@h"),
            ("connection: 'app:s3cr@h'", "connection: 'app:***@h'"),
            ("connection=localhost:27017", "connection=localhost:27017"),
            ("app:s3cr@h", "app:***@h"),
            ("app:s3:c/r@h:1/db?w=1", "app:***@h:1/db?w=1"),
            ("localhost", "localhost"),
            ("localhost:27017", "localhost:27017"),
            ("cycles=10", "cycles=10"),
        ] {
            assert_eq!(uri(text), shown, "{text}");
            assert_eq!(passwords(text), shown, "{text}");
        }
        assert_eq!(uri("app:s3cr"), "app:***");
        assert_eq!(parameter("connection", "app:s3cr"), "app:***");
        assert_eq!(parameter("tags", "block:main"), "block:main");
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
            // wherever else they stand
            (
                "errors=mongodb://u:s3cr@h: no verb `s3cr@h`; s3cr",
                "errors=mongodb://u:***@h: no verb `***`; ***",
            ),
            ("errors=mongodb://u:s3;cr@h: no verb `//u:s3`", "errors=mongodb://u:***@h: no verb `***`"),
            ("alias=app:s3cr@h is odd", "alias=app:***@h is odd"),
            // what is in a secret by chance
            ("step `s` has mongodb://u:s3cr@h/", "step `s` has mongodb://u:***@h/"),
            // what only looks like one
            (
                "mongodb/f@b.yaml:3:5: error: `{mail:\"a@b\"}`",
                "mongodb/f@b.yaml:3:5: error: `{mail:\"a@b\"}`",
            ),
            ("f.yaml:3:5: error: b@c", "f.yaml:3:5: error: b@c"),
            (
                "driver mongodb: no reply from `127.0.0.1:1`, `mongodb://h:1`.",
                "driver mongodb: no reply from `127.0.0.1:1`, `mongodb://h:1`.",
            ),
            ("password={pw} connection: no route", "password={pw} connection: no route"),
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
