//! Each way in which a header fails to be sealed by its beneficiary.

use crate::made::{CHAIN, Chain, Validator, put, reseal, seal, told, unsealed, validators};
use alloy::consensus::Header;
use alloy::primitives::{Address, B256, Bloom, Bytes, U256};
use evm_proofs::answer::BlockAnswer;
use evm_proofs::header::ProvenHeader;
use k256::ecdsa::Signature;
use parlia::seal::{ChainId, SealedHeader};
use parlia::unproven::{Contradiction, Obstacle, Unproven};

pub(crate) fn proven(header: &Header) -> ProvenHeader {
    ProvenHeader::of_rlp(&alloy::rlp::encode(header)).unwrap()
}

pub(crate) fn sealed(header: &Header) -> Result<SealedHeader, Unproven> {
    SealedHeader::of(proven(header), ChainId(CHAIN))
}

fn not_sealed(header: &Header) -> Result<(), Unproven> {
    Err(Contradiction::Seal(header.beneficiary).into())
}

/// A header, and the one who sealed it.
fn one() -> (Header, Validator) {
    let mut chain = Chain::begin(2_001, validators(0..21));
    chain.grow(1);
    let header = chain.at(2_001).clone();
    let sealer = chain.seated.iter().find(|sealer| sealer.address == header.beneficiary);
    (header.clone(), sealer.unwrap().clone())
}

#[test]
fn a_made_header_is_sealed_and_so_is_its_answer() {
    let (header, sealer) = one();
    let read = sealed(&header).unwrap();
    assert_eq!(read.sealer(), sealer.address);
    assert_eq!((read.id().number, read.id().hash), (2_001, header.hash_slow()));
    assert_eq!(read.header().fields(), &header);
    let answer: BlockAnswer = serde_json::from_str(&told(&header).to_string()).unwrap();
    assert_eq!(SealedHeader::read(&answer, None, ChainId(CHAIN)), Ok(read));
}

type Alteration = fn(&mut Header);

#[test]
fn a_seal_covers_every_field() {
    let alterations: [Alteration; 23] = [
        |header| header.parent_hash.0[0] ^= 1,
        |header| header.ommers_hash.0[0] ^= 1,
        |header| header.state_root.0[0] ^= 1,
        |header| header.transactions_root.0[0] ^= 1,
        |header| header.receipts_root.0[0] ^= 1,
        |header| header.logs_bloom = Bloom::repeat_byte(1),
        |header| header.difficulty = U256::from(1),
        |header| header.number += 1,
        |header| header.gas_limit += 1,
        |header| header.gas_used += 1,
        |header| header.timestamp += 1,
        |header| alter_extra(header, 0),
        |header| alter_extra(header, 31),
        |header| alter_extra(header, 40),
        |header| header.mix_hash.0[31] ^= 1,
        |header| header.nonce.0[0] ^= 1,
        |header| header.base_fee_per_gas = Some(1),
        |header| header.withdrawals_root = Some(B256::ZERO),
        |header| header.blob_gas_used = Some(0),
        |header| header.excess_blob_gas = Some(0),
        |header| header.requests_hash = Some(B256::ZERO),
        |header| header.requests_hash = None,
        without_the_fields_of_forks,
    ];
    let (honest, _) = one();
    for (place, alter) in alterations.into_iter().enumerate() {
        let mut header = honest.clone();
        alter(&mut header);
        assert_eq!(sealed(&header).map(drop), not_sealed(&header), "alteration {place}");
    }
}

fn alter_extra(header: &mut Header, place: usize) {
    let mut extra = header.extra_data.to_vec();
    extra[place] ^= 1;
    header.extra_data = extra.into();
}

fn without_the_fields_of_forks(header: &mut Header) {
    header.base_fee_per_gas = None;
    header.withdrawals_root = None;
    header.blob_gas_used = None;
    header.excess_blob_gas = None;
    header.parent_beacon_block_root = None;
    header.requests_hash = None;
}

#[test]
fn a_header_without_the_fields_of_forks_can_be_sealed() {
    let (mut header, sealer) = one();
    without_the_fields_of_forks(&mut header);
    seal(&mut header, &sealer, CHAIN);
    assert_eq!(sealed(&header).unwrap().sealer(), sealer.address);
}

