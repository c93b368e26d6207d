//! The certificate of a charge, made of the journal's row and of the block that its chain's nodes show.

use alloy::primitives::B256;
use billing::BatchState;
use certificate::evm::Named;
use certificate::form::{Certificate, Statement};
use certificate::invalid::Invalid;
use chain::{BlockOnRecord, NotShown, SolidBlock};
use contract::{ChargeEvent, Profile};
use journal::{Billing, Journal, JournalError, Line};
use std::collections::BTreeMap;

/// Why a charge has no certificate.
#[derive(Debug, thiserror::Error)]
pub enum NoCertificate {
    /// There is no such charge here.
    #[error("there is no such charge in this journal")]
    Unknown,
    /// No final block shows it.
    #[error("the charge is {0}: a certificate shows one that a final block has made")]
    NotCharged(&'static str),
    /// Its chain is not configured any more.
    #[error("its chain is not configured: nobody can be asked for its block")]
    NoChain,
    /// The journal does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its nodes do not show its block.
    #[error(transparent)]
    NotShown(#[from] NotShown),
    /// The block does not bear the journal out.
    #[error("its block does not bear out what the journal says: {0}")]
    Contradicted(#[from] Invalid),
}

/// A charge that a transaction has made.
#[derive(Clone, Copy, Debug)]
pub struct ChargeMade<'b> {
    billing: &'b Billing,
    item: usize,
    line: &'b Line,
    /// The transaction.
    pub transaction: B256,
}

impl<'b> ChargeMade<'b> {
    /// One of a billing's charges, if it is made.
    pub fn of(billing: &'b Billing, item: usize) -> Result<Self, NoCertificate> {
        let line = billing.items.get(item).ok_or(NoCertificate::Unknown)?;
        let state = line.state(billing.state);
        let winner = billing.winner.filter(|_| state == BatchState::Charged.word());
        let transaction = winner.ok_or(NoCertificate::NotCharged(state))?;
        Ok(Self { billing, item, line, transaction })
    }

    /// Returns the certificate that its block makes. `profile` is that of the chain's contract, and names the event of
    /// a charge.
    pub async fn certified_by(
        self,
        block: BlockOnRecord,
        journal: &Journal,
        profile: &Profile,
    ) -> Result<Certificate, NoCertificate> {
        let Self { billing, item, line, transaction } = self;
        let open = || NoCertificate::NotCharged(line.state(billing.state));
        let settled_ms = billing.settled_ms.ok_or_else(open)?;
        let history = journal.end_in_history(billing.batch, settled_ms).await?.ok_or_else(open)?;
        let network = billing.network.id;
        let statement = Statement { network, claim: claim(billing, line), history };
        Ok(match block {
            BlockOnRecord::Evm(block) => {
                let record = block.record(transaction).ok_or(Invalid::Transaction)?;
                let items: Vec<_> = billing.items.iter().map(|line| line.item).collect();
                let (contract, logs) = (billing.origin.contract, record.receipt.logs());
                let event = profile.charge_event(contract, logs, &items, item);
                let named =
                    event.and_then(|ChargeEvent { log, declaration }| Named::of(log, declaration));
                Certificate::of_evm(&block, transaction, named, statement)?
            }
            BlockOnRecord::Tvm(solid) => {
                let SolidBlock { block, above } = *solid;
                Certificate::of_tvm(&block, &above, transaction, statement)?
            }
        })
    }
}

/// The row of a claim, by the names of entry fields: what was taken, where that is known.
fn claim(billing: &Billing, line: &Line) -> BTreeMap<String, String> {
    let (item, terms, taken) = (&line.item, line.terms(), line.taken_otherwise());
    let row = [
        ("billing", Some(billing.batch.0.to_string())),
        ("contract", Some(format!("{:#x}", billing.origin.contract))),
        ("subscribeId", Some(item.subscribe.0.to_string())),
        ("planId", Some(item.key.plan.0.to_string())),
        ("userHash", Some(format!("{:#x}", item.key.user.0))),
        ("period", item.key.period.number().map(|number| number.to_string())),
        ("amount", Some(taken.amount.unwrap_or(item.amount).to_string())),
        ("userWallet", taken.wallet.or(terms.wallet).map(|wallet| format!("{wallet:#x}"))),
        ("tokenAddress", taken.token.or(terms.token).map(|token| format!("{token:#x}"))),
    ];
    row.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
