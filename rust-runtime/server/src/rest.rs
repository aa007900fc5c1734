//! What becomes of what a flare leaves on a pack that stays warm.
//!
//! | left | what becomes of it |
//! | --- | --- |
//! | processes | killed before the flare's end is told, and again when the program is stopped |
//! | files in the directories that are the pack's own | removed before the flare's end is told; a group's stay |
//! | System V queues, semaphores, shared memory | the pack is not used again |
//! | threads that go on computing | the program is killed when it is seen to do so twice, a moment apart |
//! | threads that wait | stopped with the program until the next flare |
//! | timers that have the program go on | the program is killed when one does |
//!
//! Between flares the program is stopped (`SIGSTOP`), so that it gets no processor. It cannot prevent that, but it can
//! undo it: a timer of its own goes on meanwhile and may send it `SIGCONT`. The kernel tells its parent, so that a
//! program that goes on before the runtime has it do so is killed, whether it has stopped again or not. The pack of a
//! group is not stopped: it holds its workers' slots from flare to flare, and what they keep.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::descendants;
use crate::limits;
use crate::process::Turn;
use crate::spent::Spent;
use crate::supervisor::Program;

/// Directories that nobody else writes to.
static OWN: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// What flares leave in these directories is removed: they are this runtime's alone, as is the name space for IPC.
/// Can be said once.
pub fn own(directories: Vec<PathBuf>) {
    let _ = OWN.set(directories);
}

/// Removes what a flare has left, but for what the next one of its group may look for. Whether the pack can be used
/// again.
pub(crate) fn tidy(program: &Program, grouped: bool) -> impl Future<Output = bool> + use<> {
    let swept = sweep(program);
    let package = program.directory().to_owned();
    let own = OWN.get().filter(|own| !own.is_empty() && !grouped);
    async move {
        if !swept || !few_are_left().await {
            return false;
        }
        let Some(own) = own else {
            return true;
        };
        if has_objects(Path::new("/proc/sysvipc")) {
            return false;
        }
        let clearing = tokio::task::spawn_blocking(move || clear(own, &package).is_ok());
        let cleared = tokio::time::timeout(limits::CLEARING, clearing).await;
        matches!(cleared, Ok(Ok(true)))
    }
}

/// Kills all processes below the runtime but the program. Whether none is left.
fn sweep(program: &Program) -> bool {
    let Some(leader) = program.group.number() else {
        return false;
    };
    let mut killed = HashSet::new();
    for _ in 0..PASSES {
        let mut left = descendants::below(std::process::id() as i32);
        left.retain(|process| process.number != leader && !killed.contains(process));
        if left.is_empty() {
            return true;
        }
        left.iter().for_each(|process| process.kill());
        killed.extend(left);
    }
    false
}

/// Waits until those that were killed are gone, as each counts against what the pack may have. Its own children, which
/// the program has not waited for, stay: a few may.
async fn few_are_left() -> bool {
    let began = Instant::now();
    while descendants::count_below(std::process::id() as i32) > FEW {
        if began.elapsed() > limits::CLEARING {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    true
}

/// Whether there are objects of System V IPC of this user: in tables, of which each has a line of headings.
fn has_objects(directory: &Path) -> bool {
    // SAFETY: takes nothing, touches no memory and cannot fail.
    let user = unsafe { libc::geteuid() }.to_string();
    ["msg", "sem", "shm"].iter().any(|kind| {
        let table = fs::read_to_string(directory.join(kind)).unwrap_or_default();
        let mut lines = table.lines().map(str::split_ascii_whitespace);
        let column = lines
            .next()
            .and_then(|mut names| names.position(|name| name == "uid"));
        column.is_some_and(|column| lines.any(|mut line| line.nth(column) == Some(&user)))
    })
}

/// Empties directories, but for what holds the package. Blocks on files.
fn clear(directories: &[PathBuf], package: &Path) -> io::Result<()> {
    for directory in directories {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if package.starts_with(&path) {
                continue;
            }
            match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(path)?,
                false => fs::remove_file(path)?,
            }
        }
    }
    Ok(())
}

/// The moment between a flare's end and its program's rest, and that rest.
pub(crate) struct Pause {
    flares: u64,
    began: Instant,
    runnable: Duration,
    rest: Rest,
}

enum Rest {
    /// Whether it was seen to compute once: on a busy machine threads take long to end.
    Ahead {
        computed: bool,
    },
    /// The program was told to stop then, and is not known to have done so.
    Asked(Instant),
    Stopped,
}

impl Pause {
    pub(crate) fn of(program: &Program) -> Self {
        Self {
            flares: program.flares(),
            began: Instant::now(),
            runnable: runnable(program),
            rest: Rest::Ahead { computed: false },
        }
    }

