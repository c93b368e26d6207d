//! What a test does to a chain: blocks, time, money and memory.

use super::{Address, B256, Family, Rpc, U256, Value, json};

impl Rpc {
    // The chain itself.

    pub(crate) async fn mine(&self, blocks: u64) {
        self.call::<Value>("anvil_mine", json!([U256::from(blocks)])).await;
    }

    /// Replaces the newest blocks with empty ones. Their transactions are gone, also from the pool.
    pub(crate) async fn reorg(&self, depth: u64) {
        self.call::<Value>("anvil_reorg", json!([depth, []])).await;
    }

    /// Forgets a transaction that waits in the pool.
    pub(crate) async fn drop_transaction(&self, hash: B256) {
        self.call::<Value>("anvil_dropTransaction", json!([hash])).await;
    }

    pub(crate) async fn set_automine(&self, on: bool) {
        self.call::<Value>("evm_setAutomine", json!([on])).await;
    }

    /// Lets anybody send without a key, and gives these wallets the coin to pay for it.
    pub(crate) async fn fund(&self, wallets: &[Address]) {
        self.call::<Value>("anvil_autoImpersonateAccount", json!([true])).await;
        let one = U256::from(10).pow(U256::from(18));
        let asked = wallets.iter().map(|wallet| json!([wallet, one])).collect();
        self.many::<Value>("anvil_setBalance", asked).await;
    }

    /// Lets time pass, and mines a block that knows it.
    pub(crate) async fn pass(&self, seconds: u64) {
        self.call::<Value>("evm_increaseTime", json!([seconds])).await;
        self.mine(1).await;
    }

    /// Mines a block of this time, in Unix seconds.
    pub(crate) async fn mine_at(&self, time: u64) {
        self.call::<Value>("evm_setNextBlockTimestamp", json!([time])).await;
        self.mine(1).await;
    }

    /// The time of the newest block, in Unix seconds.
    pub(crate) async fn now(&self) -> u64 {
        self.time_of("latest").await
    }

    /// The time of a block, by tag or number in hex, in Unix seconds.
    pub(crate) async fn time_of(&self, block: &str) -> u64 {
        let block: Value = self.call("eth_getBlockByNumber", json!([block, false])).await;
        serde_json::from_value::<U256>(block["timestamp"].clone()).unwrap().to()
    }

    pub(crate) async fn block_number(&self) -> u64 {
        self.call::<U256>("eth_blockNumber", json!([])).await.to()
    }

    pub(crate) fn family(&self) -> Family {
        self.family
    }

    pub(crate) async fn chain_id(&self) -> u64 {
        self.call::<U256>("eth_chainId", json!([])).await.to()
    }
}
