//! The messages of EVM nodes, more special ones before more general ones. One row for each, with the
//! message in full as a node writes it. Sources: the clients' own error lists (geth
//! core/txpool/errors.go and core/error.go, reth crates/transaction-pool/src/error.rs, besu
//! `RpcErrorType`, erigon txpoolcfg `DiscardReason`, nethermind `AcceptTxResult`, anvil
//! `InvalidTransactionError`, nitro execution/gethexec).

use super::ErrorMeaning::{self, Held, Objects, Swamped};
use super::ErrorRow;
use super::Words::{self, Begins, Has, Whole};
use billing::NodeRejection::{
    Busy, Gap, NonceTaken, Policy, Replaced, Reverts, Starved, Structural, Underpriced,
};

const fn row(
    client: &'static str,
    words: Words,
    meaning: ErrorMeaning,
    fixture: &'static str,
) -> ErrorRow {
    ErrorRow { client, words, meaning, fixture }
}

#[rustfmt::skip]
pub(super) const ROWS: &[ErrorRow] = &[
    // The node has it. Only these count as taken: each is a message's beginning, and no part of one.
    row("geth, reth, nethermind", Begins("already known"), Held, "already known"),
    row("besu, old geth, zksync", Begins("known transaction"), Held, "known transaction. transaction with hash 0xab12 is already in the system"),
    row("anvil", Begins("transaction already imported"), Held, "transaction already imported"),
    row("erigon", Begins("existing txn with same hash"), Held, "existing txn with same hash"),
    row("old nethermind", Begins("alreadyknown"), Held, "AlreadyKnown"),
    row("openethereum", Begins("transaction with the same hash was already imported"), Held, "Transaction with the same hash was already imported."),
    row("frontier", Begins("pool(alreadyimported"), Held, "submit transaction to pool failed: Pool(AlreadyImported(Any { .. }))"),
    // Something is in this place.
    row("geth, erigon, besu, anvil, ...", Has("replacement transaction underpriced"), Objects(Replaced), "replacement transaction underpriced: new tx gas tip cap 1 <= 1 queued"),
    row("erigon", Has("could not replace existing tx"), Objects(Replaced), "could not replace existing tx"),
    row("old nethermind", Begins("replacementnotallowed"), Objects(Replaced), "ReplacementNotAllowed"),
    // Another one of ours at this nonce, not necessarily this one.
    row("old nethermind", Begins("ownnoncealreadyused"), Objects(Replaced), "OwnNonceAlreadyUsed"),
    row("openethereum", Has("another transaction with same nonce in the queue"), Objects(Replaced), "Transaction gas price 1wei is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce."),
    row("avalanche", Has("current nonce ("), Objects(NonceTaken), "nonce too low: address 0x5Fb current nonce (7) > tx nonce (6)"),
    row("geth, reth, besu, anvil, ...", Has("nonce too low"), Objects(NonceTaken), "nonce too low: next nonce 7, tx nonce 6"),
    row("nethermind", Has("oldnonce"), Objects(NonceTaken), "OldNonce, Current nonce: 7, nonce of rejected tx: 6"),
    row("erigon", Whole("mined"), Objects(NonceTaken), "mined"),
    row("erigon", Has("replaced by transaction with higher tip"), Objects(NonceTaken), "replaced by transaction with higher tip"),
    row("frontier", Has("pool(stale"), Objects(NonceTaken), "submit_extrinsic: Pool(Stale)"),
    row("harmony", Has("transaction already finalized"), Objects(NonceTaken), "transaction already finalized"),
    row("old nitro", Has("invalid transaction nonce"), Objects(NonceTaken), "invalid transaction nonce"),
    // Bytes that no node takes. Before the prices, whose words some of them use.
    row("geth, reth", Has("max priority fee per gas higher than max fee per gas"), Objects(Structural), "max priority fee per gas higher than max fee per gas: address 0x5Fb, maxPriorityFeePerGas: 2, maxFeePerGas: 1"),
    row("geth, reth, anvil", Has("intrinsic gas too low"), Objects(Structural), "intrinsic gas too low: gas 20000, minimum needed 21000"),
    row("besu", Has("intrinsic gas exceeds gas limit"), Objects(Structural), "Intrinsic gas exceeds gas limit"),
    row("geth", Has("insufficient gas for floor data gas cost"), Objects(Structural), "insufficient gas for floor data gas cost: gas 21000, minimum needed 40000"),
    row("geth, besu", Has("exceeds block gas limit"), Objects(Structural), "Transaction gas limit exceeds block gas limit"),
    row("old geth, bsc", Begins("gas limit reached"), Objects(Structural), "gas limit reached"),
    row("geth, bsc", Has("transaction gas limit too high"), Objects(Structural), "transaction gas limit too high (cap: 16777216, tx: 30000000)"),
    row("reth", Has("exceeds max transaction gas limit"), Objects(Structural), "transaction's gas limit 30000000 exceeds max transaction gas limit 16777216"),
    row("geth, reth, nitro", Has("oversized data"), Objects(Structural), "oversized data: transaction size 140000, limit 131072"),
    row("geth", Has("invalid sender"), Objects(Structural), "invalid sender"),
    row("geth", Has("invalid chain id"), Objects(Structural), "invalid chain id for signer: have 56 want 1"),
    row("besu", Has("wrong chainid"), Objects(Structural), "Wrong chainId"),
    row("geth", Has("transaction type not supported"), Objects(Structural), "transaction type not supported"),
    row("geth", Has("sender not an eoa"), Objects(Structural), "sender not an eoa: address 0x5Fb, codehash: 0xab12"),
    row("geth", Has("negative value"), Objects(Structural), "negative value"),
    row("geth", Has("nonce has max value"), Objects(Structural), "nonce has max value: address 0x5Fb, nonce: 18446744073709551615"),
    row("geth, erigon", Has("rlp:"), Objects(Structural), "rlp: expected input list for types.LegacyTx"),
    // Requests that the node refuses, whoever pays.
    row("geth, reth", Has("exceeds the configured cap"), Objects(Policy), "tx fee (1.23 ether) exceeds the configured cap (1.00 ether)"),
    row("besu", Has("transaction fee cap exceeded"), Objects(Policy), "Transaction fee cap exceeded"),
    row("geth", Has("only replay-protected"), Objects(Policy), "only replay-protected (EIP-155) transactions allowed over RPC"),
    row("bsc", Has("in black list"), Objects(Policy), "sender or to in black list"),
    row("besu", Has("sender account not authorized"), Objects(Policy), "Sender account not authorized to send transactions"),
    row("private pools", Has("not in whitelist"), Objects(Policy), "sender is not in whitelist"),
    row("nitro", Has("forbidden sender address"), Objects(Policy), "forbidden sender address"),
    row("nitro", Has("publishing transactions not supported"), Objects(Policy), "publishing transactions not supported by this endpoint"),
    row("all", Has("method not found"), Objects(Policy), "Method not found"),
    row("geth", Has("does not exist/is not available"), Objects(Policy), "the method eth_sendRawTransaction does not exist/is not available"),
    // Too cheap for now.
    row("geth, reth, anvil", Has("max fee per gas less than block base fee"), Objects(Underpriced), "max fee per gas less than block base fee: address 0x5Fb, maxFeePerGas: 1, baseFee: 7"),
    row("geth, reth, bsc", Has("transaction underpriced"), Objects(Underpriced), "transaction underpriced: tip needed 1000000000, tip permitted 1"),
    row("geth", Has("transaction gas price below minimum"), Objects(Underpriced), "transaction gas price below minimum: gas tip cap 1, minimum needed 1000000"),
    row("reth", Has("priority fee below minimum"), Objects(Underpriced), "transaction priority fee below minimum required priority fee 1"),
    row("besu", Has("gas price below"), Objects(Underpriced), "Gas price below current base fee"),
    row("nethermind", Begins("feetoolow"), Objects(Underpriced), "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7"),
    row("nethermind", Begins("feetoolowtocompete"), Objects(Underpriced), "FeeTooLowToCompete"),
    row("erigon", Whole("underpriced"), Objects(Underpriced), "underpriced"),
    row("erigon", Begins("fee too low"), Objects(Underpriced), "fee too low"),
    row("old nitro", Has("gas price too low"), Objects(Underpriced), "gas price too low"),
    // The account cannot pay.
    row("geth, bsc", Has("insufficient funds for gas * price + value"), Objects(Starved), "insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1"),
    row("geth", Has("insufficient funds for transfer"), Objects(Starved), "insufficient funds for transfer"),
    row("erigon, reth", Has("insufficient funds"), Objects(Starved), "insufficient funds"),
    row("besu", Has("upfront cost exceeds account balance"), Objects(Starved), "Upfront cost exceeds account balance"),
    row("old nethermind", Begins("insufficientfunds"), Objects(Starved), "InsufficientFunds, Account balance: 1, cumulative cost: 2"),
    row("ethermint", Has("user cant pay the bills"), Objects(Starved), "user cant pay the bills"),
    // One before it is missing.
    row("geth", Has("gapped-nonce tx from delegated accounts"), Objects(Gap), "gapped-nonce tx from delegated accounts"),
    row("reth", Has("delegation nonce gap"), Objects(Gap), "delegation nonce gap"),
    row("geth, anvil", Has("nonce too high"), Objects(Gap), "nonce too high: address 0x5Fb, tx: 9 state: 7"),
    row("nethermind", Has("noncegap"), Objects(Gap), "NonceGap, Future nonce. Expected nonce: 7"),
    row("private pools", Has("nonce too far in future"), Objects(Gap), "nonce too far in future"),
    row("besu", Has("too distant from current sender nonce"), Objects(Gap), "Transaction nonce is too distant from current sender nonce"),
    row("besu", Has("invalid transaction with a lower nonce exists"), Objects(Gap), "An invalid transaction with a lower nonce exists"),
    // No room in its pool.
    row("geth", Has("future transaction tries to replace pending"), Objects(Busy), "future transaction tries to replace pending"),
    row("geth", Has("txpool is full"), Objects(Busy), "txpool is full"),
    row("erigon", Has("sub-pool is full"), Objects(Busy), "pending sub-pool is full"),
    row("geth", Has("account limit exceeded"), Objects(Busy), "account limit exceeded"),
    row("geth, reth", Has("in-flight transaction limit reached"), Objects(Busy), "in-flight transaction limit reached for delegated accounts"),
    row("geth", Has("address already reserved"), Objects(Busy), "address already reserved"),
    row("nethermind", Has("pending transaction type conflict"), Objects(Busy), "pending transaction type conflict"),
    row("nitro", Begins("queue full"), Objects(Busy), "queue full"),
    row("nitro", Has("sequencer pending tx pool full"), Objects(Busy), "sequencer pending tx pool full, please try again"),
    // It would fail if it were mined now.
    row("L2 that simulate", Has("execution reverted"), Objects(Reverts), "execution reverted: TransferFailed"),
    // The node itself is in no state to answer anything.
    row("nitro", Has("sequencer temporarily not available"), Swamped, "sequencer temporarily not available"),
    row("besu", Has("initial sync is still in progress"), Swamped, "Initial sync is still in progress"),
    row("all", Has("node is syncing"), Swamped, "node is syncing"),
    row("geth", Has("header not found"), Swamped, "header not found"),
    row("nethermind, anvil, besu", Has("block not found"), Swamped, "Block not found"),
    row("reth, erigon", Has("unknown block"), Swamped, "unknown block"),
    row("geth", Has("missing trie node"), Swamped, "missing trie node 0xab12 (path ) state 0xcd34 is not available"),
    row("nethermind", Has("no state available for block"), Swamped, "No state available for block 17"),
    row("quicknode", Has("request limit reached"), Swamped, "50/second request limit reached - reduce calls per second"),
    row("infura", Has("daily request count exceeded"), Swamped, "daily request count exceeded, request rate limited"),
    row("providers", Has("rate limit"), Swamped, "project ID request rate limit exceeded"),
    row("providers", Has("too many requests"), Swamped, "Too Many Requests"),
    row("alchemy", Has("compute units per second"), Swamped, "Your app has exceeded its compute units per second capacity."),
];
