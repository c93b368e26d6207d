//! `merchant user create`, `merchant user show`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub(crate) enum User {
    /// Make a user who can recharge.
    Create {
        /// Your own id of the user.
        uuid: String,
    },
    /// Show a user and the recharge addresses that are that user's alone.
    Show {
        /// Your own id of the user.
        uuid: String,
    },
}

pub(crate) async fn run(command: User, context: &Context) -> Result<(), Failure> {
    let client = context.settings.client()?;
    match command {
        User::Create { uuid } => {
            let id = client.create_user(&uuid).await?;
            context.output.record(&id, &[("user", id.to_string())])
        }
        User::Show { uuid } => {
            let user = client.user(&uuid).await?;
            let user = user.ok_or_else(|| Failure::words(format!("there is no user {uuid}")))?;
            let mut rows = vec![
                ("user", user.user_id.to_string()),
                ("uuid", user.uuid.clone()),
                ("created", or_dash(user.create_time.as_ref())),
            ];
            for wallet in &user.user_wallet {
                let (chain, address) = (wallet.chain_id, &wallet.wallet_address);
                rows.push(("pays to", format!("chain {chain}: {address}")));
            }
            context.output.record(&user, &rows)
        }
    }
}
