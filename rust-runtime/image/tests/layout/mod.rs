//! Makes image layouts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

pub const MACHINE: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "amd64"
};

/// How a layer is compressed.
#[derive(Debug, Clone, Copy)]
pub enum Packing {
    None,
    Gzip,
    Zstd,
    /// Declared as this media type, whatever the bytes are.
    AsIs(&'static str),
}

impl Packing {
    pub fn as_is(self) -> Self {
        Self::AsIs(self.kind())
    }

    fn kind(self) -> &'static str {
        match self {
            Self::None => "application/vnd.oci.image.layer.v1.tar",
            Self::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
            Self::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
            Self::AsIs(kind) => kind,
        }
    }

    fn pack(self, tar: &[u8]) -> Vec<u8> {
        match self {
            Self::None | Self::AsIs(_) => tar.to_vec(),
            Self::Gzip => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                packed.write_all(tar).unwrap();
                packed.finish().unwrap()
            }
            Self::Zstd => {
                let level = ruzstd::encoding::CompressionLevel::Fastest;
                let (first, second) = tar.split_at(tar.len() / 2);
                // Two frames with a skippable one between them.
                let mut packed = ruzstd::encoding::compress_to_vec(first, level);
                packed.extend([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
                packed.extend(ruzstd::encoding::compress_to_vec(second, level));
                packed
            }
        }
    }
}

/// A tar with arbitrary names.
pub struct Layer(Vec<u8>);

impl Layer {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn raw(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub fn file(self, name: &str, mode: u32, contents: &str) -> Self {
        let mut header = Header::new_gnu();
        header.set_mode(mode);
        self.entry(name, header, contents.as_bytes())
    }

    pub fn directory(self, name: &str) -> Self {
        self.entry(name, of(EntryType::Directory), b"")
    }

    pub fn device(self, name: &str) -> Self {
        self.entry(name, of(EntryType::Block), b"")
    }

    pub fn link(self, name: &str, target: &str) -> Self {
        self.to(EntryType::Symlink, name, target)
    }

    pub fn hard_link(self, name: &str, target: &str) -> Self {
        self.to(EntryType::Link, name, target)
    }

    fn to(self, kind: EntryType, name: &str, target: &str) -> Self {
        let mut header = of(kind);
        header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
        self.entry(name, header, b"")
    }

    /// Writes the name directly, as the library would refuse some names.
    fn entry(mut self, name: &str, mut header: Header, contents: &[u8]) -> Self {
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(contents.len() as u64);
        header.set_mtime(1_000_000_000);
        header.set_cksum();
        self.0.extend(header.as_bytes());
        self.0.extend(contents);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn finished(&self) -> Vec<u8> {
        [&self.0[..], &[0; 1024]].concat()
    }
}

fn of(kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header
}

/// A layout with one image in it.
pub struct Image {
    directory: TempDir,
    config: String,
    layer: String,
    manifest: (String, usize),
}

impl Image {
    pub fn of(layers: &[Layer], packing: Packing) -> Self {
        Self::for_machine(MACHINE, layers, packing)
    }

    pub fn for_machine(machine: &str, layers: &[Layer], packing: Packing) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("blobs/sha256")).unwrap();
        fs::write(
            directory.path().join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
        .unwrap();
        let put = |bytes: &[u8]| put(directory.path(), bytes);
        let packed: Vec<_> = layers
            .iter()
            .map(|layer| {
                let bytes = packing.pack(&layer.finished());
                (put(&bytes), bytes.len())
            })
            .collect();
        let config = json!({
            "architecture": machine,
            "os": "linux",
            "config": {"Labels": {"burst.glibc": "2.36", "maintainer": "somebody"}},
            "rootfs": {"type": "layers", "diff_ids": []},
        });
        let config = serde_json::to_vec(&config).unwrap();
        let named = (put(&config), config.len());
        let layers: Vec<_> = packed
            .iter()
            .map(|(digest, size)| json!({"mediaType": packing.kind(), "digest": digest, "size": size}))
            .collect();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": named.0,
                "size": named.1,
            },
            "layers": layers,
        });
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let manifest = (put(&manifest), manifest.len());
        let layer = packed.first().map(|(digest, _)| digest.clone());
        let image = Self {
            config: named.0,
            layer: layer.unwrap_or_default(),
            manifest,
            directory,
        };
        // Without a platform, as `skopeo copy` writes it.
        let mut only = image.manifest_descriptor();
        only.as_object_mut().unwrap().remove("platform");
        image.index(json!([only]));
        image
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Makes a tar of the layout, in its directory.
    pub fn archive(&self) -> PathBuf {
        let path = self.path().join("image.tar");
        let mut tar = Builder::new(fs::File::create(&path).unwrap());
        for name in ["blobs", "oci-layout", "index.json"] {
            let source = self.path().join(name);
            match source.is_dir() {
                true => tar.append_dir_all(name, source).unwrap(),
                false => tar.append_path_with_name(source, name).unwrap(),
            }
        }
        tar.finish().unwrap();
        path
    }

    /// Writes an index that lists only these manifests.
    pub fn index(&self, manifests: Value) {
        let index = json!({"schemaVersion": 2, "manifests": manifests});
        fs::write(self.path().join("index.json"), index.to_string()).unwrap();
    }

    /// Adds an index to the blobs.
    pub fn add_index(&self, manifests: Value) -> Value {
        let kind = "application/vnd.oci.image.index.v1+json";
        let index = json!({"schemaVersion": 2, "mediaType": kind, "manifests": manifests});
        let bytes = index.to_string();
        let digest = put(self.path(), bytes.as_bytes());
        json!({"mediaType": kind, "digest": digest, "size": bytes.len()})
    }

    pub fn manifest_descriptor(&self) -> Value {
        self.descriptor(MACHINE, &self.manifest.0, self.manifest.1)
    }

    pub fn descriptor(&self, machine: &str, digest: &str, size: usize) -> Value {
        json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest,
            "size": size,
            "platform": {"os": if machine == "unknown" { machine } else { "linux" }, "architecture": machine},
        })
    }

    pub fn damage(&self, which: &str) {
        let path = self.blob(which);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }

    pub fn remove(&self, which: &str) {
        fs::remove_file(self.blob(which)).unwrap();
    }

    fn blob(&self, which: &str) -> PathBuf {
        let digest = match which {
            "manifest" => &self.manifest.0,
            "config" => &self.config,
            _ => &self.layer,
        };
        self.path().join("blobs").join(digest.replace(':', "/"))
    }
}

fn put(layout: &Path, bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(layout.join("blobs/sha256").join(&hex), bytes).unwrap();
    format!("sha256:{hex}")
}
