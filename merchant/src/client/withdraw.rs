//! `withdraw/apply`: the one call that moves money, safe to repeat.

use super::{Client, WithdrawName};
use crate::amount::{AmountError, Decimal};
use crate::error::CallError;
use crate::full::Full;
use crate::types::{ChainId, CurrencyId, WithdrawId, Withdrawal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The application for a withdrawal.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WithdrawRequest {
    /// The chain to pay on.
    pub chain_id: ChainId,
    /// The currency to pay in.
    pub currency_id: CurrencyId,
    /// Address that is paid.
    pub withdraw_address: String,
    /// The amount, as a decimal.
    pub withdraw_amount: Decimal,
    /// The merchant's own number of this payment: unique for ever, and what makes it safe to repeat.
    pub out_trade_no: String,
    /// Public HTTPS address for the callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify_url: Option<String>,
}

/// A withdrawal that the platform has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The platform's id.
    pub withdraw_id: WithdrawId,
    /// True if the withdrawal had been applied for before this call.
    pub found: bool,
}

/// Why it is not certain that the platform has the withdrawal that was asked for.
#[derive(Debug, Error)]
pub enum WithdrawError {
    /// `outTradeNo` is blank: nothing was sent.
    #[error("outTradeNo must not be blank: it is what keeps a payment from being made twice")]
    Blank,
    /// The amount cannot be paid in this currency: nothing was sent.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// The chain has no such currency: nothing was sent.
    #[error("chain {chain} has no currency {currency}")]
    NoCurrency {
        /// The chain asked for.
        chain: ChainId,
        /// The currency asked for.
        currency: CurrencyId,
    },
    /// The lookup of the number failed, so nothing was applied for: the number may be taken or free, by an earlier
    /// application without an answer too.
    #[error(
        "whether there is a withdrawal of this number is not known, nothing was applied for: {0}"
    )]
    LookUp(CallError),
    /// The number belongs to another payment: nothing was applied for.
    #[error(
        "outTradeNo {out_trade_no} is withdrawal {withdraw_id} already, with another {difference}"
    )]
    Conflict {
        /// The number.
        out_trade_no: String,
        /// The owner.
        withdraw_id: WithdrawId,
        /// The first field that differs.
        difference: &'static str,
    },
    /// The platform refused, or was not reached: there is no withdrawal.
    #[error("not applied for: {0}")]
    Apply(CallError),
    /// No answer, and no trace so far. Call again with the same request: it looks first.
    #[error(
        "whether the withdrawal was taken is not known; ask again with the same outTradeNo: {0}"
    )]
    Unknown(CallError),
}

/// The data of the platform's answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    withdraw_id: WithdrawId,
}

impl Client {
    /// 4.10: applies for a withdrawal, unless one with this `outTradeNo` is there: then that one is
    /// the answer if it is the same payment, and an error if it is not.
    ///
    /// May be repeated after any failure. Two processes must not call it with one number at the same
    /// time: between the look and the application, only the platform's own check stands.
    pub async fn withdraw_apply(
        &self,
        request: &WithdrawRequest,
    ) -> Result<Applied, WithdrawError> {
        if request.out_trade_no.trim().is_empty() {
            return Err(WithdrawError::Blank);
        }
        let (chain, currency) = (request.chain_id, request.currency_id);
        let decimals = self
            .currency(chain, currency)
            .await
            .map_err(WithdrawError::LookUp)?
            .ok_or(WithdrawError::NoCurrency { chain, currency })?
            .decimals;
        request.withdraw_amount.to_base_units(decimals)?;
        if let Some(found) = self.applied(request, decimals).await? {
            return Ok(found);
        }
        let answer = self.change::<Full<Answer>>("/api/mer/withdraw/apply", request).await;
        let error = match answer {
            Ok(answer) => return Ok(Applied { withdraw_id: answer.withdraw_id, found: false }),
            Err(error) => error,
        };
        // A refusal may be for a number that was taken between the look and the application.
        match self.applied(request, decimals).await {
            Ok(Some(found)) => Ok(found),
            Err(conflict @ WithdrawError::Conflict { .. }) => Err(conflict),
            Err(_) if error.refusal().is_some() => Err(WithdrawError::Unknown(error)),
            _ if error.may_have_happened() => Err(WithdrawError::Unknown(error)),
            _ => Err(WithdrawError::Apply(error)),
        }
    }

    async fn applied(
        &self,
        request: &WithdrawRequest,
        decimals: u8,
    ) -> Result<Option<Applied>, WithdrawError> {
        let number = request.out_trade_no.as_str();
        let found = self.withdrawal(WithdrawName::OutTradeNo(number)).await;
        let Some(found) = found.map_err(WithdrawError::LookUp)? else { return Ok(None) };
        if found.out_trade_no.as_deref() != Some(number) {
            let has = found.out_trade_no.as_deref().unwrap_or_default();
            let why = format!("the record is of outTradeNo {has:?}, and not of {number:?}");
            return Err(WithdrawError::LookUp(CallError::Unreadable { http_status: 200, why }));
        }
        let withdraw_id = found.withdraw_id;
        match difference(request, decimals, &found) {
            None => Ok(Some(Applied { withdraw_id, found: true })),
            Some(difference) => Err(WithdrawError::Conflict {
                out_trade_no: number.to_owned(),
                withdraw_id,
                difference,
            }),
        }
    }
}

fn difference(request: &WithdrawRequest, decimals: u8, found: &Withdrawal) -> Option<&'static str> {
    let amount = request.withdraw_amount.to_base_units(decimals).ok();
    let address = &found.withdraw_address;
    // Hex addresses may be spelled in capitals for their checksum; base58 ones differ by case.
    let same_address = if request.withdraw_address.starts_with("0x") {
        address.eq_ignore_ascii_case(&request.withdraw_address)
    } else {
        *address == request.withdraw_address
    };
    [
        (found.chain_id == request.chain_id, "chainId"),
        (found.currency_id == request.currency_id, "currencyId"),
        (same_address, "withdrawAddress"),
        (amount == Some(found.withdraw_amount), "withdrawAmount"),
    ]
    .into_iter()
    .find_map(|(same, field)| (!same).then_some(field))
}
