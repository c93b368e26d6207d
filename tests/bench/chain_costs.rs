//! What a charge of the reference contract costs on chain, beside a bare `transferFrom` of the same token in a
//! transaction of its own: gas on anvil, energy and bandwidth on the sandbox's TRON, with a token that nobody else
//! uses and with one that the whole chain does. No Signer takes part.

use crate::world::anvil::Anvil;
use crate::world::contracts::{AnyToken, Kind, Merchant, Subscriber, Token, outcomes};
use crate::world::tron::TronWorld;
use alloy::primitives::{Address, U256};
use alloy::rpc::types::TransactionRequest;
use alloy::sol_types::SolCall as _;
use sandbox_chains::tron::{TronNode, Wallet};

/// How many charges are in the batches.
const SIZES: [u64; 9] = [1, 2, 5, 10, 20, 50, 100, 150, 200];

/// The length of a period (s).
const MONTH: u64 = 30 * 24 * 60 * 60;

/// Base units of a token with six decimals.
const PRICE: u128 = 1_000_000;

/// What a transaction may burn on TRON (sun).
const FEE_LIMIT: i64 = 5_000_000_000;

/// The energy factors of a token that hardly anybody uses, and of one that the whole chain bills in: the highest
/// that the chain gives, which USDT has.
const FACTORS: [u64; 2] = [0, 34_000];

/// What the Signer adds to a simulation by default: a factor in hundredths of percent, and a reserve (energy).
const MARGIN: u64 = 13_200;
const RESERVE: u64 = 450_000;

/// The default ceiling of a fee limit (sun), and what a unit of energy costs (sun).
const CEILING: u64 = 500_000_000;
const ENERGY_SUN: u64 = 100;

/// The length of a slot (ms).
const SLOT_MS: u64 = 3000;

/// What one transaction used.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// Gas or energy.
    units: u64,
    /// TRON: bytes of bandwidth.
    bytes: u64,
    /// TRON: what is burnt where nothing is staked (sun).
    sun: u64,
}

/// Both families, one table each.
pub(crate) async fn tables() {
    let anvil = Anvil::start().await;
    println!("gas, anvil:");
    let (biller, payer) = (anvil.accounts[5], Payer::Anvil(&anvil));
    Shop::open(&anvil, biller, payer).await.table().await;

    for factor in FACTORS {
        let (world, anvil) = TronWorld::start().await;
        let mut wallet = Wallet::new(&[7; 32]).unwrap();
        wallet.fee_limit = FEE_LIMIT;
        world.node.set_param("getMaxFeeLimit", FEE_LIMIT);
        world.node.fund(wallet.address(), u64::MAX / 4);
        println!(
            "\nenergy, and bytes of bandwidth, the sandbox's TRON, a token of factor {factor}:"
        );
        let (biller, payer) = (wallet.address(), Payer::Tron(&world.node, wallet, factor));
        let each = Shop::open(&anvil, biller, payer).await.table().await;
        let fit = (CEILING / ENERGY_SUN - RESERVE) / (each * MARGIN / 10_000);
        println!("under a fee limit of {} TRX: {fit} charges", CEILING / 1_000_000);
    }
}

