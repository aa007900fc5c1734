//! Connections, and everything that can be wrong with them.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::backend_address::BackendAddress;
use crate::player::{Player, Step, kind, number, word};

pub const STEPS: &[(&str, Step)] = &[
    ("connect", connect),
    ("scan", scan),
    ("stream", stream),
    ("datagrams", datagrams),
    ("look-for-all", look_for_all),
    ("listen", listen),
    ("wear-out-ports", wear_out_ports),
];

const PATIENCE: Duration = Duration::from_millis(300);
/// The number of sockets used to look for many addresses.
const SOCKETS: usize = 1000;

/// The addresses of a step: its own, the runtime's, those of the flare's other packs, the host's, the neighbour's, or
/// the server's, if the flare has one.
fn addresses(player: &Player, step: &Value) -> Vec<SocketAddr> {
    let parsed = |text: &String| text.parse().ok();
    match word(step, "to") {
        "neighbour" => player.neighbour.iter().filter_map(parsed).collect(),
        "host" => player.host.iter().filter_map(parsed).collect(),
        "peers" => player.endpoints.iter().filter_map(parsed).collect(),
        "server" => BackendAddress::of(player)
            .and_then(|address| address.host.to_socket_addrs())
            .map(Iterator::collect)
            .unwrap_or_default(),
        "runtime" => vec![SocketAddr::from(([127, 0, 0, 1], 8080))],
        address => address.parse().into_iter().collect(),
    }
}

/// The bytes of a step: of a text, with one byte per character, or of a special kind.
fn bytes(step: &Value) -> Vec<u8> {
    let length = number(step, "length", 0) as usize;
    let mut bytes = match word(step, "kind") {
        // A request whose header never ends.
        "half a header" => b"POST /packs HTTP/1.1\r\nHost: x\r\nX: ".to_vec(),
        "a large body" => {
            b"POST /packs HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n".to_vec()
        }
        "no body" => b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n".repeat(8),
        _ => crate::control::bytes(&step["text"]),
    };
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let random = word(step, "kind") == "noise";
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.push(if random { state as u8 } else { b'a' });
    }
    bytes
}

/// Connects. If nobody listens, the kernel may choose that very port as the source, and connect the socket with itself.
fn connect_to(at: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    match stream.local_addr()? == at {
        true => Err(io::ErrorKind::ConnectionRefused.into()),
        false => Ok(stream),
    }
}

/// Opens this many connections to each address, sends something on each and keeps it open; returns how many were
/// opened, and the error of the others.
fn connect(player: &mut Player, step: &Value) -> io::Result<Value> {
    let bytes = bytes(step);
    let mut open = Vec::new();
    let mut refused = Value::Null;
    for address in addresses(player, step) {
        for _ in 0..number(step, "count", 1) {
            match connect_to(address) {
                Ok(stream) => {
                    stream.set_nonblocking(true)?;
                    open.push((stream, 0));
                }
                Err(error) => {
                    refused = json!(kind(&error));
                    break;
                }
            }
        }
    }
    // Each gets as much as it accepts, for the duration of the step.
    let until = Instant::now() + Duration::from_millis(number(step, "millis", 0));
    loop {
        for (stream, sent) in &mut open {
            *sent += stream.write(&bytes[*sent..]).unwrap_or(0);
        }
        if Instant::now() >= until {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let count = open.len();
    if step["kept"] == true {
        std::mem::forget(open);
    }
    Ok(json!([count, refused]))
}

/// Returns how many ports around those of the addresses accept connections.
fn scan(player: &mut Player, step: &Value) -> io::Result<Value> {
    let until = Instant::now() + Duration::from_millis(number(step, "millis", 1000));
    let mut open = 0;
    for address in addresses(player, step) {
        let around = number(step, "ports", 200) as u16 / 2;
        let first = address.port().saturating_sub(around);
        for port in first..=address.port().saturating_add(around) {
            let address = SocketAddr::new(address.ip(), port);
            if Instant::now() > until {
                break;
            }
            open += u32::from(connect_to(address).is_ok());
        }
    }
    Ok(json!(open))
}

/// Sends as many bytes as are accepted.
fn stream(player: &mut Player, step: &Value) -> io::Result<Value> {
    let block = vec![b'x'; 1 << 20];
    let mut sent = 0;
    for address in addresses(player, step) {
        let Ok(mut stream) = connect_to(address) else {
            continue;
        };
        stream.set_write_timeout(Some(PATIENCE))?;
        for _ in 0..number(step, "mebibytes", 16) {
            if stream.write_all(&block).is_err() {
                break;
            }
            sent += 1;
        }
    }
    Ok(json!(sent))
}

fn datagrams(player: &mut Player, step: &Value) -> io::Result<Value> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_nonblocking(true)?;
    let bytes = bytes(step);
    for address in addresses(player, step) {
        for _ in 0..number(step, "count", 1000) {
            let _ = socket.send_to(&bytes, address);
        }
    }
    Ok(Value::Null)
}

/// Makes the kernel look up many addresses near its own, repeatedly.
fn look_for_all(_: &mut Player, step: &Value) -> io::Result<Value> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_nonblocking(true)?;
    // Nothing is sent; the kernel chooses the source address.
    socket.connect("192.0.2.1:9")?;
    let own = match socket.local_addr()? {
        SocketAddr::V4(own) => own.ip().to_bits(),
        SocketAddr::V6(_) => return Err(io::ErrorKind::Unsupported.into()),
    };
    // Packets that wait for an address to be resolved count against their socket: each has room for some.
    let sockets = (0..SOCKETS).map(|_| {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    let sockets: Vec<UdpSocket> = sockets.collect::<io::Result<_>>()?;
    let until = Instant::now() + Duration::from_millis(number(step, "millis", 1000));
    let wanted = number(step, "count", 1 << 16) as u32;
    while Instant::now() < until {
        for other in 1..wanted {
            let other = std::net::Ipv4Addr::from_bits(own ^ other);
            let socket = &sockets[(other.to_bits() as usize) % SOCKETS];
            let _ = socket.send_to(b"x", (other, 9));
        }
    }
    Ok(Value::Null)
}

/// Accepts connections at the flare's own endpoint for a while, and answers with noise.
fn listen(player: &mut Player, step: &Value) -> io::Result<Value> {
    let Some(listener) = &player.listener else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    listener.set_nonblocking(true)?;
    let until = Instant::now() + Duration::from_millis(number(step, "millis", 300));
    let mut buffer = vec![0; 1 << 16];
    let mut taken = 0;
    let mut open: Vec<TcpStream> = Vec::new();
    while Instant::now() < until {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true)?;
            open.push(stream);
        }
        for stream in &mut open {
            taken += stream.read(&mut buffer).unwrap_or(0);
            let _ = stream.write(&buffer[..100]);
        }
        std::thread::yield_now();
    }
    Ok(json!(taken))
}

/// Connects to itself until no ports are left.
fn wear_out_ports(_: &mut Player, step: &Value) -> io::Result<Value> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let wanted = number(step, "count", 30_000);
    for made in 0..wanted {
        let Ok(stream) = TcpStream::connect(address) else {
            return Ok(json!(made));
        };
        let _ = listener.accept();
        drop(stream);
    }
    Ok(json!(wanted))
}
