//! The sandbox's controls as commands: each asks a running sandbox over HTTP.

use crate::demo::{ADMIN_PORT, Error, called};
use alloy::primitives::utils::parse_units;
use clap::{Args, Subcommand, ValueEnum};
use reqwest::Client;
use serde_json::{Value, json};
use std::io::{self, Write as _};

/// The most decimals of a token here.
const DECIMALS: u8 = 18;

/// The location of the running sandbox.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Where {
    /// Port of the sandbox's console.
    #[arg(long, global = true, default_value_t = ADMIN_PORT)]
    admin_port: u16,
}

/// A command to a running sandbox.
#[derive(Subcommand, Debug)]
pub(crate) enum Control {
    /// Show the state of the sandbox: clock, chains, contracts, wallets, keys.
    Status,
    /// Move time on by months of thirty days.
    Month {
        /// The number of them.
        #[arg(default_value_t = 1)]
        count: u64,
    },
    /// Move time on by days.
    Day {
        /// The number of them.
        #[arg(default_value_t = 1)]
        count: u64,
    },
    /// Move time on by seconds.
    Advance {
        /// The number of them.
        seconds: u64,
    },
    /// Make blocks on both chains at once.
    Blocks {
        /// The number of them.
        #[arg(default_value_t = 1)]
        count: u64,
    },
    /// Hold blocks: from now on none comes unless somebody makes it.
    Hold {
        /// Let them come by themselves again.
        #[arg(long)]
        off: bool,
    },
    /// Let something go wrong on a chain.
    Fault(Fault),
    /// Send tokens from a wallet of the sandbox.
    Transfer {
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// A tester's name, or an address of the sandbox.
        #[arg(long)]
        from: String,
        /// A tester's name, or any address.
        #[arg(long)]
        to: String,
        /// The amount, as a decimal.
        #[arg(long)]
        amount: String,
    },
    /// Give a wallet of one's own coins for its fees, and tokens.
    Fund {
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// Its address.
        wallet: String,
        /// Number of tokens that the wallet then has at least, as a decimal; 1000 if not said.
        #[arg(long)]
        amount: Option<String>,
    },
    /// Let an account of your own bill for the merchant, and give it coins for its fees.
    Biller {
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// Its address, as `merchant-signer keys new` prints it.
        account: String,
    },
    /// Move a user's deposits to the merchant's wallet.
    Sweep {
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// The user, as the merchant calls them.
        #[arg(long)]
        uuid: String,
    },
    /// Let a test wallet take the steps of a link: confirm, sign, authorise; or cancel.
    Follow {
        /// The link.
        link: String,
        /// A tester: ada, ben, cleo, dan, eve, finn.
        #[arg(long, default_value = "ada")]
        wallet: String,
        /// The amount to authorise in all, as a decimal; twelve periods if not said.
        #[arg(long)]
        allowance: Option<String>,
        /// Stop after signing.
        #[arg(long)]
        sign_only: bool,
    },
    /// Propose a plan as one admin.
    Propose {
        /// The plan's id.
        plan: u64,
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// The price of a period, as a decimal.
        #[arg(long)]
        amount: String,
        /// The length of a period (s).
        #[arg(long, default_value_t = 30 * 86_400)]
        interval: u64,
        /// The number of periods; 0 is without end.
        #[arg(long, default_value_t = 0)]
        periods: u64,
        /// The admin: alice or bob.
        #[arg(long, default_value = "alice")]
        admin: String,
    },
    /// Approve a plan as another.
    Approve {
        /// The plan's id.
        plan: u64,
        /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
        #[arg(long)]
        chain: u32,
        /// Which version.
        #[arg(long, default_value_t = 1)]
        version: u64,
        /// The admin: alice or bob.
        #[arg(long, default_value = "bob")]
        admin: String,
    },
    /// Approve or reject a withdrawal.
    Withdrawal {
        /// Which.
        decision: Decision,
        /// Its id.
        id: u64,
        /// The admin: alice or bob.
        #[arg(long, default_value = "bob")]
        admin: String,
    },
    /// Set the recharge callback URL of the organisation.
    Organisation {
        /// The address.
        url: String,
    },
    /// The newest callbacks with every try.
    Callbacks,
    /// Send a callback once more.
    SendAgain {
        /// Its id.
        id: i64,
    },
}

/// The decision of an admin on a withdrawal.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Decision {
    /// It is paid.
    Approve,
    /// It is not.
    Reject,
}

/// A fault to cause.
#[derive(Args, Debug)]
pub(crate) struct Fault {
    /// On a chain: reorg, node-down, fees, drain, revoke, block, late. On the way: api, signer, callbacks.
    kind: String,
    /// The platform's id of the chain: 139 (EVM) or 136 (TRON).
    #[arg(long)]
    chain: Option<u32>,
    /// Of api and signer: down, slow, lost or garbled. Of callbacks: down, lost or twice. Each needs it, but for --off.
    #[arg(long)]
    how: Option<String>,
    /// The number of times that the fault happens; until --off if not said.
    #[arg(long)]
    times: Option<u64>,
    /// The wallet of drain, revoke and block: a tester's name or an address of the sandbox.
    #[arg(long)]
    wallet: Option<String>,
    /// The number of blocks that a reorganisation takes away.
    #[arg(long)]
    depth: Option<u64>,
    /// Lose the transactions in those blocks.
    #[arg(long)]
    lose: bool,
    /// The amount that drain leaves, as a decimal.
    #[arg(long)]
    amount: Option<String>,
    /// The base fee (wei) or the price of energy (sun).
    #[arg(long)]
    price: Option<u64>,
    /// Make it well again: node-down, fees, block, late, api, signer, callbacks.
    #[arg(long)]
    off: bool,
}

