//! The client's half of SCRAM (RFC 5802, RFC 7677) as MongoDB uses it: without channel binding, and for
//! SCRAM-SHA-1 with a digest in the place of the password. Of the crates that do this none knows that digest
//! and is kept up; the primitives are those that the driver uses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A server that asks for fewer rounds is not trusted; the driver's limit.
const LEAST_ROUNDS: u32 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mechanism {
    Sha1,
    Sha256,
}

impl Mechanism {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mechanism::Sha1 => "SCRAM-SHA-1",
            Mechanism::Sha256 => "SCRAM-SHA-256",
        }
    }

    fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        fn of<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
            // An HMAC takes keys of any length.
            let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { return Vec::new() };
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Mechanism::Sha1 => of::<Hmac<Sha1>>(key, text),
            Mechanism::Sha256 => of::<Hmac<Sha256>>(key, text),
        }
    }

    fn hash(self, text: &[u8]) -> Vec<u8> {
        match self {
            Mechanism::Sha1 => Sha1::digest(text).to_vec(),
            Mechanism::Sha256 => Sha256::digest(text).to_vec(),
        }
    }

    /// `Hi()` of the RFC.
    fn salted(self, password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
        let mut key = vec![0; if self == Mechanism::Sha1 { 20 } else { 32 }];
        // Likewise: a password of any length will do.
        let _ = match self {
            Mechanism::Sha1 => pbkdf2::pbkdf2::<Hmac<Sha1>>(password, salt, rounds, &mut key),
            Mechanism::Sha256 => pbkdf2::pbkdf2::<Hmac<Sha256>>(password, salt, rounds, &mut key),
        };
        key
    }

    /// What MongoDB takes for the password.
    fn password(self, user: &str, password: &str) -> Result<String, String> {
        match self {
            Mechanism::Sha1 => {
                let digest = md5::Md5::digest(format!("{user}:mongo:{password}"));
                Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
            }
            Mechanism::Sha256 => stringprep::saslprep(password)
                .map(std::borrow::Cow::into_owned)
                .map_err(|_| "the password holds characters that SASLprep forbids".to_owned()),
        }
    }
}

/// What a password comes to with a server's salt: costly to make, and the same for every connection.
#[derive(Clone)]
pub(super) struct Keys {
    client: Vec<u8>,
    server: Vec<u8>,
}

/// What keys depend on beside user and password.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Salt {
    pub(super) mechanism: Mechanism,
    salt: Vec<u8>,
    rounds: u32,
}

impl Salt {
    pub(super) fn keys(&self, user: &str, password: &str) -> Result<Keys, String> {
        let mechanism = self.mechanism;
        let password = mechanism.password(user, password)?;
        let salted = mechanism.salted(password.as_bytes(), &self.salt, self.rounds);
        Ok(Keys {
            client: mechanism.mac(&salted, b"Client Key"),
            server: mechanism.mac(&salted, b"Server Key"),
        })
    }
}

/// A conversation that has begun.
pub(super) struct Conversation {
    mechanism: Mechanism,
    /// The first message without its header.
    bare: String,
    nonce: String,
}

/// The server's first message, read.
pub(super) struct Challenge {
    pub(super) salt: Salt,
    nonce: String,
    text: String,
}

impl Conversation {
    pub(super) fn new(mechanism: Mechanism, user: &str) -> Conversation {
        Conversation::with_nonce(mechanism, user, BASE64.encode(rand::random::<[u8; 24]>()))
    }

    fn with_nonce(mechanism: Mechanism, user: &str, nonce: String) -> Conversation {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        Conversation { mechanism, bare: format!("n={user},r={nonce}"), nonce }
    }

