//! Accepts connections until told to stop, then lets every request that has begun finish.

use crate::connections::{Connection, Connections};
use crate::handshakes::Handshakes;
use crate::policy::ConnectionPolicy;
use crate::write_timeout::WriteTimeout;
use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, warn};

/// The pause when no connection can be accepted, for example because file descriptors ran out.
const PAUSE: Duration = Duration::from_millis(100);

/// The time to wait for connections that are being closed.
const A_MOMENT: Duration = Duration::from_millis(1);

/// The longest head of a request, and how much of a body is read at once, bytes.
const HEAD_BYTES: usize = 16 << 10;

/// The most headers of a request.
const HEADERS: usize = 64;

/// The answer when a connection cannot be taken in.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
    content-length: 0\r\n\r\n";

/// The time that a connection without a request stays open at the end: a request on its way is answered.
const LINGER: Duration = Duration::from_millis(250);

/// Serves `router` until `stop`, then waits for the requests that have begun. In the clear without
/// `handshakes`. Connections that were not accepted wait in the socket, for whoever holds it.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    policy: ConnectionPolicy,
    handshakes: Option<Handshakes>,
    stop: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(policy.header_timeout);
    http.max_buf_size(HEAD_BYTES).max_headers(HEADERS);
    let tasks = TaskTracker::new();
    let connections = Connections::new(policy.connections, policy.of_one);
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Some((stream, peer)) = ready(accepted).await else { continue };
        while connections.too_many_closing() {
            sleep(A_MOMENT).await;
        }
        let Some(open) = connections.admit(peer) else {
            // A client that does not receive this answer finds the connection closed, which says the same.
            if handshakes.is_none() {
                drop(stream.into_std().and_then(|mut stream| stream.write(FULL)));
            }
            continue;
        };
        let stream = WriteTimeout::new(stream, policy.write_timeout);
        let closes = Instant::now().checked_add(policy.lifetime);
        let session =
            HttpSession { http: http.clone(), router: router.clone(), closes, stop: stop.clone() };
        let (handshakes, stop) = (handshakes.clone(), stop.clone());
        tasks.spawn(async move {
            let mut connection = open.connection.clone();
            let served = async {
                let Some(handshakes) = handshakes else {
                    return session.serve(stream, connection).await;
                };
                let shaken = handshakes.shake(stream, &mut connection, policy.header_timeout);
                if let Some(stream) = stop.run_until_cancelled(shaken).await.flatten() {
                    session.serve(stream, connection).await;
                }
            };
            if open.evicted().run_until_cancelled(served).await.is_none() {
                debug!("a connection was closed to make room for others");
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

/// The requests and answers on one connection.
struct HttpSession {
    http: http1::Builder,
    router: Router,
    /// From when on the next answer is the last.
    closes: Option<Instant>,
    stop: CancellationToken,
}

impl HttpSession {
    /// From the first head to the last answer.
    async fn serve<S>(self, stream: S, connection: Connection)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let service = service(&self.router, connection, self.closes, &self.stop);
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), service));
        let lingered = async {
            self.stop.cancelled().await;
            sleep(LINGER).await;
        };
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = lingered => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended early");
        }
    }
}

/// The routes, told who asks. The answer to a request that comes at the end, of the server or of the
/// connection's time, is the last on its connection.
fn service(
    router: &Router,
    connection: Connection,
    closes: Option<Instant>,
    stop: &CancellationToken,
) -> impl hyper::service::Service<
    hyper::Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> + use<> {
    let (router, connection) = (TowerToHyperService::new(router.clone()), Arc::new(connection));
    let stop = stop.clone();
    service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(connection.as_ref().clone());
        let answer = router.call(Request::from(request.map(axum::body::Body::new)));
        let stop = stop.clone();
        async move {
            let mut answer = answer.await?;
            if stop.is_cancelled() || closes.is_some_and(|closes| closes <= Instant::now()) {
                answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(answer)
        }
    })
}

async fn ready<P>(accepted: std::io::Result<(TcpStream, P)>) -> Option<(TcpStream, P)> {
    // Answers are small and awaited: without this they would sit in the kernel for 40 ms.
    match accepted.and_then(|(stream, peer)| stream.set_nodelay(true).map(|()| (stream, peer))) {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            warn!(%error, "a connection could not be accepted");
            sleep(PAUSE).await;
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const ASKS: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    /// Asks once more; what is answered, in small letters.
    async fn asked(stream: &mut TcpStream) -> String {
        stream.write_all(ASKS).await.unwrap();
        let mut answer = vec![0; 1024];
        let length = stream.read(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer[..length]).to_lowercase()
    }

    #[tokio::test]
    async fn a_connection_is_closed_with_the_next_answer_when_its_time_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let second = Duration::from_secs(1);
        let policy = ConnectionPolicy {
            connections: 16,
            of_one: 16,
            header_timeout: Duration::from_secs(10),
            write_timeout: second,
            lifetime: second,
        };
        let router = Router::new().route("/", get(async || "here"));
        let stop = CancellationToken::new();
        let server = TaskTracker::new();
        server.spawn(serve(listener, router, policy, None, stop.clone()));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let first = asked(&mut stream).await;
        assert!(first.contains("200 ok") && !first.contains("connection: close"), "{first}");
        sleep(second).await;
        let last = asked(&mut stream).await;
        assert!(last.contains("200 ok") && last.contains("connection: close"), "{last}");
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0, "nothing more is heard on it");
        stop.cancel();
    }
}
