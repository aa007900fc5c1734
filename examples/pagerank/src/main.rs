//! The deployable work function; see [`pagerank::rank`].

use pagerank::rank::work;

burst::main!(work);
