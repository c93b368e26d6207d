//! What an operator asks of a Signer that runs, on the command line.

use crate::world::anvil::Family;
use crate::world::patience::{ASKED_AT_MOST, PATIENCE};
use crate::world::signer::Installation;
use crate::world::town::{PRICE, Town};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

on_both_families![an_operator_sees_pauses_and_follows_a_running_signer];

async fn with_operator(family: Family) -> Town {
    let town = Town::on(family).await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let operator = "[callers.operator]\nkey = \"operator-key\"\nsecret = \"the operator's own secret\"\n\
                    control = true\n";
    std::fs::write(&path, format!("{before}\n{operator}")).unwrap();
    town
}

/// Whether a command succeeded, and what it wrote.
async fn told(installation: &Installation, arguments: &[&str]) -> (bool, String) {
    let output = installation.run(arguments).await;
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Asserts that a command fails, and says why.
async fn fails(installation: &Installation, arguments: &[&str], why: &str) {
    let (done, said) = told(installation, arguments).await;
    assert!(!done && said.contains(why), "{arguments:?}: {said}");
}

async fn an_operator_sees_pauses_and_follows_a_running_signer(family: Family) {
    let town = with_operator(family).await;
    let installation = &town.installation;
    fails(installation, &["status", "--server", "http://127.0.0.1:1"], "Does it run there?").await;
    fails(installation, &["health", "--server", "http://127.0.0.1:1"], "Does it run there?").await;
    let signer = town.signer().await;
    signer.ready().await;
    let server = ["--server", signer.scheduler.url.as_str()];
    let ask = async |words: &[&str]| told(installation, &[words, &server[..]].concat()).await;
    let (serves, said) = ask(&["health"]).await;
    assert!(serves && said == "serving; journal: ok\n", "{said}");
    let (ready, said) = ask(&["status"]).await;
    assert!(ready, "{said}");
    for words in ["ready\n", "journal: ok\n", "chain 139, ", " 0 open\n", "  node ", "  limits: "] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let mut tail = Tail::begun(installation, server).await;
    let (done, said) = ask(&["pause", "--chain", "139", "--why", "a node lies"]).await;
    assert!(done && said.contains("chain 139: paused by operator since 20"), "{said}");
    let line = tail.wrote(": a node lies").await;
    assert!(line.contains(" paused chain 139 by operator"), "{line}");
    let (ready, said) = ask(&["status"]).await;
    assert!(
        ready && said.contains("  paused by operator") && said.contains("Z: a node lies\n"),
        "{said}"
    );
    let refused = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert!(refused.status == 403 && refused.text.contains("a node lies"), "{refused:?}");
    let (done, said) = ask(&["pause", "--why", " "]).await;
    assert!(!done && said.contains("why is 1 to 500 characters"), "{said}");
    let (done, said) = ask(&["resume", "--chain", "138"]).await;
    assert!(!done && said.contains("chain 138 is not configured: the Signer has 139"), "{said}");
    let (done, said) = ask(&["resume"]).await;
    assert!(done && said.starts_with("resumed: chain 139"), "{said}");
    let (done, said) = ask(&["resume"]).await;
    assert!(done && said.contains("nothing is paused"), "{said}");
    let body = json!({"requestId": "by-hand", "list": town.entries([0])});
    let hash = signer.scheduler.bill(&body).await.tx_hash();
    let (done, said) = ask(&["billing", "by-hand"]).await;
    assert!(done && said.contains(&hash), "{said}");
    let (done, said) = ask(&["billing", "none"]).await;
    assert!(!done && said.contains("no billing has this"), "{said}");
    let line = tail.wrote(" accepted chain 139").await;
    assert!(line.contains("request by-hand") && line.contains(&hash), "{line}");
    let (done, said) = ask(&["billing", "1"]).await;
    assert!(done && said.contains(&hash), "by its number: {said}");
    let who = &town.people[0];
    let (id, wallet) = (who.subscribe_id.to_string(), town.spell(who.wallet));
    let user = town.entries([0])[0]["userHash"].as_str().unwrap().to_owned();
    for words in [["--subscription", &id], ["--wallet", &wallet], ["--user", &user]] {
        let (done, said) = ask(&[&["charges"], &words[..]].concat()).await;
        let whose = format!("subscription {id}  plan ");
        assert!(done && said.contains(&whose) && said.contains(&hash), "{words:?}: {said}");
        assert!(said.contains(&format!("{PRICE} of ")), "no decimals are configured: {said}");
    }
    let (done, said) = ask(&["charges", "--subscription", "1"]).await;
    assert!(done && said == "no charge and no refusal is like that\n", "{said}");
}

/// In the middle of an edit, and of an incident.
#[tokio::test]
async fn a_range_without_time_and_a_file_that_is_there_or_is_not_are_refused_by_name() {
    let town = Town::found().await;
    let installation = &town.installation;
    std::fs::write(installation.path().join("mine.csv"), "kept").unwrap();
    let back = ["--from", "2026-02-01", "--to", "2026-01-01"];
    for (words, why) in [
        ([&["totals"], &back[..]].concat(), "--from 2026-02-01T00:00:00Z is not before --to"),
        ([&["export"], &back[..]].concat(), "--from 2026-02-01T00:00:00Z is not before --to"),
        (vec!["export", "--out", "mine.csv"], "there is already a file at mine.csv"),
        (vec!["export", "--out", "no/a.csv"], "no/a.csv cannot be made: its directory"),
        (vec!["claims", "export", "--out", "mine.csv"], "there is already a file at mine.csv"),
        (vec!["claims", "import", "none", "--why", "w"], "none cannot be read: "),
        (
            vec!["status", "--server", "http://127.0.0.1:1", "--key", "k", "--secret-file", "none"],
            "--secret-file: there is no file none: check the path",
        ),
    ] {
        fails(installation, &words, why).await;
    }
    let kept = std::fs::read_to_string(installation.path().join("mine.csv")).unwrap();
    assert_eq!(kept, "kept");
}

#[tokio::test]
async fn a_fault_of_the_configuration_keeps_nobody_from_pausing() {
    let town = with_operator(Family::Evm).await;
    let signer = town.signer().await;
    let server = ["--server", signer.scheduler.url.as_str()];
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let ask = async |words: &[&str]| told(&town.installation, &[words, &server[..]].concat()).await;
    let faults = format!(
        "nonsense = 1\n{before}\n[callers.new]\nkey = \"half\"\n[chains.7]\nchain_id = \"?\"\n"
    );
    std::fs::write(&path, faults).unwrap();
    let (done, said) = told(&town.installation, &["check"]).await;
    assert!(!done && said.contains("nonsense"), "{said}");
    let (done, said) = ask(&["pause", "--chain", "139"]).await;
    assert!(done && said.contains("chain 139: paused by operator"), "{said}");
    let (done, said) = ask(&["resume"]).await;
    assert!(done && said.starts_with("resumed: chain 139"), "{said}");

    std::fs::write(&path, "[callers.operator\n").unwrap();
    let (done, said) = ask(&["pause"]).await;
    assert!(!done && said.contains("the configuration file"), "{said}");
    let secret = town.installation.path().join("operators-secret");
    std::fs::write(&secret, "the operator's own secret\n").unwrap();
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let as_operator = ["--key", "operator-key", "--secret-file", secret.to_str().unwrap()];
    let (done, said) = ask(&[&["pause"], &as_operator[..]].concat()).await;
    assert!(done && said.contains("chain 139: paused by operator"), "{said}");
    std::fs::write(&path, before).unwrap();
}

/// As behind `| head`. What is cut off proves nothing: a command whose exit code is its answer has not succeeded.
#[tokio::test]
async fn a_command_that_nobody_reads_any_more_ends_quietly() {
    let town = with_operator(Family::Evm).await;
    for (words, done) in [(["export"], true), (["totals"], false), (["audit"], false)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = town.installation.command();
        let ended = command.args(words).stdout(writer).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        // Of a journal on a server the log has something to say.
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with('{')).collect();
        assert_eq!((ended.status.success(), said), (done, vec![]), "{words:?}");
    }
}

