//! The commands that read the ledger: the journal itself or, while a Signer holds it, that Signer.

use super::certificate::{self, CertificateCommand};
use super::charges::{self, ChargesCommand};
use super::export::{self, ExportCommand};
use super::totals::{self, TotalsCommand};
use clap::Subcommand;
use config::Config;
use node::Dial;
use std::error::Error;
use std::io::Write;

/// The commands that read the ledger.
#[derive(Subcommand, Debug)]
pub enum LedgerCommand {
    /// Write every charge and every refusal, oldest first; of a range what its blocks decided, which is what
    /// `totals` sums up. A running Signer is asked in the name of a caller that sees all.
    Export(ExportCommand),
    /// Say what became of the charges of a subscription, a user or a wallet, newest first.
    Charges(ChargesCommand),
    /// Write the certificate of a charge: the proof for whoever trusts the hash of its block. A running Signer is asked
    /// in the name of a caller that may read.
    Certificate(CertificateCommand),
    /// Write the sums by day, chain and token of what blocks of a range decided; with --prove beside what the
    /// chain's own transfers say, and fail where they differ.
    Totals(TotalsCommand),
}

impl LedgerCommand {
    /// Does what the command says, and writes what it has to say; tells whether all is well.
    pub async fn carry_out(
        &self,
        config: &Config,
        dial: &dyn Dial,
        to: &mut dyn Write,
    ) -> Result<bool, Box<dyn Error>> {
        match self {
            Self::Export(asked) => export::run(config, asked).await?,
            Self::Charges(asked) => charges::run(config, asked, to).await?,
            Self::Certificate(asked) => certificate::run(config, asked, dial).await?,
            Self::Totals(asked) => return totals::run(config, asked, dial, to).await,
        }
        Ok(true)
    }
}
