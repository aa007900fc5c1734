//! `burst property`.

use std::os::unix::fs::PermissionsExt;

use crate::program::Burst;

#[test]
fn properties_are_written_for_the_owner_alone_and_read_back() {
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
        "{\"APIHOST\":\"a:1\",\"AUTH\":\"set\",\"CACERT\":null}\n"
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
fn wrong_values_change_nothing() {
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
