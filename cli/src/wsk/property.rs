//! `wsk property`, and the file that it keeps.

use burst_client::reqwest::Method;
use serde::Deserialize;

use super::found::{
    API_HOST, AUTH, CA_CERT, Found, NAMESPACE, ONLY_VERSION, VERSION, properties_file,
};
use super::session::Session;
use super::show;
use crate::args::wsk::WskGlobal;
use crate::args::wsk::property::{
    PropertyGetArgs, PropertySetArgs, PropertyUnsetArgs, PropertyVerb,
};
use crate::error::Error;
use crate::output;
use crate::properties::{self, Change};

/// Does what is asked for.
pub fn run(verb: &PropertyVerb, global: &WskGlobal) -> Result<(), Error> {
    match verb {
        PropertyVerb::Set(args) => set(args, global),
        PropertyVerb::Get(args) => get(args, global),
        PropertyVerb::Unset(args) => unset(args, global),
    }
}

fn store(changes: &[Change<'_>]) -> Result<(), Error> {
    let file = properties_file()
        .ok_or_else(|| Error::Usage("no home directory: set WSK_CONFIG_FILE".into()))?;
    properties::store_in(&file, changes).map(drop)
}

fn set(args: &PropertySetArgs, global: &WskGlobal) -> Result<(), Error> {
    let given = [
        (AUTH, "whisk auth", &global.auth),
        (API_HOST, "whisk API host", &global.apihost),
        (VERSION, "whisk API version", &global.apiversion),
        (CA_CERT, "whisk CA certificate", &global.cacert),
        (NAMESPACE, "whisk namespace", &args.namespace),
    ];
    let mut changes = Vec::new();
    let mut said = Vec::new();
    for (key, name, value) in given {
        let Some(value) = value.as_deref().map(str::trim) else {
            continue;
        };
        if value.is_empty() || value.contains(['\n', '\r']) {
            return Err(Error::Usage(format!("{name} needs a value of one line")));
        }
        changes.push((key, Some(value)));
        said.push(match key {
            AUTH => format!("{name} set. Run 'wsk property get --auth' to see the new value."),
            _ => format!("{name} set to {value}"),
        });
    }
    if changes.is_empty() {
        return Err(nothing_named());
    }
    store(&changes)?;
    said.iter().try_for_each(|said| show::ok(said))
}

fn unset(args: &PropertyUnsetArgs, global: &WskGlobal) -> Result<(), Error> {
    let named = [
        (AUTH, "whisk auth", global.auth.is_some()),
        (API_HOST, "whisk API host", global.apihost.is_some()),
        (VERSION, "whisk API version", global.apiversion.is_some()),
        (NAMESPACE, "whisk namespace", args.namespace),
    ];
    let named = named.into_iter().filter(|(_, _, is_named)| *is_named);
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return Err(nothing_named());
    }
    let changes: Vec<Change<'_>> = named.iter().map(|(key, ..)| (*key, None)).collect();
    store(&changes)?;
    named
        .iter()
        .try_for_each(|(_, name, _)| show::ok(&format!("{name} unset")))
}

fn nothing_named() -> Error {
    Error::Usage("name a property: --apihost, --auth, --apiversion or --namespace".into())
}

/// What the platform says of itself.
#[derive(Deserialize)]
struct Build {
    build: String,
    #[serde(rename = "buildno")]
    number: String,
}

fn get(args: &PropertyGetArgs, global: &WskGlobal) -> Result<(), Error> {
    let named = [
        global.auth.is_some(),
        global.apihost.is_some(),
        global.apiversion.is_some(),
        args.namespace,
        args.cliversion,
        args.apibuild,
        args.apibuildno,
    ];
    let all = args.all || !named.contains(&true);
    let [auth, host, version, namespace, cli, build, number] = named.map(|it| it || all);
    // What was named alone had no value to look with.
    let found = Found::read(global)?;
    let mut lines = Vec::new();
    let mut say = |wanted: bool, name: &str, value: &str| {
        let raw = args.output == "raw";
        if wanted {
            lines.push(if raw {
                value.to_owned()
            } else {
                format!("{name}\t\t{value}")
            });
        }
    };
    say(
        auth,
        "whisk auth",
        found.auth.as_deref().unwrap_or_default(),
    );
    say(
        host,
        "whisk API host",
        found.host.as_deref().unwrap_or_default(),
    );
    say(version, "whisk API version", ONLY_VERSION);
    say(namespace, "whisk namespace", &found.namespace);
    say(cli, "whisk CLI version", env!("CARGO_PKG_VERSION"));
    let mut problem = None;
    if build || number {
        let asked = Session::of_wsk(global).and_then(|session| {
            session
                .ask(Method::GET, &["api", "v1"])
                .read("get API build")
        });
        match asked {
            Ok(Build {
                build: built,
                number: no,
            }) => {
                say(build, "whisk API build", &built);
                say(number, "whisk API build number", &no);
            }
            Err(error) => {
                say(build, "whisk API build", "Unknown");
                say(number, "whisk API build number", "Unknown");
                problem = Some(error);
            }
        }
    }
    output::line(&lines.join("\n"))?;
    match problem {
        // Of all properties those that are known are worth showing.
        Some(error) if !all => Err(error),
        _ => Ok(()),
    }
}
