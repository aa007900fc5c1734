//! The administrator of a platform, who creates namespaces and ends what is running in them.

use burst_client::{
    CreateNamespaceQuery, FlareState, ListAllFlaresQuery, ListAllGroupsQuery, ListNamespacesQuery,
    NamespaceRequest,
};

use crate::api::read_answer;
use crate::{Api, wait};

/// The namespace of the platform's first user, for platforms that are not lent.
pub const FIRST: &str = "guest";

/// The maximum length of a list.
const MOST: u32 = 200;

/// The administrator of the platform at an address.
#[derive(Debug, Clone)]
pub struct Administrator {
    api: Api,
}

impl Administrator {
    /// With the administrator's key from the properties file of the user who started the platform.
    #[track_caller]
    pub fn of(base: &str, properties: &str) -> Self {
        let mut lines = properties.lines();
        let key = lines.find_map(|line| line.trim().strip_prefix("ADMIN_AUTH="));
        Self {
            api: Api::new(base, key.expect("ADMIN_AUTH in the properties file")),
        }
    }

    /// Creates a namespace.
    #[track_caller]
    pub fn create(&self, namespace: &str) -> Api {
        let created = self.api.client().create_namespace(
            namespace,
            &CreateNamespaceQuery::default(),
            &NamespaceRequest::default(),
        );
        Api::new(self.api.base(), &read_answer(created).auth)
    }

    /// Revokes all namespaces but the first user's, which ends everything that runs in them, and waits until nothing
    /// runs in any namespace.
    #[track_caller]
    pub fn revoke_all(&self) {
        for namespace in self.namespaces() {
            read_answer(self.api.client().revoke_namespace(&namespace));
        }
        wait::until_seen(
            "no flare is under way and no group is open",
            wait::SOON,
            || self.unfinished(),
            Vec::is_empty,
        );
    }

    /// The namespaces that have not been revoked, without the first user's.
    #[track_caller]
    fn namespaces(&self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            let query = ListNamespacesQuery {
                limit: Some(MOST),
                skip: Some(all.len() as u32),
            };
            let page = read_answer(self.api.client().list_namespaces(&query));
            let is_last = page.len() < MOST as usize;
            all.extend(page);
            if is_last {
                break;
            }
        }
        all.retain(|it| it.revoked.is_none() && it.name != FIRST);
        all.into_iter().map(|it| it.name).collect()
    }

    /// Flares that have not ended and groups that are not closed, with their namespaces.
    #[track_caller]
    fn unfinished(&self) -> Vec<String> {
        let states = [
            FlareState::Queued,
            FlareState::Placing,
            FlareState::Starting,
            FlareState::Running,
        ];
        let flares = states.into_iter().flat_map(|state| {
            let query = ListAllFlaresQuery {
                state: Some(state),
                ..ListAllFlaresQuery::default()
            };
            let flares = read_answer(self.api.client().list_all_flares(&query)).into_iter();
            flares.map(|it| format!("{} {} of {}", it.state, it.flare_id, it.namespace))
        });
        let query = ListAllGroupsQuery {
            limit: Some(MOST),
            ..ListAllGroupsQuery::default()
        };
        let mut groups = read_answer(self.api.client().list_all_groups(&query));
        groups.retain(|it| it.state != "closed");
        let groups = groups.into_iter();
        flares
            .chain(groups.map(|it| format!("{} {} of {}", it.state, it.group_id, it.namespace)))
            .collect()
    }
}
