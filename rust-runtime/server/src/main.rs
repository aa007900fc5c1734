//! `burst-runtime`: arguments in, exit code out.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use burst_bcm::BackendConfig;
use burst_firewall::{NetworkPolicy, Range};
use burst_runtime::Access;
use burst_runtime::inherited::{self, LocalListener, PackSocket};
use clap::{Args, Parser, Subcommand};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Runs a Burst work function's program in a pack and reports what its workers do.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the pack's HTTP calls until standard input closes.
    Serve(ServeArgs),
    /// Run an executable that speaks OpenWhisk's action loop, and serve the runtime on its behalf.
    #[command(hide = true)]
    ActionLoop {
        /// The executable.
        exec: PathBuf,
    },
    /// Start an executable once for each run, as OpenWhisk's skeleton does, and serve the runtime on its behalf.
    #[command(hide = true)]
    Skeleton {
        /// The executable.
        exec: PathBuf,
    },
    /// Run the command of this image, which keeps OpenWhisk's contract for containers, and serve the runtime on its
    /// behalf.
    #[command(hide = true)]
    Image {
        /// The function in its code to call.
        main: String,
    },
    /// Print, as JSON, the machine and C library that packages must fit, and the kinds of backends and programs.
    Describe,
    /// Copy this program to a directory, with what it needs in an otherwise empty image: its loader, named `loader`,
    /// and its libraries.
    LayOut {
        /// An existing, empty directory.
        directory: PathBuf,
    },
    /// Delete what a flare left on its backend; reads {"flareId","backend"} from standard input.
    Cleanup,
    /// Print, as JSON, the addresses of a backend's servers; reads {"kind","uri",…} from standard input.
    Servers,
    /// Isolate the packs on a network of this machine from each other, except for what an invoker admits.
    Firewall {
        /// Unix socket to serve the invoker on; ends when it disconnects.
        #[arg(long, value_name = "PATH")]
        socket: PathBuf,
        /// Name of the rules' tables, unique on this machine.
        #[arg(long)]
        name: String,
        /// The network's interface on this machine.
        #[arg(long, value_name = "INTERFACE")]
        bridge: String,
        /// The network's addresses.
        #[arg(long, value_name = "ADDRESS/BITS")]
        network: Range,
        /// How many neighbours the packs may have in total.
        #[arg(long, value_name = "COUNT")]
        neighbours: u32,
        /// The packs' port on which the invoker controls them.
        #[arg(long, value_name = "PORT")]
        control: u16,
        /// Addresses that all packs may reach; on this machine only with a port.
        #[arg(long, value_name = "ADDRESS[/BITS][:PORT]")]
        open: Vec<Range>,
        /// Addresses that are not part of the internet.
        #[arg(long, value_name = "ADDRESS/BITS")]
        closed: Vec<Range>,
    },
    /// Unpack the image for this machine from an OCI image layout, remove others, and print, as JSON, where it is.
    Unpack {
        /// The layout: a directory, or a tar of one.
        image: PathBuf,
        /// Directory to unpack it into, under its digest's name; used for nothing else.
        directory: PathBuf,
    },
    /// Serve a pack in a sandbox of the kernel; reads its description from standard input, and ends when that closes.
    Sandbox {
        /// Only print, as JSON, whether this user can create such a sandbox on this machine.
        #[arg(long)]
        check: bool,
        /// Remove control groups that killed sandboxes left and whose names begin with PREFIX, and print how many.
        #[arg(long, value_name = "PREFIX", conflicts_with = "check")]
        remove: Option<String>,
    },
}

