//! The resources of the machine that a process uses.

use std::fs;

/// Returns how many descriptors it has open.
pub fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

/// Returns its resident memory in bytes.
pub fn resident(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.trim().parse::<usize>().unwrap() << 10
}
