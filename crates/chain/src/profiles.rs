//! Profiles of a chain's contract: the configured one, and those by which older batches were signed. A batch of
//! ours is read by its own profile; a transaction that nobody here remembers is read by all.

use super::{ChainError, Standstill};
use alloy::primitives::{Address, Log};
use billing::{Execution, Family, ForeignEffect, Item, ItemOutcome, Opaque, Slot};
use contract::{FinalTx, Profile};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tracing::error;

/// A profile as text, and what it says; none where this program cannot read it.
type ReadProfiles = BTreeMap<Arc<str>, Option<Arc<Profile>>>;

/// Every profile that the journal knows of a chain.
#[derive(Debug)]
pub(super) struct KnownProfiles {
    family: Family,
    current: Arc<Profile>,
    /// The configured contract.
    contract: Address,
    /// Those of earlier batches, each with its contract.
    earlier: Mutex<Vec<(Address, Arc<str>)>>,
    read: Mutex<ReadProfiles>,
}

impl KnownProfiles {
    /// With nothing but what is configured.
    pub(super) fn of(family: Family, contract: Address, current: Arc<Profile>) -> Self {
        Self { family, current, contract, earlier: Mutex::default(), read: Mutex::default() }
    }

    /// Takes up what the journal has kept.
    pub(super) fn remember(&self, earlier: Vec<(Address, Arc<str>)>) {
        *self.earlier.lock() = earlier;
    }

    /// The profile that a batch was signed by; none where it cannot be read.
    pub(super) fn of_slot<A>(&self, slot: &Slot<A>) -> Option<Arc<Profile>> {
        self.read(&slot.profile)
    }

    /// The same, where nothing can be signed without it.
    pub(super) fn needed<A>(&self, slot: &Slot<A>) -> Result<Arc<Profile>, ChainError> {
        let unread = || ChainError::Stays(Standstill::UnknownProfile);
        self.of_slot(slot).ok_or_else(unread)
    }

    /// Returns the outcome of each item of a batch whose transaction succeeded.
    pub(super) fn outcomes<A>(&self, slot: &Slot<A>, logs: &[Log]) -> Vec<ItemOutcome> {
        match self.of_slot(slot) {
            Some(profile) => profile.outcomes(slot.contract, logs, &slot.items),
            None => slot.items.iter().map(|_| ItemOutcome::Unproven).collect(),
        }
    }

    /// Returns the effect of a transaction in a final block that the journal does not know: see
    /// [`Profile::effect`]. The transaction may have called any contract that there was. `slot` is the batch whose
    /// place it took, if it took one: a journal that was put back may have forgotten an attempt of that batch.
    pub(super) fn effect<A>(
        &self,
        slot: Option<&Slot<A>>,
        tx: FinalTx<'_>,
    ) -> Result<ForeignEffect, Opaque> {
        self.contracts().into_iter().try_fold(ForeignEffect::Other, |told, contract| {
            let own = slot.filter(|slot| tx.succeeded && slot.contract == contract);
            let here = self.effect_at(contract, tx);
            let here = here.or_else(|Opaque| self.attempt_of(own, tx).ok_or(Opaque));
            ForeignEffect::and(Ok(told), here)
        })
    }

    /// Returns the effect of a call that does not tell everything of its charges, and names those of the batch
    /// whose place it took.
    fn attempt_of<A>(&self, slot: Option<&Slot<A>>, tx: FinalTx<'_>) -> Option<ForeignEffect> {
        let (slot, (to, data)) = (slot?, tx.call?);
        let lacks_fields = to == slot.contract && self.readings(to, data).is_empty();
        let names = lacks_fields && self.of_slot(slot)?.names(data, &slot.items);
        names.then(|| ForeignEffect::Billed {
            contract: slot.contract,
            items: slot.items.clone(),
            execution: Execution::Succeeded(self.outcomes(slot, tx.logs)),
        })
    }

    /// Every contract that was billed through.
    fn contracts(&self) -> BTreeSet<Address> {
        let earlier = self.earlier.lock();
        earlier.iter().map(|(contract, _)| *contract).chain([self.contract]).collect()
    }

    /// The same at one contract. It may have been signed by any profile that there was, so the worst that one
    /// of them tells counts.
    fn effect_at(&self, contract: Address, tx: FinalTx<'_>) -> Result<ForeignEffect, Opaque> {
        let now = self.current.effect(contract, tx);
        let touches = || {
            tx.call.is_some_and(|(to, _)| to == contract)
                || tx.logs.iter().any(|log| log.address == contract)
        };
        self.earlier_of(contract).into_iter().fold(now, |told, profile| match profile {
            Some(profile) => ForeignEffect::worse_of(told, profile.effect(contract, tx)),
            None if tx.succeeded && touches() => ForeignEffect::worse_of(told, Err(Opaque)),
            None => told,
        })
    }

    /// Returns true if batches were billed through the contract.
    pub(super) fn bills_through(&self, contract: Address) -> bool {
        self.contracts().contains(&contract)
    }

    /// Returns the items that a call of the contract was to charge; none if no profile reads the call, or two
    /// profiles read it differently.
    pub(super) fn charged_by(&self, contract: Address, data: &[u8]) -> Option<Vec<Item>> {
        let mut readings = self.readings(contract, data);
        let first = readings.pop();
        first.filter(|_| readings.is_empty())
    }

    /// Returns the items that the profiles of a contract read in a call, each reading once.
    fn readings(&self, contract: Address, data: &[u8]) -> Vec<Vec<Item>> {
        let earlier = self.earlier_of(contract).into_iter().flatten();
        let all = std::iter::once(Arc::clone(&self.current)).chain(earlier);
        let mut readings: Vec<_> = all.filter_map(|profile| profile.decode(data).ok()).collect();
        readings.dedup();
        readings
    }

    /// The earlier profiles of a contract that differ from the configured one.
    fn earlier_of(&self, contract: Address) -> Vec<Option<Arc<Profile>>> {
        let earlier = self.earlier.lock().clone();
        let other =
            |(at, text): &(Address, Arc<str>)| *at == contract && text != self.current.written();
        earlier.iter().filter(|one| other(one)).map(|(_, text)| self.read(text)).collect()
    }

    fn read(&self, text: &Arc<str>) -> Option<Arc<Profile>> {
        if text == self.current.written() {
            return Some(Arc::clone(&self.current));
        }
        let mut read = self.read.lock();
        if let Some(known) = read.get(text) {
            return known.clone();
        }
        let profile = Profile::read(text, self.family).map(Arc::new);
        if profile.is_none() {
            error!(
                %text,
                "this program cannot read the profile that earlier batches were signed by: what they \
                 charged will have to be found out by a person"
            );
        }
        read.insert(Arc::clone(text), profile.clone());
        profile
    }
}

#[cfg(test)]
mod tests;
