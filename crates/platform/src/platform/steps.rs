//! The user's steps on a link: confirm with a wallet, sign the agreement, authorise the allowance; or cancel.
//!
//! A built-in test wallet signs and sends here; a browser's own wallet is told what to send, and says what it sent.
//! The user's step is read from the chain each time, so a page may be loaded again at any step.

use super::dues::Dues;
use super::{Platform, Side};
use crate::chain::{Refused, TESTERS, Whereabouts, tester};
use crate::contracts::{Billing, Token};
use crate::store;
use crate::store::events::Kind;
use crate::store::plans::Plan;
use crate::store::subscriptions::{Link, Purpose, Stage, Subscription};
use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::signers::SignerSync as _;
use alloy::sol_types::{SolCall, SolStruct as _, eip712_domain};
use sandbox_chains::town::wallet;

/// The subject of a link.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) link: Link,
    pub(crate) subscription: Subscription,
    pub(crate) side: Side,
    pub(crate) plan: Plan,
    pub(crate) stage: Stage,
    pub(crate) last: Last,
}

/// Something that a wallet is to send.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) to: Address,
    pub(crate) data: Bytes,
}

/// Why a step cannot be taken, in words for the user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StepError {
    #[error("the platform's database: {0}")]
    Store(#[from] store::Error),
    #[error("This link is not known here. Ask the shop for a new one.")]
    NoLink,
    #[error("This link has expired. Ask the shop for a new one.")]
    Expired,
    #[error("This is no wallet of this chain: {0}")]
    NoWallet(String),
    #[error("Choose a wallet first.")]
    NoWalletYet,
    #[error("This subscription is {0}: there is nothing to do at this step.")]
    NotNow(&'static str),
    #[error("The wallet's last transaction is still waiting for a block.")]
    Waiting,
    #[error("The amount is less than one period costs, or no number.")]
    TooLittle,
    #[error(
        "The amount is less than one period of this and of the other subscriptions of the wallet costs: {0}."
    )]
    TooLittleForAll(String),
    #[error("An amount was typed, and another choice made: choose one of the two.")]
    TwoAmounts,
    #[error("The chain does not take the transaction: {0}")]
    Refused(#[from] Refused),
}

/// The result of the transaction that was sent last from a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    None,
    /// It is in no block yet, or in one that is not written down yet.
    Waiting,
    Succeeded,
    Failed,
    /// The chain does not know it any more.
    Lost,
}

impl Case {
    /// The wallet that the user chose.
    pub(crate) fn wallet(&self) -> Option<Address> {
        self.link.wallet.as_deref().and_then(|text| self.side.family().parse(text))
    }

    /// Base units for a period.
    pub(crate) fn price(&self) -> U256 {
        self.plan.amount.parse().unwrap_or(U256::MAX)
    }
}

impl Platform {
    /// Returns the subject of a link. A link that was used up is still known, so that its page can say how things
    /// stand.
    pub(crate) fn case(&self, token: &str, purpose: Purpose) -> Result<Case, StepError> {
        let link = self.store().link(token)?.filter(|link| link.purpose == purpose);
        let link = link.ok_or(StepError::NoLink)?;
        let subscription =
            self.store().subscription(link.subscribe_id)?.ok_or(StepError::NoLink)?;
        let side = self.side(subscription.chain).ok_or(StepError::NoLink)?.clone();
        let plan = self.store().plan(subscription.plan, side.id, subscription.version)?;
        // In this order: what a transaction did that is written down by now is in the stage. The other way round a block
        // between the two would show a step that is done, and nothing that says so later.
        let last = self.last(&side, link.tx.as_deref())?;
        let stage = self.store().stage(subscription.id)?;
        Ok(Case { link, subscription, side, plan: plan.ok_or(StepError::NoLink)?, stage, last })
    }

