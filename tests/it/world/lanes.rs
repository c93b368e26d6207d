//! Where accounts are in the journal, and where on the chain.

use super::signer::{Installation, Signer};
use super::town::{Town, signer_address};
use alloy::primitives::{Address, U256};
use serde_json::json;

impl Town {
    /// How many transactions of the account that bills are in blocks.
    pub(crate) async fn transactions(&self) -> u64 {
        self.transactions_of(signer_address()).await
    }

    async fn transactions_of(&self, account: Address) -> u64 {
        let asked = json!([account, "latest"]);
        self.anvil.call::<U256>("eth_getTransactionCount", asked).await.to()
    }

    /// Stops the Signer: each account's next place in the journal is the chain's, and the history holds.
    pub(crate) async fn nothing_is_stuck(&self, signer: Signer) {
        signer.terminate().await;
        for (account, next) in lanes(&self.installation) {
            assert_eq!(next, self.transactions_of(account).await, "the next place of {account}");
        }
        let audit = self.installation.run(&["audit"]).await;
        assert!(audit.status.success(), "{}", String::from_utf8_lossy(&audit.stdout));
    }
}

/// Every account of the journal, and its next place there.
fn lanes(installation: &Installation) -> Vec<(Address, u64)> {
    let lanes: Vec<String> = if let Some(database) = &installation.database {
        database.run("SELECT encode(signer, 'hex') || ' ' || next_position FROM lane")
    } else {
        let file = rusqlite::Connection::open(installation.journal()).unwrap();
        let sql = "SELECT hex(signer) || ' ' || next_position FROM lane";
        let mut lanes = file.prepare(sql).unwrap();
        lanes.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let lanes = lanes.iter().map(|lane| lane.split_once(' ').unwrap());
    lanes.map(|(account, next)| (account.parse().unwrap(), next.parse().unwrap())).collect()
}
