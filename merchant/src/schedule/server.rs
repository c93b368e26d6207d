//! Health and metrics of the scheduler.

use super::ScheduleError;
use super::metrics::Metrics;
use crate::clock::{Clock as _, SystemClock};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

#[derive(Debug)]
struct Pages {
    metrics: Arc<Metrics>,
    /// A last run longer ago than this is no sign of health, seconds.
    stale_after: u64,
}

/// Serves on `address`, as a task of `tasks`.
pub(super) async fn serve(
    tasks: &mut JoinSet<()>,
    address: SocketAddr,
    metrics: Arc<Metrics>,
    stale_after: u64,
) -> Result<(), ScheduleError> {
    let failed = |why| ScheduleError::Io { what: "the page for health and metrics", why };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let pages = Router::new()
        .route("/health/live", get(|| async { "live\n" }))
        .route("/health/ready", get(ready))
        .route("/metrics", get(text))
        .with_state(Arc::new(Pages { metrics, stale_after }));
    tasks.spawn(async move {
        // It ends with the program, or with the listener; then /health tells nothing any more.
        drop(axum::serve(listener, pages).await);
    });
    Ok(())
}

async fn text(State(pages): State<Arc<Pages>>) -> String {
    pages.metrics.text()
}

/// Ready when the last run did everything that it wanted, not long ago by this machine's clock.
async fn ready(State(pages): State<Arc<Pages>>) -> (StatusCode, String) {
    let Some(last) = pages.metrics.last() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "no run has ended yet\n".to_owned());
    };
    let age = SystemClock.now().0.saturating_sub(last.heard_at.0);
    let fresh = u64::try_from(age).is_ok_and(|age| age <= pages.stale_after.max(60));
    let well = last.went_well && fresh;
    let status = if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, format!("{age} s ago: {}\n", last.line))
}
