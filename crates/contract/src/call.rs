//! The billing call: where each argument comes from, and how charges become calldata.

use super::abi::{Param, Signature, Type};
use super::coerce::{AbiKind, same};
use super::{Computed, ProfileFaults};
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Selector, U256};
use billing::{BadField, Charge, Ineligible, Period};

/// The source of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// The Signer computes when the call stops being valid.
    Deadline,
    /// The Signer's own account.
    Signer,
    /// The configuration.
    Constant(DynSolValue),
    /// The identity of the subscription, and what is charged, have types of their own.
    Subscribe,
    Plan,
    User,
    Amount,
    Wallet,
    Token,
    Period,
    /// Any other field of the entry, by name.
    Field,
}

/// A named value in an argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArgSlot {
    pub(super) name: String,
    pub(super) kind: AbiKind,
    pub(super) source: Source,
}

/// An argument of the call.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    /// One value for all charges.
    One(ArgSlot),
    /// Several of them.
    Struct(Vec<ArgSlot>),
    /// A value of every charge.
    Each(ArgSlot),
    /// Several values of every charge.
    Rows(Vec<ArgSlot>),
}

/// The billing call.
#[derive(Clone, Debug)]
pub(super) struct BillingCall {
    pub(super) selector: Selector,
    pub(super) args: Vec<Arg>,
    /// The type of the code that the call returns for each charge, if it returns any.
    pub(super) answer: Option<AbiKind>,
}

impl BillingCall {
    /// Reads the shape of `call`; where values come from is settled by `load`.
    pub(super) fn read(signature: &Signature, faults: &mut ProfileFaults) -> Self {
        let mut args = Vec::new();
        for param in &signature.inputs {
            let alone = std::slice::from_ref(param);
            match &param.ty {
                Type::Word(_) => args.extend(slots("call", alone, faults).pop().map(Arg::One)),
                Type::Tuple(fields) => args.push(Arg::Struct(slots("call", fields, faults))),
                Type::Array(item) => args.push(match item.as_ref() {
                    Type::Tuple(fields) => Arg::Rows(slots("call", fields, faults)),
                    Type::Word(kind) => {
                        slot(param, *kind).map_or_else(|problem| faulty(faults, problem), Arg::Each)
                    }
                    Type::Array(_) | Type::Fixed(..) => faulty(faults, unsupported(param)),
                }),
                Type::Fixed(..) => args.push(faulty(faults, unsupported(param))),
            }
        }
        let mut call = Self { selector: signature.selector(), args, answer: None };
        match call.read_answer(&signature.outputs) {
            Ok(answer) => call.answer = answer,
            Err(problem) => faults.add("call", problem),
        }
        call
    }

    fn read_answer(&self, outputs: &[Param]) -> Result<Option<AbiKind>, String> {
        let code = |ty: &Type| match ty {
            Type::Word(kind @ (AbiKind::Uint(_) | AbiKind::Int(_) | AbiKind::Bool)) => Some(*kind),
            Type::Word(_) | Type::Tuple(_) | Type::Array(_) | Type::Fixed(..) => None,
        };
        let item = match outputs {
            [] => return Ok(None),
            [Param { ty: Type::Array(item), .. }] if !self.single() => code(item),
            [Param { ty, .. }] if self.single() => code(ty),
            _ => None,
        };
        let shape = if self.single() { "one integer or bool" } else { "one integer[] or bool[]" };
        item.map(Some).ok_or_else(|| {
            format!(
                "must return {shape}, a code for each subscription where 0 or true means that it \
                 is charged; leave `returns` out if it returns anything else"
            )
        })
    }

    /// Returns true if the call charges one subscription at a time.
    pub(super) fn single(&self) -> bool {
        self.args.iter().all(|arg| matches!(arg, Arg::One(_) | Arg::Struct(_)))
    }

    /// Every named value, and whether it may differ from one entry of a request to the next.
    pub(super) fn slots(&self) -> impl Iterator<Item = (bool, &ArgSlot)> {
        self.args.iter().flat_map(|arg| arg.slots().iter().map(|slot| (arg.per_entry(), slot)))
    }

    /// The same, to settle where they come from.
    pub(super) fn slots_mut(&mut self) -> impl Iterator<Item = (bool, &mut ArgSlot)> {
        self.args.iter_mut().flat_map(|arg| {
            let per_entry = arg.per_entry();
            arg.slots_mut().iter_mut().map(move |slot| (per_entry, slot))
        })
    }

    /// The calldata that charges `charges`.
    pub(super) fn encode(
        &self,
        charges: &[Charge],
        computed: &Computed,
    ) -> Result<Vec<u8>, BadField> {
        if self.single() && charges.len() > 1 {
            return Err(bad("subscribeId", Ineligible::Differs));
        }
        let scope = ValueScope { computed };
        let args = self.args.iter().map(|arg| match arg {
            Arg::One(slot) => scope.shared(slot, charges),
            Arg::Struct(slots) => {
                all(slots.iter().map(|slot| scope.shared(slot, charges))).map(DynSolValue::Tuple)
            }
            Arg::Each(slot) => all(charges.iter().map(|charge| scope.value(slot, Some(charge))))
                .map(DynSolValue::Array),
            Arg::Rows(slots) => {
                all(charges.iter().map(|charge| scope.row(slots, charge))).map(DynSolValue::Array)
            }
        });
        Ok(self.calldata(&DynSolValue::Tuple(all(args)?)))
    }

