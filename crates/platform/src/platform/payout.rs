//! Withdrawals that were approved: signed, kept, sent, and followed until the chain has decided.

use super::{Platform, Side};
use crate::chain::Landed;
use crate::contracts::Token;
use crate::store;
use crate::store::withdrawals::{Status, Withdrawal};
use alloy::primitives::{B256, U256};
use alloy::sol_types::SolCall as _;
use sandbox_chains::town::wallet;

impl Platform {
    /// An admin approves or rejects; false if somebody was first. The money moves later, by [`Self::pay_out`].
    pub(crate) fn decide(&self, id: u64, approved: bool, by: &str) -> Result<bool, store::Error> {
        let status = if approved { Status::Review } else { Status::Rejected };
        let decided = self.store().decide(id, status, by, self.clock().now_ms())?;
        if decided {
            let verb = if approved { "approves" } else { "rejects" };
            self.say(format!("admin     {by} {verb} withdrawal {id}"));
            if !approved && let Some(withdrawal) = self.store().withdrawal(Some(id), None)? {
                self.tell_withdrawal(&withdrawal)?;
            }
        }
        Ok(decided)
    }

    /// Takes every withdrawal of a chain a step on.
    pub(super) fn pay_out(&self, side: &Side) -> Result<(), store::Error> {
        // The withdrawals that are signed already come first: the pool has to know their nonces before another
        // transfer takes the next one.
        for withdrawal in self.store().withdrawals_in(side.id, Status::Confirming)? {
            self.follow_money(side, &withdrawal)?;
        }
        for withdrawal in self.store().withdrawals_in(side.id, Status::Review)? {
            self.send_money(side, &withdrawal)?;
        }
        Ok(())
    }

    /// Signs the transfer, keeps its bytes, and only then sends them.
    fn send_money(&self, side: &Side, withdrawal: &Withdrawal) -> Result<(), store::Error> {
        let amount = withdrawal.amount.parse().unwrap_or(U256::MAX);
        let Some(to) = side.family().parse(&withdrawal.address) else {
            return self.end(withdrawal, Status::Failure, "the address is none of this chain");
        };
        if side.holds(side.town.payee) < amount {
            return self.end(
                withdrawal,
                Status::Failure,
                "the merchant's wallet does not hold enough",
            );
        }
        let call = Token::transferCall { to, value: amount };
        let pen = side.pen.lock();
        let sent = side.chain.sign(&wallet("payee"), side.town.token, call.abi_encode().into());
        let hash = side.family().spell_hash(sent.hash);
        self.store().signed(withdrawal.id, &hash, &sent.raw)?;
        self.offer(side, &sent.raw);
        drop(pen);
        Ok(())
    }

    /// The same bytes again while they can land; another transfer only once the chain has proven that they never will.
    fn follow_money(&self, side: &Side, withdrawal: &Withdrawal) -> Result<(), store::Error> {
        let raw = withdrawal.raw.as_deref().unwrap_or_default();
        let hash = withdrawal.tx.as_deref().and_then(|hash| hash.parse::<B256>().ok());
        match hash.and_then(|hash| side.chain.find(&hash).landed()) {
            Some(Landed { point, succeeded }) if point.number <= side.chain.solid().number => {
                if succeeded {
                    self.end(withdrawal, Status::Success, "")
                } else {
                    self.end(withdrawal, Status::Failure, "the transfer failed on the chain")
                }
            }
            Some(_) => Ok(()),
            None if side.chain.is_dead(raw) => self.send_money(side, withdrawal),
            None => {
                self.offer(side, raw);
                Ok(())
            }
        }
    }

    /// Sends bytes that the chain may know already: what it says decides nothing.
    fn offer(&self, side: &Side, raw: &[u8]) {
        if let Err(refused) = side.chain.send(raw) {
            let known = ["already known", "Dup transaction.", "Transaction already exists."];
            if !known.contains(&refused.0.as_str()) {
                self.say(format!(
                    "chain     {} does not take a withdrawal now: {refused}",
                    side.name()
                ));
            }
        }
    }

    fn end(&self, withdrawal: &Withdrawal, status: Status, note: &str) -> Result<(), store::Error> {
        if self.store().end(withdrawal.id, status, note)?
            && let Some(ended) = self.store().withdrawal(Some(withdrawal.id), None)?
        {
            self.tell_withdrawal(&ended)?;
        }
        Ok(())
    }
}
