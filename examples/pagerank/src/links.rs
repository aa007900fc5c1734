//! A worker's part of the graph: its links, by the node they start from.

use crate::edges::Edge;

/// Links in two vectors instead of one per node, so that going through them is reading memory from front to back.
#[derive(Debug)]
pub struct Links {
    /// The lowest node that links.
    first: u32,
    /// Where the links of each node from `first` on begin; one more says where the last ones end.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Links {
    /// Sorts edges by their sources, by counting.
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
        // Two places more than nodes: counting leaves each node's start one place after its own, and placing the
        // links then moves every start to the next one's.
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

    /// Each node of this part that may link, and where to.
    pub fn by_source(&self) -> impl Iterator<Item = (u32, &[u32])> {
        let ranges = self.starts.windows(2);
        (self.first..).zip(ranges.map(|range| &self.targets[range[0]..range[1]]))
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.targets.len()
    }

    /// Whether there are none.
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
    fn no_edges_are_no_links() {
        assert_eq!(Links::of(&[]).by_source().count(), 0);
        assert!(Links::of(&[]).is_empty());
    }
}
