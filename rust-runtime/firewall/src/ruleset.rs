//! The rules, in the notation of `nft`, with `BRIDGE`, `NET` and `CONTROL` of the
//! [`NetworkPolicy`]:
//!
//! ```text
//! table bridge NAME {          # from pack to pack
//!     set pairs { type ipv4_addr . ipv4_addr }
//!     chain forward {
//!         type filter hook forward priority 0
//!         ip saddr NET tcp dport CONTROL drop     # orders come from the invoker
//!         ip saddr . ip daddr @pairs accept
//!         ip saddr NET drop
//!         ip daddr NET drop
//!     }
//! }
//! table inet NAME {            # to and from everything else
//!     set reach  { type ipv4_addr . ipv4_addr . inet_proto . inet_service }
//!     set egress { type ipv4_addr }
//!     chain input {
//!         type filter hook input priority -10
//!         iifname != BRIDGE accept
//!         tcp sport CONTROL ct state established accept
//!         @reach, as below, and the open ranges that have a port, accept; reject
//!     }
//!     chain forward {
//!         type filter hook forward priority -10
//!         iifname BRIDGE oifname BRIDGE accept      # seen above
//!         oifname BRIDGE ct state established,related accept
//!         oifname BRIDGE drop
//!         iifname != BRIDGE accept
//!         ip saddr . ct original ip daddr . l4proto . ct original proto-dst @reach accept
//!         the open ranges accept; the closed ones reject
//!         ip saddr @egress accept
//!         reject
//!     }
//! }
//! ```
//!
//! The destination is that of the connection's first packet: this is what was allowed, even if the
//! machine forwards it to another address. Packs cannot impersonate others, as they may not send
//! raw packets.

use crate::expression::{ESTABLISHED, RELATED, Rule};
use crate::kernel::{BRIDGE, INET};
use crate::network_policy::NetworkPolicy;
use crate::script::{Chain, Hook, Script};
use crate::set::{EGRESS, PAIRS, REACH, SETS};

/// Replaces the tables; the sets are empty.
pub(crate) fn replace(script: &mut Script<'_>, policy: &NetworkPolicy) {
    script.replace_table(BRIDGE);
    script.replace_table(INET);
    SETS.iter().for_each(|set| script.add_set(set));
    bridge_forward(script, policy);
    inet_input(script, policy);
    inet_forward(script, policy);
}

/// Rules for packets between packs. Nothing else is bridged from their network or to it.
fn bridge_forward(script: &mut Script<'_>, policy: &NetworkPolicy) {
    let chain = Chain {
        family: BRIDGE,
        name: "forward",
        hook: Hook::Forward,
        priority: 0,
    };
    let rules = [
        Rule::ipv4()
            .saddr(policy.network)
            .tcp_dport(policy.control)
            .drop(),
        Rule::ipv4().addresses_in(&PAIRS).accept(),
        Rule::ipv4().saddr(policy.network).drop(),
        Rule::ipv4().daddr(policy.network).drop(),
    ];
    add(script, &chain, rules);
}

/// Rules for packets to the machine.
fn inet_input(script: &mut Script<'_>, policy: &NetworkPolicy) {
    let chain = Chain {
        family: INET,
        name: "input",
        hook: Hook::Input,
        priority: -10,
    };
    let open = policy.open.iter().filter(|range| range.port.is_some());
    let mut rules = vec![
        Rule::default().iifname_not(&policy.bridge).accept(),
        Rule::ipv4()
            .tcp_sport(policy.control)
            .ct_state(ESTABLISHED)
            .accept(),
        Rule::ipv4().destination_in(&REACH).accept(),
    ];
    rules.extend(open.map(|range| Rule::ipv4().ct_original_daddr(*range).accept()));
    rules.push(Rule::default().reject());
    add(script, &chain, rules);
}

/// Rules for packets to and from everything except the machine.
fn inet_forward(script: &mut Script<'_>, policy: &NetworkPolicy) {
    let chain = Chain {
        family: INET,
        name: "forward",
        hook: Hook::Forward,
        priority: -10,
    };
    let bridge = policy.bridge.as_str();
    let out = || Rule::default().oifname(bridge);
    let mut rules = vec![
        // If the kernel passes bridged packets through this chain, the other table has already
        // decided.
        Rule::default().iifname(bridge).oifname(bridge).accept(),
        out().ct_state(ESTABLISHED | RELATED).accept(),
        out().drop(),
        Rule::default().iifname_not(bridge).accept(),
        Rule::ipv4().destination_in(&REACH).accept(),
    ];
    let open = policy.open.iter();
    rules.extend(open.map(|range| Rule::ipv4().ct_original_daddr(*range).accept()));
    for range in &policy.closed {
        rules.push(Rule::ipv4().daddr(*range).reject());
        rules.push(Rule::ipv4().ct_original_daddr(*range).reject());
    }
    rules.push(Rule::ipv4().saddr_in(&EGRESS).accept());
    rules.push(Rule::default().reject());
    add(script, &chain, rules);
}

fn add(script: &mut Script<'_>, chain: &Chain, rules: impl IntoIterator<Item = Rule>) {
    script.add_chain(chain);
    rules
        .into_iter()
        .for_each(|rule| script.add_rule(chain, &rule));
}