impl Fault {
    /// Refuses a fault on the way that is not said.
    fn check(&self) -> Result<(), &'static str> {
        let said = self.off || self.how.is_some();
        match self.kind.as_str() {
            "api" | "signer" if !said => Err("say --how down, slow, lost or garbled; or --off"),
            "callbacks" if !said => Err("say --how down, lost or twice; or --off"),
            _ => Ok(()),
        }
    }

    fn body(&self) -> Value {
        json!({
            "kind": self.kind, "chainId": self.chain, "wallet": self.wallet, "depth": self.depth, "keep": !self.lose,
            "amount": self.amount, "price": self.price, "on": !self.off, "how": self.how, "times": self.times,
        })
    }
}

impl Control {
    /// The name of the control and what it is given.
    fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Status => ("", Value::Null),
            Self::Month { count } => ("advance", json!({"months": count})),
            Self::Day { count } => ("advance", json!({"days": count})),
            Self::Advance { seconds } => ("advance", json!({"seconds": seconds})),
            Self::Blocks { count } => ("blocks", json!({"count": count})),
            Self::Hold { off } => ("hold", json!({"on": !off})),
            Self::Fault(fault) => ("fault", fault.body()),
            Self::Transfer { chain, from, to, amount } => {
                ("transfer", json!({"chainId": chain, "from": from, "to": to, "amount": amount}))
            }
            Self::Fund { chain, wallet, amount } => {
                ("fund", json!({"chainId": chain, "wallet": wallet, "amount": amount}))
            }
            Self::Biller { chain, account } => {
                ("biller", json!({"chainId": chain, "account": account}))
            }
            Self::Sweep { chain, uuid } => ("sweep", json!({"chainId": chain, "uuid": uuid})),
            Self::Follow { link, wallet, allowance, sign_only } => (
                "follow-link",
                json!({"paymentUrl": link, "wallet": wallet, "allowance": allowance, "authorise": !sign_only}),
            ),
            Self::Propose { plan, chain, amount, interval, periods, admin } => (
                "propose-plan",
                json!({"planId": plan, "chainId": chain, "amount": amount, "intervalSeconds": interval, "periods": periods, "admin": admin}),
            ),
            Self::Approve { plan, chain, version, admin } => (
                "approve-plan",
                json!({"planId": plan, "chainId": chain, "version": version, "admin": admin}),
            ),
            Self::Withdrawal { decision, id, admin } => (
                "decide-withdrawal",
                json!({"withdrawId": id, "approve": matches!(decision, Decision::Approve), "admin": admin}),
            ),
            Self::Organisation { url } => ("organisation", json!({"rechargeCallbackUrl": url})),
            Self::Callbacks => ("callbacks", json!({})),
            Self::SendAgain { id } => ("send-again", json!({"id": id})),
        }
    }
}

/// Asks the running sandbox, and prints what it says. False if it refuses.
pub(crate) async fn ask(control: &Control, at: Where) -> Result<bool, Error> {
    if let Control::Fault(fault) = control {
        fault.check()?;
    }
    if let Control::Transfer { chain, from, amount, .. } = control {
        check_balance(at, *chain, from, amount).await?;
    }
    let (name, body) = control.call();
    let (good, answer) = post(at, name, &body).await?;
    match writeln!(io::stdout(), "{answer:#}") {
        // The reader has read enough: `sandbox status | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written?,
    }
    Ok(good)
}

/// Refuses to send more than a wallet holds: the transaction would revert, and its hash looks like a success.
async fn check_balance(at: Where, chain: u32, from: &str, amount: &str) -> Result<(), Error> {
    let (good, told) = post(at, "balance", &json!({"chainId": chain, "of": from})).await?;
    let held = told["amount"].as_str().unwrap_or_default();
    let base_units = |decimal: &str| parse_units(decimal, DECIMALS);
    // Anything that is wrong with the request is for the transfer itself to tell.
    let (true, Ok(holds), Ok(asked)) = (good, base_units(held), base_units(amount)) else {
        return Ok(());
    };
    if asked.get_absolute() > holds.get_absolute() {
        return Err(format!(
            "{from} holds {held} on chain {chain}, less than {amount}: the transfer would revert, and was not sent. \
             `{} fund` gives a wallet more",
            called()
        )
        .into());
    }
    Ok(())
}

/// Asks the running sandbox: true if it has done so, and what it says.
async fn post(at: Where, name: &str, body: &Value) -> Result<(bool, Value), Error> {
    let client = Client::builder().no_proxy().build()?;
    let url = format!("http://127.0.0.1:{}/sandbox", at.admin_port);
    let request = match name {
        "" => client.get(&url),
        _ => client
            .post(format!("{url}/{name}"))
            .header("content-type", "application/json")
            .body(body.to_string()),
    };
    let response = request.send().await.map_err(|error| {
        format!(
            "there is no running sandbox at {url}: start one with `{}` ({error})",
            called().trim_end_matches(" --")
        )
    })?;
    let good = response.status().is_success();
    Ok((good, serde_json::from_slice(&response.bytes().await?)?))
}
