//! Why an argument or a configuration is invalid.

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
        /// The last rank.
        last: u32,
    },
    /// The source is no member of the group.
    #[error("source {rank} does not exist; workers are 0 to {last}")]
    NoSuchSource {
        /// The rank given.
        rank: u32,
        /// The last rank.
        last: u32,
    },
    /// The worker does not exist in the flare.
    #[error("worker {worker} does not exist")]
    NoSuchWorker {
        /// The worker given.
        worker: u32,
    },
    /// The message is larger than another pack accepts.
    #[error("the message has {length} bytes; at most {limit} may go to another pack at once")]
    TooLong {
        /// The length of the message, in bytes.
        length: usize,
        /// The largest length allowed, in bytes.
        limit: u64,
    },
    /// The root has nothing to broadcast.
    #[error("the root must pass the value to broadcast")]
    NothingToBroadcast,
    /// The root does not have exactly one value for each worker.
    #[error("the root must pass one value per worker, {workers}")]
    NotOnePerWorkerAtRoot {
        /// How many workers there are.
        workers: u32,
    },
    /// There is not exactly one value for each worker.
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
    /// A member of the group has passed no value.
    #[error("a value is missing")]
    MissingValue,
    /// The root has passed no value for itself.
    #[error("the root's own value is missing")]
    MissingOwnValue,
    /// The request has already returned its value.
    #[error("this request has given its value")]
    RequestDone,
    /// The list of requests is empty.
    #[error("there is no request to wait for")]
    NoRequest,
}

/// What to change about the configuration of a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidConfiguration {
    /// The flare has no pack.
    #[error("a flare needs at least one pack")]
    NoPack,
    /// A pack is empty.
    #[error("every pack needs at least one worker")]
    EmptyPack,
    /// There are more workers than can be numbered.
    #[error("too many workers")]
    TooManyWorkers,
    /// The pack is not one of the flare's.
    #[error("pack {pack} does not exist; there are {packs}")]
    NoSuchPack {
        /// The pack given.
        pack: PackId,
        /// How many packs there are.
        packs: u32,
    },
    /// The flare's id is empty.
    #[error("the flare needs an id")]
    NoFlareId,
    /// The chunk size is zero.
    #[error("the chunk size must be at least 1 byte")]
    NoChunkSize,
    /// The flares of a group have different numbers of workers.
    #[error("every flare of a group has the same number of workers")]
    OtherGroupSize,
    /// A pack that kept its connections has a different endpoint than before.
    #[error("a pack is not where it was in the last flare of its group")]
    PackMoved,
    /// There is not exactly one endpoint for each pack.
    #[error("{endpoints} endpoints for {packs} packs")]
    Endpoints {
        /// How many endpoints were given.
        endpoints: usize,
        /// How many packs there are.
        packs: u32,
    },
    /// The secret is missing, which packs that connect to each other authenticate with.
    #[error("direct connections need the flare's secret")]
    NoSecret,
    /// The backend exists, but this program was built without it.
    #[error(
        "this program was built without the backend {backend:?}: build it with the feature {backend:?} of the crate \
         `burst`"
    )]
    BackendNotBuilt {
        /// The backend's name.
        backend: String,
    },
    /// The backend does not exist.
    #[error("there is no backend {backend:?}; there are {}", known.join(", "))]
    NoSuchBackend {
        /// The name given.
        backend: String,
        /// The backends that exist.
        known: Vec<&'static str>,
    },
    /// A setting that the backend needs is missing or wrong.
    #[error("{backend}: {reason}")]
    OfBackend {
        /// The backend's name.
        backend: &'static str,
        /// What to change.
        reason: InvalidBackend,
    },
}

/// What to change about the settings of a backend. No message shows the URI, which can contain a
/// password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBackend {
    /// The backend has a server, but was given no URI.
    #[error("the URI is missing")]
    NoUri,
    /// The URI is malformed or that of another backend.
    #[error("the URI is not of the form {form}")]
    Uri {
        /// The form it must have.
        form: &'static str,
    },
    /// The URI contains an option that the backend does not have.
    #[error("the URI's options are {known}")]
    Option {
        /// The options that exist.
        known: &'static str,
    },
    /// The URI's host is not a name that a certificate can be for.
    #[error("no certificate can be of the URI's host")]
    HostName,
    /// The certificates of the authorities to trust cannot be read.
    #[error("the certificates of the authorities cannot be read")]
    Authorities,
    /// No authority's certificate was found in the given text.
    #[error("there is no authority's certificate in what was given")]
    NoAuthority,
    /// No authorities were given, and those that the machine trusts cannot be used.
    #[error("the machine's own certificates cannot be used")]
    MachineCertificates,
    /// The client library for the backend's server rejects the settings.
    #[error("{client} cannot be set up")]
    Client {
        /// The client that could not be set up.
        client: &'static str,
    },
    /// The program has the backend, but was built without a feature that these settings need.
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
