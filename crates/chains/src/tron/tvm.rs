//! TRON's virtual machine on revm: energy instead of gas.
//!
//! Like the reference node: no intrinsic cost, no call data cost, no refunds, no warm and cold; SLOAD 50, SSTORE 20000 for a fresh
//! slot and else 5000, CALL 40, BALANCE and EXTCODE* 20, EXTCODEHASH 400, MLOAD and MSTORE 1, CALLDATACOPY, CODECOPY and
//! RETURNDATACOPY 3 per word alone, EXP 10 per byte; memory up to 3 MiB;
//! GASLIMIT and PREVRANDAO 0, BASEFEE and GASPRICE the energy price.
//!
//! Unlike the reference node: contracts made by contracts get Ethereum's addresses; the precompiles are Ethereum's;
//! TRC-10 and TRON's own opcodes are missing; a slot that was cleared in the same transaction counts as fresh. The
//! computing of a call is counted in steps, not on a wall clock, so that a test gets the same answer twice.

mod overlay;

use super::meter::Meter;
use crate::state::{Hashes, State, View};
use revm::bytecode::opcode::{
    CALLDATACOPY, CODECOPY, MLOAD, MSTORE, MSTORE8, RETURNDATACOPY, SSTORE,
};
use revm::context::result::{ExecutionResult, HaltReason, OutOfGasError};
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::cfg::{GasId, GasParams};
use revm::database_interface::WrapDatabaseRef;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{gas_table, instruction_table};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, RuntimeFlag};
use revm::interpreter::{
    Host, Instruction, InstructionContext, InstructionExecResult, InstructionResult,
};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, B256, Bytes, Log, TxKind, U256};
use revm::state::EvmState;
use revm::{InspectEvm, MainBuilder, MainContext};

use super::ledger::Ledger;
use overlay::Overlay;

/// A call as the machine runs it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Caller.
    pub from: Address,
    /// Contract.
    pub to: Address,
    /// Sun.
    pub value: u64,
    /// Call data.
    pub data: Bytes,
    /// Energy that may be used.
    pub energy: u64,
    /// Code to run at `to` instead of what is there: a deployment.
    pub code: Option<Bytes>,
}

/// The block that a call sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene {
    /// Height.
    pub number: u64,
    /// Seconds; 0 in the pool's dry run.
    pub time: u64,
    /// Producer of the block.
    pub producer: Address,
    /// Sun per energy.
    pub price: u64,
    /// Chain ID that CHAINID answers.
    pub chain_id: u64,
}

/// The end of a call, by the names of `contractResult`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// 1
    Success,
    /// 2
    Revert,
    /// 3
    BadJumpDestination,
    /// 4
    OutOfMemory,
    /// 6
    StackTooSmall,
    /// 7
    StackTooLarge,
    /// 8
    IllegalOperation,
    /// 10
    OutOfEnergy,
    /// 11
    OutOfTime,
    /// 13
    Unknown,
    /// 14
    TransferFailed,
}

impl Ending {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Revert => "REVERT",
            Self::BadJumpDestination => "BAD_JUMP_DESTINATION",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::StackTooSmall => "STACK_TOO_SMALL",
            Self::StackTooLarge => "STACK_TOO_LARGE",
            Self::IllegalOperation => "ILLEGAL_OPERATION",
            Self::OutOfEnergy => "OUT_OF_ENERGY",
            Self::OutOfTime => "OUT_OF_TIME",
            Self::Unknown => "UNKNOWN",
            Self::TransferFailed => "TRANSFER_FAILED",
        }
    }

    /// The Java class of the exception, as constant calls name it.
    pub const fn class(self) -> &'static str {
        match self {
            Self::BadJumpDestination => "Program$BadJumpDestinationException",
            Self::OutOfMemory => "Program$OutOfMemoryException",
            Self::StackTooSmall => "Program$StackTooSmallException",
            Self::StackTooLarge => "Program$StackTooLargeException",
            Self::IllegalOperation => "Program$IllegalOperationException",
            Self::OutOfEnergy => "Program$OutOfEnergyException",
            Self::OutOfTime => "Program$OutOfTimeException",
            Self::Success | Self::Revert | Self::Unknown | Self::TransferFailed => {
                "Program$BytecodeExecutionException"
            }
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The outcome.
    pub ending: Ending,
    /// Energy used, penalty included; all of it after an exception.
    pub energy: u64,
    /// The part of it that is penalty.
    pub penalty: u64,
    /// Computing done, in steps.
    pub steps: u64,
    /// Base energy by contract.
    pub usage: Vec<(Address, u64)>,
    /// Returned or reverted bytes.
    pub output: Bytes,
    /// Logs of a success.
    pub logs: Vec<Log>,
    /// The node's words for a failure.
    pub message: String,
    /// Changes to the state if the outcome is kept.
    pub changes: EvmState,
}

