//! The deployable work function; see [`kmeans::cluster`].

use kmeans::cluster::work;

burst::main!(work);
