// Made from openapi.yaml: `cargo run -p burst-client-generator` makes it anew.

//! The API's operations.

use reqwest::Method;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, Body};
use crate::call::{Call, NAMESPACE};
use crate::client::Client;
use crate::error::Error;
use crate::model::*;

/// What [`Client::list_definitions`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListDefinitionsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
}

/// What [`Client::deploy`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct DeployQuery {
    /// Replaces a definition of that name, and raises its patch version; the one that is replaced is kept for some
    /// time as a version. Parameters are kept when there is no `parameters`, environment variables when there is
    /// no `environment`, and each option and each secret that `config` and `secrets` leave out.
    pub overwrite: Option<bool>,
}

/// What [`Client::list_versions`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListVersionsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
}

/// What [`Client::list_flares`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListFlaresQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only flares of this definition.
    pub name: Option<String>,
    /// Only flares in this state.
    pub state: Option<FlareState>,
}

/// What [`Client::get_logs`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct GetLogsQuery {
    /// Only this worker's lines.
    pub worker: Option<u32>,
}

/// What [`Client::list_groups`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListGroupsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only groups of this definition.
    pub name: Option<String>,
}

/// What [`Client::list_actions`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListActionsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::get_action`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct GetActionQuery {
    /// Whether an action is shown with its code.
    pub code: Option<bool>,
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::put_action`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct PutActionQuery {
    /// Replaces what has this name; without it that is a conflict.
    pub overwrite: Option<bool>,
}

/// What [`Client::get_action_of_package`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct GetActionOfPackageQuery {
    /// Whether an action is shown with its code.
    pub code: Option<bool>,
}

/// What [`Client::put_action_of_package`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct PutActionOfPackageQuery {
    /// Replaces what has this name; without it that is a conflict.
    pub overwrite: Option<bool>,
}

/// What [`Client::list_packages`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListPackagesQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::put_package`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct PutPackageQuery {
    /// Replaces what has this name; without it that is a conflict.
    pub overwrite: Option<bool>,
}

/// What [`Client::delete_package`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct DeletePackageQuery {
    /// With its actions; without it a package that has any is a conflict.
    pub force: Option<bool>,
}

/// What [`Client::list_triggers`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListTriggersQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::put_trigger`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct PutTriggerQuery {
    /// Replaces what has this name; without it that is a conflict.
    pub overwrite: Option<bool>,
}

/// What [`Client::list_rules`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListRulesQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::put_rule`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct PutRuleQuery {
    /// Replaces what has this name; without it that is a conflict.
    pub overwrite: Option<bool>,
}

/// What [`Client::list_activations`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListActivationsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only those of this action or trigger, as `name` or `package/name`.
    pub name: Option<String>,
    /// Only those that began at this time or later, in milliseconds since the epoch.
    pub since: Option<u64>,
    /// Only those that began at this time or before.
    pub upto: Option<u64>,
    /// Whole records.
    pub docs: Option<bool>,
    /// Only how many there are behind those that are passed over.
    pub count: Option<bool>,
}

/// What [`Client::create_api`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct CreateApiQuery {
    /// With which extension the operation's web action is called.
    pub responsetype: Option<WebExtension>,
}

/// What [`Client::list_apis`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListApisQuery {
    /// Only the API with this base path or name.
    pub basepath: Option<String>,
    /// Only this path of the API.
    pub relpath: Option<String>,
    /// Only the operation of this verb.
    pub operation: Option<String>,
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
}

/// What [`Client::delete_api`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct DeleteApiQuery {
    /// The API's base path or name.
    pub basepath: Option<String>,
    /// Only this path of the API.
    pub relpath: Option<String>,
    /// Only the operation of this verb.
    pub operation: Option<String>,
}

/// What [`Client::list_namespaces`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListNamespacesQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
}

/// What [`Client::create_namespace`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct CreateNamespaceQuery {
    /// Gives an existing namespace, revoked or not, a fresh key and these limits.
    pub overwrite: Option<bool>,
}