    pub(super) fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// Reads the server's first message.
    ///
    /// # Errors
    /// It is not one, or not an answer to ours.
    pub(super) fn challenge(&self, payload: &[u8]) -> Result<Challenge, String> {
        let text = std::str::from_utf8(payload).map_err(|_| "the server's message is not text".to_owned())?;
        let mut fields = text.split(',');
        let mut field = |key: &str| {
            let value = fields.next().and_then(|field| field.strip_prefix(key)?.strip_prefix('='));
            value.ok_or_else(|| format!("the server's message has no `{key}` where it must"))
        };
        let (nonce, salt, rounds) = (field("r")?, field("s")?, field("i")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("the server's nonce does not continue ours".to_owned());
        }
        let salt = BASE64.decode(salt).map_err(|_| "the server's salt is not base64".to_owned())?;
        let rounds = rounds.parse().ok().filter(|rounds| *rounds >= LEAST_ROUNDS);
        let rounds = rounds.ok_or_else(|| format!("the server asks for fewer than {LEAST_ROUNDS} rounds"))?;
        let salt = Salt { mechanism: self.mechanism, salt, rounds };
        Ok(Challenge { salt, nonce: nonce.to_owned(), text: text.to_owned() })
    }

    /// The last message, and the payload by which the server shows that it knows the keys too.
    pub(super) fn last(&self, challenge: &Challenge, keys: &Keys) -> (String, String) {
        // `biws` is the header of the first message, `n,,`, in base64.
        let unproved = format!("c=biws,r={}", challenge.nonce);
        let signed = format!("{},{},{unproved}", self.bare, challenge.text);
        let stored = self.mechanism.hash(&keys.client);
        let signature = self.mechanism.mac(&stored, signed.as_bytes());
        let proof: Vec<u8> = keys.client.iter().zip(&signature).map(|(key, sign)| key ^ sign).collect();
        let verifier = self.mechanism.mac(&keys.server, signed.as_bytes());
        (format!("{unproved},p={}", BASE64.encode(proof)), format!("v={}", BASE64.encode(verifier)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7677 §3, and for SCRAM-SHA-1 the one of MongoDB's authentication specification,
    /// which is RFC 5802 §5 with the digest as its password.
    #[test]
    fn conversations_of_the_standards_are_held_to_the_letter() {
        for (mechanism, nonce, first, challenge, last, verifier) in [
            (
                Mechanism::Sha256,
                "rOprNGfwEbeRWgbNEkqO",
                "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
                "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
                "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                 p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            ),
            (
                Mechanism::Sha1,
                "fyko+d2lbbFgONRv9qkxdawL",
                "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
                "r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,s=rQ9ZY3MntBeuP3E1TDVC4w==,i=10000",
                "c=biws,r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,\
                 p=MC2T8BvbmWRckDw8oWl5IVghwCY=",
                "v=UMWeI25JD1yNYZRMpZ4VHvhZ9e0=",
            ),
        ] {
            let conversation = Conversation::with_nonce(mechanism, "user", nonce.to_owned());
            assert_eq!(conversation.first(), first);
            let challenge = conversation.challenge(challenge.as_bytes()).expect("a challenge");
            let keys = challenge.salt.keys("user", "pencil").expect("keys");
            assert_eq!(conversation.last(&challenge, &keys), (last.to_owned(), verifier.to_owned()));
        }
    }

    #[test]
    fn a_challenge_that_is_none_is_refused() {
        let conversation = Conversation::with_nonce(Mechanism::Sha256, "user", "abc".to_owned());
        for (challenge, words) in [
            ("r=abcd,s=YQ==,i=1", "fewer than 4096"),
            ("r=abcd,s=YQ==,i=99999999999", "fewer"),
            ("r=abc,s=YQ==,i=4096", "nonce"),
            ("r=xyz,s=YQ==,i=4096", "nonce"),
            ("r=abcd,s=?,i=4096", "base64"),
            ("r=abcd,i=4096", "`s`"),
            ("e=other-error", "`r`"),
            ("", "`r`"),
            ("ré", "`r`"),
        ] {
            let error = conversation.challenge(challenge.as_bytes()).err().expect(challenge);
            assert!(error.contains(words), "{challenge}: {error}");
        }
        assert!(conversation.challenge(&[0xff]).is_err());
    }

    #[test]
    fn names_keep_their_commas_and_equals_signs() {
        let conversation = Conversation::with_nonce(Mechanism::Sha256, "a=b,c", "n".to_owned());
        assert_eq!(conversation.first(), "n,,n=a=3Db=2Cc,r=n");
    }
}
