//! The page to subscribe in three steps, and the page to unsubscribe.

use super::authorise::{authorise, done};
use super::form::Sent;
use super::offer::offer;
use crate::amount;
use crate::chain::{Family, TESTERS, tester};
use crate::pages::{self, Frame, Html, alert, hash, long};
use crate::platform::{Case, Last, Order, Platform, SYMBOL, StepError};
use crate::store::subscriptions::Stage;
use maud::{Markup, html};

/// A page that waits for a block is loaded again after a second. Named by its address: where that has a fragment behind it (the
/// skip link leaves one), a plain refresh would only scroll.
fn soon(case: &Case) -> String {
    format!("1;url={}", case.link.path())
}

fn head() -> Markup {
    html! { p class="brand" { "Sandbox Pay" } span class="badge" { "Test money" } }
}

/// Returns the page for an address that no link leads to.
pub(super) fn home() -> Html {
    let body = html! {
        h1 { "Payment pages" }
        p class="narrow" { "A merchant's link leads to a page here: " code { "{payment_url}" } " followed by the " code { "paymentUrl" } " of the answer." }
    };
    pages::page(Frame::new("Payment pages"), &head(), &body)
}

/// A link that leads nowhere.
pub(super) fn dead_end(error: &StepError) -> Html {
    let body = html! { div class="narrow" { h1 { "This link does not work" } (alert(Some(error.to_string()))) } };
    pages::page(Frame::new("This link does not work"), &head(), &body)
}

/// The page to subscribe, as the chain has it; with what went wrong, and with what was sent then.
pub(super) fn subscribe(
    platform: &Platform,
    case: &Case,
    refused: Option<(&StepError, &Sent)>,
) -> Html {
    let (error, sent) = refused.unzip();
    let waits = case.last == Last::Waiting;
    let step = match (case.stage, case.link.wallet.is_some()) {
        (Stage::Issued, false) => 1,
        (Stage::Issued, true) => 2,
        (Stage::Signed, _) => 3,
        (Stage::Active, _) if platform.has_lapsed(case) => 3,
        (Stage::Active | Stage::Cancelled, _) => 4,
    };
    let title = match step {
        1 => "Choose your wallet",
        2 => "Sign the agreement",
        3 if case.stage == Stage::Active => "Authorise the payments again",
        3 => "Authorise the payments",
        _ => "Your subscription",
    };
    let open = matches!(case.stage, Stage::Issued | Stage::Signed);
    let expired = error.is_none() && open && platform.clock().now_s() > case.link.expires_s;
    let words =
        error.map(ToString::to_string).or_else(|| expired.then(|| StepError::Expired.to_string()));
    let body = html! {
        div class="checkout" {
            (offer(case))
            section class="card" aria-labelledby=(format!("step-{step}")) {
                @if step < 4 { (steps(step)) }
                h1 id=(format!("step-{step}")) tabindex="-1" { (title) }
                (alert(words.or_else(|| mishap(case))))
                @if waits {
                    (waiting())
                } @else if !expired {
                    @match step {
                        1 => (confirm(case)),
                        2 => (sign(platform, case)),
                        3 => (authorise(platform, case, sent)),
                        _ => (done(platform, case)),
                    }
                }
            }
        }
    };
    let (soon, away) = (soon(case), format!("5;url={}", case.link.redirect_url));
    let refresh = match (waits, step) {
        (true, _) => Some(soon.as_str()),
        (false, 4) if case.stage == Stage::Active && error.is_none() => Some(away.as_str()),
        (false, _) => None,
    };
    pages::page(Frame { refresh, script: Some("/wallet.js"), ..Frame::new(title) }, &head(), &body)
}

/// The page to unsubscribe.
pub(super) fn unsubscribe(platform: &Platform, case: &Case, error: Option<&StepError>) -> Html {
    let cancelled = case.stage == Stage::Cancelled;
    let waits = case.last == Last::Waiting && !cancelled;
    let title =
        if cancelled { "Your subscription is cancelled" } else { "Cancel your subscription" };
    let order = platform.cancellation(case).ok();
    let body = html! {
        div class="checkout" {
            (offer(case))
            section class="card" {
                h1 id=(if cancelled { "cancelled" } else { "cancel" }) tabindex="-1" { (title) }
                (alert(error.map(ToString::to_string).or_else(|| mishap(case))))
                @if waits {
                    (waiting())
                } @else if cancelled {
                    p class="status" role="status" { "Nothing will be charged any more." }
                    p { "What your wallet allowed the contract to take stays in place until you take it back in your wallet: set the approval for " (long(&case.side.spell(case.side.town.billing))) " to 0." }
                    p { a id="back" href=(case.link.redirect_url) { "Back to the shop" } }
                } @else if let Some(order) = order {
                    p { "The wallet that signed has to sign this as well. A period that has been paid stays paid." }
                    (pay_form(platform, case, &[order], "cancel", "Cancel the subscription", &html! {}))
                }
            }
        }
    };
    let (soon, away) = (soon(case), format!("5;url={}", case.link.redirect_url));
    let refresh = if waits { Some(soon.as_str()) } else { cancelled.then_some(away.as_str()) };
    pages::page(Frame { refresh, script: Some("/wallet.js"), ..Frame::new(title) }, &head(), &body)
}

