//! Limits of a process that hold until it ends: its memory is closed to its neighbours, and system calls that it never
//! needs are refused.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use thiserror::Error;

/// Protection that the operating system refused. A process that holds keys should not go on.
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

/// Refuses every thread of this process to run a program, for good. Otherwise tells what is missing.
#[cfg(target_os = "linux")]
pub fn refuse_programs() -> Result<(), String> {
    let refused = CallFilter::refusing(&[libc::SYS_execve, libc::SYS_execveat]);
    refused.and_then(CallFilter::limit_process).map_err(|why| format!("seccomp: {why}"))
}

/// Tells that there is nothing of the kind here.
#[cfg(not(target_os = "linux"))]
pub fn refuse_programs() -> Result<(), String> {
    Err("this is not Linux".to_owned())
}

#[cfg(target_os = "linux")]
pub use calls::CallFilter;

#[cfg(target_os = "linux")]
mod calls {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter, apply_filter_all_threads,
    };
    use std::collections::BTreeMap;
    use std::error::Error;

    /// The system calls that a process may make. A refused call fails with "not permitted" and harms nobody: a
    /// library that asks for something new does not end a process.
    #[derive(Debug)]
    pub struct CallFilter {
        listed: BTreeMap<i64, Vec<SeccompRule>>,
        /// Outcome of a listed call.
        listed_are: SeccompAction,
        /// Outcome of any other call.
        others_are: SeccompAction,
    }

    impl CallFilter {
        /// Refuses all calls but those that are listed.
        pub fn allowing(calls: &[i64]) -> Result<Self, Box<dyn Error>> {
            Ok(Self::of(calls, SeccompAction::Allow, refused()?))
        }

        /// Refuses the calls that are listed.
        pub fn refusing(calls: &[i64]) -> Result<Self, Box<dyn Error>> {
            Ok(Self::of(calls, refused()?, SeccompAction::Allow))
        }

        fn of(calls: &[i64], listed_are: SeccompAction, others_are: SeccompAction) -> Self {
            let listed = calls.iter().map(|call| (*call, vec![])).collect();
            Self { listed, listed_are, others_are }
        }

        /// Lists a call that changes memory, if the bits in `mask` of the protection that it asks for are `bits`.
        pub fn and_memory(
            mut self,
            call: i64,
            mask: u64,
            bits: u64,
        ) -> Result<Self, Box<dyn Error>> {
            let (dword, masked) = (SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask));
            let protection = SeccompCondition::new(2, dword, masked, bits)?;
            self.listed.insert(call, vec![SeccompRule::new(vec![protection])?]);
            Ok(self)
        }

        /// Limits this thread, and those that it starts.
        pub fn limit_thread(self) -> Result<(), Box<dyn Error>> {
            Ok(apply_filter(&self.program()?)?)
        }

        /// Limits every thread of the process.
        pub fn limit_process(self) -> Result<(), Box<dyn Error>> {
            Ok(apply_filter_all_threads(&self.program()?)?)
        }

        fn program(self) -> Result<BpfProgram, Box<dyn Error>> {
            let here = std::env::consts::ARCH.try_into()?;
            let filter = SeccompFilter::new(self.listed, self.others_are, self.listed_are, here)?;
            Ok(filter.try_into()?)
        }
    }

    fn refused() -> Result<SeccompAction, Box<dyn Error>> {
        Ok(SeccompAction::Errno(u32::try_from(libc::EPERM)?))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_hardened_process_leaves_no_core_and_no_debugger() {
        // It cannot be undone, and other tests read /proc/self/mem.
        crate::testing::run_alone("confinement::tests::hardened", |_| {}).unwrap();
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

    #[test]
    fn no_thread_runs_a_program_once_programs_are_refused() {
        // It cannot be undone.
        crate::testing::run_alone("confinement::tests::without_programs", |_| {}).unwrap();
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn without_programs() {
        use std::io::ErrorKind;
        use std::process::Command;
        use std::sync::mpsc;
        let run = |program: &str| Command::new(program).arg("--help").output().map(drop);
        run("/proc/self/exe").unwrap();
        let ((tell, told), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let other = std::thread::spawn(move || {
            begin.send(()).unwrap();
            told.recv().unwrap();
            run("/proc/self/exe").unwrap_err().kind()
        });
        begun.recv().unwrap();
        refuse_programs().unwrap();
        tell.send(()).unwrap();
        assert_eq!(other.join().unwrap(), ErrorKind::PermissionDenied, "a thread from before");
        let run = |program: &str| Command::new(program).spawn().map(drop).unwrap_err().kind();
        assert_eq!(run("/bin/true"), ErrorKind::PermissionDenied);
        assert_eq!(run("/proc/self/exe"), ErrorKind::PermissionDenied);
    }
}
