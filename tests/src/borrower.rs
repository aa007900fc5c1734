//! The borrower of a platform that is lent to one test after another, with a namespace and a directory of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::administrator::Administrator;
use crate::{Api, account};

/// One of a platform's borrowers.
#[derive(Debug)]
pub(crate) struct Borrower {
    namespace: String,
    api: Api,
    scratch: TempDir,
    /// How many bytes the platform had logged before.
    logged: usize,
}

impl Borrower {
    /// A borrower of the platform at `base`; `properties` is the text of its first user's properties file.
    #[track_caller]
    pub fn new(base: &str, properties: &str, home: &Path, logged: usize) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let namespace = format!("borrower-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let api = Administrator::of(base, properties).create(&namespace);
        let scratch = account::directory_in(home);
        let borrower = Self {
            namespace,
            api,
            scratch,
            logged,
        };
        let lines = properties.lines().map(|line| match line.trim() {
            own if own.starts_with("AUTH=") => format!("AUTH={}\n", borrower.api.auth()),
            other => format!("{other}\n"),
        });
        let file = borrower.properties();
        fs::write(&file, lines.collect::<String>()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        borrower
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The borrower's properties file, like the one of the platform's first user.
    pub fn properties(&self) -> PathBuf {
        self.scratch().join("properties")
    }

    /// The part of the platform's output that was written since the loan began.
    pub fn since<'a>(&self, log: &'a str) -> &'a str {
        log.get(self.logged..).unwrap_or_default()
    }
}
