//! Lists of validators: the accounts that may seal blocks, as an epoch header tells them.

use alloy::primitives::{Address, FixedBytes};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The most validators that there ever are. bsc-genesis-contract: `BSCValidatorSet.sol`, `MAX_NUM_OF_VALIDATORS`.
pub const MOST_VALIDATORS: usize = 100;

/// The most blocks that a validator seals in a row. bsc-genesis-contract: `BSCValidatorSet.sol`, `turnLength`.
pub const LONGEST_TURN: u8 = 64;

/// The bytes of a validator in an epoch header: its address, and a BLS key that is not read. bsc:
/// `consensus/parlia/parlia.go`, `validatorBytesLength`.
const ENTRY: usize = Address::len_bytes() + FixedBytes::<48>::len_bytes();

/// The reason why a list of validators is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadList {
    /// The list names no validator.
    #[error("there is no validator on the list")]
    Empty,
    /// More are on it than there ever are.
    #[error("there are {0} validators on the list, and never more than {MOST_VALIDATORS}")]
    TooMany(usize),
    /// One is on it twice.
    #[error("{0} is on the list twice")]
    Twice(Address),
    /// No validator seals this many blocks in a row.
    #[error("a turn is 1 to {LONGEST_TURN} blocks, not {0}")]
    Turn(u8),
    /// The text is not a turn's length and addresses, each after a space.
    #[error("it is not the length of a turn and the addresses of validators")]
    Text,
}

/// The validators of an epoch, each once, and the blocks that each seals in a row. As a text: the length of a turn and
/// the addresses, each after a space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorList {
    turn: u8,
    addresses: BTreeSet<Address>,
}

impl ValidatorList {
    /// The list of these addresses, each of which seals `turn` blocks in a row.
    ///
    /// # Errors
    /// [`BadList`].
    pub fn new(turn: u8, sealers: impl IntoIterator<Item = Address>) -> Result<Self, BadList> {
        if turn == 0 || turn > LONGEST_TURN {
            return Err(BadList::Turn(turn));
        }
        let mut addresses = BTreeSet::new();
        for address in sealers {
            if !addresses.insert(address) {
                return Err(BadList::Twice(address));
            }
        }
        match addresses.len() {
            0 => Err(BadList::Empty),
            few if few <= MOST_VALIDATORS => Ok(Self { turn, addresses }),
            many => Err(BadList::TooMany(many)),
        }
    }

    /// The list in the extra data of an epoch header between vanity and seal; none if there is no list in the form
    /// since Bohr: their number, each one's entry, the length of a turn, and perhaps the votes on a block, in RLP. The
    /// extra data of other headers hold votes alone, whose first byte is no number of validators.
    pub(crate) fn of_extra(between: &[u8]) -> Option<Self> {
        let (&many, rest) = between.split_first()?;
        let (entries, rest) = rest.split_at_checked(usize::from(many).checked_mul(ENTRY)?)?;
        let (&turn, votes) = rest.split_first()?;
        if !(votes.is_empty() || is_one_list(votes)) {
            return None;
        }
        let addresses = entries.chunks_exact(ENTRY).filter_map(|entry| entry.first_chunk::<20>());
        Self::new(turn, addresses.map(Address::from)).ok()
    }

    /// The fewest of its validators that prove anything: more than two thirds, 15 of 21.
    pub fn needed(&self) -> usize {
        let thirds = self.addresses.len().saturating_mul(2).div_euclid(3);
        thirds.saturating_add(1)
    }

    /// The most headers that a proof takes while each validator of this list keeps its turn, the block's own among
    /// them: 225 of 21 validators with turns of 16.
    pub fn usual_run(&self) -> usize {
        let others = self.needed().saturating_sub(1);
        usize::from(self.turn).saturating_mul(others).saturating_add(1)
    }

    /// The number of blocks that a validator seals in a row.
    pub fn turn(&self) -> u8 {
        self.turn
    }

    /// Returns true if this account is on the list.
    pub fn has(&self, sealer: &Address) -> bool {
        self.addresses.contains(sealer)
    }

    /// The number of validators.
    #[expect(clippy::len_without_is_empty, reason = "a list is never empty")]
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// All of them, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter()
    }
}

impl fmt::Display for ValidatorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.turn)?;
        self.addresses.iter().try_for_each(|address| write!(f, " {address}"))
    }
}

impl FromStr for ValidatorList {
    type Err = BadList;

    fn from_str(text: &str) -> Result<Self, BadList> {
        let mut words = text.split_whitespace();
        let turn = words.next().and_then(|word| word.parse().ok()).ok_or(BadList::Text)?;
        let addresses = words.map(|word| word.parse().map_err(|_| BadList::Text));
        Self::new(turn, addresses.collect::<Result<Vec<_>, _>>()?)
    }
}

/// Returns true if these bytes are one list in RLP, and nothing after it.
fn is_one_list(mut bytes: &[u8]) -> bool {
    let header = alloy::rlp::Header::decode(&mut bytes);
    header.is_ok_and(|header| header.list && header.payload_length == bytes.len())
}
