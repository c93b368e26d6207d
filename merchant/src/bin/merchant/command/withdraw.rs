//! `merchant withdraw apply`, `merchant withdraw show`.

use super::Context;
use super::currency::money;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use merchant::Client;
use merchant::amount::Decimal;
use merchant::client::{WithdrawName, WithdrawRequest};
use merchant::types::{ChainId, CurrencyId, WithdrawId};

#[derive(Subcommand, Debug)]
pub(crate) enum Withdraw {
    /// Apply for a payment to somebody else. May be repeated after any failure: a number that is
    /// taken is never paid again. Exit code 3: not known yet whether it was taken, so repeat it.
    Apply(Apply),
    /// Show a withdrawal, by one of its two names.
    Show {
        /// The platform's id of it.
        #[arg(required_unless_present = "trade", conflicts_with = "trade")]
        id: Option<WithdrawId>,
        /// Your own number of it.
        #[arg(long)]
        trade: Option<String>,
    },
}

#[derive(clap::Args, Debug)]
pub(crate) struct Apply {
    /// The platform's id of the chain.
    #[arg(long)]
    chain: ChainId,
    /// The platform's id of the currency (`merchant currency list`).
    #[arg(long)]
    currency: CurrencyId,
    /// Address that is paid.
    #[arg(long)]
    to: String,
    /// The amount, as a decimal: 10.5.
    #[arg(long)]
    amount: Decimal,
    /// Your own number of this payment (`outTradeNo`): unique for ever.
    #[arg(long)]
    trade: String,
    /// Public HTTPS address for the callback.
    #[arg(long)]
    notify: Option<String>,
}

pub(crate) async fn run(command: Withdraw, context: &Context) -> Result<(), Failure> {
    let client = context.settings.client()?;
    match command {
        Withdraw::Apply(apply) => {
            let request = WithdrawRequest {
                chain_id: apply.chain,
                currency_id: apply.currency,
                withdraw_address: apply.to,
                withdraw_amount: apply.amount,
                out_trade_no: apply.trade,
                notify_url: apply.notify,
            };
            let applied = client.withdraw_apply(&request).await?;
            let state =
                if applied.found { "had been applied for before" } else { "applied for now" };
            let rows =
                [("withdrawal", applied.withdraw_id.to_string()), ("state", state.to_owned())];
            context.output.record(&applied, &rows)
        }
        Withdraw::Show { id, trade } => {
            let name = match (&id, &trade) {
                (Some(id), _) => WithdrawName::Id(*id),
                (None, Some(trade)) => WithdrawName::OutTradeNo(trade),
                (None, None) => return Err(Failure::words("give an id, or --trade")),
            };
            show(&client, name, context).await
        }
    }
}

async fn show(client: &Client, name: WithdrawName<'_>, context: &Context) -> Result<(), Failure> {
    let found = client.withdrawal(name).await?;
    let found = found.ok_or_else(|| Failure::words("there is no such withdrawal"))?;
    let amount = money(client, found.chain_id, found.currency_id, found.withdraw_amount).await;
    let rows = [
        ("withdrawal", found.withdraw_id.to_string()),
        ("status", found.withdraw_status.to_string()),
        ("amount", amount),
        ("chain", found.chain_id.to_string()),
        ("to", found.withdraw_address.clone()),
        ("transaction", or_dash(found.transfer_hash.as_ref())),
        ("your number", or_dash(found.out_trade_no.as_ref())),
        ("time", or_dash(found.withdraw_time.as_ref())),
    ];
    context.output.record(&found, &rows)
}
