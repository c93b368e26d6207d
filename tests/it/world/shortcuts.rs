//! What many scenarios do in the same words.

use super::anvil::{Family, Mining};
use super::signer::{Installation, Signer};
use super::town::{Founding, Town};
use serde_json::Value;

impl Town {
    /// The usual town, where blocks are made when somebody asks for one.
    pub(crate) async fn on_request(family: Family) -> Self {
        Self::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await
    }
}

impl Signer {
    /// What the report says of the billing that holds this transaction.
    pub(crate) async fn billing(&self, hash: &str) -> Value {
        self.scheduler.billings(hash).await.body["data"][0].clone()
    }
}

impl Installation {
    /// Writes `to` in place of `from` into the configuration.
    pub(crate) fn edit(&self, from: &str, to: &str) {
        let path = self.path().join("signer.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from} is not in\n{text}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }
}
