//! A connection that is opened again when it breaks.

use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use lapin::{Channel, ConnectionProperties};
use tokio::sync::Mutex;

use super::server::Server;
use crate::remote::runtime;

/// How long the server may take to answer a request.
pub(super) const CONNECTING: Duration = Duration::from_secs(1);

/// See the module's documentation.
pub(super) struct Connection {
    server: Server,
    open: Mutex<Option<Arc<lapin::Connection>>>,
}

/// A channel and its connection, which does not always notify the channel when it breaks.
#[derive(Clone)]
pub(super) struct Link {
    connection: Arc<lapin::Connection>,
    pub(super) channel: Channel,
}

impl Link {
    pub(super) fn is_up(&self) -> bool {
        self.connection.status().connected() && self.channel.status().connected()
    }

    /// Waits for the answer to a request while the connection stands, however long a busy machine
    /// takes: a pack that gave the connection up would be taken for lost (docs/adr/0089). A dead
    /// connection that shows no error is ended by its heartbeats, after twelve seconds.
    pub(super) async fn answer<T>(
        &self,
        answer: impl Future<Output = lapin::Result<T>>,
    ) -> lapin::Result<T> {
        let answer = runtime::wait_while(|| self.is_up(), answer).await;
        answer.unwrap_or_else(|| Err(broken()))
    }

    /// Whether the server has stopped accepting messages, for lack of memory or disk.
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

    /// Opens a new channel, within a second or not at all: a connection that breaks in the middle
    /// of a request may leave it without an answer.
    pub(super) async fn link(&self) -> lapin::Result<Link> {
        self.link_within(CONNECTING).await
    }

    /// Like `link`, with more time for a server that is far away or busy.
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

/// Waits at most `limit` for the answer to a request on a connection that may break without notice.
pub(super) async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = lapin::Result<T>>,
) -> lapin::Result<T> {
    let answer = runtime::within(limit, answer).await;
    answer.unwrap_or_else(|| Err(broken()))
}

/// The error for a connection that broke without notice.
pub(super) fn broken() -> lapin::Error {
    Error::from(ErrorKind::ConnectionReset).into()
}
