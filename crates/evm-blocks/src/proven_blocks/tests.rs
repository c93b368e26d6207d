//! Ways down from proven blocks, by nodes that tell headers.

use super::{HEADERS, NotBelow, ProvenBlocks};
use crate::made_nodes::{fleet, made};
use ::node::{Fleet, JsonRpc};
use alloy::consensus::Header;
use alloy::primitives::Bytes;
use evm_proofs::block_id::BlockId;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A chain of so many headers after this one. Those of another mark are another chain.
fn chain(first: &Header, many: u64, mark: u8) -> Vec<Header> {
    let mut headers = vec![first.clone()];
    for _ in 0..many {
        let mut next = made::unsealed(headers.last().unwrap(), &[]);
        next.extra_data = Bytes::from(vec![mark; 97]);
        headers.push(next);
    }
    headers
}

fn at(headers: &[Header], number: u64) -> BlockId {
    let header = headers.iter().find(|header| header.number == number).unwrap();
    BlockId { number, hash: header.hash_slow() }
}

/// A node that tells the headers of these chains, and the number of its questions. One in `fails` is not answered.
async fn node(chains: &[&[Header]], fails: u64) -> (Arc<Fleet<JsonRpc>>, Arc<AtomicU64>) {
    let told: HashMap<String, Value> = chains
        .iter()
        .flat_map(|chain| chain.iter())
        .map(|header| (header.hash_slow().to_string(), made::told(header)))
        .collect();
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let fleet = fleet(vec![Arc::new(move |_, hash| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        let fails = fails > 0 && number.is_multiple_of(fails);
        Some(if fails { json!(null) } else { told.get(hash).cloned().unwrap_or_default() })
    })])
    .await;
    (fleet, asked)
}

#[tokio::test]
async fn a_block_is_reached_however_fast_the_proven_one_goes_ahead() {
    let headers = chain(&Header::default(), 10_000, 1);
    // One header in so many is not told.
    let (fleet, asked) = node(&[&headers], 701).await;
    let mut blocks = ProvenBlocks::default();
    let block = at(&headers, 2_000);
    let mut said = vec![];
    for newest in (5_000..=10_000).step_by(300) {
        said.push(blocks.judge(&fleet, at(&headers, newest), block).await);
    }
    let first = said.iter().position(Result::is_ok).unwrap();
    assert!(said[..first].iter().all(|said| matches!(said, Err(NotBelow::Apart { .. }))));
    assert!(said[first..].iter().all(Result::is_ok));
    assert!(asked.load(Ordering::Relaxed) < 3_300, "{asked:?}");
    // Each that was passed on the way is known, and a later one takes the few headers down from the block above it.
    let before = asked.load(Ordering::Relaxed);
    assert_eq!(blocks.judge(&fleet, at(&headers, 9_800), at(&headers, 4_000)).await, Ok(()));
    assert_eq!(asked.load(Ordering::Relaxed), before);
    assert_eq!(blocks.judge(&fleet, at(&headers, 9_800), at(&headers, 9_490)).await, Ok(()));
    assert!(asked.load(Ordering::Relaxed) <= before + 12);
}

#[tokio::test]
async fn another_block_is_told_once_the_newest_proves_it_so() {
    let headers = chain(&Header::default(), 1_000, 1);
    let (fleet, _) = node(&[&headers], 0).await;
    let mut blocks = ProvenBlocks::default();
    let (block, lie) = (at(&headers, 390), BlockId { number: 390, ..at(&headers, 391) });
    assert_eq!(blocks.judge(&fleet, at(&headers, 400), block).await, Ok(()));
    let newest = at(&headers, 1_000);
    let apart = Err(NotBelow::Apart { number: 390, newest: 1_000 });
    let another = Err(NotBelow::Another { number: 390, is: block.hash, told: lie.hash });
    for said in [&apart, &apart, &another, &another] {
        assert_eq!(blocks.judge(&fleet, newest, lie).await, *said);
    }
    assert_eq!(blocks.judge(&fleet, newest, block).await, Ok(()));
    let early = NotBelow::Early { number: 1_000, newest: 999 };
    assert_eq!(blocks.judge(&fleet, at(&headers, 999), newest).await, Err(early));
}

/// Of two chains that are proven the one of the newest block counts, whether the nodes still tell the other or not.
#[tokio::test]
async fn of_two_chains_that_are_proven_the_newest_counts() {
    let trunk = chain(&Header::default(), 100, 1);
    let left = chain(&trunk[100], 100, 2);
    let right = chain(&trunk[100], 700, 3);
    for told in [vec![&trunk[..], &left, &right], vec![&trunk[..], &right]] {
        let (before, _) = node(&[&trunk, &left], 0).await;
        let mut blocks = ProvenBlocks::default();
        let lower = at(&left, 180);
        assert_eq!(blocks.judge(&before, at(&left, 200), lower).await, Ok(()));
        let (fleet, _) = node(&told, 0).await;
        let (newest, block) = (at(&right, 800), at(&right, 150));
        let mut said = vec![];
        while said.last() != Some(&Ok(())) && said.len() < 5 {
            said.push(blocks.judge(&fleet, newest, block).await);
        }
        assert_eq!(said.len(), 3, "{said:?}");
        let is = at(&right, 180).hash;
        let another = NotBelow::Another { number: 180, is, told: lower.hash };
        assert_eq!(blocks.judge(&fleet, newest, lower).await, Err(another));
        assert_eq!(blocks.judge(&fleet, newest, at(&trunk, 90)).await, Ok(()));
    }
    // The same at one height.
    let (fleet, _) = node(&[&trunk, &left, &right], 0).await;
    let mut blocks = ProvenBlocks::default();
    assert_eq!(blocks.judge(&fleet, at(&left, 200), at(&left, 199)).await, Ok(()));
    assert_eq!(blocks.judge(&fleet, at(&right, 200), at(&right, 199)).await, Ok(()));
}

#[tokio::test]
async fn blocks_that_were_forgotten_are_soon_known_again() {
    let headers = chain(&Header::default(), 2_000, 1);
    let (fleet, asked) = node(&[&headers], 0).await;
    let mut blocks = ProvenBlocks::default();
    let newest = at(&headers, 1_999);
    for number in [1_800, 1_600, 1_400, 1_200, 1_000] {
        assert_eq!(blocks.judge(&fleet, newest, at(&headers, number)).await, Ok(()));
    }
    blocks.thin_out();
    assert_eq!(blocks.known.len(), 5, "1000, 1024, 1280, 1536, 1792");
    for number in [1_000, 1_100, 900] {
        let before = asked.swap(0, Ordering::Relaxed);
        assert_eq!(blocks.judge(&fleet, newest, at(&headers, number)).await, Ok(()), "{before}");
        assert!(asked.load(Ordering::Relaxed) <= HEADERS);
    }
}
