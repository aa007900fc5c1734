//! The modules and dependencies in Maven's `pom.xml` files.

use serde::Deserialize;

/// The group of our own modules.
const GROUP: &str = "io.burst";

#[derive(Deserialize)]
struct Pom {
    #[serde(default)]
    modules: Modules,
    #[serde(default)]
    dependencies: Dependencies,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Modules {
    module: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Dependencies {
    dependency: Vec<Dependency>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    group_id: String,
    artifact_id: String,
    scope: Option<String>,
}

/// Returns the modules that the text of a parent's `pom.xml` lists.
pub fn modules(text: &str) -> Vec<String> {
    pom(text).modules.module
}

/// Returns the modules of ours on which the module with this `pom.xml` depends, without those that only its tests need.
pub fn dependencies(text: &str) -> Vec<String> {
    let dependencies = pom(text).dependencies.dependency.into_iter();
    let needed = dependencies
        .filter(|known| known.group_id == GROUP && known.scope.as_deref() != Some("test"));
    needed.map(|known| known.artifact_id).collect()
}

fn pom(text: &str) -> Pom {
    quick_xml::de::from_str(text).unwrap()
}
