#![doc = include_str!("../README.md")]

mod approval;
mod count;
mod words;

pub use approval::{Approved, Data, Effect, Intent, Repeating, Unsigned};
pub use billing::utc_day;
pub use count::{Count, Unit};

use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, Selector, U256};
use billing::{
    AttemptKind, Carried, Charge, Family, Item, PlatformChainId, SubscribeId, Undecodable,
    spell_address,
};
use config::{PolicyConfig, TokenLimits};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use words::told_in;

/// Why something is not signed: the rule that says so, and what to do. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused by policy, rule {rule}: {why}")]
pub struct Refusal {
    /// The rule: a key of the configuration, or the word for one that always holds.
    pub rule: String,
    /// The breach of the rule, and what to do.
    pub why: String,
}

impl Refusal {
    fn of(rule: impl Into<String>, why: impl Into<String>) -> Self {
        Self { rule: rule.into(), why: why.into() }
    }

    /// Of a rule that always holds, told by whoever holds a transaction to it.
    pub fn told(rule: &'static str, why: &'static str) -> Self {
        Self::of(rule, why)
    }

    /// Of everything new on a paused chain.
    pub fn paused(chain: PlatformChainId, why: &str) -> Self {
        Self::of(
            "pause",
            format!("chain {chain} is paused ({why}); post it again once it is resumed"),
        )
    }
}

/// The policy of one chain: what may be signed on it.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The platform's id of the chain: names the section of the configuration.
    pub chain: PlatformChainId,
    /// The family, by which messages spell addresses.
    pub family: Family,
    /// The chain that signatures must be bound to, where transactions name it (EIP-155).
    pub bound_to: Option<u64>,
    /// The only contract that may be called.
    pub contract: Address,
    /// The only function of it, for a new batch.
    pub selector: Selector,
    /// The account that signs.
    pub signer: Address,
    /// True if the configuration pauses the chain.
    pub paused: bool,
    /// The limits.
    pub limits: PolicyConfig,
}

