//! A connection that is made anew when it broke.

use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use lapin::{Channel, ConnectionProperties};
use tokio::sync::Mutex;

use super::server::Server;
use crate::remote::patience::Patience;

/// How long the server may take to answer a request.
pub(super) const CONNECTING: Duration = Duration::from_secs(1);
/// How often who waits makes sure that the connection still stands.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// See the module's documentation.
pub(super) struct Connection {
    server: Server,
    open: Mutex<Option<Arc<lapin::Connection>>>,
}

/// A channel and the connection it belongs to, which does not always tell it that it broke.
#[derive(Clone)]
pub(super) struct Link {
    connection: Arc<lapin::Connection>,
    pub(super) channel: Channel,
}

impl Link {
    pub(super) fn is_up(&self) -> bool {
        self.connection.status().connected() && self.channel.status().connected()
    }

    /// The answer to what the connection was asked, which may take as long as a machine with much else to do takes,
    /// while the connection stands: whoever gave it up would be missed by others (docs/adr/0089). One that is dead and
    /// does not show it ends by its heartbeats, after twelve seconds.
    pub(super) async fn answer<T>(
        &self,
        answer: impl Future<Output = lapin::Result<T>>,
    ) -> lapin::Result<T> {
        while_it_stands(|| self.is_up(), answer).await
    }

    /// Whether the server has stopped taking messages, for lack of memory or disk.
    pub(super) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Link").field(&self.channel.id()).finish()
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connection").field(&self.server).finish()
    }
}

impl Connection {
    pub(super) fn to(server: Server) -> Self {
        Self {
            server,
            open: Mutex::default(),
        }
    }

    /// A new channel, made within a second or not at all: a connection that breaks in the middle
    /// of a request may leave it without an answer.
    pub(super) async fn link(&self) -> lapin::Result<Link> {
        self.link_within(CONNECTING).await
    }

    /// As `link`, with more time for a server that is far away or busy.
    pub(super) async fn link_within(&self, limit: Duration) -> lapin::Result<Link> {
        within(limit, self.make_link()).await
    }

    async fn make_link(&self) -> lapin::Result<Link> {
        let connection = {
            let mut open = self.open.lock().await;
            match &*open {
                Some(connection) if connection.status().connected() => Arc::clone(connection),
                _ => {
                    let runtime = lapin::runtime::default_runtime()?;
                    let properties = ConnectionProperties::default();
                    let connection = lapin::Connection::connect_uri_with_config(
                        self.server.uri(),
                        properties,
                        self.server.tls(),
                        runtime,
                    );
                    let connection = Arc::new(connection.await?);
                    *open = Some(Arc::clone(&connection));
                    connection
                }
            }
        };
        let channel = connection.create_channel().await?;
        Ok(Link {
            connection,
            channel,
        })
    }

    pub(super) async fn close(&self) {
        if let Some(connection) = self.open.lock().await.take() {
            let _ = connection.close(200, "done".into()).await;
        }
    }
}

/// The answer to what a connection is asked, which may break without saying so.
pub(super) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = lapin::Result<T>>,
) -> lapin::Result<T> {
    let mut patience = Patience::of(limit);
    while_it_stands(|| !patience.is_over(), answer).await
}

async fn while_it_stands<T>(
    mut stands: impl FnMut() -> bool,
    answer: impl Future<Output = lapin::Result<T>>,
) -> lapin::Result<T> {
    let mut answer = pin!(answer);
    loop {
        match tokio::time::timeout(LOOK, &mut answer).await {
            Ok(answer) => return answer,
            Err(_) if stands() => {}
            Err(_) => return Err(broken()),
        }
    }
}

/// What a connection that broke without saying so is reported as.
pub(super) fn broken() -> lapin::Error {
    Error::from(ErrorKind::ConnectionReset).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::future;

    use super::*;

    fn run<T>(task: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(task)
    }

    #[test]
    fn an_answer_is_waited_for_while_the_connection_stands() {
        let late = async {
            tokio::time::sleep(LOOK * 3).await;
            Ok(7)
        };
        assert_eq!(run(while_it_stands(|| true, late)).unwrap(), 7);
        let never = future::pending::<lapin::Result<()>>();
        assert!(run(while_it_stands(|| false, never)).is_err());
    }
}
