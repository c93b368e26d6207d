//! Witnesses: endpoints that are asked which blocks are final, and nothing else. Nothing is decided by a block that too
//! few of them bear out, whatever the nodes say.

use ::node::{AskError, Fleet, JsonRpc, NodeGroup as _, NodeId, NodeView, State, reached_by};
use alloy::primitives::B256;
use config::Finality;
use evm_node as node;
use evm_proofs::block_id::BlockId;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// The time for which a block that is borne out is not asked for again.
const KEPT: Duration = Duration::from_mins(10);

/// The time for which neither a block that is not borne out is asked for again, nor the newest one.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// The witnesses of a chain.
#[derive(Debug)]
pub(crate) struct Witnesses {
    fleet: Fleet<JsonRpc>,
    /// The number of endpoints that are configured.
    count: usize,
    finality: Finality,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// The words on blocks, and when they were last heard.
    words: BTreeMap<BlockId, (Instant, Result<(), NotBorneOut>)>,
    /// The newest final block, and when it was asked for.
    newest: Option<(Instant, NewestFinal)>,
    /// Why there is no newer one, if too few told.
    silence: Option<NotBorneOut>,
    /// The labels of those that told none when they were asked last.
    silent: BTreeSet<String>,
}

/// Why a block is not borne out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotBorneOut {
    /// A witness holds another block of that height.
    #[error("the witness {witness} holds block {number} as {held}, and nodes as {told}")]
    Denied {
        /// The label of the witness.
        witness: String,
        number: u64,
        held: B256,
        told: B256,
    },
    /// Too few tell which block is final.
    #[error("of {count} witnesses {told} tell which block is final, and more than half have to")]
    Silent { count: usize, told: usize },
    /// Too few call it final so far.
    #[error(
        "of {count} witnesses {told} call block {number} final so far, and more than half have to"
    )]
    TooFew { count: usize, told: usize, number: u64 },
}

/// The newest block that those call final who bear out final blocks beside the nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewestFinal {
    /// Its height.
    pub number: u64,
    /// Its time, Unix seconds.
    pub time: u64,
}

/// The need of a newer final block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A transaction waits for one.
    Awaited,
    /// Nothing waits for one.
    Idle,
}

/// The word of a witness on a block.
enum Word {
    /// It holds the block, and calls it final.
    BearsOut,
    /// It holds another one of that height.
    Holds(B256),
    /// It did not tell, or the block is not final yet.
    Untold,
}

impl Witnesses {
    /// Nothing was asked yet. None without endpoints.
    pub(crate) fn of(fleet: Fleet<JsonRpc>, count: usize, finality: Finality) -> Option<Self> {
        (count > 0).then(|| Self { fleet, count, finality, memory: Mutex::default() })
    }

    /// The least number that is more than half of them.
    fn needed(&self) -> usize {
        self.count.div_euclid(2).saturating_add(1)
    }

    /// Checks that more than half of the witnesses hold the block and call it final.
    ///
    /// # Errors
    /// The reason, as it was last heard.
    pub(crate) async fn bear_out(&self, block: BlockId) -> Result<(), NotBorneOut> {
        if let Some(word) = self.heard(block) {
            return word;
        }
        let word = self.ask(block).await;
        let before = self.memory.lock().words.insert(block, (Instant::now(), word.clone()));
        if let Err(why @ NotBorneOut::Denied { .. }) = &word
            && before.is_none_or(|(_, before)| before != word)
        {
            warn!("nothing is decided by a block: {why}");
        }
        word
    }

    /// The same, asked now, of a block by which nothing is decided.
    pub(crate) async fn ask(&self, block: BlockId) -> Result<(), NotBorneOut> {
        let told = self.fleet.survey(|id| self.word_on(id, block)).await;
        let words: Vec<(NodeId, Word)> =
            told.into_iter().map(|(id, word)| (id, word.unwrap_or(Word::Untold))).collect();
        self.judge(block, &words)
    }

    /// Returns the last word on a block, if it need not be asked for again.
    fn heard(&self, block: BlockId) -> Option<Result<(), NotBorneOut>> {
        let mut memory = self.memory.lock();
        memory.words.retain(|_, (heard, _)| heard.elapsed() < KEPT);
        let (heard, word) = memory.words.get(&block)?;
        (word.is_ok() || heard.elapsed() < ASK_AGAIN).then(|| word.clone())
    }

