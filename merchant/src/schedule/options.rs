//! The options of `merchant schedule`.

use super::ScheduleError;
use super::feed::Feed;
use super::plan::Limits;
use super::rules::Rules;
use super::run::{Peers, Setup};
use crate::Client;
use crate::sign::Credentials;
use crate::signer::{Family, SignerClient};
use clap::Args;
use reqwest::Url;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// Bill what is due, and reconcile what came of it.
#[derive(Clone, Debug, Args)]
pub struct ScheduleOptions {
    /// The state file; made if there is none. One scheduler to one file
    #[arg(long, default_value = "schedule.db")]
    pub state: PathBuf,
    /// A platform chain id and its family, such as 139=EVM or 136=TVM; once for each chain. Those of `schedule.chains` if none
    #[arg(long = "chain", value_name = "ID=FAMILY")]
    pub chains: Vec<ChainFamily>,
    /// Run once and end; fails when something could not be done
    #[arg(long)]
    pub once: bool,
    /// Ask the Signer what it would charge; change nothing, here or there
    #[arg(long)]
    pub dry_run: bool,
    /// Show how everything stands, also beside a scheduler that runs, and end
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    pub status: bool,
    /// With --status: how this one subscription stands, such as 139/41
    #[arg(long, value_name = "CHAIN/ID", requires = "status")]
    pub of: Option<ChainAndId>,
    /// Seconds between the end of a run and the next, 1 at least
    #[arg(long, default_value_t = Self::default().interval, value_parser = interval)]
    pub interval: u64,
    /// Seconds over which those that fall due together are spread, each at a place of its own
    #[arg(long, default_value_t = Self::default().spread)]
    pub spread: u32,
    /// Days after which what is settled is dropped from the state; every subscription keeps one row
    #[arg(long, default_value_t = Self::default().keep)]
    pub keep: u32,
    /// Entries in one request: at most what the Signer takes (`http.max_entries`)
    #[arg(long, default_value_t = Self::default().batch_size)]
    pub batch_size: usize,
    /// Bytes in one request: at most what the Signer takes (`http.body_limit`)
    #[arg(long, default_value_t = Self::default().batch_bytes)]
    pub batch_bytes: usize,
    /// Requests to the Signer at once, for each chain
    #[arg(long, default_value_t = Self::default().at_once)]
    pub at_once: usize,
    /// Makes every pause so many times shorter: for tests
    #[arg(long, default_value_t = 1, hide = true)]
    pub pace: u32,
    /// Address at which a sandbox tells its time, which all pauses then follow: <http://127.0.0.1:7102/sandbox>
    #[arg(long, value_name = "URL")]
    pub clock: Option<Url>,
    /// Address of health and metrics, such as 127.0.0.1:9983
    #[arg(long)]
    pub listen: Option<SocketAddr>,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self {
            state: PathBuf::from("schedule.db"),
            chains: vec![],
            once: false,
            dry_run: false,
            status: false,
            of: None,
            interval: 60,
            spread: 0,
            keep: 90,
            batch_size: 200,
            batch_bytes: 900_000,
            at_once: 2,
            pace: 1,
            clock: None,
            listen: None,
        }
    }
}

/// `139/41`: a subscription by the platform's ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainAndId {
    /// The chain.
    pub chain: i64,
    /// The subscription.
    pub id: i64,
}

impl FromStr for ChainAndId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(chain, id)| {
            Some(Self { chain: chain.parse().ok()?, id: id.parse().ok()? })
        });
        numbers.ok_or_else(|| format!("{text:?} is no platform chain id, `/`, and subscribeId"))
    }
}

/// The peers of the scheduler.
#[derive(Clone, Debug)]
pub struct Connections {
    /// The platform.
    pub platform: Client,
    /// The Signer.
    pub signer: SignerClient,
    /// The address of the inbox's private side, and the key that it knows. Without an inbox callbacks
    /// are no part of the books, and nobody is told of anything but by the log.
    pub inbox: Option<(String, Credentials)>,
}

/// `139=EVM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainFamily {
    /// The platform's chain id.
    pub chain: i64,
    /// The kind of chain.
    pub family: Family,
}

