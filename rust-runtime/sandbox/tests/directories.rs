//! The machine's directories that an operator gives to packs.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Pack, Shim, Who, everybody, give, open_directory};

/// Makes a directory with a file and a directory in it, both readable by everybody.
fn directory() -> TempDir {
    let directory = open_directory();
    fs::write(directory.path().join("file"), "of the machine").unwrap();
    fs::create_dir(directory.path().join("inner")).unwrap();
    directory
}

/// Lets the packs of `who` write to the directory. Packs of root have a user of their own, for whom the permissions of
/// others count.
fn open_to(who: Who, directory: &Path) {
    match who {
        Who::Root => fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap(),
        Who::Ordinary(_) => give(directory, who),
    }
}

fn mount(source: &Path, target: &str, read_only: bool) -> Value {
    json!({"source": source, "target": target, "readOnly": read_only})
}

/// Returns the results of a pack's attempts.
fn tried(pack: &Pack, attempts: &str) -> Value {
    let met = pack.told(&format!("try {attempts}"));
    pack.assert_gone();
    serde_json::from_str(&met).unwrap()
}

fn refused(pack: &Pack) -> String {
    let ended = pack.launch("try list:/").wait();
    assert_eq!((ended.code, ended.output.len()), (1, 0), "{}", ended.errors);
    assert_eq!(ended.errors.lines().count(), 1, "{}", ended.errors);
    pack.assert_gone();
    ended.errors
}

#[test]
fn a_read_only_directory_can_be_read_and_nothing_else() {
    for who in everybody() {
        let directory = directory();
        let program = directory.path().join("program");
        fs::write(&program, "#!/run/burst/burst-runtime\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        open_to(who, directory.path());
        let pack = Pack::new(who).with("mounts", json!([mount(directory.path(), "/data", true)]));
        let met = tried(
            &pack,
            "read:/data/file write:/data/new write:/data/file remove:/data/inner remount:/data write:/data/new \
             execute:/data/program",
        );
        assert_eq!(
            met,
            json!({
                "read:/data/file": "of the machine",
                "write:/data/new": "ReadOnlyFilesystem",
                "write:/data/file": "ReadOnlyFilesystem",
                "remove:/data/inner": "ReadOnlyFilesystem",
                "remount:/data": "PermissionDenied",
                "execute:/data/program": "executed",
            }),
            "{who:?}"
        );
    }
}

#[test]
fn files_in_a_writable_directory_belong_to_the_packs_user() {
    for who in everybody() {
        let directory = directory();
        open_to(who, directory.path());
        let pack = Pack::new(who).with("mounts", json!([mount(directory.path(), "/a/b", false)]));
        let met = tried(
            &pack,
            "read:/a/b/file write:/a/b/new remount:/a/b run:/a/b write:/a/new",
        );
        assert_eq!(
            met,
            json!({
                "read:/a/b/file": "of the machine",
                "write:/a/b/new": "written",
                "remount:/a/b": "PermissionDenied",
                // What can be written cannot be executed.
                "run:/a/b": "PermissionDenied",
                "write:/a/new": "ReadOnlyFilesystem",
            }),
            "{who:?}"
        );
        let new = directory.path().join("new");
        assert_eq!(fs::read_to_string(&new).unwrap(), "of the pack");
        assert_eq!(fs::metadata(&new).unwrap().uid(), pack.user());
    }
}

#[test]
fn roots_packs_write_only_where_everyone_may() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let directory = directory();
        let pack = Pack::new(who).with("mounts", json!([mount(directory.path(), "/data", false)]));
        assert_eq!(
            tried(&pack, "write:/data/new"),
            json!({"write:/data/new": "PermissionDenied"})
        );
    }
}

