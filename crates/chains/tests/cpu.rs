//! How long calls may compute on the sandbox's TRON node: as on the reference node (50 ms, a quiet machine).

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::primitives::{Bytes, U256};
use alloy::sol_types::SolCall as _;
use sandbox_chains::contracts::Billing;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Founding, Person, Town, wallet};
use sandbox_chains::tron::calls::{Question, Seen};
use sandbox_chains::tron::ledger::Ledger;
use sandbox_chains::tron::tvm::Ending;
use sandbox_chains::tron::{Tron, TronNode, Wallet};

const GENESIS_MS: u64 = 1_795_250_739_000;

struct Shop {
    node: TronNode,
    town: Town,
}

impl Shop {
    fn open() -> Self {
        let node = TronNode::new(Tron::default(), GENESIS_MS, 2, State::new(Ledger::default()));
        let biller = wallet("biller").address();
        let founding = Founding { biller, decimals: 6, price: 1_000_000, people: 120, trial: 0 };
        let town = Town::found(&node, founding);
        Self { node, town }
    }

    fn charge(&self, people: &[Person]) -> Bytes {
        let item = |person: &Person| Billing::Item {
            subscribeId: person.subscribe_id,
            planId: person.plan,
            planVersion: self.town.version,
            userHash: person.user_hash,
            period: 1,
            amount: self.town.price,
        };
        let call = Billing::processSubscribePlanCall {
            merKey: self.town.mer_key,
            items: people.iter().map(item).collect(),
            deadline: U256::MAX,
        };
        call.abi_encode().into()
    }

    /// How a call that charges so many ends when it is only asked about.
    fn asked(&self, people: usize) -> (Ending, u64) {
        let question = Question {
            from: wallet("biller").address(),
            to: Some(self.town.billing),
            data: self.charge(&self.town.people[..people]),
            ..Question::default()
        };
        let done = self.node.ask(Seen::NEWEST, &question).unwrap();
        (done.ending, done.steps)
    }

    /// How the same ends in a block. Whoever it charges is not charged again.
    fn sent(&self, first: usize, people: usize) -> Ending {
        let from = wallet("biller");
        self.node.fund(from.address(), 10_000_000_000);
        let data = self.charge(&self.town.people[first..first + people]);
        let call = Call { from, to: self.town.billing, data };
        let mut wallet = Wallet::new(&call.from.to_bytes()).unwrap();
        (wallet.fee_limit, wallet.life_ms) = (1_000_000_000, 600_000);
        let tx = wallet.call(&self.node, call.to, call.data);
        let id = tx.id;
        self.node.broadcast(tx).unwrap();
        self.node.step();
        let chain = self.node.node().chain();
        let place = chain.find(&id).unwrap();
        place.included().receipt.ending.unwrap()
    }
}

#[test]
fn fifty_charges_always_pass_and_seventy_eight_never_do_in_a_block_though_more_pass_when_asked() {
    let shop = Shop::open();
    let (ending, steps) = shop.asked(50);
    assert_eq!(ending, Ending::Success, "{steps} steps");
    assert!((0..20).all(|_| shop.asked(50).0 == Ending::Success));
    let passed = (0..24).filter(|_| shop.asked(80).0 == Ending::Success).count();
    assert!((1..12).contains(&passed), "{passed} of 24 with 80 charges");
    for _ in 0..2 {
        assert_eq!(shop.sent(0, 78), Ending::OutOfTime);
    }
    let mut sixty_five = [Ending::OutOfTime, Ending::Success].map(|ending| (ending, 0));
    for _ in 0..8 {
        let copy = Shop { node: shop.node.split(), town: shop.town.clone() };
        let ended = copy.sent(0, 65);
        sixty_five.iter_mut().filter(|(ending, _)| *ending == ended).for_each(|one| one.1 += 1);
        shop.node.step();
    }
    assert!(sixty_five.iter().all(|(_, count)| *count > 0), "{sixty_five:?}");
    assert_eq!(shop.sent(70, 50), Ending::Success);
}
