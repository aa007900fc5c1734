//! The deployable work function; see [`gridsearch::search`].

use gridsearch::search::work;

burst::main!(work);
