//! `merchant chargeable list`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use futures_util::TryStreamExt as _;

#[derive(Subcommand, Debug)]
pub(crate) enum Chargeable {
    /// List every subscription that is due, from all pages. With --json these are the entries that
    /// the Signer takes.
    List,
}

pub(crate) async fn run(command: Chargeable, context: &Context) -> Result<(), Failure> {
    let Chargeable::List = command;
    let client = context.settings.client()?;
    let entries: Vec<_> = client.chargeable().try_collect().await?;
    let head = ["subscription", "chain", "plan", "amount (base units)", "user hash"];
    context.output.list(&head, &entries, |entry| {
        vec![
            entry.subscribe_id.to_string(),
            or_dash(entry.chain_id.as_ref()),
            or_dash(entry.plan_id.as_ref()),
            or_dash(entry.amount.as_ref()),
            or_dash(entry.user_hash.as_ref()),
        ]
    })
}
