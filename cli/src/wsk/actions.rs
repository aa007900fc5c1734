//! The requests for actions: the API has calls of their own for those in a package.

use burst_client::{
    Action, Answer, Error as ApiError, GetActionOfPackageQuery, GetActionQuery, InvokeQuery,
    Invoked, PutActionOfPackageQuery, PutActionQuery,
};
use serde::Serialize;

use super::client_context::ClientContext;
use super::name::Name;

/// Requests an action, with its code or without.
pub fn get(context: &ClientContext, name: &Name, code: bool) -> Result<Answer<Action>, ApiError> {
    let client = context.of(name);
    let code = Some(code);
    match &name.package {
        Some(package) => {
            client.get_action_of_package(package, &name.name, &GetActionOfPackageQuery { code })
        }
        None => {
            let query = GetActionQuery {
                code,
                ..GetActionQuery::default()
            };
            client.get_action(&name.name, &query).map(Answer::cast)
        }
    }
}

/// Creates an action or, with `overwrite`, changes an existing one.
pub fn put(
    context: &ClientContext,
    name: &Name,
    overwrite: bool,
    request: &impl Serialize,
) -> Result<Answer<Action>, ApiError> {
    let client = context.of(name);
    let overwrite = Some(overwrite);
    match &name.package {
        Some(package) => {
            let query = PutActionOfPackageQuery { overwrite };
            client.put_action_of_package(package, &name.name, &query, request)
        }
        None => client.put_action(&name.name, &PutActionQuery { overwrite }, request),
    }
}

/// Deletes an action.
pub fn delete(context: &ClientContext, name: &Name) -> Result<Answer<Action>, ApiError> {
    let client = context.of(name);
    match &name.package {
        Some(package) => client.delete_action_of_package(package, &name.name),
        None => client.delete_action(&name.name),
    }
}

/// Calls an action.
pub fn invoke(
    context: &ClientContext,
    name: &Name,
    query: &InvokeQuery,
    arguments: &impl Serialize,
) -> Result<Invoked, ApiError> {
    let client = context.of(name);
    match &name.package {
        Some(package) => client.invoke_of_package(package, &name.name, query, arguments),
        None => client.invoke(&name.name, query, arguments),
    }
}
