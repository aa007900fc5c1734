//! Parameters and annotations: arrays of keys and values.

use std::path::Path;

use burst_client::KeyValue;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::args::wsk::pairs::{AnnotationPairs, ParamPairs};
use crate::error::Error;
use crate::inputs::{self, Params};

/// Returns parameters as an object, for a call.
pub fn params(pairs: &ParamPairs) -> Result<Params, Error> {
    object(pairs.param_file.as_deref(), &pairs.param)
}

/// Returns the fields in a file, overridden by the words, which are keys and values in turn.
pub fn object(file: Option<&Path>, words: &[String]) -> Result<Params, Error> {
    let mut found = match file {
        Some(path) => inputs::object(path)?,
        None => Params::new(),
    };
    for pair in words.chunks_exact(2) {
        found.insert(pair[0].clone(), inputs::value(&pair[1])?);
    }
    Ok(found)
}

/// Returns parameters as an array; `init` marks those for the program's start.
pub fn list(params: Params, init: Option<bool>) -> Vec<KeyValue> {
    let field = |(key, value)| KeyValue { key, value, init };
    params.into_iter().map(field).collect()
}

/// Returns parameters as an array; `None` if none are given.
pub fn parameters(pairs: &ParamPairs) -> Result<Option<Vec<KeyValue>>, Error> {
    let some = Some(list(params(pairs)?, None));
    Ok(some.filter(|_| pairs.param_file.is_some() || !pairs.param.is_empty()))
}

/// Returns these fields, and the others whose keys differ.
pub fn over(mut fields: Vec<KeyValue>, others: Vec<KeyValue>) -> Vec<KeyValue> {
    for other in others {
        if find(&fields, &other.key).is_none() {
            fields.push(other);
        }
    }
    fields
}

/// Returns annotations as an array; `None` if none are given.
pub fn annotations(pairs: &AnnotationPairs) -> Result<Option<Vec<KeyValue>>, Error> {
    let found = object(pairs.annotation_file.as_deref(), &pairs.annotation)?;
    let given = pairs.annotation_file.is_some() || !pairs.annotation.is_empty();
    Ok(Some(list(found, None)).filter(|_| given))
}

/// Returns an annotation with this key and value.
pub fn field(key: &str, value: &impl Serialize) -> Result<KeyValue, Error> {
    let value = inputs::json(value)?;
    let key = key.into();
    let init = None;
    Ok(KeyValue { key, value, init })
}

/// The value of a key, as JSON.
pub fn find<'a>(fields: &'a [KeyValue], key: &str) -> Option<&'a RawValue> {
    let found = fields.iter().find(|field| field.key == key);
    found.map(|field| &*field.value)
}

/// The value of a key, if it is a string.
pub fn text(fields: &[KeyValue], key: &str) -> Option<String> {
    find(fields, key).and_then(|value| serde_json::from_str(value.get()).ok())
}

/// Whether a key has the value `true`.
pub fn is_true(fields: &[KeyValue], key: &str) -> bool {
    find(fields, key).is_some_and(|value| value.get() == "true")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arguments_override_the_file_and_keep_json_values() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file.json");
        std::fs::write(&file, r#"{"a":1,"b":{"c":12345678901234567890123}}"#).unwrap();
        let words = ["a", "[1, 2]", "k=v", "Ada"].map(String::from);
        let fields = list(object(Some(&file), &words).unwrap(), None);
        assert_eq!(
            serde_json::to_string(&fields).unwrap(),
            r#"[{"key":"a","value":[1, 2]},{"key":"b","value":{"c":12345678901234567890123}},{"key":"k=v","value":"Ada"}]"#
        );
        assert_eq!(text(&fields, "k=v").as_deref(), Some("Ada"));
        assert_eq!(text(&fields, "none"), None);
    }
}
