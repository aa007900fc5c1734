//! Each operation at several sizes and granularities, against maps and sorts of the standard library.
#![allow(clippy::unwrap_used)]

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use burst::BurstContext;
use burst::data::Part;
use burst_frame::{Aggregate, FrameError, file, group_by, join, sort};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Workers and workers per pack.
const SHAPES: [(u32, u32); 9] = [
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

/// Pseudo-random numbers below `limit`, the same for the same seed.
fn numbers(seed: u64, count: usize, limit: u64) -> Vec<i64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    (0..count).map(|_| next() as i64).collect()
}

fn table(keys: &[i64], name: &str, values: &[i64]) -> RecordBatch {
    let texts: Vec<String> = values.iter().map(|value| format!("text {value}")).collect();
    let keys: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
    let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    RecordBatch::try_from_iter([("key", keys), (name, values), ("text", texts)]).unwrap()
}

/// The part of a table that a worker begins with; the second worker has no rows.
fn part(table: &RecordBatch, size: u32, worker: u32) -> RecordBatch {
    let (size, worker) = match (size, worker) {
        (1, _) => (1, 0),
        (_, 1) => return table.slice(0, 0),
        (size, worker) => (size - 1, worker - u32::from(worker > 1)),
    };
    let share = burst::data::share(
        table.num_rows() as u64,
        Part {
            index: worker,
            of: size,
        },
    );
    table.slice(share.start as usize, (share.end - share.start) as usize)
}

/// Runs an operation on parts of tables, and returns each worker's result.
fn run(
    (size, granularity): (u32, u32),
    tables: &[&RecordBatch],
    operation: impl Fn(&BurstContext, &[RecordBatch]) -> Result<RecordBatch, FrameError> + Send + Sync,
) -> Vec<RecordBatch> {
    let inputs = (0..size).map(|worker| {
        let parts = tables.iter().map(|table| part(table, size, worker));
        parts.collect::<Vec<_>>()
    });
    let work = |parts: Vec<RecordBatch>, burst: &BurstContext| Ok(operation(burst, &parts)?);
    burst::testing::run(work, inputs, granularity).unwrap()
}

fn ints<'a>(table: &'a RecordBatch, name: &str) -> &'a [i64] {
    let column = table.column_by_name(name).unwrap();
    column.as_primitive::<Int64Type>().values()
}

fn texts(table: &RecordBatch, name: &str) -> Vec<String> {
    let column = table.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|text| text.unwrap().to_owned()).collect()
}

#[test]
fn a_join_has_all_pairs_of_equal_keys() {
    for (left, right, keys) in [
        (0, 0, 1),
        (1, 1, 1),
        (50, 0, 9),
        (20_000, 30_000, 27_000),
        (300, 200, 3),
    ] {
        let (left_keys, right_keys) = (numbers(1, left, keys), numbers(2, right, keys));
        let (a, b) = (numbers(3, left, 1 << 20), numbers(4, right, 1 << 20));
        let mut by_key: HashMap<i64, Vec<i64>> = HashMap::new();
        for (&key, &b) in right_keys.iter().zip(&b) {
            by_key.entry(key).or_default().push(b);
        }
        let pairs = left_keys.iter().zip(&a).flat_map(|(&key, &a)| {
            let matching = by_key.get(&key).into_iter().flatten();
            matching.map(move |&b| (key, a, b))
        });
        let mut expected: Vec<_> = pairs.collect();
        expected.sort_unstable();

        let (left, right) = (table(&left_keys, "a", &a), table(&right_keys, "b", &b));
        for shape in SHAPES {
            let joined = run(shape, &[&left, &right], |burst, parts| {
                join(burst, &parts[0], &parts[1], "key")
            });
            let mut found = Vec::new();
            for part in &joined {
                let fields = part.schema_ref().fields().iter();
                let names: Vec<_> = fields.map(|field| field.name().clone()).collect();
                assert_eq!(names, ["key", "a", "text", "b", "text_right"]);
                let (keys, a, b) = (ints(part, "key"), ints(part, "a"), ints(part, "b"));
                let (text, right) = (texts(part, "text"), texts(part, "text_right"));
                for row in 0..part.num_rows() {
                    assert_eq!(text[row], format!("text {}", a[row]));
                    assert_eq!(right[row], format!("text {}", b[row]));
                    found.push((keys[row], a[row], b[row]));
                }
            }
            found.sort_unstable();
            assert!(found == expected, "{shape:?} of {} rows", left.num_rows());
        }
    }
}

#[test]
fn groups_have_the_aggregates_of_their_rows() {
    for (rows, keys) in [(0, 1), (1, 1), (20_000, 18_000), (3000, 7)] {
        let keys = numbers(1, rows, keys);
        let values = numbers(2, rows, 1000);
        let mut expected: BTreeMap<i64, [i64; 4]> = BTreeMap::new();
        for (&key, &value) in keys.iter().zip(&values) {
            let group = expected.entry(key).or_insert([0, 0, i64::MAX, i64::MIN]);
            let [count, sum, min, max] = *group;
            *group = [count + 1, sum + value, min.min(value), max.max(value)];
        }
        let table = table(&keys, "v", &values);
        let v = || "v".to_owned();
        let aggregates = [
            Aggregate::Count,
            Aggregate::Sum(v()),
            Aggregate::Min(v()),
            Aggregate::Max(v()),
        ];
        for shape in SHAPES {
            let grouped = run(shape, &[&table], |burst, parts| {
                group_by(burst, &parts[0], "key", &aggregates)
            });
            let mut found = BTreeMap::new();
            for part in &grouped {
                let columns = ["count", "v_sum", "v_min", "v_max"].map(|name| ints(part, name));
                for (row, &key) in ints(part, "key").iter().enumerate() {
                    let twice = found.insert(key, columns.map(|column| column[row]));
                    assert_eq!(twice, None, "{shape:?}");
                }
            }
            assert!(found == expected, "{shape:?} of {rows} rows");
        }
    }
}

