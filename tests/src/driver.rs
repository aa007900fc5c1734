//! The drivers of packs, and how each differs from the others: for a new one, the compiler demands an answer to each
//! question here.

use crate::docker;

/// The driver that packs run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// A child process.
    Process,
    /// Processes isolated by the kernel.
    Sandbox,
    /// A docker container.
    Docker,
}

impl Driver {
    /// All drivers that work on a single machine.
    pub const ALL: [Self; 3] = [Self::Process, Self::Sandbox, Self::Docker];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
        }
    }

    /// Whether its packs are isolated; others see everything that their user has on this machine.
    pub fn isolates(self) -> bool {
        match self {
            Self::Process => false,
            Self::Sandbox | Self::Docker => true,
        }
    }

    /// Whether its packs are Docker containers, on Docker networks.
    pub fn has_containers(self) -> bool {
        match self {
            Self::Process | Self::Sandbox => false,
            Self::Docker => true,
        }
    }

    /// Whether an invoker that runs as root creates control groups for its packs.
    pub fn has_control_groups(self) -> bool {
        match self {
            Self::Process | Self::Docker => false,
            Self::Sandbox => true,
        }
    }

    /// The address by which its packs reach this machine.
    #[track_caller]
    pub fn host(self) -> String {
        match self {
            Self::Process | Self::Sandbox => "127.0.0.1".to_owned(),
            Self::Docker => docker::bridge_gateway(),
        }
    }

    /// Fails the test unless its packs can be run here.
    #[track_caller]
    pub(crate) fn require(self) {
        if self.has_containers() {
            docker::require();
        }
    }
}
