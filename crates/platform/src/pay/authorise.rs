//! The third step, and what it came to: up to how much the contract may take, for all that it is taken for.

use super::form::{self, Sent};
use super::offer::terms;
use super::page::{is_built_in, listed, pay_form};
use crate::amount;
use crate::platform::{Case, Dues, MANY, Platform, SYMBOL};
use crate::store::subscriptions::Stage;
use alloy::primitives::U256;
use maud::{Markup, html};

/// The form, with what was sent by it before.
pub(super) fn authorise(platform: &Platform, case: &Case, sent: Option<&Sent>) -> Markup {
    let Ok(dues) = platform.dues(case) else { return html! {} };
    let show = |value| format!("{} {SYMBOL}", amount::show(value, case.side.decimals));
    let allowed = case.wallet().map(|owner| case.side.allowance(owner)).unwrap_or_default();
    html! {
        p { "The contract may take what you choose here in total, and never more than " (show(case.price())) " in a period. The money stays in your wallet until each charge. You can end this here or in your wallet at any time." }
        (others(case, &dues))
        @if !allowed.is_zero() {
            p id="allowed" { "Your wallet allows the contract " (limit(case, allowed)) " now. There are two confirmations: the first sets it to 0, the second to what you choose here." }
        }
        (pay_form(platform, case, &[], "authorise", "Authorise", &choices(platform, case, &dues, sent)))
    }
}

fn choices(platform: &Platform, case: &Case, dues: &Dues, sent: Option<&Sent>) -> Markup {
    let show = |value| format!("{} {SYMBOL}", amount::show(value, case.side.decimals));
    let periods = form::usual_periods(case);
    let (usual, one) = (dues.of_periods(periods), dues.of_periods(1));
    let chosen = sent.map_or("year", Sent::cap);
    let typed = sent.map(Sent::typed).unwrap_or_default();
    let all = if dues.others.is_empty() { "" } else { " of all of them" };
    let choice = |cap: &str, shown: &str, words: String| {
        html! { label class="choice" {
            input type="radio" name="cap" id=(format!("cap-{cap}")) value=(cap) data-shown=(shown) checked[cap == chosen];
            span { (shown) small { (words) } }
        } }
    };
    let own = !is_built_in(platform, case.link.wallet.as_deref(), case);
    html! {
        fieldset data-decimals=(case.side.decimals) data-symbol=(SYMBOL) data-least=(one) {
            legend { "Up to how much in total?" }
            (choice("year", &show(usual), format!("{periods} periods{all}")))
            (choice("one", &show(one), format!("one period{all}")))
            label class="choice" {
                input type="radio" name="cap" id="cap-other" value="other" checked[chosen == "other"];
                span { "Another amount "
                    input type="text" name="amount" id="amount" inputmode="decimal" autocomplete="off" value=(typed) aria-label="Another amount"; " " (SYMBOL)
                    small { "at least " (show(one)) } }
            }
            (choice("unlimited", "No limit", format!("if the contract had a fault, all {SYMBOL} in this wallet would be at risk")))
        }
        @if own { @for (cap, amount) in [("year", usual), ("one", one), ("other", one), ("unlimited", U256::MAX)] {
            (listed(&platform.authorisation(case, amount).unwrap_or_default(), Some(cap)))
        } }
    }
}

/// Lists everything else that is charged from the same allowance.
fn others(case: &Case, dues: &Dues) -> Markup {
    html! {
        @if !dues.others.is_empty() {
            div id="others" class="alert warn" {
                p { "This wallet pays for more from the same allowance, and what you choose here is for all of it:" }
                ul class="plain" { @for (other, plan) in &dues.others {
                    li { strong { (plan.name) } ", " (terms(case, plan)) ", order " (other.out_trade_no) }
                } }
            }
        }
    }
}

/// An allowance for people.
fn limit(case: &Case, allowed: U256) -> String {
    if allowed > U256::MAX >> 1 {
        return "any amount".to_owned();
    }
    format!("{} {SYMBOL}", amount::show(allowed, case.side.decimals))
}

/// The outcome.
pub(super) fn done(platform: &Platform, case: &Case) -> Markup {
    let allowed = case.wallet().map(|owner| case.side.allowance(owner));
    let dues = platform.dues(case).ok();
    html! {
        @if case.stage == Stage::Cancelled {
            p class="status" id="done" role="status" { "This subscription was cancelled." }
        } @else {
            p class="status" id="done" role="status" { "Done: your subscription is active." }
            @if let Some((allowed, dues)) = allowed.zip(dues) {
                @let covers = dues.covered(allowed);
                p id="authorised" {
                    "You authorised " strong { (limit(case, allowed)) } ". That covers "
                    @if covers >= MANY { "more than a thousand periods" } @else if covers == 1 { "1 period" } @else { (covers) " periods" }
                    @if !dues.others.is_empty() { " of this and of " @if dues.others.len() == 1 { "the other subscription" } @else { (dues.others.len()) " other subscriptions" } " of the wallet together" }
                    "."
                }
            }
            p class="soft" { "You are taken back to the shop in five seconds." }
        }
        p { a id="back" href=(case.link.redirect_url) { "Back to the shop" } }
    }
}
