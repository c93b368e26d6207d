//! Rules broken on purpose, each of which the laws must notice. They are broken around the product,
//! never inside it: the world answers differently, the disk keeps less, or somebody writes into the
//! journal what the product would not.

use crate::dice::{Dice, Fault};
use crate::seed_settings::Change;
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
    /// The newest block counts as final (EVM), or one that a single witness stands on (TRON).
    LatestNotFinal,
    /// After an error from COMMIT the process goes on, and answers that nothing was done.
    AnswerFailOnAmbiguousCommit,
    /// The bytes go out before they are on disk.
    BroadcastBeforePersist,
    /// One node's word is enough.
    OneNodeQuorum,
    /// If nodes contradict each other, the one that refuses is believed. On EVM a liar who lies so often keeps the
    /// lane closed by the nonces that it invents.
    OneRefuses,
    /// A node does not know the transaction: taken for proof of death.
    AbsenceProof,
    /// A charge that is claimed is not recognised.
    NoClaimKey,
    /// The claims are free as soon as a cancel is sent.
    CancelReleasesAtBroadcast,
    /// Attempts that were replaced are deleted.
    ForgetOldAttempts,
    /// A transaction that was offered once is never offered again.
    NoRebroadcast,
    /// Commits reach the disk some time later.
    NormalSync,
    /// A restored journal is taken for the newest one, and the lane goes on where the account stands.
    TrustOldCopy,
    /// Other transactions of the account are learnt before their block is final.
    LearnTooEarly,
    /// A charge that failed on chain is written down as charged.
    FailureIsSuccess,
    /// Nobody looks at what is open.
    NobodyLooks,
    /// The state of health is always ready.
    AlwaysReady,
    /// An answer names a transaction that is not on disk.
    NamesAnother,
    /// An answer names the transaction that cancels a billing.
    NamesCancel,
    /// An answer names a transaction as an earlier one that is not on disk.
    NamesAnotherEarlier,
    /// An answer says of an earlier transaction that is under way that it has charged.
    OpenIsCharged,
    /// A customer who is being billed is said to be paid.
    InProgressIsPaid,
    /// Blocks are believed whoever signed them: the liar has the keys of all witnesses.
    AnybodySigns,
    /// A charge without a period is free again as soon as its block is final.
    NoGuard,
    /// Which chain a number stands for is not remembered.
    AnyNumber,
    /// The naming of a contract's periods is not remembered.
    AnyNaming,
    /// A process that takes over compares no contract.
    AnyContract,
    /// A signed transaction is committed, at whatever position its lane is.
    AnyPosition,
    /// A claim is its account's alone: when another account signs, it does not hold.
    ClaimsPerAccount,
    /// The claims of an account go with its key.
    ClaimsGoWithTheKey,
    /// That another one is said to serve is all there is: who was taken over from goes on writing, where it can.
    LeaseOnly,
    /// A charge that others made with the key is let go by the batch that had the claim, and not held.
    StrangerLetGo,
    /// That nodes say nothing of what waits in their pools is taken for proof that nothing does; on TRON, of what is
    /// in no irrevocable block.
    SilenceOfPools,
    /// Transactions that others sign with the key are not looked for while a lane is open.
    RivalUnseen,
    /// That no transaction has a nonce which is used is never found out.
    NobodyHasTheNonce,
    /// The headers of blocks are of no form that can be hashed: what stands in them is believed.
    HeadersUnhashed,
    /// The transactions of blocks are of no form that can be compared with the root: those that are told are believed.
    TransactionsUnproven,
    /// The same of receipts.
    ReceiptsUnproven,
    /// No witness is asked whether a block is final.
    WitnessUnasked,
}

/// The way that a broken rule is played.
struct Row {
    mutant: Mutant,
    /// The chains on which the rule exists, and has to be noticed.
    sides: &'static [Side],
    /// The faults without which nobody would notice, and how rare they are at most.
    demands: &'static [(Fault, u64)],
    /// SQL that is run on the journal's own connection.
    sql: Option<&'static str>,
}

const BOTH: &[Side] = &Side::ALL;
const EVM: &[Side] = &[Side::Evm];
const TRON: &[Side] = &[Side::Tron];

const fn row(
    mutant: Mutant,
    sides: &'static [Side],
    demands: &'static [(Fault, u64)],
    sql: Option<&'static str>,
) -> Row {
    Row { mutant, sides, demands, sql }
}

const UNCLAIMED: &str = "CREATE TEMP TRIGGER broken AFTER INSERT ON main.claim BEGIN
    UPDATE claim SET live = 0 WHERE batch = new.batch; END";

