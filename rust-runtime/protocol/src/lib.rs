//! The messages between invoker, runtime and program: one set of types for all of them.
//!
//! | between | messages | format |
//! | --- | --- | --- |
//! | invoker → runtime | [`RunPack`], [`Failure`] | bodies of HTTP requests |
//! | runtime → invoker | [`PackEvent`], [`OutputEvent`] | lines of JSON |
//! | runtime → program | [`Command`], and [`Init`] to interpreters | [frames](frame) |
//! | program → runtime | [`ProgramEvent`], as [`OutgoingEvent`] and [`IncomingEvent`] | [frames](frame) |
//!
//! Golden copies of the messages that the invoker sees, and of the names and numbers that both sides share, are in
//! `protocol/src/main/resources/golden/`; the Scala side reads the same files. The contract is in
//! `docs/architecture/runtime.md` and `program.md`.

mod command;
mod depth;
mod event;
pub mod frame;
mod timestamp;
mod versions;

pub use burst_bcm::{BackendConfig, Failure, FailureKind, PackId, Secret};
pub use command::{Command, Init, Inputs, InvalidRun, Invocation, RunPack, WorkerSpans};
pub use depth::Depth;
pub use event::{
    IncomingEvent, LogStream, OutgoingEvent, OutputEvent, PackEvent, ProgramEvent, Traffic,
};
pub use timestamp::Timestamp;
pub use versions::{InvalidVersions, PROGRAM, RUNTIME, VERSION_HEADER, VERSIONS_HEADER, Versions};

/// The environment variable naming the control socket's descriptor.
pub const CONTROL_FD: &str = "BURST_CONTROL_FD";

/// The environment variable naming the descriptors, separated by commas, of all control sockets of a program that runs
/// several flares at once. Each socket serves one flare at a time. Absent if [`CONTROL_FD`] is the only one.
pub const LANE_FDS: &str = "BURST_LANE_FDS";

/// The environment variable naming the descriptor of a Unix socket that listens for other packs, if there is one.
pub const LISTENER_FD: &str = "BURST_LISTENER_FD";

/// How many flares may run on one program at once.
pub const CONCURRENCY: usize = 200;

/// The largest serialised output of a worker.
pub const OUTPUT_LIMIT: usize = 16 * 1024 * 1024;

/// The longest line of a log in bytes; the rest of a longer one becomes the next line.
pub const LINE: usize = 8 * 1024;

/// How many bytes a worker may log in a flare that sets no other limit ([`RunPack::log_limit`]), and the most that a
/// pack itself may log. Each line counts its bytes and [`LINE_COST`].
pub const LOG_LIMIT: usize = 1024 * 1024;

/// Bytes that each line of a log counts in addition to its own: about what it costs in memory and time along the way.
pub const LINE_COST: usize = 64;

/// The most phases that one worker can report.
pub const PHASES: u32 = 1000;

/// The longest name of a phase, in bytes.
pub const PHASE_NAME: usize = 200;

/// The longest message of a failure, in bytes.
pub const MESSAGE: usize = 4 * 1024;

/// The longest name of a failure's operation, in bytes.
pub const OPERATION_NAME: usize = 200;

/// The operation of failures that happen while the user's function runs.
pub const WORK: &str = "work";

/// The operations of an invoker that starts a pack. They show whether the machine or the program is to blame for a
/// failed start, so no program may name them.
pub const START_STEPS: [&str; 4] = ["fetch", "create", "init", "schedule"];

/// How deeply a worker's output may be nested: its readers, on the way or at the end, may be recursive.
pub const OUTPUT_DEPTH: usize = 256;

/// Removes the quoted value from an error message of serde's, as inputs may be secret.
pub fn without_values(message: &str) -> String {
    let quoting = ["invalid type: ", "invalid value: ", "unknown variant "];
    let found = quoting
        .iter()
        .find_map(|prefix| message.strip_prefix(prefix).map(|_| prefix));
    let (Some(prefix), Some(expected)) = (found, message.rfind(", expected ")) else {
        return message.to_owned();
    };
    let value = &message[prefix.len()..expected];
    let kind = value
        .split(['`', '"'])
        .next()
        .unwrap_or_default()
        .trim_end();
    let what = format!("{prefix}{kind}");
    format!("{}{}", what.trim_end(), &message[expected..])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn values_are_cut_from_serdes_messages() {
        let message = |json: &str| {
            without_values(
                &serde_json::from_str::<(u8, String)>(json)
                    .unwrap_err()
                    .to_string(),
            )
        };
        for secret in [
            r#"["hunter2, expected", "x"]"#,
            r#"[7, 4711]"#,
            r#"[4711, "x"]"#,
        ] {
            let shown = message(secret);
            assert!(
                !shown.contains("hunter2") && !shown.contains("4711"),
                "{shown}"
            );
            assert!(shown.contains("expected"), "{shown}");
        }
        assert_eq!(
            message(r#"["x", "y"]"#),
            "invalid type: string, expected u8 at line 1 column 4"
        );
        assert_eq!(
            without_values("unknown variant `hunter2`, expected `a` or `b`"),
            "unknown variant, expected `a` or `b`"
        );
        assert_eq!(
            without_values("missing field `name`"),
            "missing field `name`"
        );
    }
}
