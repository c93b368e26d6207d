//! Where everything is kept, which roads there are, and how each program is started.

use super::cast::{Part, programs};
use super::road::{Hook, Road};
use parking_lot::RwLock;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use tempfile::TempDir;

/// What the merchant signs with at the platform.
pub(crate) const KEY: [&str; 2] = ["sandbox-merchant", "everybody-knows-this-api-secret"];
/// What the scheduler signs with at the Signer, and at the inbox.
const CALLER: [&str; 2] = ["sandbox-scheduler", "everybody-knows-this-secret"];
/// How often the platform makes a block (ms).
const BEAT: &str = "150";
/// So many lines of each program are shown when something is wrong.
const LAST: usize = 30;

/// The roads: name, and what it leads to.
const ROADS: [(&str, &str); 11] = [
    ("merchant to platform", "baseUrl"),
    ("scheduler to platform", "baseUrl"),
    ("inbox to platform", "baseUrl"),
    ("scheduler to Signer", "signer"),
    ("inbox to Signer", "signer"),
    ("scheduler to inbox", "feed"),
    ("platform to inbox", "callbacks"),
    ("Signer to EVM", "evm"),
    ("Signer to TRON full", "tronFull"),
    ("Signer to TRON solidity", "tronSolidity"),
    ("Signer to TRON JSON-RPC", "tronJsonrpc"),
];

/// Everything that outlives a program.
#[derive(Clone)]
pub(crate) struct Place {
    folder: PathBuf,
    /// Removed when everything has ended; none where the test was told a place.
    _scratch: Option<Arc<TempDir>>,
    programs: PathBuf,
    roads: Arc<Vec<Road>>,
    ports: Ports,
    /// What the platform said last about where it is.
    pub(crate) addresses: Arc<RwLock<Value>>,
}

#[derive(Clone, Copy)]
struct Ports {
    signer: u16,
    callbacks: u16,
    feed: u16,
}

/// Ports that programs come back to after they were killed. The system gives those from 32768 on to any connection that
/// leaves this machine, also while their program is away. Plays of one process get ports of their own.
fn free_ports() -> [u16; 3] {
    static PLAYS: AtomicU16 = AtomicU16::new(0);
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let first = first + 100 * PLAYS.fetch_add(1, Ordering::SeqCst);
    let mut free = (first..32_768).filter(is_free);
    [(); 3].map(|()| free.next().unwrap())
}

impl Place {
    pub(crate) async fn new(hook: Hook) -> Self {
        let mut roads = vec![];
        for (name, _) in ROADS {
            roads.push(Road::open(name, Arc::clone(&hook)).await);
        }
        let told = std::env::var_os("LOOP_PLACE").map(PathBuf::from);
        let scratch = told.is_none().then(|| Arc::new(tempfile::tempdir().unwrap()));
        let folder = told.or_else(|| scratch.as_ref().map(|dir| dir.path().to_owned())).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        let [signer, callbacks, feed] = free_ports();
        let ports = Ports { signer, callbacks, feed };
        let place = Self {
            folder,
            _scratch: scratch,
            programs: tokio::task::spawn_blocking(programs).await.unwrap(),
            roads: Arc::new(roads),
            ports,
            addresses: Arc::default(),
        };
        let local = |port: u16| format!("http://127.0.0.1:{port}");
        for (to, port) in
            [("signer", ports.signer), ("callbacks", ports.callbacks), ("feed", ports.feed)]
        {
            place.lead_to(to, &local(port));
        }
        place
    }

    /// The roads lead to where the platform is now.
    pub(crate) fn lead(&self, addresses: &Value) {
        for (_, to) in ROADS {
            if let Some(url) = addresses[to].as_str() {
                self.lead_to(to, url);
            }
        }
        *self.addresses.write() = addresses.clone();
    }

    fn lead_to(&self, to: &str, url: &str) {
        for (road, (_, leads)) in self.roads.iter().zip(ROADS) {
            if leads == to {
                url.clone_into(&mut road.to.write());
            }
        }
    }

    /// Where a road begins.
    pub(crate) fn road(&self, name: &str) -> &str {
        let at = ROADS.iter().position(|(road, _)| *road == name).unwrap();
        &self.roads[at].url
    }

    /// An address of the platform's own, past the roads.
    pub(crate) fn direct(&self, name: &str) -> String {
        self.addresses.read()[name].as_str().unwrap().to_owned()
    }

    /// Installs the Signer: the sandbox has written its configuration, and its nodes are where the roads begin.
    pub(crate) fn install_signer(&self) {
        let mut text = std::fs::read_to_string(self.direct("signerConfig")).unwrap();
        for (name, to) in ROADS {
            if name.starts_with("Signer to ") {
                text = text.replace(
                    &format!("\"{}\"", self.direct(to)),
                    &format!("\"{}\"", self.road(name)),
                );
            }
        }
        std::fs::write(self.folder.join("signer.toml"), text).unwrap();
        assert!(self.signer(&["init"]).status().unwrap().success());
    }

