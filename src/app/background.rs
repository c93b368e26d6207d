//! Tasks that run until they are told to stop.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A group of tasks, and the token that tells them to stop.
#[derive(Debug, Default)]
pub(super) struct Background {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Background {
    /// A group that stops when `stop` is cancelled.
    pub(super) fn until(stop: CancellationToken) -> Self {
        Self { tasks: TaskTracker::new(), stop }
    }

    /// Returns the token that is cancelled when the tasks are to stop.
    pub(super) fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Spawns a task, which is given the token.
    pub(super) fn spawn<F>(&self, task: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tasks.spawn(task(self.stop()));
    }

    /// Tells the tasks to stop, and waits until each has ended.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
