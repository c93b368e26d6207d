//! Payment Tools > Subscription Plans, and the subscriptions to them.

use super::{Desk, act, chain_choice, field, hidden};
use crate::clock::date;
use crate::pages::{badge, hash};
use crate::platform::{PlanState, SYMBOL, Side};
use crate::store;
use crate::store::subscriptions::{Filter, Page, Stage};
use maud::{Markup, html};

/// All versions of all plans, and the form for another.
pub(super) fn plans(desk: &Desk, admin: &str) -> Result<Markup, store::Error> {
    let platform = &desk.platform;
    let rows = platform.store().plans()?;
    Ok(html! {
        p { "A plan takes effect when the contract has the approval of a second admin. Both sign with a wallet of their own." }
        div class="scroll table" { table id="plans" {
            thead { tr { th { "Plan" } th { "Name" } th { "Chain" } th { "Price" } th { "Status" } th { "Signed by" } th { "" } } }
            tbody {
                @for plan in &rows {
                    @if let Some(side) = platform.side(plan.chain) {
                        @let state = side.state_of(plan);
                        tr id=(format!("plan-{}-{}-{}", plan.id, plan.chain, plan.version)) {
                            td data-label="Plan" { (plan.id) span class="soft" { " v" (plan.version) } } td data-label="Name" class="wrap" { (plan.name) } td data-label="Chain" { (side.name()) }
                            td data-label="Price" { (side.show(&plan.amount)) " " (SYMBOL) span class="soft" { " / " (plan.interval_s / 86_400) " days" @if plan.periods > 0 { ", " (plan.periods) " times" } } }
                            td data-label="Status" class="state" { (badge(if state == PlanState::Active { "good" } else { "warn" }, state.word())) }
                            td data-label="Signed by" { (plan.proposer) @if let Some(approver) = &plan.approver { ", " (approver) } }
                            td {
                                @if state == PlanState::Pending && plan.proposer != admin {
                                    (act("approve-plan", "plans", &html! {
                                        (hidden("planId", plan.id)) (hidden("chainId", plan.chain)) (hidden("version", plan.version))
                                        button id=(format!("approve-{}-{}-{}", plan.id, plan.chain, plan.version)) { "Approve and sign" }
                                    }))
                                } @else if state == PlanState::Pending { "waits for another admin" }
                            }
                        }
                    }
                }
            }
        } }
        h2 class="section" { "A new plan" }
        div class="card section" { (act("propose-plan", "plans", &html! {
            (field("planId", "planId", "Plan ID (a number of your choice)", ""))
            (chain_choice(desk, "plan-chain"))
            (field("plan-name", "name", "Name", "Gold"))
            (field("plan-amount", "amount", "Price for a period", "10"))
            label for="plan-interval" { "Period" select id="plan-interval" name="intervalSeconds" {
                option value="2592000" { "30 days" } option value="604800" { "7 days" } option value="86400" { "1 day" } option value="31536000" { "365 days" }
            } }
            (field("plan-periods", "periods", "How many periods (0: without end)", "0"))
            (field("plan-delay", "delaySeconds", "Seconds until the first charge", "0"))
            label for="plan-version" { "Plan ID is" select id="plan-version" name="newVersion" {
                option value="false" { "new" } option value="true" { "a plan that there is: new version" }
            } }
            button id="propose" { "Propose and sign" }
        })) }
    })
}

/// The newest subscriptions.
pub(super) fn subscriptions(desk: &Desk) -> Result<Markup, store::Error> {
    let store = desk.platform.store();
    let (count, _) = store.subscriptions(&Filter::default(), Page { page: 1, size: 1 })?;
    let size = 200;
    let last = Page { page: count.div_ceil(size).max(1), size };
    let (_, mut rows) = store.subscriptions(&Filter::default(), last)?;
    rows.reverse();
    let rows = rows
        .into_iter()
        .map(|row| Ok((store.stage(row.id)?, row)))
        .collect::<Result<Vec<_>, store::Error>>()?;
    Ok(html! {
        p { (count) " in all." }
        div class="scroll table" { table id="subscriptions" {
            thead { tr { th { "Subscription" } th { "Order number" } th { "User" } th { "Plan" } th { "Chain" } th { "Status" } th { "Since" } } }
            tbody {
                @for (stage, row) in &rows {
                    tr id=(format!("subscription-{}", row.id)) {
                        td data-label="Subscription" { (row.id) } td data-label="Order number" { (hash(&row.out_trade_no)) } td data-label="User" { (row.external_user) }
                        td data-label="Plan" { (row.plan) span class="soft" { " v" (row.version) } } td data-label="Chain" { (desk.platform.side(row.chain).map_or("another chain", Side::name)) } td data-label="Status" class="state" { (badge(match stage { Stage::Active => "good", Stage::Issued | Stage::Signed => "", Stage::Cancelled => "warn" }, stage.word())) } td data-label="Since" { (date(row.created_ms)) }
                    }
                }
            }
        } }
    })
}
