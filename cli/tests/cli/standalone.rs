//! `burst standalone`, with a `java` that prints its arguments.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::SystemTime;

use crate::program::{BURST, Burst};

fn installed() -> Burst {
    let burst = Burst::alone();
    let java = burst.file("java", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    burst.executable("jdk/bin/java", java);
    burst.file("dist/lib/burst-standalone.jar", "");
    burst.file("dist/bin/burst-runtime", "");
    let jdk = burst.home().join("jdk").display().to_string();
    let dist = burst.home().join("dist").display().to_string();
    burst.with("JAVA_HOME", jdk).with("BURST_HOME", dist)
}

#[test]
fn settings_reach_java_only_through_a_private_file() {
    let burst = installed();
    let uri = "redis-list=redis://:hunter2@h:6379";
    let out = burst
        .run(&[
            "standalone",
            "--data",
            "data",
            "--slots",
            "3",
            "--backend",
            uri,
        ])
        .ok();
    let data = fs::canonicalize(burst.home().join("data")).unwrap();
    let file = data.join("standalone.conf");
    let jar = fs::canonicalize(burst.home().join("dist/lib/burst-standalone.jar")).unwrap();
    let arguments: Vec<&str> = out
        .lines()
        .skip_while(|line| line.starts_with("-XX:"))
        .collect();
    let config = format!("-Dconfig.file={}", file.display());
    let temporary = format!("-Djava.io.tmpdir={}", data.join("tmp").display());
    assert_eq!(
        arguments,
        [config.as_str(), &temporary, "-jar", jar.to_str().unwrap()]
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("redis://:hunter2@h:6379") && text.contains("\"slots\": 3"),
        "{text}"
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&file)), (0o700, 0o600));
}

#[test]
fn the_class_data_archive_is_used() {
    let burst = installed();
    let saved = burst.file("dist/lib/burst-standalone.jsa", "");
    let out = burst.run(&["standalone"]).ok();
    let flag = format!("-XX:SharedArchiveFile={}", saved.display());
    assert!(out.lines().any(|line| line == flag), "{out}");
}

/// A JVM does not start with unknown options.
#[test]
fn the_aot_cache_is_used_by_jvms_that_support_it() {
    let burst = installed();
    let classes = burst.file("dist/lib/burst-standalone.jsa", "");
    let trained = trained(&burst, "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.3\"\n");
    let [classes, trained] = [
        format!("-XX:SharedArchiveFile={}", classes.display()),
        format!("-XX:AOTCache={}", trained.display()),
    ];
    let given = || -> Vec<String> {
        let out = burst.run(&["standalone"]).ok();
        let ours = |it: &&str| [classes.as_str(), &trained, "-XX:Tier3DelayOn=0"].contains(it);
        out.lines().filter(ours).map(str::to_owned).collect()
    };
    let is_large = thread::available_parallelism().unwrap().get() >= 4;
    let second = is_large.then_some("-XX:Tier3DelayOn=0");
    let alone: Vec<_> = second.into_iter().chain([classes.as_str()]).collect();
    assert_eq!(given(), alone, "of a JDK that says nothing of itself");
    for release in [
        "JAVA_VERSION=\"17.0.19\"\n",
        "IMPLEMENTOR=\"y\"\nJAVA_VERSION=\"25.0.3\"\n",
        "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.4\"\n",
    ] {
        burst.file("jdk/release", release);
        assert_eq!(given(), alone, "{release}");
    }
    burst.file(
        "jdk/release",
        "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"25.0.3\"\n",
    );
    assert_eq!(given(), ["-XX:Tier3DelayOn=0", trained.as_str()]);
    let jar = fs::File::options()
        .append(true)
        .open(burst.home().join("dist/lib/burst-standalone.jar"));
    jar.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(given(), alone, "with another jar");
}

/// With these options a JVM silently ignores the whole cache.
#[test]
fn options_that_disable_the_aot_cache_restore_the_default_compilers() {
    let release = "JAVA_VERSION=\"25.0.3\"\n";
    for own in [
        "-javaagent:traces.jar",
        "-XX:+UseZGC",
        "--add-modules=java.se",
    ] {
        let burst = installed().with("JDK_JAVA_OPTIONS", own);
        trained(&burst, release);
        burst.file("jdk/release", release);
        let out = burst.run(&["standalone"]).ok();
        let is_large = thread::available_parallelism().unwrap().get() >= 4;
        assert_eq!(out.contains("-XX:Tier3DelayOn=0"), is_large, "{own}");
    }
}

/// Creates the AOT cache as `make build` does with a JDK that has this `release` file.
fn trained(burst: &Burst, release: &str) -> PathBuf {
    let jar = fs::metadata(burst.home().join("dist/lib/burst-standalone.jar")).unwrap();
    let by = burst.file("dist/lib/burst-standalone.aot.jdk", release);
    let by = fs::File::options().append(true).open(by).unwrap();
    by.set_modified(jar.modified().unwrap()).unwrap();
    burst.file("dist/lib/burst-standalone.aot", "")
}

