//! The runtime in a pack: an HTTP server that starts the user's program, supervises it and
//! reports what its workers do.
//!
//! | idea | file |
//! | --- | --- |
//! | the port, and the connections to it | `server`, `connections`, [`inherited`] |
//! | HTTP calls, and their authentication | `routes`, `access`, `body`, `invalid_request` |
//! | the state of the runtime | `runtime` |
//! | a package: found or unpacked, its directory, dependencies and variables | `init`, `package`, `package_error`, `unpack`, `executable`, `own_directory`, `wanted`, `environment` |
//! | launchers of packages | `kind`, `launcher`, `interpreter` (started ahead), `launched`, [`action_loop`], [`image`] |
//! | the program: its start, hello and end | `supervisor`, `process`, `process_end`, `memory`, `memory_limit` |
//! | the program's output | `control_socket` (frames), `log_buffer`, `logs` (pipes) |
//! | one flare | `pack` (time, orders, kills), `checks`, `tracker` and `violation` (the validity of events) |
//! | this program in other people's images | `layout` |
//! | a single function as OpenWhisk calls it | `run` |
//! | cleaning up after a flare | `cleanup`, [`scratch`], `suspension`, [`orphans`], `cpu_time`, `descendants`, `not_reusable` |

mod access;
pub mod action_loop;
mod body;
mod checks;
mod cleanup;
mod concurrency;
mod connections;
mod control_socket;
mod cpu_time;
mod credential_broker;
mod descendants;
mod describe;
mod environment;
mod error;
mod executable;
mod exit_attribution;
pub mod image;
pub mod inherited;
mod init;
mod interpreter;
mod invalid_request;
mod kind;
mod lane;
mod lanes;
mod last_start;
mod launched;
mod launcher;
mod layout;
mod limits;
mod log_buffer;
mod logs;
mod memory;
mod memory_limit;
mod not_reusable;
pub mod orphans;
mod output;
mod own_directory;
mod pack;
mod package;
mod package_error;
mod patience;
mod proc_file;
mod process;
mod process_end;
mod routes;
mod run;
mod runtime;
pub mod scratch;
mod server;
mod start;
mod supervisor;
mod suspension;
mod tracker;
mod unpack;
mod versions;
mod violation;
mod wanted;

use tokio::net::TcpListener;

pub use access::Access;
pub use concurrency::InvalidConcurrency;
pub use describe::{Description, describe};
pub use error::Error;
pub use invalid_request::InvalidRequest;
pub use kind::UnknownKind;
pub use launcher::LauncherError;
pub use layout::lay_out;
pub use memory_limit::MemoryLimitError;
pub use not_reusable::NotReusable;
pub use own_directory::wait_for_removals;
pub use package_error::PackageError;
pub use process::make_undumpable;
pub use process_end::ProcessEnd;
pub use start::StartError;
pub use violation::ProtocolViolation;

use crate::inherited::PackSocket;
use crate::runtime::Runtime;
use crate::server::Server;

/// Serves until `shutdown` resolves, then kills the program and returns when it has ended. Other packs of this machine
/// find this one by `socket`, if there is one.
pub async fn run(
    listener: TcpListener,
    access: Access,
    socket: Option<PackSocket>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let runtime = Runtime::new(socket);
    let server = Server::new(listener, routes::routes(runtime.clone(), access));
    let stopped = async {
        shutdown.await;
        runtime.stop().await;
    };
    tokio::select! {
        () = server.accept() => {}
        () = stopped => {}
    }
    server.stop().await;
}
