//! The address of the flare's backend, including its account there.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use crate::player::Player;

const PATIENCE: Duration = Duration::from_millis(300);

/// The timeout of an answer that is certain to come, from a busy server.
pub const ANSWER: Duration = Duration::from_secs(20);

/// The parts of a backend's address, each as written there.
pub struct BackendAddress {
    pub user: String,
    pub password: String,
    pub host: String,
    pub path: String,
    pub options: String,
}

impl BackendAddress {
    pub fn of(player: &Player) -> io::Result<Self> {
        let wrong = || io::Error::other("no address of a backend");
        let uri = player.flare["backend"]["uri"].as_str().ok_or_else(wrong)?;
        let (_, rest) = uri.split_once("://").ok_or_else(wrong)?;
        let (account, rest) = rest.rsplit_once('@').ok_or_else(wrong)?;
        let (user, password) = account.split_once(':').ok_or_else(wrong)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            user: user.to_owned(),
            password: password.to_owned(),
            host: host.to_owned(),
            path: path.to_owned(),
            options: options.to_owned(),
        })
    }

    pub fn open(&self) -> io::Result<TcpStream> {
        open(&self.host)
    }
}

/// Opens a connection with short timeouts.
pub fn open(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Decodes percent-encoding: `%2E` stands for a dot.
pub fn unescaped(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).map(|digits| u8::from_str_radix(digits, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            _ => bytes.extend_from_slice(format!("%{part}").as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