#[test]
fn only_mounted_directories_are_visible_and_have_their_flags() {
    for who in everybody() {
        let (one, two) = (directory(), directory());
        let mounts = json!([
            mount(one.path(), "/one", true),
            mount(two.path(), "/tmp/two", false)
        ]);
        let pack = Pack::new(who).with("mounts", mounts);
        let found: Value = serde_json::from_str(&pack.told("facts")).unwrap();
        assert_eq!(
            found["writable"],
            json!(["/dev/shm", "/proc", "/tmp", "/tmp/two"]),
            "{who:?}"
        );
        // The runtime must not empty a directory that lies in /tmp.
        let options = ["--scratch", "/dev/shm", "--listen-fd", "3"];
        assert_eq!(found["options"], json!(options));
        let met = tried(&pack, "list:/one list:/tmp list:/tmp/two");
        assert_eq!(
            met,
            json!({"list:/one": "file inner", "list:/tmp": "two", "list:/tmp/two": "file inner"})
        );
        let root = tried(&pack, "list:/");
        let root = root["list:/"].as_str().unwrap();
        let without = tried(&Pack::new(who), "list:/");
        let without = without["list:/"].as_str().unwrap();
        let more: Vec<_> = (root.split(' '))
            .filter(|name| !without.split(' ').any(|other| other == *name))
            .collect();
        assert_eq!(more, ["one"]);
    }
}

#[test]
fn links_to_a_source_are_followed_and_links_out_of_it_are_not() {
    for who in everybody() {
        let (directory, hidden) = (directory(), directory());
        let link = open_directory();
        let link = link.path().join("link");
        symlink(directory.path(), &link).unwrap();
        symlink(hidden.path(), directory.path().join("out")).unwrap();
        symlink("../../../../etc/shadow", directory.path().join("up")).unwrap();
        symlink("file", directory.path().join("within")).unwrap();
        let pack = Pack::new(who).with("mounts", json!([mount(&link, "/data", true)]));
        let met = tried(&pack, "read:/data/within list:/data/out read:/data/up");
        assert_eq!(
            met,
            json!({
                "read:/data/within": "of the machine",
                "list:/data/out": "NotFound",
                "read:/data/up": "NotFound",
            })
        );
    }
}

#[test]
fn a_missing_source_is_reported() {
    for who in everybody() {
        let directory = directory();
        let gone = directory.path().join("gone");
        let link = directory.path().join("link");
        symlink(&gone, &link).unwrap();
        for source in [&gone, &link] {
            let pack = Pack::new(who).with("mounts", json!([mount(source, "/data", true)]));
            let source = source.display();
            assert_eq!(
                refused(&pack),
                format!(
                    "burst-runtime: {source}:/data cannot be mounted: {source}: No such file or directory \
                     (os error 2)\n"
                )
            );
        }
    }
}

/// Nothing may be hidden, and nothing created in what the pack is only shown: links in the root are not followed.
#[test]
fn paths_of_the_sandbox_are_refused_as_targets() {
    for who in everybody() {
        let directory = directory();
        let root = open_directory();
        fs::create_dir(root.path().join("mnt")).unwrap();
        symlink("mnt", root.path().join("link")).unwrap();
        for target in [
            "/",
            "/dev",
            "/dev/shm/x",
            "/etc/passwd",
            "/lib",
            "/lib/x",
            "/package/x",
            "/proc/x",
            "/run",
            "/run/burst",
            "/sys/x",
            "/tmp",
            "/usr",
        ] {
            let mounts = json!([mount(directory.path(), target, true)]);
            let refused = refused(&Pack::new(who).with("mounts", mounts));
            assert!(refused.contains("the sandbox has"), "{target}: {refused}");
        }
        for target in ["/mnt", "/mnt/x", "/link", "/link/x"] {
            let mounts = json!([mount(directory.path(), target, true)]);
            let pack = Pack::new(who).with("mounts", mounts);
            let refused = refused(&pack.with("root", root.path().to_str().unwrap()));
            assert!(refused.contains("the sandbox has"), "{target}: {refused}");
        }
        assert_eq!(fs::read_dir(root.path().join("mnt")).unwrap().count(), 0);
        for (first, second) in [
            ("/data", "/data"),
            ("/data", "/data/inner"),
            ("/data/x", "/data"),
        ] {
            let mounts = [first, second].map(|target| mount(directory.path(), target, true));
            let refused = refused(&Pack::new(who).with("mounts", json!(mounts)));
            assert!(refused.contains("the sandbox has"), "{second}: {refused}");
        }
    }
}

