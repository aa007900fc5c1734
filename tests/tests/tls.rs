//! The API over TLS, with certificates from a private authority.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use burst_tests::certificates::Authority;
use burst_tests::{Driver, Platform, Settings, account, built};

#[test]
fn the_command_line_trusts_only_the_given_authority() {
    let directory = account::directory("burst-keys-");
    let own = Authority::new(directory.path(), "own").certify("api");
    let other = Authority::new(directory.path(), "other").certify("api");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let settings = Settings::new(Driver::Process)
        .set("burst.http.tls.certificate", &text(&own.certificate))
        .set("burst.http.tls.key", &text(&own.key));
    let platform = Platform::start(settings);

    let written = platform.data().join("properties");
    let properties = fs::read_to_string(&written).unwrap();
    assert!(
        properties.contains("APIHOST=https://127.0.0.1:"),
        "not https"
    );
    let burst = platform.cli_setup().properties(&written);
    burst.run(&["list"]).exits(7);
    let with = |authority: &Path, arguments: &[&str]| {
        let cacert = text(authority);
        burst.run(&[arguments, &["--cacert", &cacert]].concat())
    };
    with(&other.authority, &["list"]).exits(7);
    with(&own.key, &["list"])
        .exits(2)
        .complains_of("holds no PEM certificate");
    with(&own.authority, &["list"]).exits(0);

    // And from the properties file.
    let user = platform.scratch().join("tls.properties");
    fs::write(
        &user,
        format!("{properties}CACERT={}\n", text(&own.authority)),
    )
    .unwrap();
    let burst = platform.cli_setup().properties(&user);
    let program = text(&built::dist("examples/hello"));
    burst.run(&["deploy", "hello", &program]).exits(0);
    let run = [
        "flare", "hello", "--size", "4", "--param", "name", "World", "--result",
    ];
    let outputs = burst.run(&run).exits(0).json();
    assert_eq!(outputs.as_array().map(Vec::len), Some(4));
    burst.run(&["admin", "namespace", "list"]).exits(0);
}

#[test]
fn plain_http_gets_no_answer() {
    let directory = account::directory("burst-keys-");
    let own = Authority::new(directory.path(), "own").certify("api");
    let settings = Settings::new(Driver::Process)
        .set(
            "burst.http.tls.certificate",
            own.certificate.to_str().unwrap(),
        )
        .set("burst.http.tls.key", own.key.to_str().unwrap());
    let platform = Platform::start(settings);
    let address = platform
        .api()
        .address()
        .trim_start_matches("https://")
        .to_owned();
    let mut socket = TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    socket
        .write_all(b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        !answer.contains("HTTP") && !answer.contains("ok"),
        "{answer}"
    );
}
