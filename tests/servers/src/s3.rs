//! An S3 service in this process, over a directory, on a port of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::s3_files::Files;
pub use crate::s3_files::Manners;

/// The secret key that gives access to everything on it, with the access key `key`.
pub const SECRET: &str = "s3-secret-of-tests";
/// Its only bucket.
pub const BUCKET: &str = "messages";

/// An S3 service. It ends when dropped.
#[derive(Debug)]
pub struct S3Server {
    host: String,
    port: u16,
    requests: Arc<Mutex<BTreeMap<String, u64>>>,
    directory: TempDir,
    runtime: Option<tokio::runtime::Runtime>,
}

impl S3Server {
    /// Returns the service shared by all tests that do not harm it or count its requests.
    pub fn shared() -> &'static Self {
        static SERVER: OnceLock<S3Server> = OnceLock::new();
        SERVER.get_or_init(Self::start)
    }

    /// Starts a service reachable from this machine only.
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// Starts a service at one of this machine's addresses.
    pub fn start_at(host: &str) -> Self {
        Self::of(host, Manners::default(), true)
    }

    /// Starts a service that differs from Amazon's.
    pub fn start_with(manners: Manners) -> Self {
        Self::of("127.0.0.1", manners, true)
    }

    /// Starts a service that everybody can read and write, without a signature.
    pub fn open() -> Self {
        Self::of("127.0.0.1", Manners::default(), false)
    }

    fn of(host: &str, manners: Manners, signed: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let files = Files::new(directory.path(), manners);
        let mut service = S3ServiceBuilder::new(files);
        if signed {
            service.set_auth(SimpleAuth::from_single("key", SECRET));
        }
        let service = service.build();
        let requests: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
        let counts = Arc::clone(&requests);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind((host, 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    continue;
                };
                let (service, counts) = (service.clone(), Arc::clone(&counts));
                let service = service_fn(move |request: hyper::Request<Incoming>| {
                    let method = request.method().to_string();
                    *counts.lock().unwrap().entry(method).or_default() += 1;
                    Service::call(&service, request)
                });
                tokio::spawn(async move {
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Self {
            host: host.to_owned(),
            port,
            requests,
            directory,
            runtime: Some(runtime),
        }
    }

    /// `s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=http://HOST:PORT`.
    pub fn uri(&self) -> String {
        self.uri_at(self.port)
    }

    /// The address of the service through another port.
    pub fn uri_at(&self, port: u16) -> String {
        format!(
            "s3://key:{SECRET}@{BUCKET}/some/where?region=us-east-1&endpoint=http://{}:{port}",
            self.host
        )
    }

    /// The URL of the object of this name.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}:{}/{BUCKET}/{name}", self.host, self.port)
    }

    /// The file that is the object of this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory().join(BUCKET).join(name)
    }

    /// The directory of the objects, by bucket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of requests so far, by method.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.lock().unwrap().clone()
    }

    /// The names of all objects under a prefix, in order.
    pub fn objects(&self, prefix: &str) -> Vec<String> {
        let mut found = objects_in(self.directory());
        found.retain(|name| name.starts_with(prefix));
        found
    }

    /// Ends the service and all its connections.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The names of all objects in the bucket of a service with this directory, in order.
pub(crate) fn objects_in(directory: &Path) -> Vec<String> {
    let root = directory.join(BUCKET);
    let mut found = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => directories.push(path),
                path => {
                    let name = path.strip_prefix(&root).unwrap_or(&path);
                    found.push(name.to_string_lossy().into_owned());
                }
            }
        }
    }
    found.sort();
    found
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
