//! A chain that is made here: its validators, turns, epochs and seals, with the digest of a seal by code of its own.

use alloy::consensus::Header;
use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use k256::ecdsa::{RecoveryId, Signature, SigningKey};
use serde_json::{Value, json};
use std::ops::Range;

/// The chain id that seals sign unless a test says otherwise.
pub(crate) const CHAIN: u64 = 56;

/// The hash of no requests, and the root of an empty trie.
const NO_REQUESTS: B256 =
    alloy::primitives::b256!("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
const EMPTY_ROOT: B256 =
    alloy::primitives::b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// An account that may seal.
#[derive(Clone, Debug)]
pub(crate) struct Validator {
    key: SigningKey,
    pub(crate) address: Address,
}

/// The validators of these seeds, by address, as they stand in an epoch header.
pub(crate) fn validators(seeds: Range<u64>) -> Vec<Validator> {
    let of_seed = |seed: u64| {
        let key = SigningKey::from_slice(keccak256(seed.to_be_bytes()).as_slice()).unwrap();
        let point = key.verifying_key().to_encoded_point(false);
        Validator { key, address: Address::from_raw_public_key(&point.as_bytes()[1..]) }
    };
    let mut made: Vec<Validator> = seeds.map(of_seed).collect();
    made.sort_by_key(|validator| validator.address);
    made
}

/// A chain from some block on.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) id: u64,
    /// The blocks from one epoch header to the next.
    pub(crate) epoch: u64,
    pub(crate) turn: u8,
    /// The validators whose turns it is by now.
    pub(crate) seated: Vec<Validator>,
    /// The validators that the next epoch header tells.
    pub(crate) elected: Vec<Validator>,
    /// The number from which on those of the last epoch header are seated.
    seating: Option<u64>,
    pub(crate) headers: Vec<Header>,
}

impl Chain {
    /// A chain whose first header, made by the first `grow`, has this number.
    pub(crate) fn begin(number: u64, seated: Vec<Validator>) -> Self {
        let parent = Header { number: number - 1, ..Header::default() };
        let elected = seated.clone();
        let headers = vec![parent];
        Self { id: CHAIN, epoch: 1000, turn: 16, seated, elected, seating: None, headers }
    }

    /// The header of this number.
    pub(crate) fn at(&self, number: u64) -> &Header {
        self.headers.iter().find(|header| header.number == number).unwrap()
    }

    /// The headers from this number on.
    pub(crate) fn from(&self, number: u64) -> Vec<Header> {
        self.headers.iter().filter(|header| header.number >= number).cloned().collect()
    }

    /// Another branch: the same up to this number.
    pub(crate) fn fork(&self, number: u64) -> Self {
        let mut branch = self.clone();
        branch.headers.retain(|header| header.number <= number);
        branch
    }

    fn next(&self) -> u64 {
        self.headers.last().unwrap().number + 1
    }

    /// Appends headers, each sealed by the validator whose turn it is.
    pub(crate) fn grow(&mut self, many: usize) {
        for _ in 0..many {
            let turns = self.next() / u64::from(self.turn);
            let place = usize::try_from(turns).unwrap() % self.seated.len();
            self.append(&self.seated[place].clone());
        }
    }

    /// Appends headers that those in these places seal.
    pub(crate) fn grow_by(&mut self, places: impl IntoIterator<Item = usize>) {
        for place in places {
            self.append(&self.seated[place].clone());
        }
    }

    /// Appends a header that this account seals.
    pub(crate) fn append(&mut self, sealer: &Validator) {
        let number = self.next();
        let mut between = vec![];
        if number.is_multiple_of(self.epoch) {
            between = listed(&self.elected, self.turn);
            let seats = u64::try_from(self.seated.len() / 2 + 1).unwrap();
            self.seating = Some(number + seats * u64::from(self.turn) - 1);
        }
        let parent = self.headers.last().unwrap();
        let mut header = unsealed(parent, &between);
        seal(&mut header, sealer, self.id);
        self.headers.push(header);
        if self.seating == Some(number) {
            self.seated = self.elected.clone();
        }
    }
}

/// The middle of the extra data of an epoch header: the list, with BLS keys that are none.
pub(crate) fn listed(elected: &[Validator], turn: u8) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(elected.len()).unwrap()];
    for validator in elected {
        bytes.extend(validator.address);
        bytes.extend([0xb1; 48]);
    }
    bytes.push(turn);
    bytes
}

/// Votes on a block, in the form of an attestation: RLP, longer than 55 bytes.
pub(crate) fn votes() -> Vec<u8> {
    list(&[item(&[0x1f, 0xff, 0xff]), item(&[7; 96]), list(&[item(&[9; 32]), item(&[])])])
}

