//! What workers say to each other: the BCM's operations, on the context.

use std::sync::Arc;

use burst_bcm::{Communicator, Error, Number, Payload, RecvRequest, Reducer, SendRequest};

use crate::context::BurstContext;

/// # Communication
///
/// A value sent to a worker of the same pack is moved, not copied; between packs it is carried by
/// the flare's backend. Every operation ends with an error when a peer fails, when the flare is
/// cancelled, or at its deadline.
impl BurstContext {
    /// Sends `value` to worker `dest`. Does not wait until it is received.
    pub fn send<T: Payload>(&self, value: T, dest: u32) -> Result<(), Error> {
        self.seen(self.communicator.send(value, dest))
    }

    /// Receives the next value that worker `source` sent to this one.
    pub fn recv<T: Payload>(&self, source: u32) -> Result<T, Error> {
        self.seen(self.communicator.recv(source))
    }

    /// Waits until every worker of the flare is here.
    pub fn barrier(&self) -> Result<(), Error> {
        self.seen(self.communicator.barrier())
    }

    /// Gives everyone the value of worker `root`, which passes `Some`; all others pass `None`.
    pub fn broadcast<T: Payload>(&self, value: Option<T>, root: u32) -> Result<Arc<T>, Error> {
        self.seen(self.communicator.broadcast(value, root))
    }

    /// Combines everyone's value with `op` in the order of worker ids; `op` must be associative.
    /// Worker `root` gets the result.
    pub fn reduce<T: Payload>(
        &self,
        value: T,
        root: u32,
        op: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        self.seen(self.communicator.reduce(value, root, op))
    }

    /// Combines everyone's value with `op`; everyone gets the result.
    pub fn all_reduce<T: Payload>(
        &self,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<Arc<T>, Error> {
        self.seen(self.communicator.all_reduce(value, op))
    }

    /// Combines everyone's vector element by element; worker `root`'s then holds the result, and
    /// the others' nothing to rely on. The workers of a pack do it together.
    pub fn reduce_elements<E: Number>(
        &self,
        values: &mut Vec<E>,
        root: u32,
        reducer: Reducer,
    ) -> Result<(), Error> {
        self.seen(self.communicator.reduce_elements(values, root, reducer))
    }

    /// Combines everyone's vector element by element; everyone gets the result.
    pub fn all_reduce_elements<E: Number>(
        &self,
        values: Vec<E>,
        reducer: Reducer,
    ) -> Result<Arc<Vec<E>>, Error> {
        self.seen(self.communicator.all_reduce_elements(values, reducer))
    }

    /// Collects everyone's value at worker `root`, in the order of worker ids.
    pub fn gather<T: Payload>(&self, value: T, root: u32) -> Result<Option<Vec<T>>, Error> {
        self.seen(self.communicator.gather(value, root))
    }

    /// Collects everyone's value for everyone, in the order of worker ids.
    pub fn all_gather<T: Payload>(&self, value: T) -> Result<Arc<Vec<T>>, Error> {
        self.seen(self.communicator.all_gather(value))
    }

    /// Deals out the values that worker `root` passes, one to each worker.
    pub fn scatter<T: Payload>(&self, values: Option<Vec<T>>, root: u32) -> Result<T, Error> {
        self.seen(self.communicator.scatter(values, root))
    }

    /// Sends the value at place `w` to each worker `w`; returns what each sent to this one.
    pub fn all_to_all<T: Payload>(&self, values: Vec<T>) -> Result<Vec<T>, Error> {
        self.seen(self.communicator.all_to_all(values))
    }

    /// As [`send`](Self::send), for whoever receives this tag; without one the tag is 0.
    pub fn send_tagged<T: Payload>(&self, value: T, dest: u32, tag: u32) -> Result<(), Error> {
        self.seen(self.communicator.send_tagged(value, dest, tag))
    }

    /// As [`recv`](Self::recv), of the values sent with this tag.
    pub fn recv_tagged<T: Payload>(&self, source: u32, tag: u32) -> Result<T, Error> {
        self.seen(self.communicator.recv_tagged(source, tag))
    }

    /// Receives a value from whichever worker has sent one with this tag, and says who.
    pub fn recv_any<T: Payload>(&self, tag: u32) -> Result<(u32, T), Error> {
        self.seen(self.communicator.recv_any(tag))
    }

    /// Sends to worker `dest` and receives from worker `source`, which may be the same.
    pub fn send_recv<T: Payload>(&self, value: T, dest: u32, source: u32) -> Result<T, Error> {
        self.seen(self.communicator.send_recv(value, dest, source))
    }

    /// Begins to send and returns at once; the request tells when it is done.
    pub fn isend<T: Payload>(&self, value: T, dest: u32, tag: u32) -> Result<SendRequest, Error> {
        self.seen(self.communicator.isend(value, dest, tag))
    }

    /// Begins to receive; the request gives the value. See also [`wait_any`](crate::wait_any).
    pub fn irecv<T: Payload>(&self, source: u32, tag: u32) -> Result<RecvRequest<T>, Error> {
        self.seen(self.communicator.irecv(source, tag))
    }

    /// Combines value `w` of everyone for worker `w`, in the order of worker ids.
    pub fn reduce_scatter<T: Payload>(
        &self,
        values: Vec<T>,
        op: impl Fn(T, T) -> T,
    ) -> Result<T, Error> {
        self.seen(self.communicator.reduce_scatter(values, op))
    }

    /// Combines the values of all workers up to and including this one.
    pub fn scan<T: Payload + Clone>(&self, value: T, op: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.seen(self.communicator.scan(value, op))
    }

    /// Combines the values of all workers before this one; `None` for worker 0.
    pub fn exclusive_scan<T: Payload + Clone>(
        &self,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Result<Option<T>, Error> {
        self.seen(self.communicator.exclusive_scan(value, op))
    }

    /// The workers of this one's pack as a group with ranks and collectives of its own.
    pub fn my_pack(&self) -> Communicator {
        self.communicator.my_pack()
    }

    /// The first worker of each pack as a group; `None` for all others.
    pub fn pack_leaders(&self) -> Option<Communicator> {
        self.communicator.pack_leaders()
    }

    /// Divides the workers into groups by color, ranked by key. All workers call it.
    pub fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Communicator>, Error> {
        self.seen(self.communicator.split(color, key))
    }
}