/// Whoever sits at the Signer's address can say what he likes: without its signature it is no answer, and a 401 is
/// an error whatever it says.
#[tokio::test]
async fn a_command_takes_no_answer_that_the_signer_has_not_signed() {
    let installation = &with_operator(Family::Evm).await.installation;
    let charged = json!({"code": 1, "msg": "success", "data": [
        {"chainId": 139, "paused": null, "pausedSince": null, "policy": "", "spentToday": {}, "spentInWords": [], "state": "charged"}
    ]});
    for status in ["200 OK", "401 Unauthorized"] {
        let server = impostor(status, charged.to_string()).await;
        let server = ["--server", server.as_str()];
        for words in [&["billing", "0xab"][..], &["pause"], &["resume"], &["tail"]] {
            let (done, said) = told(installation, &[words, &server[..]].concat()).await;
            assert!(!done && said.contains("without the Signer's proof"), "{words:?}: {said}");
            assert!(!said.contains("charged"), "{words:?}: {said}");
        }
    }
}

/// Where no caller is configured there is nothing to prove an answer by: it is taken from this machine alone.
#[tokio::test]
async fn a_command_without_a_caller_asks_this_machine_alone() {
    let mut town = Town::on(Family::Evm).await;
    town.installation = town.installation.env("SIGNER__ALLOW_UNAUTHENTICATED", "true");
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let callers = before.lines().skip_while(|line| *line != "[callers.tests]").take(3);
    let without = callers.fold(before.clone(), |text, line| text.replacen(line, "", 1));
    std::fs::write(&path, without).unwrap();
    let body = json!({"code": 1, "msg": "success", "data": {"state": "charged"}}).to_string();
    let here = impostor("200 OK", body).await;
    let (done, said) = told(&town.installation, &["billing", "0xab", "--server", &here]).await;
    assert!(done && said.contains("charged"), "{said}");
    let elsewhere = ["billing", "0xab", "--server", "http://signer.example:9980"];
    let (done, said) = told(&town.installation, &elsewhere).await;
    assert!(!done && said.contains("no caller is configured here"), "{said}");
    std::fs::write(&path, before).unwrap();
}