/// What [`Client::list_all_flares`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListAllFlaresQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only flares of this namespace.
    pub namespace: Option<String>,
    /// Only flares in this state.
    pub state: Option<FlareState>,
}

/// What [`Client::list_all_groups`] may be asked for.
#[derive(Debug, Clone, Default)]
pub struct ListAllGroupsQuery {
    /// How many entries to list; 0 for as many as there may be, 200.
    pub limit: Option<u32>,
    /// How many entries to pass over.
    pub skip: Option<u32>,
    /// Only groups of this namespace.
    pub namespace: Option<String>,
}

impl Client {
    /// What answers here.
    ///
    /// `GET /`
    pub fn get_info(&self) -> Result<Answer<Info>, Error> {
        self.answer(Call::new(Method::GET, &[]))
    }

    /// What answers here.
    ///
    /// `GET /api/v1`
    pub fn get_api_info(&self) -> Result<Answer<Info>, Error> {
        self.answer(Call::new(Method::GET, &["api", "v1"]))
    }

    /// Whether the platform is alive.
    ///
    /// `GET /ping`
    pub fn ping(&self) -> Result<String, Error> {
        self.text(Call::new(Method::GET, &["ping"]))
    }

    /// Whether this controller can take flares now; each part that it needs is tried, at most once a second.
    ///
    /// `GET /ready`
    pub fn get_readiness(&self) -> Result<Answer<Readiness>, Error> {
        self.answer(Call::new(Method::GET, &["ready"]))
    }

    /// The platform's figures in Prometheus' text format.
    ///
    /// `GET /metrics`
    pub fn get_metrics(&self) -> Result<String, Error> {
        self.text(Call::new(Method::GET, &["metrics"]))
    }

    /// This description.
    ///
    /// `GET /api/v1/openapi.yaml`
    pub fn get_description(&self) -> Result<String, Error> {
        self.text(Call::new(Method::GET, &["api", "v1", "openapi.yaml"]))
    }

