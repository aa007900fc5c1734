//! The burst communication middleware.
