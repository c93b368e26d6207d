//! Takes from a process that holds keys whatever it does not need to sign: no file, no network, no other
//! process, for all of its threads and for good.
//!
//! There is no call left that takes a path or makes a socket, so nothing of files or
//! networks is left for another mechanism (Landlock, namespaces) to forbid.

/// Locks the process down. Otherwise tells what is missing.
#[cfg(target_os = "linux")]
pub fn lock_down() -> Result<(), String> {
    linux::lock_down().map_err(|why| format!("its system calls are not limited ({why})"))
}

/// Tells that there is nothing of the kind here.
#[cfg(not(target_os = "linux"))]
pub fn lock_down() -> Result<(), String> {
    Err("its system calls are not limited (this is not Linux)".to_owned())
}

#[cfg(target_os = "linux")]
mod linux {
    use host::confinement::CallFilter;
    use std::error::Error;

    /// The calls of threads that read and write open files, compute, and wait for each other.
    const NEEDED: [i64; 28] = [
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_sendto,
        libc::SYS_sendmsg,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_flock,
        libc::SYS_close,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_restart_syscall,
        libc::SYS_clock_gettime,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_munlock,
        libc::SYS_rt_sigreturn,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sigaltstack,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    /// Memory may be had, and nothing in it run.
    const WITHOUT_EXEC: [i64; 2] = [libc::SYS_mmap, libc::SYS_mprotect];

    pub(super) fn lock_down() -> Result<(), Box<dyn Error>> {
        let exec = u64::try_from(libc::PROT_EXEC)?;
        let mut calls = CallFilter::allowing(&NEEDED)?;
        for call in WITHOUT_EXEC {
            calls = calls.and_memory(call, exec, 0)?;
        }
        calls.limit_process()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::mpsc;

    #[test]
    fn a_process_that_is_locked_down_reads_no_file_reaches_nobody_and_starts_nothing() {
        // It cannot be undone.
        host::testing::run_alone("lockdown::tests::locked_down", |_| {}).unwrap();
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn locked_down() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        let mut file = File::open("/proc/self/status").unwrap();
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let ((tell, told), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        // A thread that was there before is as locked down as the one that asks for it.
        let other = std::thread::spawn(move || {
            begin.send(()).unwrap();
            told.recv().unwrap();
            File::open("/dev/null").map(drop).unwrap_err().kind()
        });
        begun.recv().unwrap();
        host::confinement::harden_process().unwrap();
        lock_down().unwrap();
        tell.send(()).unwrap();
        assert_eq!(other.join().unwrap(), ErrorKind::PermissionDenied);
        let denied = |what: Result<(), std::io::Error>| {
            assert_eq!(what.unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        denied(File::open("/dev/null").map(drop));
        denied(std::fs::write("/tmp/written-by-a-locked-process", "x"));
        denied(std::fs::read_dir("/").map(drop));
        denied(TcpStream::connect(there).map(drop));
        denied(listener.accept().map(drop));
        denied(UdpSocket::bind("127.0.0.1:0").map(drop));
        denied(UnixStream::pair().map(drop));
        denied(Command::new("/bin/true").spawn().map(drop));
        denied(std::thread::Builder::new().spawn(|| {}).map(drop));
        // Open files, memory and arithmetic are left.
        ours.write_all(b"here").unwrap();
        let mut heard = [0; 4];
        theirs.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"here");
        let mut status = String::new();
        file.read_to_string(&mut status).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
        assert!(vec![7_u8; 64 << 20].iter().all(|byte| *byte == 7), "memory is to be had");
    }
}
