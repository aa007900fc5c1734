use std::fs;

use super::wsk;
use crate::platform::Platform;
use crate::program::{AUTH, Burst};

#[test]
fn properties_are_stored_in_wskprops() {
    let burst = Burst::alone();
    let path = burst.file(".wskprops", "# mine\nAPIGW_ACCESS_TOKEN=x\n");
    let set = [
        "property",
        "set",
        "--apihost",
        "example.org",
        "--auth",
        "u:secret",
    ];
    assert_eq!(
        burst.wsk(&set).ok(),
        "ok: whisk auth set. Run 'wsk property get --auth' to see the new value.\n\
         ok: whisk API host set to example.org\n"
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "# mine\nAPIGW_ACCESS_TOKEN=x\nAUTH=u:secret\nAPIHOST=example.org\n"
    );
    assert_eq!(
        burst.wsk(&["property", "get", "--auth"]).ok(),
        "whisk auth\t\tu:secret\n"
    );
    // The raw host has no scheme: scripts prepend one.
    let raw = ["property", "get", "--apihost", "--output", "raw"];
    assert_eq!(burst.wsk(&raw).ok(), "example.org\n");
    let of_flag = [&["--apihost", "other.org:1"], &raw[..2], &raw[3..]].concat();
    assert!(
        burst
            .wsk(&of_flag)
            .ok()
            .lines()
            .any(|line| line == "other.org:1")
    );
    assert_eq!(
        burst.wsk(&["property", "unset", "--auth"]).ok(),
        "ok: whisk auth unset.\n"
    );
    assert!(!fs::read_to_string(&path).unwrap().contains("AUTH="));
    assert!(
        burst
            .wsk(&["property", "set"])
            .fails(2)
            .contains("name a property")
    );
    assert!(
        burst
            .wsk(&["--apiversion", "v2", "list"])
            .fails(2)
            .contains("v2")
    );
    burst.wsk(&["action", "list"]).fails(2);
}

#[test]
fn certificates_are_set_as_properties() {
    let burst = Burst::alone();
    let set = [
        "property", "set", "--cert", "c.pem", "--key", "k.pem", "--cacert", "ca.pem",
    ];
    assert_eq!(
        burst.wsk(&set).ok(),
        "ok: client cert set. Run 'wsk property get --cert' to see the new value.\n\
         ok: client key set. Run 'wsk property get --key' to see the new value.\n\
         ok: CA cert set. Run 'wsk property get --cacert' to see the new value.\n"
    );
    let kept = fs::read_to_string(burst.home().join(".wskprops")).unwrap();
    assert_eq!(kept, "CERT=c.pem\nKEY=k.pem\nCACERT=ca.pem\n");
    for (flag, line, file) in [
        ("--cert", "client cert\t\t", "c.pem"),
        ("--key", "Client key\t\t", "k.pem"),
        ("--cacert", "CA certificate\t\t", "ca.pem"),
    ] {
        let shown = burst.wsk(&["property", "get", flag]).ok();
        assert_eq!(shown, format!("{line}{file}\n"));
    }
    let unset = [
        "property",
        "unset",
        "--cert",
        "--key",
        "--cacert",
        "--namespace",
        "--apiversion",
        "--apihost",
    ];
    assert_eq!(
        burst.wsk(&unset).ok(),
        "ok: client cert unset.\nok: client key unset.\nok: CA cert unset.\n\
         ok: whisk API host unset.\n\
         ok: whisk API version unset; the default value of v1 will be used.\n\
         ok: whisk namespace unset; the default value of _ will be used.\n"
    );
    assert_eq!(
        fs::read_to_string(burst.home().join(".wskprops")).unwrap(),
        ""
    );
    // These options have no effect on reaching a platform.
    let platform = Platform::start();
    platform.always("GET /api/v1/namespaces", 200, r#"["guest"]"#);
    let list = ["--cert", "c.pem", "--key", "k.pem", "namespace", "list"];
    wsk(&platform).wsk(&list).ok();
}

#[test]
fn property_get_shows_the_platforms_build() {
    let platform = Platform::start();
    platform.always(
        "GET /api/v1",
        200,
        r#"{"name":"burst","api":"/api/v1","description":"a platform","kinds":[],"build":"2026-01-02","buildno":"7"}"#,
    );
    let burst = wsk(&platform);
    let all = burst.wsk(&["property", "get"]).ok();
    for line in [
        &format!("whisk auth\t\t{AUTH}"),
        "whisk API version\tv1",
        "whisk namespace\t\t_",
        "whisk API build\t\t2026-01-02",
        "whisk API build number\t7",
        "client cert\t\t",
        concat!("whisk CLI version\t", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(all.lines().any(|it| it == line), "{line}: {all}");
    }
    let nowhere = [
        "--apihost",
        "http://127.0.0.1:1",
        "property",
        "get",
        "--apibuild",
    ];
    assert_eq!(burst.wsk(&nowhere).code, Some(3));
}

#[test]
fn flags_override_the_environment_which_overrides_files() {
    let platform = Platform::start();
    platform.always("GET /api/v1/namespaces", 200, r#"["guest"]"#);
    let host = format!("http://{}", platform.address());
    let list = ["namespace", "list"];
    let burst = Burst::alone()
        .with("WHISK_APIHOST", &host)
        .with("WHISK_AUTH", "of:variable");
    burst.file(".wskprops", "APIHOST=http://127.0.0.1:1\nAUTH=of:file\n");
    let auth = || platform.requests().pop().unwrap().auth;
    burst.wsk(&list).ok();
    assert_eq!(auth(), "Basic b2Y6dmFyaWFibGU=");
    burst.wsk(&["-u", "of:flag", "namespace", "list"]).ok();
    assert_eq!(auth(), "Basic b2Y6ZmxhZw==");
    let burst = Burst::alone().with("WSK_CONFIG_FILE", "other");
    burst.file("other", format!("APIHOST={host}\nAUTH=of:file\n"));
    burst.wsk(&list).ok();
    assert_eq!(auth(), "Basic b2Y6ZmlsZQ==");
    // The properties that `burst standalone` wrote come last.
    let burst = Burst::alone();
    burst.file(
        ".burst/properties",
        format!("APIHOST={host}\nAUTH=of:platform\n"),
    );
    burst.wsk(&list).ok();
    assert_eq!(auth(), "Basic b2Y6cGxhdGZvcm0=");
}

#[test]
fn help_shows_the_name_of_the_called_program() {
    let burst = Burst::alone();
    let help = burst.run(&["action", "create", "--help"]).ok();
    assert!(help.contains("Usage: burst action create"), "{help}");
    let help = burst.wsk(&["action", "create", "--help"]).ok();
    assert!(help.contains("Usage: wsk action create"), "{help}");
    assert_eq!(burst.wsk(&["no-such"]).code, Some(2));
}
