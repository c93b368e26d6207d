//! The energy that a charge costs: `check` tells it for the tokens that may be charged, since the chain makes a
//! token dearer that everybody uses.

use super::super::head::TronHead;
use super::super::resources::charges_within;
use super::Inspection;
use crate::Finding;
use alloy::primitives::Address;
use alloy::primitives::utils::format_units;
use futures_util::future::join_all;
use tron_primitives::address::to_base58;

/// Energy that a charge of the reference contract uses in a large batch, beside the energy of its token.
const CONTRACT: u64 = 13_470;

/// Energy that a token in the style of USDT uses for a charge: the transfer and three questions for balances.
const TOKEN: u64 = 15_240;

/// The highest factor that the main network gives a contract, ten-thousandths (`getDynamicEnergyMaxFactor`). USDT
/// has it.
const HIGHEST: u64 = 34_000;

/// Number of charges of the reference contract that take 50 ms of a quiet node, whatever they cost.
const IN_TIME: u64 = 39;

/// Returns the energy that a charge of the reference contract takes with a token of this factor.
fn of_charge(factor: u64) -> u64 {
    let of_token = TOKEN.saturating_mul(factor.saturating_add(10_000)).div_euclid(10_000);
    CONTRACT.saturating_add(of_token)
}

impl Inspection<'_> {
    /// Finds out the energy that a charge takes with each configured token, or with tokens as they may be where
    /// none is configured.
    pub(super) async fn energy_of_charges(&self, head: &TronHead) -> Vec<Finding> {
        let tokens = self.access().account.policy.tokens();
        let told = join_all(tokens.map(|(name, token)| self.of_token(name, token, head))).await;
        if !told.is_empty() {
            return told;
        }
        let cold = self.words(0, head);
        let hot = self.words(HIGHEST, head);
        let said = format!(
            "a token that hardly anybody uses: {cold}; one with the chain's highest factor, as USDT: {hot}"
        );
        vec![Finding::fine("energy", said)]
    }

    async fn of_token(&self, name: &str, token: Address, head: &TronHead) -> Finding {
        let (what, shown) = ("energy", to_base58(token));
        match self.access().api().contract(token).await {
            Ok(Some(info)) => {
                let factor = info.energy_factor;
                let words = self.words(factor, head);
                Finding::fine(what, format!("{name}, energy factor {factor}: {words}"))
            }
            Ok(None) => Finding::fault(what, format!("{name}: there is no contract at {shown}")),
            Err(error) => Finding::fine(what, format!("{name}: not told: {error}")),
        }
    }

    fn words(&self, factor: u64, head: &TronHead) -> String {
        let (each, prices) = (of_charge(factor), &head.prices);
        let fit = charges_within(each, prices, self.access().energy_rules());
        let burnt = format_units(each.saturating_mul(prices.energy), 6).unwrap_or_default();
        format!(
            "a charge of the reference contract takes about {each} energy, {burnt} TRX where none is staked; the \
             fee limit has room for {fit}, the chain's time for {IN_TIME}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_everybody_uses_makes_a_charge_nearly_three_times_as_dear() {
        // As the sandbox's meter has it: 28,710, 59,300 and 80,520.
        assert_eq!([0, 20_000, HIGHEST].map(of_charge), [28_710, 59_190, 80_526]);
    }
}
