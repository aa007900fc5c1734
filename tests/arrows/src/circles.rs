//! Finds modules that depend on each other in a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// A file's module and its dependencies.
pub struct Node {
    /// The path of the file.
    pub file: PathBuf,
    /// The module it is declared in.
    pub parent: Option<usize>,
    /// The modules it names, each with one of the paths by which it does.
    pub knows: BTreeMap<usize, String>,
}

/// Returns the circles as lists of their arrows, one line each; of circles that share a module,
/// only one. A module and its descendants may depend on each other: a circle through a module that
/// is an ancestor of all the others does not count.
pub fn circles(nodes: &[Node]) -> Vec<Vec<String>> {
    let mut reported = BTreeSet::new();
    let mut circles = Vec::new();
    for (from, node) in nodes.iter().enumerate() {
        for &to in node.knows.keys() {
            let Some(circle) = circle(nodes, from, to) else {
                continue;
            };
            if circle.iter().all(|(from, _)| !reported.contains(from)) {
                circles.push(circle.iter().map(|arrow| line(nodes, *arrow)).collect());
                reported.extend(circle.into_iter().map(|(from, _)| from));
            }
        }
    }
    circles
}

/// Returns the shortest circle that begins with this arrow. An arrow to an ancestor or a descendant
/// begins none: a circle of only such arrows goes through a module that is an ancestor of the
/// others.
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

/// The module itself, its parent, and so on.
fn above(nodes: &[Node], node: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(node), |node| nodes[*node].parent)
}

/// Returns the shortest path, if one exists below `top`.
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