    /// Whether no flare has begun meanwhile.
    pub(crate) fn lasts(&self, program: &Program) -> bool {
        self.flares == program.flares()
    }

    /// Stops a program until its next flare, and then looks whether it stays so. The error says why it is of no use for
    /// one.
    pub(crate) fn go_by(&mut self, program: &mut Program) -> Result<(), Spent> {
        if let Rest::Ahead { computed } = self.rest {
            if self.computes(program) {
                if computed {
                    return Err(Spent::Computing);
                }
                self.rest = Rest::Ahead { computed: true };
                return Ok(());
            }
            self.end(program)?;
            self.rest = Rest::Asked(Instant::now());
        }
        let woken = match (program.group.turn(), &self.rest) {
            (Some(Turn::Stopped), Rest::Asked(_)) => {
                self.rest = Rest::Stopped;
                false
            }
            (Some(_), _) => true,
            // That it has stopped is never told if it goes on before all its threads have.
            (None, Rest::Asked(at)) => at.elapsed() > limits::STOPPING,
            (None, _) => false,
        };
        match woken {
            true => Err(Spent::Awake),
            false => Ok(()),
        }
    }

    /// How long it may be left alone.
    pub(crate) fn time(&self) -> Duration {
        match self.rest {
            Rest::Ahead { .. } => limits::PAUSE,
            _ => limits::STOPPING,
        }
    }

    /// Whether its threads have been at it for half of the time since the last look.
    fn computes(&mut self, program: &Program) -> bool {
        let (before, now) = (self.runnable, runnable(program));
        let elapsed = std::mem::replace(&mut self.began, Instant::now()).elapsed();
        self.runnable = now;
        now.saturating_sub(before) * 2 > elapsed
    }

    fn end(&self, program: &mut Program) -> Result<(), Spent> {
        // That it went on with the flare that has ended is not told yet.
        program.group.turn();
        program.stop();
        match sweep(program) {
            true => Ok(()),
            false => Err(Spent::Haunted),
        }
    }
}

/// Kills a program that is of no use, and what it may have started since others were looked for.
pub(crate) fn put_down(program: &Program) {
    program.group.kill();
    sweep(program);
}

/// For how long a program's threads together have been on a processor or waited for one; zero where the kernel does not
/// tell.
fn runnable(program: &Program) -> Duration {
    let Some(leader) = program.group.number() else {
        return Duration::ZERO;
    };
    let tasks = fs::read_dir(format!("/proc/{leader}/task"));
    let nanoseconds = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let told = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut told = told.split(' ').map(|number| number.parse::<u64>().ok());
        Some(told.next()?? + told.next()??)
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// How often processes that others have started meanwhile are looked for.
const PASSES: u32 = 100;

/// Processes below the runtime that the next flare may find, ended ones but for the program.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_goes_but_the_package_and_what_links_lead_to() {
        let root = tempfile::tempdir().unwrap();
        let (own, other) = (root.path().join("own"), root.path().join("other"));
        let package = own.join("package/unpacked");
        for directory in [&package, &own.join("deep/er"), &other] {
            fs::create_dir_all(directory).unwrap();
        }
        for file in [&package, &own.join("deep/er"), &own, &other] {
            fs::write(file.join("file"), "left").unwrap();
        }
        std::os::unix::fs::symlink(&other, own.join("deep/link")).unwrap();
        std::os::unix::fs::symlink(&other, own.join("link")).unwrap();
        clear(std::slice::from_ref(&own), &package).unwrap();
        let left: Vec<_> = fs::read_dir(&own).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(package.join("file").exists() && other.join("file").exists());
    }

    #[test]
    fn a_directory_that_cannot_be_emptied_is_told() {
        let root = tempfile::tempdir().unwrap();
        let (none, file) = (root.path().join("none"), root.path().join("file"));
        fs::write(&file, "").unwrap();
        assert!(clear(&[none], Path::new("/package")).is_ok());
        assert!(clear(&[file], Path::new("/package")).is_err());
    }

    #[test]
    fn objects_are_known_by_their_owner() {
        let root = tempfile::tempdir().unwrap();
        assert!(!has_objects(root.path()));
        // SAFETY: takes nothing, touches no memory and cannot fail.
        let user = unsafe { libc::geteuid() };
        for (table, has) in [
            (" key semid uid\n".to_owned(), false),
            (format!(" key semid uid\n 0 {user} {}\n", user + 1), false),
            (
                format!(" key semid uid\n 0 1 {}\n 0 2 {user}\n", user + 1),
                true,
            ),
        ] {
            fs::write(root.path().join("sem"), table).unwrap();
            assert_eq!(has_objects(root.path()), has);
        }
    }
}
