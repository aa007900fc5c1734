//! How a sandbox ends, and what its shim reports.

use std::time::Instant;

use crate::support::{Pack, Who, everybody, groups, unused_group};

#[test]
fn the_exit_code_of_a_runtime_that_ends_by_itself_is_passed_on() {
    for who in everybody() {
        for code in [0, 7] {
            let pack = Pack::new(who);
            let mut shim = pack.started(&format!("end {code}"));
            // It ends without being asked to.
            assert_eq!(shim.rest(), Vec::<String>::new());
            assert_eq!(shim.wait().code, code);
            pack.assert_gone();
        }
    }
}

#[test]
fn a_closed_standard_input_ends_all() {
    for who in everybody() {
        let pack = Pack::new(who);
        let mut shim = pack.started("crowd");
        assert_eq!(shim.line(), "there are 3");
        let ended = shim.end();
        assert_eq!((ended.code, &*ended.errors), (0, ""));
        pack.assert_gone();
    }
}

#[test]
fn signals_end_a_sandbox_as_well() {
    for who in everybody() {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            let pack = Pack::new(who);
            let mut shim = pack.started("crowd");
            assert_eq!(shim.line(), "there are 3");
            shim.signal(signal);
            assert_eq!(shim.wait().code, 0);
            pack.assert_gone();
        }
    }
}

#[test]
fn a_pack_that_does_not_end_is_killed_after_its_grace() {
    for who in everybody() {
        let pack = Pack::new(who).with("graceMs", 50);
        let shim = pack.started("stay");
        let began = Instant::now();
        assert_eq!(shim.end().code, 128 + libc::SIGKILL);
        assert!(began.elapsed().as_millis() >= 50);
        pack.assert_gone();
    }
}

#[test]
fn a_killed_shim_leaves_no_process() {
    for who in everybody() {
        let mut pack = Pack::new(who);
        let prefix = format!("{}-", unused_group());
        if who == Who::Root {
            pack = pack.with("group", format!("{prefix}1"));
        }
        let mut shim = pack.started("crowd");
        assert_eq!(shim.line(), "there are 3");
        shim.signal(libc::SIGKILL);
        assert_eq!(shim.wait().code, 128 + libc::SIGKILL);
        pack.assert_no_process();
        if let Some(group) = pack.spec["group"].as_str() {
            assert!(!groups(group).is_empty());
            let removed = pack.run(&["sandbox", "--remove", &prefix]);
            assert_eq!(
                String::from_utf8_lossy(&removed.stdout),
                "1\n",
                "{removed:?}"
            );
        }
        pack.assert_gone();
    }
}

#[test]
fn the_kill_of_process_1_ends_all_processes() {
    for who in everybody() {
        let pack = Pack::new(who);
        let mut shim = pack.started("crowd");
        assert_eq!(shim.line(), "there are 3");
        let &[_, first] = shim.processes() else {
            panic!("{:?}", shim.processes());
        };
        // SAFETY: takes plain integers; the process is the shim's grandchild, which has not been
        // waited for.
        assert_eq!(unsafe { libc::kill(first, libc::SIGKILL) }, 0);
        assert_eq!(shim.wait().code, 128 + libc::SIGKILL);
        pack.assert_gone();
    }
}

#[test]
fn a_terminals_interrupt_reaches_only_the_shim() {
    for who in everybody() {
        let pack = Pack::new(who);
        let mut shim = pack.launch_by("crowd", |command| {
            std::os::unix::process::CommandExt::process_group(command, 0);
        });
        assert!(shim.line().starts_with("listening on"));
        assert_eq!(shim.line(), "there are 3");
        let group = shim.process() as i32;
        // SAFETY: takes plain integers; the group's leader has not been waited for.
        assert_eq!(unsafe { libc::kill(-group, libc::SIGINT) }, 0);
        assert_eq!(shim.wait().code, 0);
        pack.assert_gone();
    }
}
