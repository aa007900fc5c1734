//! What a pack finds in a sandbox, and which ways out are closed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Pack, Who, everybody, open_directory};

/// How each attempt is refused. System calls that the filter does not list are not permitted, whatever they would do.
const REFUSED: &[(&str, &str)] = &[
    ("write to the root", "ReadOnlyFilesystem"),
    ("write to the package", "ReadOnlyFilesystem"),
    ("write to a library's directory", "ReadOnlyFilesystem"),
    (
        "replace the runtime",
        "ReadOnlyFilesystem|PermissionDenied|ExecutableFileBusy",
    ),
    ("make the package writable", "PermissionDenied"),
    ("run what it wrote", "PermissionDenied"),
    ("run what it shares", "PermissionDenied"),
    ("read the machine's users", "NotFound"),
    ("read root's files", "NotFound"),
    ("read users' files", "NotFound"),
    ("read the machine's state", "NotFound"),
    ("read this test's files", "NotFound"),
    ("look through process 1's root", "NotFound"),
    ("look through a link", "NotFound"),
    ("become root", "InvalidInput"),
    ("join root's group", "InvalidInput"),
    ("join groups", "PermissionDenied"),
    ("take a capability", "PermissionDenied"),
    ("mount a file system", "PermissionDenied"),
    ("mount by the newer calls", "PermissionDenied"),
    ("copy a mount", "PermissionDenied"),
    ("unmount", "PermissionDenied"),
    ("change the root", "PermissionDenied"),
    ("make a device", "PermissionDenied"),
    ("make a user name space", "PermissionDenied"),
    ("make a mount name space", "PermissionDenied"),
    ("begin in a user name space", "PermissionDenied"),
    ("begin in any other way", "Unsupported"),
    ("enter a name space", "PermissionDenied"),
    ("trace a process", "PermissionDenied"),
    ("read a process's memory", "PermissionDenied"),
    ("take a descriptor of another", "PermissionDenied"),
    ("see other processes", "NotFound"),
    ("open a raw socket", "PermissionDenied"),
    ("open a packet socket", "PermissionDenied"),
    ("open a socket to the hypervisor", "PermissionDenied"),
    ("ask the kernel's crypto", "PermissionDenied"),
    ("pair sockets to the hypervisor", "PermissionDenied"),
    ("ask the kernel's firewall", "PermissionDenied"),
    ("change a network card", "PermissionDenied"),
    ("type on a terminal", "PermissionDenied"),
    ("reach the machine's ports", "ConnectionRefused"),
    ("reach the internet", "NetworkUnreachable"),
    ("reach the machine's abstract sockets", "ConnectionRefused"),
    ("reach docker", "NotFound"),
    ("find shared memory of the machine", "NotFound"),
    ("find a disk", "NotFound"),
    ("name the host", "PermissionDenied"),
    ("set the clock", "PermissionDenied"),
    ("load a module", "PermissionDenied"),
    ("load a program into the kernel", "PermissionDenied"),
    ("watch the machine's counters", "PermissionDenied"),
    ("handle page faults", "PermissionDenied"),
    ("use a ring of the kernel's", "PermissionDenied"),
    ("take places for input and output", "PermissionDenied"),
    ("have disks written", "PermissionDenied"),
    ("have a disk written", "PermissionDenied"),
    ("make others wait for a file", "PermissionDenied"),
    (
        "have the kernel watch for pressure",
        "ReadOnlyFilesystem|NotFound",
    ),
    ("keep a key", "PermissionDenied"),
    ("restart the machine", "PermissionDenied"),
    ("read the kernel's log", "PermissionDenied"),
    (
        "change the kernel's settings",
        "ReadOnlyFilesystem|PermissionDenied",
    ),
    (
        "order the kernel about",
        "ReadOnlyFilesystem|PermissionDenied|NotFound",
    ),
    ("read the kernel's memory", "PermissionDenied|NotFound"),
    ("raise its limit of descriptors", "PermissionDenied"),
    (
        "raise its limit of memory",
        "ReadOnlyFilesystem|PermissionDenied|NotFound",
    ),
    ("be spared when memory ends", "PermissionDenied"),
    ("have crashes handled by the machine", "PermissionDenied"),
];

