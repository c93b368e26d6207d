//! Blocks that say otherwise than the record of a transaction, or nothing, and nodes that are blamed for it.

use super::golden_billing;
use super::node::{account, node, parts};
use super::sightings::{at_head, holds, looked, said, sent, slot};
use super::*;

/// The look at the recorded batch of 14b, whose record says that it succeeded, in a block with this word.
struct Look {
    sighting: Sighting,
    /// True if the node that told the record is not believed any more.
    caught: bool,
}

async fn look(word: &str) -> Look {
    let double = node();
    serving(&double, async |url| {
        let (_, mut parts) = parts(url);
        Arc::make_mut(&mut parts.config).contract = golden_billing::contract();
        let account = account(key(&"07".repeat(32)), golden_billing::profile(), &parts.config);
        let (fleet, raw) = (Arc::clone(&parts.fleet), sent(golden_billing::FILE, 6));
        let chain = TronChain::connect(account, parts).await.unwrap();
        at_head(&double, &said("17_expired_without_inclusion.json", 9));
        let mut info: Value = serde_json::from_str(&said(golden_billing::FILE, 7)).unwrap();
        assert_eq!(info["receipt"]["result"], "SUCCESS");
        double.says("/walletsolidity/gettransactioninfobyid", 200, &info.to_string());
        info["receipt"]["result"] = word.into();
        holds(&double, &raw, &info);
        let sighting = looked(&chain, &slot(&[raw])).await;
        Look { sighting, caught: fleet.fit().is_empty() }
    })
    .await
}

#[tokio::test]
async fn a_node_is_caught_where_the_block_proves_another_ending_and_not_where_it_proves_none() {
    for (word, is_final, caught) in [
        ("SUCCESS", true, false),
        ("REVERT", false, true),
        ("UNKNOWN", false, false),
        ("DEFAULT", false, false),
    ] {
        let look = look(word).await;
        assert_eq!(
            matches!(look.sighting, Sighting::Final(..)),
            is_final,
            "{word} {:?}",
            look.sighting
        );
        assert_eq!(look.caught, caught, "{word}");
    }
}
