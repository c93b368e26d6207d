//! The Signer's listening sockets: its own, or those that systemd holds. Connections that wait in such a socket
//! while one process ends and the next begins are answered by the next: nobody is refused.

use super::StartError;
use super::supervisor::Supervisor;
use config::HttpConfig;
use listenfd::ListenFd;
use rustix::net::{listen, sockopt};
use std::io;
use std::net::{SocketAddr, TcpListener as Handed};
use tokio::net::{TcpListener, TcpSocket};

/// Part of an answer that the system buffers for a connection, bytes. Without this limit the system buffers
/// megabytes for each connection whose client asks and never reads.
const SEND_BUFFER: u32 = 64 << 10;

/// Number of connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// The sockets that were handed over to this process.
#[derive(Debug, Default)]
pub struct Sockets {
    handed: Vec<(SocketAddr, Handed)>,
    /// The supervisor that handed the sockets over, or started the process without any.
    pub(super) supervisor: Supervisor,
}

impl Sockets {
    /// Those of `LISTEN_FDS`, and the supervisor. To be asked before the process has a second thread: the variables
    /// are removed, so that no child believes them.
    pub fn handed_over() -> io::Result<Self> {
        let mut found = ListenFd::from_env();
        let mut sockets = Vec::new();
        for place in 0..found.len() {
            if let Some(socket) = found.take_tcp_listener(place)? {
                sockets.push((socket.local_addr()?, socket));
            }
        }
        Ok(Self { handed: sockets, supervisor: Supervisor::of_environment()? })
    }

    /// Checks that the configuration listens on each of the sockets: a client that came in through another would
    /// wait for ever.
    pub(super) fn check(&self, config: &HttpConfig) -> Result<(), StartError> {
        let listens = |at: &SocketAddr| *at == config.listen || Some(*at) == config.health_listen;
        let idle = self.handed.iter().map(|(at, _)| *at).find(|at| !listens(at));
        idle.map_or(Ok(()), |at| Err(StartError::Handed(at)))
    }

    /// Listens on `address`.
    pub(super) fn listen(
        &mut self,
        address: SocketAddr,
    ) -> Result<(TcpListener, SocketAddr), StartError> {
        let handed = self.handed.iter().position(|(at, _)| *at == address);
        let opened = match handed.map(|place| self.handed.swap_remove(place)) {
            Some((_, socket)) => adopted(socket),
            None => bound(address),
        };
        let listener = opened.map_err(|problem| StartError::Listen { address, problem })?;
        let address = listener.local_addr().unwrap_or(address);
        Ok((listener, address))
    }
}

impl Sockets {
    /// The same, and the socket stays open for whoever listens on that address next.
    pub(super) fn listen_meanwhile(
        &mut self,
        address: SocketAddr,
    ) -> Result<TcpListener, StartError> {
        let problem = |problem| StartError::Listen { address, problem };
        let listener = self.listen(address)?.0.into_std().map_err(problem)?;
        let next = listener.try_clone().map_err(problem)?;
        self.handed.push((address, next));
        TcpListener::from_std(listener).map_err(problem)
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The same socket, as it would have been made here.
fn adopted(socket: Handed) -> io::Result<TcpListener> {
    sockopt::set_socket_send_buffer_size(&socket, usize::try_from(SEND_BUFFER).unwrap_or(0))?;
    listen(&socket, i32::try_from(BACKLOG).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket)
}
