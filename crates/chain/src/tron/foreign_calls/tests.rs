//! Which transactions are calls of ours, and what a call without logs may have done.

use super::*;
use alloy::primitives::keccak256;
use billing::Family;
use config::BillingConfig;
use contract::Profile;
use std::sync::Arc;
use std::time::Duration;
use tron_primitives::transaction::{RefBlock, Unsigned};

const ME: Address = Address::repeat_byte(0x51);
const CONTRACT: Address = Address::repeat_byte(0xC0);

fn profiles() -> KnownProfiles {
    let text = |text: &str| text.to_owned();
    let config = BillingConfig {
        call: text("collect(uint64 subscribeId, uint64 planId, bytes32 userHash)"),
        lookup: None,
        charged: Some(text("event Charged(uint64 subscribeId)")),
        skipped: None,
        constants: [(text("amount"), text("9"))].into(),
        reasons: [].into(),
        period: None,
        deadline: Duration::from_mins(1),
        guard: Duration::from_mins(1),
    };
    let profile = Profile::parse(&config, Family::Tvm).unwrap();
    KnownProfiles::of(Family::Tvm, CONTRACT, Arc::new(profile))
}

#[test]
fn what_succeeded_without_logs_may_have_charged_somebody_through_whatever_contract() {
    let (profiles, elsewhere) = (profiles(), Address::repeat_byte(0xCA));
    let without = |to, data: &[u8], result| {
        without_logs(&profiles, &OwnCall { to, data: data.to_vec(), expires_ms: 0 }, result)
    };
    let (passed, failed) = (CallResult::Succeeded, CallResult::Failed);
    assert_eq!(
        without(elsewhere, &[1, 2, 3], passed),
        Err(Opaque),
        "it may have passed the call on"
    );
    assert_eq!(without(CONTRACT, &[1, 2, 3], passed), Err(Opaque));
    for to in [CONTRACT, elsewhere] {
        assert_eq!(without(to, &[1, 2, 3], failed), Ok(ForeignEffect::Other));
    }
    let words = [[0; 31].as_slice(), &[5], &[0; 31], &[3], &[1; 32]].concat();
    let call = [&keccak256("collect(uint64,uint64,bytes32)")[..4], &words].concat();
    let told = without(CONTRACT, &call, passed);
    let unproven = vec![ItemOutcome::Unproven];
    assert!(
        matches!(&told, Ok(ForeignEffect::Billed { execution: Execution::Succeeded(outcomes), .. })
            if *outcomes == unproven),
        "{told:?}"
    );
}

/// The call that we sign.
fn raw(owner: Address) -> Raw {
    let unsigned = Unsigned {
        owner,
        contract: CONTRACT,
        data: vec![1, 2, 3],
        ref_block: RefBlock::to(B256::repeat_byte(7)),
        expiration_ms: 2,
        timestamp_ms: 1,
        fee_limit: 3,
    };
    Raw::decode(unsigned.raw_data().unwrap().as_slice()).unwrap()
}

#[test]
fn a_call_of_ours_is_recognised_also_with_what_we_would_never_sign() {
    let call = Some(OwnCall { to: CONTRACT, data: vec![1, 2, 3], expires_ms: 2 });
    assert_eq!(call_by(ME, &raw(ME).encode_to_vec()), call);
    assert_eq!(call_by(ME, &raw(Address::repeat_byte(1)).encode_to_vec()), None);
    let memo = Raw { data: b"memo".to_vec(), ..raw(ME) };
    assert_eq!(call_by(ME, &memo.encode_to_vec()), call);
    let mut permitted = raw(ME);
    permitted.contract[0].permission_id = 2;
    assert_eq!(call_by(ME, &permitted.encode_to_vec()), call);
    // Field 20, which no message of ours has.
    let unknown = [raw(ME).encode_to_vec(), vec![0xA0, 0x01, 0x01]].concat();
    assert_eq!(call_by(ME, &unknown), call);
    let mut transfer = raw(ME);
    transfer.contract[0].kind = 1;
    assert_eq!(call_by(ME, &transfer.encode_to_vec()), None, "it moves coins, and calls nobody");
    assert_eq!(call_by(ME, b"no transaction"), None);
}
