//! A cluster for one test: controllers and invokers as processes on free ports, for fault injection.

mod ending;
mod member;
mod setup;
mod striking;
mod watching;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tempfile::TempDir;

use self::member::Member;
pub use self::setup::Setup;
use crate::Redis;
use crate::S3Process;
use crate::account::{self, Account};
use crate::cli::Cli;
use crate::clock::Clock;
use crate::network::{Cable, Partition};
use crate::{Api, built, node, patience, port, wait};
use crate::{Postgres, postgres};

/// A running cluster. Dropping it stops it and checks that nothing is left behind.
#[derive(Debug)]
pub struct Cluster {
    setup: Setup,
    scratch: TempDir,
    token: String,
    controllers: Vec<Member>,
    invokers: Vec<Member>,
    auth: String,
    seeds: Vec<String>,
    postgres: Option<Postgres>,
    cables: BTreeMap<usize, Cable>,
    partition: Option<Partition>,
    redis: Option<Redis>,
    s3: Option<S3Process>,
}

/// The file, in the data directory of the first controller, by which nodes of a cluster authenticate.
const KEY: &str = "cluster.pem";

impl Cluster {
    /// Starts all processes and waits until every invoker is up.
    #[track_caller]
    pub fn start(setup: Setup) -> Self {
        setup.driver.require();
        let scratch = account::directory("burst-cluster-");
        let account = match setup.rooted {
            true => Account::root(),
            false => Account::ordinary(setup.driver),
        };
        let cables: BTreeMap<usize, Cable> = setup
            .remote
            .iter()
            .map(|invoker| (*invoker, Cable::lay()))
            .collect();
        // Nodes on this machine must have an address that those on other machines can reach.
        let here = cables
            .values()
            .next()
            .map_or("127.0.0.1", Cable::here)
            .to_owned();
        let (postgres, s3) = match setup.controllers {
            0 | 1 => (None, None),
            _ => {
                let postgres = match setup.flushes {
                    true => Postgres::start(),
                    false => Postgres::without_flushes(),
                };
                (Some(postgres), Some(S3Process::start()))
            }
        };
        let seeds: Vec<String> = (0..setup.controllers)
            .map(|_| format!("{here}:{}", port::free(&here)))
            .collect();
        let mut shared = setup.flags.clone();
        let redis = setup.redis.then(|| Redis::start_at(&here));
        if let Some(redis) = &redis {
            shared.extend(["--backend".into(), format!("redis-list={}", redis.uri())]);
        }
        if let (Some(postgres), Some(s3)) = (&postgres, &s3) {
            let file = scratch.path().join("stores.conf");
            fs::write(&file, stores(postgres, s3) + "\n" + &setup.lines).unwrap();
            shared.extend(["--config".into(), file.to_str().unwrap().into()]);
        }
        let controllers = seeds.iter().enumerate().map(|(index, node)| {
            let port = port::free("127.0.0.1").to_string();
            let arguments = ["controller", "--port", &port, "--node", node].map(String::from);
            let arguments = arguments
                .into_iter()
                .chain(patience::stop())
                .chain(shared.iter().cloned())
                .collect();
            Member::new(
                scratch.path(),
                format!("controller{index}"),
                arguments,
                &seeds,
                &account,
            )
        });
        let invokers = (0..setup.invokers).map(|index| {
            let id = format!("invoker{index}");
            let slots = setup.slots.to_string();
            let cable = cables.get(&index);
            let host = cable.map_or(here.as_str(), Cable::there);
            let arguments = ["invoker", "--id", &id, "--slots", &slots, "--node", host];
            let driver = setup.others.get(&index).unwrap_or(&setup.driver);
            let driver = ["--driver", driver.name()];
            // Without pre-warmed containers, every running pack belongs to a flare or is kept warm after one.
            let cold = ["--set", "burst.invoker.prewarmed=0"];
            // Containers of different invokers can reach each other only on an operator's network.
            let network = ["--set", "burst.invoker.docker.network=bridge"];
            let arguments = arguments
                .into_iter()
                .chain(driver)
                .chain(cold)
                .chain(network)
                .map(String::from);
            let arguments = arguments
                .chain(patience::stop())
                .chain(setup.invoker_flags.iter().cloned())
                .collect();
            let mut member = Member::new(scratch.path(), id.clone(), arguments, &seeds, &account);
            member.prefix = cable.map(Cable::prefix).unwrap_or_default();
            member
        });
        let mut cluster = Self {
            token: node::token(),
            controllers: controllers.collect(),
            invokers: invokers.collect(),
            auth: String::new(),
            seeds,
            postgres,
            cables,
            partition: None,
            redis,
            s3,
            scratch,
            setup,
        };
        cluster.set_distribution(cluster.setup.distribution.clone());
        if cluster.setup.clocks {
            for member in cluster.controllers.iter_mut().chain(&mut cluster.invokers) {
                let clock = Clock::new(&member.name, cluster.scratch.path());
                member.prefix.extend(clock.prefix());
                member.clock = Some(clock);
            }
        }
        if cluster.setup.partition {
            let port = |seed: &String| seed.rsplit_once(':').unwrap().1.parse().unwrap();
            let partition = Partition::between(cluster.seeds.iter().map(port));
            for (side, member) in cluster.controllers.iter_mut().enumerate() {
                member.account = member.account.clone().in_group(partition.group(side));
            }
            cluster.partition = Some(partition);
        }
        cluster.start_all();
        cluster
    }

