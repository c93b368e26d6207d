//! A profile that a batch keeps says years later what it said when the batch was signed.

use super::*;

#[test]
fn a_profile_is_read_again_as_it_was_written() {
    for config in [rows(), arrays(), one()] {
        let profile = parsed(&config);
        let again = Profile::read(profile.written(), Family::Evm).unwrap();
        assert_eq!(again.written(), profile.written());
        assert_eq!(again.selector(), profile.selector());
        assert_eq!((again.single(), again.has_lookup()), (profile.single(), profile.has_lookup()));
        let charge = stated(1, 100, &[("planVersion", number(1)), ("period", number(3))]);
        let Ok(charge) = complete(&profile, &charge, None) else { continue };
        let calldata = profile.encode(std::slice::from_ref(&charge), &NOW).unwrap();
        assert_eq!(again.carried(&calldata), profile.carried(&calldata));
    }
}

#[test]
fn how_long_things_take_makes_no_other_profile() {
    let patient = BillingConfig { deadline: Duration::from_hours(9), ..rows() };
    assert_eq!(parsed(&patient).written(), parsed(&rows()).written());
    let other = BillingConfig { charged: Some("event C(uint64 subscribeId)".to_owned()), ..rows() };
    assert_ne!(parsed(&other).written(), parsed(&rows()).written());
}

/// Text that is on disk since the first version.
#[test]
fn what_the_first_version_wrote_is_read() {
    let text = r#"{"call":"collect(uint64 planId, bytes32 userHash)","lookup":null,"charged":"event Collected(uint64 planId, bytes32 userHash)","skipped":null,"constants":{"amount":"5"},"reasons":{"NotDue":"NOT_DUE_YET"},"period":null}"#;
    let profile = Profile::read(text, Family::Evm).unwrap();
    assert!(profile.single() && profile.written().as_ref() == text);
    for unreadable in ["", "{}", "null", &text.replace("NOT_DUE_YET", "NO_SUCH_CODE")] {
        assert!(Profile::read(unreadable, Family::Evm).is_none(), "{unreadable}");
    }
}
