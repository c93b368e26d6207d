//! A light client: from a trusted block, over the sync committees of the periods since, to the newest final block.

use crate::answer::{Answer, Bootstrap, FinalityUpdate, LightClientHeader, Update};
use crate::committee::Committee;
use crate::network::{ForkName, Network, period_of};
use crate::ssz::{
    ExecutionForm, GeneralizedIndex, committee_root, execution_root, header_root, stands_below,
};
use crate::unproven::{Contradiction, Obstacle, Unproven};
use alloy::primitives::B256;

/// A block that was proven final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalBlock {
    /// Its slot.
    pub slot: u64,
    /// The root of its header: the block at which a later light client can begin.
    pub root: B256,
    /// The height of its execution block.
    pub number: u64,
    /// The hash of its execution block.
    pub hash: B256,
    /// The state root of its execution block.
    pub state_root: B256,
    /// The time of its execution block, in seconds since 1970.
    pub timestamp: u64,
}

/// The use of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The update proved the committee of the next period.
    Stepped,
    /// The update is of a period whose next committee is known. It was not judged.
    KnownBefore,
}

/// A light client of one network. A refused answer leaves it as it was.
#[derive(Clone, Debug)]
pub struct LightClient {
    network: Network,
    /// The period of the newest committee.
    period: u64,
    newest: Committee,
    /// The committee of the period before.
    previous: Option<Committee>,
    block: FinalBlock,
}

impl LightClient {
    /// Begins at a block whose root is trusted as that of a final block. The caller pins the root, and sees to its
    /// age: old committees can sign anything once their stakes are withdrawn, so two weeks are the custom.
    ///
    /// # Errors
    /// [`Obstacle::UnknownFork`], [`Obstacle::OtherBlock`], [`Contradiction::CurrentCommittee`],
    /// [`Contradiction::Execution`], [`Obstacle::Key`], and those of a header whose form is not known.
    pub fn begin(
        network: Network,
        trusted: B256,
        answer: &Answer<Bootstrap>,
    ) -> Result<Self, Unproven> {
        let bootstrap = answer.known()?;
        let header = &bootstrap.header.beacon;
        let root = header_root(header);
        if root != trusted {
            return Err(Obstacle::OtherBlock(root).into());
        }
        let committee = &bootstrap.current_sync_committee;
        let branch = &bootstrap.current_sync_committee_branch;
        let place = Places::at(&network, header.slot)?.current_committee;
        if !stands_below(committee_root(committee), branch, place, header.state_root) {
            return Err(Contradiction::CurrentCommittee.into());
        }
        let block = final_block(&network, &bootstrap.header)?;
        let (period, newest) = (period_of(header.slot), Committee::new(committee)?);
        Ok(Self { network, period, newest, previous: None, block })
    }

    /// The newest period whose committee is known. The update to ask for next is that of this period: it proves the
    /// committee of the period after.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The newest final block that is known.
    pub fn newest(&self) -> FinalBlock {
        self.block
    }

    /// The network that it follows.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Steps to the committee of the next period, if the committee of this one signed a header that commits to both it
    /// and a final block of this period.
    ///
    /// # Errors
    /// Those of [`LightClient::finalized`] but [`Obstacle::Outdated`], and [`Obstacle::NotFinal`],
    /// [`Contradiction::NextCommittee`], [`Obstacle::Key`].
    pub fn advance(&mut self, answer: &Answer<Update>) -> Result<Advance, Unproven> {
        let update = answer.known()?;
        let attested = &update.finality.attested_header.beacon;
        let period = period_of(attested.slot);
        if period < self.period {
            return Ok(Advance::KnownBefore);
        }
        if period > self.period {
            return Err(Obstacle::UnknownCommittee(period).into());
        }
        if period_of(update.finality.finalized_header.beacon.slot) != period {
            return Err(Obstacle::NotFinal.into());
        }
        let (committee, branch) = (&update.next_sync_committee, &update.next_sync_committee_branch);
        let place = Places::at(&self.network, attested.slot)?.next_committee;
        if !stands_below(committee_root(committee), branch, place, attested.state_root) {
            return Err(Contradiction::NextCommittee.into());
        }
        let block = self.judge(&update.finality)?;
        let next = Committee::new(committee)?;
        self.period = period.saturating_add(1);
        self.previous = Some(std::mem::replace(&mut self.newest, next));
        if block.slot > self.block.slot {
            self.block = block;
        }
        Ok(Advance::Stepped)
    }

