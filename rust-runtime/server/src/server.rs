//! The runtime's port: takes connections in, and ends those that cost more than they are worth.
//!
//! Whoever reaches the port may connect. Until the token was shown a connection has little memory
//! ([`limits::HEADER`]) and little time ([`limits::AUTHENTICATION`]), and makes room for others.

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

    /// Takes connections in. Never comes back.
    pub(crate) async fn accept(&self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => {
                    if let Some((connection, evicted)) = self.connections.admit(from.ip()) {
                        self.serve(stream, connection, evicted);
                    }
                    // Whoever is here already is answered before another one comes.
                    tokio::task::yield_now().await;
                }
                // Of a connection that is gone already; or there are no descriptors left, and there may be later.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => sleep(limits::ACCEPT_AGAIN).await,
            }
        }
    }

    /// Gives open connections a moment to deliver their last events.
    pub(crate) async fn stop(self) {
        drop(self.listener);
        self.stopping.cancel();
        self.serving.close();
        let _ = timeout(limits::DYING, self.serving.wait()).await;
    }

    fn serve(&self, stream: TcpStream, connection: Arc<Connection>, mut evicted: Evicted) {
        // Events are small and must not wait for each other; without it they are only late.
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
                    // What has come is read before its time is up: the machine may have been busy.
                    biased;
                    // An error is the caller's, who has broken off or sent what is no HTTP.
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
