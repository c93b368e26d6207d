//! How answers spell what a family of chains has its own way for.

use super::*;

#[tokio::test]
async fn tron_addresses_and_hashes_are_spelt_as_tron_spells_them() {
    let signer: Address = "0x1a642f0e3c3af545e7acbd38b07251b3990914f1".parse().unwrap();
    let hash = B256::repeat_byte(0xAB);
    let signed = Signed { hash, raw: vec![0x0A], gas_required: 27_859_000 };
    let answer = Answer::Sent(Sent {
        family: Family::Tvm,
        origin: Origin { lane: LaneId { chain: CHAIN, signer }, contract: SIGNER },
        transaction: NamedTransaction::Signed(signed),
        failed: vec![refused().claimed_by(hash)],
        ..sent(Progress::New)
    });
    let sent = told_on(Family::Tvm, answer).await;
    let data = &sent["data"];
    assert_eq!(data["address"], "TCNkawTmcQgYSU8nP8cHswT1QPjharxJr7");
    assert_eq!(data["gasRequired"], "27859000");
    assert_eq!(data["signedTransactionData"], "0a");
    assert_eq!(data["txHash"], "ab".repeat(32));
    assert_eq!(data["failed"][0]["txHash"], "ab".repeat(32));
    let code_2 =
        told_on(Family::Tvm, Answer::Refused(vec![refused().claimed_by(hash)], vec![])).await;
    assert_eq!(code_2["data"][0]["txHash"], "ab".repeat(32));
}
