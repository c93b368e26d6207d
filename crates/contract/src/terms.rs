//! The fields that an entry must state, and the making of a charge from it: missing fields are supplied, present
//! fields are compared. An entry that differs from the chain is never charged.
//!
//! The caller's text is read once, by [`Profile::admit`]; from then on every field is a typed value.

use super::call::bad;
use super::coerce::{AbiKind, same, show};
use super::{Looked, Profile};
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, U256};
use billing::{
    Admitted, BadField, Charge, Entry, FailCode, Family, Ineligible, Period, Refused, Values,
};
use std::sync::Arc;

/// An entry field that the profile reads.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) name: Arc<str>,
    /// Every type that it is read as.
    pub(super) kinds: Vec<AbiKind>,
    /// True if the lookup returns the field.
    pub(super) looked: bool,
    /// The value that the configuration states as a constant.
    pub(super) constant: Option<DynSolValue>,
}

impl Need {
    /// The field as `entry` states it, in the first of its types; none where it is not stated. It
    /// must be readable in all of them.
    fn read(&self, family: Family, entry: &Entry) -> Result<Option<DynSolValue>, BadField> {
        if !entry.fields.contains_key(&*self.name) {
            return Ok(None);
        }
        let read = |kind: &AbiKind| stated(*kind, &self.name, family, entry);
        let mut values = self.kinds.iter().map(read);
        let first = values.next().transpose();
        let all =
            first.and_then(|first| values.try_for_each(|other| other.map(drop)).map(|()| first));
        all.map_err(|problem| bad(&self.name, problem))
    }

    /// Checks that `value` has room in every type that the field is read as.
    fn fits(&self, value: &DynSolValue) -> Result<(), BadField> {
        match self.kinds.iter().find(|kind| kind.convert(value).is_none()) {
            Some(narrow) => Err(bad(&self.name, narrow.not_readable())),
            None => Ok(()),
        }
    }
}

/// Reads a field that `entry` states. Those that the entry has as numbers already are not read again.
fn stated(
    kind: AbiKind,
    name: &str,
    family: Family,
    entry: &Entry,
) -> Result<DynSolValue, Ineligible> {
    let number = |n: Option<U256>| n.and_then(|n| kind.number(n)).ok_or(kind.not_readable());
    match (name, entry.amount, entry.fields.get(name)) {
        ("subscribeId", _, _) => number(U256::try_from(entry.subscribe.0).ok()),
        ("planId", _, _) => number(U256::try_from(entry.plan.0).ok()),
        ("userHash", _, _) => Ok(DynSolValue::FixedBytes(entry.user.0, 32)),
        ("amount", Some(amount), _) => number(Some(amount)),
        (_, _, Some(text)) => kind.read(family, text),
        (_, _, None) => Err(Ineligible::Missing),
    }
}

/// Why an entry is not charged.
struct NotCharged {
    code: FailCode,
    detail: Option<String>,
}

impl NotCharged {
    fn because(code: FailCode, detail: impl Into<String>) -> Self {
        Self { code, detail: Some(detail.into()) }
    }
}

impl From<BadField> for NotCharged {
    fn from(problem: BadField) -> Self {
        Self::because(FailCode::InvalidEntry, problem.to_string())
    }
}

/// A value that did not come with the entry.
struct Supplied<'a> {
    name: &'a str,
    value: &'a DynSolValue,
    /// The source of the value, as the end of a sentence.
    source: &'static str,
}

impl Supplied<'_> {
    /// Fills the field of `entry`, or compares it.
    fn meet(&self, family: Family, entry: &mut Admitted) -> Result<(), NotCharged> {
        let Some(stated) = entry.value(self.name) else {
            entry.supply(self.name, self.value.clone());
            return Ok(());
        };
        if same(stated, self.value) {
            return Ok(());
        }
        let (ours, stated) = (show(family, self.value), show(family, stated));
        let detail =
            format!("{} is {ours} {}, but the entry says {stated}", self.name, self.source);
        Err(NotCharged::because(FailCode::TermsMismatch, detail))
    }
}

