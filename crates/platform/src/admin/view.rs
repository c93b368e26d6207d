//! The pages of the console.

mod callbacks;
mod controls;
mod money;
mod plans;

use super::Desk;
use crate::chain::ADMINS;
use crate::clock::date;
use crate::pages::{self, Frame, Html, alert};
use crate::store;
use maud::{Markup, html};

/// The pages in the order of the menu: address, name.
const MENU: [(&str, &str); 8] = [
    ("plans", "Subscription Plans"),
    ("subscriptions", "Subscriptions"),
    ("withdrawals", "Withdrawals"),
    ("users", "Users and deposits"),
    ("callbacks", "Callbacks"),
    ("organisation", "Organization"),
    ("chains", "Chains"),
    ("controls", "Sandbox controls"),
];

/// The page of a name, for an admin, with what is sought on it; None if there is none.
pub(super) fn page(
    desk: &Desk,
    name: &str,
    admin: &str,
    sought: &str,
    error: Option<String>,
) -> Result<Option<Html>, store::Error> {
    let Some((_, title)) = MENU.iter().find(|(page, _)| *page == name) else { return Ok(None) };
    let content = match name {
        "plans" => plans::plans(desk, admin)?,
        "subscriptions" => plans::subscriptions(desk)?,
        "withdrawals" => money::withdrawals(desk)?,
        "users" => money::users(desk)?,
        "callbacks" => callbacks::callbacks(desk, sought)?,
        "organisation" => money::organisation(desk)?,
        "chains" => controls::chains(desk),
        _ => controls::controls(desk),
    };
    let body = html! { h1 { (title) } (alert(error)) (content) };
    let head = html! {
        p class="brand" { "Sandbox console" }
        nav aria-label="Pages" { ul class="scroll" {
            @for (page, name) in MENU {
                li { a id=(format!("menu-{page}")) href=(format!("/{page}")) aria-current=[(*title == name).then_some("page")] { (name) } }
            }
        } }
        p class="small" { "You are " strong id="account" { (admin) } ". " a href="/login" { "Change" } }
        p class="small soft" { "It is " time id="now" { (date(desk.platform.clock().now_ms())) } " UTC" }
    };
    Ok(Some(pages::page(Frame { beside: true, ..Frame::new(title) }, &head, &body)))
}

/// Choosing an account. There is no password: everything is on this machine.
pub(super) fn login(current: Option<&str>) -> Html {
    let body = html! { div class="card narrow" {
        h1 { "Who are you?" }
        p { "A plan needs two admins, each with a wallet of their own. There is no password here." }
        form method="post" action="/login" {
            fieldset {
                legend { "Admin account" }
                @for (place, (account, _)) in ADMINS.iter().enumerate() {
                    label class="choice" { input type="radio" name="account" id=(format!("account-{account}")) value=(account)
                        checked[current.map_or(place == 0, |name| name == *account)]; (account) }
                }
            }
            button id="login" class="press" { "Go to the console" }
        }
    } };
    pages::page(
        Frame::new("Sandbox console"),
        &html! { p class="brand" { "Sandbox console" } },
        &body,
    )
}

/// A form that does what a control does, and comes back to its page.
fn act(control: &str, page: &str, content: &Markup) -> Markup {
    html! {
        form class="inline" method="post" action=(format!("/do/{control}")) {
            input type="hidden" name="page" value=(page);
            (content)
        }
    }
}

/// A hidden field.
fn hidden(name: &str, value: impl std::fmt::Display) -> Markup {
    html! { input type="hidden" name=(name) value=(value.to_string()); }
}

/// A field with its label.
fn field(id: &str, name: &str, label: &str, value: &str) -> Markup {
    html! { label for=(id) { (label) input id=(id) name=(name) value=(value); } }
}

/// A choice of one of both chains.
fn chain_choice(desk: &Desk, id: &str) -> Markup {
    html! {
        label for=(id) { "Chain"
            select id=(id) name="chainId" {
                @for side in desk.platform.sides() { option value=(side.id) { (side.name()) " (" (side.id) ")" } }
            }
        }
    }
}
