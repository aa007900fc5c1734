//! What the author of a work function sees.
