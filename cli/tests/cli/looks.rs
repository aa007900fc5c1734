//! What people see: colours, local times, tables as wide as the terminal, the next step.

use crate::flare::{STARTED, flare, summary};
use crate::platform::Platform;
use crate::program::{Burst, Ran};
use crate::terminal::{Terminal, run_on_terminal};

const LONG: &str = "a-name-that-somebody-thought-was-a-good-one-for-a-definition";

fn platform() -> Platform {
    let platform = Platform::start();
    let id = "0123abcd0123abcd0123abcd0123abcd";
    let listed = summary("failed").replace("\"x1\"", &format!("\"{id}\""));
    let long = listed.replace("\"hello\"", &format!("\"{LONG}\""));
    let failure = r#"{"kind":"panic","worker":1,"pack":0,"invoker":"invoker0",
        "operation":"work","message":"something that takes more than a line of a terminal to be said"}"#;
    platform
        .on("GET /flares", 200, &format!("[{listed},{long}]"))
        .on("GET /flares/x1", 200, &flare("failed", failure))
        .on("GET /flares/x2", 200, &flare("succeeded", "null"))
        .on("POST /bursts/hello", 202, STARTED);
    platform
}

/// Without colours.
fn plain(screen: &str) -> String {
    let mut parts = screen.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
}

#[test]
fn states_are_coloured_on_terminals_only() {
    let platform = platform();
    let burst = Burst::of(&platform).with("TERM", "xterm");
    let screen = run_on_terminal(&burst, &["flares"]).out;
    assert!(
        screen.contains("failed") && screen.contains("\x1b["),
        "{screen:?}"
    );
    assert!(!burst.run(&["flares"]).ok().contains('\x1b'));
    let json = run_on_terminal(&burst, &["flares", "--output", "json"]).out;
    assert!(!json.contains('\x1b'), "{json:?}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        let burst = Burst::of(&platform).with("TERM", "xterm").with(name, value);
        let screen = run_on_terminal(&burst, &["flares"]).out;
        assert!(!screen.contains('\x1b'), "{name}: {screen:?}");
    }
}

#[test]
fn tables_are_no_wider_than_the_terminal() {
    let platform = platform();
    let burst = Burst::of(&platform).with("TERM", "xterm");
    for args in [&["flares"][..], &["status", "x1"]] {
        let screen = plain(&run_on_terminal(&burst, args).out);
        let widest = screen.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{args:?}: {screen}");
    }
    // Nothing is broken where nobody knows how wide it may be.
    assert!(burst.run(&["flares"]).ok().contains(LONG));
}

#[test]
fn what_is_usual_fits_into_eighty_columns_unbroken() {
    let platform = Platform::start();
    let usual = summary("succeeded")
        .replace("\"x1\"", "\"0123abcd0123abcd0123abcd0123abcd\"")
        .replace("\"hello\"", "\"word-count\"")
        .replace("\"ended\":9000", "\"ended\":5400001000");
    platform.on("GET /flares", 200, &format!("[{usual}]"));
    let shown = Burst::of(&platform).run(&["flares"]).ok();
    assert_eq!(
        shown,
        "FLARE         NAME        VERSION  STATE      SIZE  CREATED           DURATION\n\
         0123abcd0123  word-count  0.0.1    succeeded  2     1970-01-01 00:00  1 h 30 min\n"
    );
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
}

#[test]
fn times_are_local() {
    let platform = platform();
    // Five and a half hours ahead; no time zone database is needed for this.
    let burst = Burst::of(&platform).with("TZ", "XYZ-5:30");
    let shown = burst.run(&["status", "x2"]).ok();
    assert!(
        shown.contains("created      1970-01-01 05:30:00.001"),
        "{shown}"
    );
    let shown = Burst::of(&platform)
        .with("TZ", "")
        .run(&["status", "x2"])
        .ok();
    assert!(
        shown.contains("created      1970-01-01 00:00:00.001"),
        "{shown}"
    );
}

/// Runs the program with a terminal as its standard error, and hands back what was shown there.
fn beside(burst: &Burst, args: &[&str]) -> (Ran, String) {
    let terminal = Terminal::open();
    let mut command = burst.command(args);
    command.stderr(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    let screen = terminal.screen();
    (Ran::from(child.wait_with_output().unwrap()), screen)
}

#[test]
fn the_next_step_is_told_on_a_terminal_only() {
    let platform = platform();
    let burst = Burst::of(&platform).with("TERM", "xterm");
    for (args, next) in [
        (
            &["flare", "hello"][..],
            "next: `burst wait x1` or `burst logs x1 --follow`",
        ),
        (
            &["status", "x2"],
            "next: `burst result x1` or `burst timeline x1`",
        ),
        (
            &["flares"],
            "next: `burst status FLARE` or `burst logs FLARE`",
        ),
        (
            &["new", "hello"],
            "next: `cargo test` in hello, then `burst run hello",
        ),
    ] {
        let (ran, screen) = beside(&burst, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(plain(&screen).starts_with(next), "{args:?}: {screen:?}");
        assert!(!ran.out.contains("next"), "{ran:?}");
    }
    assert_eq!(burst.run(&["flare", "hello"]).ok(), "ok: flare x1\n");
}

#[test]
fn that_nothing_was_written_is_told_on_a_terminal_only() {
    let platform = platform();
    let empty = r#"{"flareId":"x2","truncated":false,"next":0,"logs":[]}"#;
    platform.on("GET /flares/x2/logs", 200, empty);
    let burst = Burst::of(&platform).with("TERM", "xterm");
    for (args, told) in [
        (&["logs", "x2"][..], "flare x2 has written nothing so far\n"),
        (
            &["logs", "x2", "--worker", "1"],
            "worker 1 of flare x2 has written nothing so far\n",
        ),
        (
            &["logs", "x2", "--follow"],
            "flare x2 has written nothing\n",
        ),
    ] {
        let (ran, screen) = beside(&burst, args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
        assert_eq!(screen, told);
        assert_eq!(burst.run(args).ok(), "");
    }
}

#[test]
fn errors_stand_out_on_a_terminal() {
    let burst = Burst::alone().with("TERM", "xterm");
    let (ran, screen) = beside(&burst, &["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        plain(&screen).starts_with("error: no APIHOST"),
        "{screen:?}"
    );
    assert!(screen.starts_with("\x1b["), "{screen:?}");
    let (_, screen) = beside(&burst.with("NO_COLOR", "1"), &["list"]);
    assert!(screen.starts_with("error: no APIHOST"), "{screen:?}");
}
