//! The page to subscribe in three steps, and the page to unsubscribe.

use super::form;
use crate::amount;
use crate::chain::{Family, TESTERS, tester};
use crate::clock::date;
use crate::pages::{self, Frame, Html, alert, long};
use crate::platform::{Case, Last, Order, Platform, SYMBOL, StepError};
use crate::store::subscriptions::Stage;
use alloy::primitives::U256;
use maud::{Markup, html};

/// A page that waits for a block is loaded again after a second. Named by its address: where that has a fragment behind it (the
/// skip link leaves one), a plain refresh would only scroll.
fn soon(case: &Case) -> String {
    format!("1;url={}", case.link.path())
}

fn head() -> Markup {
    html! { strong { "Sandbox Pay" } }
}

/// What stands where no link leads to.
pub(super) fn home() -> Html {
    let body = html! {
        h1 { "Payment pages" }
        p { "A merchant's link leads to a page here: " code { "{payment_url}" } " followed by the " code { "paymentUrl" } " of the answer." }
    };
    pages::page(Frame::new("Payment pages"), &head(), &body)
}

/// A link that leads nowhere.
pub(super) fn dead_end(error: &StepError) -> Html {
    let body = html! { h1 { "This link does not work" } (alert(Some(error.to_string()))) };
    pages::page(Frame::new("This link does not work"), &head(), &body)
}

/// The page to subscribe, as the chain has it.
pub(super) fn subscribe(platform: &Platform, case: &Case, error: Option<&StepError>) -> Html {
    let waits = case.last == Last::Waiting;
    let step = match (case.stage, case.link.wallet.is_some()) {
        (Stage::Issued, false) => 1,
        (Stage::Issued, true) => 2,
        (Stage::Signed, _) => 3,
        (Stage::Active, _) if case.has_lapsed() => 3,
        (Stage::Active | Stage::Cancelled, _) => 4,
    };
    let title = match step {
        1 => "Step 1 of 3: confirm the plan",
        2 => "Step 2 of 3: sign the agreement",
        3 if case.stage == Stage::Active => "Authorise the payments again",
        3 => "Step 3 of 3: authorise the payments",
        _ => "Your subscription",
    };
    let open = matches!(case.stage, Stage::Issued | Stage::Signed);
    let expired = error.is_none() && open && platform.clock().now_s() > case.link.expires_s;
    let words =
        error.map(ToString::to_string).or_else(|| expired.then(|| StepError::Expired.to_string()));
    let body = html! {
        div class="narrow" {
            (steps(step))
            h1 id=(format!("step-{step}")) tabindex="-1" { (title) }
            (alert(words.or_else(|| mishap(case))))
            @if waits {
                p id="waiting" class="status" role="status" { "Sent. Waiting for the next block; this page looks by itself every second." }
            } @else if !expired {
                @match step {
                    1 => (confirm(case)),
                    2 => (sign(platform, case)),
                    3 => (authorise(platform, case)),
                    _ => (done(case)),
                }
            }
            (terms(case))
        }
    };
    let (soon, away) = (soon(case), format!("5;url={}", case.link.redirect_url));
    let refresh = match (waits, step) {
        (true, _) => Some(soon.as_str()),
        (false, 4) if case.stage == Stage::Active && error.is_none() => Some(away.as_str()),
        (false, _) => None,
    };
    pages::page(Frame { title, refresh, script: Some("/wallet.js") }, &head(), &body)
}

/// The page to unsubscribe.
pub(super) fn unsubscribe(platform: &Platform, case: &Case, error: Option<&StepError>) -> Html {
    let cancelled = case.stage == Stage::Cancelled;
    let waits = case.last == Last::Waiting && !cancelled;
    let title =
        if cancelled { "Your subscription is cancelled" } else { "Cancel your subscription" };
    let order = platform.cancellation(case).ok();
    let body = html! {
        div class="narrow" {
            h1 id=(if cancelled { "cancelled" } else { "cancel" }) tabindex="-1" { (title) }
            (alert(error.map(ToString::to_string).or_else(|| mishap(case))))
            @if waits {
                p id="waiting" class="status" role="status" { "Sent. Waiting for the next block; this page looks by itself every second." }
            } @else if cancelled {
                p class="status" role="status" { "Nothing will be charged any more." }
                p { "What your wallet allowed the contract to take stays in place until you take it back in your wallet: set the approval for " (long(&case.side.spell(case.side.town.billing))) " to 0." }
                p { a id="back" href=(case.link.redirect_url) { "Back to the shop" } }
            } @else if let Some(order) = order {
                p { "The wallet that signed has to sign this as well. A period that has been paid stays paid." }
                (pay_form(platform, case, (&[order], "cancel", "Cancel the subscription"), &html! {}))
            }
            (terms(case))
        }
    };
    let (soon, away) = (soon(case), format!("5;url={}", case.link.redirect_url));
    let refresh = if waits { Some(soon.as_str()) } else { cancelled.then_some(away.as_str()) };
    pages::page(Frame { title, refresh, script: Some("/wallet.js") }, &head(), &body)
}

