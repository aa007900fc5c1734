//! Images as other tools make them, and hostile ones.
#![allow(clippy::unwrap_used, missing_docs)]

mod layout;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use burst_image::unpack;
use layout::{Image, Layer, MACHINE, Packing};
use serde_json::{Value, json};

fn text(root: &Path, name: &str) -> String {
    fs::read_to_string(root.join(name)).unwrap()
}

fn mode(root: &Path, name: &str) -> u32 {
    let found = fs::symlink_metadata(root.join(name)).unwrap();
    found.permissions().mode() & 0o7777
}

/// Returns why an image is rejected, and checks that nothing is left of it.
#[track_caller]
fn refused(image: &Image) -> String {
    let directory = tempfile::tempdir().unwrap();
    let into = directory.path().join("roots");
    let error = unpack(image.path(), &into).unwrap_err().to_string();
    let left = fs::read_dir(into).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{error}");
    error
}

#[test]
fn layers_are_applied_in_order_in_any_compression() {
    for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
        let below = Layer::new()
            .file("usr/bin/tool", 0o755, "tool")
            .file("etc/gone", 0o600, "")
            .file("etc/kept", 0o600, "kept")
            .file("etc/changed", 0o644, "before")
            .file("opaque/gone/deep", 0o644, "")
            .file("replaced/by/a/file", 0o644, "")
            .link("lib", "usr/lib");
        let above = Layer::new()
            .file("./etc/.wh.gone", 0, "")
            .file("etc/changed", 0o644, "after")
            .file("opaque/new", 0o644, "new")
            .file("opaque/.wh..wh..opq", 0, "")
            .file("replaced", 0o644, "now")
            .hard_link("usr/bin/other", "usr/bin/tool");
        let image = Image::of(&[below, above], packing);
        for path in [image.path().to_owned(), image.archive()] {
            let directory = tempfile::tempdir().unwrap();
            let unpacked = unpack(&path, directory.path()).unwrap();
            let root = unpacked.root.as_path();
            assert_eq!(unpacked.labels["burst.glibc"], "2.36");
            assert_eq!(unpacked.labels.len(), 1);
            assert_eq!(text(root, "etc/kept"), "kept");
            assert_eq!(text(root, "etc/changed"), "after");
            assert_eq!(text(root, "opaque/new"), "new");
            assert_eq!(text(root, "replaced"), "now");
            assert_eq!(text(root, "usr/bin/other"), "tool");
            for gone in [
                "etc/gone",
                "etc/.wh.gone",
                "opaque/gone",
                "opaque/.wh..wh..opq",
            ] {
                assert!(!root.join(gone).exists(), "{gone}");
            }
            assert_eq!(
                fs::read_link(root.join("lib")).unwrap(),
                Path::new("usr/lib")
            );
            // Packs run as other users and can read all of it.
            assert_eq!((mode(root, "etc/kept"), mode(root, "etc")), (0o644, 0o755));
            assert_eq!(mode(root, "usr/bin/tool"), 0o755);
            // Packs have these files for names.
            assert_eq!(text(root, "etc/hosts") + &text(root, "etc/resolv.conf"), "");
        }
    }
}

#[test]
fn nothing_leaves_the_root() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap();
    let within = "would leave its root";
    let through = "which is no directory";
    for (layer, why) in [
        (Layer::new().file("../escaped", 0o644, ""), within),
        (Layer::new().file("a/../../escaped", 0o644, ""), within),
        (Layer::new().directory("a/.."), within),
        (Layer::new().hard_link("a", "../../etc/passwd"), within),
        (
            Layer::new().hard_link("a", "etc/passwd"),
            "leads to nothing",
        ),
        (Layer::new().file(".wh...", 0, ""), "hides its own root"),
        (Layer::new().file(".wh..", 0, ""), "hides its own root"),
        (
            Layer::new()
                .link("out", target)
                .file("out/escaped", 0o644, ""),
            through,
        ),
        (
            Layer::new().link("out", target).directory("out/escaped"),
            through,
        ),
        (
            Layer::new()
                .link("out", target)
                .file("out/.wh.victim", 0, ""),
            through,
        ),
        (
            Layer::new()
                .link("out", target)
                .file("out/.wh..wh..opq", 0, ""),
            through,
        ),
        (
            Layer::new()
                .link("out", target)
                .hard_link("a", "out/victim"),
            through,
        ),
        (
            Layer::new().link("out", target).hard_link("out/a", "x"),
            "link leads",
        ),
    ] {
        fs::write(outside.path().join("victim"), "victim").unwrap();
        let said = refused(&Image::of(&[layer], Packing::None));
        assert!(said.contains(why), "{said}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
        assert_eq!(text(outside.path(), "victim"), "victim");
    }
}

