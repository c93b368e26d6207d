//! Plans (3.1, 4.12), and a subscription from its link to its end (3.2, 4.1 to 4.4, 6.1, 6.4, 7.1, 7.2).

use crate::world::{CHAINS, PLAN, Signing, World, types};
use merchant::callback::Event;
use merchant::client::CancelRequest;
use merchant::signer::{BillRequest, Failure, Family, Mode, Outcome, Retry, Verdict};
use merchant::types::{ChainId, Chargeable, PlanId, SubscriptionType};
use merchant::{CallError, Full};
use serde_json::json;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_needs_two_admins_and_only_then_gives_links() {
    let world = World::new().await;
    for (chain, _) in CHAINS {
        let plan = PlanId(4_000_000_000_000);
        let proposal = json!({"admin": "first", "planId": plan, "chainId": chain, "amount": "2.5"});
        let admins = world.admins().await;
        let by = |admin: &str| {
            let mut body = proposal.clone();
            body["admin"] = json!(admin);
            body
        };
        world.control("propose-plan", by(&admins[0])).await.unwrap();
        world.finalise().await;
        let request = world.link_request(chain, plan, "user");
        let early = world.client.create_link(&request).await.unwrap_err();
        assert!(early.refusal().is_some(), "a pending plan gives no link: {early}");
        let approval = |admin: &str| json!({"admin": admin, "planId": proposal["planId"], "chainId": proposal["chainId"]});
        let alone = world.control("approve-plan", approval(&admins[0])).await;
        assert!(alone.is_err(), "one admin alone is not enough");
        assert!(world.control("propose-plan", by(&admins[0])).await.is_err(), "an id is unique");
        world.control("approve-plan", approval(&admins[1])).await.unwrap();
        world.finalise().await;
        let link = world.client.create_link(&request).await.unwrap();
        assert!(link.subscription_id.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_whole_expires_and_leads_through_three_steps() {
    let world = World::new().await;
    for (chain, _) in CHAINS {
        let request = world.link_request(chain, PLAN, "user");
        let link = world.client.create_link(&request).await.unwrap();
        assert!(link.url.starts_with(&format!("{}/", world.running.payment_url)), "{}", link.url);
        assert!(link.url.contains("apiSign="), "{}", link.url);
        let now = i64::try_from(world.running.platform.clock().now_s()).unwrap();
        assert!(link.expiration.0 > now, "{link:?}");
        let wallet = world.tester(chain, "ada").await;
        world.press(&link.url, &format!("step=confirm&wallet={wallet}")).await;
        world.finalise().await;
        assert!(world.heard().is_empty(), "to choose a wallet is no event");
        world.press(&link.url, "step=sign").await;
        world.finalise().await;
        assert_eq!(types(&world.heard()), [SubscriptionType::Register]);
        world.press(&link.url, "step=authorise&cap=year").await;
        world.finalise().await;
        let heard = world.heard();
        assert_eq!(types(&heard), [SubscriptionType::Approve]);
        let Event::Subscription(event) = &heard[0].event else { panic!("{heard:?}") };
        assert_eq!(event.external_user_id.as_deref(), Some("user"));
        assert_eq!((event.plan_id, event.chain_id), (Some(PLAN), Some(chain)));
        assert_eq!(event.user_wallet.as_deref(), Some(wallet.as_str()));
        let unknown = world.link_request(chain, PlanId(99), "user");
        assert!(world.client.create_link(&unknown).await.unwrap_err().refusal().is_some());
    }
}

/// Posts what is due once the Signer has seen the newest block, and again while it says to: it may count
/// the deadline of the call from a block before the clock was moved.
async fn bill(
    world: &World,
    signing: &Signing,
    family: Family,
    due: &[Full<Chargeable>],
    id: &str,
) -> Verdict {
    signing.sees(world).await;
    let list: Vec<_> = due.iter().map(Full::raw).collect();
    let request =
        BillRequest { request_id: Some(id), mode: Mode::Partial, dry_run: false, list: &list };
    let body = request.body().unwrap();
    let reverts = |one: &Full<Failure>| one.fail_code.as_deref() == Some("CALL_REVERTED");
    let mut last = None;
    for _ in 0..600 {
        match signing.client.bill(family, &body).await {
            Ok(verdict) if !verdict.failures().iter().any(reverts) => return verdict,
            Err(error) if !error.passes() => panic!("{error}"),
            other => last = Some(other),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no verdict: {last:?}")
}

/// A month later, with the chains' last blocks final.
async fn month(world: &World) {
    world.control("advance", json!({"months": 1})).await.unwrap();
    world.finalise().await;
}

/// A charge that is made: code 1, then the chain, then the callback.
async fn charged(world: &World, signing: &Signing, chain: ChainId, family: Family, id: &str) {
    let due = world.due(chain).await;
    assert_eq!(due.len(), 1);
    let verdict = bill(world, signing, family, &due, id).await;
    let Verdict::Sent(sent) = verdict else { panic!("no code 1: {verdict:?}") };
    assert_eq!(sent.subscription_ids, [due[0].subscribe_id]);
    let Verdict::Sent(again) = bill(world, signing, family, &due, id).await else {
        panic!("no code 1")
    };
    assert_eq!(again.tx_hash, sent.tx_hash, "a repeat is the same transaction");
    world.finalise().await;
    let outcome = signing.outcome(world, &sent.tx_hash).await;
    assert_eq!(
        (&outcome.state, &outcome.subscriptions[0].state),
        (&Outcome::Charged, &Outcome::Charged)
    );
    assert_eq!(outcome.request_id.as_deref(), Some(id));
    let heard = world.heard();
    assert_eq!(types(&heard), [SubscriptionType::Billing]);
    let Event::Subscription(event) = &heard[0].event else { panic!("{heard:?}") };
    assert_eq!(event.transfer_hash.as_deref(), Some(sent.tx_hash.as_str()));
    assert_eq!(event.amount.unwrap().integer(), due[0].amount);
    assert!(world.due(chain).await.is_empty(), "what is charged is not due");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_lives_from_its_link_to_its_end() {
    let world = World::new().await;
    let signing = Signing::start(&world).await;
    for (chain, family) in CHAINS {
        let number = world.subscribed(chain, "user", "ben").await;
        charged(&world, &signing, chain, family, &format!("{chain}-first")).await;
        month(&world).await;
        charged(&world, &signing, chain, family, &format!("{chain}-second")).await;
        month(&world).await;
        refused(&world, &signing, chain, family).await;
        cancelled(&world, &signing, chain, family, &number).await;
    }
}

/// Charges that cannot be made: code 2 with the reason, the funds and what to do; then the same after
/// the cause is gone.
async fn refused(world: &World, signing: &Signing, chain: ChainId, family: Family) {
    for (fault, reason) in [("drain", "Balance insufficient"), ("revoke", "Allowance insufficient")]
    {
        let fault = json!({"kind": fault, "chainId": chain, "wallet": "ben"});
        world.control("fault", fault).await.unwrap();
        world.finalise().await;
        let due = world.due(chain).await;
        let verdict =
            bill(world, signing, family, &due, &format!("{chain}-{}", &reason[..4])).await;
        let Verdict::Refused(failures, _) = verdict else { panic!("no code 2: {verdict:?}") };
        assert_eq!(failures.len(), 1);
        let failure = &failures[0];
        assert_eq!((failure.subscribe_id, failure.plan_id), (due[0].subscribe_id, due[0].plan_id));
        assert_eq!((failure.amount, &failure.user_hash), (due[0].amount, &due[0].user_hash));
        assert_eq!((failure.fail_reason.as_str(), &failure.retry), (reason, &Some(Retry::User)));
        assert!(failure.token_balance.is_some() && failure.token_allowance.is_some());
        let wanted = json!({"kind": "drain", "chainId": chain, "wallet": "ben", "amount": "1000"});
        world.control("fault", wanted).await.unwrap();
        world.finalise().await;
    }
    assert!(world.heard().is_empty(), "nothing was sent, so nothing is told");
}

async fn cancelled(world: &World, signing: &Signing, chain: ChainId, family: Family, number: &str) {
    let due = world.due(chain).await;
    let request = CancelRequest {
        out_trade_no: number.to_owned(),
        redirection_url: "https://shop.example/bye".to_owned(),
        notify_url: world.notify.clone(),
    };
    let link = world.client.create_cancel_link(&request).await.unwrap();
    assert!(link.url.starts_with(&world.running.payment_url) && link.subscription_id.is_none());
    world.press(&link.url, "step=cancel").await;
    world.finalise().await;
    let heard = world.heard();
    assert_eq!(types(&heard), [SubscriptionType::Cancel]);
    let Event::Subscription(event) = &heard[0].event else { panic!("{heard:?}") };
    assert_eq!(event.out_trade_no, number);
    assert!(world.due(chain).await.is_empty(), "what has ended is not due");
    let verdict = bill(world, signing, family, &due, &format!("{chain}-late")).await;
    assert_eq!(verdict.failures()[0].retry, Some(Retry::Stop), "{verdict:?}");
    let unknown = CancelRequest { out_trade_no: "nobody's".to_owned(), ..request };
    let error = world.client.create_cancel_link(&unknown).await.unwrap_err();
    assert!(matches!(error, CallError::Refused(refusal) if refusal.http_status == 404));
}
