//! A Signer that waits for its turn: it listens, says that it is not ready and who is, and opens the journal as
//! soon as nobody else has it.

use super::connect::Connected;
use super::webhook_cursor::WebhookCursor;
use super::{Sockets, StartError, fitness, renewal, setup};
use crate::http::{self, StandbyDoor};
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

/// Answers until it is dropped. Connections that were not accepted then wait in the socket for whoever is next.
#[derive(Debug)]
pub(super) struct Lobby {
    _ends: DropGuard,
}

/// Opens the journal, when it is this process's turn; then with what has answered meanwhile.
pub(super) async fn in_turn(
    config: &Config,
    chains: &[Connected],
    sockets: &mut Sockets,
) -> Result<(Journal, Option<Lobby>), StartError> {
    match Journal::open_in_turn_at(&config.journal, setup::of(chains))? {
        Turn::Now(journal) => Ok((journal, None)),
        Turn::Later(waits) => {
            let (journal, lobby) = wait(config, (chains, sockets), waits).await?;
            Ok((journal, Some(lobby)))
        }
    }
}

/// Waits for the journal, and answers meanwhile.
async fn wait(
    config: &Config,
    (chains, sockets): (&[Connected], &mut Sockets),
    mut standby: Standby,
) -> Result<(Journal, Lobby), StartError> {
    let sight = Arc::clone(&standby.sight);
    let lobby = Lobby::open(config, sockets, &sight)?;
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
    Ok((journal, lobby))
}

impl Lobby {
    fn open(
        config: &Config,
        sockets: &mut Sockets,
        sight: &Arc<StandbySight>,
    ) -> Result<Self, StartError> {
        let limits = &config.http;
        let door = StandbyDoor::new(Arc::clone(sight), limits);
        let (servers, stop) = (TaskTracker::new(), CancellationToken::new());
        let listener = sockets.listen_meanwhile(limits.listen)?;
        let (manners, handshakes) = (limits.manners(), http::uncounted_handshakes(limits));
        let address = listener.local_addr().unwrap_or(limits.listen);
        info!(%address, "standing by");
        servers.spawn(serve(listener, door.router(), manners, handshakes, stop.clone()));
        if let Some(tls) = &limits.tls {
            servers.spawn(renewal::follow(Arc::clone(tls), stop.clone()));
        }
        if let Some(at) = limits.health_listen {
            let listener = sockets.listen_meanwhile(at)?;
            let manners = limits.health_manners();
            servers.spawn(serve(listener, door.router(), manners, None, stop.clone()));
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
        let told = sight.told();
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
