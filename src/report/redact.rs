//! Masks passwords in text that is shown or written. The rooms below show none; this is the last gate.

/// Parameters of a connection string whose value is a secret, in lower case, and what separates it.
const SECRETS: &[&str] = &["tlscertificatekeyfilepassword=", "proxypassword=", "aws_session_token:"];

/// `text` with the password of every `scheme://user:password@host` and every secret option as `***`.
///
/// A password written raw may hold `/`, `?` or `@`, so it is taken to reach to the last `@` of its word.
pub fn passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        out.push_str(&word(piece));
    }
    out
}

/// The same for one word of a command line, in which a password may hold blanks.
pub fn word(text: &str) -> String {
    SECRETS.iter().fold(user_info(text), |text, secret| option(&text, secret))
}

fn user_info(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let Some((credentials, host)) = rest.rsplit_once('@') else { return word.to_owned() };
    match credentials.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
        None => word.to_owned(),
    }
}

fn option(word: &str, secret: &str) -> String {
    // ASCII lower case keeps byte positions.
    let Some(at) = word.to_ascii_lowercase().find(secret) else { return word.to_owned() };
    let value = at + secret.len();
    let (before, rest) = word.split_at(value);
    let end =
        rest.find(|c: char| matches!(c, '&' | ',' | '\'' | '"') || c.is_whitespace()).unwrap_or(rest.len());
    format!("{before}***{}", &rest[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_of_a_password_comes_through() {
        for (text, shown) in [
            ("mongodb://h:27017/db?w=1", "mongodb://h:27017/db?w=1"),
            ("mongodb://u@h/db", "mongodb://u@h/db"),
            ("connection=mongodb://u:s3cr%40t@h/ x=1", "connection=mongodb://u:***@h/ x=1"),
            ("mongodb+srv://u:p@ss/w?rd@h1,h2/db", "mongodb+srv://u:***@h1,h2/db"),
            ("mongodb://u:@h", "mongodb://u:***@h"),
            (
                "mongodb://h/?tlsCertificateKeyFilePassword=s3cr&w=1",
                "mongodb://h/?tlsCertificateKeyFilePassword=***&w=1",
            ),
            (
                "mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:s3cr,A:b",
                "mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:***,A:b",
            ),
            ("nothing here\nat all", "nothing here\nat all"),
        ] {
            assert_eq!(passwords(text), shown);
        }
        assert_eq!(word("connection=mongodb://u:s3 cr@h/"), "connection=mongodb://u:***@h/");
    }
}
