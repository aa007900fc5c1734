//! The locations of the built artefacts under test, with a hint on what to run if they are missing.

use std::path::{Path, PathBuf};

/// Root of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file of the distribution, such as `bin/burst`.
#[track_caller]
pub fn dist(file: &str) -> PathBuf {
    let path = repository().join("dist").join(file);
    assert!(
        path.is_file(),
        "{} is missing: run `make build` first",
        path.display()
    );
    path
}

/// A program of `tests/programs/`, as an executable.
#[track_caller]
pub fn program(name: &str) -> PathBuf {
    dist(&format!("examples/{name}"))
}

/// The environment in which users' crates are built: dependencies they share are compiled only once, quickly rather
/// than optimised, and without a network. They are shared only if they are compiled with the same settings, in this
/// workspace or outside it.
pub fn as_users_build() -> [(&'static str, String); 4] {
    let target = repository().join("target/users");
    [
        ("CARGO_TARGET_DIR", target.to_str().unwrap().to_owned()),
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0".to_owned()),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16".to_owned()),
        ("CARGO_NET_OFFLINE", "true".to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_test_file_belongs_to_a_test_program() {
        let tests = repository().join("tests/tests");
        let manifest = fs::read_to_string(repository().join("tests/Cargo.toml")).unwrap();
        let (programs, files): (Vec<_>, Vec<_>) = fs::read_dir(&tests)
            .unwrap()
            .map(|it| it.unwrap().path())
            // A directory with a main file is a separate program, which `make test` does not run.
            .filter(|it| !it.join("main.rs").exists())
            .partition(|it| {
                let file = it.file_name().unwrap().to_str().unwrap();
                manifest.contains(&format!("path = \"tests/{file}\""))
            });
        assert!(!programs.is_empty(), "no program in {}", tests.display());
        let modules: String = programs
            .iter()
            .map(|program| fs::read_to_string(program).unwrap())
            .collect();
        for file in files {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let known = modules.contains(&format!("mod {name};"));
            assert!(known, "{name} is in no program");
        }
    }
}
