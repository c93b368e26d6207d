//! `merchant chain list`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub(crate) enum Chain {
    /// List the chains. Their ids are the platform's own, not those of the chains.
    List,
}

pub(crate) async fn run(command: Chain, context: &Context) -> Result<(), Failure> {
    let Chain::List = command;
    let chains = context.settings.client()?.chains().await?;
    context.output.list(&["chain", "name"], &chains, |chain| {
        vec![chain.chain_id.to_string(), or_dash(chain.chain_name.as_ref())]
    })
}