/// The text is no chain and family.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} is no platform chain id, `=`, and EVM or TVM: write 139=EVM or 136=TVM, one for each chain"
)]
pub struct ChainFamilyError(String);

/// A chain is there more than once.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("chain {0} is given more than once: name it once, with the family that it has")]
pub struct ChainTwice(pub i64);

impl ChainFamily {
    /// Refuses chains of which one is there twice: nothing tells which of the two is meant.
    pub fn each_once(chains: &[Self]) -> Result<(), ChainTwice> {
        let mut seen = BTreeSet::new();
        match chains.iter().find(|one| !seen.insert(one.chain)) {
            Some(again) => Err(ChainTwice(again.chain)),
            None => Ok(()),
        }
    }
}

fn interval(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
    seconds.ok_or_else(|| "a whole number of seconds, 1 at least".to_owned())
}

impl FromStr for ChainFamily {
    type Err = ChainFamilyError;

    fn from_str(text: &str) -> Result<Self, ChainFamilyError> {
        let wrong = || ChainFamilyError(text.to_owned());
        let (chain, family) = text.split_once('=').ok_or_else(wrong)?;
        let family = match family {
            "EVM" | "evm" => Family::Evm,
            "TVM" | "tvm" => Family::Tvm,
            _ => return Err(wrong()),
        };
        Ok(Self { chain: chain.parse().map_err(|_| wrong())?, family })
    }
}

impl ScheduleOptions {
    /// The pause between two runs.
    pub(super) fn pause(&self) -> Duration {
        Duration::from_secs(self.interval)
    }

    /// Refuses options that contradict themselves, also where no command line has read them.
    pub(super) fn check(&self) -> Result<(), ScheduleError> {
        ChainFamily::each_once(&self.chains)?;
        if self.interval == 0 { Err(ScheduleError::NoInterval) } else { Ok(()) }
    }

    /// Returns the setup of the scheduler.
    pub(super) fn setup(&self) -> Setup {
        Setup {
            families: self.chains.iter().map(|one| (one.chain, one.family)).collect(),
            limits: Limits { entries: self.batch_size, bytes: self.batch_bytes },
            at_once: self.at_once.max(1),
            rules: Rules::default()
                .with_spread(i64::from(self.spread).saturating_mul(1000))
                .with_keep(i64::from(self.keep).saturating_mul(86_400_000))
                .at_pace(self.pace),
        }
    }
}

impl Connections {
    pub(super) fn peers(self) -> Result<Peers, ScheduleError> {
        let Self { platform, signer, inbox } = self;
        let feed = inbox.map(|(url, credentials)| Feed::new(&url, credentials)).transpose()?;
        Ok(Peers { platform, signer, feed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_a_family() {
        let read = |text: &str| text.parse::<ChainFamily>();
        assert_eq!(read("139=EVM"), Ok(ChainFamily { chain: 139, family: Family::Evm }));
        assert_eq!(read("136=tvm"), Ok(ChainFamily { chain: 136, family: Family::Tvm }));
        for wrong in ["139", "=EVM", "139=BTC", "x=EVM"] {
            let said = read(wrong).unwrap_err().to_string();
            assert!(said.contains("139=EVM or 136=TVM"), "{wrong}: {said}");
        }
        assert_eq!("139/41".parse(), Ok(ChainAndId { chain: 139, id: 41 }));
        assert!("139".parse::<ChainAndId>().is_err());
    }

    #[test]
    fn a_chain_is_named_once_and_a_pause_is_one() {
        let with = |interval, chains: &[&str]| {
            let chains = chains.iter().map(|one| one.parse().unwrap()).collect();
            let options = ScheduleOptions { chains, interval, ..ScheduleOptions::default() };
            options.check().map_err(|error| error.to_string())
        };
        assert_eq!(with(1, &["139=EVM", "136=TVM"]), Ok(()));
        let said = with(1, &["139=EVM", "136=TVM", "139=TVM"]).unwrap_err();
        assert!(said.starts_with("chain 139 is given more than once"), "{said}");
        assert!(with(1, &["139=EVM", "139=EVM"]).is_err());
        assert!(with(0, &["139=EVM"]).is_err());
        assert_eq!((interval("60"), interval("1")), (Ok(60), Ok(1)));
        for wrong in ["0", "-1", "1.5", ""] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
