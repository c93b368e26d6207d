//! A node whose short answers would become long in memory. It costs the questions that it was asked, and
//! no process.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act};
use crate::world::town::Town;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Four million elements of a list, in twelve megabytes. One of them is a hundred bytes and more where it
/// becomes a structure, and thirty-two where it is kept as it is.
static ELEMENTS: LazyLock<String> = LazyLock::new(|| "{},".repeat(4 << 20));

/// The data segment and the heap of the process, KiB.
const MEMORY: u64 = 256 << 10;

on_both_families! {
    answers_that_unfold_in_memory_are_not_read,
}

fn bomb(question: &Value) -> String {
    let list = format!("[{}{{}}]", *ELEMENTS);
    match question["id"].as_u64() {
        Some(id) if question["method"].is_string() => {
            let error = format!("{{\"code\":1,\"message\":\"\",\"data\":{list}}}");
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}")
        }
        _ => format!("{{\"active_permission\":{list},\"ret\":[{{}}]}}"),
    }
}

async fn answers_that_unfold_in_memory_are_not_read(family: Family) {
    let mut town = Town::on(family).await;
    town.installation = town.installation.memory(MEMORY);
    let signer = town.signer().await;
    signer.ready().await;
    let entries = json!(town.entries([0]));
    town.proxy.fault(ANYTHING, Act::Say(bomb));
    town.proxy.struck_times(5).await;
    let heard = signer.scheduler.bill(&entries).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    town.proxy.heal();
    eventually("it bills again", async || signer.scheduler.bill(&entries).await.code() == 1).await;
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}