    fn start_all(&mut self) {
        let (token, limit) = (&self.token, self.setup.limit);
        let mut members = self.controllers.iter_mut().chain(&mut self.invokers);
        if !self.setup.certified() {
            // The first controller creates the key that all others need.
            let first = members.next().expect("a cluster has a controller");
            first.spawn(token, limit);
            let key = first.data.join(KEY);
            wait::until(
                "the first controller has made the key",
                node::START_LIMIT,
                || {
                    first.assert_runs();
                    key.exists().then_some(())
                },
            );
            let flag = ["--cluster-key".into(), key.to_str().unwrap().into()];
            for member in members {
                member.arguments.extend(flag.clone());
                member.spawn(token, limit);
            }
        } else {
            members.for_each(|member| member.spawn(token, limit));
        }
        for controller in 0..self.controllers.len() {
            self.await_controller(controller);
        }
        for invoker in &mut self.invokers {
            invoker.await_ready();
        }
        self.auth = self
            .controllers
            .iter()
            .filter_map(|controller| fs::read_to_string(controller.data.join("properties")).ok())
            .find_map(|text| {
                let auth = text.lines().find_map(|line| line.strip_prefix("AUTH="));
                auth.map(str::to_owned)
            })
            .expect("AUTH in a controller's properties file");
        self.all_up();
    }

    /// Waits until every invoker that runs is up.
    #[track_caller]
    pub fn all_up(&self) {
        let running = self.running();
        let is_up = |up: &BTreeSet<String>| *up == running;
        wait::until_seen(
            "every invoker is up",
            node::START_LIMIT,
            || self.up(),
            is_up,
        );
    }

    /// Waits for the same, and restarts controllers that end by themselves in the meantime, as a service manager does.
    /// A controller that comes back while the cluster is still removing its previous incarnation can be mistaken for
    /// that.
    #[track_caller]
    pub fn all_up_again(&mut self) {
        wait::until("every invoker is up", node::START_LIMIT * 2, || {
            for controller in 0..self.controllers.len() {
                if self.has_ended(controller) {
                    self.controller_ended(controller);
                    self.start_controllers(&[controller]);
                }
            }
            (self.up() == self.running()).then_some(())
        });
    }

    fn running(&self) -> BTreeSet<String> {
        let running = self.invokers.iter().filter(|it| it.node.is_some());
        running.map(|invoker| invoker.name.clone()).collect()
    }

    fn up(&self) -> BTreeSet<String> {
        let seen = self.api().try_invokers().unwrap_or_default();
        let up = seen.into_iter().filter(|invoker| invoker.state != "down");
        up.map(|invoker| invoker.id).collect()
    }

    /// The API of the first controller that runs.
    #[track_caller]
    pub fn api(&self) -> Api {
        let running = (0..self.controllers.len()).find(|i| self.controllers[*i].node.is_some());
        self.api_of(running.expect("a controller runs"))
    }

    /// The API of one controller.
    #[track_caller]
    pub fn api_of(&self, controller: usize) -> Api {
        Api::new(&self.controllers[controller].ready, &self.auth)
    }

    /// The APIs of all controllers, whether they run or not.
    pub fn apis(&self) -> Vec<Api> {
        (0..self.controllers.len())
            .map(|index| self.api_of(index))
            .collect()
    }

    /// Deploys a program that is already built.
    #[track_caller]
    pub fn deploy(&self, name: &str) {
        let program = built::program(name);
        let arguments = ["deploy", name, program.to_str().unwrap()];
        Cli::of(&self.api(), self.scratch.path())
            .run(&arguments)
            .exits(0);
    }
}

/// Settings of controllers that share these servers.
fn stores(postgres: &Postgres, s3: &S3Process) -> String {
    format!(
        "burst.store.postgresql {{ url = \"{}\", user = \"{}\", password = \"{}\" }}\n\
         burst.store.s3 {{ url = \"s3://{}/packages\", endpoint = \"http://{}\", access-key = \"key\", \
         secret-key = \"{}\" }}\n",
        postgres.url(),
        postgres::USER,
        postgres.password(),
        s3.bucket(),
        s3.address(),
        s3.secret()
    )
}