const PER_ACCOUNT: &str = "CREATE TEMP TRIGGER broken AFTER INSERT ON main.batch BEGIN
    UPDATE claim SET live = 0 WHERE batch IN
     (SELECT id FROM batch WHERE chain = new.chain AND signer <> new.signer); END";

const FORGOTTEN: &str = "CREATE TEMP TRIGGER broken AFTER INSERT ON main.later_attempt BEGIN
    DELETE FROM later_attempt WHERE batch = new.batch AND seq < new.seq;
    UPDATE batch SET hash = new.hash, raw = new.raw, gas_required = new.gas_required
     WHERE id = new.batch; END";

const FAILED_IS_CHARGED: &str = "CREATE TEMP TRIGGER broken AFTER UPDATE OF outcome ON main.claim
    WHEN new.outcome NOT IN ('charged', 'unproven') BEGIN
    UPDATE claim SET outcome = 'charged', live = 1, code = NULL, detail = NULL
     WHERE batch = new.batch AND item = new.item; END";

const UNGUARDED: &str = "CREATE TEMP TRIGGER broken AFTER UPDATE OF guard_until_s ON main.claim
    WHEN new.guard_until_s IS NOT NULL BEGIN
    UPDATE claim SET guard_until_s = 1 WHERE batch = new.batch AND item = new.item; END";

const LET_GO: &str = "CREATE TEMP TRIGGER broken AFTER UPDATE OF live ON main.claim
    WHEN new.live = 1 AND new.elsewhere = 1 BEGIN
    UPDATE claim SET live = 0 WHERE batch = new.batch AND item = new.item; END";

/// The lane is where the signature has it.
const ANY_POSITION: &str = "DROP INDEX IF EXISTS batch_place;
    CREATE TEMP TRIGGER broken BEFORE INSERT ON main.batch BEGIN
    UPDATE lane SET next_position = new.position WHERE chain = new.chain AND signer = new.signer; END";

/// Faults that put several signatures under way at once, of which one comes to nothing after the next was made.
const SLOW_AND_LOST: &[(Fault, u64)] =
    &[(Fault::SlowKeyStore, 2), (Fault::KeyStoreFails, 6), (Fault::DiskFull, 10)];

/// Faults that make a billing wait for so long that it is given up, and land all the same: from the hands of its
/// caller, since nodes pass nothing on.
const CUT_OFF: &[(Fault, u64)] =
    &[(Fault::CutOff, 20), (Fault::NotPassedOn, 1), (Fault::CallerSends, 3)];

/// Faults that make several billings wait when somebody else takes the place of the first.
const USED_ELSEWHERE: &[(Fault, u64)] = &[(Fault::KeyUsedElsewhere, 8), (Fault::LastSlot, 20)];

/// Faults that make a billing wait while an old copy takes the journal's place.
const WAITS_AND_COMES_BACK: &[(Fault, u64)] = &[
    (Fault::OldCopy, 1),
    (Fault::Kill, 300),
    (Fault::LastSlot, 10),
    (Fault::SecretPool, 2),
    (Fault::NodeAway, 20),
];

/// Faults that take away a block that somebody took for final, and its transactions: otherwise they land again, and
/// nobody is the worse for it.
const UNDONE: &[(Fault, u64)] =
    &[(Fault::Reorg, 2), (Fault::PoolForgets, 2), (Fault::PoorAtLast, 3)];

