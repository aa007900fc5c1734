//! Where `wsk` finds its platform: flags, the environment, `~/.wskprops`.

use std::env;
use std::path::PathBuf;

use super::name::OWN;
use crate::args::GlobalArgs;
use crate::args::wsk::WskGlobal;
use crate::connection::Address;
use crate::error::Error;
use crate::properties::{self, Property};

/// The keys of the properties in the file.
pub const API_HOST: &str = "APIHOST";
pub const AUTH: &str = "AUTH";
pub const NAMESPACE: &str = "NAMESPACE";
pub const VERSION: &str = "APIVERSION";
pub const CA_CERT: &str = "CACERT";
pub const CERT: &str = "CERT";
pub const KEY: &str = "KEY";
/// The only version of the API.
pub const ONLY_VERSION: &str = "v1";

/// What is known about the platform's address and the caller.
pub struct Found {
    /// As it was written: perhaps without a scheme.
    pub host: Option<String>,
    /// Whether it comes from `wsk`'s settings and not from `burst`'s.
    is_of_wsk: bool,
    pub auth: Option<String>,
    pub cacert: Option<String>,
    /// Files of the caller's own certificate and its key, for a proxy that asks for one: the platform does not.
    pub cert: Option<String>,
    pub key: Option<String>,
    /// The namespace of names that give none.
    pub namespace: String,
}

impl Found {
    /// Looks in the flags, then the environment, then the file, then where `burst` looks.
    pub fn read(args: &WskGlobal) -> Result<Self, Error> {
        let text = match properties_file() {
            Some(path) => properties::read(&path)?.unwrap_or_default(),
            None => String::new(),
        };
        let known = |flag: &Option<String>, variable: Option<&str>, key: &str| {
            let flag = flag.clone().filter(|value| !value.is_empty());
            let variable = || env::var(variable?).ok().filter(|value| !value.is_empty());
            flag.or_else(variable)
                .or_else(|| properties::lookup(&text, key))
        };
        let host = known(&args.apihost, Some("WHISK_APIHOST"), API_HOST);
        let auth = known(&args.auth, Some("WHISK_AUTH"), AUTH);
        let cacert = known(&args.cacert, Some("WHISK_CACERT"), CA_CERT);
        let cert = known(&args.cert, None, CERT);
        let key = known(&args.key, None, KEY);
        let namespace = known(&None, Some("WHISK_NAMESPACE"), NAMESPACE);
        let version = args.apiversion.as_deref().filter(|it| !it.is_empty());
        if let Some(version) = version.filter(|it| *it != ONLY_VERSION) {
            return Err(Error::Usage(format!(
                "there is no version {version} of the API: it is {ONLY_VERSION}"
            )));
        }
        let of_burst = |property| -> Result<Option<String>, Error> {
            let found = properties::find(property, &GlobalArgs::default())?;
            Ok(found.map(|setting| setting.value))
        };
        // The certificates of this machine's platform are not for another one that the user names.
        let is_of_wsk = host.is_some();
        Ok(Self {
            is_of_wsk,
            host: host.map_or_else(|| of_burst(Property::ApiHost), |it| Ok(Some(it)))?,
            auth: auth.map_or_else(|| of_burst(Property::Auth), |it| Ok(Some(it)))?,
            cacert: match cacert {
                None if !is_of_wsk => properties::certificates(&GlobalArgs::default())?,
                given => given,
            },
            cert,
            key,
            namespace: namespace.unwrap_or_else(|| OWN.into()),
        })
    }

    /// Returns the address to connect to.
    pub fn address(self, args: &WskGlobal) -> Result<Address, Error> {
        let missing = |what: &str, flag: &str, key: &str| {
            Error::Usage(format!(
                "the {what} is not known: use {flag}, or `wsk property set {flag} …`, which writes {key} to ~/.wskprops"
            ))
        };
        let host = self
            .host
            .ok_or_else(|| missing("API host", "--apihost", API_HOST))?;
        let host = if self.is_of_wsk {
            with_scheme(host)
        } else {
            host
        };
        let auth = self.auth.ok_or_else(|| missing("auth", "--auth", AUTH))?;
        let address = Address::new(host, auth, self.cacert);
        Ok(address
            .identity(self.cert.zip(self.key))
            .insecure(args.insecure)
            .traced(args.verbose || args.debug))
    }
}

/// Adds the scheme https to a bare host, as OpenWhisk's clients do.
fn with_scheme(host: String) -> String {
    if host.contains("://") {
        host
    } else {
        format!("https://{host}")
    }
}

/// Returns `~/.wskprops`, or the file that the environment names instead.
pub fn properties_file() -> Option<PathBuf> {
    match env::var_os("WSK_CONFIG_FILE").filter(|path| !path.is_empty()) {
        Some(path) => Some(path.into()),
        None => env::home_dir().map(|home| home.join(".wskprops")),
    }
}
