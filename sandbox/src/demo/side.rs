//! One chain with everything on it, as the rest of the demonstration sees it.

use super::stories::{SPARE, STORIES, STRANGER};
use alloy::primitives::{Address, B256, U256, keccak256};
use sandbox_chains::town::{Ground, Person, Town};
use serde_json::{Value, json};

/// The key that bills on both chains. Everybody knows it.
pub(crate) const BILLER: &str = "biller";

/// Which rules a chain follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Evm,
    Tron,
}

impl Family {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Evm => "EVM",
            Self::Tron => "TRON",
        }
    }

    /// For reports, files and arguments.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Evm => "evm",
            Self::Tron => "tron",
        }
    }

    /// As the merchant's library calls it.
    pub(crate) fn kind(self) -> merchant::signer::Family {
        match self {
            Self::Evm => merchant::signer::Family::Evm,
            Self::Tron => merchant::signer::Family::Tvm,
        }
    }

    /// Returns the path that the family's batches are posted to.
    pub(crate) fn path(self) -> &'static str {
        self.kind().path()
    }

    /// An address as its people write it.
    pub(crate) fn spell(self, address: Address) -> String {
        match self {
            Self::Evm => address.to_checksum(None),
            Self::Tron => {
                let bytes = [&[0x41], address.as_slice()].concat();
                bs58::encode(bytes).with_check().into_string()
            }
        }
    }
}

/// A chain, its town, and how it is reached.
pub(crate) struct Side {
    pub(crate) family: Family,
    /// The platform's id of the chain.
    pub(crate) chain: u32,
    pub(crate) ground: Box<dyn Ground + Send + Sync>,
    pub(crate) town: Town,
    /// Balance of the merchant before the batch (base units).
    pub(crate) before: U256,
    /// Addresses at which the node is asked, each with a name.
    pub(crate) doors: Vec<(&'static str, String)>,
    /// A command that asks its node something.
    pub(crate) ask: String,
    /// Section of the Signer's configuration about the chain, without the billing profile.
    pub(crate) config: String,
}

impl Side {
    /// The batch: one entry for each story.
    pub(crate) fn entries(&self) -> Vec<Value> {
        (0..STORIES.len()).map(|place| self.entry(place)).collect()
    }

    /// The subscription of one who was not in the batch.
    pub(crate) fn spare_id(&self) -> u64 {
        self.id(SPARE)
    }

    /// Returns the merchant's income from the batch (base units).
    pub(crate) fn income(&self) -> U256 {
        let now = self.town.balance(self.ground.as_ref(), self.town.payee);
        now.saturating_sub(self.before)
    }

    /// The id of the subscription at a place.
    pub(crate) fn id(&self, place: usize) -> u64 {
        self.town.people[place].subscribe_id
    }

    fn entry(&self, place: usize) -> Value {
        let person = &self.town.people[place];
        let hash = if place == STRANGER { keccak256("nobody") } else { person.user_hash };
        entry(self.family, self.chain, &self.town, person, hash)
    }
}

/// An entry as the platform's list has it: somebody's first period, under a name for the user.
pub(crate) fn entry(
    family: Family,
    chain: u32,
    town: &Town,
    person: &Person,
    user_hash: B256,
) -> Value {
    json!({
        "subscribeId": person.subscribe_id,
        "chainId": chain,
        "planId": person.plan,
        "planVersion": town.version,
        "userHash": user_hash,
        "userWallet": family.spell(person.wallet.address()),
        "tokenAddress": family.spell(town.token),
        "period": 1,
        "amount": town.price,
    })
}
