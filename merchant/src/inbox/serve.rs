//! Accepts connections: so many at once, and none that is slow to say what it wants.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{debug, warn};

/// Connections at once; further ones wait in the kernel's queue.
const CONNECTIONS: usize = 512;
/// How long the headers of a request may take, and a connection may be silent between two requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted, as when file descriptors run out.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` for ever.
pub(super) async fn serve(listener: TcpListener, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let (room, mut connections) = (Arc::new(Semaphore::new(CONNECTIONS)), JoinSet::new());
    loop {
        while connections.try_join_next().is_some() {}
        // The semaphore is never closed.
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // An answer that sits in the kernel for 40 ms is late, not wrong.
        stream.set_nodelay(true).unwrap_or_default();
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection(TokioIo::new(stream), service);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
}
