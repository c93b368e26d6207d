//! Reports to the supervisor of the process that wants to know when the process is up: systemd with `Type=notify`,
//! or anybody else who names a socket in `NOTIFY_SOCKET`.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use tracing::warn;

/// The receiver of the reports, if there is one.
#[derive(Debug, Default)]
pub(super) struct Supervisor(Option<UnixDatagram>);

impl Supervisor {
    /// Connects to the socket named in the environment. Call this before the process confines itself.
    pub(super) fn of_environment() -> io::Result<Self> {
        let named = std::env::var_os("NOTIFY_SOCKET").filter(|named| !named.is_empty());
        Ok(Self(named.as_deref().map(connected).transpose()?))
    }

    /// The process does what it is started for; `status` says in what way.
    pub(super) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// It is about to end, and finishes what it has begun.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=finishing what was begun");
    }

    fn tell(&self, said: &str) {
        if let Some(socket) = &self.0
            && let Err(problem) = socket.send(said.as_bytes())
        {
            warn!(%problem, "the supervisor named in NOTIFY_SOCKET is not told");
        }
    }
}

fn connected(named: &OsStr) -> io::Result<UnixDatagram> {
    let address = match named.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(named)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}
