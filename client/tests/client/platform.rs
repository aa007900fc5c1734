//! Platforms with scripted answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use burst_client::Client;

/// A platform that answers one request after the other with these texts, each on a connection of its own that ends with
/// it, and records the requests.
pub struct Platform {
    address: String,
    asked: JoinHandle<Vec<String>>,
}

/// A whole answer.
pub fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

impl Platform {
    pub fn answering(status: &str, body: &str) -> Self {
        Self::sending(&[answer(status, body)])
    }

    pub fn sending(texts: &[String]) -> Self {
        let texts = texts.to_vec();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answer = move |text: String| {
            let (mut connection, _) = listener.accept().unwrap();
            let request = read(&connection);
            connection.write_all(text.as_bytes()).unwrap();
            request
        };
        let asked = thread::spawn(|| texts.into_iter().map(answer).collect());
        Self { address, asked }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.address, "me:key").unwrap()
    }

    /// Returns the only request.
    pub fn asked(self) -> String {
        self.all_asked().remove(0)
    }

    /// Returns all requests, of which there are as many as texts.
    pub fn all_asked(self) -> Vec<String> {
        self.asked.join().unwrap()
    }
}

/// Reads a whole request.
pub fn read(connection: &TcpStream) -> String {
    let mut reader = BufReader::new(connection);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut request).unwrap() > 0, "{request}");
    }
    let length = request
        .lines()
        .find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}
