//! Requests from the invoker as JSON, one per line, each answered by a line.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::members::{Member, Members};
use crate::neighbours;
use crate::netlink::Netlink;
use crate::network_policy::NetworkPolicy;
use crate::stale;
use crate::table::Table;

/// The most bytes of a request.
const LONGEST: u64 = 64 << 10;
/// How long the invoker, which starts this process for itself, may take to connect.
const COMING: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

/// A request from the invoker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// The pack at this address belongs to this flare from now on, and to no other.
    Admit {
        /// The pack's address.
        address: Ipv4Addr,
        /// The pack's rights.
        #[serde(flatten)]
        member: Member,
    },
    /// The pack at this address may no longer reach anything.
    Exclude {
        /// The pack's address.
        address: Ipv4Addr,
    },
    /// There are no packs any more: removes the rules.
    End {},
}

/// The result of a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// Why a request is refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("a request has {LONGEST} bytes at most")]
    TooLong,
    #[error("the request is not understood: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Installs the rules, then serves one invoker on a socket at this path until it disconnects.
pub fn serve(policy: &NetworkPolicy, path: &Path) -> Result<(), Error> {
    let broken = |reason| Error::Socket {
        path: path.display().to_string(),
        reason,
    };
    let table = enclose(policy)?;
    let listener = UnixListener::bind(path).map_err(broken)?;
    // The invoker is another user; only that user can look into the directory.
    fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(broken)?;
    let invoker = await_invoker(&listener, &COMING).map_err(broken)?;
    let _ = fs::remove_file(path);
    converse(&invoker, |request, members| {
        answer(request, members, &table)
    })
    .map_err(broken)
}

/// Waits for the invoker, but not for ever: it may have been killed since it started this process.
fn await_invoker(listener: &UnixListener, patience: &Timespec) -> io::Result<UnixStream> {
    let mut waiting = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut waiting, Some(patience))? {
        0 => Err(io::Error::new(ErrorKind::TimedOut, "no invoker has come")),
        _ => listener.accept().map(|(invoker, _)| invoker),
    }
}

/// Installs these rules. First removes those of networks that no longer exist, which might apply to
/// this one by now.
fn enclose(policy: &NetworkPolicy) -> Result<Table, Error> {
    let kernel = Netlink::open().map_err(|reason| Error::Kernel {
        what: "to be talked to",
        reason,
    })?;
    if let Err(problem) = stale::remove(&kernel) {
        // Those of this network are replaced anyway; the next process tries those of others again.
        eprintln!("burst-runtime: {problem}");
    }
    if let Err(problem) = neighbours::make_room(policy.neighbours) {
        // Fewer may be enough, and the machine's administrator may have chosen other limits.
        eprintln!("burst-runtime: the kernel's table of neighbours keeps its size: {problem}");
    }
    Table::create(kernel, policy)
}

/// Answers requests until the invoker disconnects or sends one that is too long: the next request
/// could not be told from the rest of that one.
fn converse(
    invoker: &UnixStream,
    mut answer: impl FnMut(Request, &mut Members) -> Result<(), Refusal>,
) -> io::Result<()> {
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
        let whole = line.ends_with(b"\n");
        let done = match serde_json::from_slice(&line) {
            _ if !whole => Err(Refusal::TooLong),
            Ok(request) => answer(request, &mut members),
            Err(error) => Err(error.into()),
        };
        let error = done.err().map(|refusal| refusal.to_string());
        let mut said = serde_json::to_vec(&Answer { error })?;
        said.push(b'\n');
        answers.write_all(&said)?;
        if !whole {
            return Ok(());
        }
    }
}

fn answer(request: Request, members: &mut Members, table: &Table) -> Result<(), Refusal> {
    match request {
        Request::Admit { address, member } => change(table, members, address, Some(member)),
        Request::Exclude { address } => change(table, members, address, None),
        Request::End {} => Ok(table.remove()?),
    }
}

fn change(
    table: &Table,
    members: &mut Members,
    address: Ipv4Addr,
    member: Option<Member>,
) -> Result<(), Refusal> {
    let (next, change) = members.with(address, member);
    table.apply(&change)?;
    *members = next;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kernel::{BRIDGE, INET};
    use crate::namespace;

    #[test]
    fn waiting_for_an_invoker_times_out() {
        let directory = std::env::temp_dir().join(format!("burst-line-{}", std::process::id()));
        let listener = UnixListener::bind(&directory).unwrap();
        let moment = Timespec {
            tv_sec: 0,
            tv_nsec: 1_000_000,
        };
        let error = await_invoker(&listener, &moment).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let _invoker = UnixStream::connect(&directory).unwrap();
        await_invoker(&listener, &COMING).unwrap();
        fs::remove_file(directory).unwrap();
    }

    #[test]
    fn a_request_that_is_too_long_ends_the_connection() {
        let (mut invoker, here) = UnixStream::pair().unwrap();
        let serving = std::thread::spawn(move || {
            let mut heard = 0;
            converse(&here, |_, _| {
                heard += 1;
                Ok(())
            })
            .unwrap();
            heard
        });
        let exclude = "{\"exclude\":{\"address\":\"10.0.0.1\"}}\n";
        invoker.write_all(exclude.as_bytes()).unwrap();
        // The end of the long line would be a valid request.
        let long = " ".repeat(usize::try_from(LONGEST).unwrap()) + exclude;
        invoker.write_all(long.as_bytes()).unwrap();
        let mut said = String::new();
        // The connection is closed, so answers that were not read may be lost.
        let _ = invoker.read_to_string(&mut said);
        assert_eq!(serving.join().unwrap(), 1);
        assert!(said.starts_with("{\"error\":null}\n"), "{said}");
    }

    #[test]
    fn rules_of_dead_invokers_are_replaced() {
        if !namespace::enter("serve::tests::rules_of_dead_invokers_are_replaced") {
            return;
        }
        let policy = |name: &str, bridge: &str| NetworkPolicy {
            name: name.to_owned(),
            bridge: bridge.to_owned(),
            network: "172.20.0.0/16".parse().unwrap(),
            neighbours: 0,
            control: 8080,
            open: vec!["10.0.0.0/8".parse().unwrap()],
            closed: vec!["0.0.0.0/0".parse().unwrap()],
        };
        let name = "burst-fedcba987654";
        enclose(&policy("burst-0123456789ab", "burst01234567")).unwrap();
        let table = enclose(&policy(name, "burstfedcba98")).unwrap();
        assert_eq!(
            namespace::tables(),
            [(INET, name.to_owned()), (BRIDGE, name.to_owned())]
        );
        table.remove().unwrap();
        assert_eq!(namespace::tables(), []);
    }
}
