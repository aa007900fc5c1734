//! Isolates the packs on a network of containers from each other, from their machine and from everything beyond it,
//! except for what an invoker admits: the packs of one flare to each other, and each pack to its backend and, if its
//! namespace may, to the internet.
//!
//! One process serves one invoker and one network ([`serve`]): it puts tables of rules ([`ruleset`]) into the kernel
//! ([`table`]), whose sets ([`set`]) list who may reach whom ([`members`]). It talks to the kernel directly
//! ([`netlink`]), since containers have no `nft`. The rules stay when the process ends; then no further packs are
//! admitted. [`serve::Request::End`] removes the rules; if their network is removed without that, the next such process
//! does ([`stale`]).
//!
//! It can also divert everything that programs in a network namespace send elsewhere to sockets of that namespace
//! ([`divert`]), for callers that relay it themselves.

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

/// Why the firewall cannot do as asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refuses a change, or does not answer.
    #[error("the kernel refuses {what}: {reason}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The kernel's reason.
        reason: std::io::Error,
    },
    /// The socket for the invoker failed.
    #[error("cannot serve on {path}: {reason}")]
    Socket {
        /// The socket's path.
        path: String,
        /// The reason.
        reason: std::io::Error,
    },
}
