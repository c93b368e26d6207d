//! Withdrawals, users with their deposits, and the organisation.

use super::{Desk, act, field, hidden};
use crate::clock::date;
use crate::pages::{badge, hash, long};
use crate::platform::{RECHARGE_URL, SYMBOL, Side};
use crate::store;
use crate::store::withdrawals::Status;
use maud::{Markup, html};

/// Withdrawals, newest first, with the buttons to decide.
pub(super) fn withdrawals(desk: &Desk) -> Result<Markup, store::Error> {
    let rows = desk.platform.store().withdrawals()?;
    let decision = |id: u64, approve: bool| {
        html! {
            (act("decide-withdrawal", "withdrawals", &html! {
                (hidden("withdrawId", id)) (hidden("approve", approve))
                @if approve { button id=(format!("approve-{id}")) { "Approve" } } @else { button class="danger" id=(format!("reject-{id}")) { "Reject" } }
            }))
        }
    };
    Ok(html! {
        p { "The money leaves the wallet that subscriptions pay into:" }
        dl {
            @for side in desk.platform.sides() {
                dt { (side.name()) }
                dd { strong { (side.show(&side.holds(side.town.payee).to_string())) " " (SYMBOL) } " at " (hash(&side.spell(side.town.payee))) }
            }
        }
        div class="scroll table" { table id="withdrawals" {
            thead { tr { th { "ID" } th { "Your number" } th class="number" { "Amount" } th { "Chain" } th { "To" } th { "Status" } th { "Applied" } th { "Decided" } th { "" } } }
            tbody {
                @for row in &rows {
                    tr id=(format!("withdrawal-{}", row.id)) {
                        td data-label="ID" { (row.id) } td data-label="Your number" { (row.out_trade_no.as_deref().unwrap_or("none")) }
                        td data-label="Amount" class="number" { @if let Some(side) = desk.platform.side(row.chain) { (side.show(&row.amount)) " " (SYMBOL) } }
                        td data-label="Chain" { (chain(desk, row.chain)) } td data-label="To" { (hash(&row.address)) }
                        td data-label="Status" class="state" { (badge(if row.status == Status::Pending { "warn" } else { "" }, row.status.word())) @if let Some(note) = row.note.as_deref().filter(|note| !note.is_empty()) { ": " (note) } }
                        td data-label="Applied" { (date(row.created_ms)) }
                        td data-label="Decided" { @if let (Some(by), Some(at)) = (&row.decided_by, row.decided_ms) { (by) ", " (date(at)) } }
                        td { @if row.status == Status::Pending { (decision(row.id, true)) (decision(row.id, false)) } }
                    }
                }
            }
        } }
        @if rows.is_empty() { p { "Nobody has applied for one." } }
    })
}

/// The name of a chain.
fn chain(desk: &Desk, id: u32) -> &'static str {
    desk.platform.side(id).map_or("another chain", Side::name)
}

/// Users with their addresses, and deposits.
pub(super) fn users(desk: &Desk) -> Result<Markup, store::Error> {
    let (users, deposits) = (desk.platform.store().users()?, desk.platform.store().recharges()?);
    Ok(html! {
        div class="scroll table" { table id="users" {
            thead { tr { th { "ID" } th { "Your uuid" } th { "Since" } th { "Deposit addresses" } th { "" } } }
            tbody {
                @for user in &users {
                    tr id=(format!("user-{}", user.id)) {
                        td data-label="ID" { (user.id) } td data-label="Your uuid" { (user.uuid) } td data-label="Since" { (date(user.created_ms)) }
                        td data-label="Deposit addresses" { ul class="plain" { @for wallet in &user.wallets { li { span class="soft" { (chain(desk, wallet.chain)) " " } (hash(&wallet.address)) } } } }
                        td { @for wallet in &user.wallets {
                            (act("sweep", "users", &html! { (hidden("chainId", wallet.chain)) (hidden("uuid", &user.uuid))
                                button class="quiet" id=(format!("sweep-{}-{}", user.id, wallet.chain)) { "Sweep " (chain(desk, wallet.chain)) } }))
                        } }
                    }
                }
            }
        } }
        h2 class="section" { "Deposits" }
        div class="scroll table" { table id="deposits" {
            thead { tr { th { "ID" } th { "User" } th class="number" { "Amount" } th { "Chain" } th { "From" } th { "Status" } th { "Block time" } } }
            tbody {
                @for row in &deposits {
                    tr id=(format!("deposit-{}", row.id)) {
                        td data-label="ID" { (row.id) } td data-label="User" { (row.uuid) }
                        td data-label="Amount" class="number" { @if let Some(side) = desk.platform.side(row.chain) { (side.show(&row.amount)) " " (SYMBOL) } }
                        td data-label="Chain" { (chain(desk, row.chain)) } td data-label="From" { (hash(&row.sender)) }
                        td data-label="Status" class="state" { @if row.status == 0 { (badge("good", "final")) } @else { (badge("", "pending")) } } td data-label="Block time" { (date(row.time_ms)) }
                    }
                }
            }
        } }
        @if deposits.is_empty() { p { "Nothing has arrived." } }
    })
}

/// The organisation page, with the one field that the interface names.
pub(super) fn organisation(desk: &Desk) -> Result<Markup, store::Error> {
    let url = desk.platform.store().get(RECHARGE_URL)?.unwrap_or_default();
    let credentials = desk.platform.credentials();
    Ok(html! {
        div class="card" { (act("organisation", "organisation", &html! {
            (field("rechargeCallbackUrl", "rechargeCallbackUrl", "Recharge Callback URL", &url))
            button id="save" { "Save" }
        })) }
        h2 class="section" { "What you sign with" }
        dl { dt { "API key" } dd id="api-key" { (long(&credentials.key)) } dt { "API secret" } dd id="api-secret" { (long(&credentials.secret)) } }
    })
}
