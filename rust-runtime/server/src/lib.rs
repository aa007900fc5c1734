//! The runtime in a pack: an HTTP server that starts the user's program, supervises it and
//! reports what its workers do.
//!
//! | idea | file |
//! | --- | --- |
//! | HTTP calls, and who may make them | `routes`, `access` |
//! | what the runtime is doing | `runtime` |
//! | finding or unpacking a package | `init`, `package` |
//! | the program: start, hello, what its end means | `supervisor`, `process`, `memory` |
//! | what comes from it | `control` (frames), `logs` (pipes) |
//! | one flare | `pack` (time, orders, kills), `tracker` (what is true of each worker) |
//! | a single function as OpenWhisk calls it | `run` |
//! | processes that the program leaves behind | [`orphans`] |

mod access;
mod admission;
mod allowance;
mod checks;
mod control;
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
mod routes;
mod run;
mod runtime;
mod supervisor;
mod tracker;

use std::io;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;

pub use access::Access;
pub use describe::{Description, describe};
pub use error::Error;
pub use package::PackageError;
pub use process::keep_from_others;

use crate::runtime::Runtime;

/// Serves until `shutdown` resolves, then kills the program and returns when it is gone.
///
/// # Errors
/// When accepting connections fails.
pub async fn run(
    listener: TcpListener,
    access: Access,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let runtime = Runtime::default();
    let stopping = runtime.clone();
    let listener = listener.tap_io(|connection| {
        // Events are small and must not wait for each other; without it they are only late.
        let _ = connection.set_nodelay(true);
    });
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let serving = axum::serve(listener, routes::routes(runtime, access))
        .with_graceful_shutdown(async move {
            shutdown.await;
            stopping.stop().await;
            let _ = stop.send(());
        })
        .into_future();
    // Once stopped, open connections have a moment to deliver their last events.
    let overtime = async {
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(limits::DYING).await;
    };
    tokio::select! {
        result = serving => result,
        () = overtime => Ok(()),
    }
}
