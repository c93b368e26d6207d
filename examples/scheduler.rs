//! The least that a scheduler has to do: sign the list of due subscriptions, post it, have the answer proven, read it.
//!
//! ```sh
//! cargo run --example scheduler -- http://127.0.0.1:9980 due.json
//! ```
//!
//! `due.json` is what the platform's chargeable list returned, as it came. The caller's key and secret are
//! in the environment as `SIGNER_CALLER` and `SIGNER_SECRET`. `-` reads the list from standard input.
//!
//! An answer that the Signer has not signed is none: somebody else may have made it.
//!
//! Posting a list again is safe, and the right thing to do after a timeout, an answer without proof or one with code 0: what is
//! claimed already is answered with the transaction that claimed it.

use merchant_signer::auth::{self, AnswerParts, SignedParts};
use reqwest::Client;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The path for billing EVM subscriptions; TRON ones are under `/PayTool/TVM`.
const PATH: &str = "/PayTool/EVM/subscribe/signProcessSubscribePlan";

/// Longer than the Signer takes for an answer (`http.request_deadline`).
const PATIENCE: Duration = Duration::from_mins(1);

/// The form of every answer.
#[derive(Deserialize)]
struct Answer {
    code: i64,
    msg: String,
    #[serde(default)]
    data: Value,
}

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: scheduler <url of the Signer> <file with the list, or ->".into());
    };
    let list = if file == "-" { standard_input()? } else { std::fs::read_to_string(file)? };
    let answer = post(&url, list).await?;
    let mut out = io::stdout();
    let Answer { code, msg, data } = answer;
    match code {
        1 => writeln!(out, "sent; these are charged once it is final: {data}")?,
        2 => writeln!(out, "nobody is charged, for these reasons: {data}")?,
        _ => {
            writeln!(out, "no verdict, and nothing new was signed: {msg}")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Posts `body`, signed over exactly the bytes that are sent.
async fn post(url: &str, body: String) -> Result<Answer, Box<dyn Error>> {
    let (key, secret) =
        (variable("SIGNER_CALLER")?, SecretString::from(variable("SIGNER_SECRET")?));
    let now = clock()?.to_string();
    let parts = SignedParts {
        key: Some(&key),
        timestamp: Some(&now),
        sign: None,
        method: "POST",
        path_and_query: PATH,
        body: body.as_bytes(),
    };
    let sign = auth::sign(&secret, &parts);
    let request = Client::builder().timeout(PATIENCE).build()?.post(format!("{url}{PATH}"));
    let request = request.header(auth::KEY_HEADER, &key).header(auth::TIMESTAMP_HEADER, &now);
    let reply = request.header(auth::SIGN_HEADER, &sign).body(body).send().await?;
    let (status, headers) = (reply.status().as_u16(), reply.headers().clone());
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let body = reply.bytes().await?;
    let answer = AnswerParts {
        request_sign: &sign,
        timestamp: header(auth::TIMESTAMP_HEADER),
        sign: header(auth::SIGN_HEADER),
        status,
        body: &body,
    };
    auth::verify_answer(&secret, &answer, clock()?).map_err(|why| {
        format!("HTTP {status} without the Signer's proof ({why}): post it again")
    })?;
    Ok(serde_json::from_slice(&body)?)
}

fn standard_input() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, beside the Signer")]
fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set"))
}

/// Unix seconds.
#[expect(clippy::disallowed_methods, reason = "a program of its own, beside the Signer")]
fn clock() -> Result<i64, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs().try_into()?)
}
