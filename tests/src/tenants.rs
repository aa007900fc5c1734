//! Two namespaces on one platform, owned by different people.

use std::path::Path;

use crate::cli::Cli;
use crate::{Api, Platform};

/// A namespace and its credentials.
#[derive(Debug, Clone)]
pub struct Tenant {
    api: Api,
    cli: Cli,
}

/// The platform's first user, and another, unrelated one.
#[derive(Debug, Clone)]
pub struct Tenants {
    /// The platform's own user.
    pub first: Tenant,
    /// The other.
    pub second: Tenant,
}

impl Tenants {
    /// The namespace of the platform's current user, and a new one.
    #[track_caller]
    pub fn two(platform: &Platform) -> Self {
        // The name is derived from the borrower's, as others have created one on this platform,
        // too.
        let name = format!("beside-{}", platform.namespace());
        let create = ["admin", "namespace", "create", &name, "--output", "json"];
        let owner = platform.cli_setup().properties(platform.properties());
        let created = owner.run(&create).exits(0).json();
        let auth = created["auth"].as_str().expect("credentials");
        Self {
            first: Tenant {
                api: platform.api().clone(),
                cli: platform.cli_setup(),
            },
            second: Tenant {
                api: Api::new(platform.api().base(), auth),
                cli: platform.cli_setup().auth(auth),
            },
        }
    }
}

impl Tenant {
    /// The API with its credentials.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The command line with its credentials.
    pub fn cli(&self) -> &Cli {
        &self.cli
    }

    /// Deploys a built program or a package.
    #[track_caller]
    pub fn deploy(&self, name: &str, package: &Path) {
        let package = package.to_str().unwrap();
        self.cli.run(&["deploy", name, package]).exits(0);
    }
}
