//! Calls that no method is for: their paths, and what is answered, are the caller's to know.

use reqwest::Method;

use crate::call::Call;
use crate::client::Client;
use crate::error::Error;

/// A whole answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Body as it came.
    pub text: String,
}

impl Reply {
    /// Whether the platform did what it was asked to.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What it means as a refusal.
    pub fn refusal(&self) -> Error {
        Error::refused_with(self.status, self.text.as_bytes())
    }
}

impl Client {
    /// Sends a request to a path, segment by segment, with a body of JSON if there is one. A last segment that is
    /// empty is a slash at the end.
    pub fn request(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&'static str, String)],
        body: Option<String>,
    ) -> Result<Reply, Error> {
        self.reply(raw(method, path, query, body))
    }

    /// The same by `POST`, of what starts something: it is done once, and repeated when its connection breaks.
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