    /// The final block of the answer, if a known committee signed a header that commits to it. Never a block that is
    /// older than [`LightClient::newest`], which it becomes.
    ///
    /// # Errors
    /// In the order of the steps: [`Obstacle::UnknownFork`], [`Obstacle::Outdated`], [`Obstacle::NotFinal`],
    /// [`Contradiction::SlotOrder`], [`Contradiction::Finality`], [`Contradiction::Execution`],
    /// [`Obstacle::UnknownCommittee`], [`Obstacle::Participation`], [`Obstacle::Signature`],
    /// [`Obstacle::RivalBlock`], and those of a header whose form is not known.
    pub fn finalized(&mut self, answer: &Answer<FinalityUpdate>) -> Result<FinalBlock, Unproven> {
        let update = answer.known()?;
        if update.finalized_header.beacon.slot < self.block.slot {
            return Err(Obstacle::Outdated(self.block.slot).into());
        }
        self.block = self.judge(update)?;
        Ok(self.block)
    }

    /// The final block of an update, if it is proven.
    fn judge(&self, update: &FinalityUpdate) -> Result<FinalBlock, Unproven> {
        let (attested, finalized) =
            (&update.attested_header.beacon, &update.finalized_header.beacon);
        if finalized.slot == 0 {
            return Err(Obstacle::NotFinal.into());
        }
        if update.signature_slot <= attested.slot || attested.slot < finalized.slot {
            return Err(Contradiction::SlotOrder.into());
        }
        let place = Places::at(&self.network, attested.slot)?.finalized_root;
        let root = header_root(finalized);
        if !stands_below(root, &update.finality_branch, place, attested.state_root) {
            return Err(Contradiction::Finality.into());
        }
        let block = final_block(&self.network, &update.finalized_header)?;
        let signed = self
            .network
            .signing_root(header_root(attested), update.signature_slot)
            .ok_or(Obstacle::BeforeCapella(update.signature_slot))?;
        self.committee_of(update.signature_slot)?.verify(&update.sync_aggregate, signed)?;
        if block.slot == self.block.slot && block != self.block {
            return Err(Obstacle::RivalBlock(block.slot).into());
        }
        Ok(block)
    }

    /// The committee that signs in a slot.
    fn committee_of(&self, slot: u64) -> Result<&Committee, Obstacle> {
        let period = period_of(slot);
        let known = match self.period.checked_sub(period) {
            Some(0) => Some(&self.newest),
            Some(1) => self.previous.as_ref(),
            Some(_) | None => None,
        };
        known.ok_or(Obstacle::UnknownCommittee(period))
    }
}

/// The places in a state, by its fork.
struct Places {
    current_committee: GeneralizedIndex,
    next_committee: GeneralizedIndex,
    finalized_root: GeneralizedIndex,
}

impl Places {
    fn at(network: &Network, slot: u64) -> Result<Self, Obstacle> {
        match fork_name(network, slot)? {
            ForkName::Phase0 | ForkName::Altair | ForkName::Bellatrix => {
                Err(Obstacle::BeforeCapella(slot))
            }
            ForkName::Capella | ForkName::Deneb => Ok(Self {
                current_committee: GeneralizedIndex::CURRENT_COMMITTEE,
                next_committee: GeneralizedIndex::NEXT_COMMITTEE,
                finalized_root: GeneralizedIndex::FINALIZED_ROOT,
            }),
            ForkName::Electra | ForkName::Fulu => Ok(Self {
                current_committee: GeneralizedIndex::CURRENT_COMMITTEE_ELECTRA,
                next_committee: GeneralizedIndex::NEXT_COMMITTEE_ELECTRA,
                finalized_root: GeneralizedIndex::FINALIZED_ROOT_ELECTRA,
            }),
        }
    }
}

/// The fork of a slot; a slot before the network's first fork counts as before Capella.
fn fork_name(network: &Network, slot: u64) -> Result<ForkName, Obstacle> {
    network.fork_at(slot).map(|fork| fork.name).ok_or(Obstacle::BeforeCapella(slot))
}

/// The block of a header, if its execution header stands in its body.
fn final_block(network: &Network, header: &LightClientHeader) -> Result<FinalBlock, Unproven> {
    let LightClientHeader { beacon, execution, execution_branch } = header;
    let form = match fork_name(network, beacon.slot)? {
        ForkName::Phase0 | ForkName::Altair | ForkName::Bellatrix => {
            return Err(Obstacle::BeforeCapella(beacon.slot).into());
        }
        ForkName::Capella => ExecutionForm::Capella,
        ForkName::Deneb | ForkName::Electra | ForkName::Fulu => {
            let told = |value: Option<u64>, name| value.ok_or(Obstacle::MissingField(name));
            ExecutionForm::Deneb {
                blob_gas_used: told(execution.blob_gas_used, "blob_gas_used")?,
                excess_blob_gas: told(execution.excess_blob_gas, "excess_blob_gas")?,
            }
        }
    };
    let (root, place) = (execution_root(execution, form), GeneralizedIndex::EXECUTION);
    if !stands_below(root, execution_branch, place, beacon.body_root) {
        return Err(Contradiction::Execution.into());
    }
    Ok(FinalBlock {
        slot: beacon.slot,
        root: header_root(beacon),
        number: execution.block_number,
        hash: execution.block_hash,
        state_root: execution.state_root,
        timestamp: execution.timestamp,
    })
}
