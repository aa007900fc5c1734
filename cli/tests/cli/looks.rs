//! Output for people: colours, local times, tables that fit the terminal, the next step.

use serde_json::json;

use crate::deploy;
use crate::flare::{RESULT, STARTED, flare};
use crate::platform::Platform;
use crate::program::{Burst, Ran};
use crate::samples;
use crate::terminal::{Terminal, run_on_terminal};

const LONG: &str = "a-name-that-somebody-thought-was-a-good-one-for-a-definition";

fn platform() -> Platform {
    let platform = Platform::start();
    let id = "0123abcd0123abcd0123abcd0123abcd";
    let listed = |name: &str| {
        samples::flare_summary(json!({"flareId": id, "name": name, "state": "failed"}))
    };
    let flares = json!([listed("hello"), listed(LONG)]).to_string();
    let succeeded = samples::flare(json!({"state": "succeeded", "created": 1000})).to_string();
    let groups = json!([samples::group_summary(json!({}))]).to_string();
    let deployed = deploy::deployed();
    let version = samples::definition_summary(json!({}));
    let versions = json!([version, version]).to_string();
    let failure = r#"{"kind":"panic","worker":1,"pack":0,"invoker":"invoker0",
        "operation":"work","message":"something that takes more than a line of a terminal to be said"}"#;
    let timeline = r#"{"flareId":"f2000000000000000000000000000002","created":0,"now":9000,"workers":[{"worker":0,"pack":0,"phases":[
        {"name":"invocation","start":0,"end":2000},{"name":"starting the pack","start":2000,"end":4000},
        {"name":"reading from storage","start":4000,"end":8000},{"name":"sorting","start":8000,"end":9000},
        {"name":"writing to storage","start":9000,"end":99000}]}]}"#;
    platform
        .on(
            "GET /flares/f2000000000000000000000000000002/timeline",
            200,
            timeline,
        )
        .on("GET /flares", 200, &flares)
        .on(
            "GET /flares/f1000000000000000000000000000001",
            200,
            &flare("failed", failure),
        )
        .on(
            "GET /flares/f2000000000000000000000000000002",
            200,
            &succeeded,
        )
        .on("POST /bursts/hello", 202, STARTED)
        .on(
            "GET /flares/f1000000000000000000000000000001/result",
            200,
            RESULT,
        )
        .on("GET /groups", 200, &groups)
        .on("GET /api/v1/invokers", 200, &deploy::invokers())
        .on("PUT /bursts/a%20b", 200, &deployed)
        .on("GET /bursts/a%20b", 200, &deployed)
        .on("POST /bursts/a%20b/rollback", 200, &deployed)
        .on("GET /bursts/a%20b/versions", 200, &versions);
    platform
}

/// Removes colours and other escape sequences.
fn plain(screen: &str) -> String {
    let mut parts = screen.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain + &part[end.map_or(part.len(), |end| end + 1)..]
    })
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
    for args in [
        &["flares"][..],
        &["status", "f1000000000000000000000000000001"],
        &["timeline", "f2000000000000000000000000000002"],
    ] {
        let screen = plain(&run_on_terminal(&burst, args).out);
        let widest = screen.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{args:?}: {screen}");
    }
    // Nothing is wrapped if the width is unknown.
    assert!(burst.run(&["flares"]).ok().contains(LONG));
}

/// Returns the names of a command's subcommands, as listed in its help.
fn verbs(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| line.starts_with(' '))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect()
}

fn check_help(burst: &Burst, run: fn(&Burst, &[String]) -> Ran, words: &[String]) -> usize {
    let mut seen = 1;
    for flag in ["--help", "-h"] {
        let help = run(burst, &[words, &[flag.to_owned()]].concat()).ok();
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line}");
        }
        if flag == "--help" {
            // `-h` lists the same subcommands, so they are checked only once.
            for verb in verbs(&help) {
                seen += check_help(burst, run, &[words, &[verb.to_owned()]].concat());
            }
        }
    }
    seen
}

#[test]
fn help_fits_into_eighty_columns() {
    let burst = Burst::alone().with("COLUMNS", "80");
    let seen = check_help(&burst, Burst::run, &[]);
    assert!(seen > 70, "only {seen} commands were found");
    let seen = check_help(&burst, Burst::wsk, &[]);
    assert!(seen > 40, "only {seen} commands were found");
    let screen = run_on_terminal(&Burst::alone(), &["flare", "--help"]).out;
    let screen = plain(&screen);
    assert!(screen.contains("Usage: burst flare"), "{screen}");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    // Lines that are broken by hand are not wrapped again.
    for line in [
        "  burst flare hello                             one worker; prints the id\n",
        "  burst flare sort --size 48 --granularity 48 --packing homogeneous\n",
    ] {
        assert!(screen.contains(line), "{screen}");
    }
}

#[test]
fn a_typical_table_fits_into_eighty_columns() {
    let platform = Platform::start();
    let usual = samples::flare_summary(json!({"flareId": "0123abcd0123abcd0123abcd0123abcd",
        "name": "word-count", "version": "0.0.1", "state": "succeeded", "size": 2,
        "created": 1000, "ended": 5_400_001_000_u64}));
    platform.on("GET /flares", 200, &json!([usual]).to_string());
    let shown = Burst::of(&platform).run(&["flares"]).ok();
    assert_eq!(
        shown,
        "FLARE         NAME        VERSION  STATE      SIZE  CREATED           DURATION\n\
         0123abcd0123  word-count  0.0.1    succeeded  2     1970-01-01 00:00  1 h 30 min\n"
    );
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
}

