//! Why a chain gave no verdict. Every variant means: nothing was signed, nothing was sent.

use super::{Payer, TooDear, Unready};
use ::node::{AskError, Fault, NodeError, RealChain};
use alloy::primitives::{B256, U256};
use billing::{BadField, FailCode, Undecodable};
use jiff::Timestamp;
use std::time::Duration;
use tron_node::Misfit;
use tron_primitives::transaction::Unreadable;

/// Why a chain gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// No usable answer.
    #[error("the node did not answer: {0}")]
    Unavailable(Unanswered),
    /// The node refused or garbled a question that it should have answered.
    #[error("the node answered {question} with: {answer}")]
    Node {
        /// The question: its name, or the number of its reads.
        question: &'static str,
        /// The node's answer.
        answer: OddAnswer,
    },
    /// The signing account cannot pay for the transaction.
    #[error(
        "the signing account {payer} holds {}, but the transaction may cost {}, with what is open already: \
         top it up: send {} to that address",
        payer.coins(*have),
        payer.coins(*need),
        payer.coin()
    )]
    GasFunds {
        /// The balance of the account.
        have: U256,
        /// The cost that the transaction may reach, with what is open already.
        need: U256,
        /// The account that pays.
        payer: Payer,
    },
    /// Nothing at all can be signed at present.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// Nothing can be signed for the account: its key is not configured.
    #[error("the key of the account {signer} is not configured: nothing is signed for it")]
    NoKey {
        /// The account, as its chain writes it.
        signer: String,
    },
    /// The chain asks more than a configured ceiling.
    #[error(transparent)]
    FeeTooHigh(#[from] TooDear),
    /// The batch does not fit in one transaction.
    #[error("the batch needs more gas than one transaction may use: post at most {max} at once")]
    BatchTooLarge {
        /// The largest batch that would fit.
        max: usize,
    },
    /// The batch takes the nodes longer than a block allows a transaction (TRON), or it took too long
    /// before. A block that stops it takes the fee and charges nobody.
    #[error(
        "{charges} charges at once take more CPU time than the chain allows one transaction: post at \
         most {max}. That is remembered, and in {again_s} s more are tried again"
    )]
    BatchTooSlow {
        /// The number of charges that were to be made.
        charges: usize,
        /// The largest batch that is tried now, at least 1.
        max: usize,
        /// In how many seconds more are tried.
        again_s: u64,
    },
    /// One charge alone takes that long.
    #[error("one charge alone takes more CPU time than the chain allows one transaction: {0}")]
    ChargeTooSlow(TooLong),
    /// Nothing more may be signed for a batch as things stand. Its claims stay.
    #[error(transparent)]
    Stays(#[from] Standstill),
    /// The billing call fails as a whole, and no single entry is to blame.
    #[error("the billing call would fail as a whole: {0}")]
    CallFails(CallFault),
}

/// An answer of a node that answers nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OddAnswer {
    /// Its own error.
    #[error(transparent)]
    Error(#[from] NodeError),
    /// That it is on another chain.
    #[error("{answered}, but this chain is {configured}")]
    OtherChain {
        /// The answer that was given.
        answered: RealChain,
        /// The value in the configuration.
        configured: RealChain,
    },
    /// That it does not run the call (TRON).
    #[error("{code}: {words}")]
    NotRun {
        /// Its code for that.
        code: String,
        /// Its words.
        words: String,
    },
    /// More answers than questions, or fewer.
    #[error("{answers} answers to {reads} reads")]
    Counted {
        /// The number of answers that the node gave.
        answers: usize,
        /// The question: its name, or the number of its reads.
        reads: usize,
    },
    /// Nothing of the kind that a block is.
    #[error("no block")]
    NoBlock,
    /// No block of that name (EVM).
    #[error("no {0} block: set `finality` to a depth if this chain has none")]
    NoBlockNamed(&'static str),
    /// An error where the final block was asked for (EVM).
    #[error("{0}: set `finality` to a depth if this chain has no finalized block")]
    NoFinalTag(NodeError),
    /// A block that was not asked for (TRON).
    #[error("it is not the block that was asked for")]
    OtherBlock,
    /// A block that does not follow the one before (TRON).
    #[error("it does not follow the block before it")]
    UnlinkedBlock,
    /// That the chain has no such parameter (TRON).
    #[error("no such parameter")]
    NoParameter,
    /// Another number of results, or others, than the profile says.
    #[error("not what the billing profile says it returns")]
    NotByProfile,
    /// Bytes that say nothing.
    #[error("nothing that can be read")]
    Unreadable,
}

/// Why a call takes too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// The node stopped it, in these words.
    #[error("{0}")]
    Stopped(String),
    /// It went through, and took nearly what a block allows.
    #[error("a simulation took {} ms", .0.as_millis())]
    Took(Duration),
    /// It was not tried.
    #[error("it was not tried")]
    Untried,
}

