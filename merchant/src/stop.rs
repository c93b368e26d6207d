//! When to stop.

/// Waits until SIGTERM or Ctrl-C.
pub(crate) async fn stopped() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted => {}
            }
            return;
        }
    }
    drop(interrupted.await);
}
