//! Resources that packs of one machine share: takes all of them, or needs some.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fs::inotify;
use serde::Serialize;

use crate::WAIT;

/// The number of watches of each epoll: a few descriptors make many watches.
const WATCHED: usize = 4000;

/// A user can have 1024 of full size.
const PIPES: usize = 1100;

/// Takes the resources that the kernel counts per user until it is refused, reports that, and keeps
/// them for ever.
pub fn exhaust() -> io::Result<()> {
    let events = (0..WATCHED)
        .map(|_| eventfd(0, EventfdFlags::CLOEXEC))
        .collect::<Result<Vec<_>, _>>()?;
    let mut watches = 0_u64;
    let mut epolls = Vec::new();
    let refused = 'all: loop {
        let epoll = match epoll::create(epoll::CreateFlags::CLOEXEC) {
            Ok(epoll) => epoll,
            Err(error) => break error,
        };
        for event in &events {
            if let Err(error) = watch(&epoll, event) {
                break 'all error;
            }
            watches += 1;
        }
        epolls.push(epoll);
    };
    let mut notifiers = Vec::new();
    let unnotified = loop {
        match inotify::init(inotify::CreateFlags::CLOEXEC) {
            Ok(notifier) => notifiers.push(notifier),
            Err(error) => break error,
        }
    };
    let notifiers = notifiers.len();
    let _pipes = (0..PIPES)
        .map(|_| io::pipe())
        .collect::<Result<Vec<_>, _>>()?;
    println!("exhausted: {watches} watches ({refused}), {notifiers} notifiers ({unnotified})");
    loop {
        std::thread::park();
    }
}

fn watch(epoll: &OwnedFd, event: &OwnedFd) -> rustix::io::Result<()> {
    epoll::add(
        epoll,
        event,
        epoll::EventData::new_u64(0),
        epoll::EventFlags::IN,
    )
}

/// Needs a little of each resource.
pub fn need() -> io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    watch(&epoll, &eventfd(0, EventfdFlags::CLOEXEC)?)?;
    inotify::init(inotify::CreateFlags::CLOEXEC)?;
    let (_reader, mut writer) = io::pipe()?;
    // More than the capacity of a pipe whose user has too many.
    writer.write_all(&[1; 16 << 10])
}

/// Touches this much memory.
pub fn touch(mebibytes: usize) -> usize {
    std::hint::black_box(vec![1_u8; mebibytes << 20]).len()
}

const PLACES: [&str; 2] = ["/tmp", "/dev/shm"];

/// Leaves a process, and files wherever it can.
pub fn leave() -> io::Result<()> {
    for place in PLACES {
        File::create(format!("{place}/left"))?.write_all(b"left")?;
    }
    let mut waiting = Command::new(std::env::current_exe()?);
    waiting
        .arg(WAIT)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    waiting.spawn().map(drop)
}

/// Leftovers of others.
#[derive(Serialize)]
pub struct Found {
    files: Vec<String>,
    processes: usize,
}

pub fn look() -> io::Result<Found> {
    let mut files = Vec::new();
    for place in PLACES {
        for entry in fs::read_dir(place)? {
            files.push(entry?.path().display().to_string());
        }
    }
    let own = [1, std::process::id()];
    let processes = fs::read_dir("/proc")?.flatten();
    let others = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process| !own.contains(process))
        // A process that has ended is no leftover, although its parent has not reaped it yet.
        .filter(|process| {
            fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|it| !it.is_empty())
        });
    Ok(Found {
        files,
        processes: others.count(),
    })
}
