//! Everything that listens: the platform's three hosts, and the faces of both nodes.

mod port;

pub use port::Port;

use crate::chain::Nodes;
use crate::platform::{Platform, StartError};
use crate::roads::Road;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use parking_lot::RwLock;
use sandbox_chains::eth;
use sandbox_chains::local;
use sandbox_chains::serve::{Ports as TronPorts, Served};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// On which loopback ports to listen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ports {
    /// `{base_url}`.
    pub api: Port,
    /// `{payment_url}`.
    pub pay: Port,
    /// `{admin_url}`.
    pub admin: Port,
    /// The Ethereum node's JSON-RPC.
    pub evm: Port,
    /// The TRON node's HTTP API.
    pub tron: Port,
}

/// A platform that listens, until this is dropped.
#[derive(Debug)]
pub struct Running {
    /// The platform.
    pub platform: Platform,
    /// `{base_url}`.
    pub base_url: String,
    /// `{payment_url}`.
    pub payment_url: String,
    /// `{admin_url}`, with the sandbox's own controls.
    pub admin_url: String,
    /// The Ethereum node's JSON-RPC.
    pub evm_url: String,
    /// The doors of the TRON node.
    pub tron: Served,
    stop: CancellationToken,
    tasks: TaskTracker,
    _guard: DropGuard,
}

impl Platform {
    /// Listens, and lets time pass. Must be called inside a tokio runtime.
    pub async fn serve(&self, ports: Ports) -> Result<Running, StartError> {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let open = async |port: Port| -> Result<(TcpListener, String), StartError> {
            let words = |error| refused(port, &error);
            let listener = port.open().await.map_err(words)?;
            let url = format!("http://{}", listener.local_addr().map_err(words)?);
            Ok((listener, url))
        };
        let (api, base_url) = open(ports.api).await?;
        let (pay, payment_url) = open(ports.pay).await?;
        let (admin, admin_url) = open(ports.admin).await?;
        let (evm, evm_url) = open(ports.evm).await?;
        let tron = self.serve_tron(ports.tron).await?;
        let console = crate::admin::router(self.clone(), &payment_url);
        for (listener, router) in [
            (api, self.roads().before(Road::Api, crate::api::router(self.clone()))),
            (pay, crate::pay::router(self.clone()).layer(middleware::from_fn(local::only))),
            (admin, console.layer(middleware::from_fn(local::only))),
            (evm, face(self.nodes())),
        ] {
            let stopped = stop.clone().cancelled_owned();
            tasks.spawn(async move {
                axum::serve(listener, router).with_graceful_shutdown(stopped).await
            });
        }
        tasks.spawn(self.clone().run(stop.clone()));
        tasks.close();
        let (platform, guard) = (self.clone(), stop.clone().drop_guard());
        Ok(Running {
            platform,
            base_url,
            payment_url,
            admin_url,
            evm_url,
            tron,
            stop,
            tasks,
            _guard: guard,
        })
    }
}

impl Platform {
    async fn serve_tron(&self, port: Port) -> Result<Served, StartError> {
        let mut served = Err(std::io::Error::other("no port is wanted"));
        for full in port.numbers() {
            served = self.nodes().tron.serve(TronPorts { full, ..TronPorts::default() }).await;
            if served.is_ok() {
                break;
            }
        }
        served.map_err(|error| refused(port, &error))
    }
}

fn refused(port: Port, error: &std::io::Error) -> StartError {
    let named = match port {
        Port::Any => "any port".to_owned(),
        Port::Exactly(number) | Port::Rather(number) => format!("port {number}"),
    };
    StartError::Network(format!("{named}: {error}"))
}

impl Running {
    /// Stops listening and making blocks. The state is on disk already.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

/// The Ethereum node's face, which answers nothing while the node is down.
fn face(nodes: &Nodes) -> Router {
    let down = Arc::clone(&nodes.evm_down);
    eth::router(nodes.evm.clone()).layer(middleware::from_fn_with_state(down, unless_down))
}

async fn unless_down(
    State(down): State<Arc<RwLock<bool>>>,
    request: Request,
    next: Next,
) -> Response {
    let is_down = *down.read();
    if is_down {
        (StatusCode::BAD_GATEWAY, "the node is down").into_response()
    } else {
        next.run(request).await
    }
}
