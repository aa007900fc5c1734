//! Finding the platform, and who is calling.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use burst_client::{AddressError, Client, Error as ApiError};

use crate::args::GlobalArgs;
use crate::error::Error;
use crate::properties::{self, Property};
use crate::trace::Trace;

/// The platform and the user's credentials for it; nothing is sent yet.
pub fn user(args: &GlobalArgs) -> Result<Client, Error> {
    connect(Property::Auth, args)
}

/// The same for the platform's administrator.
pub fn administrator(args: &GlobalArgs) -> Result<Client, Error> {
    if args.auth.is_some() {
        return Err(Error::Usage(
            "--auth is a user's: `burst admin` takes --admin-auth admin:KEY".into(),
        ));
    }
    connect(Property::AdminAuth, args)
}

fn connect(credentials: Property, args: &GlobalArgs) -> Result<Client, Error> {
    let host = required(Property::ApiHost, args)?;
    let auth = required(credentials, args)?;
    if credentials == Property::Auth && properties::is_administrator(&auth) {
        return Err(Error::Usage(properties::NOT_A_USER.into()));
    }
    let agent = concat!("burst/", env!("CARGO_PKG_VERSION"));
    let mut builder = Client::builder(&host, &auth).agent(agent);
    let file = properties::find(Property::CaCert, args)?.map(|setting| setting.value);
    let secure = host.to_ascii_lowercase().starts_with("https:");
    if let Some(file) = file.as_ref().filter(|_| secure) {
        let pem = fs::read(file).map_err(Error::file("read", Path::new(file)))?;
        builder = builder.certificates(&pem);
    }
    if args.verbose {
        builder = builder.observer(Arc::new(Trace));
    }
    builder.build().map_err(|error| match error {
        ApiError::BadAddress {
            why: AddressError::HasCredentials,
            ..
        } => Error::Usage("credentials belong into AUTH, not into APIHOST".into()),
        ApiError::BadAddress { address, why } => {
            Error::Usage(format!("APIHOST \"{address}\" is not usable: {why}"))
        }
        ApiError::BadCredentials => {
            let form = match credentials {
                Property::AdminAuth => "admin:key",
                _ => "uuid:key",
            };
            let key = credentials.key();
            Error::Usage(format!("the credentials ({key}) are not {form}"))
        }
        ApiError::NoCertificate => {
            let file = file.unwrap_or_default();
            Error::Usage(format!("{file} (CACERT) holds no PEM certificate"))
        }
        other => other.into(),
    })
}

fn required(property: Property, args: &GlobalArgs) -> Result<String, Error> {
    let (key, flag) = (property.key(), property.flag());
    if property.given(args) == Some("") {
        return Err(Error::Usage(format!("{flag} needs a value")));
    }
    properties::find(property, args)?
        .map(|setting| setting.value)
        .ok_or_else(|| {
            Error::Usage(format!(
                "no {key} is known: pass {flag}, set {}, run `burst property set {flag} …`, \
             or start a platform here with `burst standalone`",
                property.variable()
            ))
        })
}
