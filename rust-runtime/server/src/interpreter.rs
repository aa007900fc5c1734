//! An interpreter that is started before anybody has said which function it is to run: what it takes to come up is more
//! than most functions take.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::time::timeout;

use crate::environment::Environment;
use crate::kind::Language;
use crate::launcher::LauncherError;
use crate::package::Package;
use crate::process::{self, Started, Starting};
use crate::{launcher, limits};

/// One that runs nothing yet. When this is dropped its control socket is closed, and it ends.
pub(crate) struct Interpreter {
    language: Language,
    starting: Starting,
}

impl Interpreter {
    /// Begins to start one. Blocks on files.
    pub(crate) fn start(
        language: Language,
        listener: Option<Arc<OwnedFd>>,
    ) -> Result<Self, LauncherError> {
        let command = launcher::script(&language)?;
        let starting = process::start(command, &Environment::default(), 1, listener)?;
        Ok(Self { language, starting })
    }

    /// This interpreter, if it is still there and as it would be started for this package. Any other is killed: variables
    /// may be the interpreter's as well as the function's, and each lane is a socket. Nobody waits until it is gone, as it
    /// runs nothing any more.
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

    /// Kills it, and waits until it is gone, if that does not take too long.
    pub(crate) async fn end(self) {
        if let Ok(Ok(started)) = timeout(limits::DYING, self.starting.started()).await {
            started.group.end().await;
        }
    }
}
