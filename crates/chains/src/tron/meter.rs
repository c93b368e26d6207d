//! Counts what the machine does, opcode by opcode: the words of a failure, the dynamic energy penalty, the time limit.

use revm::Inspector;
use revm::bytecode::opcode::{
    CALL, CALLCODE, CREATE, CREATE2, DELEGATECALL, OpCode, SLOAD, SSTORE, STATICCALL,
};
use revm::context_interface::{ContextTr, JournalTr};
use revm::interpreter::instructions::gas_table;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::interpreter_types::{Jumps, LoopControl};
use revm::interpreter::{FrameInput, InstructionResult, Interpreter, InterpreterAction};
use revm::primitives::{Address, U256};
use std::collections::HashMap;

/// The factors by which the contracts of a call are dearer (ten-thousandths), and how much it may compute.
#[derive(Debug)]
pub struct Meter {
    /// Penalty factor by contract.
    pub factors: HashMap<Address, u64>,
    /// The most that may be computed, in steps of which a storage access counts 50.
    pub budget: u64,
    /// Steps computed so far.
    pub steps: u64,
    /// Base energy by contract.
    pub usage: HashMap<Address, u64>,
    /// The part of the energy that is penalty.
    pub penalty: u64,
    /// The opcode at which time ran out.
    pub timed_out: Option<&'static str>,
    last: Last,
}

/// The step under way.
#[derive(Debug, Default)]
struct Last {
    code: u8,
    remaining: u64,
    limit: u64,
    cost: u64,
    jump_to: U256,
    stack: usize,
}

/// Nothing is dearer, and there is no limit.
impl Default for Meter {
    fn default() -> Self {
        Self {
            factors: HashMap::new(),
            budget: u64::MAX,
            steps: 0,
            usage: HashMap::new(),
            penalty: 0,
            timed_out: None,
            last: Last::default(),
        }
    }
}

/// Factor by which a storage access takes longer than another opcode.
const STORAGE_STEPS: u64 = 50;

impl Meter {
    /// A meter for one call.
    pub fn new(factors: HashMap<Address, u64>, budget: u64) -> Self {
        Self { factors, budget, ..Self::default() }
    }

    /// The node's words for running out of energy at the last opcode.
    pub fn out_of_energy(&self) -> String {
        format!(
            "Not enough energy for '{}' operation executing: curInvokeEnergyLimit[{}], curOpEnergy[{}], usedEnergy[{}]",
            name(self.last.code),
            self.last.limit,
            self.last.cost,
            self.last.limit - self.last.remaining
        )
    }

    /// The node's words for an opcode that does not exist.
    pub fn invalid_opcode(&self) -> String {
        format!("Invalid operation code: opCode[{:02x}];", self.last.code)
    }

    /// The node's words for an opcode that finds too little on the stack.
    pub fn stack_too_small(&self) -> String {
        let wanted = OpCode::new(self.last.code).map_or(0, |opcode| opcode.inputs());
        format!("Expected stack size {wanted} but actual {};", self.last.stack)
    }

    /// The node's words for a jump to nowhere.
    pub fn bad_jump(&self) -> String {
        format!("Operation with pc isn't 'JUMPDEST': PC[{}];", self.last.jump_to)
    }

    fn spend_time(&mut self) -> bool {
        let steps = if matches!(self.last.code, SLOAD | SSTORE) { STORAGE_STEPS } else { 1 };
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.budget {
            self.timed_out.get_or_insert(name(self.last.code));
            return false;
        }
        true
    }
}

impl<CTX: ContextTr> Inspector<CTX> for Meter {
    fn step(&mut self, interp: &mut Interpreter, context: &mut CTX) {
        let code = interp.bytecode.opcode();
        self.last = Last {
            code,
            remaining: interp.gas.remaining(),
            limit: interp.gas.limit(),
            cost: u64::from(gas_table()[usize::from(code)]),
            jump_to: interp.stack.data().last().copied().unwrap_or_default(),
            stack: interp.stack.len(),
        };
        if code == SSTORE
            && let [.., value, slot] = interp.stack.data().as_slice()
        {
            let address = interp.input.target_address();
            let old = context
                .journal_mut()
                .sload(address, *slot)
                .map(|load| load.data)
                .unwrap_or_default();
            self.last.cost = if old.is_zero() && !value.is_zero() { 20_000 } else { 5000 };
        }
        if !self.spend_time() {
            interp.halt(InstructionResult::OutOfGas);
        }
    }

    fn step_end(&mut self, interp: &mut Interpreter, _context: &mut CTX) {
        let address = interp.input.target_address();
        let spent = self.last.remaining.saturating_sub(interp.gas.remaining());
        let cost = spent.saturating_sub(handed_on(self.last.code, interp));
        *self.usage.entry(address).or_default() += cost;
        let factor = self.factors.get(&address).copied().unwrap_or(0);
        let extra = cost * factor / 10_000;
        if extra > 0 {
            if interp.gas.record_regular_cost(extra) {
                self.penalty += extra;
            } else {
                self.last.cost += extra;
                run_out(interp);
            }
        }
    }
}

/// Ends the call for lack of energy. A step that has failed by itself stays as it is; one that has ended the call
/// well, or is about to begin another, has not paid for that.
fn run_out(interp: &mut Interpreter) {
    let action = interp.bytecode.action();
    if matches!(action, Some(InterpreterAction::Return(done)) if done.result.is_halt()) {
        return;
    }
    *action = None;
    interp.halt(InstructionResult::OutOfGas);
}

/// The energy that a call hands on to the callee, which is not a cost of the call.
fn handed_on(code: u8, interp: &mut Interpreter) -> u64 {
    if !matches!(code, CALL | CALLCODE | DELEGATECALL | STATICCALL | CREATE | CREATE2) {
        return 0;
    }
    match interp.bytecode.action() {
        Some(InterpreterAction::NewFrame(FrameInput::Call(inputs))) => {
            let stipend = if inputs.value.transfer().is_some_and(|value| !value.is_zero()) {
                2300
            } else {
                0
            };
            inputs.gas_limit.saturating_sub(stipend)
        }
        Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => inputs.gas_limit(),
        Some(InterpreterAction::NewFrame(FrameInput::Empty) | InterpreterAction::Return(_))
        | None => 0,
    }
}

/// An opcode's name as java-tron spells it.
fn name(code: u8) -> &'static str {
    match OpCode::name_by_op(code) {
        "KECCAK256" => "SHA3",
        "SELFDESTRUCT" => "SUICIDE",
        other => other,
    }
}
