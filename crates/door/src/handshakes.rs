//! TLS stands before a head: a handshake has as long as a head has, and so many are under way at once. For one
//! more, one of whoever has most is given up (`eviction`).

use crate::connections::Connection;
use crate::eviction::EvictionPool;
use parking_lot::Mutex;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::Error;
use tokio_rustls::server::TlsStream;

/// The most handshakes under way at once.
const MOST: usize = 128;

/// The terms by which a port with TLS works.
pub trait Terms: fmt::Debug + Send + Sync {
    /// Returns an acceptor that shakes hands by the terms in use now.
    fn acceptor(&self) -> TlsAcceptor;

    /// A handshake has come to nothing, for another reason than that somebody hung up.
    fn failed(&self, why: &Error, peer: SocketAddr);
}

/// The handshakes with which connections on a port with TLS begin.
#[derive(Clone, Debug)]
pub struct Handshakes {
    terms: Arc<dyn Terms>,
    under_way: Arc<Mutex<EvictionPool>>,
    most: usize,
}

/// One that is under way. Not any more when it is dropped.
struct UnderWay<'a>(&'a Mutex<EvictionPool>, u64);

impl Handshakes {
    /// By these terms.
    pub fn new(terms: Arc<dyn Terms>) -> Self {
        Self { terms, under_way: Arc::default(), most: MOST }
    }

    /// Returns the stream that is encrypted from here on; nothing if the other side did not do its part within
    /// `patience`, or another owner's handshake took the place.
    pub(crate) async fn shake<S>(
        &self,
        stream: S,
        connection: &mut Connection,
        patience: Duration,
    ) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let (number, evicted) = {
            let mut under_way = self.under_way.lock();
            let joined = under_way.insert(connection.owner());
            while under_way.len() > self.most && under_way.evict(|_| true, |_| 1).is_some() {}
            joined
        };
        let _under_way = UnderWay(&self.under_way, number);
        let accepted = timeout(patience, Box::pin(self.terms.acceptor().accept(stream)));
        match evicted.run_until_cancelled(accepted).await?.ok()? {
            Ok(stream) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                connection.certificate = shown.map(|shown| shown.clone().into_owned());
                Some(stream)
            }
            Err(error) => {
                let why = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
                if let Some(why) = why {
                    self.terms.failed(why, connection.peer);
                }
                None
            }
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}
