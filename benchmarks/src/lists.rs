//! Lists of a namespace with a million activations, compared with one that has a thousand; and invocations while the
//! million is deleted.

use crate::report::Report;
use crate::summary::Summary;
use burst_tests::{Driver, Platform, Postgres, Settings, command, postgres};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;

/// A second in microseconds. Products with it exceed 32 bits, hence the cast.
const SECOND: &str = "CAST(1000000 AS BIGINT)";

/// Rows to insert at a time.
const BATCH: u64 = 50_000;
const BOUND: Duration = Duration::from_secs(600);

/// A condition that holds for all records.
const ALL: &str = "begun IS NOT NULL";

/// Two out of three activations are of this action.
const OFTEN: &str = "often";
const RARELY: &str = "rarely";

/// The queries. The times in them are those of the newest hundred activations.
const QUERIES: [(&str, &str); 8] = [
    ("30 of all", "limit=30"),
    ("200 of one action", "limit=200&name=rarely"),
    ("30 since", "limit=30&since=SINCE"),
    (
        "30 of one action since and up to",
        "limit=30&name=often&since=SINCE&upto=UPTO",
    ),
    ("30 after 500", "limit=30&skip=500"),
    ("30 after all", "limit=30&skip=2147483647"),
    ("their count", "count=true"),
    ("the count of one action's", "count=true&name=rarely"),
];

pub fn measure(runs: usize, report: &mut Report) {
    for store in [Store::sqlite, Store::postgresql] {
        let store = store();
        let begun = (OFTEN, invoke(&store.platform, OFTEN));
        let others = (RARELY, invoke(&store.platform, RARELY));
        store.fill(&[begun.clone(), others.clone()], FEW);
        let few: Vec<Summary> = QUERIES
            .iter()
            .map(|query| store.times(query.1, runs))
            .collect();
        store.fill(&[begun, others], MANY);
        for ((what, query), few) in QUERIES.iter().zip(few) {
            let many = store.times(query, runs);
            report.add(
                format!("of {MANY} stored activations, {what}, {}", store.name),
                "ms",
                many,
                Some(("of 1000", few)),
                "<= 2 x",
            );
        }
        let alone = Summary::of((0..20 * runs).map(|_| timed(&store.platform)).collect());
        let old = store.outdate();
        let began = Instant::now();
        let mut beside = Vec::new();
        while store.stored(&old) > FEW {
            assert!(began.elapsed() < BOUND, "{} are left", store.stored(&old));
            beside.extend((0..20).map(|_| timed(&store.platform)));
        }
        report.add(
            format!(
                "blocking invocation while {MANY} are deleted, in {:.0} s, {}",
                began.elapsed().as_secs_f64(),
                store.name
            ),
            "ms",
            Summary::of(beside),
            Some(("the same before", alone)),
            "",
        );
    }
}

/// A platform, with access to its database.
struct Store {
    name: &'static str,
    platform: Platform,
    postgres: Option<Postgres>,
}

impl Store {
    fn sqlite() -> Self {
        Self {
            name: "SQLite",
            platform: platform(settings()),
            postgres: None,
        }
    }

    fn postgresql() -> Self {
        let postgres = Postgres::start();
        let store = |key: &str| format!("burst.store.postgresql.{key}");
        let settings = settings()
            .set(&store("url"), &postgres.url())
            .set(&store("user"), postgres::USER)
            .set(&store("password"), postgres.password());
        Self {
            name: "PostgreSQL",
            platform: platform(settings),
            postgres: Some(postgres),
        }
    }

    /// Executes a statement and returns its result.
    fn ask(&self, statement: &str) -> String {
        if let Some(postgres) = &self.postgres {
            return postgres.ask(statement).expect("the server answers");
        }
        let database = self.platform.data().join("controller/burst.db");
        let mut sqlite = Command::new("sqlite3");
        sqlite.args(["-cmd", ".timeout 60000"]).arg(database);
        let finished = command::run(sqlite.arg(statement), BOUND).exits(0);
        finished.stdout.trim().to_owned()
    }

    fn stored(&self, which: &str) -> u64 {
        let counted = self.ask(&format!("SELECT COUNT(*) FROM flare WHERE {which}"));
        counted.parse().unwrap()
    }

