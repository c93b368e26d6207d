//! What a Signer is told by signals, and how it ends when nobody told it to.

use super::{Signer, aside};
use rustix::process::{Pid, Signal, kill_process};
use std::process::ExitStatus;

impl Signer {
    /// Sends it a signal.
    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// SIGSTOP: it does nothing, and its connections stay.
    pub(crate) fn freeze(&self) {
        self.send(Signal::STOP);
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) {
        self.send(Signal::CONT);
    }

    /// Waits until the process has ended by itself: how, and what it wrote.
    pub(crate) async fn left(mut self) -> (ExitStatus, String) {
        aside(move || (self.process.wait().unwrap(), self.log.whole())).await
    }
}
