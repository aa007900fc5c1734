//! What of a layout is for this machine.

use std::collections::BTreeMap;

use oci_spec::image::{
    Arch, Descriptor, ImageConfiguration, ImageIndex, ImageManifest, MediaType, Os,
};

use crate::Error;
use crate::layout::Layout;

/// How deep indexes lie in each other, and how many manifests there are in all.
const DEPTH: usize = 4;
const MANIFESTS: usize = 1000;

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
        let index = ImageIndex::from_reader(&*layout.read("index.json")?);
        let mut found = Vec::new();
        collect(
            layout,
            &index.map_err(|it| unsound("index.json", &it))?,
            DEPTH,
            &mut found,
        )?;
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

/// Manifests that are for this machine, or do not say for which; each once.
fn collect(
    layout: &Layout,
    index: &ImageIndex,
    depth: usize,
    found: &mut Vec<Descriptor>,
) -> Result<(), Error> {
    for descriptor in index.manifests() {
        let other = descriptor.platform().as_ref().is_some_and(|platform| {
            (platform.os(), platform.architecture()) != (&Os::Linux, &Arch::default())
        });
        if other {
            continue;
        }
        match descriptor.media_type() {
            MediaType::ImageManifest => {}
            MediaType::Other(kind) if kind == DOCKER_MANIFEST => {}
            MediaType::ImageIndex => {
                descend(layout, descriptor, depth, found)?;
                continue;
            }
            MediaType::Other(kind) if kind == DOCKER_LIST => {
                descend(layout, descriptor, depth, found)?;
                continue;
            }
            // Something else than an image.
            _ => continue,
        }
        if found.iter().all(|it| it.digest() != descriptor.digest()) {
            found.push(descriptor.clone());
        }
    }
    match found.len() > MANIFESTS {
        true => Err(Error::image("it has too many manifests")),
        false => Ok(()),
    }
}

fn descend(
    layout: &Layout,
    descriptor: &Descriptor,
    depth: usize,
    found: &mut Vec<Descriptor>,
) -> Result<(), Error> {
    let deeper = depth.checked_sub(1);
    let deeper = deeper.ok_or_else(|| Error::image("its indexes lie in each other without end"))?;
    let index = ImageIndex::from_reader(&*layout.document(descriptor)?);
    collect(
        layout,
        &index.map_err(|it| unsound("an index", &it))?,
        deeper,
        found,
    )
}

fn unsound(what: &str, reason: &oci_spec::OciSpecError) -> Error {
    Error::image(format!("{what} is unsound: {reason}"))
}
