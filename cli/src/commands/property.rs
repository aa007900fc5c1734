//! `burst property`.

use crate::args::{Format, GlobalArgs, PropertyAction};
use crate::error::Error;
use crate::output;
use crate::properties::{self, Property, Setting};

const ALL: [Property; 3] = [Property::ApiHost, Property::Auth, Property::CaCert];

/// Reads or writes the properties that the global flags name.
pub fn run(action: &PropertyAction, args: &GlobalArgs) -> Result<(), Error> {
    let named: Vec<_> = ALL
        .into_iter()
        .filter(|property| property.given(args).is_some())
        .collect();
    if named.is_empty() && !matches!(action, PropertyAction::Get) {
        return Err(Error::Usage(
            "name a property: --apihost, --auth or --cacert".into(),
        ));
    }
    match action {
        PropertyAction::Set => set(&named, args),
        PropertyAction::Unset => unset(&named),
        PropertyAction::Get if named.is_empty() => show_all(args),
        PropertyAction::Get => named
            .into_iter()
            .try_for_each(|property| show(property, args)),
    }
}

fn set(named: &[Property], args: &GlobalArgs) -> Result<(), Error> {
    // All are checked before any is written.
    let mut values = Vec::new();
    for property in named {
        let value = property.given(args).unwrap_or_default().trim();
        if value.is_empty() {
            return Err(Error::Usage(format!("{} needs a value", property.flag())));
        }
        if value.contains(['\n', '\r']) {
            return Err(Error::Usage(format!(
                "{} must be one line",
                property.flag()
            )));
        }
        if *property == Property::Auth && !value.contains(':') {
            return Err(Error::Usage("--auth is not uuid:key".into()));
        }
        values.push(value);
    }
    for (property, value) in named.iter().zip(values) {
        let path = properties::store(*property, Some(value))?;
        output::line(&format!("ok: {} set in {}", property.key(), path.display()))?;
    }
    Ok(())
}

fn unset(named: &[Property]) -> Result<(), Error> {
    for property in named {
        let path = properties::store(*property, None)?;
        output::line(&format!(
            "ok: {} is not set in {}",
            property.key(),
            path.display()
        ))?;
    }
    Ok(())
}

fn show(property: Property, args: &GlobalArgs) -> Result<(), Error> {
    match properties::find(property, args)? {
        Some(setting) => output::line(&setting.value),
        None => Err(Error::NotFound(format!("{} is not set", property.key()))),
    }
}

/// Everything but the credentials themselves, which only `--auth` asks for by name.
fn show_all(args: &GlobalArgs) -> Result<(), Error> {
    let host = properties::find(Property::ApiHost, args)?;
    let auth = properties::find(Property::Auth, args)?;
    let cacert = properties::find(Property::CaCert, args)?;
    if args.output == Format::Json {
        let json = serde_json::json!({
            "APIHOST": host.map(|host| host.value),
            "AUTH": auth.map(|_| "set"),
            "CACERT": cacert.map(|cacert| cacert.value),
        });
        return output::line(&json.to_string());
    }
    let source = |setting: &Option<Setting>| {
        output::or_dash(setting.as_ref().map(|setting| setting.source.as_str()))
    };
    let mut table = output::table(["PROPERTY", "VALUE", "FROM"]);
    table.add_row([
        "APIHOST".into(),
        output::or_dash(host.as_ref().map(|h| h.value.as_str())),
        source(&host),
    ]);
    table.add_row([
        "AUTH".into(),
        output::or_dash(auth.as_ref().map(|_| "(set)")),
        source(&auth),
    ]);
    table.add_row([
        "CACERT".into(),
        output::or_dash(cacert.as_ref().map(|c| c.value.as_str())),
        source(&cacert),
    ]);
    output::line(&output::render(table))
}
