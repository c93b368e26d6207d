//! Final blocks of BNB Smart Chain, proven: more than two thirds of its validators seal on top of a block, by lists that
//! are followed from a pinned epoch header on.

use super::proven_blocks::{NotBelow, ProvenBlocks};
use super::witnesses::{Need, NewestFinal};
use ::node::{Fleet, JsonRpc, NodeView, State as NodeState, decode};
use alloy::primitives::B256;
use config::SealsConfig;
use evm_node as node;
use evm_proofs::answer::BlockAnswer;
use evm_proofs::block_id::BlockId;
use futures_util::future::join_all;
use parlia::following::Following;
use parlia::run::{FinalBlock, Run, Standing};
use parlia::seal::{ChainId, SealedHeader};
use parlia::unproven::Unproven;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{error, info};

/// The interval at which nodes are asked for newer headers while something waits for a final block.
const AGAIN: Duration = Duration::from_secs(3);

/// The interval at which a newer block is proven while nothing waits for one.
const IDLE: Duration = Duration::from_mins(10);

/// The blocks from one epoch header to the next (bsc: `params/protocol_params.go`, since Maxwell).
const EPOCH: u64 = 1_000;

/// The headers that are asked for at once, and the most groups of them in one look.
const GROUP: u64 = 8;
const GROUPS: u64 = 64;

/// Why a block is not proven final.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotProven {
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
    /// The newest block that is proven final does not stand on the block.
    #[error(transparent)]
    Below(#[from] NotBelow),
}

/// The header that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
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

/// The proof of final blocks.
#[derive(Debug)]
pub(super) struct SealProof {
    fleet: Arc<Fleet<JsonRpc>>,
    checkpoint: B256,
    chain: ChainId,
    state: Mutex<State>,
    /// The last finding, for people.
    told: parking_lot::Mutex<Told>,
}

#[derive(Debug, Default)]
struct State {
    following: Option<Following>,
    /// The run that is under way, and the block that it is to prove.
    run: Option<(u64, Run)>,
    asked: Option<Instant>,
    proven: ProvenBlocks,
}

#[derive(Clone, Debug, Default)]
struct Told {
    newest: Option<(BlockId, NewestFinal)>,
    objection: Option<NotProven>,
}

impl SealProof {
    /// Nothing was asked yet. The chain's id is the one that its seals sign.
    pub(super) fn of(fleet: Arc<Fleet<JsonRpc>>, config: &SealsConfig, eip155_id: u64) -> Self {
        Self {
            fleet,
            checkpoint: config.checkpoint,
            chain: ChainId(eip155_id),
            state: Mutex::default(),
            told: parking_lot::Mutex::default(),
        }
    }

    /// Checks that the block is proven final.
    ///
    /// # Errors
    /// The reason why not, or not yet.
    pub(super) async fn bear_out(&self, block: BlockId) -> Result<(), NotProven> {
        let judged = self.ask_for(block).await;
        let objection = judged.as_ref().err().cloned();
        let before = std::mem::replace(&mut self.told.lock().objection, objection.clone());
        if let Some(why @ NotProven::Below(NotBelow::Another { .. })) = objection
            && before.as_ref() != Some(&why)
        {
            error!("nothing is decided by a block: {why}");
        }
        judged
    }

    /// The same of a block by which nothing is decided.
    pub(super) async fn ask_for(&self, block: BlockId) -> Result<(), NotProven> {
        let mut state = self.state.lock().await;
        let newest = self.newest_for(&mut state, block.number, Need::Awaited).await?;
        Ok(state.proven.judge(&self.fleet, newest, block).await?)
    }

    /// Returns the newest block that is proven final; goes on to prove a newer one if it is lower than `wanted`.
    async fn newest_for(
        &self,
        state: &mut State,
        wanted: u64,
        need: Need,
    ) -> Result<BlockId, NotProven> {
        let known = self.told.lock().newest.map(|(newest, _)| newest);
        let again = match need {
            Need::Awaited => AGAIN,
            // A run that was begun is brought to its end.
            Need::Idle if state.run.is_some() => AGAIN,
            Need::Idle => IDLE,
        };
        let is_due = state.asked.is_none_or(|asked| asked.elapsed() >= again);
        match known {
            Some(newest) if newest.number >= wanted || !is_due => return Ok(newest),
            None if !is_due => {
                let last = self.told.lock().objection.clone();
                return Err(last.unwrap_or(NotProven::Untold(Wanted::Pinned(self.checkpoint))));
            }
            Some(_) | None => {}
        }
        state.asked = Some(Instant::now());
        match (self.advance(state, wanted).await, known) {
            (Ok(block), _) => {
                let newest = self.take(state, &block)?;
                Ok(newest)
            }
            (Err(NotProven::Short { .. }), Some(newest)) => Ok(newest),
            (Err(why), _) => Err(why),
        }
    }

    /// Goes on with the run that is under way, as far as headers are there, or begins one.
    async fn advance(&self, state: &mut State, wanted: u64) -> Result<FinalBlock, NotProven> {
        let following = match state.following.take() {
            Some(following) => following,
            None => self.begin().await?,
        };
        let following = state.following.insert(following);
        let (number, mut run) = if let Some(run) = state.run.take() {
            run
        } else {
            self.run_up_to(following, wanted).await?
        };
        match self.read_on(&mut run).await? {
            Standing::Final(block) => Ok(*block),
            Standing::Short { sealers, needed } => {
                let blocks = run.wanted().saturating_sub(number);
                let usual = u64::try_from(following.validators().usual_run()).unwrap_or(u64::MAX);
                state.run = Some((number, run));
                Err(if blocks > usual.saturating_mul(2) {
                    NotProven::Overdue { number, sealers, needed, blocks }
                } else {
                    NotProven::Short { number, sealers, needed }
                })
            }
        }
    }

