//! The Signer as its users meet it: the real binary, a real chain, and what was paid in the end.

/// Runs scenarios on both families: each is an `async fn` that takes the family.
macro_rules! on_both_families {
    ($($name:ident),* $(,)?) => {
        mod on_evm {
            $(#[tokio::test] async fn $name() { super::$name(crate::world::anvil::Family::Evm).await })*
        }

        mod on_tron {
            $(#[tokio::test] async fn $name() { super::$name(crate::world::anvil::Family::Tron).await })*
        }
    };
}

mod accounts;
mod answers;
mod auditing;
mod authorizations;
mod bad_input;
mod bad_setup;
mod beacons;
mod beginning;
mod bombs;
mod bulkheads;
mod callers;
mod certificates;
mod changes;
mod clouds;
mod copies;
mod costs;
mod counts;
mod crash;
mod disputes;
mod door;
mod drills;
mod encrypted;
mod ends;
mod events;
mod fleet;
mod gas_money;
mod happy;
mod hostile_evm;
mod in_words;
mod lanes;
mod lean;
mod metrics;
#[cfg(feature = "postgres")]
mod moving;
mod named;
mod node;
mod one_request;
mod operating;
mod options;
mod other_makes;
mod policy;
mod procedures;
mod profiles;
mod proven_nonces;
mod proven_records;
mod pruned;
mod races;
mod refusals;
mod repeats;
mod replays;
mod resolve;
mod restarts;
mod restores;
mod rivals;
mod rpc_bill;
mod seals;
mod secrets;
mod several;
mod shipped;
mod siege;
mod signals;
mod signed_by;
mod split;
mod stores;
mod strangers;
mod supervised;
mod takeovers;
mod telling;
mod thief;
mod three_nodes;
mod time;
mod tokens;
mod totals;
mod traces;
mod tron;
mod verdicts;
mod waiting_claims;
mod witnesses;
