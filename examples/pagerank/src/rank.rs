//! The work function.

use crate::edges::{self, Edge};
use crate::links::Links;
use burst::{BurstContext, Reducer};
use serde::{Deserialize, Serialize};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The input of every worker.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// The location of the edge list; see [`edges`].
    pub graph: String,
    /// A file whose line `n`, from 0, is the name of node `n`.
    #[serde(default)]
    pub names: Option<PathBuf>,
    /// An existing directory, in which worker `w` writes `part-<w>` with lines of `node rank`.
    #[serde(default)]
    pub output: Option<PathBuf>,
    /// The probability that the surfer follows a link instead of jumping to a random node.
    #[serde(default = "default_damping")]
    pub damping: f64,
    /// The iterations stop once the ranks, which add up to 1, change by less than this in total.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// The maximum number of iterations.
    #[serde(default = "default_iterations")]
    pub iterations: u32,
    /// The number of highest-ranked nodes that worker 0 returns.
    #[serde(default = "default_top")]
    pub top: usize,
}

fn default_damping() -> f64 {
    0.85
}

fn default_tolerance() -> f64 {
    1e-9
}

fn default_iterations() -> u32 {
    100
}

fn default_top() -> usize {
    10
}

impl Input {
    /// Returns an input with this graph and defaults for everything else.
    pub fn of(graph: &Path) -> Self {
        Self {
            graph: graph.display().to_string(),
            names: None,
            output: None,
            damping: default_damping(),
            tolerance: default_tolerance(),
            iterations: default_iterations(),
            top: default_top(),
        }
    }
}

/// The output of a worker.
#[derive(Debug, Serialize)]
pub struct Ranked {
    /// The number of nodes of the whole graph.
    pub nodes: u32,
    /// The number of links this worker had.
    pub links: usize,
    /// The number of iterations.
    pub iterations: u32,
    /// The total change of the ranks in the last iteration.
    pub change: f64,
    /// The highest-ranked nodes of the whole graph; empty except in worker 0.
    pub top: Vec<Place>,
}

/// A node and its rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The node.
    pub node: u32,
    /// Its rank.
    pub rank: f64,
    /// Its name, if the input has names.
    pub name: Option<String>,
}

/// Ranks the nodes of `input.graph`, together with the other workers of the flare.
///
/// # Errors
/// When a file cannot be read or written, or communication fails.
pub fn work(input: Input, burst: &BurstContext) -> Result<Ranked, burst::Error> {
    burst.phase("load");
    let edges = edges::read(&input.graph, burst.part())?;
    let links = Links::of(&edges);

    burst.phase("degrees");
    let nodes = *burst.all_reduce(node_count(&edges), u32::max)?;
    drop(edges);
    let graph = Graph {
        damping: input.damping,
        own: own_nodes(nodes, burst),
        degrees: burst.all_reduce_elements(degrees(&links, nodes), Reducer::Sum)?,
        links,
    };

    let mut ranks = Ranks::even(nodes);
    let mut state = graph.compare(&ranks, &ranks, burst)?;
    let mut iterations = 0;
    while nodes > 0 && iterations < input.iterations {
        burst.phase("compute");
        let carried = graph.carried(&ranks);
        // Only for the timeline: without this barrier the reduction would wait just as long, and the wait would
        // appear as communication.
        burst.phase("wait");
        burst.barrier()?;
        burst.phase("communicate");
        let next = Ranks {
            base: (1.0 - input.damping + input.damping * state.lost) / f64::from(nodes),
            carried: burst.all_reduce_elements(carried, Reducer::Sum)?,
        };
        state = graph.compare(&ranks, &next, burst)?;
        ranks = next;
        // Only for the timeline, too: if workers share processors, the first to finish would compute while the
        // others, waiting for a processor, would appear to communicate.
        burst.phase("wait");
        burst.barrier()?;
        iterations += 1;
        if state.change < input.tolerance {
            break;
        }
    }

    if let Some(directory) = &input.output {
        burst.phase("write");
        let path = directory.join(format!("part-{:05}", burst.worker_id()));
        write_ranks(&path, &ranks, graph.own.clone())?;
    }

    burst.phase("top");
    Ok(Ranked {
        nodes,
        links: graph.links.len(),
        iterations,
        change: state.change,
        top: first_places(&input, &ranks, graph.own, burst)?,
    })
}

