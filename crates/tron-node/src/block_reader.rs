//! Blocks and headers of one node, each proven from what the node claims. A node whose header does not prove itself
//! lied, and is caught. So is one whose block does not, where another answer proves the block.

use super::api::Api;
use super::block::TronBlock;
use super::blocks::{Detail, NewestBlock};
use super::endpoints::{Endpoints, Side};
use super::judgements::{Failing, Judgements};
use super::shown_headers::ShownHeaders;
use super::signers::Signers;
use futures_util::{StreamExt as _, stream};
use node::{AskError, Fleet, NodeId};
use parking_lot::Mutex;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use tracing::{debug, warn};
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::{ProvenBlock, ProvenHeader, Unproven};
use tron_primitives::unjudged::Judgement;

/// Number of headers that are asked for at once.
const AT_ONCE: usize = 6;

/// The subject of a question to several providers about a block.
const ABOUT: &str = "about an irrevocable block";

/// A block that a node does not give, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingBlock {
    /// The node does not answer, or with something else.
    Untold(u64),
    /// The header is true, and nobody can tell from the node's answer which transactions the block has.
    Unproven(u64),
}

/// Reads the blocks of a fleet's nodes.
#[derive(Debug)]
pub struct BlockReader {
    fleet: Arc<Fleet<Endpoints>>,
    signers: Signers,
    /// The newest headers that the nodes have shown.
    shown: Mutex<ShownHeaders>,
    judgements: Mutex<Judgements>,
}

impl BlockReader {
    /// A reader that has read nothing yet.
    pub fn new(fleet: Arc<Fleet<Endpoints>>) -> Self {
        let (shown, judgements) = (Mutex::default(), Mutex::default());
        Self { fleet, signers: Signers::default(), shown, judgements }
    }

    /// Returns the nodes that are read.
    pub(crate) fn fleet(&self) -> &Fleet<Endpoints> {
        &self.fleet
    }

