//! `merchant recharge show`.

use super::Context;
use super::currency::money;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use merchant::types::RechargeId;

#[derive(Subcommand, Debug)]
pub(crate) enum Recharge {
    /// Show a deposit.
    Show {
        /// The platform's id of it.
        id: RechargeId,
    },
}

pub(crate) async fn run(command: Recharge, context: &Context) -> Result<(), Failure> {
    let Recharge::Show { id } = command;
    let client = context.settings.client()?;
    let found = client.recharge(id).await?;
    let found = found.ok_or_else(|| Failure::words(format!("there is no recharge {id}")))?;
    let amount = money(&client, found.chain_id, found.currency_id, found.recharge_amount).await;
    let rows = [
        ("recharge", found.recharge_id.to_string()),
        ("status", found.recharge_status.to_string()),
        ("amount", amount),
        ("chain", found.chain_id.to_string()),
        ("user", or_dash(found.uuid.as_ref())),
        ("from", or_dash(found.from_address.as_ref())),
        ("to", or_dash(found.wallet_address.as_ref())),
        ("transaction", or_dash(found.transfer_hash.as_ref())),
        ("block time", or_dash(found.block_time.as_ref())),
    ];
    context.output.record(&found, &rows)
}
