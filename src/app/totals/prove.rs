//! Holds lines of the ledger against the records that the chain's nodes have of their transactions.

use super::{SumGroup, amount, day, is_charged, token};
use crate::http::{ChargeRow, TokenNames};
use alloy::primitives::{B256, U256};
use billing::{Family, parse_address, spell_address};
use chain::{Records, TokenOfWallet, TxOnRecord};
use config::Config;
use futures_util::future::join_all;
use node::{Dial, NoAgreement};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// Number of transactions that are asked about at once.
const AT_ONCE: usize = 16;

/// The answer of a chain's nodes about a transaction.
type ToldOfChain = (Family, Result<Option<TxOnRecord>, NoAgreement>);

/// The result of all comparisons.
#[derive(Debug, Default)]
pub(super) struct TransferProof {
    /// Differences between journal and chain, each with its transaction: the chain contradicts the journal, or has
    /// no such record.
    pub(super) differences: Vec<String>,
    /// Transactions that were compared.
    pub(super) compared: u64,
    /// Amount that left wallets by the chain's transfers.
    pub(super) moved: BTreeMap<SumGroup, U256>,
}

/// Asks about one batch after the other, several at once.
#[derive(Debug)]
pub(super) struct Prover {
    chains: BTreeMap<u32, (Family, Records)>,
    names: TokenNames,
    /// The lines of whole batches, and last of the one that is being read.
    batches: Vec<Vec<ChargeRow>>,
    proof: TransferProof,
}

impl Prover {
    /// Asks the nodes that are configured.
    pub(super) async fn of(config: &Config, dial: &dyn Dial) -> Result<Self, Box<dyn Error>> {
        let mut chains = BTreeMap::new();
        for chain in &config.chains {
            let id = chain.platform_id;
            let records = Records::of(&chain.family, dial).await;
            let records = records.map_err(|fault| format!("chains.{id}.{fault}"))?;
            chains.insert(id.0, (chain.family.family(), records));
        }
        let names = TokenNames::of_config(config);
        Ok(Self { chains, names, batches: Vec::new(), proof: TransferProof::default() })
    }

    /// Takes the next line; those of one batch stand together.
    pub(super) async fn take(&mut self, line: ChargeRow) -> Result<(), Box<dyn Error>> {
        let of_last =
            |batch: &Vec<ChargeRow>| batch.last().is_some_and(|last| last.billing == line.billing);
        if !self.batches.last().is_some_and(of_last) {
            if self.batches.len() >= AT_ONCE {
                self.compare().await?;
            }
            self.batches.push(Vec::new());
        }
        if let Some(batch) = self.batches.last_mut() {
            batch.push(line);
        }
        Ok(())
    }

    /// Nothing comes any more.
    pub(super) async fn finish(mut self) -> Result<TransferProof, Box<dyn Error>> {
        self.compare().await?;
        Ok(self.proof)
    }

    async fn compare(&mut self) -> Result<(), Box<dyn Error>> {
        let batches = std::mem::take(&mut self.batches);
        // A stranger's transaction is in no sum, and what expired has none.
        let ours = |batch: &Vec<ChargeRow>| {
            batch.first().is_some_and(|line| line.state != "usurped" && line.state != "expired")
        };
        let batches: Vec<_> = batches.into_iter().filter(ours).collect();
        let chains = &self.chains;
        let asked = batches.iter().map(async |batch| {
            let line = batch.first()?;
            let (family, records) = chains.get(&line.chain_id)?;
            let hash = line.tx_hash.as_deref()?.trim_start_matches("0x").parse::<B256>().ok()?;
            Some((*family, records.on_record(hash).await))
        });
        let told: Vec<Option<ToldOfChain>> = join_all(asked).await;
        for (batch, told) in batches.iter().zip(told) {
            self.judge(batch, told)?;
        }
        Ok(())
    }

