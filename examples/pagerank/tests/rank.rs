//! Compares the ranks with those of another algorithm.
#![allow(clippy::unwrap_used)]

use burst::data::Part;
use pagerank::edges::{self, Edge};
use pagerank::generate::{self, PowerLaw};
use pagerank::rank::{Input, Ranked, work};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Workers and workers per pack.
const SHAPES: [(usize, u32); 9] = [
    (1, 1),
    (2, 1),
    (2, 2),
    (3, 1),
    (3, 2),
    (8, 1),
    (8, 3),
    (8, 4),
    (8, 8),
];

/// PageRank as a system of linear equations, solved by Gauss-Seidel. Nodes without links pass their rank to all nodes
/// alike and therefore only scale the solution of `x = 1 + d * (sum of x(u) / degree(u))`. This has nothing in common
/// with the example's iterations over damped vectors.
fn solved(edges: &[Edge], damping: f64) -> Vec<f64> {
    let nodes = edges
        .iter()
        .map(|e| e.0.max(e.1) as usize + 1)
        .max()
        .unwrap();
    let mut degrees = vec![0.0; nodes];
    let mut sources = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        degrees[from as usize] += 1.0;
        sources[to as usize].push(from as usize);
    }
    let mut x = vec![1.0; nodes];
    loop {
        let mut change = 0.0;
        for node in 0..nodes {
            let (own, others): (Vec<usize>, Vec<usize>) =
                sources[node].iter().partition(|&&source| source == node);
            let others: f64 = others.iter().map(|&u| x[u] / degrees[u]).sum();
            let own = own.len() as f64 / f64::max(degrees[node], 1.0);
            let value = (1.0 + damping * others) / (1.0 - damping * own);
            change = f64::max(change, f64::abs(value - x[node]) / value);
            x[node] = value;
        }
        if change < 1e-14 {
            let sum: f64 = x.iter().sum();
            return x.iter().map(|value| value / sum).collect();
        }
    }
}

/// Ranks with `size` workers and reads the ranks from their output.
fn ranked(graph: &Path, size: usize, granularity: u32) -> (Vec<Ranked>, Vec<f64>) {
    let output = tempfile::tempdir().unwrap();
    let mut input = Input::of(graph);
    input.tolerance = 1e-13;
    input.iterations = 250;
    input.output = Some(output.path().into());
    let answers = burst::testing::run(work, vec![input; size], granularity).unwrap();
    let lines: String = (0..size)
        .map(|worker| output.path().join(format!("part-{worker:05}")))
        .map(|part| std::fs::read_to_string(part).unwrap())
        .collect();
    let ranks = lines.lines().enumerate().map(|(node, line)| {
        let (number, rank) = line.split_once(' ').unwrap();
        assert_eq!(number, node.to_string());
        rank.parse().unwrap()
    });
    (answers, ranks.collect())
}

fn check(graph: &Path, shapes: &[(usize, u32)]) {
    let edges = edges::read(graph.to_str().unwrap(), Part::WHOLE).unwrap();
    let expected = solved(&edges, 0.85);
    for &(size, granularity) in shapes {
        let (answers, ranks) = ranked(graph, size, granularity);
        assert_eq!(ranks.len(), expected.len());
        let furthest = ranks.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        let furthest = furthest.fold(0.0, f64::max);
        assert!(furthest < 1e-9, "n={size} g={granularity}: {furthest}");
        let links: usize = answers.iter().map(|answer| answer.links).sum();
        assert_eq!(links, edges.len());
        let best = expected.iter().copied().fold(0.0, f64::max);
        assert!((answers[0].top[0].rank - best).abs() < 1e-9);
        assert!(answers[1..].iter().all(|answer| answer.top.is_empty()));
    }
}

#[test]
fn a_power_law_graph_is_ranked_at_any_size_and_granularity() {
    let directory = tempfile::tempdir().unwrap();
    let graph = directory.path().join("graph");
    PowerLaw {
        scale: 8,
        edges: 8,
        seed: 1,
    }
    .write(BufWriter::new(File::create(&graph).unwrap()))
    .unwrap();
    check(&graph, &SHAPES);
}

#[test]
fn the_packages_of_this_machine_are_ranked() {
    let packages = debian::read().unwrap();
    println!("{} packages, from {}", packages.list.len(), packages.source);
    let directory = tempfile::tempdir().unwrap();
    let graph = directory.path().join("graph");
    let file = BufWriter::new(File::create(&graph).unwrap());
    generate::dependencies(&packages, file).unwrap();
    check(&graph, &[(1, 1), (3, 2), (8, 4)]);
}

#[test]
fn small_and_unusual_graphs_are_ranked() {
    let directory = tempfile::tempdir().unwrap();
    let graph = directory.path().join("graph");
    // A link from a node to itself, a duplicate link, and a node without links.
    for text in ["0 0\n", "0 1\n", "0 1\n0 1\n1 1\n0 2\n5 0\n"] {
        std::fs::write(&graph, text).unwrap();
        check(&graph, &[(1, 1), (3, 2)]);
    }
    std::fs::write(&graph, "# nothing\n").unwrap();
    let (answers, ranks) = ranked(&graph, 3, 2);
    assert_eq!((answers[0].nodes, answers[0].iterations), (0, 0));
    assert!(ranks.is_empty());
}

#[test]
fn nodes_get_their_names_and_invalid_lines_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (graph, names) = (
        directory.path().join("graph"),
        directory.path().join("names"),
    );
    std::fs::write(&graph, "0 1\n2 1\n").unwrap();
    std::fs::write(&names, "zero\none\ntwo\n").unwrap();
    let mut input = Input::of(&graph);
    input.names = Some(names);
    let answers = burst::testing::run(work, vec![input; 2], 1).unwrap();
    assert_eq!(answers[0].top[0].name.as_deref(), Some("one"));

    std::fs::write(&graph, "0 1\nzero one\n").unwrap();
    let error = burst::testing::run(work, vec![Input::of(&graph); 3], 2).unwrap_err();
    assert!(error.to_string().contains("zero one"), "{error}");
}
