//! The chains, and the sandbox's own controls: what no real console has.

use super::{Desk, act, chain_choice, field, hidden};
use crate::chain::{TESTERS, tester};
use crate::clock::date;
use crate::pages::{badge, hash};
use crate::platform::SYMBOL;
use maud::{Markup, html};

/// Both chains with their contracts and the test wallets.
pub(super) fn chains(desk: &Desk) -> Markup {
    html! {
        @for side in desk.platform.sides() {
            h2 class="section" { (side.name()) }
            dl class="card" id=(format!("chain-{}", side.id)) {
                dt { "chainId" } dd { (side.id) }
                dt { "The chain's own id" } dd { (side.chain.chain_id()) }
                dt { "Newest block" } dd { (side.chain.head().number) ", " (date(side.chain.head().time_ms)) " UTC" }
                dt { "Final block" } dd { (side.chain.solid().number) }
                dt { "Node" } dd class="state" { @if side.chain.is_down() { (badge("bad", "down")) } @else { (badge("good", "up")) } }
                dt { "Billing contract" } dd { (hash(&side.spell(side.town.billing))) }
                dt { "merKey" } dd { (hash(&side.spell(side.town.mer_key))) }
                dt { "Token" } dd { (SYMBOL) ", " (side.decimals) " decimals, " (hash(&side.spell(side.town.token))) }
            }
            div class="scroll table" { table {
                thead { tr { th { "Test wallet" } th { "Address" } th class="number" { "Holds" } th class="number" { "Allows the contract" } } }
                tbody { @for name in TESTERS {
                    @let address = tester(name).address();
                    tr { td data-label="Test wallet" { (name) } td data-label="Address" { (hash(&side.spell(address))) }
                        td data-label="Holds" class="number" { (side.show(&side.holds(address).to_string())) " " (SYMBOL) }
                        td data-label="Allows the contract" class="number" { (side.show(&side.allowance(address).to_string())) " " (SYMBOL) } }
                } }
            } }
        }
    }
}

/// Everything that can be done to the world.
pub(super) fn controls(desk: &Desk) -> Markup {
    let advance = |id: &str, name: &str, label: &str| {
        html! {
            (act("advance", "controls", &html! { (hidden(name, 1)) button id=(id) { (label) } }))
        }
    };
    html! {
        section class="card controls" {
            h2 { "Time" }
            p { "Platform, chains and callbacks move together, forward only. Callbacks that fall due meanwhile are sent at their time." }
            (advance("day", "days", "A day on")) (advance("month", "months", "A month on"))
            (act("advance", "controls", &html! { (field("seconds", "seconds", "Seconds", "60")) button class="quiet" id="advance" { "Move on" } }))
            (act("blocks", "controls", &html! { (field("count", "count", "Blocks", "3")) button class="quiet" id="blocks" { "Make blocks" } }))
            (act("hold", "controls", &html! { (switch("by hand only", "by themselves")) button class="quiet" id="hold" { "Set how blocks come" } }))
            @if desk.platform.is_held() { p id="held" class="status" { "Blocks are held: none comes unless somebody makes it." } }
        }
        section class="card controls" {
            h2 { "Chains and nodes" }
            (fault(desk, "reorg", "Reorganise", &html! {
                (field("depth", "depth", "Blocks", "1"))
                label for="keep" { "Their transactions" select id="keep" name="keep" { option value="true" { "wait again" } option value="false" { "are lost" } } }
            }))
            (fault(desk, "node-down", "Set the node", &switch("down", "up")))
            (fault(desk, "fees", "Set fees", &html! { (field("price", "price", "Base fee (wei), energy price (sun)", "50000000000")) (switch("this much", "usual")) }))
        }
        section class="card controls" {
            h2 { "Wallets" }
            p { "A wallet is the name of a tester (" (TESTERS.join(", ")) ") or an address of the sandbox." }
            (act("fund", "controls", &html! {
                (chain_choice(desk, "fund-chain")) (field("fund-wallet", "wallet", "A wallet of your own", "")) (field("fund-amount", "amount", "Tokens", "1000"))
                button class="quiet" id="fund" { "Give it coins and tokens" }
            }))
            (fault(desk, "drain", "Leave the wallet so much", &html! { (wallet("drain")) (field("drain-amount", "amount", "Amount", "0")) }))
            (fault(desk, "revoke", "Take back its allowance", &wallet("revoke")))
            (fault(desk, "block", "Set the holder", &html! { (wallet("block")) (switch("blocked", "free")) }))
            (act("transfer", "controls", &html! {
                (chain_choice(desk, "transfer-chain")) (field("transfer-from", "from", "From", "ada")) (field("transfer-to", "to", "To", ""))
                (field("transfer-amount", "amount", "Amount", "5")) button class="quiet" id="transfer" { "Send tokens" }
            }))
        }
    }
}

fn fault(desk: &Desk, kind: &str, label: &str, fields: &Markup) -> Markup {
    act(
        "fault",
        "controls",
        &html! {
            (hidden("kind", kind)) (chain_choice(desk, &format!("{kind}-chain"))) (fields)
            button class="quiet" id=(kind) { (label) }
        },
    )
}

fn wallet(kind: &str) -> Markup {
    field(&format!("{kind}-wallet"), "wallet", "Wallet", "ada")
}

fn switch(on: &str, off: &str) -> Markup {
    html! { label { "State" select name="on" { option value="true" { (on) } option value="false" { (off) } } } }
}