#[test]
fn a_header_with_a_field_that_its_seal_does_not_cover_is_not_judged() {
    let alterations: [Alteration; 6] = [
        |header| header.parent_beacon_block_root = Some(B256::with_last_byte(1)),
        |header| {
            header.parent_beacon_block_root = None;
            header.requests_hash = None;
        },
        |header| header.block_access_list_hash = Some(B256::ZERO),
        |header| {
            header.block_access_list_hash = Some(B256::ZERO);
            header.slot_number = Some(1);
        },
        |header| {
            without_the_fields_of_forks(header);
            header.base_fee_per_gas = Some(1);
        },
        |header| {
            without_the_fields_of_forks(header);
            header.base_fee_per_gas = Some(1);
            header.withdrawals_root = Some(B256::ZERO);
        },
    ];
    let (honest, sealer) = one();
    for (place, alter) in alterations.into_iter().enumerate() {
        let mut header = honest.clone();
        alter(&mut header);
        reseal(&mut header, &sealer, CHAIN);
        assert_eq!(sealed(&header).map(drop), Err(Obstacle::UncoveredField.into()), "{place}");
    }
}

#[test]
fn another_validator_does_not_seal_for_the_beneficiary() {
    let (honest, _) = one();
    for other in validators(0..21) {
        let mut header = honest.clone();
        reseal(&mut header, &other, CHAIN);
        let expected =
            if other.address == honest.beneficiary { Ok(()) } else { not_sealed(&header) };
        assert_eq!(sealed(&header).map(drop), expected);
    }
    let mut header = honest;
    header.beneficiary = Address::ZERO;
    assert_eq!(sealed(&header).map(drop), not_sealed(&header));
}

#[test]
fn a_seal_is_for_one_chain() {
    let (honest, sealer) = one();
    let mut header = honest.clone();
    reseal(&mut header, &sealer, 97);
    assert_eq!(sealed(&header).map(drop), not_sealed(&header));
    SealedHeader::of(proven(&header), ChainId::CHAPEL).unwrap();
    let read = SealedHeader::of(proven(&honest), ChainId::CHAPEL);
    assert_eq!(read.map(drop), not_sealed(&honest));
}

fn seal_of(header: &Header) -> [u8; 65] {
    *header.extra_data.last_chunk().unwrap()
}

#[test]
fn an_altered_seal_is_none() {
    let (honest, _) = one();
    for place in [0, 20, 31, 32, 50, 63] {
        let (mut header, mut seal) = (honest.clone(), seal_of(&honest));
        seal[place] ^= 1;
        put(&mut header, &seal);
        assert_eq!(sealed(&header).map(drop), not_sealed(&header), "byte {place}");
    }
    let mut other_parity = seal_of(&honest);
    let mut header = honest;
    other_parity[64] ^= 1;
    put(&mut header, &other_parity);
    assert_eq!(sealed(&header).map(drop), not_sealed(&header));
    for nothing in [[0; 65], [&[0xff; 32][..], &[1; 32], &[0]].concat().try_into().unwrap()] {
        put(&mut header, &nothing);
        assert_eq!(sealed(&header).map(drop), not_sealed(&header));
    }
}

/// A node takes such seals, too: the header is then another one of the same validator, and nobody's lie.
#[test]
fn a_seal_in_another_form_than_validators_write_it_is_not_judged() {
    let (honest, _) = one();
    let told = seal_of(&honest);
    let mut header = honest;
    for recovery in [2, 3, 4, 27, 28, 255] {
        let mut seal = told;
        seal[64] = recovery;
        put(&mut header, &seal);
        assert_eq!(sealed(&header).map(drop), Err(Obstacle::SealForm.into()), "{recovery}");
    }
    let signature = Signature::from_slice(&told[..64]).unwrap();
    assert_eq!(signature.normalize_s(), None, "validators write the lower half");
    let turned = Signature::from_scalars(signature.r(), -*signature.s()).unwrap();
    put(&mut header, &[&turned.to_bytes()[..], &[told[64] ^ 1]].concat());
    assert_eq!(sealed(&header).map(drop), Err(Obstacle::SealForm.into()));
}

#[test]
fn a_header_without_room_for_vanity_and_seal_has_no_seal() {
    let (honest, sealer) = one();
    for length in [0, 64, 65, 96] {
        let mut header = honest.clone();
        header.extra_data = Bytes::from(vec![0; length]);
        if length >= 65 {
            seal(&mut header, &sealer, CHAIN);
        }
        assert_eq!(sealed(&header).map(drop), Err(Obstacle::NoSeal.into()), "{length} bytes");
    }
    let mut header = unsealed(&honest, &[]);
    header.extra_data = Bytes::from(vec![0; 97]);
    seal(&mut header, &sealer, CHAIN);
    assert_eq!(sealed(&header).unwrap().validators(), Err(Obstacle::NoList));
}
