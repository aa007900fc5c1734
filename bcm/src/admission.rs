//! Who is let in by a backend's server.

use std::time::SystemTime;

use crate::config::{BackendConfig, Secret};
use crate::error::Error;
use crate::remote;

/// A flare whose packs are to be let in.
#[derive(Debug, Clone, Copy)]
pub struct Admission<'a> {
    /// The flare.
    pub flare_id: &'a str,
    /// What its packs share.
    pub secret: &'a Secret,
    /// When it ends.
    pub deadline: Option<SystemTime>,
    /// The group it is of, if any: flares of a group run one after the other, on the same packs.
    pub group: Option<&'a str>,
    /// What [`admit`] has given for the last flare of the group.
    pub last: Option<&'a BackendConfig>,
}

impl<'a> Admission<'a> {
    /// A flare of no group, which never ends.
    pub fn new(flare_id: &'a str, secret: &'a Secret) -> Self {
        Self {
            flare_id,
            secret,
            deadline: None,
            group: None,
            last: None,
        }
    }
}

/// The same backend with credentials of the flare's own, as far as its server can make them:
/// those of a user who reads and writes the flare's messages and nothing else. Called by whoever
/// starts a pack, with the platform's own credentials, before the program is told of the backend;
/// every pack gets the same. [`cleanup`](crate::cleanup) of the flare takes them away.
///
/// A group has one user for all its flares, so that its packs stay connected; who is admitted to
/// the next flare has lost the last one's messages. `cleanup` of the group takes the user away.
///
/// Redis, Valkey and DragonflyDB make a user (`ACL SETUSER`), which the platform's user must be
/// allowed to. Other backends are given back as they are.
///
/// # Errors
/// [`Error::InvalidConfiguration`] when there is no such backend; [`Error::Backend`] when its
/// server cannot be reached or refuses.
pub fn admit(flare: &Admission<'_>, backend: &BackendConfig) -> Result<BackendConfig, Error> {
    remote::admit(flare, backend)
}
