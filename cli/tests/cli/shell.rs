//! Completions for shells, and manual pages.

use std::fs;
use std::process::Command;

use crate::program::Burst;

#[test]
fn bash_completes_commands_and_flags() {
    let burst = Burst::alone();
    let script = burst.run(&["completion", "bash"]).ok();
    let script = burst.file("completion", script);
    let complete = |words: &str, last: &str, at: usize| {
        let ask = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={at}; _burst burst {last} burst; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let output = Command::new("bash").args(["-c", &ask]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("burst timel", "timel", 1), "timeline\n");
    assert_eq!(complete("burst logs --fol", "--fol", 2), "--follow\n");
    assert_eq!(complete("burst completion z", "z", 2), "zsh\n");
}

#[test]
fn zsh_and_fish_have_completion_scripts() {
    let burst = Burst::alone();
    let zsh = burst.run(&["completion", "zsh"]).ok();
    assert!(zsh.starts_with("#compdef burst\n"), "{zsh}");
    let fish = burst.run(&["completion", "fish"]).ok();
    assert!(fish.contains("complete -c burst"), "{fish}");
    for script in [zsh, fish] {
        assert!(script.contains("timeline"), "{script}");
    }
    assert_eq!(burst.run(&["completion", "tcsh"]).code, Some(2));
}

#[test]
fn every_command_has_a_man_page() {
    let burst = Burst::alone();
    burst.run(&["man", "share/man1"]).ok();
    let page = |name: &str| fs::read_to_string(burst.home().join("share/man1").join(name)).unwrap();
    assert!(page("burst.1").contains("burst\\-timeline"));
    assert!(page("burst-group-open.1").contains("idle\\-timeout"));
    assert!(page("burst-run.1").contains("Build, deploy and run"));
    let of = concat!("burst ", env!("CARGO_PKG_VERSION"));
    assert!(page("burst-deploy.1").contains(of));
    let flare = page("burst-flare.1");
    let examples = ".SH EXAMPLES\n.nf\n  burst flare hello ";
    assert!(flare.contains(examples), "{flare}");
    assert!(
        flare.contains("\n.fi\n.SH NOTES\nWhile waiting,"),
        "{flare}"
    );
    assert!(page("burst-wait.1").contains(".SH NOTES\nThe exit code"));
    for entry in fs::read_dir(burst.home().join("share/man1")).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(
            !page.contains(".SH EXTRA") && !page.contains("\nExample"),
            "{page}"
        );
        let count = |what: &str| page.matches(what).count();
        assert_eq!(count("\n.nf\n"), count("\n.fi\n"), "{page}");
    }
    burst.file("file", "");
    assert!(
        burst
            .run(&["man", "file"])
            .fails(2)
            .contains("cannot write to file")
    );
}
