//! Links for users: to subscribe, and to unsubscribe.

use super::Client;
use crate::error::CallError;
use crate::full::Full;
use crate::time::UnixSeconds;
use crate::types::{ChainId, PlanId, SubscriptionId};
use serde::{Deserialize, Serialize};

/// The request for a link to subscribe.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkRequest {
    /// The chain to subscribe on.
    pub chain_id: ChainId,
    /// An active plan.
    pub plan_id: PlanId,
    /// The merchant's own user.
    pub external_user_id: String,
    /// Address that the user is sent to afterwards.
    pub redirection_url: String,
    /// Public HTTPS address for callbacks.
    pub notify_url: String,
}

/// The request for a link to unsubscribe.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelRequest {
    /// The order's id, as callbacks name it.
    pub out_trade_no: String,
    /// Address that the user is sent to afterwards.
    pub redirection_url: String,
    /// Public HTTPS address for callbacks.
    pub notify_url: String,
}

/// A link to hand to a user.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The whole address, ready to open.
    pub url: String,
    /// From when on it no longer works.
    pub expiration: UnixSeconds,
    /// The new subscription; `None` for a link to unsubscribe.
    pub subscription_id: Option<SubscriptionId>,
    /// The answer as it came. Its `paymentUrl` is a path and leads nowhere alone.
    pub answer: Full<LinkAnswer>,
}

/// The data of the platform's answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LinkAnswer {
    subscription_id: Option<SubscriptionId>,
    payment_url: String,
    expiration: UnixSeconds,
}

impl Client {
    /// 4.1: a link on which one user can subscribe to one plan. Not repeated: every call makes a new
    /// order.
    pub async fn create_link(&self, request: &LinkRequest) -> Result<Link, CallError> {
        self.link(self.change("/api/mer/subscribe/payment/create", request).await?)
    }

    /// 4.4: a link on which the user can end a subscription.
    pub async fn create_cancel_link(&self, request: &CancelRequest) -> Result<Link, CallError> {
        self.link(self.change("/api/mer/subscribe/cancel/create", request).await?)
    }

    fn link(&self, answer: Full<LinkAnswer>) -> Result<Link, CallError> {
        let path = &answer.payment_url;
        // "//host" would be another host's page.
        if !path.starts_with('/') || path.starts_with("//") {
            let why = format!("paymentUrl {path:?} is no path that begins with one /");
            return Err(CallError::Unreadable { http_status: 200, why });
        }
        Ok(Link {
            url: format!("{}{path}", self.payment_url),
            expiration: answer.expiration,
            subscription_id: answer.subscription_id,
            answer,
        })
    }
}
