//! A Signer that runs, and what can be done to its process.

use super::{Scheduler, aside};
use crate::world::patience::eventually;
use parking_lot::Mutex;
use std::process::Child;
use std::sync::Arc;

/// A running Signer. Killed, not stopped, when it is dropped.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) process: Child,
    log: Arc<Mutex<String>>,
    pub(crate) scheduler: Scheduler,
}

impl Signer {
    pub(super) fn new(process: Child, log: Arc<Mutex<String>>, scheduler: Scheduler) -> Self {
        Self { process, log, scheduler }
    }

    /// SIGKILL: no handler runs, nothing is flushed.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.log()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, signal).unwrap();
    }

    /// SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// SIGSTOP: it does nothing, and its connections stay.
    pub(crate) fn freeze(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    /// Waits until the process has ended as it should.
    pub(crate) async fn ended(mut self) -> String {
        aside(move || {
            let status = self.process.wait().unwrap();
            assert!(status.success(), "{status}\n{}", self.log());
            self.log()
        })
        .await
    }

    /// SIGTERM, and wait until the process has ended.
    pub(crate) async fn terminate(self) -> String {
        self.ask_to_stop();
        self.ended().await
    }

    /// Waits until it has written `words`.
    pub(crate) async fn wrote(&self, words: &str) {
        eventually(words, async || self.log().contains(words)).await;
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&self) {
        eventually("the Signer is ready", async || {
            self.scheduler.get("/health/ready").await.status == 200
        })
        .await;
    }

    /// Everything that it has written so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().clone()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
