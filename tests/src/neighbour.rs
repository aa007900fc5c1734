//! A flare that runs while others misbehave, and must not notice. Its program (`tests/programs/neighbour`) uses some of
//! every resource that can be exhausted, round after round, and sends messages between its packs.

use std::cell::Cell;
use std::time::Duration;

use serde_json::json;

use crate::tenants::Tenant;
use crate::{built, wait};
use burst_client::Flare;

const NAME: &str = "neighbour";
/// The prefix of the line that lists where a pack listens.
const LISTENS: &str = "listens:";
/// Longer than any test.
const MILLIS: u64 = 600_000;
/// How long a round may take while others do their worst. A successful check does not wait this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// The flare: two workers in two packs.
#[derive(Debug)]
pub struct Neighbour<'a> {
    tenant: &'a Tenant,
    flare: String,
    addresses: Vec<String>,
    counted: Cell<Counted>,
}

/// The number of rounds in the part of the log that was already read, which is not read again.
#[derive(Debug, Default, Clone, Copy)]
struct Counted {
    rounds: usize,
    next: Option<u64>,
}

impl<'a> Neighbour<'a> {
    /// The number of slots it takes.
    pub const SIZE: u32 = 2;

    /// Deploys and starts it, and waits until it is working.
    #[track_caller]
    pub fn start(tenant: &'a Tenant) -> Self {
        tenant.deploy(NAME, &built::program(NAME));
        Self::start_again(tenant)
    }

    /// Like [`start`](Self::start), if it is already deployed.
    #[track_caller]
    pub fn start_again(tenant: &'a Tenant) -> Self {
        let request = json!({"size": Self::SIZE, "params": {"millis": MILLIS}, "granularity": 1,
            "packing": "homogeneous", "timeout": MILLIS + 60_000});
        let flare = tenant.api().flare(NAME, &request);
        let mut neighbour = Self {
            tenant,
            flare,
            addresses: Vec::new(),
            counted: Cell::default(),
        };
        wait::until_seen(
            "the neighbour is at work",
            wait::SOON,
            || neighbour.makes_progress(0),
            Result::is_ok,
        )
        .unwrap();
        tenant.api().all_wrote(&neighbour.flare, LISTENS);
        neighbour.addresses = neighbour.logged_addresses();
        neighbour
    }

    /// The id of its flare.
    pub fn flare_id(&self) -> &str {
        &self.flare
    }

    /// How many rounds it has completed.
    #[track_caller]
    pub fn rounds(&self) -> usize {
        let Counted { rounds, next } = self.counted.get();
        let since = self.tenant.api().logs_since(&self.flare, 0, next);
        let lines = since.logs.iter();
        let rounds = rounds + lines.filter(|it| it.line.starts_with("round ")).count();
        let next = since.next;
        self.counted.set(Counted { rounds, next });
        rounds
    }

    /// The addresses at which its packs listen.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// The addresses that it has logged so far.
    #[track_caller]
    fn logged_addresses(&self) -> Vec<String> {
        let logs = |worker| self.tenant.api().logs_of(&self.flare, worker).logs;
        let lines = (0..Self::SIZE).flat_map(logs);
        let lists = lines.filter_map(|line| line.line.strip_prefix(LISTENS).map(str::to_owned));
        lists
            .flat_map(|lists| lists.split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|address| !address.is_empty())
            .collect()
    }

    /// Waits for a whole round that began after `since` rounds were done; the error states why none did.
    ///
    /// # Errors
    /// If its flare has ended, or makes no progress.
    #[track_caller]
    pub fn makes_progress(&self, since: usize) -> Result<(), String> {
        let seen = wait::within(PATIENCE, || {
            if self.rounds() > since + 1 {
                return Some(Ok(()));
            }
            let flare = self.status();
            let ended = || Err(format!("it ended: {:?}", flare.error));
            flare.state.is_final().then(ended)
        });
        seen.unwrap_or_else(|| Err(format!("it did nothing for {PATIENCE:?}")))
    }

    /// Cancels it and waits until it has ended.
    #[track_caller]
    pub fn end(self) {
        let api = self.tenant.api();
        api.try_cancel(&self.flare);
        api.ended(&self.flare);
    }

    fn status(&self) -> Flare {
        self.tenant.api().status(&self.flare)
    }
}
