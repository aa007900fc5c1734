//! The dependencies between the crates, Maven modules and Rust modules of this repository.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use burst_arrows::circles::circles;
use burst_arrows::modules;
use burst_arrows::page::{self, PAGE};
use burst_arrows::poms;
use cargo_metadata::camino::Utf8Path;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

#[test]
fn crates_and_maven_modules_have_only_allowed_dependencies() {
    let metadata = workspace();
    let rows = page::rows(&read(&metadata, Path::new(PAGE)).unwrap());
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for part in crates(&metadata).chain(maven_modules(&metadata)) {
        let folder = &part.folder;
        let Some(row) = rows.iter().find(|row| row.has(folder)) else {
            faults.push(format!(
                "{folder} is not in the table of {PAGE}: write there on what it may depend"
            ));
            continue;
        };
        used.insert(row.name());
        for known in &part.dependencies {
            match row.entry(known) {
                Some(entry) => _ = used.insert(row.arrow(entry)),
                None => faults.push(format!(
                    "{folder} → {known} is not in the table of {PAGE}: take it out of {folder}/{} or, if it is \
                     right, write it there",
                    part.manifest
                )),
            }
        }
    }
    for row in &rows {
        let arrows = row.allowed.iter().map(|entry| row.arrow(entry));
        let unused = arrows
            .chain([row.name()])
            .filter(|named| !used.contains(named));
        faults.extend(unused.map(|named| format!("{named} is nowhere but in the table of {PAGE}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn modules_have_no_dependency_cycles() {
    let metadata = workspace();
    let source = |file: &Path| read(&metadata, file);
    let mut found = BTreeSet::new();
    for root in roots(&metadata) {
        let circles = circles(&modules::nodes(Path::new(&root), &source));
        found.extend(circles.iter().map(|circle| circle.join("\n  ")));
    }
    assert!(
        found.is_empty(),
        "\nfiles that depend on each other in a circle (move what they share to a file that depends on none of them):\n  {}",
        Vec::from_iter(found).join("\n\n  ")
    );
}

#[test]
fn build_scripts_are_checked_too() {
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

/// A crate or a Maven module of the repository.
struct Part {
    folder: String,
    manifest: &'static str,
    /// The folders of those on which it depends, without those that only its tests need.
    dependencies: BTreeSet<String>,
}

fn crates(metadata: &Metadata) -> impl Iterator<Item = Part> {
    metadata.packages.iter().map(|package| {
        let dependencies = package.dependencies.iter();
        let needed = dependencies.filter(|known| known.kind != DependencyKind::Development);
        let ours = needed.filter_map(|known| known.path.as_deref());
        Part {
            folder: below(metadata, package.manifest_path.parent().unwrap()),
            manifest: "Cargo.toml",
            dependencies: ours.map(|path| below(metadata, path)).collect(),
        }
    })
}

fn maven_modules(metadata: &Metadata) -> impl Iterator<Item = Part> {
    let pom = |folder: &str| read(metadata, &Path::new(folder).join("pom.xml")).unwrap();
    let modules = poms::modules(&pom(""));
    modules.into_iter().map(move |folder| Part {
        manifest: "pom.xml",
        dependencies: poms::dependencies(&pom(&folder)).into_iter().collect(),
        folder,
    })
}
