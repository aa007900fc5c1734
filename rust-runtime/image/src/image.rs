//! What of a layout is for this machine.

use std::collections::BTreeMap;

use oci_spec::image::{Arch, Descriptor, ImageConfiguration, ImageIndex, ImageManifest, Os};

use crate::Error;
use crate::layout::Layout;

/// How deep indexes lie in each other, and how many there are.
const DEPTH: usize = 5;
const INDEXES: usize = 100;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The one image of a layout that is for this machine.
#[derive(Debug)]
pub(crate) struct Image {
    /// As which it is known: the digest of its manifest.
    pub(crate) digest: String,
    /// From the lowest.
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
        let machine = Arch::default();
        let descriptor = match found.as_slice() {
            [one] => one,
            [] => return Err(Error::image(format!("it has nothing for linux/{machine}"))),
            _ => {
                return Err(Error::image(format!(
                    "it has several images for linux/{machine}: give a layout with one"
                )));
            }
        };
        let manifest = ImageManifest::from_reader(&*layout.document(descriptor)?)
            .map_err(|it| unsound("its manifest", &it))?;
        let config = ImageConfiguration::from_reader(&*layout.document(manifest.config())?)
            .map_err(|it| unsound("its configuration", &it))?;
        if (config.os(), config.architecture()) != (&Os::Linux, &machine) {
            return Err(Error::image(format!(
                "it is for {}/{}, and this machine is linux/{machine}",
                config.os(),
                config.architecture()
            )));
        }
        let labels = config.config().as_ref().and_then(|it| it.labels().clone());
        Ok(Self {
            digest: descriptor.digest().to_string(),
            layers: manifest.layers().clone(),
            labels: labels.into_iter().flatten().collect(),
        })
    }
}

/// For manifests that are for this machine, or do not say for which; each once.
struct Search<'a> {
    layout: &'a Layout,
    /// Indexes that may still be read.
    left: usize,
    found: Vec<Descriptor>,
}

impl Search<'_> {
    fn look_through(&mut self, index: &[u8], depth: usize) -> Result<(), Error> {
        let endless = || Error::image("its indexes lie in each other without end");
        let deeper = depth.checked_sub(1).ok_or_else(endless)?;
        self.left = self.left.checked_sub(1).ok_or_else(endless)?;
        let index = ImageIndex::from_reader(index).map_err(|it| unsound("an index", &it))?;
        for descriptor in index.manifests() {
            let other = descriptor.platform().as_ref().is_some_and(|platform| {
                (platform.os(), platform.architecture()) != (&Os::Linux, &Arch::default())
            });
            match descriptor.media_type().to_string().as_str() {
                _ if other => {}
                INDEX | DOCKER_LIST => {
                    self.look_through(&self.layout.document(descriptor)?, deeper)?;
                }
                MANIFEST | DOCKER_MANIFEST => {
                    if (self.found.iter()).all(|it| it.digest() != descriptor.digest()) {
                        self.found.push(descriptor.clone());
                    }
                }
                // Something else than an image.
                _ => {}
            }
        }
        Ok(())
    }
}

fn unsound(what: &str, reason: &oci_spec::OciSpecError) -> Error {
    Error::image(format!("{what} is unsound: {reason}"))
}
