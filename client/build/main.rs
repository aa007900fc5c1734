//! Generates the client's model and calls from the API's description. A description that lacks anything needed for that
//! stops the build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod document;
mod model;

use std::path::Path;
use std::{env, fs};

use document::Document;

const DESCRIPTION: &str = "../protocol/src/main/resources/openapi.yaml";

fn main() {
    println!("cargo::rerun-if-changed={DESCRIPTION}");
    let document = Document::read(DESCRIPTION);
    println!(
        "cargo::rustc-env=IDEMPOTENCY_KEY={}",
        document.idempotency_key()
    );
    let out = env::var_os("OUT_DIR").unwrap();
    for (file, source) in [
        ("model.rs", model::generate(&document)),
        ("calls.rs", calls::generate(&document)),
    ] {
        fs::write(Path::new(&out).join(file), source).unwrap();
    }
}
