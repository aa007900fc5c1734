//! A well-behaved work function: round after round it uses some of every resource that others could exhaust, and
//! exchanges messages with its other workers. It fails if it lacks anything.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use burst::{BurstContext, Error};
use rustix::event::epoll;
use rustix::fs::inotify;

/// With this argument the program ends immediately: it is only a process to start.
const NOTHING: &str = "nothing";
/// The pause between two rounds.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes that each worker uses in memory, and on the disk.
const MEMORY: usize = 8 << 20;
const FILE: usize = 1 << 20;

#[derive(serde::Deserialize)]
struct Input {
    /// How long it runs, in milliseconds.
    millis: u64,
}

fn work(input: Input, burst: &BurstContext) -> Result<u32, Error> {
    println!("listens: {}", listens()?.join(" "));
    let end = Instant::now() + Duration::from_millis(input.millis);
    let mut rounds = 0;
    loop {
        // The first worker's clock decides.
        let over = (burst.worker_id() == 0).then(|| Instant::now() >= end);
        if *burst.broadcast(over, 0)? {
            return Ok(rounds);
        }
        rounds += 1;
        let sent: Vec<Vec<u8>> = (0..burst.burst_size()).map(|_| vec![7; 4096]).collect();
        let received = burst.all_to_all(sent)?;
        if received.iter().any(|bytes| bytes.len() != 4096) {
            return Err(Error::new("a message was not what was sent"));
        }
        for (what, have) in NEEDED {
            have().map_err(|cause| Error::new(format!("{what} cannot be had: {cause}")))?;
        }
        if burst.worker_id() == 0 {
            println!("round {rounds}");
        }
        thread::sleep(PAUSE);
    }
}

/// Uses a resource for a moment.
type Having = fn() -> io::Result<()>;

const NEEDED: &[(&str, Having)] = &[
    ("memory", memory),
    ("a file", file),
    ("a thread", || {
        thread::Builder::new()
            .spawn(|| ())
            .map(|it| drop(it.join()))
    }),
    ("a process", || {
        Command::new("/proc/self/exe")
            .arg(NOTHING)
            .status()
            .map(drop)
    }),
    ("a watch by epoll", watch),
    ("a watch by inotify", || {
        let instance = inotify::init(inotify::CreateFlags::CLOEXEC)?;
        let path = std::env::temp_dir();
        Ok(inotify::add_watch(&instance, path, inotify::WatchFlags::CREATE).map(drop)?)
    }),
    ("a timer", timer),
    ("a connection", connection),
    ("a datagram", datagram),
];

fn memory() -> io::Result<()> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(MEMORY).map_err(io::Error::other)?;
    memory.resize(MEMORY, 1_u8);
    std::hint::black_box(memory);
    Ok(())
}

fn file() -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("neighbour-{}", std::process::id()));
    fs::write(&path, vec![7; FILE])?;
    let read = fs::read(&path)?;
    fs::remove_file(path)?;
    match read.len() == FILE {
        true => Ok(()),
        false => Err(io::Error::other("it was not as it was written")),
    }
}

fn watch() -> io::Result<()> {
    let (end, _other) = rustix::pipe::pipe()?;
    let instance = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(0);
    Ok(epoll::add(&instance, &end, data, epoll::EventFlags::IN)?)
}

fn timer() -> io::Result<()> {
    let mut timer = std::ptr::null_mut();
    // SAFETY: the first call initialises the timer, which the second one deletes.
    let made = unsafe {
        let made = libc::timer_create(libc::CLOCK_MONOTONIC, std::ptr::null_mut(), &raw mut timer);
        if made == 0 {
            libc::timer_delete(timer);
        }
        made
    };
    match made {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn connection() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let _stream = TcpStream::connect(listener.local_addr()?)?;
    listener.accept().map(drop)
}

fn datagram() -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.send_to(b"x", socket.local_addr()?).map(drop)
}

/// The addresses at which this process, and in a container also its runtime, can be reached: the tests pass them to
/// attackers.
fn listens() -> io::Result<Vec<String>> {
    let sockets: Vec<String> = fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let alone = std::os::unix::process::parent_id() == 1;
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let table = fs::read_to_string(table).unwrap_or_default();
        let listeners = table.lines().skip(1).filter_map(listener);
        found.extend(
            listeners
                .filter(|(_, inode)| alone || sockets.contains(&format!("socket:[{inode}]")))
                .map(|(address, _)| address.to_string()),
        );
    }
    Ok(found)
}

/// The address and the inode in a line of the kernel's table, if that socket listens.
fn listener(line: &str) -> Option<(SocketAddr, &str)> {
    const LISTENS: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    let state = fields.nth(1)?;
    let inode = fields.nth(5)?;
    let port = u16::from_str_radix(port, 16).ok()?;
    // Longer ones are IPv6 addresses, treated as unspecified.
    let bound = u32::from_str_radix(address, 16).map_or(0, u32::swap_bytes);
    let address = match Ipv4Addr::from_bits(bound) {
        Ipv4Addr::UNSPECIFIED => own_address()?,
        address => address,
    };
    (state == LISTENS).then_some((SocketAddr::from((address, port)), inode))
}

/// The source address of this machine's, or container's, connections to others.
fn own_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // This sends nothing.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) => Some(*address.ip()),
        SocketAddr::V6(_) => None,
    }
}

fn main() -> std::process::ExitCode {
    if std::env::args().nth(1).as_deref() == Some(NOTHING) {
        return std::process::ExitCode::SUCCESS;
    }
    burst::program::run(work)
}
