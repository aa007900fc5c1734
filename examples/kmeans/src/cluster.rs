//! The work function.

use crate::points::Points;
use burst::{BurstContext, Reducer};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The input of every worker.
#[derive(Debug, Clone, Deserialize)]
pub struct Input {
    /// The location of the points; see [`points`](crate::points).
    pub points: String,
    /// The number of coordinates of each point.
    pub dimensions: usize,
    /// The number of clusters to find.
    pub clusters: usize,
    /// The iterations stop once no centre moves further than this.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// The maximum number of iterations.
    #[serde(default = "default_iterations")]
    pub iterations: u32,
}

fn default_tolerance() -> f64 {
    1e-9
}

fn default_iterations() -> u32 {
    100
}

impl Input {
    /// Returns an input with these points and defaults for everything else.
    pub fn of(points: &Path, dimensions: usize, clusters: usize) -> Self {
        Self {
            points: points.display().to_string(),
            dimensions,
            clusters,
            tolerance: default_tolerance(),
            iterations: default_iterations(),
        }
    }
}

/// The output of a worker.
#[derive(Debug, Serialize)]
pub struct Clustered {
    /// The number of points this worker had.
    pub points: usize,
    /// The number of iterations.
    pub iterations: u32,
    /// The sum of all points' squared distances to their nearest centre, before the last move of the centres.
    pub inertia: f64,
    /// The centres; empty except in worker 0.
    pub centres: Vec<Vec<f64>>,
}

/// Finds clusters, together with the other workers of the flare.
///
/// # Errors
/// When the points cannot be read, when fewer of them are distinct than there are clusters to find, or when
/// communication fails.
pub fn work(input: Input, burst: &BurstContext) -> Result<Clustered, burst::Error> {
    if input.clusters == 0 {
        return Err(burst::Error::new("clusters must be at least 1"));
    }
    burst.phase("load");
    let points = Points::read(&input.points, input.dimensions, burst.part())?;

    burst.phase("seed");
    let mut centres = first_centres(&points, input.clusters, burst)?;
    let mut clustered = Clustered {
        points: points.iter().len(),
        iterations: 0,
        inertia: 0.0,
        centres: Vec::new(),
    };
    while clustered.iterations < input.iterations {
        burst.phase("assign");
        let sums = Sums::of(&points, &centres);
        burst.phase("communicate");
        let sums = Sums(burst.all_reduce_elements(sums.0, Reducer::Sum)?.to_vec());
        clustered.iterations += 1;
        clustered.inertia = sums.inertia();
        if sums.move_to_means(&mut centres) <= input.tolerance {
            break;
        }
    }
    if burst.worker_id() == 0 {
        let centres = centres.coordinates.chunks_exact(input.dimensions);
        clustered.centres = centres.map(<[f64]>::to_vec).collect();
    }
    Ok(clustered)
}

/// The centres' coordinates, one centre after another. They are the same in all workers.
struct Centres {
    dimensions: usize,
    coordinates: Vec<f64>,
}

impl Centres {
    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.coordinates.chunks_exact(self.dimensions)
    }

    /// Returns the centre nearest to a point, and the square of the distance.
    fn nearest(&self, point: &[f64]) -> (usize, f64) {
        let mut nearest = (0, f64::INFINITY);
        for (number, centre) in self.iter().enumerate() {
            let distance = distance(point, centre);
            if distance < nearest.1 {
                nearest = (number, distance);
            }
        }
        nearest
    }
}

/// Returns the square of the distance between two points.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The sums of an iteration: for each centre the sums of its points' coordinates and the number of those points, and
/// at the end the inertia. They are in one vector so that one reduction is enough.
struct Sums(Vec<f64>);

impl Sums {
    fn of(points: &Points, centres: &Centres) -> Self {
        let width = points.dimensions + 1;
        let count = centres.iter().count();
        let mut sums = vec![0.0; count * width + 1];
        for point in points.iter() {
            let (nearest, distance) = centres.nearest(point);
            let place = &mut sums[nearest * width..(nearest + 1) * width];
            for (sum, coordinate) in place.iter_mut().zip(point) {
                *sum += coordinate;
            }
            place[points.dimensions] += 1.0;
            sums[count * width] += distance;
        }
        Self(sums)
    }

    fn inertia(&self) -> f64 {
        self.0.last().copied().unwrap_or_default()
    }

    /// Moves each centre to the mean of its points; a centre without points stays where it is. Returns the largest
    /// distance that a centre moved.
    fn move_to_means(&self, centres: &mut Centres) -> f64 {
        let dimensions = centres.dimensions;
        let places = centres.coordinates.chunks_exact_mut(dimensions);
        let mut furthest: f64 = 0.0;
        for (centre, sums) in places.zip(self.0.chunks_exact(dimensions + 1)) {
            let count = sums[dimensions];
            if count > 0.0 {
                let mean: Vec<f64> = sums[..dimensions].iter().map(|sum| sum / count).collect();
                furthest = furthest.max(distance(centre, &mean));
                centre.copy_from_slice(&mean);
            }
        }
        furthest.sqrt()
    }
}

/// A candidate for the next centre.
#[derive(Serialize, Deserialize)]
struct Candidate {
    /// The square of its distance to the nearest of the centres found so far.
    distance: f64,
    number: u64,
    point: Vec<f64>,
}

impl Candidate {
    /// Returns the candidate that is further away, or the one with the lower number if both are equally far. The
    /// result does not depend on the order of a reduction.
    fn further(self, other: Self) -> Self {
        let order = self.distance.total_cmp(&other.distance);
        match order.then(other.number.cmp(&self.number)).is_lt() {
            true => other,
            false => self,
        }
    }
}

/// Finds the initial centres: the first point, then repeatedly the point furthest from the centres found so far.
fn first_centres(
    points: &Points,
    clusters: usize,
    burst: &BurstContext,
) -> Result<Centres, burst::Error> {
    let mut centres = Centres {
        dimensions: points.dimensions,
        coordinates: Vec::new(),
    };
    let mut distances = vec![f64::INFINITY; points.iter().len()];
    for _ in 0..clusters {
        let candidates = (points.first..).zip(points.iter().zip(&distances));
        // The candidate of a worker that has no points, or only points that are centres already.
        let nobody = Candidate {
            distance: 0.0,
            number: u64::MAX,
            point: Vec::new(),
        };
        let furthest = candidates.fold(nobody, |furthest, (number, (point, &distance))| {
            let is_further = distance > furthest.distance;
            match is_further {
                true => Candidate {
                    distance,
                    number,
                    point: point.to_vec(),
                },
                false => furthest,
            }
        });
        let furthest = burst.all_reduce(furthest, Candidate::further)?;
        if furthest.point.is_empty() {
            return Err(burst::Error::new(format!(
                "there are fewer different points than the {clusters} clusters to find"
            )));
        }
        for (distance_so_far, point) in distances.iter_mut().zip(points.iter()) {
            *distance_so_far = distance_so_far.min(distance(point, &furthest.point));
        }
        centres.coordinates.extend_from_slice(&furthest.point);
    }
    Ok(centres)
}
