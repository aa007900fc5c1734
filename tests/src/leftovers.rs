//! What a platform holds on the machine, for comparison before and after.

use std::collections::BTreeSet;

use crate::processes::Process;

/// Everything that a flare could leave behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Live processes of the platform, itself included.
    pub processes: BTreeSet<Process>,
    /// Ids of its containers, running or not.
    pub containers: BTreeSet<String>,
    /// Names of its sandboxes' control groups.
    pub control_groups: BTreeSet<String>,
    /// TCP ports its processes listen on.
    pub ports: BTreeSet<u16>,
    /// Slots that no flare holds.
    pub free_slots: u32,
    /// Idle packs.
    pub warm_packs: u32,
}
