//! The references between packs: a bare connection, and `iperf3`.

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Returns one-way times of eight bytes between two threads, in nanoseconds.
pub fn ping_pong(rounds: u32, samples: usize) -> Vec<f64> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 8];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes).unwrap();
        }
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut bytes = [0; 8];
    let mut times = Vec::new();
    for sample in 0..=samples {
        let start = Instant::now();
        for _ in 0..rounds {
            stream.write_all(&bytes).unwrap();
            stream.read_exact(&mut bytes).unwrap();
        }
        if sample > 0 {
            times.push(start.elapsed().as_nanos() as f64 / f64::from(rounds) / 2.0);
        }
    }
    drop(stream);
    echo.join().unwrap();
    times
}

/// An `iperf3` server on its own port.
pub struct Iperf {
    server: Child,
    port: String,
}

impl Iperf {
    pub fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let server = Command::new("iperf3")
            .args(["--server", "--port", &port])
            .stdout(Stdio::null())
            .spawn()
            .expect("iperf3 is needed");
        while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
            std::thread::yield_now();
        }
        Self { server, port }
    }

    /// Returns the throughput of one stream, in GB/s. Retries while the server, which takes one
    /// client at a time, is busy with the previous one, such as the check that it listens.
    pub fn run(&self, bytes: usize) -> f64 {
        let begun = Instant::now();
        loop {
            let output = Command::new("iperf3")
                .args(["--client", "127.0.0.1", "--json", "--port", &self.port])
                .args(["--bytes", &bytes.to_string()])
                .output()
                .unwrap();
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            if let Some(bits) = answer["end"]["sum_received"]["bits_per_second"].as_f64() {
                return bits / 8e9;
            }
            assert!(begun.elapsed().as_secs() < 10, "{answer}");
        }
    }
}

impl Drop for Iperf {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
