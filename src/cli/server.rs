//! `nbrs server`: the embedded server alone, for any client, until it is told to end.

use super::signals::Signals;
use crate::server::{Server, ServerConfig, ServerError, remove_data};
use std::io::Write;
use std::path::PathBuf;

/// Serves until a signal asks for an end, then puts everything acknowledged on disk; with `drop` empties the data
/// directory instead.
///
/// # Errors
/// As [`Server::start`], [`Server::stop`] and [`remove_data`] have them.
pub async fn run(port: u16, data_dir: PathBuf, drop: bool) -> Result<(), ServerError> {
    if drop {
        return tokio::task::spawn_blocking(move || remove_data(&data_dir))
            .await
            .map_err(|error| ServerError::Store(format!("emptying the data directory failed: {error}")))?;
    }
    let path = data_dir.clone();
    let no_signals = |source| ServerError::Io { what: "no signals for the server on", path, source };
    let mut signals = Signals::new().map_err(no_signals)?;
    let server = Server::start(ServerConfig { data_dir, port }).await?;
    let mut stdout = std::io::stdout().lock();
    // Nobody may be reading; that is no reason not to serve.
    let _ = writeln!(stdout, "listening on mongodb://{}", server.address()).and_then(|()| stdout.flush());
    std::mem::drop(stdout);
    signals.next().await;
    server.stop().await
}
