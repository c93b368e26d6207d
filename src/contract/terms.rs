//! What an entry must state, and how it becomes a charge: what it lacks is filled in, what it has
//! is compared. An entry that differs from the chain is never charged.

use super::call::bad;
use super::coerce::{Kind, same, show, to_scalar};
use super::{Looked, Profile};
use crate::billing::{
    BadField, Charge, Entry, FailCode, Family, Ineligible, Period, Refused, Scalar,
};
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, U256};

/// An entry field that the profile reads.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) name: String,
    /// Every type that it is read as.
    pub(super) kinds: Vec<Kind>,
    /// Whether the lookup returns it.
    pub(super) looked: bool,
    /// What the configuration says it is.
    pub(super) constant: Option<DynSolValue>,
}

impl Need {
    /// Checks the field if it is there; says whether it is.
    fn check(&self, family: Family, entry: &Entry) -> Result<bool, BadField> {
        let Some(stated) = entry.fields.get(&self.name) else { return Ok(false) };
        for kind in &self.kinds {
            kind.read(family, stated).map_err(|problem| bad(&self.name, problem))?;
        }
        Ok(true)
    }
}

/// Why an entry is not charged.
struct Objection {
    code: FailCode,
    detail: Option<String>,
}

impl Objection {
    fn because(code: FailCode, detail: impl Into<String>) -> Self {
        Self { code, detail: Some(detail.into()) }
    }
}

impl From<BadField> for Objection {
    fn from(problem: BadField) -> Self {
        Self::because(FailCode::InvalidEntry, problem.to_string())
    }
}

/// A value that did not come with the entry.
struct Told<'a> {
    name: &'a str,
    kind: Kind,
    value: &'a DynSolValue,
    teller: &'static str,
}

impl Told<'_> {
    /// Fills the field of `entry`, or compares it.
    fn meet(&self, family: Family, entry: &mut Entry) -> Result<(), Objection> {
        let Some(stated) = entry.fields.get(self.name) else {
            entry.fields.insert(self.name.to_owned(), to_scalar(family, self.value));
            return Ok(());
        };
        let stated = self.kind.read(family, stated).map_err(|problem| bad(self.name, problem))?;
        if same(&stated, self.value) {
            return Ok(());
        }
        let (told, stated) = (show(family, self.value), show(family, &stated));
        let detail =
            format!("{} is {told} {}, but the entry says {stated}", self.name, self.teller);
        Err(Objection::because(FailCode::TermsMismatch, detail))
    }
}

impl Profile {
    /// Checks that an entry states, readably, what nothing else supplies. A field that is there
    /// must be readable even where something else supplies it.
    pub fn admit(&self, entry: &Entry) -> Result<(), BadField> {
        for need in &self.needs {
            let stated = need.check(self.family, entry)?;
            if !stated && !need.looked && need.constant.is_none() {
                return Err(bad(&need.name, Ineligible::Missing));
            }
        }
        Ok(())
    }

    /// The period as far as it is known before the lookup. None where only the lookup tells.
    pub fn stated_period(&self, entry: &Entry) -> Option<Period> {
        let Some(field) = &self.period else { return Some(Period::Guarded) };
        let stated = entry.fields.get(field)?;
        stated.to_u256().ok().map(Period::Numbered)
    }

    /// Makes a charge of an admitted entry and what the lookup returned for it.
    ///
    /// What the entry lacks is filled in. Where it differs, or where the contract does not know
    /// the subscription, it is refused.
    #[expect(clippy::result_large_err, reason = "a refusal is an answer, as large as a charge")]
    pub fn complete(&self, mut entry: Entry, looked: Option<&Looked>) -> Result<Charge, Refused> {
        match self.fill(&mut entry, looked).and_then(|()| self.terms(&entry)) {
            Ok(Terms { amount, wallet, token, period }) => {
                Ok(Charge { entry, period, amount, wallet, token })
            }
            Err(Objection { code, detail }) => {
                let mut refused = entry.refused(code);
                refused.detail = detail;
                Err(refused)
            }
        }
    }

    fn fill(&self, entry: &mut Entry, looked: Option<&Looked>) -> Result<(), Objection> {
        for need in &self.needs {
            if let (Some(value), Some(kind)) = (&need.constant, need.kinds.first()) {
                let (name, teller) = (need.name.as_str(), "in the Signer's configuration");
                Told { name, kind: *kind, value, teller }.meet(self.family, entry)?;
            }
        }
        let Some(lookup) = &self.lookup else { return Ok(()) };
        let Some(looked) = looked else {
            return Err(Objection { code: FailCode::SubscriptionNotFound, detail: None });
        };
        for (output, value) in lookup.outputs.iter().zip(&looked.values) {
            let (name, kind) = (output.name.as_str(), output.kind);
            match &output.constant {
                Some(ours) if same(ours, value) => {}
                Some(ours) => {
                    let (chain, ours) = (show(self.family, value), show(self.family, ours));
                    let detail = format!(
                        "{name} is {chain} on chain, but {ours} in the Signer's configuration"
                    );
                    return Err(Objection::because(FailCode::TermsMismatch, detail));
                }
                None => Told { name, kind, value, teller: "on chain" }.meet(self.family, entry)?,
            }
        }
        Ok(())
    }

    /// Reads the terms of an entry that lacks nothing.
    fn terms(&self, entry: &Entry) -> Result<Terms, Objection> {
        for need in &self.needs {
            match need.check(self.family, entry) {
                Ok(true) => {}
                Ok(false) => return Err(bad(&need.name, Ineligible::Missing).into()),
                Err(problem) if need.looked => {
                    let detail = format!("on chain, {problem}");
                    return Err(Objection::because(FailCode::TermsMismatch, detail));
                }
                Err(problem) => return Err(problem.into()),
            }
        }
        let address = |name| field(entry, name, |value| value.to_address(self.family));
        let period = match &self.period {
            Some(name) => Period::Numbered(field(entry, name, Scalar::to_u256)?),
            None => Period::Guarded,
        };
        Ok(Terms {
            amount: field(entry, "amount", Scalar::to_u256)?,
            wallet: address("userWallet")?,
            token: address("tokenAddress")?,
            period,
        })
    }
}

/// What a charge adds to its entry.
struct Terms {
    amount: U256,
    wallet: Address,
    token: Address,
    period: Period,
}

fn field<T>(
    entry: &Entry,
    name: &str,
    read: impl FnOnce(&Scalar) -> Result<T, Ineligible>,
) -> Result<T, BadField> {
    let stated = entry.fields.get(name).ok_or_else(|| bad(name, Ineligible::Missing))?;
    read(stated).map_err(|problem| bad(name, problem))
}
