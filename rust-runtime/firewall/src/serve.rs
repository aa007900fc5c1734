//! The invoker's line: requests as JSON, one in a line, each answered by a line.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fence::Fence;
use crate::members::{Member, Members};
use crate::netlink::Netlink;
use crate::stale;
use crate::table::Table;

/// Bytes of a request.
const LONGEST: u64 = 64 << 10;

/// What an invoker asks for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// The pack at this address is one of this flare from now on, and of no other.
    Admit {
        /// Where it is.
        address: Ipv4Addr,
        /// What it may.
        #[serde(flatten)]
        member: Member,
    },
    /// The pack at this address may reach nothing.
    Exclude {
        /// Where it is.
        address: Ipv4Addr,
    },
    /// There are no packs any more: the rules go.
    End {},
}

/// Whether it was done.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Why not.
    pub error: Option<String>,
}

/// Puts the rules in place, then serves one invoker on a socket with this name until it goes.
pub fn serve(fence: &Fence, path: &Path) -> Result<(), Error> {
    let broken = |reason| Error::Socket {
        path: path.display().to_string(),
        reason,
    };
    let table = enclose(fence)?;
    let listener = UnixListener::bind(path).map_err(broken)?;
    // The invoker is somebody else; the directory around it is for its eyes only.
    fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(broken)?;
    let (invoker, _) = listener.accept().map_err(broken)?;
    let _ = fs::remove_file(path);
    converse(&invoker, &table).map_err(broken)
}

/// With these rules, and none of who is gone, which might hold for this network by now.
fn enclose(fence: &Fence) -> Result<Table, Error> {
    let kernel = Netlink::open().map_err(|reason| Error::Kernel {
        what: "to be talked to",
        reason,
    })?;
    stale::remove(&kernel)?;
    Table::create(kernel, fence)
}

fn converse(invoker: &UnixStream, table: &Table) -> std::io::Result<()> {
    let mut requests = BufReader::new(invoker);
    let mut answers = invoker;
    let mut members = Members::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut requests).take(LONGEST).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        let done = match serde_json::from_slice(&line) {
            Ok(Request::Admit { address, member }) => {
                change(table, &mut members, address, Some(member))
            }
            Ok(Request::Exclude { address }) => change(table, &mut members, address, None),
            Ok(Request::End {}) => table.remove().map_err(|error| error.to_string()),
            Err(error) => Err(format!("the request is not understood: {error}")),
        };
        let mut answer = serde_json::to_vec(&Answer { error: done.err() })?;
        answer.push(b'\n');
        answers.write_all(&answer)?;
    }
}

fn change(
    table: &Table,
    members: &mut Members,
    address: Ipv4Addr,
    member: Option<Member>,
) -> Result<(), String> {
    let (next, change) = members.with(address, member);
    table.apply(&change).map_err(|error| error.to_string())?;
    *members = next;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::namespace;
    use crate::table::{BRIDGE, INET};

    #[test]
    fn rules_of_who_is_gone_make_room_for_new_ones() {
        if !namespace::enter("serve::tests::rules_of_who_is_gone_make_room_for_new_ones") {
            return;
        }
        let fence = |name: &str, bridge: &str| Fence {
            name: name.to_owned(),
            bridge: bridge.to_owned(),
            network: "172.20.0.0/16".parse().unwrap(),
            control: 8080,
            open: vec!["10.0.0.0/8".parse().unwrap()],
            closed: vec!["0.0.0.0/0".parse().unwrap()],
        };
        let name = "burst-fedcba987654";
        enclose(&fence("burst-0123456789ab", "burst01234567")).unwrap();
        let table = enclose(&fence(name, "burstfedcba98")).unwrap();
        assert_eq!(
            namespace::tables(),
            [(INET, name.to_owned()), (BRIDGE, name.to_owned())]
        );
        table.remove().unwrap();
        assert_eq!(namespace::tables(), []);
    }
}
