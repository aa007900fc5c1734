//! Sockets between packs on one machine: whoever knows a name can connect, and nobody can discover
//! one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{Pack, Who, everybody, give, open_directory};

/// A directory that is searchable but not readable, and in which its owner may create names.
pub(crate) fn sockets(who: Who) -> TempDir {
    let directory = open_directory();
    give(directory.path(), who);
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o311)).unwrap();
    directory
}

fn pack(who: Who, sockets: &Path) -> Pack {
    Pack::new(who).with("sockets", sockets.to_str().unwrap())
}

#[test]
fn packs_reach_each_other_by_name() {
    for who in everybody() {
        let directory = sockets(who);
        let (first, second) = (pack(who, directory.path()), pack(who, directory.path()));
        let mut listening = first.started("listen");
        let named = listening.line();
        let name = named.strip_prefix("named ").unwrap();
        assert_eq!(name.len(), 32);
        assert_eq!(second.told(&format!("connect {name}")), "hello");
        assert_eq!(
            second.told("list /run/burst/sockets"),
            "Err(PermissionDenied)"
        );
        assert_eq!(listening.end().code, 0);
        first.assert_gone();
        second.assert_gone();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            0,
            "{who:?}"
        );
    }
}

#[test]
fn an_unwritable_directory_is_reported() {
    for who in everybody().into_iter().filter(|who| *who != Who::Root) {
        let pack = pack(who, Path::new("/usr"));
        let ended = pack.launch("facts").wait();
        assert_eq!(ended.code, 1);
        assert!(ended.errors.contains("no socket in /usr: "), "{ended:?}");
        pack.assert_gone();
    }
}
