//! What flares leave behind in a pack, and what happens to an idle pack.

use std::fs;
use std::path::Path;

use burst_test_servers::wait;
use serde_json::{Value, json};

use crate::support::{Run, Runtime, act, end, named, process_exists, wait_until_gone};

/// Returns the process id from the output of the worker that performed `hello`, which need not be the
/// first to end.
fn process(events: &[Value]) -> u64 {
    named(events, "worker-succeeded")
        .iter()
        .find_map(|event| event["output"]["process"].as_u64())
        .unwrap()
}

/// Returns the state of a process as in `/proc`, such as `S` or `T`, or none once it has ended, even if
/// it is a zombie (Z) or being reaped (X).
fn state(process: u64) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let state = &fields[..1];
    (!["Z", "X"].contains(&state)).then(|| state.to_owned())
}

#[test]
fn an_idle_program_is_stopped_and_continued_for_the_next_flare() {
    let runtime = Runtime::with_acts();
    let program = process(&runtime.act(&[act("hello")]));
    for _ in 0..2 {
        wait::until("the program is stopped", wait::SOON, || {
            (state(program)? == "T").then_some(())
        });
        let events = runtime.act(&[act("hello"), act("hello")]);
        assert_eq!(end(&events)["reusable"], true, "{events:?}");
        assert_eq!(process(&events), program);
    }
}

#[test]
fn a_stopped_program_ends_with_the_runtime() {
    let endings: [fn(&mut Runtime); 3] = [Runtime::close_stdin, Runtime::terminate, Runtime::kill];
    for ending in endings {
        let mut runtime = Runtime::with_acts();
        let program = process(&runtime.act(&[act("hello")]));
        wait::until("the program is stopped", wait::SOON, || {
            (state(program)? == "T").then_some(())
        });
        ending(&mut runtime);
        wait_until_gone(program);
    }
}

fn wait_until_dead(process: u64) {
    wait::until("a process is dead", wait::SOON, || {
        state(process).is_none().then_some(())
    });
}

/// Runs a flare that leaves this behind, and returns its program's process id.
fn program_with(runtime: &Runtime, left: &Value) -> u64 {
    let events = runtime.act(&[act("hello"), left.clone()]);
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
    process(&events)
}

/// Checks that the program has been killed and that the next flare is rejected for this reason.
fn is_put_down_for(runtime: &Runtime, reason: &str) {
    let (status, answer) = runtime.post("/packs", &Run::new(&[act("hello")]).body());
    assert_eq!(status, 409);
    assert!(
        answer["error"].as_str().unwrap().contains(reason),
        "{answer}"
    );
}

#[test]
fn threads_that_compute_on_end_with_their_flare() {
    let runtime = Runtime::with_acts();
    let spinning = json!({"act": "leave-spinning", "threads": 2});
    // Threads that get no processor between two looks are mistaken for idle ones.
    let is_dead = (0..10).any(|_| {
        let program = program_with(&runtime, &spinning);
        wait::until("it is dead, or stopped", wait::SOON, || {
            match state(program).as_deref() {
                None => Some(true),
                Some("T") => Some(false),
                Some(_) => None,
            }
        })
    });
    assert!(is_dead, "it was stopped each time");
    is_put_down_for(&runtime, "went on computing");
}

#[test]
fn a_program_that_continues_itself_is_killed() {
    let runtime = Runtime::with_acts();
    let waking = json!({"act": "leave-waking", "milliseconds": 200});
    wait_until_dead(program_with(&runtime, &waking));
    is_put_down_for(&runtime, "stay stopped");
}

fn leave(file: &Path) -> Value {
    json!({"act": "leave-behind", "file": file})
}

fn number_in(file: &Path) -> u64 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

#[test]
fn processes_end_with_their_flare_and_the_program_stays() {
    for group in [None, Some("one")] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("left");
        let runtime = Runtime::with_acts();
        let mut run = Run::new(&[act("hello"), leave(&file)]);
        run.group = group;
        let events = runtime.events(&run);
        assert_eq!(end(&events)["reusable"], true, "{events:?}");
        let left = number_in(&file);
        wait_until_dead(left);
        let again = runtime.act(&[act("hello")]);
        assert_eq!(process(&again), process(&events));
        wait_until_gone(left);
        assert!(process_exists(process(&events)));
    }
}

/// If one flare immediately follows another, the runtime need not look for processes after each of
/// them.
#[test]
fn a_process_ends_with_its_flare_in_a_quick_row_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = Runtime::with_acts();
    let program = process(&runtime.act(&[act("hello")]));
    for number in 0..20 {
        for _ in 0..number % 4 {
            runtime.act(&[act("hello")]);
        }
        let file = directory.path().join(number.to_string());
        let events = runtime.act(&[act("hello"), leave(&file)]);
        assert_eq!(process(&events), program);
        assert_eq!(state(number_in(&file)), None);
    }
}

/// Returns the files that the worker finds in the directory before it writes there.
fn write(runtime: &Runtime, scratch: &Path, name: &str, group: Option<&'static str>) -> Value {
    let file = scratch.join(name);
    let mut run = Run::new(&[json!({"act": "write", "file": file})]);
    run.group = group;
    let events = runtime.events(&run);
    assert_eq!(end(&events)["reusable"], true, "{events:?}");
    named(&events, "worker-succeeded")[0]["output"].clone()
}

#[test]
fn files_are_removed_with_their_flare_or_group() {
    let scratch = tempfile::tempdir().unwrap();
    let runtime = Runtime::with_acts_and(Some(scratch.path()));
    let write = |name, group| write(&runtime, scratch.path(), name, group);
    assert_eq!(write("one", None), json!([]));
    assert_eq!(write("two", None), json!([]));
    assert_eq!(write("three", Some("group")), json!([]));
    assert_eq!(write("four", Some("group")), json!(["three"]));
}

#[test]
fn a_pack_that_cannot_be_cleaned_up_is_not_reused() {
    // Not a directory: one of the reasons why a scratch directory cannot be emptied.
    let scratch = tempfile::NamedTempFile::new().unwrap();
    let runtime = Runtime::with_acts_and(Some(scratch.path()));
    let events = runtime.act(&[act("hello")]);
    assert_eq!(end(&events)["reusable"], false, "{events:?}");
    assert_eq!(end(&events)["error"], Value::Null);
}
