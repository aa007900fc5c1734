//! `burst property`.

use serde_json::{Map, Value};

use crate::args::{Format, GlobalArgs, PropertyAction};
use crate::error::Error;
use crate::output;
use crate::properties::{self, Property};
use crate::table::Table;

const ALL: [Property; 4] = [
    Property::ApiHost,
    Property::Auth,
    Property::AdminAuth,
    Property::CaCert,
];

/// Reads or writes the properties that the global flags name.
pub fn run(action: &PropertyAction, args: &GlobalArgs) -> Result<(), Error> {
    let named: Vec<_> = ALL
        .into_iter()
        .filter(|property| property.given(args).is_some())
        .collect();
    if named.is_empty() && !matches!(action, PropertyAction::Get) {
        return Err(Error::Usage(
            "name a property: --apihost, --auth, --admin-auth or --cacert".into(),
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
        let is_admin = properties::is_administrator(value);
        let wrong = match property {
            Property::Auth if is_admin => Some(properties::NOT_A_USER),
            Property::Auth if !value.contains(':') => Some("--auth is not uuid:key"),
            Property::AdminAuth if !is_admin => Some("--admin-auth is not admin:key"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(Error::Usage(wrong.into()));
        }
        values.push((*property, Some(value)));
    }
    let path = properties::store(&values)?;
    named.iter().try_for_each(|property| {
        output::line(&format!("ok: {} set in {}", property.key(), path.display()))
    })?;
    output::next(&["`burst list`"]);
    Ok(())
}

fn unset(named: &[Property]) -> Result<(), Error> {
    let changes: Vec<_> = named.iter().map(|property| (*property, None)).collect();
    let path = properties::store(&changes)?;
    named.iter().try_for_each(|property| {
        let (key, path) = (property.key(), path.display());
        output::line(&format!("ok: {key} is not set in {path}"))
    })
}

fn show(property: Property, args: &GlobalArgs) -> Result<(), Error> {
    match properties::find(property, args)? {
        Some(setting) => output::line(&setting.value),
        None => Err(Error::NotFound(format!("{} is not set", property.key()))),
    }
}

/// Shows all properties, but not the credentials themselves, which are shown only if their flag
/// names them.
fn show_all(args: &GlobalArgs) -> Result<(), Error> {
    let mut table = Table::new(["PROPERTY", "VALUE", "FROM"]);
    let mut json = Map::new();
    for property in ALL {
        let secret = matches!(property, Property::Auth | Property::AdminAuth);
        let found = properties::find(property, args)?;
        let (value, source) = found.map(|it| (it.value, it.source)).unzip();
        let (shown, named) = match value {
            Some(_) if secret => (Some("(set)".into()), Some("set".into())),
            value => (value.clone(), value),
        };
        table.row([property.key().into(), shown.into(), source.into()]);
        json.insert(property.key().into(), named.into());
    }
    if args.output == Format::Json {
        return output::line(&Value::from(json).to_string());
    }
    output::shown(&table.shown())
}
