//! The reference inside one machine: small Open MPI programs, compiled here.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Runs a program of `benchmarks/reference/mpi` on `ranks` processes; gives what it printed, in
/// nanoseconds.
pub fn run(program: &str, ranks: u32, arguments: &[String]) -> Vec<f64> {
    let output = Command::new("mpirun")
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(ranks.to_string())
        .arg(executable(program))
        .args(arguments)
        .output()
        .expect("mpirun is needed: install openmpi-bin");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn executable(program: &str) -> PathBuf {
    static DIRECTORY: OnceLock<TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| TempDir::new().unwrap());
    let executable = directory.path().join(program);
    if !executable.exists() {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../reference/mpi")
            .join(program)
            .with_extension("c");
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
