//! Generates the types of requests and answers.

use std::fmt::Write;

use yaml_serde::Value;

use crate::document::{Document, Unit, described, entries, names, pascal, snake};

pub fn generate(document: &Document) -> String {
    let mut source = String::new();
    for (name, schema) in document.schemas() {
        if schema.get("properties").is_some() {
            structure(document, name, schema, &mut source);
        } else if schema.get("enum").is_some() {
            vocabulary(name, schema, &mut source);
        }
    }
    source
}

fn vocabulary(name: &str, schema: &Value, to: &mut String) {
    let about = described(name, schema);
    let variants: String = names(schema)
        .iter()
        .map(|name| format!("{} = \"{name}\",\n", pascal(name)))
        .collect();
    write!(to, "\nvocabulary! {{\n{about}{name} {{\n{variants}}}\n}}\n").unwrap();
}

fn structure(document: &Document, name: &str, schema: &Value, to: &mut String) {
    let required: Vec<&str> = schema["required"]
        .as_sequence()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let default = if required.is_empty() { ", Default" } else { "" };
    write!(
        to,
        "\n{}#[derive(Debug, Clone{default}, Serialize, Deserialize)]\n\
         #[serde(rename_all = \"camelCase\")]\npub struct {name} {{\n",
        described(name, schema)
    )
    .unwrap();
    for (field, property) in entries(&schema["properties"]) {
        let of = format!("{name}.{field}");
        let about = described(&of, document.resolved(property));
        let (mut rust, nullable) = document.rust(&of, property);
        let is_required = required.contains(&field);
        let mut attributes = String::new();
        if !is_required {
            attributes = "#[serde(default, skip_serializing_if = \"Option::is_none\")]\n".into();
            if rust == "Box<RawValue>" {
                attributes = attributes.replace(")]", ", deserialize_with = \"present\")]");
            }
        }
        if schema["x-streamed"] == *field {
            attributes = "#[serde(default)]\n".into();
        }
        let unit = Unit::of(document.resolved(property));
        let mut adapter = unit.map(|unit| unit.adapter().to_owned());
        if nullable || !is_required {
            rust = format!("Option<{rust}>");
            adapter = adapter.map(|adapter| format!("Option<{adapter}>"));
        }
        if let Some(adapter) = adapter {
            // Unlike other fields that can be null, those with an adapter would have to be there.
            let default = if nullable && is_required {
                "default, "
            } else {
                ""
            };
            writeln!(attributes, "#[serde({default}with = \"As::<{adapter}>\")]").unwrap();
        }
        writeln!(to, "{about}{attributes}pub {}: {rust},", snake(field)).unwrap();
    }
    to.push_str("}\n");
    if let Some(array) = schema["x-streamed"].as_str() {
        let (element, _) = document.rust(name, &schema["properties"][array]["items"]);
        write!(
            to,
            "\nimpl Streamed for {name} {{\ntype Element = {element};\n\
             const ARRAY: &'static str = \"{array}\";\n}}\n"
        )
        .unwrap();
    }
}
