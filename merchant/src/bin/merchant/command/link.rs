//! `merchant link create`, `merchant link cancel`.

use super::Context;
use crate::output::Failure;
use clap::Subcommand;
use merchant::client::{self, CancelRequest, LinkRequest};
use merchant::types::{ChainId, PlanId};

#[derive(Subcommand, Debug)]
pub(crate) enum Link {
    /// Make a link on which one user can subscribe to one plan. Every call makes a new order.
    Create {
        /// The platform's id of the chain (`merchant chain list`).
        #[arg(long)]
        chain: ChainId,
        /// The plan, which must be active.
        #[arg(long)]
        plan: PlanId,
        /// Your own id of the user.
        #[arg(long)]
        user: String,
        #[command(flatten)]
        ways: Ways,
    },
    /// Make a link on which the user can end a subscription.
    Cancel {
        /// The order's id as callbacks name it (`outTradeNo`).
        #[arg(long)]
        trade: String,
        #[command(flatten)]
        ways: Ways,
    },
}

/// The addresses for the user and the callbacks.
#[derive(clap::Args, Debug)]
pub(crate) struct Ways {
    /// Address that the user is sent to afterwards.
    #[arg(long)]
    redirect: String,
    /// Public HTTPS address for callbacks.
    #[arg(long)]
    notify: String,
}

pub(crate) async fn run(command: Link, context: &Context) -> Result<(), Failure> {
    let client = context.settings.client()?;
    let link = match command {
        Link::Create { chain, plan, user, ways } => {
            let request = LinkRequest {
                chain_id: chain,
                plan_id: plan,
                external_user_id: user,
                redirection_url: ways.redirect,
                notify_url: ways.notify,
            };
            client.create_link(&request).await?
        }
        Link::Cancel { trade, ways } => {
            let request = CancelRequest {
                out_trade_no: trade,
                redirection_url: ways.redirect,
                notify_url: ways.notify,
            };
            client.create_cancel_link(&request).await?
        }
    };
    tell(&link, context)
}

fn tell(link: &client::Link, context: &Context) -> Result<(), Failure> {
    let mut rows = vec![("link", link.url.clone()), ("expires", link.expiration.to_string())];
    if let Some(id) = link.subscription_id {
        rows.push(("subscription", id.to_string()));
    }
    context.output.record(link, &rows)
}
