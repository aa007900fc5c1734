//! The workers' inputs: parameters from the command line and from files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::args::ParamArgs;
use crate::error::Error;

/// The most that is read, in bytes: no platform accepts inputs of this size.
const LONGEST: u64 = 256 << 20;

/// Parameters by name, each value as it was written.
pub type Params = BTreeMap<String, Box<RawValue>>;

/// Returns the parameters of a file, overridden by those of the command line.
pub fn params(args: &ParamArgs) -> Result<Params, Error> {
    let mut params: Params = match &args.param_file {
        Some(path) => object(path)?,
        None => Params::new(),
    };
    for (key, text) in &args.param {
        params.insert(key.clone(), value(text)?);
    }
    Ok(params)
}

/// Reads a file with one input per worker.
pub fn each(path: &Path) -> Result<Vec<Box<RawValue>>, Error> {
    let inputs: Vec<_> = read(path, "a JSON array with one input per worker")?;
    if inputs.is_empty() {
        return Err(Error::Usage(format!(
            "{} has no input for any worker",
            path.display()
        )));
    }
    Ok(inputs)
}

/// Reads the JSON object in a file.
pub fn object(path: &Path) -> Result<Params, Error> {
    read(path, "a JSON object")
}

/// Serializes a value as JSON.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(value).map_err(|cause| Error::Usage(cause.to_string()))
}

/// Returns what a word on the command line stands for: JSON if it is valid JSON, else a string.
pub fn value(text: &str) -> Result<Box<RawValue>, Error> {
    serde_json::from_str(text).or_else(|_: serde_json::Error| json(text))
}

fn read<T: DeserializeOwned>(path: &Path, expected: &str) -> Result<T, Error> {
    let text = if path == Path::new("-") {
        within(io::stdin())
    } else {
        File::open(path).and_then(within)
    }
    .map_err(Error::file("read", path))?;
    serde_json::from_str(&text)
        .map_err(|cause| Error::Usage(format!("{} is not {expected}: {cause}", path.display())))
}

fn within(source: impl Read) -> io::Result<String> {
    let mut text = String::new();
    match source.take(LONGEST + 1).read_to_string(&mut text)? as u64 > LONGEST {
        true => Err(io::Error::other(
            "it has more than 256 MiB, which no platform accepts",
        )),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    #[test]
    fn values_that_are_not_json_are_strings() {
        for (text, json) in [
            ("1", "1"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("true", "true"),
            (r#"{"b":1,"a":2}"#, r#"{"b":1,"a":2}"#),
            ("Ada", r#""Ada""#),
            ("08001", r#""08001""#),
            ("", r#""""#),
        ] {
            assert_eq!(value(text).unwrap().get(), json);
        }
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("params.json");
        fs::write(&path, r#"{"a":1,"b":2}"#).unwrap();
        let args = ParamArgs {
            param: vec![("b".into(), "3".into())],
            param_file: Some(path),
        };
        let text = serde_json::to_string(&params(&args).unwrap()).unwrap();
        assert_eq!(text, r#"{"a":1,"b":3}"#);
    }

    #[test]
    fn invalid_parameter_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("params.json");
        for text in ["[]", "{}", "[1", "7"] {
            fs::write(&path, text).unwrap();
            assert!(each(&path).is_err(), "{text}");
        }
        fs::write(&path, "[1]").unwrap();
        assert!(
            params(&ParamArgs {
                param: vec![],
                param_file: Some(path)
            })
            .is_err()
        );
    }
}
