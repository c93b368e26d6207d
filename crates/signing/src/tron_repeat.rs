//! Another attempt on TRON: the call of a transaction that was signed before, with another deadline.
//!
//! The configured profile was read here, and says which arguments are deadlines. Older profiles come from the process
//! that asks, and a selector tells the types of arguments and not their names. By an older profile nothing may
//! therefore differ but one number that was a time when the earlier transaction was made, and is a time now: an
//! amount or an address that is passed off as a deadline is no such number.

use super::tron_preimage::TronPreimage;
use alloy::primitives::{Address, U256};
use contract::{MovedDeadline, Profile};
use policy::Repeating;
use std::sync::Arc;
use std::time::Duration;
use tron_primitives::transaction::{SignedBytes, Unsigned};

/// The longest that a transaction lives, by the rules of the chain. java-tron: `MAXIMUM_TIME_UNTIL_EXPIRATION`.
const LONGEST_LIFE_MS: u64 = 86_400_000;

/// The age at which no transaction is renewed any more: a batch is renewed for a day at most (`retry_within`), and its
/// transaction lives for a day at most (`expiry`).
const RENEWABLE: Duration = Duration::from_hours(48);

const OTHER: &str = "it does something else than what was signed before";

/// The calls that another attempt of a TRON batch may be: by the profiles of batches, until a moment.
#[derive(Debug)]
pub struct KnownCalls<'a> {
    /// The profile that is configured.
    pub configured: &'a Profile,
    /// Profiles that older batches are said to be signed by.
    pub older: &'a [Arc<Profile>],
    /// Unix seconds.
    pub now_s: u64,
    /// The most that a deadline may be ahead of the clock, seconds.
    pub ahead_s: u64,
}

impl Repeating for TronPreimage<'_> {
    type Known<'a> = KnownCalls<'a>;

    /// The same call with nothing but another deadline. That `earlier` is dead is not shown.
    fn repeats(
        &self,
        earlier: &[u8],
        signer: Address,
        known: &KnownCalls<'_>,
    ) -> Result<(), &'static str> {
        let before = SignedBytes::read(earlier);
        let before = before.map_err(|_| "what was to be signed before is no transaction")?;
        if before.signer() != Some(signer) {
            return Err("what was to be signed before was not signed by this key");
        }
        let (now, before) = (
            Unsigned::read(&self.raw_data).map_err(|_| "its bytes cannot be read")?,
            before.unsigned,
        );
        if now.contract != before.contract {
            return Err("it calls another contract than what was signed before");
        }
        if now.data == before.data {
            return Ok(());
        }
        let by = if known.configured.is_of(&now.data) {
            known.by_configured(&before, &now)?
        } else {
            known.by_older(&before, &now)?
        };
        let stated = by.stated_signers(&now.data);
        if stated.iter().all(|stated| *stated == signer) {
            return Ok(());
        }
        Err("its call names another account as the one that signs")
    }
}

impl KnownCalls<'_> {
    /// The configured profile, if by it nothing but deadlines differs.
    fn by_configured(&self, before: &Unsigned, now: &Unsigned) -> Result<&Profile, &'static str> {
        if !self.configured.differ_in_deadlines(&before.data, &now.data) {
            return Err(OTHER);
        }
        let latest = self.latest();
        let timely = self.configured.deadlines(&now.data).iter().all(|until| *until <= latest);
        if timely {
            Ok(self.configured)
        } else {
            Err("it could charge for longer than is configured")
        }
    }

    /// The older profile by which nothing but one deadline differs.
    fn by_older(&self, before: &Unsigned, now: &Unsigned) -> Result<&Profile, &'static str> {
        let mut moved = self.older.iter().filter_map(|profile| {
            Some((profile.as_ref(), profile.moved_deadline(&before.data, &now.data)?))
        });
        let (by, moved) = moved.next().ok_or(OTHER)?;
        self.check_times(before, moved)?;
        Ok(by)
    }

    /// Checks that both numbers are times: one around the life of `before`, and one from then to the latest.
    fn check_times(&self, before: &Unsigned, moved: MovedDeadline) -> Result<(), &'static str> {
        let made_s = before.timestamp_ms.div_euclid(1000);
        let life_ms = before.expiration_ms.saturating_sub(before.timestamp_ms);
        if life_ms > LONGEST_LIFE_MS || made_s < self.now_s.saturating_sub(RENEWABLE.as_secs()) {
            return Err("what was signed before is too old to be signed again");
        }
        let until_s = before.expiration_ms.div_euclid(1000).saturating_add(self.ahead_s);
        let (made, until) = (U256::from(made_s), U256::from(until_s));
        if !(made..=until).contains(&moved.before) {
            return Err(OTHER);
        }
        if !(made..=self.latest()).contains(&moved.now) {
            return Err("it could charge for longer than is configured");
        }
        Ok(())
    }

    /// The last moment that a call may charge in, Unix seconds.
    fn latest(&self) -> U256 {
        U256::from(self.now_s.saturating_add(self.ahead_s))
    }
}
