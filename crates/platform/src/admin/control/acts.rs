//! Faults, and what users and admins do, as calls.

use super::super::{Desk, input};
use super::words;
use crate::clock::date;
use crate::platform::{Case, Platform, Proposal, RECHARGE_URL};
use crate::roads::Road;
use crate::store::subscriptions::{Purpose, Stage};
use alloy::primitives::U256;
use sandbox_chains::chain::Orphans;
use serde_json::{Value, json};

/// Number of checks for a step of the chain before the wait ends.
const PATIENCE: u32 = 150;

/// Faults of one chain.
const ON_A_CHAIN: [&str; 7] = ["reorg", "node-down", "fees", "drain", "revoke", "late", "block"];

/// Lets something go wrong.
pub(super) async fn fault(desk: &Desk, body: &Value) -> Result<(), String> {
    let platform = &desk.platform;
    if let Some(road) = Road::named(input::text(body, "kind")?) {
        return on_the_way(platform, road, body);
    }
    let kind = input::text(body, "kind")?;
    if !ON_A_CHAIN.contains(&kind) {
        let all = ON_A_CHAIN.join(", ");
        return Err(format!("there is no fault {kind}: {all}, api, signer, callbacks"));
    }
    let side = input::side(platform, body)?;
    let on = body["on"].as_bool().unwrap_or(true);
    let wallet = || input::text(body, "wallet");
    match kind {
        "reorg" => {
            let depth = input::number_or(body, "depth", 1)?;
            let keep = body["keep"].as_bool().unwrap_or(true);
            let orphans = if keep { Orphans::Return } else { Orphans::Lose };
            platform.reorganise(side, depth, orphans).await.map_err(words)?;
        }
        "node-down" => side.chain.set_down(on),
        "fees" => side.chain.set_price(on.then(|| input::number(body, "price")).transpose()?),
        "drain" => {
            let left = if body["amount"].is_null() {
                U256::ZERO
            } else {
                input::amount(side, body, "amount")?
            };
            Platform::leave(side, wallet()?, left).map_err(words)?;
        }
        "late" if on => platform.come_to_the_end(side).await?,
        "late" => platform.outlast().await?,
        "revoke" => drop(platform.revoke(side, wallet()?).map_err(words)?),
        _ => drop(Platform::block_holder(side, wallet()?, on).map_err(words)?),
    }
    Ok(())
}

/// Something happens between two programs.
fn on_the_way(platform: &Platform, road: Road, body: &Value) -> Result<(), String> {
    if body["on"].as_bool() == Some(false) {
        platform.roads().mend(road);
        return Ok(());
    }
    let times = Some(input::number_or(body, "times", 0)?).filter(|times| *times > 0);
    platform.roads().break_down(road, road.mishap(body["how"].as_str().unwrap_or("down"))?, times);
    Ok(())
}

/// A wallet sends tokens.
pub(super) fn transfer(desk: &Desk, body: &Value) -> Result<Value, String> {
    let side = input::side(&desk.platform, body)?;
    let (from, to) = (input::text(body, "from")?, input::text(body, "to")?);
    let amount = input::amount(side, body, "amount")?;
    let hash = desk.platform.transfer(side, from, to, amount).map_err(words)?;
    Ok(json!({"txHash": hash}))
}

/// A wallet of somebody's own gets coins and tokens.
pub(super) fn fund(desk: &Desk, body: &Value) -> Result<(), String> {
    let side = input::side(&desk.platform, body)?;
    let amount = match body["amount"].as_str() {
        Some(_) => input::amount(side, body, "amount")?,
        None => U256::from(1000) * U256::from(10).pow(U256::from(side.decimals)),
    };
    Platform::fund(side, input::text(body, "wallet")?, amount).map_err(words)
}

/// An account of somebody's own may bill.
pub(super) fn biller(desk: &Desk, body: &Value) -> Result<(), String> {
    let side = input::side(&desk.platform, body)?;
    Platform::let_bill(side, input::text(body, "account")?).map_err(words)
}

/// Returns the balance of an address or a tester in the chain's token.
pub(super) fn balance(desk: &Desk, body: &Value) -> Result<Value, String> {
    let side = input::side(&desk.platform, body)?;
    let who = Platform::address_named(side, input::text(body, "of")?).map_err(words)?;
    let held = side.holds(who);
    Ok(json!({"amount": crate::amount::show(held, side.decimals), "baseUnits": held.to_string()}))
}

/// Moves what a user has deposited to the merchant's wallet.
pub(super) async fn sweep(desk: &Desk, body: &Value) -> Result<Value, String> {
    let (platform, uuid) = (&desk.platform, input::text(body, "uuid")?);
    let side = input::side(platform, body)?;
    let user = platform.store().user(Some(uuid), None).map_err(words)?;
    let user = user.ok_or_else(|| format!("there is no user {uuid}"))?;
    let hash = platform.sweep(side, user.id).await.map_err(words)?;
    Ok(json!({"txHash": hash}))
}

