//! `burst deploy`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burst_client::{Client, DeployQuery, Error as ApiError, Kind, Package};
use serde::Serialize;

use crate::args::{DeployArgs, GlobalArgs, Options};
use crate::error::Error;
use crate::inputs::{self, Params};
use crate::progress::Progress;
use crate::{output, package};

#[derive(Serialize)]
struct Body<'a> {
    exec: Package,
    config: &'a Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Params>,
}

/// Builds or reads the package and uploads it.
pub fn run(client: &Client, args: &DeployArgs, global: &GlobalArgs) -> Result<(), Error> {
    let name = args.name.as_str();
    let given = args.no_params || args.params.are_given();
    let parameters = given.then(|| inputs::params(&args.params)).transpose()?;
    let package = package::prepare(&args.path, args.bin.as_deref(), global.verbose)?;
    let size = output::size(package.len() as u64);
    let body = Body {
        exec: Package {
            kind: Kind::Rust,
            code: STANDARD.encode(&package),
        },
        config: &args.options,
        parameters,
    };
    let progress = Progress::spinner(format!("uploading {size}"), global.verbose);
    let query = DeployQuery {
        overwrite: Some(args.overwrite),
    };
    let answer = client
        .deploy(name, &query, &body)
        .map_err(|error| explain(error, args))?;
    drop(progress);
    output::answer(global.output, &answer, || {
        let definition = answer.read()?;
        Ok(format!(
            "ok: deployed {name} {} ({size})",
            definition.version
        ))
    })
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