/// As mounts of /tmp and /home often have: only the user who has mounted them may clear these flags.
#[test]
fn with_locked_flags_a_directory_is_mounted_as_requested_or_refused() {
    for who in everybody().into_iter().filter(|who| *who != Who::Root) {
        let directory = directory();
        let path = directory.path().display();
        let own = format!("mount -t tmpfs -o nosuid,nodev,noexec,mode=777 own {path}");
        let below =
            format!("{own} && mkdir {path}/low && mount -t tmpfs -o ro,nosuid low {path}/low");
        let attempts = "try write:/data/new write:/data/low/new";
        for (read_only, met) in [(true, "ReadOnlyFilesystem"), (false, "written")] {
            let mounts = json!([mount(directory.path(), "/data", read_only)]);
            let pack = Pack::new(who).with("mounts", mounts);
            let mut shim = pack.launch_where(&below, attempts);
            let (found, errors) = second_line(&mut shim);
            assert_eq!(found["write:/data/new"], met, "{who:?} {errors}");
            // Only what is writable on the machine is writable.
            assert_eq!(found["write:/data/low/new"], "ReadOnlyFilesystem");
            assert_eq!(shim.end().code, 0);
            pack.assert_gone();
        }
        let mounts = json!([mount(directory.path(), "/data", false)]);
        let pack = Pack::new(who).with("mounts", mounts);
        let ended = pack
            .launch_where(&format!("mount -t tmpfs -o ro own {path}"), attempts)
            .wait();
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(
            ended.errors.contains("is read-only on this machine"),
            "{ended:?}"
        );
    }
}

/// Root could clear these flags, and does not.
#[test]
fn restrictions_of_the_machines_mounts_hold_for_roots_packs() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let directory = directory();
        let path = directory.path().display();
        let script = format!(
            "mount -t tmpfs -o noexec,mode=777 own {path} && mkdir {path}/low && \
             mount -t tmpfs -o ro low {path}/low && printf '#!/run/burst/burst-runtime\\n' > {path}/program && \
             chmod 755 {path}/program"
        );
        for (read_only, met) in [(true, "ReadOnlyFilesystem"), (false, "written")] {
            let mounts = json!([mount(directory.path(), "/data", read_only)]);
            let pack = Pack::new(who).with("mounts", mounts);
            let attempts = "try write:/data/new write:/data/low/new execute:/data/program";
            let mut shim = pack.launch_as_root_where(&script, attempts);
            let (found, _) = second_line(&mut shim);
            assert_eq!(
                found,
                json!({
                    "write:/data/new": met,
                    "write:/data/low/new": "ReadOnlyFilesystem",
                    "execute:/data/program": "PermissionDenied",
                })
            );
            assert_eq!(shim.end().code, 0);
            pack.assert_gone();
        }
    }
}

fn second_line(shim: &mut Shim) -> (Value, String) {
    let first = shim.line();
    assert!(first.starts_with("listening on"), "{first}");
    let line = shim.line();
    (serde_json::from_str(&line).unwrap(), line)
}

#[test]
fn two_packs_share_a_mounted_directory() {
    for who in everybody() {
        let directory = directory();
        open_to(who, directory.path());
        let mounts = json!([mount(directory.path(), "/data", false)]);
        let first = Pack::new(who).with("mounts", mounts.clone());
        let mut writes = first.started("try write:/data/new");
        assert!(writes.line().contains("written"));
        let second = Pack::new(who).with("mounts", mounts);
        let met = second.told("try read:/data/new");
        assert_eq!(met, r#"{"read:/data/new":"of the pack"}"#);
        assert_eq!(writes.end().code, 0);
        first.assert_gone();
        second.assert_gone();
    }
}
