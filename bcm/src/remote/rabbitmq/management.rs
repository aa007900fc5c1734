//! A user and a virtual host of a flare's own, created through the server's management API: AMQP
//! itself cannot create them.
//!
//! The user may do anything in that virtual host, which contains only the flare's queues, and
//! nothing outside it. Both are removed with the flare, together with everything it has created
//! there. Packs meet in the virtual host, so it is named after the flare or the group alone. Users'
//! names also contain the time until which they are needed, which packs may compute a second apart;
//! then one virtual host has several users.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use lapin::uri::{AMQPScheme, AMQPUserInfo};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::NAME;
use super::server::{Server, error};
use crate::config::BackendConfig;
use crate::credential_request::CredentialRequest;
use crate::error::Error;
use crate::invalid::{InvalidBackend, InvalidConfiguration};
use crate::remote::credentials::{self, Credentials};

/// The API's port on the server's host unless the URI sets its address.
const PORT: u16 = 15672;
const TLS_PORT: u16 = 15671;
/// The most characters of the API's refusal that are reported.
const MOST_SAID: usize = 200;
/// How often creating or removing user and virtual host is tried, and the pause before trying
/// again.
const ATTEMPTS: u32 = 8;
const AGAIN: Duration = Duration::from_millis(150);
/// How long one call may take: creating or deleting a virtual host is much work for a busy server.
const CALL: Duration = Duration::from_secs(15);
/// How long connecting for a call may take.
const CONNECTING: Duration = Duration::from_secs(4);
/// How long deleting a flare's user and virtual host may take.
pub(super) const CLEANING: Duration = Duration::from_secs(30);
/// How much of that may be spent on flares that are over.
const LEFTOVERS: Duration = Duration::from_secs(5);
/// How many of those flares are cleaned up concurrently.
const AT_ONCE: usize = 8;
/// A pack has two queues and two connections; those of a group's last flare may still exist, and so
/// may broken connections that the server has not noticed.
const QUEUES_OF_A_PACK: u32 = 4;
const CONNECTIONS_OF_A_PACK: u32 = 8;

/// See the module's documentation.
pub(super) struct Management {
    client: reqwest::Client,
    base: String,
    login: AMQPUserInfo,
}

impl Management {
    pub(super) fn of(server: &Server, config: &BackendConfig) -> Result<Self, Error> {
        let refuse = |reason| InvalidConfiguration::OfBackend {
            backend: NAME,
            reason,
        };
        // Fails if another part of the program has already chosen a provider, which is just as
        // good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .timeout(CALL)
            .connect_timeout(CONNECTING)
            .no_proxy();
        if let Some(pem) = &config.ca {
            let authorities = reqwest::Certificate::from_pem_bundle(pem.as_bytes())
                .map_err(|_| refuse(InvalidBackend::Authorities))?;
            builder = builder.tls_certs_only(authorities);
        }
        let client = builder.build().map_err(|_| {
            refuse(InvalidBackend::Client {
                client: "the management API's client",
            })
        })?;
        Ok(Self {
            client,
            base: base(server),
            login: server.uri().authority.userinfo,
        })
    }

    /// Creates user and virtual host if they do not exist. If two packs create the same ones at the
    /// same time, the server may refuse one of them, which then tries again.
    pub(super) async fn make(
        &self,
        account: &Credentials,
        vhost: &str,
        packs: Option<u32>,
    ) -> Result<(), Error> {
        tried(|| self.make_once(account, vhost, packs)).await
    }

    /// The user is created first and removed last: if there is no user, there is no virtual host
    /// either.
    async fn make_once(
        &self,
        account: &Credentials,
        vhost: &str,
        packs: Option<u32>,
    ) -> Result<(), Error> {
        let name = &account.user;
        let permission = format!("permissions/{vhost}/{name}");
        // Granted last: if it exists everything does, and later packs need only this request.
        let made = self.call(Method::GET, &permission, None).await?;
        if made.is_some() {
            return Ok(());
        }
        let user = json!({"password": account.password, "tags": ""});
        self.put(&format!("users/{name}"), user).await?;
        self.put(&format!("vhosts/{vhost}"), json!({})).await?;
        self.started(vhost).await?;
        if let Some(packs) = packs {
            for (limit, each) in [
                ("max-queues", QUEUES_OF_A_PACK),
                ("max-connections", CONNECTIONS_OF_A_PACK),
            ] {
                let value = json!({"value": packs.saturating_mul(each)});
                self.put(&format!("vhost-limits/{vhost}/{limit}"), value)
                    .await?;
            }
        }
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        self.put(&permission, all).await
    }

