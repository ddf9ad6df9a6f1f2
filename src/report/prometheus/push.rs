//! Metrics sent to where they are kept: as text to a push gateway, or as remote write 1.0 (Protocol Buffers,
//! compressed by Snappy) to whatever takes that. In a thread of its own, so that no gateway holds up the run.

use super::super::{ReportError, Tell, wording};
use super::{Family, Shared, families, text};
use crate::redact;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use ureq::Agent;

/// How long a push may take, from the look-up of the host's name to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where metrics are pushed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// With the user and password that it may name.
    url: String,
    /// Remote write rather than the text.
    remote_write: bool,
}

/// Without user and password.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.url.split_once("://") {
            Some((scheme, rest)) => {
                let host = rest.find('/').unwrap_or(rest.len());
                let user = rest[..host].rfind('@').map_or(0, |at| at + 1);
                write!(f, "{scheme}://{}", redact::passwords(&rest[user..]))
            }
            None => write!(f, "{}", redact::passwords(&self.url)),
        }
    }
}

impl Target {
    /// The URL of a push gateway (`/metrics/job/nbrs` where it names no path), or of a remote-write endpoint, whose
    /// path ends with `/write` or `/api/v1/push`.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence; no password is in it.
    pub fn read(url: &str) -> Result<Target, String> {
        const FORM: &str = "it is not of the form http://HOST[:PORT]/PATH or https://…";
        let parsed: ureq::http::Uri = url.parse().map_err(|_| FORM.to_owned())?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none_or(str::is_empty) {
            return Err(FORM.to_owned());
        }
        let behind_user = parsed.authority().map_or("", |authority| authority.as_str());
        let behind_user = behind_user.rsplit('@').next().unwrap_or("");
        if parsed.port_u16().is_none() && parsed.host().is_some_and(|host| host.len() < behind_user.len()) {
            return Err("its port is no number up to 65535".to_owned());
        }
        let path = parsed.path().trim_end_matches('/');
        let remote_write = path.ends_with("/write") || path.ends_with("/api/v1/push");
        let mut url = url.to_owned();
        if path.is_empty() && parsed.query().is_none() {
            url = format!("{}/metrics/job/nbrs", url.trim_end_matches('/'));
        }
        Ok(Target { url, remote_write })
    }

    fn push(&self, agent: &Agent, families: &[Family], session: &str) -> Result<(), String> {
        let post = agent.post(&self.url);
        let answer = if self.remote_write {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
            let request = write_request(families, session, now);
            let body = snap::raw::Encoder::new().compress_vec(&request).map_err(|error| error.to_string())?;
            post.header("Content-Type", "application/x-protobuf")
                .header("Content-Encoding", "snappy")
                .header("X-Prometheus-Remote-Write-Version", "0.1.0")
                .send(&body)
        } else {
            post.header("Content-Type", "text/plain; version=0.0.4").send(&text(families))
        };
        let mut answer = answer.map_err(|error| error.to_string())?;
        if answer.status().is_success() {
            return Ok(());
        }
        // What it says is worth showing where it can be had.
        let said = answer.body_mut().with_config().limit(10_000).lossy_utf8(true).read_to_string();
        Err(format!("it answers {} {}", answer.status(), wording::line(&said.unwrap_or_default(), 200))
            .trim_end()
            .to_owned())
    }
}

/// The thread that pushes.
pub struct Pusher {
    stop: Sender<()>,
    thread: JoinHandle<Result<(), ReportError>>,
}

impl Pusher {
    /// Pushes every so often, and when it is told to end. The first push that fails is told; each is tried again
    /// with the next one.
    pub fn start(
        target: Target,
        session: String,
        every: Duration,
        metrics: Shared,
        tell: Tell,
    ) -> Result<Pusher, ReportError> {
        let (stop, stopped) = channel::<()>();
        let agent: Agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("nbrs/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let run = move || {
            let mut told = false;
            loop {
                let last = !matches!(stopped.recv_timeout(every), Err(RecvTimeoutError::Timeout));
                match (target.push(&agent, &families(&metrics), &session), last) {
                    (Ok(()), true) => return Ok(()),
                    (Err(_), true) if told => return Err(ReportError::Said),
                    (Err(why), true) => {
                        let error = format!("the last metrics could not be pushed to {target}: {why}");
                        return Err(ReportError::Other(error));
                    }
                    (Err(why), false) if !told => {
                        told = true;
                        tell(&ReportError::Other(format!(
                            "metrics could not be pushed to {target}: {why}; further pushes are tried, and no more \
                             of them is said"
                        )));
                    }
                    (_, false) => {}
                }
            }
        };
        let thread = std::thread::Builder::new().name("nbrs-push".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            ReportError::Other(format!("cannot start the thread that pushes metrics: {error}"))
        })?;
        Ok(Pusher { stop, thread })
    }

    /// Pushes for the last time; what came of that.
    pub fn finish(self) -> Result<(), ReportError> {
        drop(self.stop);
        match self.thread.join() {
            Ok(pushed) => pushed,
            Err(_) => Err(ReportError::Other("the thread that pushes metrics broke down".to_owned())),
        }
    }
}

