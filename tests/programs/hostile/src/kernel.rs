//! Resources that the kernel keeps for processes and accounts to their users.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::player::{Player, Step, kind, number, word};
use crate::system::{address, call};

pub const STEPS: &[(&str, Step)] = &[
    ("take", take),
    ("watches", watches),
    ("descriptors-in-flight", in_flight),
    ("pending-signals", pending_signals),
    ("limits", limits),
];

/// Takes one more of a resource that is never given back.
type Taking = fn(usize) -> io::Result<usize>;

const KINDS: &[(&str, Taking)] = &[
    ("descriptors", |_| call(libc::SYS_eventfd2, &[0, 0])),
    ("pipes", pipe),
    ("inotify-instances", |_| call(libc::SYS_inotify_init1, &[0])),
    ("epoll-instances", |_| call(libc::SYS_epoll_create1, &[0])),
    ("timers", timer),
    ("timer-descriptors", |_| {
        call(
            libc::SYS_timerfd_create,
            &[libc::CLOCK_MONOTONIC as usize, 0],
        )
    }),
    ("semaphores", |_| {
        let flags = libc::IPC_CREAT as usize | 0o600;
        call(libc::SYS_semget, &[libc::IPC_PRIVATE as usize, 250, flags])
    }),
    ("message-queues", |_| {
        let flags = libc::IPC_CREAT as usize | 0o600;
        call(libc::SYS_msgget, &[libc::IPC_PRIVATE as usize, flags])
    }),
    ("posix-queues", posix_queue),
    ("keys", key),
    ("sockets", |_| {
        let stream = libc::SOCK_STREAM as usize;
        call(libc::SYS_socket, &[libc::AF_UNIX as usize, stream, 0])
    }),
    ("memory-files", |_| {
        call(libc::SYS_memfd_create, &[address(c"hostile"), 0])
    }),
    ("mappings", mapping),
];

/// Takes this many of a kind, or all that are available.
fn take(_: &mut Player, step: &Value) -> io::Result<Value> {
    let what = word(step, "what");
    let (_, one) = (KINDS.iter().find(|(kind, _)| *kind == what))
        .ok_or_else(|| io::Error::other(format!("nothing is called {what}")))?;
    raise();
    taken(step, |index| one(index).map(drop))
}

/// Returns how many were taken, and the error of the next one.
fn taken(step: &Value, mut one: impl FnMut(usize) -> io::Result<()>) -> io::Result<Value> {
    let limit = number(step, "count", 100_000) as usize;
    let until = Instant::now() + Duration::from_millis(number(step, "millis", 1000));
    for index in 0..limit {
        if let Err(error) = one(index) {
            return Ok(json!([index, kind(&error)]));
        }
        if index.is_multiple_of(256) && Instant::now() > until {
            return Ok(json!([index, "no time"]));
        }
    }
    Ok(json!([limit, null]))
}

/// Raises the limit of descriptors to its maximum.
fn raise() {
    let mut limit = [0_u64; 2];
    let descriptors = libc::RLIMIT_NOFILE as usize;
    let _ = call(
        libc::SYS_prlimit64,
        &[0, descriptors, 0, limit.as_mut_ptr() as usize],
    );
    limit[0] = limit[1];
    let _ = call(libc::SYS_prlimit64, &[0, descriptors, address(&limit)]);
}

/// Sets the program's own limits to zero.
fn limits(_: &mut Player, _: &Value) -> io::Result<Value> {
    let none = [0_u64; 2];
    for resource in [
        libc::RLIMIT_NOFILE,
        libc::RLIMIT_FSIZE,
        libc::RLIMIT_NPROC,
        libc::RLIMIT_SIGPENDING,
    ] {
        call(libc::SYS_prlimit64, &[0, resource as usize, address(&none)])?;
    }
    Ok(Value::Null)
}

/// A pipe of the maximum capacity.
fn pipe(_: usize) -> io::Result<usize> {
    let mut ends = [0_i32; 2];
    call(libc::SYS_pipe2, &[ends.as_mut_ptr() as usize, 0])?;
    let size = [ends[1] as usize, libc::F_SETPIPE_SZ as usize, 1 << 20];
    let _ = call(libc::SYS_fcntl, &size);
    Ok(0)
}

fn timer(_: usize) -> io::Result<usize> {
    let mut made = 0_i32;
    let clock = libc::CLOCK_MONOTONIC as usize;
    call(
        libc::SYS_timer_create,
        &[clock, 0, std::ptr::from_mut(&mut made) as usize],
    )
}

fn posix_queue(index: usize) -> io::Result<usize> {
    let name = format!("hostile-{}-{index}\0", std::process::id());
    let flags = (libc::O_CREAT | libc::O_RDWR) as usize;
    call(
        libc::SYS_mq_open,
        &[address(name.as_bytes()), flags, 0o600, 0],
    )
}