/// Why there was no usable answer. The words never hold a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The one who was asked gave none.
    #[error(transparent)]
    Asked(AskError),
    /// Nobody was reached since the start.
    #[error("not reached yet")]
    NotReached,
    /// Nobody is left to be asked.
    #[error("no node can be used")]
    NoNode,
    /// Fewer are left than the question needs.
    #[error("too few nodes can be used")]
    TooFewNodes,
    /// Fewer can be asked than have to agree before somebody is refused, or a period claimed.
    #[error("{needed} providers must agree, and fewer can be asked now")]
    TooFewNow {
        /// The number of agreeing answers that is required.
        needed: usize,
    },
    /// Of those that have to agree some did not answer.
    #[error("{needed} providers must agree, and {} did not answer; post it again", silent.join(" and "))]
    OthersSilent {
        /// The number of agreeing answers that is required.
        needed: usize,
        /// The labels of the nodes that did not answer.
        silent: Vec<String>,
    },
    /// Those that were asked contradict each other.
    #[error("the nodes disagree about what can be charged; post it again")]
    Disagreed,
    /// No block is called irrevocable by as many as have to agree (TRON).
    #[error("{needed} providers must call the same block irrevocable, and they do not")]
    NothingIrrevocable {
        /// The number of agreeing answers that is required.
        needed: usize,
    },
    /// Nobody tells what gas costs.
    #[error("the node names no gas price")]
    NoGasPrice,
    /// Nobody tells what the account holds.
    #[error("no node tells the balance")]
    NoBalance,
    /// One does not tell how many transactions the account has sent.
    #[error("{node} does not tell the account's nonce: {why}")]
    NoNonce {
        /// Its label.
        node: String,
        /// Why not.
        why: Box<ChainError>,
    },
    /// Too few tell what the account had sent when the process before this one wrote last (EVM).
    #[error(
        "{needed} nodes must tell how many transactions the account had sent at {}, before the journal was left, since a \
         copy from before then knows none of the later ones, and they do not: {why}. Use nodes that keep the \
         states of old blocks until the lane is open",
        told_time(*at_s)
    )]
    NoPast {
        /// The number of agreeing answers that is required.
        needed: usize,
        /// The time, Unix seconds.
        at_s: u64,
        /// Why one of them does not.
        why: Box<ChainError>,
    },
    /// Too few name the transaction that took a nonce.
    #[error(
        "{needed} nodes must name the transaction of the account with nonce {nonce}, and they do not: \
         they may lack the states of old blocks"
    )]
    Unnamed {
        /// The number of agreeing answers that is required.
        needed: usize,
        /// The nonce.
        nonce: u64,
    },
    /// A block that is not proven to be irrevocable (TRON).
    #[error("too few witnesses are seen to stand on block {0}")]
    Unwitnessed(u64),
    /// A block that has to be read, and is forgotten (TRON).
    #[error(
        "too few nodes hold block {0} any more, and what was billed since then has to be learnt: use \
         nodes that do"
    )]
    Forgotten(u64),
    /// A new block that a node tells of, and does not show (TRON).
    #[error("a node does not show its block {0}, which may hold what the journal does not know")]
    Unread(u64),
    /// Too few nodes tell alike what this transaction did (TRON).
    #[error("too few nodes tell alike yet what {0} did")]
    Untold(B256),
    /// The node stops the billing call for want of time or energy, in its words (TRON).
    #[error("it keeps stopping the billing call: {0}")]
    StopsCall(String),
    /// The same with a single read.
    #[error("it keeps stopping a single read: {0}")]
    StopsRead(String),
}

