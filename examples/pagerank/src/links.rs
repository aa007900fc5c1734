//! A worker's part of the graph: its links, grouped by source.

use crate::edges::Edge;

/// Links in two vectors instead of one per node, so that iterating over them reads memory sequentially.
#[derive(Debug)]
pub struct Links {
    /// The lowest node with links.
    first: u32,
    /// The start of each node's links in `targets`, from node `first` on, and the end of the last node's links.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Links {
    /// Groups edges by source, with a counting sort.
    pub fn of(edges: &[Edge]) -> Self {
        let sources = || edges.iter().map(|edge| edge.0);
        let (Some(first), Some(last)) = (sources().min(), sources().max()) else {
            let (starts, targets) = (vec![0], Vec::new());
            return Self {
                first: 0,
                starts,
                targets,
            };
        };
        // Two elements more than nodes: after counting, each node's start is at the index one above its own.
        // Placing the node's links then advances that element to the start of the next node.
        let mut starts = vec![0; (last - first) as usize + 3];
        sources().for_each(|source| starts[(source - first) as usize + 2] += 1);
        for place in 1..starts.len() {
            starts[place] += starts[place - 1];
        }
        let mut targets = vec![0; edges.len()];
        for &(source, target) in edges {
            let next = &mut starts[(source - first) as usize + 1];
            targets[*next] = target;
            *next += 1;
        }
        starts.pop();
        Self {
            first,
            starts,
            targets,
        }
    }

    /// Returns each node in the range of this part's sources, with the targets of its links, of which there may
    /// be none.
    pub fn by_source(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let ranges = self.starts.windows(2);
        (self.first..).zip(ranges.map(|range| &self.targets[range[0]..range[1]]))
    }

    /// Returns the number of links.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether this part has no links.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_grouped_and_keep_their_order() {
        let links = Links::of(&[(7, 1), (5, 2), (7, 0), (5, 2)]);
        let grouped: Vec<_> = links.by_source().collect();
        let expected: [(u32, &[u32]); 3] = [(5, &[2, 2]), (6, &[]), (7, &[1, 0])];
        assert_eq!(grouped, expected);
        assert_eq!(links.len(), 4);
    }

    #[test]
    fn no_edges_make_no_links() {
        assert_eq!(Links::of(&[]).by_source().count(), 0);
        assert!(Links::of(&[]).is_empty());
    }
}
