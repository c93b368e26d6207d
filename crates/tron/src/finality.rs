//! Decides whether a block can still be undone, by the number of elected witnesses that stand on it.
//!
//! A node calls a block solidified when more than 70 % of the active witnesses (19 of 27) have produced
//! it or a block on top of it, and never goes back behind such a block. [`Following`] applies the same
//! rule to proven headers, so that nobody needs to be believed: to pass a false block off as solidified
//! one has to sign with the keys of that many witnesses.
//!
//! Witnesses are voted on, and headers do not hold the votes: every six hours (a maintenance period) some may come
//! and go. But a witness builds on no block whose producer was not elected, so a solidified block vouches for its
//! own producer. So the list is followed: the producer of each solidified block is on the list, in the place of the
//! one that has produced nothing for the longest time. The list keeps its length, and so does the number of
//! witnesses that a block needs.
//!
//! It vouches for the witness that it names, and not for the key: a signature is no part of a block's id,
//! so whoever passes a true header on can put another signature on it. A key proves itself where the
//! witness is its own address. The key of a witness permission is a [`Claim`]: it is learnt when
//! [`Following::bear_out`] is told that others show the same.

use crate::block::{Producer, ProvenHeader};
use alloy::primitives::{Address, B256};
use std::collections::{BTreeMap, VecDeque};

/// Share of the witnesses that the node's rule leaves out, percent. java-tron:
/// `consensus/.../dpos/DposService.java`, `updateSolidBlock`; `ChainConstant.java`, `SOLIDIFIED_THRESHOLD` = 70.
const LEFT_OUT_PERCENT: usize = 30;

/// The most witnesses that are active at a time. java-tron: `ChainConstant.java`,
/// `MAX_ACTIVE_WITNESS_NUM`.
pub const MOST_WITNESSES: usize = 27;

/// Returns the number of `witnesses` that a block needs to be solidified: 19 of 27, 4 of 5, 1 of 1.
pub fn needed(witnesses: usize) -> usize {
    let left_out = witnesses.saturating_mul(LEFT_OUT_PERCENT).div_euclid(100);
    witnesses.saturating_sub(left_out)
}

/// A header that does not come after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {number} does not follow the block before it")]
pub struct Unlinked {
    /// Its number.
    pub number: u64,
}

/// Why a list of witnesses is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWitnesses {
    /// Nobody is on it.
    #[error("there is no witness on the list")]
    Empty,
    /// More than there ever are.
    #[error("there are {0} witnesses on the list, and never more than {MOST_WITNESSES}")]
    TooMany(usize),
    /// One is there twice.
    #[error("{0} is on the list twice")]
    Twice(Address),
}

/// The accounts that may produce blocks: each witness once, with the account that signs for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witnesses(BTreeMap<Address, Address>);

impl Witnesses {
    /// The list of these.
    ///
    /// # Errors
    /// [`BadWitnesses`].
    pub fn new(producers: impl IntoIterator<Item = Producer>) -> Result<Self, BadWitnesses> {
        let mut list = BTreeMap::new();
        for Producer { witness, signer } in producers {
            if list.insert(witness, signer).is_some() {
                return Err(BadWitnesses::Twice(witness));
            }
        }
        match list.len() {
            0 => Err(BadWitnesses::Empty),
            few if few <= MOST_WITNESSES => Ok(Self(list)),
            many => Err(BadWitnesses::TooMany(many)),
        }
    }

    /// Each of them.
    pub fn producers(&self) -> impl Iterator<Item = Producer> + '_ {
        self.0.iter().map(|(witness, signer)| Producer { witness: *witness, signer: *signer })
    }

    /// Returns the number of witnesses.
    #[expect(clippy::len_without_is_empty, reason = "a list is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the number of witnesses that a block needs.
    pub fn needed(&self) -> usize {
        needed(self.len())
    }

    /// Returns true if this producer is on the list: the witness, with this signer.
    pub fn has(&self, producer: Producer) -> bool {
        self.0.get(&producer.witness) == Some(&producer.signer)
    }

    /// All of them, by address.
    pub fn iter(&self) -> impl Iterator<Item = Producer> {
        self.0.iter().map(|(&witness, &signer)| Producer { witness, signer })
    }
}

/// A chain of proven headers and the list of witnesses that is followed along it.
#[derive(Clone, Debug)]
pub struct Following {
    witnesses: Witnesses,
    /// The number of the newest solidified block of each witness on the list.
    produced: BTreeMap<Address, u64>,
    /// The headers above the newest solidified one, oldest first.
    above: VecDeque<ProvenHeader>,
    /// The newest of each witness.
    claims: BTreeMap<Address, Claim>,
    tip: Option<Tip>,
    solid: Option<(u64, B256)>,
}