/// A header after `parent` with the fields of today, with room for a seal that is not there yet. Other headers than
/// those of epochs carry votes.
pub(crate) fn unsealed(parent: &Header, between: &[u8]) -> Header {
    let number = parent.number + 1;
    let vanity = [&b"made here"[..], &[0; 23]].concat();
    let extra_data = Bytes::from([&vanity, between, &votes(), &[0; 65]].concat());
    let millis = U256::from(number * 450 % 1000);
    Header {
        parent_hash: parent.hash_slow(),
        number,
        extra_data,
        difficulty: U256::from(2),
        gas_limit: 55_000_000,
        gas_used: 21_000,
        timestamp: 1_800_000_000 + number * 450 / 1000,
        state_root: keccak256(number.to_be_bytes()),
        mix_hash: millis.into(),
        base_fee_per_gas: Some(0),
        withdrawals_root: Some(EMPTY_ROOT),
        blob_gas_used: Some(131_072),
        excess_blob_gas: Some(77),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(NO_REQUESTS),
        ..Header::default()
    }
}

/// Names the account as the beneficiary, and puts its seal into the place for it.
pub(crate) fn seal(header: &mut Header, sealer: &Validator, chain: u64) {
    header.beneficiary = sealer.address;
    reseal(header, sealer, chain);
}

/// Puts a seal of the account into its place, whoever the beneficiary is.
pub(crate) fn reseal(header: &mut Header, sealer: &Validator, chain: u64) {
    let digest = digest(header, chain);
    let (signature, recovery): (Signature, RecoveryId) =
        sealer.key.sign_prehash_recoverable(digest.as_slice()).unwrap();
    put(header, &[&signature.to_bytes()[..], &[recovery.to_byte()]].concat());
}

/// Puts these bytes in the place of the seal.
pub(crate) fn put(header: &mut Header, seal: &[u8]) {
    let mut extra = header.extra_data.to_vec();
    let place = extra.len() - 65;
    extra.splice(place.., seal.iter().copied());
    header.extra_data = extra.into();
}

fn digest(header: &Header, chain: u64) -> B256 {
    let extra = &header.extra_data;
    let mut fields = vec![
        number(chain),
        item(header.parent_hash.as_slice()),
        item(header.ommers_hash.as_slice()),
        item(header.beneficiary.as_slice()),
        item(header.state_root.as_slice()),
        item(header.transactions_root.as_slice()),
        item(header.receipts_root.as_slice()),
        item(header.logs_bloom.as_slice()),
        item(&header.difficulty.to_be_bytes_trimmed_vec()),
        number(header.number),
        number(header.gas_limit),
        number(header.gas_used),
        number(header.timestamp),
        item(&extra[..extra.len() - 65]),
        item(header.mix_hash.as_slice()),
        item(header.nonce.as_slice()),
    ];
    if header.parent_beacon_block_root == Some(B256::ZERO) {
        fields.push(number(header.base_fee_per_gas.unwrap()));
        fields.push(item(header.withdrawals_root.unwrap().as_slice()));
        fields.push(number(header.blob_gas_used.unwrap()));
        fields.push(number(header.excess_blob_gas.unwrap()));
        fields.push(item(&[0; 32]));
        fields.extend(header.requests_hash.map(|hash| item(hash.as_slice())));
    }
    keccak256(list(&fields))
}

fn number(value: u64) -> Vec<u8> {
    item(&U256::from(value).to_be_bytes_trimmed_vec())
}

fn item(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [only @ 0..0x80] => vec![*only],
        _ => [prefix(0x80, bytes.len()), bytes.to_vec()].concat(),
    }
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let inside = items.concat();
    [prefix(0xc0, inside.len()), inside].concat()
}

fn prefix(kind: u8, length: usize) -> Vec<u8> {
    if let Ok(short @ 0..56) = u8::try_from(length) {
        return vec![kind + short];
    }
    let length = U256::from(length).to_be_bytes_trimmed_vec();
    [vec![kind + 55 + u8::try_from(length.len()).unwrap()], length].concat()
}

/// The header as a node tells it, without its transactions.
pub(crate) fn told(header: &Header) -> Value {
    let millis = header.timestamp * 1000 + header.number * 450 % 1000;
    let mut told = json!({
        "hash": header.hash_slow(), "parentHash": header.parent_hash, "sha3Uncles": header.ommers_hash,
        "miner": header.beneficiary, "stateRoot": header.state_root, "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root, "logsBloom": header.logs_bloom, "difficulty": header.difficulty,
        "number": hex(header.number), "gasLimit": hex(header.gas_limit), "gasUsed": hex(header.gas_used),
        "timestamp": hex(header.timestamp), "milliTimestamp": hex(millis), "extraData": header.extra_data,
        "mixHash": header.mix_hash, "nonce": header.nonce, "size": "0x400", "uncles": [], "transactions": [],
    });
    let numbers = [
        ("baseFeePerGas", header.base_fee_per_gas),
        ("blobGasUsed", header.blob_gas_used),
        ("excessBlobGas", header.excess_blob_gas),
    ];
    let hashes = [
        ("withdrawalsRoot", header.withdrawals_root),
        ("parentBeaconBlockRoot", header.parent_beacon_block_root),
        ("requestsHash", header.requests_hash),
    ];
    for (name, value) in numbers.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        told[name] = json!(hex(value));
    }
    for (name, value) in hashes.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        told[name] = json!(value);
    }
    told
}

fn hex(value: u64) -> String {
    format!("{value:#x}")
}
