//! Generates graphs to rank, as edge lists.

use debian::Packages;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::io::{self, Write};

/// The probabilities that an R-MAT edge lies in the first, second and third quarter of the matrix, as in Graph 500.
const QUARTERS: [f64; 3] = [0.57, 0.19, 0.19];

/// Writes the dependencies between packages. Node `n` is package `n` of the list, from 0; dependencies on packages
/// that are not in the list are left out.
pub fn dependencies(packages: &Packages, mut graph: impl Write) -> io::Result<()> {
    let numbers: HashMap<&str, usize> = packages
        .list
        .iter()
        .enumerate()
        .map(|(number, package)| (package.name.as_str(), number))
        .collect();
    writeln!(graph, "# package dependencies, from {}", packages.source)?;
    for (from, package) in packages.list.iter().enumerate() {
        let known = package.depends.iter();
        for to in known.filter_map(|name| numbers.get(name.as_str())) {
            writeln!(graph, "{from}\t{to}")?;
        }
    }
    graph.flush()
}

/// A power-law graph. R-MAT halves the adjacency matrix in both directions `scale` times, and continues in a random
/// quarter each time.
#[derive(Debug, Clone, Copy)]
pub struct PowerLaw {
    /// Number of nodes, as a power of two.
    pub scale: u32,
    /// Number of edges per node.
    pub edges: u64,
    /// Seed of the random numbers; the same seed gives the same graph.
    pub seed: u64,
}

impl PowerLaw {
    /// Writes its edges.
    pub fn write(self, mut graph: impl Write) -> io::Result<()> {
        let Self { scale, edges, seed } = self;
        let mut random = SmallRng::seed_from_u64(seed);
        let [first, second, third] = QUARTERS;
        for _ in 0..edges << scale {
            let (mut from, mut to) = (0u32, 0u32);
            for _ in 0..scale {
                let place: f64 = random.random();
                from = from << 1 | u32::from(place >= first + second);
                let right =
                    (first..first + second).contains(&place) || place >= first + second + third;
                to = to << 1 | u32::from(right);
            }
            writeln!(graph, "{from}\t{to}")?;
        }
        graph.flush()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn dependencies_are_numbered_in_list_order() {
        let list = debian::parse(
            b"Package: a\nDepends: c, b, nowhere\n\nPackage: b\n\nPackage: c\nDepends: a\n",
        );
        let packages = Packages {
            source: "a test",
            list,
        };
        let mut graph = Vec::new();
        dependencies(&packages, &mut graph).unwrap();
        let text = String::from_utf8(graph).unwrap();
        assert_eq!(
            text,
            "# package dependencies, from a test\n0\t2\n0\t1\n2\t0\n"
        );
    }

    #[test]
    fn few_nodes_of_a_power_law_graph_have_most_edges() {
        let mut graph = Vec::new();
        PowerLaw {
            scale: 10,
            edges: 8,
            seed: 1,
        }
        .write(&mut graph)
        .unwrap();
        let mut degrees = vec![0; 1 << 10];
        for line in String::from_utf8(graph).unwrap().lines() {
            let (from, to) = line.split_once('\t').unwrap();
            assert!(to.parse::<usize>().unwrap() < degrees.len());
            degrees[from.parse::<usize>().unwrap()] += 1;
        }
        assert_eq!(degrees.iter().sum::<u32>(), 8 << 10);
        degrees.sort_unstable();
        let most: u32 = degrees.iter().rev().take(100).sum();
        assert!(most > 4 << 10, "the first tenth has only {most} edges");
    }
}
