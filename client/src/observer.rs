//! Observers of what a client sends and receives.

use reqwest::StatusCode;
use reqwest::blocking::Request;
use reqwest::header::HeaderMap;

/// Sees what a client sends and receives. Credentials are marked as sensitive in the headers.
pub trait Observer: Send + Sync {
    /// A request that is about to be sent.
    fn sent(&self, request: &Request);
    /// An answer with its text, which is empty if the caller has yet to read it.
    fn received(&self, status: StatusCode, headers: &HeaderMap, text: &str);
}