/// Who sends the transactions that are measured.
enum Payer<'a> {
    Anvil(&'a Anvil),
    /// With the energy factor that tokens have.
    Tron(&'a TronNode, Wallet, u64),
}

impl Payer<'_> {
    /// Sends a call, puts it into a block and reads what it used. `charged` is how many it must charge.
    async fn used(&self, from: Address, to: Address, data: Vec<u8>, charged: usize) -> Used {
        match self {
            Self::Anvil(chain) => {
                let call = TransactionRequest::default().from(from).to(to).input(data.into());
                let receipt = chain.send(call).await;
                assert!(receipt.status());
                assert_eq!(outcomes(&receipt), vec![0; charged]);
                Used { units: receipt.gas_used, bytes: 0, sun: 0 }
            }
            Self::Tron(node, wallet, _) => {
                let call = wallet.call(node, to, data);
                let (id, bytes) = (call.id, call.size() + 64);
                node.broadcast(call).unwrap();
                node.step();
                let chain = node.node().chain();
                let place = chain.find(&id).unwrap();
                let told = &place.included().receipt;
                assert!(told.succeeded(), "{}", told.message);
                Used { units: told.energy_total, bytes, sun: told.energy_fee + bytes * 1000 }
            }
        }
    }

    /// Makes a token as dear as it is to be: the chain forgets that with every maintenance.
    fn heat(&self, token: Address) {
        if let Self::Tron(node, _, factor) = self {
            node.set_energy_factor(token, *factor);
        }
    }

    async fn a_month_later(&self) {
        match self {
            Self::Anvil(chain) => chain.pass(MONTH).await,
            Self::Tron(node, ..) => {
                node.skip(MONTH * 1000 / SLOT_MS);
                node.step();
            }
        }
    }
}

/// A merchant with subscribers for every batch, and one whose charge gives the payee its first tokens: that
/// belongs to no batch.
struct Shop<'a> {
    merchant: Merchant,
    token: Token,
    crowd: Vec<Subscriber>,
    payer: Payer<'a>,
}

impl<'a> Shop<'a> {
    async fn open(chain: &Anvil, biller: Address, payer: Payer<'a>) -> Self {
        let rpc = chain.rpc();
        let merchant = Merchant::open(&rpc, biller).await;
        let token = Token::deploy(&rpc, Kind::NoReturn, 6).await;
        let plan = merchant.agree(1, merchant.monthly(&token, PRICE)).await;
        let mut crowd = vec![];
        for size in SIZES.into_iter().chain([1]) {
            let first = u64::try_from(crowd.len()).unwrap() + 1;
            let some: Vec<_> =
                (first..first + size).map(|number| Merchant::subscriber(&plan, number)).collect();
            merchant.enrol(&some).await;
            crowd.extend(some);
        }
        if let Payer::Tron(node, ..) = &payer {
            node.steps(4);
        }
        let shop = Self { merchant, token, crowd, payer };
        shop.charge(&shop.crowd[shop.crowd.len() - 1..], 1).await;
        shop
    }

    async fn charge(&self, batch: &[Subscriber], period: u32) -> Used {
        let items: Vec<_> = batch.iter().map(|who| who.item(period)).collect();
        let order = self.merchant.order(&items).await.abi_encode();
        let Merchant { biller, billing, .. } = self.merchant;
        self.payer.used(biller, billing, order, batch.len()).await
    }

    async fn bare_transfer(&self) -> Used {
        let Merchant { biller, payee, .. } = self.merchant;
        let who = self.crowd[0].wallet;
        self.token.approve(who, biller, U256::MAX).await;
        self.payer.heat(self.token.address);
        let call = AnyToken::transferFromCall { from: who, to: payee, value: U256::from(1) };
        self.payer.used(biller, self.token.address, call.abi_encode(), 0).await
    }

    /// Prints it. What each of the largest batch used.
    async fn table(&self) -> u64 {
        let mut each = 0;
        println!("{:>22} {:>10} {:>9} {:>7} {:>11}", "batch", "all", "each", "bytes", "TRX each");
        for (period, name) in [(1, "first"), (2, "later")] {
            self.payer.heat(self.token.address);
            let mut rest = self.crowd.as_slice();
            for size in SIZES {
                let (batch, later) = rest.split_at(usize::try_from(size).unwrap());
                rest = later;
                let used = self.charge(batch, period).await;
                each = used.units / size;
                row(&format!("{name} charge of {size:>3}"), size, used);
            }
            self.payer.a_month_later().await;
        }
        row("a bare transferFrom", 1, self.bare_transfer().await);
        each
    }
}

fn row(name: &str, size: u64, used: Used) {
    println!(
        "{name:>22} {:>10} {:>9} {:>7} {:>11.3}",
        used.units,
        used.units / size,
        used.bytes / size,
        used.sun as f64 / 1e6 / size as f64
    );
}
