//! The runtime's port: accepts connections, and ends those that take up too much.
//!
//! Anyone who reaches the port can connect. Until it has authenticated with the token a connection has little memory
//! ([`limits::HEADER`]) and little time ([`limits::AUTHENTICATION`]), and may be evicted for others.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connections::{Connection, Connections, Evicted};
use crate::limits;

/// Answers on a port until [`Server::stop`].
pub(crate) struct Server {
    listener: TcpListener,
    router: Router,
    connections: Connections,
    serving: TaskTracker,
    stopping: CancellationToken,
}

impl Server {
    pub(crate) fn new(listener: TcpListener, router: Router) -> Self {
        Self {
            listener,
            router,
            connections: Connections::default(),
            serving: TaskTracker::new(),
            stopping: CancellationToken::new(),
        }
    }

    /// Accepts connections. Never returns.
    pub(crate) async fn accept(&self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    if let Some((connection, evicted)) = self.connections.admit(from.ip()) {
                        self.serve(stream, connection, evicted);
                    }
                    // Open connections are served before another one is accepted.
                    tokio::task::yield_now().await;
                }
                // The connection has already gone. Any other error may pass: there may be descriptors again later.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => sleep(limits::ACCEPT_AGAIN).await,
            }
        }
    }

    /// Stops accepting connections, and gives open ones a moment to deliver their last events.
    pub(crate) async fn stop(self) {
        drop(self.listener);
        self.stopping.cancel();
        self.serving.close();
        let _ = timeout(limits::DYING, self.serving.wait()).await;
    }

    fn serve(&self, stream: TcpStream, connection: Arc<Connection>, mut evicted: Evicted) {
        // Events are small and must not wait for each other; if this fails they are only late.
        let _ = stream.set_nodelay(true);
        let (router, stopping) = (self.router.clone(), self.stopping.clone());
        self.serving.spawn(async move {
            let answering = TowerToHyperService::new(router);
            let caller = Arc::clone(&connection);
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(Arc::clone(&caller));
                answering.call(request)
            });
            let mut builder = http1::Builder::new();
            builder.max_buf_size(limits::HEADER);
            let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
            let mut token_deadline = pin!(sleep(limits::AUTHENTICATION));
            let (mut unauthenticated, mut open) = (true, true);
            loop {
                tokio::select! {
                    // What has arrived is read before the time is up, as the machine may have been busy.
                    biased;
                    // An error is the caller's fault, who has hung up or sent something other than HTTP.
                    _ = serving.as_mut() => return,
                    _ = &mut evicted => return,
                    () = token_deadline.as_mut(), if unauthenticated => {
                        unauthenticated = false;
                        if !connection.is_trusted() {
                            return;
                        }
                    }
                    () = stopping.cancelled(), if open => {
                        open = false;
                        serving.as_mut().graceful_shutdown();
                    }
                }
            }
        });
    }
}
