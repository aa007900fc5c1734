//! Keeps the packs on a network of containers from each other, from their machine and from what
//! is beyond it, but for what an invoker admits: the packs of one flare to each other, and each
//! pack to its backend and, where its namespace may, to the internet.
//!
//! One process serves one invoker and one network ([`serve`]): it puts tables of rules ([`ruleset`])
//! into the kernel ([`table`]) whose sets ([`set`]) say who may reach whom ([`members`]). It talks to
//! the kernel itself ([`netlink`]), since containers have no `nft`. The rules stay when it ends, and then
//! nobody new is admitted; [`serve::Request::End`] removes them, and, if their network goes
//! without that, the next one of these processes ([`stale`]).
//!
//! Beside that it has what a program sends anywhere taken in by sockets of its own network namespace ([`divert`]), for
//! whoever lets it through by himself.

mod divert;
mod expression;
mod kernel;
mod members;
#[cfg(test)]
mod namespace;
mod neighbours;
mod netlink;
mod network_policy;
mod ruleset;
mod script;
mod serve;
mod set;
mod stale;
mod table;

pub use divert::{Diversion, divert, end_diversion};
pub use members::{Destination, Member, Protocol};
pub use network_policy::{InvalidRange, NetworkPolicy, Range};
pub use serve::{Answer, Request, serve};

/// Why the firewall cannot do what it is asked to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refuses a change, or does not answer.
    #[error("the kernel refuses {what}: {reason}")]
    Kernel {
        /// What was asked of it.
        what: &'static str,
        /// Its reason.
        reason: std::io::Error,
    },
    /// The invoker cannot be listened to.
    #[error("cannot serve on {path}: {reason}")]
    Socket {
        /// Where.
        path: String,
        /// Why not.
        reason: std::io::Error,
    },
}
