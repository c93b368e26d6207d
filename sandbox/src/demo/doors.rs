//! Ports on the loopback address, and what is served there.

use super::Error;
use axum::Router;
use std::net::Ipv4Addr;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// Which port is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// This one and no other.
    Exactly(u16),
    /// This one if it is free.
    Rather(u16),
    /// Any.
    Any,
}

/// Opens a port.
pub(crate) async fn open(wanted: Wanted) -> Result<TcpListener, Error> {
    let at = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    match wanted {
        Wanted::Exactly(port) => {
            at(port).await.map_err(|error| format!("cannot listen on port {port}: {error}").into())
        }
        Wanted::Rather(port) => match at(port).await {
            Ok(listener) => Ok(listener),
            Err(_) => Ok(at(0).await?),
        },
        Wanted::Any => Ok(at(0).await?),
    }
}

/// A port that can be opened now, for whoever opens it by number.
pub(crate) async fn free(wanted: Wanted) -> Result<u16, Error> {
    Ok(open(wanted).await?.local_addr()?.port())
}

/// Serves until the process ends.
pub(crate) fn serve(listener: TcpListener, router: Router) {
    TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
}
