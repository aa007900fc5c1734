//! The API's description, and the Rust names for its contents.

use std::fs;

use yaml_serde::Value;

pub struct Document(Value);

impl Document {
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|cause| panic!("{path}: {cause}"));
        Self(yaml_serde::from_str(&text).unwrap_or_else(|cause| panic!("{path}: {cause}")))
    }

    pub fn paths(&self) -> impl Iterator<Item = (&str, &Value)> {
        entries(&self.0["paths"])
    }

    pub fn schemas(&self) -> impl Iterator<Item = (&str, &Value)> {
        entries(&self.0["components"]["schemas"])
    }

    /// The name of the header by which a call can be repeated.
    pub fn idempotency_key(&self) -> &str {
        let header = &self.0["components"]["parameters"]["IdempotencyKey"];
        header["name"].as_str().unwrap()
    }

    /// Returns the value itself, or what it refers to.
    pub fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(place) => (place.split('/').skip(1)).fold(&self.0, |value, name| &value[name]),
            None => value,
        }
    }

    /// Returns the Rust type of values of this schema, which belongs to `of`, and whether they can
    /// be null.
    pub fn rust(&self, of: &str, schema: &Value) -> (String, bool) {
        let resolved = self.resolved(schema);
        // A named type or null: OpenAPI 3.0 has no null beside a reference.
        if let Some([name, null]) = resolved["anyOf"].as_sequence().map(Vec::as_slice)
            && let Some(values) = null["enum"].as_sequence()
            && values.iter().all(Value::is_null)
        {
            return (self.rust(of, name).0, true);
        }
        let nullable = resolved["nullable"] == true;
        if let Some(place) = schema["$ref"].as_str() {
            let name = place.rsplit('/').next().unwrap();
            let is_type = resolved.get("properties").is_some() || resolved.get("enum").is_some();
            if is_type {
                return (name.into(), nullable);
            }
        }
        let rust = match (resolved["type"].as_str(), resolved["format"].as_str()) {
            (Some("string"), _) if resolved.get("enum").is_some() => unnamed(of),
            (Some("string"), _) => "String".into(),
            (Some("boolean"), _) => "bool".into(),
            (Some("integer"), None) => "u32".into(),
            (Some("integer"), Some("int64")) => match Unit::of(resolved) {
                Some(unit) => unit.rust().into(),
                None => "u64".into(),
            },
            (Some("number"), None) => "f64".into(),
            (Some("array"), _) => format!("Vec<{}>", self.rust(of, &resolved["items"]).0),
            (Some("object"), _) if resolved.get("properties").is_none() => {
                "BTreeMap<String, Box<RawValue>>".into()
            }
            // One of several types, depending on the request.
            (None, _) if resolved.get("description").is_some() => "Box<RawValue>".into(),
            _ => unnamed(of),
        };
        (rust, nullable)
    }
}

/// What the number of a time or a duration counts, by the description's `x-unit`.
#[derive(Clone, Copy)]
pub enum Unit {
    EpochMicroseconds,
    EpochMilliseconds,
    Milliseconds,
}

impl Unit {
    pub fn of(schema: &Value) -> Option<Self> {
        let name = schema["x-unit"].as_str()?;
        Some(match name {
            "epoch-microseconds" => Self::EpochMicroseconds,
            "epoch-milliseconds" => Self::EpochMilliseconds,
            "milliseconds" => Self::Milliseconds,
            _ => panic!("unknown unit {name}"),
        })
    }

    fn rust(self) -> &'static str {
        match self {
            Self::EpochMicroseconds | Self::EpochMilliseconds => "SystemTime",
            Self::Milliseconds => "Duration",
        }
    }

    /// The type of `serde_with` that writes and reads the number.
    pub fn adapter(self) -> &'static str {
        match self {
            Self::EpochMicroseconds => "TimestampMicroSeconds<i64>",
            Self::EpochMilliseconds => "TimestampMilliSeconds<i64>",
            Self::Milliseconds => "DurationMilliSeconds<u64>",
        }
    }
}

fn unnamed(of: &str) -> ! {
    panic!("give what {of} has a name below components/schemas")
}

/// The fields of an object, in the order in which they are written.
pub fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let fields = value.as_mapping().into_iter().flatten();
    fields.map(|(name, value)| (name.as_str().unwrap_or_default(), value))
}

/// The names that a schema allows.
pub fn names(schema: &Value) -> Vec<&str> {
    let values = schema["enum"].as_sequence().unwrap();
    values.iter().filter_map(Value::as_str).collect()
}

/// Formats a text as a documentation attribute.
pub fn documentation(text: &str) -> String {
    format!("#[doc = {:?}]\n", text.trim())
}

/// Returns the documentation of a schema or a property; panics if it has no description.
pub fn described(of: &str, value: &Value) -> String {
    let text = value["description"].as_str();
    documentation(text.unwrap_or_else(|| panic!("{of} has no description")))
}

/// `packLost` or `pack-lost` as `pack_lost`.
pub fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_uppercase() {
            snake.push('_');
        }
        snake.extend(if c == '-' {
            '_'.to_lowercase()
        } else {
            c.to_lowercase()
        });
    }
    snake
}

/// `packLost` or `pack-lost` as `PackLost`.
pub fn pascal(name: &str) -> String {
    snake(name)
        .split('_')
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}
