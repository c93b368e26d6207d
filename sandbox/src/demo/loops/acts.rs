//! The steps of the loop.

use super::super::Error;
use super::Loop;
use merchant::client::{CancelRequest, LinkRequest, WithdrawName, WithdrawRequest};
use merchant::schedule::Whereabouts;
use merchant::types::{ChainId, CurrencyId, PlanId, RechargeId};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The plan of the loop.
const PLAN: i64 = 21;
/// The user who subscribes and deposits.
const USER: &str = "user-1001";
/// Time the Signer may take to see a final block, or a chain whose time was moved.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval between two queries of the Signer.
const LOOK: Duration = Duration::from_millis(50);

impl Loop<'_> {
    fn chain(&self) -> ChainId {
        ChainId(self.side.chain.into())
    }

    /// 3.1: one admin proposes a plan, a second approves it.
    pub(super) async fn plan(&mut self) -> Result<(), Error> {
        let (chain, merchant) = (self.side.chain, self.merchant);
        let terms = json!({"admin": "alice", "planId": PLAN, "chainId": chain, "name": "Gold", "amount": "5"});
        merchant.press("propose-plan", terms).await?;
        self.finalise().await?;
        let early = self.link().await.is_err();
        self.step("3.1", "a plan is proposed", early, "pending: no link can be made of it");
        merchant
            .press("approve-plan", json!({"admin": "bob", "planId": PLAN, "chainId": chain}))
            .await?;
        self.finalise().await?;
        self.done("3.1", "a second admin approves it", "Active, on chain");
        Ok(())
    }

    async fn link(&self) -> Result<merchant::client::Link, merchant::CallError> {
        let request = LinkRequest {
            chain_id: self.chain(),
            plan_id: PlanId(PLAN),
            external_user_id: USER.to_owned(),
            redirection_url: "https://shop.example/thanks".to_owned(),
            notify_url: self.merchant.notify_url.clone(),
        };
        self.merchant.client.create_link(&request).await
    }

    /// 4.1, 3.2, 6.1: a link, and the user's three steps; the order number.
    pub(super) async fn subscribe(&mut self) -> Result<String, Error> {
        let link = self.link().await?;
        self.step("4.1", "a link for a user", link.subscription_id.is_some(), &link.url);
        let mut follow = json!({"paymentUrl": link.url, "wallet": "ada", "authorise": false});
        let done = self.merchant.press("follow-link", follow.clone()).await?;
        let number = done["outTradeNo"].as_str().unwrap_or_default().to_owned();
        self.finalise().await?;
        self.told("3.2, 6.1", "the user confirms and signs", &number, "SubscriptionRegister").await;
        follow["authorise"] = json!(true);
        self.merchant.press("follow-link", follow).await?;
        self.finalise().await?;
        self.told("3.2, 6.1", "the user authorises", &number, "SubscriptionApprove").await;
        Ok(number)
    }

    /// Records as a step that a callback for an order arrived, or that none did.
    async fn told(&mut self, section: &'static str, step: &'static str, number: &str, kind: &str) {
        let heard = self.merchant.heard("subscriptionType", &json!(kind)).await;
        let held = heard.as_ref().is_some_and(|body| body["outTradeNo"] == number);
        let saw = format!("callback {kind}, {number}");
        self.step(section, step, held, if held { &saw } else { "no callback" });
    }

    /// Returns the subscription of the user that is due, if any.
    async fn due(&self) -> Result<Option<Value>, Error> {
        let due = self.merchant.due().await?;
        let mine =
            |entry: &&Value| entry["externalUserId"] == USER && entry["chainId"] == self.side.chain;
        Ok(due.iter().find(mine).cloned())
    }

    /// 4.2, 4.3, 6.1: what is due is found by the scheduler, charged by the Signer, and told.
    pub(super) async fn charge(&mut self) -> Result<(), Error> {
        let due = self.due().await?.unwrap_or_default();
        let saw = format!(
            "{}, period {}, {} base units",
            due["subscribeId"],
            due["period"],
            plain(&due["amount"])
        );
        self.step("4.2", "the list has what is due", due["period"] == 1, &saw);
        let found = self.schedule(&due).await?;
        let hash = found.tx_hash.clone().unwrap_or_default();
        let held = found.word == "billing";
        self.step("4.3, 7", "the scheduler has it billed", held, &found.to_string());
        let state = self.decided(&hash).await?;
        self.step("7", "the Signer knows the outcome", state == "charged", &state);
        let heard = self.merchant.heard("transferHash", &json!(hash)).await.unwrap_or_default();
        let held =
            heard["subscriptionType"] == "SubscriptionBilling" && heard["billingStatus"] == 0;
        self.step(
            "3.2, 6.1",
            "the charge is told",
            held,
            "callback SubscriptionBilling with the same hash",
        );
        let found = self.schedule(&due).await?;
        self.step(
            "4.3, 7",
            "the scheduler sees the end of it",
            found.word == "charged",
            &found.to_string(),
        );
        Ok(())
    }

    /// Runs the scheduler once over everything due on both chains, and returns the state of one subscription after
    /// that.
    async fn schedule(&self, due: &Value) -> Result<Whereabouts, Error> {
        let run = self.scheduler.run().await?;
        self.paper.line(&format!("      {run}"));
        let id = due["subscribeId"].as_i64().unwrap_or_default();
        self.scheduler.whereabouts(self.side.chain, id)
    }

    /// Returns the final state of a billing. Blocks are made meanwhile.
    async fn decided(&self, hash: &str) -> Result<String, Error> {
        let began = Instant::now();
        self.finalise().await?;
        loop {
            let billing = self.scheduler.billing(hash).await?;
            let state = billing["state"].as_str().unwrap_or_default().to_owned();
            if state != "open" || began.elapsed() > PATIENCE {
                return Ok(state);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The clock moves on by a month.
    pub(super) async fn next_month(&mut self) -> Result<(), Error> {
        let paid = self.due().await?.is_none();
        self.step("4.2", "what is paid is not due", paid, "not on the list");
        let moved = self.merchant.press("advance", json!({"months": 1})).await?;
        let due = self.due().await?.unwrap_or_default();
        let saw = format!("it is {}; period {} is due", plain(&moved["date"]), due["period"]);
        self.step("4.2", "a month later", due["period"] == 2, &saw);
        Ok(())
    }

    /// 7.2: the wallet has taken its allowance back.
    pub(super) async fn fail(&mut self) -> Result<(), Error> {
        let revoke = json!({"kind": "revoke", "chainId": self.side.chain, "wallet": "ada"});
        self.merchant.press("fault", revoke).await?;
        self.finalise().await?;
        let due = self.due().await?.unwrap_or_default();
        let found = self.schedule(&due).await?;
        let held = found.fail_reason.as_deref() == Some("Allowance insufficient");
        self.step("7.1, 7.2", "a charge that cannot be made", held, &found.to_string());
        Ok(())
    }

    /// 4.4, 3.2, 6.1: the user leaves.
    pub(super) async fn cancel(&mut self, number: &str) -> Result<(), Error> {
        let request = CancelRequest {
            out_trade_no: number.to_owned(),
            redirection_url: "https://shop.example/bye".to_owned(),
            notify_url: self.merchant.notify_url.clone(),
        };
        let link = self.merchant.client.create_cancel_link(&request).await?;
        self.step("4.4", "a link to unsubscribe", link.subscription_id.is_none(), &link.url);
        self.merchant.press("follow-link", json!({"paymentUrl": link.url})).await?;
        self.finalise().await?;
        self.told("3.2, 6.1", "the user cancels", number, "SubscriptionCancel").await;
        let gone = self.due().await?.is_none();
        self.step("4.2", "what is cancelled is not due", gone, "not on the list");
        Ok(())
    }

    /// 4.7 to 4.9, 3.3, 6.2: a user's own address, and what arrives there.
    pub(super) async fn recharge(&mut self) -> Result<(), Error> {
        let (merchant, chain) = (self.merchant, self.side.chain);
        merchant.press("organisation", json!({"rechargeCallbackUrl": merchant.notify_url})).await?;
        let id = merchant.client.create_user(USER).await?;
        let user = merchant.client.user(USER).await?.ok_or("the user is not found")?;
        let user: Value = serde_json::from_str(user.raw().get())?;
        let wallets = user["userWallet"].as_array().cloned().unwrap_or_default();
        let wallet =
            wallets.into_iter().find(|wallet| wallet["chainId"] == chain).unwrap_or_default();
        let to = wallet["walletAddress"].clone();
        self.step(
            "4.7, 4.8",
            "a user has an own address",
            to.is_string(),
            &format!("user {id}: {}", plain(&to)),
        );
        merchant
            .press("transfer", json!({"chainId": chain, "from": "ben", "to": to, "amount": "25"}))
            .await?;
        self.finalise().await?;
        let heard = merchant.heard("walletAddress", &to).await.unwrap_or_default();
        let recharge = heard["rechargeId"].as_i64().unwrap_or_default();
        self.step(
            "3.3, 6.2",
            "a deposit is told",
            heard["rechargeStatus"] == 0,
            &format!("recharge {recharge}, {} base units", plain(&heard["rechargeAmount"])),
        );
        let detail = merchant.client.recharge(RechargeId(recharge)).await?;
        let detail: Value = detail
            .map(|full| serde_json::from_str(full.raw().get()))
            .transpose()?
            .unwrap_or_default();
        self.step(
            "4.9",
            "its detail is the same",
            detail == heard,
            &format!("from {}", plain(&detail["fromAddress"])),
        );
        merchant.press("sweep", json!({"chainId": chain, "uuid": USER})).await?;
        self.finalise().await
    }

    /// 4.10, 4.11, 3.4, 6.3: money leaves.
    pub(super) async fn withdraw(&mut self) -> Result<(), Error> {
        let (merchant, chain) = (self.merchant, self.side.chain);
        let number = format!("payout-{chain}");
        let currency = merchant.client.currencies(self.chain()).await?;
        let currency = currency.first().map_or(CurrencyId(0), |currency| currency.currency_id);
        let request = WithdrawRequest {
            chain_id: self.chain(),
            currency_id: currency,
            withdraw_address: self.side.family.spell(self.side.town.mer_key),
            withdraw_amount: "12.5".parse()?,
            out_trade_no: number.clone(),
            notify_url: Some(merchant.notify_url.clone()),
        };
        let applied = merchant.client.withdraw_apply(&request).await?;
        let again = merchant.client.withdraw_apply(&request).await?;
        let same = again.withdraw_id == applied.withdraw_id && again.found && !applied.found;
        let id = applied.withdraw_id;
        self.step(
            "4.10",
            "a withdrawal is applied for",
            same,
            &format!("withdrawal {id}; applied for twice, it is one"),
        );
        merchant
            .press(
                "decide-withdrawal",
                json!({"withdrawId": id.0, "approve": true, "admin": "bob"}),
            )
            .await?;
        self.finalise().await?;
        self.finalise().await?;
        let heard = merchant.heard("outTradeNo", &json!(number)).await.unwrap_or_default();
        let held = heard["withdrawStatus"] == 0;
        self.step(
            "3.4, 6.3",
            "an admin approves, it is paid",
            held,
            &format!("callback, {}", plain(&heard["transferHash"])),
        );
        let detail = merchant.client.withdrawal(WithdrawName::OutTradeNo(&number)).await?;
        let detail: Value = detail
            .map(|full| serde_json::from_str(full.raw().get()))
            .transpose()?
            .unwrap_or_default();
        self.step(
            "4.11",
            "its detail is the same",
            detail["transferHash"] == heard["transferHash"],
            &format!("status {}", detail["withdrawStatus"]),
        );
        Ok(())
    }
}

/// A text without the marks that JSON puts around it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
