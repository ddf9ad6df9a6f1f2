//! Metrics for Prometheus: scraped from a run under way, and pushed by it.

use crate::program::{Place, Ran};
use crate::{WORKLOAD, read_by};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// The metrics page of a run under way, once ops of it have ended.
fn scraped(place: &Place) -> String {
    place.file("my-load.v2.yaml", WORKLOAD);
    let mut child = place.start(&[
        "run",
        "workload=./my-load.v2.yaml",
        "driver=diag",
        "alias=x.y-z",
        "cycles=1000000",
        "threads=5",
        "errors=counter",
        "--metrics-listen=127.0.0.1:0",
        "--progress=none",
    ]);
    let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
    let mut address = String::new();
    while address.is_empty() {
        let mut line = String::new();
        assert_ne!(stderr.read_line(&mut line).expect("UTF-8"), 0, "no address was said");
        if let Some((_, rest)) = line.split_once("http://") {
            address = rest.split('/').next().expect("an address").to_owned();
        }
    }
    let page = loop {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: nbrs\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
        // Before the first second is over all counts are 0.
        if body.lines().any(|line| line.starts_with("nbrs_errors_total")) {
            break body.to_owned();
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    page
}

#[test]
fn metrics_can_be_scraped_while_a_run_goes_on() {
    let place = Place::new();
    let page = scraped(&place);
    let labels = r#"activity="x.y-z",op="b__ключи-🗝",workload="./my-load.v2.yaml""#;
    for name in ["nbrs_ops_ok_total", "nbrs_service_seconds_count", "nbrs_failed_seconds_sum"] {
        assert!(page.contains(&format!("\n{name}{{{labels}}} ")), "no {name} in {page}");
    }
    if let Some(python) = std::env::var_os("NBRS_TEST_PYTHON") {
        place.file("page.txt", &page);
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers/prometheus.py");
        let samples = read_by(Command::new(python).arg(script).arg(place.path().join("page.txt")));
        assert_eq!(samples.len(), page.lines().filter(|line| !line.starts_with('#')).count());
        let error = samples.iter().find(|sample| sample["name"] == "nbrs_errors_total").expect("errors");
        assert_eq!(error["labels"]["error"], "Busy");
        assert_eq!(error["labels"]["activity"], "x.y-z");
        assert!(samples.iter().any(|s| s["labels"]["op"] == "b__ключи-🗝"), "{samples:?}");
    } else {
        println!("skipped: NBRS_TEST_PYTHON is not set");
    }
}

/// What a gateway gets of a run that pushes to its path `path`: each request whole.
fn pushed(path: &str, answer: &'static str) -> (Ran, Vec<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}{path}", listener.local_addr().expect("bound"));
    let (send, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut request = Vec::new();
            let mut buffer = [0; 65_536];
            let body_from =
                |request: &[u8]| request.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
            loop {
                let read = stream.read(&mut buffer).expect("a request");
                request.extend(&buffer[..read]);
                let Some(from) = body_from(&request) else { continue };
                let head = String::from_utf8_lossy(&request[..from]).to_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let length: usize = length.expect("a length").parse().expect("a number");
                if request.len() >= from + length {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).expect("it reads the answer");
            let _ = send.send(request);
        }
    });
    let place = Place::new();
    let push = format!("--report-prompush-to={url}");
    let ran = place.run(&["run", "op=noop", "driver=diag", "cycles=7", &push]);
    (ran, requests.try_iter().collect())
}

#[test]
fn metrics_are_pushed_when_the_run_has_ended() {
    let (ran, requests) = pushed("/", "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    ran.ok();
    let last = String::from_utf8(requests.last().expect("a request").clone()).expect("text");
    assert!(last.starts_with("POST /metrics/job/nbrs HTTP/1.1\r\n"), "{last}");
    let ok = last.lines().find(|line| line.starts_with("nbrs_ops_ok_total{")).expect("a counter");
    assert!(ok.ends_with("} 7"), "{ok}");

    let (ran, requests) = pushed("/api/v1/write", "HTTP/1.1 204 No Content\r\n\r\n");
    ran.ok();
    let last = requests.last().expect("a request");
    let at = last.windows(4).position(|four| four == b"\r\n\r\n").expect("a body") + 4;
    let head = String::from_utf8_lossy(&last[..at]);
    let head = head.to_lowercase();
    assert!(head.contains("content-encoding: snappy") && head.contains("application/x-protobuf"), "{head}");
    let body = snap::raw::Decoder::new().decompress_vec(&last[at..]).expect("snappy");
    assert!(body.windows(17).any(|part| part == b"nbrs_ops_ok_total"), "no metric in it");

    let (ran, _) = pushed("/", "HTTP/1.1 400 Bad Request\r\n\r\nno");
    ran.refused(2, &["the last metrics could not be pushed to http://127.0.0.1", "400 Bad Request"]);
}
