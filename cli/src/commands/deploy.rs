//! `burst deploy`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::api::Definition;
use crate::args::{DeployArgs, GlobalArgs, Options};
use crate::client::Client;
use crate::error::Error;
use crate::inputs::{self, Params};
use crate::progress::Progress;
use crate::{output, package};

#[derive(Serialize)]
struct Body<'a> {
    exec: Exec,
    config: &'a Options,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Params>,
}

#[derive(Serialize)]
struct Exec {
    kind: &'static str,
    code: String,
}

/// Builds or reads the package and uploads it.
pub fn run(client: &Client, args: &DeployArgs, global: &GlobalArgs) -> Result<(), Error> {
    let name = args.name.as_str();
    let given = args.no_params || args.params.are_given();
    let parameters = given.then(|| inputs::params(&args.params)).transpose()?;
    let package = package::prepare(&args.path, args.bin.as_deref(), global.verbose)?;
    let size = output::size(package.len() as u64);
    let body = Body {
        exec: Exec {
            kind: "rust",
            code: STANDARD.encode(&package),
        },
        config: &args.options,
        parameters,
    };
    let progress = Progress::spinner(format!("uploading {size}"), global.verbose);
    let answer = client
        .put(
            &["bursts", name],
            &[("overwrite", Some(args.overwrite.to_string()))],
            &body,
        )
        .map_err(|error| explain(error, args))?;
    drop(progress);
    output::answer(global.output, &answer, || {
        let definition: Definition = answer.read()?;
        Ok(format!(
            "ok: deployed {name} {} ({size})",
            definition.version
        ))
    })
}

fn explain(error: Error, args: &DeployArgs) -> Error {
    match error {
        Error::Refused {
            status: 409, code, ..
        } if !args.overwrite => {
            let message = format!("\"{}\" exists; pass --overwrite to replace it", args.name);
            Error::Refused {
                status: 409,
                message,
                code,
            }
        }
        other => other,
    }
}
