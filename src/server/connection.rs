//! Takes connections and serves each one: a message in, its reply out, one after the other.

use super::command::{Shared, answer, replace_reply};
use crate::wire::MessageReader;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A reply buffer that a long reply made longer than this is given back.
const KEEP: usize = 1 << 20;

/// Accepts until `stopping` changes, then waits for the commands that are running.
pub async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopping: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let mut number: i32 = 0;
    let mut idle = tokio::time::interval(Duration::from_secs(60));
    loop {
        tokio::select! {
            biased;
            _ = stopping.changed() => break,
            _ = idle.tick() => shared.cursors.close_idle(),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    number = number.wrapping_add(1);
                    connections.spawn(serve(stream, shared.clone(), number, stopping.clone()));
                }
                // Out of file descriptors, mostly: give those that are open time to close.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            },
        }
    }
    // A client that does not take its reply must not keep the server.
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(2), all).await;
}

async fn serve(stream: TcpStream, shared: Arc<Shared>, number: i32, mut stopping: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    shared.connections.fetch_add(1, Ordering::Relaxed);
    shared.connections_made.fetch_add(1, Ordering::Relaxed);
    let (read, mut write) = stream.into_split();
    let mut reader = MessageReader::new(read);
    let mut out = Vec::new();
    loop {
        let message = tokio::select! {
            biased;
            message = reader.next() => message,
            _ = stopping.changed() => break,
        };
        // Whatever is wrong with the stream, it cannot be trusted after that: the connection is closed.
        let Ok(Some(message)) = message else { break };
        let Ok(outcome) = answer(&shared, number, message, &mut out) else { break };
        if let Some(ticket) = outcome.ticket
            && let Err(error) = shared.store.durability.on_disk(ticket).await
        {
            replace_reply(&outcome, &error, &mut out);
        }
        if outcome.reply {
            let sent = tokio::select! {
                biased;
                sent = write.write_all(&out) => sent.is_ok(),
                _ = stopping.changed() => false,
            };
            if !sent {
                break;
            }
        }
        out.clear();
        if out.capacity() > KEEP {
            out = Vec::new();
        }
        if *stopping.borrow() {
            break;
        }
    }
    shared.connections.fetch_sub(1, Ordering::Relaxed);
}
