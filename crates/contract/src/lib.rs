#![doc = include_str!("../README.md")]

mod abi;
mod call;
mod coerce;
mod compare;
mod decode;
mod events;
mod final_tx;
mod load;
mod lookup;
mod reasons;
mod terms;
mod written;

pub use compare::MovedDeadline;
pub use final_tx::FinalTx;
pub use lookup::Looked;

use alloy::dyn_abi::{DynSolType, DynSolValue};
use alloy::primitives::{Address, Log, Selector};
use billing::{
    Admitted, BadField, Charge, FailCode, Family, Item, ItemOutcome, Opinion, PeriodNaming,
};
use call::{ArgSlot, BillingCall, Source};
use coerce::AbiKind;
use config::BillingConfig;
use events::{Event, Events};
use lookup::Lookup;
use reasons::Reasons;
use std::sync::Arc;
use terms::Need;

/// A fault of a configured profile, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} {problem}")]
pub struct ProfileFault {
    /// The key below `billing`, such as `call` or `constants.merKey`.
    pub key: String,
    /// The problem, as the rest of a sentence that begins with the key.
    pub problem: String,
}

/// Faults in the order in which they were found.
#[derive(Debug, Default)]
struct ProfileFaults(Vec<ProfileFault>);

impl ProfileFaults {
    fn add(&mut self, key: impl Into<String>, problem: impl Into<String>) {
        let fault = ProfileFault { key: key.into(), problem: problem.into() };
        if !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    fn none_of(&self, keys: &[&str]) -> bool {
        !self.0.iter().any(|fault| keys.contains(&fault.key.as_str()))
    }
}

/// Values that the Signer computes for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Computed {
    /// When the call stops being valid, Unix seconds.
    pub deadline: u64,
    /// The account that signs.
    pub signer: Address,
}

/// The event by which a contract says that it charged somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargeEvent<'p> {
    /// The index of the log among those of the transaction.
    pub log: usize,
    /// The event's declaration, with the names that its contract gives to parameters, which readers of a certificate
    /// compare: `event Charged(uint256 indexed subscriptionId)`.
    pub declaration: &'p str,
}

/// The way in which the billing contract of one chain is called.
#[derive(Clone, Debug)]
pub struct Profile {
    family: Family,
    call: BillingCall,
    lookup: Option<Lookup>,
    needs: Vec<Need>,
    period: Option<String>,
    reasons: Reasons,
    charged: Option<Event>,
    skipped: Option<Event>,
    written: Arc<str>,
}

impl Profile {
    /// Reads a profile, or says all that is wrong with it.
    pub fn parse(config: &BillingConfig, family: Family) -> Result<Self, Vec<ProfileFault>> {
        load::load(config, family)
    }

    /// The first four bytes of the billing call.
    pub fn selector(&self) -> Selector {
        self.call.selector
    }

    /// Returns true if the call charges one subscription at a time.
    pub fn single(&self) -> bool {
        self.call.single()
    }

    /// Returns what names the periods of charges.
    pub fn period_naming(&self) -> PeriodNaming {
        self.period.clone().map_or(PeriodNaming::Guard, PeriodNaming::Field)
    }