    /// Returns the result of the transaction that was sent last from a page, as far as it is written down.
    fn last(&self, side: &Side, tx: Option<&str>) -> Result<Last, store::Error> {
        let Some(hash) = tx.and_then(|hash| hash.parse::<B256>().ok()) else {
            return Ok(Last::None);
        };
        let landed = match side.chain.find(&hash) {
            Whereabouts::Unknown => return Ok(Last::Lost),
            Whereabouts::Waiting => return Ok(Last::Waiting),
            Whereabouts::Landed(landed) => landed,
        };
        let written = self.store().stored(side.id, landed.point.number)? == Some(landed.point);
        Ok(match (written, landed.succeeded) {
            (false, _) => Last::Waiting,
            (true, true) => Last::Succeeded,
            (true, false) => Last::Failed,
        })
    }

    /// Takes a step on a link, one at a time.
    pub(crate) fn step(
        &self,
        token: &str,
        purpose: Purpose,
        take: impl FnOnce(&mut Case) -> Result<(), StepError>,
    ) -> Result<Case, StepError> {
        let turn = self.0.step.lock();
        let mut case = self.case(token, purpose)?;
        take(&mut case)?;
        drop(turn);
        Ok(case)
    }

    /// Step 1: the user confirms the plan with a wallet.
    pub(crate) fn confirm(&self, case: &mut Case, wallet: &str) -> Result<(), StepError> {
        self.open(case)?;
        if case.stage != Stage::Issued {
            return Err(StepError::NotNow(case.stage.word()));
        }
        if case.last == Last::Waiting {
            return Err(StepError::Waiting);
        }
        let address = case.side.family().parse(wallet);
        let address = address.ok_or_else(|| StepError::NoWallet(wallet.to_owned()))?;
        case.link.wallet = Some(case.side.spell(address));
        case.link.tx = None;
        self.store().update_link(&case.link)?;
        self.say(format!(
            "page      {} confirms plan {}",
            case.subscription.external_user, case.plan.id
        ));
        Ok(())
    }

    /// Step 2: what the wallet has to send to sign the agreement. The merchant's issuer signed the offer.
    pub(crate) fn agreement(&self, case: &Case) -> Result<Order, StepError> {
        self.open(case)?;
        if case.stage != Stage::Issued {
            return Err(StepError::NotNow(case.stage.word()));
        }
        let (side, subscription) = (&case.side, &case.subscription);
        let offer = Billing::Offer {
            merKey: side.town.mer_key,
            planId: subscription.plan,
            planVersion: subscription.version,
            userHash: subscription.user_hash.parse().unwrap_or_default(),
            subscribeId: subscription.id,
            wallet: case.wallet().ok_or(StepError::NoWalletYet)?,
            expiry: U256::from(case.link.expires_s),
        };
        let domain = eip712_domain! {
            name: "SubscriptionBilling",
            version: "1",
            chain_id: side.chain.chain_id(),
            verifying_contract: side.town.billing,
        };
        let digest = offer.eip712_signing_hash(&domain);
        let signature = wallet("issuer").sign_hash_sync(&digest).expect("a key signs any digest");
        let call = Billing::subscribeCall { offer, signature: signature.as_bytes().into() };
        Ok(Order { to: side.town.billing, data: call.abi_encode().into() })
    }

    /// Step 3: returns the transactions that the wallet has to send so that the contract may take up to `amount`
    /// (base units) in all. An allowance that is not nothing is set to nothing first: the common dollar token
    /// refuses any other change.
    pub(crate) fn authorisation(&self, case: &Case, amount: U256) -> Result<Vec<Order>, StepError> {
        match case.stage {
            Stage::Signed => self.open(case)?,
            Stage::Active => {} // the link has done its work; whoever pays may allow another amount at any time
            Stage::Issued | Stage::Cancelled => return Err(StepError::NotNow(case.stage.word())),
        }
        if amount < case.price() {
            return Err(StepError::TooLittle);
        }
        let owner = case.wallet().ok_or(StepError::NoWalletYet)?;
        let reset = (!case.side.allowance(owner).is_zero()).then_some(U256::ZERO);
        let order = |value| {
            let call = Token::approveCall { spender: case.side.town.billing, value };
            Order { to: case.side.town.token, data: call.abi_encode().into() }
        };
        Ok(reset.into_iter().chain([amount]).map(order).collect())
    }

