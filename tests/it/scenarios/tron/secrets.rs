//! The key of the account, the API key and the secrets in three URLs are in no log line, no answer, no
//! report and no journal, whatever the node says.

use super::*;
use crate::world::proxy::{ANYTHING, Act, SEND, SIMULATE};
use crate::world::search::Search;
use crate::world::signer::SECRET;
use crate::world::town::KEY;
use std::process::Output;

const API_KEY: &str = "b7e2tronapikeyQ4xW9sLz";
const PATH_KEY: &str = "Zq8fT3tronpathkeyW7xLr2N";
const QUERY_KEY: &str = "m4Qv9tronquerykeyB6tHs1Y";
const PASSWORD: &str = "Hk5tronpassword2Jd8Cz";

/// A node or a proxy that quotes what it was asked with.
const INDISCREET: &str = "Zq8fT3tronpathkeyW7xLr2N b7e2tronapikeyQ4xW9sLz \
     http://u:Hk5tronpassword2Jd8Cz@node.example/v3/Zq8fT3tronpathkeyW7xLr2N?token=m4Qv9tronquerykeyB6tHs1Y";

fn search() -> Search {
    let mut search = Search::default();
    search.forbid_key("the signing key", KEY);
    search.forbid_text("the signing key as text", KEY);
    search.forbid_text("the caller's secret", SECRET);
    search.forbid_text("the API key", API_KEY);
    search.forbid_text("the key in the path", PATH_KEY);
    search.forbid_text("the key in the query", QUERY_KEY);
    search.forbid_text("the password of the node", PASSWORD);
    search
}

fn said(search: &mut Search, place: &str, output: &Output) {
    search.add(place, &output.stdout);
    search.add(place, &output.stderr);
}

/// A town whose node is reached by URLs full of secrets, with the key in the environment.
async fn talkative() -> Town {
    let mut town = founded(3, "").await;
    let config = std::fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    for (name, key) in [("full", "FULL"), ("solidity", "SOLIDITY"), ("jsonrpc", "JSONRPC")] {
        let line = config.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        let host = line.unwrap().trim_matches('"').strip_prefix("http://").unwrap();
        let url = format!("http://user:{PASSWORD}@{host}/v3/{PATH_KEY}?token={QUERY_KEY}");
        let url = if name == "jsonrpc" { url } else { url.replace("?token=", "/") };
        town.installation = town.installation.env(&format!("SIGNER__CHAINS__139__{key}"), &url);
    }
    let installation = town.installation.clone();
    town.installation = installation
        .env("SIGNER__CHAINS__139__API_KEY", API_KEY)
        .env("SIGNER__CHAINS__139__KEY", "env")
        .env("TVM_PRIVATE_KEY", KEY)
        .env("SIGNER__LOG__FILTER", "trace");
    town.tron().approach(BEHIND_MS);
    town
}

fn add_journal(search: &mut Search, town: &Town) {
    for entry in std::fs::read_dir(town.installation.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("journal.sqlite") {
            search.add(&path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
}

#[tokio::test]
async fn no_secret_is_shown_by_a_signer_at_work_whatever_the_node_does() {
    let town = talkative().await;
    let mut search = search();
    let signer = town.signer().await;
    let everything = async |search: &mut Search| {
        for body in [json!(town.entries([0])), json!(town.entries([1, 1])), json!([])] {
            search.add("an answer", format!("{:?}", signer.scheduler.try_bill(&body).await));
        }
        for page in ["/health/ready", "/metrics"] {
            search.add(page, format!("{:?}", signer.scheduler.get(page).await));
        }
    };
    everything(&mut search).await;
    let faults = [
        (ANYTHING, Act::Break),
        (ANYTHING, Act::PassOnAndFail),
        (ANYTHING, Act::Refuse(INDISCREET)),
        (SEND, Act::Refuse(INDISCREET)),
        (SIMULATE, Act::Refuse(INDISCREET)),
        ("gettransactioninfobyid", Act::Refuse(INDISCREET)),
    ];
    for (method, act) in faults {
        town.proxy.fault(method, act);
        everything(&mut search).await;
        town.proxy.heal();
        signer.ready().await;
    }
    town.quiet(&signer).await;
    let log = signer.terminate().await;
    assert!(log.contains("\"TRACE\""), "the log holds all there is");
    search.add("the log", log);
    add_journal(&mut search, &town);
    for command in ["check", "audit"] {
        said(&mut search, command, &town.installation.run(&[command]).await);
    }
    town.proxy.fault(ANYTHING, Act::Refuse(INDISCREET));
    said(&mut search, "check without a node", &town.installation.run(&["check"]).await);
    let found = search.found();
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn no_key_is_shown_that_was_not_understood() {
    let mut town = talkative().await;
    let mut search = search();
    for value in [&KEY[..40], &format!("{{\"1\":\"{KEY}\"}}"), &format!("{KEY}00")] {
        town.installation = town.installation.env("TVM_PRIVATE_KEY", value);
        let output = town.installation.run(&["check"]).await;
        assert!(!output.status.success());
        said(&mut search, "check", &output);
    }
    town.installation = town.installation.env("TVM_PRIVATE_KEY", KEY);
    for key in ["two\nlines", "no ascii: ü", ""] {
        let spoilt = format!("{API_KEY}{key}");
        town.installation = town.installation.env("SIGNER__CHAINS__139__API_KEY", &spoilt);
        said(&mut search, "check", &town.installation.run(&["check"]).await);
    }
    for url in [format!("ftp://x/{PATH_KEY}"), PATH_KEY.to_owned()] {
        town.installation = town.installation.env("SIGNER__CHAINS__139__FULL", &url);
        let output = town.installation.run(&["check"]).await;
        assert!(!output.status.success(), "{url}");
        said(&mut search, "a URL of no use", &output);
    }
    let found = search.found();
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}