    /// Begins a run: for the epoch header below `wanted`, if that is newer than the list, else for `wanted`.
    async fn run_up_to(&self, list: &Following, wanted: u64) -> Result<(u64, Run), NotProven> {
        let epoch = wanted.div_euclid(EPOCH).saturating_mul(EPOCH);
        let number = if epoch > list.since() { epoch } else { wanted };
        let first = self.header(Wanted::At(number)).await?;
        let mut run = list.prove(first.id());
        read(&mut run, number, &first)?;
        Ok((number, run))
    }

    async fn begin(&self) -> Result<Following, NotProven> {
        let wanted = Wanted::Pinned(self.checkpoint);
        let header = self.header(wanted).await?;
        let following = Following::pinned(self.checkpoint, &header);
        let following = following.map_err(|why| NotProven::Unproven { wanted, why })?;
        info!(block = following.since(), "final blocks are proven from the pinned one on");
        Ok(following)
    }

    /// Reads the headers that nodes have, in groups.
    async fn read_on(&self, run: &mut Run) -> Result<Standing, NotProven> {
        for _ in 0..GROUPS {
            let numbers = (run.wanted()..).take(usize::try_from(GROUP).unwrap_or_default());
            let asked = numbers.map(async |number| (number, self.header(Wanted::At(number)).await));
            for (number, header) in join_all(asked).await {
                match header {
                    Ok(header) => {
                        if let done @ Standing::Final(_) = read(run, number, &header)? {
                            return Ok(done);
                        }
                    }
                    Err(NotProven::Untold(_)) => return Ok(run.standing()),
                    Err(why) => return Err(why),
                }
            }
        }
        Ok(run.standing())
    }

    /// Takes a block that was proven final for the newest one, and the list of validators that it tells.
    fn take(&self, state: &mut State, block: &FinalBlock) -> Result<BlockId, NotProven> {
        let (id, fields) = (block.id(), block.header().header().fields());
        if let Some(following) = &mut state.following
            && id.number > following.since()
            && id.number.is_multiple_of(EPOCH)
        {
            let stepped = following.step(block);
            let wanted = Wanted::At(id.number);
            stepped.map_err(|why| NotProven::Unproven { wanted, why })?;
        }
        let newest = NewestFinal { number: id.number, time: fields.timestamp };
        self.told.lock().newest = Some((id, newest));
        Ok(id)
    }

    /// Returns the header from the first node that tells one that its beneficiary sealed. No node is convicted by a seal:
    /// a fork may seal something else.
    async fn header(&self, wanted: Wanted) -> Result<SealedHeader, NotProven> {
        let mut failed = NotProven::Untold(wanted);
        for id in self.fleet.fit() {
            let rpc = self.fleet.only(id);
            let told: Result<Box<RawValue>, _> = match wanted {
                Wanted::Pinned(hash) => node::header_told(rpc, hash).await,
                Wanted::At(number) => node::header_told_at(rpc, number).await,
            };
            let Ok(told) = told else { continue };
            let Ok(Some(answer)) = decode::<Option<BlockAnswer>>(told.get().as_bytes()) else {
                continue;
            };
            match SealedHeader::read(&answer, None, self.chain) {
                Ok(header) if wanted.is(&header) => return Ok(header),
                Ok(_) => {}
                Err(why) => failed = NotProven::Unproven { wanted, why },
            }
        }
        Err(failed)
    }

    /// Returns the proof as people see it: beside the witnesses.
    pub(super) fn view(&self) -> NodeView {
        let newest = self.told.lock().newest;
        NodeView {
            label: "seals of validators".to_owned(),
            provider: "validators".to_owned(),
            state: if newest.is_some() { NodeState::Alive } else { NodeState::Unverified },
            head: newest.map(|(newest, _)| newest.number),
            send_only: false,
            reproach: None,
        }
    }

    /// Returns the newest block that is proven final; block 0 before one is.
    pub(super) fn newest(&self) -> NewestFinal {
        self.told.lock().newest.map_or_else(NewestFinal::default, |(_, newest)| newest)
    }

    /// Goes on to prove a newer one, while nodes call `told` final, if that is due.
    pub(super) async fn ask_for_newest(&self, told: u64, need: Need) {
        let found = self.newest_for(&mut *self.state.lock().await, told, need).await;
        let mut told = self.told.lock();
        match (found, &told.objection) {
            (Err(why), _) => told.objection = Some(why),
            // The next look at a block tells anew why that is not proven.
            (Ok(_), None | Some(NotProven::Below(_))) => {}
            (Ok(_), Some(_)) => told.objection = None,
        }
    }

    /// Returns why the last block that was to decide something is not proven; none if it is.
    pub(super) fn objection(&self) -> Option<String> {
        self.told.lock().objection.as_ref().map(ToString::to_string)
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

/// Reads the next header of a run, of the block at this height.
fn read(run: &mut Run, number: u64, header: &SealedHeader) -> Result<Standing, NotProven> {
    let wanted = Wanted::At(number);
    run.read(header).map_err(|why| NotProven::Unproven { wanted, why })
}
