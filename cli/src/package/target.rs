//! The target that a crate is built for: the platform's machines can differ from this one.

use std::env;
use std::env::consts::{ARCH, OS};
use std::process::Command;

use burst_client::Client;

use crate::error::Error;

/// Returns the given target; else none if this is Linux on the platform's processor; else musl, whose programs bring
/// their C library. Which version of the C library a program needs is only known once it is built: the platform rejects
/// a program that needs a newer one than it has, and suggests musl.
pub fn choose(given: Option<&str>, client: &Client) -> Result<Option<String>, Error> {
    if let Some(given) = given {
        return Ok(Some(given.into()));
    }
    let invokers = client.list_invokers()?.read()?;
    let processors = invokers.into_iter().map(|invoker| invoker.runtime.arch);
    foreign(OS, processors.collect())
}

/// Returns the target to build for, if the platform cannot run this system's own programs.
fn foreign(system: &str, mut processors: Vec<String>) -> Result<Option<String>, Error> {
    processors.sort();
    processors.dedup();
    let processor = match processors.as_slice() {
        // No invoker is there to report its processor.
        [] => ARCH,
        [one] => one,
        several => {
            return Err(Error::Usage(format!(
                "the platform has machines of several kinds ({}), and a package runs on one: say with --target \
                 which",
                several.join(", ")
            )));
        }
    };
    let native = system == "linux" && processor == ARCH;
    Ok((!native).then(|| format!("{processor}-unknown-linux-musl")))
}

/// Chooses Rust's own linker for musl on another kind of machine: it needs no C tools for that. A linker that the user
/// has chosen stays.
pub fn set_linker(cargo: &mut Command, target: &str) {
    let native = OS == "linux" && target.starts_with(ARCH);
    if native || !target.contains("-musl") {
        return;
    }
    let variable = target.to_ascii_uppercase().replace('-', "_");
    let variable = format!("CARGO_TARGET_{variable}_LINKER");
    if env::var_os(&variable).is_none() {
        cargo.env(variable, "rust-lld");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chosen(system: &str, processors: &[&str]) -> Option<String> {
        foreign(system, processors.iter().map(|it| it.to_string()).collect()).unwrap()
    }

    #[test]
    fn foreign_systems_and_architectures_are_built_for_musl() {
        assert_eq!(chosen("linux", &[ARCH, ARCH]), None);
        assert_eq!(chosen("linux", &[]), None);
        let musl = |arch: &str| Some(format!("{arch}-unknown-linux-musl"));
        assert_eq!(chosen("macos", &[ARCH]), musl(ARCH));
        assert_eq!(chosen("macos", &[]), musl(ARCH));
        assert_eq!(chosen("linux", &["s390x"]), musl("s390x"));
    }

    #[test]
    fn several_architectures_need_an_explicit_target() {
        let two = vec!["x86_64".into(), "aarch64".into()];
        let refused = foreign("linux", two).unwrap_err().to_string();
        assert!(refused.contains("(aarch64, x86_64)"), "{refused}");
    }

    #[test]
    fn only_a_foreign_target_needs_a_linker() {
        let linkers = |target: &str| {
            let mut cargo = Command::new("cargo");
            set_linker(&mut cargo, target);
            let set = cargo.get_envs().map(|(name, value)| {
                let text = |it: &std::ffi::OsStr| it.to_str().unwrap().to_owned();
                (text(name), text(value.unwrap()))
            });
            set.collect::<Vec<_>>()
        };
        assert!(linkers(&format!("{ARCH}-unknown-linux-musl")).is_empty());
        assert!(linkers("s390x-unknown-linux-gnu").is_empty());
        let set = linkers("s390x-unknown-linux-musl");
        let expected = "CARGO_TARGET_S390X_UNKNOWN_LINUX_MUSL_LINKER";
        assert_eq!(set, [(expected.into(), "rust-lld".into())]);
    }
}
