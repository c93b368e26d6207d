//! The final bytes of an EVM transaction, read again as a node would read them before they are signed.

use super::ceilings::raised;
use super::context::data;
use alloy::consensus::{SignableTransaction, Transaction, TxEip1559, TxEnvelope, TxLegacy};
use alloy::eips::Decodable2718 as _;
use alloy::primitives::{Address, Signature, TxKind, U256};
use alloy::rlp::Decodable;
use billing::Family;
use config::{EvmConfig, FeeConfig};
use contract::Profile;
use policy::{Effect, Refusal, Repeating, Unsigned};

/// The bytes that a signature commits to: EIP-2718 type and RLP list, or the RLP list of EIP-155.
#[derive(Debug)]
pub struct EvmPreimage<'a> {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The profile by which the call is read.
    pub profile: &'a Profile,
}

/// Why bytes are no transaction that this adapter signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OddPreimage {
    /// Its type is unknown.
    #[error("its type is unknown")]
    UnknownType,
    /// Its RLP cannot be read.
    #[error("{0}")]
    Rlp(#[from] alloy::rlp::Error),
    /// There are more bytes behind it.
    #[error("there is more behind it")]
    Longer,
    /// Its bytes are not in their one form.
    #[error("its bytes are not in their one form")]
    OtherForm,
    /// It has an access list.
    #[error("it has an access list")]
    AccessList,
    /// It makes a contract.
    #[error("it makes a contract")]
    MakesContract,
}

impl Unsigned for EvmPreimage<'_> {
    type Unreadable = OddPreimage;

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn family(&self) -> Family {
        Family::Evm
    }

    fn effect(&self) -> Result<Effect, OddPreimage> {
        let tx = self.read()?;
        let TxKind::Call(to) = tx.kind() else { return Err(OddPreimage::MakesContract) };
        let data = data(self.profile, tx.input());
        let gas = U256::from(tx.gas_limit());
        let cost = gas.saturating_mul(U256::from(tx.max_fee_per_gas()));
        Ok(Effect { chain_id: tx.chain_id(), from: None, to, value: tx.value(), cost, data })
    }
}

