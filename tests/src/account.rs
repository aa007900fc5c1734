//! The user that the platform under test runs as: an ordinary one, even if the tests run as root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::getuid;
use tempfile::TempDir;

use crate::built;
use crate::driver::Driver;

/// The number of the user and the group. No account has it; it is the last that Debian assigns to people, so this also
/// tests that the platform works without a user name or a home. It is not `nobody`, which packs in containers run as.
const NUMBER: u32 = 59_999;

/// The files of the distribution that a node needs.
const INSTALLED: [&str; 3] = ["bin/burst", "bin/burst-runtime", "lib/burst-standalone.jar"];

/// A user that nodes are started as.
#[derive(Debug, Clone)]
pub struct Account {
    user: u32,
    group: u32,
    /// Further groups.
    groups: Vec<u32>,
}

impl Account {
    /// A user with the permissions that packs of this kind require: with docker, membership of the group that may use
    /// its daemon.
    #[track_caller]
    pub fn ordinary(driver: Driver) -> Self {
        let groups = match driver.has_containers() {
            true => vec![dockers_group()],
            false => Vec::new(),
        };
        Self {
            user: NUMBER,
            group: NUMBER,
            groups,
        }
    }

    /// The root user, as on a machine used for packs alone.
    #[track_caller]
    pub fn root() -> Self {
        assert!(
            tests_are_root(),
            "this test starts a platform as root: run it as root"
        );
        Self {
            user: 0,
            group: 0,
            groups: Vec::new(),
        }
    }

    /// In another group, by which the firewall recognises it. This requires root.
    pub fn in_group(mut self, group: u32) -> Self {
        self.group = group;
        self
    }

    /// The prefix of a command that runs it as this user. Empty if the tests themselves run as an ordinary user.
    pub fn prefix(&self) -> Vec<String> {
        if !tests_are_root() || self.user == 0 {
            return Vec::new();
        }
        let groups = match &self.groups[..] {
            [] => "--clear-groups".to_owned(),
            groups => format!(
                "--groups={}",
                groups
                    .iter()
                    .map(u32::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
        };
        let ids = [
            format!("--reuid={}", self.user),
            format!("--regid={}", self.group),
        ];
        // The kernel clears the parent-death signal of a process that changes its user, so it is set again.
        let rest = [groups, "--pdeathsig=KILL".to_owned()];
        ["setpriv".to_owned()]
            .into_iter()
            .chain(ids)
            .chain(rest)
            .collect()
    }
}

/// Creates a directory that belongs to the platform's user and that everyone can read: packs in containers run as
/// another user and mount packages from below it.
#[track_caller]
pub fn directory(prefix: &str) -> TempDir {
    let directory = tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
    give(directory.path());
    directory
}

/// Like [`directory`], below another directory.
#[track_caller]
pub fn directory_in(parent: &Path) -> TempDir {
    let directory = tempfile::tempdir_in(parent).unwrap();
    give(directory.path());
    directory
}

/// Makes the platform's user the owner of a directory, or of a file.
#[track_caller]
pub fn give(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    if tests_are_root() {
        chown(path, Some(NUMBER), Some(NUMBER)).unwrap();
    }
}

/// The options of a `mount` that make the platform's user its owner.
pub fn mount_options() -> String {
    format!("uid={NUMBER},gid={NUMBER}")
}

/// Returns the place of the distribution for the platform's user: where it was built, or a copy in `home` if that user
/// cannot reach it, for example because root has the checkout in its own home directory.
#[track_caller]
pub fn installation(home: &Path) -> PathBuf {
    static REACHED: OnceLock<bool> = OnceLock::new();
    let built = built::repository().join("dist");
    if *REACHED.get_or_init(|| {
        !tests_are_root()
            || INSTALLED
                .iter()
                .all(|file| is_readable_by_others(&built::dist(file)))
    }) {
        return built;
    }
    let copy = home.join("dist");
    for file in INSTALLED {
        let (from, to) = (built.join(file), copy.join(file));
        if to.exists() {
            continue; // a node was started here before
        }
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(drop))
            .unwrap_or_else(|cause| {
                panic!(
                    "{} cannot be had in {}: {cause}",
                    from.display(),
                    to.display()
                )
            });
    }
    copy
}

/// Returns whether a user who does not own a file can reach and read it.
fn is_readable_by_others(file: &Path) -> bool {
    let allows =
        |path: &Path, bits| fs::metadata(path).is_ok_and(|found| found.mode() & bits == bits);
    allows(file, 0o004)
        && file
            .ancestors()
            .skip(1)
            .all(|directory| allows(directory, 0o001))
}

fn tests_are_root() -> bool {
    getuid().is_root()
}

/// The group that docker's socket belongs to.
#[track_caller]
fn dockers_group() -> u32 {
    const SOCKET: &str = "/var/run/docker.sock";
    fs::metadata(SOCKET)
        .unwrap_or_else(|cause| {
            panic!("{SOCKET}: {cause}\nThe docker tests need a running dockerd: `tests/prepare.sh` starts one")
        })
        .gid()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{command, wait};

    #[track_caller]
    fn output_of(account: &Account, words: &[&str]) -> String {
        let mut line = account.prefix();
        line.extend(words.iter().map(|word| (*word).to_owned()));
        let mut command = Command::new(&line[0]);
        let finished = command::run(command.args(&line[1..]).current_dir("/"), wait::SOON);
        assert_eq!(finished.code, Some(0), "{finished:#?}");
        finished.stdout.trim().to_owned()
    }

    #[test]
    fn a_node_runs_as_an_unprivileged_user() {
        let account = Account::ordinary(Driver::Process);
        assert_ne!(output_of(&account, &["id", "-u"]), "0");
        let status = output_of(&account, &["grep", "CapEff", "/proc/self/status"]);
        assert_eq!(status.split_whitespace().nth(1), Some("0000000000000000"));
    }

    #[test]
    fn a_node_can_access_its_directory_and_its_programs() {
        let account = Account::ordinary(Driver::Process);
        let home = directory("burst-account-");
        let file = home.path().join("file");
        output_of(&account, &["touch", file.to_str().unwrap()]);
        let burst = installation(home.path()).join("bin/burst");
        assert!(output_of(&account, &[burst.to_str().unwrap(), "--version"]).contains("burst"));
    }
}
