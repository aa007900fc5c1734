//! Checks whether some bytes are a program for Linux. Whether its machines can run the program, the platform decides.

use object::{BinaryFormat, File, Object, ObjectKind};

use super::error::PackageError;

/// Checks before the upload what the platform would otherwise find out later.
pub fn check(bytes: &[u8], name: &str) -> Result<(), PackageError> {
    let name = || name.to_owned();
    let file = File::parse(bytes).map_err(|_| PackageError::NotExecutable(name()))?;
    if file.format() != BinaryFormat::Elf {
        return Err(PackageError::OtherFormat {
            name: name(),
            format: file.format(),
        });
    }
    // Position-independent executables look like libraries, except that they have an entry.
    let runs = match file.kind() {
        ObjectKind::Executable => true,
        ObjectKind::Dynamic => file.entry() != 0,
        _ => false,
    };
    if !runs {
        return Err(PackageError::NotRunnable(name()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn own() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    fn refusal(bytes: &[u8]) -> String {
        check(bytes, "x").unwrap_err().to_string()
    }

    #[test]
    fn this_program_is_an_executable() {
        check(&own(), "x").unwrap();
    }

    #[test]
    fn other_files_are_refused() {
        assert!(refusal(b"#!/bin/sh\n").starts_with("x is not an executable"));
        assert!(refusal(&own()[..30]).starts_with("x is not an executable"));
        let mut object = own();
        // e_type: relocatable.
        object[16] = 1;
        assert!(refusal(&object).contains("not an executable"));
    }
}
