//! Landlock's wall, where the kernel has it: a second one behind the mounts. What it says is of paths, whatever a mount
//! would permit, should one of them be wrong.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, path_beneath_rules,
};

use crate::root::{DEVICES, SCRATCH};

/// The newest version of it that is known here; of an older one what that has is taken.
const KNOWN: ABI = ABI::V5;

/// Holds this process, and whatever it becomes, to reading and executing what it sees, and to writing plain files,
/// links, sockets and pipes to the scratch directories and these. Does nothing where the kernel has none.
pub(crate) fn apply(writable: &[String]) -> Result<(), RulesetError> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
    let files: BitFlags<AccessFs> = AccessFs::from_all(KNOWN) & !devices & !AccessFs::Execute;
    let own = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let written = SCRATCH
        .into_iter()
        .chain(writable.iter().map(String::as_str));
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(["/"], AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules(written, files))?
        .add_rules(path_beneath_rules(
            DEVICES.into_iter().chain(["/proc"]),
            own,
        ))?
        .restrict_self()?;
    Ok(())
}
