//! Where the platform is and who the caller is: flags, environment, properties files.
//!
//! A properties file has `KEY=VALUE` lines; `#` starts a comment.

use std::cmp::Reverse;
use std::env::{self, VarError};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::args::GlobalArgs;
use crate::error::Error;

/// A property that can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Where the platform is.
    ApiHost,
    /// Credentials, `uuid:key`.
    Auth,
    /// The administrator's credentials, `admin:key`.
    AdminAuth,
    /// File of the certificates to trust for a platform behind https.
    CaCert,
}

impl Property {
    /// Its key in properties files.
    pub fn key(self) -> &'static str {
        match self {
            Self::ApiHost => "APIHOST",
            Self::Auth => "AUTH",
            Self::AdminAuth => "ADMIN_AUTH",
            Self::CaCert => "CACERT",
        }
    }

    /// The flag that sets it.
    pub fn flag(self) -> String {
        format!("--{}", self.key().to_lowercase().replace('_', "-"))
    }

    /// The environment variable that sets it.
    pub fn variable(self) -> String {
        format!("BURST_{}", self.key())
    }

    /// Returns what the command line gives: nothing, just the flag (an empty string), or a value.
    pub fn given(self, args: &GlobalArgs) -> Option<&str> {
        match self {
            Self::ApiHost => args.apihost.as_deref(),
            Self::Auth => args.auth.as_deref(),
            Self::AdminAuth => args.admin_auth.as_deref(),
            Self::CaCert => args.cacert.as_deref(),
        }
    }
}

/// Whether these are the credentials of the platform's administrator, `admin:key`.
pub fn is_administrator(auth: &str) -> bool {
    auth.starts_with("admin:")
}

/// The error for such credentials where a user's are expected.
pub const NOT_A_USER: &str = "--auth takes the uuid:key of a namespace (AUTH), and admin:key is the \
    administrator's: write --admin-auth (ADMIN_AUTH)";

/// A property in effect and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: String,
    /// Flag, variable or file.
    pub source: String,
}

/// Finds the property in effect: from the flag, else the environment, else the properties file, else the files of this
/// machine's own platform.
pub fn find(property: Property, args: &GlobalArgs) -> Result<Option<Setting>, Error> {
    if let Some(value) = property.given(args).filter(|value| !value.is_empty()) {
        return Ok(Some(Setting {
            value: value.into(),
            source: property.flag(),
        }));
    }
    let variable = property.variable();
    match env::var(&variable) {
        Ok(value) if !value.is_empty() => {
            let source = variable;
            return Ok(Some(Setting { value, source }));
        }
        Err(VarError::NotUnicode(_)) => {
            return Err(Error::Usage(format!("{variable} is not UTF-8")));
        }
        Ok(_) | Err(VarError::NotPresent) => {}
    }
    for path in user_file().into_iter().chain(own_files()) {
        if let Some(value) = read(&path)?.and_then(|text| lookup(&text, property.key())) {
            return Ok(Some(Setting {
                value,
                source: path.display().to_string(),
            }));
        }
    }
    Ok(None)
}

/// Returns the file of certificates to trust. The file of this machine's own platform is not used for any other.
pub fn certificates(args: &GlobalArgs) -> Result<Option<String>, Error> {
    let host = find(Property::ApiHost, args)?.map(|setting| setting.source);
    let found = find(Property::CaCert, args)?;
    let is_own = |source: &str| {
        own_files()
            .iter()
            .any(|path| path.display().to_string() == source)
    };
    let found = found.filter(|it| !is_own(&it.source) || host.as_ref() == Some(&it.source));
    Ok(found.map(|setting| setting.value))
}

/// Checks that a file's lines can be parsed and returns its text; `None` if the file does not exist.
pub fn read(path: &Path) -> Result<Option<String>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::file("read", path)(cause)),
    };
    // Some editors begin every file with this mark.
    let text = text.trim_start_matches('\u{feff}').to_owned();
    for (number, line) in text.lines().enumerate() {
        if entry(line).is_none() && !is_comment(line) {
            return Err(Error::Usage(format!(
                "line {} of {} is not KEY=VALUE",
                number + 1,
                path.display()
            )));
        }
    }
    Ok(Some(text))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn entry(line: &str) -> Option<(&str, &str)> {
    if is_comment(line) {
        return None;
    }
    line.split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()))
}

