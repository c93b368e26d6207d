//! Links: `createSubscribeOrder` (4.1) and `createUnsubscribeOrder` (4.4).

use super::envelope::Fault;
use super::input::{self, Object};
use crate::platform::{NewLink, Platform};
use serde_json::{Value, json};

/// 4.1
pub(super) fn create(platform: &Platform, body: &Object) -> Result<Value, Fault> {
    let link = platform.subscribe_link(&NewLink {
        chain: input::number(body, "chainId")?,
        plan: input::number(body, "planId")?,
        external_user: input::text(body, "externalUserId")?,
        redirect_url: input::url(body, "redirectionUrl")?,
        notify_url: input::url(body, "notifyUrl")?,
    })?;
    Ok(json!({
        "subscriptionId": link.subscribe_id,
        "paymentUrl": link.path(),
        "expiration": link.expires_s,
    }))
}

/// 4.4
pub(super) fn cancel(platform: &Platform, body: &Object) -> Result<Value, Fault> {
    let number = input::text(body, "outTradeNo")?;
    let (redirect, notify) = (input::url(body, "redirectionUrl")?, input::url(body, "notifyUrl")?);
    let link = platform.cancel_link(&number, &redirect, &notify)?;
    Ok(json!({"paymentUrl": link.path(), "expiration": link.expires_s}))
}