    /// Returns the subscriptions that one allowance of a case's wallet pays for: its own, and the others that live.
    pub(crate) fn dues(&self, case: &Case) -> Result<Dues, StepError> {
        let wallet = case.link.wallet.as_deref().ok_or(StepError::NoWalletYet)?;
        let id = case.subscription.id;
        let others = self.store().paid_by(wallet, case.side.id)?;
        Ok(Dues::new(&case.plan, others.into_iter().filter(|(other, _)| other.id != id).collect()))
    }

    /// Returns true if a subscription is active, and the next charges of it and of all that its allowance pays for
    /// would find too little allowed.
    pub(crate) fn has_lapsed(&self, case: &Case) -> bool {
        let allowed = case.wallet().map_or(U256::MAX, |owner| case.side.allowance(owner));
        let needed = self.dues(case).map(|dues| dues.of_periods(1)).unwrap_or_default();
        case.stage == Stage::Active && allowed < needed
    }

    /// Returns the transaction that the wallet has to send to cancel.
    pub(crate) fn cancellation(&self, case: &Case) -> Result<Order, StepError> {
        self.open(case)?;
        if matches!(case.stage, Stage::Issued | Stage::Cancelled) {
            return Err(StepError::NotNow(case.stage.word()));
        }
        let (side, subscription) = (&case.side, &case.subscription);
        let call = Billing::cancelCall {
            merKey: side.town.mer_key,
            planId: subscription.plan,
            userHash: subscription.user_hash.parse().unwrap_or_default(),
        };
        Ok(Order { to: side.town.billing, data: call.abi_encode().into() })
    }

    /// The wallet that registered the subscription, which alone can cancel it.
    pub(crate) fn registered_wallet(&self, case: &Case) -> Result<Option<String>, StepError> {
        let history = self.store().history(case.subscription.id)?;
        let registered = history.into_iter().find(|told| told.kind == Kind::Register);
        Ok(registered.map(|told| told.wallet))
    }

    /// A built-in wallet signs orders and sends them; the page then waits for the last of them.
    pub(crate) fn send_built_in(&self, case: &mut Case, orders: &[Order]) -> Result<(), StepError> {
        if case.last == Last::Waiting {
            return Err(StepError::Waiting);
        }
        let address = case.wallet().ok_or(StepError::NoWalletYet)?;
        let key =
            self.built_in(address).ok_or_else(|| StepError::NoWallet(case.side.spell(address)))?;
        for order in orders {
            let sent = case.side.send(&key, order.to, order.data.clone())?;
            case.link.tx = Some(case.side.family().spell_hash(sent.hash));
        }
        self.store().update_link(&case.link)?;
        Ok(())
    }

    /// The built-in wallet that signed a subscription cancels it.
    pub(crate) fn cancel_built_in(&self, case: &mut Case) -> Result<(), StepError> {
        let order = self.cancellation(case)?;
        case.link.wallet = self.registered_wallet(case)?;
        self.send_built_in(case, &[order])
    }

    /// A browser's wallet says what it sent.
    pub(crate) fn sent_elsewhere(&self, case: &mut Case, hash: &str) -> Result<(), StepError> {
        let hash: B256 = hash.parse().map_err(|_| StepError::NoWallet(hash.to_owned()))?;
        case.link.tx = Some(case.side.family().spell_hash(hash));
        self.store().update_link(&case.link)?;
        Ok(())
    }

    /// The key of a wallet that the sandbox has: a tester's, or that of a subscriber from the start.
    pub(crate) fn built_in(
        &self,
        address: Address,
    ) -> Option<alloy::signers::local::PrivateKeySigner> {
        let people = self.sides().iter().flat_map(|side| &side.town.people);
        let people = people.map(|person| person.wallet.clone());
        TESTERS.map(tester).into_iter().chain(people).find(|key| key.address() == address)
    }

    /// The link has to be good, by the moved clock and by the chain's, which the contract goes by.
    fn open(&self, case: &Case) -> Result<(), StepError> {
        let now_s = self.clock().now_s().max(case.side.chain.head().time_ms / 1000);
        if now_s > case.link.expires_s { Err(StepError::Expired) } else { Ok(()) }
    }
}