    pub(crate) fn command(&self, part: Part) -> Command {
        match part {
            Part::Platform => self.platform(),
            Part::Signer => self.signer(&[]),
            Part::Scheduler => self.scheduler(&[]),
            Part::Inbox => self.inbox(),
        }
    }

    fn platform(&self) -> Command {
        let mut command = Command::new(self.programs.join("sandbox"));
        command
            .args(["--bare", "--json", "--beat", BEAT, "--state"])
            .arg(self.folder.join("state"));
        command.args(["--platform-port", "0", "--evm-port", "0", "--tron-port", "0"]);
        command.args(["--signer-port", &self.ports.signer.to_string()]);
        command.stdout(Stdio::piped()).stderr(self.log("platform"));
        command
    }

    pub(crate) fn signer(&self, more: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("merchant-signer"));
        command.current_dir(&self.folder).args(["--config", "signer.toml"]).args(more);
        command.stdout(Stdio::null()).stderr(self.log("signer"));
        command
    }

    /// What a program says, one after the other of its lives.
    fn log(&self, name: &str) -> std::fs::File {
        let path = self.folder.join(format!("{name}.log"));
        std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap()
    }

    /// The files of a program's state.
    fn state(&self, name: &str) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.folder).unwrap().map(|file| file.unwrap().path());
        let begins = |file: &PathBuf| {
            let file = file.file_name().unwrap().to_string_lossy();
            file.strip_prefix(name).is_some_and(|rest| rest.starts_with(".db"))
        };
        files.filter(begins).collect()
    }

    /// Loses the state of a program that has ended.
    pub(crate) fn lose(&self, name: &str) {
        for file in self.state(name) {
            std::fs::remove_file(file).unwrap();
        }
    }

    /// Keeps a copy of the state of a program that has ended.
    pub(crate) fn keep(&self, name: &str, copy: &str) {
        let folder = self.folder.join(copy);
        std::fs::create_dir_all(&folder).unwrap();
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap();
            if file.file_name().to_string_lossy().starts_with(name) {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        for file in self.state(name) {
            std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }

    /// Puts a copy in the place of the state of a program that has ended; none where there is no copy.
    pub(crate) fn put_back(&self, name: &str, copy: &str) {
        self.lose(name);
        for file in std::fs::read_dir(self.folder.join(copy)).into_iter().flatten() {
            let file = file.unwrap();
            if file.file_name().to_string_lossy().starts_with(name) {
                std::fs::copy(file.path(), self.folder.join(file.file_name())).unwrap();
            }
        }
    }

    /// Calls a copy by another name, in the place of what had it.
    pub(crate) fn keep_as(&self, copy: &str, name: &str) {
        let (from, to) = (self.folder.join(copy), self.folder.join(name));
        if to.exists() {
            std::fs::remove_dir_all(&to).unwrap();
        }
        std::fs::rename(from, to).unwrap();
    }

    /// The end of what each program has said.
    pub(crate) fn last_words(&self) -> String {
        let of = |name: &str| {
            let path = self.folder.join(format!("{name}.log"));
            let said = std::fs::read(path).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let lines: Vec<&str> = said.lines().collect();
            let last = lines[lines.len().saturating_sub(LAST)..].join("\n");
            format!("--- {name}, the last of {} lines\n{last}\n", lines.len())
        };
        ["platform", "signer", "inbox", "schedule"].map(of).concat()
    }

    pub(crate) fn merchant(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("merchant"));
        command.current_dir(&self.folder).args(arguments);
        let log = self.log(arguments[0]);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        for (section, [key, secret]) in [("PLATFORM", KEY), ("SIGNER", CALLER), ("INBOX", CALLER)] {
            command.env(format!("MERCHANT__{section}__KEY"), key);
            command.env(format!("MERCHANT__{section}__SECRET"), secret);
        }
        command.env("MERCHANT__PLATFORM__PAYMENT_URL", "http://127.0.0.1:9");
        command.env("MERCHANT__PLATFORM__BASE_URL", self.road("scheduler to platform"));
        command.env("MERCHANT__SIGNER__URL", self.road("scheduler to Signer"));
        command.env("MERCHANT__INBOX__URL", self.road("scheduler to inbox"));
        command
    }

    pub(crate) fn scheduler(&self, more: &[&str]) -> Command {
        let plain = [
            "schedule",
            "--chain",
            "139=EVM",
            "--chain",
            "136=TVM",
            "--interval",
            "1",
            "--pace",
            "1000",
        ];
        self.merchant(&[&plain, more].concat())
    }

    fn inbox(&self) -> Command {
        let [callbacks, feed] =
            [self.ports.callbacks, self.ports.feed].map(|port| format!("127.0.0.1:{port}"));
        let mut command =
            self.merchant(&["inbox", "--listen", &callbacks, "--private", &feed, "--pace", "100"]);
        command.env("MERCHANT__PLATFORM__BASE_URL", self.road("inbox to platform"));
        command.env("MERCHANT__SIGNER__URL", self.road("inbox to Signer"));
        command
    }
}
