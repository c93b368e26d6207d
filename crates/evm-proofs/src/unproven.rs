//! The two reasons for which an answer proves nothing, and which nobody may confuse: it contradicts itself, so the
//! node that gave it lies, or it is of a form that cannot be judged here, and nothing follows.

use alloy::primitives::B256;

/// The reason why an answer proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The answer is false: no honest node gives it, on whichever chain.
    #[error(transparent)]
    False(#[from] Contradiction),
    /// The answer may be true: it has a form whose rules are not known here.
    #[error(transparent)]
    Unjudged(#[from] Obstacle),
}

/// The part of an answer that contradicts the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The fields of the header give another hash than the one that the answer names.
    #[error("its hash does not follow from its header")]
    Hash,
    /// Transactions were altered, left out or added.
    #[error("its transactions are not those that its header commits to")]
    Transactions,
    /// Receipts were altered, left out or added: a status, logs or gas.
    #[error("its receipts are not those that its header commits to")]
    Receipts,
    /// A transaction goes by another hash than that of its bytes.
    #[error("transaction {0} has other bytes than its hash says")]
    Transaction(B256),
    /// The receipt at this index, or a log of it, names a block, a transaction, a place or an amount of gas that is not
    /// its own.
    #[error("the receipt at index {0} says of itself what is not so")]
    Place(usize),
    /// The account is not as the nodes of the trie below the state root have it.
    #[error("the account is not as the state root commits to")]
    Account,
}

/// The form that cannot be judged: of a fork that is not known here, of a chain with rules of its own, or of a node that
/// leaves things out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// A field that no known fork has, by its first 40 characters. It may be part of what is hashed.
    #[error("it has the field {0}, which is not known here")]
    UnknownField(String),
    /// A field without which nothing can be recomputed is missing or null.
    #[error("it lacks the field {0}")]
    MissingField(&'static str),
    /// The header does not give its hash, and may lack the last of its fields: no header with exactly these fields was
    /// proven on the chain before.
    #[error("its header may lack fields")]
    Shape,
    /// A transaction of a type that is not known here: a deposit of an OP chain, one of Arbitrum's own, a state-sync of
    /// Polygon, or one of a fork to come.
    #[error("a transaction of it has type {0:#x}, which is not known here")]
    TransactionType(u64),
    /// The transaction at this index is of a known type, and not in a known form.
    #[error("the transaction at index {0} has an unknown form")]
    TransactionForm(usize),
    /// The transaction at this index has no signature: a state-sync of Polygon, which was told beside those of the
    /// root, or the act of an account that a development node plays. It goes by a hash that is not that of its bytes.
    #[error("the transaction at index {0} is not signed")]
    Unsigned(usize),
    /// A receipt of a type that is not known here.
    #[error("a receipt of it has type {0:#x}, which is not known here")]
    ReceiptType(u64),
    /// A receipt says that its transaction used no gas: the chain's own act, which some chains keep out of the root.
    #[error("a receipt of it is of the chain's own making")]
    SystemReceipt,
    /// The block follows from its header, and breaks a rule of Ethereum.
    #[error("it follows rules of its own")]
    OwnRules,
    /// The nodes of the trie begin at another state than the one asked about.
    #[error("its proof is of another state")]
    OtherState,
}
