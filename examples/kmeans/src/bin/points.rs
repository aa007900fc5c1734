//! Generates points for the example.

use clap::Parser;
use kmeans::points::Clusters;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes points in clusters, as little-endian f64.
#[derive(Parser)]
struct Arguments {
    /// The file to write.
    path: PathBuf,
    /// Number of points.
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// Number of coordinates per point.
    #[arg(long, default_value_t = 8)]
    dimensions: usize,
    /// Number of clusters.
    #[arg(long, default_value_t = 16)]
    clusters: usize,
    /// Seed of the random numbers; each seed gives different points.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let file = File::create(&arguments.path).map(|file| BufWriter::with_capacity(1 << 20, file));
    let written = file.and_then(|file| {
        let points = Clusters {
            count: arguments.count,
            dimensions: arguments.dimensions,
            clusters: arguments.clusters,
            seed: arguments.seed,
        };
        points.write(file)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("points: cannot write {}: {error}", arguments.path.display());
            ExitCode::FAILURE
        }
    }
}