/// The ranks of all nodes. The vector holds the rank that links carried to each node, and is shared by the whole
/// pack. The rest of the rank is the same for all nodes; it is added when a rank is read, so that no worker has to
/// add it to the whole vector.
struct Ranks {
    base: f64,
    carried: Arc<Vec<f64>>,
}

impl Ranks {
    fn even(nodes: u32) -> Self {
        Self {
            base: 1.0 / f64::from(nodes.max(1)),
            carried: Arc::new(vec![0.0; nodes as usize]),
        }
    }

    fn of(&self, node: u32) -> f64 {
        self.base + self.carried[node as usize]
    }
}

/// A worker's view of the graph.
struct Graph {
    damping: f64,
    /// The nodes whose changes this worker sums up.
    own: Range<u32>,
    /// The number of links from each node, over all workers.
    degrees: Arc<Vec<u32>>,
    links: Links,
}

/// The outcome of an iteration.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct State {
    /// The sum of the changes of all ranks.
    change: f64,
    /// The total rank of the nodes without links.
    lost: f64,
}

impl Graph {
    /// Returns the rank that this worker's links carry to each node.
    fn carried(&self, ranks: &Ranks) -> Vec<f64> {
        let mut carried = vec![0.0; self.degrees.len()];
        for (source, targets) in self.links.by_source() {
            let degree = self.degrees[source as usize];
            let each = self.damping * ranks.of(source) / f64::from(degree);
            for &target in targets {
                carried[target as usize] += each;
            }
        }
        carried
    }

    /// Compares old and new ranks: each worker those of its own nodes, then the sums over all workers.
    fn compare(
        &self,
        old: &Ranks,
        new: &Ranks,
        burst: &BurstContext,
    ) -> Result<State, burst::CommunicationError> {
        let mut state = State {
            change: 0.0,
            lost: 0.0,
        };
        for node in self.own.clone() {
            state.change += (new.of(node) - old.of(node)).abs();
            if self.degrees[node as usize] == 0 {
                state.lost += new.of(node);
            }
        }
        let sum = burst.all_reduce(state, |a, b| State {
            change: a.change + b.change,
            lost: a.lost + b.lost,
        })?;
        Ok(*sum)
    }
}

fn node_count(edges: &[Edge]) -> u32 {
    let highest = edges.iter().map(|&(from, to)| from.max(to)).max();
    highest.map_or(0, |node| node + 1)
}

fn degrees(links: &Links, nodes: u32) -> Vec<u32> {
    let mut degrees = vec![0; nodes as usize];
    for (source, targets) in links.by_source() {
        degrees[source as usize] = targets.len() as u32;
    }
    degrees
}

fn own_nodes(nodes: u32, burst: &BurstContext) -> Range<u32> {
    let share = burst::data::share(nodes.into(), burst.part());
    share.start as u32..share.end as u32
}

fn write_ranks(path: &Path, ranks: &Ranks, nodes: Range<u32>) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    for node in nodes {
        writeln!(file, "{node} {}", ranks.of(node))?;
    }
    file.flush()
}

/// Returns the highest-ranked nodes in worker 0, and nothing in the others. Each worker sends it the highest-ranked
/// of its own nodes.
fn first_places(
    input: &Input,
    ranks: &Ranks,
    own: Range<u32>,
    burst: &BurstContext,
) -> Result<Vec<Place>, burst::Error> {
    let place = |node| Place {
        node,
        rank: ranks.of(node),
        name: None,
    };
    let own = highest(own.map(place).collect(), input.top);
    let Some(all) = burst.gather(own, 0)? else {
        return Ok(Vec::new());
    };
    let mut top = highest(all.concat(), input.top);
    if let Some(path) = &input.names {
        let text = std::fs::read_to_string(path)?;
        let names: Vec<&str> = text.lines().collect();
        for place in &mut top {
            place.name = names.get(place.node as usize).map(|&name| name.to_owned());
        }
    }
    Ok(top)
}

fn highest(mut places: Vec<Place>, count: usize) -> Vec<Place> {
    let order = |a: &Place, b: &Place| b.rank.total_cmp(&a.rank).then(a.node.cmp(&b.node));
    if count < places.len() {
        places.select_nth_unstable_by(count, order);
        places.truncate(count);
    }
    places.sort_unstable_by(order);
    places
}
