//! Limits as the kernel's files of either version take them; pure functions.

use crate::hierarchy::Version;
use crate::spec::Limits;

/// A file and what is written to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) file: &'static str,
    pub(crate) value: String,
    /// Whether kernels may lack the file.
    pub(crate) optional: bool,
    /// A file to write first if the kernel rejects the value as invalid.
    pub(crate) first: Option<(&'static str, String)>,
}

/// The period of the CPU quota in microseconds: a tenth of a second.
const PERIOD: u32 = 100_000;

/// The settings for these limits. Neither version allows swap. Version 1 counts the memory of connections separately,
/// or not at all: there connections get a quarter more.
pub(crate) fn of(version: Version, limits: &Limits) -> Vec<Setting> {
    let memory = (u64::from(limits.memory) << 20).to_string();
    let connections = (u64::from(limits.memory) << 18).to_string();
    let quota = ((limits.cpus * f64::from(PERIOD)) as u64).to_string();
    let processes = setting("pids.max", limits.processes.to_string());
    match version {
        Version::One => vec![
            Setting {
                optional: true,
                ..setting("memory.kmem.tcp.limit_in_bytes", connections)
            },
            Setting {
                // `memsw` limits memory and swap together, and must not be less than the limit of memory.
                first: Some(("memory.memsw.limit_in_bytes", memory.clone())),
                ..setting("memory.limit_in_bytes", memory.clone())
            },
            Setting {
                optional: true,
                ..setting("memory.memsw.limit_in_bytes", memory)
            },
            setting("cpu.cfs_period_us", PERIOD.to_string()),
            setting("cpu.cfs_quota_us", quota),
            processes,
        ],
        Version::Two => vec![
            setting("memory.max", memory),
            Setting {
                optional: true,
                ..setting("memory.swap.max", "0".to_owned())
            },
            setting("cpu.max", format!("{quota} {PERIOD}")),
            processes,
        ],
    }
}

fn setting(file: &'static str, value: String) -> Setting {
    Setting {
        file,
        value,
        optional: false,
        first: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_get_the_same_limits() {
        let limits = Limits {
            memory: 512,
            cpus: 1.5,
            processes: 320,
            files: 4096,
        };
        let written = |version| -> Vec<_> {
            let settings = of(version, &limits).into_iter();
            settings
                .map(|setting| format!("{}={}", setting.file, setting.value))
                .collect()
        };
        assert_eq!(
            written(Version::Two),
            [
                "memory.max=536870912",
                "memory.swap.max=0",
                "cpu.max=150000 100000",
                "pids.max=320"
            ]
        );
        assert_eq!(
            written(Version::One),
            [
                "memory.kmem.tcp.limit_in_bytes=134217728",
                "memory.limit_in_bytes=536870912",
                "memory.memsw.limit_in_bytes=536870912",
                "cpu.cfs_period_us=100000",
                "cpu.cfs_quota_us=150000",
                "pids.max=320"
            ]
        );
    }
}
