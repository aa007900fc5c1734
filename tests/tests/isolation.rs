//! The permissions of a pack, and who can see what.

use burst_tests::disk::files_below;
use burst_tests::{Driver, Platform, Redis, Settings, docker, failing, node, processes};
use reqwest::Method;
use serde_json::json;

const SECRET: &str = "marker-of-a-secret-input";

#[test]
fn containers_are_locked_down() {
    let platform = Platform::lent(Settings::new(Driver::Docker));
    failing::deploy(&platform);
    let mut request = failing::holding(2, failing::LONG);
    request["memory"] = json!(128);
    let id = platform.api().flare(failing::NAME, &request);
    platform.api().all_wrote(&id, failing::MARK);

    let containers = platform.containers();
    assert_eq!(
        containers.len(),
        1,
        "one pack, one container: {containers:#?}"
    );
    let container = &containers[0];
    let host = &container["HostConfig"];
    assert_eq!(host["ReadonlyRootfs"], true, "{host:#}");
    assert_eq!(host["Privileged"], false, "{host:#}");
    assert_eq!(host["CapDrop"], json!(["ALL"]), "{host:#}");
    assert!(
        host["CapAdd"].is_null() || host["CapAdd"] == json!([]),
        "{host:#}"
    );
    let options = host["SecurityOpt"].to_string();
    assert!(options.contains("no-new-privileges"), "{options}");
    assert!(!options.contains("unconfined"), "{options}");
    assert!(
        host["PidsLimit"]
            .as_i64()
            .is_some_and(|limit| (1..=4096).contains(&limit)),
        "{host:#}"
    );
    // Memory follows the pack's size, plus a little for the runtime itself.
    let memory = host["Memory"].as_i64().unwrap();
    assert!(
        (256 << 20..=384 << 20).contains(&memory),
        "{memory} bytes for 2 workers of 128 MiB"
    );
    assert_eq!(
        host["MemorySwap"], host["Memory"],
        "no swap beyond it: {host:#}"
    );
    assert!(
        host["NanoCpus"].as_i64() > Some(0) || host["CpuQuota"].as_i64() > Some(0),
        "{host:#}"
    );
    for shared in ["NetworkMode", "PidMode", "IpcMode", "UsernsMode"] {
        assert_ne!(host[shared], "host", "{shared}");
    }
    for mount in container["Mounts"].as_array().unwrap() {
        assert_eq!(mount["RW"], false, "{mount:#}");
        assert!(
            !mount["Source"]
                .as_str()
                .unwrap_or_default()
                .contains("docker.sock")
        );
    }
    assert!(!unprivileged_user(&docker::id(container)).is_empty());

    platform.api().cancel(&id);
    platform.api().ended(&id);
}

/// The users of a container's processes, none of which may be root.
fn unprivileged_user(container: &str) -> Vec<u32> {
    let table = docker::docker(&["top", container, "-eo", "uid,pid,comm"]);
    let users: Vec<u32> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().next().unwrap().parse().unwrap())
        .collect();
    assert!(
        users.iter().all(|user| *user != 0),
        "processes of root: {table}"
    );
    users
}

#[test]
fn a_program_cannot_inspect_its_runtime() {
    for settings in Settings::isolated() {
        let platform = Platform::lent(settings);
        failing::deploy(&platform);
        let flare = platform
            .api()
            .run(failing::NAME, 1, &json!({"how": "snoop"}));
        assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    }
}

/// Two packs of two workers each, which run and hold [`SECRET`] and a user on a Redis server.
#[track_caller]
fn a_flare_with_a_secret() -> (Redis, Platform, String) {
    let redis = Redis::start();
    let platform =
        Platform::start(Settings::new(Driver::Process).backend("redis-list", &redis.uri()));
    failing::deploy(&platform);
    let mut input = failing::hold(failing::LONG);
    input["secret"] = json!(SECRET);
    let options = json!({"size": 4, "params": input, "granularity": 2, "packing": "homogeneous",
        "timeout": failing::LONG_TIMEOUT});
    let id = platform.api().flare(failing::NAME, &options);
    platform.api().all_wrote(&id, failing::MARK);
    (redis, platform, id)
}

#[test]
fn secrets_appear_in_no_log_and_no_process_list() {
    let (redis, platform, id) = a_flare_with_a_secret();
    let auth = platform.api().auth();
    let (_, key) = auth.split_once(':').unwrap();
    let secrets = [SECRET, redis.password(), key];
    for process in platform.processes() {
        for secret in secrets {
            assert!(
                !process.command.contains(secret),
                "on a command line: {process:?}"
            );
        }
    }
    platform.api().cancel(&id);
    platform.api().ended(&id);
    // Inputs can leak into error messages.
    let mut wrong = failing::input("error", 0);
    wrong["secret"] = json!(SECRET);
    platform.api().run(failing::NAME, 2, &wrong);
    let body = format!("{{\"size\":2,\"params\":{{\"secret\":\"{SECRET}\"}},,}}");
    let request = platform
        .api()
        .request(Method::POST, "namespaces/_/bursts/failing");
    let answer = platform.api().send(
        request
            .header("Content-Type", "application/json")
            .body(body),
    );
    assert_eq!(answer.status, 400, "{}", answer.text);

    let mut logs = files_below(&platform.data());
    logs.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    assert!(!logs.is_empty(), "the platform keeps no log");
    logs.push(platform.log_file());
    for log in logs {
        let text = node::read_log(&log);
        for secret in secrets {
            assert!(
                !text.contains(secret),
                "{secret} stands in {}",
                log.display()
            );
        }
    }
}

#[test]
fn a_program_is_not_given_the_platforms_redis_password() {
    let (redis, platform, id) = a_flare_with_a_secret();
    let programs: Vec<_> = (platform.processes().into_iter())
        .filter(|process| processes::holds(process.pid, SECRET))
        .filter(|process| {
            let program = processes::program(process.pid);
            program.is_some_and(|name| !["java", "burst-runtime"].contains(&&*name))
        })
        .collect();
    assert_eq!(
        programs.len(),
        2,
        "one program for each pack: {programs:#?}"
    );
    for program in programs {
        assert!(
            !processes::holds(program.pid, redis.password()),
            "{program:?} has the password"
        );
    }
    platform.api().cancel(&id);
    platform.api().ended(&id);
}

#[test]
fn the_data_directory_is_private_to_its_owner() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    for file in ["properties", "standalone.conf"] {
        let permissions = platform.data().join(file).metadata().unwrap().permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        assert_eq!(mode & 0o077, 0, "{file} has mode {mode:o}");
    }
}

#[test]
fn other_namespaces_are_inaccessible() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    failing::deploy(&platform);
    let api = platform.api();
    let definition = || api.client().get_definition(failing::NAME).unwrap();
    let own = definition().read().unwrap().namespace;
    let at = |method: &Method, namespace: &str, path: &str| {
        api.send(api.request(method.clone(), &format!("namespaces/{namespace}/{path}")))
    };
    assert_eq!(at(&Method::GET, &own, "bursts/failing").status, 200);
    for path in [
        "bursts",
        "bursts/failing",
        "flares",
        "flares/0123456789abcdef0123456789abcdef",
    ] {
        at(&Method::GET, "other", path).refusal(403);
    }
    at(&Method::DELETE, "other", "bursts/failing").refusal(403);
    definition();
}
