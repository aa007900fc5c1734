//! Finds the modules that know each other in a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// A file's module, and what it knows.
pub struct Node {
    /// Where it is.
    pub file: PathBuf,
    /// The module it is declared in.
    pub parent: Option<usize>,
    /// The others it names, and one of the paths by which it does.
    pub knows: BTreeMap<usize, String>,
}

/// Circles as the arrows they consist of, each a line; of those that share a module, one. A module
/// and what is below it may know each other: a circle is none if it goes through a module which
/// all the others are below.
pub fn circles(nodes: &[Node]) -> Vec<Vec<String>> {
    let mut told = BTreeSet::new();
    let mut circles = Vec::new();
    for (from, node) in nodes.iter().enumerate() {
        for &to in node.knows.keys() {
            let Some(circle) = circle(nodes, from, to) else {
                continue;
            };
            if circle.iter().all(|(from, _)| !told.contains(from)) {
                circles.push(circle.iter().map(|arrow| line(nodes, *arrow)).collect());
                told.extend(circle.into_iter().map(|(from, _)| from));
            }
        }
    }
    circles
}

/// The shortest that begins with this arrow. One up or down begins none: a circle of such arrows
/// alone goes through a module that the others are below.
fn circle(nodes: &[Node], from: usize, to: usize) -> Option<Vec<(usize, usize)>> {
    let shared = |other: &usize| above(nodes, to).any(|mine| mine == *other);
    let top = above(nodes, from).find(shared)?;
    if top == from || top == to {
        return None;
    }
    let mut circle = vec![(from, to)];
    circle.extend(way(nodes, to, from, top)?);
    Some(circle)
}

/// The module itself, the one it is declared in, and so on.
fn above(nodes: &[Node], node: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(node), |node| nodes[*node].parent)
}

/// The shortest way, if there is one below `top`.
fn way(nodes: &[Node], from: usize, to: usize, top: usize) -> Option<Vec<(usize, usize)>> {
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = BTreeSet::from([from]);
    while let Some((last, way)) = ways.pop_front() {
        if last == to {
            return Some(way);
        }
        for &next in nodes[last].knows.keys() {
            if above(nodes, next).skip(1).any(|above| above == top) && seen.insert(next) {
                ways.push_back((next, [way.as_slice(), &[(last, next)]].concat()));
            }
        }
    }
    None
}

fn line(nodes: &[Node], (from, to): (usize, usize)) -> String {
    let name = &nodes[from].knows[&to];
    let [from, to] = [from, to].map(|node| nodes[node].file.display());
    format!("{from} → {to}, by {name}")
}
