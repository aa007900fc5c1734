//! The deployable work function; see [`tables::query`].

use tables::query::work;

burst::main!(work);