/// A `WriteRequest` of remote write 1.0: time series of sorted labels, each with one sample at `millis`.
fn write_request(families: &[Family], session: &str, millis: i64) -> Vec<u8> {
    let mut request = Vec::new();
    for family in families {
        for sample in &family.samples {
            let mut labels: Vec<(&str, String)> = sample.labels.clone();
            labels.push(("__name__", format!("{}{}", family.name, sample.suffix)));
            labels.push(("job", "nbrs".to_owned()));
            labels.push(("session", session.to_owned()));
            labels.sort();
            let mut series = Vec::new();
            for (name, value) in labels {
                let mut label = Vec::new();
                field(1, name.as_bytes(), &mut label);
                field(2, value.as_bytes(), &mut label);
                field(1, &label, &mut series);
            }
            let mut point = vec![1 << 3 | 1];
            point.extend(sample.value.to_le_bytes());
            point.push(2 << 3);
            varint(millis.cast_unsigned(), &mut point);
            field(2, &point, &mut series);
            field(1, &series, &mut request);
        }
    }
    request
}

/// A field of bytes, as Protocol Buffers have it.
fn field(number: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;
    use std::sync::{Arc, Mutex};

    /// The fields of a message: numbers and bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let mut found = Vec::new();
        while let Some((tag, rest)) = bytes.split_first() {
            bytes = rest;
            let mut number = || {
                let length = bytes.iter().position(|byte| byte & 0x80 == 0).expect("it ends") + 1;
                let (part, rest) = bytes.split_at(length);
                bytes = rest;
                part.iter().rev().fold(0u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f))
            };
            let length = match tag & 7 {
                0 => {
                    found.push((tag >> 3, number().to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                2 => usize::try_from(number()).expect("small"),
                other => panic!("wire type {other}"),
            };
            let (part, rest) = bytes.split_at(length);
            bytes = rest;
            found.push((tag >> 3, part.to_vec()));
        }
        found
    }

    #[test]
    fn remote_write_holds_every_sample_under_sorted_labels() {
        let families = measured("m", "op").families();
        let request = fields(&write_request(&families, "S", 1_700_000_000_123));
        let all: usize = families.iter().map(|family| family.samples.len()).sum();
        assert_eq!(request.len(), all);
        let series = fields(&request[0].1);
        let labels: Vec<(String, String)> = series
            .iter()
            .filter(|(number, _)| *number == 1)
            .map(|(_, label)| {
                let text = |at: usize| String::from_utf8(fields(label)[at].1.clone()).expect("UTF-8");
                (text(0), text(1))
            })
            .collect();
        assert!(labels.is_sorted(), "{labels:?}");
        assert!(labels.contains(&("__name__".to_owned(), "nbrs_ops_ok_total".to_owned())), "{labels:?}");
        assert!(labels.contains(&("session".to_owned(), "S".to_owned())), "{labels:?}");
        let sample = fields(&series.last().expect("a sample").1);
        assert_eq!(sample[0].1, 8f64.to_le_bytes());
        assert_eq!(sample[1].1, 1_700_000_000_123u64.to_le_bytes());
    }

    #[test]
    fn a_path_says_what_is_pushed() {
        for (text, url, remote_write) in [
            ("http://gate:9091", "http://gate:9091/metrics/job/nbrs", false),
            ("http://gate:9091/", "http://gate:9091/metrics/job/nbrs", false),
            ("http://[::1]:9/", "http://[::1]:9/metrics/job/nbrs", false),
            ("https://gate/metrics/job/mine", "https://gate/metrics/job/mine", false),
            ("http://prom:9090/api/v1/write", "http://prom:9090/api/v1/write", true),
            ("https://u:p@mimir/api/v1/push", "https://u:p@mimir/api/v1/push", true),
        ] {
            let target = Target::read(text).expect(text);
            assert_eq!((target.url.as_str(), target.remote_write), (url, remote_write), "{text}");
        }
        for text in
            ["gate:9091", "ftp://gate/", "http://", "http://u:s3cret@/x", "http://gate:99999/", "http://a b/"]
        {
            let error = Target::read(text).expect_err(text);
            assert!(!error.contains("s3cret"), "{error}");
        }
        let secret =
            Target::read("https://u:s3c/r@et@gate/api/v1/push?token=x").map(|target| target.to_string());
        assert!(secret.is_err() || secret.is_ok_and(|shown| !shown.contains("s3c") && !shown.contains("u:")));
        let shown = Target::read("https://u:s3cret@gate/api/v1/push").expect("a URL").to_string();
        assert_eq!(shown, "https://gate/api/v1/push");
    }

    /// What is told of a gateway that is not there: during the run, and by the last push.
    fn pushed_to_nobody(every: Duration, pushes: bool) -> (Vec<String>, ReportError) {
        // Port 9 of this machine: nobody listens there.
        let target = Target::read("http://u:s3cret@127.0.0.1:9/").expect("a URL");
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let (kept, (send, said)) = (Arc::clone(&told), channel());
        let tell: Tell = Arc::new(move |error: &ReportError| {
            kept.lock().expect("whole").push(error.to_string());
            let _ = send.send(());
        });
        let pusher = Pusher::start(target, "S".to_owned(), every, Shared::default(), tell).expect("a thread");
        if pushes {
            said.recv().expect("it is told");
        }
        let error = pusher.finish().expect_err("nobody listens");
        let told = told.lock().expect("whole").clone();
        (told, error)
    }

    #[test]
    fn a_gateway_that_is_not_there_is_told_once() {
        let (told, error) = pushed_to_nobody(Duration::from_millis(10), true);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("could not be pushed to http://127.0.0.1:9/metrics/job/nbrs: "), "{told:?}");
        assert!(!told[0].contains("s3cret") && matches!(error, ReportError::Said), "{told:?} {error}");
        let (told, error) = pushed_to_nobody(Duration::from_secs(60), false);
        assert!(
            told.is_empty() && error.to_string().contains("the last metrics could not be pushed"),
            "{error}"
        );
    }
}