    /// Waits until a virtual host has started. The server answers the call that creates it only
    /// when it has started, but a concurrent call that creates the same one earlier.
    async fn started(&self, name: &str) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Vhost {
            #[serde(default)]
            cluster_state: BTreeMap<String, String>,
        }
        let path = format!("vhosts/{name}?columns=cluster_state");
        loop {
            let answer = self.call(Method::GET, &path, None).await?;
            let vhost: Vhost = serde_json::from_str(&answer.unwrap_or_default())
                .map_err(|_| self.failed("it does not know the virtual host it has made"))?;
            if vhost.cluster_state.values().all(|state| state == "running") {
                return Ok(());
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Removes the users and the virtual host of a flare or group, and then, as far as possible,
    /// those of flares that are over. Failures of the latter do not concern this flare: the
    /// leftovers stay visible on the server, and the next clean-up tries again.
    pub(super) async fn remove(&self, flare_id: &str) -> Result<(), Error> {
        let since = Instant::now();
        let mut by_owner = tried(|| self.remove_own(flare_id)).await?;
        by_owner.retain(|_, users| are_over(users));
        let removing = stream::iter(by_owner.into_keys())
            .for_each_concurrent(AT_ONCE, |owner| self.remove_if_over(owner));
        // Those that are not removed in time are treated like those that cannot be.
        let left = (CLEANING / 2).saturating_sub(since.elapsed());
        let _ = tokio::time::timeout(left.min(LEFTOVERS), removing).await;
        Ok(())
    }

    /// Removes this flare's own, and returns the users of others by owner. A busy server may answer
    /// too late, and still continue with what it was asked.
    async fn remove_own(&self, flare_id: &str) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut by_owner = self.users().await?;
        if let Some(own) = by_owner.remove(flare_id) {
            self.remove_one(flare_id, &own).await?;
        }
        Ok(by_owner)
    }

    /// Removes the users and the virtual host of an owner if they are still over. Checked again at
    /// the last moment: a pack admitted since then has another user but the same virtual host. A
    /// pack that is just being admitted finds the virtual host missing, and creates it again
    /// ([`Management::make`]). A pack whose admission falls entirely between this check and the
    /// next call cannot connect.
    async fn remove_if_over(&self, owner: String) {
        if let Ok(mut by_owner) = self.users().await
            && let Some(users) = by_owner.remove(&owner)
            && are_over(&users)
        {
            let _ = self.remove_one(&owner, &users).await;
        }
    }

    /// Returns the users that were created for flares and groups, by owner.
    async fn users(&self) -> Result<BTreeMap<String, Vec<String>>, Error> {
        #[derive(Deserialize)]
        struct User {
            name: String,
        }
        let answer = self.call(Method::GET, "users?columns=name", None).await?;
        let users: Vec<User> = serde_json::from_str(&answer.unwrap_or_default())
            .map_err(|_| self.failed("it gave no list of users"))?;
        let mut by_owner = BTreeMap::<String, Vec<String>>::new();
        for User { name } in users {
            if let Some(owner) = credentials::owner_of(&name) {
                by_owner.entry(owner.to_owned()).or_default().push(name);
            }
        }
        Ok(by_owner)
    }

    async fn remove_one(&self, owner: &str, users: &[String]) -> Result<(), Error> {
        self.delete(&format!("vhosts/{}", vhost(owner))).await?;
        for user in users {
            self.delete(&format!("users/{user}")).await?;
        }
        Ok(())
    }

    async fn delete(&self, path: &str) -> Result<(), Error> {
        self.call(Method::DELETE, path, None).await.map(drop)
    }

    async fn put(&self, path: &str, body: Value) -> Result<(), Error> {
        self.call(Method::PUT, path, Some(body)).await.map(drop)
    }

    /// Calls the API, with names that need no escaping; `None` if the object does not exist.
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Option<String>, Error> {
        let url = format!("{}/api/{path}", self.base);
        let mut request = self
            .client
            .request(method.clone(), url)
            .basic_auth(&self.login.username, Some(&self.login.password));
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = request.send().await;
        let answer = answer.map_err(|reason| self.failed(innermost(&reason.without_url())))?;
        match answer.status() {
            status if status.is_success() => {
                let text = answer.text().await;
                text.map(Some)
                    .map_err(|reason| self.failed(innermost(&reason.without_url())))
            }
            StatusCode::NOT_FOUND if method != Method::PUT => Ok(None),
            status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => Err(self.failed(
                format!("{status}: the platform's user must have the tag administrator"),
            )),
            status => {
                let said = answer.text().await.unwrap_or_default();
                let said: String = said.chars().take(MOST_SAID).collect();
                Err(self.failed(format!("{status} {said}")))
            }
        }
    }

    fn failed(&self, reason: impl Display) -> Error {
        error(format!(
            "the server's management API at {} is needed for users of flares: {reason}; enable its \
             plug-in rabbitmq_management, say where it is with ?management=http://host:port, or \
             set shared-credentials = true for this backend if all flares may trust each other",
            self.base
        ))
    }
}

/// Repeats `attempt` until it succeeds, or has been tried often enough.
async fn tried<T, F>(attempt: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Ok(done) => return Ok(done),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    attempt().await
}

/// Returns the innermost cause; the others only repeat that a request failed.
fn innermost(reason: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = reason;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// The API's base URL: the URI's option `management`, or the default address.
pub(super) fn base(server: &Server) -> String {
    if let Some(base) = server.management() {
        return base.trim_end_matches('/').to_owned();
    }
    let uri = server.uri();
    let host = match uri.authority.host.contains(':') {
        true => format!("[{}]", uri.authority.host),
        false => uri.authority.host,
    };
    match uri.scheme {
        AMQPScheme::AMQPS => format!("https://{host}:{TLS_PORT}"),
        AMQPScheme::AMQP => format!("http://{host}:{PORT}"),
    }
}

/// Whether all these users are over: a group may outlive its first user, and ends with the last
/// one.
fn are_over(users: &[String]) -> bool {
    users.iter().all(|user| credentials::is_over(user))
}

/// The virtual host of a flare or a group. No user has this name.
pub(super) fn vhost(owner: &str) -> String {
    format!("burst.{owner}")
}

/// The user of a flare, if its id can be part of a name.
pub(super) fn account(flare: &CredentialRequest<'_>) -> Result<Credentials, Error> {
    Credentials::new(flare).ok_or_else(|| error(credentials::ODD_ID))
}
