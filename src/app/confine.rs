//! Takes from the Signer what it never needs, before it has a second thread: files that it writes are beneath its
//! journal, it listens on its own ports, and makes none of the system calls by which one process gets at another or at
//! the machine. Until the process that holds the keys is started it runs this program and, through the loader, any file
//! that the loader takes; afterwards it runs none (`keys::SplitKeys`).
//!
//! Reading stays as the modes of files have it: the files that the configuration names may be anywhere. The needs of a
//! PKCS#11 library are not known, so with such a library nothing is taken.

use config::Config;

/// Confines this thread and all that it starts. Tells what this machine does not give.
#[cfg(target_os = "linux")]
pub fn confine(config: &Config) -> Vec<String> {
    if config.keys.pkcs11.is_some() {
        return vec!["what the library of keys.pkcs11 needs is not known".to_owned()];
    }
    linux::confine(config)
}

/// Tells that there is nothing of the kind here.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &Config) -> Vec<String> {
    vec!["this is not Linux".to_owned()]
}

#[cfg(target_os = "linux")]
mod linux {
    use config::{Config, JournalPlace};
    use host::confinement::CallFilter;
    use landlock::{
        ABI, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _,
        RulesetError, RulesetStatus, path_beneath_rules,
    };
    use std::error::Error;
    use std::path::{Path, PathBuf};

    /// The newest rights of Landlock that are asked for; an older kernel gives those that it has.
    const NEWEST: ABI = ABI::V4;

    /// Paths of the programs that may be run: this one, and its loader, which runs whatever file it is told to.
    const PROGRAMS: [&str; 5] = ["/proc/self/exe", "/lib", "/lib64", "/usr/lib", "/usr/lib64"];

    /// Paths written to beside the Signer's own files. `SQLite` sorts in the second and third.
    const OTHERS: [&str; 3] = ["/dev/null", "/tmp", "/var/tmp"];

    /// Other processes' memory and descriptors, the kernel's programs and keys, mounts, users, clocks.
    const NEVER: [i64; 49] = [
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_open_by_handle_at,
        libc::SYS_fanotify_init,
        libc::SYS_quotactl,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_syslog,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setgroups,
        libc::SYS_capset,
    ];

    pub(super) fn confine(config: &Config) -> Vec<String> {
        let files = match limit_files(config) {
            Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => None,
            Ok(RulesetStatus::NotEnforced) => {
                Some("this kernel has no Landlock, or does not use it".to_owned())
            }
            Err(why) => Some(format!("Landlock: {why}")),
        };
        let calls = limit_calls(config);
        let calls = calls.err().map(|why| format!("seccomp: {why}"));
        files.into_iter().chain(calls).collect()
    }

    fn limit_files(config: &Config) -> Result<RulesetStatus, RulesetError> {
        let writes = AccessFs::from_write(NEWEST);
        let ports = [Some(config.http.listen), config.http.health_listen];
        let ports =
            ports.into_iter().flatten().map(|at| NetPort::new(at.port(), AccessNet::BindTcp));
        let rules = Ruleset::default()
            .handle_access(writes | AccessFs::Execute)?
            .handle_access(AccessNet::BindTcp)?
            .create()?
            .add_rules(path_beneath_rules(written(config), writes))?
            .add_rules(path_beneath_rules(OTHERS, writes))?
            .add_rules(path_beneath_rules(PROGRAMS, AccessFs::Execute))?
            .add_rules(ports.map(Ok::<_, RulesetError>))?;
        Ok(rules.restrict_self()?.ruleset)
    }

    /// The directories of the files that it writes.
    fn written(config: &Config) -> Vec<PathBuf> {
        let (mark, backups) = match &config.journal {
            JournalPlace::File(file) => {
                let backups = file.backups.as_ref().map(|plan| plan.directory.clone());
                (file.mark_path.clone(), backups)
            }
            JournalPlace::Server(_) => (None, None),
        };
        // A disk mounted on the directory of backups later is beneath that directory's parent.
        let ceiling = config.keys.socket.is_none().then(|| config.keys.ceiling_file.clone());
        let all = [Some(config.journal.beside("")), mark, backups, ceiling];
        all.into_iter().flatten().map(|file| directory(&file)).collect()
    }