#[test]
fn unpacked_files_are_harmless() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("victim"), "victim").unwrap();
    let victim = outside.path().join("victim");
    let layer = Layer::new()
        .file("/absolute", 0o644, "absolute")
        .file("sudo", 0o6755, "")
        .file("open", 0o1777, "")
        .device("disk")
        .link("file", victim.to_str().unwrap())
        // Replaces the link, not its target.
        .file("file", 0o644, "mine")
        .link("etc/resolv.conf", victim.to_str().unwrap())
        .link("away", outside.path().to_str().unwrap())
        .directory("away")
        .file("away/inside", 0o644, "");
    let image = Image::of(&[layer], Packing::Gzip);
    let directory = tempfile::tempdir().unwrap();
    let root = unpack(image.path(), directory.path()).unwrap().root;
    assert_eq!(text(&root, "absolute"), "absolute");
    assert_eq!((mode(&root, "sudo"), mode(&root, "open")), (0o755, 0o755));
    assert!(!root.join("disk").exists());
    assert_eq!(text(&root, "file"), "mine");
    assert!(
        fs::symlink_metadata(root.join("etc/resolv.conf"))
            .unwrap()
            .is_file()
    );
    assert!(root.join("away/inside").exists());
    assert_eq!(text(outside.path(), "victim"), "victim");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_blob_that_does_not_match_its_digest_is_refused() {
    let layer = || [Layer::new().file("a", 0o644, "a")];
    for which in ["manifest", "config", "layer"] {
        let image = Image::of(&layer(), Packing::Gzip);
        image.damage(which);
        let said = refused(&image);
        assert!(
            said.contains("is not what its digest says"),
            "{which}: {said}"
        );
        let image = Image::of(&layer(), Packing::Gzip);
        image.remove(which);
        assert!(refused(&image).contains("cannot be read"), "{which}");
    }
    let image = Image::of(&layer(), Packing::Gzip);
    image.index(json!([image.descriptor(
        MACHINE,
        "sha256:../../../etc/passwd",
        1
    )]));
    refused(&image);
}

#[test]
fn the_image_for_this_machine_is_chosen_from_several() {
    let layer = [Layer::new().file("a", 0o644, "mine")];
    let image = Image::of(&layer, Packing::Gzip);
    let mine = image.manifest_descriptor();
    let foreign = image.descriptor("sparc64", &format!("sha256:{}", "0".repeat(64)), 7);
    let attestation = image.descriptor("unknown", &format!("sha256:{}", "1".repeat(64)), 7);
    image.index(json!([foreign, mine, attestation]));
    let directory = tempfile::tempdir().unwrap();
    let unpacked = unpack(image.path(), directory.path()).unwrap();
    assert_eq!(text(&unpacked.root, "a"), "mine");
    // In a nested index, as `docker buildx` writes it, and listed twice.
    let inner = image.add_index(json!([foreign, mine]));
    image.index(json!([inner, mine]));
    assert_eq!(unpack(image.path(), directory.path()).unwrap(), unpacked);

    image.index(json!([foreign]));
    assert!(refused(&image).contains("nothing for linux/"));
    let another = image.descriptor(MACHINE, &format!("sha256:{}", "2".repeat(64)), 7);
    image.index(json!([mine, another]));
    assert!(refused(&image).contains("several images"));
    let mut deep = mine;
    for _ in 0..6 {
        deep = image.add_index(json!([deep]));
    }
    image.index(json!([deep]));
    assert!(refused(&image).contains("without end"));
    // Few bytes, but they would be read a million times.
    let mut wide = image.manifest_descriptor();
    for _ in 0..3 {
        wide = image.add_index(Value::Array(vec![wide; 100]));
    }
    image.index(json!([wide]));
    assert!(refused(&image).contains("without end"));
}

#[test]
fn an_image_for_another_machine_is_refused() {
    let layer = [Layer::new().file("a", 0o644, "")];
    let image = Image::for_machine("sparc64", &layer, Packing::Gzip);
    let said = refused(&image);
    assert!(said.contains("it is for linux/sparc64"), "{said}");
    let nothing = tempfile::tempdir().unwrap();
    let said = unpack(nothing.path(), &nothing.path().join("roots")).unwrap_err();
    assert!(said.to_string().contains("no file oci-layout"), "{said}");
}

#[test]
fn an_image_is_unpacked_once_and_others_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let first = Image::of(&[Layer::new().file("a", 0o644, "first")], Packing::Gzip);
    let second = Image::of(&[Layer::new().file("a", 0o644, "second")], Packing::Gzip);
    let one = unpack(first.path(), directory.path()).unwrap();
    // What a killed process has left, and something that is not a root.
    let unfinished = directory.path().join("unfinished");
    fs::create_dir_all(unfinished.join("usr")).unwrap();
    symlink("/", directory.path().join("link")).unwrap();
    first.remove("layer");
    assert_eq!(unpack(first.path(), directory.path()).unwrap(), one);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let other = unpack(second.path(), directory.path()).unwrap();
    assert_eq!(text(&other.root, "a"), "second");
    assert!(!one.root.exists());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_damaged_archive_is_refused() {
    for bytes in [&b"no tar"[..], &[0x1f, 0x8b, 8, 0], &[0xff; 2000]] {
        for packing in [Packing::None, Packing::Gzip, Packing::Zstd] {
            let image = Image::of(&[Layer::raw(bytes)], packing.as_is());
            refused(&image);
        }
    }
}
