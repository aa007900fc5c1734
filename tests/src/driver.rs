//! What packs can be, and how each kind differs from the others: the compiler asks for a new one's answers here.

use crate::docker;

/// What a pack is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// A child process.
    Process,
    /// Processes shut in by the kernel.
    Sandbox,
    /// A docker container.
    Docker,
}

impl Driver {
    /// Each that a machine can have.
    pub const ALL: [Self; 3] = [Self::Process, Self::Sandbox, Self::Docker];

    /// Its name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Sandbox => "sandbox",
            Self::Docker => "docker",
        }
    }

    /// Whether its packs are shut in; those that are not see what their user has on this machine.
    pub fn isolates(self) -> bool {
        match self {
            Self::Process => false,
            Self::Sandbox | Self::Docker => true,
        }
    }

    /// Whether its packs are containers of Docker's, on networks of Docker's.
    pub fn has_containers(self) -> bool {
        match self {
            Self::Process | Self::Sandbox => false,
            Self::Docker => true,
        }
    }

    /// Whether its packs have control groups that an invoker makes, where it is root's.
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

    /// Fails the test unless packs of it can be run here.
    #[track_caller]
    pub(crate) fn require(self) {
        if self.has_containers() {
            docker::require();
        }
    }
}
