//! What a Signer answers.

use serde_json::Value;
use std::time::Duration;

/// What the scheduler hears.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) body: Value,
    /// The body as it came: JSON values above hold no integer beyond 64 bits exactly.
    pub(crate) text: String,
}

impl Heard {
    pub(crate) fn code(&self) -> i64 {
        self.body["code"].as_i64().unwrap_or(-1)
    }

    /// The transaction hash of a code 1.
    pub(crate) fn tx_hash(&self) -> String {
        assert_eq!(self.code(), 1, "{self:?}");
        self.body["data"]["txHash"].as_str().expect("a hash").to_owned()
    }

    /// `subscribeId` and `failCode` of every failure, of a code 2 or a partial code 1, by id.
    pub(crate) fn failures(&self) -> Vec<(i64, String)> {
        let data = &self.body["data"];
        let list = if self.code() == 2 { data } else { &data["failed"] };
        let row = |f: &Value| {
            (f["subscribeId"].as_i64().unwrap(), f["failCode"].as_str().unwrap().into())
        };
        let mut rows: Vec<_> = list.as_array().into_iter().flatten().map(row).collect();
        rows.sort();
        rows
    }
}

/// Sends a request; none when no answer came.
pub(crate) async fn hear(request: reqwest::RequestBuilder) -> Option<Heard> {
    let response = request.timeout(Duration::from_secs(30)).send().await.ok()?;
    let status = response.status().as_u16();
    let text = response.text().await.ok()?;
    let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.clone()));
    Some(Heard { status, body, text })
}
