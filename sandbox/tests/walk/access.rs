//! Who is let in (5, 7.3, 8), and how refusals read.

use crate::world::{CHAINS, World};
use merchant::CallError;
use merchant::clock::{Clock, MovableClock, SystemClock};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_another_secret_is_refused() {
    let world = World::new().await;
    let error = world.stranger().chains().await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.http_status, refusal.code), (401, 401));
    assert!(!refusal.msg.is_empty() && refusal.description.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_may_be_sixty_seconds_off_and_is_named_when_it_is_more() {
    let world = World::new().await;
    let clock = Arc::new(MovableClock::default());
    let follower: Arc<dyn Clock> = Arc::<MovableClock>::clone(&clock);
    let client = world.client.clone().with_clock(follower);
    for off in [-55, 55] {
        clock.set(SystemClock.now().plus(off));
        client.chains().await.unwrap();
    }
    for off in [-65, 65] {
        clock.set(SystemClock.now().plus(off));
        let error = client.chains().await.unwrap_err();
        let CallError::ClockOff { off_seconds, .. } = &error else { panic!("{error}") };
        assert!((off - 2..=off + 2).contains(off_seconds), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_with_every_kind_of_character_are_signed_as_they_travel() {
    let world = World::new().await;
    for uuid in ["a b&c=d/é?#+%", "東京", "u-1"] {
        let id = world.client.create_user(uuid).await.unwrap();
        assert_eq!(world.client.user(uuid).await.unwrap().unwrap().user_id, id);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_have_a_code_and_words() {
    let world = World::new().await;
    let mut request = world.link_request(CHAINS[0].0, crate::world::PLAN, "u");
    request.notify_url = "not an address".to_owned();
    let error = world.client.create_link(&request).await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.http_status, refusal.code), (200, 400), "{refusal}");
    assert!(refusal.description.as_deref().unwrap().contains("notifyUrl"), "{refusal}");
    assert!(!error.may_have_happened());
}
