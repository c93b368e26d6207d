//! The contract's own record of a subscription: how to ask for it and how to read the answer.

use super::ProfileFaults;
use super::abi::{Signature, Type};
use super::call::{ArgSlot, Source, bad, slots};
use super::coerce::{AbiKind, is_zero};
use alloy::dyn_abi::{DynSolType, DynSolValue};
use alloy::primitives::{Selector, U256};
use billing::{Admitted, BadField};

/// Values that the chain's lookup supplied, in the order in which it returns them.
#[derive(Clone, Debug, PartialEq)]
pub struct Looked {
    pub(super) values: Vec<DynSolValue>,
}

// No value is a float.
impl Eq for Looked {}

/// A value that the lookup returns.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) kind: AbiKind,
    /// The value that the configuration states as a constant.
    pub(super) constant: Option<DynSolValue>,
}

/// The lookup call.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    selector: Selector,
    pub(super) inputs: Vec<ArgSlot>,
    pub(super) outputs: Vec<Output>,
    returns: DynSolType,
}

impl Lookup {
    /// Reads the shape of `lookup`; where its arguments come from is settled by `load`.
    pub(super) fn read(signature: &Signature, faults: &mut ProfileFaults) -> Self {
        let inputs = slots("lookup", &signature.inputs, faults);
        let outputs: Vec<Output> = slots("lookup", &signature.outputs, faults)
            .into_iter()
            .map(|slot| Output { name: slot.name, kind: slot.kind, constant: None })
            .collect();
        if let [returned] = signature.outputs.as_slice()
            && matches!(returned.ty, Type::Tuple(_))
        {
            let problem = "returns a struct: write its fields as plain return values, which \
                           are encoded the same unless one is a string or bytes";
            faults.add("lookup", problem);
        }
        if signature.outputs.is_empty() {
            faults.add("lookup", "returns nothing: say which entry fields it returns");
        }
        let returns = DynSolType::Tuple(outputs.iter().map(|output| output.kind.raw()).collect());
        Self { selector: signature.selector(), inputs, outputs, returns }
    }

    /// The calldata that asks for `entry`.
    pub(super) fn encode(&self, entry: &Admitted) -> Result<Vec<u8>, BadField> {
        let args = self.inputs.iter().map(|slot| argument(slot, entry));
        let args = DynSolValue::Tuple(args.collect::<Result<_, _>>()?);
        Ok([self.selector.as_slice(), &args.abi_encode_params()].concat())
    }

    /// Decodes the contract's answer. None if the answer is unreadable or all zero.
    pub(super) fn decode(&self, returned: &[u8]) -> Option<Looked> {
        let decoded = self.returns.abi_decode_sequence(returned).ok()?;
        let words = decoded.as_tuple().filter(|words| words.len() == self.outputs.len())?;
        let values: Option<Vec<_>> =
            self.outputs.iter().zip(words).map(|(output, word)| output.kind.strict(word)).collect();
        values.filter(|values| !values.iter().all(is_zero)).map(|values| Looked { values })
    }
}

fn argument(slot: &ArgSlot, entry: &Admitted) -> Result<DynSolValue, BadField> {
    let number = |n: i64| {
        let fits = U256::try_from(n).ok().and_then(|n| slot.kind.number(n));
        fits.ok_or_else(|| bad(&slot.name, slot.kind.not_readable()))
    };
    match (&slot.source, slot.name.as_str()) {
        (Source::Constant(value), _) => Ok(value.clone()),
        (_, "subscribeId") => number(entry.subscribe.0),
        (_, "planId") => number(entry.plan.0),
        _ => Ok(DynSolValue::FixedBytes(entry.user.0, 32)),
    }
}
