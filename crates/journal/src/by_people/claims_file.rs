//! The lines of a file of claims (docs/claims-format.md).

use alloy::primitives::{Address, B256, U256};
use billing::{ChargeKey, ChargeTerms, Item, ItemOutcome, Period, PlanId, SubscribeId, UserHash};
use serde::{Deserialize, Serialize};

/// The format that the first line of the file names.
pub(super) const FORMAT: &str = "merchant-signer claims";
/// The version that is written and read.
pub(super) const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FirstLine {
    pub(super) format: String,
    pub(super) version: u32,
    pub(super) networks: Vec<NetworkLine>,
}

/// The network that an id of the platform stands for.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkLine {
    pub(super) chain: u32,
    pub(super) family: String,
    pub(super) network: u64,
    pub(super) contract: Address,
    /// The entry field that numbers periods; null where a guard time alone tells charges apart.
    #[serde(deserialize_with = "Option::deserialize")]
    pub(super) period: Option<String>,
}

/// A transaction in a final block, and what it charged.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BillingLine {
    pub(super) chain: u32,
    pub(super) contract: Address,
    pub(super) signer: Address,
    pub(super) position: u64,
    pub(super) transaction: B256,
    pub(super) block: u64,
    pub(super) block_time: u64,
    /// The time that charges without a period are guarded after the block, s.
    pub(super) guard: u64,
    /// True if the transaction did not revert. The field may be left out if it did not.
    #[serde(default = "succeeded")]
    pub(super) succeeded: bool,
    pub(super) claims: Vec<ClaimLine>,
}

fn succeeded() -> bool {
    true
}

impl BillingLine {
    /// An error if a number is larger than a journal holds: 63 bits.
    pub(super) fn fits(&self) -> Result<(), String> {
        let named = [
            ("position", self.position),
            ("block", self.block),
            ("blockTime", self.block_time),
            ("guard", self.guard),
            ("blockTime and guard together", self.block_time.saturating_add(self.guard)),
        ];
        match named.iter().find(|(_, number)| i64::try_from(*number).is_err()) {
            Some((name, number)) => Err(format!("{name} is {number}, more than {}", i64::MAX)),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClaimLine {
    pub(super) subscribe_id: i64,
    pub(super) plan_id: i64,
    pub(super) user_hash: B256,
    /// Digits; null where the contract knows no periods.
    pub(super) period: Option<String>,
    pub(super) amount: String,
    /// Digits; null where it is not known.
    pub(super) plan_version: Option<String>,
    pub(super) wallet: Option<Address>,
    pub(super) token: Option<Address>,
    /// `charged` or `unproven`.
    pub(super) outcome: String,
}

impl ClaimLine {
    /// The claim and what became of it; an error if a field makes no sense.
    pub(super) fn read(&self) -> Result<(Item, ItemOutcome), String> {
        let number = |text: &str, what: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let read = U256::from_str_radix(text, 10).ok().filter(|_| digits);
            read.ok_or_else(|| format!("{what} is {text:?}, not a whole number"))
        };
        let outcome = match self.outcome.as_str() {
            "charged" => ItemOutcome::Charged,
            "unproven" => ItemOutcome::Unproven,
            other => return Err(format!("outcome is {other:?}, neither charged nor unproven")),
        };
        let period = match &self.period {
            Some(period) => Period::Numbered(number(period, "period")?),
            None => Period::Guarded,
        };
        let key = ChargeKey { plan: PlanId(self.plan_id), user: UserHash(self.user_hash), period };
        let amount = number(&self.amount, "amount")?;
        let version = self.plan_version.as_ref().map(|version| number(version, "planVersion"));
        let terms = ChargeTerms {
            plan_version: version.transpose()?,
            wallet: self.wallet,
            token: self.token,
        };
        let subscribe = SubscribeId(self.subscribe_id);
        Ok((Item { subscribe, key, amount, terms }, outcome))
    }
}