/// Returns the words for a failure of the transaction that was sent last from the page.
fn mishap(case: &Case) -> Option<String> {
    let words = match case.last {
        Last::Failed => "The last transaction failed on the chain. You can try again.",
        Last::Lost => "The chain has lost the last transaction. You can try again.",
        Last::None | Last::Waiting | Last::Succeeded => return None,
    };
    Some(words.to_owned())
}

/// Shows the notice for the wait for a block.
fn waiting() -> Markup {
    html! { p id="waiting" class="status" role="status" { "Sent. Waiting for the next block; this page looks by itself every second." } }
}

fn steps(current: u8) -> Markup {
    html! {
        ol class="steps" {
            @for (number, name) in (1..).zip(["Wallet", "Sign", "Authorise"]) {
                li aria-current=[(number == current).then_some("step")] class=[(number < current).then_some("done")] {
                    (name) @if number < current { " – done" }
                }
            }
        }
    }
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
                    label class="choice wallet" {
                        input type="radio" name="wallet" id=(format!("wallet-{name}")) value=(side.spell(address)) checked[place == 0];
                        span { (name) small { code title=(side.spell(address)) { (looks::short(&side.spell(address))) } } }
                        span class="soft" { (holds) " " (SYMBOL) }
                    }
                }
            }
            button id="confirm" class="press" name="step" value="confirm" { "Continue with this wallet" }
        }
        @if side.family() == Family::Evm {
            form method="post" id="own-wallet" class="hidden" data-chain=(format!("{:#x}", side.chain.chain_id())) {
                p { "Or with the wallet in this browser:" }
                input type="hidden" name="own" id="own"; input type="hidden" name="step" value="confirm";
                button type="button" id="connect" class="press quiet" { "Connect the browser's wallet" }
            }
            noscript { p { "A wallet in this browser needs JavaScript; the test wallets do not." } }
        }
        p id="wallet-status" role="status" {}
    }
}

fn sign(platform: &Platform, case: &Case) -> Markup {
    let order = platform.agreement(case).ok();
    html! {
        p { "You sign that the wallet " (hash(case.link.wallet.as_deref().unwrap_or_default())) " takes this plan. Nothing is paid yet, and nothing can be taken yet." }
        @if let Some(order) = order {
            (pay_form(platform, case, &[order], "sign", "Sign the agreement", &html! {}))
        }
        form method="post" { button id="back-to-1" class="press quiet" name="step" value="back" { "Use another wallet" } }
    }
}

/// A form whose button lets a built-in wallet send, or asks the browser's.
pub(super) fn pay_form(
    platform: &Platform,
    case: &Case,
    orders: &[Order],
    step: &str,
    label: &str,
    fields: &Markup,
) -> Markup {
    let wallet = match step {
        "cancel" => platform.registered_wallet(case).ok().flatten(),
        _ => case.link.wallet.clone(),
    };
    if is_built_in(platform, wallet.as_deref(), case) {
        return html! { form method="post" { (fields) button id=(step) class="press" name="step" value=(step) { (label) span id="chosen" {} } } };
    }
    html! {
        form method="post" id="own-wallet" data-chain=(format!("{:#x}", case.side.chain.chain_id())) data-from=(wallet.unwrap_or_default()) {
            (fields) (listed(orders, None))
            input type="hidden" name="step" value="sent"; input type="hidden" name="hash" id="hash";
            button type="button" id=(step) class="press ask-wallet" { (label) span id="chosen" {} " in the browser's wallet" }
        }
        noscript { p { "The wallet in this browser needs JavaScript." } }
        p id="wallet-status" role="status" {}
    }
}

/// Returns true if the sandbox has the key of a wallet.
pub(super) fn is_built_in(platform: &Platform, wallet: Option<&str>, case: &Case) -> bool {
    let address = wallet.and_then(|text| case.side.family().parse(text));
    address.is_some_and(|address| platform.built_in(address).is_some())
}

/// Lists the transactions that the browser's wallet is to send, if the choice `cap` is made.
pub(super) fn listed(orders: &[Order], cap: Option<&str>) -> Markup {
    html! {
        @for order in orders {
            span class="order" data-cap=[cap] data-to=(order.to.to_checksum(None)) data-data=(order.data.to_string()) {}
        }
    }
}
