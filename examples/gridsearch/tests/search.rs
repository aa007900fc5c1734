//! Whole searches, at several sizes and granularities.
#![allow(clippy::unwrap_used)]

use gridsearch::search::{Answer, Input, Score, work};
use std::fmt::Write;
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

/// Writes the descriptions of at most `most` of this machine's packages. Returns the fraction of the larger
/// class.
fn descriptions(path: &Path, most: usize) -> f64 {
    let packages = debian::read().unwrap();
    println!("{} packages, from {}", packages.list.len(), packages.source);
    let step = packages.list.len().div_ceil(most);
    let (mut text, mut libraries, mut count) = (String::new(), 0, 0);
    for package in packages.list.iter().step_by(step) {
        let library = u32::from(package.is_library());
        writeln!(text, "{library}\t{}", package.description).unwrap();
        libraries += library;
        count += 1;
    }
    std::fs::write(path, text).unwrap();
    f64::from(libraries.max(count - libraries)) / f64::from(count)
}

fn run(input: &Input, size: usize, granularity: u32) -> Vec<Answer> {
    burst::testing::run(work, vec![input.clone(); size], granularity).unwrap()
}

#[test]
fn the_ranking_is_the_same_at_any_size_and_granularity() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("texts");
    descriptions(&path, 500);
    let input = Input {
        rates: vec![0.01, 0.3, 1.0],
        penalties: vec![0.0, 0.1],
        epochs: vec![1],
        ..Input::of(&path)
    };
    let expected: Vec<Score> = run(&input, 1, 1).remove(0).ranking;
    assert_eq!(expected.len(), 6);
    for (size, granularity) in SHAPES {
        let answers = run(&input, size, granularity);
        assert_eq!(answers[0].ranking, expected, "n={size} g={granularity}");
        assert!(answers[1..].iter().all(|answer| answer.ranking.is_empty()));
        let most = answers.iter().map(|answer| answer.tried).max();
        assert_eq!(most, Some(6usize.div_ceil(size)));
    }
}

#[test]
fn trained_models_recognise_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("texts");
    let larger = descriptions(&path, 5000);
    let input = Input {
        rates: vec![0.001, 1.0],
        penalties: vec![0.0],
        epochs: vec![3],
        ..Input::of(&path)
    };
    let ranking = run(&input, 3, 2).remove(0).ranking;
    let (best, worst) = (&ranking[0], &ranking[1]);
    assert!(best.accuracy > worst.accuracy, "{ranking:?}");
    // The best model makes less than 70% of the mistakes of always predicting the larger class.
    let left = (1.0 - best.accuracy) / (1.0 - larger);
    assert!(left < 0.7, "{left} of the mistakes are left: {ranking:?}");
}

#[test]
fn empty_grids_and_empty_data_are_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("texts");
    std::fs::write(&path, "").unwrap();
    let input = Input {
        rates: Vec::new(),
        ..Input::of(&path)
    };
    assert!(run(&input, 3, 2)[0].ranking.is_empty());
    let input = Input::of(&path);
    assert_eq!(run(&input, 3, 2)[0].ranking.len(), input.grid().len());

    std::fs::write(&path, "1\tx\nno label\n").unwrap();
    let error = burst::testing::run(work, vec![input; 3], 2).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
}
