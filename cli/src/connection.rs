//! Finds the platform and the caller's credentials.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use burst_client::{AddressError, Client, Error as ApiError};

use crate::args::GlobalArgs;
use crate::error::Error;
use crate::properties::{self, Property};
use crate::trace::Trace;

/// Returns a client of the platform with the user's credentials; sends nothing yet.
pub fn user(args: &GlobalArgs) -> Result<Client, Error> {
    connect(Property::Auth, args)
}

/// Returns a client with the credentials of the platform's administrator; sends nothing yet.
pub fn administrator(args: &GlobalArgs) -> Result<Client, Error> {
    if args.auth.is_some() {
        return Err(Error::Usage(
            "--auth is a user's: `burst admin` takes --admin-auth admin:KEY".into(),
        ));
    }
    connect(Property::AdminAuth, args)
}

fn connect(credentials: Property, args: &GlobalArgs) -> Result<Client, Error> {
    found(credentials, args)?.connect()
}

/// The platform's address, the caller's credentials, and the certificates to trust.
pub struct Address {
    host: String,
    auth: String,
    /// File of the certificates to trust.
    cacert: Option<String>,
    /// Files of the caller's own certificate and its key.
    identity: Option<(String, String)>,
    /// The kind of credentials, which decides their form.
    credentials: Property,
    insecure: bool,
    traced: bool,
    timeout: Option<Duration>,
}

/// Finds the platform and the user's credentials in the flags, the environment and the properties files.
pub fn user_address(args: &GlobalArgs) -> Result<Address, Error> {
    found(Property::Auth, args)
}

fn found(credentials: Property, args: &GlobalArgs) -> Result<Address, Error> {
    let host = required(Property::ApiHost, args)?;
    let auth = required(credentials, args)?;
    let cacert = properties::certificates(args)?;
    let mut address = Address::new(host, auth, cacert).traced(args.verbose);
    address.credentials = credentials;
    Ok(address)
}

impl Address {
    /// An address with a user's credentials and, optionally, a file of certificates to trust.
    pub fn new(host: String, auth: String, cacert: Option<String>) -> Self {
        Self {
            host,
            auth,
            cacert,
            identity: None,
            credentials: Property::Auth,
            insecure: false,
            traced: false,
            timeout: None,
        }
    }

    /// Sets whether the platform is trusted whatever its certificate.
    pub fn insecure(mut self, insecure: bool) -> Self {
        self.insecure = insecure;
        self
    }

    /// Sets the files of the caller's own certificate and its key, for a proxy that asks for one.
    pub fn identity(mut self, files: Option<(String, String)>) -> Self {
        self.identity = files;
        self
    }

    /// Sets whether requests and answers are shown.
    pub fn traced(mut self, traced: bool) -> Self {
        self.traced = traced;
        self
    }

    /// Sets how long to wait for an answer.
    pub fn patient(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The credentials.
    pub fn auth(&self) -> &str {
        &self.auth
    }

    /// Makes a client; sends nothing yet.
    pub fn connect(self) -> Result<Client, Error> {
        let Self {
            host,
            auth,
            cacert,
            credentials,
            ..
        } = self;
        if credentials == Property::Auth && properties::is_administrator(&auth) {
            return Err(Error::Usage(properties::NOT_A_USER.into()));
        }
        let agent = concat!("burst/", env!("CARGO_PKG_VERSION"));
        let mut builder = Client::builder(&host, &auth).agent(agent);
        let secure = host.to_ascii_lowercase().starts_with("https:");
        if let Some(file) = cacert.as_ref().filter(|_| secure) {
            let pem = fs::read(file).map_err(Error::file("read", Path::new(file)))?;
            builder = builder.certificates(&pem);
        }
        if let Some((cert, key)) = self.identity.as_ref().filter(|_| secure) {
            let mut pem = Vec::new();
            for file in [cert, key] {
                pem.extend(fs::read(file).map_err(Error::file("read", Path::new(file)))?);
                pem.push(b'\n');
            }
            builder = builder.identity(&pem);
        }
        if self.insecure {
            builder = builder.trusting_anyone();
        }
        if self.traced {
            builder = builder.observer(Arc::new(Trace));
        }
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        builder.build().map_err(|error| match error {
            ApiError::BadAddress {
                why: AddressError::HasCredentials,
                ..
            } => Error::Usage("credentials belong in AUTH, not in APIHOST".into()),
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
                let file = cacert.unwrap_or_default();
                Error::Usage(format!("{file} (CACERT) holds no PEM certificate"))
            }
            ApiError::NoIdentity => {
                let (cert, key) = self.identity.unwrap_or_default();
                Error::Usage(format!(
                    "{cert} (CERT) and {key} (KEY) hold no PEM certificate with its key"
                ))
            }
            other => other.into(),
        })
    }
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
             or start a platform here with `burst standalone` (with --data DIR: \
             BURST_CONFIG_FILE=DIR/properties)",
                property.variable()
            ))
        })
}
