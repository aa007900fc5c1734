//! Requests to send.

use std::fmt::Display;

use reqwest::{Method, Url};
use serde::Serialize;

use crate::causes::{RequestError, SetupError};
use crate::error::Error;

/// The header of a call's key, as the API's description names it.
pub(crate) const IDEMPOTENCY_KEY: &str = env!("IDEMPOTENCY_KEY");

/// A request of the API.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    path: &'a [&'a str],
    slash: bool,
    query: Vec<(&'static str, String)>,
    pub(crate) body: Option<String>,
    /// The key by which the platform recognizes a repeat.
    pub(crate) key: Option<String>,
}

impl<'a> Call<'a> {
    /// A call of this path, given segment by segment.
    pub(crate) fn new(method: Method, path: &'a [&'a str]) -> Self {
        Self {
            method,
            path,
            slash: false,
            query: Vec::new(),
            body: None,
            key: None,
        }
    }

    /// Adds a slash at the end of the path.
    pub(crate) fn slash(mut self) -> Self {
        self.slash = true;
        self
    }

    /// Adds a query parameter, unless it has no value.
    pub(crate) fn query(mut self, name: &'static str, value: Option<impl Display>) -> Self {
        self.query
            .extend(value.map(|value| (name, value.to_string())));
        self
    }

    /// Sets the body, as JSON.
    pub(crate) fn body(mut self, request: &(impl Serialize + ?Sized)) -> Result<Self, Error> {
        let body = serde_json::to_string(request);
        self.body = Some(body.map_err(RequestError::from)?);
        Ok(self)
    }

    /// Gives the call a key, so that the platform does it once however often it is sent.
    pub(crate) fn once(mut self) -> Result<Self, Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(SetupError::NoRandomNumbers)?;
        // A string in the syntax of HTTP's structured fields.
        self.key = Some(format!("\"{:032x}\"", u128::from_be_bytes(random)));
        Ok(self)
    }

    /// Returns the URL of the call on the platform at `base`.
    pub(crate) fn url(&self, base: &Url) -> Result<Url, Error> {
        // The URL standard drops these segments, so the URL would name something else.
        if let Some(odd) = self
            .path
            .iter()
            .find(|part| matches!(**part, "" | "." | ".."))
        {
            return Err(RequestError::NotAName((*odd).to_owned()).into());
        }
        let mut url = base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(self.path);
            if self.slash {
                segments.push("");
            }
        }
        for (name, value) in &self.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        Ok(url)
    }
}
