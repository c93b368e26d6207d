//! `sandbox deploy`: what a Signer bills, on a local node: a token, the reference contract, a plan that two admins
//! approved, and subscribers. On a fresh chain everything gets the addresses that `merchant-signer init --network local`
//! writes down.

mod remote;

use crate::demo::Error;
use crate::demo::side::{Family, entry};
use alloy::primitives::Address;
use clap::Args;
use remote::Remote;
use sandbox_chains::town::{Founding, Town, wallet};
use serde_json::Value;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// The options of a deployment.
#[derive(Args, Debug)]
pub(crate) struct Deploy {
    /// Address of the billing account, as `merchant-signer keys new` prints it. It gets coins for gas.
    #[arg(long)]
    biller: Address,
    /// A local Ethereum node with accounts of its own, such as anvil.
    #[arg(long, default_value = "http://127.0.0.1:8545")]
    rpc: String,
    /// The platform's ID of the chain, as in [chains.139] of the Signer's configuration.
    #[arg(long, default_value_t = 139)]
    chain: u32,
    /// Number of subscribers.
    #[arg(long, default_value_t = 12)]
    people: u64,
    /// File to write the due subscriptions to, as a body for the Signer.
    #[arg(long, default_value = "due.json")]
    due: PathBuf,
}

/// Ten units of a token with six decimals.
const PRICE: u128 = 10_000_000;
const DECIMALS: u8 = 6;

impl Deploy {
    /// Deploys, and prints what the Signer has to be told.
    pub(crate) async fn carry_out(&self) -> Result<bool, Error> {
        let node = Remote::at(&self.rpc).await?;
        let made_before = node.transactions(wallet(DEPLOYER).address()).await?;
        let wanted = Founding {
            biller: self.biller,
            decimals: DECIMALS,
            price: PRICE,
            people: self.people,
            trial: 0,
        };
        let founded = tokio::task::spawn_blocking(move || Town::found(&node, wanted)).await;
        let town = founded.map_err(|_| "nothing more was deployed")?;
        let due: Vec<Value> = town
            .people
            .iter()
            .map(|person| entry(Family::Evm, self.chain, &town, person, person.user_hash))
            .collect();
        std::fs::write(&self.due, format!("{:#}\n", Value::from(due)))?;
        let rows = [
            ("contract", town.billing),
            ("multicall", town.multicall),
            ("token", town.token),
            ("merKey", town.mer_key),
            ("biller", self.biller),
        ];
        let mut out = io::stdout();
        for (what, address) in rows {
            writeln!(out, "{what:<10} {}", address.to_checksum(None))?;
        }
        let due = self.due.display();
        writeln!(out, "{} subscriptions of 10 USDT a month are due: {due}", self.people)?;
        if let Some(warning) = not_fresh(made_before) {
            writeln!(out, "{warning}")?;
        }
        Ok(true)
    }
}

/// The account that deploys, as [`Town::found`] calls it.
const DEPLOYER: &str = "owner";

/// The warning on a node where the deployer has made transactions before: addresses follow from their number.
fn not_fresh(made_before: u64) -> Option<&'static str> {
    (made_before > 0).then_some(
        "warning: something was deployed on this node before, so these addresses are not those that `merchant-signer \
         init --network local` wrote: copy them into signer.toml, or start the node anew and deploy again",
    )
}

#[cfg(test)]
mod tests {
    use super::not_fresh;

    #[test]
    fn other_addresses_than_those_of_init_are_told() {
        assert_eq!(not_fresh(0), None);
        let told = not_fresh(3).unwrap_or_default();
        assert!(told.contains("copy them into signer.toml"), "{told}");
    }
}