    /// The call with the arguments in this tuple.
    pub(super) fn calldata(&self, args: &DynSolValue) -> Vec<u8> {
        [self.selector.as_slice(), &args.abi_encode_params()].concat()
    }
}

impl Arg {
    pub(super) fn per_entry(&self) -> bool {
        matches!(self, Self::Each(_) | Self::Rows(_))
    }

    fn slots(&self) -> &[ArgSlot] {
        match self {
            Self::One(slot) | Self::Each(slot) => std::slice::from_ref(slot),
            Self::Struct(slots) | Self::Rows(slots) => slots,
        }
    }

    fn slots_mut(&mut self) -> &mut [ArgSlot] {
        match self {
            Self::One(slot) | Self::Each(slot) => std::slice::from_mut(slot),
            Self::Struct(slots) | Self::Rows(slots) => slots,
        }
    }
}

/// Collects the values, or the first error. Room is made once: `collect` would begin small, and grow the list.
fn all<T, E>(results: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut values = Vec::with_capacity(results.size_hint().0);
    for result in results {
        values.push(result?);
    }
    Ok(values)
}

/// The context in which values are read.
struct ValueScope<'a> {
    computed: &'a Computed,
}

impl ValueScope<'_> {
    /// Returns the value that all charges share. A value that does not depend on a charge is known even without
    /// charges.
    fn shared(&self, slot: &ArgSlot, charges: &[Charge]) -> Result<DynSolValue, BadField> {
        let Some((first, others)) = charges.split_first() else {
            return self.value(slot, None);
        };
        let value = self.value(slot, Some(first))?;
        for other in others {
            if !same(&value, &self.value(slot, Some(other))?) {
                return Err(bad(&slot.name, Ineligible::Differs));
            }
        }
        Ok(value)
    }

    fn row(&self, slots: &[ArgSlot], charge: &Charge) -> Result<DynSolValue, BadField> {
        all(slots.iter().map(|slot| self.value(slot, Some(charge)))).map(DynSolValue::Tuple)
    }

    fn value(&self, slot: &ArgSlot, charge: Option<&Charge>) -> Result<DynSolValue, BadField> {
        let number = |n: Option<U256>| {
            let fits = n.and_then(|n| slot.kind.number(n));
            fits.ok_or_else(|| bad(&slot.name, slot.kind.not_readable()))
        };
        let missing = || bad(&slot.name, Ineligible::Missing);
        match (&slot.source, charge) {
            (Source::Deadline, _) => number(Some(U256::from(self.computed.deadline))),
            (Source::Signer, _) => Ok(DynSolValue::Address(self.computed.signer)),
            (Source::Constant(value), _) => Ok(value.clone()),
            (_, None) => Err(missing()),
            (Source::Subscribe, Some(c)) => number(U256::try_from(c.entry.subscribe.0).ok()),
            (Source::Plan, Some(c)) => number(U256::try_from(c.entry.plan.0).ok()),
            (Source::User, Some(c)) => Ok(DynSolValue::FixedBytes(c.entry.user.0, 32)),
            (Source::Amount, Some(c)) => number(Some(c.amount)),
            (Source::Wallet, Some(c)) => Ok(DynSolValue::Address(c.wallet)),
            (Source::Token, Some(c)) => Ok(DynSolValue::Address(c.token)),
            (Source::Period, Some(c)) => match c.period {
                Period::Numbered(n) => number(Some(n)),
                Period::Guarded => Err(missing()),
            },
            (Source::Field, Some(c)) => {
                let value = c.entry.value(&slot.name).ok_or_else(missing)?;
                slot.kind.convert(value).ok_or_else(|| bad(&slot.name, slot.kind.not_readable()))
            }
        }
    }
}

pub(super) fn bad(field: &str, problem: Ineligible) -> BadField {
    BadField { field: field.to_owned(), problem }
}

/// A parameter that holds one value, with its source still to be settled.
fn slot(param: &Param, kind: AbiKind) -> Result<ArgSlot, String> {
    if param.name.is_empty() {
        return Err(format!("has a parameter of type {kind} without a name: name the entry field"));
    }
    Ok(ArgSlot { name: param.name.clone(), kind, source: Source::Field })
}

/// Parameters that hold one value each; those that do not are faults of `key`.
pub(super) fn slots(key: &str, params: &[Param], faults: &mut ProfileFaults) -> Vec<ArgSlot> {
    let read = params.iter().map(|param| match &param.ty {
        Type::Word(kind) => slot(param, *kind),
        Type::Tuple(_) | Type::Array(_) | Type::Fixed(..) => Err(unsupported(param)),
    });
    read.filter_map(|slot| slot.map_err(|problem| faults.add(key, problem)).ok()).collect()
}

/// An array that cannot be filled: it keeps the shape of the call, so that no other fault is made
/// up because of this one.
fn faulty(faults: &mut ProfileFaults, problem: String) -> Arg {
    faults.add("call", problem);
    Arg::Rows(Vec::new())
}

fn unsupported(param: &Param) -> String {
    format!(
        "has `{}` of type {}, which is not supported: use scalars, arrays of scalars, and arrays \
         of tuples of scalars",
        param.name,
        param.ty.canonical()
    )
}
