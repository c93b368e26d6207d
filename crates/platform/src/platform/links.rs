//! Links to subscribe and to cancel, as the API gives them.

use super::{Platform, out_trade_no};
use crate::store;
use crate::store::subscriptions::{Link, Purpose, Stage, Subscription, put_link};
use alloy::primitives::keccak256;

/// Lifetime of a link (s): a day, so that nobody has to hurry.
const LIFE_S: u64 = 86_400;

/// A merchant's request for a link.
#[derive(Clone, Debug)]
pub(crate) struct NewLink {
    pub(crate) chain: u32,
    pub(crate) plan: u64,
    pub(crate) external_user: String,
    pub(crate) redirect_url: String,
    pub(crate) notify_url: String,
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("there is no chain {0}: the chain list has the ids")]
    NoChain(u32),
    #[error(
        "there is no active plan {plan} on chain {chain}: a plan needs the approval of a second admin before links are made of it"
    )]
    NoPlan { plan: u64, chain: u32 },
    #[error("{user} has an active subscription to plan {plan} on chain {chain}: {number}")]
    Subscribed { user: String, plan: u64, chain: u32, number: String },
    #[error("there is no subscription {0}")]
    NoSubscription(String),
    #[error("subscription {number} is {stage}: there is nothing to cancel")]
    NotActive { number: String, stage: &'static str },
}

/// The settings with the notify address of the newest link, and with whether one is waited for.
pub(super) const CALLBACKS_URL: &str = "callbacks_url";
const WAITS: &str = "waits_for_a_link";

impl Link {
    /// Its address, without the host.
    pub(crate) fn path(&self) -> String {
        let page = match self.purpose {
            Purpose::Subscribe => "subscribe",
            Purpose::Cancel => "unsubscribe",
        };
        format!("/{page}?apiSign={}", self.token)
    }
}

impl Platform {
    /// A link for a user to subscribe, with a new subscription behind it.
    pub(crate) fn subscribe_link(&self, wanted: &NewLink) -> Result<Link, LinkError> {
        let (chain, plan) = (wanted.chain, wanted.plan);
        let side = self.side(chain).ok_or(LinkError::NoChain(chain))?;
        let version = self.active_version(side, plan)?.ok_or(LinkError::NoPlan { plan, chain })?;
        if let Some(held) = self.held(wanted)? {
            let (user, number) = (wanted.external_user.clone(), held.out_trade_no);
            return Err(LinkError::Subscribed { user, plan, chain, number });
        }
        let earlier = self.store().links()?;
        let made = self.store().open_subscription(|id| {
            let subscription = Subscription {
                id,
                out_trade_no: out_trade_no(chain, id),
                external_user: wanted.external_user.clone(),
                user_hash: keccak256(format!("user {}", wanted.external_user)).to_string(),
                plan,
                chain,
                version,
                notify_url: Some(wanted.notify_url.clone()),
                created_ms: self.clock().now_ms(),
            };
            let (back, notify) = (&wanted.redirect_url, &wanted.notify_url);
            (subscription, self.link(Purpose::Subscribe, earlier, id, back, notify))
        });
        // Those of the founding have no link: what is final of them is told to whoever takes callbacks now.
        self.store().set(CALLBACKS_URL, &wanted.notify_url)?;
        self.store().forget(WAITS)?;
        Ok(made?)
    }

    /// From now on those of the founding are due to nobody, until a merchant makes a link: then it is known where to tell
    /// what becomes of them.
    pub fn wait_for_a_link(&self) -> Result<(), store::Error> {
        self.store().set(WAITS, "yes")
    }

    /// A link for a user to cancel.
    pub(crate) fn cancel_link(
        &self,
        number: &str,
        redirect_url: &str,
        notify_url: &str,
    ) -> Result<Link, LinkError> {
        let found = self.store().by_out_trade_no(number)?;
        let found = found.ok_or_else(|| LinkError::NoSubscription(number.to_owned()))?;
        let stage = self.store().stage(found.id)?;
        if matches!(stage, Stage::Issued | Stage::Cancelled) {
            return Err(LinkError::NotActive { number: number.to_owned(), stage: stage.word() });
        }
        let earlier = self.store().links()?;
        let link = self.link(Purpose::Cancel, earlier, found.id, redirect_url, notify_url);
        put_link(&self.store().lock(), &link)?;
        Ok(link)
    }

    /// A link that `earlier` others were made before.
    fn link(
        &self,
        purpose: Purpose,
        earlier: u64,
        subscribe_id: u64,
        redirect_url: &str,
        notify_url: &str,
    ) -> Link {
        let seed = (purpose, subscribe_id, self.clock().now_ms(), earlier);
        let token = keccak256(format!("{seed:?} {redirect_url} {}", self.credentials().secret));
        Link {
            token: hex::encode(&token[..20]),
            purpose,
            subscribe_id,
            redirect_url: redirect_url.to_owned(),
            notify_url: notify_url.to_owned(),
            expires_s: self.clock().now_s() + LIFE_S,
            wallet: None,
            tx: None,
            note: None,
        }
    }

    /// The subscription to the same plan that the user has and has not cancelled. One that ended by its terms is in nobody's way.
    fn held(&self, wanted: &NewLink) -> Result<Option<Subscription>, store::Error> {
        let found = self.store().of_user(&wanted.external_user, wanted.plan, wanted.chain)?;
        for subscription in found {
            let stage = self.store().stage(subscription.id)?;
            if matches!(stage, Stage::Signed | Stage::Active) && !self.has_ended(&subscription)? {
                return Ok(Some(subscription));
            }
        }
        Ok(None)
    }

    /// Returns true if all periods of a subscription have passed, at the head of its chain.
    fn has_ended(&self, subscription: &Subscription) -> Result<bool, store::Error> {
        let plan =
            self.store().plan(subscription.plan, subscription.chain, subscription.version)?;
        let history = self.store().history(subscription.id)?;
        let registered = history.iter().find(|told| told.kind == store::events::Kind::Register);
        let (Some(plan), Some(registered), Some(side)) =
            (plan, registered, self.side(subscription.chain))
        else {
            return Ok(false);
        };
        let end_s = registered.time_ms / 1000 + plan.delay_s + plan.periods * plan.interval_s;
        Ok(plan.periods > 0 && side.chain.head().time_ms / 1000 >= end_s)
    }
}