const TABLE: [Row; 41] = [
    row(Mutant::ReleaseOnReject, BOTH, &[(Fault::FalseRefusal, 6)], None),
    row(Mutant::ReleaseOnSendError, BOTH, &[(Fault::SilentAfterTaking, 12)], None),
    row(Mutant::TooLateIsDead, BOTH, &[(Fault::FalseRefusal, 4)], None),
    row(Mutant::LatestNotFinal, BOTH, UNDONE, None),
    row(Mutant::AnswerFailOnAmbiguousCommit, BOTH, &[(Fault::CommitUnclear, 12)], None),
    row(Mutant::BroadcastBeforePersist, BOTH, &[(Fault::CommitUnclear, 12)], None),
    row(Mutant::OneNodeQuorum, BOTH, &[(Fault::Lie, 2)], None),
    row(Mutant::OneRefuses, TRON, &[(Fault::Lie, 1)], None),
    row(Mutant::AbsenceProof, BOTH, &[(Fault::LostReceipt, 2)], None),
    row(Mutant::NoClaimKey, BOTH, &[], Some(UNCLAIMED)),
    row(Mutant::CancelReleasesAtBroadcast, EVM, CUT_OFF, None),
    row(Mutant::ForgetOldAttempts, BOTH, &[(Fault::EmptySlot, 2)], Some(FORGOTTEN)),
    row(Mutant::NoRebroadcast, EVM, &[(Fault::PoolForgets, 2)], None),
    row(Mutant::NormalSync, BOTH, &[(Fault::Kill, 300)], None),
    row(Mutant::TrustOldCopy, BOTH, &[(Fault::OldCopy, 1), (Fault::Kill, 300)], None),
    row(Mutant::LearnTooEarly, EVM, &[(Fault::KeyUsedElsewhere, 12), (Fault::Reorg, 4)], None),
    row(Mutant::FailureIsSuccess, BOTH, &[(Fault::PoorAtLast, 3)], Some(FAILED_IS_CHARGED)),
    row(Mutant::NobodyLooks, BOTH, &[], None),
    row(Mutant::AlwaysReady, BOTH, &[(Fault::Blackout, 40)], None),
    row(Mutant::NamesAnother, BOTH, &[], None),
    row(Mutant::NamesCancel, EVM, CUT_OFF, None),
    row(Mutant::NamesAnotherEarlier, BOTH, &[], None),
    row(Mutant::OpenIsCharged, BOTH, &[(Fault::PoorAtLast, 2)], None),
    row(Mutant::InProgressIsPaid, BOTH, &[(Fault::PoorAtLast, 3)], None),
    row(Mutant::AnybodySigns, TRON, &[(Fault::ForgedFork, 20)], None),
    row(Mutant::NoGuard, BOTH, &[], Some(UNGUARDED)),
    row(Mutant::AnyNumber, BOTH, &[(Fault::Kill, 300)], None),
    row(Mutant::AnyNaming, BOTH, &[(Fault::Kill, 300)], None),
    row(Mutant::AnyContract, BOTH, &[(Fault::TakenOver, 20)], None),
    row(Mutant::AnyPosition, EVM, SLOW_AND_LOST, Some(ANY_POSITION)),
    row(Mutant::ClaimsPerAccount, BOTH, &[], Some(PER_ACCOUNT)),
    row(Mutant::ClaimsGoWithTheKey, BOTH, &[(Fault::Kill, 300)], None),
    row(Mutant::LeaseOnly, BOTH, &[(Fault::TakenOver, 20)], None),
    row(Mutant::StrangerLetGo, EVM, USED_ELSEWHERE, Some(LET_GO)),
    row(Mutant::SilenceOfPools, BOTH, WAITS_AND_COMES_BACK, None),
    row(Mutant::RivalUnseen, TRON, &[(Fault::Rival, 6)], None),
    row(Mutant::NobodyHasTheNonce, EVM, &[(Fault::Authorized, 20)], None),
    row(Mutant::HeadersUnhashed, EVM, &[(Fault::Lie, 2)], None),
    row(Mutant::TransactionsUnproven, EVM, &[(Fault::Lie, 2)], None),
    row(Mutant::ReceiptsUnproven, EVM, &[(Fault::Lie, 2)], None),
    row(Mutant::WitnessUnasked, EVM, &[(Fault::MadeUpBlock, 2)], None),
];

impl Mutant {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.mutant)
    }

    /// One of them.
    pub(crate) fn any(dice: &mut Dice) -> Self {
        TABLE[dice.place(TABLE.len())].mutant
    }

    /// The mutant of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|mutant| format!("{mutant:?}") == name)
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.mutant == self).expect("the table has a row for each")
    }

    /// The faults without which nobody would notice: every world of this mutant has them, one in so many
    /// occasions at least.
    pub(crate) fn demands(self) -> &'static [(Fault, u64)] {
        self.row().demands
    }

    /// On which chains the rule exists, and is to be noticed.
    pub(crate) fn sides(self) -> &'static [Side] {
        self.row().sides
    }

    /// Returns the change that is needed between two starts for anybody to notice.
    pub(crate) fn change(self) -> Option<Change> {
        let row = |(mutant, change)| (mutant == self).then_some(change);
        let table = [
            (Self::ClaimsGoWithTheKey, Change::KeyRemoved),
            (Self::AnyNumber, Change::Number),
            (Self::AnyNaming, Change::Naming),
            (Self::AnyContract, Change::Contract),
        ];
        table.into_iter().find_map(row)
    }

    /// Returns the SQL by which a journal forgets, or takes a charge for nobody's.
    pub(crate) fn sql(self) -> Option<&'static str> {
        self.row().sql
    }
}
