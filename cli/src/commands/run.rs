//! `burst run`: build, deploy, flare, log, outputs.

use burst_client::Client;

use crate::args::{GlobalArgs, Options, RunArgs};
use crate::commands::deploy::Upload;
use crate::commands::flare::{self, On, Start};
use crate::error::Error;
use crate::variables::Variables;
use crate::{output, package};

/// Deploys the program at the path and waits for one flare of it.
pub fn run(client: &Client, args: &RunArgs, global: &GlobalArgs) -> Result<(), Error> {
    // Invalid inputs are reported before anything is built.
    let (body, size) = flare::body(None, &args.inputs, &args.options)?;
    let package = package::prepare(&args.path, &args.build, client, global.verbose)?;
    let name = args.name.as_deref().unwrap_or(&package.name);
    let upload = Upload {
        name,
        package: &package,
        options: &Options::default(),
        parameters: None,
        variables: Variables::default(),
        overwrite: true,
    };
    let definition = upload.send(client, global.verbose)?.read()?;
    output::note(&format!("deployed {name} {}", definition.version));
    let start = Start {
        on: On::Definition(name.to_owned()),
        name,
        version: None,
        size,
        blocking: true,
        result: true,
        logs: true,
    };
    // Runs the version deployed here, even if somebody has deployed another one since.
    start.run(client, &body.of(&definition.version), global)
}