#[test]
fn every_way_out_is_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap();
    let name = format!("burst-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract_listener = UnixListener::bind_addr(&address).unwrap();
    let hidden = open_directory();
    let hidden = hidden.path().join("file");
    fs::write(&hidden, "of the machine").unwrap();
    let shared = SharedMemory::new();
    for who in everybody() {
        let pack = Pack::new(who)
            .variable("PORT", port)
            .variable("ABSTRACT", &name)
            .variable("HIDDEN", hidden.display())
            .variable("SHARED", shared.key);
        let met: Value = serde_json::from_str(&pack.told("attempts")).unwrap();
        let met = met.as_object().unwrap();
        let known: BTreeSet<&str> = REFUSED.iter().map(|(attempt, _)| *attempt).collect();
        let made: BTreeSet<&str> = met.keys().map(String::as_str).collect();
        assert_eq!(made, known);
        let wrong: Vec<_> = (REFUSED.iter())
            .map(|(attempt, refused)| (attempt, &met[*attempt], refused))
            .filter(|(_, met, refused)| {
                met.as_str()
                    .is_none_or(|met| refused.split('|').all(|kind| kind != met))
            })
            .collect();
        assert!(
            wrong.is_empty(),
            "{who:?}: attempt, met, expected: {wrong:#?}"
        );
        pack.assert_gone();
    }
}

#[test]
fn landlock_is_used_if_the_kernel_has_it() {
    // SAFETY: asks for the version, for which the kernel ignores the other arguments.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0, 0, 1) };
    let left = if version > 0 { "15" } else { "0" };
    for who in everybody() {
        let pack = Pack::new(who);
        assert_eq!(pack.told("rulesets"), left, "version {version}");
    }
}

#[test]
fn a_pack_finds_only_what_it_needs() {
    for who in everybody() {
        let pack = Pack::new(who).variable("GIVEN", "given");
        // Left open by mistake in the process that starts shims.
        let open = File::open("/etc/passwd").unwrap();
        let number = open.as_raw_fd();
        let mut shim = pack.launch_by("facts", |command| {
            // SAFETY: makes one system call with plain integers.
            unsafe {
                command.pre_exec(move || match libc::dup2(number, 20) {
                    20 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                })
            };
            if who == Who::Root {
                may_be_urgent(command);
            }
        });
        let line = shim.line();
        assert!(line.starts_with("listening on"), "{line}");
        let found: Value = serde_json::from_str(&shim.line()).unwrap();
        assert_eq!(shim.end().code, 0);
        check(&found, who);
        pack.assert_gone();
    }
}

/// Allows real-time priority, as users of sound cards often have it: with it a pack could stall the whole machine.
fn may_be_urgent(command: &mut Command) {
    let most = libc::rlimit {
        rlim_cur: 10,
        rlim_max: 10,
    };
    // SAFETY: makes one system call each, with a structure that the closure owns.
    unsafe {
        command.pre_exec(move || {
            for resource in [libc::RLIMIT_RTPRIO, libc::RLIMIT_NICE] {
                // Not every root is allowed to.
                libc::setrlimit(resource, &most);
            }
            Ok(())
        })
    };
}

