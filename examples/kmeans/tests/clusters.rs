//! Compares the clusters with those of another implementation.
#![allow(clippy::unwrap_used)]

use burst::data::Part;
use kmeans::cluster::{Clustered, Input, work};
use kmeans::points::{Clusters, Points};
use std::fs::File;
use std::path::{Path, PathBuf};

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

fn run(input: &Input, (size, granularity): (usize, u32)) -> Vec<Clustered> {
    burst::testing::run(work, vec![input.clone(); size], granularity).unwrap()
}

fn generated(directory: &Path, count: u64, clusters: usize) -> PathBuf {
    let path = directory.join("points");
    let points = Clusters {
        count,
        dimensions: 3,
        clusters,
        seed: 1,
    };
    points.write(File::create(&path).unwrap()).unwrap();
    path
}

/// k-means in one thread, with distances by the rule `|a - b|^2 = |a|^2 - 2 a b + |b|^2` and means that are updated
/// point by point.
fn reference(points: &[Vec<f64>], clusters: usize) -> (Vec<Vec<f64>>, f64) {
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let distance = |a: &[f64], b: &[f64]| dot(a, a) - 2.0 * dot(a, b) + dot(b, b);
    let nearest = |point: &[f64], centres: &[Vec<f64>]| {
        let distances = centres.iter().map(|centre| distance(point, centre));
        let nearest = distances.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.unwrap()
    };
    let mut centres = vec![points[0].clone()];
    while centres.len() < clusters {
        let far = |point: &&Vec<f64>| nearest(point, &centres).1;
        let furthest = points.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
        centres.push(furthest.unwrap().clone());
    }
    loop {
        let mut means = vec![(vec![0.0; points[0].len()], 0.0); clusters];
        let mut inertia = 0.0;
        for point in points {
            let (number, distance) = nearest(point, &centres);
            let (mean, count) = &mut means[number];
            *count += 1.0;
            mean.iter_mut()
                .zip(point)
                .for_each(|(m, x)| *m += (x - *m) / *count);
            inertia += distance;
        }
        let means: Vec<Vec<f64>> = means.into_iter().map(|(mean, _)| mean).collect();
        let moved = means
            .iter()
            .zip(&centres)
            .map(|(a, b)| distance(a, b).abs());
        if moved.fold(0.0, f64::max) < 1e-16 {
            return (means, inertia);
        }
        centres = means;
    }
}

#[test]
fn clusters_are_the_same_at_any_size_and_granularity() {
    let directory = tempfile::tempdir().unwrap();
    let path = generated(directory.path(), 2000, 5);
    let all = Points::read(path.to_str().unwrap(), 3, Part::WHOLE).unwrap();
    let all: Vec<Vec<f64>> = all.iter().map(<[f64]>::to_vec).collect();
    // Fewer clusters than the data has, as many, and more, which takes more iterations.
    for clusters in [1, 5, 8] {
        let (expected, inertia) = reference(&all, clusters);
        for shape in SHAPES {
            let answers = run(&Input::of(&path, 3, clusters), shape);
            let found = &answers[0].centres;
            assert_eq!(found.len(), clusters);
            let pairs = found.concat().into_iter().zip(expected.concat());
            let furthest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(
                furthest < 1e-9,
                "{clusters} clusters, {shape:?}: {furthest}"
            );
            assert!((answers[0].inertia / inertia - 1.0).abs() < 1e-9);
            assert_eq!(
                answers.iter().map(|answer| answer.points).sum::<usize>(),
                2000
            );
        }
    }
}

#[test]
fn invalid_input_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = generated(directory.path(), 2, 1);
    let error = |input: Input| {
        let failed = burst::testing::run(work, vec![input; 3], 2).unwrap_err();
        failed.to_string()
    };
    let few = error(Input::of(&path, 3, 3));
    assert!(
        few.contains("fewer different points than the 3 clusters"),
        "{few}"
    );
    for dimensions in [0, 5] {
        let torn = error(Input::of(&path, dimensions, 1));
        assert!(torn.contains("no whole number of points"), "{torn}");
    }
    let none = error(Input::of(&path, 3, 0));
    assert!(none.contains("clusters must be at least 1"), "{none}");
}
