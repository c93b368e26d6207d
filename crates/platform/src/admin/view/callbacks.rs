//! Callbacks with every try, and the button that sends one again.

use super::{Desk, act, hidden};
use crate::clock::date;
use crate::pages::{badge, long};
use crate::store;
use maud::{Markup, html};

/// The most callbacks that are shown.
const SHOWN: u32 = 200;

/// The newest callbacks that have what is sought in them.
pub(super) fn callbacks(desk: &Desk, sought: &str) -> Result<Markup, store::Error> {
    let store = desk.platform.store();
    let rows = store.callbacks_with(sought, SHOWN)?;
    let rows = rows
        .into_iter()
        .map(|row| Ok((store.tries(row.id)?, row)))
        .collect::<Result<Vec<_>, store::Error>>()?;
    Ok(html! {
        p { "Sent at once, and again after 15 s, 30 s, 3, 5 and 10 minutes until the answer is HTTP 200 with the text " code { "success" } "." }
        form class="inline" method="get" action="/callbacks" role="search" {
            label for="sought" { "With the text" input id="sought" name="q" type="search" value=(sought) placeholder="a subscription, a hash, a kind"; }
            button class="quiet" id="search" { "Search" }
        }
        @if rows.is_empty() { p { @if sought.is_empty() { "There is none yet." } @else { "None of them has this text." } } }
        @for (tries, row) in &rows {
            details class="card" id=(format!("callback-{}", row.id)) {
                summary {
                    span class="soft" { (date(row.created_ms)) " " } strong { (row.kind) } " " (row.subject) " "
                    span class="state" { @if row.delivered { (badge("good", "delivered")) } @else if row.url.is_none() { (badge("", "nobody to send it to")) } @else if row.next_ms.is_some() { (badge("warn", "will be tried again")) } @else { (badge("bad", "given up")) } }
                    span class="soft" { " " (tries.len()) @if tries.len() == 1 { " try" } @else { " tries" } }
                }
                dl {
                    dt { "To" } dd { @match &row.url { Some(url) => (long(url)), None => "no address is set" } }
                    dt { "Made" } dd { (date(row.created_ms)) }
                    dt { "Next try" } dd { @match row.next_ms { Some(at) => (date(at)), None => "none" } }
                }
                pre { (row.body) }
                ol { @for one in tries {
                    li { (date(one.at_ms)) ", " @if one.by_hand { "by hand, " } @match one.status { Some(status) => { "HTTP " (status) ": " }, None => "no answer: " } (long(&one.answer)) }
                } }
                @if row.url.is_some() {
                    (act("send-again", "callbacks", &html! { (hidden("id", row.id)) button class="quiet" id=(format!("send-again-{}", row.id)) { "Send again" } }))
                }
            }
        }
    })
}
