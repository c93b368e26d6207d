//! `merchant signer status`, `control`, `pause`, `resume`.

use super::Context;
use crate::output::{Failure, or_dash};
use clap::Subcommand;
use merchant::types::ChainId;

#[derive(Subcommand, Debug)]
pub(crate) enum Signer {
    /// The outcome of a billing.
    Status {
        /// Its transaction hash or request id.
        id: String,
    },
    /// Show every chain's pause.
    Control,
    /// Sign nothing new, on one chain or on all.
    Pause {
        /// The platform's id of the chain.
        #[arg(long)]
        chain: Option<ChainId>,
    },
    /// Sign again, on one chain or on all.
    Resume {
        /// The platform's id of the chain.
        #[arg(long)]
        chain: Option<ChainId>,
    },
}

pub(crate) async fn run(command: Signer, context: &Context) -> Result<(), Failure> {
    let signer = context.settings.signer()?;
    let chains = match command {
        Signer::Status { id } => {
            let found = signer.billings(&id).await?;
            let head = ["transaction", "state", "subscription", "outcome", "reason"];
            if found.is_empty() && !context.output.json {
                return Err(Failure::words(format!("the Signer knows no billing {id}")));
            }
            let lines: Vec<_> = found
                .iter()
                .flat_map(|billing| billing.subscriptions.iter().map(move |line| (billing, line)))
                .collect();
            if context.output.json {
                return context.output.list(&head, &found, |_| vec![]);
            }
            return context.output.list(&head, &lines, |(billing, line)| {
                vec![
                    billing.tx_hash.clone(),
                    billing.state.to_string(),
                    line.subscribe_id.to_string(),
                    line.state.to_string(),
                    or_dash(line.fail_reason.as_ref().or(billing.held_up.as_ref())),
                ]
            });
        }
        Signer::Control => signer.control().await?,
        Signer::Pause { chain } => signer.pause(chain, None).await?,
        Signer::Resume { chain } => signer.resume(chain).await?.chains,
    };
    context.output.list(&["chain", "name", "paused"], &chains, |chain| {
        let (name, paused) = (chain.name.as_ref(), chain.paused.as_ref());
        vec![chain.chain_id.to_string(), or_dash(name), or_dash(paused)]
    })
}
