//! Ports on the loopback address, and what is served there.

use axum::Router;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Serves until the process ends.
pub(crate) fn serve(listener: TcpListener, router: Router) {
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
}
