//! The image that packs in sandboxes can have as their root, instead of the machine's C library.

use std::fs;
use std::path::PathBuf;

use burst_tests::{Driver, Platform, Settings, account, failing, image};

/// The unpacked roots.
fn roots(platform: &Platform) -> Vec<PathBuf> {
    let roots = fs::read_dir(platform.data().join("invoker/roots")).unwrap();
    roots.map(|root| root.unwrap().path()).collect()
}

#[test]
fn sandboxes_can_have_an_image_as_their_root() {
    let layout = account::directory("image");
    image::lay_out(layout.path());
    let as_root = Settings::new(Driver::Sandbox).as_root();
    for settings in [Settings::new(Driver::Sandbox), as_root] {
        let path = layout.path().to_str().unwrap();
        let platform = Platform::start(settings.set("burst.invoker.sandbox.root", path));
        let [root]: [PathBuf; 1] = roots(&platform).try_into().unwrap();
        assert!(root.join("usr/local/bin/burst-runtime").is_file());
        assert!(root.join("etc/resolv.conf").is_file());
        failing::deploy(&platform);
        let flare = platform.api().run(failing::NAME, 2, &failing::succeed());
        assert_eq!(flare.state, "succeeded", "{:#?}", flare.error);
    }
}
