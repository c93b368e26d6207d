//! Every control of the sandbox and every action of the console, as a call.

mod acts;
mod fields;

pub(super) use fields::refuse_others;

use super::{Desk, input};
use crate::chain::{ADMINS, TESTERS, tester};
use crate::clock::date;
use crate::platform::{SYMBOL, Side};
use serde_json::{Value, json};
use std::time::Duration;

/// A day (s).
const DAY_S: u64 = 86_400;

/// Returns the state of the sandbox: the clock, the chains, and the data that a merchant needs to begin.
pub(super) fn state(desk: &Desk) -> Value {
    let platform = &desk.platform;
    let wallets = |side: &Side| {
        let row = |name: &str| {
            let address = tester(name).address();
            json!({
                "name": name,
                "address": side.spell(address),
                "privateKey": tester(name).to_bytes().to_string(),
                "balance": crate::amount::show(side.holds(address), side.decimals),
                "allowance": crate::amount::show(side.allowance(address), side.decimals),
                "symbol": SYMBOL,
            })
        };
        TESTERS.iter().map(|name| row(name)).collect::<Vec<_>>()
    };
    let chains = platform.sides().iter().map(|side| {
        json!({
            "chainId": side.id,
            "name": side.name(),
            "head": side.chain.head().number,
            "solid": side.chain.solid().number,
            "time": date(side.chain.head().time_ms),
            "nodeDown": side.chain.is_down(),
            "contract": side.spell(side.town.billing),
            "merKey": side.spell(side.town.mer_key),
            "multicall": side.spell(side.town.multicall),
            "token": side.spell(side.town.token),
            "payee": side.spell(side.town.payee),
            "wallets": wallets(side),
        })
    });
    let (clock, credentials) = (platform.clock(), platform.credentials());
    json!({
        "now": clock.now_s(),
        "date": date(clock.now_ms()),
        "aheadSeconds": clock.ahead_ms() / 1000,
        "machine": clock.machine_ms() / 1000,
        "held": platform.is_held(),
        "paymentUrl": desk.payment_url,
        "apiKey": credentials.key,
        "apiSecret": credentials.secret,
        "admins": ADMINS.map(|(account, _)| account),
        "chains": chains.collect::<Vec<_>>(),
    })
}

/// Does what a control says.
pub(super) async fn act(desk: &Desk, control: &str, body: &Value) -> Result<Value, String> {
    match control {
        "advance" => advance(desk, body).await?,
        "blocks" => {
            let count: u64 = input::number_or(body, "count", 1)?;
            desk.platform.blocks(count.min(10_000)).await.map_err(words)?;
        }
        "hold" => desk.platform.set_held(body["on"].as_bool().unwrap_or(true)),
        "fault" => acts::fault(desk, body).await?,
        "biller" => acts::biller(desk, body)?,
        "balance" => return acts::balance(desk, body),
        "fund" => acts::fund(desk, body)?,
        "sweep" => return acts::sweep(desk, body).await,
        "transfer" => return acts::transfer(desk, body),
        "follow-link" => return acts::follow_link(desk, body).await,
        "propose-plan" => return acts::propose(desk, body),
        "approve-plan" => acts::approve(desk, body)?,
        "decide-withdrawal" => acts::decide(desk, body)?,
        "organisation" => acts::organisation(desk, body)?,
        "callbacks" => return acts::callbacks(desk, body),
        "send-again" => return acts::send_again(desk, body).await,
        _ => return Err(format!("there is no control {control}")),
    }
    Ok(json!({"date": date(desk.platform.clock().now_ms()), "now": desk.platform.clock().now_s()}))
}

/// Moves time by what is named: months of thirty days, days, seconds.
async fn advance(desk: &Desk, body: &Value) -> Result<(), String> {
    let [months, days, seconds] = ["months", "days", "seconds"];
    let months: u64 = input::number_or(body, months, 0)?;
    let days: u64 = input::number_or(body, days, 0)?;
    let seconds: u64 = input::number_or(body, seconds, 0)?;
    let days = months.saturating_mul(30).saturating_add(days);
    let total_s = days.saturating_mul(DAY_S).saturating_add(seconds);
    if !(1..=100 * 365 * DAY_S).contains(&total_s) {
        return Err(
            "say by how much: months, days or seconds, forward, a hundred years at most".to_owned()
        );
    }
    desk.platform.advance(Duration::from_secs(total_s)).await.map_err(words)
}

/// An error for people.
#[expect(clippy::needless_pass_by_value, reason = "this is how map_err hands it over")]
fn words(error: impl ToString) -> String {
    error.to_string()
}
