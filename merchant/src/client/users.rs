//! Users with recharge addresses, recharges, and a withdrawal's detail: reads of one record.

use super::Client;
use super::lists::query;
use crate::error::CallError;
use crate::full::Full;
use crate::types::{Recharge, RechargeId, User, UserId, WithdrawId, Withdrawal};
use serde::Serialize;

/// The name that a withdrawal is looked up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithdrawName<'a> {
    /// The platform's id.
    Id(WithdrawId),
    /// The merchant's own number.
    OutTradeNo(&'a str),
}

#[derive(Serialize)]
struct NewUser<'a> {
    uuid: &'a str,
}

impl Client {
    /// 4.7: makes a user, or names the one that is there.
    pub async fn create_user(&self, uuid: &str) -> Result<UserId, CallError> {
        self.change("/api/mer/user/create", &NewUser { uuid }).await
    }

    /// 4.8: a user with recharge addresses; `None` if there is none.
    pub async fn user(&self, uuid: &str) -> Result<Option<Full<User>>, CallError> {
        self.find(&query("/api/mer/user/detail", &[("uuid", uuid)])).await
    }

    /// 4.9: a recharge; `None` if there is none.
    pub async fn recharge(&self, id: RechargeId) -> Result<Option<Full<Recharge>>, CallError> {
        self.find(&query("/api/mer/recharge/detail", &[("rechargeId", &id.to_string())])).await
    }

    /// 4.11: a withdrawal; `None` if there is none.
    pub async fn withdrawal(
        &self,
        name: WithdrawName<'_>,
    ) -> Result<Option<Full<Withdrawal>>, CallError> {
        let path = "/api/mer/withdraw/detail";
        match name {
            WithdrawName::Id(id) => {
                self.find(&query(path, &[("withdrawId", &id.to_string())])).await
            }
            WithdrawName::OutTradeNo(number) => {
                self.find(&query(path, &[("outTradeNo", number)])).await
            }
        }
    }
}