/// Why nothing more may be signed for a batch as things stand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Standstill {
    /// TRON has no cancel.
    #[error("there is nothing to cancel on TRON: transactions expire")]
    NothingToCancel,
    /// The call of the first attempt cannot be made anew.
    #[error(transparent)]
    Call(#[from] Undecodable),
    /// The account wants other signatures as well.
    #[error("the key cannot sign for the account alone")]
    NotAlone,
    /// They took too long before.
    #[error("so many charges at once take too long at present")]
    TooSlow,
    /// Its time is not over.
    #[error("an earlier attempt can still land")]
    CanStillLand,
    /// The bytes of an earlier attempt say nothing.
    #[error(transparent)]
    Bytes(#[from] Unreadable),
    /// A later program billed it, or one with other profiles.
    #[error("its profile cannot be read by this program")]
    UnknownProfile,
    /// The configuration is of another account, or of another contract.
    #[error("the first attempt is another account's, or calls another contract")]
    AnothersCall,
}

/// Why a billing call fails as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// A charge does not fit into it.
    #[error(transparent)]
    Field(#[from] BadField),
    /// It cannot be written as a transaction (TRON).
    #[error(transparent)]
    Bytes(#[from] Unreadable),
    /// It reverts.
    #[error("{}: {detail}", code.text())]
    Reverts {
        /// The contract's reason, as one of ours.
        code: FailCode,
        /// In the words of the contract, or of the node.
        detail: String,
    },
    /// Each passes alone.
    #[error("entries that passed alone fail together")]
    Together,
    /// Nobody would be charged by it now.
    #[error("none of it would be charged any more")]
    ChargesNobody,
    /// There is nothing to call.
    #[error("there is no contract at {0}")]
    NoContract(String),
    /// One charge does not fit into a block.
    #[error("one charge alone needs {needed} gas, and a transaction may use {most}")]
    Gas {
        /// The gas that the charge needs.
        needed: U256,
        /// The gas that a transaction may use.
        most: u64,
    },
    /// The bytes of an earlier attempt say nothing (EVM).
    #[error("the bytes of an earlier attempt cannot be read")]
    UnreadableAttempt,
    /// There is no attempt that bills.
    #[error("no earlier attempt bills")]
    NoBilling,
    /// The chain is not of the kind that the configuration says.
    #[error(
        "fees.l1_fee = \"op\", but the chain's GasPriceOracle answered {0}: set it to \"none\" if this \
         is no OP Stack chain"
    )]
    NoOracle(Box<OddAnswer>),
}

/// A time (Unix seconds) as people read it.
fn told_time(at_s: u64) -> String {
    let at = i64::try_from(at_s).ok().and_then(|at_s| Timestamp::from_second(at_s).ok());
    at.map_or_else(|| format!("{at_s} (Unix time)"), |at| at.to_string())
}

impl From<AskError> for ChainError {
    fn from(asked: AskError) -> Self {
        let AskError { question, fault } = &asked;
        match fault {
            Fault::Node(error) => Self::Node { question, answer: error.clone().into() },
            Fault::WrongChain { answered, configured } => {
                let (answered, configured) = (*answered, *configured);
                Self::Node { question, answer: OddAnswer::OtherChain { answered, configured } }
            }
            Fault::Lost(_)
            | Fault::Http(_)
            | Fault::ShutOut { .. }
            | Fault::Garbled
            | Fault::NoNode => Self::Unavailable(Unanswered::Asked(asked)),
        }
    }
}

impl From<Misfit> for OddAnswer {
    fn from(misfit: Misfit) -> Self {
        match misfit {
            Misfit::Other => Self::OtherBlock,
            Misfit::Link => Self::UnlinkedBlock,
        }
    }
}

impl From<Unanswered> for ChainError {
    fn from(why: Unanswered) -> Self {
        Self::Unavailable(why)
    }
}

impl From<CallFault> for ChainError {
    fn from(why: CallFault) -> Self {
        Self::CallFails(why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use billing::Family;

    #[test]
    fn a_person_reads_coins_addresses_and_dates() {
        let have = U256::from(566_237_007_927_318_u64);
        let need = U256::from(600_000_000_000_000_u64);
        let short = ChainError::GasFunds { have, need, payer: Payer::nobody(Family::Evm) };
        assert_eq!(
            short.to_string(),
            "the signing account 0x0000000000000000000000000000000000000000 holds 0.000566237 ETH, but the \
             transaction may cost 0.0006 ETH, with what is open already: top it up: send ETH to that address"
        );
        let why = Box::new(Unanswered::NoNode.into());
        let past = Unanswered::NoPast { needed: 2, at_s: 1_795_452_700, why }.to_string();
        assert!(past.contains("had sent at 2026-11-23T16:51:40Z, before"), "{past}");
    }
}
