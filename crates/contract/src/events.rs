//! The customers who were charged, read from the logs of the transaction that won.
//!
//! An event that fits several items proves nothing on any of them.

use super::ProfileFaults;
use super::abi::{Param, Signature, Type};
use super::coerce::{AbiKind, digits};
use super::reasons::Reasons;
use alloy::dyn_abi::{DecodedEvent, DynSolEvent, DynSolType, DynSolValue};
use alloy::primitives::{Address, B256, Log, U256};
use billing::{FailCode, Item, ItemOutcome, Period, TakenAsTold};

/// The place of a parameter in a log.
#[derive(Clone, Copy, Debug)]
struct ParameterPlace {
    indexed: bool,
    at: usize,
    kind: AbiKind,
}

/// An event that tells about one item.
#[derive(Clone, Debug)]
pub(super) struct Event {
    shape: DynSolEvent,
    topic: B256,
    declaration: String,
    subscribe: Option<ParameterPlace>,
    plan: Option<ParameterPlace>,
    user: Option<ParameterPlace>,
    period: Option<ParameterPlace>,
    reason: Option<ParameterPlace>,
    amount: Option<ParameterPlace>,
    wallet: Option<ParameterPlace>,
    token: Option<ParameterPlace>,
}

/// The statement of one log about an item.
struct ItemEvent {
    subscribe: Option<B256>,
    plan: Option<B256>,
    user: Option<B256>,
    period: Option<B256>,
    amount: Option<B256>,
    wallet: Option<B256>,
    token: Option<B256>,
    outcome: ItemOutcome,
}

impl Event {
    /// Reads the event that `key` configures. `period` is the field that numbers periods.
    pub(super) fn read(
        key: &str,
        signature: &Signature,
        period: Option<&str>,
        faults: &mut ProfileFaults,
    ) -> Option<Self> {
        for param in signature.inputs.iter().filter(|param| param.name.is_empty()) {
            let ty = param.ty.canonical();
            faults.add(key, format!("has a parameter of type {ty} without a name"));
        }
        let mut find = |name: &str, wanted: AbiKind| {
            let place = place_of(&signature.inputs, name)?;
            if place.kind.alike(wanted) {
                return Some(place);
            }
            faults.add(key, format!("has `{name}` as {}, which it cannot be", place.kind));
            None
        };
        let (subscribe, plan) =
            (find("subscribeId", AbiKind::Uint(256)), find("planId", AbiKind::Uint(256)));
        let user = find("userHash", AbiKind::Fixed(32));
        let period = period.and_then(|name| find(name, AbiKind::Uint(256)));
        if subscribe.is_none() && user.is_none() {
            faults.add(key, "must name subscribeId or userHash, to tell whom it is about");
        }
        let types = |indexed| -> Vec<DynSolType> {
            let some = signature.inputs.iter().filter(move |param| param.indexed == indexed);
            some.map(|param| param.ty.sol()).collect()
        };
        let topic = signature.topic();
        let shape = DynSolEvent::new(Some(topic), types(true), DynSolType::Tuple(types(false)));
        if shape.is_none() {
            faults.add(key, "has more than three indexed parameters");
        }
        let reason = place_of(&signature.inputs, "reason").filter(ParameterPlace::readable);
        let told = |name, kind: AbiKind| {
            place_of(&signature.inputs, name).filter(|place| place.kind.alike(kind))
        };
        let amount = told("amount", AbiKind::Uint(256));
        let wallet = told("userWallet", AbiKind::Address);
        let token = told("tokenAddress", AbiKind::Address);
        Some(Self {
            shape: shape?,
            topic,
            declaration: signature.declaration().to_owned(),
            subscribe,
            plan,
            user,
            period,
            reason,
            amount,
            wallet,
            token,
        })
    }

    /// The first topic of its logs.
    pub(super) fn topic(&self) -> B256 {
        self.topic
    }

    /// Its declaration.
    pub(super) fn declaration(&self) -> &str {
        &self.declaration
    }

    /// Returns true if a log is of this event, and fits this item alone.
    pub(super) fn tells_of(&self, log: &Log, items: &[Item], item: usize) -> bool {
        let Some(told) = self.report(log, |_, _| ItemOutcome::Charged) else { return false };
        let mut fitting = (0..).zip(items).filter(|(_, item)| told.fits(item));
        fitting.next().is_some_and(|(first, _)| first == item) && fitting.next().is_none()
    }

    /// The type of its `reason`, if it has one.
    pub(super) fn reason_kind(&self) -> Option<AbiKind> {
        self.reason.map(|place| place.kind)
    }

    fn report(
        &self,
        log: &Log,
        outcome: impl Fn(&Self, &DecodedEvent) -> ItemOutcome,
    ) -> Option<ItemEvent> {
        let topics = log.data.topics();
        if topics.first() != Some(&self.topic) {
            return None;
        }
        let told = self.shape.decode_log_parts(topics.iter().copied(), &log.data.data).ok()?;
        let word = |place: Option<ParameterPlace>| match place {
            Some(place) => place.value(&told)?.as_word().map(Some),
            None => Some(None),
        };
        Some(ItemEvent {
            subscribe: word(self.subscribe)?,
            plan: word(self.plan)?,
            user: word(self.user)?,
            period: word(self.period)?,
            amount: word(self.amount)?,
            wallet: word(self.wallet)?,
            token: word(self.token)?,
            outcome: outcome(self, &told),
        })
    }

