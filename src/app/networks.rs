//! `merchant-signer networks`: gives a network another id of the platform, with all its claims; or has it billed
//! through another contract, or by another name of its periods.

use super::journal_place;
use billing::{PlatformChainId, spell_address};
use config::{Config, JournalPlace};
use contract::Profile;
use journal::{Accepting, NotRenamed, OpenError, Renaming};
use std::error::Error;

/// Why a network keeps its id. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RenameError {
    /// The journal was not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It does not agree.
    #[error(transparent)]
    NotRenamed(#[from] NotRenamed),
}

/// The refusal to rename in a journal on a server.
const KEEPS_ITS_ID: OpenError = OpenError::OnServer(
    "the role of a Signer may not change what was written down: copy the journal to a file with \
     `merchant-signer journal copy`, rename there, and copy it back",
);

/// Renames in the journal that `config` names. The Signer must not be running.
pub async fn rename(journal: &JournalPlace, renaming: Renaming) -> Result<(), RenameError> {
    if journal.file().is_none() {
        return Err(KEEPS_ITS_ID.into());
    }
    let journal = journal_place::open(journal)?;
    let renamed = journal.rename(renaming).await;
    journal.close().await;
    Ok(renamed?)
}

/// Has a chain billed as `config` says. No Signer may be running. Returns a description of the change.
pub async fn accept(
    config: &Config,
    chain: PlatformChainId,
    why: String,
) -> Result<String, Box<dyn Error>> {
    let configured = config.chains.iter().find(|one| one.platform_id == chain);
    let family = &configured.ok_or_else(|| format!("there is no [chains.{chain}]"))?.family;
    let (contract, billing) = (family.contract(), family.billing());
    let profile = Profile::parse(billing, family.family()).map_err(|faults| {
        let told = faults.iter().map(|fault| format!("chains.{chain}.billing.{fault}"));
        told.collect::<Vec<_>>().join("\n")
    })?;
    let (naming, guard) = (profile.period_naming(), billing.guard);
    let said = format!(
        "chain {chain} is billed through {}, and its periods are told apart by {naming}: bill nothing that was \
         billed before under the old contract or the old name",
        spell_address(family.family(), contract)
    );
    let journal = journal_place::open(&config.journal)?;
    let accepted = journal.accept_config(Accepting { chain, contract, naming, guard, why }).await;
    journal.close().await;
    accepted?;
    Ok(said)
}
