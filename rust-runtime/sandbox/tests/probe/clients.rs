//! A client that connects as ordered, line by line, over the socket that the shim has handed to
//! process 1.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::packs;

/// As long as a shim lives.
const SOON: Duration = Duration::from_secs(120);
/// For servers that must not answer: any that does, does so immediately.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Prints where it listens, and follows orders from then on.
pub fn obey() -> io::Result<()> {
    // SAFETY: the shim's socket, which nothing else in this process uses.
    let listener = unsafe { TcpListener::from_raw_fd(3) };
    println!("obeying at {}", listener.local_addr()?);
    io::stdout().flush()?;
    thread::spawn(move || {
        for orders in listener.incoming().flatten() {
            thread::spawn(move || attend(&orders));
        }
    });
    Ok(())
}

fn attend(orders: &TcpStream) {
    let mut held = Vec::new();
    let mut answers = orders;
    for line in BufReader::new(orders).lines().map_while(Result::ok) {
        let answer = follow(&line, &mut held).unwrap_or_else(|error| format!("{:?}", error.kind()));
        if answers.write_all(format!("{answer}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// Follows an order; returns the result in one line.
fn follow(order: &str, held: &mut Vec<Socket>) -> io::Result<String> {
    let words: Vec<&str> = order.split(' ').collect();
    match words[..] {
        // The server's answer to a word.
        ["ask", server, word] => {
            let mut stream = connect(server)?;
            stream.write_all(word.as_bytes())?;
            match stream.shutdown(Shutdown::Write) {
                // Already reset, which reading will report.
                Err(error) if error.kind() == ErrorKind::NotConnected => {}
                done => done?,
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        }
        // The same as one pack with another.
        ["meet", server, word] => {
            let mut stream = connect(server)?;
            packs::introduce(&mut stream)?;
            stream.write_all(word.as_bytes())?;
            let mut answer = vec![0; word.len()];
            stream.read_exact(&mut answer)?;
            String::from_utf8(answer).map_err(io::Error::other)
        }
        // How many connections the peer recognises, which stay open.
        ["keep", server, count] => {
            let before = held.len();
            for _ in 0..count.parse().map_err(io::Error::other)? {
                let known = connect(server)
                    .and_then(|mut stream| packs::introduce(&mut stream).map(|()| stream));
                held.extend(known);
            }
            Ok((held.len() - before).to_string())
        }
        // How many of so many connections, which stay open, get an answer to a byte.
        ["hold", server, count] => {
            let before = held.len();
            for _ in 0..count.parse().map_err(io::Error::other)? {
                let Ok(mut stream) = connect(server) else {
                    continue;
                };
                let answers = stream
                    .write_all(b"x")
                    .and_then(|()| stream.read_exact(&mut [0]));
                if answers.is_ok() {
                    held.push(stream);
                }
            }
            Ok((held.len() - before).to_string())
        }
        // How many of the open connections have ended.
        ["ended"] => {
            let ended = held
                .iter_mut()
                .filter_map(|stream| match stream.read(&mut [0; 16]) {
                    Ok(0) => Some(()),
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => Some(()),
                    _ => None,
                });
            Ok(ended.count().to_string())
        }
        // How many of so many bytes, which nobody reads, can be written.
        ["pour", server, bytes] => {
            let mut stream = connect(server)?;
            stream.set_write_timeout(Some(Duration::from_millis(100)))?;
            let (mut poured, most) = (0, bytes.parse().map_err(io::Error::other)?);
            while poured < most {
                match stream.write(&[1; 64 << 10]) {
                    Ok(written) => poured += written,
                    Err(_) => break,
                }
            }
            held.push(stream);
            Ok(poured.to_string())
        }
        // Microseconds for a byte and its answer, and for a connection with them, each the mean of
        // so many.
        ["time", server, count] => {
            let count: u32 = count.parse().map_err(io::Error::other)?;
            let mut stream = connect(server)?;
            let began = Instant::now();
            for _ in 0..count {
                stream.write_all(b"x")?;
                stream.read_exact(&mut [0])?;
            }
            let (asked, began) = (began.elapsed(), Instant::now());
            for _ in 0..count {
                let mut stream = connect(server)?;
                stream.write_all(b"x")?;
                stream.read_exact(&mut [0])?;
            }
            let each = |time: Duration| (time / count).as_micros();
            Ok(format!("{} {}", each(asked), each(began.elapsed())))
        }
        // Like `ask`, by datagrams.
        ["send", server, word] => send(server, word, SOON),
        // The same if nothing should come back.
        ["send-in-vain", server, word] => send(server, word, AT_ONCE),
        // How many of so many concurrent sockets get an answer.
        ["flows", server, count] => {
            let count: usize = count.parse().map_err(io::Error::other)?;
            let sockets: Vec<_> = (0..count)
                .map(|_| datagrams_to(server, SOON))
                .collect::<io::Result<_>>()?;
            let answered = sockets.iter().filter(|socket| {
                let sent = socket.send(b"x");
                sent.and_then(|_| socket.recv(&mut [0; 16])).is_ok()
            });
            Ok(answered.count().to_string())
        }
        // As many datagrams as possible, for as long as the pack runs.
        ["flood", server] => {
            let socket = datagrams_to(server, SOON)?;
            thread::spawn(move || {
                loop {
                    // The access may be closed for a while.
                    let _ = socket.send(&[1; 1000]);
                }
            });
            Ok("begun".to_owned())
        }
        // How many connections can be begun, whether or not anybody answers.
        ["knock", server, count] => {
            let server: SocketAddr = server.parse().map_err(io::Error::other)?;
            let mut knocked = Vec::new();
            for _ in 0..count.parse().map_err(io::Error::other)? {
                let domain = Domain::for_address(server);
                let socket = Socket::new(domain, Type::STREAM, None)?;
                socket.set_nonblocking(true)?;
                match socket.connect(&server.into()) {
                    Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {}
                    _ => knocked.push(socket),
                }
            }
            Ok(knocked.len().to_string())
        }
        ["find", name] => {
            let mut found = (name, 80).to_socket_addrs()?;
            let first = found.next().ok_or(ErrorKind::NotFound)?;
            Ok(first.ip().to_string())
        }
        ["resolvers"] => Ok(fs::read_to_string("/etc/resolv.conf")?.replace('\n', ";")),
        ["listen", address] => TcpListener::bind(address).map(|_| "done".to_owned()),
        ["hosts"] => Ok(fs::read_to_string("/etc/hosts")?.replace('\n', ";")),
        ["write-hosts"] => fs::write("/etc/hosts", "").map(|()| "done".to_owned()),
        ["addresses"] => addresses(),
        _ => Err(ErrorKind::Unsupported.into()),
    }
}

/// Sends a word, and returns the answer that comes within the limit.
fn send(server: &str, word: &str, limit: Duration) -> io::Result<String> {
    let socket = datagrams_to(server, limit)?;
    socket.send(word.as_bytes())?;
    let mut answer = [0; 64];
    let length = socket.recv(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

fn datagrams_to(server: &str, limit: Duration) -> io::Result<UdpSocket> {
    let server: SocketAddr = server.parse().map_err(io::Error::other)?;
    let any = if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(limit))?;
    Ok(socket)
}

/// Connects to `HOST:PORT`, to `unix:PATH`, or to the peer with this index in the shim's list:
/// `relay:PATH:NUMBER`.
fn connect(server: &str) -> io::Result<Socket> {
    if let Some(path) = server.strip_prefix("unix:") {
        return UnixStream::connect(path).and_then(|stream| patient(stream.into()));
    }
    if let Some((path, number)) = server
        .strip_prefix("relay:")
        .and_then(|relay| relay.rsplit_once(':'))
    {
        let mut stream = patient(UnixStream::connect(path)?.into())?;
        let number: u32 = number.parse().map_err(io::Error::other)?;
        stream.write_all(&number.to_le_bytes())?;
        let mut answer = [0; 4];
        stream.read_exact(&mut answer)?;
        return match i32::from_le_bytes(answer) {
            0 => Ok(stream),
            reason => Err(io::Error::from_raw_os_error(reason)),
        };
    }
    let mut last = ErrorKind::NotFound.into();
    for address in server.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, SOON) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return patient(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn patient(stream: Socket) -> io::Result<Socket> {
    stream.set_read_timeout(Some(SOON))?;
    stream.set_write_timeout(Some(SOON))?;
    Ok(stream)
}

/// The addresses that the kernel considers this pack's own.
fn addresses() -> io::Result<String> {
    let mut all = String::new();
    let table = fs::read_to_string("/proc/net/fib_trie")?;
    let mut lines = table.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let address = line.strip_prefix("|-- ");
        let next = lines.clone().next();
        if let (Some(address), Some("/32 host LOCAL")) = (address, next)
            && !all.contains(&format!("{address} "))
        {
            let _ = write!(all, "{address} ");
        }
    }
    let six = fs::read_to_string("/proc/net/if_inet6")?;
    for address in six.lines().filter_map(|line| line.split(' ').next()) {
        let _ = write!(all, "{address} ");
    }
    Ok(all)
}
