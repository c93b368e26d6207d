//! The watchers of all lanes at work, until they are told to stop.

use engine::Watcher;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The tasks that look at the chains.
#[derive(Debug)]
pub(super) struct Watch {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Watch {
    pub(super) fn begin(watchers: Vec<Watcher>) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        for watcher in watchers {
            tasks.spawn(watcher.run(stop.clone()));
        }
        Self { tasks, stop }
    }

    /// Tells the watchers to stop, and waits until each has finished its look.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
