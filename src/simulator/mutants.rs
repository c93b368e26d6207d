//! Rules broken on purpose, each of which the laws must notice. They are broken around the product,
//! never inside it: the world answers differently, or the disk keeps less.
//!
//! A lease without an epoch check is not among them: one Signer to one journal, so there is none.

use super::faults::Fault;

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    /// A refusal by a node frees the claims.
    ReleaseOnReject,
    /// A send that nobody confirmed frees the claims.
    ReleaseOnSendError,
    /// "Nonce too low" is taken for proof that the transaction is dead.
    NonceTooLowIsDead,
    /// The newest block counts as final.
    LatestNotFinal,
    /// After an error from COMMIT the process goes on, and answers that nothing was done.
    AnswerFailOnAmbiguousCommit,
    /// The bytes go out before they are on disk.
    BroadcastBeforePersist,
    /// One node's word is enough.
    OneNodeQuorum,
    /// The nonce is used and two nodes know no receipt: taken for proof that it is dead.
    AbsenceProof,
    /// Only the very same request is recognised; its charges are not.
    NoClaimKey,
    /// The claims are free as soon as a cancel is sent.
    CancelReleasesAtBroadcast,
    /// Attempts that were replaced are deleted.
    ForgetOldAttempts,
    /// The nonce is what a node calls pending.
    NonceFromPending,
    /// What was offered once is never offered again.
    NoRebroadcast,
    /// Commits reach the disk some time later.
    NormalSync,
    /// A restored journal is taken for the newest one.
    TrustOldCopy,
    /// Other transactions of the account are learnt before their block is final.
    LearnTooEarly,
}

impl Mutant {
    pub(super) const ALL: [Self; 16] = [
        Self::ReleaseOnReject,
        Self::ReleaseOnSendError,
        Self::NonceTooLowIsDead,
        Self::LatestNotFinal,
        Self::AnswerFailOnAmbiguousCommit,
        Self::BroadcastBeforePersist,
        Self::OneNodeQuorum,
        Self::AbsenceProof,
        Self::NoClaimKey,
        Self::CancelReleasesAtBroadcast,
        Self::ForgetOldAttempts,
        Self::NonceFromPending,
        Self::NoRebroadcast,
        Self::NormalSync,
        Self::TrustOldCopy,
        Self::LearnTooEarly,
    ];

    /// The mutant of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| format!("{mutant:?}") == name)
    }

    /// The fault without which nobody would notice: every world of this mutant has it.
    pub(super) fn needs(self) -> Option<Fault> {
        match self {
            Self::TrustOldCopy => Some(Fault::OldCopy),
            Self::AnswerFailOnAmbiguousCommit => Some(Fault::CommitUnclear),
            Self::AbsenceProof => Some(Fault::LostReceipt),
            Self::NoRebroadcast => Some(Fault::PoolForgets),
            Self::LearnTooEarly => Some(Fault::ForeignUse),
            Self::ReleaseOnReject
            | Self::ReleaseOnSendError
            | Self::NonceTooLowIsDead
            | Self::LatestNotFinal
            | Self::BroadcastBeforePersist
            | Self::OneNodeQuorum
            | Self::NoClaimKey
            | Self::CancelReleasesAtBroadcast
            | Self::ForgetOldAttempts
            | Self::NonceFromPending
            | Self::NormalSync => None,
        }
    }

    /// How a journal forgets replaced attempts, or takes a charge for nobody's.
    pub(super) fn sql(self) -> Option<&'static str> {
        if self == Self::NoClaimKey {
            return Some(
                "CREATE TEMP TRIGGER broken AFTER INSERT ON main.claim BEGIN
                     UPDATE claim SET live = 0 WHERE batch = new.batch; END",
            );
        }
        (self == Self::ForgetOldAttempts).then_some(
            "CREATE TEMP TRIGGER broken AFTER INSERT ON main.attempt BEGIN
                 DELETE FROM attempt WHERE batch = new.batch AND seq < new.seq; END",
        )
    }
}
