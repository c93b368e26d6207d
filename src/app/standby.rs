//! A Signer that stands by: it listens, says that it is not ready and who is, and opens the journal as soon as no other
//! process has it.

use super::connect::Connected;
use super::webhook_cursor::WebhookCursor;
use super::{Machine, Sockets, StartError, fitness, renewal, setup};
use crate::http::{self, StandbyState};
use config::Config;
use door::serve;
use journal::{Journal, Standby, StandbySight, Turn};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// Interval at which the webhook's cursor is copied from the process that serves.
const EVERY: Duration = Duration::from_secs(1);

/// The server of a standby: it answers until it is dropped. Connections that were not accepted then wait in the socket
/// for the next process.
#[derive(Debug)]
pub(super) struct StandbyServer {
    _ends: DropGuard,
}

/// Opens the journal when it is this process's turn. A process that has stood by comes with what has answered
/// meanwhile.
pub(super) async fn in_turn(
    config: &Config,
    machine: Machine<'_>,
    chains: &[Connected],
    sockets: &mut Sockets,
) -> Result<(Journal, Option<StandbyServer>), StartError> {
    match (machine.journal)(&config.journal, setup::of(chains))? {
        Turn::Now(journal) => Ok((journal, None)),
        Turn::Later(standby) => {
            let (journal, server) = wait(config, chains, sockets, standby).await?;
            Ok((journal, Some(server)))
        }
    }
}

/// Waits for the journal, and answers meanwhile.
async fn wait(
    config: &Config,
    chains: &[Connected],
    sockets: &mut Sockets,
    mut standby: Standby,
) -> Result<(Journal, StandbyServer), StartError> {
    let sight = Arc::clone(&standby.sight);
    let server = StandbyServer::open(config, sockets, &sight)?;
    info!(
        "standing by: another Signer holds the journal, and this one signs nothing until that ends"
    );
    sockets.supervisor.ready("standing by");
    let follow = follow_webhook(config, &sight);
    let journal = tokio::select! {
        journal = standby.turn() => journal?,
        never = follow => match never {},
        never = fitness::look_on(chains, &sight) => match never {},
    };
    Ok((journal, server))
}

impl StandbyServer {
    fn open(
        config: &Config,
        sockets: &mut Sockets,
        sight: &Arc<StandbySight>,
    ) -> Result<Self, StartError> {
        let limits = &config.http;
        let state = StandbyState::new(Arc::clone(sight), limits);
        let (servers, stop) = (TaskTracker::new(), CancellationToken::new());
        let listener = sockets.listen_meanwhile(limits.listen)?;
        let (policy, handshakes) = (limits.connection_policy(), http::uncounted_handshakes(limits));
        let address = listener.local_addr().unwrap_or(limits.listen);
        info!(%address, "standing by");
        servers.spawn(serve(listener, state.router(), policy, handshakes, stop.clone()));
        if let Some(tls) = &limits.tls {
            servers.spawn(renewal::follow(Arc::clone(tls), stop.clone()));
        }
        if let Some(at) = limits.health_listen {
            let listener = sockets.listen_meanwhile(at)?;
            let policy = limits.health_connection_policy();
            servers.spawn(serve(listener, state.router(), policy, None, stop.clone()));
        }
        Ok(Self { _ends: stop.drop_guard() })
    }
}

/// Copies the webhook's cursor from the process that serves: a takeover goes on from there.
async fn follow_webhook(config: &Config, sight: &StandbySight) -> std::convert::Infallible {
    let file = config.webhook.as_ref().map(|_| WebhookCursor::beside(&config.journal));
    let mut known = None;
    loop {
        sleep(EVERY).await;
        let told = sight.webhook();
        if let (Some(file), Some(cursor)) = (&file, &told)
            && told != known
        {
            match file.write(cursor) {
                Ok(()) => known = told,
                Err(problem) => warn!(%problem, "the webhook's cursor cannot be kept here"),
            }
        }
    }
}
