//! Closes the process to its neighbours: no core file, no debugger, no new privileges.
//!
//! Best called first thing in `main`; says nothing about what happens before it.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use thiserror::Error;

/// Which protection the operating system refused. A process that holds keys should not go on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HardenError {
    /// A crash could still write a core file.
    #[error("cannot switch core files off (RLIMIT_CORE): {0}")]
    CoreFile(Errno),
    /// A process of the same user could still read this one's memory.
    #[error("cannot close the process's memory to others (PR_SET_DUMPABLE): {0}")]
    Dumpable(Errno),
    /// A child could still gain privileges through a set-uid file.
    #[error("cannot give up new privileges (PR_SET_NO_NEW_PRIVS): {0}")]
    NewPrivileges(Errno),
}

/// No core file, no ptrace and no `/proc/<pid>/mem` for the same user, no privileges through
/// set-uid files. Cannot be undone.
///
/// Call it before the runtime starts and before any key is read: the last of the three holds for
/// the calling thread and the threads that it starts later. Linux has all three; elsewhere only
/// core files are switched off.
pub fn harden_process() -> Result<(), HardenError> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).map_err(HardenError::CoreFile)?;
    harden_linux()
}

#[cfg(target_os = "linux")]
fn harden_linux() -> Result<(), HardenError> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(HardenError::Dumpable)?;
    rustix::thread::set_no_new_privs(true).map_err(HardenError::NewPrivileges)
}

#[cfg(not(target_os = "linux"))]
fn harden_linux() -> Result<(), HardenError> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_hardened_process_leaves_no_core_and_no_debugger() {
        // in a process of its own: it cannot be undone, and other tests read /proc/self/mem
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "process::tests::hardened"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn hardened() {
        harden_process().unwrap();
        let core = rustix::process::getrlimit(Resource::Core);
        assert_eq!((core.current, core.maximum), (Some(0), Some(0)));
        let dumpable = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(dumpable, rustix::process::DumpableBehavior::NotDumpable);
        assert!(rustix::thread::no_new_privs().unwrap());
        std::thread::spawn(|| assert!(rustix::thread::no_new_privs().unwrap())).join().unwrap();
    }
}
