//! Users and their deposit addresses (4.7, 4.8), deposits (4.9), withdrawals (4.10, 4.11).

use super::envelope::Fault;
use super::input::{self, Object, Query};
use crate::amount;
use crate::clock::date;
use crate::platform::{Platform, withdrawal_body};
use crate::store::withdrawals::{Status, Withdrawal};
use serde_json::{Value, json};

/// 4.7. The same uuid gives the same user.
pub(super) fn create_user(platform: &Platform, body: &Object) -> Result<Value, Fault> {
    Ok(json!(platform.user(&input::text(body, "uuid")?)?))
}

/// 4.8
pub(super) fn user(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let (uuid, id) = (query.text("uuid"), query.number("userId")?);
    if uuid.is_none() && id.is_none() {
        return Err(Fault::Invalid("uuid or userId is required".to_owned()));
    }
    let chain: Option<u32> = query.number("chainId")?;
    let found = platform.store().user(uuid, id)?;
    let found = found.ok_or_else(|| Fault::NotFound("there is no such user".to_owned()))?;
    let wallets = found.wallets.iter().filter(|wallet| chain.is_none_or(|id| id == wallet.chain));
    let wallets = wallets.map(|wallet| {
        json!({
            "walletId": wallet.id,
            "chainId": wallet.chain,
            "walletAddress": wallet.address,
        })
    });
    Ok(json!({
        "userId": found.id,
        "uuid": found.uuid,
        "createTime": date(found.created_ms),
        "userType": found.kind,
        "userWallet": wallets.collect::<Vec<_>>(),
    }))
}

/// 4.9
pub(super) fn recharge(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let id = query
        .number("rechargeId")?
        .ok_or_else(|| Fault::Invalid("rechargeId is required".to_owned()))?;
    let found = platform.store().recharge(id)?;
    let found = found.ok_or_else(|| Fault::NotFound(format!("there is no recharge {id}")))?;
    Ok(platform.recharge_body(&found))
}

/// 4.10
pub(super) fn apply(platform: &Platform, body: &Object) -> Result<Value, Fault> {
    let invalid = |words: String| Fault::Invalid(words);
    let chain: u32 = input::number(body, "chainId")?;
    let currency: u32 = input::number(body, "currencyId")?;
    let side = platform.side(chain).ok_or_else(|| invalid(format!("there is no chain {chain}")))?;
    if side.currency != currency {
        return Err(invalid(format!("there is no currency {currency} on chain {chain}")));
    }
    let address = input::text(body, "withdrawAddress")?;
    let family = side.family();
    let at = family.parse(&address);
    let at =
        at.ok_or_else(|| invalid(format!("withdrawAddress is no {} address", family.name())))?;
    if at.is_zero() || at == side.town.token {
        return Err(invalid("withdrawAddress can receive nothing".to_owned()));
    }
    let text = input::text(body, "withdrawAmount")?;
    let value = amount::parse(&text, side.decimals).filter(|value| !value.is_zero());
    let places = side.decimals;
    let wrong = format!(
        "withdrawAmount must be a decimal number above 0 with at most {places} digits after the point"
    );
    let value = value.ok_or_else(|| invalid(wrong))?;
    let new = Withdrawal {
        id: 0,
        chain,
        currency,
        address,
        amount: value.to_string(),
        status: Status::Pending,
        out_trade_no: input::optional(body, "outTradeNo")?,
        notify_url: input::optional_url(body, "notifyUrl")?,
        created_ms: platform.clock().now_ms(),
        decided_by: None,
        decided_ms: None,
        tx: None,
        raw: None,
        note: None,
    };
    let id = platform.store().add_withdrawal(&new)?;
    let id = id.ok_or_else(|| {
        Fault::Conflict("this outTradeNo was used before: ask withdraw/detail for it".to_owned())
    })?;
    Ok(json!({"withdrawId": id}))
}

/// 4.11
pub(super) fn withdrawal(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let (id, number) = (query.number("withdrawId")?, query.text("outTradeNo"));
    if id.is_none() && number.is_none() {
        return Err(Fault::Invalid("withdrawId or outTradeNo is required".to_owned()));
    }
    let found = platform.store().withdrawal(id, number)?;
    let found = found.ok_or_else(|| Fault::NotFound("there is no such withdrawal".to_owned()))?;
    let mut record = withdrawal_body(&found);
    record["withdrawTime"] = json!(date(found.created_ms));
    Ok(record)
}
