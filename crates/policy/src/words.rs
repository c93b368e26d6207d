//! The limits and the sums of a day, as people read them.

use super::{Policy, Unit};
use alloy::primitives::{Address, U256};
use billing::Denomination;
use config::TokenLimits;

/// The unit in which people read an amount of a token with these limits.
pub(super) fn told_in(limits: &TokenLimits, name: &str) -> Denomination {
    Denomination::Token { name: name.to_owned(), decimals: limits.decimals }
}

impl Policy {
    /// Returns the denomination in which a person is told an amount of the chain's coin.
    pub(super) fn coin(&self) -> Denomination {
        Denomination::Coin { family: self.family, network: self.bound_to.unwrap_or_default() }
    }

    /// Returns the denomination in which a person is told an amount of a token.
    pub(super) fn token(&self, token: Address) -> Denomination {
        let mut named = self.limits.tokens.iter();
        let named = named.find(|(_, limits)| limits.address == token);
        named.map_or_else(
            || Denomination::Token { name: self.spell(token), decimals: None },
            |(name, limits)| told_in(limits, name),
        )
    }

    /// One sum of a day in words, by its word in the journal.
    pub fn spent_in_words(&self, unit: &str, amount: U256) -> String {
        if unit == Unit::Fee.word() {
            return format!("fees of at most {}", self.coin().tell(amount));
        }
        let token = unit.parse().map(|token| self.token(token));
        token.map_or_else(|_| format!("{amount} {unit}"), |token| token.tell(amount))
    }

    /// The limits in words, and whether an amount or a fee is without one.
    pub fn describe(&self) -> (String, bool) {
        let limits = &self.limits;
        let batch =
            limits.max_batch.map_or("any number".to_owned(), |most| format!("at most {most}"));
        let mut words = vec![format!("{batch} of charges at once")];
        let mut open = limits.max_fee_per_day.is_none() || limits.tokens.is_empty();
        words.push(limits.max_fee_per_day.map_or_else(
            || "any fees".to_owned(),
            |most| format!("fees of at most {} a day", self.coin().tell(most)),
        ));
        if limits.tokens.is_empty() {
            words.push("any amount of any token".to_owned());
        }
        for (name, limits) in &limits.tokens {
            open |= limits.max_amount.is_none() || limits.max_amount_per_day.is_none();
            let told = |most: Option<U256>| match most {
                Some(most) => told_in(limits, name).tell(most),
                None => format!("any amount of {name}"),
            };
            let (one, day) = (told(limits.max_amount), told(limits.max_amount_per_day));
            words.push(format!("{one} a charge, {day} a day"));
        }
        (words.join("; "), open)
    }
}
