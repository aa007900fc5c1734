//! `burst property`.

use std::os::unix::fs::PermissionsExt;

use crate::program::{Burst, Ran};

#[test]
fn properties_are_private_to_their_owner_and_read_back() {
    let burst = Burst::alone();
    let path = burst.file(".burst.properties", "# mine\nOTHER=1\n");
    burst
        .run(&["property", "set", "--apihost", "a:1", "--auth", "u:secret"])
        .ok();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "# mine\nOTHER=1\nAPIHOST=a:1\nAUTH=u:secret\n");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );

    assert_eq!(burst.run(&["property", "get", "--auth"]).ok(), "u:secret\n");
    assert_eq!(burst.run(&["property", "get", "--apihost"]).ok(), "a:1\n");
    let all = burst.run(&["property", "get"]).ok();
    assert!(
        all.contains("a:1") && all.contains(".burst.properties"),
        "{all}"
    );
    assert!(!all.contains("secret"), "{all}");
    let json = burst.run(&["property", "get", "--output", "json"]).ok();
    assert_eq!(
        json,
        "{\"ADMIN_AUTH\":null,\"APIHOST\":\"a:1\",\"AUTH\":\"set\",\"CACERT\":null}\n"
    );

    burst.run(&["property", "unset", "--auth"]).ok();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# mine\nOTHER=1\nAPIHOST=a:1\n"
    );
    assert_eq!(
        burst.run(&["property", "get", "--auth"]).fails(3),
        "AUTH is not set"
    );
}

#[test]
fn invalid_properties_change_nothing() {
    let burst = Burst::alone();
    assert!(
        burst
            .run(&["property", "set"])
            .fails(2)
            .contains("name a property")
    );
    assert!(
        burst
            .run(&["property", "unset"])
            .fails(2)
            .contains("name a property")
    );
    burst
        .run(&["property", "set", "--apihost", "a", "--auth", "none"])
        .fails(2);
    burst.run(&["property", "set", "--auth"]).fails(2);
    burst
        .run(&["property", "set", "--apihost", "a\nAUTH=b"])
        .fails(2);
    burst.run(&["property", "unset", "--auth"]).ok();
    assert!(!burst.home().join(".burst.properties").exists());
}

#[test]
fn concurrent_changes_are_all_kept() {
    let burst = Burst::alone();
    let pairs = [
        ("--apihost", "a:1"),
        ("--auth", "u:k"),
        ("--admin-auth", "admin:k"),
    ];
    for round in 0..10 {
        std::fs::remove_file(burst.home().join(".burst.properties")).ok();
        let children = pairs.map(|(flag, value)| {
            burst
                .command(&["property", "set", flag, value])
                .spawn()
                .unwrap()
        });
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
        for (flag, value) in pairs {
            let shown = burst.run(&["property", "get", flag]).ok();
            assert_eq!(shown.trim_end(), value, "round {round}");
        }
    }
}

#[test]
fn files_with_a_bom_and_crlf_are_read() {
    let burst = Burst::alone();
    burst.file(".burst.properties", "\u{feff}APIHOST=a:1\r\nAUTH=u:k\r\n");
    assert_eq!(burst.run(&["property", "get", "--apihost"]).ok(), "a:1\n");
    assert_eq!(burst.run(&["property", "get", "--auth"]).ok(), "u:k\n");
}

#[test]
fn an_unusable_home_directory_is_reported() {
    let burst = Burst::alone();
    let run = |args: &[&str]| {
        let mut command = burst.command(args);
        Ran::from(command.env("HOME", "/dev/null").output().unwrap())
    };
    let ran = run(&["standalone"]);
    assert!(
        ran.fails(2).contains("give another directory with --data"),
        "{ran:?}"
    );
    let ran = run(&["property", "set", "--auth", "u:k"]);
    assert!(ran.fails(2).starts_with("cannot "), "{ran:?}");
}

#[test]
fn a_variable_that_is_not_utf8_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let burst = Burst::alone();
    let mut get = burst.command(&["property", "get", "--auth"]);
    get.env("BURST_AUTH", std::ffi::OsStr::from_bytes(b"u:\xff"));
    let ran = Ran::from(get.output().unwrap());
    assert_eq!(ran.fails(2), "BURST_AUTH is not UTF-8");
}
