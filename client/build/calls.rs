//! Generates the calls: a method for each operation, and a type for its query.

use std::fmt::Write;

use yaml_serde::Value;

use crate::document::{Document, Unit, described, documentation, entries, pascal, snake};

/// Operations whose answer has one of several types, depending on its status and on the request: `src/flares.rs` and
/// `src/actions.rs` have them.
const BY_HAND: [&str; 4] = ["flare", "flareOnGroup", "invoke", "invokeOfPackage"];

pub fn generate(document: &Document) -> String {
    let mut queries = String::new();
    let mut methods = String::new();
    for (path, item) in document.paths() {
        for (verb, operation) in entries(item) {
            let Some(id) = operation.get("operationId").and_then(Value::as_str) else {
                continue;
            };
            if BY_HAND.contains(&id) {
                continue;
            }
            let call = Operation {
                document,
                id,
                verb,
                path,
                shared: &item["parameters"],
                value: operation,
            };
            call.query(&mut queries);
            call.method(&mut methods);
        }
    }
    format!("{queries}\nimpl Client {{\n{methods}}}\n")
}

struct Operation<'a> {
    document: &'a Document,
    id: &'a str,
    verb: &'a str,
    path: &'a str,
    /// Parameters of all operations of the path.
    shared: &'a Value,
    value: &'a Value,
}

impl Operation<'_> {
    fn parameters(&self, place: &str) -> Vec<&Value> {
        let own = self.value["parameters"].as_sequence().into_iter().flatten();
        let shared = self.shared.as_sequence().into_iter().flatten();
        shared
            .chain(own)
            .map(|parameter| self.document.resolved(parameter))
            .filter(|parameter| parameter["in"] == place)
            .collect()
    }

    fn query_type(&self) -> String {
        format!("{}Query", pascal(self.id))
    }

    fn query(&self, to: &mut String) {
        let parameters = self.parameters("query");
        if parameters.is_empty() {
            return;
        }
        let (name, method) = (self.query_type(), snake(self.id));
        write!(
            to,
            "\n#[doc = \"Optional parameters of [`Client::{method}`].\"]\n\
             #[derive(Debug, Clone, Default)]\npub struct {name} {{\n"
        )
        .unwrap();
        for parameter in parameters {
            let field = parameter["name"].as_str().unwrap();
            let of = format!("{}.{field}", self.id);
            let about = described(&of, parameter);
            let (rust, _) = self.document.rust(&of, &parameter["schema"]);
            writeln!(to, "{about}pub {}: Option<{rust}>,", snake(field)).unwrap();
        }
        to.push_str("}\n");
    }

    fn method(&self, to: &mut String) {
        let Self { id, verb, path, .. } = self;
        let verb = verb.to_uppercase();
        let Some(summary) = self.value["summary"].as_str() else {
            panic!("{id} has no summary");
        };
        let mut about = vec![summary.to_owned()];
        about.extend(self.value["description"].as_str().map(str::to_owned));
        let mut arguments = String::from("&self");
        for parameter in self.parameters("path") {
            let name = parameter["name"].as_str().unwrap();
            if name != "namespace" {
                write!(arguments, ", {}: &str", snake(name)).unwrap();
            }
        }
        let mut call = format!("Call::new(Method::{verb}, &[{}])", self.segments());
        let query = self.parameters("query");
        if !query.is_empty() {
            write!(arguments, ", query: &{}", self.query_type()).unwrap();
        }
        for parameter in query {
            let name = parameter["name"].as_str().unwrap();
            let field = snake(name);
            let value = match Unit::of(&parameter["schema"]) {
                Some(Unit::EpochMilliseconds) => format!("query.{field}.map(epoch_milliseconds)"),
                Some(_) => panic!("{id}: say how to write {name}"),
                None => format!("query.{field}.as_ref()"),
            };
            write!(call, ".query(\"{name}\", {value})").unwrap();
        }
        let headers = self.parameters("header");
        if headers
            .iter()
            .any(|header| header["name"] == self.document.idempotency_key())
        {
            call.push_str(".once()?");
        }
        if let Some(body) = self.value.get("requestBody") {
            arguments.push_str(", request: &(impl Serialize + ?Sized)");
            call.push_str(".body(request)?");
            let schema = &body["content"]["application/json"]["schema"];
            let (rust, _) = self.document.rust(id, schema);
            about.push(match rust.contains('<') {
                true => format!("`request` serializes as a `{rust}`."),
                false => format!("`request` is a [`{rust}`], or serializes as one."),
            });
        }
        let (answer, how) = self.answer();
        about.push(format!("`{verb} {path}`"));
        write!(
            to,
            "{}pub fn {}({arguments}) -> Result<{answer}, Error> {{\nself.{how}({call})\n}}\n\n",
            documentation(&about.join("\n\n")),
            snake(id)
        )
        .unwrap();
    }

    fn segments(&self) -> String {
        let segments = self.path.split('/').filter(|part| !part.is_empty());
        let rust = segments.map(|part| match part.trim_matches(['{', '}']) {
            "namespace" => "&self.namespace".into(),
            name if name != part => snake(name),
            literal => format!("\"{literal}\""),
        });
        rust.collect::<Vec<_>>().join(", ")
    }

    /// The type of a successful answer, and the method that returns it.
    fn answer(&self) -> (String, &'static str) {
        let good = entries(&self.value["responses"]).filter(|(status, _)| status.starts_with('2'));
        let bodies = good.map(|(_, answer)| {
            let content = &self.document.resolved(answer)["content"];
            entries(content).next()
        });
        let (kind, schema, is_sure) = match bodies.collect::<Vec<_>>()[..] {
            [None] => return ("()".into(), "done"),
            [Some((kind, body))] => (kind, &body["schema"], true),
            [Some((kind, body)), None] => (kind, &body["schema"], false),
            _ => panic!("{} has successful answers of several types", self.id),
        };
        if kind != "application/json" {
            return ("String".into(), "text");
        }
        let (rust, _) = self.document.rust(self.id, schema);
        match self.document.resolved(schema).get("x-streamed") {
            Some(_) => (format!("Body<{rust}>"), "open"),
            None if is_sure => (format!("Answer<{rust}>"), "answer"),
            None => (format!("Option<Answer<{rust}>>"), "answer_if_any"),
        }
    }
}