#[test]
fn times_are_shown_in_the_local_time_zone() {
    let platform = platform();
    // Five and a half hours ahead of UTC. This form needs no time zone database.
    let burst = Burst::of(&platform).with("TZ", "XYZ-5:30");
    let shown = burst
        .run(&["status", "f2000000000000000000000000000002"])
        .ok();
    assert!(
        shown.contains("created      1970-01-01 05:30:00.001"),
        "{shown}"
    );
    let shown = Burst::of(&platform)
        .with("TZ", "")
        .run(&["status", "f2000000000000000000000000000002"])
        .ok();
    assert!(
        shown.contains("created      1970-01-01 00:00:00.001"),
        "{shown}"
    );
}

/// Runs the program with a terminal as its standard error, and returns the terminal's content, too.
fn run_with_stderr_on_terminal(burst: &Burst, args: &[&str]) -> (Ran, String) {
    let terminal = Terminal::open();
    let mut command = burst.command(args);
    command.stderr(terminal.end());
    let child = command.spawn().unwrap();
    drop(command);
    let screen = terminal.screen();
    (Ran::from(child.wait_with_output().unwrap()), screen)
}

#[test]
fn the_next_step_is_suggested_on_a_terminal_only() {
    let platform = platform();
    let burst = Burst::of(&platform).with("TERM", "xterm");
    for (args, next) in [
        (
            &["flare", "hello"][..],
            "next: `burst wait f10000000000` or `burst logs f10000000000 --follow`",
        ),
        (
            &["deploy", "a b", "/bin/sh"],
            "next: `burst flare 'a b' --result`, with --param KEY=VALUE if it needs any",
        ),
        (
            &["deploy", "a b", "/bin/sh", "--param", "n=1"],
            "next: `burst flare 'a b' --result`\n",
        ),
        (
            &["get", "a b"],
            "next: `burst flare 'a b'` or `burst history 'a b'`",
        ),
        (
            &["history", "a b"],
            "next: `burst flare 'a b' --version VERSION`\n   or `burst rollback 'a b' --to VERSION`\n",
        ),
        (&["rollback", "a b"], "next: `burst flare 'a b' --result`\n"),
        (
            &["invokers"],
            "next: `burst flares --state running` or `burst invokers drain INVOKER`",
        ),
        (
            &["group", "list"],
            "next: `burst group flare GROUP --result` or `burst group close GROUP`",
        ),
        (
            &["result", "f1000000000000000000000000000001"],
            "next: `burst timeline f10000000000`",
        ),
        (
            &["status", "f2000000000000000000000000000002"],
            "next: `burst result f10000000000` or `burst timeline f10000000000`",
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
        let (ran, screen) = run_with_stderr_on_terminal(&burst, args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let screen = plain(&screen);
        // The next step follows the progress display.
        let message = screen.find("next:").map_or("", |at| &screen[at..]);
        assert!(message.starts_with(next), "{args:?}: {screen:?}");
        for line in message.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
        assert!(!ran.out.contains("next"), "{ran:?}");
    }
    assert_eq!(
        burst.run(&["flare", "hello"]).ok(),
        "ok: flare f1000000000000000000000000000001\n"
    );
}

#[test]
fn empty_logs_are_mentioned_on_a_terminal_only() {
    let platform = platform();
    let empty =
        r#"{"flareId":"f2000000000000000000000000000002","truncated":false,"next":0,"logs":[]}"#;
    platform.on(
        "GET /flares/f2000000000000000000000000000002/logs",
        200,
        empty,
    );
    let burst = Burst::of(&platform).with("TERM", "xterm");
    for (args, message) in [
        (
            &["logs", "f2000000000000000000000000000002"][..],
            "flare f2000000000000000000000000000002 has written nothing so far\n",
        ),
        (
            &["logs", "f2000000000000000000000000000002", "--worker", "1"],
            "worker 1 of flare f2000000000000000000000000000002 has written nothing so far\n",
        ),
        (
            &["logs", "f2000000000000000000000000000002", "--follow"],
            "flare f2000000000000000000000000000002 has written nothing\n",
        ),
    ] {
        let (ran, screen) = run_with_stderr_on_terminal(&burst, args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
        assert_eq!(screen, message);
        assert_eq!(burst.run(args).ok(), "");
    }
}

#[test]
fn errors_are_highlighted_on_a_terminal() {
    let burst = Burst::alone().with("TERM", "xterm");
    let (ran, screen) = run_with_stderr_on_terminal(&burst, &["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        plain(&screen).starts_with("error: no APIHOST"),
        "{screen:?}"
    );
    assert!(screen.starts_with("\x1b["), "{screen:?}");
    let (_, screen) = run_with_stderr_on_terminal(&burst.with("NO_COLOR", "1"), &["list"]);
    assert!(screen.starts_with("error: no APIHOST"), "{screen:?}");
}