/// Runs a call on a state. Nothing is kept unless the caller commits the changes of a success.
pub fn run(
    state: &State<Ledger>,
    hashes: &dyn Hashes,
    scene: &Scene,
    call: &Call,
    meter: Meter,
) -> Outcome {
    let database = Overlay {
        view: View { state, hashes },
        code: call.code.clone().map(|code| (call.to, code)),
    };
    let context = Context::mainnet()
        .with_db(WrapDatabaseRef(database))
        .with_block(block(scene))
        .with_cfg(cfg(scene.chain_id));
    let mut evm = context.build_mainnet_with_inspector(Meter::default());
    evm.instruction = instructions();
    let tx = TxEnv {
        caller: call.from,
        gas_limit: call.energy,
        gas_price: u128::from(scene.price),
        kind: TxKind::Call(call.to),
        value: U256::from(call.value),
        data: call.data.clone(),
        chain_id: None,
        ..TxEnv::default()
    };
    let done = evm.inspect(tx, meter);
    let meter = std::mem::take(&mut evm.inspector);
    match done {
        Ok(done) => outcome(done.result, done.state, call.energy, &meter),
        Err(error) => Outcome {
            ending: Ending::Unknown,
            energy: call.energy,
            penalty: 0,
            steps: 0,
            usage: vec![],
            output: Bytes::new(),
            logs: vec![],
            message: error.to_string(),
            changes: EvmState::default(),
        },
    }
}

fn outcome(result: ExecutionResult, changes: EvmState, limit: u64, meter: &Meter) -> Outcome {
    let mut done = Outcome {
        ending: Ending::Success,
        energy: result.gas().total_gas_spent(),
        penalty: meter.penalty,
        steps: meter.steps,
        usage: meter.usage.iter().map(|(address, used)| (*address, *used)).collect(),
        output: result.output().cloned().unwrap_or_default(),
        logs: vec![],
        message: String::new(),
        changes,
    };
    if let Some(opcode) = meter.timed_out {
        done.ending = Ending::OutOfTime;
        done.message = format!("CPU timeout for '{opcode}' operation executing");
    } else {
        match result {
            ExecutionResult::Success { logs, .. } => done.logs = logs,
            ExecutionResult::Revert { .. } => {
                done.ending = Ending::Revert;
                "REVERT opcode executed".clone_into(&mut done.message);
            }
            ExecutionResult::Halt { reason, .. } => {
                (done.ending, done.message) = halted(&reason, meter);
            }
        }
    }
    if !matches!(done.ending, Ending::Success | Ending::Revert) {
        done.energy = limit;
        done.output = Bytes::new();
    }
    done
}

fn halted(reason: &HaltReason, meter: &Meter) -> (Ending, String) {
    match reason {
        HaltReason::OutOfGas(OutOfGasError::MemoryLimit) => (
            Ending::OutOfMemory,
            "Out of Memory when memory size is larger than 3145728".to_owned(),
        ),
        HaltReason::OutOfGas(
            OutOfGasError::Basic
            | OutOfGasError::Memory
            | OutOfGasError::Precompile
            | OutOfGasError::InvalidOperand
            | OutOfGasError::ReentrancySentry,
        ) => (Ending::OutOfEnergy, meter.out_of_energy()),
        HaltReason::OpcodeNotFound | HaltReason::InvalidFEOpcode | HaltReason::NotActivated => {
            (Ending::IllegalOperation, meter.invalid_opcode())
        }
        HaltReason::InvalidJump => (Ending::BadJumpDestination, meter.bad_jump()),
        HaltReason::StackUnderflow => (Ending::StackTooSmall, meter.stack_too_small()),
        HaltReason::StackOverflow => (Ending::StackTooLarge, "Stack overflow".to_owned()),
        HaltReason::OutOfFunds => (Ending::TransferFailed, "transfer failure".to_owned()),
        HaltReason::OutOfOffset
        | HaltReason::CreateCollision
        | HaltReason::PrecompileError
        | HaltReason::PrecompileErrorWithContext(_)
        | HaltReason::NonceOverflow
        | HaltReason::CreateContractSizeLimit
        | HaltReason::CreateContractStartingWithEF
        | HaltReason::CreateInitCodeSizeLimit
        | HaltReason::OverflowPayment
        | HaltReason::StateChangeDuringStaticCall
        | HaltReason::CallNotAllowedInsideStatic
        | HaltReason::CallTooDeep => (Ending::Unknown, reason.to_string()),
    }
}