    fn judge(
        &mut self,
        batch: &[ChargeRow],
        told: Option<ToldOfChain>,
    ) -> Result<(), Box<dyn Error>> {
        let Some(line) = batch.first() else { return Ok(()) };
        let transaction = line.tx_hash.clone().unwrap_or_default();
        let mut differs = |what: String| {
            let chain = line.chain_id;
            self.proof.differences.push(format!("chain {chain}, {transaction}: {what}"));
        };
        let (family, record) = match told {
            None => {
                differs("its chain is not configured, so that nobody can be asked".to_owned());
                return Ok(());
            }
            Some((_, Err(why))) => {
                differs(format!("not compared: {why}"));
                return Ok(());
            }
            Some((family, Ok(None))) => {
                if let Some(what) = of_none(family, batch) {
                    differs(what);
                }
                return Ok(());
            }
            Some((family, Ok(Some(record)))) => (family, record),
        };
        if line.block != Some(record.block) {
            let here = line.block.unwrap_or_default();
            differs(format!("the journal has it in block {here}, the chain in {}", record.block));
        }
        let contract = line.contract.as_deref().and_then(|at| parse_address(family, at).ok());
        let taken = record.taken(contract.unwrap_or_default());
        for what in differences(family, batch, &taken, &self.names)? {
            differs(what);
        }
        self.proof.compared = self.proof.compared.saturating_add(1);
        for ((of, _), amount) in taken {
            let group = (day(line)?, line.chain_id, spell_address(family, of));
            let sum = self.proof.moved.entry(group).or_default();
            *sum = sum.saturating_add(amount);
        }
        Ok(())
    }
}

/// Returns the difference, if any, for a batch of which the chain has no transaction. There is none if its nonce
/// was used without a transaction, because the journal says the same: all of the batch is unproven, but for what a
/// person has said.
fn of_none(family: Family, batch: &[ChargeRow]) -> Option<String> {
    let used_up = family == Family::Evm && batch.iter().all(|line| line.state == "unproven");
    if !used_up {
        return Some("no such transaction is on record".to_owned());
    }
    let said: Vec<&str> =
        batch.iter().filter(|line| is_charged(line)).map(|line| &*line.subscribe_id).collect();
    (!said.is_empty()).then(|| {
        format!(
            "no transaction has used its nonce (see EIP-7702), so that no transfer proves what a person has \
             said is charged: subscription {}",
            said.join(", ")
        )
    })
}

/// Returns the differences between the journal's record of one transaction and its transfers, each wallet by
/// itself. Charges whose wallet neither the request nor an event told are compared as one sum.
fn differences(
    family: Family,
    batch: &[ChargeRow],
    taken: &BTreeMap<TokenOfWallet, U256>,
    names: &TokenNames,
) -> Result<Vec<String>, Box<dyn Error>> {
    let chain = batch.first().map(|line| line.chain_id).unwrap_or_default();
    let mut charged: BTreeMap<TokenOfWallet, U256> = BTreeMap::new();
    let mut of_unknown = None::<U256>;
    for line in batch.iter().filter(|line| is_charged(line)) {
        let read = |text: Option<&str>| text.and_then(|text| parse_address(family, text).ok());
        let wallet = read(line.charged_wallet.as_deref().or(line.wallet.as_deref()));
        let sum = match read(Some(token(line))).zip(wallet) {
            Some(whose) => charged.entry(whose).or_default(),
            None => of_unknown.get_or_insert_default(),
        };
        *sum = sum.saturating_add(amount(line)?);
    }
    let mut words = Vec::new();
    let mut of_nobody = U256::ZERO;
    let all: BTreeSet<TokenOfWallet> = charged.keys().chain(taken.keys()).copied().collect();
    for whose in all {
        let of =
            |sums: &BTreeMap<TokenOfWallet, U256>| sums.get(&whose).copied().unwrap_or_default();
        let (here, there) = (of(&charged), of(taken));
        if let Some(more) = there.checked_sub(here).filter(|_| of_unknown.is_some()) {
            of_nobody = of_nobody.saturating_add(more);
        } else if here != there {
            let (token, wallet) = (spell_address(family, whose.0), spell_address(family, whose.1));
            let [here, there] = [here, there].map(|units| names.in_words(chain, &token, units));
            words.push(format!(
                "wallet {wallet}, token {token}: the journal has {here} charged, the chain moved {there}"
            ));
        }
    }
    if let Some(sum) = of_unknown.filter(|sum| *sum != of_nobody) {
        words.push(format!(
            "the journal has {sum} base units charged to wallets that neither requests nor events name, and \
             {of_nobody} left wallets beside what it knows"
        ));
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
