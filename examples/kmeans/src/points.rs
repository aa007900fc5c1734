//! Points in files: coordinates as little-endian `f64`, one point after another.

use burst::data::{self, Part};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io::{self, Write};

const COORDINATE: u64 = size_of::<f64>() as u64;

/// A worker's points.
#[derive(Debug)]
pub struct Points {
    /// The number of the first point.
    pub first: u64,
    /// The number of coordinates of each point; above 0.
    pub dimensions: usize,
    coordinates: Vec<f64>,
}

impl Points {
    /// Reads a part of the points at `location`.
    ///
    /// # Errors
    /// When the file cannot be read, or its size is not a whole number of points.
    pub fn read(location: &str, dimensions: usize, part: Part) -> Result<Self, burst::Error> {
        let size = data::size(location)?;
        let width = COORDINATE * dimensions as u64;
        if width == 0 || !size.is_multiple_of(width) {
            return Err(burst::Error::new(format!(
                "{location} has {size} bytes, which is no whole number of points of {dimensions} coordinates"
            )));
        }
        let share = data::share(size / width, part);
        let bytes = data::read(location, share.start * width..share.end * width)?;
        let (coordinates, _) = bytes.as_chunks();
        Ok(Self {
            first: share.start,
            dimensions,
            coordinates: coordinates.iter().map(|&c| f64::from_le_bytes(c)).collect(),
        })
    }

    /// Returns each point's coordinates.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.coordinates.chunks_exact(self.dimensions)
    }
}

/// Random points around centres. The centres are uniform in a cube of side 100; the points of a cluster deviate from
/// its centre by 1 in each dimension.
#[derive(Debug, Clone, Copy)]
pub struct Clusters {
    /// Number of points.
    pub count: u64,
    /// Number of coordinates per point.
    pub dimensions: usize,
    /// Number of centres.
    pub clusters: usize,
    /// Seed of the random numbers; the same seed gives the same points.
    pub seed: u64,
}

impl Clusters {
    /// Writes the points.
    ///
    /// # Errors
    /// When `file` cannot be written to.
    pub fn write(self, mut file: impl Write) -> io::Result<()> {
        let Self {
            count,
            dimensions,
            clusters,
            seed,
        } = self;
        let mut random = SmallRng::seed_from_u64(seed);
        let places = 0..clusters.max(1) * dimensions;
        let centres: Vec<f64> = places.map(|_| random.random_range(0.0..100.0)).collect();
        for _ in 0..count {
            let centre = random.random_range(0..clusters.max(1)) * dimensions;
            for coordinate in &centres[centre..centre + dimensions] {
                // The sum of 12 such numbers is close to a normal distribution with deviation 1.
                let deviation: f64 = (0..12).map(|_| random.random::<f64>() - 0.5).sum();
                file.write_all(&(coordinate + deviation).to_le_bytes())?;
            }
        }
        file.flush()
    }
}
