//! A line of the ledger, as it is told.

use super::super::answer::spell_hash;
use super::JournalName;
use super::tokens::TokenNames;
use alloy::primitives::U256;
use billing::{Period, spell_address, whole};
use journal::Resolution;
use ledger::{KeptRefusal, LedgerEntry, LedgerLine, REFUSED};
use serde::{Deserialize, Serialize};

/// A charge or a refusal, and all that is known of it. Ids, amounts and fees are digits in text: 64 and 256 bits fit
/// into no number of JavaScript. Addresses and hashes are spelt as the chain's family does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChargeRow {
    /// Cursor of the next page if this is the last charge of a page.
    pub cursor: String,
    /// The journal's number of its batch; null for a refusal, as everything is that comes with a transaction.
    pub billing: Option<String>,
    /// The subscription.
    pub subscribe_id: String,
    /// Its plan.
    pub plan_id: String,
    /// Its user's record on chain, `0x` and 64 hex digits.
    pub user_hash: String,
    /// The period that is paid for; null where the contract counts none.
    pub period: Option<String>,
    /// Base units of the token; null for a refusal where nothing told it.
    pub amount: Option<String>,
    /// The same in whole tokens; null where `policy.decimals` does not say how many decimals the token has.
    pub amount_decimal: Option<String>,
    /// Name of the token in `policy.tokens`; null if the token is not listed there.
    pub symbol: Option<String>,
    /// The token; null where nothing told it.
    pub token: Option<String>,
    /// Wallet that pays; null if nothing told it.
    pub wallet: Option<String>,
    /// `open`, `charged`, `failed`, `unproven`, `reverted`, `cancelled`, `usurped` or `expired`;
    /// `refused` where nothing was signed for it.
    pub state: String,
    /// Why a `failed` or `refused` one was: the code.
    pub fail_code: Option<String>,
    /// The same in words.
    pub fail_reason: Option<String>,
    /// A person's finding about an `unproven` charge: `charged` or `free`.
    pub resolved: Option<String>,
    /// Amount taken, token base units, if that is not `amount`.
    pub charged_amount: Option<String>,
    /// The same in whole tokens.
    pub charged_amount_decimal: Option<String>,
    /// The token that was taken, where that is not `token`.
    pub charged_token: Option<String>,
    /// Wallet that the amount was taken from, if that is not `wallet`.
    pub charged_wallet: Option<String>,
    /// The platform's id of the chain.
    pub chain_id: u32,
    /// The account that signed.
    pub address: Option<String>,
    /// The billing contract.
    pub contract: Option<String>,
    /// The API key of whoever asked.
    pub caller: Option<String>,
    /// The request that it was signed for, or that heard the refusal last.
    pub request_id: Option<String>,
    /// The transaction: the one that decided, or the newest that can charge. Of a refusal the one that
    /// holds the claim, where that is the reason.
    pub tx_hash: Option<String>,
    /// The block that decided.
    pub block: Option<u64>,
    /// That block's time, Unix seconds.
    pub block_time: Option<u64>,
    /// When it was signed or learnt, Unix seconds of the Signer's clock; null for a refusal.
    pub accepted_at: Option<i64>,
    /// When its end was written down, Unix seconds of the Signer's clock.
    pub settled_at: Option<i64>,
    /// Result of the transaction that decided, if nodes tell it: `SUCCESS`, `REVERT`, and so on.
    pub result: Option<String>,
    /// Number of charges in the transaction.
    pub charges: Option<usize>,
    /// Gas or energy of the whole transaction.
    pub used: Option<String>,
    /// Cost of the whole transaction, wei or sun.
    pub fee: Option<String>,
    /// The same in coins of the chain.
    pub fee_decimal: Option<String>,
    /// This charge's part of that: equal parts, and the first charge bears the rest of the division, so
    /// that the parts of a transaction make its fee.
    pub fee_share: Option<String>,
    /// The same in coins of the chain.
    pub fee_share_decimal: Option<String>,
    /// When it was refused, Unix seconds of the Signer's clock; the first time of several.
    pub refused_at: Option<i64>,
    /// When it was refused for the same reason the last time of that UTC day.
    pub last_refused_at: Option<i64>,
    /// Number of refusals for that reason on that day.
    pub refusals: Option<u64>,
    /// The customer's allowance then, base units of the token, if it was read.
    pub token_allowance: Option<String>,
    /// The customer's balance at the last refusal.
    pub token_balance: Option<String>,
}

impl ChargeRow {
    /// A line of the ledger, as it is told.
    pub fn told(line: &LedgerLine, journal: &JournalName, names: &TokenNames) -> Option<Self> {
        match line {
            LedgerLine::Charge(entry) => Self::charge(entry, journal, names),
            LedgerLine::Refusal(refusal) => Some(Self::refusal(refusal, journal, names)),
        }
    }