impl EvmPreimage<'_> {
    fn read(&self) -> Result<Box<dyn SignableTransaction<Signature>>, OddPreimage> {
        let tx: Box<dyn SignableTransaction<Signature>> = match self.bytes.split_first() {
            Some((2, list)) => {
                let tx: TxEip1559 = whole(list)?;
                if !tx.access_list.is_empty() {
                    return Err(OddPreimage::AccessList);
                }
                Box::new(tx)
            }
            Some((192.., _)) => Box::new(whole::<TxLegacy>(&self.bytes)?),
            Some(_) | None => return Err(OddPreimage::UnknownType),
        };
        // A decoder may take what an encoder would not write; a node could read that otherwise.
        let mut written = Vec::with_capacity(self.bytes.len());
        tx.encode_for_signing(&mut written);
        if written == self.bytes { Ok(tx) } else { Err(OddPreimage::OtherForm) }
    }

    /// Its place in the line; none where it cannot be read.
    pub fn nonce(&self) -> Option<u64> {
        Some(self.read().ok()?.nonce())
    }

    /// Returns the input of the call; none where it cannot be read.
    pub fn input(&self) -> Option<Vec<u8>> {
        Some(self.read().ok()?.input().to_vec())
    }

    /// Checks that the transaction asks for no more gas, and bids no more for it, than is configured.
    pub fn within(&self, config: &EvmConfig) -> Result<(), Refusal> {
        self.gas_within(config)?;
        self.bids_within(&config.fees)
    }

    fn gas_within(&self, config: &EvmConfig) -> Result<(), Refusal> {
        if self.readable()?.gas_limit() > config.gas_limit_cap {
            return Err(Refusal::told("gas_limit_cap", "it asks for more gas than is configured"));
        }
        Ok(())
    }

    /// The same of the bid alone: another attempt keeps the gas of its batch, whatever is configured since.
    pub fn bids_within(&self, fees: &FeeConfig) -> Result<(), Refusal> {
        self.bids_at_most(fees.max_fee_per_gas.0, fees.max_priority_fee_per_gas.0)
    }

    fn bids_at_most(&self, fee: u128, tip: u128) -> Result<(), Refusal> {
        let tx = self.readable()?;
        if tx.max_fee_per_gas() > fee {
            return Err(Refusal::told("max_fee_per_gas", "it bids more than is configured"));
        }
        if tx.max_priority_fee_per_gas().is_some_and(|bid| bid > tip) {
            return Err(Refusal::told(
                "max_priority_fee_per_gas",
                "it tips more than is configured",
            ));
        }
        Ok(())
    }

    /// Checks that the transaction, which does nothing, is in the place of `earlier`, a billing that `signer` has
    /// signed, and bids at most a step more than is configured, or than `earlier` bids: a billing may have been
    /// signed before a ceiling was lowered.
    pub fn cancels(
        &self,
        earlier: &[u8],
        signer: Address,
        config: &EvmConfig,
    ) -> Result<(), Refusal> {
        let told = |why| Refusal::told("cancel", why);
        let bill = self.in_place_of(earlier, signer).map_err(told)?;
        // A cancel proves no batch. By one after the other, bids could rise without end.
        if bill.input().is_empty() {
            return Err(told("what was signed before bills nothing"));
        }
        self.gas_within(config)?;
        let fee = config.fees.max_fee_per_gas.0.max(bill.max_fee_per_gas());
        let tip = bill.max_priority_fee_per_gas().unwrap_or_else(|| bill.max_fee_per_gas());
        let tip = config.fees.max_priority_fee_per_gas.0.max(tip);
        self.bids_at_most(raised(fee), raised(tip))
    }

    /// The transaction that `earlier` is, if `signer` has signed it for the same place: one of the two can land.
    fn in_place_of(&self, earlier: &[u8], signer: Address) -> Result<TxEnvelope, &'static str> {
        let earlier = TxEnvelope::decode_2718_exact(earlier);
        let earlier = earlier.map_err(|_| "what was to be signed before is no transaction")?;
        let signed_by = earlier.signature().recover_address_from_prehash(&earlier.signature_hash());
        if signed_by.ok() != Some(signer) {
            return Err("what was to be signed before was not signed by this key");
        }
        let new = self.read().map_err(|_| "its bytes cannot be read")?;
        if (new.chain_id(), new.nonce()) != (earlier.chain_id(), earlier.nonce()) {
            return Err("it has another place than what was signed before, so both could land");
        }
        Ok(earlier)
    }

    fn readable(&self) -> Result<Box<dyn SignableTransaction<Signature>>, Refusal> {
        self.read().map_err(|_| Refusal::told("function", "its bytes cannot be read"))
    }
}

impl Repeating for EvmPreimage<'_> {
    type Known<'a> = ();

    /// The same call in the same place: only one of the two can land.
    fn repeats(&self, earlier: &[u8], signer: Address, _known: &()) -> Result<(), &'static str> {
        let earlier = self.in_place_of(earlier, signer)?;
        let new = self.read().map_err(|_| "its bytes cannot be read")?;
        if new.gas_limit() > earlier.gas_limit() {
            return Err("it asks for more gas than what was signed before");
        }
        let same = (new.kind(), new.input()) == (earlier.kind(), earlier.input());
        if same { Ok(()) } else { Err("it does something else than what was signed before") }
    }
}

/// Returns the most that a signed transaction may cost, wei; zero where the bytes cannot be read.
pub fn signed_cost(raw: &[u8]) -> U256 {
    let Ok(tx) = TxEnvelope::decode_2718_exact(raw) else { return U256::ZERO };
    U256::from(tx.gas_limit()).saturating_mul(U256::from(tx.max_fee_per_gas()))
}

/// A value that takes up all of these bytes.
fn whole<T: Decodable>(mut bytes: &[u8]) -> Result<T, OddPreimage> {
    let read = T::decode(&mut bytes)?;
    if bytes.is_empty() { Ok(read) } else { Err(OddPreimage::Longer) }
}