    fn api(&self, node: NodeId) -> Api<'_> {
        Api::of(&self.fleet, node)
    }

    /// Reads the newest block of a node, and keeps its header: the header may prove the blocks below it. None if the
    /// node has no block.
    pub async fn newest(&self, node: NodeId) -> Result<Option<TronBlock>, AskError> {
        let Some(NewestBlock { block, header }) = self.api(node).newest().await? else {
            return Ok(None);
        };
        if let Some(header) = header {
            self.shown.lock().keep(node, header);
        }
        Ok(Some(block))
    }

    /// Returns true if headers of this node are kept.
    pub(crate) fn has_shown(&self, node: NodeId) -> bool {
        self.shown.lock().has(node)
    }

    /// Forgets the headers that this node has shown: they may be of a fork that it has left.
    pub(crate) fn forget_shown(&self, node: NodeId) {
        self.shown.lock().forget(node);
    }

    /// Reads the block with this number on one side of a node, as the node proves it. None for block 0, which nobody
    /// has signed.
    pub async fn block(&self, node: NodeId, side: Side, number: u64) -> Option<ProvenBlock> {
        self.read(node, side, number).await.ok()
    }

    async fn read(
        &self,
        node: NodeId,
        side: Side,
        number: u64,
    ) -> Result<ProvenBlock, MissingBlock> {
        let untold = MissingBlock::Untold(number);
        if number == 0 {
            return Err(untold);
        }
        let claimed = self.api(node).claimed(side, number, Detail::Whole).await;
        let claimed = claimed.inspect_err(|error| debug!(block = number, %error, "no answer"));
        self.prove(node, number, claimed.ok().flatten().ok_or(untold)?)
    }

    /// Reads these blocks of a node: together if the node gives them so, and otherwise one by one.
    pub async fn blocks(
        &self,
        node: NodeId,
        side: Side,
        numbers: Range<u64>,
    ) -> Result<Vec<ProvenBlock>, MissingBlock> {
        let end = numbers.end;
        let mut blocks = Vec::new();
        if numbers.clone().nth(1).is_some() {
            blocks = self.blocks_together(node, side, numbers.clone()).await;
        }
        let given = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        for number in numbers.start.saturating_add(given)..end {
            blocks.push(self.read(node, side, number).await?);
        }
        Ok(blocks)
    }

    /// Asks for these blocks together, and returns them up to the first that the node does not give so.
    async fn blocks_together(
        &self,
        node: NodeId,
        side: Side,
        numbers: Range<u64>,
    ) -> Vec<ProvenBlock> {
        let claimed = self.api(node).claimed_range(side, numbers.clone()).await;
        let claimed =
            claimed.inspect_err(|error| debug!(block = numbers.start, %error, "no answer"));
        let each = numbers.zip(claimed.unwrap_or_default());
        let next =
            each.take_while(|(number, claimed)| claimed.block_header.raw_data.number == *number);
        next.map_while(|(number, claimed)| self.prove(node, number, claimed).ok()).collect()
    }

    /// Proves a node's answer. An error if that is a lie, or cannot be judged.
    fn prove(
        &self,
        node: NodeId,
        number: u64,
        claimed: BlockAnswer,
    ) -> Result<ProvenBlock, MissingBlock> {
        let judged =
            claimed.judge_by(|digest, signature| self.signers.signer_of(digest, signature));
        let lie = match judged {
            Ok(Judgement::Proven(block)) if block.header().number() == number => {
                self.proves(&block);
                return Ok(block);
            }
            Ok(Judgement::Unjudged { header, why }) if header.number() == number => {
                self.fails_to_prove(node, &header, &why);
                return Err(MissingBlock::Unproven(number));
            }
            Ok(_) => "it is another block".to_owned(),
            Err(why) => why.to_string(),
        };
        self.fleet.caught_lying(node, &format!("about block {number}: {lie}"));
        Err(MissingBlock::Untold(number))
    }

    /// Catches the nodes that have told of this block what is not in it.
    fn proves(&self, block: &ProvenBlock) {
        let liars = self.judgements.lock().proven(block.header().id());
        for liar in liars {
            self.fleet.caught_lying(liar, &other_answer(block.header()));
        }
    }

    /// Catches a node whose answer does not prove a block that another answer has proven. Otherwise nothing follows.
    fn fails_to_prove(&self, node: NodeId, header: &ProvenHeader, why: &Unproven) {
        let failing = self.judgements.lock().unproven(header.id(), node);
        match failing {
            Failing::Lie => self.fleet.caught_lying(node, &other_answer(header)),
            Failing::New => {
                let block = header.number();
                warn!(block, %why, "this block does not prove itself, and no other answer proves it: it decides nothing");
            }
            Failing::Known => {}
        }
    }

    /// Reads the irrevocable block with this number, as enough providers prove it alike; none if too few do.
    pub async fn agreed(&self, number: u64) -> Option<ProvenBlock> {
        let told = |node: NodeId| self.block(node, Side::Solidity, number);
        let agreed = self.fleet.agreed(ABOUT, told).await;
        agreed.inspect_err(|error| debug!(block = number, %error, "not told alike")).ok()
    }

    /// Reads the header of the irrevocable block with this number, as enough providers prove it alike; none if too few
    /// do.
    pub async fn agreed_header(&self, number: u64) -> Option<TronBlock> {
        let told = |node: NodeId| self.header_or_genesis(node, number);
        self.fleet.agreed(ABOUT, told).await.ok()
    }

    /// Block 0 has no signature: it is known by its id.
    async fn header_or_genesis(&self, node: NodeId, number: u64) -> Option<TronBlock> {
        if number == 0 {
            return self.api(node).block(Side::Solidity, Some(0)).await.ok().flatten();
        }
        let header = self.header(node, Side::Solidity, number).await?;
        Some(TronBlock::from(&header))
    }

    /// Reads the header with this number, as the node proves it.
    pub async fn header(&self, node: NodeId, side: Side, number: u64) -> Option<ProvenHeader> {
        let claimed = self.api(node).claimed(side, number, Detail::Header).await;
        let claimed = claimed.inspect_err(|error| debug!(block = number, %error, "no answer"));
        match claimed.ok()??.prove_header_by(|digest, by| self.signers.signer_of(digest, by)) {
            Ok(header) => Some(header),
            Err(why) => {
                let lie = format!("about the header of block {number}: {why}");
                self.fleet.caught_lying(node, &lie);
                None
            }
        }
    }

    /// Reads the next few headers of a node, up to the first that it does not give.
    pub(crate) async fn headers(
        &self,
        node: NodeId,
        side: Side,
        numbers: RangeInclusive<u64>,
    ) -> Vec<ProvenHeader> {
        let asked: Vec<_> =
            numbers.take(AT_ONCE).map(|number| self.header(node, side, number)).collect();
        let told: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        told.into_iter().map_while(|header| header).collect()
    }

    /// The same on the full side: a header that the node has shown above block `base` is not asked for again. The
    /// block `base` itself is asked for: with few witnesses, a block that the node has left would be confirmed alone.
    pub(crate) async fn headers_above(
        &self,
        node: NodeId,
        numbers: RangeInclusive<u64>,
        base: u64,
    ) -> Vec<ProvenHeader> {
        let asked = numbers.take(AT_ONCE).map(async |number| {
            let shown = self.shown.lock().of(node, number).filter(|_| number > base);
            let prove = |shown: BlockAnswer| {
                shown.prove_header_by(|digest, by| self.signers.signer_of(digest, by)).ok()
            };
            match shown.and_then(prove) {
                Some(header) => Some(header),
                None => self.header(node, Side::Full, number).await,
            }
        });
        let told: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        told.into_iter().map_while(|header| header).collect()
    }
}

/// The lie about a block that another answer has proven.
fn other_answer(header: &ProvenHeader) -> String {
    format!("about block {}: another answer proves what is in it", header.number())
}
