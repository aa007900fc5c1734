//! Loading from an S3 server by plain URLs, as from any server that answers range requests.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

use burst::data::{self, DataError};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::service::S3ServiceBuilder;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};

/// A server of the bucket `data`, which everyone may read; ends when dropped.
struct Server {
    directory: TempDir,
    port: u16,
    _runtime: Runtime,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        let files = s3s_fs::FileSystem::new(directory.path()).unwrap();
        let service = S3ServiceBuilder::new(files).build();
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let connection = Builder::new(TokioExecutor::new());
                    let _ = connection
                        .serve_connection(TokioIo::new(socket), service)
                        .await;
                });
            }
        });
        Self {
            directory,
            port,
            _runtime: runtime,
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.directory.path().join("data").join(name), bytes).unwrap();
        self.url(name)
    }

    fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/data/{name}", self.port)
    }
}

#[test]
fn an_object_is_loaded_once_by_each_pack() {
    let server = Server::start();
    let bytes: Vec<u8> = (0..100_003u32).map(|index| (index % 251) as u8).collect();
    for size in [0, 1, 3, bytes.len()] {
        let url = server.put("object", &bytes[..size]);
        let load = |url: String, burst: &burst::BurstContext| {
            let loaded = data::load(burst, &url)?;
            Ok((loaded.as_ptr() as usize, loaded.to_vec()))
        };
        let outputs = burst::testing::run(load, vec![url; 6], 3).unwrap();
        assert!(outputs.iter().all(|output| output.1 == bytes[..size]));
        if size > 0 {
            assert!(outputs[..3].iter().all(|output| output.0 == outputs[0].0));
        }
    }
}

#[test]
fn a_range_is_read() {
    let server = Server::start();
    let url = server.put("object", b"0123456789");
    assert_eq!(data::size(&url).unwrap(), 10);
    assert_eq!(data::read(&url, 2..5).unwrap(), b"234");
    assert_eq!(data::read(&url, 4..4).unwrap(), b"");
    let outside = data::read(&url, 5..11);
    assert!(matches!(
        outside,
        Err(DataError::OutOfRange { size: 10, .. })
    ));
}

#[test]
fn what_cannot_be_read_says_why_and_keeps_the_signature_secret() {
    let server = Server::start();
    let missing = format!("{}?X-Amz-Signature=hunter2", server.url("missing"));
    let error = data::size(&missing).unwrap_err().to_string();
    assert!(error.contains("/data/missing"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    let nobody = data::size("http://127.0.0.1:1/x").unwrap_err();
    assert!(matches!(nobody, DataError::Io { .. }), "{nobody}");
}
