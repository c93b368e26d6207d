//! Machines that share a journal and are set up differently.

use super::away::eventually;
use super::standing_by::{machine, served, serves, waits};
use super::*;
use std::collections::BTreeMap;
use tokio::time::timeout;

/// A machine that bills the chain like this.
fn set_up(server: &Config, room: &TempDir, name: &str, binding: &Binding) -> ServerConfig {
    let contract = ("chains.139.contract".to_owned(), binding.contract.to_string());
    let setup = Setup { bindings: vec![binding.clone()], facts: BTreeMap::from([contract]) };
    ServerConfig { setup, ..machine(server, room, name) }
}

#[tokio::test]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_machine_with_another_contract_says_so_and_takes_over_by_a_persons_word_alone() {
    let server = given().unwrap();
    let Book { journal, room } = served(&server).await;
    journal.close().await;
    let first = serves(&set_up(&server, &room, "first", &binding()));
    let other = Binding { contract: SIGNER, ..binding() };
    let mut second = waits(&set_up(&server, &room, "second", &other));
    eventually("it says so", async || {
        let said = second.sight.sentence();
        said.contains("will not take over") && said.contains("networks accept 139")
    })
    .await;
    eventually("the one that serves sees it", async || {
        let differs =
            |one: &Instance| one.differs == ["chains.139.contract"] && one.unfit.is_some();
        first.instances().all().iter().any(differs)
    })
    .await;
    first.close().await;
    let turn = timeout(Duration::from_secs(4), second.turn()).await;
    assert!(turn.is_err(), "it has taken over: {turn:?}");
    let first = serves(&set_up(&server, &room, "first", &binding()));
    let Binding { chain, contract, naming, .. } = other;
    let (guard, why) = (Duration::ZERO, "it is meant".to_owned());
    first.accept_config(Accepting { chain, contract, naming, guard, why }).await.unwrap();
    first.close().await;
    let turn = timeout(Duration::from_secs(20), second.turn()).await;
    turn.expect("it takes over").unwrap().close().await;
}
