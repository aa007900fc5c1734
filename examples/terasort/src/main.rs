//! The deployable work function; see [`terasort::sort`].

use terasort::sort::work;

burst::main!(work);
