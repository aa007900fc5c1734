//! A shim's input: the description of a sandbox, and later orders that change it.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::directories::Mount;
use crate::{Error, SpecError};

/// A sandbox, as the first line of standard input describes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Spec {
    /// Mounted at `/package`, read-only. Files added later are visible, too.
    pub(crate) package: PathBuf,
    /// The directory of the Unix sockets of this machine's packs.
    pub(crate) sockets: Option<PathBuf>,
    /// A root to use instead of this machine's C library.
    pub(crate) root: Option<PathBuf>,
    /// Whether the pack sees this machine's interpreters.
    #[serde(default)]
    pub(crate) interpreters: bool,
    /// Directories of this machine that its operator gives to packs.
    #[serde(default)]
    pub(crate) mounts: Vec<Mount>,
    /// A user id of the machine that no other pack has; only for root.
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<ControlGroupName>,
    #[serde(rename = "tmpMiB")]
    pub(crate) tmp: u32,
    #[serde(rename = "shmMiB")]
    pub(crate) shm: u32,
    pub(crate) limits: Limits,
    #[serde(default = "one_second")]
    grace_ms: u32,
}

fn one_second() -> u32 {
    1000
}

/// The limits of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Limits {
    #[serde(rename = "memoryMiB")]
    pub(crate) memory: u32,
    pub(crate) cpus: f64,
    /// Processes and threads, including those of the runtime.
    pub(crate) processes: u32,
    /// Descriptors per process.
    pub(crate) files: u32,
}

/// Any line of standard input after the first.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Order {
    Limits(Limits),
    /// The servers that the pack may reach, each as `HOST:PORT`.
    Open(Vec<String>),
    /// The pack may reach the internet as well.
    Internet(Internet),
    /// Packs on other machines may connect to it.
    Listen(Listen),
    /// Packs on other machines that it may reach, each as `HOST:PORT`.
    Peers(Vec<String>),
    /// The pack may reach none of these.
    Close(True),
}

/// Where packs on other machines connect to this one: at a port of this host.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    pub(crate) host: String,
    /// How many such packs there are.
    pub(crate) packs: usize,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Internet {
    /// Ranges of addresses that are not part of the internet.
    pub(crate) closed: Vec<String>,
}

/// The only value that such a field may have.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(try_from = "bool")]
pub(crate) struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        match value {
            true => Ok(Self),
            false => Err("it is true, or not there"),
        }
    }
}

/// A control group's name.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ControlGroupName(String);

impl ControlGroupName {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ControlGroupName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let plain = name.bytes().all(known) && !name.starts_with('.');
        match plain && (1..=100).contains(&name.len()) {
            true => Ok(Self(name)),
            false => Err(
                "the name of a control group is of 1 to 100 letters, digits, '-', '_' and '.', and begins with no '.'",
            ),
        }
    }
}

impl Spec {
    pub(crate) fn read(line: &[u8]) -> Result<Self, Error> {
        let spec: Self = serde_json::from_slice(line).map_err(SpecError::Json)?;
        spec.limits.check()?;
        let paths = [
            Some(&spec.package),
            spec.sockets.as_ref(),
            spec.root.as_ref(),
        ];
        for path in paths.into_iter().flatten() {
            if !path.is_absolute() || path.to_str().is_none() {
                return Err(SpecError::Path(path.clone()).into());
            }
            if !path.is_dir() {
                return Err(SpecError::Directory(path.clone()).into());
            }
        }
        match spec.tmp > 0 && spec.shm > 0 {
            true => Ok(spec),
            false => Err(SpecError::Sizes.into()),
        }
    }

    /// The time from the end of standard input until whatever still runs is killed.
    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms.into())
    }
}

impl Order {
    pub(crate) fn read(line: &[u8]) -> Result<Self, Error> {
        let order = serde_json::from_slice(line).map_err(SpecError::Json)?;
        if let Self::Limits(limits) = &order {
            limits.check()?;
        }
        Ok(order)
    }
}

impl Limits {
    fn check(&self) -> Result<(), SpecError> {
        let sound = self.memory >= LEAST_MEMORY
            && self.processes >= LEAST_PROCESSES
            && self.files >= LEAST_FILES
            && (LEAST_CPUS..=MOST_CPUS).contains(&self.cpus);
        match sound {
            true => Ok(()),
            false => Err(SpecError::Limits),
        }
    }
}

