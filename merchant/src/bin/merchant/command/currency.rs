//! `merchant currency list`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use merchant::Client;
use merchant::amount::BaseUnits;
use merchant::types::{ChainId, CurrencyId};

#[derive(Subcommand, Debug)]
pub(crate) enum Currency {
    /// List the currencies of a chain. The same symbol may have other decimals on another chain.
    List {
        /// The platform's id of the chain.
        #[arg(long)]
        chain: ChainId,
    },
}

pub(crate) async fn run(command: Currency, context: &Context) -> Result<(), Failure> {
    let Currency::List { chain } = command;
    let currencies = context.settings.client()?.currencies(chain).await?;
    let head = ["currency", "symbol", "decimals", "contract"];
    context.output.list(&head, &currencies, |currency| {
        vec![
            currency.currency_id.to_string(),
            or_dash(currency.symbol.as_ref()),
            currency.decimals.to_string(),
            or_dash(currency.address.as_ref()),
        ]
    })
}

/// An amount for people: with its unit if the platform tells it, in base units otherwise.
pub(crate) async fn money(
    client: &Client,
    chain: ChainId,
    currency: CurrencyId,
    amount: BaseUnits,
) -> String {
    let known = client.currency(chain, currency).await.ok().flatten();
    let shown = known.and_then(|currency| {
        let decimal = amount.to_decimal(currency.decimals).ok()?.for_people();
        Some(format!("{decimal} {} ({amount} base units)", currency.symbol.as_deref()?))
    });
    shown.unwrap_or_else(|| format!("{amount} base units of currency {currency}"))
}