/// A JVM does not start with two collectors, or with a cache and a contradicting option.
#[test]
fn operator_jvm_options_replace_contradicting_ones() {
    const OURS: [&str; 3] = [
        "-XX:+UseSerialGC",
        "-XX:AOTCache=",
        "-XX:SharedArchiveFile=",
    ];
    for (own, given) in [
        ("-Xmx8g -XX:ParallelGCThreads=1", &OURS[..2]),
        ("-XX:+UseG1GC", &OURS[1..2]),
        ("-Xshare:off", &OURS[..1]),
        ("-XX:AOTMode=off", &OURS[..1]),
        ("-XX:SharedArchiveFile=own.jsa", &OURS[..1]),
    ] {
        let burst = installed().with("JDK_JAVA_OPTIONS", own);
        burst.file("dist/lib/burst-standalone.jsa", "");
        let release = "JAVA_VERSION=\"25.0.3\"\n";
        trained(&burst, release);
        burst.file("jdk/release", release);
        let out = burst.run(&["standalone"]).ok();
        let found = OURS.iter().filter(|it| out.contains(**it));
        assert_eq!(
            found.collect::<Vec<_>>(),
            given.iter().collect::<Vec<_>>(),
            "{own}"
        );
    }
}

#[test]
fn the_distribution_is_found_beside_the_program() {
    let burst = installed().with("BURST_HOME", "");
    let own = burst.executable("dist/bin/burst", BURST);
    let mut command = std::process::Command::new(&own);
    command
        .arg("standalone")
        .env("HOME", burst.home())
        .env_remove("BURST_HOME");
    let output = command
        .env("JAVA_HOME", burst.home().join("jdk"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(burst.home().join(".burst/standalone.conf").exists());
}

#[test]
fn nodes_of_a_cluster_get_their_own_settings() {
    let burst = installed();
    burst.file("more.conf", "burst.limits.retries = 3");
    let out = burst
        .run(&[
            "controller",
            "--data",
            "c",
            "--node",
            "10.0.0.1:2552",
            "--seed",
            "10.0.0.1:2552",
            "--seed",
            "10.0.0.2:2552",
            "--config",
            "more.conf",
        ])
        .ok();
    assert!(out.trim_end().ends_with("burst.controller.Main"), "{out}");
    let text = fs::read_to_string(burst.home().join("c/controller.conf")).unwrap();
    for part in [
        "\"10.0.0.2:2552\"",
        "\"port\": 2552",
        "include required(file(",
        "more.conf",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let out = burst
        .run(&[
            "invoker", "--data", "i", "--id", "i7", "--node", "10.0.0.9", "--seed", "h:1",
        ])
        .ok();
    assert!(out.trim_end().ends_with("burst.invoker.Main"), "{out}");
    let text = fs::read_to_string(burst.home().join("i/invoker.conf")).unwrap();
    for part in ["\"id\": \"i7\"", "\"host\": \"10.0.0.9\"", "\"h:1\""] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let key = burst.file("cluster.pem", "");
    burst
        .run(&["invoker", "--seed", "h:1", "--cluster-key", "cluster.pem"])
        .ok();
    let own = burst.home().join(".burst-invoker/invoker.conf");
    let text = fs::read_to_string(own).unwrap();
    let key = fs::canonicalize(key).unwrap();
    let key = format!("\"key\": \"{}\"", key.display());
    // Without `--id`, the invoker chooses its id itself.
    assert!(text.contains(&key) && !text.contains("\"id\""), "{text}");
    for flags in [
        ["--node", "a b:1"],
        ["--seed", "h:port"],
        ["--tls-key", "k"],
        ["--cluster-key", "nowhere.pem"],
        ["--id", "a/b"],
    ] {
        let ran = burst.run(&[&["invoker"], &flags[..]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

/// Settings that come later in the file override earlier ones.
#[test]
fn flags_override_the_file_which_overrides_defaults() {
    let burst = installed();
    burst.file("own.conf", "burst.http.port = 4000");
    let file = "include required(file(";
    for (command, data, default) in [
        ("standalone", ".burst", ""),
        (
            "controller",
            ".burst-controller",
            "burst.cluster.port: 2552",
        ),
        ("invoker", ".burst-invoker", ""),
    ] {
        let text = |flags: &[&str]| {
            let config = [command, "--config", "own.conf"];
            burst.run(&[&config[..], flags].concat()).ok();
            let path = burst.home().join(data).join(format!("{command}.conf"));
            fs::read_to_string(path).unwrap()
        };
        let alone = text(&[]);
        let (before, after) = alone.split_once(file).unwrap();
        assert!(before.contains(default), "{before}");
        for setting in ["host", "port", "driver", "advertise", "seeds"] {
            assert!(!after.contains(&format!("\"{setting}\"")), "{after}");
        }
        let (flags, setting) = match command {
            "invoker" => (["--driver", "process"], "\"driver\": \"process\""),
            _ => (["--port", "5000"], "\"port\": 5000"),
        };
        let settings = text(&flags);
        assert!(
            settings.split_once(file).unwrap().1.contains(setting),
            "{settings}"
        );
    }
    let help = burst.run(&["standalone", "--help"]).ok();
    for default in ["127.0.0.1", "3233", "auto"] {
        assert!(help.contains(&format!("[default: {default}]")), "{help}");
    }
}

#[test]
fn a_missing_java_or_jar_is_named() {
    let burst = installed().with("JAVA_HOME", "/nowhere");
    assert!(
        burst
            .run(&["standalone"])
            .fails(8)
            .contains("java was not found")
    );
    let jar = burst.home().join("dist/lib/burst-standalone.jar");
    fs::remove_file(jar).unwrap();
    assert!(
        burst
            .run(&["standalone"])
            .fails(8)
            .contains("burst-standalone.jar is missing")
    );
}

#[test]
fn memory_limit_and_idle_timeout_have_units() {
    let burst = installed();
    let flags = ["--memory-limit", "2G", "--idle-timeout", "1m"];
    burst.run(&[&["standalone"], &flags[..]].concat()).ok();
    let text = fs::read_to_string(burst.home().join(".burst/standalone.conf")).unwrap();
    assert!(text.contains("\"memory-limit\": 2048"), "{text}");
    assert!(text.contains("\"idle-timeout\": \"60000ms\""), "{text}");
    let ran = burst.run(&["standalone", "--idle-timeout", "60"]);
    assert!(ran.err.contains("write 60s"), "{ran:?}");
}

#[test]
fn mounts_need_a_driver_that_isolates_packs() {
    let burst = installed();
    let mount = ["--mount", "/data:/data:ro"];
    burst
        .run(&[&["standalone", "--driver", "sandbox"], &mount[..]].concat())
        .ok();
    let text = fs::read_to_string(burst.home().join(".burst/standalone.conf")).unwrap();
    assert!(text.contains("\"/data:/data:ro\""), "{text}");
    let ran = burst.run(&[&["standalone", "--driver", "process"], &mount[..]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.err
            .contains("--mount needs --driver auto, sandbox or docker"),
        "{ran:?}"
    );
}

#[test]
fn invalid_flags_are_usage_errors() {
    let burst = installed();
    for flags in [
        ["--port", "99999"],
        ["--slots", "0"],
        ["--mount", "relative:/x"],
        ["--backend", "no-uri"],
        ["--idle-timeout", "soon"],
        ["--image", "without-docker"],
    ] {
        let ran = burst.run(&[&["standalone"], &flags[..]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
}

#[test]
fn a_data_directory_in_use_is_refused_and_unchanged() {
    let burst = installed();
    // While it runs, this `java` starts another node on the same data, as an operator might.
    let nested = format!(
        "#!/bin/sh\n[ -n \"$NESTED\" ] || NESTED=1 {BURST} invoker --data data --seed h:1 --slots 5\necho $? $$\n"
    );
    let java = burst.file("nests", nested);
    burst.executable("jdk/bin/java", java);
    let ran = burst.run(&["invoker", "--data", "data", "--seed", "h:1", "--slots", "3"]);
    let text = fs::read_to_string(burst.home().join("data/invoker.conf")).unwrap();
    assert!(text.contains("\"slots\": 3"), "{text}");
    let (code, process) = ran.out.trim().split_once(' ').unwrap();
    assert_eq!(code, "1", "{ran:?}");
    let expected = format!("is used by another platform (process {process})");
    assert!(ran.err.contains(&expected), "{ran:?}");
    // After its exit the directory is free again.
    burst
        .run(&["invoker", "--data", "data", "--seed", "h:1", "--slots", "7"])
        .out
        .trim()
        .strip_prefix("1 ")
        .unwrap();
}

#[test]
fn data_wait_waits_for_a_data_directory_in_use() {
    let burst = installed();
    // This `java` exits once another node waits for its data. That node then executes this `java`,
    // too.
    let first = format!(
        "#!/bin/sh\n[ -n \"$NESTED\" ] && {{ echo it ran; exit; }}\n\
         NESTED=1 {BURST} invoker --data data --data-wait 60s --seed h:1 --slots 5 2>said &\n\
         until grep -q 'waiting for its end' said; do sleep 0.05; done\necho $$\n"
    );
    let java = burst.file("waits", first);
    burst.executable("jdk/bin/java", java);
    let ran = burst.run(&["invoker", "--data", "data", "--seed", "h:1", "--slots", "3"]);
    let (process, rest) = ran.out.split_once('\n').unwrap();
    assert_eq!(rest, "it ran\n", "{ran:?}");
    let message = fs::read_to_string(burst.home().join("said")).unwrap();
    assert!(
        message.contains(&format!("is used by another platform (process {process})")),
        "{message}"
    );
    let text = fs::read_to_string(burst.home().join("data/invoker.conf")).unwrap();
    assert!(text.contains("\"slots\": 5"), "{text}");
}

#[test]
fn an_unusable_data_directory_is_reported_with_advice() {
    let ran = installed().run(&["standalone", "--data", "/dev/null/data"]);
    let message = ran.fails(2);
    assert!(
        message.contains("/dev/null/data cannot be used"),
        "{message}"
    );
    assert!(message.contains("give another directory"), "{message}");
}
