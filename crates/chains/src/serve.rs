//! A node's doors on loopback: HTTP/1.1, with answers that never come and connections that close when a fault wants it.
//!
//! Hyper is used directly where the product uses axum, because only it can close a connection without an answer.

use crate::local;
use crate::tron::TronNode;
use crate::tron::http::{Port, Reply, Wire};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Connections that a door serves at a time; further ones connect and wait.
const CONNECTIONS: usize = 50;
/// The longest body (bytes).
const BODY: usize = 16 * 1024 * 1024;

/// The ports on which a TRON node listens; port 0 is any.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// `/wallet`.
    pub full: u16,
    /// `/walletsolidity`.
    pub solidity: u16,
    /// `/jsonrpc`.
    pub jsonrpc: u16,
    /// `/jsonrpc` over the solid state.
    pub jsonrpc_solidity: u16,
}

/// A node that listens, until this is dropped.
#[derive(Debug)]
pub struct Served {
    /// `http://127.0.0.1:…` of `/wallet`.
    pub full: String,
    /// `http://127.0.0.1:…` of `/walletsolidity`.
    pub solidity: String,
    /// `http://127.0.0.1:…/jsonrpc`.
    pub jsonrpc: String,
    /// The same over the solid state.
    pub jsonrpc_solidity: String,
    _stop: DropGuard,
}

impl TronNode {
    /// Listens on loopback. Must be called inside a tokio runtime.
    pub async fn serve(&self, ports: Ports) -> io::Result<Served> {
        let stop = CancellationToken::new();
        let full = self.door(Port::Full, ports.full, &stop).await?;
        let solidity = self.door(Port::Solidity, ports.solidity, &stop).await?;
        let jsonrpc = self.door(Port::JsonRpc, ports.jsonrpc, &stop).await?;
        let jsonrpc_solidity =
            self.door(Port::JsonRpcSolidity, ports.jsonrpc_solidity, &stop).await?;
        Ok(Served {
            full: format!("http://{full}"),
            solidity: format!("http://{solidity}"),
            jsonrpc: format!("http://{jsonrpc}/jsonrpc"),
            jsonrpc_solidity: format!("http://{jsonrpc_solidity}/jsonrpc"),
            _stop: stop.drop_guard(),
        })
    }

    async fn door(
        &self,
        port: Port,
        number: u16,
        stop: &CancellationToken,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).await?;
        let address = listener.local_addr()?;
        let (node, stop, tasks) = (self.clone(), stop.clone(), TaskTracker::new());
        tasks.clone().spawn(async move {
            let room = Arc::new(Semaphore::new(CONNECTIONS));
            let accept = async {
                while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
                    let Ok((stream, _)) = listener.accept().await else { continue };
                    let (node, stop) = (node.clone(), stop.clone());
                    tasks.spawn(async move {
                        stop.run_until_cancelled(talk(node, port, stream)).await;
                        drop(permit);
                    });
                }
            };
            stop.run_until_cancelled(accept).await;
        });
        Ok(address)
    }
}

async fn talk(node: TronNode, port: Port, stream: TcpStream) {
    let service = service_fn(move |request| answer(node.clone(), port, request));
    // an error here is a client that went away, or a fault that closes the connection
    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
}

/// Why a connection ends without an answer.
#[derive(Debug)]
struct HangUp;

impl fmt::Display for HangUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is closed on purpose")
    }
}

impl std::error::Error for HangUp {}

async fn answer(
    node: TronNode,
    port: Port,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, HangUp> {
    let (parts, body) = request.into_parts();
    if let Some((status, words)) = local::refusal(&parts.method, &parts.headers) {
        let refused = Response::builder().status(status);
        return Ok(refused.body(Full::new(Bytes::from(words))).unwrap_or_default());
    }
    let body = Limited::new(body, BODY).collect().await.map_err(|_| HangUp)?.to_bytes();
    let body = String::from_utf8_lossy(&body).into_owned();
    match node.serve_one(port, parts.method.as_str(), parts.uri.path(), &body) {
        Wire::Answer(reply) => Ok(response(reply)),
        Wire::Silence => std::future::pending().await,
        Wire::Closed => Err(HangUp),
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let response =
        Response::builder().status(reply.status).header("content-type", reply.content_type);
    response.body(Full::new(Bytes::from(reply.body))).unwrap_or_default()
}
