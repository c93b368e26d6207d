//! The chains and the platform alone, for a Signer and a merchant of one's own.

use super::{Error, Options, paper, scheduler, sides, signer, tell};
use sandbox_platform::platform::{EVM_CHAIN, TRON_CHAIN};
use sandbox_platform::{Options as Setup, Pace, Platform, Running};
use serde_json::{Value, json};
use std::path::Path;

/// Serves until somebody ends it.
pub(crate) async fn run(options: Options) -> Result<bool, Error> {
    let scratch = tempfile::tempdir()?;
    let place = signer::make(options.state.as_deref().unwrap_or(scratch.path()))?;
    let setup = Setup {
        state: options.state.clone(),
        pace: options.beat.map_or(Pace::Live, Pace::Fast),
        people: 0,
        trial: 0,
        seed: 0,
        clock: options.clock()?,
    };
    let platform = tokio::task::spawn_blocking(move || Platform::found(&setup)).await??;
    let running = platform.serve(options.ports()).await?;
    let sides = sides::both(&running, &place);
    let port = options.signer_port.unwrap_or(super::SIGNER_PORT);
    let config = signer::install(port, &place, &sides)?;
    let paper = paper::Paper::new(options.json);
    options.tell(&addresses(&running, &config, None))?;
    if !options.json {
        paper.title("Two chains in this process, each with a token and the reference contract; no plan and no subscriber yet.");
        tell(&paper, &running, &sides);
        paper.title("A Signer for them, with an empty journal:");
        let config = config.display();
        paper.line(&format!("  merchant-signer --config {config} init"));
        paper.line(&format!("  merchant-signer --config {config}"));
    }
    super::stay::watch(&paper, &running).await?;
    running.shutdown().await;
    Ok(true)
}

/// All addresses, for programs; with that of a Signer, who may ask it.
pub(crate) fn addresses(running: &Running, config: &Path, signer: Option<&str>) -> Value {
    let caller = |key: &str, secret: &str| json!({"key": key, "secret": secret});
    let credentials = running.platform.credentials();
    json!({
        "api": caller(&credentials.key, &credentials.secret),
        "signerUrl": signer,
        "scheduler": signer.map(|_| caller(scheduler::CALLER, scheduler::SECRET)),
        "operator": signer.map(|_| caller(scheduler::OPERATOR, scheduler::OPERATOR_SECRET)),
        "clock": format!("{}/sandbox", running.admin_url),
        "baseUrl": running.base_url,
        "paymentUrl": running.payment_url,
        "adminUrl": running.admin_url,
        "families": {EVM_CHAIN.to_string(): "EVM", TRON_CHAIN.to_string(): "TVM"},
        "evm": running.evm_url,
        "tronFull": running.tron.full,
        "tronSolidity": running.tron.solidity,
        "tronJsonrpc": running.tron.jsonrpc,
        "signerConfig": config,
    })
}
