//! The recorded byte vectors: the id and the signer of every transaction that is spelt out.

use sandbox_chains::tron::address;
use sandbox_chains::tron::signature::recover;
use sandbox_chains::tron::tx::Tx;
use serde_json::Value;
use std::path::Path;

#[test]
fn ids_sizes_and_signers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron/vectors.json");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut seen = 0;
    for vector in json["vectors"].as_array().unwrap() {
        let Some(bytes) =
            vector["transaction_hex"].as_str().and_then(|text| hex::decode(text).ok())
        else {
            continue;
        };
        let tx = Tx::decode(&bytes).unwrap();
        assert_eq!(hex::encode(tx.id), vector["txid"], "{}", vector["name"]);
        assert_eq!(tx.size(), vector["size_without_ret"], "{}", vector["name"]);
        if let Some(signature) = vector["canonical_signature"].as_str() {
            let signer = recover(&tx.id, &hex::decode(signature).unwrap()).unwrap();
            assert_eq!(address::hex21(&signer), vector["signer_address"], "{}", vector["name"]);
        }
        seen += 1;
    }
    assert!(seen > 80);
}
