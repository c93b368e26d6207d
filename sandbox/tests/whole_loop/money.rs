//! Money beside the subscriptions: users deposit, and the merchant pays itself out, each once whatever is killed meanwhile.

use super::place::{KEY, Place};
use super::world::{CHAINS, LOOK, World, count};
use merchant::Client;
use merchant::client::{WithdrawName, WithdrawRequest};
use merchant::sign::Credentials;
use merchant::types::{ChainId, CurrencyId, WithdrawStatus};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A deposit, and a withdrawal (whole tokens).
const AMOUNT: u64 = 3;

/// The platform's id of a chain's currency, and an address of nobody's that withdrawals are paid to.
fn desk(chain: i64) -> (i64, &'static str) {
    match chain {
        139 => (1391, "0x00000000000000000000000000000000000000bb"),
        _ => (1361, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
    }
}

/// The merchant's client; what it asks goes by a road.
fn client(place: &Place) -> Client {
    let [key, secret] = KEY;
    let base = place.road("merchant to platform");
    Client::new(base, base, Credentials::new(key, secret)).unwrap()
}

impl World {
    /// Users deposit, and the merchant is paid out, on each chain once. Returns when the chain has the one and the platform's
    /// admins have approved the other.
    pub(crate) async fn money_moves(&self, period: u64) {
        for chain in CHAINS {
            self.deposit(chain).await;
            self.withdraw(chain, period).await;
        }
    }

    async fn deposit(&self, chain: i64) {
        let to = self.deposit_address(chain).await;
        let sent =
            json!({"chainId": chain, "from": "finn", "to": to, "amount": AMOUNT.to_string()});
        let wanted = loop {
            if let Some(held) = self.held(chain, &to).await {
                break held + AMOUNT;
            }
            tokio::time::sleep(LOOK).await;
        };
        // What was sent may be lost with the platform that was killed before the next block: then it is sent again.
        while self.held(chain, &to).await.is_none_or(|held| held < wanted) {
            drop(self.tried("transfer", &sent).await);
            tokio::time::sleep(4 * LOOK).await;
        }
    }

    /// The address of this chain's depositor, who is made if there is none.
    async fn deposit_address(&self, chain: i64) -> String {
        let client = client(&self.place);
        loop {
            let uuid = "depositor";
            drop(client.create_user(uuid).await);
            if let Ok(Some(user)) = client.user(uuid).await {
                let wallet = user.user_wallet.iter().find(|one| one.chain_id == ChainId(chain));
                return wallet.unwrap().wallet_address.clone();
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn withdraw(&self, chain: i64, period: u64) {
        let (currency, address) = desk(chain);
        let number = format!("payout-{chain}-{period}");
        let request = WithdrawRequest {
            chain_id: ChainId(chain),
            currency_id: CurrencyId(currency),
            withdraw_address: address.to_owned(),
            withdraw_amount: AMOUNT.to_string().parse().unwrap(),
            out_trade_no: number.clone(),
            notify_url: Some(format!("{}/callbacks", self.place.road("platform to inbox"))),
        };
        let client = client(&self.place);
        loop {
            if let Ok(applied) = client.withdraw_apply(&request).await {
                let id = applied.withdraw_id;
                let yes = json!({"withdrawId": id, "approve": true, "admin": "bob"});
                drop(self.tried("decide-withdrawal", &yes).await);
                if let Ok(Some(told)) = client.withdrawal(WithdrawName::OutTradeNo(&number)).await
                    && told.withdraw_status != WithdrawStatus::PendingApproval
                {
                    return;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What an address holds (whole tokens); nothing while the platform does not answer.
    async fn held(&self, chain: i64, of: &str) -> Option<u64> {
        let held = self.tried("balance", &json!({"chainId": chain, "of": of})).await.ok()?;
        held["amount"].as_str()?.split('.').next()?.parse().ok()
    }

    /// What has been paid out on a chain (whole tokens).
    pub(crate) async fn paid_out(&self, chain: i64) -> u64 {
        self.held(chain, desk(chain).1).await.unwrap()
    }

    /// Whether the inbox has heard of every deposit and every withdrawal.
    pub(crate) async fn money_is_told(&self, events: &[Value], periods: u64) -> bool {
        let mut deposited = 0;
        for chain in CHAINS {
            let to = self.deposit_address(chain).await;
            deposited += self.held(chain, &to).await.unwrap() / AMOUNT;
        }
        let withdrawals = u64::try_from(CHAINS.len()).unwrap() * periods;
        [("Recharge", deposited), ("Withdrawal", withdrawals)]
            .into_iter()
            .all(|(kind, wanted)| u64::try_from(count(events, kind)).unwrap() >= wanted)
    }

    /// The chain, the platform and the inbox agree about every deposit and every withdrawal.
    pub(crate) async fn compare_money(&self, events: &[Value], periods: u64) {
        for chain in CHAINS {
            let of_chain = |kind: &'static str| {
                let mine = move |event: &&Value| {
                    event["type"] == kind && event["payload"]["chainId"] == chain
                };
                events.iter().filter(mine).collect::<Vec<_>>()
            };
            let deposits = of_chain("Recharge");
            assert!(
                deposits.iter().all(|one| one["payload"]["rechargeStatus"] == 0),
                "{deposits:?}"
            );
            let to = self.deposit_address(chain).await;
            let held = self.held(chain, &to).await.unwrap();
            let told = u64::try_from(deposits.len()).unwrap() * AMOUNT;
            assert_eq!(told, held, "each deposit on {chain} is told of once: {deposits:?}");
            assert!(held > 0, "nobody deposited on {chain}");

            let withdrawals = of_chain("Withdrawal");
            let mut by_number: BTreeMap<String, u64> = BTreeMap::new();
            for one in &withdrawals {
                assert_eq!(one["payload"]["withdrawStatus"], 0, "{one}");
                *by_number.entry(one["payload"]["outTradeNo"].to_string()).or_default() += 1;
            }
            assert_eq!(u64::try_from(by_number.len()).unwrap(), periods, "{by_number:?}");
            assert!(by_number.values().all(|told| *told == 1), "{by_number:?}");
            assert_eq!(
                self.paid_out(chain).await,
                periods * AMOUNT,
                "paid out once each, on {chain}"
            );
        }
    }
}
