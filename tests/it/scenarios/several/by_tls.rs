//! A Signer that stands by, on a port with TLS.

use super::two_machines;
use crate::world::authority::{Authority, scheduler};
use crate::world::patience::eventually;
use crate::world::signer::{Installation, Scheduler, Signer, hear};
use serde_json::json;

/// Starts a Signer with a certificate of `authority`; its scheduler believes that authority alone.
async fn start(machine: &Installation, authority: &Authority) -> Signer {
    let mut signer = machine.start().await;
    signer.scheduler = scheduler(&signer, authority, None);
    signer
}

/// A standby may stand by for longer than a certificate lives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the server of ./test --only postgres"]
async fn a_standby_shows_a_renewed_certificate_and_bills_with_it() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let (town, machines, _node) = two_machines().await;
    let [one, other] = machines.map(|machine| {
        old.server().lies_in(&machine);
        machine
            .env("SIGNER__HTTP__TLS__CERTIFICATE_FILE", "tls.pem")
            .env("SIGNER__HTTP__TLS__KEY_FILE", "tls.key")
    });
    let first = start(&one, &old).await;
    first.ready().await;
    let mut second = start(&other, &old).await;
    second.knows("first").await;
    new.server().lies_in(&other);
    let Scheduler { url, client, .. } = scheduler(&second, &new, None);
    let asked = || client.get(format!("{url}/health/live"));
    eventually("the new certificate is shown", async || hear(asked()).await.is_some()).await;
    second.scheduler = scheduler(&second, &new, None);
    assert_eq!(second.scheduler.get("/health/ready").await.body["tls"]["status"], "ok");
    let metrics = second.scheduler.get("/metrics").await.text;
    assert!(metrics.contains("signer_certificate_end_timestamp_seconds{"), "{metrics}");
    let refused = second.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    first.kill();
    second.ready().await;
    let hash = second.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&second, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(second).await;
}
