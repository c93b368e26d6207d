//! The commands, one file each. A new one is a file in `command/`, a variant here and a line in
//! [`run`].

mod callback;
mod chain;
mod chargeable;
mod currency;
mod events;
mod inbox;
mod link;
mod recharge;
mod schedule;
mod signer;
mod subscription;
mod user;
mod withdraw;

use crate::output::{Failure, Output};
use crate::settings::Settings;
use clap::Subcommand;

/// The input of every command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The settings of the program.
    pub(crate) settings: Settings,
    /// The output for the answer.
    pub(crate) output: Output,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Links for users: to subscribe, and to unsubscribe.
    #[command(subcommand)]
    Link(link::Link),
    /// Users with recharge addresses.
    #[command(subcommand)]
    User(user::User),
    /// The subscriptions that are due.
    #[command(subcommand)]
    Chargeable(chargeable::Chargeable),
    /// All subscriptions.
    #[command(subcommand)]
    Subscription(subscription::Subscription),
    /// The platform's chains, and the ids it has for them.
    #[command(subcommand)]
    Chain(chain::Chain),
    /// The currencies of a chain.
    #[command(subcommand)]
    Currency(currency::Currency),
    /// Deposits.
    #[command(subcommand)]
    Recharge(recharge::Recharge),
    /// Payments to others.
    #[command(subcommand)]
    Withdraw(withdraw::Withdraw),
    /// Callbacks of the platform.
    #[command(subcommand)]
    Callback(callback::Callback),
    /// The Signer: what became of a billing, and its pause switch.
    #[command(subcommand)]
    Signer(signer::Signer),
    /// Receive callbacks, keep them, and hand them on.
    Inbox(merchant::inbox::InboxOptions),
    /// The events that the inbox has kept.
    #[command(subcommand)]
    Events(events::Events),
    /// Bill what is due, and reconcile what came of it.
    Schedule(merchant::schedule::ScheduleOptions),
}

/// Carries a command out.
pub(crate) async fn run(command: Command, context: &Context) -> Result<(), Failure> {
    match command {
        Command::Link(command) => link::run(command, context).await,
        Command::User(command) => user::run(command, context).await,
        Command::Chargeable(command) => chargeable::run(command, context).await,
        Command::Subscription(command) => subscription::run(command, context).await,
        Command::Chain(command) => chain::run(command, context).await,
        Command::Currency(command) => currency::run(command, context).await,
        Command::Recharge(command) => recharge::run(command, context).await,
        Command::Withdraw(command) => withdraw::run(command, context).await,
        Command::Callback(command) => callback::run(&command, context),
        Command::Signer(command) => signer::run(command, context).await,
        Command::Inbox(options) => inbox::run(options, context).await,
        Command::Events(command) => events::run(&command, context),
        Command::Schedule(options) => schedule::run(options, context).await,
    }
}