/// A solidified block that was shown with a signature by a key that is not known to be its witness's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The block's number.
    pub number: u64,
    /// Its id, which does not cover the signature.
    pub id: B256,
    /// The witness that it names, with the key.
    pub producer: Producer,
}

/// The newest header.
#[derive(Clone, Copy, Debug)]
struct Tip {
    id: B256,
    number: u64,
    time_ms: u64,
}

impl Following {
    /// Follows from wherever the first header is.
    pub fn from(witnesses: Witnesses) -> Self {
        let (produced, above, claims) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { witnesses, produced, above, claims, tip: None, solid: None }
    }

    /// The number of the header to read next; none where the first one may have any.
    pub fn next(&self) -> Option<u64> {
        self.tip.and_then(|tip| tip.number.checked_add(1))
    }

    /// The list as far as it is followed.
    pub fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// The newest block that is solidified: its number and id. All that were read below it are so too.
    pub fn solid(&self) -> Option<(u64, B256)> {
        self.solid
    }

    /// Reads the next header. A header that is refused changes nothing.
    ///
    /// # Errors
    /// [`Unlinked`].
    pub fn read(&mut self, header: &ProvenHeader) -> Result<(), Unlinked> {
        let fits = self.tip.is_none_or(|tip| header.follows(tip.id, tip.time_ms));
        if !fits {
            return Err(Unlinked { number: header.number() });
        }
        let (id, number, time_ms) = (header.id(), header.number(), header.time_ms());
        self.tip = Some(Tip { id, number, time_ms });
        self.above.push_back(header.clone());
        while let Some(count) = self.solidified() {
            let solid: Vec<ProvenHeader> = self.above.drain(..count).collect();
            for header in solid {
                self.solid = Some((header.number(), header.id()));
                self.learn(&header);
            }
        }
        Ok(())
    }

    /// Returns true if the headers above the newest solidified one name any witness that is not on the list.
    pub fn meets_strangers(&self) -> bool {
        let named = |header: &ProvenHeader| header.producer().witness;
        self.above.iter().any(|header| !self.witnesses.0.contains_key(&named(header)))
    }

    /// Returns true if any header above the newest solidified one was signed by a producer that is not on the list:
    /// another witness, or a key that is not known to be the witness's.
    pub fn meets_unknown_producers(&self) -> bool {
        self.above.iter().any(|header| !self.witnesses.has(header.producer()))
    }

    /// Returns the keys that nothing but the headers' own signatures speaks for. Signatures by these keys do not
    /// count.
    pub fn claims(&self) -> impl Iterator<Item = Claim> + '_ {
        self.claims.values().copied()
    }

    /// Takes a claim's key for the witness's from now on: it was shown by enough others as well.
    pub fn bear_out(&mut self, claim: Claim) {
        self.claims.remove(&claim.producer.witness);
        self.elect(claim.producer, claim.number);
    }

    /// Learns from a solidified block: its witness, and its key if that proves itself.
    fn learn(&mut self, header: &ProvenHeader) {
        let (number, producer) = (header.number(), header.producer());
        let Producer { witness, signer } = producer;
        if witness == signer || self.witnesses.has(producer) {
            self.claims.remove(&witness);
            self.elect(producer, number);
            return;
        }
        self.claims.insert(witness, Claim { number, id: header.id(), producer });
        if let Some(newest) = self.produced.get_mut(&witness) {
            *newest = number;
        }
    }

    /// Records the producer of a block. A new witness takes the place of the one that has produced nothing for the
    /// longest time.
    fn elect(&mut self, Producer { witness, signer }: Producer, number: u64) {
        let list = &mut self.witnesses.0;
        if list.insert(witness, signer).is_none() {
            let others = list.keys().filter(|other| **other != witness);
            let idlest = others.min_by_key(|other| self.produced.get(*other).copied()).copied();
            if let Some(idlest) = idlest {
                list.remove(&idlest);
                self.produced.remove(&idlest);
            }
        }
        let newest = self.produced.entry(witness).or_default();
        *newest = number.max(*newest);
    }

    /// Returns the number of headers above the newest solidified one that are solidified as well, if any is.
    ///
    /// Read from the top: the first block from which on enough different witnesses have produced.
    fn solidified(&self) -> Option<usize> {
        let mut seen: Vec<Address> = Vec::new();
        for (place, header) in self.above.iter().enumerate().rev() {
            let producer = header.producer();
            if self.witnesses.has(producer) && !seen.contains(&producer.witness) {
                seen.push(producer.witness);
            }
            if seen.len() >= self.witnesses.needed() {
                return place.checked_add(1);
            }
        }
        None
    }
}
