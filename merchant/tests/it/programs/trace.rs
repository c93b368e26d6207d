//! The order of system calls: the disk has it before the platform hears `success`.

use super::inbox::{command, event, send};
use super::process::{SECRET, start_inbox};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The inbox, with strace beside it: whoever kills it kills no tracer that leaves it behind.
fn traced(folder: &Path, trace: &Path) -> Command {
    let plain = command(folder, "http://127.0.0.1:9");
    let mut strace = Command::new("strace");
    strace.args([
        "-D",
        "-f",
        "-y",
        "-s",
        "400",
        "-e",
        "trace=fsync,fdatasync,sendto,write,writev,recvfrom,read",
    ]);
    strace.arg("-o").arg(trace).arg(plain.get_program()).args(plain.get_args());
    strace.current_dir(folder).stdout(std::process::Stdio::piped());
    for (name, value) in plain.get_envs() {
        strace.env(name, value.unwrap_or_default());
    }
    strace
}

#[tokio::test(flavor = "multi_thread")]
async fn no_success_before_the_disk_has_it() {
    let installed = Command::new("strace").arg("-V").output().is_ok();
    assert!(installed, "this test reads system calls: apt-get install strace");
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let inbox = start_inbox(traced(folder.path(), &trace));
    for order in ["one", "two", "three"] {
        let body = event("SubscriptionApprove", order, "0xab");
        assert_eq!(send(&inbox.callbacks, &body, SECRET, 0).await.0, 200);
    }
    inbox.program.kill();
    let text = whole(&trace).await;
    let (mut asked, mut synced, mut answered) = (false, false, 0);
    for line in text.lines() {
        if line.contains("POST /callbacks") {
            (asked, synced) = (true, false);
        } else if is_sync(line) {
            synced = true;
        } else if line.contains("HTTP/1.1 200") && line.contains("success") {
            assert!(asked && synced, "answered before the disk had it:\n{text}");
            (asked, synced, answered) = (false, false, answered + 1);
        }
    }
    assert_eq!(answered, 3, "the trace shows every answer:\n{text}");
}

/// The trace, when strace has written its end.
async fn whole(trace: &Path) -> String {
    for _ in 0..600 {
        let text = std::fs::read_to_string(trace).unwrap();
        if text.contains("+++ killed by SIGKILL +++") {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("strace does not end");
}

/// A sync of the store's log that has succeeded; strace tells of it in two lines when another thread
/// speaks meanwhile.
fn is_sync(line: &str) -> bool {
    let log = line.contains("sync(") && line.contains("inbox.db-wal");
    (log || line.contains("sync resumed>")) && line.ends_with("= 0")
}
