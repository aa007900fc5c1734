//! The dependencies between this workspace's crates and modules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use burst_arrows::circles::circles;
use burst_arrows::modules;
use burst_arrows::page::{self, PAGE};
use cargo_metadata::camino::Utf8Path;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

#[test]
fn crates_know_whom_the_page_allows() {
    let metadata = workspace();
    let rows = page::rows(&read(&metadata, Path::new(PAGE)).unwrap());
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for package in &metadata.packages {
        let folder = below(&metadata, package.manifest_path.parent().unwrap());
        let Some(row) = rows.iter().find(|row| row.has(&folder)) else {
            faults.push(format!(
                "{folder} is not in the table of {PAGE}: write there whom it may know"
            ));
            continue;
        };
        used.insert(row.name());
        for known in known(&metadata, package) {
            match row.entry(&known) {
                Some(entry) => _ = used.insert(row.arrow(entry)),
                None => faults.push(format!(
                    "{folder} → {known} is not in the table of {PAGE}: take it out of \
                     {folder}/Cargo.toml or, if it is right, write it there"
                )),
            }
        }
    }
    for row in &rows {
        let arrows = row.may_know.iter().map(|entry| row.arrow(entry));
        let unused = arrows
            .chain([row.name()])
            .filter(|told| !used.contains(told));
        faults.extend(unused.map(|told| format!("{told} is nowhere but in the table of {PAGE}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modules_do_not_know_each_other_in_circles() {
    let metadata = workspace();
    let source = |file: &Path| read(&metadata, file);
    let mut told = BTreeSet::new();
    for root in roots(&metadata) {
        let circles = circles(&modules::nodes(Path::new(&root), &source));
        told.extend(circles.iter().map(|circle| circle.join("\n  ")));
    }
    assert!(
        told.is_empty(),
        "\nfiles that know each other in a circle (move what they share to where none of them is \
         known):\n  {}",
        Vec::from_iter(told).join("\n\n  ")
    );
}

#[test]
fn build_scripts_are_read_too() {
    let roots: Vec<String> = roots(&workspace()).collect();
    for root in [
        "client/src/lib.rs",
        "client/build/main.rs",
        "cli/src/main.rs",
    ] {
        assert!(roots.iter().any(|known| known == root), "{root}: {roots:?}");
    }
}

/// The root files of libraries, programs and build scripts.
fn roots(metadata: &Metadata) -> impl Iterator<Item = String> {
    let targets = metadata
        .packages
        .iter()
        .flat_map(|package| &package.targets);
    targets
        .filter(|target| target.is_lib() || target.is_bin() || target.is_custom_build())
        .map(move |target| below(metadata, &target.src_path))
}

fn workspace() -> Metadata {
    MetadataCommand::new().no_deps().exec().unwrap()
}

fn read(metadata: &Metadata, file: &Path) -> Option<String> {
    fs::read_to_string(metadata.workspace_root.as_std_path().join(file)).ok()
}

fn below(metadata: &Metadata, path: &Utf8Path) -> String {
    path.strip_prefix(&metadata.workspace_root)
        .unwrap()
        .to_string()
}

/// The workspace crates it depends on, without those that only its tests need.
fn known(metadata: &Metadata, package: &Package) -> BTreeSet<String> {
    let dependencies = package.dependencies.iter();
    let needed = dependencies.filter(|known| known.kind != DependencyKind::Development);
    let ours = needed.filter_map(|known| known.path.as_deref());
    ours.map(|path| below(metadata, path)).collect()
}
