//! Final blocks of BNB Smart Chain: more than two thirds of its validators seal on top of a block, by lists that are
//! followed from a pinned epoch header on.

mod state;

use self::state::{Shortage, State, UnderWay};
use crate::pin::{OldPin, Pinned};
use crate::progress::{Progress, ProvenFinal};
use crate::witnesses::Need;
use ::node::{Fleet, JsonRpc, NodeId, decode};
use alloy::primitives::B256;
use config::SealsConfig;
use evm_node as node;
use evm_proofs::answer::BlockAnswer;
use futures_util::future::join_all;
use host::clock::Clock;
use parlia::following::Following;
use parlia::run::{FinalBlock, Standing};
use parlia::seal::{ChainId, SealedHeader};
use parlia::unproven::{Obstacle, Unproven};
use serde_json::value::RawValue;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

/// The interval at which nodes are asked for newer headers while something waits for a final block.
const AGAIN: Duration = Duration::from_secs(3);

/// The interval at which a newer block is proven while nothing waits for one.
const IDLE: Duration = Duration::from_mins(10);

/// The headers that are asked for at once, and the most groups of them in one look.
const GROUP: u64 = 8;
const GROUPS: u64 = 64;

/// The headers that are read anew where a node left the branch that it told: one turn of a validator.
const BACK: usize = 16;

/// Why no newer block is proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotProven {
    /// No node tells the header.
    #[error("no node tells the header of {0}")]
    Untold(Wanted),
    /// A header proves nothing.
    #[error("the header of {wanted} proves nothing: {why}")]
    Unproven { wanted: Wanted, why: Unproven },
    /// Too few validators sealed on top so far.
    #[error(
        "block {number} is not proven final yet: {sealers} of {needed} validators sealed on it"
    )]
    Short { number: u64, sealers: usize, needed: usize },
    /// The same after twice the blocks that it usually takes.
    #[error(
        "block {number} is not proven final: {sealers} of {needed} validators sealed on it in {blocks} blocks"
    )]
    Overdue { number: u64, sealers: usize, needed: usize, blocks: u64 },
}

/// The header that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// That of the block with this hash.
    Pinned(B256),
    /// That of the block at this height.
    At(u64),
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Pinned(hash) => write!(f, "the pinned block {hash}"),
            Self::At(number) => write!(f, "block {number}"),
        }
    }
}

/// The seals of a chain's validators, and the nodes that tell them.
#[derive(Debug)]
pub(crate) struct Seals {
    fleet: Arc<Fleet<JsonRpc>>,
    checkpoint: B256,
    chain: ChainId,
    clock: Clock,
    state: Mutex<State>,
    old_pin: OnceLock<OldPin>,
}

impl Seals {
    /// Nothing was asked yet. The chain's id is the one that its seals sign.
    pub(crate) fn of(
        fleet: Arc<Fleet<JsonRpc>>,
        config: &SealsConfig,
        eip155_id: u64,
        clock: Clock,
    ) -> Self {
        Self {
            fleet,
            checkpoint: config.checkpoint,
            chain: ChainId(eip155_id),
            clock,
            state: Mutex::default(),
            old_pin: OnceLock::new(),
        }
    }

    /// Returns the age of the pinned header, if it was too old at the start.
    pub(crate) fn old_pin(&self) -> Option<&OldPin> {
        self.old_pin.get()
    }

    /// Goes on to prove a newer block, while nodes call `told` final, if that is due.
    ///
    /// # Errors
    /// The reason why none is proven, or not yet.
    pub(crate) async fn go_on(&self, told: u64, need: Need) -> Result<Progress, NotProven> {
        let mut state = self.state.lock().await;
        let again = match need {
            Need::Awaited => AGAIN,
            Need::Idle if state.is_amid_a_run() => AGAIN,
            Need::Idle if state.is_behind(told) => AGAIN,
            Need::Idle => IDLE,
        };
        if state.asked.is_some_and(|asked| asked.elapsed() < again) {
            return Ok(Progress::NotDue);
        }
        state.asked = Some(Instant::now());
        let block = self.advance(&mut state, told).await?;
        Ok(Progress::Proven(Self::take(&mut state, &block)))
    }

    /// Goes on with the run that is under way, as far as headers are there, or begins one.
    async fn advance(&self, state: &mut State, told: u64) -> Result<FinalBlock, NotProven> {
        if state.following.is_none() {
            let following = self.begin(state).await?;
            state.following = Some(following);
        }
        let mut under_way = match self.still_under_way(state, told) {
            Some(under_way) => under_way,
            None => self.begin_run(state, told).await?,
        };
        match self.read_on(&mut under_way).await {
            Ok(Standing::Final(block)) => {
                state.left = None;
                Ok(*block)
            }
            Ok(Standing::Short { sealers, needed }) => {
                Err(self.short(state, told, under_way, Shortage { sealers, needed }))
            }
            Err(why) => {
                state.left = None;
                state.pass_over(under_way.node);
                Err(why)
            }
        }
    }

    /// Takes the run that is under way, unless its node may not be asked now: then the next node proves its block.
    fn still_under_way(&self, state: &mut State, told: u64) -> Option<UnderWay> {
        let under_way = state.run.take()?;
        if told >= under_way.number && self.fleet.fit().contains(&under_way.node) {
            return Some(under_way);
        }
        state.left = Some(under_way.number);
        None
    }

