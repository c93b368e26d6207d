//! The lists that a merchant configures and reconciles with: subscriptions (2.3, 4.5), chains (4.6) and
//! currencies, and the pages of what is due (4.2).

use crate::world::{CHAINS, PLAN, World};
use futures_util::TryStreamExt as _;
use merchant::client::LARGEST_PAGE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_and_currencies_are_listed() {
    let world = World::new().await;
    let chains = world.client.chains().await.unwrap();
    assert_eq!(chains.len(), CHAINS.len());
    for (chain, _) in CHAINS {
        assert!(chains.iter().any(|one| one.chain_id == chain && one.chain_name.is_some()));
        let currencies = world.client.currencies(chain).await.unwrap();
        assert_eq!(currencies.len(), 1);
        let (found, side) = (&currencies[0], world.side(chain));
        assert_eq!((found.chain_id, found.decimals), (chain, side.decimals));
        assert_eq!(found.address.as_deref(), Some(side.spell(side.town.token).as_str()));
        assert_eq!(found.fields()["exchangeRate"].get(), "\"1\"", "unknown fields are kept");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_and_what_is_due_come_in_pages() {
    let world = World::new().await;
    for (chain, _) in CHAINS {
        let number = world.subscribed(chain, "user", "cleo").await;
        let all: Vec<_> = world.client.subscriptions().try_collect().await.unwrap();
        let one = all.iter().find(|one| one.out_trade_no.as_deref() == Some(&*number)).unwrap();
        assert_eq!((one.chain_id, one.plan_id), (Some(chain), Some(PLAN)));
        let due = world.due(chain).await;
        assert_eq!(Some(due[0].subscribe_id), one.subscription_id, "subscribeId is subscriptionId");
        assert!(due[0].user_hash.is_some() && due[0].amount.is_some());
    }
    let page = world.client.chargeable_page(2, 1).await.unwrap();
    assert_eq!((page.count, page.size, page.list.len()), (Some(2), Some(1), 1));
    let past = world.client.chargeable_page(9, LARGEST_PAGE).await.unwrap();
    assert!(past.list.is_empty());
}
