//! `wsk property`, and the file that it keeps.

use super::client_context::{ClientContext, parsed};
use super::found::{
    API_HOST, AUTH, CA_CERT, CERT, Found, KEY, NAMESPACE, ONLY_VERSION, VERSION, properties_file,
};
use super::name::OWN;
use super::show;
use crate::args::wsk::WskGlobal;
use crate::args::wsk::property::{
    PropertyGetArgs, PropertySetArgs, PropertyUnsetArgs, PropertyVerb,
};
use crate::error::Error;
use crate::output;
use crate::properties::{self, Change};

/// Runs a `property` command.
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

/// A property of the file, and how the output refers to it.
struct Known<'a> {
    key: &'static str,
    /// Its name in messages about a change.
    name: &'static str,
    /// The flag that shows its value, if the value is not repeated when it is set: a secret, or the
    /// path of one.
    shown_by: Option<&'static str>,
    /// Its value when it is not set.
    default: Option<&'static str>,
    /// Its value on the command line.
    given: &'a Option<String>,
}

fn known<'a>(global: &'a WskGlobal, namespace: &'a Option<String>) -> [Known<'a>; 7] {
    let known = |key, name, given| Known {
        key,
        name,
        shown_by: None,
        default: None,
        given,
    };
    let shown_by = |flag, known| Known {
        shown_by: Some(flag),
        ..known
    };
    let default = |value, known| Known {
        default: Some(value),
        ..known
    };
    [
        shown_by("--cert", known(CERT, "client cert", &global.cert)),
        shown_by("--key", known(KEY, "client key", &global.key)),
        shown_by("--cacert", known(CA_CERT, "CA cert", &global.cacert)),
        shown_by("--auth", known(AUTH, "whisk auth", &global.auth)),
        known(API_HOST, "whisk API host", &global.apihost),
        default(
            ONLY_VERSION,
            known(VERSION, "whisk API version", &global.apiversion),
        ),
        default(OWN, known(NAMESPACE, "whisk namespace", namespace)),
    ]
}

fn set(args: &PropertySetArgs, global: &WskGlobal) -> Result<(), Error> {
    let known = known(global, &args.namespace);
    let mut changes = Vec::new();
    let mut outcomes = Vec::new();
    for Known {
        key,
        name,
        shown_by,
        given,
        ..
    } in &known
    {
        let Some(value) = given.as_deref().map(str::trim) else {
            continue;
        };
        if value.is_empty() || value.contains(['\n', '\r']) {
            return Err(Error::Usage(format!("{name} needs a value of one line")));
        }
        changes.push((*key, Some(value)));
        outcomes.push(match shown_by {
            Some(flag) => {
                format!("{name} set. Run 'wsk property get {flag}' to see the new value.")
            }
            None => format!("{name} set to {value}"),
        });
    }
    if changes.is_empty() {
        return Err(nothing_named());
    }
    store(&changes)?;
    outcomes.iter().try_for_each(|outcome| show::ok(outcome))
}

fn unset(args: &PropertyUnsetArgs, global: &WskGlobal) -> Result<(), Error> {
    let namespace = args.namespace.then(String::new);
    let known = known(global, &namespace);
    let named: Vec<_> = known.iter().filter(|it| it.given.is_some()).collect();
    if named.is_empty() {
        return Err(nothing_named());
    }
    let changes: Vec<Change<'_>> = named.iter().map(|it| (it.key, None)).collect();
    store(&changes)?;
    named.iter().try_for_each(|Known { name, default, .. }| {
        show::ok(&match default {
            Some(value) => format!("{name} unset; the default value of {value} will be used."),
            None => format!("{name} unset."),
        })
    })
}

fn nothing_named() -> Error {
    Error::Usage(
        "name a property: --apihost, --auth, --apiversion, --namespace, --cert, --key or --cacert"
            .into(),
    )
}

fn get(args: &PropertyGetArgs, global: &WskGlobal) -> Result<(), Error> {
    let found = Found::read(global)?;
    let or_none = |value: &Option<String>| value.clone().unwrap_or_default();
    let known = [
        (
            "whisk API host",
            or_none(&found.host),
            global.apihost.is_some(),
        ),
        ("whisk auth", or_none(&found.auth), global.auth.is_some()),
        ("whisk namespace", found.namespace, args.namespace),
        ("client cert", or_none(&found.cert), global.cert.is_some()),
        ("Client key", or_none(&found.key), global.key.is_some()),
        (
            "CA certificate",
            or_none(&found.cacert),
            global.cacert.is_some(),
        ),
        (
            "whisk API version",
            ONLY_VERSION.into(),
            global.apiversion.is_some(),
        ),
        (
            "whisk CLI version",
            env!("CARGO_PKG_VERSION").into(),
            args.cliversion,
        ),
    ];
    let is_named = known.iter().any(|(.., is_named)| *is_named);
    let all = args.all || !(is_named || args.apibuild || args.apibuildno);
    let (build, number) = (all || args.apibuild, all || args.apibuildno);
    let mut lines = Vec::new();
    let mut say = |wanted: bool, name: &str, value: &str| {
        if wanted && args.output == "raw" {
            lines.push(value.to_owned());
        } else if wanted {
            // Values are aligned at the third tab stop.
            let tabs = if name.len() < 16 { "\t\t" } else { "\t" };
            lines.push(format!("{name}{tabs}{value}"));
        }
    };
    for (name, value, is_named) in &known {
        say(all || *is_named, name, value);
    }
    let mut problem = None;
    if build || number {
        let asked = ClientContext::of_wsk(global)
            .and_then(|context| parsed(context.client().get_api_info(), "get API build"));
        let (built, no) = match asked {
            Ok(info) => (info.build, info.buildno),
            Err(error) => {
                problem = Some(error);
                (None, None)
            }
        };
        let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "Unknown".into());
        say(build, "whisk API build", &or_unknown(built));
        say(number, "whisk API build number", &or_unknown(no));
    }
    output::line(&lines.join("\n"))?;
    match problem {
        // If all properties were requested, the known ones are worth showing anyway.
        Some(error) if !all => Err(error),
        _ => Ok(()),
    }
}
