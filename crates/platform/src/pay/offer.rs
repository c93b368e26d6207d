//! The payee, the plan and the price: they stand on every page before anything can be pressed.

use crate::clock::date;
use crate::pages::hash;
use crate::platform::{Case, SYMBOL};
use crate::store::plans::Plan;
use crate::store::subscriptions::Stage;
use maud::{Markup, html};

/// The sandbox's one merchant, as users know it.
const MERCHANT: &str = "Sandbox Merchant";

/// The subject of a link.
pub(super) fn offer(case: &Case) -> Markup {
    let (side, plan) = (&case.side, &case.plan);
    html! {
        section class="offer" aria-label="What is paid" {
            p id="merchant" class="merchant" { (MERCHANT) }
            h2 id="plan" { @if case.stage == Stage::Issued { "Subscribe to " } (plan.name) }
            p id="price" class="price" { (side.show(&plan.amount)) " " (SYMBOL) small { " every " (period(plan.interval_s)) } }
            dl {
                dt { "First charge" } dd { @if plan.delay_s == 0 { "at once, when you have authorised it" } @else { "after " (period(plan.delay_s)) } }
                dt { "Lasts" } dd { @if plan.periods == 0 { "until you cancel" } @else { (plural(plan.periods, "period", "periods")) } }
                dt { "Paid to" } dd { (hash(&side.spell(side.town.payee))) }
                @if let Some(wallet) = &case.link.wallet { dt { "Paid from" } dd id="payer" { (hash(wallet)) } }
                dt { "Chain" } dd { (side.name()) }
            }
            details {
                summary { "Order, token and contract" }
                dl {
                    dt { "Order" } dd id="order" { (case.subscription.out_trade_no) }
                    dt { "Plan" } dd { (plan.id) ", version " (plan.version) }
                    dt { "Token" } dd { (SYMBOL) " " (hash(&side.spell(side.town.token))) }
                    dt { "Taken by" } dd { (hash(&side.spell(side.town.billing))) }
                    dt { "Link good until" } dd { (date(case.link.expires_s.saturating_mul(1000))) " UTC" }
                }
            }
        }
    }
}

/// Returns the price of a plan, for a sentence.
pub(super) fn terms(case: &Case, plan: &Plan) -> String {
    format!("{} {SYMBOL} every {}", case.side.show(&plan.amount), period(plan.interval_s))
}

/// A length of time for people.
pub(super) fn period(seconds: u64) -> String {
    match seconds {
        s if s % (30 * 86_400) == 0 => {
            plural(s / (30 * 86_400), "month of 30 days", "months of 30 days")
        }
        s if s % 86_400 == 0 => plural(s / 86_400, "day", "days"),
        s => plural(s, "second", "seconds"),
    }
}

/// So many of something; one is said by its name, where a name without a number is usual.
pub(super) fn plural(count: u64, one: &str, many: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {many}") }
}
