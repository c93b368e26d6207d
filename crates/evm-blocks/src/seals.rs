//! Final blocks of BNB Smart Chain: more than two thirds of its validators seal on top of a block, by lists that are
//! followed from a pinned epoch header on.

use crate::progress::{Progress, ProvenFinal};
use crate::witnesses::Need;
use ::node::{Fleet, JsonRpc, NodeId, decode};
use alloy::primitives::B256;
use config::SealsConfig;
use evm_node as node;
use evm_proofs::answer::BlockAnswer;
use futures_util::future::join_all;
use parlia::following::Following;
use parlia::run::{FinalBlock, Run, Standing};
use parlia::seal::{ChainId, SealedHeader};
use parlia::unproven::Unproven;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

/// The interval at which nodes are asked for newer headers while something waits for a final block.
const AGAIN: Duration = Duration::from_secs(3);

/// The interval at which a newer block is proven while nothing waits for one.
const IDLE: Duration = Duration::from_mins(10);

/// The blocks from one epoch header to the next (bsc: `params/protocol_params.go`, since Maxwell).
const EPOCH: u64 = 1_000;

/// The most blocks from one list to the next: six hours of blocks of 0.45 s. Each day elects other validators, and a list
/// of days before proves nothing.
const STRIDE: u64 = 48 * EPOCH;

/// The headers that are asked for at once, and the most groups of them in one look.
const GROUP: u64 = 8;
const GROUPS: u64 = 64;

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
    state: Mutex<State>,
    /// The number of nodes that are asked after the others, since what they told proved nothing.
    passed_over: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    following: Option<Following>,
    /// The run that is under way, and the block that it is to prove.
    run: Option<(u64, Run)>,
    asked: Option<Instant>,
    /// An epoch's first block that holds no list: a fork has other epochs.
    listless: Option<u64>,
}

impl State {
    /// Returns the height of the header with the next list, while nodes call `told` final; none where the newest list is
    /// known, or no list at all.
    fn next_list(&self, told: u64) -> Option<u64> {
        let since = self.following.as_ref()?.since();
        let newest = epoch_of(told);
        let next = newest.min(epoch_of(since).saturating_add(STRIDE));
        (newest > since && self.listless != Some(next)).then_some(next)
    }

    /// Returns true if the way from the pinned list to the newest is not at its end.
    fn is_behind(&self, told: u64) -> bool {
        let Some(list) = &self.following else { return true };
        let gap = epoch_of(told).saturating_sub(list.since());
        gap > 2 * EPOCH && self.next_list(told).is_some()
    }
}

/// Returns the height of the first block of the epoch.
fn epoch_of(number: u64) -> u64 {
    number.div_euclid(EPOCH).saturating_mul(EPOCH)
}

impl Seals {
    /// Nothing was asked yet. The chain's id is the one that its seals sign.
    pub(crate) fn of(fleet: Arc<Fleet<JsonRpc>>, config: &SealsConfig, eip155_id: u64) -> Self {
        Self {
            fleet,
            checkpoint: config.checkpoint,
            chain: ChainId(eip155_id),
            state: Mutex::default(),
            passed_over: AtomicUsize::default(),
        }
    }

    /// Goes on to prove a newer block, while nodes call `told` final, if that is due.
    ///
    /// # Errors
    /// The reason why none is proven, or not yet.
    pub(crate) async fn go_on(&self, told: u64, need: Need) -> Result<Progress, NotProven> {
        let mut state = self.state.lock().await;
        let again = match need {
            Need::Awaited => AGAIN,
            // A run that was begun is brought to its end.
            Need::Idle if state.run.is_some() => AGAIN,
            Need::Idle if state.is_behind(told) => AGAIN,
            Need::Idle => IDLE,
        };
        if state.asked.is_some_and(|asked| asked.elapsed() < again) {
            return Ok(Progress::NotDue);
        }
        state.asked = Some(Instant::now());
        let advanced = self.advance(&mut state, told).await;
        if let Err(NotProven::Unproven { .. }) = advanced {
            self.passed_over.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Progress::Proven(Self::take(&mut state, &advanced?)))
    }