#[test]
fn a_sorted_table_is_in_order_across_workers() {
    for (rows, keys) in [(0, 1), (1, 1), (20_000, 18_000), (3000, 7), (1000, 1)] {
        let keys: Vec<i64> = numbers(1, rows, keys).iter().map(|key| key - 3).collect();
        let values: Vec<i64> = (0..rows as i64).collect();
        let mut expected: Vec<_> = keys.iter().copied().zip(values.iter().copied()).collect();
        expected.sort_by_key(|row| row.0);
        let table = table(&keys, "v", &values);
        for shape in SHAPES {
            let sorted = run(shape, &[&table], |burst, parts| {
                sort(burst, &parts[0], "key")
            });
            let rows_of = |part: &RecordBatch| -> Vec<(i64, i64)> {
                let (keys, values) = (ints(part, "key"), ints(part, "v"));
                let mut texts = values.iter().zip(texts(part, "text"));
                assert!(texts.all(|(value, text)| text == format!("text {value}")));
                keys.iter().copied().zip(values.iter().copied()).collect()
            };
            let found: Vec<(i64, i64)> = sorted.iter().flat_map(rows_of).collect();
            assert!(found == expected, "{shape:?} of {rows} rows");
            if rows > 10_000 {
                let most = sorted.iter().map(RecordBatch::num_rows).max();
                assert!(most < Some(2 * rows / shape.0 as usize), "uneven: {most:?}");
            }
        }
    }
}

#[test]
fn keys_of_other_types_and_columns_with_nulls_are_carried() {
    let keys: ArrayRef = Arc::new(Int32Array::from(vec![3, -1, 2]));
    let some: ArrayRef = Arc::new(Int64Array::from(vec![Some(30), None, Some(20)]));
    let halves: ArrayRef = Arc::new(Float64Array::from(vec![1.5, -0.5, 1.0]));
    let columns = [("key", keys), ("some", some), ("half", halves)];
    let table = RecordBatch::try_from_iter(columns).unwrap();
    for shape in [(1, 1), (3, 2)] {
        let sorted = run(shape, &[&table], |burst, parts| {
            sort(burst, &parts[0], "key")
        });
        let some = sorted.iter().flat_map(|part| {
            let column = part.column_by_name("some").unwrap();
            let column = column.as_primitive::<Int64Type>();
            column.iter().collect::<Vec<_>>()
        });
        assert_eq!(some.collect::<Vec<_>>(), [None, Some(20), Some(30)]);

        let half = || "half".to_owned();
        let aggregates = [
            Aggregate::Sum(half()),
            Aggregate::Min(half()),
            Aggregate::Max(half()),
        ];
        let grouped = run(shape, &[&table], |burst, parts| {
            group_by(burst, &parts[0], "key", &aggregates)
        });
        for name in ["half_sum", "half_min", "half_max"] {
            let values = grouped.iter().flat_map(|part| {
                let column = part.column_by_name(name).unwrap();
                column.as_primitive::<Float64Type>().values().to_vec()
            });
            assert_eq!(values.sum::<f64>(), 2.0);
        }
    }
}

#[test]
fn invalid_operations_give_the_reason() {
    let table = table(&[1, 1], "v", &[i64::MAX, 1]);
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let nulls = RecordBatch::try_from_iter([("key", nulls)]).unwrap();
    type Operation = fn(&BurstContext, &[RecordBatch]) -> Result<RecordBatch, FrameError>;
    let cases: [(Operation, &str); 5] = [
        (
            |burst, t| sort(burst, &t[0], "kei"),
            "no column `kei`; there are: key, v, text",
        ),
        (
            |burst, t| sort(burst, &t[0], "text"),
            "column `text` of type Utf8 cannot be a key",
        ),
        (
            |burst, t| join(burst, &t[0], &t[1], "key"),
            "is a key and has 1 nulls",
        ),
        (
            |burst, t| group_by(burst, &t[0], "key", &[Aggregate::Max("text".into())]),
            "column `text` of type Utf8 cannot be a value",
        ),
        (
            |burst, t| group_by(burst, &t[0], "key", &[Aggregate::Sum("v".into())]),
            "is too large for 64 bits",
        ),
    ];
    for (operation, expected) in cases {
        let work = |_: (), burst: &BurstContext| {
            let (size, worker) = (burst.burst_size(), burst.worker_id());
            let tables = [&table, &nulls].map(|table| part(table, size, worker));
            Ok(operation(burst, &tables)?)
        };
        for (size, granularity) in [(1, 1), (3, 2)] {
            let error = burst::testing::run(work, vec![(); size], granularity).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[test]
fn a_file_is_read_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.arrow");
    let location = path.to_str().unwrap();
    let whole = table(&[5, 6, 7], "v", &[1, 2, 3]);
    file::write(&path, &whole).unwrap();
    let parts = (0..3).map(|index| file::read(location, Part { index, of: 3 }).unwrap());
    let parts: Vec<RecordBatch> = parts.collect();
    assert_eq!(parts.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    assert!(parts.contains(&whole));

    std::fs::write(&path, "something else, of more than a few bytes").unwrap();
    let error = file::read(location, Part::WHOLE).unwrap_err().to_string();
    assert!(error.contains(location), "{error}");
    let error = file::read("/no/such/file", Part::WHOLE)
        .unwrap_err()
        .to_string();
    assert!(error.contains("/no/such/file"), "{error}");
}
