//! Lists: what is due (4.2), subscriptions (4.5), chains (4.6) and currencies.

use super::envelope::Fault;
use super::input::Query;
use crate::clock::date;
use crate::platform::{Platform, SYMBOL, Side};
use crate::store::events::Kind;
use crate::store::subscriptions::{Clocks, Due, Filter, Page, Subscription};
use serde_json::{Value, json};

fn page(count: u64, page: Page, list: &[Value]) -> Value {
    json!({"count": count, "page": page.page, "size": page.size, "list": list})
}

/// Returns the present time on the chains.
pub(crate) fn clocks(platform: &Platform) -> Clocks {
    let [evm, tron] = platform.sides();
    let at_s = |side: &Side| side.chain.head().time_ms / 1000;
    Clocks { first: evm.id, first_s: at_s(evm), second_s: at_s(tron) }
}

/// 4.2
pub(super) fn chargeable(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let asked = query.page()?;
    let (count, list) = platform.store().due(clocks(platform), asked)?;
    let list: Vec<Value> = list.iter().map(|due| entry(platform, due)).collect();
    Ok(page(count, asked, &list))
}

fn entry(platform: &Platform, due: &Due) -> Value {
    let subscription = &due.subscription;
    let side = platform.side(subscription.chain);
    json!({
        "subscribeId": subscription.id,
        "outTradeNo": subscription.out_trade_no,
        "externalUserId": subscription.external_user,
        "chainId": subscription.chain,
        "planId": subscription.plan,
        "planVersion": subscription.version,
        "userHash": subscription.user_hash,
        "userWallet": due.wallet,
        "tokenAddress": side.map(|side| side.spell(side.town.token)),
        "currencyId": side.map(|side| side.currency),
        "currencySymbol": SYMBOL,
        "period": due.period,
        "periodEnd": due.until_s,
        "amount": due.amount,
    })
}

/// 4.5
pub(super) fn subscriptions(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let asked = query.page()?;
    let filter = Filter {
        out_trade_no: query.text("outTradeNo").map(str::to_owned),
        external_user: query.text("externalUserId").map(str::to_owned),
        id: query.number("subscriptionId")?,
    };
    let (count, found) = platform.store().subscriptions(&filter, asked)?;
    let list = found.iter().map(|subscription| row(platform, subscription));
    Ok(page(count, asked, &list.collect::<Result<Vec<_>, _>>()?))
}

fn row(platform: &Platform, subscription: &Subscription) -> Result<Value, Fault> {
    let (store, chain) = (platform.store(), subscription.chain);
    let history = store.history(subscription.id)?;
    let plan = store.plan(subscription.plan, chain, subscription.version)?;
    let wallet =
        history.iter().find(|told| told.kind == Kind::Register).map(|told| told.wallet.clone());
    let charges = || history.iter().filter(|told| told.kind == Kind::Billing);
    let last = charges().next_back();
    Ok(json!({
        "subscriptionId": subscription.id,
        "subscribeId": subscription.id,
        "outTradeNo": subscription.out_trade_no,
        "externalUserId": subscription.external_user,
        "planId": subscription.plan,
        "planVersion": subscription.version,
        "chainId": chain,
        "userWallet": wallet,
        "userHash": subscription.user_hash,
        "amount": plan.map(|plan| plan.amount),
        "currencyId": platform.side(chain).map(|side| side.currency),
        "currencySymbol": SYMBOL,
        "status": store.stage(subscription.id)?.number(),
        "paidPeriods": charges().count(),
        "lastPeriod": last.map(|told| told.period),
        "lastTransferHash": last.map(|told| told.tx.clone()),
        "createTime": date(subscription.created_ms),
    }))
}

/// 4.6
pub(super) fn chains(platform: &Platform) -> Value {
    platform
        .sides()
        .iter()
        .map(|side| {
            json!({
                "chainId": side.id,
                "chainName": side.name(),
                "chainType": if side.family() == crate::chain::Family::Evm { "EVM" } else { "TVM" },
                "networkId": side.chain.chain_id(),
                "contractAddress": side.spell(side.town.billing),
            })
        })
        .collect()
}

/// The tokens of a chain, or of all.
pub(super) fn currencies(platform: &Platform, query: &Query) -> Result<Value, Fault> {
    let wanted: Option<u32> = query.number("chainId")?;
    if let Some(chain) = wanted.filter(|chain| platform.side(*chain).is_none()) {
        return Err(Fault::Invalid(format!("there is no chain {chain}")));
    }
    let sides = platform.sides().iter().filter(|side| wanted.is_none_or(|id| id == side.id));
    let founded_ms = |side: &Side| side.chain.point(0).map_or(0, |genesis| genesis.time_ms);
    let list = sides.map(|side| {
        json!({
            "currencyId": side.currency,
            "chainId": side.id,
            "name": "Sandbox dollar",
            "symbol": SYMBOL,
            "address": side.spell(side.town.token),
            "decimals": side.decimals,
            "createTime": date(founded_ms(side)),
            "icon": "",
            "exchangeRate": "1",
        })
    });
    Ok(list.collect())
}
