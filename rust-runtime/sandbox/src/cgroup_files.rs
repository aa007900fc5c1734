//! Limits as the kernel's files of each version take them: pure.

use crate::hierarchy::Version;
use crate::spec::Limits;

/// A file and what is written to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) file: &'static str,
    pub(crate) value: String,
    /// Not every kernel has it.
    pub(crate) optional: bool,
    /// What has to be written before it where the kernel holds the value to be invalid.
    pub(crate) first: Option<(&'static str, String)>,
}

/// Of a tenth of a second, which the kernel gives processors out by.
const PERIOD: u32 = 100_000;

/// No swap in either version. Version 1 counts what connections keep by itself, or not at all: there a quarter more is
/// for that.
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
                // Of memory and swap together, which may not be less than that of memory.
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
    fn both_versions_are_told_the_same() {
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
