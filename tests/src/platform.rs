//! A whole platform of one's own: started for a test, proven gone after it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::cli::Cli;
use crate::command::{self, Finished};
use crate::leftovers::Footprint;
use crate::processes::{self, Process};
use crate::settings::{Driver, Settings};
use crate::{Api, built, docker, wait};

const READY: &str = "burst is ready on ";
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// A running platform. Dropping it stops it and checks that nothing is left of it.
#[derive(Debug)]
pub struct Platform {
    settings: Settings,
    scratch: TempDir,
    token: String,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    api: Api,
    // Dropping it calls the watchdog off.
    _watchdog: Sender<()>,
}

impl Platform {
    /// Starts a platform on an empty data directory and waits until it is ready.
    #[track_caller]
    pub fn start(settings: Settings) -> Self {
        if settings.driver() == Driver::Docker {
            docker::require();
        }
        let scratch = tempfile::Builder::new()
            .prefix("burst-test-")
            .tempdir()
            .unwrap();
        // Packs in containers run as another user and mount packages from below here.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(scratch.path(), open).unwrap();
        let mut platform = Self {
            settings,
            scratch,
            token: token(),
            running: None,
        };
        platform.start_again();
        platform
    }

    /// Starts it again on the same data directory after [`Platform::kill`].
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.running.is_none(), "it runs already");
        let log = File::create(self.log_file()).unwrap();
        let mut command = Command::new(built::dist("bin/burst"));
        command
            .args(self.settings.arguments())
            .arg("--data")
            .arg(self.data())
            .env("BURST_TEST_PLATFORM", &self.token)
            .stdin(Stdio::null())
            .stderr(log.try_clone().unwrap())
            .stdout(log);
        // SAFETY: between fork and exec the closure makes two system calls and nothing else; both
        // are safe to make there, and it neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(|| {
                // A session of its own tells its children apart from the test's, and a test run
                // that is interrupted takes its platforms along.
                rustix::process::setsid()?;
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        let ready = wait::until("the platform says that it is ready", START_LIMIT, || {
            let said = fs::read_to_string(self.log_file()).unwrap();
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the platform ended at once with {status}:\n{said}");
            }
            // The last line may be half written.
            let (whole, _) = said.rsplit_once('\n')?;
            let (_, address) = whole.split_once(READY)?;
            address.lines().next().map(str::to_owned)
        });
        let properties = fs::read_to_string(self.data().join("properties")).unwrap();
        let auth = properties
            .lines()
            .find_map(|line| line.trim().strip_prefix("AUTH="))
            .expect("AUTH in the properties file");
        self.running = Some(Running {
            api: Api::new(ready.trim(), auth),
            _watchdog: watch(child.id(), self.settings.lifetime()),
            child,
        });
    }

    /// Kills the platform's JVM as `kill -9` does: it has no chance to clean up.
    pub fn kill(&mut self) {
        let mut running = self.running.take().expect("it runs");
        running.child.kill().unwrap();
        running.child.wait().unwrap();
    }

    /// Stops the platform as an operator does and checks that nothing is left of it.
    pub fn stop(&mut self) {
        let mut running = self.running.take().expect("it runs");
        let session = running.child.id();
        let port: u16 = running
            .api
            .address()
            .rsplit(':')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        rustix::process::kill_process(pid(session), Signal::TERM).unwrap();
        let status = command::wait(&mut running.child, STOP_LIMIT);
        // 143 is how a JVM says that it ended in good order on SIGTERM.
        let code = status.and_then(|status| status.code());
        assert!(
            matches!(code, Some(0 | 143)),
            "after SIGTERM the platform ended with {status:?} (none: it had to be killed)"
        );
        let left = self.processes_in(session);
        assert!(left.is_empty(), "processes outlive the platform: {left:#?}");
        assert!(
            std::net::TcpStream::connect(("127.0.0.1", port)).is_err(),
            "port {port} is open"
        );
        let left = self.containers();
        assert!(
            left.is_empty(),
            "containers outlive the platform: {left:#?}"
        );
    }

    /// Its API with its first credentials.
    #[track_caller]
    pub fn api(&self) -> &Api {
        &self.running.as_ref().expect("it runs").api
    }

    /// The `burst` command as this platform's user runs it.
    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> Finished {
        Cli::of(self.api(), self.scratch.path()).run(arguments)
    }

    /// The `burst` command, to be set up otherwise than [`Platform::cli`] does.
    pub fn cli_setup(&self) -> Cli {
        Cli::of(self.api(), self.scratch.path())
    }

    /// The definitions, flares and packages.
    pub fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }

    /// A directory for the test's own files, gone with the platform.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// What it wrote on its standard output and error.
    pub fn log_file(&self) -> PathBuf {
        self.scratch.path().join("platform.log")
    }

    /// How many workers it runs at once.
    pub fn slots(&self) -> u32 {
        self.settings.slot_count()
    }

    /// Process id of the JVM.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("it runs").child.id()
    }

    /// Its live processes.
    pub fn processes(&self) -> std::collections::BTreeSet<Process> {
        self.processes_in(self.pid())
    }

    /// Its containers, as `docker inspect` shows them.
    pub fn containers(&self) -> Vec<serde_json::Value> {
        match self.settings.driver() {
            Driver::Process => Vec::new(),
            Driver::Docker => docker::containers_mentioning(self.data().to_str().unwrap()),
        }
    }

    /// All that it has on this machine now.
    pub fn footprint(&self) -> Footprint {
        let processes = self.processes();
        Footprint {
            ports: processes::listening_ports(&processes),
            processes,
            containers: self.containers().iter().map(docker::id).collect(),
            free_slots: self.api().free_slots(),
            warm_packs: self.api().warm_packs(),
        }
    }

    fn processes_in(&self, session: u32) -> std::collections::BTreeSet<Process> {
        processes::of_platform(Some(session), &self.token, &self.data())
    }

    /// Ends what a failed test leaves, so that it disturbs no other; checks nothing.
    fn sweep(&mut self) {
        let session = self.running.as_ref().map(|running| running.child.id());
        if let Some(mut running) = self.running.take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        for process in processes::of_platform(session, &self.token, &self.data()) {
            let _ = rustix::process::kill_process(pid(process.pid), Signal::KILL);
        }
        for container in self.containers() {
            docker::remove(&docker::id(&container));
        }
        let log = fs::read_to_string(self.log_file()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        eprintln!("the platform's last words:");
        for line in &lines[lines.len().saturating_sub(60)..] {
            eprintln!("  {line}");
        }
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        if thread::panicking() {
            self.sweep();
        } else if self.running.is_some() {
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.stop()));
            if let Err(cause) = stopped {
                self.sweep();
                std::panic::resume_unwind(cause);
            }
        }
    }
}

/// Kills the platform when its test hangs: whatever the test waits for then fails.
fn watch(platform: u32, lifetime: Duration) -> Sender<()> {
    let (called_off, wait) = mpsc::channel();
    thread::spawn(move || {
        if wait.recv_timeout(lifetime) == Err(RecvTimeoutError::Timeout) {
            eprintln!("watchdog: the test takes longer than {lifetime:?}, killing its platform");
            let _ = rustix::process::kill_process(pid(platform), Signal::KILL);
        }
    });
    called_off
}

/// Unique on this machine while the test runs.
fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

fn pid(raw: u32) -> Pid {
    Pid::from_raw(i32::try_from(raw).unwrap()).unwrap()
}
