//! The real binary, started as a merchant starts it, and a scheduler that posts to it.

mod closing;
pub(crate) mod database;
mod heard;
mod log;
mod signals;
mod socket;
mod waits;

use super::patience::PATIENCE;
use super::plain::client;
pub(crate) use closing::Charged;
use closing::Room;
use database::Database;
pub(crate) use heard::{Heard, hear};
use log::{Lines, Log};
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::Value;
use signer_client::sign::{KEY_HEADER, SIGN_HEADER, Signable, TIMESTAMP_HEADER, sign};
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) const CALLER: &str = "test-merchant-key";
pub(crate) const SECRET: &str = "a secret that only the tests know";
/// The secret of a webhook, and the key that it spells.
pub(crate) const WEBHOOK_SECRET: &str = "whsec_dGhlIHNlY3JldCBvZiB0aGUgd2ViaG9vaw==";
pub(crate) const WEBHOOK_KEY: &str = "the secret of the webhook";
pub(crate) const EVM_PATH: &str = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
pub(crate) const TVM_PATH: &str = "/PayTool/TVM/subscribe/signProcessSubscribePlan";

/// A directory with a configuration and a journal, where one Signer after another may run.
#[derive(Clone, Debug)]
pub(crate) struct Installation {
    program: PathBuf,
    directory: Arc<Room>,
    /// Where the journal is, if not in a file.
    pub(crate) database: Option<Database>,
    pub(crate) path: &'static str,
    env: Vec<(String, String)>,
    /// How many files each process may open, where that is limited.
    files: Option<u32>,
    /// How much data each may have, KiB, where that is limited.
    memory: Option<u64>,
}

impl Installation {
    /// Writes `chains` (TOML) under the usual settings, and makes the journal.
    pub(crate) fn new(chains: &str) -> Self {
        Self::of(program(), chains)
    }

    /// Of a certain program.
    pub(crate) fn of(program: PathBuf, chains: &str) -> Self {
        let made = Self { program, ..Self::without_journal(chains) }.initialised();
        if made.program != self::program() {
            // What it wrote is for that program to read.
            made.forge();
        }
        made
    }

    fn initialised(self) -> Self {
        let installation = self;
        let mut init = installation.command();
        init.arg("init");
        if installation.database.is_some() {
            init.args(["--owner-url-file", "owner"]);
        }
        let made = init.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        installation
    }

    pub(crate) fn without_journal(chains: &str) -> Self {
        Self::with_journal(database::asked_for(), chains)
    }

    /// With a journal on the server that tests/postgres.sh starts, or in a file.
    pub(crate) fn with_journal(on_server: bool, chains: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = on_server.then(|| Database::new(directory.path()));
        let place = match &database {
            None => format!("path = \"{}\"", directory.path().join("journal.sqlite").display()),
            Some(database) => {
                database.write_owner(directory.path());
                let mark = directory.path().join("journal.mark");
                format!("url = \"{}\"\nmark_path = \"{}\"", database.url(), mark.display())
            }
        };
        let config = format!(
            "[http]\nlisten = \"127.0.0.1:0\"\n\
             [journal]\n{place}\nmin_free = \"1MiB\"\n\
             [log]\nformat = \"json\"\nfilter = \"debug,hyper=info\"\n\
             [callers.tests]\nkey = {CALLER:?}\nsecret = {SECRET:?}\n{chains}"
        );
        std::fs::write(directory.path().join("signer.toml"), config).unwrap();
        let path = if chains.contains("family = \"tvm\"") { TVM_PATH } else { EVM_PATH };
        let directory = Room::new(directory, on_server);
        let (program, env) = (program(), vec![]);
        Self { program, directory, database, path, env, files: None, memory: None }
    }

    /// Sets an environment variable for every process that runs here.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Lets every process that runs here open so many files and no more.
    pub(crate) fn files(self, most: u32) -> Self {
        Self { files: Some(most), ..self }
    }

