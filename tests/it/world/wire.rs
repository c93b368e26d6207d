//! A line to the server of a journal that can be cut so that neither end is told: what is sent stays on the way.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) port: u16,
    cut: watch::Sender<bool>,
}

impl Wire {
    /// To a port of this machine.
    pub(crate) async fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, cut) = (listener.local_addr().unwrap().port(), watch::Sender::new(false));
        let watched = cut.clone();
        TaskTracker::new().spawn(async move {
            let lines = TaskTracker::new();
            while let Ok((client, _)) = listener.accept().await {
                lines.spawn(carry(client, server, watched.subscribe()));
            }
        });
        Self { port, cut }
    }

    /// Nothing passes any more; or new connections do, and the old ones end.
    pub(crate) fn set_cut(&self, cut: bool) {
        self.cut.send_replace(cut);
    }
}

async fn carry(mut client: TcpStream, server: u16, mut cut: watch::Receiver<bool>) {
    let is_cut = *cut.borrow();
    let mut server = TcpStream::connect(("127.0.0.1", server)).await.ok();
    if let Some(server) = server.as_mut().filter(|_| !is_cut) {
        tokio::select! {
            _ = copy_bidirectional(&mut client, server) => return,
            _ = cut.wait_for(|cut| *cut) => {}
        }
    }
    // Both ends stay open until then.
    drop(cut.wait_for(|cut| !*cut).await);
}