    /// Keeps a run for which too few have sealed so far. As soon as nodes call blocks final that are far above its own,
    /// its node holds headers back, or tells a branch of its own: the next one is asked.
    fn short(
        &self,
        state: &mut State,
        told: u64,
        under_way: UnderWay,
        shortage: Shortage,
    ) -> NotProven {
        let UnderWay { node, number, since, ref run } = under_way;
        let Shortage { sealers, needed } = shortage;
        let blocks = run.wanted().saturating_sub(number);
        let usual = state.following.as_ref().map(|list| list.validators().usual_run());
        let late = usual.and_then(|usual| u64::try_from(usual).ok()).unwrap_or(u64::MAX);
        let late = late.saturating_mul(2);
        let is_passed_over = told.saturating_sub(since) > late && self.fleet.fit().len() > 1;
        if is_passed_over {
            info!(
                node = self.fleet.label(node),
                block = number,
                "its headers do not prove the block in time: the next node is asked"
            );
            state.left = Some(number);
            state.pass_over(node);
        } else {
            state.run = Some(under_way);
        }
        if is_passed_over || blocks > late {
            NotProven::Overdue { number, sealers, needed, blocks }
        } else {
            NotProven::Short { number, sealers, needed }
        }
    }

    /// Begins a run for the block that the last one left, for the header of the next list, or for the newest block, by
    /// the headers of the first node that tells it.
    async fn begin_run(&self, state: &mut State, told: u64) -> Result<UnderWay, NotProven> {
        let left = state.left.take().filter(|number| *number <= told);
        let number = left.or_else(|| state.next_list(told)).unwrap_or(told);
        let wanted = Wanted::At(number);
        let Some(list) = &state.following else { return Err(NotProven::Untold(wanted)) };
        let (node, first) = self.header(state, wanted).await?;
        let mut run = list.prove(first.id());
        run.read(&first).map_err(|why| NotProven::Unproven { wanted, why })?;
        Ok(UnderWay { node, number, since: told, run })
    }

    async fn begin(&self, state: &State) -> Result<Following, NotProven> {
        let wanted = Wanted::Pinned(self.checkpoint);
        let (_, header) = self.header(state, wanted).await?;
        let following = Following::pinned(self.checkpoint, &header);
        let following = following.map_err(|why| NotProven::Unproven { wanted, why })?;
        info!(block = following.since(), "final blocks are proven from the pinned one on");
        let time = header.header().fields().timestamp;
        if let Some(old) = OldPin::told(Pinned::EpochHeader, time, self.clock) {
            self.old_pin.get_or_init(|| old);
        }
        Ok(following)
    }

    /// Reads the headers that the run's node has, in groups.
    async fn read_on(&self, under_way: &mut UnderWay) -> Result<Standing, NotProven> {
        let UnderWay { node, run, .. } = under_way;
        for _ in 0..GROUPS {
            let numbers = (run.wanted()..).take(usize::try_from(GROUP).unwrap_or_default());
            let asked = numbers.map(async |number| {
                let wanted = Wanted::At(number);
                (wanted, self.header_of(*node, wanted).await)
            });
            for (wanted, header) in join_all(asked).await {
                let header = match header {
                    Ok(header) => header,
                    Err(NotProven::Untold(_)) => return Ok(run.standing()),
                    Err(why) => return Err(why),
                };
                match run.read(&header) {
                    Ok(done @ Standing::Final(_)) => return Ok(done),
                    Ok(Standing::Short { .. }) => {}
                    Err(Unproven::Unjudged(Obstacle::Apart(_))) => {
                        run.step_back(BACK);
                        return Ok(run.standing());
                    }
                    Err(why) => return Err(NotProven::Unproven { wanted, why }),
                }
            }
        }
        Ok(run.standing())
    }

    /// Takes the list of validators that a final block tells, if it is the first of an epoch.
    fn take(state: &mut State, block: &FinalBlock) -> ProvenFinal {
        let (id, time) = (block.id(), block.header().header().fields().timestamp);
        if let Some(list) = &mut state.following
            && id.number > list.since()
            && id.number.is_multiple_of(state::EPOCH)
            && let Err(why) = list.step(block)
        {
            warn!(block = id.number, %why, "the block tells no validators: those before it are kept");
            state.listless = Some(id.number);
        }
        ProvenFinal { block: id, time }
    }

    /// Returns the header from the first node that tells one that its beneficiary sealed, and the node. None is
    /// convicted by a seal: a fork may seal something else.
    async fn header(
        &self,
        state: &State,
        wanted: Wanted,
    ) -> Result<(NodeId, SealedHeader), NotProven> {
        let mut failed = NotProven::Untold(wanted);
        for node in state.in_turn(self.fleet.fit()) {
            match self.header_of(node, wanted).await {
                Ok(header) => return Ok((node, header)),
                Err(NotProven::Untold(_)) => {}
                Err(why) => failed = why,
            }
        }
        Err(failed)
    }

    /// Returns the header that this node tells.
    async fn header_of(&self, node: NodeId, wanted: Wanted) -> Result<SealedHeader, NotProven> {
        let (rpc, untold) = (self.fleet.only(node), || NotProven::Untold(wanted));
        let told: Result<Box<RawValue>, _> = match wanted {
            Wanted::Pinned(hash) => node::header_told(rpc, hash).await,
            Wanted::At(number) => node::header_told_at(rpc, number).await,
        };
        let told = told.map_err(|_| untold())?;
        let answer = decode::<Option<BlockAnswer>>(told.get().as_bytes()).ok().flatten();
        let header = SealedHeader::read(&answer.ok_or_else(untold)?, None, self.chain)
            .map_err(|why| NotProven::Unproven { wanted, why })?;
        if wanted.is(&header) { Ok(header) } else { Err(untold()) }
    }
}

impl Wanted {
    /// Returns true if the header is the one that is asked for.
    fn is(self, header: &SealedHeader) -> bool {
        match self {
            Self::Pinned(hash) => header.id().hash == hash,
            Self::At(number) => header.id().number == number,
        }
    }
}

#[cfg(test)]
mod tests;