    /// The names in `call` and `lookup` that look like those of a period, where none numbers it.
    pub fn unused_periods(&self) -> Vec<&str> {
        if self.period.is_some() {
            return Vec::new();
        }
        let looks_like = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["period", "cycle", "month", "epoch", "round"].iter().any(|word| name.contains(word))
        };
        let named = self.needs.iter().map(|need| &*need.name);
        named.filter(|name| looks_like(name)).collect()
    }

    /// Returns true if the contract is asked for a subscription's terms.
    pub fn has_lookup(&self) -> bool {
        self.lookup.is_some()
    }

    /// Returns true if an entry's value of a field holds for the contract as well: the call carries it, or the
    /// lookup or the configuration says the same.
    pub fn pins(&self, field: &str) -> bool {
        let told = |need: &Need| need.looked || need.constant.is_some();
        self.call.slots().any(|(_, slot)| slot.name == field)
            || self.needs.iter().any(|need| &*need.name == field && told(need))
    }

    /// The address arguments of the call that nobody but the entry states: who is paid, for one.
    pub fn free_addresses(&self) -> Vec<&str> {
        let looked = |name: &str| self.needs.iter().any(|need| &*need.name == name && need.looked);
        let free = |slot: &ArgSlot| {
            slot.kind == AbiKind::Address && slot.source == Source::Field && !looked(&slot.name)
        };
        self.call
            .slots()
            .filter(|(_, slot)| free(slot))
            .map(|(_, slot)| slot.name.as_str())
            .collect()
    }

    /// Returns true if the call returns a verdict for each charge, instead of reverting as a whole.
    pub fn per_item(&self) -> bool {
        self.call.answer.is_some()
    }

    /// The calldata that asks the contract for `entry`'s terms; empty without a lookup.
    pub fn lookup_call(&self, entry: &Admitted) -> Result<Vec<u8>, BadField> {
        self.lookup.as_ref().map_or(Ok(Vec::new()), |lookup| lookup.encode(entry))
    }

    /// Reads what the lookup returned. None if the returned data is unreadable or all zero: the contract does not
    /// know the subscription.
    pub fn read_lookup(&self, returned: &[u8]) -> Option<Looked> {
        self.lookup.as_ref()?.decode(returned)
    }

    /// The calldata that charges `charges`, in order.
    pub fn encode(&self, charges: &[Charge], computed: &Computed) -> Result<Vec<u8>, BadField> {
        self.call.encode(charges, computed)
    }

    /// Reads the verdict of a simulated call that did not revert on each of `charges` charges. None if the returned
    /// data cannot be read as a verdict for each of them.
    pub fn opinions(&self, returned: &[u8], charges: usize) -> Option<Vec<Opinion>> {
        let Some(kind) = self.call.answer else { return Some(vec![Opinion::Passes; charges]) };
        let codes = if self.call.single() {
            vec![kind.raw().abi_decode(returned).ok()?]
        } else {
            let list = DynSolType::Array(Box::new(kind.raw()));
            let DynSolValue::Array(codes) = list.abi_decode(returned).ok()? else { return None };
            codes
        };
        if codes.len() != charges {
            return None;
        }
        let opinion = |code| kind.strict(code).map(|code| self.reasons.opinion(&code));
        codes.iter().map(opinion).collect()
    }

    /// Why a call reverted, from the data that came with it.
    pub fn reverted(&self, data: &[u8]) -> (FailCode, Option<String>) {
        self.reasons.reverted(data)
    }

    /// Returns true if these logs tell of any charge; none if the contract has no event for one.
    pub fn tells_of_charges(&self, contract: Address, logs: &[Log]) -> Option<bool> {
        let topic = self.charged.as_ref()?.topic();
        let tells =
            |log: &Log| log.address == contract && log.data.topics().first() == Some(&topic);
        Some(logs.iter().any(tells))
    }

    /// Returns the event by which the contract said that it charged this item alone of `items`; none if no log says so.
    pub fn charge_event(
        &self,
        contract: Address,
        logs: &[Log],
        items: &[Item],
        item: usize,
    ) -> Option<ChargeEvent<'_>> {
        let event = self.charged.as_ref()?;
        let tells = |log: &Log| log.address == contract && event.tells_of(log, items, item);
        let log = logs.iter().position(tells)?;
        Some(ChargeEvent { log, declaration: event.declaration() })
    }

    /// Returns what a successful transaction did for each item, from its logs.
    pub fn outcomes(&self, contract: Address, logs: &[Log], items: &[Item]) -> Vec<ItemOutcome> {
        let (charged, skipped) = (self.charged.as_ref(), self.skipped.as_ref());
        Events { charged, skipped, reasons: &self.reasons }.outcomes(contract, logs, items)
    }
}

#[cfg(test)]
mod tests;
