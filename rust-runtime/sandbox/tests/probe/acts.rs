//! The things that a runtime or a program in a sandbox may do.

use std::fs::File;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::thread;

use landlock::{AccessFs, Ruleset, RulesetAttr, RulesetError, RulesetStatus};
use rustix::fs::inotify;
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::{Failure, clients, packs};

/// Does what is asked; returns the exit code, if it ends.
pub fn act(what: &str) -> Result<u8, Failure> {
    match what.split_once(' ').unwrap_or((what, "")) {
        ("end", code) => return Ok(code.parse()?),
        ("stay", _) => stay(),
        ("crowd", _) => crowd()?,
        ("threads", _) => println!("{}", threads()),
        ("fill", directory) => println!("{}", fill(directory)?),
        ("make", directory) => println!("{}", make(directory)),
        ("eat", mebibytes) => eat(mebibytes.parse()?)?,
        ("feed", mebibytes) => feed(mebibytes)?,
        ("try", attempts) => println!("{}", crate::attempts::at(attempts)?),
        ("send", _) => println!("{}", send_descriptors()?),
        ("watch", _) => println!("{}", watch()),
        ("queue", _) => println!("{}", queue()?),
        ("rulesets", _) => println!("{}", rulesets()),
        ("listen", _) => listen()?,
        ("obey", _) => clients::obey()?,
        ("meet", _) => {
            clients::obey()?;
            packs::take_in()?;
        }
        ("connect", name) => connect(name)?,
        ("list", directory) => {
            println!(
                "{:?}",
                std::fs::read_dir(directory)
                    .map(|_| ())
                    .map_err(|error| error.kind())
            );
        }
        (other, _) => return Err(Failure::UnknownAct(other.to_owned())),
    }
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(0)
}

/// Stays, whatever happens to its standard input.
fn stay() {
    loop {
        thread::park();
    }
}

/// Starts processes that outlive the one that started them.
fn crowd() -> Result<(), Failure> {
    for _ in 0..3 {
        // It is not waited for.
        Command::new(std::env::current_exe()?)
            .args(["act", "stay"])
            .spawn()?;
    }
    println!("there are 3");
    Ok(())
}

/// Starts as many threads as possible; returns how many.
fn threads() -> u32 {
    let mut made = 0;
    while thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(stay)
        .is_ok()
        && made < 10_000
    {
        made += 1;
    }
    made
}

/// Fills the directory; returns how many bytes could be written.
fn fill(directory: &str) -> io::Result<u64> {
    let mut file = File::create(Path::new(directory).join("filled"))?;
    let mut written = 0;
    while let Ok(more) = file.write(&[1; 64 << 10]) {
        written += more as u64;
        if written > 1 << 30 {
            break;
        }
    }
    Ok(written)
}

/// Makes as many files as possible; returns how many.
fn make(directory: &str) -> u32 {
    (0..1_000_000)
        .find(|number| File::create(format!("{directory}/{number}")).is_err())
        .unwrap_or(u32::MAX)
}

/// Sends descriptors that nobody receives; returns how many the kernel keeps in flight.
fn send_descriptors() -> io::Result<usize> {
    let sent = io::stderr();
    let mut kept = Vec::new();
    for count in 0.. {
        let (one, other) = UnixStream::pair()?;
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let sent = [sent.as_fd(); 8];
        control.push(SendAncillaryMessage::ScmRights(&sent));
        let parts = [io::IoSlice::new(b"0")];
        match sendmsg(&one, &parts, &mut control, SendFlags::empty()) {
            Err(Errno::TOOMANYREFS) => {
                // They stay in flight for as long as this process exists.
                std::mem::forget(kept);
                return Ok(count * 8);
            }
            sent => sent?,
        };
        // Only the queue matters, which the reading end keeps alive.
        drop(one);
        kept.push(other);
    }
    Ok(0)
}

/// Makes as many inotify instances as possible; returns how many.
fn watch() -> usize {
    let watchers = std::iter::from_fn(|| inotify::init(inotify::CreateFlags::CLOEXEC).ok());
    let kept: Vec<_> = watchers.take(1000).collect();
    let made = kept.len();
    std::mem::forget(kept);
    made
}

/// Returns how many MiB connections buffer for a reader that does not read.
fn queue() -> io::Result<usize> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut kept, mut queued) = (Vec::new(), 0);
    for _ in 0..30 {
        let mut writer = TcpStream::connect(listener.local_addr()?)?;
        writer.set_nonblocking(true)?;
        while let Ok(more) = writer.write(&[1; 64 << 10]) {
            queued += more;
        }
        kept.push((writer, listener.accept()?));
    }
    std::mem::forget(kept);
    Ok(queued >> 20)
}

fn eat(mebibytes: usize) -> Result<(), Failure> {
    let eaten: Vec<u8> = vec![1; mebibytes << 20];
    println!(
        "eaten {}",
        eaten.iter().map(|byte| usize::from(*byte)).sum::<usize>() >> 20
    );
    io::stdout().flush()?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    drop(eaten);
    Ok(())
}

/// Lets another process take memory, which may be killed for it.
fn feed(mebibytes: &str) -> Result<(), Failure> {
    let mut program = Command::new(std::env::current_exe()?);
    let status = program
        .args(["act", "eat", mebibytes])
        .stdin(std::process::Stdio::null())
        .status()?;
    println!("{status}");
    Ok(())
}

/// Returns how many rulesets Landlock accepts, of at most 16, besides those already in force.
fn rulesets() -> usize {
    let one = || {
        let ruleset = Ruleset::default().handle_access(AccessFs::MakeChar)?;
        Ok(ruleset.create()?.restrict_self()?.ruleset)
    };
    let taken =
        |status: Result<_, RulesetError>| matches!(status, Ok(RulesetStatus::FullyEnforced));
    (0..32).take_while(|_| taken(one())).count()
}

/// Accepts one connection on the socket that the shim has named.
fn listen() -> Result<(), Failure> {
    let (descriptor, name) = packs::named()?;
    // SAFETY: the shim has opened it for this process, and nothing else here uses its number.
    let listener = unsafe { <UnixListener as std::os::fd::FromRawFd>::from_raw_fd(descriptor) };
    println!("named {name}");
    io::stdout().flush()?;
    let (mut stream, _) = listener.accept()?;
    stream.write_all(b"hello")?;
    Ok(())
}

fn connect(name: &str) -> Result<(), Failure> {
    let stream = UnixStream::connect(Path::new("/run/burst/sockets").join(name))?;
    println!("{}", io::read_to_string(stream)?);
    Ok(())
}
