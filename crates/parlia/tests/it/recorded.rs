//! Headers that validators of BNB Smart Chain sealed. `tests/vectors/README.md` names their sources.

use crate::made::{self, told};
use alloy::primitives::{Address, B256, address, b256, hex};
use evm_proofs::answer::BlockAnswer;
use evm_proofs::header::{HeaderShape, ProvenHeader};
use parlia::run::{Run, Standing};
use parlia::seal::{ChainId, SealedHeader};
use parlia::unproven::{Contradiction, Obstacle, Unproven};
use parlia::validators::ValidatorList;
use serde_json::{Value, json};
use std::path::Path;

/// The network of its own in which the client made some of the headers.
const LOCAL: ChainId = ChainId(9999);

fn vector(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Headers in RLP, one a line.
fn headers(name: &str) -> Vec<ProvenHeader> {
    let read = |line: &str| ProvenHeader::of_rlp(&hex::decode(line).unwrap()).unwrap();
    vector(name).lines().map(read).collect()
}

/// Four headers of the main network, the first of which begins an epoch of the time before Bohr.
fn mainnet() -> Vec<SealedHeader> {
    let answers: Vec<Value> = serde_json::from_str(&vector("mainnet-31297200.json")).unwrap();
    answers.iter().map(|told| read(told, None, ChainId::MAINNET).unwrap()).collect()
}

fn read(
    told: &Value,
    known: Option<HeaderShape>,
    chain: ChainId,
) -> Result<SealedHeader, Unproven> {
    let answer: BlockAnswer = serde_json::from_str(&told.to_string()).unwrap();
    SealedHeader::read(&answer, known, chain)
}

fn list(sealers: impl IntoIterator<Item = Address>) -> ValidatorList {
    ValidatorList::new(1, sealers).unwrap()
}

#[test]
fn headers_of_the_main_network_are_sealed_by_their_beneficiaries_and_stand_on_each_other() {
    let headers = mainnet();
    assert_eq!(headers[0].id().number, 31_297_200);
    let hash = b256!("13901357854d7c35878d6ff9a24714e0c21f1beb95e0b55667b915d2d74c729e");
    assert_eq!(headers[3].id().hash, hash);
    let sealers = [
        address!("e9ae3261a475a27bb1028f140bc2a7c843318afd"),
        address!("ea0a6e3c511bbd10f4519ece37dc24887e11b55d"),
        address!("ef0274e31810c9df02f98fafde0f841f4e66a1cd"),
        address!("0bac492386862ad3df4b666bc096b0505bb694da"),
    ];
    assert!(headers.iter().map(SealedHeader::sealer).eq(sealers));
    // Four of five validators are more than two thirds.
    let another = made::validators(0..1)[0].address;
    let mut run = Run::begin(headers[0].id(), list(sealers.into_iter().chain([another])));
    for (sealers, header) in (1..4).zip(&headers) {
        assert_eq!(run.read(header).unwrap(), Standing::Short { sealers, needed: 4 });
    }
    assert!(matches!(run.read(&headers[3]).unwrap(), Standing::Final(_)));
}

#[test]
fn an_epoch_header_without_a_turns_length_tells_no_list() {
    let header = mainnet().remove(0);
    assert_eq!(header.header().fields().extra_data[32], 21);
    assert_eq!(header.validators(), Err(Obstacle::NoList));
}

#[test]
fn a_header_of_the_test_network_is_sealed_in_the_fields_that_came_with_bohr() {
    let header = headers("chapel-45214604.hex").remove(0);
    let fields = header.fields();
    assert_eq!((fields.parent_beacon_block_root, fields.requests_hash), (Some(B256::ZERO), None));
    let sealed = SealedHeader::of(header, ChainId::CHAPEL).unwrap();
    assert_eq!(sealed.sealer(), address!("53387f3321fd69d1e030bb921230dfb188826aff"));
    assert_eq!(sealed.validators(), Err(Obstacle::NoList));
}

#[test]
fn headers_of_fermi_are_sealed_in_the_milliseconds_and_the_hash_of_requests() {
    let headers = headers("fermi-506.hex");
    assert!(headers.iter().all(|header| header.fields().requests_hash.is_some()));
    assert_eq!(headers[0].fields().mix_hash, B256::with_last_byte(200));
    let sealed: Vec<_> =
        headers.into_iter().map(|header| SealedHeader::of(header, LOCAL).unwrap()).collect();
    let [first, last] = [&sealed[0], &sealed[4]].map(SealedHeader::sealer);
    assert!(sealed[1..4].iter().all(|header| header.sealer() == first) && first != last);
    // Four blocks of the first are one validator.
    let mut run = Run::begin(sealed[0].id(), list([first, last]));
    for header in &sealed[..4] {
        assert_eq!(run.read(header).unwrap(), Standing::Short { sealers: 1, needed: 2 });
    }
    assert!(matches!(run.read(&sealed[4]).unwrap(), Standing::Final(_)));
}

#[test]
fn a_header_as_a_node_tells_it_is_the_header() {
    for header in headers("fermi-506.hex") {
        let sealed = read(&told(header.fields()), None, LOCAL).unwrap();
        assert_eq!(*sealed.header(), header);
    }
}

#[test]
fn a_recorded_header_is_sealed_for_its_own_chain() {
    let all = [("chapel-45214604.hex", ChainId::CHAPEL), ("fermi-506.hex", LOCAL)];
    for (name, own) in all {
        let header = headers(name).remove(0);
        let refused = Err(Contradiction::Seal(header.fields().beneficiary).into());
        for chain in [ChainId::MAINNET, ChainId::CHAPEL, LOCAL] {
            let sealed = SealedHeader::of(header.clone(), chain).map(drop);
            assert_eq!(sealed, if chain == own { Ok(()) } else { refused.clone() });
        }
    }
}

#[test]
fn an_altered_answer_is_a_lie_unless_it_has_a_field_that_is_not_known() {
    use evm_proofs::unproven as evm;
    let header = headers("fermi-506.hex").remove(0);
    let known = Some(header.shape());
    let mut altered = told(header.fields());
    altered["gasUsed"] = json!("0x1");
    let lie = Contradiction::Header(evm::Contradiction::Hash);
    assert_eq!(read(&altered, known, LOCAL).map(drop), Err(lie.into()));
    altered["laneRoot"] = json!(B256::ZERO);
    let unknown = evm::Obstacle::UnknownField("laneRoot".into());
    let unjudged = Err(Unproven::Unjudged(Obstacle::Header(unknown)));
    assert_eq!(read(&altered, known, LOCAL).map(drop), unjudged);
}

/// The client of July 2024 left the fields of Cancun out of its seals.
#[test]
fn a_recorded_header_with_fields_that_its_seal_does_not_cover_is_not_judged() {
    let header = headers("local-200.hex").remove(0);
    assert_eq!(header.fields().number, 200);
    let read = SealedHeader::of(header, LOCAL);
    assert_eq!(read.map(drop), Err(Obstacle::UncoveredField.into()));
}

/// The list of a recorded epoch header, in a header that is sealed here.
#[test]
fn the_list_of_a_recorded_epoch_header_is_read() {
    let recorded = headers("local-200.hex").remove(0);
    let extra = &recorded.fields().extra_data;
    let mut header = made::unsealed(recorded.fields(), &[]);
    header.extra_data = extra.clone();
    made::seal(&mut header, &made::validators(0..1)[0], made::CHAIN);
    let list = crate::seals::sealed(&header).unwrap().validators().unwrap();
    let addresses = [
        address!("8fdaaa7e6631e438625ca25c857a3727ea28e565"),
        address!("b2e42bc54d19116d2348ac83461e2e0915d508ad"),
        address!("d9a13701eafb76870cb220843b8c6476824bfa15"),
        address!("e04db2de85453e0936b441c339a26d10cfa71b50"),
    ];
    assert_eq!((list.turn(), list.needed()), (1, 3));
    assert!(list.iter().eq(&addresses));
}
