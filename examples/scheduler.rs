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

use signer_client::sign::Credentials;
use signer_client::signer::{Family, SignerClient, Verdict};
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

/// Longer than the Signer takes for an answer (`http.request_deadline`).
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("usage: scheduler <url of the Signer> <file with the list, or ->".into());
    };
    let list = if file == "-" { standard_input()? } else { std::fs::read_to_string(file)? };
    let credentials = Credentials::new(variable("SIGNER_CALLER")?, variable("SIGNER_SECRET")?);
    let signer = SignerClient::new(&url, credentials)?.with_timeout(PATIENCE);
    let mut out = io::stdout();
    // TRON has another path: `Family::Tvm`.
    match signer.bill(Family::Evm, &list).await {
        Ok(Verdict::Sent(sent)) => {
            writeln!(out, "sent; these are charged once it is final: {}", sent.raw())?;
        }
        Ok(Verdict::Refused(failed, _)) => {
            let reasons = serde_json::to_string(&failed)?;
            writeln!(out, "nobody is charged, for these reasons: {reasons}")?;
        }
        Ok(Verdict::Rehearsed(rehearsal)) => {
            writeln!(out, "a dry run signs nothing: {}", rehearsal.raw())?;
        }
        Err(error) => {
            writeln!(out, "no verdict: {error}")?;
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
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