/// A built-in wallet takes all steps of a link that are left: to subscribe, or to cancel. Returns when the chain has them.
pub(super) async fn follow_link(desk: &Desk, body: &Value) -> Result<Value, String> {
    let (platform, link) = (&desk.platform, input::text(body, "paymentUrl")?);
    let token = link.rsplit("apiSign=").next().unwrap_or_default();
    if platform.case(token, Purpose::Cancel).is_ok() {
        let step = |case: &mut Case| platform.cancel_built_in(case);
        platform.step(token, Purpose::Cancel, step).map_err(words)?;
        return reached(platform, token, Purpose::Cancel, Stage::Cancelled).await;
    }
    let purpose = Purpose::Subscribe;
    let case = platform.case(token, purpose).map_err(words)?;
    if case.stage == Stage::Issued {
        let key = platform.wallet_named(&case.side, input::text(body, "wallet")?).map_err(words)?;
        let step = |case: &mut Case| {
            platform.confirm(case, &case.side.spell(key.address()))?;
            platform.send_built_in(case, &[platform.agreement(case)?])
        };
        platform.step(token, purpose, step).map_err(words)?;
        reached(platform, token, purpose, Stage::Signed).await?;
    }
    if body["authorise"].as_bool() == Some(false) {
        return reached(platform, token, purpose, Stage::Signed).await;
    }
    let amount = match body["allowance"].as_str() {
        Some(_) => input::amount(&case.side, body, "allowance")?,
        None => case.price().saturating_mul(U256::from(12)),
    };
    let step =
        |case: &mut Case| platform.send_built_in(case, &platform.authorisation(case, amount)?);
    platform.step(token, purpose, step).map_err(words)?;
    reached(platform, token, purpose, Stage::Active).await
}

/// Waits until the chain says so; where blocks are made by hand, makes them.
async fn reached(
    platform: &Platform,
    token: &str,
    purpose: Purpose,
    stage: Stage,
) -> Result<Value, String> {
    for _ in 0..PATIENCE {
        let case = platform.case(token, purpose).map_err(words)?;
        // A wallet that authorised for another subscription already is active as soon as it has signed.
        if case.stage == stage || (stage, case.stage) == (Stage::Signed, Stage::Active) {
            let number = case.subscription.out_trade_no;
            return Ok(
                json!({"subscriptionId": case.subscription.id, "outTradeNo": number, "status": stage.number()}),
            );
        }
        platform.await_block().await.map_err(words)?;
    }
    Err(format!("the chain did not get to {}", stage.word()))
}

/// The first signature of a plan.
pub(super) fn propose(desk: &Desk, body: &Value) -> Result<Value, String> {
    let side = input::side(&desk.platform, body)?;
    let amount = input::amount(side, body, "amount")?;
    let wanted = Proposal {
        plan: input::number(body, "planId")?,
        chain: side.id,
        name: body["name"].as_str().unwrap_or("Plan").to_owned(),
        amount: u128::try_from(amount).map_err(words)?,
        interval_s: input::number_or(body, "intervalSeconds", 30 * 86_400)?,
        periods: input::number_or(body, "periods", 0)?,
        delay_s: input::number_or(body, "delaySeconds", 0)?,
        again: body["newVersion"].as_bool().unwrap_or(false),
    };
    let plan = desk.platform.propose(input::text(body, "admin")?, &wanted).map_err(words)?;
    Ok(
        json!({"planId": plan.id, "chainId": plan.chain, "version": plan.version, "txHash": plan.propose_tx}),
    )
}

/// The second signature.
pub(super) fn approve(desk: &Desk, body: &Value) -> Result<(), String> {
    let (plan, chain) = (input::number(body, "planId")?, input::number(body, "chainId")?);
    let version = input::number_or(body, "version", 1)?;
    desk.platform.approve(input::text(body, "admin")?, plan, chain, version).map_err(words)
}

/// An admin approves or rejects a withdrawal.
pub(super) fn decide(desk: &Desk, body: &Value) -> Result<(), String> {
    let id = input::number(body, "withdrawId")?;
    let approved = body["approve"].as_bool().ok_or("approve is required, true or false")?;
    let decided = desk.platform.decide(id, approved, input::text(body, "admin")?).map_err(words)?;
    if decided { Ok(()) } else { Err(format!("withdrawal {id} does not wait for approval")) }
}

/// Sets the recharge callback URL.
pub(super) fn organisation(desk: &Desk, body: &Value) -> Result<(), String> {
    desk.platform.set_recharge_url(input::text(body, "rechargeCallbackUrl")?)
}

/// The newest callbacks with their tries.
pub(super) fn callbacks(desk: &Desk, body: &Value) -> Result<Value, String> {
    let store = desk.platform.store();
    let list = store.callbacks(input::number_or(body, "most", 100)?).map_err(words)?;
    let rows = list.iter().map(|callback| {
        let tries = store.tries(callback.id).map_err(words)?;
        let tries = tries.iter().map(|one| json!({
            "number": one.number, "at": date(one.at_ms), "atSeconds": one.at_ms / 1000, "byHand": one.by_hand, "status": one.status, "answer": one.answer,
        }));
        Ok(json!({
            "id": callback.id, "kind": callback.kind, "subject": callback.subject, "url": callback.url,
            "body": callback.body, "delivered": callback.delivered, "next": callback.next_ms.map(date),
            "tries": tries.collect::<Vec<_>>(),
        }))
    });
    Ok(json!({"list": rows.collect::<Result<Vec<_>, String>>()?}))
}

/// Sends a callback once more.
pub(super) async fn send_again(desk: &Desk, body: &Value) -> Result<Value, String> {
    let id: i64 = body["id"].as_i64().ok_or("id is required, a whole number")?;
    let taken = desk.platform.send_again(id).await.map_err(words)?;
    let taken = taken.ok_or("there is no callback with this id that has an address")?;
    Ok(json!({"delivered": taken}))
}

impl Platform {
    /// Sets where recharge callbacks go.
    pub(crate) fn set_recharge_url(&self, url: &str) -> Result<(), String> {
        if !crate::api::is_web_address(url) {
            return Err(
                "the recharge callback URL must be an absolute http or https address".to_owned()
            );
        }
        self.store().set(RECHARGE_URL, url).map_err(words)
    }
}
