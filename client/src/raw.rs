//! Calls without a method of their own: the caller must know their paths and answers.

use reqwest::Method;

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

/// A whole answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The body, unchanged.
    pub text: String,
}

impl Reply {
    /// Whether the platform did what the request asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the error that it means as a refusal.
    pub fn refusal(&self) -> Error {
        Error::refused_with(self.status, self.text.as_bytes())
    }
}

impl Client {
    /// Sends a request to a path, given segment by segment, with a body of JSON if there is one. An empty last segment
    /// is a slash at the end.
    pub fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&'static str, String)],
        body: Option<String>,
    ) -> Result<Reply, Error> {
        self.reply(raw(method, path, query, body))
    }

    /// Sends a `POST` request that starts something: the platform does it once, and the client repeats it when its
    /// connection breaks.
    pub fn submit(
        &self,
        path: &[&str],
        query: &[(&'static str, String)],
        body: Option<String>,
    ) -> Result<Reply, Error> {
        let call = raw(Method::POST, path, query, body).once()?;
        self.repeating(call, |call| self.reply(call))
    }

    fn reply(&self, call: Call<'_>) -> Result<Reply, Error> {
        let response = self.exchange(call)?;
        let status = response.status().as_u16();
        let text = self.body::<()>(response).text()?.into_text();
        Ok(Reply { status, text })
    }
}

fn raw<'a>(
    method: Method,
    path: &'a [&'a str],
    query: &[(&'static str, String)],
    body: Option<String>,
) -> Call<'a> {
    let mut call = match path {
        [within @ .., ""] => Call::new(method, within).slash(),
        whole => Call::new(method, whole),
    };
    for (name, value) in query {
        call = call.query(name, Some(value));
    }
    call.body = body;
    call
}
