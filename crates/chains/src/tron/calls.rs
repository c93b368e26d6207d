//! Constant calls and estimates: what a node computes without a transaction.

use super::execute;
use super::family::Tron;
use super::ledger::Ledger;
use super::meter::Meter;
use super::node::TronNode;
use super::tvm::{self, Call, Ending, Outcome};
use crate::chain::{Block, Chain};
use crate::state::State;
use revm::primitives::{Address, Bytes, U256};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Energy for each byte of code that a constructor returns.
const SAVED_BYTE: u64 = 200;

/// Which of a node's two views is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The head, with what the pool would do.
    Full,
    /// The solid block.
    Solid,
}

/// A question to the machine.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Caller; need not exist.
    pub from: Address,
    /// Contract; None runs the data as creation code.
    pub to: Option<Address>,
    /// Sun.
    pub value: u64,
    /// Call data.
    pub data: Bytes,
    /// True if time runs out at the first opcode.
    pub out_of_time: bool,
}

/// A view of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The side that is asked.
    pub side: Side,
    /// The number of blocks that it is behind.
    pub lag: u64,
}

impl Seen {
    /// The newest state of the full node.
    pub const NEWEST: Self = Self { side: Side::Full, lag: 0 };
}

/// The outcome of an estimate.
#[derive(Debug)]
pub enum Estimate {
    /// So much energy is enough.
    Enough(u64),
    /// The call fails, whatever the energy.
    Fails(Outcome),
}

/// Why a question is not put to the machine: the node's text of `CONTRACT_VALIDATE_ERROR`.
pub type Unasked = &'static str;

impl TronNode {
    /// A view of the chain: its newest block and the state.
    pub fn view(
        &self,
        chain: &mut Chain<Tron>,
        Seen { side, lag }: Seen,
    ) -> (Arc<Block<Tron>>, Arc<State<Ledger>>) {
        let block = Arc::clone(if side == Side::Full { chain.head() } else { chain.solid() });
        if side == Side::Full && lag == 0 {
            return (block, self.session(chain).state);
        }
        let number = block.header.number.saturating_sub(lag);
        match (chain.block(number), chain.state(number)) {
            (Some(block), Some(state)) => (Arc::clone(block), Arc::clone(state)),
            _ => (block, Arc::clone(chain.solid_state())),
        }
    }

    /// Puts a question to the machine; nothing is kept.
    pub fn ask(&self, seen: Seen, question: &Question) -> Result<Outcome, Unasked> {
        self.ask_within(seen, question, self.options().constant_energy)
    }

    /// The energy that a question needs, overstated by up to one TRX worth as the reference node does.
    pub fn estimate(&self, seen: Seen, question: &Question) -> Result<Estimate, Unasked> {
        const TRX: u64 = 1_000_000;
        if !self.options().estimate_energy {
            return Err("this node does not support estimate energy");
        }
        let first = self.ask(seen, question)?;
        if first.ending != Ending::Success {
            return Ok(Estimate::Fails(first));
        }
        let price = self.node().chain().family().params.energy_price();
        let (mut low, mut high) = (first.energy * price, 2 * first.energy * price);
        while high - low > TRX {
            let middle = u64::midpoint(low, high);
            let enough = self.ask_within(seen, question, middle / price)?.ending == Ending::Success;
            if enough { high = middle } else { low = middle }
        }
        Ok(Estimate::Enough(high.div_ceil(price)))
    }

    fn ask_within(&self, seen: Seen, question: &Question, energy: u64) -> Result<Outcome, Unasked> {
        if !self.options().constant_calls {
            return Err("this node does not support constant");
        }
        let mut chain = self.node().chain();
        let (block, state) = self.view(&mut chain, seen);
        if question.to.is_some_and(|to| state.ledger().contract(&to).is_none()) {
            return Err("Smart contract is not exist.");
        }
        if question.value > 0 && state.balance(&question.from) < U256::from(question.value) {
            return Err("Validate InternalTransfer error, balance is not sufficient.");
        }
        let setting = chain.family().setting(&block.header, block.header.time_ms, &*chain);
        let factors = execute::factors(setting.params, state.ledger());
        let before = self.asked.fetch_add(1, Ordering::Relaxed);
        let limit = chain.family().cpu.of_call(before);
        let budget = if question.out_of_time { 0 } else { limit };
        let (to, data, code) = match question.to {
            Some(to) => (to, question.data.clone(), None),
            None => (Address::repeat_byte(0xcc), Bytes::new(), Some(question.data.clone())),
        };
        let made = code.is_some();
        let call = Call { from: question.from, to, value: question.value, data, energy, code };
        let done = tvm::run(&state, &*chain, &setting.scene, &call, Meter::new(factors, budget));
        Ok(if made { saved(done, energy) } else { done })
    }
}

/// Charges for the bytes that a successful constructor returned: they are paid for as code, whatever their length.
/// java-tron: actuator/.../core/actuator/VMActuator.java
fn saved(mut done: Outcome, limit: u64) -> Outcome {
    if done.ending != Ending::Success {
        return done;
    }
    let needed = SAVED_BYTE * u64::try_from(done.output.len()).unwrap_or(u64::MAX);
    let left = limit.saturating_sub(done.energy);
    if needed <= left {
        return Outcome { energy: done.energy + needed, ..done };
    }
    done.message = format!(
        "Not enough energy for 'save just created contract code' executing: needEnergy[{needed}], \
         leftEnergy[{left}];"
    );
    Outcome {
        ending: Ending::OutOfEnergy,
        energy: limit,
        output: Bytes::new(),
        logs: vec![],
        ..done
    }
}
