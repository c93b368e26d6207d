//! The server that tests/postgres.sh starts, and what may befall it.

use super::signer::database::{Database, variable};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(crate) struct Postmaster {
    data: PathBuf,
}

impl Postmaster {
    /// The one that is there.
    pub(crate) fn given() -> Self {
        let given = variable("SIGNER_TEST_POSTGRES").expect("run by tests/postgres.sh");
        let home = given.split(' ').find_map(|word| word.strip_prefix("host="));
        Self { data: Path::new(home.unwrap()).join("data") }
    }

    /// Ends every connection, and starts anew.
    pub(crate) fn restart(&self) {
        self.control(&["restart", "--mode", "fast"]);
    }

    /// Kills the process that serves a session of this kind (SIGKILL): all others end with it, and what is on the
    /// disk is recovered. Between a COMMIT and its answer, as it happens.
    pub(crate) fn kill_backend(database: &Database, used_for: &str) {
        let sql = format!(
            "SELECT a.pid FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'advisory'
             WHERE l.granted AND application_name LIKE 'merchant-signer {used_for} %'"
        );
        for pid in database.run(&sql) {
            kill(pid.parse().unwrap());
        }
        is_back(database);
    }

    /// Kills the whole server (SIGKILL), and starts it.
    pub(crate) fn kill(&self, database: &Database) {
        let told = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap();
        kill(told.lines().next().unwrap().parse().unwrap());
        self.control(&["restart", "--mode", "immediate"]);
        is_back(database);
    }

    /// Its own processes end a moment after one that was killed.
    fn control(&self, words: &[&str]) {
        let programs = variable("SIGNER_TEST_POSTGRES_PROGRAMS").expect("run by tests/postgres.sh");
        let program = Path::new(&programs).join("pg_ctl");
        for _ in 0..40 {
            let mut command = if geteuid().is_root() {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(&program);
                command
            } else {
                Command::new(&program)
            };
            let log = self.data.join("log");
            command.args(words).arg("--pgdata").arg(&self.data).arg("--log").arg(log);
            command.args(["--wait", "--silent"]).current_dir(&self.data);
            if command.status().unwrap().success() {
                return;
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        panic!("the server does not start");
    }
}

/// However long it takes to read its log again on a disk that others are busy with.
fn is_back(database: &Database) {
    for _ in 0..1_200 {
        if database.try_run("SELECT 1").is_some() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the server does not come back");
}

fn kill(process: i32) {
    // It may have ended by itself.
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).ok();
}