fn block(scene: &Scene) -> BlockEnv {
    BlockEnv {
        number: U256::from(scene.number),
        beneficiary: scene.producer,
        timestamp: U256::from(scene.time),
        gas_limit: 0,
        basefee: scene.price,
        difficulty: U256::ZERO,
        prevrandao: Some(B256::ZERO),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
            excess_blob_gas: 0,
            blob_gasprice: 0,
        }),
        slot_num: 0,
    }
}

fn cfg(chain_id: u64) -> CfgEnv {
    let mut energy = GasParams::new_spec(SpecId::CANCUN);
    energy.override_gas([
        (GasId::exp_byte_gas(), 10),
        (GasId::warm_storage_read_cost(), 0),
        (GasId::cold_account_additional_cost(), 0),
        (GasId::cold_storage_additional_cost(), 0),
        (GasId::cold_storage_cost(), 0),
        (GasId::initcode_per_word(), 0),
        (GasId::selfdestruct_refund(), 0),
        (GasId::sstore_clearing_slot_refund(), 0),
        (GasId::sstore_set_refund(), 0),
        (GasId::sstore_reset_refund(), 0),
        (GasId::tx_base_stipend(), 0),
        (GasId::tx_token_cost(), 0),
        (GasId::tx_create_cost(), 0),
        (GasId::tx_initcode_cost(), 0),
    ]);
    let mut cfg = CfgEnv::new_with_spec(SpecId::CANCUN);
    cfg.gas_params = energy;
    cfg.chain_id = chain_id;
    cfg.tx_chain_id_check = false;
    cfg.tx_gas_limit_cap = Some(u64::MAX);
    cfg.limit_contract_code_size = Some(usize::MAX);
    cfg.limit_contract_initcode_size = Some(usize::MAX);
    cfg.memory_limit = 3 * 1024 * 1024;
    cfg.disable_nonce_check = true;
    cfg.disable_balance_check = true;
    cfg.disable_block_gas_limit = true;
    cfg.disable_eip3607 = true;
    cfg.disable_eip7623 = true;
    cfg.disable_base_fee = true;
    cfg.disable_fee_charge = true;
    cfg
}

fn instructions<H: Host>() -> EthInstructions<EthInterpreter, H> {
    let mut costs = gas_table();
    for opcode in [MLOAD, MSTORE, MSTORE8] {
        costs[usize::from(opcode)] = 1;
    }
    for opcode in [CALLDATACOPY, CODECOPY, RETURNDATACOPY] {
        costs[usize::from(opcode)] = 0;
    }
    let mut table = EthInstructions::new(instruction_table(), costs, SpecId::CANCUN);
    table.insert_instruction(SSTORE, Instruction::new(sstore), 0);
    table
}

/// SSTORE without the sentry for small stipends, without refunds, warm and cold.
fn sstore<H: Host + ?Sized>(
    context: InstructionContext<'_, H, EthInterpreter>,
) -> InstructionExecResult {
    let interpreter = context.interpreter;
    if interpreter.runtime_flag.is_static() {
        return Err(InstructionResult::StateChangeDuringStaticCall);
    }
    let Some([slot, value]) = interpreter.stack.popn() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let address = interpreter.input.target_address();
    let load = context.host.sload(address, slot).ok_or(InstructionResult::FatalExternalError)?;
    let cost = if load.data.is_zero() && !value.is_zero() { 20_000 } else { 5000 };
    if !interpreter.gas.record_regular_cost(cost) {
        return Err(InstructionResult::OutOfGas);
    }
    context.host.sstore(address, slot, value).ok_or(InstructionResult::FatalExternalError)?;
    Ok(())
}