    fn failure(&self, told: &DecodedEvent, reasons: &Reasons) -> ItemOutcome {
        let value = self.reason.and_then(|place| place.value(told));
        let (code, detail) = match value {
            None => (FailCode::CallReverted, None),
            Some(DynSolValue::String(words)) => reasons.said(words),
            Some(DynSolValue::Bytes(data)) => reasons.reverted(data),
            Some(number) => {
                let number = digits(number);
                (reasons.told(&number).0, Some(number))
            }
        };
        ItemOutcome::Failed { code, detail }
    }
}

impl ParameterPlace {
    fn value<'a>(&self, told: &'a DecodedEvent) -> Option<&'a DynSolValue> {
        let values = if self.indexed { &told.indexed } else { &told.body };
        values.get(self.at)
    }

    /// Returns true if the parameter can be read as a reason: of indexed words only the hash is in the log.
    fn readable(&self) -> bool {
        let words = matches!(self.kind, AbiKind::Text | AbiKind::Bytes);
        self.kind.is_number() || (words && !self.indexed)
    }
}

impl ItemEvent {
    fn fits(&self, item: &Item) -> bool {
        let number = |told: B256, ours: i64| U256::try_from(ours).ok() == Some(told.into());
        let (plan, user) = (item.key.plan.0, item.key.user.0);
        let period = |told: B256| match item.key.period {
            Period::Numbered(ours) => U256::from_be_bytes(told.0) == ours,
            Period::Guarded => true,
        };
        self.subscribe.is_none_or(|told| number(told, item.subscribe.0))
            && self.plan.is_none_or(|told| number(told, plan))
            && self.user.is_none_or(|told| told == user)
            && self.period.is_none_or(period)
    }
}

impl ItemEvent {
    /// Returns what was taken, if `item` does not say the same.
    fn charged(&self, item: &Item) -> ItemOutcome {
        let address = |told: B256| Address::from_word(told);
        let differs = |told: &Address, ours: Option<Address>| ours != Some(*told);
        let taken = TakenAsTold {
            amount: self.amount.map(Into::into).filter(|told: &U256| *told != item.amount),
            wallet: self.wallet.map(address).filter(|told| differs(told, item.terms.wallet)),
            token: self.token.map(address).filter(|told| differs(told, item.terms.token)),
        };
        if taken.is_claimed() { ItemOutcome::Charged } else { ItemOutcome::ChargedAsTold(taken) }
    }
}

/// The facts known of one item so far.
#[derive(Default)]
struct Proof {
    charged: Option<ItemOutcome>,
    doubtful: bool,
    failed: Option<ItemOutcome>,
}

/// The events that a profile names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events<'a> {
    pub(super) charged: Option<&'a Event>,
    pub(super) skipped: Option<&'a Event>,
    pub(super) reasons: &'a Reasons,
}

impl Events<'_> {
    /// Returns the outcome of each item, in order.
    pub(super) fn outcomes(
        self,
        contract: Address,
        logs: &[Log],
        items: &[Item],
    ) -> Vec<ItemOutcome> {
        let mut proofs: Vec<Proof> = items.iter().map(|_| Proof::default()).collect();
        for log in logs.iter().filter(|log| log.address == contract) {
            if let Some(report) = self.report(log) {
                report.mark(items, &mut proofs);
            }
        }
        let silent =
            if self.charged.is_some() { ItemOutcome::Unproven } else { ItemOutcome::Charged };
        proofs.into_iter().map(|proof| proof.outcome(&silent)).collect()
    }

    fn report(self, log: &Log) -> Option<ItemEvent> {
        let charged = self.charged.and_then(|event| event.report(log, |_, _| ItemOutcome::Charged));
        charged.or_else(|| {
            let skipped = self.skipped?;
            skipped.report(log, |event, told| event.failure(told, self.reasons))
        })
    }
}

impl ItemEvent {
    fn mark(self, items: &[Item], proofs: &mut [Proof]) {
        let fits = |item: &&Item| self.fits(item);
        let alone = items.iter().filter(fits).count() == 1;
        for (item, proof) in items.iter().zip(proofs).filter(|(item, _)| self.fits(item)) {
            match (&self.outcome, alone) {
                (_, false) => proof.doubtful = true,
                (ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_), true) => {
                    proof.charged.get_or_insert_with(|| self.charged(item));
                }
                (ItemOutcome::Failed { .. } | ItemOutcome::Unproven, true) => {
                    proof.failed.get_or_insert_with(|| self.outcome.clone());
                }
            }
        }
    }
}

impl Proof {
    fn outcome(self, silent: &ItemOutcome) -> ItemOutcome {
        match self {
            Self { charged: Some(charged), .. } => charged,
            Self { doubtful: true, .. } => ItemOutcome::Unproven,
            Self { failed, .. } => failed.unwrap_or_else(|| silent.clone()),
        }
    }
}

fn place_of(params: &[Param], name: &str) -> Option<ParameterPlace> {
    let found = params.iter().find(|param| param.name == name)?;
    let before = params.iter().take_while(|param| param.name != name);
    let at = before.filter(|param| param.indexed == found.indexed).count();
    match found.ty {
        Type::Word(kind) => Some(ParameterPlace { indexed: found.indexed, at, kind }),
        Type::Tuple(_) | Type::Array(_) | Type::Fixed(..) => None,
    }
}
