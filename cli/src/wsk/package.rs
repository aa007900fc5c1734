//! `package`.

use burst_client::{DeletePackageQuery, PackageName, PackageRequest, PutPackageQuery};

use super::client_context::{ClientContext, parsed, unable};
use super::entity::{self, Placed};
use super::lists::{self, Collection};
use super::name::{self, Name};
use super::{fields, show};
use crate::args::wsk::package::{BindArgs, PackageArgs, PackageDeleteArgs, PackageVerb};
use crate::args::wsk::{EntityGetArgs, package::RefreshArgs};
use crate::error::Error;
use crate::{inputs, output};

/// Runs a `package` command.
pub fn run(verb: &PackageVerb, context: &ClientContext) -> Result<(), Error> {
    match verb {
        PackageVerb::Create(args) => put(context, args, false),
        PackageVerb::Update(args) => put(context, args, true),
        PackageVerb::Bind(args) => bind(context, args),
        PackageVerb::Get(args) => get(context, args),
        PackageVerb::List(args) => lists::run(context, Collection::Packages, args),
        PackageVerb::Delete(args) => delete(context, args),
        PackageVerb::Refresh(args) => refresh(context, args),
    }
}

fn put(context: &ClientContext, args: &PackageArgs, overwrite: bool) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let verb = if overwrite { "update" } else { "create" };
    let request = PackageRequest {
        publish: args.shared.shared,
        parameters: fields::parameters(&args.params)?,
        annotations: fields::annotations(&args.annotations)?,
        ..PackageRequest::default()
    };
    let what = format!("{verb} package '{}'", args.name);
    send(context, &name, overwrite, request, &what)?;
    show::ok(&format!("{verb}d package {}", name.name))
}

fn send(
    context: &ClientContext,
    name: &Name,
    overwrite: bool,
    request: PackageRequest,
    what: &str,
) -> Result<(), Error> {
    let overwrite = Some(overwrite);
    let made = context.of(name).put_package(
        &name.name,
        &PutPackageQuery { overwrite },
        &Placed::new(name, request),
    );
    made.map(drop).map_err(unable(what))
}

fn bind(context: &ClientContext, args: &BindArgs) -> Result<(), Error> {
    let package = Name::parse_plain(&args.package, &context.namespace)?;
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let package = PackageName {
        namespace: package.namespace,
        name: package.name,
    };
    let request = PackageRequest {
        binding: Some(inputs::json(&package)?),
        parameters: fields::parameters(&args.params)?,
        annotations: fields::annotations(&args.annotations)?,
        ..PackageRequest::default()
    };
    let what = format!("create binding '{}'", args.name);
    send(context, &name, false, request, &what)?;
    show::ok(&format!("created binding {}", name.name))
}

fn get(context: &ClientContext, args: &EntityGetArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("get package '{}'", args.name);
    let answer = context.of(&name).get_package(&name.name);
    let answer = answer.map_err(unable(&what))?;
    if !args.summary {
        let what = format!("package {}", name.name);
        return show::entity(&what, answer.text(), args.field.as_deref());
    }
    let package = answer.read().map_err(unable(&what))?;
    let qualified = entity::qualified(&package.namespace, &package.name);
    show::summary(
        "package",
        &qualified,
        &package.annotations,
        &package.parameters,
    )?;
    for (kind, inside) in [(" action", package.actions), (" feed  ", package.feeds)] {
        for member in inside.unwrap_or_default() {
            let name = format!("{qualified}/{}", member.name);
            show::summary(kind, &name, &member.annotations, &[])?;
        }
    }
    Ok(())
}

fn delete(context: &ClientContext, args: &PackageDeleteArgs) -> Result<(), Error> {
    let name = Name::parse_plain(&args.name, &context.namespace)?;
    let what = format!("delete package '{}'", args.name);
    let query = DeletePackageQuery {
        force: args.force.then_some(true),
    };
    let deleted = context.of(&name).delete_package(&name.name, &query);
    deleted.map_err(unable(&what))?;
    show::ok(&format!("deleted package {}", name.name))
}

fn refresh(context: &ClientContext, args: &RefreshArgs) -> Result<(), Error> {
    let (namespace, _) = name::within(args.namespace.as_deref(), &context.namespace)?;
    let what = format!("refresh package list for namespace '{namespace}'");
    let client = context.client().in_namespace(&namespace);
    let refreshed = parsed(client.refresh_packages(), &what)?;
    show::ok(&format!("{namespace} refreshed successfully"))?;
    for (what, names) in [
        ("created", &refreshed.added),
        ("updated", &refreshed.updated),
        ("deleted", &refreshed.deleted),
    ] {
        let names = if names.is_empty() {
            "  none".into()
        } else {
            format!("  {}", names.join("\n  "))
        };
        output::line(&format!("{what} bindings:\n{names}"))?;
    }
    Ok(())
}