fn check(found: &Value, who: Who) {
    let scratch = [
        "--scratch",
        "/tmp",
        "--scratch",
        "/dev/shm",
        "--listen-fd",
        "3",
    ];
    assert_eq!(found["options"], json!(scratch));
    assert_eq!(
        (&found["pid"], &found["processes"]),
        (&json!(1), &json!(["1"]))
    );
    assert_eq!((&found["uid"], &found["gid"]), (&json!(1000), &json!(1000)));
    let status = &found["status"];
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status[set], "0000000000000000", "{set}");
    }
    assert_eq!(
        (&status["NoNewPrivs"], &status["Seccomp"]),
        (&json!("1"), &json!("2"))
    );
    let groups = status["Groups"].as_str().unwrap();
    assert!(who == Who::Ordinary(None) || groups.is_empty(), "{groups}");

    let descriptors = found["descriptors"].as_object().unwrap();
    assert_eq!(
        descriptors.keys().collect::<Vec<_>>(),
        ["0", "1", "2", "3"],
        "{descriptors:?}"
    );
    let root: BTreeSet<&str> = strings(&found["root"]).collect();
    let known = BTreeSet::from([
        "dev", "etc", "lib", "lib32", "lib64", "libx32", "package", "proc", "run", "sys", "tmp",
        "usr",
    ]);
    assert!(root.is_subset(&known), "{root:?}");
    for private in ["shadow", "ssh", "sudoers", "machine-id"] {
        assert!(
            !strings(&found["etc"]).any(|name| name == private),
            "{private}"
        );
    }
    let devices = [
        "fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero",
    ];
    assert_eq!(found["dev"], json!(devices));
    assert!(
        strings(&found["sys"]).all(|name| name == "fs"),
        "{}",
        found["sys"]
    );
    assert_eq!(found["package"], json!(["exec"]));
    assert_eq!(
        found["writable"],
        json!(["/dev/shm", "/proc", "/tmp"]),
        "{who:?}"
    );

    assert_eq!(
        (&found["cards"], &found["loopback"]),
        (&json!(["lo"]), &json!(true))
    );
    assert_eq!(
        (&found["host"], &found["variable"]),
        (&json!("pack"), &json!("given"))
    );
    assert_eq!((&found["core"], &found["files"]), (&json!(1), &json!(100)));
    let spaces = found["namespaces"].as_object().unwrap();
    for space in ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"] {
        let ours = fs::read_link(format!("/proc/self/ns/{space}")).unwrap();
        assert_ne!(spaces[space], json!(ours), "{space}");
    }
    if let Some(memory) = found["memory"].as_str() {
        assert_eq!(found["members"], "1\n");
        assert_eq!(memory.trim(), (64u64 << 20).to_string());
        assert!(found["processors"].as_u64().unwrap() <= 2);
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[test]
fn a_custom_root_is_shown_as_it_is_and_stays_unchanged() {
    for who in everybody() {
        let root = open_directory();
        // As on this machine, whose directories a pack's own root would use.
        for link in ["lib", "lib64"] {
            std::os::unix::fs::symlink(format!("usr/{link}"), root.path().join(link)).unwrap();
        }
        for directory in ["usr", "home", "tmp/theirs", "proc/theirs"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        fs::write(root.path().join("file"), "").unwrap();
        // Without libraries the runtime cannot be executed.
        let pack = Pack::new(who).with("root", root.path().to_str().unwrap());
        let ended = pack.launch("facts").wait();
        assert_eq!(ended.code, 125, "{ended:?}");
        assert!(
            ended
                .errors
                .contains("the kernel refuses to start the runtime"),
            "{ended:?}"
        );
        pack.assert_gone();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 7);
        assert_eq!(fs::read_dir(root.path().join("proc")).unwrap().count(), 1);

        let pack = Pack::new(who).with("root", "/");
        let found: Value = serde_json::from_str(&pack.told("facts")).unwrap();
        assert_eq!(found["writable"], json!(["/dev/shm", "/proc", "/tmp"]));
        assert!(strings(&found["root"]).any(|name| name == "usr"));
        assert_eq!(found["package"], json!(["exec"]));
        pack.assert_gone();
    }
}

#[test]
fn interpreters_are_visible_if_requested() {
    let path = std::env::var_os("PATH").unwrap();
    let python = std::env::split_paths(&path)
        .filter_map(|directory| directory.join("python3").canonicalize().ok())
        .find(|binary| fs::read(binary).unwrap().starts_with(b"\x7fELF"));
    assert!(python.is_some(), "python3 is missing: run `make prepare`");
    let list = format!("list {}", python.unwrap().parent().unwrap().display());
    for who in everybody() {
        let without = Pack::new(who);
        assert_eq!(without.told(&list), "Err(NotFound)", "{who:?}");
        without.assert_gone();
        let with = Pack::new(who).with("interpreters", true);
        assert_eq!(with.told(&list), "Ok(())", "{who:?}");
        with.assert_gone();
    }
}

/// As mounts of /tmp and /home often have: only the user who has mounted them may clear these flags.
#[test]
fn a_package_stays_read_only_where_its_mount_has_flags_of_its_own() {
    for who in everybody().into_iter().filter(|who| *who != Who::Root) {
        let pack = Pack::new(who);
        let package = pack.package.path().display();
        let mount = format!("mount -t tmpfs -o nosuid,nodev,noexec,mode=777 own {package}");
        let mut shim = pack.launch_where(&mount, "fill /package");
        assert!(shim.line().starts_with("listening on"));
        let ended = shim.wait();
        assert_eq!(ended.code, 1);
        assert!(ended.errors.contains("Read-only file system"), "{ended:?}");
        pack.assert_gone();
    }
}

/// Shared memory of the machine, under a key.
struct SharedMemory {
    key: i32,
    id: i32,
}

impl SharedMemory {
    fn new() -> Self {
        let key = 0x4200_0000 + (std::process::id() as i32 & 0xFF_FFFF);
        // SAFETY: takes plain integers.
        let id = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) };
        assert!(id >= 0);
        Self { key, id }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: takes this test's own id, and no place to write to.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