/// The value of a key, if it has one.
pub fn lookup(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(entry)
        .rfind(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}

/// Returns the text with the key set to the value, or without the key; all other lines stay.
fn replaced(text: &str, name: &str, value: Option<&str>) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| entry(line).is_none_or(|(key, _)| key != name))
        .map(str::to_owned)
        .collect();
    lines.extend(value.map(|value| format!("{name}={value}")));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A key with its new value, or none if it is to be removed.
pub type Change<'a> = (&'a str, Option<&'a str>);

/// Sets or removes properties in the user's properties file, all in one write, and returns the file's path.
pub fn store(changes: &[(Property, Option<&str>)]) -> Result<PathBuf, Error> {
    let path = user_file()
        .ok_or_else(|| Error::Usage("no home directory: set BURST_CONFIG_FILE".into()))?;
    let keys = changes
        .iter()
        .map(|(property, value)| (property.key(), *value));
    store_in(&path, &keys.collect::<Vec<_>>())
}

/// Does the same in any properties file.
pub fn store_in(path: &Path, changes: &[Change<'_>]) -> Result<PathBuf, Error> {
    // Follows a symbolic link, so that a properties file kept elsewhere stays where it is.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // Of two concurrent writers, the second reads what the first wrote. Where locks are not available, the file still
    // is as one of them wrote it.
    let _turn = File::open(directory(&path)).and_then(|dir| dir.lock().map(|()| dir));
    let old = read(&path)?;
    let removes = changes.iter().all(|(_, value)| value.is_none());
    if old.is_none() && removes {
        return Ok(path);
    }
    let text = changes
        .iter()
        .fold(old.unwrap_or_default(), |text, (name, value)| {
            replaced(&text, name, *value)
        });
    write_private(&path, &text)?;
    Ok(path)
}

fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Replaces a file atomically with one that only its owner can read.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let dir = directory(path);
    let write = || {
        let mut file = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(dir)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|failed| failed.error)
    };
    write().map(drop).map_err(Error::file("write", path))
}

/// The suffix of the name of a controller's data directory.
pub const OF_CONTROLLER: &str = "-controller";

/// Returns the default data directory of a process of the platform: that of `burst standalone`, or, with the suffix
/// `end` to its name, that of a node of a cluster.
pub fn data_dir(end: &str) -> Option<PathBuf> {
    env::home_dir().map(|home| home.join(format!(".burst{end}")))
}

/// Returns the properties files that `burst standalone` and `burst controller` write to their data directories at each
/// start, the newest first.
fn own_files() -> Vec<PathBuf> {
    let mut files: Vec<_> = (["", OF_CONTROLLER].into_iter())
        .filter_map(data_dir)
        .map(|dir| dir.join("properties"))
        .collect();
    files.sort_by_key(|file| Reverse(file.metadata().and_then(|it| it.modified()).ok()));
    files
}

fn user_file() -> Option<PathBuf> {
    match env::var_os("BURST_CONFIG_FILE").filter(|path| !path.is_empty()) {
        Some(path) => Some(path.into()),
        None => env::home_dir().map(|home| home.join(".burst.properties")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "# mine\nAPIHOST = a:1\n\nOTHER=x\nAUTH=u:k=1\n";

    #[test]
    fn values_are_found_and_trimmed() {
        assert_eq!(lookup(TEXT, "APIHOST").as_deref(), Some("a:1"));
        assert_eq!(lookup(TEXT, "AUTH").as_deref(), Some("u:k=1"));
        assert_eq!(lookup("AUTH=\n", "AUTH"), None);
    }

    #[test]
    fn changing_a_property_keeps_other_lines() {
        assert_eq!(
            replaced(TEXT, "APIHOST", Some("b:2")),
            "# mine\n\nOTHER=x\nAUTH=u:k=1\nAPIHOST=b:2\n"
        );
        assert_eq!(
            replaced(TEXT, "AUTH", None),
            "# mine\nAPIHOST = a:1\n\nOTHER=x\n"
        );
    }

    #[test]
    fn an_invalid_line_is_reported_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("properties");
        fs::write(&path, "APIHOST=a\nnonsense\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.starts_with("line 2 of "), "{error}");
    }
}
