//! Ids that are cut short.

use serde_json::{Value, json};

use crate::flare::flare;
use crate::platform::Platform;
use crate::program::Burst;
use crate::samples;

const ONE: &str = "0123abcd000000000000000000000001";
const OTHER: &str = "0123ef00000000000000000000000002";
const PAGE: &str = "GET /flares?limit=200";

fn listed(ids: &[&str]) -> String {
    let flares = ids
        .iter()
        .map(|id| samples::flare_summary(json!({"flareId": id})));
    flares.collect::<Value>().to_string()
}

#[test]
fn a_unique_prefix_identifies_a_flare() {
    let platform = Platform::start();
    platform.on(PAGE, 200, &listed(&[OTHER, ONE]));
    platform.on(
        &format!("GET /flares/{ONE}"),
        200,
        &flare("succeeded", "null"),
    );
    let accepted = format!(r#"{{"flareId":"{ONE}"}}"#);
    platform.on(&format!("DELETE /flares/{ONE}"), 202, &accepted);
    let burst = Burst::of(&platform);
    burst.run(&["status", "0123ab"]).ok();
    let cancelled = burst.run(&["cancel", "0123abcd"]).ok();
    assert_eq!(cancelled, format!("ok: cancelling flare {ONE}\n"));
    burst.run(&["status", ONE]).ok();
    assert_eq!(
        platform.lines(),
        [
            PAGE,
            &format!("GET /flares/{ONE}"),
            PAGE,
            &format!("DELETE /flares/{ONE}"),
            &format!("GET /flares/{ONE}"),
        ]
    );
}

#[test]
fn an_ambiguous_prefix_lists_the_matches_and_changes_nothing() {
    let platform = Platform::start();
    platform.on(PAGE, 200, &listed(&[OTHER, ONE]));
    let burst = Burst::of(&platform);
    for verb in ["status", "wait", "logs", "result", "timeline", "cancel"] {
        let ran = burst.run(&[verb, "0123"]);
        let sentence = ran.fails(2);
        let both = sentence.contains(ONE) && sentence.contains(OTHER);
        assert!(sentence.starts_with("0123 is ambiguous") && both, "{ran:?}");
    }
    assert_eq!(platform.lines(), [PAGE]);
    let ran = burst.run(&["cancel", "beef"]);
    assert_eq!(
        ran.fails(3),
        "no flare among the newest 2000 begins with beef"
    );
}

#[test]
fn prefixes_below_four_characters_are_refused() {
    let platform = Platform::start();
    let burst = Burst::of(&platform).with("BURST_ADMIN_AUTH", "admin:key");
    for verb in ["status", "wait", "logs", "result", "timeline", "cancel"] {
        assert_eq!(
            burst.run(&[verb, "ab"]).fails(6),
            "ab is too short for a flare's id: give at least 4 of its 32 characters"
        );
    }
    for words in [
        &["group", "get", "012"][..],
        &["admin", "group", "close", "012"],
    ] {
        let ran = burst.run(words);
        assert!(
            ran.fails(6).starts_with("012 is too short for a group's"),
            "{ran:?}"
        );
    }
    assert!(platform.lines().is_empty());
}

#[test]
fn invalid_ids_are_refused_and_case_is_ignored() {
    let platform = Platform::start();
    platform.on(PAGE, 200, &listed(&[OTHER, ONE])).on(
        &format!("GET /flares/{ONE}"),
        200,
        &flare("succeeded", "null"),
    );
    let burst = Burst::of(&platform);
    for (words, message) in [
        (&["status", "xyz"][..], "\"xyz\" is not a flare's id: "),
        (&["group", "get", "xyz"], "\"xyz\" is not a group's id: "),
    ] {
        let ran = burst.run(words);
        let message = message.to_owned()
            + "that has 32 hexadecimal digits, of which the first 4 or more may be given; ";
        assert!(ran.fails(6).starts_with(&message), "{ran:?}");
    }
    assert!(platform.lines().is_empty());
    burst.run(&["status", "0123AB"]).ok();
    burst.run(&["status", &ONE.to_ascii_uppercase()]).ok();
    assert_eq!(platform.lines(), [PAGE, &format!("GET /flares/{ONE}")]);
}

#[test]
fn prefixes_work_for_groups_and_for_administrators() {
    let platform = Platform::start();
    let groups = json!([samples::group_summary(json!({"groupId": ONE}))]).to_string();
    let group_path = format!("GET /groups/{ONE}");
    let group = samples::group(json!({"state": "open"})).to_string();
    platform
        .on("GET /groups?limit=200", 200, &groups)
        .on(&group_path, 200, &group);
    platform
        .on("GET /api/v1/admin/flares?limit=200", 200, &listed(&[ONE]))
        .on("GET /api/v1/admin/groups?limit=200", 200, &groups);
    let flare = format!(r#"{{"flareId":"{ONE}"}}"#);
    let closed = format!(r#"{{"groupId":"{ONE}"}}"#);
    platform
        .on(&format!("DELETE /groups/{ONE}"), 202, &closed)
        .on(&format!("POST /groups/{ONE}"), 202, &flare)
        .on(&format!("DELETE /api/v1/admin/flares/{ONE}"), 202, &flare)
        .on(&format!("DELETE /api/v1/admin/groups/{ONE}"), 202, &closed);
    let burst = Burst::of(&platform).with("BURST_ADMIN_AUTH", "admin:key");
    let run = |args: &[&str]| burst.run(args).ok();
    run(&["group", "get", "0123"]);
    assert_eq!(
        run(&["group", "flare", "0123"]),
        format!("ok: flare {ONE}\n")
    );
    let closing = format!("ok: closing group {ONE}\n");
    assert_eq!(run(&["group", "close", "0123"]), closing);
    assert_eq!(run(&["admin", "group", "close", "0123"]), closing);
    let cancelling = format!("ok: cancelling flare {ONE}\n");
    assert_eq!(run(&["admin", "flare", "cancel", "0123"]), cancelling);
}
