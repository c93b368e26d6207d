//! The dozen: what is special about each, and what the Signer should say about it.

use alloy::primitives::U256;
use sandbox_chains::town::{Ground, Town};

/// One of the dozen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    /// Situation of the subscriber.
    pub(crate) what: &'static str,
    /// The code that refuses it; None if it is charged.
    pub(crate) refused: Option<&'static str>,
    /// Meaning of the refusal for the merchant.
    pub(crate) meaning: &'static str,
}

const PAYS: Story = Story { what: "holds and allows enough", refused: None, meaning: "" };

const fn story(what: &'static str, refused: &'static str, meaning: &'static str) -> Story {
    Story { what, refused: Some(refused), meaning }
}

/// All of them, in the order of the batch.
pub(crate) const STORIES: [Story; 12] = [
    PAYS,
    PAYS,
    PAYS,
    story("allows one unit too little", "ALLOWANCE_INSUFFICIENT", "ask for a higher approval"),
    PAYS,
    story("holds one unit too little", "BALANCE_INSUFFICIENT", "ask to top up the wallet"),
    story("is blocked by the token", "HOLDER_BLOCKED", "no balance tells; the simulated call does"),
    PAYS,
    story("has cancelled", "SUBSCRIPTION_CANCELLED", "take it off the list"),
    story("has a free first month", "NOT_DUE_YET", "due in thirty days"),
    PAYS,
    story("never subscribed", "SUBSCRIPTION_NOT_FOUND", "nobody knows this user"),
];

/// Number of subscribers: the dozen but the last, and one whom a newcomer may bill.
pub(crate) const PEOPLE: u64 = 13;

/// The one whom a newcomer may bill, by place.
pub(crate) const SPARE: usize = 12;

/// The one whom the token blocks, by place.
pub(crate) const BLOCKED: usize = 6;

/// The number of the one with a free month, from 1.
pub(crate) const TRIAL: u64 = 10;

/// The place of the one who never subscribed.
pub(crate) const STRANGER: usize = 11;

/// Lets the stories happen on a chain.
pub(crate) fn happen(ground: &dyn Ground, town: &Town) {
    let (short, people) = (U256::from(town.price) - U256::ONE, &town.people);
    ground.execute(vec![
        town.allowance(&people[3], short),
        town.holding(&people[5], short),
        town.block(&people[BLOCKED]),
        town.cancel(&people[8]),
    ]);
}
