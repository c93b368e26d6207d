//! A port of this machine, for somebody who listens later.

use std::net::SocketAddr;
use tokio::net::TcpSocket;

/// A port on which nobody listens yet. Until this is dropped the system gives it to nobody else, and whoever is told of
/// it may listen there, as often as he likes: every server sets `SO_REUSEADDR`.
#[derive(Debug)]
pub(crate) struct KeptPort(TcpSocket);

impl KeptPort {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self(socket)
    }

    pub(crate) fn at(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }
}
