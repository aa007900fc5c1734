//! The S3 server of the tests, as a process that ends with them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::{built, docker};

/// A running server with an empty bucket; dropping it stops it.
#[derive(Debug)]
pub struct S3 {
    child: Child,
    uri: String,
    key: String,
    secret: String,
    bucket: String,
    endpoint: String,
    directory: PathBuf,
}

impl S3 {
    /// A fresh server, for who runs on this machine.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_at("127.0.0.1")
    }

    /// A fresh server, which packs in containers reach.
    #[track_caller]
    pub fn start_for_docker() -> Self {
        Self::start_at(&docker::bridge_gateway())
    }

    #[track_caller]
    fn start_at(host: &str) -> Self {
        let build = ["debug", "release"]
            .iter()
            .map(|build| built::repository().join(format!("target/{build}/burst-s3-server")));
        let program = build.into_iter().find(|program| program.is_file()).expect(
            "the S3 server is not built: run `cargo build -p burst-s3-server`; `tests/prepare.sh` does",
        );
        let mut child = Command::new(program)
            .arg(host)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let (said, directory) = (line(), line());
        // s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=…
        let (access, rest) = said.strip_prefix("s3://").unwrap().split_once('@').unwrap();
        let (key, secret) = access.split_once(':').unwrap();
        let (place, _) = rest.split_once('?').unwrap();
        let (_, endpoint) = rest.split_once("endpoint=").unwrap();
        Self {
            uri: said.clone(),
            key: key.to_owned(),
            secret: secret.to_owned(),
            bucket: place.split('/').next().unwrap().to_owned(),
            endpoint: endpoint.split('&').next().unwrap().to_owned(),
            directory: directory.into(),
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

    /// What its bucket is called.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        self.endpoint.trim_start_matches("http://")
    }

    /// The names of all objects in its bucket, with the bucket's.
    pub fn objects(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut directories = vec![self.directory.join(&self.bucket)];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => directories.push(path),
                    path => names.push(self.name(&path)),
                }
            }
        }
        names.sort();
        names
    }

    fn name(&self, file: &Path) -> String {
        let name = file.strip_prefix(&self.directory).unwrap_or(file);
        name.to_string_lossy().into_owned()
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
