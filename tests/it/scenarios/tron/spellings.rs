//! The spellings of an address that TRON knows, and those that it does not.

use super::*;
use crate::world::signer::EVM_PATH;
use crate::world::town::entry;

#[tokio::test]
async fn wallets_and_tokens_are_taken_in_every_spelling_of_tron_and_in_no_wrong_one() {
    let scene = Scene::behind(founded(3, "").await, 10_000).await;
    let who = &scene.town.people[0];
    let with = |field: &str, text: String| {
        let mut entry = entry(who, 1);
        entry[field] = json!(text);
        json!([entry])
    };
    let base58 = scene.town.spell(who.wallet);
    let mut mistyped = base58.clone();
    let last = mistyped.pop().unwrap();
    mistyped.push(if last == 'x' { 'y' } else { 'x' });
    let wrong = [
        (mistyped, "has a wrong checksum"),
        ("T123".to_owned(), "userWallet"),
        (format!("42{}", hex::encode(who.wallet)), "userWallet"),
        ("5".to_owned(), "userWallet"),
    ];
    for (text, says) in wrong {
        let heard = scene.signer.scheduler.bill(&with("userWallet", text.clone())).await;
        assert_eq!((heard.code(), heard.status), (2, 200), "{text}: {heard:?}");
        let failure = &heard.body["data"][0];
        assert_eq!(failure["failCode"], "INVALID_ENTRY", "{text}");
        assert!(failure["failReason"].as_str().unwrap().contains(says), "{text}: {failure}");
    }
    let hash = scene.bill(0).await;
    for text in [base58, format!("41{}", hex::encode(who.wallet)), format!("{:#x}", who.wallet)] {
        let heard = scene.signer.scheduler.bill(&with("userWallet", text.clone())).await;
        assert_eq!(heard.tx_hash(), hash, "{text}");
    }
    let body = json!(scene.town.entries([0])).to_string();
    let heard = scene.signer.scheduler.post(EVM_PATH, body.as_bytes()).await.unwrap();
    assert_eq!((heard.code(), heard.status), (0, 404), "{heard:?}");
    assert_eq!(heard.body["msg"], "no EVM chain is configured");
    scene.ends_with(&[1, 0, 0]).await;
}
