//! A Signer at work: its ports, and what it does beside requests.

use super::background::Background;
use super::boot::{Assembled, assemble};
use super::fitness::StepDown;
use super::supervisor::Supervisor;
use super::webhook::Webhook;
use super::{
    Machine, Sockets, StartError, copies, gates, handover, history_head, refusals, renewal,
};
use crate::http::{self, AppState};
use config::Config;
use door::serve;
use engine::Engine;
use journal::RegularBackups;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

/// A Signer at work.
#[derive(Debug)]
pub struct Running {
    /// The listening address.
    pub address: SocketAddr,
    server: Background,
    others: Background,
    watchers: Background,
    engine: Arc<Engine>,
    state: Arc<AppState>,
    config: Config,
    backups: Option<RegularBackups>,
    step_down: StepDown,
    supervisor: Supervisor,
}

/// Starts a Signer on `machine`, with the sockets that were handed over to it, if any.
pub async fn start(
    config: Config,
    machine: Machine<'_>,
    mut sockets: Sockets,
) -> Result<Running, StartError> {
    sockets.check(&config.http)?;
    let assembled = assemble(config, machine, &mut sockets).await?;
    Running::begin(assembled, sockets).await
}

impl Running {
    /// Opens the ports, and begins what is done beside requests.
    async fn begin(assembled: Assembled, mut sockets: Sockets) -> Result<Self, StartError> {
        let Assembled { engine, state, config, .. } = assembled;
        let limits = &config.http;
        // The journal is open: the process before this one has closed it, and left what it had to.
        handover::resume(&config.journal, &engine.journal, &state);
        sleep(state.opens_in()).await;
        drop(assembled.standby_server);
        let (listener, address) = sockets.listen(limits.listen)?;
        let (server, others) = (Background::until(assembled.closing), Background::default());
        // Before anything new is committed: what a first start skips is what happened before it.
        if let Some(webhook) = Webhook::of(&config, assembled.webhook, &engine) {
            webhook.begin(others.stop()).await.map_err(StartError::Webhook)?;
        }
        let watchers = Background::default();
        for watcher in assembled.watchers {
            watchers.spawn(|stop| watcher.run(stop));
        }
        let plan = config.journal.file().and_then(|file| file.backups.clone());
        let backups = plan.and_then(|plan| copies::keep(&engine.journal, plan));
        others.spawn(|stop| history_head::report(engine.journal.clone(), stop));
        others.spawn(|stop| http::watch_obstacles(Arc::clone(&state), stop));
        others.spawn(|stop| http::forget_answers(Arc::clone(&state), stop));
        others.spawn(|stop| refusals::keep(assembled.refusals, engine.journal.clone(), stop));
        others.spawn(|stop| gates::record(Arc::clone(&engine), stop));
        let step_down = StepDown::begin(&config.journal, &engine, &others);
        if let (Some(router), Some(at)) = (assembled.health_router, limits.health_listen) {
            let (listener, address) = sockets.listen(at)?;
            let policy = limits.health_connection_policy();
            server.spawn(|stop| serve(listener, router, policy, None, stop));
            info!(%address, "health and metrics");
        }
        if let Some(warning) = limits.in_the_clear() {
            warn!(%address, "{warning}");
        }
        if let Some(tls) = &limits.tls {
            info!(%address, "TLS: {tls}");
            others.spawn(|stop| renewal::follow(Arc::clone(tls), stop));
        }
        let (router, policy) = (assembled.router, limits.connection_policy());
        server.spawn(|stop| serve(listener, router, policy, assembled.handshakes, stop));
        info!(%address, chains = engine.lanes().of_chains.len(), "ready for requests");
        let supervisor = sockets.supervisor;
        supervisor.ready("serving");
        Ok(Self {
            address,
            server,
            others,
            watchers,
            engine,
            state,
            config,
            backups,
            step_down,
            supervisor,
        })
    }

    /// Tells when another Signer is to serve in this one's place.
    pub fn step_down(&self) -> StepDown {
        self.step_down.clone()
    }

    /// Stops taking requests, finishes those that have begun, and ends. The next process takes up the batches that
    /// the chain has not decided.
    pub async fn shutdown(self) {
        info!("shutting down: no new requests; those that have begun are finished");
        self.supervisor.stopping();
        let drained = async {
            self.server.end().await;
            self.engine.tasks.close();
            self.engine.tasks.wait().await;
        };
        if timeout(self.config.http.shutdown_grace, drained).await.is_ok() {
            handover::leave(&self.config.journal, &self.engine.journal, &self.state.judged());
        } else {
            warn!("some requests were not finished in time; what they committed is not lost");
        }
        self.watchers.end().await;
        self.others.end().await;
        if let Some(backups) = self.backups {
            backups.finish().await;
        }
        self.engine.journal.close().await;
    }
}
