//! The limits of a pack, and how they change.

use serde_json::json;

use crate::support::{Pack, Who, everybody};

#[test]
fn scratch_space_is_limited() {
    for who in everybody() {
        let filled = |act: &str| -> u64 { Pack::new(who).told(act).parse().unwrap() };
        assert_eq!(filled("fill /tmp"), 4 << 20);
        assert_eq!(filled("fill /dev/shm"), 3 << 20);
        // One of the files is the directory.
        assert_eq!(filled("make /tmp"), 4 * 256 - 1);
    }
}

#[test]
fn threads_are_counted_for_each_pack_alone() {
    for who in everybody() {
        let (first, second) = (Pack::new(who), Pack::new(who));
        let mut first = first.started("threads");
        let threads: u32 = first.line().parse().unwrap();
        assert!((30..40).contains(&threads), "{threads}");
        // Though both may have the same user.
        let threads: u32 = second.told("threads").parse().unwrap();
        assert!((30..40).contains(&threads), "{threads}");
        first.end();
    }
}

#[test]
fn a_pack_that_takes_too_much_memory_is_killed_and_that_is_reported() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let pack = Pack::new(who);
        let mut shim = pack.started("eat 200");
        assert_eq!(shim.rest(), ["out of memory"]);
        assert_eq!(shim.wait().code, 128 + libc::SIGKILL);
        pack.assert_gone();

        // The runtime survives if one of its programs is killed.
        let mut shim = pack.started("feed 200");
        assert_eq!(shim.line(), "signal: 9 (SIGKILL)");
        let ended = shim.end();
        assert_eq!(
            (ended.code, ended.output.last().unwrap().as_str()),
            (0, "out of memory")
        );

        let mut shim = pack.started("feed 20");
        assert_eq!(shim.line(), "eaten 20");
        assert_eq!(shim.line(), "exit status: 0");
        assert_eq!(shim.end().output, Vec::<String>::new());
        pack.assert_gone();
    }
}

/// Even if the kernel counts the memory of connections separately.
#[test]
fn memory_of_connections_is_counted() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let pack = Pack::new(who);
        let mut shim = pack.started("queue");
        // Control groups of version 2 kill for it, those of version 1 allocate no more.
        let told = shim.line();
        let code = shim.end().code;
        match told.as_str() {
            "out of memory" => assert_eq!(code, 137),
            queued => {
                assert!(queued.parse::<u32>().unwrap() < 64, "{queued} MiB");
                assert_eq!(code, 0);
            }
        }
        pack.assert_gone();
    }
}

/// The kernel counts them per user, and all packs have the same one if the shim is not root's.
#[test]
fn descriptors_in_flight_keep_no_other_pack_from_starting() {
    for who in everybody() {
        let (first, second) = (Pack::new(who), Pack::new(who));
        let mut first = first.started("send");
        let sent: u32 = first.line().parse().unwrap();
        assert!(sent > 100, "{sent}");
        second.told("facts");
        first.end();
    }
}

/// Counted per user, like descriptors in flight.
#[test]
fn a_pack_leaves_inotify_instances_to_others_of_its_user() {
    for who in everybody() {
        let most = json!({"memoryMiB": 64, "cpus": 1.5, "processes": 40, "files": 1000});
        let pack = || Pack::new(who).with("limits", most.clone());
        let (first, second) = (pack(), pack());
        let mut first = first.started("watch");
        let watchers: u32 = first.line().parse().unwrap();
        assert!(watchers > 0);
        assert_eq!(second.told("watch"), watchers.to_string());
        first.end();
    }
}

#[test]
fn limits_of_a_control_group_can_change() {
    for who in everybody().into_iter().filter(|who| *who == Who::Root) {
        let pack = Pack::new(who);
        let mut shim = pack.started("eat 40");
        assert_eq!(shim.line(), "eaten 40");
        let mut limits = pack.spec["limits"].clone();
        for (memory, answer) in [
            (128, "limits made"),
            (256, "limits made"),
            (20, "limits refused: more than 20 MiB are in use"),
            (100, "limits made"),
        ] {
            limits["memoryMiB"] = json!(memory);
            shim.say(&json!({"limits": limits}).to_string());
            assert_eq!(shim.line(), answer);
        }
        assert_eq!(shim.end().code, 0);
        pack.assert_gone();
    }
}

#[test]
fn changes_of_fixed_limits_are_refused() {
    for who in everybody() {
        let pack = Pack::new(who);
        let mut shim = pack.started("crowd");
        assert_eq!(shim.line(), "there are 3");
        shim.say("nonsense");
        assert!(shim.line().starts_with("limits refused: expected"));
        shim.say(r#"{"limits":{"memoryMiB":1}}"#);
        assert!(shim.line().starts_with("limits refused: missing field"));
        let mut limits = pack.spec["limits"].clone();
        shim.say(&json!({"limits": limits}).to_string());
        assert_eq!(shim.line(), "limits made");
        limits["files"] = json!(200);
        shim.say(&json!({"limits": limits}).to_string());
        assert_eq!(shim.line(), "limits refused: descriptors are for life here");
        limits["files"] = pack.spec["limits"]["files"].clone();
        limits["processes"] = json!(50);
        shim.say(&json!({"limits": limits}).to_string());
        let answer = match who {
            Who::Root => "limits made",
            Who::Ordinary(_) => "limits refused: processes are for life here",
        };
        assert_eq!(shim.line(), answer);
        assert_eq!(shim.end().code, 0);
        pack.assert_gone();
    }
}
