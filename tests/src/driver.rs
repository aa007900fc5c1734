//! What packs can be.

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

    /// Whether its packs are shut in.
    pub fn isolates(self) -> bool {
        self != Self::Process
    }
}
