//! The merchant's backend: the `merchant` library's client and callback address, and the people at the console.

use super::super::{Error, doors};
use futures_util::StreamExt as _;
use merchant::Client;
use merchant::callback::{Callback, Receiver, web};
use merchant::sign::Credentials;
use sandbox_platform::{Port, Running};
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The merchant, its people included.
#[derive(Debug)]
pub(crate) struct Merchant {
    /// Every call of the platform.
    pub(super) client: Client,
    credentials: Credentials,
    http: reqwest::Client,
    admin_url: String,
    /// URL that callbacks are sent to.
    pub(super) notify_url: String,
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Merchant {
    pub(crate) fn new(running: &Running) -> Result<Self, Error> {
        let held = running.platform.credentials();
        let credentials = Credentials::new(held.key.as_str(), held.secret.as_str());
        Ok(Self {
            client: Client::new(&running.base_url, &running.payment_url, credentials.clone())?,
            credentials,
            http: reqwest::Client::builder().no_proxy().build()?,
            admin_url: running.admin_url.clone(),
            notify_url: String::new(),
            heard: Arc::default(),
        })
    }

    /// Opens the address for callbacks; what is not signed as it should be is not taken.
    pub(super) async fn listen(&mut self) -> Result<(), Error> {
        let listener = Port::Any.open().await?;
        self.notify_url = format!("http://{}/notify", listener.local_addr()?);
        let heard = Arc::clone(&self.heard);
        let keep = move |callback: Callback| {
            let heard = Arc::clone(&heard);
            async move {
                let body = serde_json::from_str(callback.event.raw().get()).unwrap_or_default();
                heard.lock().await.push(body);
                Ok::<_, Infallible>(())
            }
        };
        let receiver = Receiver::new(vec![self.credentials.clone()]);
        doors::serve(listener, web::router("/notify", receiver, keep));
        Ok(())
    }

    /// The newest callback that has a value in a field.
    pub(super) async fn heard(&self, field: &str, value: &Value) -> Option<Value> {
        let heard = self.heard.lock().await;
        heard.iter().rev().find(|body| body[field] == *value).cloned()
    }

    /// Everything that is due, as it came.
    pub(crate) async fn due(&self) -> Result<Vec<Value>, Error> {
        let entries: Vec<_> = self.client.chargeable().collect().await;
        let read = |entry: Result<merchant::Full<_>, merchant::CallError>| {
            let entry: merchant::Full<merchant::types::Chargeable> = entry?;
            Ok(serde_json::from_str(entry.raw().get())?)
        };
        entries.into_iter().map(read).collect()
    }

    /// Somebody presses a button: at the console, on a payment page, or of the sandbox.
    pub(crate) async fn press(&self, control: &str, body: Value) -> Result<Value, Error> {
        let url = format!("{}/sandbox/{control}", self.admin_url);
        let request = self.http.post(url).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await?;
        let good = response.status().is_success();
        let answer: Value = serde_json::from_slice(&response.bytes().await?)?;
        if good { Ok(answer) } else { Err(format!("{control}: {}", answer["error"]).into()) }
    }
}
