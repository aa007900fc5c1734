//! Packages as users upload them, and broken ones.

use std::io::{Cursor, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Body of a `PUT` that deploys these bytes.
pub fn definition(code: &[u8]) -> Value {
    json!({"exec": {"kind": "rust", "code": STANDARD.encode(code)}})
}

/// A zip with one executable file.
pub fn zip_of(name: &str, content: &[u8]) -> Vec<u8> {
    zip_of_all(&[(name, content)])
}

/// A zip with files that are all executable.
pub fn zip_of_all(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer
            .start_file(*name, SimpleFileOptions::default().unix_permissions(0o755))
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The executable, as if built for 64-bit ARM (or, on an ARM machine, for x86-64).
pub fn for_another_machine(mut elf: Vec<u8>) -> Vec<u8> {
    const MACHINE: usize = 18;
    const X86_64: u8 = 0x3E;
    const AARCH64: u8 = 0xB7;
    assert_eq!(&elf[..4], b"\x7fELF");
    elf[MACHINE] = if elf[MACHINE] == X86_64 {
        AARCH64
    } else {
        X86_64
    };
    elf
}

/// The executable, as if linked against a future C library: one version it needs is renamed to
/// `GLIBC_9.99`.
pub fn needing_a_newer_c_library(mut elf: Vec<u8>) -> Vec<u8> {
    const FUTURE: &[u8] = b"GLIBC_9.99\0";
    let is_version = |bytes: &[u8]| {
        bytes.starts_with(b"GLIBC_2.")
            && bytes[8].is_ascii_digit()
            && bytes[9].is_ascii_digit()
            && bytes[10] == 0
    };
    let at = elf
        .windows(FUTURE.len())
        .position(is_version)
        .expect("a GLIBC_2.nn version");
    let old = elf_hash(&elf[at..at + FUTURE.len() - 1]);
    elf[at..at + FUTURE.len()].copy_from_slice(FUTURE);
    // A version is also referred to by its hash; both are changed so that the file stays
    // consistent.
    let new = elf_hash(&FUTURE[..FUTURE.len() - 1]).to_le_bytes();
    for index in (0..elf.len() - 4).step_by(4) {
        if elf[index..index + 4] == old.to_le_bytes() {
            elf[index..index + 4].copy_from_slice(&new);
        }
    }
    elf
}

/// The hash of symbol version names, as defined by the System V ABI.
fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(*byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_refuses_the_patched_elf_files() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let run = |elf: Vec<u8>| {
            let path = directory.path().join("patched");
            std::fs::write(&path, elf).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&path, mode).unwrap();
            // A concurrent test may fork while the file is open for writing, and the child then
            // holds it open for a moment longer: busy is not a result.
            crate::wait::until("the file is free", crate::wait::SOON, || {
                let ran = std::process::Command::new(&path).arg("--list").output();
                let busy = std::io::ErrorKind::ExecutableFileBusy;
                (!matches!(&ran, Err(cause) if cause.kind() == busy)).then_some(ran)
            })
        };
        let future = run(needing_a_newer_c_library(own.clone())).unwrap();
        let stderr = String::from_utf8_lossy(&future.stderr);
        assert!(
            stderr.contains("version `GLIBC_9.99' not found"),
            "{stderr}"
        );
        const EXEC_FORMAT: i32 = 8;
        let foreign = run(for_another_machine(own)).unwrap_err();
        assert_eq!(foreign.raw_os_error(), Some(EXEC_FORMAT));
    }
}
