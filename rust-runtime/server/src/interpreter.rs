//! An interpreter that is started before it is known which function it will run: starting one takes longer than most
//! functions.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::time::timeout;

use crate::environment::Environment;
use crate::kind::Language;
use crate::launcher::LauncherError;
use crate::package::Package;
use crate::process::{self, Started, Starting};
use crate::{launcher, limits};

/// An interpreter that runs nothing yet. Dropping this closes its control socket, which ends it.
pub(crate) struct Interpreter {
    language: Language,
    starting: Starting,
}

impl Interpreter {
    /// Begins to start an interpreter. Blocks on file I/O.
    pub(crate) fn start(
        language: Language,
        listener: Option<Arc<OwnedFd>>,
    ) -> Result<Self, LauncherError> {
        let command = launcher::script(&language)?;
        let starting = process::start(command, &Environment::default(), 1, listener)?;
        Ok(Self { language, starting })
    }

    /// Returns this interpreter, if it is still alive and is what would be started for this package. Otherwise kills
    /// it: variables may affect the interpreter as well as the function, and each lane is a socket. Its end is not
    /// waited for, as it runs nothing any more.
    pub(crate) async fn take(
        self,
        package: &Package,
        environment: &Environment,
    ) -> Option<Started> {
        let fits = package.language() == Some(&self.language)
            && package.lanes() == 1
            && environment.is_empty();
        let started = self.starting.started().await.ok()?;
        if fits && started.group.number().is_some() {
            return Some(started);
        }
        started.group.kill();
        None
    }

    /// Kills it, and waits for its end for a limited time.
    pub(crate) async fn end(self) {
        if let Ok(Ok(started)) = timeout(limits::DYING, self.starting.started()).await {
            started.group.end().await;
        }
    }
}
