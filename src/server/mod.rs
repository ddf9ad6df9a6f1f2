//! The embedded server: MongoDB wire protocol onto a fjall store.

use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where the data lives; made if it is not there.
    pub data_dir: PathBuf,
    /// 0 = any free port. Always on the loopback address.
    pub port: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another process has the data directory; the text names `nbrs server`.
    #[error("{0}")]
    InUse(String),
    #[error("{what} {path}: {source}", path = path.display())]
    Io { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{0}")]
    Store(String),
}

/// A server that runs on the current tokio runtime.
pub struct Server {}

impl Server {
    pub async fn start(config: ServerConfig) -> Result<Server, ServerError> {
        let _ = config;
        todo!()
    }

    pub fn address(&self) -> SocketAddr {
        todo!()
    }

    /// Stops taking commands and puts everything acknowledged on disk.
    pub async fn stop(self) -> Result<(), ServerError> {
        todo!()
    }
}
