//! A program as a child process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The platform's key and secret, which are also the Signer's and the inbox's.
pub(super) const KEY: &str = "test-key";
pub(super) const SECRET: &str = "test-secret";

/// A running program; killed when it is dropped.
pub(super) struct Program {
    pub(super) child: Child,
}

impl Program {
    /// Ends it as a power cut would.
    pub(super) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}

/// `merchant` (or the program that `MERCHANT_PROGRAM` names) in a folder, with every address in its environment.
pub(super) fn merchant(folder: &Path, peers: &str, arguments: &[&str]) -> Command {
    let told = std::env::var_os("MERCHANT_PROGRAM");
    let mut command = Command::new(told.unwrap_or_else(|| env!("CARGO_BIN_EXE_merchant").into()));
    command.current_dir(folder).args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    for section in ["PLATFORM", "SIGNER", "INBOX"] {
        command.env(format!("MERCHANT__{section}__KEY"), KEY);
        command.env(format!("MERCHANT__{section}__SECRET"), SECRET);
    }
    command
        .env("MERCHANT__PLATFORM__BASE_URL", peers)
        .env("MERCHANT__PLATFORM__PAYMENT_URL", peers)
        .env("MERCHANT__SIGNER__URL", peers)
        .env("MERCHANT__INBOX__URL", peers);
    command
}

/// An inbox, and the addresses of its two doors.
pub(super) struct RunningInbox {
    pub(super) program: Program,
    pub(super) callbacks: String,
    pub(super) feed: String,
}

/// Starts `merchant inbox`, or a command that ends in it, and waits until it serves.
pub(super) fn start_inbox(mut command: Command) -> RunningInbox {
    let mut child = command.stderr(Stdio::null()).spawn().expect("merchant starts");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    output.read_line(&mut line).expect("its output");
    // inbox: callbacks on 127.0.0.1:1, feed on 127.0.0.1:2
    let address = |after: &str| {
        let rest = line.split(after).nth(1).unwrap_or_else(|| panic!("it says {line:?}"));
        format!("http://{}", rest.split([',', '\n']).next().unwrap_or_default())
    };
    let (callbacks, feed) = (address("callbacks on "), address("feed on "));
    RunningInbox { program: Program { child }, callbacks, feed }
}

/// What a program said that has ended: whether it succeeded, and both outputs.
pub(super) fn ended(mut child: Child) -> (bool, String) {
    let mut said = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut said).unwrap_or_default();
    }
    if let Some(mut output) = child.stderr.take() {
        output.read_to_string(&mut said).unwrap_or_default();
    }
    (child.wait().is_ok_and(|status| status.success()), said)
}
