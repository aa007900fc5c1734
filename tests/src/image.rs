//! The runtime's image as an OCI image layout, which packs in sandboxes can use as their root.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::docker::{self, docker};
use crate::{account, command, wait};

const LIMIT: Duration = wait::SOON;

/// Lays it out in an empty directory, readable by the platform's user.
#[track_caller]
pub fn lay_out(directory: &Path) {
    docker::require();
    let saved = directory.join("saved.tar");
    docker(&["save", "--output", saved.to_str().unwrap(), "burst-runtime"]);
    run(Command::new("tar")
        .arg("-xf")
        .arg(&saved)
        .current_dir(directory));
    fs::remove_file(saved).unwrap();
    if !directory.join("oci-layout").exists() {
        convert(directory);
    }
    run(Command::new("chmod").args(["-R", "a+rX"]).arg(directory));
    account::give(directory);
}

/// Converts the format that Docker before 25 writes: a configuration and tars, listed in a manifest
/// of its own.
fn convert(directory: &Path) {
    let blobs = directory.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let blob = |file: &Path, kind: &str| {
        let sum = run(Command::new("sha256sum").arg(file));
        let digest = sum.split(' ').next().unwrap().to_owned();
        fs::copy(file, blobs.join(&digest)).unwrap();
        let size = file.metadata().unwrap().len();
        json!({"mediaType": kind, "digest": format!("sha256:{digest}"), "size": size})
    };
    let saved = fs::read_to_string(directory.join("manifest.json")).unwrap();
    let saved: Value = serde_json::from_str(&saved).unwrap();
    let named = |name: &Value| directory.join(name.as_str().unwrap());
    let layers: Vec<_> = (saved[0]["Layers"].as_array().unwrap().iter())
        .map(|name| blob(&named(name), "application/vnd.oci.image.layer.v1.tar"))
        .collect();
    let config = named(&saved[0]["Config"]);
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": kind,
        "config": blob(&config, "application/vnd.oci.image.config.v1+json"),
        "layers": layers,
    });
    let file = directory.join("manifest.json");
    fs::write(&file, manifest.to_string()).unwrap();
    let index = json!({"schemaVersion": 2, "manifests": [blob(&file, kind)]});
    fs::write(directory.join("index.json"), index.to_string()).unwrap();
    let layout = json!({"imageLayoutVersion": "1.0.0"});
    fs::write(directory.join("oci-layout"), layout.to_string()).unwrap();
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let finished = command::run(command, LIMIT);
    assert_eq!(finished.code, Some(0), "{command:?}: {}", finished.stderr);
    finished.stdout
}