/// Answers everything with this, and signs nothing.
async fn impostor(status: &'static str, body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    TaskTracker::new().spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            assert_ne!(socket.read(&mut [0; 4096]).await.unwrap(), 0);
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    url
}

/// A command that writes what happens, and is ended with this.
struct Tail {
    process: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn new(installation: &Installation, server: [&str; 2]) -> Self {
        let mut command = installation.command();
        command.arg("tail").args(server).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let (tell, lines) = mpsc::channel(1024);
        let written = BufReader::new(process.stdout.take().unwrap()).lines();
        std::thread::spawn(move || {
            written.map_while(Result::ok).for_each(|line| drop(tell.blocking_send(line)));
        });
        Self { process, lines }
    }

    /// One that follows. Nothing but its first line says since when it does: something happens again and again until then.
    async fn begun(installation: &Installation, server: [&str; 2]) -> Self {
        let pauses = async |why: &str| {
            for words in [&["pause", "--chain", "139", "--why", why][..], &["resume"]] {
                let (done, said) = told(installation, &[words, &server[..]].concat()).await;
                assert!(done, "{said}");
            }
        };
        pauses("before it followed").await;
        let mut tail = Self::new(installation, server);
        for _ in 0..ASKED_AT_MOST {
            pauses("until it follows").await;
            if let Ok(line) = timeout(Duration::from_millis(250), tail.lines.recv()).await {
                let line = line.unwrap();
                assert!(!line.contains("before"), "what was done before is not told: {line}");
                return tail;
            }
        }
        panic!("it follows nothing");
    }

    /// The next line that contains `words`.
    async fn wrote(&mut self, words: &str) -> String {
        let waits = async {
            loop {
                let line = self.lines.recv().await.unwrap();
                if line.contains(words) {
                    return line;
                }
            }
        };
        timeout(PATIENCE, waits).await.unwrap()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