impl Policy {
    /// Checks that so many charges may be in one transaction.
    pub fn admit_batch(&self, charges: usize) -> Result<(), Refusal> {
        match self.limits.max_batch {
            Some(most) if charges > most => Err(Refusal::of(
                self.key("max_batch"),
                format!("{charges} charges in one request; post at most {most} at once"),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that each of these may be charged, whatever else was charged today.
    pub fn admit(&self, charges: &[Charge]) -> Result<(), Refusal> {
        self.admit_batch(charges.len())?;
        charges.iter().try_for_each(|charge| {
            self.admit_addresses(charge)?;
            self.admit_one(charge.entry.subscribe, charge.token, charge.amount)
        })
    }

    /// Checks that the addresses that the entry alone states are among the allowed ones.
    fn admit_addresses(&self, charge: &Charge) -> Result<(), Refusal> {
        for (name, allowed) in &self.limits.allowed {
            let stated = charge.entry.value(name).and_then(DynSolValue::as_address);
            if !stated.is_some_and(|stated| allowed.contains(&stated)) {
                let stated = stated.map_or_else(|| "nothing".to_owned(), |one| self.spell(one));
                let who = charge.entry.subscribe.0;
                let why = format!(
                    "the {name} of subscription {who} is {stated}, which is not among those that are \
                     allowed; check it, and add it if it is right"
                );
                return Err(Refusal::of(self.key(&format!("allowed.{name}")), why));
            }
        }
        Ok(())
    }

    fn admit_one(&self, who: SubscribeId, token: Address, amount: U256) -> Result<(), Refusal> {
        let Some((name, limits)) = self.limits_of(token)? else { return Ok(()) };
        match limits.max_amount {
            Some(most) if amount > most => Err(Refusal::of(
                self.key(&format!("max_amount.{name}")),
                format!(
                    "subscription {} would be charged {}, more than {}; check it, and raise the limit if it is \
                     right",
                    who.0,
                    told_in(limits, name).tell(amount),
                    told_in(limits, name).tell(most)
                ),
            )),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the operator's name of a token; none if the configuration does not name it.
    pub fn token_name(&self, token: Address) -> Option<&str> {
        let mut named = self.limits.tokens.iter();
        named.find(|(_, limits)| limits.address == token).map(|(name, _)| name.as_str())
    }

    /// The limits of a token; none where any token may be charged.
    fn limits_of(&self, token: Address) -> Result<Option<(&str, &TokenLimits)>, Refusal> {
        let tokens = &self.limits.tokens;
        let found = tokens.iter().find(|(_, limits)| limits.address == token);
        match found {
            Some((name, limits)) => Ok(Some((name, limits))),
            None if tokens.is_empty() => Ok(None),
            None => Err(Refusal::of(
                self.key("tokens"),
                format!(
                    "the token {} is not among those that may be charged; add it",
                    self.spell(token)
                ),
            )),
        }
    }

    /// Returns the amounts that charges add to the sums of the day: the token of each and its amount.
    pub fn counts(
        &self,
        charges: impl Iterator<Item = (Address, U256)>,
    ) -> Result<Vec<Count>, Refusal> {
        let mut counts = Vec::<Count>::new();
        for (place, (token, amount)) in charges.enumerate() {
            let unit = Unit::Token(token);
            if let Some(count) = counts.iter_mut().find(|count| count.unit == unit) {
                count.amount = count.amount.saturating_add(amount);
                count.items.push(place);
                continue;
            }
            let limits = self.limits_of(token)?;
            let name = limits.map_or_else(|| self.spell(token), |(name, _)| name.to_owned());
            counts.push(Count {
                unit,
                items: vec![place],
                amount,
                most: limits.and_then(|(_, limits)| limits.max_amount_per_day),
                rule: self.key(&format!("max_amount_per_day.{name}")),
                units: self.token(token),
            });
        }
        Ok(counts)
    }

    /// The limits of the tokens that may be charged, by the names of the configuration; none where any may be.
    pub fn token_limits(&self) -> &BTreeMap<String, TokenLimits> {
        &self.limits.tokens
    }

    /// Returns the limits of a day: the key, the unit that is summed up, and the most that it may come to.
    pub fn limits_of_day(&self) -> Vec<(String, Unit, U256)> {
        let fee =
            self.limits.max_fee_per_day.map(|most| ("max_fee_per_day".to_owned(), Unit::Fee, most));
        let of_token = |(name, limits): (&String, &TokenLimits)| {
            let key = format!("max_amount_per_day.{name}");
            Some((key, Unit::Token(limits.address), limits.max_amount_per_day?))
        };
        fee.into_iter().chain(self.limits.tokens.iter().filter_map(of_token)).collect()
    }

    /// Returns the amount that a transaction that may cost `cost` (wei or sun) adds to the sum of the day. A cancel
    /// is counted and never limited: it is the one way to free a place in the line, and all transactions after it
    /// wait for it.
    pub fn fee(&self, kind: AttemptKind, cost: U256) -> Count {
        let most = match kind {
            AttemptKind::Bill => self.limits.max_fee_per_day,
            AttemptKind::Cancel => None,
        };
        Count {
            unit: Unit::Fee,
            items: vec![],
            amount: cost,
            most,
            rule: self.key("max_fee_per_day"),
            units: self.coin(),
        }
    }

    /// Approves final bytes, read again, that do what was meant and nothing else.
    pub fn approve<T: Unsigned>(&self, tx: T, intent: &Intent<'_>) -> Result<Approved<T>, Refusal> {
        let effect = tx.effect().map_err(|why| strange("its bytes cannot be read", &why))?;
        self.check(&effect, intent)?;
        Ok(Approved::new(tx))
    }

    /// Approves final bytes that do what `earlier` does, which this account has signed, and cost at most `cost`
    /// (wei or sun). The process of the keys knows a batch by its earlier transaction alone.
    pub fn approve_again<T: Repeating>(
        &self,
        tx: T,
        cost: U256,
        earlier: &[u8],
        known: &T::Known<'_>,
    ) -> Result<Approved<T>, Refusal> {
        let effect = tx.effect().map_err(|why| strange("its bytes cannot be read", &why))?;
        self.check_frame(&effect, cost)?;
        let repeats = tx.repeats(earlier, self.signer, known);
        repeats.map_err(|why| Refusal::of("again", why))?;
        Ok(Approved::new(tx))
    }

    /// Checks the rules that hold for every transaction, whatever it does.
    fn check_frame(&self, effect: &Effect, cost: U256) -> Result<(), Refusal> {
        if effect.chain_id != self.bound_to {
            return Err(Refusal::of("chain", "the transaction is for another chain"));
        }
        if effect.from.is_some_and(|from| from != self.signer) {
            return Err(Refusal::of("signer", "the transaction is of another account"));
        }
        if !effect.value.is_zero() {
            let why = format!("the transaction moves {}", self.coin().tell(effect.value));
            return Err(Refusal::of("value", why));
        }
        if effect.cost > cost {
            let [may, counted] = [effect.cost, cost].map(|wei| self.coin().tell(wei));
            let why = format!("it may cost {may}, but only {counted} was counted");
            return Err(Refusal::of("cost", why));
        }
        Ok(())
    }

    fn check(&self, effect: &Effect, intent: &Intent<'_>) -> Result<(), Refusal> {
        self.check_frame(effect, intent.cost)?;
        match (intent.kind, &effect.data) {
            (AttemptKind::Cancel, Data::None) if effect.to == self.signer => Ok(()),
            (AttemptKind::Cancel, _) => {
                Err(Refusal::of("cancel", "what was to do nothing does something"))
            }
            (AttemptKind::Bill, _) if effect.to != intent.contract => {
                let why = format!(
                    "it calls {}, and its batch is billed through {}",
                    self.spell(effect.to),
                    self.spell(intent.contract)
                );
                Err(Refusal::of("contract", why))
            }
            (AttemptKind::Bill, _) if intent.tokens.is_some() && effect.to != self.contract => {
                let why = format!(
                    "it calls {}, which is not the configured contract",
                    self.spell(effect.to)
                );
                Err(Refusal::of("contract", why))
            }
            (AttemptKind::Bill, Data::Call { selector, charges, addresses, signers })
                if *selector == intent.function
                    && (intent.tokens.is_none() || *selector == self.selector) =>
            {
                self.check_charges(charges, intent)?;
                if intent.tokens.is_none() {
                    return Ok(());
                }
                self.check_signers(signers)?;
                self.check_addresses(addresses)
            }
            (AttemptKind::Bill, Data::None | Data::Call { .. }) => {
                Err(Refusal::of("function", "it does not call the function that charges"))
            }
        }
    }

    fn check_charges(
        &self,
        charges: &Result<Vec<Carried>, Undecodable>,
        intent: &Intent<'_>,
    ) -> Result<(), Refusal> {
        let charges = charges.as_ref().map_err(|why| strange("its call cannot be read", why))?;
        if charges.is_empty() || charges.len() != intent.items.len() {
            let (does, should) = (charges.len(), intent.items.len());
            let why = format!("it charges {does} subscriptions, but {should} were to be charged");
            return Err(Refusal::of("charges", why));
        }
        for (told, item) in charges.iter().zip(intent.items) {
            if let Some(field) = told.differs_from(item) {
                let why = format!("its {field} of subscription {} differs", item.subscribe.0);
                return Err(Refusal::of("charges", why));
            }
        }
        let Some(tokens) = intent.tokens else { return Ok(()) };
        if tokens.len() != intent.items.len() {
            return Err(Refusal::of("tokens", "not every charge has a token"));
        }
        self.admit_batch(tokens.len())?;
        check_once(intent.items)?;
        let mut rows = charges.iter().zip(intent.items).zip(tokens);
        rows.try_for_each(|((told, item), token)| self.check_charge(told.token, item, *token))
    }

    /// Checks that a call names no other account than this one as the one that signs.
    fn check_signers(&self, stated: &[Address]) -> Result<(), Refusal> {
        match stated.iter().find(|stated| **stated != self.signer) {
            None => Ok(()),
            Some(other) => {
                let why =
                    format!("its call names {} as the account that signs", self.spell(*other));
                Err(Refusal::of("signer", why))
            }
        }
    }

    /// Checks that the addresses that nobody but an entry states are among the allowed ones.
    fn check_addresses(&self, addresses: &[(String, Address)]) -> Result<(), Refusal> {
        let strange = |(name, stated): &&(String, Address)| {
            self.limits.allowed.get(name).is_some_and(|allowed| !allowed.contains(stated))
        };
        let Some((name, stated)) = addresses.iter().find(strange) else { return Ok(()) };
        let why = format!(
            "its {name} is {}, which is not among those that are allowed",
            self.spell(*stated)
        );
        Err(Refusal::of(self.key(&format!("allowed.{name}")), why))
    }

    fn check_charge(
        &self,
        told: Option<Address>,
        item: &Item,
        token: Address,
    ) -> Result<(), Refusal> {
        if told.is_some_and(|told| told != token) {
            let why = format!("its token of subscription {} differs", item.subscribe.0);
            return Err(Refusal::of("charges", why));
        }
        self.admit_one(item.subscribe, token, item.amount)
    }

    /// The tokens that may be charged, by the names of the configuration; none where any may be.
    pub fn tokens(&self) -> impl Iterator<Item = (&str, Address)> {
        self.limits.tokens.iter().map(|(name, limits)| (name.as_str(), limits.address))
    }

    fn spell(&self, address: Address) -> String {
        spell_address(self.family, address)
    }

    /// The full path of a key of this policy.
    pub fn key(&self, key: &str) -> String {
        format!("chains.{}.policy.{key}", self.chain)
    }
}

/// Checks that no subscription, and no user of a plan, is charged twice: a request that names one twice is never
/// admitted as that.
fn check_once(items: &[Item]) -> Result<(), Refusal> {
    let (mut ids, mut users) = (HashSet::new(), HashSet::new());
    let again =
        |item: &&Item| !(ids.insert(item.subscribe) & users.insert((item.key.plan, item.key.user)));
    let Some(twice) = items.iter().find(again) else { return Ok(()) };
    let why = format!("it charges subscription {} twice", twice.subscribe.0);
    Err(Refusal::of("charges", why))
}

/// Of bytes that should never have come to be.
fn strange(what: &str, why: &impl Error) -> Refusal {
    Refusal::of("function", format!("{what}: {why}"))
}

#[cfg(test)]
mod tests;
