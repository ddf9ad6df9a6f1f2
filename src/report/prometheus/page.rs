//! The page that is scraped: one text served over plain HTTP/1.1, a connection a request, each bounded in size
//! and time. The thread here shares nothing with those that run ops.

use super::super::ReportError;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a request, and how long its answer, may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request that are read.
const MOST: usize = 16 * 1024;

/// Serves one page until it is dropped.
pub struct Page {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Page {
    /// Listens on `address` (`127.0.0.1:9400`, `:9400` on all interfaces, port 0 for any) and answers
    /// `GET /metrics` with what `text` gives then.
    pub fn serve(address: &str, text: impl Fn() -> String + Send + 'static) -> Result<Page, ReportError> {
        let cannot = |why: String| ReportError::Other(format!("cannot listen on `{address}`: {why}"));
        let full = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address.to_owned() };
        let listener = TcpListener::bind(&full).map_err(|error| cannot(error.to_string()))?;
        let bound = listener.local_addr().map_err(|error| cannot(error.to_string()))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("nbrs-metrics".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::SeqCst) {
                        break;
                    }
                    match stream {
                        // Whoever goes away in the middle will come again.
                        Ok(stream) => drop(answer(stream, &text)),
                        // No file is left, perhaps: that passes, but not at once.
                        Err(_) => std::thread::sleep(Duration::from_millis(100)),
                    }
                }
            })
            .map_err(|error| cannot(error.to_string()))?;
        Ok(Page { address: bound, stop, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread up; were that to fail, it would end with the program.
        if TcpStream::connect_timeout(&self.address, PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, text: &dyn Fn() -> String) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < MOST {
        let left = deadline.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut buffer)? {
            0 => break,
            read => request.extend(buffer.iter().take(read)),
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut words = line.lines().next().unwrap_or("").split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = path.split('?').next().unwrap_or("");
    let (status, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics" | "/") => ("200 OK", text()),
        ("GET" | "HEAD", _) => ("404 Not Found", "the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", "only GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(request: &str) -> String {
        let page = Page::serve("127.0.0.1:0", || "x 1\n".to_owned()).expect("a free port");
        let mut stream = TcpStream::connect(page.address()).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers and closes");
        answer
    }

    #[test]
    fn the_page_is_served_and_nothing_else() {
        let answer = served("GET /metrics?x=y HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nx 1\n"), "{answer}");
        assert!(served("HEAD / HTTP/1.1\r\n\r\n").ends_with("Connection: close\r\n\r\n"));
        assert!(served("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(served("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn an_address_that_cannot_be_listened_on_is_an_error() {
        let page = Page::serve(":0", String::new).expect("any port");
        for address in ["nowhere", &page.address().to_string()] {
            let error = Page::serve(address, String::new).err().expect("it is taken, or none").to_string();
            assert!(error.starts_with(&format!("cannot listen on `{address}`: ")), "{error}");
        }
    }
}