/// What went wrong with the transaction that was sent last from the page.
fn mishap(case: &Case) -> Option<String> {
    let words = match case.last {
        Last::Failed => "The last transaction failed on the chain. You can try again.",
        Last::Lost => "The chain has lost the last transaction. You can try again.",
        Last::None | Last::Waiting | Last::Succeeded => return None,
    };
    Some(words.to_owned())
}

fn steps(current: u8) -> Markup {
    html! {
        ol class="steps" {
            @for (number, name) in (1..).zip(["Confirm", "Sign", "Authorise"]) {
                li aria-current=[(number == current).then_some("step")] {
                    (name) @if number < current { " – done" }
                }
            }
        }
    }
}

fn terms(case: &Case) -> Markup {
    let (side, plan) = (&case.side, &case.plan);
    let amount = side.show(&plan.amount);
    let every = period(plan.interval_s);
    html! {
        h2 { "What it is" }
        dl {
            dt { "Plan" } dd id="plan" { (plan.name) " (" (plan.id) ", version " (plan.version) ")" }
            dt { "Price" } dd id="price" { (amount) " " (SYMBOL) " every " (every) }
            dt { "First charge" } dd { @if plan.delay_s == 0 { "at once" } @else { "after " (period(plan.delay_s)) } }
            dt { "Lasts" } dd { @if plan.periods == 0 { "until you cancel" } @else { (plan.periods) " periods" } }
            dt { "Paid to" } dd { (long(&side.spell(side.town.payee))) }
            dt { "Taken by the contract" } dd { (long(&side.spell(side.town.billing))) }
            dt { "Token" } dd { (SYMBOL) " " (long(&side.spell(side.town.token))) }
            dt { "Chain" } dd { (side.name()) }
            dt { "Order" } dd id="order" { (case.subscription.out_trade_no) }
            dt { "This link is good until" } dd { (date(case.link.expires_s.saturating_mul(1000))) " UTC" }
        }
    }
}