fn key(index: usize) -> io::Result<usize> {
    const OF_THE_USER: isize = -4;
    let name = format!("hostile-{}-{index}\0", std::process::id());
    let arguments = [
        address(c"user"),
        address(name.as_bytes()),
        address(c"x"),
        1,
        OF_THE_USER as usize,
    ];
    call(libc::SYS_add_key, &arguments)
}

/// Alternating permissions, so that the kernel cannot merge the mappings.
fn mapping(index: usize) -> io::Result<usize> {
    let rights = match index.is_multiple_of(2) {
        true => libc::PROT_READ,
        false => libc::PROT_NONE,
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    call(
        libc::SYS_mmap,
        &[0, 4096, rights as usize, flags as usize, usize::MAX],
    )
}

/// Watches each of many descriptors with each of many epolls, or paths with inotify.
fn watches(_: &mut Player, step: &Value) -> io::Result<Value> {
    raise();
    match word(step, "by") {
        "inotify" => {
            let instance = call(libc::SYS_inotify_init1, &[0])?;
            let paths = every_path();
            taken(step, |index| {
                let path = paths.get(index).ok_or(io::ErrorKind::NotFound)?;
                let arguments = [instance, address(path.as_bytes()), libc::IN_ACCESS as usize];
                call(libc::SYS_inotify_add_watch, &arguments).map(drop)
            })
        }
        _ => {
            const WATCHED: usize = 4000;
            let watched: Vec<usize> = (0..WATCHED)
                .map_while(|_| call(libc::SYS_eventfd2, &[0, 0]).ok())
                .collect();
            let mut watching = 0;
            taken(step, |index| {
                let which = index % watched.len().max(1);
                if which == 0 {
                    watching = call(libc::SYS_epoll_create1, &[0])?;
                }
                let event = libc::epoll_event {
                    events: libc::EPOLLIN as u32,
                    u64: 0,
                };
                let arguments = [
                    watching,
                    libc::EPOLL_CTL_ADD as usize,
                    watched[which],
                    address(&event),
                ];
                call(libc::SYS_epoll_ctl, &arguments).map(drop)
            })
        }
    }
}

/// The kernel's own files: they are many, and exist everywhere.
fn every_path() -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead = vec![std::path::PathBuf::from("/sys/devices"), "/proc/sys".into()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                ahead.push(entry.path());
            }
            found.push(format!("{}\0", entry.path().display()));
        }
    }
    found
}

/// Leaves descriptors in flight in a socket that nobody reads.
fn in_flight(_: &mut Player, step: &Value) -> io::Result<Value> {
    raise();
    let mut ends = [0_i32; 2];
    let unix = libc::AF_UNIX as usize;
    let datagrams = libc::SOCK_DGRAM as usize;
    taken(step, |index| {
        if index.is_multiple_of(8) {
            let pair = [unix, datagrams, 0, ends.as_mut_ptr() as usize];
            call(libc::SYS_socketpair, &pair)?;
        }
        send_descriptor(ends[0])
    })
}

fn send_descriptor(socket: i32) -> io::Result<()> {
    #[repr(C)]
    struct Rights {
        length: usize,
        level: i32,
        kind: i32,
        descriptor: i32,
        padding: i32,
    }
    let rights = Rights {
        length: 20,
        level: libc::SOL_SOCKET,
        kind: libc::SCM_RIGHTS,
        descriptor: socket,
        padding: 0,
    };
    let byte = [b'x'];
    let part = [address(&byte), 1];
    let message = [
        0,
        0,
        address(&part),
        1,
        address(&rights),
        size_of::<Rights>(),
        0,
    ];
    call(
        libc::SYS_sendmsg,
        &[
            socket as usize,
            address(&message),
            libc::MSG_DONTWAIT as usize,
        ],
    )
    .map(drop)
}

/// Queues signals that stay pending for ever, as they are blocked.
fn pending_signals(_: &mut Player, step: &Value) -> io::Result<Value> {
    const REAL_TIME: usize = 40;
    let blocked = 1_u64 << (REAL_TIME - 1);
    let how = libc::SIG_BLOCK as usize;
    call(
        libc::SYS_rt_sigprocmask,
        &[how, address(&blocked), 0, size_of::<u64>()],
    )?;
    // A `siginfo_t` from `sigqueue`: the signal, no error, and where it comes from.
    let mut information = [0_i32; 32];
    information[0] = REAL_TIME as i32;
    information[2] = libc::SI_QUEUE;
    let own = std::process::id() as usize;
    taken(step, |_| {
        let arguments = [own, REAL_TIME, address(&information)];
        call(libc::SYS_rt_sigqueueinfo, &arguments).map(drop)
    })
}
