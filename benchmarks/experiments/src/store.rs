//! An S3 server in this process that counts the bytes it gives out. Everyone who reaches it may read and write.

use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::service::S3ServiceBuilder;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};

const BUCKET: &str = "data";

/// Ends when dropped.
pub struct Store {
    address: String,
    directory: TempDir,
    given: Arc<AtomicU64>,
    _runtime: Runtime,
}

impl Store {
    /// A server on a free port of this address.
    pub fn start(host: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let files = s3s_fs::FileSystem::new(directory.path()).unwrap();
        let service = S3ServiceBuilder::new(files).build();
        let runtime = runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind((host, 0))).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let given = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&given);
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (service, counter) = (service.clone(), Arc::clone(&counter));
                let service = service_fn(move |request: Request<Incoming>| {
                    let get = request.method() == Method::GET;
                    let (answer, counter) =
                        (Service::call(&service, request), Arc::clone(&counter));
                    async move {
                        let answer = answer.await?;
                        let length = answer.headers().get(CONTENT_LENGTH);
                        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
                        if get {
                            counter.fetch_add(length.unwrap_or(0), Ordering::Relaxed);
                        }
                        Ok::<_, s3s::HttpError>(answer)
                    }
                });
                tokio::spawn(async move {
                    let connection = Builder::new(TokioExecutor::new());
                    let _ = connection
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Self {
            address,
            directory,
            given,
            _runtime: runtime,
        }
    }

    /// The URL of an object, or of what the names of several begin with.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{BUCKET}/{name}", self.address)
    }

    /// The file that is the object of this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(BUCKET).join(name)
    }

    /// Bytes of all objects given out so far.
    pub fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }
}
