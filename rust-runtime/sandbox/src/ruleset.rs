//! Restrictions by Landlock, if the kernel has it: a second layer behind the mounts. Its rules apply to paths whatever a
//! mount would permit, should one of the mounts be wrong.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, path_beneath_rules,
};

use crate::root::{DEVICES, SCRATCH};

/// The newest version known here; of an older one, whatever it supports is used.
const KNOWN: ABI = ABI::V5;

/// Restricts this process, and whatever it executes, to reading and executing the files it sees, and to writing plain
/// files, links, sockets and pipes in the scratch directories and the given ones. Does nothing if the kernel has no
/// Landlock.
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
