//! Finds the image in a layout that is for this machine.

use std::collections::BTreeMap;

use crate::document::{Configuration, Descriptor, Index, Manifest, Platform, read};
use crate::layout::Layout;
use crate::{Error, InvalidImage};

/// How deeply indexes may be nested, and how many there may be.
const DEPTH: usize = 5;
const INDEXES: usize = 100;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The one image of a layout that is for this machine.
#[derive(Debug)]
pub(crate) struct Image {
    /// The digest of its manifest, by which the image is known.
    pub(crate) digest: String,
    /// From the lowest to the highest.
    pub(crate) layers: Vec<Descriptor>,
    pub(crate) labels: BTreeMap<String, String>,
}

impl Image {
    pub(crate) fn find(layout: &Layout) -> Result<Self, Error> {
        let mut search = Search {
            layout,
            left: INDEXES,
            found: Vec::new(),
        };
        search.look_through(&layout.read("index.json")?, DEPTH)?;
        let found = search.found;
        let here = Platform::here();
        let descriptor = match found.as_slice() {
            [one] => one,
            [] => return Err(InvalidImage::NothingFor(here.to_string()).into()),
            _ => return Err(InvalidImage::SeveralFor(here.to_string()).into()),
        };
        let manifest: Manifest = read("its manifest", &layout.document(descriptor)?)?;
        let config: Configuration = read("its configuration", &layout.document(&manifest.config)?)?;
        if config.platform != here {
            let (platform, here) = (config.platform.to_string(), here.to_string());
            return Err(InvalidImage::OtherPlatform { platform, here }.into());
        }
        let labels = config.config.and_then(|defaults| defaults.labels);
        Ok(Self {
            digest: descriptor.digest.clone(),
            layers: manifest.layers,
            labels: labels.unwrap_or_default(),
        })
    }
}

/// A search for manifests that are for this machine or name no platform; each is found once.
struct Search<'a> {
    layout: &'a Layout,
    /// How many more indexes may be read.
    left: usize,
    found: Vec<Descriptor>,
}

impl Search<'_> {
    fn look_through(&mut self, index: &[u8], depth: usize) -> Result<(), Error> {
        let endless = || InvalidImage::EndlessIndexes;
        let deeper = depth.checked_sub(1).ok_or_else(endless)?;
        self.left = self.left.checked_sub(1).ok_or_else(endless)?;
        let index: Index = read("an index", index)?;
        for descriptor in index.manifests {
            let here = |platform: &Platform| *platform == Platform::here();
            match descriptor.media_type.as_str() {
                _ if !descriptor.platform.as_ref().is_none_or(here) => {}
                INDEX | DOCKER_LIST => {
                    self.look_through(&self.layout.document(&descriptor)?, deeper)?;
                }
                MANIFEST | DOCKER_MANIFEST => self.keep(descriptor),
                // Not an image.
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(&mut self, descriptor: Descriptor) {
        if (self.found.iter()).all(|it| it.digest != descriptor.digest) {
            self.found.push(descriptor);
        }
    }
}
