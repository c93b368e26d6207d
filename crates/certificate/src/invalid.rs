//! The reasons for which a certificate proves nothing.

use alloy::primitives::B256;

/// The reason why a text is no certificate, or why it proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It is longer than any certificate.
    #[error("it is longer than any certificate")]
    Size,
    /// It is no JSON of the form of a certificate.
    #[error("it has not the form of a certificate")]
    Form,
    /// It is of another version of the form.
    #[error("it is of the form {0}, which is not known here")]
    Version(String),
    /// It says the same in another way than the one in which a certificate is written.
    #[error("it is not written as a certificate is")]
    Spelling,
    /// Its digest is not that of the rest: it was altered, by accident at least.
    #[error("its digest is not that of the rest of it")]
    Digest,
    /// It proves something of another block than the trusted one.
    #[error("it is of block {0}, which is not the trusted one")]
    OtherBlock(B256),
    /// Its header does not give the block's hash.
    #[error("its header does not give its block's hash")]
    Header,
    /// The nodes do not lead from the header to a transaction and its receipt.
    #[error("its paths do not lead from its header to a transaction")]
    Path,
    /// The transaction in the block has another hash.
    #[error("the transaction in its block is another one")]
    Transaction,
    /// The transaction was signed for another network, or for any.
    #[error("its transaction is not of its network")]
    Network,
    /// The transaction charged nobody: it failed, or is no call of a contract.
    #[error("its transaction did not succeed")]
    Failed,
    /// The log is not the event that it is said to be.
    #[error("its log is not its event")]
    Event,
    /// The reader was given another declaration of the event, or the certificate has no event; it has this declaration.
    #[error("its event is declared as {}, which is not the declaration given", .0.as_deref().unwrap_or("none"))]
    Declared(Option<String>),
    /// The journal says otherwise than the block, in the field of this name.
    #[error("its claim says otherwise of {0} than its block")]
    Claim(String),
    /// The headers on top do not stand on the block.
    #[error("the headers above do not stand on its block")]
    Above,
}
