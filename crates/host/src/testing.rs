//! Tests that change their process for good, each in a process of its own.

use std::env::current_exe;
use std::process::Command;

/// Runs an ignored test of this test program alone, in a process that `prepare` may prepare. Otherwise tells the
/// output.
pub fn run_alone(test: &str, prepare: impl FnOnce(&mut Command)) -> Result<(), String> {
    let program = current_exe().map_err(|why| why.to_string())?;
    let mut command = Command::new(program);
    command.args(["--ignored", "--exact", test, "--test-threads=1"]);
    prepare(&mut command);
    let ended = command.output().map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let passed = ended.status.success() && said.contains("1 passed");
    if passed { Ok(()) } else { Err(said.into_owned()) }
}