    /// Lets every process that runs here have so much data (KiB) and no more.
    pub(crate) fn memory(self, most: u64) -> Self {
        Self { memory: Some(most), ..self }
    }

    /// What is set for every process that runs here.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        self.env.clone()
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The file of the journal, for whoever looks into it.
    pub(crate) fn journal(&self) -> PathBuf {
        assert!(self.database.is_none(), "this is about a file: list it in tests/it/about_files");
        self.path().join("journal.sqlite")
    }

    pub(crate) fn command(&self) -> Command {
        let limits = [
            self.files.map(|most| format!("ulimit -n {most} && ")),
            self.memory.map(|most| format!("ulimit -d {most} && ")),
        ];
        let limits: String = limits.into_iter().flatten().collect();
        let mut command = if limits.is_empty() {
            Command::new(&self.program)
        } else {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{limits}exec \"$0\" \"$@\"")]).arg(&self.program);
            shell
        };
        command.args(["--config", "signer.toml"]).current_dir(self.path()).stdin(Stdio::null());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command();
        command.args(arguments);
        aside(move || command.output().unwrap()).await
    }

    /// Runs a command that reads `input`.
    pub(crate) async fn tell(&self, arguments: &[&str], input: &str) -> Output {
        std::fs::write(self.path().join("input"), input).unwrap();
        let mut command = self.command();
        command.args(arguments).stdin(std::fs::File::open(self.path().join("input")).unwrap());
        aside(move || command.output().unwrap()).await
    }

    /// Starts the Signer and waits until it takes requests, or stands by.
    pub(crate) async fn start(&self) -> Signer {
        self.try_start().await.unwrap_or_else(|log| panic!("the Signer did not start:\n{log}"))
    }

    /// Starts the Signer; what it wrote when it ended instead.
    pub(crate) async fn try_start(&self) -> Result<Signer, String> {
        let (command, path) = (self.command(), self.path);
        aside(move || launch(command, path)).await
    }
}

/// The program that is tried: that of `SIGNER_BINARY`, a full path, or the one built with the tests.
pub(crate) fn program() -> PathBuf {
    let named = std::env::vars_os().find(|(name, _)| name == "SIGNER_BINARY");
    named.map_or(env!("CARGO_BIN_EXE_merchant-signer").into(), |(_, path)| path).into()
}

/// Does what blocks beside the runtime, which has a proxy to run meanwhile.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

fn launch(mut command: Command, path: &'static str) -> Result<Signer, String> {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
    let read = Lines::default();
    let mut address = None;
    for line in lines.by_ref() {
        read.keep(&line);
        let fields: Value = serde_json::from_str(&line).unwrap_or_default();
        if ["ready for requests", "standing by"].iter().any(|said| fields["message"] == *said) {
            address = fields["address"].as_str().map(str::to_owned);
            break;
        }
    }
    let Some(address) = address else {
        process.wait().unwrap();
        return Err(read.text());
    };
    let scheduler = Scheduler {
        url: format!("http://{address}"),
        key: CALLER.to_owned(),
        secret: SECRET.to_owned(),
        client: client(),
        path,
    };
    Ok(Signer { process, log: read.and(lines), scheduler })
}

/// A running Signer. Killed, not stopped, when it is dropped.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) process: Child,
    log: Log,
    pub(crate) scheduler: Scheduler,
}

impl Signer {
    /// SIGKILL: no handler runs, nothing is flushed.
    pub(crate) fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.log.whole()
    }

    /// SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        self.send(rustix::process::Signal::TERM);
    }

    /// Waits until the process has ended as it should.
    pub(crate) async fn ended(mut self) -> String {
        aside(move || {
            let status = self.process.wait().unwrap();
            let log = self.log.whole();
            assert!(status.success(), "{status}\n{log}");
            log
        })
        .await
    }

    /// SIGTERM, and wait until the process has ended.
    pub(crate) async fn terminate(self) -> String {
        self.ask_to_stop();
        self.ended().await
    }

    /// Everything that it has written so far.
    pub(crate) fn log(&self) -> String {
        self.log.text()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Posts to a Signer as a merchant's billing scheduler does.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) secret: String,
    pub(crate) client: reqwest::Client,
    /// Where batches of its chains' family go.
    pub(crate) path: &'static str,
}

