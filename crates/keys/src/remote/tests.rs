use super::*;
use k256::ecdsa::SigningKey;
use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use strum::IntoEnumIterator;

/// What a store does with one question.
#[derive(Clone, Copy, Debug)]
enum Does {
    Signs,
    SignsHigh,
    SignsAnother,
    SignsAs(u8),
    Says(StoreFault),
    Nothing,
}

/// A store that does one thing after the other, and the last one for ever.
#[derive(Clone, Debug)]
struct Script(Arc<Mutex<(VecDeque<Does>, usize)>>);

impl Script {
    fn of(script: &[Does]) -> Self {
        Self(Arc::new(Mutex::new((script.iter().copied().collect(), 0))))
    }

    fn does(&self, script: &[Does]) {
        *self.0.lock() = (script.iter().copied().collect(), 0);
    }

    fn asked(&self) -> usize {
        self.0.lock().1
    }
}

#[async_trait]
impl SigningStore for Script {
    async fn sign(&self, digest: B256) -> Result<k256::ecdsa::Signature, StoreError> {
        let does = {
            let mut script = self.0.lock();
            script.1 = script.1.saturating_add(1);
            if script.0.len() > 1 { script.0.pop_front().unwrap() } else { script.0[0] }
        };
        let (key, digest) = match does {
            Does::Says(fault) => return Err(StoreError::new(fault, "so it is")),
            Does::Nothing => return pending().await,
            Does::SignsAnother => (7, !digest),
            Does::SignsAs(key) => (key, digest),
            Does::Signs | Does::SignsHigh => (7, digest),
        };
        let (low, _) = signer(key).sign_prehash_recoverable(digest.as_slice()).unwrap();
        let high = k256::ecdsa::Signature::from_scalars(low.r(), low.s().negate()).unwrap();
        Ok(if matches!(does, Does::SignsHigh) { high } else { low })
    }
}

fn signer(key: u8) -> SigningKey {
    SigningKey::from_slice(&[key; 32]).unwrap()
}

fn address() -> Address {
    Address::from_public_key(signer(7).verifying_key())
}

async fn key(script: &Script) -> Result<RemoteKey, KeyError> {
    RemoteKey::open(Box::new(script.clone()), address(), "chains.139.key").await
}

async fn at_work() -> (Script, RemoteKey) {
    let script = Script::of(&[Does::Signs]);
    let key = key(&script).await.unwrap();
    (script, key)
}

const DIGEST: B256 = B256::repeat_byte(9);

async fn why(key: &RemoteKey) -> StoreFault {
    match key.sign(DIGEST).await {
        Err(SignError::Store { address: whose, why }) if whose == address() => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_signature_has_low_s_and_leads_back_whatever_the_store_makes_of_it() {
    let (script, key) = at_work().await;
    let low = key.sign(DIGEST).await.unwrap();
    script.does(&[Does::SignsHigh]);
    assert_eq!(key.sign(DIGEST).await.unwrap(), low);
    assert_eq!(low.normalize_s(), None, "it is low");
    assert_eq!(low.recover_address_from_prehash(&DIGEST).unwrap(), address());
    assert_eq!((script.asked(), key.trouble()), (1, None));
}

#[tokio::test(start_paused = true)]
async fn what_another_key_signs_or_what_is_signed_instead_is_no_signature() {
    for does in [Does::SignsAs(8), Does::SignsAnother] {
        let (script, key) = at_work().await;
        script.does(&[does, Does::Signs]);
        assert!(key.sign(DIGEST).await.is_ok(), "the second one is right");
        script.does(&[does]);
        assert_eq!(why(&key).await, StoreFault::OtherKey);
        assert_eq!((script.asked(), key.trouble()), (4, Some(StoreFault::OtherKey)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_costs_five_seconds_once_and_is_tried_again_by_itself() {
    let (script, key) = at_work().await;
    script.does(&[Does::Nothing]);
    let begun = Instant::now();
    assert_eq!(why(&key).await, StoreFault::Silent);
    assert!(begun.elapsed() <= DEADLINE, "{:?}", begun.elapsed());
    let (asked, begun) = (script.asked(), Instant::now());
    assert_eq!(why(&key).await, StoreFault::Silent);
    key.look_after().await;
    assert_eq!((script.asked(), begun.elapsed()), (asked, Duration::ZERO), "it is left in peace");
    script.does(&[Does::Signs]);
    sleep(HOLD_OFF).await;
    assert_eq!(key.trouble(), Some(StoreFault::Silent), "until it has signed");
    key.look_after().await;
    assert_eq!((script.asked(), key.trouble()), (1, None));
    assert!(key.sign(DIGEST).await.is_ok());
    key.look_after().await;
    assert_eq!(script.asked(), 2, "it has just signed");
    sleep(TRUST).await;
    key.look_after().await;
    assert_eq!(script.asked(), 3, "a key that nobody uses is looked at now and then");
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_what_does_not_is_told_at_once() {
    for fault in StoreFault::iter() {
        let (script, key) = at_work().await;
        script.does(&[Does::Says(fault), Does::Says(fault), Does::Signs]);
        let signed = key.sign(DIGEST).await;
        let tries = if fault.is_worth_a_try() { 3 } else { 1 };
        assert_eq!((signed.is_ok(), script.asked()), (tries == 3, tries), "{fault}");
        let trouble = (tries == 1).then_some(fault);
        assert_eq!(key.trouble(), trouble, "{fault}");
        let never = matches!(
            fault,
            StoreFault::Denied | StoreFault::Missing | StoreFault::Disabled | StoreFault::Pin
        );
        assert_eq!(tries == 1, never);
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_starts_without_its_store_but_not_with_another_key_or_one_that_it_may_not_use() {
    for (does, starts) in [
        (Does::Signs, true),
        (Does::Nothing, true),
        (Does::Says(StoreFault::Unreachable), true),
        (Does::Says(StoreFault::Busy), true),
        (Does::Says(StoreFault::Down), true),
        (Does::Says(StoreFault::Disabled), true),
        (Does::Says(StoreFault::Pin), true),
        (Does::Says(StoreFault::Denied), false),
        (Does::Says(StoreFault::Missing), false),
        (Does::SignsAs(8), false),
        (Does::SignsAnother, false),
    ] {
        match key(&Script::of(&[does])).await {
            Ok(key) => {
                assert!(starts, "{does:?}");
                assert_eq!(key.trouble().is_none(), matches!(does, Does::Signs), "{does:?}");
                assert_eq!(key.address(), address());
            }
            Err(refused) => {
                assert!(!starts, "{does:?}");
                assert!(refused.to_string().starts_with("chains.139.key: "), "{refused}");
                // Whoever signs what it is given tells which address to write.
                let other = Address::from_public_key(signer(8).verifying_key());
                let named = refused.to_string().contains(&other.to_string());
                assert_eq!(named, matches!(does, Does::SignsAs(8)), "{refused}");
            }
        }
    }
}

#[test]
fn what_a_store_says_is_one_line_of_the_log() {
    let error = StoreError::new(StoreFault::Down, format!("a\nb\t{}", "x".repeat(400)));
    assert!(error.message.starts_with("a b x") && error.message.len() == 300, "{error}");
}
