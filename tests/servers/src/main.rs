//! An S3 server for tests that are not written in Rust or need to kill it: see
//! [`burst_test_servers::s3_process::serve`]. It listens on the address in its first argument, or else on the loopback
//! interface only.

fn main() -> std::io::Result<()> {
    let host = std::env::args().nth(1);
    burst_test_servers::s3_process::serve(host.as_deref().unwrap_or("127.0.0.1"))
}
