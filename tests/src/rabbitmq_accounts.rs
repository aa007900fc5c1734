//! Who may use a RabbitMQ server, and where.

use reqwest::blocking::Client;
use serde::Deserialize;

use crate::rabbitmq::{PASSWORD, RabbitMq, USER};

/// Names of the server's `users` or `vhosts`, in order.
#[track_caller]
pub fn names(server: &RabbitMq, what: &str) -> Vec<String> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let url = format!("http://{}/api/{what}?columns=name", server.management());
    let request = Client::new().get(url).basic_auth(USER, Some(PASSWORD));
    let found: Vec<Named> = request.send().unwrap().json().unwrap();
    let mut names: Vec<_> = found.into_iter().map(|named| named.name).collect();
    names.sort();
    names
}
