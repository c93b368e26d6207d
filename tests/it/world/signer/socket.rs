//! A Signer that is started as systemd does that holds a socket.

use super::{Installation, Signer, aside, launch};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Command;

/// What gives the standard input of a shell to the program that it becomes, as the first handed socket.
const HANDING: &str = "exec 3<&0 </dev/null; export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$0\" \"$@\"";

impl Installation {
    /// Starts the Signer on a socket; what it wrote when it ended instead.
    pub(crate) async fn try_start_on(&self, socket: &TcpListener) -> Result<Signer, String> {
        let (usual, mut command) = (self.command(), Command::new("sh"));
        command.args(["-c", HANDING]).arg(usual.get_program()).args(usual.get_args());
        command.current_dir(self.path()).envs(self.environment());
        command.stdin(OwnedFd::from(socket.try_clone().unwrap()));
        let path = self.path;
        aside(move || launch(command, path)).await
    }
}
