//! Blocks that are read for what was on its way when the process began.

use super::forged::{Place, block, show};
use super::node::{HEAD_MS, connected, node};
use super::sightings::any_call;
use super::*;
use crate::{AccountHistory, BlockScan, ChainError, HeadExtent, ScanRange};
use alloy::primitives::B256;
use tron_primitives::transaction::SignedBytes;

const FIRST: u64 = 100;

/// Has the node show this block as its newest, on both sides.
fn at_head(double: &Double, number: u64, block: &Value) {
    show(double, number, block);
    for service in ["wallet", "walletsolidity"] {
        double.says(&format!("/{service}/getblock"), 200, &block.to_string());
    }
}

async fn scanned(chain: &TronChain) -> Result<BlockScan, ChainError> {
    chain.poll_head(HeadExtent::Whole).await.unwrap();
    let AccountHistory::Blocks(blocks) = chain.history() else { panic!("it has blocks") };
    blocks.scan_blocks(ScanRange::Arrivals).await
}

#[tokio::test]
async fn after_a_block_that_does_not_fit_nothing_since_the_first_is_passed_over() {
    let double = node();
    serving(&double, async |url| {
        let chain = connected(url).await;
        let at = |number: u64, parent| Place {
            number,
            time_ms: HEAD_MS + (number - FIRST) * 3_000,
            parent,
        };
        let raw = any_call();
        let (first, begins) = block(at(FIRST, B256::ZERO), None);
        let (second, holds) = block(at(FIRST + 1, first), Some((&raw, "SUCCESS")));
        let (_, elsewhere) = block(at(FIRST + 2, B256::repeat_byte(9)), None);
        let (third, fits) = block(at(FIRST + 2, second), None);
        let (_, newest) = block(at(FIRST + 3, third), None);
        at_head(&double, FIRST, &begins);
        assert!(scanned(&chain).await.unwrap().found.is_empty());

        show(&double, FIRST + 1, &holds);
        at_head(&double, FIRST + 2, &elsewhere);
        let misfit = scanned(&chain).await;
        assert!(matches!(misfit, Err(ChainError::Node { question: "getblock", .. })), "{misfit:?}");

        show(&double, FIRST + 2, &fits);
        at_head(&double, FIRST + 3, &newest);
        let read = scanned(&chain).await.unwrap();
        assert_eq!(read.read.number, FIRST + 3);
        let found: Vec<B256> = read.found.iter().map(|found| found.landed().hash).collect();
        assert_eq!(found, [SignedBytes::read(&raw).unwrap().txid]);
    })
    .await;
}
