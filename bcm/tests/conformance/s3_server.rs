//! An S3 service in this process, over a directory, on a port of its own.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;

pub const SECRET: &str = "conformance-secret";
const BUCKET: &str = "messages";

/// Ends when dropped.
pub struct S3Server {
    host: String,
    port: u16,
    requests: Arc<Mutex<BTreeMap<String, u64>>>,
    directory: TempDir,
    runtime: Option<tokio::runtime::Runtime>,
}

/// One service serves all tests that do not harm it or count its requests.
pub fn shared() -> &'static S3Server {
    static SERVER: OnceLock<S3Server> = OnceLock::new();
    SERVER.get_or_init(S3Server::start)
}

impl S3Server {
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// At one of this machine's addresses.
    pub fn start_at(host: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let files = s3s_fs::FileSystem::new(directory.path()).unwrap();
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single("key", SECRET));
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

    pub fn uri(&self) -> String {
        self.uri_at(self.port)
    }

    /// The address of the service as seen through another port.
    pub fn uri_at(&self, port: u16) -> String {
        format!(
            "s3://key:{SECRET}@{BUCKET}/some/where?region=us-east-1&endpoint=http://{}:{port}",
            self.host
        )
    }

    /// Where the objects are, by bucket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Requests by method so far.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.lock().unwrap().clone()
    }

    /// The names of all objects under a prefix, without the service's own notes.
    pub fn objects(&self, prefix: &str) -> Vec<String> {
        let root = self.directory().join(BUCKET);
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        found.retain(|name| name.starts_with(prefix));
        found.sort();
        found
    }

    /// Ends the service, connections and all.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn walk(root: &Path, directory: &Path, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(root, &path, found);
        } else {
            found.push(
                path.strip_prefix(root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
