//! The process is a service of its own: something else than the Signer starts it for each connection, as systemd
//! does, and it serves the owner of the socket alone.

use super::gave_up;
use super::holder::Holder;
use crate::world::anvil::Family;
use crate::world::signer::program;
use crate::world::town::Town;
use serde_json::json;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Starts a process for each connection to a socket.
struct Service {
    started: mpsc::Receiver<Child>,
}

impl Service {
    fn of(town: &Town, socket: &Path) -> Self {
        let listener = UnixListener::bind(socket).unwrap();
        let room = town.installation.path().to_owned();
        let environment = town.installation.environment();
        let (tell, started) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((connection, _)) = listener.accept() {
                let mut command = hold_keys(&room, connection);
                if tell.send(command.envs(environment.clone()).spawn().unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { started }
    }

    /// The next process that it has started.
    fn next(&self) -> Child {
        self.started.recv_timeout(Duration::from_secs(20)).expect("nobody connects")
    }
}

fn hold_keys(room: &Path, connection: UnixStream) -> Command {
    let mut command = Command::new(program());
    command.args(["--config", "signer.toml", "hold-keys"]).current_dir(room);
    command.stdin(OwnedFd::from(connection)).stdout(Stdio::null());
    command
}

async fn town() -> (Town, PathBuf) {
    let mut town = Town::on(Family::Evm).await;
    let socket = town.installation.path().join("keys.sock");
    let at = socket.to_str().unwrap();
    town.installation = town.installation.env("SIGNER__KEYS__SPLIT", "true");
    town.installation = town.installation.env("SIGNER__KEYS__SOCKET", at);
    town.installation =
        town.installation.env("SIGNER__CHAINS__139__POLICY__MAX_FEE_PER_DAY", "1 ether");
    (town, socket)
}

#[tokio::test]
async fn the_signer_asks_a_service_starts_none_and_ends_when_that_dies() {
    let (town, socket) = town().await;
    let service = Service::of(&town, &socket);
    let signer = town.signer().await;
    let mut first = service.next();
    assert!(Holder::all(&signer).is_empty(), "the Signer started one itself");
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0]))).await.code(), 1);
    town.quiet(&signer).await;
    signer.terminate().await;
    assert!(first.wait().unwrap().success(), "it ends with its connection");
    let signer = town.signer().await;
    let mut second = service.next();
    assert_eq!(signer.scheduler.bill(&json!(town.entries([1]))).await.code(), 1);
    town.quiet(&signer).await;
    second.kill().unwrap();
    second.wait().unwrap();
    gave_up(signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn what_was_signed_today_outlives_every_process_and_is_believed_only_whole() {
    let (town, socket) = town().await;
    let service = Service::of(&town, &socket);
    let signer = town.signer().await;
    assert!(signer.log().contains("what was signed today counts from zero"), "{}", signer.log());
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0]))).await.code(), 1);
    town.quiet(&signer).await;
    signer.terminate().await;
    assert!(service.next().wait().unwrap().success());
    let files = fs::read_dir(town.installation.path()).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let file = files.find(|file| file.extension().is_some_and(|end| end == "signed")).unwrap();
    let good = fs::read_to_string(&file).unwrap();
    assert!(good.contains("139 fee "), "{good}");
    fs::write(&file, good.replace("139 fee ", "140 fee ")).unwrap();
    let told = town.installation.try_start().await.map(drop).unwrap_err();
    assert!(told.contains("keys"), "{told}");
    assert!(!service.next().wait().unwrap().success());
    fs::write(&file, good).unwrap();
    let signer = town.signer().await;
    assert!(!signer.log().contains("counts from zero"), "{}", signer.log());
}

#[test]
fn whose_socket_it_is_not_is_told_nothing() {
    if !rustix::process::geteuid().is_root() {
        return; // nobody else can give a socket away
    }
    let room = tempfile::tempdir().unwrap();
    let socket = room.path().join("keys.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    chown(&socket, Some(65_534), None).unwrap();
    let _stranger = UnixStream::connect(&socket).unwrap();
    let output = hold_keys(room.path(), listener.accept().unwrap().0).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("user 0 asks for keys"), "{said}");
}
