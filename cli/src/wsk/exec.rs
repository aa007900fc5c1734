//! What an action is made of: its kind, from a flag or the file's ending, and its code.

use std::path::Path;

use burst_client::ActionExec;

use super::name::Name;
use crate::args::wsk::action::ActionArgs;
use crate::error::Error;
use crate::package::{self, source};

/// The image that runs executables, once for each run.
const LOOP_IMAGE: &str = "openwhisk/dockerskeleton";

/// Returns what the action is made of according to the command line; `None` if that says nothing
/// about it.
pub fn of(args: &ActionArgs, namespace: &str) -> Result<Option<ActionExec>, Error> {
    if args.sequence {
        return sequence(args, namespace).map(Some);
    }
    let image = match &args.docker {
        Some(image) => Some(image.clone()),
        None => args.native.then(|| LOOP_IMAGE.to_owned()),
    };
    let Some(artifact) = &args.artifact else {
        return match image {
            Some(image) if args.docker.is_some() => Ok(Some(ActionExec {
                main: args.main.clone(),
                image: Some(image),
                ..exec("blackbox")
            })),
            Some(_) => Err(Error::Usage("--native needs an executable or a zip".into())),
            None if args.kind.is_some() => {
                Err(Error::Usage("--kind is of a file: name one".into()))
            }
            None => Ok(None),
        };
    };
    let path = Path::new(artifact);
    let bytes = package::read(path)?;
    let kind = match (&image, &args.kind) {
        (Some(_), _) => "blackbox".to_owned(),
        (None, Some(kind)) => source::complete(kind),
        (None, None) => source::kind_of(path, &bytes)?,
    };
    let bytes = if kind.starts_with("rust") && package::is_elf(&bytes) {
        package::zip(path)?
    } else {
        bytes
    };
    let (code, binary) = source::encoded(bytes);
    Ok(Some(ActionExec {
        code: Some(code),
        binary: Some(binary),
        main: args.main.clone(),
        image,
        ..exec(&kind)
    }))
}

fn exec(kind: &str) -> ActionExec {
    ActionExec {
        kind: kind.into(),
        code: None,
        binary: None,
        main: None,
        image: None,
        components: None,
    }
}

fn sequence(args: &ActionArgs, namespace: &str) -> Result<ActionExec, Error> {
    let Some(list) = &args.artifact else {
        return Err(Error::Usage(
            "--sequence needs actions, with commas between them".into(),
        ));
    };
    let names = list.split(',').map(str::trim);
    let names = names.map(|name| Ok(Name::parse(name, namespace)?.qualified()));
    Ok(ActionExec {
        components: Some(names.collect::<Result<_, Error>>()?),
        ..exec("sequence")
    })
}