    fn charge(entry: &LedgerEntry, journal: &JournalName, names: &TokenNames) -> Option<Self> {
        let (billing, family) = (&entry.billing, entry.billing.network.family);
        let line = billing.items.get(entry.item)?;
        let (item, failed) = (&line.item, line.failure());
        let (origin, record) = (billing.origin, billing.record.as_ref());
        let address = |address| spell_address(family, address);
        let (terms, taken) = (line.terms(), line.taken_otherwise());
        let fee = record.map(|record| record.fee);
        let fee_share = fee.map(|fee| share(fee, billing.items.len(), entry.item));
        let coins = |fee: U256| whole(fee, family.coin_decimals());
        let chain = origin.lane.chain;
        let in_tokens = |token, amount| names.amount(chain, token, amount);
        Some(Self {
            cursor: journal.cursor(entry.place()),
            billing: Some(billing.batch.0.to_string()),
            subscribe_id: item.subscribe.0.to_string(),
            plan_id: item.key.plan.0.to_string(),
            user_hash: item.key.user.0.to_string(),
            period: item.key.period.number().map(|number| number.to_string()),
            amount: Some(item.amount.to_string()),
            amount_decimal: in_tokens(terms.token, item.amount),
            symbol: names.symbol(chain, terms.token),
            token: terms.token.map(address),
            wallet: terms.wallet.map(address),
            state: line.state(billing.state).to_owned(),
            fail_code: failed.map(|(code, _)| code.token().to_owned()),
            fail_reason: failed.map(|(code, detail)| code.sentence(detail)),
            resolved: line.resolved.map(|resolution| Resolution::word(resolution).to_owned()),
            charged_amount: taken.amount.map(|amount| amount.to_string()),
            charged_amount_decimal: taken
                .amount
                .and_then(|amount| in_tokens(taken.token.or(terms.token), amount)),
            charged_token: taken.token.map(address),
            charged_wallet: taken.wallet.map(address),
            chain_id: chain.0,
            address: Some(address(origin.lane.signer)),
            contract: Some(address(origin.contract)),
            caller: billing.caller.as_ref().map(|by| by.label.0.clone()),
            request_id: billing.request_id.clone(),
            tx_hash: Some(spell_hash(family, billing.current().hash())),
            block: billing.block.map(|block| block.number),
            block_time: billing.block.map(|block| block.time),
            accepted_at: Some(billing.accepted_ms.div_euclid(1000)),
            settled_at: billing.settled_ms.map(|ms| ms.div_euclid(1000)),
            result: record.map(|record| record.ending.word().to_owned()),
            charges: Some(billing.items.len()),
            used: record.map(|record| record.used.to_string()),
            fee: fee.map(|fee| fee.to_string()),
            fee_decimal: fee.and_then(coins),
            fee_share: fee_share.map(|share| share.to_string()),
            fee_share_decimal: fee_share.and_then(coins),
            refused_at: None,
            last_refused_at: None,
            refusals: None,
            token_allowance: None,
            token_balance: None,
        })
    }

    fn refusal(refusal: &KeptRefusal, journal: &JournalName, names: &TokenNames) -> Self {
        let (family, seconds) = (refusal.family, |ms: i64| Some(ms.div_euclid(1000)));
        let address = |address| spell_address(family, address);
        let token = refusal.terms.token;
        let digits = |number: Option<U256>| number.map(|number| number.to_string());
        Self {
            cursor: journal.cursor(refusal.place),
            billing: None,
            subscribe_id: refusal.subscribe.0.to_string(),
            plan_id: refusal.plan.0.to_string(),
            user_hash: refusal.user.0.to_string(),
            period: digits(refusal.period.and_then(Period::number)),
            amount: digits(refusal.amount),
            amount_decimal: refusal
                .amount
                .and_then(|amount| names.amount(refusal.chain, token, amount)),
            symbol: names.symbol(refusal.chain, token),
            token: token.map(address),
            wallet: refusal.terms.wallet.map(address),
            state: REFUSED.to_owned(),
            fail_code: Some(refusal.code.token().to_owned()),
            fail_reason: Some(refusal.code.sentence(refusal.detail.as_deref())),
            resolved: None,
            charged_amount: None,
            charged_amount_decimal: None,
            charged_token: None,
            charged_wallet: None,
            chain_id: refusal.chain.0,
            address: None,
            contract: None,
            caller: refusal.caller.as_ref().map(|label| label.0.clone()),
            request_id: refusal.request_id.clone(),
            tx_hash: refusal.tx_hash.map(|hash| spell_hash(family, hash)),
            block: None,
            block_time: None,
            accepted_at: None,
            settled_at: None,
            result: None,
            charges: None,
            used: None,
            fee: None,
            fee_decimal: None,
            fee_share: None,
            fee_share_decimal: None,
            refused_at: seconds(refusal.first_ms),
            last_refused_at: seconds(refusal.last_ms),
            refusals: Some(refusal.times),
            token_allowance: digits(refusal.allowance),
            token_balance: digits(refusal.balance),
        }
    }
}

/// The part of `fee` that the charge at place `item` of `charges` bears.
fn share(fee: U256, charges: usize, item: usize) -> U256 {
    let (part, rest) = fee.div_rem(U256::from(charges.max(1)));
    if item == 0 { part.saturating_add(rest) } else { part }
}
