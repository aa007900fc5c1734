//! Servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A server that echoes everything, and ends a connection when its client does.
pub struct Echo {
    pub address: SocketAddr,
    connected: Arc<AtomicUsize>,
}

impl Echo {
    pub fn at(host: &str) -> Self {
        Self::on((host, 0))
    }

    pub fn on(address: impl ToSocketAddrs) -> Self {
        Self::by(TcpListener::bind(address).unwrap(), |mut stream| {
            let mut sent = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut sent) {
                if stream.write_all(&sent[..read]).is_err() {
                    return;
                }
            }
        })
    }

    /// Starts a server that does this for each connection.
    pub fn doing(host: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        Self::by(TcpListener::bind((host, 0)).unwrap(), serve)
    }

    fn by(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().unwrap();
        let connected = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connected), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (count, serve) = (Arc::clone(&count), Arc::clone(&serve));
                count.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    serve(stream);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, connected }
    }

    pub fn connected(&self) -> usize {
        self.connected.load(Ordering::SeqCst)
    }

    pub fn here(&self) -> String {
        self.address.to_string()
    }

    pub fn named(&self, name: &str) -> String {
        format!("{name}:{}", self.address.port())
    }
}