    /// This description as JSON.
    ///
    /// `GET /api/v1/api-docs`
    pub fn get_description_as_json(&self) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(Call::new(Method::GET, &["api", "v1", "api-docs"]))
    }

    /// The machines that run workers, by id.
    ///
    /// `GET /api/v1/invokers`
    pub fn list_invokers(&self) -> Result<Answer<Vec<Invoker>>, Error> {
        self.answer(Call::new(Method::GET, &["api", "v1", "invokers"]))
    }

    /// The names of the namespaces that these credentials open, of which there is one.
    ///
    /// `GET /api/v1/namespaces`
    pub fn list_own_namespaces(&self) -> Result<Answer<Vec<String>>, Error> {
        self.answer(Call::new(Method::GET, &["api", "v1", "namespaces"]))
    }

    /// The namespace's definitions without their parameters, those deployed last first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/bursts`
    pub fn list_definitions(
        &self,
        query: &ListDefinitionsQuery,
    ) -> Result<Answer<Vec<DefinitionSummary>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "bursts"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref()),
        )
    }

    /// Deploys a definition, package and configuration.
    ///
    /// The package is checked: it must be a sound zip with an executable `exec` at its top, or the executable
    /// itself, built for the architecture and the C library of every invoker that is up.
    ///
    /// `request` is a [`Deployment`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/bursts/{name}`
    pub fn deploy(
        &self,
        name: &str,
        query: &DeployQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Definition>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &["api", "v1", "namespaces", NAMESPACE, "bursts", name],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// A definition.
    ///
    /// `GET /api/v1/namespaces/{namespace}/bursts/{name}`
    pub fn get_definition(&self, name: &str) -> Result<Answer<Definition>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "bursts", name],
        ))
    }

    /// Removes a definition with all its versions, and their packages when nothing else uses them.
    ///
    /// Flares that run go on; finished flares and what they left stay.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/bursts/{name}`
    pub fn delete_definition(&self, name: &str) -> Result<Answer<Definition>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "bursts", name],
        ))
    }

    /// The versions of a definition that are kept, without their parameters, the present one first.
    ///
    /// The last 10 are kept unless configured otherwise, and fewer where the namespace needs their bytes for what
    /// it deploys.
    ///
    /// `GET /api/v1/namespaces/{namespace}/bursts/{name}/versions`
    pub fn list_versions(
        &self,
        name: &str,
        query: &ListVersionsQuery,
    ) -> Result<Answer<Vec<DefinitionSummary>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &[
                    "api",
                    "v1",
                    "namespaces",
                    NAMESPACE,
                    "bursts",
                    name,
                    "versions",
                ],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref()),
        )
    }

    /// A version of a definition.
    ///
    /// `GET /api/v1/namespaces/{namespace}/bursts/{name}/versions/{version}`
    pub fn get_version(&self, name: &str, version: &str) -> Result<Answer<Definition>, Error> {
        self.answer(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "bursts",
                name,
                "versions",
                version,
            ],
        ))
    }

    /// Makes a next version of a definition that is equal to an older one.
    ///
    /// `request` is a [`Rollback`], or serializes as one.
    ///
    /// `POST /api/v1/namespaces/{namespace}/bursts/{name}/rollback`
    pub fn roll_back(
        &self,
        name: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Definition>, Error> {
        self.answer(
            Call::new(
                Method::POST,
                &[
                    "api",
                    "v1",
                    "namespaces",
                    NAMESPACE,
                    "bursts",
                    name,
                    "rollback",
                ],
            )
            .body(request)?,
        )
    }

    /// The namespace's flares, newest first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/flares`
    pub fn list_flares(&self, query: &ListFlaresQuery) -> Result<Answer<Vec<FlareSummary>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "flares"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("name", query.name.as_ref())
            .query("state", query.state.as_ref()),
        )
    }

    /// A flare with its packs and workers.
    ///
    /// `GET /api/v1/namespaces/{namespace}/flares/{flareId}`
    pub fn get_flare(&self, flare_id: &str) -> Result<Answer<Flare>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "flares", flare_id],
        ))
    }

    /// Cancels a flare; every worker is stopped and every slot freed.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/flares/{flareId}`
    pub fn cancel_flare(&self, flare_id: &str) -> Result<Answer<Accepted>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "flares", flare_id],
        ))
    }

    /// Outputs by worker, also while the flare runs.
    ///
    /// `GET /api/v1/namespaces/{namespace}/flares/{flareId}/result`
    pub fn get_result(&self, flare_id: &str) -> Result<Body<FlareResult>, Error> {
        self.open(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "flares",
                flare_id,
                "result",
            ],
        ))
    }

    /// What the workers wrote, in the order it arrived.
    ///
    /// The answer is written while the log is read, as it was when it was asked for. Should the log be cleared
    /// meanwhile, because the flare is run again, the connection breaks before the answer's end.
    ///
    /// `GET /api/v1/namespaces/{namespace}/flares/{flareId}/logs`
    pub fn get_logs(&self, flare_id: &str, query: &GetLogsQuery) -> Result<Body<Logs>, Error> {
        self.open(
            Call::new(
                Method::GET,
                &[
                    "api",
                    "v1",
                    "namespaces",
                    NAMESPACE,
                    "flares",
                    flare_id,
                    "logs",
                ],
            )
            .query("worker", query.worker.as_ref()),
        )
    }

    /// Where each worker's time went.
    ///
    /// `GET /api/v1/namespaces/{namespace}/flares/{flareId}/timeline`
    pub fn get_timeline(&self, flare_id: &str) -> Result<Answer<Timeline>, Error> {
        self.answer(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "flares",
                flare_id,
                "timeline",
            ],
        ))
    }

    /// The namespace's groups, newest first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/groups`
    pub fn list_groups(&self, query: &ListGroupsQuery) -> Result<Answer<Vec<GroupSummary>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "groups"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("name", query.name.as_ref()),
        )
    }

    /// Opens a group, whose packs come up and wait for flares.
    ///
    /// It gets its slots as a flare does, and keeps them until it is closed, no flare comes for its idle time-out,
    /// or something ends it: a flare on it that does not succeed, a pack or invoker that is lost, the controller's
    /// restart.
    ///
    /// `request` is a [`GroupRequest`], or serializes as one.
    ///
    /// `POST /api/v1/namespaces/{namespace}/groups`
    pub fn open_group(
        &self,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<AcceptedGroup>, Error> {
        self.answer(
            Call::new(
                Method::POST,
                &["api", "v1", "namespaces", NAMESPACE, "groups"],
            )
            .once()?
            .body(request)?,
        )
    }

    /// A group with its packs.
    ///
    /// `GET /api/v1/namespaces/{namespace}/groups/{groupId}`
    pub fn get_group(&self, group_id: &str) -> Result<Answer<Group>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "groups", group_id],
        ))
    }

    /// Closes a group; what runs on it is cancelled and every slot freed.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/groups/{groupId}`
    pub fn close_group(&self, group_id: &str) -> Result<Answer<AcceptedGroup>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "groups", group_id],
        ))
    }

    /// The namespace's actions, those in packages too, the last changed first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/actions`
    pub fn list_actions(&self, query: &ListActionsQuery) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "actions"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// An action.
    ///
    /// With a slash at the end of the path, the actions of the package of this name.
    ///
    /// `GET /api/v1/namespaces/{namespace}/actions/{name}`
    pub fn get_action(
        &self,
        name: &str,
        query: &GetActionQuery,
    ) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "actions", name],
            )
            .query("code", query.code.as_ref())
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// Creates an action, or changes one.
    ///
    /// `request` is a [`ActionRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/actions/{name}`
    pub fn put_action(
        &self,
        name: &str,
        query: &PutActionQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Action>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &["api", "v1", "namespaces", NAMESPACE, "actions", name],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// Deletes an action.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/actions/{name}`
    pub fn delete_action(&self, name: &str) -> Result<Answer<Action>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "actions", name],
        ))
    }

    /// An action of a package.
    ///
    /// `GET /api/v1/namespaces/{namespace}/actions/{package}/{name}`
    pub fn get_action_of_package(
        &self,
        package: &str,
        name: &str,
        query: &GetActionOfPackageQuery,
    ) -> Result<Answer<Action>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &[
                    "api",
                    "v1",
                    "namespaces",
                    NAMESPACE,
                    "actions",
                    package,
                    name,
                ],
            )
            .query("code", query.code.as_ref()),
        )
    }

    /// Creates an action of a package, or changes one.
    ///
    /// `request` is a [`ActionRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/actions/{package}/{name}`
    pub fn put_action_of_package(
        &self,
        package: &str,
        name: &str,
        query: &PutActionOfPackageQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Action>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &[
                    "api",
                    "v1",
                    "namespaces",
                    NAMESPACE,
                    "actions",
                    package,
                    name,
                ],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// Deletes an action of a package.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/actions/{package}/{name}`
    pub fn delete_action_of_package(
        &self,
        package: &str,
        name: &str,
    ) -> Result<Answer<Action>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "actions",
                package,
                name,
            ],
        ))
    }

    /// The namespace's packages, the last changed first; of another namespace those that it shares.
    ///
    /// `GET /api/v1/namespaces/{namespace}/packages`
    pub fn list_packages(&self, query: &ListPackagesQuery) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "packages"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// A package with what is in it.
    ///
    /// `GET /api/v1/namespaces/{namespace}/packages/{name}`
    pub fn get_package(&self, name: &str) -> Result<Answer<ActionPackage>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "packages", name],
        ))
    }

    /// Creates a package or a binding, or changes one.
    ///
    /// `request` is a [`PackageRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/packages/{name}`
    pub fn put_package(
        &self,
        name: &str,
        query: &PutPackageQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<ActionPackage>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &["api", "v1", "namespaces", NAMESPACE, "packages", name],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// Deletes a package.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/packages/{name}`
    pub fn delete_package(
        &self,
        name: &str,
        query: &DeletePackageQuery,
    ) -> Result<Answer<ActionPackage>, Error> {
        self.answer(
            Call::new(
                Method::DELETE,
                &["api", "v1", "namespaces", NAMESPACE, "packages", name],
            )
            .query("force", query.force.as_ref()),
        )
    }

    /// Nothing; bindings are never out of date. OpenWhisk's command asks for it.
    ///
    /// `POST /api/v1/namespaces/{namespace}/packages/refresh`
    pub fn refresh_packages(&self) -> Result<Answer<RefreshedPackages>, Error> {
        self.answer(Call::new(
            Method::POST,
            &["api", "v1", "namespaces", NAMESPACE, "packages", "refresh"],
        ))
    }

    /// What the namespace may ask for of its actions.
    ///
    /// `GET /api/v1/namespaces/{namespace}/limits`
    pub fn get_limits(&self) -> Result<Answer<ActionLimitsOfNamespace>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "limits"],
        ))
    }

    /// The namespace's triggers, the last changed first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/triggers`
    pub fn list_triggers(&self, query: &ListTriggersQuery) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "triggers"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// A trigger with its rules.
    ///
    /// `GET /api/v1/namespaces/{namespace}/triggers/{name}`
    pub fn get_trigger(&self, name: &str) -> Result<Answer<Trigger>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "triggers", name],
        ))
    }

    /// Creates a trigger, or changes one.
    ///
    /// `request` is a [`TriggerRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/triggers/{name}`
    pub fn put_trigger(
        &self,
        name: &str,
        query: &PutTriggerQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Trigger>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &["api", "v1", "namespaces", NAMESPACE, "triggers", name],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// Deletes a trigger; its rules become inactive.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/triggers/{name}`
    pub fn delete_trigger(&self, name: &str) -> Result<Answer<Trigger>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "triggers", name],
        ))
    }

    /// The namespace's rules, the last changed first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/rules`
    pub fn list_rules(&self, query: &ListRulesQuery) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "rules"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// A rule.
    ///
    /// `GET /api/v1/namespaces/{namespace}/rules/{name}`
    pub fn get_rule(&self, name: &str) -> Result<Answer<Rule>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "namespaces", NAMESPACE, "rules", name],
        ))
    }

    /// Creates a rule, or changes one.
    ///
    /// `request` is a [`RuleRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/namespaces/{namespace}/rules/{name}`
    pub fn put_rule(
        &self,
        name: &str,
        query: &PutRuleQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Rule>, Error> {
        self.answer(
            Call::new(
                Method::PUT,
                &["api", "v1", "namespaces", NAMESPACE, "rules", name],
            )
            .query("overwrite", query.overwrite.as_ref())
            .body(request)?,
        )
    }

    /// Deletes a rule.
    ///
    /// `DELETE /api/v1/namespaces/{namespace}/rules/{name}`
    pub fn delete_rule(&self, name: &str) -> Result<Answer<Rule>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "namespaces", NAMESPACE, "rules", name],
        ))
    }

    /// What became of the namespace's calls and events, newest first.
    ///
    /// `GET /api/v1/namespaces/{namespace}/activations`
    pub fn list_activations(
        &self,
        query: &ListActivationsQuery,
    ) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "namespaces", NAMESPACE, "activations"],
            )
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref())
            .query("name", query.name.as_ref())
            .query("since", query.since.as_ref())
            .query("upto", query.upto.as_ref())
            .query("docs", query.docs.as_ref())
            .query("count", query.count.as_ref()),
        )
    }

    /// What became of a call or an event.
    ///
    /// `GET /api/v1/namespaces/{namespace}/activations/{activationId}`
    pub fn get_activation(&self, activation_id: &str) -> Result<Answer<Activation>, Error> {
        self.answer(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "activations",
                activation_id,
            ],
        ))
    }

    /// What a call wrote.
    ///
    /// `GET /api/v1/namespaces/{namespace}/activations/{activationId}/logs`
    pub fn get_activation_logs(
        &self,
        activation_id: &str,
    ) -> Result<Answer<ActivationLogs>, Error> {
        self.answer(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "activations",
                activation_id,
                "logs",
            ],
        ))
    }

    /// What a call came to.
    ///
    /// `GET /api/v1/namespaces/{namespace}/activations/{activationId}/result`
    pub fn get_activation_result(
        &self,
        activation_id: &str,
    ) -> Result<Answer<ActivationResult>, Error> {
        self.answer(Call::new(
            Method::GET,
            &[
                "api",
                "v1",
                "namespaces",
                NAMESPACE,
                "activations",
                activation_id,
                "result",
            ],
        ))
    }

    /// Adds an operation to an API, which is made if there is none, or makes an API of a whole document.
    ///
    /// `request` is a [`ApiRequest`], or serializes as one.
    ///
    /// `POST /api/v1/web/whisk.system/apimgmt/createApi`
    pub fn create_api(
        &self,
        query: &CreateApiQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Api>, Error> {
        self.answer(
            Call::new(
                Method::POST,
                &["api", "v1", "web", "whisk.system", "apimgmt", "createApi"],
            )
            .query("responsetype", query.responsetype.as_ref())
            .body(request)?,
        )
    }

    /// The namespace's APIs, or what of them is asked for.
    ///
    /// `GET /api/v1/web/whisk.system/apimgmt/getApi`
    pub fn list_apis(&self, query: &ListApisQuery) -> Result<Answer<Apis>, Error> {
        self.answer(
            Call::new(
                Method::GET,
                &["api", "v1", "web", "whisk.system", "apimgmt", "getApi"],
            )
            .query("basepath", query.basepath.as_ref())
            .query("relpath", query.relpath.as_ref())
            .query("operation", query.operation.as_ref())
            .query("limit", query.limit.as_ref())
            .query("skip", query.skip.as_ref()),
        )
    }

    /// Deletes an API, a path of it, or an operation.
    ///
    /// `DELETE /api/v1/web/whisk.system/apimgmt/deleteApi`
    pub fn delete_api(&self, query: &DeleteApiQuery) -> Result<Answer<Box<RawValue>>, Error> {
        self.answer(
            Call::new(
                Method::DELETE,
                &["api", "v1", "web", "whisk.system", "apimgmt", "deleteApi"],
            )
            .query("basepath", query.basepath.as_ref())
            .query("relpath", query.relpath.as_ref())
            .query("operation", query.operation.as_ref()),
        )
    }

    /// The namespaces, by name.
    ///
    /// `GET /api/v1/admin/namespaces`
    pub fn list_namespaces(
        &self,
        query: &ListNamespacesQuery,
    ) -> Result<Answer<Vec<Namespace>>, Error> {
        self.answer(
            Call::new(Method::GET, &["api", "v1", "admin", "namespaces"])
                .query("limit", query.limit.as_ref())
                .query("skip", query.skip.as_ref()),
        )
    }

    /// Creates a namespace with a fresh key.
    ///
    /// The credentials in the answer are seen only this once; the platform keeps a hash of them.
    ///
    /// `request` is a [`NamespaceRequest`], or serializes as one.
    ///
    /// `PUT /api/v1/admin/namespaces/{name}`
    pub fn create_namespace(
        &self,
        name: &str,
        query: &CreateNamespaceQuery,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<CreatedNamespace>, Error> {
        self.answer(
            Call::new(Method::PUT, &["api", "v1", "admin", "namespaces", name])
                .query("overwrite", query.overwrite.as_ref())
                .body(request)?,
        )
    }

    /// A namespace.
    ///
    /// `GET /api/v1/admin/namespaces/{name}`
    pub fn get_namespace(&self, name: &str) -> Result<Answer<Namespace>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "admin", "namespaces", name],
        ))
    }

    /// Gives a namespace other limits, and leaves it those that are not named, and its key.
    ///
    /// `request` is a [`NamespaceRequest`], or serializes as one.
    ///
    /// `PATCH /api/v1/admin/namespaces/{name}`
    pub fn limit_namespace(
        &self,
        name: &str,
        request: &(impl Serialize + ?Sized),
    ) -> Result<Answer<Namespace>, Error> {
        self.answer(
            Call::new(Method::PATCH, &["api", "v1", "admin", "namespaces", name]).body(request)?,
        )
    }

    /// Revokes a namespace's key, on all controllers at once.
    ///
    /// Its flares and groups, whether they run or wait, are cancelled; what else it has stays. Of a namespace that
    /// was revoked before what may have been left is ended, and it is answered as it is.
    ///
    /// `DELETE /api/v1/admin/namespaces/{name}`
    pub fn revoke_namespace(&self, name: &str) -> Result<Answer<Namespace>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "admin", "namespaces", name],
        ))
    }

    /// Gives a namespace that is not revoked a fresh key, and leaves it otherwise as it is.
    ///
    /// The credentials in the answer are seen only this once; the former ones open nothing any more.
    ///
    /// `POST /api/v1/admin/namespaces/{name}/key`
    pub fn replace_namespace_key(&self, name: &str) -> Result<Answer<CreatedNamespace>, Error> {
        self.answer(Call::new(
            Method::POST,
            &["api", "v1", "admin", "namespaces", name, "key"],
        ))
    }

    /// The flares of all namespaces, newest first.
    ///
    /// `GET /api/v1/admin/flares`
    pub fn list_all_flares(
        &self,
        query: &ListAllFlaresQuery,
    ) -> Result<Answer<Vec<FlareSummary>>, Error> {
        self.answer(
            Call::new(Method::GET, &["api", "v1", "admin", "flares"])
                .query("limit", query.limit.as_ref())
                .query("skip", query.skip.as_ref())
                .query("namespace", query.namespace.as_ref())
                .query("state", query.state.as_ref()),
        )
    }

    /// Cancels a flare, of whatever namespace.
    ///
    /// `DELETE /api/v1/admin/flares/{flareId}`
    pub fn end_any_flare(&self, flare_id: &str) -> Result<Answer<Accepted>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "admin", "flares", flare_id],
        ))
    }

    /// Whether a machine that has registered is given flares, and how much of it is used.
    ///
    /// `GET /api/v1/admin/invokers/{invokerId}/drain`
    pub fn get_drain(&self, invoker_id: &str) -> Result<Answer<Drain>, Error> {
        self.answer(Call::new(
            Method::GET,
            &["api", "v1", "admin", "invokers", invoker_id, "drain"],
        ))
    }

    /// Gives a machine that has registered no more flares, until it is resumed; what runs on it goes on.
    ///
    /// It holds whether the machine or the controllers are started again meanwhile.
    ///
    /// `PUT /api/v1/admin/invokers/{invokerId}/drain`
    pub fn drain_invoker(&self, invoker_id: &str) -> Result<Answer<Drain>, Error> {
        self.answer(Call::new(
            Method::PUT,
            &["api", "v1", "admin", "invokers", invoker_id, "drain"],
        ))
    }

    /// Gives a machine flares again.
    ///
    /// `DELETE /api/v1/admin/invokers/{invokerId}/drain`
    pub fn resume_invoker(&self, invoker_id: &str) -> Result<Answer<Drain>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "admin", "invokers", invoker_id, "drain"],
        ))
    }

    /// The groups of all namespaces, newest first.
    ///
    /// `GET /api/v1/admin/groups`
    pub fn list_all_groups(
        &self,
        query: &ListAllGroupsQuery,
    ) -> Result<Answer<Vec<GroupSummary>>, Error> {
        self.answer(
            Call::new(Method::GET, &["api", "v1", "admin", "groups"])
                .query("limit", query.limit.as_ref())
                .query("skip", query.skip.as_ref())
                .query("namespace", query.namespace.as_ref()),
        )
    }

    /// Closes a group, with what runs on it, of whatever namespace.
    ///
    /// `DELETE /api/v1/admin/groups/{groupId}`
    pub fn end_any_group(&self, group_id: &str) -> Result<Answer<AcceptedGroup>, Error> {
        self.answer(Call::new(
            Method::DELETE,
            &["api", "v1", "admin", "groups", group_id],
        ))
    }
}
