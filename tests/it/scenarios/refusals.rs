//! A batch with every kind of trouble in it: each entry hears its own reason, and money moves for
//! the good ones alone.

use crate::world::anvil::{Family, Mining};
use crate::world::contracts::Billing::{self, Terms};
use crate::world::contracts::{Merchant, Subscriber};
use crate::world::patience::eventually;
use crate::world::proxy::{Act, SEND, SIMULATE};
use crate::world::signer::{Signer, unix_seconds};
use crate::world::town::{Founding, PRICE, Town, entry, refusals};
use alloy::primitives::U256;
use serde_json::{Value, json};

on_both_families![an_account_that_may_not_bill_refuses_nobody, what_is_refused_is_in_the_ledger,];

/// Writes a scenario once and runs it on every kind of chain.
macro_rules! however_blocks_are_made {
    ($(async fn $name:ident($family:ident: Family, $mining:ident: Mining) $body:block)*) => {
        $(async fn $name($family: Family, $mining: Mining) $body)*

        mod blocks_are_made_at_once {
            use super::{Family, Mining};
            $(#[tokio::test] async fn $name() { super::$name(Family::Evm, Mining::EachTransaction).await })*
        }

        mod a_block_is_made_every_second {
            use super::{Family, Mining};
            $(#[tokio::test] async fn $name() { super::$name(Family::Evm, Mining::EverySeconds(1)).await })*
        }

        mod on_tron_too {
            use super::{Family, Mining};
            $(#[tokio::test] async fn $name() { super::$name(Family::Tron, Mining::EachTransaction).await })*
        }
    };
}

however_blocks_are_made! {
    async fn nobody_pays_when_one_of_a_hundred_cannot(family: Family, mining: Mining) {
        let cast = Cast::gather(family, mining).await;
        let signer = cast.town.signer().await;
        let (sent, charges) = (cast.town.sent().await, cast.town.charges().await);
        let heard = signer.scheduler.bill(&json!(cast.batch)).await;
        assert_eq!((heard.code(), heard.status), (2, 200));
        assert_eq!(heard.failures(), cast.refused);
        assert_eq!(cast.town.sent().await, sent, "no transaction");
        assert_eq!(cast.town.charges().await, charges, "no charge");
        assert_eq!(cast.town.proxy.asked(SEND), 0);
        assert_eq!(batches(&cast.town, signer).await, 0, "nothing in the journal");
    }

    async fn those_who_can_pay_do_and_the_others_hear_why_not(family: Family, mining: Mining) {
        let cast = Cast::gather(family, mining).await;
        let signer = cast.town.signer().await;
        let partial = json!({"mode": "partial", "list": cast.batch});
        let heard = signer.scheduler.bill(&partial).await;
        assert_eq!(heard.failures(), cast.refused);
        let billing = cast.town.settled(&signer, &heard.tx_hash()).await;
        assert_eq!(billing["state"], "charged");
        cast.assert_the_good_paid_once().await;

        let again = signer.scheduler.bill(&partial).await;
        assert_eq!(again.code(), 2, "{again:?}");
        assert_eq!(again.failures(), cast.refused, "whoever pays already has not failed");
        let earlier = again.body["earlier"].as_array().map(Vec::len);
        assert_eq!(earlier, Some(100 - cast.refused.len()));
        cast.assert_the_good_paid_once().await;
    }
}

/// That is nobody's fault but the merchant's, and passes: readiness and every request say so.
async fn an_account_that_may_not_bill_refuses_nobody(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    signer.ready().await;
    let Merchant { mer_key, owner, biller, .. } = town.merchant;
    let says = |allowed| Billing::setBillerCall { merKey: mer_key, who: biller, allowed };
    town.merchant.execute(owner, &says(false)).await;
    for dry_run in [false, true] {
        let asked = json!({"dryRun": dry_run, "mode": "partial", "list": town.entries(0..3)});
        let heard = signer.scheduler.bill(&asked).await;
        assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
        let account = town.spell(biller);
        assert!(heard.text.contains(&format!("does not let {account} bill")), "{heard:?}");
    }
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 503, "{ready:?}");
    assert_eq!(ready.body["chains"][0]["accounts"][0]["status"], ready.body["chains"][0]["status"]);
    assert_eq!(ledger(&signer, "order=oldest").await.len(), 0, "nobody was refused");
    drop(signer);
    let signer = town.signer().await;
    eventually("a start finds it out by itself", async || {
        let metrics = signer.scheduler.get("/metrics").await.text;
        metrics.contains("signer_obstacle{chain=\"139\",reason=\"permission\"} 1")
    })
    .await;
    town.merchant.execute(owner, &says(true)).await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    town.settled(&signer, &heard.tx_hash()).await;
    signer.ready().await;
    town.assert_paid(&[1, 0, 0]).await;
}

async fn what_is_refused_is_in_the_ledger(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let Merchant { mer_key, admins, .. } = &town.merchant;
    let pause = Billing::pausePlanCall { merKey: *mer_key, planId: town.plan.id, paused: true };
    town.merchant.execute(admins[0], &pause).await;
    let all: Vec<_> = town.people.iter().map(|who| (who, "PLAN_INACTIVE")).collect();
    for mode in ["all", "partial"] {
        let heard = signer.scheduler.bill(&json!({"mode": mode, "list": town.entries(0..3)})).await;
        assert_eq!((heard.code(), heard.failures()), (2, refusals(&all)));
    }
    let dry = json!({"dryRun": true, "list": town.entries(0..3)});
    assert_eq!(signer.scheduler.bill(&dry).await.code(), 0);
    town.assert_paid(&[0, 0, 0]).await;

    let told = ledger(&signer, "order=oldest").await;
    assert_eq!(told.len(), 3, "{told:?}");
    for line in &told {
        let known = ["state", "failCode", "refusals", "billing", "txHash"].map(|name| &line[name]);
        let expected =
            [json!("refused"), json!("PLAN_INACTIVE"), json!(2), Value::Null, Value::Null];
        assert_eq!(known, expected.each_ref(), "twice, and a dry run refuses nobody: {line}");
        let stated = ["amount", "token", "wallet", "period", "caller", "refusedAt"];
        assert!(stated.iter().all(|name| !line[name].is_null()), "{line}");
    }
    for (asked, expected) in [
        ("state=refused&reason=PLAN_INACTIVE&limit=2", 2),
        ("state=charged", 0),
        ("reason=NOT_DUE_YET", 0),
    ] {
        assert_eq!(ledger(&signer, asked).await.len(), expected, "{asked}");
    }
    assert_eq!(batches(&town, signer).await, 0, "nothing in the journal");
    let signer = town.signer().await;
    assert_eq!(ledger(&signer, "order=oldest").await, told, "the next process tells the same");
    drop(signer);
    let exported = town.installation.run(&["export"]).await;
    let text = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(text.matches(",refused,PLAN_INACTIVE,").count(), 3, "{text}");
}

async fn ledger(signer: &Signer, asked: &str) -> Vec<Value> {
    let path = format!("/PayTool/charges?{asked}");
    let told = signer.scheduler.send("GET", &path, b"", unix_seconds()).await.unwrap();
    told.body["data"]["charges"].as_array().unwrap_or_else(|| panic!("{told:?}")).clone()
}

#[tokio::test]
async fn what_is_over_or_stopped_is_not_charged() {
    let town = Town::found().await;
    let Town { merchant, token, anvil, .. } = &town;
    let once = merchant.agree(8, Terms { periods: 1, ..merchant.monthly(token, PRICE) }).await;
    let stopped = merchant.agree(9, merchant.monthly(token, PRICE)).await;
    let ended = merchant.crowd(&once, 1).await.remove(0);
    let inactive = merchant.crowd(&stopped, 1).await.remove(0);
    anvil.pass(town.plan.terms.interval.into()).await;
    let pause = Billing::pausePlanCall { merKey: merchant.mer_key, planId: 9, paused: true };
    merchant.execute(merchant.admins[0], &pause).await;
    token.set_paused(true).await;

    let signer = town.signer().await;
    let [late, due, _] = &town.people[..] else { panic!() };
    let list = [entry(&ended, 2), entry(&inactive, 2), entry(late, 1), entry(due, 2)];
    let heard = signer.scheduler.bill(&json!({"mode": "partial", "list": list})).await;
    let reasons = [
        (&ended, "SUBSCRIPTION_ENDED"),
        (&inactive, "PLAN_INACTIVE"),
        (late, "PERIOD_PASSED"),
        (due, "TOKEN_PAUSED"),
    ];
    assert_eq!((heard.code(), heard.failures()), (2, refusals(&reasons)));

    token.set_paused(false).await;
    let heard = signer.scheduler.bill(&json!([entry(due, 2)])).await;
    town.settled(&signer, &heard.tx_hash()).await;
    assert_eq!(town.charges().await, [(due.subscribe_id, 2)]);
}

#[tokio::test]
async fn more_than_fit_in_one_transaction_are_told_how_many_do() {
    let chain_keys = "gas_limit_cap = 3_000_000".to_owned();
    let town = Town::with(Founding { people: 100, chain_keys, ..Founding::default() }).await;
    let [.., poor] = &town.people[..] else { panic!() };
    town.token.set_balance(poor.wallet, 0).await;
    for simulates in [true, false] {
        if !simulates {
            town.proxy.fault(SIMULATE, Act::Refuse("no such method"));
        }
        let signer = town.signer().await;
        // 60 can be simulated but lack the margin; 99 cannot even be simulated.
        for (mode, size) in [("all", 60), ("all", 99), ("partial", 100)] {
            let fit = how_many_fit(&town, &signer, mode, size).await;
            let dry = json!({"dryRun": true, "list": town.entries(0..fit)});
            let heard = signer.scheduler.bill(&dry).await;
            let would_charge = heard.body["data"]["wouldCharge"].as_array().map(Vec::len);
            assert_eq!(would_charge, Some(fit), "of {size}, {mode}: {heard:?}");
        }
        signer.terminate().await;
    }
    assert_eq!(town.proxy.asked(SEND), 0);
}

/// What the Signer says when the first `size` people are too many for one transaction.
async fn how_many_fit(town: &Town, signer: &Signer, mode: &str, size: usize) -> usize {
    let batch = json!({"mode": mode, "list": town.entries(0..size)});
    let told = signer.scheduler.bill(&batch).await;
    assert_eq!((told.code(), told.status), (0, 413), "{size} of {mode}: {told:?}");
    let words = told.body["msg"].as_str().unwrap().split("post at most ").nth(1).unwrap();
    words.split(' ').next().unwrap().parse().unwrap()
}

/// Who can pay, who cannot, and the batch that names them all.
struct Cast {
    town: Town,
    good: Vec<Subscriber>,
    batch: Vec<Value>,
    refused: Vec<(i64, String)>,
}

impl Cast {
    async fn gather(family: Family, mining: Mining) -> Self {
        let town = Town::with(Founding { mining, people: 97, ..Founding::on(family) }).await;
        let mut good = town.people.clone();
        let [
            no_allowance,
            no_balance,
            blocked,
            gone,
            early,
            paid,
            other_version,
            other_amount,
            vague,
        ] = good.split_off(88).try_into().unwrap();
        let twin = twin_of(&town, &good[87]).await;
        let unknown = Merchant::subscriber(&town.plan, 1000);

        let (token, billing) = (&town.token, town.merchant.billing);
        let items = [paid.item(1)];
        let by_the_token = async {
            token.set_balance(no_balance.wallet, PRICE - 1).await;
            token.set_balance(twin.wallet, 2 * PRICE - 1).await;
            token.block(blocked.wallet).await;
        };
        tokio::join!(
            by_the_token,
            token.approve(no_allowance.wallet, billing, U256::from(PRICE - 1)),
            town.merchant.cancel(&gone),
            town.merchant.bill(&items),
        );

        let mut batch: Vec<Value> = good.iter().map(|who| entry(who, 1)).collect();
        let fine = [&no_allowance, &no_balance, &twin, &blocked, &gone, &paid, &unknown];
        batch.extend(fine.map(|who| entry(who, 1)));
        batch.push(entry(&early, 2));
        batch.push(with(&other_version, "planVersion", json!(2)));
        batch.push(with(&other_amount, "amount", json!("9999999999999999999")));
        batch.push(with(&vague, "amount", Value::Null));
        batch.push(entry(&good[0], 1));
        assert_eq!(batch.len(), 100);

        let refused = refusals(&[
            (&no_allowance, "ALLOWANCE_INSUFFICIENT"),
            (&no_balance, "BALANCE_INSUFFICIENT"),
            (&twin, "BALANCE_INSUFFICIENT"),
            (&blocked, "HOLDER_BLOCKED"),
            (&gone, "SUBSCRIPTION_CANCELLED"),
            (&paid, "ALREADY_CHARGED"),
            (&unknown, "SUBSCRIPTION_NOT_FOUND"),
            (&early, "NOT_DUE_YET"),
            (&other_version, "TERMS_MISMATCH"),
            (&other_amount, "TERMS_MISMATCH"),
            (&vague, "INVALID_ENTRY"),
            (&good[0], "DUPLICATE_ENTRY"),
        ]);
        Self { town, good, batch, refused }
    }

    /// By the tokens that moved, and by the contract's own events.
    async fn assert_the_good_paid_once(&self) {
        let (twins, usual) = self.good.split_last().unwrap();
        for who in usual {
            assert_eq!(self.town.payments(who).await, 1, "{}", who.subscribe_id);
        }
        let left = self.town.token.balance(twins.wallet).await;
        assert_eq!(left, U256::from(PRICE - 1), "the wallet that could pay for one of two");
        // One had paid before the Signer came.
        let income = self.town.token.balance(self.town.merchant.payee).await;
        assert_eq!(income, U256::from(PRICE) * U256::from(self.good.len() + 1));
        let mut charges = self.town.charges().await;
        charges.retain(|charge| *charge != (self.town.people[93].subscribe_id, 1));
        let good: Vec<_> = self.good.iter().map(|who| (who.subscribe_id, 1)).collect();
        assert_eq!(charges, good);
    }
}

/// A second subscription that the same wallet pays for.
async fn twin_of(town: &Town, who: &Subscriber) -> Subscriber {
    let other = Merchant::subscriber(&town.plan, 999);
    let twin = Subscriber { wallet: who.wallet, ..other };
    town.merchant.enrol(std::slice::from_ref(&twin)).await;
    twin
}

fn with(who: &Subscriber, field: &str, value: Value) -> Value {
    let mut entry = entry(who, 1);
    entry[field] = value;
    entry
}

/// How many batches the journal holds, read once its Signer has stopped.
async fn batches(town: &Town, signer: Signer) -> i64 {
    signer.terminate().await;
    let journal = rusqlite::Connection::open(town.installation.journal()).unwrap();
    journal.query_one("SELECT count(*) FROM batch", [], |row| row.get(0)).unwrap()
}