/// A length of time for people.
fn period(seconds: u64) -> String {
    match seconds {
        s if s % (30 * 86_400) == 0 => {
            plural(s / (30 * 86_400), "month of 30 days", "months of 30 days")
        }
        s if s % 86_400 == 0 => plural(s / 86_400, "day", "days"),
        s => plural(s, "second", "seconds"),
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{count} {many}") }
}

fn confirm(case: &Case) -> Markup {
    let side = &case.side;
    html! {
        form method="post" {
            fieldset {
                legend { "Pay with a test wallet" }
                @for (place, name) in TESTERS.iter().enumerate() {
                    @let address = tester(name).address();
                    @let holds = amount::show(side.holds(address), side.decimals);
                    label class="choice" {
                        input type="radio" name="wallet" id=(format!("wallet-{name}")) value=(side.spell(address)) checked[place == 0];
                        span { (name) ", " (holds) " " (SYMBOL) br; (long(&side.spell(address))) }
                    }
                }
            }
            button id="confirm" name="step" value="confirm" { "Confirm the plan" }
        }
        @if side.family() == Family::Evm {
            form method="post" id="own-wallet" class="hidden" data-chain=(format!("{:#x}", side.chain.chain_id())) {
                p { "Or with the wallet in this browser:" }
                input type="hidden" name="own" id="own"; input type="hidden" name="step" value="confirm";
                button type="button" id="connect" class="quiet" { "Connect the browser's wallet" }
            }
            noscript { p { "A wallet in this browser needs JavaScript; the test wallets do not." } }
        }
        p id="wallet-status" role="status" {}
    }
}

fn sign(platform: &Platform, case: &Case) -> Markup {
    let order = platform.agreement(case).ok();
    html! {
        p { "Wallet: " (long(case.link.wallet.as_deref().unwrap_or_default())) }
        p { "You sign that this wallet takes the plan below. Nothing is paid yet, and nothing can be taken yet." }
        @if let Some(order) = order {
            (pay_form(platform, case, (&[order], "sign", "Sign the agreement"), &html! {}))
        }
        form method="post" { button id="back-to-1" class="quiet" name="step" value="back" { "Use another wallet" } }
    }
}

fn authorise(platform: &Platform, case: &Case) -> Markup {
    let usual = form::usual(case);
    let show = |value| amount::show(value, case.side.decimals);
    let orders = platform.authorisation(case, usual).unwrap_or_default();
    let own = !is_built_in(platform, case.link.wallet.as_deref(), case);
    let choices = html! {
        fieldset {
            legend { "Up to how much in total?" }
            label class="choice" { input type="radio" name="cap" id="cap-year" value="year" checked; span { (show(usual)) " " (SYMBOL) ": " (show(case.price())) " at most in a period" } }
            label class="choice" { input type="radio" name="cap" id="cap-one" value="one"; span { (show(case.price())) " " (SYMBOL) ": one period" } }
            @if !own { label class="choice" { input type="radio" name="cap" id="cap-other" value="other"; span { "Another amount: "
                input type="text" name="amount" id="amount" inputmode="decimal" size="12" aria-label="Another amount"; " " (SYMBOL) } } }
            label class="choice" { input type="radio" name="cap" id="cap-unlimited" value="unlimited"; span { "No limit: if the contract had a fault, all " (SYMBOL) " in this wallet would be at risk" } }
        }
        @if own { @for (cap, amount) in [("year", usual), ("one", case.price()), ("unlimited", U256::MAX)] {
            (listed(&platform.authorisation(case, amount).unwrap_or_default(), Some(cap)))
        } }
    };
    html! {
        p { "This lets the contract take what you choose here in total, and never more than " (show(case.price())) " " (SYMBOL) " in a period. The money stays in your wallet until each charge. You can end this here or in your wallet at any time." }
        @if orders.len() > 1 {
            p { "Your wallet allows the contract something already. There are two confirmations: the first sets it to 0, the second to the new amount." }
        }
        (pay_form(platform, case, (&[], "authorise", "Authorise"), &choices))
    }
}

/// A form whose button lets a built-in wallet send, or asks the browser's.
fn pay_form(
    platform: &Platform,
    case: &Case,
    (orders, step, label): (&[Order], &str, &str),
    fields: &Markup,
) -> Markup {
    let wallet = match step {
        "cancel" => platform.registered_wallet(case).ok().flatten(),
        _ => case.link.wallet.clone(),
    };
    if is_built_in(platform, wallet.as_deref(), case) {
        return html! { form method="post" { (fields) button id=(step) name="step" value=(step) { (label) } } };
    }
    html! {
        form method="post" id="own-wallet" data-chain=(format!("{:#x}", case.side.chain.chain_id())) data-from=(wallet.unwrap_or_default()) {
            (fields) (listed(orders, None))
            input type="hidden" name="step" value="sent"; input type="hidden" name="hash" id="hash";
            button type="button" id=(step) class="ask-wallet" { (label) " in the browser's wallet" }
        }
        noscript { p { "The wallet in this browser needs JavaScript." } }
        p id="wallet-status" role="status" {}
    }
}

/// Whether the sandbox has the key of a wallet.
fn is_built_in(platform: &Platform, wallet: Option<&str>, case: &Case) -> bool {
    let address = wallet.and_then(|text| case.side.family().parse(text));
    address.is_some_and(|address| platform.built_in(address).is_some())
}

/// What the browser's wallet is to send, if the choice `cap` is made.
fn listed(orders: &[Order], cap: Option<&str>) -> Markup {
    html! {
        @for order in orders {
            span class="order" data-cap=[cap] data-to=(order.to.to_checksum(None)) data-data=(order.data.to_string()) {}
        }
    }
}

fn done(case: &Case) -> Markup {
    let owner = case.wallet();
    let covers =
        owner.map(|owner| case.side.allowance(owner).checked_div(case.price()).unwrap_or_default());
    html! {
        @if case.stage == Stage::Cancelled {
            p class="status" id="done" role="status" { "This subscription was cancelled." }
        } @else {
            p class="status" id="done" role="status" { "Done: your subscription is active." }
            @if let Some(covers) = covers {
                p { "What you authorised covers " @if covers > U256::from(1000) { "more than a thousand" } @else { (covers.to_string()) } " periods." }
            }
            p { "You are taken back to the shop in five seconds." }
        }
        p { a id="back" href=(case.link.redirect_url) { "Back to the shop" } }
    }
}
