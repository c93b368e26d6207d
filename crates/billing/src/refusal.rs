//! Why a subscription is not charged, in the words and tokens that callers rely on.

use super::{ChargeTerms, Period, PlanId, Spelling, SubscribeId, UserHash};
use alloy::primitives::{B256, U256};
use std::sync::Arc;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The stable token of a refusal. Declared in order of precedence: of several reasons the first
/// one is reported, so that no customer is asked to top up for a period already paid.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, IntoStaticStr, EnumString,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum FailCode {
    /// A field of the entry cannot be used.
    InvalidEntry,
    /// The subscription occurs twice in the request.
    DuplicateEntry,
    /// The Signer's account may not bill for this merchant.
    NotAuthorized,
    /// The contract does not know the subscription.
    SubscriptionNotFound,
    /// The subscription was cancelled.
    SubscriptionCancelled,
    /// The entry states something else than the chain.
    TermsMismatch,
    /// The same subscription and period is claimed with another amount, plan or user.
    Conflict,
    /// A transaction that was to charge this period succeeded, and nobody can tell whether it did.
    OutcomeUnknown,
    /// This period is paid.
    AlreadyCharged,
    /// A transaction that charges this period is under way.
    BillingInProgress,
    /// The subscription has run its course.
    SubscriptionEnded,
    /// The period has not begun.
    NotDueYet,
    /// The period is over; it is not charged late.
    PeriodPassed,
    /// The plan is not active.
    PlanInactive,
    /// The token is paused.
    TokenPaused,
    /// The token refuses the customer's wallet.
    HolderBlocked,
    /// The token refuses the merchant's wallet.
    PayeeBlocked,
    /// The customer allows too little.
    AllowanceInsufficient,
    /// The customer holds too little.
    BalanceInsufficient,
    /// The token moved less than was due, or nothing.
    TokenTransferFailed,
    /// The billing call reverts for this entry, for a reason that the profile does not name.
    CallReverted,
    /// The policy refused the whole request. Callers hear that as code 0; only the ledger says it of each
    /// subscription.
    Policy,
}

/// The action that the merchant should take on a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Retry {
    /// The customer must act.
    User,
    /// The same entry later; nobody needs to act.
    Wait,
    /// Treat as paid.
    Done,
    /// Nothing was taken for this period, and nothing will be.
    Lost,
    /// End the subscription.
    Stop,
    /// The merchant must act.
    Fix,
    /// Try again.
    Retry,
}

impl Retry {
    /// The token in answers.
    pub fn token(self) -> &'static str {
        self.into()
    }
}

impl FailCode {
    /// The code that `token` names, if it names one.
    pub fn from_token(token: &str) -> Option<Self> {
        token.parse().ok()
    }

    /// The token (`failCode`).
    pub fn token(self) -> &'static str {
        self.into()
    }

    /// The readable text (`failReason`).
    pub fn text(self) -> &'static str {
        self.row().0
    }

    /// The text, and what belongs to this case behind it.
    pub fn sentence(self, detail: Option<&str>) -> String {
        match detail {
            Some(detail) => format!("{}: {detail}", self.text()),
            None => self.text().to_owned(),
        }
    }

    /// Returns who must do what.
    pub fn retry(self) -> Retry {
        self.row().1
    }

    fn row(self) -> (&'static str, Retry) {
        match self {
            Self::InvalidEntry => ("Invalid entry", Retry::Fix),
            Self::DuplicateEntry => ("Duplicate subscription in request", Retry::Fix),
            Self::NotAuthorized => ("Signer not allowed to bill this merchant", Retry::Fix),
            Self::SubscriptionNotFound => ("Subscription not found on chain", Retry::Fix),
            Self::SubscriptionCancelled => ("Subscription cancelled", Retry::Stop),
            Self::TermsMismatch => ("Terms mismatch", Retry::Fix),
            Self::Conflict => ("Conflicts with an earlier billing", Retry::Fix),
            Self::OutcomeUnknown => ("Outcome of an earlier billing unknown", Retry::Fix),
            Self::AlreadyCharged => ("Already charged for this period", Retry::Done),
            Self::BillingInProgress => ("Billing in progress", Retry::Wait),
            Self::SubscriptionEnded => ("Subscription ended", Retry::Stop),
            Self::NotDueYet => ("Not due yet", Retry::Wait),
            Self::PeriodPassed => ("Billing period passed", Retry::Lost),
            Self::PlanInactive => ("Plan not active", Retry::Fix),
            Self::TokenPaused => ("Token transfers paused", Retry::Retry),
            Self::HolderBlocked => ("Token holder blocked", Retry::Stop),
            Self::PayeeBlocked => ("Receiver blocked", Retry::Fix),
            Self::AllowanceInsufficient => ("Allowance insufficient", Retry::User),
            Self::BalanceInsufficient => ("Balance insufficient", Retry::User),
            Self::TokenTransferFailed => ("Token transfer failed", Retry::Retry),
            Self::CallReverted => ("Billing call reverts", Retry::Fix),
            Self::Policy => ("Refused by policy", Retry::Fix),
        }
    }
}

/// One subscription that this request does not charge, and never will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The subscription.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The period that was to be paid for, if known.
    pub period: Option<Period>,
    /// Wallet, token and plan version, as far as they are known.
    pub terms: ChargeTerms,
    /// The entry's spelling as the caller wrote it.
    pub spelling: Arc<Spelling>,
    /// The amount that was to be charged, in token base units, if known.
    pub amount: Option<U256>,
    /// Why not.
    pub code: FailCode,
    /// More words for the reader, such as the field that is wrong.
    pub detail: Option<String>,
    /// The amount that the customer allows the contract, in token base units, if it was read.
    pub allowance: Option<U256>,
    /// The customer's balance, in token base units, if it was read.
    pub balance: Option<U256>,
    /// The transaction that holds the claim, if one does.
    pub tx_hash: Option<B256>,
}

impl Refused {
    pub(super) fn new(
        subscribe: SubscribeId,
        plan: PlanId,
        user: UserHash,
        spelling: Arc<Spelling>,
        code: FailCode,
    ) -> Self {
        Self {
            subscribe,
            plan,
            user,
            period: None,
            terms: ChargeTerms::default(),
            spelling,
            amount: None,
            code,
            detail: None,
            allowance: None,
            balance: None,
            tx_hash: None,
        }
    }

    /// Adds words for the reader.
    #[must_use]
    pub fn because(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Names the transaction that holds the claim.
    #[must_use]
    pub fn claimed_by(mut self, tx_hash: B256) -> Self {
        self.tx_hash = Some(tx_hash);
        self
    }

    /// The readable reason: the code's text exactly, with the detail after a colon if there is one.
    pub fn reason(&self) -> String {
        self.code.sentence(self.detail.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn whoever_has_not_paid_is_never_called_paid() {
        let done = FailCode::iter().filter(|code| code.retry() == Retry::Done);
        assert_eq!(done.collect::<Vec<_>>(), [FailCode::AlreadyCharged]);
        assert_eq!(FailCode::PeriodPassed.retry(), Retry::Lost);
        assert_eq!(FailCode::OutcomeUnknown.retry(), Retry::Fix);
    }

    #[test]
    fn the_first_two_reasons_are_worded_as_the_platform_words_them() {
        assert_eq!(FailCode::AllowanceInsufficient.text(), "Allowance insufficient");
        assert_eq!(FailCode::BalanceInsufficient.text(), "Balance insufficient");
    }
}
