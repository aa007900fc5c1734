//! Keeps the platform's credentials on a backend from the program, which is issued credentials made for its flare, or
//! for the group of its flare.

use std::sync::{Mutex, MutexGuard, PoisonError};

use burst_bcm::{CredentialRequest, IssuedBackend};
use burst_protocol::RunPack;

use crate::error::Error;

/// Issues credentials, and remembers what the program was issued last.
#[derive(Default)]
pub(crate) struct CredentialBroker {
    last: Mutex<Option<Issued>>,
}

/// The credentials of a flare, or of all flares of a group, whose packs stay connected while the group is the same.
struct Issued {
    group: Option<String>,
    backend: IssuedBackend,
}

impl CredentialBroker {
    /// Returns whether the backend's server must be asked: a pack that is alone has no other to send anything to.
    pub(crate) fn asks(run: &RunPack) -> bool {
        run.pack_sizes.len() > 1 && run.backend.uri.is_some()
    }

    /// Returns the flare with the credentials that the program is issued. Asks the backend's server if necessary, and
    /// blocks until it answers.
    pub(crate) fn issue(&self, mut run: RunPack) -> Result<RunPack, Error> {
        if !Self::asks(&run) {
            run.backend.uri = None;
            return Ok(run);
        }
        let mut last = self.last();
        let of_group = |issued: &&Issued| issued.group.is_some() && issued.group == run.group;
        let request = CredentialRequest {
            flare_id: &run.flare_id,
            secret: &run.secret,
            deadline: Some(run.deadline.into()),
            packs: Some(u32::try_from(run.pack_sizes.len()).unwrap_or(u32::MAX)),
            group: run.group.as_deref(),
            last: last.as_ref().filter(of_group).map(|issued| &issued.backend),
        };
        let issued = burst_bcm::issue_credentials(&request, &run.backend)?;
        run.backend = issued.backend.clone();
        *last = Some(Issued {
            group: run.group.clone(),
            backend: issued,
        });
        Ok(run)
    }

    /// Revokes the credentials once the flare has ended here, so that remaining processes of its program can no longer
    /// act in its name.
    pub(crate) fn revoke(&self) {
        if let Some(issued) = &*self.last() {
            issued.backend.end();
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Issued>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(packs: usize, backend: &serde_json::Value) -> RunPack {
        let run = serde_json::json!({
            "flareId": "f1", "pack": 0, "packSizes": vec![1; packs],
            "inputs": {"shared": null}, "backend": backend, "secret": "s",
            "advertise": "127.0.0.1", "deadline": 1,
        });
        serde_json::from_str(&run.to_string()).unwrap()
    }

    #[test]
    fn a_single_pack_gets_no_address() {
        let uri = "redis://:the-platforms-own@nowhere.invalid:1/0";
        for shared in [false, true] {
            let backend = serde_json::json!({
                "kind": "redis-list", "uri": uri, "sharedCredentials": shared,
            });
            let issued = CredentialBroker::default().issue(run(1, &backend)).unwrap();
            assert_eq!(issued.backend.uri, None);
        }
    }

    #[test]
    fn the_platforms_address_is_passed_on_if_credentials_are_shared() {
        let backend = |shared: bool| {
            serde_json::json!({
                "kind": "redis-list", "uri": "redis://127.0.0.1:1", "sharedCredentials": shared,
            })
        };
        assert!(
            CredentialBroker::default()
                .issue(run(2, &backend(false)))
                .is_err()
        );
        let issued = CredentialBroker::default()
            .issue(run(2, &backend(true)))
            .unwrap();
        assert_eq!(issued.backend.uri.as_deref(), Some("redis://127.0.0.1:1"));
    }
}