    /// Goes on with the run that is under way, as far as headers are there, or begins one.
    async fn advance(&self, state: &mut State, told: u64) -> Result<FinalBlock, NotProven> {
        if state.following.is_none() {
            state.following = Some(self.begin().await?);
        }
        let wanted = state.next_list(told).unwrap_or(told);
        let Some(list) = &state.following else { return Err(NotProven::Untold(Wanted::At(told))) };
        let usual = u64::try_from(list.validators().usual_run()).unwrap_or(u64::MAX);
        let (number, mut run) = match state.run.take() {
            Some(run) => run,
            None => self.begin_run(list, wanted).await?,
        };
        match self.read_on(&mut run).await? {
            Standing::Final(block) => Ok(*block),
            Standing::Short { sealers, needed } => {
                let blocks = run.wanted().saturating_sub(number);
                state.run = Some((number, run));
                Err(if blocks > usual.saturating_mul(2) {
                    NotProven::Overdue { number, sealers, needed, blocks }
                } else {
                    NotProven::Short { number, sealers, needed }
                })
            }
        }
    }

    /// Begins a run for the block at this height.
    async fn begin_run(&self, list: &Following, number: u64) -> Result<(u64, Run), NotProven> {
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

    /// Takes the list of validators that a final block tells, if it is the first of an epoch.
    fn take(state: &mut State, block: &FinalBlock) -> ProvenFinal {
        let (id, time) = (block.id(), block.header().header().fields().timestamp);
        if let Some(list) = &mut state.following
            && id.number > list.since()
            && id.number.is_multiple_of(EPOCH)
            && let Err(why) = list.step(block)
        {
            warn!(block = id.number, %why, "the block tells no validators: those before it are kept");
            state.listless = Some(id.number);
        }
        ProvenFinal { block: id, time }
    }

    /// Returns the header from the first node that tells one that its beneficiary sealed. No node is convicted by a seal:
    /// a fork may seal something else.
    async fn header(&self, wanted: Wanted) -> Result<SealedHeader, NotProven> {
        let mut failed = NotProven::Untold(wanted);
        for id in self.in_turn() {
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

    /// Returns the nodes in the order in which they are asked. A validator's node can show a branch of its own, and each
    /// other node then another one: the next run begins at the next node.
    fn in_turn(&self) -> Vec<NodeId> {
        let mut nodes = self.fleet.fit();
        let passed_over = self.passed_over.load(Ordering::Relaxed);
        let first = passed_over.checked_rem(nodes.len()).unwrap_or_default();
        nodes.rotate_left(first);
        nodes
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::Address;
    use parlia::validators::ValidatorList;

    fn since(number: u64) -> State {
        let validators = ValidatorList::new(1, [Address::repeat_byte(7)]).unwrap();
        let following = Some(Following::trusting(validators, number));
        State { following, ..State::default() }
    }

    #[test]
    fn an_old_list_leads_to_the_newest_by_strides_and_then_nothing_is_behind() {
        let mut state = since(1_000_000);
        let told = 1_100_777;
        let mut strides = vec![];
        while let Some(next) = state.next_list(told) {
            assert!(state.is_behind(told));
            strides.push(next);
            state = since(next);
        }
        assert_eq!(strides, [1_048_000, 1_096_000, 1_100_000]);
        assert!(!state.is_behind(told));
        // An epoch or two come to be behind while nothing waits for a block.
        assert_eq!(state.next_list(1_102_999), Some(1_102_000));
        assert!(!state.is_behind(1_102_999));
        assert!(State::default().is_behind(told), "the pinned list was not read yet");
    }

    #[test]
    fn a_header_without_a_list_is_not_asked_for_again() {
        let state = State { listless: Some(1_001_000), ..since(1_000_000) };
        assert_eq!(state.next_list(1_001_500), None);
        assert_eq!(state.next_list(1_002_500), Some(1_002_000));
    }
}
