//! Compares queries from files to files with maps of the standard library. The operations have tests of their own in
//! burst-frame.
#![allow(clippy::unwrap_used)]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use burst::data::Part;
use burst_frame::file;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use tables::generate;
use tables::query::{Query, work};

/// Workers and workers per pack.
const SHAPES: [(usize, u32); 7] = [(1, 1), (2, 1), (2, 2), (3, 2), (8, 1), (8, 4), (8, 8)];

const ROWS: u64 = 20_000;

fn rows(table: &RecordBatch) -> Vec<Vec<i64>> {
    let columns = table.columns().iter();
    let columns: Vec<&[i64]> = columns
        .map(|column| &**column.as_primitive::<Int64Type>().values())
        .collect();
    let row = |row: usize| columns.iter().map(|column| column[row]).collect();
    (0..table.num_rows()).map(row).collect()
}

/// Runs a query and returns the rows of the result, in the order of the workers.
fn run(query: serde_json::Value, (size, granularity): (usize, u32)) -> Vec<Vec<i64>> {
    let output = tempfile::tempdir().unwrap();
    let mut query: Query = serde_json::from_value(query).unwrap();
    query.output = Some(output.path().into());
    let answers = burst::testing::run(work, vec![query; size], granularity).unwrap();
    let parts = answers.iter().enumerate().map(|(worker, answer)| {
        let path = output.path().join(format!("part-{worker:05}.arrow"));
        let part = rows(&file::read(path.to_str().unwrap(), Part::WHOLE).unwrap());
        assert_eq!(part.len(), answer.rows);
        part
    });
    parts.collect::<Vec<_>>().concat()
}

fn generated(path: &Path, seed: u64) -> (String, Vec<Vec<i64>>) {
    generate::write(path, ROWS, seed).unwrap();
    let location = path.to_str().unwrap().to_owned();
    let table = rows(&file::read(&location, Part::WHOLE).unwrap());
    assert_eq!(table.len() as u64, ROWS);
    assert!(table.iter().all(|row| (0..18_000).contains(&row[0])));
    (location, table)
}

fn by_key(table: &[Vec<i64>]) -> BTreeMap<i64, Vec<i64>> {
    let mut keys: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in table {
        keys.entry(row[0]).or_default().push(row[1]);
    }
    keys
}

#[test]
fn every_operation_is_correct_at_any_size_and_granularity() {
    let directory = tempfile::tempdir().unwrap();
    let (left, left_rows) = generated(&directory.path().join("left"), 1);
    let (right, right_rows) = generated(&directory.path().join("right"), 2);
    let matching = by_key(&right_rows);
    let pairs = left_rows.iter().flat_map(|row| {
        let values = matching.get(&row[0]).into_iter().flatten();
        values.map(|&value| vec![row[0], row[1], value])
    });
    let mut joined: Vec<Vec<i64>> = pairs.collect();
    joined.sort_unstable();
    let groups = by_key(&left_rows).into_iter().map(|(key, values)| {
        let (min, max) = (values.iter().min(), values.iter().max());
        let count = values.len() as i64;
        vec![
            key,
            count,
            values.iter().sum(),
            *min.unwrap(),
            *max.unwrap(),
        ]
    });
    let groups: Vec<Vec<i64>> = groups.collect();
    let mut sorted = left_rows.clone();
    sorted.sort_by_key(|row| row[0]);

    for shape in SHAPES {
        let in_order = |mut rows: Vec<Vec<i64>>| {
            rows.sort_unstable();
            rows
        };
        let join = run(
            json!({"operation": "join", "left": left, "right": right}),
            shape,
        );
        assert!(in_order(join) == joined, "join {shape:?}");
        let group_by = run(json!({"operation": "group-by", "table": left}), shape);
        assert!(in_order(group_by) == groups, "group-by {shape:?}");
        let sort = run(json!({"operation": "sort", "table": left}), shape);
        assert!(sort == sorted, "sort {shape:?}");
    }
}
