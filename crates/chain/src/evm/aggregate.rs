//! Many reads in one call: through Multicall3 where it is deployed, else as creation code that returns the answers
//! from its constructor and deploys nothing. Reads that do not fit in one call are asked in several at once.

use crate::reads::{Answers, Read, aggregated, answers, calls};
use crate::{ChainError, OddAnswer};
use alloy::primitives::{Address, Bytes};
use alloy::sol_types::SolValue;
use evm_node::{self as node, View};
use futures_util::future::try_join_all;
use serde_json::json;
use std::ops::Range;
use std::sync::LazyLock;

/// Creation code whose constructor takes the calls of `aggregate3` and returns its answers.
/// Source: `Aggregate.sol` beside it.
static CREATION_CODE: LazyLock<Vec<u8>> =
    LazyLock::new(|| hex::decode(include_str!("Aggregate.hex").trim()).unwrap_or_default());

/// The longest creation code with its arguments, bytes.
/// EIP-3860; geth: `params/protocol_params.go`, `MaxInitCodeSize`.
const MAX_INITCODE: usize = 49_152;

/// The longest answer of a constructor, bytes.
/// EIP-170; geth: `params/protocol_params.go`, `MaxCodeSize`.
const MAX_CODE: usize = 24_576;

/// The most reads in one call to a deployed aggregator: about 5 M gas of a usual 50 M.
const MAX_READS: usize = 500;

/// The most bytes in one call to a deployed aggregator, either way.
const MAX_BYTES: usize = 512 << 10;

/// The way in which reads are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregator {
    /// Multicall3 at this address.
    Deployed(Address),
    /// Creation code.
    Deployless,
}

#[derive(Clone, Copy)]
struct Limits {
    reads: usize,
    sent: usize,
    returned: usize,
}

/// Makes all reads. None for one that failed, or whose target holds no code and so said nothing.
pub(super) async fn aggregate(
    view: &View<'_>,
    how: Aggregator,
    reads: &[Read],
) -> Result<Answers, ChainError> {
    let limits = limits(how);
    let asked = chunks(reads, limits)
        .into_iter()
        .filter_map(|range| reads.get(range))
        .map(|chunk| ask(view, how, chunk));
    let answers = try_join_all(asked).await?;
    Ok(answers.into_iter().flatten().collect())
}

async fn ask(view: &View<'_>, how: Aggregator, reads: &[Read]) -> Result<Answers, ChainError> {
    let call = match how {
        Aggregator::Deployed(to) => {
            let data = alloy::hex::encode_prefixed(aggregated(reads));
            json!({ "to": to, "data": data })
        }
        Aggregator::Deployless => {
            let code =
                CREATION_CODE.iter().copied().chain(calls(reads).abi_encode()).collect::<Vec<_>>();
            json!({ "data": alloy::hex::encode_prefixed(code) })
        }
    };
    let answer: Bytes = view.rpc.ask(node::ETH_CALL, json!([call, view.block])).await?;
    answers(&answer, reads.len()).map_err(|answers| {
        let answer = OddAnswer::Counted { answers, reads: reads.len() };
        ChainError::Node { question: node::ETH_CALL, answer }
    })
}

fn limits(how: Aggregator) -> Limits {
    match how {
        Aggregator::Deployed(_) => {
            Limits { reads: MAX_READS, sent: MAX_BYTES, returned: MAX_BYTES }
        }
        Aggregator::Deployless => Limits {
            reads: MAX_READS,
            sent: MAX_INITCODE.saturating_sub(CREATION_CODE.len()),
            returned: MAX_CODE,
        },
    }
}

/// Cuts reads into runs that fit. A read that fits nowhere gets a run of its own, and fails alone.
fn chunks(reads: &[Read], limits: Limits) -> Vec<Range<usize>> {
    let (mut chunks, mut start) = (Vec::new(), 0);
    let (mut sent, mut returned) = (LIST, LIST);
    for (index, read) in reads.iter().enumerate() {
        let (asks, says) = (asked_bytes(read), answered_bytes(read));
        let full = index.saturating_sub(start) >= limits.reads
            || sent.saturating_add(asks) > limits.sent
            || returned.saturating_add(says) > limits.returned;
        if full && index > start {
            chunks.push(start..index);
            (start, sent, returned) = (index, LIST, LIST);
        }
        sent = sent.saturating_add(asks);
        returned = returned.saturating_add(says);
    }
    if start < reads.len() {
        chunks.push(start..reads.len());
    }
    chunks
}

/// ABI words around a list: selector rounded up, offset, length. Bytes.
const LIST: usize = 96;

/// A call in the list: its offset, target, flag, offset of the data, length of the data, data.
fn asked_bytes(read: &Read) -> usize {
    padded(read.data.len()).saturating_add(160)
}

/// An answer in the list: its offset, flag, offset of the data, length of the data, data.
fn answered_bytes(read: &Read) -> usize {
    padded(read.answer).saturating_add(128)
}

fn padded(bytes: usize) -> usize {
    bytes.div_ceil(32).saturating_mul(32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::{Answer3, Call3};
    use proptest::prelude::*;

    fn read(data: usize, answer: usize) -> Read {
        Read { target: Address::ZERO, data: vec![0; data], answer }
    }

    #[test]
    fn the_creation_code_is_there() {
        assert!(CREATION_CODE.len() > 100 && CREATION_CODE.len() < 4096);
    }

    #[test]
    fn balances_of_many_are_asked_in_calls_that_fit() {
        let reads = vec![read(68, 32); 1001];
        let ranges = chunks(&reads, limits(Aggregator::Deployed(Address::ZERO)));
        assert_eq!(ranges, vec![0..500, 500..1000, 1000..1001]);
        let ranges = chunks(&reads, limits(Aggregator::Deployless));
        assert_eq!(ranges.first(), Some(&(0..153)), "24,576 bytes of answers");
        assert!(chunks(&[], limits(Aggregator::Deployless)).is_empty());
    }

    proptest! {
        #[test]
        fn every_read_is_asked_once_in_order_and_the_sizes_are_as_computed(
            sizes in prop::collection::vec((0..2000_usize, 0..3000_usize), 0..300),
        ) {
            let reads: Vec<Read> = sizes.into_iter().map(|(data, says)| read(data, says)).collect();
            let limits = limits(Aggregator::Deployless);
            let ranges = chunks(&reads, limits);
            let asked: Vec<usize> = ranges.iter().cloned().flatten().collect();
            prop_assert_eq!(asked, (0..reads.len()).collect::<Vec<_>>());
            for range in ranges {
                let chunk = &reads[range];
                let calls: Vec<Call3> = chunk.iter().map(|read| Call3 {
                    target: Address::ZERO, allowFailure: true, callData: read.data.clone().into(),
                }).collect();
                let answers: Vec<Answer3> = chunk.iter().map(|read| Answer3 {
                    success: true, returnData: vec![0; read.answer].into(),
                }).collect();
                prop_assert!(calls.abi_encode().len() <= limits.sent);
                prop_assert!(answers.abi_encode().len() <= limits.returned);
            }
        }
    }
}
