//! From what the chain says about every charge to those that may be billed together.
//!
//! Checks are cumulative: one wallet with two subscriptions in a batch needs the sum. Reads alone
//! are not enough either: a blocked holder passes them, and only the simulated call tells.

use super::{Charge, FailCode, Refused};
use alloy::primitives::{Address, U256};
use std::collections::HashMap;

/// The balance and allowance of a customer, in token base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Funds {
    /// Balance of the token.
    pub balance: U256,
    /// The amount that the billing contract may take.
    pub allowance: U256,
}

/// The verdict of the simulated billing call on one charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// It would be charged.
    Passes,
    /// It would not.
    Refuses {
        /// Why.
        code: FailCode,
        /// The contract's own words or number.
        detail: Option<String>,
    },
}

/// A charge with what the chain says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The charge.
    pub charge: Charge,
    /// The customer's funds; none where the token could not be read.
    pub funds: Option<Funds>,
    /// The verdict of the simulated call.
    pub opinion: Opinion,
}

/// The outcome of a preflight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The charges that may be billed together, in the caller's order.
    pub good: Vec<Charge>,
    /// The charges that may not be billed, each with the first reason in precedence.
    pub refused: Vec<Refused>,
}

/// Judges charges that would be billed together, in order.
pub fn judge(checked: Vec<Checked>) -> Judged {
    let mut spoken_for: HashMap<(Address, Address), U256> = HashMap::new();
    let mut judged = Judged { good: Vec::new(), refused: Vec::new() };
    for Checked { charge, funds, opinion } in checked {
        let before = spoken_for.entry((charge.wallet, charge.token)).or_default();
        let needed = before.checked_add(charge.amount);
        let seen = shortage(funds, needed).map(|code| (code, None));
        let told = match opinion {
            Opinion::Refuses { code, detail } => Some((code, detail)),
            Opinion::Passes => None,
        };
        match seen.into_iter().chain(told).min_by_key(|(code, _)| *code) {
            None => {
                *before = needed.unwrap_or(U256::MAX);
                judged.good.push(charge);
            }
            Some((code, detail)) => judged.refused.push(refuse(&charge, code, detail, funds)),
        }
    }
    judged
}

/// Returns what the customer lacks. `needed` is none when the sum does not fit in 256 bits: nobody has as much.
fn shortage(funds: Option<Funds>, needed: Option<U256>) -> Option<FailCode> {
    let Some(funds) = funds else { return Some(FailCode::TokenTransferFailed) };
    let covers = |has: U256| needed.is_some_and(|needed| needed <= has);
    if !covers(funds.allowance) {
        Some(FailCode::AllowanceInsufficient)
    } else if !covers(funds.balance) {
        Some(FailCode::BalanceInsufficient)
    } else {
        None
    }
}

fn refuse(
    charge: &Charge,
    code: FailCode,
    detail: Option<String>,
    funds: Option<Funds>,
) -> Refused {
    let mut refused = charge.entry.refused(code);
    let item = charge.item();
    refused.period = Some(item.key.period);
    refused.terms = item.terms;
    refused.amount = Some(charge.amount);
    refused.allowance = funds.map(|funds| funds.allowance);
    refused.balance = funds.map(|funds| funds.balance);
    refused.detail = detail;
    refused
}

#[cfg(test)]
mod tests;
