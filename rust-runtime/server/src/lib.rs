//! The runtime in a pack: an HTTP server that starts the user's program, supervises it and
//! reports what its workers do.
//!
//! | idea | file |
//! | --- | --- |
//! | the port, and who may stay connected to it | `server`, `connections` |
//! | HTTP calls, and who may make them | `routes`, `access`, `body` |
//! | what the runtime is doing | `runtime` |
//! | finding or unpacking a package | `init`, `package` |
//! | the program: start, hello, what its end means | `supervisor`, `process`, `memory` |
//! | what comes from it | `control` (frames), `logs` (pipes) |
//! | one flare | `pack` (time, orders, kills), `checks`, `tracker` and `breach` (what may be true of what is said) |
//! | a single function as OpenWhisk calls it | `run` |
//! | what a flare leaves behind | [`rest`], [`orphans`], `descendants`, `spent` |

mod access;
mod admission;
mod allowance;
mod body;
mod breach;
mod checks;
mod connections;
mod control;
mod descendants;
mod describe;
mod error;
mod init;
mod journal;
mod limits;
mod logs;
mod memory;
pub mod orphans;
mod output;
mod pack;
mod package;
mod process;
pub mod rest;
mod routes;
mod run;
mod runtime;
mod server;
mod spent;
mod supervisor;
mod tracker;

use tokio::net::TcpListener;

pub use access::Access;
pub use allowance::AllowanceError;
pub use breach::Breach;
pub use describe::{Description, describe};
pub use error::Error;
pub use package::PackageError;
pub use process::keep_from_others;
pub use spent::Spent;
pub use supervisor::StartError;

use crate::runtime::Runtime;
use crate::server::Server;

/// Serves until `shutdown` resolves, then kills the program and returns when it is gone.
pub async fn run(
    listener: TcpListener,
    access: Access,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    let runtime = Runtime::default();
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