impl Profile {
    /// Reads every field of an entry that the profile knows, and checks that the entry states what
    /// nothing else supplies. A field that is there must be readable even where something else
    /// supplies it.
    pub fn admit(&self, entry: &Entry) -> Result<Admitted, BadField> {
        let mut values = Values::new();
        for need in &self.needs {
            match need.read(self.family, entry)? {
                Some(value) => drop(values.insert(Arc::clone(&need.name), value)),
                None if need.looked || need.constant.is_some() => {}
                None => return Err(bad(&need.name, Ineligible::Missing)),
            }
        }
        Ok(entry.admitted(values))
    }

    /// The period as far as it is known before the lookup. None where only the lookup tells.
    pub fn stated_period(&self, entry: &Admitted) -> Option<Period> {
        let Some(field) = &self.period else { return Some(Period::Guarded) };
        entry.whole(field).map(Period::Numbered)
    }

    /// Makes a charge of an admitted entry and what the lookup returned for it.
    ///
    /// Fields that the entry lacks are filled in. An entry that differs, or whose subscription the contract does
    /// not know, is refused.
    #[expect(clippy::result_large_err, reason = "a refusal is an answer, as large as a charge")]
    pub fn complete(
        &self,
        mut entry: Admitted,
        looked: Option<&Looked>,
    ) -> Result<Charge, Refused> {
        match self.fill(&mut entry, looked).and_then(|()| self.terms(&entry)) {
            Ok(Terms { amount, wallet, token, period }) => {
                Ok(Charge { entry, period, amount, wallet, token })
            }
            Err(NotCharged { code, detail }) => {
                let mut refused = entry.refused(code);
                refused.detail = detail;
                Err(refused)
            }
        }
    }

    fn fill(&self, entry: &mut Admitted, looked: Option<&Looked>) -> Result<(), NotCharged> {
        for need in &self.needs {
            if let Some(value) = &need.constant {
                let source = "in the Signer's configuration";
                Supplied { name: &need.name, value, source }.meet(self.family, entry)?;
            }
        }
        let Some(lookup) = &self.lookup else { return Ok(()) };
        let Some(looked) = looked else {
            return Err(NotCharged { code: FailCode::SubscriptionNotFound, detail: None });
        };
        for (output, value) in lookup.outputs.iter().zip(&looked.values) {
            let name = output.name.as_str();
            match &output.constant {
                Some(ours) if same(ours, value) => {}
                Some(ours) => {
                    let (chain, ours) = (show(self.family, value), show(self.family, ours));
                    let detail = format!(
                        "{name} is {chain} on chain, but {ours} in the Signer's configuration"
                    );
                    return Err(NotCharged::because(FailCode::TermsMismatch, detail));
                }
                None => Supplied { name, value, source: "on chain" }.meet(self.family, entry)?,
            }
        }
        Ok(())
    }

    /// The terms of an entry that lacks nothing.
    fn terms(&self, entry: &Admitted) -> Result<Terms, NotCharged> {
        for need in &self.needs {
            let value = entry.value(&need.name);
            let value = value.ok_or_else(|| bad(&need.name, Ineligible::Missing))?;
            match need.fits(value) {
                Err(problem) if need.looked => {
                    let detail = format!("on chain, {problem}");
                    return Err(NotCharged::because(FailCode::TermsMismatch, detail));
                }
                checked => checked?,
            }
        }
        let period = match &self.period {
            Some(name) => Period::Numbered(whole(entry, name)?),
            None => Period::Guarded,
        };
        Ok(Terms {
            amount: whole(entry, "amount")?,
            wallet: address(entry, "userWallet")?,
            token: address(entry, "tokenAddress")?,
            period,
        })
    }
}

/// The terms that a charge adds to its entry.
struct Terms {
    amount: U256,
    wallet: Address,
    token: Address,
    period: Period,
}

fn whole(entry: &Admitted, name: &str) -> Result<U256, BadField> {
    entry.whole(name).ok_or_else(|| bad(name, AbiKind::Uint(256).not_readable()))
}

fn address(entry: &Admitted, name: &str) -> Result<Address, BadField> {
    let value = entry.value(name).and_then(DynSolValue::as_address);
    value.ok_or_else(|| bad(name, AbiKind::Address.not_readable()))
}