/// The least limits: with less of any the runtime does not start.
pub(crate) const LEAST_MEMORY: u32 = 8;
pub(crate) const LEAST_CPUS: f64 = 0.01;
const MOST_CPUS: f64 = 100_000.0;
pub(crate) const LEAST_PROCESSES: u32 = 8;
pub(crate) const LEAST_FILES: u32 = 32;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LIMITS: &str = r#"{"memoryMiB":512,"cpus":2.0,"processes":320,"files":4096}"#;

    fn refused(fields: &str) -> String {
        Spec::read(format!("{{{fields}}}").as_bytes())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn invalid_descriptions_are_refused() {
        let sizes = r#""tmpMiB":64,"shmMiB":64"#;
        for (fields, said) in [
            (
                format!(r#""package":"/tmp",{sizes},"limits":{LIMITS},"more":1"#),
                "more",
            ),
            (
                format!(r#""package":"tmp",{sizes},"limits":{LIMITS}"#),
                "absolute",
            ),
            (
                format!(r#""package":"/tmp/none/at/all",{sizes},"limits":{LIMITS}"#),
                "no directory",
            ),
            (
                format!(r#""package":"/tmp",{sizes},"group":"../up","limits":{LIMITS}"#),
                "control group",
            ),
            (
                format!(r#""package":"/tmp",{sizes},"group":"","limits":{LIMITS}"#),
                "control group",
            ),
            (
                format!(r#""package":"/tmp","tmpMiB":0,"shmMiB":1,"limits":{LIMITS}"#),
                "tmpMiB",
            ),
            (
                format!(
                    r#""package":"/tmp",{sizes},"limits":{}"#,
                    LIMITS.replace("2.0", "0")
                ),
                "cpus",
            ),
            (
                format!(
                    r#""package":"/tmp",{sizes},"limits":{}"#,
                    LIMITS.replace("512", "-1")
                ),
                "integer",
            ),
            (format!(r#"{sizes},"limits":{LIMITS}"#), "package"),
        ] {
            let refused = refused(&fields);
            assert!(refused.contains(said), "{fields}: {refused}");
        }
    }

    #[test]
    fn optional_fields_have_defaults() {
        let spec = format!(r#"{{"package":"/tmp","tmpMiB":1,"shmMiB":1,"limits":{LIMITS}}}"#);
        let spec = Spec::read(spec.as_bytes()).unwrap();
        assert_eq!(spec.grace(), Duration::from_secs(1));
        assert!(spec.user.is_none() && spec.group.is_none() && spec.sockets.is_none());
        assert_eq!(
            Order::read(format!(r#"{{"limits":{LIMITS}}}"#).as_bytes()).unwrap(),
            Order::Limits(spec.limits)
        );
    }

    #[test]
    fn an_order_has_exactly_one_field() {
        assert_eq!(
            Order::read(br#"{"open":["localhost:1"]}"#).unwrap(),
            Order::Open(vec!["localhost:1".to_owned()])
        );
        let listen = r#"{"listen":{"host":"10.0.0.7","packs":2}}"#;
        assert_eq!(
            Order::read(listen.as_bytes()).unwrap(),
            Order::Listen(Listen {
                host: "10.0.0.7".to_owned(),
                packs: 2
            })
        );
        assert_eq!(
            Order::read(br#"{"close":true}"#).unwrap(),
            Order::Close(True)
        );
        assert_eq!(
            Order::read(br#"{"internet":{"closed":["10.0.0.0/8","::/3"]}}"#).unwrap(),
            Order::Internet(Internet {
                closed: vec!["10.0.0.0/8".to_owned(), "::/3".to_owned()]
            })
        );
        for wrong in [
            r#"{"internet":true}"#,
            r#"{"internet":{}}"#,
            r#"{"close":false}"#,
            r#"{"open":[],"close":true}"#,
            r#"{"listen":{"host":"10.0.0.7"}}"#,
            "{}",
            "nonsense",
        ] {
            assert!(Order::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let little = LIMITS.replace("512", "1");
        assert!(Order::read(format!(r#"{{"limits":{little}}}"#).as_bytes()).is_err());
    }
}
