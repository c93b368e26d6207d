//! An id of the platform stands for one network, and a network for one id, as long as the journal lives.

use super::*;

#[tokio::test]
async fn a_renumbered_chain_is_refused_since_its_claims_would_be_forgotten() {
    let book = Book::new().await;
    let before = book.everything().await;
    let renumbered = book.journal.bind(PlatformChainId(140), NETWORK, CONTRACT, NOW_MS).await;
    let told = renumbered.unwrap_err().to_string();
    assert!(told.contains("[chains.139]") && told.contains("[chains.140]"), "{told}");
    let other = Network { id: 1, ..NETWORK };
    let told = book.journal.bind(CHAIN, other, CONTRACT, NOW_MS).await.unwrap_err().to_string();
    assert!(told.contains("31337") && told.contains("the id 1 of EIP-155"), "{told}");
    book.journal.bind(CHAIN, NETWORK, CONTRACT, NOW_MS).await.unwrap();
    assert_eq!(book.everything().await, before, "nothing of it is written");
    book.journal.bind(CHAIN, NETWORK, SIGNER, NOW_MS).await.unwrap();
    let changed = "SELECT count(*) FROM history WHERE event = 'contract changed'";
    let changed = move |conn: &dyn Database| conn.query_row(changed, [], |row| row.get::<i64>(0));
    assert_eq!(book.journal.read(changed).await.unwrap(), 1, "another contract is no other chain");
    let same_number = Network { family: Family::Tvm, ..NETWORK };
    book.journal.bind(PlatformChainId(195), same_number, CONTRACT, NOW_MS).await.unwrap();
}

#[tokio::test]
async fn a_number_that_does_not_fit_is_an_error_and_nothing_is_written() {
    let book = Book::new().await;
    let before = book.everything().await;
    let far = LaneId { signer: Address::repeat_byte(9), ..lane() };
    assert!(book.journal.open_lane(far, u64::MAX, NOW_MS).await.is_err());
    let too_large = Network { id: u64::MAX, ..NETWORK };
    assert!(book.journal.bind(PlatformChainId(1), too_large, CONTRACT, NOW_MS).await.is_err());
    assert_eq!(book.everything().await, before);
}

#[tokio::test]
async fn a_negative_number_is_an_error_and_never_zero() {
    let book = Book::in_a_file().await;
    book.room.forge();
    book.accept(&[item(1, 1)]).await.unwrap();
    let spoil = "PRAGMA ignore_check_constraints = ON; UPDATE batch SET position = -1";
    book.journal.write(move |conn: &dyn Database| run(conn, spoil)).await.unwrap().unwrap();
    assert!(book.journal.take_up(lane()).await.is_err());
}
