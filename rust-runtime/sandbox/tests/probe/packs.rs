//! A short form of the protocol between packs: the listening side speaks first, and answers only friends.

use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::UnixStream;

use crate::Failure;

const GREETING: &[u8; 4] = b"who?";
const PROOF: &[u8; 6] = b"friend";
const WELCOME: &[u8; 7] = b"welcome";

/// Accepts connections on the socket that the shim has named, and echoes what friends send.
pub fn take_in() -> Result<(), Failure> {
    let (descriptor, name) = named()?;
    // SAFETY: the shim has opened it for this process, and nothing else here uses its number.
    let listener = UnixListener::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    listener.set_nonblocking(true)?;
    println!("named {name}");
    io::stdout().flush()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    thread::spawn(move || runtime.block_on(accept(listener)));
    Ok(())
}

async fn accept(listener: UnixListener) -> io::Result<()> {
    let listener = tokio::net::UnixListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(welcome(stream));
    }
}

/// Returns the descriptor and the name of the pack's socket.
pub fn named() -> Result<(i32, String), Failure> {
    let option = std::env::args()
        .skip_while(|word| word != "--local-listener")
        .nth(1);
    let option = option.ok_or(Failure::NoListener)?;
    let (descriptor, name) = option.split_once(':').ok_or(Failure::NoName)?;
    Ok((descriptor.parse()?, name.to_owned()))
}

async fn welcome(mut stream: UnixStream) -> io::Result<()> {
    stream.write_all(GREETING).await?;
    let mut proof = [0; PROOF.len()];
    stream.read_exact(&mut proof).await?;
    if &proof == PROOF {
        stream.write_all(WELCOME).await?;
        let (mut said, mut back) = stream.split();
        copy(&mut said, &mut back).await?;
    }
    Ok(())
}

/// Proves to the other side that this is a friend.
pub fn introduce(stream: &mut (impl Read + Write)) -> io::Result<()> {
    let mut greeting = [0; GREETING.len()];
    stream.read_exact(&mut greeting)?;
    stream.write_all(PROOF)?;
    let mut welcome = [0; WELCOME.len()];
    stream.read_exact(&mut welcome)
}
