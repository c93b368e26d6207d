//! Finds out if this process could bill on any chain, as far as its machine decides: its ways to the nodes and to
//! the stores of its keys, and its clock. Signers that share a journal tell each other. A Signer that serves and
//! could bill nothing for long gives way if another stands by that could; if neither could, the journal stays with
//! the Signer that has it.

use super::background::Background;
use super::connect::Connected;
use chain::{Chain, HeadExtent};
use config::JournalPlace;
use engine::{Engine, NotReady};
use futures_util::future::join_all;
use journal::{Instance, StandbySight};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Interval between two looks at a Signer that serves.
const EVERY: Duration = Duration::from_secs(1);

/// Interval between two looks of a standby at its chains that may be needed soon, and the time it waits for them.
const STANDING_BY: Duration = Duration::from_secs(5);

/// For how many times `journal.takeover_after` one that serves may be of no use before it gives way.
const PATIENCE: u32 = 3;

/// A signal that another Signer is to serve in place of this one.
#[derive(Clone, Debug)]
pub struct StepDown(CancellationToken);

impl StepDown {
    /// Begins to look after it beside a process that serves, where others wait for its journal.
    pub(super) fn begin(
        journal: &JournalPlace,
        engine: &Arc<Engine>,
        background: &Background,
    ) -> Self {
        let step_down = Self(CancellationToken::new());
        if let Some(after) = journal.takeover_after() {
            let (engine, given) = (Arc::clone(engine), step_down.clone());
            background.spawn(|stop| watch_fitness(engine, after, given, stop));
        }
        step_down
    }

    /// Waits until another Signer is to serve in this one's place.
    pub async fn reason(&self) -> &'static str {
        self.0.cancelled().await;
        "this Signer could bill nothing, and another stands by that can: it gives way. Start it again, and it stands by"
    }
}

/// Looks after it until `stop`.
async fn watch_fitness(
    engine: Arc<Engine>,
    takeover_after: Duration,
    step_down: StepDown,
    stop: CancellationToken,
) {
    let mut since = None;
    while stop.run_until_cancelled(sleep(EVERY)).await.is_some() {
        let unfit = unfit(&engine);
        engine.journal.instances().note_fitness(unfit.clone());
        let Some(why) = unfit else {
            since = None;
            continue;
        };
        let begun = *since.get_or_insert_with(Instant::now);
        let instances = engine.journal.instances().all();
        let other = instances.into_iter().find(Instance::stands_by_and_could_serve);
        if let Some(Instance { name, start, .. }) = other
            && begun.elapsed() >= takeover_after.saturating_mul(PATIENCE)
        {
            warn!(
                why,
                name, start, "nothing can be billed here, and another Signer could: it gives way"
            );
            step_down.0.cancel();
            return;
        }
    }
}

/// Why a process that serves could bill on no chain; none where it could on one, or where no other process would
/// fare better.
fn unfit(engine: &Engine) -> Option<String> {
    let set = engine.lanes();
    let mut said = None;
    for lane in set.chains().iter().flat_map(|lanes| lanes.all()) {
        let (obstacle, why) = lane.not_ready()?;
        if !obstacle.may_be_of_this_machine() {
            return None;
        }
        said.get_or_insert(why);
    }
    said
}

/// Has the others know how a standby is, for as long as it stands by. Looks are paid for: while it could bill,
/// and the one that serves says that it can, they are as far apart as on a chain on which nothing is open. Before
/// one that is of no use gives way it is looked at anew.
pub(super) async fn look_on(chains: &[Connected], sight: &StandbySight) -> Infallible {
    let seldom = chains.iter().map(|chain| chain.config.family.idle_poll_interval()).max();
    let seldom = seldom.unwrap_or_default().max(STANDING_BY);
    loop {
        let accounts = chains.iter().flat_map(Connected::signers);
        let looks = accounts.map(|account| async { trouble_of(account.as_ref()).await });
        let found = join_all(looks).await;
        let fit = found.is_empty() || found.iter().any(Option::is_none);
        sight.note_fitness(if fit { None } else { found.into_iter().flatten().next() });
        let looked = Instant::now();
        loop {
            sleep(EVERY).await;
            let calm = fit && serving_is_fit(&sight.instances());
            if looked.elapsed() >= if calm { seldom } else { STANDING_BY } {
                break;
            }
        }
    }
}

fn serving_is_fit(instances: &[Instance]) -> bool {
    instances.iter().any(|instance| instance.serves && instance.unfit.is_none())
}

/// Why a standby could not bill with an account; none where it could, or where no other process would fare better.
async fn trouble_of(account: &dyn Chain) -> Option<String> {
    let look = async {
        account.check_key().await;
        account.poll_head(HeadExtent::Whole).await.err().or_else(|| account.unready())
    };
    match timeout(STANDING_BY, look).await {
        Err(_) => Some("its chains do not answer in time".to_owned()),
        Ok(found) => {
            let found = found?;
            NotReady::of_chain(&found).may_be_of_this_machine().then(|| found.to_string())
        }
    }
}
