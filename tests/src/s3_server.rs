//! The S3 server of the tests, as a process that ends with them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::built;

/// A running server with an empty bucket; dropping it stops it.
#[derive(Debug)]
pub struct S3 {
    child: Child,
    uri: String,
    key: String,
    secret: String,
    bucket: String,
    endpoint: String,
}

impl S3 {
    /// A fresh server, for who runs on this machine.
    #[track_caller]
    pub fn start() -> Self {
        let build = ["debug", "release"]
            .iter()
            .map(|build| built::repository().join(format!("target/{build}/burst-s3-server")));
        let program = build.into_iter().find(|program| program.is_file()).expect(
            "the S3 server is not built: run `cargo build -p burst-s3-server`; `tests/prepare.sh` does",
        );
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        // s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=…
        let (access, rest) = said
            .trim()
            .strip_prefix("s3://")
            .unwrap()
            .split_once('@')
            .unwrap();
        let (key, secret) = access.split_once(':').unwrap();
        let (place, _) = rest.split_once('?').unwrap();
        let (_, endpoint) = rest.split_once("endpoint=").unwrap();
        Self {
            uri: said.trim().to_owned(),
            key: key.to_owned(),
            secret: secret.to_owned(),
            bucket: place.split('/').next().unwrap().to_owned(),
            endpoint: endpoint.split('&').next().unwrap().to_owned(),
            child,
        }
    }

    /// What makes it a backend.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// What opens everything on it.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The settings of a controller that keeps its packages here.
    pub fn settings(&self) -> String {
        format!(
            "burst.store.s3 {{ url = \"s3://{}/packages\", endpoint = \"{}\", access-key = \"{}\", \
             secret-key = \"{}\" }}\n",
            self.bucket, self.endpoint, self.key, self.secret
        )
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
