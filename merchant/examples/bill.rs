//! Bills the subscriptions that are due and verifies one callback: `sandbox --ci -- bill`.

use futures_util::TryStreamExt as _;
use merchant::Full;
use merchant::callback::{Callback, Event, Receiver, web};
use merchant::client::{Client, LinkRequest};
use merchant::sign::Credentials;
use merchant::signer::{BillRequest, Family, Mode, SignerClient, Verdict};
use merchant::types::{ChainId, PlanId, SubscriptionType};
use serde::Deserialize;
use std::error::Error;
use std::io::Write as _;
use tokio::sync::mpsc;

const EVM: ChainId = ChainId(139);

/// The addresses and secrets that the sandbox tells.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sandbox {
    base_url: String,
    payment_url: String,
    signer_url: String,
    api: Caller,
    scheduler: Caller,
}

#[derive(Deserialize)]
struct Caller {
    key: String,
    secret: String,
}

impl Caller {
    fn credentials(&self) -> Credentials {
        Credentials::new(self.key.as_str(), self.secret.as_str())
    }
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "the sandbox tells a command its addresses this way")]
async fn main() -> Result<(), Box<dyn Error>> {
    let sandbox: Sandbox = serde_json::from_str(&std::env::var("SANDBOX")?)?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let notify_url = format!("http://{}/hooks", listener.local_addr()?);
    let (tell, told) = mpsc::channel(8);
    let receiver = Receiver::new([sandbox.api.credentials()]);
    let hooks = web::router("/hooks", receiver, move |callback: Callback| {
        let tell = tell.clone();
        async move { tell.send(callback.event).await }
    });
    tokio::select! {
        ended = axum::serve(listener, hooks) => Ok(ended?),
        billed = bill(&sandbox, notify_url, told) => billed,
    }
}

async fn bill(
    sandbox: &Sandbox,
    notify_url: String,
    mut told: mpsc::Receiver<Event>,
) -> Result<(), Box<dyn Error>> {
    let client = Client::new(&sandbox.base_url, &sandbox.payment_url, sandbox.api.credentials())?;
    let link = LinkRequest {
        chain_id: EVM,
        plan_id: PlanId(7),
        external_user_id: "user-1".to_owned(),
        redirection_url: "https://shop.example/thanks".to_owned(),
        notify_url,
    };
    client.create_link(&link).await?;
    let mut due: Vec<_> = client.chargeable().try_collect().await?;
    due.retain(|entry| entry.chain_id == Some(EVM));
    let list: Vec<_> = due.iter().map(Full::raw).collect();
    let request =
        BillRequest { request_id: None, mode: Mode::Partial, dry_run: false, list: &list };
    let signer = SignerClient::new(&sandbox.signer_url, sandbox.scheduler.credentials())?;
    let Verdict::Sent(sent) = signer.bill(Family::Evm, &request.body()?).await? else {
        return Err("nothing was sent".into());
    };
    writeln!(std::io::stdout(), "sent {}", sent.tx_hash)?;
    while let Some(event) = told.recv().await {
        if let Event::Subscription(event) = event
            && event.subscription_type == SubscriptionType::Billing
        {
            let hash = event.transfer_hash.as_deref().unwrap_or_default();
            writeln!(std::io::stdout(), "verified {hash}")?;
            return Ok(());
        }
    }
    Err("no callback came".into())
}
