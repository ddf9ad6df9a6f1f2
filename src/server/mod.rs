//! The embedded server: MongoDB wire protocol onto a fjall store.
//!
//! [`Server::start`] opens a data directory and serves it on a loopback port, on threads of its own, so that
//! a load generator in the same process keeps its runtime for itself. What it can do is [`COMMANDS`]: a row and
//! a file for each wire command. What it cannot do it refuses with MongoDB's code and name.
//!
//! ```text
//! connection ─wire→ command ─row→ commands/* ─→ scan (filter, index) ─→ cursor ─→ reply
//!                                            └→ collection (documents, indexes) ─→ store ─→ durability
//! ```

mod collection;
mod command;
mod commands;
mod compare;
mod connection;
mod cursor;
mod durability;
mod error;
mod filter;
mod key;
mod path;
mod pipeline;
mod projection;
mod raw;
mod scan;
mod schema;
mod store;
mod update;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use command::{CommandRow, Counter};
pub use commands::COMMANDS;

/// The version of MongoDB that the server behaves like and tells its clients.
pub const MONGODB_VERSION: &str = "8.0.0";

/// Where and on which port to serve.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where the data lives; made if it is not there.
    pub data_dir: PathBuf,
    /// 0 = any free port. Always on the loopback address.
    pub port: u16,
}

/// Why the server did not start or stop as it should.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another process has the data directory; the text names `nbrs server`.
    #[error("{0}")]
    InUse(String),
    /// The data directory cannot be used as one: it holds something else, or no directory can be made there.
    #[error("{0}")]
    Unusable(String),
    #[error("{what} {path}: {source}", path = path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    /// The port cannot be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen { port: u16, source: std::io::Error },
    #[error("{0}")]
    Store(String),
}

/// A running server. It has a runtime of its own; dropped without [`Server::stop`] it ends in the background.
pub struct Server {
    address: SocketAddr,
    stopping: watch::Sender<bool>,
    accepting: Option<JoinHandle<()>>,
    shared: Option<Arc<command::Shared>>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Opens the data directory and begins to listen.
    ///
    /// # Errors
    /// The directory is in use or not one of nbrs, the data cannot be read, the port cannot be had.
    pub async fn start(config: ServerConfig) -> Result<Server, ServerError> {
        let ServerConfig { data_dir, port } = config;
        let path = data_dir.clone();
        // Opening replays the journal: that may take a moment, and must not hold the caller's runtime.
        let store = tokio::task::spawn_blocking(move || store::Store::open(&data_dir))
            .await
            .map_err(|error| ServerError::Store(format!("opening the data failed: {error}")))??;
        let runtime = Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8))
            .thread_name("nbrs-server")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|source| ServerError::Io { what: "no threads for", path, source })?;
        let listening = runtime.spawn(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
        let bound = match listening.await {
            Ok(bound) => bound.and_then(|listener| Ok((listener.local_addr()?, listener))),
            Err(error) => Err(std::io::Error::other(error)),
        };
        let (address, listener) = match bound {
            Ok(bound) => bound,
            Err(source) => {
                runtime.shutdown_background();
                return Err(ServerError::Listen { port, source });
            }
        };
        let shared = Arc::new(command::Shared::new(store, address.port()));
        let (stopping, stop) = watch::channel(false);
        let accepting = runtime.spawn(connection::accept(listener, shared.clone(), stop));
        Ok(Server {
            address,
            stopping,
            accepting: Some(accepting),
            shared: Some(shared),
            runtime: Some(runtime),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops taking commands and puts everything acknowledged on disk.
    ///
    /// # Errors
    /// The disk failed.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        let _ = self.stopping.send(true);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.await;
        }
        let (runtime, shared) = (self.runtime.take(), self.shared.take());
        let closing = tokio::task::spawn_blocking(move || {
            if let Some(runtime) = runtime {
                runtime.shutdown_timeout(std::time::Duration::from_secs(5));
            }
            let synced = shared.as_ref().map_or(Ok(()), |shared| shared.store.durability.stop());
            drop(shared);
            synced
        });
        match closing.await {
            Ok(synced) => synced.map_err(ServerError::Store),
            Err(error) => Err(ServerError::Store(format!("closing the data failed: {error}"))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.stopping.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Empties a data directory.
///
/// # Errors
/// [`ServerError::InUse`] if a process has it open; a directory that is not one of nbrs.
pub fn remove_data(data_dir: &Path) -> Result<(), ServerError> {
    store::remove_data(data_dir)
}
