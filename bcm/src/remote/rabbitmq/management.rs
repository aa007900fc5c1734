//! A user and a virtual host of a flare's own, through the server's management API: AMQP itself
//! makes neither.
//!
//! The user may do anything in that virtual host, which has nothing but the flare's queues, and
//! nothing outside. Both go with the flare, whatever it has made there. The virtual host is where its
//! packs meet, so it is called after the flare, or the group, and nothing else: users' names also say
//! until when, which packs may know a second apart, and then there are several for one virtual host.

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

/// Where the API is on the server's host unless the address says otherwise.
const PORT: u16 = 15672;
const TLS_PORT: u16 = 15671;
/// Characters of what it says when it refuses.
const MOST_SAID: usize = 200;
/// How often, and after what time, user and virtual host are tried to be made, or removed.
const ATTEMPTS: u32 = 8;
const AGAIN: Duration = Duration::from_millis(150);
/// How long one call may take: to make or to delete a virtual host is much for a server that is busy.
const CALL: Duration = Duration::from_secs(15);
/// How long connecting for it may take.
const CONNECTING: Duration = Duration::from_secs(4);
/// How long deleting a flare's user and virtual host may take.
pub(super) const CLEANING: Duration = Duration::from_secs(30);
/// How long of that all may take that is done for flares that are over.
const LEFTOVERS: Duration = Duration::from_secs(5);
/// Of those, how many are removed at once.
const AT_ONCE: usize = 8;
/// A pack has two queues and two connections; those of a group's last flare may still be there, and
/// so may what the server takes for a connection that broke.
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
        // Fails when another part of the program has chosen one already, which is as good.
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

    /// Makes user and virtual host, or finds them made. The server refuses one of two packs that
    /// make the same at once, who then tries again.
    pub(super) async fn make(
        &self,
        account: &Credentials,
        vhost: &str,
        packs: Option<u32>,
    ) -> Result<(), Error> {
        tried(|| self.make_once(account, vhost, packs)).await
    }

    /// The user comes first and goes last: who has one may have the other.
    async fn make_once(
        &self,
        account: &Credentials,
        vhost: &str,
        packs: Option<u32>,
    ) -> Result<(), Error> {
        let name = &account.user;
        let permission = format!("permissions/{vhost}/{name}");
        // Given last: with it everything is there, and a pack that comes later has asked once.
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

    /// Waits until a virtual host has started. The server answers who makes one when it has, but whoever else makes
    /// the same one meanwhile before that.
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

    /// Removes those of a flare or a group, and then what it can of those of flares that are over: what cannot be
    /// removed is none of this flare's, stays to be seen on the server, and is tried again after the next one.
    pub(super) async fn remove(&self, flare_id: &str) -> Result<(), Error> {
        let since = Instant::now();
        let mut by_owner = tried(|| self.remove_own(flare_id)).await?;
        by_owner.retain(|_, users| are_over(users));
        let removing = stream::iter(by_owner.into_keys())
            .for_each_concurrent(AT_ONCE, |owner| self.remove_if_over(owner));
        // Those that are not removed in that time are as those that cannot be.
        let left = (CLEANING / 2).saturating_sub(since.elapsed());
        let _ = tokio::time::timeout(left.min(LEFTOVERS), removing).await;
        Ok(())
    }

    /// The users that there are of others, by whom they are for. A server that has much to do may answer too late, and
    /// goes on with what it was asked for.
    async fn remove_own(&self, flare_id: &str) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut by_owner = self.users().await?;
        if let Some(own) = by_owner.remove(flare_id) {
            self.remove_one(flare_id, &own).await?;
        }
        Ok(by_owner)
    }

    /// Looked at again at the last moment: a pack that is let in meanwhile has another user, and the virtual host is
    /// the same. One that is just being let in finds that missing, and makes it again ([`Management::make`]). Whoever
    /// was let in between this look and the next call, from its first call to its last, cannot connect.
    async fn remove_if_over(&self, owner: String) {
        if let Ok(mut by_owner) = self.users().await
            && let Some(users) = by_owner.remove(&owner)
            && are_over(&users)
        {
            let _ = self.remove_one(&owner, &users).await;
        }
    }

    /// The users that were made for flares and groups, by whom they are for.
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

    /// Of names that need no escaping; `None` when there is no such thing.
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

/// Until it ends well, or has been tried often enough.
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

/// The other causes only repeat that a request failed.
fn innermost(reason: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = reason;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// At `management` of the address' options, or where servers have it.
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

/// A group may last longer than its first user, and goes with the last one.
fn are_over(users: &[String]) -> bool {
    users.iter().all(|user| credentials::is_over(user))
}

/// The virtual host of a flare or a group. No user has that name.
pub(super) fn vhost(owner: &str) -> String {
    format!("burst.{owner}")
}

/// The user of a flare, where its id can be part of a name at all.
pub(super) fn account(flare: &CredentialRequest<'_>) -> Result<Credentials, Error> {
    Credentials::new(flare).ok_or_else(|| error(credentials::ODD_ID))
}
