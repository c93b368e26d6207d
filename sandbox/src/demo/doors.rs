//! Ports on the loopback address, and what is served there.

use axum::Router;
use sandbox_platform::Port;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// The number for whoever opens a port by its number: 0, and so any, where the one that is wanted is taken.
pub(crate) async fn number(wanted: Port) -> u16 {
    match wanted {
        Port::Any => 0,
        Port::Exactly(number) => number,
        Port::Rather(number) => match Port::Exactly(number).open().await {
            Ok(_) => number,
            Err(_) => 0,
        },
    }
}

/// Serves until the process ends.
pub(crate) fn serve(listener: TcpListener, router: Router) {
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
}
