//! The runtime in the container.
