//! A Signer under the supervisors that operate/ has files for: what they are told, what they ask, and that one chain's
//! outage takes no other down.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::signer::Signer;
use crate::world::town::Town;
use serde_json::json;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

const UNIT: &str = include_str!("../../../operate/merchant-signer.service");
const POD: &str = include_str!("../../../operate/kubernetes/signer.yml");

on_both_families![a_chain_that_is_out_takes_no_other_down];

/// What the unit says of a key.
fn unit(key: &str) -> &'static str {
    let line = UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("the unit has no {key}"))
}

/// What of a configuration is about its chain, with this instead of that.
fn second_chain(config: &str, changes: &[(&str, &str)]) -> String {
    let (_, chain) = config.split_once("[chains.139]").unwrap();
    let mut about = true;
    let lines = chain.lines().filter(|line| {
        about = if line.starts_with('[') { line.starts_with("[chains.139") } else { about };
        about
    });
    let chain = lines.collect::<Vec<_>>().join("\n");
    let chain = format!("[chains.139]{chain}").replace("[chains.139", "[chains.140");
    changes.iter().fold(chain, |chain, (from, to)| {
        assert!(chain.contains(from), "{from} in {chain}");
        chain.replace(from, to)
    })
}

async fn status(signer: &Signer, path: &str) -> u16 {
    signer.scheduler.get(path).await.status
}

async fn a_chain_that_is_out_takes_no_other_down(family: Family) {
    let town = Town::on(family).await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let id = match family {
        Family::Evm => ("eip155_id = 31337", "eip155_id = 31338"),
        Family::Tron => ("chain_id = ", "chain_id = \"0x1234abcd\" # was "),
    };
    let name = ("name = \"", "name = \"other-");
    let dead = ("http://127.0.0.1:", "http://127.0.0.1:9/");
    std::fs::write(&path, format!("{before}\n{}", second_chain(&before, &[id, dead, name])))
        .unwrap();
    let signer = town.signer().await;
    eventually("the chain whose node answers is ready", async || {
        status(&signer, "/health/chains/139").await == 200
    })
    .await;
    let asked = [("ready", 503), ("chains/140", 503), ("chains/7", 404), ("chains/x", 404)];
    for (what, expected) in asked {
        assert_eq!(status(&signer, &format!("/health/{what}")).await, expected, "{what}");
    }
    let probes =
        POD.lines().filter_map(|line| line.split("path: /health/").nth(1)?.split(',').next());
    let probes: Vec<&str> = probes.collect();
    assert_eq!(probes.len(), 3, "{probes:?}");
    for probe in probes {
        assert_eq!(status(&signer, &format!("/health/{probe}")).await, 200, "{probe}");
    }
    let heard = signer.scheduler.bill(&json!([chain_of(&town)])).await;
    town.settled(&signer, &heard.tx_hash()).await;
    town.assert_paid(&[1]).await;
}

/// Somebody's entry, for the chain that is not out.
fn chain_of(town: &Town) -> serde_json::Value {
    let mut entry = town.entries([0]).remove(0);
    entry["chainId"] = json!(139);
    entry
}

#[tokio::test]
async fn whoever_started_it_hears_when_it_serves_and_when_it_ends() {
    assert_eq!(
        (unit("Type"), unit("StartLimitIntervalSec"), unit("Restart")),
        ("notify", "0", "always")
    );
    let mut town = Town::found().await;
    let socket = town.installation.path().join("notify");
    let supervisor = UnixDatagram::bind(&socket).unwrap();
    supervisor.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let hear = || {
        let mut said = [0; 256];
        let length = supervisor.recv(&mut said).ok()?;
        Some(String::from_utf8(said[..length].to_vec()).unwrap())
    };
    let usual = town.installation.clone();
    town.installation = usual.clone().env("NOTIFY_SOCKET", socket.to_str().unwrap());
    let good = std::fs::read_to_string(usual.path().join("signer.toml")).unwrap();
    std::fs::write(usual.path().join("signer.toml"), "nonsense").unwrap();
    town.installation.try_start().await.unwrap_err();
    assert_eq!(hear(), None, "one that does not start is not up");
    std::fs::write(usual.path().join("signer.toml"), good).unwrap();
    let signer = town.signer().await;
    assert_eq!(hear().as_deref(), Some("READY=1\nSTATUS=serving"));
    signer.terminate().await;
    assert!(hear().is_some_and(|said| said.starts_with("STOPPING=1")));
}
