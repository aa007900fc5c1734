//! The reference inside one machine: small Open MPI programs, compiled here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Nanoseconds by number of bytes.
pub type Times = BTreeMap<usize, Vec<f64>>;

/// A size of messages, and how often it is measured.
#[derive(Clone, Copy)]
pub struct Size {
    pub bytes: usize,
    /// Rounds per sample.
    pub rounds: u32,
    pub samples: usize,
}

/// Runs an operation of `benchmarks/reference/mpi/operations.c` on `ranks` processes.
pub fn run(operation: &str, ranks: u32, sizes: &[Size]) -> Times {
    let output = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(ranks.to_string())
        .arg(executable())
        .arg(operation)
        .args(sizes.iter().map(|size| {
            let Size {
                bytes,
                rounds,
                samples,
            } = size;
            format!("{bytes}:{rounds}:{samples}")
        }))
        .output()
        .expect("mpirun is needed: install openmpi-bin");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut times = Times::new();
    for line in text.lines() {
        let (bytes, time) = line.split_once(' ').unwrap();
        let series = times.entry(bytes.parse().unwrap()).or_default();
        series.push(time.parse().unwrap());
    }
    times
}

fn executable() -> PathBuf {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| TempDir::new().unwrap());
    let executable = directory.path().join("operations");
    if !executable.exists() {
        let source =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../reference/mpi/operations.c");
        let status = Command::new("mpicc")
            .arg("-O2")
            .arg("-o")
            .args([&executable, &source])
            .status()
            .expect("mpicc is needed: install libopenmpi-dev");
        assert!(status.success());
    }
    executable
}
