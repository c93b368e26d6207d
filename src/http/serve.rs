//! Accepts connections until told to stop, then lets every request that has begun finish.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

/// How long to wait when no connection can be accepted, as when file descriptors run out.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves `router` until `stop`, then waits for the requests that have begun.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    header_timeout: Duration,
    stop: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header_timeout);
    let (graceful, connections) = (GracefulShutdown::new(), TaskTracker::new());
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Some(stream) = ready(accepted.map(|(stream, _)| stream)).await else { continue };
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        connections.spawn(async move {
            if let Err(error) = connection.await {
                debug!(%error, "a connection ended early");
            }
        });
    }
    graceful.shutdown().await;
}

async fn ready(accepted: std::io::Result<TcpStream>) -> Option<TcpStream> {
    // Answers are small and awaited: without this they would sit in the kernel for 40 ms.
    match accepted.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
        Ok(stream) => Some(stream),
        Err(error) => {
            warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(PAUSE).await;
            None
        }
    }
}