    fn judge(&self, block: BlockId, words: &[(NodeId, Word)]) -> Result<(), NotBorneOut> {
        let told = words.iter().filter(|(_, word)| matches!(word, Word::BearsOut)).count();
        if told >= self.needed() {
            return Ok(());
        }
        let denied = words.iter().find_map(|(id, word)| match word {
            Word::Holds(held) => Some((self.fleet.label(*id).to_owned(), *held)),
            Word::BearsOut | Word::Untold => None,
        });
        let (number, count) = (block.number, self.count);
        Err(match denied {
            Some((witness, held)) => {
                NotBorneOut::Denied { witness, number, held, told: block.hash }
            }
            None => NotBorneOut::TooFew { count, told, number },
        })
    }

    async fn word_on(&self, id: NodeId, block: BlockId) -> Result<Word, AskError> {
        self.fleet.verify_when_due(id).await?;
        let rpc = self.fleet.only(id);
        let number = node::quantity(block.number);
        let (held, newest) = tokio::join!(node::header(rpc, &number), self.newest_of(id));
        let (held, newest) = (held?, newest?);
        let Some(held) = held.filter(|held| held.number() == block.number) else {
            return Ok(Word::Untold);
        };
        let is_final = newest.is_some_and(|newest| newest.number >= block.number);
        Ok(match (held.hash == block.hash, is_final) {
            (true, true) => Word::BearsOut,
            (false, true) => Word::Holds(held.hash),
            (_, false) => Word::Untold,
        })
    }

    /// Returns the newest block that more than half of the witnesses call final, as it was last told; block 0 before.
    pub(crate) fn newest(&self) -> NewestFinal {
        self.memory.lock().newest.map_or_else(NewestFinal::default, |(_, newest)| newest)
    }

    /// Asks for that block, unless it was asked for just now.
    pub(crate) async fn ask_for_newest(&self) {
        let last = self.memory.lock().newest;
        if last.is_some_and(|(asked, _)| asked.elapsed() < ASK_AGAIN) {
            return;
        }
        let ask = async |id| {
            self.fleet.verify_when_due(id).await?;
            self.newest_of(id).await
        };
        let told = self.fleet.survey(ask).await.into_iter();
        let told: BTreeMap<NodeId, NewestFinal> =
            told.filter_map(|(id, newest)| Some((id, newest.ok()??))).collect();
        let before = self.newest();
        let reached = |of: fn(&NewestFinal) -> u64, before: u64| {
            reached_by(told.values().map(of), self.needed()).unwrap_or_default().max(before)
        };
        let newest = NewestFinal {
            number: reached(|newest| newest.number, before.number),
            time: reached(|newest| newest.time, before.time),
        };
        let heard = |view: &NodeView| told.keys().any(|id| self.fleet.label(*id) == view.label);
        let silent = self.fleet.views().into_iter().filter(|view| !heard(view));
        let mut memory = self.memory.lock();
        memory.silent = silent.map(|view| view.label).collect();
        let (count, told) = (self.count, told.len());
        memory.silence = (told < self.needed()).then_some(NotBorneOut::Silent { count, told });
        memory.newest = Some((Instant::now(), newest));
    }

    /// Returns the newest block that one witness calls final. The time is that of the block, or of the newest one where
    /// finality is a depth: guards end no later by that.
    async fn newest_of(&self, id: NodeId) -> Result<Option<NewestFinal>, AskError> {
        let (tag, below) = match self.finality {
            Finality::FinalizedTag => ("finalized", 0),
            Finality::Depth(depth) => ("latest", depth.saturating_sub(1)),
        };
        let header = node::header(self.fleet.only(id), tag).await?;
        Ok(header.map(|header| NewestFinal {
            number: header.number().saturating_sub(below),
            time: header.time(),
        }))
    }

    /// Returns the witnesses as people see them.
    pub(crate) fn views(&self) -> Vec<NodeView> {
        let memory = self.memory.lock();
        let mut views = self.fleet.views();
        for view in &mut views {
            if view.state == State::Alive && memory.silent.contains(&view.label) {
                view.state = State::Silent;
            }
        }
        views
    }

    /// Returns why the last block that was to decide something is not borne out; none if it is.
    pub(crate) fn objection(&self) -> Option<String> {
        let memory = self.memory.lock();
        let last = memory.words.values().max_by_key(|(heard, _)| *heard);
        let last = last.and_then(|(_, word)| word.as_ref().err());
        last.or(memory.silence.as_ref()).map(ToString::to_string)
    }
}