/// How a pack is served.
#[derive(Args)]
struct ServeArgs {
    /// Address to listen on; port 0 takes a free one. Prints `listening on HOST:PORT` once bound.
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    listen: String,
    /// An open socket to listen on, instead of an address.
    #[arg(long, value_name = "DESCRIPTOR", conflicts_with = "listen")]
    listen_fd: Option<i32>,
    /// An open Unix socket, and its name below the directory of all packs' sockets.
    #[arg(long, value_name = "DESCRIPTOR:NAME")]
    local_listener: Option<LocalListener>,
    /// Report that it listens only after reading a line from standard input, which its starter sends when ready.
    #[arg(long)]
    held: bool,
    /// Keep running when standard input closes.
    #[arg(long)]
    keep_open: bool,
    /// A directory that only this pack writes to: everything that flares leave there is removed. May be repeated.
    #[arg(long, value_name = "DIRECTORY")]
    scratch: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(args) => serve(args),
        Command::ActionLoop { exec } => {
            burst_runtime::action_loop::serve(&exec).map_err(Into::into)
        }
        Command::Skeleton { exec } => {
            burst_runtime::action_loop::skeleton::serve(&exec).map_err(Into::into)
        }
        Command::Image { main } => burst_runtime::image::serve(&main).map_err(Into::into),
        Command::LayOut { directory } => burst_runtime::lay_out(&directory).map_err(Into::into),
        Command::Describe => describe(),
        Command::Cleanup => cleanup(),
        Command::Servers => servers(),
        Command::Unpack { image, directory } => unpack(&image, &directory),
        Command::Sandbox { check, remove } => match sandbox(check, remove) {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        Command::Firewall {
            socket,
            name,
            bridge,
            network,
            neighbours,
            control,
            open,
            closed,
        } => {
            let policy = NetworkPolicy {
                name,
                bridge,
                network,
                neighbours,
                control,
                open,
                closed,
            };
            burst_firewall::serve(&policy, &socket).map_err(Into::into)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("burst-runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Why the runtime ends with an error.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot listen on {address}: {reason}")]
    Listen { address: String, reason: io::Error },
    #[error("standard input is not {0}")]
    NoRequest(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Backend(#[from] burst_bcm::Error),
    #[error(transparent)]
    Firewall(#[from] burst_firewall::Error),
    #[error(transparent)]
    Image(#[from] burst_image::Error),
    #[error(transparent)]
    Sandbox(#[from] burst_sandbox::Error),
}

fn unpack(image: &Path, directory: &Path) -> Result<(), Error> {
    // Names in an image may have any length.
    let most = Rlimit {
        current: Some(UNPACKING),
        maximum: Some(UNPACKING),
    };
    setrlimit(Resource::As, most).map_err(io::Error::from)?;
    let unpacked = burst_image::unpack(image, directory)?;
    println!("{}", serde_json::to_string(&unpacked)?);
    Ok(())
}

/// The limit on memory in bytes: far more than an image takes, unless it is made to exhaust memory.
const UNPACKING: u64 = 1 << 30;

fn serve(args: ServeArgs) -> Result<(), Error> {
    burst_runtime::scratch::own(args.scratch);
    burst_runtime::make_undumpable()?;
    let socket = args.local_listener.map(PackSocket::take).transpose()?;
    // One thread is enough for one program, and takes fewer context switches to answer.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let (address, listener) = match args.listen_fd {
            Some(descriptor) => (format!("descriptor {descriptor}"), adopt(descriptor)),
            None => {
                let listener = TcpListener::bind(&args.listen).await;
                (args.listen, listener)
            }
        };
        let listener = listener.map_err(|reason| Error::Listen { address, reason })?;
        tokio::spawn(burst_runtime::orphans::become_subreaper()?);
        if args.held {
            // Blocking delays nothing else yet. If reading fails the starter has gone, which ends this process, too.
            let _ = io::stdin().read_line(&mut String::new());
        }
        println!("listening on {}", listener.local_addr()?);
        std::io::stdout().flush()?;
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let closed = stdin_closed(args.keep_open);
        let access = Access::from_environment();
        burst_runtime::run(listener, access, socket, async move {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
                () = closed => {}
            }
        })
        .await;
        Ok(())
    });
    burst_runtime::orphans::reap();
    // Does not wait for a package that is still being unpacked.
    runtime.shutdown_background();
    burst_runtime::wait_for_removals();
    served
}

fn adopt(descriptor: i32) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(inherited::take(descriptor)?);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Resolves when the other end of standard input is closed.
async fn stdin_closed(keep_open: bool) {
    let (closed, closing) = oneshot::channel::<()>();
    if !keep_open {
        std::thread::spawn(move || {
            let mut ignored = [0; 256];
            while std::io::stdin()
                .read(&mut ignored)
                .is_ok_and(|length| length > 0)
            {}
            drop(closed);
        });
        let _ = closing.await;
    } else {
        std::future::pending::<()>().await;
    }
}

fn describe() -> Result<(), Error> {
    println!("{}", serde_json::to_string(&burst_runtime::describe())?);
    Ok(())
}

fn cleanup() -> Result<(), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Request {
        flare_id: String,
        backend: BackendConfig,
    }
    let request: Request = request(r#"{"flareId":…,"backend":{…}}"#)?;
    burst_bcm::cleanup(&request.flare_id, &request.backend)?;
    Ok(())
}

fn servers() -> Result<(), Error> {
    let backend: BackendConfig = request(r#"{"kind":…,"uri":…}"#)?;
    // An invalid address is reported when somebody connects to it.
    let servers = burst_bcm::servers(&backend).unwrap_or_default();
    println!("{}", serde_json::to_string(&servers)?);
    Ok(())
}

fn sandbox(check: bool, remove: Option<String>) -> Result<ExitCode, Error> {
    if let Some(prefix) = remove {
        println!("{}", burst_sandbox::remove(&prefix)?);
    } else if check {
        println!("{}", serde_json::to_string(&burst_sandbox::check())?);
    } else {
        return Ok(burst_sandbox::launch()?.into());
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a request of this form from standard input.
fn request<T: DeserializeOwned>(form: &'static str) -> Result<T, Error> {
    let mut body = String::new();
    std::io::stdin()
        .take(1024 * 1024)
        .read_to_string(&mut body)?;
    serde_json::from_str(&body).map_err(|_| Error::NoRequest(form))
}
