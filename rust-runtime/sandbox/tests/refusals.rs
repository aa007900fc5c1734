//! Sandboxes that are refused, and the one sentence that says why.

use serde_json::{Value, json};

use crate::support::{Pack, Who, everybody, unused_group, unused_user};

#[track_caller]
fn refused(pack: &Pack) -> String {
    let ended = pack.launch("facts").wait();
    assert_eq!(
        (ended.code, ended.output),
        (1, Vec::new()),
        "{}",
        ended.errors
    );
    let line = ended.errors.strip_suffix('\n').unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    pack.assert_gone();
    line.strip_prefix("burst-runtime: ").unwrap().to_owned()
}

#[test]
fn an_invalid_description_creates_nothing() {
    for who in everybody() {
        for (field, value, said) in [
            ("package", json!("/none/such"), "/none/such is no directory"),
            ("package", json!("relative"), "relative is no absolute path"),
            ("sockets", json!("/none/such"), "/none/such is no directory"),
            ("root", json!("/etc/passwd"), "/etc/passwd is no directory"),
            ("unknown", json!(1), "unknown field `unknown`"),
            ("limits", json!({}), "missing field"),
            ("tmpMiB", json!(0), "1 or more"),
            ("group", json!("../escape"), "control group"),
        ] {
            let refused = refused(&Pack::new(who).with(field, value));
            assert!(refused.contains(said), "{field}: {refused}");
            assert!(
                refused.starts_with("standard input describes no sandbox: "),
                "{refused}"
            );
        }
    }
}

#[test]
fn an_empty_input_is_not_a_description() {
    for who in everybody() {
        let pack = Pack::new(who);
        let ran = pack.run(&["sandbox"]);
        assert_eq!(ran.status.code(), Some(1));
        let errors = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(
            errors,
            "burst-runtime: standard input describes no sandbox: there is none\n"
        );
    }
}

#[test]
fn a_user_that_the_shim_must_not_choose_is_refused() {
    for who in everybody() {
        let users: &[Value] = match who {
            Who::Root => &[Value::Null, json!(0), json!(u32::MAX)],
            Who::Ordinary(_) => &[json!(unused_user())],
        };
        for user in users {
            let refused = refused(&Pack::new(who).with("user", user.clone()));
            assert!(refused.contains("root"), "{refused}");
        }
    }
}

#[test]
fn an_existing_group_is_refused() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let first = Pack::new(who);
        let shim = first.started("facts");
        let second = Pack::new(who).with("group", first.spec["group"].clone());
        let ended = second.launch("facts").wait();
        assert_eq!(ended.code, 1);
        assert!(ended.errors.contains("File exists"), "{ended:?}");
        assert_eq!(shim.end().code, 0);
        first.assert_gone();
    }
}

#[test]
fn a_user_who_cannot_create_groups_gets_an_error() {
    for who in everybody().into_iter().filter(|who| *who != Who::Root) {
        let pack = Pack::new(who);
        let check: Value =
            serde_json::from_slice(&pack.run(&["sandbox", "--check"]).stdout).unwrap();
        assert_eq!(check["possible"], true, "{check}");
        if check["limits"]
            .as_str()
            .unwrap()
            .starts_with("control groups")
        {
            continue;
        }
        let refused = refused(&Pack::new(who).with("group", unused_group()));
        assert!(refused.contains("can make no control groups"), "{refused}");
        assert_eq!(pack.run(&["sandbox", "--remove", "burst"]).stdout, b"0\n");
    }
}

#[test]
fn only_a_groups_name_can_be_a_prefix() {
    for who in everybody() {
        let pack = Pack::new(who);
        for prefix in ["", "..", "a/b", "*"] {
            let ran = pack.run(&["sandbox", "--remove", prefix]);
            assert_eq!(ran.status.code(), Some(1), "{prefix}");
        }
    }
}

#[test]
fn the_check_reports_what_prevents_a_sandbox() {
    for who in everybody() {
        let pack = Pack::new(who);
        // In a user namespace of the test's own in which no further ones are allowed, or which has no other user.
        let none = "echo 0 > /proc/sys/user/max_user_namespaces && \
                    exec setpriv --inh-caps=-all --bounding-set=-all \"$0\" sandbox --check";
        let alone = "exec \"$0\" sandbox --check";
        for (script, reason, change) in [
            (
                none,
                "gives this user no namespaces",
                "set user.max_user_namespaces to more than 0",
            ),
            (
                alone,
                "a user of its own for the pack",
                "as an ordinary user",
            ),
        ] {
            let ran = pack.run_by(&["unshare", "--map-root-user", "sh", "-c", script]);
            let check: Value = serde_json::from_slice(&ran.stdout).unwrap();
            assert_eq!(check["possible"], false, "{check}");
            let told = check["reason"].as_str().unwrap();
            assert!(told.contains(reason) && told.contains(change), "{told}");
        }
    }
}

#[test]
fn the_check_succeeds_where_namespaces_can_be_made() {
    for who in everybody() {
        let pack = Pack::new(who);
        let check: Value =
            serde_json::from_slice(&pack.run(&["sandbox", "--check"]).stdout).unwrap();
        assert_eq!(check["possible"], true, "{check}");
        assert_eq!(check.as_object().unwrap().len(), 2, "{check}");
        pack.assert_gone();
    }
}