    fn directory(file: &Path) -> PathBuf {
        match file.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            Some(_) | None => PathBuf::from("."),
        }
    }

    fn limit_calls(config: &Config) -> Result<(), Box<dyn Error>> {
        let (write, exec) = (u64::try_from(libc::PROT_WRITE)?, u64::try_from(libc::PROT_EXEC)?);
        let starts_programs = config.splits_keys() && config.keys.socket.is_none();
        let mut never = NEVER.to_vec();
        if !starts_programs {
            never.extend([libc::SYS_execve, libc::SYS_execveat]);
        }
        // Memory is never to be written and run at once, nor run after it was made without. A file that was written may
        // still be mapped to be run: libraries of the system's are loaded so.
        CallFilter::refusing(&never)?
            .and_memory(libc::SYS_mmap, write | exec, write | exec)?
            .and_memory(libc::SYS_mprotect, exec, exec)?
            .and_memory(libc::SYS_pkey_mprotect, exec, exec)?
            .limit_thread()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::io::ErrorKind;
    use std::net::TcpListener;
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn a_signer_that_is_confined_writes_beneath_its_journal_listens_where_it_should_and_runs_nothing()
     {
        // It cannot be undone.
        host::testing::run_alone("app::confine::tests::confined", |_| {}).unwrap();
    }

    #[test]
    #[ignore = "run by the test above, in a process of its own"]
    fn confined() {
        // Beneath the sources: what is in the directories of temporary files may be written.
        let room = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (own, other) = (room.path().join("own"), room.path().join("other"));
        for directory in [&own, &other] {
            fs::create_dir(directory).unwrap();
        }
        let text = format!(
            "http.listen = \"127.0.0.1:0\"\nallow_unauthenticated = true\n\
             journal.path = \"{}/journal.sqlite\"\n[chains.139]\nname = \"a\"\ntest = true\n\
             family = \"evm\"\nkey = \"file:/nowhere\"\neip155_id = 31337\n\
             rpc = \"http://127.0.0.1:8545\"\n\
             contract = \"0x5FbDB2315678afecb367f032d93F642f64180aa3\"\n\
             fees = {{ max_fee_per_gas = \"100 gwei\", max_priority_fee_per_gas = \"1 gwei\", \
             max_tx_cost = \"1 ether\" }}\n\
             billing.call = \"charge(uint64 planId, bytes32 userHash, uint128 amount)\"\n",
            own.display()
        );
        let config = Config::from_toml(&text, &[]).unwrap_or_else(|why| panic!("{why}"));
        host::confinement::harden_process().unwrap();
        let lacks = confine(&config);
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
        if lacks.iter().any(|lack| lack.contains("Landlock")) {
            return; // this kernel has none
        }
        assert_eq!(lacks, [""; 0]);
        let denied = |kind: ErrorKind| assert_eq!(kind, ErrorKind::PermissionDenied);
        fs::write(own.join("journal.sqlite"), "x").unwrap();
        fs::rename(own.join("journal.sqlite"), own.join("moved")).unwrap();
        fs::remove_file(own.join("moved")).unwrap();
        denied(fs::write(other.join("journal.sqlite"), "x").unwrap_err().kind());
        denied(fs::remove_dir(&other).unwrap_err().kind());
        assert!(fs::read_dir(&other).is_ok(), "reading is as ever");
        drop(TcpListener::bind("127.0.0.1:0").unwrap());
        denied(TcpListener::bind("127.0.0.1:17").unwrap_err().kind());
        assert!(std::thread::spawn(|| Command::new("/bin/true").spawn().is_err()).join().unwrap());
        let again = Command::new(Path::new("/proc/self/exe")).arg("--list").output().unwrap();
        assert!(again.status.success(), "this program may be run again: it holds the keys");
    }
}
