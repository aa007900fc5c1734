//! What is wrong with what the library was given.

use crate::pack_id::PackId;

/// What to change about an argument of an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidArgument {
    /// The root is no member of the group.
    #[error("root {root} does not exist; ranks are 0 to {last}")]
    NoSuchRoot {
        /// The root given.
        root: u32,
        /// The last rank.
        last: u32,
    },
    /// The destination is no member of the group.
    #[error("destination {rank} does not exist; workers are 0 to {last}")]
    NoSuchDestination {
        /// The rank given.
        rank: u32,
        /// The last one.
        last: u32,
    },
    /// The source is no member of the group.
    #[error("source {rank} does not exist; workers are 0 to {last}")]
    NoSuchSource {
        /// The rank given.
        rank: u32,
        /// The last one.
        last: u32,
    },
    /// There is no such worker in the flare.
    #[error("worker {worker} does not exist")]
    NoSuchWorker {
        /// The one given.
        worker: u32,
    },
    /// The message is larger than another pack takes.
    #[error("the message has {length} bytes; at most {limit} may go to another pack at once")]
    TooLong {
        /// Bytes of the message.
        length: usize,
        /// Bytes there may be.
        limit: u64,
    },
    /// The root has nothing to broadcast.
    #[error("the root must pass the value to broadcast")]
    NothingToBroadcast,
    /// The root has not one value for each worker.
    #[error("the root must pass one value per worker, {workers}")]
    NotOnePerWorkerAtRoot {
        /// How many there are.
        workers: u32,
    },
    /// There is not one value for each worker.
    #[error("one value per worker is needed: {workers}, not {values}")]
    NotOnePerWorker {
        /// How many workers there are.
        workers: u32,
        /// How many values were passed.
        values: usize,
    },
    /// Vectors that are combined element by element differ in length.
    #[error("all workers must pass vectors of the same length")]
    DifferentLengths,
    /// A member of the group has passed nothing.
    #[error("a value is missing")]
    MissingValue,
    /// The root has passed nothing for itself.
    #[error("the root's own value is missing")]
    MissingOwnValue,
    /// A request gives its value once.
    #[error("this request has given its value")]
    RequestDone,
    /// Of no requests none can be the first.
    #[error("there is no request to wait for")]
    NoRequest,
}

/// What to change about the configuration of a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidConfiguration {
    /// There is no pack.
    #[error("a flare needs at least one pack")]
    NoPack,
    /// A pack is empty.
    #[error("every pack needs at least one worker")]
    EmptyPack,
    /// They cannot be numbered.
    #[error("too many workers")]
    TooManyWorkers,
    /// The pack is not one of the flare's.
    #[error("pack {pack} does not exist; there are {packs}")]
    NoSuchPack {
        /// The one given.
        pack: PackId,
        /// How many there are.
        packs: u32,
    },
    /// The flare's id is empty.
    #[error("the flare needs an id")]
    NoFlareId,
    /// Chunks would have no bytes.
    #[error("the chunk size must be at least 1 byte")]
    NoChunkSize,
    /// Flares that follow each other on the same packs differ.
    #[error("every flare of a group has the same number of workers")]
    OtherGroupSize,
    /// Packs that keep their connections have other endpoints than before.
    #[error("a pack is not where it was in the last flare of its group")]
    PackMoved,
    /// There is not one endpoint for each pack.
    #[error("{endpoints} endpoints for {packs} packs")]
    Endpoints {
        /// How many were given.
        endpoints: usize,
        /// How many packs there are.
        packs: u32,
    },
    /// Packs that connect to each other prove by a secret that they may.
    #[error("direct connections need the flare's secret")]
    NoSecret,
    /// There is such a backend, but not in this program.
    #[error(
        "this program was built without the backend {backend:?}: build it with the feature {backend:?} of the crate \
         `burst`"
    )]
    BackendNotBuilt {
        /// Its name.
        backend: String,
    },
    /// There is no such backend.
    #[error("there is no backend {backend:?}; there are {}", known.join(", "))]
    NoSuchBackend {
        /// The name given.
        backend: String,
        /// Those there are.
        known: Vec<&'static str>,
    },
    /// What a backend itself needs is not there, or wrong.
    #[error("{backend}: {reason}")]
    OfBackend {
        /// The backend's name.
        backend: &'static str,
        /// What to change.
        reason: InvalidBackend,
    },
}

/// What to change about the settings of a backend. None shows the URI, which may hold a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBackend {
    /// It has a server, and is not told which.
    #[error("the URI is missing")]
    NoUri,
    /// The URI is another one's, or none.
    #[error("the URI is not of the form {form}")]
    Uri {
        /// What it may look like.
        form: &'static str,
    },
    /// An option in the URI is none that the backend knows.
    #[error("the URI's options are {known}")]
    Option {
        /// Those there are.
        known: &'static str,
    },
    /// The URI's host has no name that a certificate could have.
    #[error("no certificate can be of the URI's host")]
    HostName,
    /// The authorities to trust are no certificates.
    #[error("the certificates of the authorities cannot be read")]
    Authorities,
    /// There are no authorities to trust.
    #[error("there is no authority's certificate in what was given")]
    NoAuthority,
    /// No authorities were given, and those that the machine trusts cannot be used.
    #[error("the machine's own certificates cannot be used")]
    MachineCertificates,
    /// The library that talks to its server refuses what is set.
    #[error("{client} cannot be set up")]
    Client {
        /// What was to be set up.
        client: &'static str,
    },
    /// The program has the backend, but not what these settings need.
    #[error(
        "this program was built without {feature:?}: build it with this feature of the crate `{of}`"
    )]
    NotBuilt {
        /// The feature's name.
        feature: &'static str,
        /// The crate whose feature it is.
        of: &'static str,
    },
}
