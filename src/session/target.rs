//! The target of a run: the URI that the user gave, or the embedded server with its data directory.

use super::SessionError;
use crate::server::{Server, ServerConfig, ServerError};
use crate::span::Diagnostic;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use tokio::sync::oneshot;

/// The data directory of the embedded server if the user names none: the platform's place for user data.
pub fn default_data_dir() -> Result<PathBuf, SessionError> {
    directories::ProjectDirs::from("", "", "nbrs").map(|dirs| dirs.data_dir().to_owned()).ok_or_else(|| {
        SessionError::usage(
            Diagnostic::error("there is no home directory to keep the embedded server's data in")
                .help("name one with --data-dir"),
        )
    })
}

/// Bytes free for us on the file system that holds `path` (or the nearest folder above it that exists).
pub fn free_bytes(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|p| p.exists())?;
    let stat = rustix::fs::statvfs(if there.as_os_str().is_empty() { Path::new(".") } else { there }).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Raises this process's limit on open files to what it may be. Gives the limit that then holds; `None` if there
/// is none.
pub fn open_files_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised, the old one holds.
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    if raised.is_ok() { limit.maximum } else { limit.current }
}

/// Files that a run needs besides its connections: the store's, the runtime's, the driver's monitors.
const OTHER_FILES: u64 = 60;

/// Refuses `connections`, which have so many `ends` in this process, where it may have no more than `limit` open files.
pub fn check_files(alias: &str, connections: u64, ends: u64, limit: Option<u64>) -> Result<(), Diagnostic> {
    let need = ends.saturating_add(OTHER_FILES);
    match limit.filter(|limit| need > *limit) {
        Some(limit) => Err(Diagnostic::error(format!(
            "`{alias}` needs about {need} open files for its {connections} connections, and this process may have \
             {limit}"
        ))
        .help("raise the limit (`ulimit -n`), or give fewer threads or a maxPoolSize in the URI")),
        None => Ok(()),
    }
}

/// Refuses `connections` to one server where this machine has no more than `ports`, from the first to the last.
pub fn check_ports(alias: &str, connections: u64, ports: Option<(u16, u16)>) -> Result<(), Diagnostic> {
    let Some((first, last)) = ports else { return Ok(()) };
    let there = u64::from(last) - u64::from(first) + 1;
    if connections <= there {
        return Ok(());
    }
    Err(Diagnostic::error(format!(
        "`{alias}` needs a port for each of its {connections} connections, and this machine has {there} for \
         connections to one server ({first} to {last})"
    ))
    .help("widen net.ipv4.ip_local_port_range, or give fewer threads or a maxPoolSize in the URI"))
}

/// The largest pool that a connection string allows (`maxPoolSize`), if it says.
pub fn pool_limit(uri: &str) -> Option<u64> {
    let (_, options) = uri.split_once('?')?;
    options
        .split('&')
        .filter_map(|option| option.split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case("maxPoolSize"))
        .and_then(|(_, value)| value.parse().ok())
        // The driver reads 0 as no limit.
        .filter(|limit| *limit > 0)
}

/// The embedded server of this process. It has a runtime of its own, so that its disk does not hold up the
/// threads that measure.
pub struct Embedded {
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<Result<(), ServerError>>>,
}

impl Embedded {
    /// Starts it on a free loopback port.
    pub fn start(data_dir: &Path) -> Result<Embedded, SessionError> {
        let config = ServerConfig { data_dir: data_dir.to_owned(), port: 0 };
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new()
            .name("embedded-server".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(2)
                    .thread_name("embedded-server")
                    .enable_all()
                    .build();
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        let _ = ready.send(Err(ServerError::Store(format!("no runtime: {error}"))));
                        return Ok(());
                    }
                };
                runtime.block_on(async move {
                    let server = match Server::start(config).await {
                        Ok(server) => server,
                        Err(error) => {
                            let _ = ready.send(Err(error));
                            return Ok(());
                        }
                    };
                    let _ = ready.send(Ok(server.address().port()));
                    let _ = stopped.await;
                    server.stop().await
                })
            })
            .map_err(|error| SessionError::Target(format!("cannot start the embedded server: {error}")))?;
        match started.recv() {
            Ok(Ok(port)) => Ok(Embedded { port, stop: Some(stop), thread: Some(thread) }),
            Ok(Err(error)) => Err(match error {
                ServerError::InUse(_) | ServerError::Unusable(_) => {
                    SessionError::usage(Diagnostic::error(error.to_string()))
                }
                _ => SessionError::Target(format!("cannot start the embedded server: {error}")),
            }),
            Err(_) => Err(SessionError::Target("the embedded server ended while it started".to_owned())),
        }
    }

    pub fn uri(&self) -> String {
        format!("mongodb://127.0.0.1:{}", self.port)
    }

    /// Stops it with everything acknowledged on disk.
    pub fn stop(mut self) -> Result<(), SessionError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), SessionError> {
        drop(self.stop.take());
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(SessionError::Target(format!("the embedded server did not end well: {error}")))
            }
            Err(_) => Err(SessionError::Target("the embedded server did not end well".to_owned())),
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // A session that fails midway still leaves the store on disk; there is nobody left to tell.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_need_files_and_ports() {
        assert!(check_files("main", 1000, 1000, None).is_ok());
        assert!(check_files("main", 1000, 1000, Some(1060)).is_ok());
        let error = check_files("main", 1000, 2000, Some(256)).expect_err("too many");
        assert!(
            error.message.contains("about 2060 open files for its 1000 connections"),
            "{}",
            error.message
        );
        assert!(error.message.contains("may have 256"), "{}", error.message);
        for (connections, ports, ok) in [
            (28_232, Some((32_768, 60_999)), true),
            (28_233, Some((32_768, 60_999)), false),
            (u64::MAX, None, true),
            (2, Some((5, 5)), false),
        ] {
            assert_eq!(check_ports("main", connections, ports).is_ok(), ok, "{connections} {ports:?}");
        }
        let error = check_ports("main", 40_000, Some((32_768, 60_999))).expect_err("too many");
        assert!(error.message.contains("this machine has 28232 for"), "{}", error.message);
    }

    #[test]
    fn the_pool_is_as_large_as_the_uri_allows() {
        for (uri, limit) in [
            ("mongodb://h/", None),
            ("mongodb://h/?w=1", None),
            ("mongodb://h/?w=1&maxPoolSize=50", Some(50)),
            ("mongodb://h/db?maxpoolsize=8000&w=1", Some(8000)),
            ("mongodb://h/?maxPoolSize=0", None),
        ] {
            assert_eq!(pool_limit(uri), limit, "{uri}");
        }
    }
}
