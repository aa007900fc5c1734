//! `burst deploy`.

use std::collections::BTreeMap;

use burst_client::{Answer, Client, Definition, DeployQuery, Error as ApiError, Package};
use serde::Serialize;

use crate::args::{DeployArgs, GlobalArgs, Options};
use crate::error::Error;
use crate::inputs::{self, Params};
use crate::progress::Progress;
use crate::variables::{self, Variables};
use crate::{output, package};

#[derive(Serialize)]
struct Body<'a> {
    exec: &'a Package,
    config: &'a Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Params>,
    #[serde(skip_serializing_if = "Option::is_none")]
    environment: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secrets: Option<BTreeMap<String, Option<String>>>,
}

/// Builds or reads the package and uploads it.
pub fn run(client: &Client, args: &DeployArgs, global: &GlobalArgs) -> Result<(), Error> {
    let name = args.name.as_str();
    let given = args.no_params || args.params.are_given();
    let parameters = given.then(|| inputs::params(&args.params)).transpose()?;
    let variables = variables::variables(&args.variables)?;
    let missing = missing_secrets(client, args);
    let package = package::prepare(&args.path, &args.build, client, global.verbose)?;
    let size = output::size(package.size);
    let upload = Upload {
        name,
        package: &package,
        options: &args.options,
        parameters,
        variables,
        overwrite: args.overwrite,
    };
    let answer = upload
        .send(client, global.verbose)
        .map_err(|error| explain(error, args))?;
    for secret in missing {
        output::note(&format!("{name} had no secret {secret} to remove"));
    }
    output::answer(global.output, &answer, || {
        let definition = answer.read()?;
        Ok(format!("ok: deployed {name} {} ({size})", definition.version).into())
    })?;
    let flare = format!("`burst flare {} --result`", output::word(name));
    // A user who gave parameters needs no hint about them.
    let needs = if given {
        ""
    } else {
        ", with --param KEY=VALUE if it needs any"
    };
    output::next(&[&format!("{flare}{needs}")]);
    Ok(())
}

/// Returns the secrets to remove that the definition does not have; perhaps they have another name. Returns none if the
/// definition cannot be read.
fn missing_secrets(client: &Client, args: &DeployArgs) -> Vec<String> {
    let mut missing = args.variables.no_secret.clone();
    if !missing.is_empty() {
        let definition = client.get_definition(&args.name);
        match definition.and_then(|answer| answer.read()) {
            Ok(definition) => missing.retain(|name| !definition.secrets.contains(name)),
            Err(_) => missing.clear(),
        }
    }
    missing
}

/// A definition to upload.
pub struct Upload<'a> {
    /// The definition's name.
    pub name: &'a str,
    /// The program.
    pub package: &'a package::Package,
    /// Default options.
    pub options: &'a Options,
    /// Default parameters, if they are to be set.
    pub parameters: Option<Params>,
    /// Changes to the program's environment.
    pub variables: Variables,
    /// Whether to replace the definition if it exists.
    pub overwrite: bool,
}

impl Upload<'_> {
    /// Uploads it.
    pub fn send(self, client: &Client, verbose: bool) -> Result<Answer<Definition>, ApiError> {
        let size = output::size(self.package.size);
        let _progress = Progress::spinner(format!("uploading {size}"), verbose);
        let body = Body {
            exec: &self.package.exec,
            config: self.options,
            parameters: self.parameters,
            environment: self.variables.environment,
            secrets: self.variables.secrets,
        };
        let query = DeployQuery {
            overwrite: Some(self.overwrite),
        };
        client.deploy(self.name, &query, &body)
    }
}

fn explain(error: ApiError, args: &DeployArgs) -> Error {
    match error {
        ApiError::Refused {
            status: 409, code, ..
        } if !args.overwrite => {
            let message = format!("\"{}\" exists; pass --overwrite to replace it", args.name);
            Error::Api(ApiError::Refused {
                status: 409,
                message,
                code,
            })
        }
        other => other.into(),
    }
}
