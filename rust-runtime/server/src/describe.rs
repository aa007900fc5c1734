//! `burst-runtime describe`: which packages this runtime can run, and which backends their packs can use.

use std::ffi::CStr;

use serde::Serialize;

use crate::launcher::interpreted;

/// The machine and C library that packages must fit, the kinds of backends, and the kinds of programs.
#[derive(Debug, Serialize)]
pub struct Description {
    arch: &'static str,
    glibc: Option<String>,
    version: &'static str,
    backends: Vec<&'static str>,
    kinds: Vec<&'static str>,
}

/// Describes the machine this runs on.
///
/// ```
/// let description = serde_json::to_value(burst_runtime::describe())?;
/// assert_eq!(description["arch"], std::env::consts::ARCH);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn describe() -> Description {
    Description {
        arch: std::env::consts::ARCH,
        glibc: glibc(),
        version: env!("CARGO_PKG_VERSION"),
        backends: burst_bcm::backends().collect(),
        kinds: ["action-loop", "rust", "skeleton"]
            .into_iter()
            .chain(interpreted())
            .collect(),
    }
}

#[cfg(target_env = "gnu")]
fn glibc() -> Option<String> {
    // SAFETY: the function returns a static string that ends in zero.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    version.to_str().ok().map(str::to_owned)
}

#[cfg(not(target_env = "gnu"))]
fn glibc() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::{FAMILIES, Kind};

    #[test]
    fn kinds_are_those_that_can_be_run() {
        let kinds = describe().kinds;
        for kind in &kinds {
            assert!(Kind::parse(kind).is_ok(), "{kind}");
        }
        // The platform itself knows that these need no more than others do: an action loop, or an image.
        let implied = ["go", "swift", "blackbox"];
        // Listed if the machine has their interpreters.
        let interpreted = ["python", "nodejs"];
        for (family, _) in FAMILIES {
            let known = kinds.contains(&family) || implied.contains(&family);
            assert!(known || interpreted.contains(&family), "{family}");
        }
    }
}
