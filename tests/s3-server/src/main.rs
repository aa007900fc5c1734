//! An S3 server for tests that are not written in Rust, or want one they can kill. It prints
//! `s3://KEY:SECRET@BUCKET/PREFIX?region=…&endpoint=http://HOST:PORT` when it listens, at the address it is given or
//! on this machine alone, and then the directory of its own in which it keeps its objects. It ends when its standard
//! input does.

// The conformance suite's own, of which a part is enough here.
#[allow(dead_code, clippy::unwrap_used, missing_docs, unreachable_pub)]
#[path = "../../../bcm/tests/conformance/s3_server.rs"]
mod s3_server;

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let host = std::env::args().nth(1);
    let server = s3_server::S3Server::start_at(host.as_deref().unwrap_or("127.0.0.1"));
    // In one write: whoever wants the first line alone may be gone before a second one.
    let said = format!("{}\n{}\n", server.uri(), server.directory().display());
    io::stdout().write_all(said.as_bytes())?;
    // Whoever started this holds the other end, so that it does not outlive them.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
