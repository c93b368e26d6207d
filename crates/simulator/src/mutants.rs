//! Rules broken on purpose, each of which the laws must notice. They are broken around the product,
//! never inside it: the world answers differently, the disk keeps less, or somebody writes into the
//! journal what the product would not.

use crate::dice::Fault;
use crate::world::Side;

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A refusal by a node frees the claims.
    ReleaseOnReject,
    /// A send that nobody confirmed frees the claims.
    ReleaseOnSendError,
    /// A refusal that names the nonce (EVM), or the expiry (TRON), is taken for proof of death.
    TooLateIsDead,
    /// The newest block counts as final.
    LatestNotFinal,
    /// After an error from COMMIT the process goes on, and answers that nothing was done.
    AnswerFailOnAmbiguousCommit,
    /// The bytes go out before they are on disk.
    BroadcastBeforePersist,
    /// One node's word is enough.
    OneNodeQuorum,
    /// The transaction could have landed and two answers do not know it: taken for proof of death.
    AbsenceProof,
    /// A charge that is claimed is not recognised.
    NoClaimKey,
    /// Attempts that were replaced are deleted.
    ForgetOldAttempts,
    /// What was offered once is never offered again.
    NoRebroadcast,
    /// Commits reach the disk some time later.
    NormalSync,
    /// A restored journal is taken for the newest one.
    TrustOldCopy,
    /// A batch that failed on chain is written down as charged.
    FailureIsSuccess,
    /// Nobody looks at what is open.
    NobodyLooks,
    /// The state of health is always ready.
    AlwaysReady,
    /// An answer names a transaction that cannot charge.
    NamesAnother,
}

impl Mutant {
    pub(crate) const ALL: [Self; 17] = [
        Self::ReleaseOnReject,
        Self::ReleaseOnSendError,
        Self::TooLateIsDead,
        Self::LatestNotFinal,
        Self::AnswerFailOnAmbiguousCommit,
        Self::BroadcastBeforePersist,
        Self::OneNodeQuorum,
        Self::AbsenceProof,
        Self::NoClaimKey,
        Self::ForgetOldAttempts,
        Self::NoRebroadcast,
        Self::NormalSync,
        Self::TrustOldCopy,
        Self::FailureIsSuccess,
        Self::NobodyLooks,
        Self::AlwaysReady,
        Self::NamesAnother,
    ];

    /// The mutant of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mutant| format!("{mutant:?}") == name)
    }

    /// The fault without which nobody would notice: every world of this mutant has it.
    pub(crate) fn needs(self) -> Option<Fault> {
        match self {
            Self::TrustOldCopy | Self::AlwaysReady => Some(Fault::OldCopy),
            Self::AnswerFailOnAmbiguousCommit | Self::BroadcastBeforePersist => {
                Some(Fault::CommitUnclear)
            }
            Self::AbsenceProof => Some(Fault::LostReceipt),
            Self::NoRebroadcast => Some(Fault::PoolForgets),
            Self::ReleaseOnReject | Self::TooLateIsDead => Some(Fault::FalseRefusal),
            Self::ReleaseOnSendError => Some(Fault::SilentAfterTaking),
            Self::NormalSync => Some(Fault::Kill),
            Self::LatestNotFinal => Some(Fault::Reorg),
            Self::FailureIsSuccess => Some(Fault::CustomerPoor),
            Self::OneNodeQuorum => Some(Fault::Lie),
            Self::NoClaimKey | Self::ForgetOldAttempts | Self::NobodyLooks | Self::NamesAnother => {
                None
            }
        }
    }

    /// On which chains the rule exists, and is to be noticed.
    pub(crate) fn sides(self) -> &'static [Side] {
        match self {
            // On TRON what is lost expires and is signed again, and there is one provider anyway.
            Self::NoRebroadcast | Self::OneNodeQuorum => &[Side::Evm],
            Self::ReleaseOnReject
            | Self::ReleaseOnSendError
            | Self::TooLateIsDead
            | Self::LatestNotFinal
            | Self::AnswerFailOnAmbiguousCommit
            | Self::BroadcastBeforePersist
            | Self::AbsenceProof
            | Self::NoClaimKey
            | Self::ForgetOldAttempts
            | Self::NormalSync
            | Self::TrustOldCopy
            | Self::FailureIsSuccess
            | Self::NobodyLooks
            | Self::AlwaysReady
            | Self::NamesAnother => &Side::ALL,
        }
    }

    /// How a journal forgets, or takes a charge for nobody's.
    pub(crate) fn sql(self) -> Option<&'static str> {
        match self {
            Self::NoClaimKey => Some(
                "CREATE TEMP TRIGGER broken AFTER INSERT ON main.claim BEGIN
                     UPDATE claim SET live = 0 WHERE batch = new.batch; END",
            ),
            Self::ForgetOldAttempts => Some(
                "CREATE TEMP TRIGGER broken AFTER INSERT ON main.attempt BEGIN
                     DELETE FROM attempt WHERE batch = new.batch AND seq < new.seq; END",
            ),
            Self::FailureIsSuccess => Some(
                "CREATE TEMP TRIGGER broken AFTER UPDATE OF outcome ON main.claim
                 WHEN new.outcome NOT IN ('charged', 'unproven') BEGIN
                     UPDATE claim SET outcome = 'charged', live = 1
                      WHERE batch = new.batch AND item = new.item; END",
            ),
            Self::ReleaseOnReject
            | Self::ReleaseOnSendError
            | Self::TooLateIsDead
            | Self::LatestNotFinal
            | Self::AnswerFailOnAmbiguousCommit
            | Self::BroadcastBeforePersist
            | Self::OneNodeQuorum
            | Self::AbsenceProof
            | Self::NoRebroadcast
            | Self::NormalSync
            | Self::TrustOldCopy
            | Self::NobodyLooks
            | Self::AlwaysReady
            | Self::NamesAnother => None,
        }
    }
}
