//! `merchant subscription list`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use futures_util::TryStreamExt as _;

#[derive(Subcommand, Debug)]
pub(crate) enum Subscription {
    /// List all subscriptions, from all pages. With --json, every field that the platform has.
    List,
}

pub(crate) async fn run(command: Subscription, context: &Context) -> Result<(), Failure> {
    let Subscription::List = command;
    let client = context.settings.client()?;
    let entries: Vec<_> = client.subscriptions().try_collect().await?;
    let head = ["subscription", "order", "user", "plan", "chain"];
    context.output.list(&head, &entries, |entry| {
        vec![
            or_dash(entry.subscription_id.as_ref()),
            or_dash(entry.out_trade_no.as_ref()),
            or_dash(entry.external_user_id.as_ref()),
            or_dash(entry.plan_id.as_ref()),
            or_dash(entry.chain_id.as_ref()),
        ]
    })
}