/// What was sent in which second, by anybody to anybody.
static SENT: LazyLock<Mutex<HashSet<SentBytes>>> = LazyLock::new(Mutex::default);

/// When, where to, and what.
type SentBytes = (u64, String, Vec<u8>);

impl Scheduler {
    /// Posts a batch on the path of the family.
    pub(crate) async fn bill(&self, body: &Value) -> Heard {
        self.try_bill(body).await.expect("the Signer answers")
    }

    /// The same where a node may be too busy to answer in time: posted again for as long as the Signer says so.
    pub(crate) async fn insist(&self, body: &Value) -> Heard {
        let began = Instant::now();
        loop {
            let heard = self.bill(body).await;
            if heard.status != 503 || began.elapsed() > PATIENCE {
                return heard;
            }
        }
    }

    /// Posts a batch; none when the connection broke.
    pub(crate) async fn try_bill(&self, body: &Value) -> Option<Heard> {
        self.post(self.path, body.to_string().as_bytes()).await
    }

    pub(crate) async fn post(&self, path: &str, body: &[u8]) -> Option<Heard> {
        self.send("POST", path, body, unix_seconds()).await
    }

    /// What became of a billing, by hash or request id.
    pub(crate) async fn billings(&self, id: &str) -> Heard {
        let path = format!("/PayTool/billings/{id}");
        self.send("GET", &path, b"", unix_seconds()).await.expect("the Signer answers")
    }

    /// As somebody who may control: ends every pause that there is.
    pub(crate) async fn resume(&self) -> Heard {
        let shown = self.send("GET", "/PayTool/control", b"", unix_seconds()).await.unwrap();
        let chains = shown.body["data"].as_array().unwrap().iter();
        let pauses: serde_json::Map<String, Value> = chains
            .filter(|chain| !chain["pausedSince"].is_null())
            .map(|chain| (chain["chainId"].to_string(), chain["pausedSince"].clone()))
            .collect();
        let body = serde_json::json!({"pauses": pauses}).to_string();
        self.post("/PayTool/control/resume", body.as_bytes()).await.expect("the Signer answers")
    }

    /// Signs and sends a request. One that was sent in the same second already, byte for byte, would
    /// hear the same answer again: blanks behind the body, or the next second, make it another.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        at: u64,
    ) -> Option<Heard> {
        let (mut at, mut body) = (at, body.to_vec());
        while method == "POST" && !SENT.lock().insert((at, path.to_owned(), body.clone())) {
            if body.is_empty() {
                tokio::time::sleep(Duration::from_millis(100)).await;
                at = at.max(unix_seconds());
            } else {
                body.push(b' ');
            }
        }
        hear(self.letter(method, path, &body, at)).await
    }

    /// A signed request, which can be sent as often as one likes.
    pub(crate) fn letter(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        at: u64,
    ) -> reqwest::RequestBuilder {
        SENT.lock().insert((at, path.to_owned(), body.to_vec()));
        let at = at.to_string();
        let signable = Signable { timestamp: &at, method, path_and_query: path, body };
        let signature = sign(&SecretString::from(self.secret.clone()), &signable);
        self.client
            .request(method.parse().unwrap(), format!("{}{path}", self.url))
            .header(KEY_HEADER, &self.key)
            .header(TIMESTAMP_HEADER, &at)
            .header(SIGN_HEADER, signature)
            .body(body.to_vec())
    }

    /// Asks a path that needs no signature.
    pub(crate) async fn get(&self, path: &str) -> Heard {
        hear(self.client.get(format!("{}{path}", self.url))).await.expect("the Signer answers")
    }
}

#[expect(clippy::disallowed_methods, reason = "a caller has a clock of its own")]
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
