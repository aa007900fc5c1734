//! Writes the rows to a file, and the page that operators read.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use burst_tests::built;

use crate::flares::{Kind, Row};
use crate::strikes::{self, Case};

const HEAD: &str = "# What happens when\n\n\
    What faults do to flares on a cluster of two controllers, three invokers of six slots, PostgreSQL, a bucket and \
    Redis, as measured by `make faults`: each fault with its effects in run after run, on one machine with two \
    processors ([all rows](../../benchmarks/results/faults/faults.csv)). When the fault strikes, two flares of eight \
    seconds each are running, with packs on every invoker: one without retries, one with `--retries 1`. A third \
    flare waits for slots, and a fourth is submitted right after the fault has begun; these two take one second \
    each. While the client gets no answer, or a 503 with `Retry-After`, it repeats its request with the same \
    `Idempotency-Key`, at either controller.\n\n\
    Seconds are from a flare's acceptance to its end as the client saw it; compare them with the row `nothing`. `in` \
    is how long the new flare waited to be accepted, if that was more than a second. On a machine so busy that a \
    take-over takes longer than `burst.invokers.contact-timeout`, 25 s (seen at a load of 40), the running flares \
    end with the scheduler's controller.\n\n";

fn file() -> PathBuf {
    built::repository().join("benchmarks/results/faults/faults.csv")
}

/// The previously written rows of faults that are not applied this time.
pub(crate) fn others(struck: &[Case]) -> Vec<Row> {
    let Ok(mut file) = csv::Reader::from_path(file()) else {
        return Vec::new();
    };
    let rows = file.deserialize().map(|row| row.expect("a row"));
    rows.filter(|row: &Row| struck.iter().all(|case| case.name != row.fault))
        .collect()
}

fn page() -> PathBuf {
    built::repository().join("docs/operations/faults.md")
}

/// Writes both files.
pub(crate) fn write(rows: &[Row]) {
    fs::create_dir_all(file().parent().unwrap()).unwrap();
    let mut file = csv::Writer::from_path(file()).unwrap();
    rows.iter().for_each(|row| file.serialize(row).unwrap());
    file.flush().unwrap();
    fs::write(page(), text(rows)).unwrap();
}

#[test]
fn matches_the_rows() {
    let written = fs::read_to_string(page()).unwrap();
    assert_eq!(written, text(&others(&[])), "run `make faults RUNS=0`");
}

fn text(rows: &[Row]) -> String {
    let kinds = [Kind::Running, Kind::Retried, Kind::Queued, Kind::New];
    let mut page = HEAD.to_owned();
    page += "| fault | running | running, `--retries 1` | queued | new |\n| --- | --- | --- | --- | --- |\n";
    for case in strikes::all() {
        let cell = |kind: Kind| {
            let own = rows
                .iter()
                .filter(|row| row.fault == case.name && row.flare == kind);
            ends(&own.collect::<Vec<_>>())
        };
        let cells = kinds.map(cell).join(" | ");
        writeln!(page, "| {} | {cells} |", case.name).unwrap();
    }
    let twice = rows
        .iter()
        .filter(|row| row.begun > row.attempts as usize)
        .count();
    let loads = rows.iter().map(|row| row.load);
    let (least, most) = (
        loads.clone().fold(f64::MAX, f64::min),
        loads.fold(0.0, f64::max),
    );
    writeln!(
        page,
        "\nOf the {} flares {twice} had a worker that began more often than its flare was tried. The machine's load was \
         {least:.1} to {most:.1}.",
        rows.len()
    )
    .unwrap();
    page
}

/// How the same flare ended in each run: identical outcomes are listed once.
fn ends(rows: &[&Row]) -> String {
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let mut seconds = format!("{:.1}", row.seconds);
        if row.accepted_seconds > 1.0 {
            write!(seconds, " (in {:.1})", row.accepted_seconds).unwrap();
        }
        match told.iter_mut().find(|(end, _)| *end == end_of(row)) {
            Some((_, all)) => all.push(seconds),
            None => told.push((end_of(row), vec![seconds])),
        }
    }
    let said = told
        .iter()
        .map(|(end, seconds)| format!("{end}: {} s", seconds.join(", ")));
    said.collect::<Vec<_>>().join("; ")
}

fn end_of(row: &Row) -> String {
    let end = match (&row.kind, row.is_bad()) {
        (_, true) => format!("**{}**", row.end.lines().next().unwrap_or_default()),
        (Some(kind), false) => format!("fails, `{kind}`"),
        (None, false) => "succeeds".to_owned(),
    };
    match row.attempts {
        0 | 1 => end,
        more => format!("{end}, attempt {more}"),
    }
}
