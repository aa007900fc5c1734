//! Requests that start something are retried if their answer is lost, and take effect only once.

use burst_client::{ListFlaresQuery, ListGroupsQuery};
use burst_tests::cutting::Cutter;
use burst_tests::{Driver, Platform, Settings, built};

#[test]
fn a_lost_response_starts_nothing_twice() {
    let platform = Platform::lent(Settings::new(Driver::Process));
    let program = built::program("hello");
    platform
        .cli(&["deploy", "hello", program.to_str().unwrap()])
        .exits(0);
    let api = platform.api();
    let cut = |arguments: &[&str]| {
        let cutter = Cutter::before(api.address(), 2);
        let cli = platform.cli_setup().apihost(&cutter.base());
        cli.run(arguments).exits(0);
        assert_eq!(cutter.left(), 0, "no answer was lost");
    };
    let flares = || {
        let flares = api.client().list_flares(&ListFlaresQuery::default());
        flares.unwrap().read().unwrap().len()
    };
    let flare = [
        "flare", "hello", "--size", "2", "--param", "name=Ada", "--result",
    ];
    cut(&flare);
    assert_eq!(flares(), 1);
    cut(&flare);
    assert_eq!(flares(), 2);
    cut(&["action", "invoke", "hello", "--param", "name", "Ada"]);
    assert_eq!(flares(), 3);
    cut(&["group", "open", "hello", "--size", "2"]);
    let groups = api.client().list_groups(&ListGroupsQuery::default());
    assert_eq!(groups.unwrap().read().unwrap().len(), 1);
}
