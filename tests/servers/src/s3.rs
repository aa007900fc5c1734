//! An S3 service in this process, over a directory, on a port of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hyper::Method;
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;

pub use crate::s3_files::Behavior;
use crate::s3_files::Files;

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
    sent_bytes: Arc<AtomicU64>,
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
        Self::of(host, Behavior::default(), true)
    }

    /// Starts a service that differs from Amazon's.
    pub fn start_with(behavior: Behavior) -> Self {
        Self::of("127.0.0.1", behavior, true)
    }

    /// Starts a service that everybody can read and write, without a signature.
    pub fn open() -> Self {
        Self::of("127.0.0.1", Behavior::default(), false)
    }

    /// Like [`open`](Self::open), at one of this machine's addresses, and fast: for benchmarks of what reads from it.
    pub fn fast(host: &str) -> Self {
        let behavior = Behavior {
            fast: true,
            ..Behavior::default()
        };
        Self::of(host, behavior, false)
    }

    fn of(host: &str, behavior: Behavior, signed: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(BUCKET)).unwrap();
        let files = Files::new(directory.path(), behavior);
        let mut service = S3ServiceBuilder::new(files);
        if signed {
            service.set_auth(SimpleAuth::from_single("key", SECRET));
        }
        let service = service.build();
        let requests: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
        let sent_bytes = Arc::<AtomicU64>::default();
        let counters = (Arc::clone(&requests), Arc::clone(&sent_bytes));
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        if !behavior.fast {
            runtime.worker_threads(1);
        }
        let runtime = runtime.enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind((host, 0))).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else {
                    continue;
                };
                let (service, (counts, sent_bytes)) = (service.clone(), counters.clone());
                let service = service_fn(move |request: hyper::Request<Incoming>| {
                    let method = request.method().clone();
                    let count = method.to_string();
                    *counts.lock().unwrap().entry(count).or_default() += 1;
                    let (answer, sent_bytes) =
                        (Service::call(&service, request), Arc::clone(&sent_bytes));
                    async move {
                        let answer = answer.await?;
                        if method == Method::GET {
                            let length = answer.headers().get(CONTENT_LENGTH);
                            let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
                            sent_bytes.fetch_add(length.unwrap_or(0), Ordering::Relaxed);
                        }
                        Ok::<_, s3s::HttpError>(answer)
                    }
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
            sent_bytes,
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
        format!("http://{}/{BUCKET}/{name}", self.address())
    }

    /// The file that is the object of this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory().join(BUCKET).join(name)
    }

    /// The directory of the objects, by bucket.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where it listens, as `host:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The number of requests so far, by method.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of bytes in the answers to GET requests so far.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    /// Sends a request for an object of a server, and returns the answer.
    fn get(server: &S3Server, name: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let host = server.address();
        write!(
            stream,
            "GET /{BUCKET}/{name} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_fast_server_counts_the_bytes_it_sends() {
        let server = S3Server::fast("127.0.0.1");
        std::fs::write(server.file("object"), "0123456789").unwrap();
        let whole = get(&server, "object", "");
        assert!(whole.starts_with("HTTP/1.1 200"), "{whole}");
        assert!(whole.ends_with("\r\n\r\n0123456789"), "{whole}");
        assert_eq!(server.sent_bytes(), 10);
        let part = get(&server, "object", "Range: bytes=2-4\r\n");
        assert!(part.starts_with("HTTP/1.1 206"), "{part}");
        assert!(part.contains("bytes 2-4/10"), "{part}");
        assert!(part.ends_with("\r\n\r\n234"), "{part}");
        assert_eq!(server.sent_bytes(), 13);
    }

    #[test]
    fn a_fast_server_serves_only_files_in_its_directory() {
        let server = S3Server::fast("127.0.0.1");
        for name in ["none", "../../etc/passwd", "..%2F..%2Fetc%2Fpasswd"] {
            let answer = get(&server, name, "");
            assert!(answer.starts_with("HTTP/1.1 4"), "{name}: {answer}");
        }
    }
}