    /// Stores copies of these activations, each a second older than the one before, until `wanted` are stored.
    fn fill(&self, examples: &[(&str, String)], wanted: u64) {
        let (mut stored, mut turn) = (self.stored(ALL), 0_usize);
        while stored < wanted {
            let count = (wanted - stored).min(if wanted > BATCH { BATCH } else { wanted / 10 });
            // Every third batch is of the second example.
            let (_, example) = &examples[usize::from(turn % 3 == 2)];
            self.copy(example, stored, count);
            stored += count;
            turn += 1;
        }
        if self.postgres.is_some() {
            // The server would do this on its own, sooner or later.
            self.ask("VACUUM ANALYZE flare");
        }
        assert_eq!(self.stored(ALL), wanted);
    }

    fn copy(&self, example: &str, before: u64, count: u64) {
        let (series, id) = match self.postgres {
            Some(_) => (
                "generate_series(1, {count}) AS series(i)",
                "md5(random()::text || i)",
            ),
            None => (
                "(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {count}) \
                 SELECT i FROM s) AS series",
                "lower(hex(randomblob(16)))",
            ),
        };
        let series = series.replace("{count}", &count.to_string());
        let values: Vec<String> = (self.columns("flare").into_iter())
            .map(|column| match column.as_str() {
                "id" => id.to_owned(),
                "created" | "begun" | "ended" => format!("{column} - ({before} + i) * {SECOND}"),
                _ => column,
            })
            .collect();
        let columns = self.columns("flare").join(", ");
        self.ask(&format!(
            "INSERT INTO flare ({columns}) SELECT {} FROM flare, {series} WHERE id = '{example}'",
            values.join(", ")
        ));
        let columns = self.columns("flare_result");
        let values: Vec<String> = (columns.iter())
            .map(|column| match column.as_str() {
                "flare_id" => "copy.id".to_owned(),
                _ => format!("r.{column}"),
            })
            .collect();
        self.ask(&format!(
            "INSERT INTO flare_result ({}) SELECT {} FROM flare AS copy, flare_result AS r, flare AS own \
             WHERE own.id = '{example}' AND r.flare_id = own.id \
             AND copy.namespace = own.namespace AND copy.name = own.name \
             AND copy.created < own.created - {before} * {SECOND} \
             AND copy.created >= own.created - ({before} + {count}) * {SECOND}",
            columns.join(", "),
            values.join(", ")
        ));
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let query = match self.postgres {
            Some(_) => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
            ),
            None => format!("SELECT name FROM pragma_table_info('{table}')"),
        };
        self.ask(&query).lines().map(str::to_owned).collect()
    }

    /// Makes all records older than the retention time. Returns a condition that matches them.
    fn outdate(&self) -> String {
        let newest = self.ask("SELECT MAX(ended) FROM flare");
        let long_ago = Duration::from_secs(3600 * 24 * 40).as_micros();
        self.ask(&format!(
            "UPDATE flare SET ended = ended - {long_ago} WHERE ended IS NOT NULL"
        ));
        format!("ended <= {newest} - {long_ago}")
    }

    /// Returns the times from request to response of a list.
    fn times(&self, query: &str, runs: usize) -> Summary {
        let newest = self.ask("SELECT MAX(begun) / 1000 FROM flare");
        let newest: u64 = newest.parse().unwrap();
        let query = query
            .replace("SINCE", &(newest - 100_000).to_string())
            .replace("UPTO", &newest.to_string());
        let once = || {
            let asked = Instant::now();
            let answer = self.platform.api().get(&format!("activations?{query}"));
            let took = asked.elapsed();
            answer.expect::<Value>(200);
            took.as_secs_f64() * 1e3
        };
        (0..5).for_each(|_| {
            once();
        });
        Summary::of((0..runs).map(|_| once()).collect())
    }
}

fn settings() -> Settings {
    Settings::new(Driver::Process)
        .set("burst.store.retention.flares", "2000000")
        .set("burst.limits.stored-size", "1TiB")
        .set("burst.limits.flares-per-minute", "1000000")
        .limit(Duration::from_secs(3600))
}

fn platform(settings: Settings) -> Platform {
    let platform = Platform::start(settings);
    for name in [OFTEN, RARELY] {
        let code = "def main(args):\n    return {}\n";
        let exec = json!({"exec": {"kind": "python:default", "code": code}});
        platform.api().put_action(name, &exec);
    }
    platform
}

/// Invokes an action and returns the id of its stored activation record.
fn invoke(platform: &Platform, name: &str) -> String {
    let record: Value = platform.api().invoke(name, &json!({})).expect(200);
    record["activationId"].as_str().unwrap().to_owned()
}

/// Returns the milliseconds that an invocation on a warm pack takes.
fn timed(platform: &Platform) -> f64 {
    let asked = Instant::now();
    invoke(platform, OFTEN);
    asked.elapsed().as_secs_f64() * 1e3
}
